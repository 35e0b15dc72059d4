"""The reconcile: brings records, chunks, vectors, full text and L0 in line with the files (S1, U8)."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kbapp.domain.chunking import ChunkingOptions, repeated_lines, split_document
from kbapp.domain.documents import Document, DocumentRecord, DocumentStatus, FileProblem, FileScan
from kbapp.domain.errors import UserError
from kbapp.domain.hashing import sha256_hex
from kbapp.domain.index_state import MODEL_STATE, REPEATED_LINES_STATE, other_model
from kbapp.domain.ports import DocumentFiles, DocumentRecords, Embedder, EmbeddingCache, KeywordIndex
from kbapp.service.chunk_writer import ChunkWriter, Prepared, identify
from kbapp.service.clock import now
from kbapp.service.index_report import ChangeKind, DocumentChange, IndexReport, OnProgress
from kbapp.service.passage_vectors import PassageVectors

logger = logging.getLogger("kbapp.indexing")

CHUNKING_VERSION = 1  # raised when the same settings cut or embed differently: everything is chunked anew

Records = dict[str, DocumentRecord]
Changes = list[DocumentChange]


@dataclass(frozen=True, slots=True)
class IndexingOptions:
    """What chunks and vectors are made with."""

    chunking: ChunkingOptions
    repeated_line_share: float
    repeated_line_min_documents: int


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
        writer: ChunkWriter,
        options: IndexingOptions,
    ) -> None:
        self._files = files
        self._records = records
        self._cache = cache
        self._embedder = embedder
        self._keywords = keywords
        self._writer = writer
        self._options = options
        self._held: dict[str, str] = {}  # content hash of the version that L0 holds, by path

    def load_keywords(self) -> None:
        """Build L0 from the files (K8); a file that cannot be read is left to the reconcile to report."""
        entries, held = [], {}
        for path in self._files.scan().paths:
            try:
                data = self._files.read_bytes(path)
                entry = self._files.parse_entry(path, data)
            except UserError as error:
                logger.warning("%s", error)
                continue
            held[path] = sha256_hex(data)
            if entry:
                entries.append(entry)
        self._keywords.replace(entries)
        self._held = held
        logger.info("L0: %d entries", len(entries))

    def suspect_vectors(self) -> None:
        """Have the next reconcile compare the vector index with the chunks where nothing else would tell of a change."""
        self._writer.suspect_unseen_changes()

    def close(self) -> None:
        """Take note of the state in which the vectors are left."""
        self._writer.seal()

    def reconcile(self, on_progress: OnProgress | None = None) -> IndexReport:
        """Bring every index in line with the files; what fails is reported, the rest goes on.

        Raises:
            UserError: the folder of the knowledge base is gone.
            IndexUnavailable: the database cannot be used.
        """
        started = time.perf_counter()
        former_model = self._former_model()
        rows = PassageVectors(self._embedder, self._cache, on_progress)
        scan = self._files.scan()
        changes: Changes = []
        records = self._records.documents()
        hashes = self._hash_files(scan.paths, records, changes)
        records = self._rename(records, hashes, scan.paths, changes)
        changes += [self._writer.remove(record) for record in _gone(records, scan.paths, scan.problems)]
        work, repeated = self._plan(records, hashes)
        prepared = self._prepare(work, records, repeated, changes)
        rows.expect(chunk for item in prepared for chunk in item.chunks)
        renamed = {change.path for change in changes if change.kind is ChangeKind.RENAMED}
        for change in self._writer.write(prepared, rows, self._made_with):
            if change.kind is not ChangeKind.FAILED:
                self._put_entry(change.path, hashes[change.path])
            if change.kind is ChangeKind.FAILED or change.path not in renamed:
                changes.append(change)
        self._records.set_state(REPEATED_LINES_STATE, json.dumps(sorted(repeated), ensure_ascii=False))
        self._writer.repair(rows)
        self._follow_keywords(hashes)
        return self._report(changes, scan, rows.embedded, former_model, time.perf_counter() - started)

    def _follow_keywords(self, hashes: dict[str, str]) -> None:
        """Bring L0 to the indexed versions, also where another process indexed them; a failed one keeps its entry."""
        records = self._records.documents()
        for path in self._held.keys() - records.keys():
            self._keywords.remove(path)
            del self._held[path]
        for path, record in records.items():
            if record.indexed_hash and record.indexed_hash == hashes.get(path) != self._held.get(path):
                self._put_entry(path, record.indexed_hash)

    def _put_entry(self, path: str, content_hash: str) -> None:
        try:
            entry = self._files.read_entry(path)
        except UserError as error:
            logger.warning("%s", error)
            return
        if entry:
            self._keywords.put(entry)
        else:
            self._keywords.remove(path)
        self._held[path] = content_hash

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
                changes.append(self._writer.fail(records.get(path) or _new_record(path), str(error)))
        return hashes

    def _rename(self, records: Records, hashes: dict[str, str], paths: Sequence[str], changes: Changes) -> Records:
        """Move records of vanished files to new files with the same bytes: nothing is embedded again."""
        present = set(paths)
        vanished: dict[str, list[DocumentRecord]] = {}
        for path, record in records.items():
            if path not in present and record.indexed_hash:
                vanished.setdefault(record.indexed_hash, []).append(record)
        moved = []
        for path, content_hash in hashes.items():
            if path not in records and vanished.get(content_hash):
                former = vanished[content_hash].pop(0)
                # Made with nothing: the rows in the vector index name the former path and are to be written anew.
                moved.append(replace(former, path=path, status=DocumentStatus.PENDING, indexed_with=None))
                changes.append(DocumentChange(path, ChangeKind.RENAMED, former.path))
        if not moved:
            return records
        self._records.save([replace(record, updated_at=now()) for record in moved])
        return self._records.documents()

    def _plan(self, records: Records, hashes: dict[str, str]) -> tuple[list[str], frozenset[str]]:
        """Which documents to index, and the lines to leave out of the embedded texts (C8)."""
        known = frozenset(json.loads(self._records.state(REPEATED_LINES_STATE) or "[]"))
        work = {path for path, content_hash in hashes.items() if self._is_stale(records.get(path), content_hash)}
        if not work and all(path in hashes for path in records):
            return [], known
        repeated, affected = self._repeated_lines(hashes, known)
        return sorted(work | affected), repeated

    def _is_stale(self, record: DocumentRecord | None, content_hash: str) -> bool:
        return (
            record is None
            or record.status is not DocumentStatus.INDEXED
            or record.indexed_hash != content_hash
            or record.indexed_with != self._made_with
        )

    def _repeated_lines(self, hashes: dict[str, str], known: frozenset[str]) -> tuple[frozenset[str], set[str]]:
        """The repeated lines now, and the documents which hold one that became or ceased to be repeated."""
        bodies = {}
        for path in hashes:
            try:
                bodies[path] = self._files.read(path).body
            except UserError:
                continue  # indexing it reports why
        repeated = repeated_lines(
            bodies.values(),
            share=self._options.repeated_line_share,
            min_documents=self._options.repeated_line_min_documents,
        )
        changed = repeated ^ known
        if not changed:
            return repeated, set()
        return repeated, {
            path for path, body in bodies.items() if not changed.isdisjoint(line.strip() for line in body.split("\n"))
        }

    @property
    def _made_with(self) -> str:
        """Model, chunking and base folder: a document whose chunks were made with others is made anew."""
        chunking = self._options.chunking
        return (
            f"{self._embedder.model_id} v{CHUNKING_VERSION} {chunking.max_characters}/{chunking.overlap_characters}"
            f" {self._files.base_folder}"
        )

    def _prepare(
        self, work: Sequence[str], records: Records, repeated: frozenset[str], changes: Changes
    ) -> list[Prepared]:
        prepared = []
        for path in work:
            record = records.get(path) or _new_record(path)
            try:
                document = self._files.read(path)
            except UserError as error:
                changes.append(self._writer.fail(record, str(error)))
                continue
            old = self._records.chunks_of(record.id)
            written = frozenset(old if record.indexed_with == self._made_with else ())
            record = _pending(record, document)
            chunks = identify(record, split_document(document, self._options.chunking), repeated)
            prepared.append(Prepared(record, document, chunks, written, frozenset(chunk.id for chunk in old)))
        self._records.save([item.record for item in prepared])
        return prepared

    def _report(
        self, changes: Changes, scan: FileScan, embedded: int, former_model: str | None, seconds: float
    ) -> IndexReport:
        touched = {change.path for change in changes if change.kind is not ChangeKind.REMOVED}
        records = self._records.documents().values()
        return IndexReport(
            documents=len(scan.paths),
            entries=len(self._keywords.entries()),
            unchanged=len(scan.paths) - len(touched),
            chunks=self._records.chunk_count(),
            embedded=embedded,
            seconds=seconds,
            changes=tuple(changes),
            problems=scan.problems,
            warnings=tuple(FileProblem(record.path, record.warning) for record in records if record.warning),
            former_model=former_model,
        )


def _gone(records: Records, paths: Sequence[str], problems: Sequence[FileProblem]) -> list[DocumentRecord]:
    """Records whose file is gone; what lies in a folder that cannot be looked into is not gone."""
    present = set(paths)
    hidden = tuple(f"{problem.path}/" for problem in problems)
    return [record for path, record in records.items() if path not in present and not f"{path}/".startswith(hidden)]


def _pending(record: DocumentRecord, document: Document) -> DocumentRecord:
    return replace(
        record,
        title=document.title,
        metadata=document.frontmatter.values if document.frontmatter else None,
        content_hash=document.content_hash,
        status=DocumentStatus.PENDING,
        error=None,
        warning=document.warning,
        updated_at=now(),
    )


def _new_record(path: str) -> DocumentRecord:
    created = now()
    return DocumentRecord(
        id=secrets.token_hex(6),
        path=path,
        title=path,
        metadata=None,
        content_hash="",
        status=DocumentStatus.PENDING,
        error=None,
        warning=None,
        chunk_count=0,
        indexed_hash=None,
        indexed_with=None,
        created_at=created,
        updated_at=created,
    )
