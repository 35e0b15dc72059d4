"""What is indexed here, copied to a Milvus server with the vectors at hand: nothing is embedded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kbapp.domain.documents import DocumentRecord, DocumentStatus, FileProblem, StoredChunk
from kbapp.domain.errors import UserError
from kbapp.domain.index_state import MODEL_STATE, other_model
from kbapp.domain.ports import DocumentRecords, EmbeddingCache, VectorIndex
from kbapp.service.chunk_rows import BATCH_CHUNKS
from kbapp.service.documents import IndexLock
from kbapp.service.index_report import IndexProgress, OnProgress


class ServerIndex(VectorIndex, Protocol):
    """The vector index on a server."""

    def collection_name(self) -> str:
        """The collection that holds the vectors of this model; the server is asked."""


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What a copy did; ``consistent``: compared afterwards, the server holds the chunks in force and no others.

    ``failed`` are the documents that are not indexed in their present version; what answers here is copied.
    """

    uri: str
    collection: str
    chunks: int
    written: int
    removed: int
    consistent: bool
    failed: tuple[FileProblem, ...]
    seconds: float


class ServerCopy:
    """Reads records and embedding cache, never the vector index in use; writes to the server alone."""

    def __init__(
        self,
        *,
        records: DocumentRecords,
        cache: EmbeddingCache,
        model_id: str,
        open_server: Callable[[str], ServerIndex],
        index_lock: IndexLock,
    ) -> None:
        self._records = records
        self._cache = cache
        self._model_id = model_id
        self._open_server = open_server
        self._index_lock = index_lock

    def run(self, uri: str, on_progress: OnProgress | None, wait_seconds: float) -> CopyReport:
        """Make the server hold the chunks in force and no others, while nobody indexes.

        Raises:
            UserError: it is no address, or what is here is not ready to be copied; nothing has been written.
            IndexUnavailable: the server or the database does not answer, or somebody is indexing; a later run goes on.
        """
        started = time.perf_counter()
        with closing(self._open_server(uri)) as server:
            collection = server.collection_name()  # before the lock: who cannot be reached keeps nobody waiting
            with self._index_lock(wait_seconds):
                failed = self._failed_documents()
                chunks = self._records.chunks(sorted(self._records.chunk_ids()))
                found = server.differences(chunks.values())
                wanted = [chunks[chunk_id] for chunk_id in sorted(found.to_write)]
                at_hand = self._with_vectors(wanted, failed, uri)
                if found.orphaned:
                    server.delete(sorted(found.orphaned))
                self._write(server, at_hand, on_progress)
                left = server.differences(chunks.values()) if at_hand or found.orphaned else found
        excused = {chunk.id for chunk in wanted} - {chunk.id for chunk in at_hand}
        return CopyReport(
            uri=uri,
            collection=collection,
            chunks=len(chunks) - len(excused),
            written=len(at_hand),
            removed=len(found.orphaned),
            consistent=not (left.to_write - excused or left.orphaned),
            failed=tuple(FileProblem(record.path, record.error or "") for record in failed),
            seconds=time.perf_counter() - started,
        )

    def _failed_documents(self) -> list[DocumentRecord]:
        """The documents that failed, where that is all that is missing here.

        Raises:
            UserError: there is something to do here first.
        """
        model = self._records.state(MODEL_STATE)
        if model is None:
            raise UserError("nothing is indexed yet: run `kbapp index` first")
        if model != self._model_id:
            raise UserError(other_model(model, self._model_id))
        records = list(self._records.documents().values())
        pending = [record.path for record in records if record.status is DocumentStatus.PENDING]
        if pending:
            raise UserError(
                f"{_counted(len(pending), 'document')} still to be indexed ({pending[0]}): run `kbapp index` first"
            )
        failed = [record for record in records if record.status is DocumentStatus.FAILED]
        if failed and not self._records.chunk_count():
            first = f"{failed[0].path}: {failed[0].error}"
            raise UserError(f"no document could be indexed ({first}): mend the cause and run `kbapp index` first")
        return failed

    def _with_vectors(
        self, chunks: Sequence[StoredChunk], failed: Sequence[DocumentRecord], uri: str
    ) -> list[StoredChunk]:
        """The chunks whose vectors are in the cache; only documents that failed may have others, of a former model.

        Raises:
            UserError: the vectors of other documents are not there either.
        """
        held = {key for part in _parts(chunks) for key in self._cache.get([chunk.content_hash for chunk in part])}
        excused = {record.id for record in failed}
        absent = [chunk.path for chunk in chunks if chunk.content_hash not in held and chunk.document_id not in excused]
        if absent:
            raise UserError(
                f"{_counted(len(absent), 'chunk')} without a vector in the embedding cache ({absent[0]}):"
                f" set milvus.uri to {uri} and run `kbapp index`, which embeds what is missing there"
            )
        return [chunk for chunk in chunks if chunk.content_hash in held]

    def _write(self, server: ServerIndex, chunks: Sequence[StoredChunk], on_progress: OnProgress | None) -> None:
        done = 0
        for part in _parts(chunks):
            vectors = self._cache.get([chunk.content_hash for chunk in part])
            server.write(part, np.stack([vectors[chunk.content_hash] for chunk in part]))
            done += len(part)
            if on_progress:
                on_progress(IndexProgress(done, len(chunks), part[-1].path))


def _parts(chunks: Sequence[StoredChunk]) -> Iterator[Sequence[StoredChunk]]:
    for start in range(0, len(chunks), BATCH_CHUNKS):
        yield chunks[start : start + BATCH_CHUNKS]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun} is" if count == 1 else f"{count} {noun}s are"
