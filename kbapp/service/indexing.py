"""The reconcile: brings records, chunks, vectors, full text and L0 in line with the files (S1, U4, U8).

Order within a document: record PENDING → vectors → chunk set and record INDEXED → old vectors away → L0 entry. SQLite
is the switch: whatever dies in between, the next reconcile finds the document not INDEXED, or vectors that no chunk
names, and goes on.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np

from kbapp.domain.chunking import ChunkingOptions, repeated_lines, split_document, without_lines
from kbapp.domain.documents import Chunk, Document, DocumentRecord, DocumentStatus, FileProblem, FileScan, StoredChunk
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.hashing import sha256_hex, text_hash
from kbapp.domain.index_state import MODEL_STATE, other_model
from kbapp.domain.ports import (
    DocumentFiles,
    DocumentRecords,
    Embedder,
    EmbeddingCache,
    KeywordIndex,
    VectorIndex,
    Vectors,
)

logger = logging.getLogger("kbapp.indexing")

CHUNKING_VERSION = 1  # raised when the same settings cut or embed differently: everything is chunked anew
EMBED_SLICE = 8  # texts per call: progress and the cache move on after each
BATCH_CHUNKS = 256  # chunks written to the vector index at a time: a flush costs the same for one and for many
EMBEDDER_FAILURES = 2  # in a row: one may be a text that the model refuses, two are an outage
REPEATED_LINES_STATE = "repeated_lines"
CONSISTENT_STATE = "vectors_consistent"


@dataclass(frozen=True, slots=True)
class IndexingOptions:
    """What chunks and vectors are made with."""

    chunking: ChunkingOptions
    repeated_line_share: float
    repeated_line_min_documents: int


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How many of the texts to embed are done, and the document at work."""

    done: int
    total: int
    path: str


OnProgress = Callable[[IndexProgress], None]


class ChangeKind(StrEnum):
    """What a reconcile did to a document."""

    ADDED = "added"
    UPDATED = "updated"
    RENAMED = "renamed"
    REMOVED = "removed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class DocumentChange:
    """One document and what was done to it; ``detail`` is the former path or the error."""

    path: str
    kind: ChangeKind
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a reconcile found and did."""

    documents: int
    entries: int
    unchanged: int
    chunks: int
    embedded: int
    seconds: float
    changes: tuple[DocumentChange, ...]
    problems: tuple[FileProblem, ...]
    warnings: tuple[FileProblem, ...]
    former_model: str | None  # the model that made the vectors before, when it was another one

    def count(self, *kinds: ChangeKind) -> int:
        """How many documents were changed in one of these ways."""
        return sum(change.kind in kinds for change in self.changes)

    @property
    def failed(self) -> tuple[FileProblem, ...]:
        """Documents and folders that could not be indexed, with the reason."""
        failed = [
            FileProblem(change.path, change.detail or "") for change in self.changes if change.kind is ChangeKind.FAILED
        ]
        return tuple(sorted({*failed, *self.problems}, key=lambda problem: problem.path))


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A document that is chunked and waits for its vectors."""

    record: DocumentRecord
    document: Document
    chunks: tuple[StoredChunk, ...]
    written: frozenset[StoredChunk]  # rows that the vector index holds just so
    old_ids: frozenset[str]


@dataclass(slots=True)
class _Run:
    """The state of one reconcile."""

    on_progress: OnProgress | None
    changes: list[DocumentChange] = field(default_factory=list)
    total_texts: int = 0
    done_texts: int = 0
    embedded: int = 0
    embedder_errors: list[IndexUnavailable] = field(default_factory=list)

    def progress(self, texts: int, path: str) -> None:
        self.done_texts += texts
        if self.on_progress:
            self.on_progress(IndexProgress(self.done_texts, self.total_texts, path))


