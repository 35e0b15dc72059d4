"""The invariant: files = records = L0 = chunks = vectors = full text, nothing twice, nothing lost (S4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from kbapp.domain.documents import DocumentRecord, DocumentStatus, FileScan, KnowledgeEntry, StoredChunk
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.hashing import sha256_hex
from kbapp.domain.health import Problem
from kbapp.domain.ports import (
    DocumentFiles,
    DocumentRecords,
    EmbeddingCache,
    FullText,
    KeywordIndex,
    VectorDifferences,
    VectorIndex,
)
from kbapp.domain.synonyms import SYNONYMS_FILE
from kbapp.service.chunker import Chunker
from kbapp.service.records import pending_record
from kbapp.service.repeated_lines import RepeatedLines

HASHES_AT_ONCE = 500
RUN_INDEX = "run `kbapp index`"
MEND_FILE = "mend the file or folder"
MEND_CAUSE = "mend the cause and run `kbapp index`"
FREE_VECTORS = "stop the process that holds the folder, or set milvus.uri"


@dataclass(slots=True)
class Findings:
    """What was counted and found.

    ``doubtful`` documents are to be made anew; ``is_unseen``: a reconcile would not look where a difference is.
    """

    counts: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    doubtful: list[DocumentRecord] = field(default_factory=list)
    is_unseen: bool = False

    def difference(self, sentence: str, way_out: str = RUN_INDEX) -> None:
        """Two stores do not agree."""
        self.problems.append(Problem(sentence, way_out, is_difference=True))


class Consistency:
    """Compares all stores; changes nothing. The caller holds the index lock."""

    def __init__(
        self,
        *,
        files: DocumentFiles,
        records: DocumentRecords,
        keywords: KeywordIndex,
        full_text: FullText,
        vectors: VectorIndex,
        cache: EmbeddingCache,
        chunker: Chunker,
        repeated: RepeatedLines,
    ) -> None:
        self._files = files
        self._records = records
        self._keywords = keywords
        self._full_text = full_text
        self._vectors = vectors
        self._cache = cache
        self._chunker = chunker
        self._repeated = repeated

    def check(self, found: Findings) -> None:
        """Compare everything; vectors or a folder that cannot be read are a difference.

        Raises:
            IndexUnavailable: the database cannot be used.
        """
        try:
            self._compare_documents(found)
        except UserError as error:  # the folder itself
            found.difference(str(error), MEND_FILE)
        self._compare_chunks(found)

    def _compare_documents(self, found: Findings) -> None:
        scan = self._files.scan()
        records = self._records.documents()
        entries = {entry.path: entry for entry in self._keywords.entries()}
        found.counts |= {"files": len(scan.paths), "records": len(records), "entries": len(entries)}
        found.problems += [Problem(f"{item.path}: {item.error}", MEND_FILE) for item in scan.problems]
        if problem := self._files.read_synonyms().problem:
            found.problems.append(Problem(f"{SYNONYMS_FILE}: {problem}", MEND_FILE))
        hashes = dict(self._hashes(scan, records, found))
        repeated, _ = self._repeated.count(hashes)
        for path in hashes:
            self._compare_document(path, records.get(path), repeated, found)
            self._compare_entry(path, entries.get(path), records.get(path), found)
        for path in sorted((records.keys() | entries.keys()) - set(scan.paths)):
            if not scan.hides(path):
                found.is_unseen = True
                found.difference(f"{path} is indexed but there is no such file")

    def _hashes(
        self, scan: FileScan, records: Mapping[str, DocumentRecord], found: Findings
    ) -> Iterator[tuple[str, str]]:
        """The content hash of each file that can be read."""
        for path in scan.paths:
            record = records.get(path)
            if record and record.status is DocumentStatus.FAILED:
                found.problems.append(Problem(f"{path}: {record.error}", MEND_CAUSE))
            try:
                yield path, sha256_hex(self._files.read_bytes(path))
            except UserError as error:
                if not _has_failed(record):
                    found.difference(str(error), MEND_CAUSE)

    def _compare_document(
        self, path: str, record: DocumentRecord | None, repeated: frozenset[str], found: Findings
    ) -> None:
        if record is None:
            found.difference(f"{path} is not indexed yet")
            return
        chunks = self._records.chunks_of(record.id)
        if record.chunk_count != len(chunks):
            found.doubtful.append(record)
            found.difference(f"{path} has {len(chunks)} chunks and its record says {record.chunk_count}")
        if record.status is DocumentStatus.FAILED:
            return
        try:
            document = self._files.read(path)
        except UserError as error:
            found.difference(str(error), MEND_CAUSE)
            return
        if self._chunker.is_stale(record, document.content_hash):
            found.difference(f"{path} has changed since it was indexed, or the settings have")
        elif chunks != self._chunker.chunks(record, document, repeated):
            found.doubtful.append(record)
            found.difference(f"the chunks of {path} are not those of its file")
        elif record != replace(pending_record(record, document), status=record.status, updated_at=record.updated_at):
            found.doubtful.append(record)
            found.difference(f"the record of {path} is not that of its file")

    def _compare_entry(
        self, path: str, entry: KnowledgeEntry | None, record: DocumentRecord | None, found: Findings
    ) -> None:
        """L0 holds the file's entry; for a document that failed it may go on answering from the former version."""
        if _has_failed(record):
            return
        with suppress(UserError):  # it vanished meanwhile
            if entry != self._files.read_entry(path):
                found.is_unseen = True
                found.difference(f"the L0 index differs from the file {path}")

    def _compare_chunks(self, found: Findings) -> None:
        chunk_ids = self._records.chunk_ids()
        chunks = self._records.chunks(sorted(chunk_ids))
        found.counts["chunks"] = len(chunks)
        if not self._full_text.is_consistent():
            found.is_unseen = True
            found.difference("full text and chunks differ")
        excused = self._excused(chunks)
        self._compare_cache([chunk for chunk_id, chunk in chunks.items() if chunk_id not in excused], found)
        try:
            differences = self._vectors.differences(chunks.values())
        except IndexUnavailable as error:
            found.difference(str(error), FREE_VECTORS)
            return
        found.counts["vectors"] = differences.rows
        self._report_rows(differences, excused, found)

    def _compare_cache(self, chunks: Sequence[StoredChunk], found: Findings) -> None:
        hashes = list(dict.fromkeys(chunk.content_hash for chunk in chunks))
        lacking = len(hashes) - sum(len(self._cache.get(part)) for part in _parts(hashes))
        if lacking:
            found.is_unseen = True
            found.difference(f"the embedding cache lacks {lacking} vectors, or they are damaged")

    def _excused(self, chunks: Mapping[str, StoredChunk]) -> frozenset[str]:
        """Chunks of a former model: their document cannot be embedded by this one, and failed."""
        failed = {
            record.id
            for record in self._records.documents().values()
            if record.status is DocumentStatus.FAILED and record.indexed_with != self._chunker.made_with
        }
        return frozenset(chunk_id for chunk_id, chunk in chunks.items() if chunk.document_id in failed)

    def _report_rows(self, differences: VectorDifferences, excused: frozenset[str], found: Findings) -> None:
        counts = {
            "missing": len(differences.missing - excused),
            "too many": len(differences.orphaned),
            "twice": len(differences.repeated),
            "out of date": len(differences.outdated),
        }
        if any(counts.values()):
            found.is_unseen = True
            words = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
            found.difference(f"vectors and chunks differ: {words}")


def _parts(hashes: Sequence[str]) -> Iterator[Sequence[str]]:
    """Some at a time: the vectors of all take their place in memory."""
    return (hashes[start : start + HASHES_AT_ONCE] for start in range(0, len(hashes), HASHES_AT_ONCE))


def _has_failed(record: DocumentRecord | None) -> bool:
    return record is not None and record.status is DocumentStatus.FAILED
