"""Work that goes on whatever reruns happen: in a thread of its own, which never calls Streamlit.

A rerun ends a script wherever it calls Streamlit, also in the middle of an upload; a thread is not ended by it, and
the page looks at what became of it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from kbapp.domain.errors import KbError, UserError
from kbapp.service.documents import UploadOutcome, UploadResult
from kbapp.service.index_report import IndexProgress
from kbapp.service.knowledge_base import KnowledgeBase

logger = logging.getLogger("kbapp.app")

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class Progress:
    """The share that is done, 0 … 1, and what is at work."""

    share: float = 0.0
    name: str = ""


Report = Callable[[Progress], None]


class Job(Generic[Outcome]):
    """Runs a piece of work once, from now on. Thread-safe."""

    def __init__(self, work: Callable[[Report], Outcome]) -> None:
        self._work = work
        self._done = threading.Event()
        self.progress = Progress()
        self.outcome: Outcome | None = None
        self.error: Exception | None = None
        threading.Thread(target=self._run, name="kbapp-job", daemon=True).start()

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it is done, at the latest after so many seconds."""
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            self.outcome = self._work(self._report)
        except Exception as error:
            if not isinstance(error, KbError):
                logger.exception("a job failed")
            self.error = error
        finally:
            self._done.set()

    def _report(self, progress: Progress) -> None:
        self.progress = progress


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to store, and whether it may take the place of another text."""

    name: str
    data: bytes
    category: str
    replacing: bool = False


class Fate(StrEnum):
    """What became of an uploaded file."""

    INDEXED = "indexed"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    REFUSED = "refused"
    EXISTS = "exists"


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """One file and what became of it; ``reason`` says why it is not indexed."""

    name: str
    fate: Fate
    path: str | None = None
    chunks: int = 0
    reason: str | None = None
    warning: str | None = None
    identical_to: str | None = None


def upload_all(kb: KnowledgeBase, uploads: Sequence[Upload], report: Report) -> tuple[FileOutcome, ...]:
    """Store files one after another; what goes wrong with one keeps no other from being stored."""
    outcomes = []
    for number, upload in enumerate(uploads):
        report(Progress(number / len(uploads), upload.name))

        def on_progress(done: IndexProgress, number: int = number, name: str = upload.name) -> None:
            report(Progress((number + done.done / max(done.total, 1)) / len(uploads), name))

        try:
            result = kb.upload(
                upload.name, upload.data, upload.category, replace=upload.replacing, on_progress=on_progress
            )
        except UserError as error:
            outcomes.append(FileOutcome(upload.name, Fate.REFUSED, reason=str(error)))
        except KbError as error:
            outcomes.append(FileOutcome(upload.name, Fate.FAILED, reason=str(error)))
        else:
            outcomes.append(_outcome(upload.name, result))
    return tuple(outcomes)


def _outcome(name: str, result: UploadResult) -> FileOutcome:
    record = result.record
    reason = record.error if result.outcome is UploadOutcome.FAILED else None
    fate = Fate(result.outcome.value)
    return FileOutcome(name, fate, record.path, record.chunk_count, reason, record.warning, result.identical_to)
