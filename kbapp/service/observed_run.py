"""Runs of tasks for people who watch: each call with the telemetry row that explains it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.documents import JsonValue
from kbapp.domain.errors import UserError
from kbapp.domain.invocation import Invocation
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.simulation_metrics import SimulationMetrics, measure
from kbapp.domain.tasks import Task, with_known_documents
from kbapp.domain.transcript import Entry, ExecutorCall, ExecutorKind, Transcript
from kbapp.service.constrained_executor import ConstrainedExecutor
from kbapp.service.executor import Executor, UnconstrainedExecutor
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from kbapp.service.simulation import Shelf, TaskOutcome, outcome_of


class Way(StrEnum):
    """How a task is worked through."""

    WITHOUT_MEMORY = "without_memory"
    """Every step, and no session: how ISS-002 looked."""
    UNCONSTRAINED = "unconstrained"
    CONSTRAINED = "constrained"
    LLM = "llm"


COMPARED_WAYS = (Way.WITHOUT_MEMORY, Way.UNCONSTRAINED, Way.CONSTRAINED)


class ObservedTool:
    """``lookup_knowledge`` for one run, under a domain policy of its own; ``rows``: by invocation id."""

    def __init__(self, kb: KnowledgeBase, policy: DomainPolicy, *, remembers: bool = True) -> None:
        self._kb = kb
        self._policy = policy
        self._remembers = remembers
        self.rows: dict[str, Invocation] = {}

    def lookup(
        self,
        query: str,
        *,
        session_id: str | None = None,
        section_title: str | None = None,
        missing_dimension: str | None = None,
    ) -> LookupResult:
        """The answer to one query; without a memory no session is named.

        Raises:
            UserError: the query cannot be asked.
        """
        session = session_id if self._remembers else None
        request = LookupRequest(query, session, section_title, missing_dimension, domain_policy=self._policy)
        result, row = self._kb.explained_lookup(request)
        self.rows[result.invocation_id] = row
        return result


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """One run, as far as it came; ``fault``: why it ended early. ``session_id``: None without a memory."""

    way: Way
    policy: DomainPolicy
    session_id: str | None
    base_folder: str
    outcome: TaskOutcome
    rows: Mapping[str, Invocation]
    fault: str | None = None

    @property
    def task(self) -> Task:
        """The task."""
        return self.outcome.task

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What happened, in order."""
        return self.outcome.transcript.entries

    def figures(self, entries: int | None = None) -> SimulationMetrics:
        """The figures after so many entries; None: of all."""
        transcript = self.outcome.transcript
        cut = Transcript(transcript.task_id, transcript.executor, transcript.entries[:entries])
        return measure(self.task, cut, self.base_folder)

    def row_of(self, entry: Entry) -> Invocation | None:
        """The telemetry row of a call; a skipped step has none."""
        return self.rows.get(entry.result.invocation_id) if isinstance(entry, ExecutorCall) else None

    def earlier_of(self, entry: Entry) -> int | None:
        """The number, from 1, of the entry that a repeat refers to."""
        row = self.row_of(entry)
        earlier = row.retrieval_details.get("earlier_invocation") if row else None
        ids = [each.result.invocation_id if isinstance(each, ExecutorCall) else None for each in self.entries]
        return ids.index(str(earlier)) + 1 if isinstance(earlier, str) and earlier in ids else None

    def to_dict(self) -> dict[str, JsonValue]:
        """The run as JSON."""
        return {
            "run": self.way.value,
            "policy": self.policy.value,
            **self.outcome.to_dict(),
            "session": self.session_id,
            "fault": self.fault,
        }


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What is to be run and how."""

    way: Way
    task: Task
    policy: DomainPolicy
    shelf: Shelf


OnProgress = Callable[[ObservedRun], None]
"""Told after each call and skipped step of the run as far as it came."""


def shelf_of(kb: KnowledgeBase) -> Shelf:
    """The documents that runs are measured against."""
    return Shelf(kb.base_folder, {record.path for record in kb.documents()})


def compare(
    kb: KnowledgeBase, task: Task, policy: DomainPolicy, on_progress: OnProgress | None = None
) -> tuple[ObservedRun, ...]:
    """The task without a memory, unconstrained, and constrained, each in a session of its own.

    Raises:
        UserError: the task needs a document that is not there.
    """
    shelf = shelf_of(kb)
    (task,) = with_known_documents([task], shelf.documents, shelf.base_folder)
    runs = []
    for way in COMPARED_WAYS:
        tool = ObservedTool(kb, policy, remembers=way is not Way.WITHOUT_MEMORY)
        executor = ConstrainedExecutor(tool, kb) if way is Way.CONSTRAINED else UnconstrainedExecutor(tool)
        runs.append(observe(executor, tool, RunPlan(way, task, policy, shelf), on_progress))
    return tuple(runs)


def observe(
    executor: Executor, tool: ObservedTool, plan: RunPlan, on_progress: OnProgress | None = None
) -> ObservedRun:
    """Run one task in a fresh session; what happened before the executor failed is kept."""
    session = f"{plan.way.value.replace('_', '-')}-{secrets.token_hex(4)}"
    kind = ExecutorKind.UNCONSTRAINED if plan.way is Way.WITHOUT_MEMORY else ExecutorKind(plan.way.value)
    entries: list[Entry] = []

    def run_of(transcript: Transcript, fault: str | None = None) -> ObservedRun:
        outcome = outcome_of(plan.task, transcript, shelf=plan.shelf, session_id=session)
        named = None if plan.way is Way.WITHOUT_MEMORY else session
        rows = MappingProxyType(dict(tool.rows))
        return ObservedRun(plan.way, plan.policy, named, plan.shelf.base_folder, outcome, rows, fault)

    def on_entry(entry: Entry) -> None:
        entries.append(entry)
        if on_progress:
            on_progress(run_of(Transcript(plan.task.id, kind, tuple(entries))))

    try:
        return run_of(executor.run(plan.task, session, on_entry))
    except UserError as error:
        return run_of(Transcript(plan.task.id, kind, tuple(entries)), str(error))
