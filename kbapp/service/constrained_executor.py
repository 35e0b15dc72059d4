"""An executor that obeys the four constraints of 000 §5: offline, deterministic, by what it was told alone."""

from __future__ import annotations

import logging

from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.plan_rules import MEASURED, Heard, Leave, Plan, Rules, heard_of, rule_on, word_similarities
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import ExecutorCall, ExecutorKind, SkippedStep, Transcript
from kbapp.service.executor import LookupTool, Sentences, call_step

logger = logging.getLogger("kbapp.executor")


class ConstrainedExecutor:
    """Takes the steps in order and leaves out those that ask again; compares sentences, never sees an index."""

    def __init__(self, tool: LookupTool, sentences: Sentences, rules: Rules = MEASURED) -> None:
        self._tool = tool
        self._sentences = sentences
        self._rules = rules

    def run(self, task: Task, session_id: str) -> Transcript:
        """Look up the steps that bring something new."""
        plan = self._read(task)
        heard: list[Heard] = []
        entries: list[ExecutorCall | SkippedStep] = []
        for step, query in enumerate(task.steps):
            ruling = rule_on(plan, heard, step, self._rules)
            if isinstance(ruling, Leave):
                entries.append(SkippedStep(step + 1, query, ruling.reason))
                continue
            entry = call_step(self._tool, task, step, session_id, ruling.missing_dimension)
            entries.append(entry)
            if isinstance(entry, ExecutorCall):
                heard.append(heard_of(entry, step))
        return Transcript(task.id, ExecutorKind.CONSTRAINED, tuple(entries))

    def _read(self, task: Task) -> Plan:
        try:
            vectors = self._sentences.sentence_vectors(task.steps)
        except IndexUnavailable as error:
            logger.warning("the steps are compared by their words alone: %s", error)
            return Plan(task.steps, word_similarities(task.steps))
        return Plan(task.steps, vectors @ vectors.T)
