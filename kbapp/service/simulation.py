"""Tasks through an executor, each in a fresh session, into transcripts and figures."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kbapp.domain.documents import JsonValue
from kbapp.domain.simulation_metrics import SimulationMetrics, measure, needed_sources, total_of
from kbapp.domain.simulation_metrics import body_texts as body_texts_of
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import Transcript
from kbapp.service.executor import Executor

OnTask = Callable[[int, int], None]  # tasks done, tasks in all


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


def simulate(
    tasks: Sequence[Task], executor: Executor, base_folder: str, on_task: OnTask | None = None
) -> SimulationReport:
    """Run the tasks one after the other.

    Raises:
        UserError: the executor cannot work at all (an LLM endpoint that does not answer).
    """
    run = secrets.token_hex(4)
    outcomes: list[TaskOutcome] = []
    for number, task in enumerate(tasks, start=1):
        outcomes.append(_run(task, executor, base_folder, f"simulate-{run}-{number}"))
        if on_task:
            on_task(number, len(tasks))
    return SimulationReport(tuple(outcomes), total_of([outcome.metrics for outcome in outcomes]))


def _run(task: Task, executor: Executor, base_folder: str, session_id: str) -> TaskOutcome:
    transcript = executor.run(task, session_id)
    given = {body.source for call in transcript.calls for body in body_texts_of(call)}
    missing = tuple(source for source in needed_sources(task, base_folder) if source not in given)
    return TaskOutcome(task, session_id, transcript, measure(task, transcript, base_folder), missing)
