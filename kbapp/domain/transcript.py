"""What an executor did with one task: its calls with their results, and what it left out and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kbapp.domain.documents import JsonValue
from kbapp.domain.lookup_result import LookupResult


class ExecutorKind(StrEnum):
    """Who works through a task's plan."""

    UNCONSTRAINED = "unconstrained"
    CONSTRAINED = "constrained"
    LLM = "llm"


@dataclass(frozen=True, slots=True)
class ExecutorCall:
    """One call of ``lookup_knowledge``; ``step`` counts from 1, None: the query is no step of the plan."""

    step: int | None
    query: str
    missing_dimension: str | None
    section_title: str | None
    result: LookupResult

    def to_dict(self) -> dict[str, JsonValue]:
        """The call as JSON."""
        return {
            "kind": "call",
            "step": self.step,
            "query": self.query,
            "missing_dimension": self.missing_dimension,
            "section_title": self.section_title,
            "result": self.result.to_dict(),
        }


class SkipKind(StrEnum):
    """Why a query was not looked up: the tool refused it, or the executor left it out after an earlier call."""

    REFUSED = "refused"
    STOPPED = "stopped"
    NOT_FOUND = "not_found"
    PRECISE = "precise"
    HIGHLY_RELEVANT = "highly_relevant"
    REFERENCE = "reference"
    DEDUPED = "deduped"


@dataclass(frozen=True, slots=True)
class SkipCause:
    """The kind, and the earlier query and its domain where the executor left something out because of them."""

    kind: SkipKind
    query: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True)
class SkippedStep:
    """A query that was not looked up; ``step`` as in a call, ``reason`` is a sentence for people.

    ``cause`` is the same in parts, for those who word it in another language.
    """

    step: int | None
    query: str
    reason: str
    cause: SkipCause = field(default=SkipCause(SkipKind.REFUSED), compare=False)

    def to_dict(self) -> dict[str, JsonValue]:
        """The skipped step as JSON."""
        return {"kind": "skip", "step": self.step, "query": self.query, "reason": self.reason}


Entry = ExecutorCall | SkippedStep


@dataclass(frozen=True, slots=True)
class Transcript:
    """All that happened in one task, in order; ``answer`` is what an LLM said at the end."""

    task_id: str
    executor: ExecutorKind
    entries: tuple[Entry, ...]
    answer: str | None = None

    @property
    def calls(self) -> tuple[ExecutorCall, ...]:
        """The calls alone."""
        return tuple(entry for entry in self.entries if isinstance(entry, ExecutorCall))

    def to_dict(self) -> dict[str, JsonValue]:
        """The transcript as JSON."""
        return {
            "executor": self.executor.value,
            "entries": [entry.to_dict() for entry in self.entries],
            "answer": self.answer,
        }
