"""The collection that holds the chunks: its name, its fields (C1), and a chunk as a row.

VARCHAR lengths count characters in Milvus Lite and bytes on a Milvus server: text is cut by bytes. Milvus Lite drops
the description of a collection and keeps its properties; both carry the model. ``create_index`` sleeps for half a
second when it waits, and for ever with a time limit that is no int. An HNSW index of Milvus Lite changes its answers
when it is opened again, so Lite gets a FLAT one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kbapp.adapters.milvus_client import MilvusClient, milvus_failures
from kbapp.domain.documents import StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import EmbeddingModel, Vectors

NAME_PREFIX = "chunks_"
VECTOR_FIELD = "vector"
METRIC = "L2"
UNIT_LENGTH_TOLERANCE = 1e-3  # G1
CONTENT_BYTES = 65_535  # the longest VARCHAR of Milvus
TEXT_BYTES = 8_192
ID_BYTES = 512

_TEXT_FIELDS = ("_source", "_file_name", "category", "title", "breadcrumb", "heading_h1", "heading_h2", "heading_h3")
_NUMBER_FIELDS = ("chunkIndex", "totalChunks")
ROW_FIELDS = ("id", *_TEXT_FIELDS, *_NUMBER_FIELDS, "content", "content_hash", "lines")
_MODEL = "kbapp.model"
_DIMENSION = "kbapp.dimension"
_DESCRIPTION = re.compile(r"kbapp chunks, model (.+), dimension ([0-9]+)", re.DOTALL)
_ROW_OVERHEAD_BYTES = 1_024

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChunkCollection:
    """The collection of one model in one store; ``store`` is empty unless several share the server."""

    store: str
    model_id: str
    dimension: int
    is_lite: bool

    @property
    def name(self) -> str:
        """``chunks_<8 hex of model and dimension>``, with the store's id in between if there is one."""
        digest = hashlib.sha256(f"{self.model_id}\n{self.dimension}".encode()).hexdigest()
        return f"{_prefix(self.store)}{digest[:8]}"


def ensure_collection(client: MilvusClient, collection: ChunkCollection, seconds: float) -> None:
    """Create the collection unless it is there, or another process is faster; then ``load_collection``."""
    name = collection.name
    if not client.has_collection(name, timeout=seconds):
        schema, properties = _schema(collection), _properties(collection) if collection.is_lite else {}
        create = partial(client.create_collection, name, schema=schema, properties=properties)
        try:
            create(consistency_level="Strong", timeout=seconds)
        except milvus_failures():
            if not client.has_collection(name, timeout=seconds):
                raise
    load_collection(client, collection, seconds)


def load_collection(client: MilvusClient, collection: ChunkCollection, seconds: float) -> None:
    """Make the collection ready for searches; whoever created it may have been killed before it had an index."""
    name = collection.name
    if not client.list_indexes(name, timeout=seconds):
        index = client.prepare_index_params()
        kind = "FLAT" if collection.is_lite else "AUTOINDEX"
        index.add_index(VECTOR_FIELD, index_type=kind, metric_type=METRIC)
        try:
            client.create_index(name, index, timeout=seconds, sync=False)
        except milvus_failures():
            if not client.list_indexes(name, timeout=seconds):
                raise
    client.load_collection(name, timeout=seconds)


def is_collection_of(store: str, name: str) -> bool:
    """Whether ``name`` is that of a collection of this store, of whichever model."""
    return re.fullmatch(re.escape(_prefix(store)) + "[0-9a-f]{8}", name) is not None


def _prefix(store: str) -> str:
    return f"{NAME_PREFIX}{store}_" if store else NAME_PREFIX


def _schema(collection: ChunkCollection) -> Any:
    from pymilvus import DataType, MilvusClient

    schema = MilvusClient.create_schema(
        auto_id=False,
        enable_dynamic_field=False,
        description=f"kbapp chunks, model {collection.model_id}, dimension {collection.dimension}",
    )
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=ID_BYTES)
    for name in (*_TEXT_FIELDS, "content_hash"):
        schema.add_field(name, DataType.VARCHAR, max_length=TEXT_BYTES)
    for name in _NUMBER_FIELDS:
        schema.add_field(name, DataType.INT64)
    schema.add_field("content", DataType.VARCHAR, max_length=CONTENT_BYTES)
    schema.add_field("lines", DataType.ARRAY, element_type=DataType.INT64, max_capacity=2)
    schema.add_field(VECTOR_FIELD, DataType.FLOAT_VECTOR, dim=collection.dimension)
    return schema


