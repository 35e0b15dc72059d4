"""The vectors of the chunks in Milvus (L1).

Milvus' L2 distance is the squared one (G1). Traps: hits with the same distance come in any order, and after a crash
some come twice; a server gives 16,384 rows at most, limits flushes to one in ten seconds and needs none, while Milvus
Lite searches by a slow path what is not flushed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from kbapp.adapters.milvus_client import (
    MilvusClient,
    MilvusLimits,
)
from kbapp.adapters.milvus_connection import Engine, MilvusConnection
from kbapp.adapters.milvus_engine import EngineStatus
from kbapp.adapters.milvus_rows import compare_rows, read_rows, unless_missing
from kbapp.adapters.milvus_schema import (
    ID_BYTES,
    METRIC,
    ROW_FIELDS,
    VECTOR_FIELD,
    ChunkCollection,
    Row,
    batches,
    check_vectors,
    chunk_rows,
    described_model,
    ensure_collection,
    estimated_bytes,
    is_chunk_id,
    is_collection_of,
    load_collection,
)
from kbapp.domain.documents import StoredChunk
from kbapp.domain.ports import EmbeddingModel, VectorDifferences, VectorHit, Vectors

MAX_HITS = 16_384


class MilvusIndex:
    """``VectorIndex`` over one collection per model. Thread-safe; ``close()`` gives up the engine as well."""

    def __init__(
        self, engine: Engine, *, model: EmbeddingModel, base_folder: str, limits: MilvusLimits | None = None
    ) -> None:
        self._engine = engine
        self._base_folder = base_folder
        self._limits = limits or MilvusLimits()
        self._seconds = self._limits.write_seconds
        self._connection = MilvusConnection(engine, self._limits, self._prepare)
        self._model = model
        self._store = ""
        self._is_lite = True

    @property
    def address(self) -> str:
        """Of the server; ``""`` for our own folder."""
        return self._engine.address

    def search(self, vector: Vectors, limit: int) -> list[VectorHit]:
        """The nearest chunks of one unit vector ``(dimension,)``, nearest first, ties by chunk id.

        Raises:
            IndexUnavailable: the vector is of another model, or Milvus does not answer.
        """
        queries = np.atleast_2d(np.asarray(vector, dtype=np.float32))
        check_vectors(queries, 1, self._collection)
        if limit < 1:
            return []
        nearest: partial[list[VectorHit]] = partial(self._nearest, queries=queries.tolist(), limit=limit)
        return self._connection.call(lambda client: unless_missing(lambda: nearest(client), []))

    def write(self, chunks: Sequence[StoredChunk], vectors: Vectors) -> None:
        """Insert or replace chunks by id; they survive a kill when it returns.

        Raises:
            IndexUnavailable: the vectors are not ``(n, dimension)`` finite unit rows, or Milvus does not answer.
            ValueError: an id that cannot be one.
        """
        vectors = np.asarray(vectors, dtype=np.float32)
        if not chunks:
            return
        check_vectors(vectors, len(chunks), self._collection)
        rows = chunk_rows(chunks, vectors, self._base_folder)
        self._connection.write(lambda client: self._upsert(client, rows))

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove chunks by id; unknown ids are ignored.

        Raises:
            IndexUnavailable: Milvus does not answer.
        """
        ids = sorted({chunk_id for chunk_id in chunk_ids if is_chunk_id(chunk_id)})
        if not ids:
            return
        self._connection.write(lambda client: self._remove(client, ids))

    def chunk_ids(self) -> set[str]:
        """The ids of all chunks held.

        Raises:
            IndexUnavailable: Milvus does not answer.
        """
        rows = self._connection.call(lambda client: self._all_rows(client, ["id"], ID_BYTES))
        return {str(row["id"]) for row in rows}

    def count(self) -> int:
        """How many rows Milvus says it holds; after a crash some may be there twice.

        Raises:
            IndexUnavailable: Milvus does not answer.
        """
        return self._connection.call(lambda client: unless_missing(lambda: self._counted(client), 0))

    def differences(self, chunks: Iterable[StoredChunk]) -> VectorDifferences:
        """What is not as if these chunks, and no others, had been written once each; vectors are not compared.

        Raises:
            IndexUnavailable: Milvus does not answer.
        """
        wanted = list(chunks)
        row_bytes = max((estimated_bytes(chunk.chunk.content) for chunk in wanted), default=1)
        rows = self._connection.call(lambda client: self._all_rows(client, ROW_FIELDS, row_bytes))
        return compare_rows(rows, wanted, self._base_folder)

    def fingerprint(self) -> str:
        """Of the local folder's files; ``""`` for a server."""
        return self._engine.fingerprint()

    def other_collections(self) -> tuple[str, ...]:
        """The names of our collections that hold vectors of another model."""
        return self._connection.call(self._others)

    def drop_other_collections(self) -> tuple[str, ...]:
        """Delete the vectors of all other models; the names of what was deleted."""
        return self._connection.write(self._drop_others)

    def collection_name(self) -> str:
        """The collection that holds the vectors of this model."""
        return self._connection.call(lambda _: self._collection.name)

    def stored_models(self) -> tuple[str, ...]:
        """``model (dimension)`` of each collection, so that a changed model can be explained."""
        return self._connection.call(self._models)

    def status(self) -> EngineStatus:
        """Where the vectors are, asked now; never raises ``IndexUnavailable``."""
        return self._connection.status()

    def known_status(self) -> EngineStatus | None:
        """Where the vectors were at the last call, asking nobody; None: the engine was not needed yet."""
        return self._connection.known_status()

    def close(self) -> None:
        """End the connection and give up the engine; may be called twice."""
        self._connection.close()

    @property
    def _collection(self) -> ChunkCollection:
        return ChunkCollection(self._store, self._model.model_id, self._model.dimension, is_lite=self._is_lite)

    def _prepare(self, client: MilvusClient) -> None:
        """Once per connection: a collection that nobody has loaded since its server started is not searched."""
        is_lite = "lite" in str(client.get_server_version(timeout=self._seconds))
        self._store, self._is_lite = self._engine.store, is_lite
        if client.has_collection(self._collection.name, timeout=self._seconds):
            load_collection(client, self._collection, self._seconds)

    def _nearest(self, client: MilvusClient, queries: list[list[float]], limit: int) -> list[VectorHit]:
        """Fetch more until all that tie with the last place are there and enough chunks are distinct."""
        wanted = min(limit, MAX_HITS)
        fetched = min(wanted + 1, MAX_HITS)  # each hit costs Milvus Lite 0.1 ms, and ties are rare
        while True:
            found = self._found(client, queries, fetched)
            hits = distinct_hits(found)
            is_settled = len(hits) > wanted and hits[wanted - 1].distance < hits[-1].distance
            if is_settled or len(found) < fetched or fetched == MAX_HITS:
                return hits[:wanted]
            fetched = min(4 * fetched, MAX_HITS)

    def _found(self, client: MilvusClient, queries: list[list[float]], count: int) -> list[VectorHit]:
        found = client.search(
            self._collection.name,
            data=queries,
            anns_field=VECTOR_FIELD,
            limit=count,
            output_fields=["id"],  # Milvus Lite takes none for all of them
            search_params={"metric_type": METRIC},
            timeout=self._limits.search_seconds,
        )
        return [VectorHit(str(hit["id"]), max(0.0, float(hit["distance"]))) for hit in found[0]]

    def _upsert(self, client: MilvusClient, rows: list[Row]) -> None:
        ensure_collection(client, self._collection, self._seconds)
        for batch in batches(rows, self._limits.batch_rows, self._limits.batch_bytes):
            client.upsert(self._collection.name, batch, timeout=self._seconds)
        self._flush(client)

    def _remove(self, client: MilvusClient, ids: list[str]) -> None:
        if not client.has_collection(self._collection.name, timeout=self._seconds):
            return
        for start in range(0, len(ids), self._limits.batch_rows):
            client.delete(
                self._collection.name, ids=ids[start : start + self._limits.batch_rows], timeout=self._seconds
            )
        self._flush(client)

    def _flush(self, client: MilvusClient) -> None:
        if self._collection.is_lite:
            client.flush(self._collection.name, timeout=self._seconds)

    def _counted(self, client: MilvusClient) -> int:
        answer = client.query(self._collection.name, filter="", output_fields=["count(*)"], timeout=self._seconds)
        return int(answer[0]["count(*)"])

    def _all_rows(self, client: MilvusClient, fields: Sequence[str], row_bytes: int) -> list[Row]:
        return unless_missing(lambda: read_rows(client, self._collection, self._limits, fields, row_bytes), [])

    def _our_collections(self, client: MilvusClient) -> list[str]:
        names = [str(name) for name in client.list_collections(timeout=self._seconds)]
        return sorted(name for name in names if is_collection_of(self._collection.store, name))

    def _others(self, client: MilvusClient) -> tuple[str, ...]:
        return tuple(name for name in self._our_collections(client) if name != self._collection.name)

    def _drop_others(self, client: MilvusClient) -> tuple[str, ...]:
        names = self._others(client)
        for name in names:
            client.drop_collection(name, timeout=self._seconds)
        return names

    def _models(self, client: MilvusClient) -> tuple[str, ...]:
        found = [client.describe_collection(name, timeout=self._seconds) for name in self._our_collections(client)]
        models = [described_model(str(one["description"]), dict(one.get("properties") or {})) for one in found]
        return tuple(sorted(model for model in models if model))


def distinct_hits(found: Sequence[VectorHit]) -> list[VectorHit]:
    """Each chunk once, by (distance, id)."""
    nearest: dict[str, VectorHit] = {}
    for hit in sorted(found, key=lambda hit: (hit.distance, hit.chunk_id)):
        nearest.setdefault(hit.chunk_id, hit)
    return list(nearest.values())
