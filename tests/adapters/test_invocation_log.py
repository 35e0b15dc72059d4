from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import PRUNE_BATCH, InvocationLog
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.invocation import Outcome, clear_invocation
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.telemetry import InvocationFilter, Verdict
from tests.values import make_invocation


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "state" / "kbapp.sqlite3")
    yield database
    database.close()


@pytest.fixture
def log(database: Database) -> InvocationLog:
    return InvocationLog(database)


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}.000+00:00"


def ids(log: InvocationLog, **wanted: object) -> list[str]:
    return [row.id for row in log.rows(InvocationFilter(**wanted))]  # type: ignore[arg-type]  # a test names fields that exist


def test_t1_a_row_comes_back_as_it_was_recorded(log: InvocationLog) -> None:
    whole = make_invocation(
        "whole",
        section_title="超时类错误",
        missing_dimension="重试",
        duration_ms=1.5,
        l0_ms=0.25,
        embed_ms=14.125,
        l1_ms=3.5,
        l0_match_count=2,
        l1_called=True,
        found=True,
        outcome=Outcome.DEDUPED,
        relevance_level=RelevanceLevel.DEDUPED,
        dedup_reason=DedupReason.DOC_RETRIEVED,
        retrieval_details={"l0_titles": ["支付网关"], "l1_scores": [0.1 + 0.2], "l1_top_score": None},
    )
    bare = make_invocation("bare", session_id=None, outcome=Outcome.ERROR, error="the query is empty")
    assert log.record(whole)
    assert log.record(bare)
    assert log.row("whole") == whole
    assert log.row("bare") == bare
    assert log.row("none") is None


def test_t2_details_are_json_with_chinese_as_it_is(log: InvocationLog, database: Database) -> None:
    log.record(make_invocation(retrieval_details={"l0_titles": ["支付网关"]}))
    with database.read() as connection:
        assert connection.execute("SELECT retrieval_details FROM tool_invocation").fetchone()[0] == json.dumps(
            {"l0_titles": ["支付网关"]}, ensure_ascii=False
        )


def test_rows_come_newest_first_by_pages_and_ties_by_order_of_recording(log: InvocationLog) -> None:
    for name, second in [("a", 1), ("b", 3), ("c", 2), ("d", 3)]:
        log.record(make_invocation(name, created_at=at(second)))
    assert ids(log) == ["d", "b", "c", "a"]
    assert ids(log, limit=2) == ["d", "b"]
    assert ids(log, limit=2, offset=1) == ["b", "c"]
    assert ids(log, since=at(2)) == ["d", "b", "c"]


def test_rows_are_filtered_by_session_level_and_outcome_together(log: InvocationLog) -> None:
    reference, precise = RelevanceLevel.REFERENCE, RelevanceLevel.PRECISE
    log.record(make_invocation("a", session_id="s1", relevance_level=reference))
    log.record(make_invocation("b", session_id="s2", relevance_level=reference))
    log.record(make_invocation("c", session_id="s1", relevance_level=precise, outcome=Outcome.DEGRADED))
    log.record(make_invocation("d", session_id="s1", outcome=Outcome.NOT_FOUND))
    assert ids(log, session_id="s1") == ["d", "c", "a"]
    assert ids(log, levels=(reference,)) == ["b", "a"]
    assert ids(log, levels=(reference, precise), session_id="s1") == ["c", "a"]
    assert ids(log, outcomes=(Outcome.NOT_FOUND, Outcome.DEGRADED)) == ["d", "c"]
    assert ids(log, session_id="s1' OR 1=1 --") == []


@pytest.mark.parametrize("values", [{"limit": -1}, {"offset": -1}])
def test_a_filter_that_counts_backwards_is_refused(values: dict[str, int]) -> None:
    with pytest.raises(UserError, match="cannot be negative"):
        InvocationFilter(**values)  # type: ignore[arg-type]  # only numbers


