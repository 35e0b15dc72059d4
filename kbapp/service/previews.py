"""An upload as it would be stored: parsed, in chunks, and what is there already; nothing is written (U2, U6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from kbapp.domain.document_paths import document_path
from kbapp.domain.documents import Chunk, Document
from kbapp.domain.errors import UserError
from kbapp.domain.ports import DocumentFiles, DocumentRecords
from kbapp.service.chunker import Chunker
from kbapp.service.records import new_record
from kbapp.service.repeated_lines import RepeatedLines


class Standing(StrEnum):
    """What is at the path of an upload."""

    NEW = "new"
    SAME = "same"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class UploadPreview:
    """What an upload would become; ``identical_to`` is the path of another document with the same bytes."""

    document: Document
    chunks: tuple[Chunk, ...]
    standing: Standing
    identical_to: str | None


class Previews:
    """Looks at uploads before they are saved. Thread-safe; holds nothing."""

    def __init__(
        self, *, files: DocumentFiles, records: DocumentRecords, chunker: Chunker, repeated: RepeatedLines
    ) -> None:
        self._files = files
        self._records = records
        self._chunker = chunker
        self._repeated = repeated

    def preview(self, name: str, data: bytes, category: str) -> UploadPreview:
        """What ``upload`` would store under this name and category.

        Raises:
            UserError: the name, the category or the text would be refused.
            IndexUnavailable: the database cannot be read.
        """
        document = self._files.parse(document_path(name, category), data)
        stored = self._files.find(document.path)
        document = replace(document, path=stored or document.path)
        chunks = self._chunker.chunks(new_record(document.path), document, self._repeated.known())
        return UploadPreview(
            document,
            tuple(each.chunk for each in chunks),
            self._standing(stored, data),
            self._twin(document),
        )

    def _standing(self, stored: str | None, data: bytes) -> Standing:
        if stored is None:
            return Standing.NEW
        try:
            return Standing.SAME if self._files.read_bytes(stored) == data else Standing.OTHER
        except UserError:
            return Standing.OTHER  # what cannot be read can be replaced

    def _twin(self, document: Document) -> str | None:
        records = self._records.documents().items()
        same = (path for path, record in records if record.content_hash == document.content_hash)
        return next((path for path in same if path != document.path), None)
