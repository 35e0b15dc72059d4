"""Chunk sets into the stores, in the order that survives a crash (U4).

Record PENDING → vectors → chunk set and record INDEXED in one transaction → old vectors away. SQLite is
the switch: whatever dies in between, the next reconcile finds the document not INDEXED, or vectors that no chunk
names, and goes on.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kbapp.domain.chunking import without_lines
from kbapp.domain.documents import Chunk, Document, DocumentRecord, DocumentStatus, StoredChunk
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.hashing import text_hash
from kbapp.domain.index_state import CONSISTENT_STATE, MODEL_STATE
from kbapp.domain.ports import DocumentRecords, VectorIndex, Vectors
from kbapp.service.clock import now
from kbapp.service.index_report import ChangeKind, DocumentChange
from kbapp.service.passage_vectors import PassageVectors

logger = logging.getLogger("kbapp.indexing")

BATCH_CHUNKS = 256  # chunks written to the vector index at a time: a flush costs the same for one and for many


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


class ChunkWriter:
    """Writes documents' chunks, one writer at a time: the caller holds the index lock."""

    def __init__(self, records: DocumentRecords, vectors: VectorIndex, model_id: str) -> None:
        self._records = records
        self._vectors = vectors
        self._model_id = model_id

    def write(self, prepared: Sequence[Prepared], rows: PassageVectors, made_with: str) -> Iterator[DocumentChange]:
        """Embed, write and commit documents in batches; one whose text cannot be embedded fails alone."""
        for batch in _batches(prepared):
            yield from self._write_batch(batch, rows, made_with)

    def remove(self, record: DocumentRecord) -> DocumentChange:
        """Take a document out of every index (U7)."""
        chunk_ids = [stored.id for stored in self._records.chunks_of(record.id)]
        self.suspect_vectors()
        self._records.delete(record.id)
        self._delete_vectors(chunk_ids)
        return DocumentChange(record.path, ChangeKind.REMOVED)

    def fail(self, record: DocumentRecord, error: str) -> DocumentChange:
        """Record why a document is not indexed; an earlier version of it keeps answering."""
        logger.warning("%s is not indexed: %s", record.path, error)
        self._records.save([replace(record, status=DocumentStatus.FAILED, error=error, updated_at=now())])
        return DocumentChange(record.path, ChangeKind.FAILED, error)

    def suspect_vectors(self) -> None:
        """Have the next ``repair`` compare the vector index with the chunks, whatever was known of it."""
        self._records.set_state(CONSISTENT_STATE, "")

    def suspect_unseen_changes(self) -> None:
        """``suspect_vectors`` for a store that does not tell whether it was changed by somebody else."""
        if not self._vectors.fingerprint():
            self.suspect_vectors()

    def seal(self) -> None:
        """Take note of how the vector index looks now that it is consistent; again when it is closed."""
        if self._is_trusted():
            self._records.set_state(CONSISTENT_STATE, f"{self._model_id} {self._vectors.fingerprint()}")

    def _is_trusted(self) -> bool:
        return (self._records.state(CONSISTENT_STATE) or "").startswith(f"{self._model_id} ")

    def _is_sealed(self) -> bool:
        return self._records.state(CONSISTENT_STATE) == f"{self._model_id} {self._vectors.fingerprint()}"

    def repair(self, rows: PassageVectors) -> None:
        """After a write or a crash: vectors that no chunk names go, chunks without one get theirs from the cache."""
        if self._is_sealed():
            return
        try:
            there = self._vectors.chunk_ids()
            wanted = self._records.chunk_ids()
            self._vectors.delete(sorted(there - wanted))
            self._vectors.drop_other_collections()
            missing = list(self._records.chunks(sorted(wanted - there)).values())
            for start in range(0, len(missing), BATCH_CHUNKS):
                part = missing[start : start + BATCH_CHUNKS]
                self._vectors.write(part, rows.rows_of(part))
        except IndexUnavailable as error:
            logger.warning("the vectors are not compared with the chunks: %s", error)
            return
        self._records.set_state(CONSISTENT_STATE, f"{self._model_id} {self._vectors.fingerprint()}")
        self._records.set_state(MODEL_STATE, self._model_id)

    def _write_batch(self, batch: Sequence[Prepared], rows: PassageVectors, made_with: str) -> Iterator[DocumentChange]:
        ready: list[Prepared] = []
        changed: list[StoredChunk] = []
        parts: list[Vectors] = []
        for item in batch:
            new = [chunk for chunk in item.chunks if chunk not in item.written]
            try:
                if new:
                    parts.append(rows.rows_of(new))
            except IndexUnavailable as error:
                yield self.fail(item.record, str(error))
                continue
            ready.append(item)
            changed += new
        try:
            if changed:
                self.suspect_vectors()
                self._vectors.write(changed, np.concatenate(parts))
        except IndexUnavailable as error:
            for item in ready:
                yield self.fail(item.record, str(error))
            return
        for item in ready:
            yield self._commit(item, made_with)

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
        self._delete_vectors(sorted(item.old_ids - {chunk.id for chunk in item.chunks}))
        return DocumentChange(record.path, ChangeKind.UPDATED if item.record.indexed_hash else ChangeKind.ADDED)

    def _delete_vectors(self, chunk_ids: Sequence[str]) -> None:
        """Old vectors away; when that fails they stay unseen, since no chunk names them, until the next repair."""
        if not chunk_ids:
            return
        try:
            self.suspect_vectors()
            self._vectors.delete(chunk_ids)
        except IndexUnavailable as error:
            logger.warning("%d old vectors are left to the next reconcile: %s", len(chunk_ids), error)


def identify(record: DocumentRecord, chunks: Sequence[Chunk], repeated: frozenset[str]) -> tuple[StoredChunk, ...]:
    """Chunks with their ids: document id, hash of the embedded text without repeated lines, occurrence (C7, C8)."""
    seen: Counter[str] = Counter()
    stored = []
    for whole in chunks:
        chunk = replace(whole, embedded_text=without_lines(whole.embedded_text, repeated))
        content_hash = text_hash(chunk.embedded_text)
        chunk_id = f"{record.id}-{content_hash[:16]}-{seen[content_hash]}"
        seen[content_hash] += 1
        stored.append(StoredChunk(chunk_id, record.id, record.path, content_hash, chunk))
    return tuple(stored)


def _batches(prepared: Sequence[Prepared]) -> Iterator[list[Prepared]]:
    batch: list[Prepared] = []
    for item in prepared:
        batch.append(item)
        if sum(len(member.chunks) for member in batch) >= BATCH_CHUNKS:
            yield batch
            batch = []
    if batch:
        yield batch
