"""The vectors of the chunks in force, in memory: what Milvus Lite finds by a walk over all rows, found at once.

Milvus stays the store of record. Which chunks are in force is said by SQLite, and the embedding cache beside them has
their vectors: the replica is made of these, and follows the log that triggers keep of each change to table ``chunk``,
whichever process made it. As long as a vector is missing, Milvus is asked.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kbapp.adapters.database import Database
from kbapp.adapters.milvus_schema import check_vectors
from kbapp.adapters.unit_rows import RowsView, UnitRows, are_unit
from kbapp.domain.ports import EmbeddingModel, VectorHit, Vectors, VectorSearcher

logger = logging.getLogger("kbapp.vectors")

_ROWS_AT_ONCE = 500  # SQLite's own limit of parameters is 999 in old builds
# Each by the index: asked for together they are found by a walk over all.
_CHANGES = "SELECT (SELECT min(number) FROM chunk_change), (SELECT max(number) FROM chunk_change)"
_ROWS = (
    "SELECT chunk.id, cached.vector, instr(d.indexed_with, ?) <> 1 AS is_of_another"
    " FROM chunk JOIN api_document AS d ON d.id = document_id"
    " LEFT JOIN embedding_cache AS cached ON cached.model = ? AND cached.text_hash = chunk.content_hash"
)


@dataclass(frozen=True, slots=True)
class _Found:
    """Chunks in force with their vectors; ``missing``: how many have none and are not of another model."""

    ids: list[str]
    vectors: Vectors
    missing: int


class VectorReplica:
    """``VectorSearcher`` over the chunks in force, read at the first search. Thread-safe."""

    def __init__(self, database: Database, model: EmbeddingModel, indexed: VectorSearcher) -> None:
        self._database = database
        self._model = model
        self._indexed = indexed
        self._lock = threading.Lock()
        self._change = -1  # the last one that is followed; -1: nothing was read yet
        self._generation = database.generation
        self._rows: UnitRows | None = None  # None: Milvus is to be asked
        self._is_told = False  # that it is

    def search(self, vector: Vectors, limit: int) -> list[VectorHit]:
        """The nearest chunks of one unit vector ``(dimension,)``, nearest first, ties by chunk id.

        Raises:
            IndexUnavailable: the vector is of another model, or the database cannot be used, or Milvus was to be asked.
        """
        query = np.asarray(vector, dtype=np.float32)
        check_vectors(np.atleast_2d(query), 1, self._model)
        view = self._followed()
        return view.nearest(query, limit) if view else self._indexed.search(vector, limit)

    def distances(self, vector: Vectors, hashes: Mapping[str, str]) -> dict[str, float]:
        """The squared L2 distances of chunks, by id; unknown ones are left out.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        with self._lock:
            held = self._rows.distances(vector, hashes) if self._rows is not None else {}
        others = {chunk_id: text_hash for chunk_id, text_hash in hashes.items() if chunk_id not in held}
        return held | self._indexed.distances(vector, others)

    def size(self) -> int | None:
        """How many vectors are in memory; None: none were needed yet, or Milvus is asked."""
        return None if self._rows is None else len(self._rows)

    def _followed(self) -> RowsView | None:
        with self._lock, self._database.read() as connection:
            if self._generation != self._database.generation:  # another file, with changes of its own
                self._generation, self._change, self._rows = self._database.generation, -1, None
            # Read before the chunks: what is committed in between is followed a second time, which changes nothing.
            first, last = connection.execute(_CHANGES).fetchone()
            last = last or 0
            if last != self._change or self._rows is None:
                is_known = first is not None and first <= self._change + 1 <= last
                self._rows = (self._changed(connection) if is_known else None) or self._loaded(connection)
                self._change = last
            return self._rows.view() if self._rows is not None else None

    def _changed(self, connection: sqlite3.Connection) -> UnitRows | None:
        """The rows with the changes since; None: that cannot be."""
        if self._rows is None:
            return None
        changes = connection.execute("SELECT DISTINCT chunk_id FROM chunk_change WHERE number > ?", (self._change,))
        chunk_ids = [row["chunk_id"] for row in changes]
        for start in range(0, len(chunk_ids), _ROWS_AT_ONCE):
            part = chunk_ids[start : start + _ROWS_AT_ONCE]
            marks = ",".join("?" * len(part))
            for found in self._read(connection, f" WHERE chunk.id IN ({marks})", part):
                if found.missing:
                    return None
                self._rows.add(found.ids, found.vectors)
                part = list(set(part) - set(found.ids))
            self._rows.remove(part)
        return self._rows

    def _loaded(self, connection: sqlite3.Connection) -> UnitRows | None:
        """All rows; None while a vector is missing, which no log tells of: each search looks again."""
        rows = UnitRows(self._model.dimension)
        for found in self._read(connection):
            if found.missing:
                if not self._is_told:
                    logger.warning("the embedding cache lacks vectors, Milvus is searched: run `kbapp index`")
                self._is_told = True
                return None
            rows.add(found.ids, found.vectors)
        self._is_told = False
        return rows

    def _read(self, connection: sqlite3.Connection, where: str = "", chunk_ids: Sequence[str] = ()) -> Iterator[_Found]:
        """The chunks in force, some at a time: all of them at once would take their place in memory three times."""
        model, dimension = self._model.model_id, self._model.dimension
        cursor = connection.execute(_ROWS + where, [f"{model} v", model, *chunk_ids])
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            held = [row for row in rows if isinstance(row["vector"], bytes) and len(row["vector"]) == 4 * dimension]
            vectors = np.frombuffer(b"".join([row["vector"] for row in held]), dtype="<f4").reshape(-1, dimension)
            usable = are_unit(vectors)
            ids = [row["id"] for row, is_usable in zip(held, usable, strict=True) if is_usable]
            missing = {row["id"] for row in rows if row["is_of_another"] != 1} - set(ids)
            yield _Found(ids, vectors[usable], len(missing))
