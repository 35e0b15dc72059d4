"""Runs that people watch: three ways through one task, each call with its telemetry row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.errors import UserError
from kbapp.domain.step_outcome import StepOutcome, outcome_counts
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import Transcript
from kbapp.service.executor import OnEntry, UnconstrainedExecutor
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.observed_run import ObservedRun, ObservedTool, RunPlan, Way, compare, observe, shelf_of
from kbapp.service.run_transcripts import runs_to_dict, runs_to_markdown
from tests.knowledge import document, open_for_test, write_documents

TASK = Task("t*1", "ERR_TIMEOUT 是什么？", ("ERR_TIMEOUT", "ERR_TIMEOUT", "zqxv blorp", "长" * 3000), ("api/pay.md",))
PAYMENT = document("支付网关错误码", "ERR_TIMEOUT", "## 超时类错误\n\n请求超时。")
BLOCK = DomainPolicy.BLOCK


@dataclass
class FailingExecutor:
    """Does what another one does, and then fails."""

    tool: ObservedTool

    def run(self, task: Task, session_id: str, on_entry: OnEntry | None = None) -> Transcript:
        UnconstrainedExecutor(self.tool).run(task, session_id, on_entry)
        raise UserError("the endpoint is gone")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("observed")
    write_documents(folder / "knowledge_base", {"api/pay.md": PAYMENT})
    with open_for_test(folder) as opened:
        opened.reindex()
        yield opened


@pytest.fixture(scope="module")
def runs(kb: KnowledgeBase) -> tuple[ObservedRun, ...]:
    return compare(kb, TASK, BLOCK)


def test_without_a_memory_a_repeat_is_given_again_and_with_one_it_is_not(runs: tuple[ObservedRun, ...]) -> None:
    forgetful, unconstrained, constrained = runs
    assert outcome_counts(forgetful.entries) == {
        StepOutcome.PRECISE: 2,
        StepOutcome.NOT_FOUND: 1,
        StepOutcome.REFUSED: 1,
    }
    assert outcome_counts(unconstrained.entries)[StepOutcome.DEDUPED] == 1
    assert outcome_counts(constrained.entries)[StepOutcome.LEFT_OUT] >= 1
    assert [run.figures().characters_given for run in runs[1:]] == [forgetful.figures().characters_given // 2] * 2
    assert [run.figures().needed_covered for run in runs] == [1, 1, 1]


def test_each_run_has_a_session_of_its_own_and_the_one_without_a_memory_has_none(
    kb: KnowledgeBase, runs: tuple[ObservedRun, ...]
) -> None:
    forgetful, *others = runs
    assert forgetful.session_id is None
    assert {row.session_id for row in forgetful.rows.values()} == {None}
    for run in others:
        assert run.session_id
        kept = {row.id for row in kb.telemetry(session_id=run.session_id) if not row.error}
        assert kept == set(run.rows)
    assert len({run.session_id for run in runs}) == 3


@pytest.mark.parametrize("policy", DomainPolicy)
def test_the_policy_reaches_each_lookup(kb: KnowledgeBase, policy: DomainPolicy) -> None:
    details = [row.retrieval_details for run in compare(kb, TASK, policy) for row in run.rows.values()]
    assert {each["domain_policy"] for each in details} == {policy.value}


def test_a_repeat_names_the_step_that_it_refers_to(runs: tuple[ObservedRun, ...]) -> None:
    assert [runs[1].earlier_of(entry) for entry in runs[1].entries] == [None, 1, None, None]


def test_the_figures_of_the_first_steps_are_those_of_a_shorter_run(runs: tuple[ObservedRun, ...]) -> None:
    assert [runs[0].figures(count).calls for count in range(5)] == [0, 1, 2, 3, 3]
    assert runs[0].figures(4) == runs[0].figures() == runs[0].outcome.metrics


def test_progress_is_told_after_each_step(kb: KnowledgeBase) -> None:
    told: list[tuple[Way, int]] = []
    compare(kb, TASK, BLOCK, lambda run: told.append((run.way, len(run.entries))))
    assert told[:5] == [(Way.WITHOUT_MEMORY, step) for step in (1, 2, 3, 4)] + [(Way.UNCONSTRAINED, 1)]
    assert len(told) == 12


def test_a_needed_document_that_is_not_there_is_named(kb: KnowledgeBase) -> None:
    with pytest.raises(UserError, match=r"api/none\.md"):
        compare(kb, Task("t", "g", ("a",), ("api/none.md",)), BLOCK)


def test_what_happened_before_an_executor_failed_is_kept(kb: KnowledgeBase) -> None:
    tool = ObservedTool(kb, BLOCK)
    run = observe(FailingExecutor(tool), tool, RunPlan(Way.LLM, TASK, BLOCK, shelf_of(kb)))
    assert run.fault == "the endpoint is gone"
    assert len(run.entries) == 4
    assert run.row_of(run.entries[0])


def test_the_transcripts_hold_every_step_of_every_run(runs: tuple[ObservedRun, ...]) -> None:
    written = runs_to_dict(runs)["runs"]
    assert isinstance(written, list)
    for run, values in zip(runs, written, strict=True):
        assert isinstance(values, dict)
        assert values["session"] == run.session_id
        assert values["calls"] == run.figures().calls
        rows = values["telemetry"]
        assert isinstance(rows, list)
        assert [row["query"] for row in rows if isinstance(row, dict)] == [
            call.query for call in run.outcome.transcript.calls
        ]
    text = runs_to_markdown(runs)
    assert text.startswith("# Task t\\*1\n")
    assert text.count("\n## ") == 3
    assert text.count("\n### ") == 12
    assert "- not looked up: refused: the query has 3000 characters" in text
    assert "> 请求超时。" in text
    assert "- needed documents given: 1 of 1" in text