class Indexer:
    """Writes all indexes; one at a time: the caller holds the index lock."""

    def __init__(
        self,
        *,
        files: DocumentFiles,
        records: DocumentRecords,
        cache: EmbeddingCache,
        embedder: Embedder,
        vectors: VectorIndex,
        keywords: KeywordIndex,
        options: IndexingOptions,
    ) -> None:
        self._files = files
        self._records = records
        self._cache = cache
        self._embedder = embedder
        self._vectors = vectors
        self._keywords = keywords
        self._options = options

    def load_keywords(self) -> None:
        """Build L0 from the files (K8); a file that cannot be read is left to the reconcile to report."""
        entries = []
        for path in self._files.scan().paths:
            try:
                entry = self._files.read_entry(path)
            except UserError as error:
                logger.warning("%s", error)
                continue
            if entry:
                entries.append(entry)
        self._keywords.replace(entries)
        logger.info("L0: %d entries", len(entries))

    def suspect_vectors(self) -> None:
        """Have the next reconcile compare the vector index with the chunks, whatever was known of it."""
        self._records.set_state(CONSISTENT_STATE, "")

    def reconcile(self, on_progress: OnProgress | None = None) -> IndexReport:
        """Bring every index in line with the files; what fails is reported, the rest goes on.

        Raises:
            UserError: the folder of the knowledge base is gone.
            IndexUnavailable: the database cannot be used.
        """
        started = time.perf_counter()
        run = _Run(on_progress)
        former_model = self._former_model()
        scan = self._files.scan()
        records = self._records.documents()
        hashes = self._hash_files(scan.paths, records, run)
        records = self._rename(records, hashes, scan.paths, run)
        self._remove(_gone(records, scan.paths, scan.problems), run)
        work, repeated = self._plan(records, hashes)
        prepared = self._prepare(work, records, repeated, run)
        for batch in _batches(prepared):
            self._index(batch, run)
        self._records.set_state(REPEATED_LINES_STATE, json.dumps(sorted(repeated), ensure_ascii=False))
        self._repair_vectors(run)
        return self._report(run, scan, former_model, time.perf_counter() - started)

    def _former_model(self) -> str | None:
        model = self._records.state(MODEL_STATE)
        if model is None or model == self._embedder.model_id:
            return None
        logger.warning("%s", other_model(model, self._embedder.model_id))
        return model

    def _hash_files(self, paths: Sequence[str], records: dict[str, DocumentRecord], run: _Run) -> dict[str, str]:
        """SHA-256 of each readable file; an unreadable one is recorded as FAILED and keeps answering as before."""
        hashes = {}
        for path in paths:
            try:
                hashes[path] = sha256_hex(self._files.read_bytes(path))
            except UserError as error:
                self._fail(records.get(path) or _new_record(path, ""), str(error), run)
        return hashes

    def _rename(
        self, records: dict[str, DocumentRecord], hashes: dict[str, str], paths: Sequence[str], run: _Run
    ) -> dict[str, DocumentRecord]:
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
                pending = replace(
                    former, path=path, status=DocumentStatus.PENDING, indexed_with=None, updated_at=_now()
                )
                moved.append(pending)
                self._keywords.remove(former.path)
                run.changes.append(DocumentChange(path, ChangeKind.RENAMED, former.path))
        if not moved:
            return records
        self._records.save(moved)
        return self._records.documents()

    def _remove(self, records: Iterable[DocumentRecord], run: _Run) -> None:
        for record in records:
            self._keywords.remove(record.path)
            chunk_ids = [stored.id for stored in self._records.chunks_of(record.id)]
            self.suspect_vectors()
            self._records.delete(record.id)
            self._delete_vectors(chunk_ids)
            run.changes.append(DocumentChange(record.path, ChangeKind.REMOVED))

    def _plan(self, records: dict[str, DocumentRecord], hashes: dict[str, str]) -> tuple[list[str], frozenset[str]]:
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
        chunking = self._options.chunking
        return (
            f"{self._embedder.model_id} v{CHUNKING_VERSION} {chunking.max_characters}/{chunking.overlap_characters}"
            f" {self._files.base_folder}"
        )

    def _prepare(
        self, work: Sequence[str], records: dict[str, DocumentRecord], repeated: frozenset[str], run: _Run
    ) -> list[_Prepared]:
        prepared = []
        for path in work:
            record = records.get(path) or _new_record(path, "")
            try:
                document = self._files.read(path)
                chunks = split_document(document, self._options.chunking)
            except UserError as error:
                self._fail(record, str(error), run)
                continue
            record = self._pending(record, document)
            old = self._records.chunks_of(record.id)
            written = frozenset(old if record.indexed_with == self._made_with else ())
            old_ids = frozenset(chunk.id for chunk in old)
            prepared.append(_Prepared(record, document, _identify(record, chunks, repeated), written, old_ids))
        self._records.save([item.record for item in prepared])
        known = self._cache.get(list({chunk.content_hash for item in prepared for chunk in item.chunks}))
        texts = {chunk.content_hash for item in prepared for chunk in item.chunks}
        run.total_texts = len(texts - known.keys())
        return prepared

    def _pending(self, record: DocumentRecord, document: Document) -> DocumentRecord:
        return replace(
            record,
            title=document.title,
            metadata=document.frontmatter.values if document.frontmatter else None,
            content_hash=document.content_hash,
            status=DocumentStatus.PENDING,
            error=None,
            warning=document.warning,
            updated_at=_now(),
        )

    def _index(self, batch: Sequence[_Prepared], run: _Run) -> None:
        """Embed and write a batch; a document whose text cannot be embedded fails alone."""
        ready: list[_Prepared] = []
        vectors: dict[str, Vectors] = {}
        for item in batch:
            try:
                vectors |= self._embed(item, run)
                ready.append(item)
            except IndexUnavailable as error:
                self._fail(item.record, str(error), run)
        changed = [chunk for item in ready for chunk in item.chunks if chunk not in item.written]
        try:
            if changed:
                self.suspect_vectors()
                self._vectors.write(changed, np.stack([vectors[chunk.content_hash] for chunk in changed]))
        except IndexUnavailable as error:
            for item in ready:
                self._fail(item.record, str(error), run)
            return
        for item in ready:
            self._commit(item, run)

    def _embed(self, item: _Prepared, run: _Run) -> dict[str, Vectors]:
        """The vectors of a document's chunks by hash of their text, from the cache or the embedder (S3)."""
        texts = {chunk.content_hash: chunk.chunk.embedded_text for chunk in item.chunks}
        vectors = self._cache.get(list(texts))
        missing = [key for key in texts if key not in vectors]
        for start in range(0, len(missing), EMBED_SLICE):
            keys = missing[start : start + EMBED_SLICE]
            new = dict(zip(keys, self._embed_texts([texts[key] for key in keys], run), strict=True))
            self._cache.put(new)
            vectors |= new
            run.embedded += len(new)
            run.progress(len(new), item.record.path)
        return vectors

    def _embed_texts(self, texts: Sequence[str], run: _Run) -> Vectors:
        """The embedder's rows; after two failures in a row it is not asked again in this run."""
        if len(run.embedder_errors) >= EMBEDDER_FAILURES:
            raise run.embedder_errors[-1]
        try:
            rows = self._embedder.embed_passages(texts)
        except IndexUnavailable as error:
            run.embedder_errors.append(error)
            raise
        run.embedder_errors.clear()
        return rows

    def _commit(self, item: _Prepared, run: _Run) -> None:
        fresh = item.record.indexed_hash is None
        record = replace(
            item.record,
            status=DocumentStatus.INDEXED,
            chunk_count=len(item.chunks),
            indexed_hash=item.document.content_hash,
            indexed_with=self._made_with,
            updated_at=_now(),
        )
        self._records.commit_chunks(record, item.chunks)
        self._delete_vectors(sorted(item.old_ids - {chunk.id for chunk in item.chunks}))
        if item.document.entry:
            self._keywords.put(item.document.entry)
        else:
            self._keywords.remove(record.path)
        if not any(change.path == record.path for change in run.changes):
            run.changes.append(DocumentChange(record.path, ChangeKind.ADDED if fresh else ChangeKind.UPDATED))

    def _delete_vectors(self, chunk_ids: Sequence[str]) -> None:
        """Old vectors away; when that fails they stay unseen, since no chunk names them, until the next repair."""
        if not chunk_ids:
            return
        try:
            self._vectors.delete(chunk_ids)
        except IndexUnavailable as error:
            logger.warning("%d old vectors are left to the next reconcile: %s", len(chunk_ids), error)

    def _repair_vectors(self, run: _Run) -> None:
        """After a write or a crash: vectors that no chunk names go, chunks without one get theirs from the cache."""
        if self._records.state(CONSISTENT_STATE) == self._embedder.model_id:
            return
        try:
            there = self._vectors.chunk_ids()
            wanted = self._records.chunk_ids()
            self._vectors.delete(sorted(there - wanted))
            self._vectors.drop_other_collections()
            missing = list(self._records.chunks(sorted(wanted - there)).values())
            for start in range(0, len(missing), BATCH_CHUNKS):
                self._rewrite(missing[start : start + BATCH_CHUNKS], run)
        except IndexUnavailable as error:
            logger.warning("the vectors are not compared with the chunks: %s", error)
            return
        self._records.set_state(CONSISTENT_STATE, self._embedder.model_id)
        self._records.set_state(MODEL_STATE, self._embedder.model_id)

    def _rewrite(self, chunks: Sequence[StoredChunk], run: _Run) -> None:
        vectors = self._cache.get([chunk.content_hash for chunk in chunks])
        for chunk in chunks:
            if chunk.content_hash not in vectors:
                row = self._embedder.embed_passages([chunk.chunk.embedded_text])[0]
                vectors[chunk.content_hash] = row
                self._cache.put({chunk.content_hash: row})
                run.embedded += 1
        self._vectors.write(chunks, np.stack([vectors[chunk.content_hash] for chunk in chunks]))

    def _fail(self, record: DocumentRecord, error: str, run: _Run) -> None:
        """Record why a document is not indexed; an earlier version of it keeps answering."""
        logger.warning("%s is not indexed: %s", record.path, error)
        self._records.save([replace(record, status=DocumentStatus.FAILED, error=error, updated_at=_now())])
        run.changes.append(DocumentChange(record.path, ChangeKind.FAILED, error))

    def _report(self, run: _Run, scan: FileScan, former_model: str | None, seconds: float) -> IndexReport:
        documents = len(scan.paths)
        touched = {change.path for change in run.changes if change.kind is not ChangeKind.REMOVED}
        warnings = [
            FileProblem(record.path, record.warning) for record in self._records.documents().values() if record.warning
        ]
        return IndexReport(
            documents=documents,
            entries=len(self._keywords.entries()),
            unchanged=documents - len(touched),
            chunks=self._records.chunk_count(),
            embedded=run.embedded,
            seconds=seconds,
            changes=tuple(run.changes),
            problems=scan.problems,
            warnings=tuple(warnings),
            former_model=former_model,
        )


