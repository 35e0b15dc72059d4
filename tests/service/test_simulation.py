"""Whole simulations on real stores: fresh sessions, rows, figures that agree with the transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.domain.errors import UserError
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.plan_rules import Rules
from kbapp.domain.tasks import Task
from kbapp.domain.transcript import Entry
from kbapp.service.constrained_executor import ConstrainedExecutor
from kbapp.service.executor import UnconstrainedExecutor
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.simulation import Shelf, TaskOutcome, run_task, simulate
from tests.knowledge import document, open_for_test, write_documents

DOCUMENTS = {
    "api/payment.md": document("支付网关错误码", "ERR_TIMEOUT, 网关超时", "## 超时类错误\n\n支付网关请求超时时返回。"),
    "infrastructure/pool.md": document("连接池", "HikariCP, 连接池", "## 参数\n\nmaximumPoolSize 取核数的两倍。"),
    "blog/notes.md": "# 随笔\n\n周末去爬山的记录。\n",
}
PAYMENT = Task("支付", "ERR_TIMEOUT 是什么", ("ERR_TIMEOUT", "ERR_TIMEOUT 是什么", "zqxv"), ("api/payment.md",))
BOTH = Task(
    "两份", "排查", ("HikariCP", "ERR_TIMEOUT", "连接池"), ("knowledge_base/infrastructure/pool.md", "blog/notes.md")
)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        yield kb


def shelf_of(kb: KnowledgeBase) -> Shelf:
    return Shelf(kb.base_folder, {record.path for record in kb.documents()})


def test_the_figures_of_a_task_and_their_sums(kb: KnowledgeBase) -> None:
    report = simulate([PAYMENT, BOTH], UnconstrainedExecutor(kb), shelf_of(kb))
    payment, both = (outcome.metrics for outcome in report.outcomes)
    assert (payment.calls, payment.calls_with_content, payment.needed, payment.needed_covered) == (3, 1, 1, 1)
    assert payment.repeats_blocked == {DedupReason.DOC_RETRIEVED: 1, DedupReason.DOMAIN_RETRIEVED: 0}
    assert (both.calls_with_content, both.documents_given, both.needed, both.needed_covered) == (2, 2, 2, 1)
    assert report.outcomes[1].not_covered == ("blog/notes.md",)
    assert report.total.calls == 6
    assert report.total.characters_given == payment.characters_given + both.characters_given > 0
    assert report.total.characters_given_twice == 0


def test_each_task_runs_in_a_fresh_session_whose_rows_are_its_calls(kb: KnowledgeBase) -> None:
    sessions = []
    for _ in range(2):
        report = simulate([PAYMENT, BOTH], UnconstrainedExecutor(kb), shelf_of(kb))
        assert report.outcomes[0].metrics.needed_covered == 1
        for outcome in report.outcomes:
            rows = kb.telemetry(session_id=outcome.session_id)
            assert [row.id for row in reversed(rows)] == [c.result.invocation_id for c in outcome.transcript.calls]
            sessions.append(outcome.session_id)
    assert len(set(sessions)) == 4
    assert len(kb.telemetry()) == 12


def test_each_outcome_is_told_when_its_task_is_done(kb: KnowledgeBase) -> None:
    told: list[tuple[TaskOutcome, int]] = []
    report = simulate(
        [PAYMENT, BOTH],
        UnconstrainedExecutor(kb),
        shelf_of(kb),
        lambda outcome: told.append((outcome, len(kb.telemetry()))),
    )
    assert told == list(zip(report.outcomes, (3, 6), strict=True))


def test_one_task_can_be_watched_while_it_runs(kb: KnowledgeBase) -> None:
    told: list[Entry] = []
    outcome = run_task(
        PAYMENT, UnconstrainedExecutor(kb), shelf=shelf_of(kb), session_id="watched", on_entry=told.append
    )
    assert tuple(told) == outcome.transcript.entries
    assert len(kb.telemetry(session_id="watched")) == len(told) == 3


def test_the_constrained_executor_asks_less_and_covers_as_much(kb: KnowledgeBase) -> None:
    constrained = ConstrainedExecutor(kb, kb, Rules(new_words=0, closeness_weight=0))
    report = simulate([PAYMENT], constrained, shelf_of(kb))
    assert (report.total.calls, report.total.needed_covered) == (2, 1)


def test_the_report_as_json_has_the_pinned_names_for_every_task_and_in_total(kb: KnowledgeBase) -> None:
    values = simulate([PAYMENT], UnconstrainedExecutor(kb), shelf_of(kb)).to_dict()
    assert values.keys() == {"tasks", "total"}
    tasks, total = values["tasks"], values["total"]
    assert isinstance(tasks, list)
    assert isinstance(total, dict)
    names = (
        "calls calls_with_content repeats_blocked documents_given characters_given characters_given_twice"
        " needed needed_covered"
    ).split()
    for figures in (tasks[0], total):
        assert isinstance(figures, dict)
        assert set(names) <= figures.keys()
    assert isinstance(tasks[0], dict)
    assert {"id", "transcript", "session"} <= tasks[0].keys()


def test_a_needed_document_that_is_not_there_stops_before_the_first_call(kb: KnowledgeBase) -> None:
    wrong = Task("falsch", "g", ("ERR_TIMEOUT",), ("api/none.md",))
    with pytest.raises(UserError, match=r"'api/none\.md' \(task 'falsch'\)"):
        simulate([PAYMENT, wrong], UnconstrainedExecutor(kb), shelf_of(kb))
    assert kb.telemetry() == []


def test_an_empty_knowledge_base_is_named(tmp_path: Path) -> None:
    with open_for_test(tmp_path) as kb, pytest.raises(UserError, match=r"knowledge_base holds no document: put"):
        simulate([PAYMENT], UnconstrainedExecutor(kb), shelf_of(kb))
