from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.adapters.telemetry_summary import CallStatistics
from kbapp.domain.invocation import Outcome, clear_invocation
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel, Thresholds
from kbapp.domain.telemetry import InvocationFilter
from kbapp.domain.telemetry_summary import LONGEST_LISTS, GivenCount, Stage, TelemetrySummary, bucket_seconds
from tests.values import make_invocation

ALL = InvocationFilter()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "state" / "kbapp.sqlite3")
    yield database
    database.close()


@pytest.fixture
def log(database: Database) -> InvocationLog:
    return InvocationLog(database)


@pytest.fixture
def statistics(database: Database) -> CallStatistics:
    return CallStatistics(database)


def gave(*documents: str) -> dict[str, object]:
    return {"given": [{"document": document, "domain": "api"} for document in documents]}


def test_no_call_is_a_summary_of_zeros(statistics: CallStatistics) -> None:
    summary = statistics.summary(ALL)
    assert summary == TelemetrySummary((), (), (), (), (), bucket_seconds(0), (), (), ())
    assert (summary.calls, summary.found, summary.sessions, summary.share(0)) == (0, 0, 0, 0.0)
    assert summary.never_given(["b", "a"]) == ("b", "a")
    assert statistics.recent_sessions(10) == []


def test_t1_errors_degraded_answers_repeats_and_misses_are_counted_apart(
    log: InvocationLog, statistics: CallStatistics
) -> None:
    high = RelevanceLevel.HIGHLY_RELEVANT
    rows: list[dict[str, object]] = [
        {"outcome": Outcome.ERROR, "error": "empty"},
        {"outcome": Outcome.DEGRADED, "found": True, "relevance_level": RelevanceLevel.REFERENCE},
        {"outcome": Outcome.DEGRADED},
        {
            "outcome": Outcome.DEDUPED,
            "found": True,
            "relevance_level": RelevanceLevel.DEDUPED,
            "dedup_reason": DedupReason.DOC_RETRIEVED,
        },
        {"outcome": Outcome.NOT_FOUND},
        {"outcome": Outcome.OK, "found": True, "relevance_level": high},
        {"outcome": Outcome.OK, "found": True, "relevance_level": high},
    ]
    for number, row in enumerate(rows):
        log.record(make_invocation(f"i{number}", **row))
    summary = statistics.summary(ALL)
    assert {outcome: summary.of(outcome) for outcome in Outcome} == {
        Outcome.ERROR: 1,
        Outcome.DEGRADED: 2,
        Outcome.DEDUPED: 1,
        Outcome.NOT_FOUND: 1,
        Outcome.OK: 2,
    }
    assert (summary.calls, summary.found) == (7, 4)
    assert summary.count(lambda answer: answer.level is high) == 2
    assert [summary.of_reason(reason) for reason in DedupReason] == [1, 0]
    assert summary.share(summary.found) == 4 / 7


def test_a_clear_of_a_session_is_no_call(log: InvocationLog, statistics: CallStatistics) -> None:
    log.record(clear_invocation("clear", "s1", "2026-01-01T00:00:00.000+00:00"))
    assert statistics.summary(ALL).calls == 0
    log.record(make_invocation("call"))
    summary = statistics.summary(ALL)
    assert (summary.calls, summary.sessions, [each.calls for each in summary.latencies]) == (1, 1, [1])


@pytest.mark.parametrize(("count", "p50", "p95"), [(1, 1, 1), (2, 1, 2), (19, 10, 19), (20, 10, 19), (21, 11, 20)])
def test_percentiles_are_the_nearest_rank_of_the_calls_that_went_through_a_stage(
    log: InvocationLog, statistics: CallStatistics, count: int, p50: float, p95: float
) -> None:
    for ms in range(count, 0, -1):
        log.record(make_invocation(f"i{ms}", duration_ms=float(ms), l0_ms=0.5, l1_ms=3.0 if ms == 1 else None))
    summary = statistics.summary(ALL)
    assert [(each.stage, each.calls, each.p50_ms, each.p95_ms) for each in summary.times] == [
        (Stage.TOTAL, count, p50, p95),
        (Stage.L0, count, 0.5, 0.5),
        (Stage.L1, 1, 3.0, 3.0),
    ]
    assert [(each.p50_ms, each.p95_ms) for each in summary.latencies] == [(p50, p95)]


