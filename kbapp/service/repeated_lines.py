"""The lines that stand in many documents and are left out of the embedded texts (C8)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from kbapp.domain.chunking import repeated_lines
from kbapp.domain.errors import UserError
from kbapp.domain.hashing import text_hash
from kbapp.domain.index_state import REPEATED_LINES_BEGUN_STATE, REPEATED_LINES_OF_STATE, REPEATED_LINES_STATE
from kbapp.domain.ports import DocumentFiles, DocumentRecords


class RepeatedLines:
    """Counted over all documents, kept between reconciles; holds nothing itself."""

    def __init__(self, files: DocumentFiles, records: DocumentRecords, *, share: float, min_documents: int) -> None:
        self._files = files
        self._records = records
        self._share = share
        self._min_documents = min_documents

    def known(self) -> frozenset[str]:
        """The lines counted last."""
        return self._lines(REPEATED_LINES_STATE)

    def count(self, hashes: Mapping[str, str]) -> tuple[frozenset[str], set[str]]:
        """The lines now, and the documents which hold one that became or ceased to be repeated, or that was begun.

        ``hashes``: the content hash of each document, by path. Nothing is read when they are those counted last.
        """
        known, begun = self.known(), self._lines(REPEATED_LINES_BEGUN_STATE)
        if not begun and self._records.state(REPEATED_LINES_OF_STATE) == self._corpus(hashes):
            return known, set()
        bodies = {}
        for path in hashes:
            try:
                bodies[path] = self._files.read(path).body
            except UserError:
                continue  # indexing it reports why
        repeated = repeated_lines(bodies.values(), share=self._share, min_documents=self._min_documents)
        changed = (repeated ^ known) | begun
        if not changed:
            return repeated, set()
        return repeated, {
            path for path, body in bodies.items() if not changed.isdisjoint(line.strip() for line in body.split("\n"))
        }

    def begin(self, repeated: frozenset[str]) -> None:
        """Said before documents are indexed by ``count``: if that ends half-way, some have a line and others do not."""
        begun = self._lines(REPEATED_LINES_BEGUN_STATE)
        self._set_begun(begun | (repeated ^ self.known()), begun)

    def keep(self, repeated: frozenset[str], hashes: Mapping[str, str]) -> None:
        """Keep the lines of ``count`` once all documents are indexed without them."""
        corpus = self._corpus(hashes)
        if self._records.state(REPEATED_LINES_OF_STATE) != corpus or self.known() != repeated:
            self._records.set_state(REPEATED_LINES_STATE, _json(repeated))
            self._records.set_state(REPEATED_LINES_OF_STATE, corpus)
        self._set_begun(frozenset(), self._lines(REPEATED_LINES_BEGUN_STATE))

    def _lines(self, state: str) -> frozenset[str]:
        return frozenset(json.loads(self._records.state(state) or "[]"))

    def _set_begun(self, lines: frozenset[str], former: frozenset[str]) -> None:
        if lines != former:
            self._records.set_state(REPEATED_LINES_BEGUN_STATE, _json(lines))

    def _corpus(self, hashes: Mapping[str, str]) -> str:
        """Names the documents and the settings that the lines were counted with."""
        return text_hash("\n".join([f"{self._share} {self._min_documents}", *sorted(hashes.values())]))


def _json(lines: frozenset[str]) -> str:
    return json.dumps(sorted(lines), ensure_ascii=False)
