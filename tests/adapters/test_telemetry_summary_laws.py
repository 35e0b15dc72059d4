"""The figures are those that SQL and Python count from the rows, whatever values these hold and whenever they were."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlite_utils import Database as UtilsDatabase

from kbapp.adapters.call_figures import NO_MOMENT, read_calls
from kbapp.adapters.database import Database
from kbapp.adapters.migrations import migrations
from kbapp.adapters.telemetry_summary import CallStatistics
from kbapp.domain.telemetry import InvocationFilter
from kbapp.domain.telemetry_summary import BIN_WIDTH, Stage

COLUMNS = ("id", "session_id", "tool_name", "query", "created_at", "duration_ms", "l0_ms", "embed_ms", "l1_ms",
           "l0_match_count", "l1_called", "found", "outcome", "relevance_level", "l1_top_similarity")  # fmt: skip
NUMBERS = [-1, -0.001, -1e300, -math.inf, 0, 0.15, 1, 7, 7.5, 2**31, 2**40, 2**63 - 1, -(2**63), 1e18, math.inf]
WORDS = ["", "-1", "12", "abc", "1e999", b"", b"\xff"]
MOMENTS = [
    "2026-01-01T00:00:00.000+00:00",
    "2026-01-01T00:00:00.001+00:00",
    "2026-01-01T00:00:59.999+00:00",
    "2026-03-03T00:00:00.000+00:00",
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T00:00:00+00:00",
    "2026-01-01T08:00:00.000+08:00",
    "2026-01-01 00:00:00.000+00:00",
    "2026-01-01T00:00:00.000500+00:00",
    "2026-01-01T00:00:59.999999+00:00",
    "2026-02-31T00:00:00.000+00:00",
    "2026-01-01T24:00:00.000+00:00",
    "2026",
    "1969-12-31T23:59:59.999+00:00",
    "1970-01-01T00:00:00.000+00:00",
    "0000-01-01T00:00:00.000+00:00",
    "-0001-01-01T00:00:00.000+00:00",
    "9998-12-31T23:59:59.999+00:00",
    "9999-12-31T23:59:59.999+00:00",
    "12:00",
    "2461041.5",
    "1e300",
    "now",
    "nonsense",
    "",
    "年",
    b"\xff",
    12.5,
]
moments = st.sampled_from(MOMENTS) | st.datetimes().map(lambda moment: moment.isoformat(timespec="milliseconds"))
numbers = st.sampled_from(NUMBERS) | st.floats(allow_nan=False) | st.integers(-(2**63), 2**63 - 1)
values = numbers | st.sampled_from(WORDS)
rows = st.lists(
    st.tuples(
        st.sampled_from(["s1", "s2", None, "", b"s", 3]),
        moments,
        *[values] * 2,
        *[values | st.none()] * 2,
        st.booleans() | values,
        st.sampled_from(["ok", "not_found", "deduped"]),
        values | st.none(),
    ),
    max_size=12,
)
changes = st.lists(st.tuples(st.sampled_from(["delete", "move", "worsen"]), st.integers(0, 12)), max_size=4)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file, to be copied."""
    file = tmp_path_factory.mktemp("empty") / "empty.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        migrations.apply(UtilsDatabase(connection))
    return file


def insert(connection: sqlite3.Connection, number: int, row: tuple[object, ...]) -> None:
    session, moment, duration, l0, embed, l1, found, outcome, similarity = row
    values = (f"i{number}", session, "lookup_knowledge", "q", moment, duration, l0, embed, l1, 0, 0, found, outcome,
              None, similarity)  # fmt: skip
    marks = ", ".join("?" * len(COLUMNS))
    connection.execute(f"INSERT INTO tool_invocation ({', '.join(COLUMNS)}) VALUES ({marks})", values)


def change(connection: sqlite3.Connection, kind: str, number: int) -> None:
    statements = {
        "delete": "DELETE FROM tool_invocation WHERE id = ?",
        "move": "UPDATE tool_invocation SET created_at = '2026-01-01T00:00:00.000Z', session_id = 'm' WHERE id = ?",
        "worsen": "UPDATE tool_invocation SET duration_ms = -5, l1_top_similarity = -5 WHERE id = ?",
    }
    connection.execute(statements[kind], (f"i{number}",))


