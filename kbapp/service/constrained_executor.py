"""An executor that obeys the four constraints of 000 §5: offline, deterministic, by what it was told alone."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.plan_rules import MEASURED, Heard, Leave, Plan, Rules, heard_of, rule_on, word_similarities
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import Entry, ExecutorCall, ExecutorKind, SkippedStep, Transcript
from kbapp.service.executor import LookupTool, OnEntry, Sentences, call_step, collected

logger = logging.getLogger("kbapp.executor")


class ConstrainedExecutor:
    """Takes the steps in order and leaves out those that ask again; compares sentences, never sees an index."""

    def __init__(self, tool: LookupTool, sentences: Sentences, rules: Rules = MEASURED) -> None:
        self._tool = tool
        self._sentences = sentences
        self._rules = rules

    def run(self, task: Task, session_id: str, on_entry: OnEntry | None = None) -> Transcript:
        """Look up the steps that bring something new."""
        return Transcript(task.id, ExecutorKind.CONSTRAINED, collected(self._entries(task, session_id), on_entry))

    def _entries(self, task: Task, session_id: str) -> Iterator[Entry]:
        plan = self._read(task)
        heard: list[Heard] = []
        for step, query in enumerate(task.steps):
            ruling = rule_on(plan, heard, step, self._rules)
            if isinstance(ruling, Leave):
                yield SkippedStep(step + 1, query, ruling.reason, ruling.cause)
                continue
            entry = call_step(self._tool, task, step, session_id, ruling.missing_dimension)
            if isinstance(entry, ExecutorCall):
                heard.append(heard_of(entry, step))
            yield entry

    def _read(self, task: Task) -> Plan:
        try:
            vectors = self._sentences.sentence_vectors(task.steps)
        except IndexUnavailable as error:
            logger.warning("the steps are compared by their words alone: %s", error)
            return Plan(task.steps, word_similarities(task.steps))
        return Plan(task.steps, vectors @ vectors.T)
