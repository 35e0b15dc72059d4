"""Tasks through an executor, each in a fresh session, into transcripts and figures."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from kbapp.domain.documents import JsonValue, source_of
from kbapp.domain.errors import UserError
from kbapp.domain.simulation_metrics import SimulationMetrics, body_texts, measure, total_of
from kbapp.domain.tasks import Task, with_known_documents
from kbapp.domain.transcript import Transcript
from kbapp.service.executor import Executor, OnEntry


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What became of one task; ``session_id`` finds its rows in the telemetry."""

    task: Task
    session_id: str
    transcript: Transcript
    metrics: SimulationMetrics
    not_covered: tuple[str, ...]

    def to_dict(self) -> dict[str, JsonValue]:
        """The outcome as JSON."""
        return {
            "id": self.task.id,
            "goal": self.task.goal,
            "session": self.session_id,
            "transcript": self.transcript.to_dict(),
            **self.metrics.to_dict(),
            "not_covered": list(self.not_covered),
        }


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """All tasks, in order, and their sums."""

    outcomes: tuple[TaskOutcome, ...]
    total: SimulationMetrics

    def to_dict(self) -> dict[str, JsonValue]:
        """The JSON of ``kbapp simulate``."""
        return {"tasks": [outcome.to_dict() for outcome in self.outcomes], "total": self.total.to_dict()}


@dataclass(frozen=True, slots=True)
class Shelf:
    """What the tasks are measured against, and no executor sees: the documents, and the folder they are under."""

    base_folder: str
    documents: Collection[str]


def simulate(
    tasks: Sequence[Task], executor: Executor, shelf: Shelf, on_outcome: Callable[[TaskOutcome], None] | None = None
) -> SimulationReport:
    """Run the tasks one after the other; ``on_outcome`` is told of each one that is done.

    Raises:
        UserError: there is no document at all, a task needs one that is not there, or the executor cannot work.
    """
    if not shelf.documents:
        raise UserError(
            f"the knowledge base {shelf.base_folder} holds no document: put .md files there, or name another folder"
            " with --root"
        )
    tasks = with_known_documents(tasks, shelf.documents, shelf.base_folder)
    run = secrets.token_hex(4)
    outcomes: list[TaskOutcome] = []
    for number, task in enumerate(tasks, start=1):
        outcomes.append(run_task(task, executor, shelf=shelf, session_id=f"simulate-{run}-{number}"))
        if on_outcome:
            on_outcome(outcomes[-1])
    return SimulationReport(tuple(outcomes), total_of([outcome.metrics for outcome in outcomes]))


def run_task(
    task: Task, executor: Executor, *, shelf: Shelf, session_id: str, on_entry: OnEntry | None = None
) -> TaskOutcome:
    """Run one task, whose ``needed`` are relative paths; ``on_entry`` is told of each call and skipped step.

    Raises:
        UserError: the executor cannot work.
    """
    return outcome_of(task, executor.run(task, session_id, on_entry), shelf=shelf, session_id=session_id)


def outcome_of(task: Task, transcript: Transcript, *, shelf: Shelf, session_id: str) -> TaskOutcome:
    """What a transcript comes to."""
    given = {body.source for call in transcript.calls for body in body_texts(call)}
    not_covered = tuple(path for path in task.needed if source_of(shelf.base_folder, path) not in given)
    return TaskOutcome(task, session_id, transcript, measure(task, transcript, shelf.base_folder), not_covered)
