from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlite_utils import Database as UtilsDatabase

from kbapp.adapters import call_figures
from kbapp.adapters.call_figures import LEVELS, NO_BIN, NO_TIME, OUTCOMES, REASONS, read_calls
from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.adapters.migrations import migrations
from kbapp.domain.invocation import CLEAR_TOOL_NAME, Outcome, clear_invocation
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from tests.values import make_invocation

Figures = tuple[int, str | None, tuple[int, ...], int, int, int, int, int]

moments = st.sampled_from([f"2026-01-01T00:0{minute}:00.{ms}+00:00" for minute in (0, 9) for ms in ("000", "001")])
calls = st.fixed_dictionaries(
    {
        "session_id": st.sampled_from(["s1", "s'2", None]),
        "created_at": moments | st.just("2026-01-02T23:59:59.999+00:00"),
        "duration_ms": st.sampled_from([0.004, 9.999, 10.06, 123.4, 12_345.6, 1e12]),
        "embed_ms": st.sampled_from([None, 0.0, 3.0]),
        "found": st.booleans(),
        "outcome": st.sampled_from(Outcome),
        "relevance_level": st.sampled_from([None, *RelevanceLevel]),
        "dedup_reason": st.sampled_from([None, *DedupReason]),
        "retrieval_details": st.sampled_from([{}, {"l1_top_similarity": 0.15}, {"l1_top_similarity": 1.0}]),
    }
)
changes = st.lists(
    st.tuples(st.just("add"), calls)
    | st.tuples(st.sampled_from(["remove", "move"]), st.integers(0, 20))
    | st.tuples(st.just("clear"), st.none()),
    max_size=25,
)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "kbapp.sqlite3")
    yield database
    database.close()


def counted(connection: sqlite3.Connection) -> list[Figures]:
    """The lines as they stand, with the names of the sessions."""
    names: dict[int, str | None] = dict(connection.execute("SELECT number, session_id FROM call_session").fetchall())
    return sorted(
        (
            (
                int(call["at"]),
                names[int(call["session"])] if call["session"] else None,
                tuple(int(call[column]) for column in ("duration_ms", "l0_ms", "embed_ms", "l1_ms")),
                *(int(call[column]) for column in ("bin", "outcome", "relevance_level", "dedup_reason", "found")),
            )
            for call in read_calls(connection)
        ),
        key=repr,
    )


def expected(connection: sqlite3.Connection) -> list[Figures]:
    """The same from the rows."""
    rows = connection.execute(f"SELECT * FROM tool_invocation WHERE tool_name <> '{CLEAR_TOOL_NAME}'").fetchall()
    return sorted(
        (
            (
                round(datetime.fromisoformat(row["created_at"]).timestamp() * 1000),
                row["session_id"],
                tuple(hundredths(row[column]) for column in ("duration_ms", "l0_ms", "embed_ms", "l1_ms")),
                NO_BIN if row["l1_top_similarity"] is None else {0.15: 3, 1.0: 19}[row["l1_top_similarity"]],
                OUTCOMES.index(row["outcome"]) + 1,
                LEVELS.index(row["relevance_level"]) + 1 if row["relevance_level"] else 0,
                REASONS.index(row["dedup_reason"]) + 1 if row["dedup_reason"] else 0,
                row["found"],
            )
            for row in rows
        ),
        key=repr,
    )


def hundredths(milliseconds: float | None) -> int:
    if milliseconds is None:
        return NO_TIME
    step = 1 if milliseconds < 10 else 10 if milliseconds < 100 else 100 if milliseconds < 1000 else 1000
    return min(int(milliseconds * 100 / step + 0.5) * step, NO_TIME - 1)


def apply(connection: sqlite3.Connection, log: InvocationLog, number: int, kind: str, what: object) -> None:
    if kind == "add":
        assert log.record(make_invocation(f"i{number}", **what))  # type: ignore[arg-type]  # a mapping, by the kind
    elif kind == "clear":
        assert log.record(clear_invocation(f"i{number}", "s1", "2026-01-01T00:00:00.000+00:00"))
    elif kind == "remove":
        connection.execute("DELETE FROM tool_invocation WHERE rowid % 21 = ?", (what,))
    else:
        connection.execute(
            "UPDATE tool_invocation SET created_at = '2026-01-01', session_id = 'm' WHERE rowid = ?", (what,)
        )