def _properties(collection: ChunkCollection) -> dict[str, str]:
    return {_MODEL: collection.model_id, _DIMENSION: str(collection.dimension)}


def described_model(description: str, properties: Mapping[str, str]) -> str | None:
    """``model (dimension)`` as a collection tells it."""
    if _MODEL in properties:
        return f"{properties[_MODEL]} ({properties.get(_DIMENSION, '?')})"
    match = _DESCRIPTION.fullmatch(description)
    return f"{match[1]} ({match[2]})" if match else None


def chunk_rows(chunks: Sequence[StoredChunk], vectors: Vectors, base_folder: str) -> list[Row]:
    """One row per chunk id, the last one wins.

    Raises:
        ValueError: an id that ``is_chunk_id`` refuses.
    """
    refused = [chunk.id for chunk in chunks if not is_chunk_id(chunk.id)]
    if refused:
        raise ValueError(f"not a chunk id: {refused[0]!r}")
    rows = {
        chunk.id: stored_row(chunk, base_folder) | {VECTOR_FIELD: vector}
        for chunk, vector in zip(chunks, vectors, strict=True)
    }
    return list(rows.values())


def stored_row(chunk: StoredChunk, base_folder: str) -> Row:
    """The chunk under ``ROW_FIELDS`` as it is stored, without its vector."""
    row: Row = dict(chunk.to_metadata(base_folder))
    row |= {name: fit(str(row[name]), TEXT_BYTES) for name in _TEXT_FIELDS}
    row |= {"id": chunk.id, "content": fit(chunk.chunk.content, CONTENT_BYTES)}
    row |= {"content_hash": fit(chunk.content_hash, TEXT_BYTES)}
    return row


def fit(text: str, limit: int) -> str:
    """The longest start of ``text`` within ``limit`` bytes of UTF-8; NUL and lone surrogates are replaced."""
    stored = text.replace("\x00", "\ufffd").encode("utf-8", "replace")
    return stored[:limit].decode("utf-8", "ignore")


def batches(rows: Iterable[Row], max_rows: int, max_bytes: int) -> Iterator[list[Row]]:
    """The rows in order, at most ``max_rows`` and about ``max_bytes`` at once."""
    batch: list[Row] = []
    size = 0
    for row in rows:
        row_bytes = estimated_bytes(row["content"]) + 4 * len(row[VECTOR_FIELD])
        if batch and (len(batch) == max_rows or size + row_bytes > max_bytes):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row_bytes
    if batch:
        yield batch


def estimated_bytes(content: str) -> int:
    """About the size of a row with this content, without its vector."""
    return _ROW_OVERHEAD_BYTES + 4 * len(content)


def is_chunk_id(chunk_id: str) -> bool:
    """Short, printable, and without a quote or a backslash: pymilvus puts ids into expressions as they are."""
    is_plain = chunk_id.isprintable() and not set(chunk_id) & set("'\"\\")
    return is_plain and 0 < len(chunk_id.encode("utf-8", "replace")) <= ID_BYTES


def check_vectors(vectors: Vectors, count: int, model: EmbeddingModel) -> None:
    """Milvus Lite accepts NaN and any length without a word.

    Raises:
        IndexUnavailable: not ``(count, dimension)`` finite unit rows.
    """
    model_id, dimension = model.model_id, model.dimension
    if vectors.shape != (count, dimension):
        raise IndexUnavailable(
            f"The vector index holds {dimension} numbers per text ({model_id}) and was given an array of the shape "
            f"{vectors.shape} for {count} texts: rebuild the index if embedding.model has changed."
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not (np.abs(lengths - 1.0) <= UNIT_LENGTH_TOLERANCE).all():
        raise IndexUnavailable(
            f"{model_id} gave vectors that are not finite or not of length 1: check embedding.model."
        )
