from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import Invocation, Outcome
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry import Verdict
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from kbapp.service.telemetry import Telemetry
from tests.knowledge import document, open_for_test, write_documents
from tests.values import make_invocation

DOCUMENTS = {"api/payment.md": document("支付网关", "ERR_TIMEOUT, 超时", "## 超时类错误\n\n支付网关请求超时。")}


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        yield kb


def test_t1_every_lookup_leaves_its_row(kb: KnowledgeBase) -> None:
    result, invocation = kb.explained_lookup(LookupRequest("ERR_TIMEOUT", "s1", missing_dimension=" 重试\n"))
    kb.lookup("完全 zqxv")
    newest, oldest = kb.telemetry()
    assert oldest == invocation
    assert (oldest.id, oldest.session_id, oldest.missing_dimension) == (result.invocation_id, "s1", "重试")
    assert (oldest.outcome, oldest.relevance_level) == (Outcome.OK, RelevanceLevel.PRECISE)
    assert oldest.retrieval_details["l0_titles"] == ["支付网关"]
    assert (newest.session_id, newest.outcome, newest.relevance_level) == (None, Outcome.NOT_FOUND, None)
    assert kb.telemetry(levels=[RelevanceLevel.PRECISE], outcomes=[Outcome.OK], session_id="s1") == [oldest]


def test_t1_a_refused_request_leaves_a_row_of_outcome_error(kb: KnowledgeBase) -> None:
    for query in (" \n", "长" * 5000):
        with pytest.raises(UserError) as error:
            kb.lookup(query, session_id="s1", section_title="x" * 5000)
        row = kb.telemetry()[0]
        assert (row.outcome, row.error, row.found, row.l1_called) == (Outcome.ERROR, str(error.value), False, False)
        assert row.query == query.strip()[:2000]
        assert row.section_title == "x" * 2000
    assert len(kb.telemetry(session_id="s1", outcomes=[Outcome.ERROR])) == 2


def test_m1_a_session_id_of_any_form_is_recorded_cleaned_and_found_again(kb: KnowledgeBase) -> None:
    for session_id in ("s" * 10_000, "a\nb", "", None):
        kb.lookup("ERR_TIMEOUT", session_id=session_id)
    assert [row.session_id and row.session_id[:3] for row in kb.telemetry()] == [None, None, "ab", "sss"]
    assert len(kb.telemetry(session_id="s" * 10_000)) == 1
    assert len(kb.telemetry(session_id="a\r\nb")) == 1


def test_t6_a_lookup_can_be_marked(kb: KnowledgeBase) -> None:
    result = kb.lookup("ERR_TIMEOUT")
    mark = kb.feedback(result.invocation_id, "wrong-level", "应为\n参考")
    assert (mark.invocation_id, mark.verdict, mark.note) == (result.invocation_id, Verdict.WRONG_LEVEL, "应为 参考")
    assert kb.select("SELECT verdict, note FROM feedback").rows == (("wrong-level", "应为 参考"),)


@pytest.mark.parametrize(
    ("verdict", "note", "sentence"),
    [
        ("good", "", "'good' is no verdict: say one of helpful, not-helpful, wrong-level"),
        ("helpful", "x" * 2001, "2001 characters, at most 2000"),
        ("helpful", "", "no invocation 'none'"),
    ],
)
def test_t6_a_wrong_mark_is_refused(kb: KnowledgeBase, verdict: str, note: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        kb.feedback("none", verdict, note)


def test_t5_eight_threads_look_up_and_every_row_is_there(kb: KnowledgeBase) -> None:
    def ask(session_id: str) -> None:
        for _ in range(25):
            kb.lookup("ERR_TIMEOUT", session_id=session_id)

    threads = [threading.Thread(target=ask, args=(f"s{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = kb.select("SELECT session_id, count(*), count(DISTINCT id) FROM tool_invocation GROUP BY 1 ORDER BY 1")
    assert counts.rows == tuple((f"s{number}", 25, 25) for number in range(8))


def test_old_rows_are_deleted_at_the_start(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.lookup("ERR_TIMEOUT")
    kb.lookup("ERR_TIMEOUT")
    kb.close()
    with closing(sqlite3.connect(tmp_path / "state" / "kbapp.sqlite3")) as connection, connection:
        connection.execute("UPDATE tool_invocation SET created_at = '2020-01-01' WHERE rowid = 1")
    with open_for_test(tmp_path, telemetry__keep_days="36500"):
        pass
    with open_for_test(tmp_path) as again:
        assert len(again.telemetry()) >= 1
    assert "kbapp-prune" not in {thread.name for thread in threading.enumerate()}
    with closing(sqlite3.connect(tmp_path / "state" / "kbapp.sqlite3")) as connection:
        assert connection.execute("SELECT rowid FROM tool_invocation").fetchall() == [(2,)]


class StuckLog:
    """Prunes until it is told to stop."""

    def __init__(self) -> None:
        self.pruning = threading.Event()
        self.rows: list[Invocation] = []

    def prune(self, keep_days: int, should_stop: object) -> int:
        self.pruning.set()
        while not should_stop():  # type: ignore[operator]  # it is a function
            pass
        raise IndexUnavailable("the disk is gone")

    def record(self, invocation: Invocation) -> bool:
        self.rows.append(invocation)
        return True


def test_pruning_delays_nothing_and_ends_with_the_knowledge_base(caplog: pytest.LogCaptureFixture) -> None:
    log = StuckLog()
    telemetry = Telemetry(log, keep_days=90)  # type: ignore[arg-type]  # a part of the port
    telemetry.prune_in_background()
    assert log.pruning.wait(timeout=30)
    row = make_invocation()
    telemetry.recorded(LookupRequest("q", " s1\n"), lambda request: (None, replace(row, session_id=request.session_id)))  # type: ignore[arg-type, return-value]  # the result is not looked at
    telemetry.close()
    assert log.rows == [row]
    assert "old telemetry is not deleted: the disk is gone" in caplog.text


def test_t5_lookups_and_memory_go_on_when_nothing_can_be_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    (tmp_path / "state").mkdir()
    (tmp_path / "state/kbapp.sqlite3").write_bytes(b"not a database" * 1000)
    with open_for_test(tmp_path) as kb:
        levels = [kb.lookup("ERR_TIMEOUT", session_id="s1").relevance_level for _ in range(3)]
        assert levels == [RelevanceLevel.PRECISE, RelevanceLevel.DEDUPED, RelevanceLevel.DEDUPED]
        with pytest.raises(UserError, match="the query is empty"):
            kb.lookup("")
        for ask in (kb.telemetry, lambda: kb.select("SELECT 1"), lambda: kb.feedback("i1", "helpful")):
            with pytest.raises(IndexUnavailable, match="move it away"):
                ask()
    assert caplog.text.count("telemetry is not recorded") == 1