def test_t8_a_session_is_what_it_did_since_then_and_after_its_last_clear_oldest_first(log: InvocationLog) -> None:
    log.record(make_invocation("before", created_at=at(1)))
    log.record(clear_invocation("clear", "s1", at(2)))
    log.record(make_invocation("same-moment", created_at=at(2)))
    log.record(clear_invocation("other-clear", "s2", at(3)))
    log.record(make_invocation("other", session_id="s2", created_at=at(4)))
    log.record(make_invocation("after", created_at=at(5)))
    assert [row.id for row in log.session_rows("s1", at(0))] == ["same-moment", "after"]
    assert [row.id for row in log.session_rows("s1", at(3))] == ["after"]
    assert [row.id for row in log.session_rows("s2", at(0))] == ["other"]
    assert log.session_rows("s3", at(0)) == []


def test_t5_eight_threads_record_while_a_reader_reads(log: InvocationLog) -> None:
    results: list[bool] = []
    errors: list[Exception] = []
    done = threading.Event()

    def record(thread: int) -> None:
        rows = (make_invocation(f"{thread}-{number}", session_id=f"s{thread}") for number in range(200))
        results.extend(log.record(row) for row in rows)

    def read() -> None:
        while not done.is_set():
            try:
                log.rows(InvocationFilter(limit=5))
                log.select("SELECT count(*) FROM tool_invocation")
            except IndexUnavailable as error:
                errors.append(error)

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=record, args=(number,)) for number in range(8)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert (results, errors, log.failures) == ([True] * 1600, [], 0)
    assert log.select("SELECT session_id, count(*) FROM tool_invocation GROUP BY 1 ORDER BY 1").rows == tuple(
        (f"s{number}", 200) for number in range(8)
    )


def test_t5_what_cannot_be_recorded_is_counted_and_logged_once(
    log: InvocationLog, caplog: pytest.LogCaptureFixture
) -> None:
    assert log.record(make_invocation("twice"))
    with caplog.at_level(logging.ERROR, logger="kbapp"):
        assert not log.record(make_invocation("twice"))
        assert not log.record(make_invocation("not-json", retrieval_details={"l1_top_similarity": math.nan}))
    assert log.failures == 2
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["telemetry is not recorded"]
    assert log.record(make_invocation("later"))
    assert ids(log) == ["later", "twice"]


def test_a_text_without_a_utf_8_form_is_recorded_all_the_same(log: InvocationLog) -> None:
    assert log.record(make_invocation(error="\udcff.md", retrieval_details={"document": "\udcff.md"}))
    row = log.row("i1")
    assert row
    assert (row.error, row.retrieval_details) == ("?.md", {"document": "?.md"})


def test_t6_marks_are_kept_in_their_order(log: InvocationLog) -> None:
    log.record(make_invocation("a"))
    log.record(make_invocation("b"))
    first = log.add_feedback("a", Verdict.HELPFUL, "")
    second = log.add_feedback("b", Verdict.NOT_HELPFUL, "别的文档更好")
    third = log.add_feedback("a", Verdict.WRONG_LEVEL, "")
    assert log.feedback() == [first, second, third]
    assert log.feedback("a") == [first, third]
    assert second.note == "别的文档更好"


def test_t6_an_unknown_invocation_cannot_be_marked(log: InvocationLog) -> None:
    with pytest.raises(UserError, match="no invocation 'none': `kbapp telemetry`"):
        log.add_feedback("none", Verdict.HELPFUL, "")
    assert log.feedback() == []


def test_old_rows_are_pruned_with_their_marks(log: InvocationLog) -> None:
    now = datetime.now(UTC)
    for number in range(PRUNE_BATCH + 1):
        log.record(make_invocation(f"old{number}", created_at=(now - timedelta(days=91)).isoformat()))
    log.record(make_invocation("young", created_at=(now - timedelta(days=89)).isoformat()))
    log.add_feedback("old0", Verdict.HELPFUL, "")
    kept = log.add_feedback("young", Verdict.HELPFUL, "")
    assert log.prune(90, lambda: True) == PRUNE_BATCH
    assert log.prune(90) == 1
    assert ids(log) == ["young"]
    assert log.feedback() == [kept]
    assert log.prune(90) == 0


def test_pruning_makes_no_file(log: InvocationLog, database: Database) -> None:
    assert log.prune(90) == 0
    assert not database.file.exists()