def check(connection: sqlite3.Connection, statistics: CallStatistics, since: str | None) -> None:
    """Each figure against what is counted from the rows one by one."""
    where, values = ("", []) if since is None else ("WHERE created_at >= ?", [since])
    found = connection.execute(f"SELECT * FROM tool_invocation {where}", values).fetchall()
    summary = statistics.summary(InvocationFilter(since=since))
    assert summary.calls == len(found)
    truth = {row["id"]: connection.execute("SELECT ? <> 0", (row["found"],)).fetchone()[0] for row in found}
    answers = Counter((row["outcome"], bool(truth[row["id"]])) for row in found)
    assert {(str(each.outcome), each.found): each.calls for each in summary.answers} == dict(answers)
    sizes = Counter(row["session_id"] for row in found if row["session_id"] is not None)
    assert {each.calls: each.sessions for each in summary.session_sizes} == dict(Counter(sizes.values()))
    assert {each.session_id: each.calls for each in summary.busiest} == dict(sizes)
    bins = Counter(bin_of(row["l1_top_similarity"]) for row in found if is_number(row["l1_top_similarity"]))
    assert {each.lower: each.calls for each in summary.similarities} == dict(bins)
    stages = zip(Stage, ("duration_ms", "l0_ms", "embed_ms", "l1_ms"), strict=True)
    times = {stage: sorted(max(0, row[column]) for row in found if is_number(row[column])) for stage, column in stages}
    assert {each.stage: each.calls for each in summary.times} == {stage: len(ms) for stage, ms in times.items() if ms}
    for each in summary.times:
        assert each.p50_ms == pytest.approx(
            min(times[each.stage][math.ceil(each.calls / 2) - 1], 42949672.94), rel=0.1, abs=0.005
        )
    assert sum(each.calls for each in summary.latencies) <= summary.calls
    assert sum(each.calls for each in summary.missed) == sum(row["outcome"] == "not_found" for row in found)


def is_number(value: object) -> bool:
    return isinstance(value, int | float)


def bin_of(similarity: float) -> float:
    return int(min(max(similarity * 20 + 1e-9, 0), 19)) / round(1 / BIN_WIDTH)


@given(rows, changes, st.none() | moments.filter(lambda moment: isinstance(moment, str)) | st.text())
@example([("s", MOMENTS[0], 1, 1, None, None, 1, "ok", -0.2)], [], None)
@example([("s", "2026-01-01T08:00:00.000+08:00", 1, 1, None, None, 1, "ok", 1)], [], "2026-01-01T00:00:00.001+00:00")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_figures_are_those_of_the_rows_whatever_they_hold(
    empty: Path, tmp_path: Path, given_rows: list[tuple[object, ...]], made: list[tuple[str, int]], since: str | None
) -> None:
    file = tmp_path / "kbapp.sqlite3"
    file.write_bytes(empty.read_bytes())
    since = since.encode("utf-8", "replace").decode() if since is not None else None
    with closing(sqlite3.connect(file, isolation_level=None)) as connection, closing(Database(file)) as database:
        connection.row_factory = sqlite3.Row
        for number, row in enumerate(given_rows):
            insert(connection, number, row)
        for kind, number in made:
            change(connection, kind, number)
        statistics = CallStatistics(database)
        check(connection, statistics, since)
        connection.execute("DELETE FROM tool_invocation")
        left = [connection.execute(f"SELECT count(*) FROM call_{name}").fetchone()[0]
                for name in ("block", "apart", "session")]  # fmt: skip
        assert left == [0, 0, 0]
    for each in tmp_path.iterdir():
        each.unlink()


@pytest.mark.parametrize(
    ("moment", "milliseconds"),
    [
        ("1970-01-01T00:00:00.000+00:00", 0),
        ("1970-01-01T00:00:59.999+00:00", 59_999),
        ("1970-01-01T08:00:00+08:00", 0),
        ("1970-01-01 00:00:01", 1000),
        ("1970-01-01T00:00:00.0016Z", 2),
        ("1970-01-01T00:00:59.9996Z", 60_000),
        ("1969-12-31T23:59:59.999+00:00", NO_MOMENT),
        ("9999-06-01T00:00:00.000+00:00", NO_MOMENT),
        ("nonsense", NO_MOMENT),
    ],
)
def test_a_moment_is_read_in_any_form_and_what_is_none_has_no_place_in_the_chart(
    empty: Path, tmp_path: Path, moment: str, milliseconds: int
) -> None:
    file = tmp_path / "kbapp.sqlite3"
    file.write_bytes(empty.read_bytes())
    with closing(sqlite3.connect(file, isolation_level=None)) as connection, closing(Database(file)) as database:
        insert(connection, 1, ("s", moment, 1, 1, None, None, 1, "ok", 1))
        assert read_calls(connection)["at"].tolist() == [milliseconds]
        summary = CallStatistics(database).summary(InvocationFilter())
        assert (summary.calls, len(summary.latencies)) == (1, milliseconds != NO_MOMENT)


def test_t3_blocks_that_were_broken_before_v022_are_made_anew(tmp_path: Path) -> None:
    file = tmp_path / "kbapp.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        migrations.apply(UtilsDatabase(connection), stop_before="V022")
        insert(connection, 1, ("s", MOMENTS[0], -3, 1, None, None, 1, "ok", -0.5))
        insert(connection, 2, ("s", MOMENTS[5], 3, 1, None, None, 1, "ok", 0.5))
        connection.execute("UPDATE call_block SET figures = replace(figures, '0', 'ff')")
    with closing(Database(file)) as database:
        summary = CallStatistics(database).summary(InvocationFilter())
    assert (summary.calls, [each.lower for each in summary.similarities]) == (2, [0.0, 0.5])