@given(changes)
@settings(deadline=None)
def test_the_packed_figures_are_those_of_the_rows_whoever_changes_these(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, object]]
) -> None:
    database = Database(tmp_path_factory.mktemp("figures") / "kbapp.sqlite3")
    log = InvocationLog(database)
    with (
        closing(database),
        database.read(),
        closing(sqlite3.connect(database.file, isolation_level=None)) as connection,
    ):
        connection.row_factory = sqlite3.Row
        for number, (kind, what) in enumerate(made):
            apply(connection, log, number, kind, what)
        assert counted(connection) == expected(connection)
        sessions = "SELECT DISTINCT session_id FROM tool_invocation WHERE session_id IS NOT NULL AND tool_name <> ?"
        in_force = {row[0] for row in connection.execute(sessions, (CLEAR_TOOL_NAME,))}
        assert {row[0] for row in connection.execute("SELECT session_id FROM call_session")} == in_force
        assert connection.execute("SELECT count(*) FROM call_block WHERE figures = ''").fetchone()[0] == 0


def test_many_calls_of_one_moment_fill_block_after_block(database: Database) -> None:
    log = InvocationLog(database)
    count = 2 * call_figures._LINES + 1
    for number in range(count):
        log.record(make_invocation(f"i{number}", duration_ms=float(number)))
    with database.read() as connection:
        lengths = [row[0] for row in connection.execute("SELECT length(figures) FROM call_block ORDER BY number")]
        assert lengths == [lines * call_figures._LENGTH for lines in (call_figures._LINES, call_figures._LINES, 1)]
        assert counted(connection) == expected(connection)


def test_only_calls_since_a_moment_are_read(database: Database) -> None:
    log = InvocationLog(database)
    for number, second in enumerate(("00:00.000", "00:00.001", "59:59.999")):
        log.record(make_invocation(f"i{number}", created_at=f"2026-01-01T00:{second}+00:00"))
    with database.read() as connection:
        sizes = [
            read_calls(connection, since).size
            for since in (None, "2026", "2026-01-01T00:00:00.001+00:00", "2026-01-01T01", "2027-01-01")
        ]
    assert sizes == [3, 3, 2, 0, 0]


def test_t3_a_database_of_v016_gets_the_figures_that_triggers_would_have_kept(tmp_path: Path) -> None:
    old = sqlite3.connect(tmp_path / "kbapp.sqlite3", isolation_level=None)
    old.row_factory = sqlite3.Row
    migrations.apply(UtilsDatabase(old), stop_before="V017")
    for number in range(60):
        old.execute(
            "INSERT INTO tool_invocation (id, session_id, tool_name, query, created_at, duration_ms, l0_ms,"
            " l0_match_count, l1_called, found, outcome, l1_top_similarity) VALUES (?, ?, ?, 'q', ?, ?, 1, 0, 0, 1,"
            " 'ok', 0.15)",
            (
                f"i{number}",
                f"s{number % 7}" if number % 9 else None,
                "lookup_knowledge" if number else "clear_session",
                f"2026-01-01T00:{number % 2 * 30:02}:00.{number:03}+00:00",
                number * 1.5,
            ),
        )
    old.execute("INSERT INTO given_document VALUES ('i1', 'a.md')")
    migrations.apply(UtilsDatabase(old))
    assert len(counted(old)) == 59
    assert counted(old) == expected(old)
    assert tuple(old.execute("SELECT * FROM given_document").fetchone()) == (
        "i1",
        "a.md",
        "2026-01-01T00:30:00.001+00:00",
        "s1",
        "ok",
        None,
    )
    old.execute("DELETE FROM tool_invocation")
    assert (counted(old), old.execute("SELECT count(*) FROM call_session").fetchone()[0]) == ([], 0)
    old.close()