def _identify(record: DocumentRecord, chunks: Sequence[Chunk], repeated: frozenset[str]) -> tuple[StoredChunk, ...]:
    """Chunks with their ids: document id, hash of the embedded text, occurrence (C7, C8)."""
    seen: Counter[str] = Counter()
    stored = []
    for chunk in chunks:
        chunk = replace(chunk, embedded_text=without_lines(chunk.embedded_text, repeated))
        content_hash = text_hash(chunk.embedded_text)
        chunk_id = f"{record.id}-{content_hash[:16]}-{seen[content_hash]}"
        seen[content_hash] += 1
        stored.append(StoredChunk(chunk_id, record.id, record.path, content_hash, chunk))
    return tuple(stored)


def _gone(
    records: dict[str, DocumentRecord], paths: Sequence[str], problems: Sequence[FileProblem]
) -> list[DocumentRecord]:
    """Records whose file is gone; what lies in a folder that cannot be looked into is not gone."""
    present = set(paths)
    hidden = tuple(f"{problem.path}/" for problem in problems)
    return [
        record
        for path, record in records.items()
        if path not in present and not f"{path}/".startswith(hidden or ("\0",))
    ]


def _batches(prepared: Sequence[_Prepared]) -> Iterator[list[_Prepared]]:
    batch: list[_Prepared] = []
    for item in prepared:
        batch.append(item)
        if sum(len(member.chunks) for member in batch) >= BATCH_CHUNKS:
            yield batch
            batch = []
    if batch:
        yield batch


def _new_record(path: str, content_hash: str) -> DocumentRecord:
    now = _now()
    return DocumentRecord(
        id=secrets.token_hex(6),
        path=path,
        title=path,
        metadata=None,
        content_hash=content_hash,
        status=DocumentStatus.PENDING,
        error=None,
        warning=None,
        chunk_count=0,
        indexed_hash=None,
        indexed_with=None,
        created_at=now,
        updated_at=now,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
