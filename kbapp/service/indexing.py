"""The reconcile: brings records, chunks, vectors, full text and L0 in line with the files (S1, U8)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kbapp.domain.documents import Document, DocumentRecord, DocumentStatus, FileProblem, FileScan, KnowledgeEntry
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.hashing import sha256_hex
from kbapp.domain.index_state import MODEL_STATE, other_model
from kbapp.domain.ports import DocumentFiles, DocumentRecords, Embedder, EmbeddingCache, KeywordIndex
from kbapp.service.chunk_rows import ChunkRows
from kbapp.service.chunk_writer import ChunkWriter, Prepared
from kbapp.service.chunker import Chunker
from kbapp.service.clock import now
from kbapp.service.index_report import ChangeKind, DocumentChange, IndexReport, OnProgress
from kbapp.service.keyword_entries import KeywordEntries
from kbapp.service.passage_vectors import PassageVectors
from kbapp.service.records import new_record, pending_record
from kbapp.service.repeated_lines import RepeatedLines

logger = logging.getLogger("kbapp.indexing")

Records = dict[str, DocumentRecord]
Changes = list[DocumentChange]


class Indexer:
    """Follows the files; one at a time: the caller holds the index lock."""

    def __init__(
        self,
        *,
        files: DocumentFiles,
        records: DocumentRecords,
        cache: EmbeddingCache,
        embedder: Embedder,
        keywords: KeywordIndex,
        rows: ChunkRows,
        chunker: Chunker,
        repeated: RepeatedLines,
    ) -> None:
        self._files = files
        self._records = records
        self._cache = cache
        self._embedder = embedder
        self._entries = KeywordEntries(files, keywords)
        self._rows = rows
        self._writer = ChunkWriter(records, rows)
        self._chunker = chunker
        self._repeated = repeated

    def load_keywords(self) -> None:
        """Build L0 from the files (K8); a file that cannot be read is left to the reconcile to report."""
        self._entries.load()

    def follow_keywords(self) -> None:
        """Bring L0 in line with what another process indexes meanwhile; the one thing that needs no index lock.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        self._entries.follow_others(self._records.documents())

    def is_in_l0(self, entry: KnowledgeEntry, content_hash: str) -> bool:
        """Whether L0 holds this entry now, and from the version of its document with this hash."""
        return self._entries.holds(entry, content_hash)

    def doubt_unseen_changes(self) -> None:
        """Have the next reconcile compare rows and chunks where nothing else would tell of a change."""
        self._rows.doubt_unseen_changes()

    def doubt(self, documents: Sequence[DocumentRecord]) -> None:
        """Have the next reconcile compare all rows, read L0 anew, and make these documents anew.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        self._rows.doubt()
        self._entries.doubt()
        self._records.save([replace(record, indexed_with=None) for record in documents])

    def reconcile(self, on_progress: OnProgress | None = None) -> IndexReport:
        """Bring every index in line with the files; what fails is reported, the rest goes on.

        Raises:
            UserError: the folder of the knowledge base is gone.
            IndexUnavailable: the database cannot be used.
        """
        started = time.perf_counter()
        report = self._reconcile(on_progress)
        return replace(report, seconds=time.perf_counter() - started)

    def _reconcile(self, on_progress: OnProgress | None) -> IndexReport:
        former_model = self._former_model()
        passages = PassageVectors(self._embedder, self._cache, on_progress)
        self._rows.begin()
        self._files.remove_leftovers()
        scan = self._files.scan()
        changes: Changes = []
        records = self._records.documents()
        hashes = self._hash_files(scan.paths, records, changes)
        records = self._rename(records, hashes, scan.paths, changes)
        changes += [self._remove(record) for record in _gone(records, scan)]
        self._entries.follow(records, hashes)
        repeated, affected = self._repeated.count(hashes)
        self._repeated.begin(repeated)
        work = {
            path for path, content_hash in hashes.items() if self._chunker.is_stale(records.get(path), content_hash)
        }
        renamed = {change.path for change in changes if change.kind is ChangeKind.RENAMED}
        for change in self._index(sorted(work | affected), records, repeated, passages):
            if change.path not in renamed:
                changes.append(change)
            elif change.kind is ChangeKind.FAILED:
                changes.append(change)
                self._rows.distrust()  # the rows of its former version name its former path
        self._repeated.keep(repeated, hashes)
        self._rows.end()
        unrepaired = self._rows.repair(passages)
        if unrepaired and not any(change.kind is ChangeKind.FAILED for change in changes):
            scan = replace(scan, problems=(*scan.problems, FileProblem("(vector index)", unrepaired)))
        return self._report(changes, scan, records, passages.embedded, former_model)

    def index_document(self, path: str, on_progress: OnProgress | None = None) -> DocumentChange:
        """Index one document as a reconcile would; the next reconcile counts the repeated lines again.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        if self._former_model():
            # One document alone would make the collection of the new model look complete.
            report = self.reconcile(on_progress)
            return next(change for change in report.changes if change.path == path)
        passages = PassageVectors(self._embedder, self._cache, on_progress)
        self._rows.begin()
        [change] = self._index([path], self._records.documents(), self._repeated.known(), passages)
        self._rows.end()
        return change

    def fail(self, document: Document, error: str) -> DocumentRecord:
        """The record of a document that could not be indexed; a database out of order does not keep it."""
        record = new_record(document.path)
        try:
            record = self._records.documents().get(document.path) or record
            self._writer.fail(pending_record(record, document), error)
        except IndexUnavailable as problem:
            logger.warning("%s is left to the next reconcile: %s", document.path, problem)
        return replace(pending_record(record, document), status=DocumentStatus.FAILED, error=error)

    def forget(self, record: DocumentRecord) -> DocumentChange:
        """Take a document out of every index, L0 first (U7).

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        self._rows.begin()
        change = self._remove(record)
        self._rows.end()
        return change

    def _remove(self, record: DocumentRecord) -> DocumentChange:
        self._entries.forget(record.path)
        return self._writer.remove(record)

    def _former_model(self) -> str | None:
        model = self._records.state(MODEL_STATE)
        if model is None or model == self._embedder.model_id:
            return None
        logger.warning("%s", other_model(model, self._embedder.model_id))
        return model

    def _hash_files(self, paths: Sequence[str], records: Records, changes: Changes) -> dict[str, str]:
        """SHA-256 of each readable file; an unreadable one is recorded as FAILED and keeps answering as before."""
        hashes = {}
        for path in paths:
            try:
                hashes[path] = sha256_hex(self._files.read_bytes(path))
            except UserError as error:
                changes.append(self._writer.fail(records.get(path) or new_record(path), str(error)))
        return hashes

    def _rename(self, records: Records, hashes: dict[str, str], paths: Sequence[str], changes: Changes) -> Records:
        """Move records of vanished files to new files with the same bytes: nothing is embedded again."""
        present = set(paths)
        vanished: dict[str, list[DocumentRecord]] = {}
        for path, record in records.items():
            if path not in present:
                vanished.setdefault(record.content_hash, []).append(record)
        moved = []
        for path, content_hash in hashes.items():
            if path not in records and vanished.get(content_hash):
                former = vanished[content_hash].pop(0)
                # Made with nothing: the rows in the vector index name the former path and are to be written anew.
                moved.append(replace(former, path=path, status=DocumentStatus.PENDING, indexed_with=None))
                changes.append(DocumentChange(path, ChangeKind.RENAMED, former.path))
        if not moved:
            return records
        self._rows.doubt()
        self._records.save([replace(record, updated_at=now()) for record in moved])
        return self._records.documents()

    def _index(
        self, work: Sequence[str], records: Records, repeated: frozenset[str], passages: PassageVectors
    ) -> Iterator[DocumentChange]:
        """Chunk, embed and commit documents; L0 follows each one."""
        failed: Changes = []
        prepared = self._prepare(work, records, repeated, failed)
        yield from failed
        passages.expect(chunk for item in prepared for chunk in item.chunks)
        documents = {item.document.path: item.document for item in prepared}
        for change in self._writer.write(prepared, passages, self._chunker.made_with):
            if change.kind is not ChangeKind.FAILED:
                document = documents[change.path]
                self._entries.put(document.path, document.entry, document.content_hash)
            yield change

    def _prepare(
        self, work: Sequence[str], records: Records, repeated: frozenset[str], changes: Changes
    ) -> list[Prepared]:
        prepared = []
        for path in work:
            record = records.get(path) or new_record(path)
            try:
                document = self._files.read(path)
            except UserError as error:
                changes.append(self._writer.fail(record, str(error)))
                continue
            old = self._records.chunks_of(record.id)
            written = frozenset(old if record.indexed_with == self._chunker.made_with else ())
            record = pending_record(record, document)
            chunks = self._chunker.chunks(record, document, repeated)
            prepared.append(Prepared(record, document, chunks, written, frozenset(chunk.id for chunk in old)))
        self._records.save([item.record for item in prepared])
        return prepared

    def _report(
        self, changes: Changes, scan: FileScan, records: Records, embedded: int, former_model: str | None
    ) -> IndexReport:
        if changes:
            records = self._records.documents()
        touched = {change.path for change in changes if change.kind is not ChangeKind.REMOVED}
        warned = (FileProblem(record.path, record.warning) for record in records.values() if record.warning)
        return IndexReport(
            documents=len(scan.paths),
            entries=self._entries.count,
            unchanged=len(scan.paths) - len(touched),
            chunks=self._records.chunk_count(),
            embedded=embedded,
            seconds=0.0,
            changes=tuple(changes),
            problems=scan.problems,
            warnings=(*warned, *self._entries.warnings),
            former_model=former_model,
        )


def _gone(records: Records, scan: FileScan) -> list[DocumentRecord]:
    """Records whose file is gone; what lies where nobody could look is not gone."""
    present = set(scan.paths)
    return [record for path, record in records.items() if path not in present and not scan.hides(path)]
