"""All rows of a collection, compared with the chunks that they are to hold.

Milvus Lite is asked for all rows at once: it walks through all of them for each page, and of two rows with one id at
the end of a page an iterator would show one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from kbapp.adapters.milvus_client import (
    COLLECTION_NOT_FOUND,
    MilvusClient,
    MilvusLimits,
    failure_code,
    milvus_failures,
)
from kbapp.adapters.milvus_schema import ROW_FIELDS, ChunkCollection, Row, stored_row
from kbapp.domain.documents import StoredChunk
from kbapp.domain.ports import VectorDifferences

ALL_ROWS = 10_000_000  # Milvus Lite has no limit of its own
PAGE_BYTES = 32 * 1024 * 1024  # a Milvus server refuses an answer of more than 100 MB

_T = TypeVar("_T")


def read_rows(
    client: MilvusClient, collection: ChunkCollection, limits: MilvusLimits, fields: Sequence[str], row_bytes: int
) -> list[Row]:
    """Every row with these fields; ``row_bytes`` is about the size of the largest one.

    Raises:
        MilvusException: there is no such collection, or Milvus does not answer.
    """
    if collection.is_lite:
        found = client.query(
            collection.name, filter="", limit=ALL_ROWS, output_fields=list(fields), timeout=limits.write_seconds
        )
        return [dict(row) for row in found]
    pages = client.query_iterator(
        collection.name,
        batch_size=max(1, min(limits.page_rows, PAGE_BYTES // row_bytes)),
        output_fields=list(fields),
        timeout=limits.write_seconds,
    )
    rows: list[Row] = []
    while page := pages.next():
        rows += [dict(row) for row in page]
    pages.close()
    return rows


def compare_rows(rows: Sequence[Row], chunks: Collection[StoredChunk], base_folder: str) -> VectorDifferences:
    """How the rows differ from those that these chunks would be written as; the vectors are not looked at."""
    counts = Counter(str(row["id"]) for row in rows)
    held = {str(row["id"]): row for row in rows}
    wanted = {chunk.id: stored_row(chunk, base_folder) for chunk in chunks}
    return VectorDifferences(
        rows=len(rows),
        missing=frozenset(wanted.keys() - held.keys()),
        orphaned=frozenset(held.keys() - wanted.keys()),
        repeated=frozenset(chunk_id for chunk_id, count in counts.items() if count > 1),
        outdated=frozenset(
            chunk_id for chunk_id in wanted.keys() & held.keys() if _differ(held[chunk_id], wanted[chunk_id])
        ),
    )


def _differ(held: Row, wanted: Row) -> bool:
    return any((list(held[name]) if name == "lines" else held[name]) != wanted[name] for name in ROW_FIELDS)


def unless_missing(read: Callable[[], _T], empty: _T) -> _T:
    """What is read, or ``empty`` when nobody has written yet and there is no collection."""
    try:
        return read()
    except milvus_failures() as error:
        if failure_code(error) != COLLECTION_NOT_FOUND:
            raise
        return empty
