"""Chunk sets into the stores, in the order that survives a crash (U4).

Record PENDING → vectors → chunk set and record INDEXED in one transaction → old vectors away. SQLite is
the switch: whatever dies in between, the next reconcile finds the document not INDEXED, or vectors that no chunk
names, and goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kbapp.domain.documents import Document, DocumentRecord, DocumentStatus, StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import DocumentRecords, Vectors
from kbapp.service.chunk_rows import BATCH_CHUNKS, ChunkRows
from kbapp.service.clock import now
from kbapp.service.index_report import ChangeKind, DocumentChange
from kbapp.service.passage_vectors import PassageVectors

logger = logging.getLogger("kbapp.indexing")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that is chunked and waits for its vectors.

    ``written`` are the rows that the vector index holds just so, ``old_ids`` those of the chunk set in force.
    """

    record: DocumentRecord
    document: Document
    chunks: tuple[StoredChunk, ...]
    written: frozenset[StoredChunk]
    old_ids: frozenset[str]

    @property
    def former_ids(self) -> list[str]:
        """The rows that no chunk names once this version is in force."""
        return sorted(self.old_ids - {chunk.id for chunk in self.chunks})


class ChunkWriter:
    """Writes documents' chunks, one writer at a time: the caller holds the index lock."""

    def __init__(self, records: DocumentRecords, rows: ChunkRows) -> None:
        self._records = records
        self._rows = rows

    def write(self, prepared: Sequence[Prepared], passages: PassageVectors, made_with: str) -> Iterator[DocumentChange]:
        """Embed, write and commit documents in batches; one whose text cannot be embedded fails alone."""
        for batch in _batches(prepared):
            yield from self._write_batch(batch, passages, made_with)

    def remove(self, record: DocumentRecord) -> DocumentChange:
        """Take a document out of every index (U7)."""
        chunk_ids = [stored.id for stored in self._records.chunks_of(record.id)]
        self._rows.doubt()
        self._records.delete(record.id)
        self._rows.delete(chunk_ids)
        return DocumentChange(record.path, ChangeKind.REMOVED)

    def fail(self, record: DocumentRecord, error: str) -> DocumentChange:
        """Record why a document is not indexed; an earlier version of it keeps answering."""
        logger.warning("%s is not indexed: %s", record.path, error)
        self._records.save([replace(record, status=DocumentStatus.FAILED, error=error, updated_at=now())])
        return DocumentChange(record.path, ChangeKind.FAILED, error)

    def _write_batch(
        self, batch: Sequence[Prepared], passages: PassageVectors, made_with: str
    ) -> Iterator[DocumentChange]:
        ready, failed, changed, vectors = self._embedded(batch, passages)
        yield from failed
        if not ready:
            return
        self._rows.doubt()
        try:
            if changed:
                self._rows.write(changed, vectors)
        except IndexUnavailable as error:
            for item in ready:
                yield self.fail(item.record, str(error))
            return
        for item in ready:
            yield self._commit(item, made_with)
        self._rows.delete([chunk_id for item in ready for chunk_id in item.former_ids])

    def _embedded(
        self, batch: Sequence[Prepared], passages: PassageVectors
    ) -> tuple[list[Prepared], list[DocumentChange], list[StoredChunk], Vectors]:
        """The documents that have their vectors, those that failed, and the rows to write with their vectors."""
        ready: list[Prepared] = []
        failed: list[DocumentChange] = []
        changed: list[StoredChunk] = []
        parts: list[Vectors] = []
        for item in batch:
            new = [chunk for chunk in item.chunks if chunk not in item.written]
            try:
                if new:
                    parts.append(passages.rows_of(new))
            except IndexUnavailable as error:
                failed.append(self.fail(item.record, str(error)))
                continue
            ready.append(item)
            changed += new
        return ready, failed, changed, np.concatenate(parts) if parts else np.empty((0, 0), np.float32)

    def _commit(self, item: Prepared, made_with: str) -> DocumentChange:
        record = replace(
            item.record,
            status=DocumentStatus.INDEXED,
            chunk_count=len(item.chunks),
            indexed_hash=item.document.content_hash,
            indexed_with=made_with,
            updated_at=now(),
        )
        self._records.commit_chunks(record, item.chunks)
        return DocumentChange(record.path, ChangeKind.UPDATED if item.record.indexed_hash else ChangeKind.ADDED)


def _batches(prepared: Sequence[Prepared]) -> Iterator[list[Prepared]]:
    batch: list[Prepared] = []
    for item in prepared:
        batch.append(item)
        if sum(len(member.chunks) for member in batch) >= BATCH_CHUNKS:
            yield batch
            batch = []
    if batch:
        yield batch
