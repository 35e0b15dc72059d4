"""L0 in line with the synonyms and the versions of the documents that answer, whichever process indexed them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from kbapp.domain.documents import DocumentRecord, FileProblem, KnowledgeEntry
from kbapp.domain.errors import UserError
from kbapp.domain.hashing import sha256_hex
from kbapp.domain.ports import DocumentFiles, KeywordIndex
from kbapp.domain.synonyms import NO_SYNONYMS, SYNONYMS_FILE

logger = logging.getLogger("kbapp.indexing")


class KeywordEntries:
    """What L0 holds. Thread-safe."""

    def __init__(self, files: DocumentFiles, keywords: KeywordIndex) -> None:
        self._files = files
        self._keywords = keywords
        self._lock = threading.RLock()  # around L0 and what is known of it: they change together
        self._held: dict[str, str] = {}  # content hash of the version that L0 holds, by path
        self._synonyms = NO_SYNONYMS

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self._keywords.entries())

    @property
    def warnings(self) -> tuple[FileProblem, ...]:
        """What keeps L0 from the synonyms."""
        problem = self._synonyms.problem
        return (FileProblem(SYNONYMS_FILE, problem),) if problem else ()

    def holds(self, entry: KnowledgeEntry, content_hash: str) -> bool:
        """Whether this entry is held now, and from the version of its document with this hash."""
        with self._lock:
            return self._held.get(entry.path) == content_hash and self._keywords.entry(entry.path) == entry

    def load(self) -> None:
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
        with self._lock:
            self._keywords.replace(entries)
            self._held = held
            self._follow_synonyms()
        logger.info("L0: %d entries", len(entries))

    def put(self, path: str, entry: KnowledgeEntry | None, content_hash: str) -> None:
        """Hold this version of a document; None: it has no entry."""
        with self._lock:
            if entry:
                self._keywords.put(entry)
            else:
                self._keywords.remove(path)
            self._held[path] = content_hash

    def forget(self, path: str) -> None:
        """Hold a document no longer; an unknown path is ignored."""
        with self._lock:
            self._keywords.remove(path)
            self._held.pop(path, None)

    def doubt(self) -> None:
        """Have ``follow`` read every document's entry again."""
        with self._lock:
            paths = [*self._held, *(entry.path for entry in self._keywords.entries())]
            self._held = dict.fromkeys(paths, "")

    def follow(self, records: Mapping[str, DocumentRecord], hashes: Mapping[str, str]) -> None:
        """Hold of the files at hand the indexed version, or any as long as none is: vectors may take minutes (U5).

        A document keeps its entry while its new version is not indexed, or while its file cannot be read.
        """
        with self._lock:
            self._follow_synonyms()
            for path in self._held.keys() - records.keys() - hashes.keys():
                self.forget(path)
            for path, content_hash in hashes.items():
                if _indexed_hash(records.get(path)) in (None, content_hash) and content_hash != self._held.get(path):
                    self._reread(path, content_hash)

    def follow_others(self, records: Mapping[str, DocumentRecord]) -> None:
        """``follow`` while another process indexes, whose records are still to come."""
        try:
            paths = self._files.scan().paths
        except UserError:
            return  # the reconcile says so
        with self._lock:
            self._follow_synonyms()
            for path in self._held.keys() - records.keys() - set(paths):
                self.forget(path)
            for path in paths:
                indexed = _indexed_hash(records.get(path))
                if path not in self._held or (indexed and indexed != self._held[path]):
                    self._reread(path, indexed)

    def _follow_synonyms(self) -> None:
        synonyms = self._files.read_synonyms()
        if synonyms.groups != self._synonyms.groups:
            self._keywords.use_synonyms(synonyms.groups)
        self._synonyms = synonyms

    def _reread(self, path: str, content_hash: str | None) -> None:
        """Hold this version, unless the file is another one by now: then the next reconcile holds it."""
        try:
            data = self._files.read_bytes(path)
            found = sha256_hex(data)
            if content_hash in (None, found):
                self.put(path, self._files.parse_entry(path, data), found)
        except UserError as error:
            logger.debug("%s", error)


def _indexed_hash(record: DocumentRecord | None) -> str | None:
    return record.indexed_hash if record else None
