"""What a reconcile did, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kbapp.domain.documents import FileProblem


class IndexStage(StrEnum):
    """What is being done."""

    TEXTS = "texts"
    LEVELS = "levels"


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """How many of the texts to embed are done, and the document at work; or of the probe queries to score."""

    done: int
    total: int
    path: str
    stage: IndexStage = IndexStage.TEXTS


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
    """What a reconcile found and did; ``former_model`` made the vectors before, when it was another one."""

    documents: int
    entries: int
    unchanged: int
    chunks: int
    embedded: int
    seconds: float
    changes: tuple[DocumentChange, ...]
    problems: tuple[FileProblem, ...]
    warnings: tuple[FileProblem, ...]
    former_model: str | None

    def count(self, *kinds: ChangeKind) -> int:
        """How many documents were changed in one of these ways."""
        return sum(change.kind in kinds for change in self.changes)

    @property
    def failed(self) -> tuple[FileProblem, ...]:
        """Documents and folders that could not be indexed, with the reason."""
        failed = [change for change in self.changes if change.kind is ChangeKind.FAILED]
        problems = {FileProblem(change.path, change.detail or "") for change in failed}
        return tuple(sorted({*problems, *self.problems}, key=lambda problem: problem.path))
