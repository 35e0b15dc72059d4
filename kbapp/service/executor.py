"""Executors: what works through a task with ``lookup_knowledge``, and the one that holds nothing back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from kbapp.domain.errors import UserError
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.ports import Vectors
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import Entry, ExecutorCall, ExecutorKind, SkippedStep, Transcript

OnEntry = Callable[[Entry], None]


class LookupTool(Protocol):
    """``lookup_knowledge`` as an executor has it; a ``KnowledgeBase`` is one."""

    def lookup(
        self,
        query: str,
        *,
        session_id: str | None = None,
        section_title: str | None = None,
        missing_dimension: str | None = None,
    ) -> LookupResult:
        """The answer to one query.

        Raises:
            UserError: the query cannot be asked.
        """


class Sentences(Protocol):
    """Sentences as vectors: how alike two of them are, and nothing of what an index holds; may be unavailable."""

    def sentence_vectors(self, texts: Sequence[str]) -> Vectors:
        """``(n, dimension)`` unit rows.

        Raises:
            IndexUnavailable: the model cannot be used now.
        """


class Executor(Protocol):
    """Works through a task; keeps nothing between tasks."""

    def run(self, task: Task, session_id: str, on_entry: OnEntry | None = None) -> Transcript:
        """Do the task in this session; ``on_entry`` is told of each call and each skipped step as it happens.

        Raises:
            UserError: the executor cannot work (an LLM endpoint that does not answer).
        """


class UnconstrainedExecutor:
    """Fires every step of the plan (000: how ISS-002 looked)."""

    def __init__(self, tool: LookupTool) -> None:
        self._tool = tool

    def run(self, task: Task, session_id: str, on_entry: OnEntry | None = None) -> Transcript:
        """Look up every step."""
        entries = (call_step(self._tool, task, step, session_id) for step in range(len(task.steps)))
        return Transcript(task.id, ExecutorKind.UNCONSTRAINED, collected(entries, on_entry))


def call_step(tool: LookupTool, task: Task, step: int, session_id: str, missing_dimension: str | None = None) -> Entry:
    """Look up step number ``step``, from 0; a step that the tool refuses is a skipped one."""
    query = task.steps[step]
    try:
        result = tool.lookup(query, session_id=session_id, missing_dimension=missing_dimension)
    except UserError as error:
        return SkippedStep(step + 1, query, f"refused: {error}")
    return ExecutorCall(step + 1, query, missing_dimension, None, result)


def collected(entries: Iterable[Entry], on_entry: OnEntry | None) -> tuple[Entry, ...]:
    """All entries, each told as it comes."""
    kept: list[Entry] = []
    for entry in entries:
        kept.append(entry)
        if on_entry:
            on_entry(entry)
    return tuple(kept)