def test_similarities_fall_into_bins_whose_lower_bound_is_theirs(
    log: InvocationLog, statistics: CallStatistics
) -> None:
    for number, value in enumerate((0, 0.049, 0.15, 0.5, 0.7499, 0.75, 1.0, 1, None, "0.5", True)):
        log.record(make_invocation(f"i{number}", retrieval_details={"l1_top_similarity": value}))
    bins = statistics.summary(ALL).similarities
    assert [(each.lower, each.calls) for each in bins] == [
        (0.0, 2),
        (0.15, 1),
        (0.5, 1),
        (0.7, 1),
        (0.75, 1),
        (0.95, 2),
    ]
    levels = [None, None, RelevanceLevel.REFERENCE, RelevanceLevel.REFERENCE, *[RelevanceLevel.HIGHLY_RELEVANT] * 2]
    assert [each.level(Thresholds()) for each in bins] == levels


def test_sessions_are_counted_by_size_and_the_busiest_named(log: InvocationLog, statistics: CallStatistics) -> None:
    for number in range(LONGEST_LISTS + 1):
        log.record(
            make_invocation(f"one{number}", session_id=f"s{number}", created_at=f"2026-01-01T00:00:{number:02}Z")
        )
    for number in range(3):
        log.record(make_invocation(f"many{number}", session_id="many", outcome=Outcome.DEDUPED))
    log.record(make_invocation("free", session_id=None))
    summary = statistics.summary(ALL)
    assert [(size.calls, size.sessions) for size in summary.session_sizes] == [(1, LONGEST_LISTS + 1), (3, 1)]
    assert summary.sessions == LONGEST_LISTS + 2
    first, second = summary.busiest[:2]
    assert (first.session_id, first.calls, first.deduped) == ("many", 3, 3)
    assert (second.session_id, second.last_at) == ("s12", "2026-01-01T00:00:12Z")
    assert len(summary.busiest) == LONGEST_LISTS
    assert statistics.recent_sessions(2) == ["s12", "s11"]


def test_a_day_begins_at_midnight_of_the_clock_that_is_asked_for(
    log: InvocationLog, statistics: CallStatistics
) -> None:
    for number, moment in enumerate(("2026-01-01T15:59:59Z", "2026-01-01T16:00:00Z", "2026-02-01T00:00:00Z")):
        log.record(make_invocation(f"i{number}", created_at=moment))
    day, hour = 86_400, 3600

    def starts(offset: int) -> list[str]:
        summary = statistics.summary(ALL, offset)
        assert summary.bucket_seconds == day
        return [datetime.fromtimestamp(each.start, UTC).isoformat()[:13] for each in summary.latencies]

    assert starts(0) == ["2026-01-01T00", "2026-02-01T00"]
    assert starts(8 * hour) == ["2025-12-31T16", "2026-01-01T16", "2026-01-31T16"]


@pytest.mark.parametrize(
    ("span", "width"), [(0, 60), (48 * 60, 60), (48 * 60 + 1, 300), (86_400, 3600), (90 * 86_400, 7 * 86_400)]
)
def test_the_span_is_cut_into_no_more_than_48_buckets(span: float, width: int) -> None:
    assert bucket_seconds(span) == width


def test_only_true_misses_are_named_as_missed(log: InvocationLog, statistics: CallStatistics) -> None:
    log.record(make_invocation("a", query="年假", outcome=Outcome.NOT_FOUND, created_at="2026-01-01T00:00:00Z"))
    log.record(make_invocation("b", query="年假", outcome=Outcome.NOT_FOUND, created_at="2026-01-02T00:00:00Z"))
    log.record(make_invocation("c", query="食堂", outcome=Outcome.NOT_FOUND))
    log.record(make_invocation("d", query="坏了", outcome=Outcome.DEGRADED))
    log.record(make_invocation("e", query="", outcome=Outcome.ERROR))
    missed = statistics.summary(ALL).missed
    assert [(each.query, each.calls, each.last_at[:10]) for each in missed] == [
        ("年假", 2, "2026-01-02"),
        ("食堂", 1, "2026-01-01"),
    ]


def test_documents_are_counted_by_the_calls_that_gave_them(log: InvocationLog, statistics: CallStatistics) -> None:
    log.record(make_invocation("a", retrieval_details=gave("api/b.md", "api/b.md", "api/a.md")))
    log.record(make_invocation("b", retrieval_details=gave("api/b.md")))
    log.record(make_invocation("c", retrieval_details={"given": [{"document": 1}, "x", {}]}))
    log.record(make_invocation("d", retrieval_details={"given": "api/c.md"}))
    summary = statistics.summary(ALL)
    assert summary.given == (GivenCount("api/b.md", 2), GivenCount("api/a.md", 1))
    assert summary.never_given(["api/a.md", "api/c.md"]) == ("api/c.md",)


