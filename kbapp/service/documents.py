"""Upload, replace, delete: one document at a time into the files and all indexes (U1–U7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import StrEnum

from kbapp.domain.document_paths import document_path
from kbapp.domain.documents import Document, DocumentRecord, DocumentStatus, JsonValue
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.ports import DocumentFiles, DocumentRecords
from kbapp.service.index_report import OnProgress
from kbapp.service.indexing import Indexer
from kbapp.service.records import new_record

LOCK_WAIT_SECONDS = 60.0  # longer than one document takes, shorter than anyone waits for an answer

IndexLock = Callable[[float], AbstractContextManager[None]]


class UploadOutcome(StrEnum):
    """What an upload came to."""

    INDEXED = "indexed"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class UploadResult:
    """An upload whose file is stored; ``FAILED``: it is not indexed yet, ``record.error`` says why.

    ``identical_to`` is the path of another document with the same bytes.
    """

    outcome: UploadOutcome
    record: DocumentRecord
    identical_to: str | None

    @property
    def warning(self) -> str | None:
        """What the uploader should know of the text (U3)."""
        return self.record.warning

    def to_dict(self, base_folder: str) -> dict[str, JsonValue]:
        """The record, warning included, as ``kbapp upload --json`` shows it."""
        return self.record.to_dict(base_folder) | {
            "outcome": self.outcome.value,
            "identical_to": self.identical_to,
        }


class Documents:
    """Changes documents under the index lock. Thread-safe."""

    def __init__(
        self, *, files: DocumentFiles, records: DocumentRecords, indexer: Indexer, index_lock: IndexLock
    ) -> None:
        self._files = files
        self._records = records
        self._indexer = indexer
        self._index_lock = index_lock

    def upload(
        self, name: str, data: bytes, category: str, *, replacing: bool, on_progress: OnProgress | None
    ) -> UploadResult:
        """Store a document and index it; nothing is written before everything is checked.

        Raises:
            UserError: the name, the category or the text is refused, another text has this name and ``replacing`` is
                not set, or the file cannot be written; nothing has changed.
            IndexUnavailable: another process is indexing, or the database cannot be read; nothing has changed.
        """
        document = self._files.parse(document_path(name, category), data)
        with self._index_lock(LOCK_WAIT_SECONDS):
            records = self._records.documents()
            stored = self._files.find(document.path)
            document = replace(document, path=stored or document.path)
            twin = self._twin(document, records)
            if stored and self._holds(stored, data):
                record = records.get(stored)
                if record and record.status is DocumentStatus.INDEXED and record.indexed_hash == document.content_hash:
                    return UploadResult(UploadOutcome.UNCHANGED, record, twin)
                return _result(UploadOutcome.INDEXED, self._index(document, on_progress), twin)
            if stored and not replacing:
                raise UserError(
                    f"{stored} is there already with another text:"
                    " to put this one in its place pass replace=True (kbapp upload --replace)"
                )
            record = self._index(self._save(document, data), on_progress)
            return _result(UploadOutcome.REPLACED if stored else UploadOutcome.INDEXED, record, twin)

    def delete(self, path: str) -> DocumentRecord:
        """Remove a document's file, its L0 entry, its record, and its vectors; its last record is returned.

        Vectors that cannot be removed now are not found any more, and go with the next reconcile.

        Raises:
            UserError: there is no such document, or its file cannot be deleted; nothing has changed.
            IndexUnavailable: another process is indexing, or the database cannot be used; deleting again goes on.
        """
        path = self._files.resolve(path)
        with self._index_lock(LOCK_WAIT_SECONDS):
            stored = self._files.find(path)
            record = self._records.documents().get(stored or path)
            if record is None and stored is None:
                raise UserError(f"{path} is not in the knowledge base: `kbapp documents` lists what is")
            if stored:
                self._files.delete(stored)
            record = record or new_record(stored or path)
            self._indexer.forget(record)
            return record

    def _holds(self, path: str, data: bytes) -> bool:
        try:
            return self._files.read_bytes(path) == data
        except UserError:
            return False  # what cannot be read can be replaced

    def _save(self, document: Document, data: bytes) -> Document:
        """The document under the path that the file system gave it: a folder may be there in another case."""
        self._files.save(document.path, data)
        return replace(document, path=self._files.find(document.path) or document.path)

    def _index(self, document: Document, on_progress: OnProgress | None) -> DocumentRecord:
        try:
            self._indexer.index_document(document.path, on_progress)
            return self._records.documents()[document.path]
        except IndexUnavailable as error:
            return self._indexer.fail(document, str(error))

    def _twin(self, document: Document, records: Mapping[str, DocumentRecord]) -> str | None:
        """Another document with the same bytes."""
        twins = (
            path
            for path, record in records.items()
            if record.content_hash == document.content_hash and path != document.path
        )
        return next((path for path in twins if self._files.find(path) == path), None)


def _result(outcome: UploadOutcome, record: DocumentRecord, twin: str | None) -> UploadResult:
    has_failed = record.status is DocumentStatus.FAILED
    return UploadResult(UploadOutcome.FAILED if has_failed else outcome, record, twin)