def test_every_figure_is_of_the_calls_that_pass_the_filter(log: InvocationLog, statistics: CallStatistics) -> None:
    precise = RelevanceLevel.PRECISE
    log.record(
        make_invocation(
            "in",
            session_id="s'1",
            outcome=Outcome.NOT_FOUND,
            relevance_level=precise,
            query="in",
            created_at="2026-01-02T00:00:00Z",
            retrieval_details=gave("in.md") | {"l1_top_similarity": 0.6},
        )
    )
    others: list[dict[str, object]] = [
        {"session_id": "s2"},
        {"created_at": "2026-01-01T00:00:00Z"},
        {"relevance_level": None},
        {"outcome": Outcome.OK},
    ]
    base: dict[str, object] = {
        "session_id": "s'1",
        "outcome": Outcome.NOT_FOUND,
        "relevance_level": precise,
        "created_at": "2026-01-03T00:00:00Z",
        "query": "out",
        "retrieval_details": gave("out.md") | {"l1_top_similarity": 0.1},
    }
    for number, other in enumerate(others):
        log.record(make_invocation(f"out{number}", **(base | other)))
    wanted = InvocationFilter("s'1", (precise,), (Outcome.NOT_FOUND,), "2026-01-02T00:00:00Z", limit=0, offset=9)
    summary = statistics.summary(wanted)
    assert (summary.calls, summary.sessions, [each.calls for each in summary.latencies]) == (1, 1, [1])
    assert [each.query for each in summary.missed] == ["in"]
    assert [each.document for each in summary.given] == ["in.md"]
    assert [each.lower for each in summary.similarities] == [0.6]
    assert [each.calls for each in summary.times] == [1, 1]
    assert [each.session_id for each in summary.busiest] == ["s'1"]


def test_what_was_given_is_forgotten_with_the_row(log: InvocationLog, database: Database) -> None:
    log.record(make_invocation("old", created_at="2020-01-01T00:00:00Z", retrieval_details=gave("a.md")))
    assert log.prune(90) == 1
    with database.read() as connection:
        assert connection.execute("SELECT count(*) FROM given_document").fetchone()[0] == 0


def test_t3_a_database_of_v010_gets_its_similarities_and_given_documents(tmp_path: Path) -> None:
    from sqlite_utils import Database as UtilsDatabase

    from kbapp.adapters.migrations import migrations

    details = (
        '{"l1_top_similarity": 0.8, "given": [{"document": "a.md"}, {"document": "a.md"}, {"document": 1}, "x"]}',
        '{"l1_top_similarity": "high", "given": "b.md"}',
        '{"given": null}',
        None,
    )
    old = sqlite3.connect(tmp_path / "kbapp.sqlite3", isolation_level=None)
    migrations.apply(UtilsDatabase(old), stop_before="V011")
    for number, text in enumerate(details):
        old.execute(
            "INSERT INTO tool_invocation (id, tool_name, query, created_at, duration_ms, l0_ms, l0_match_count,"
            " l1_called, found, outcome, retrieval_details) VALUES (?, 'lookup_knowledge', 'q',"
            " '2026-01-01T00:00:00Z', 1, 1, 0, 0, 0, 'ok', ?)",
            (f"i{number}", text),
        )
    old.close()
    database = Database(tmp_path / "kbapp.sqlite3")
    summary = CallStatistics(database).summary(ALL)
    database.close()
    assert summary.calls == 4
    assert [(each.lower, each.calls) for each in summary.similarities] == [(0.8, 1)]
    assert summary.given == (GivenCount("a.md", 1),)


@pytest.mark.parametrize(
    "wanted",
    [ALL, InvocationFilter(None, (RelevanceLevel.PRECISE,), (Outcome.NOT_FOUND,), "2025-01-01T00:00:00Z")],
)
def test_no_figure_reads_the_rows_themselves(
    log: InvocationLog, statistics: CallStatistics, wanted: InvocationFilter
) -> None:
    """But for the time of a session's last call: a row is kilobytes of details, and there may be a million."""
    log.record(make_invocation("call", relevance_level=RelevanceLevel.PRECISE, outcome=Outcome.NOT_FOUND))
    statements: list[str] = []
    with statistics._database.read() as connection:
        connection.set_trace_callback(statements.append)
    summary = statistics.summary(wanted)
    assert summary.busiest
    statistics.recent_sessions(1)
    with statistics._database.read() as connection:
        connection.set_trace_callback(None)
        steps = [
            (statement, row["detail"])
            for statement in statements
            if statement.startswith("SELECT") and "ORDER BY created_at DESC LIMIT 1" not in statement
            for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
            if "tool_invocation" in row["detail"] or "given_document" in row["detail"]
        ]
    assert len(steps) >= 3
    for statement, step in steps:
        assert "USING COVERING INDEX" in step, (statement, step)
