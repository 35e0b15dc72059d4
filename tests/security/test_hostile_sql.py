"""What the SQL box refuses and stops: nothing but reading, and no step of SQLite that takes minutes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.read_only_sql import SqlLimits, run_select
from kbapp.domain.errors import UserError

TWENTY = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t LIMIT 20)"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    database = Database(tmp_path / "state" / "kbapp.sqlite3")
    with database.write() as connection:
        connection.execute("INSERT INTO index_state (name, value) VALUES ('kept', 'x')")
    yield database.file
    database.close()


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'stolen.sqlite3' AS other",
        "SELECT * FROM pragma_database_list",
        "PRAGMA writable_schema = 1",
        "SELECT load_extension('evil')",
        "WITH t AS (SELECT 1) DELETE FROM index_state",
        "SELECT writefile('stolen', 'x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT 1; DELETE FROM index_state",
        "SELECT 1 FROM index_state WHERE 1 = 1 --\n; DELETE FROM index_state",
    ],
)
def test_only_a_select_that_reads_tables_is_run(file: Path, sql: str) -> None:
    with pytest.raises(UserError, match="only one SELECT"):
        run_select(file, sql)
    assert run_select(file, "SELECT value FROM index_state WHERE name = 'kept'").rows == (("x",),)


def test_a_statement_is_stopped_between_two_calls_that_take_long(file: Path) -> None:
    """``instr`` of two long texts takes a second, and ten thousand steps hold hundreds of them."""
    with pytest.raises(UserError, match="was stopped"):
        run_select(file, f"{TWENTY} SELECT instr('aab', 'ab' || n) FROM t", SqlLimits(seconds=0))


@pytest.mark.parametrize("function", ["LIKE", "GLOB"])
def test_a_pattern_that_would_be_compared_for_minutes_is_refused(file: Path, function: str) -> None:
    with pytest.raises(UserError, match="pattern too complex"):
        run_select(file, f"SELECT 'x' {function} hex(zeroblob(24000))")


@pytest.mark.parametrize("sql", ["SELECT zeroblob(300000)", "SELECT replace(hex(zeroblob(100000)), '0', 'xx')"])
def test_no_value_is_larger_than_the_limit(file: Path, sql: str) -> None:
    with pytest.raises(UserError, match="too big"):
        run_select(file, sql)


def test_a_width_of_a_billion_is_no_memory(file: Path) -> None:
    assert run_select(file, "SELECT length(printf('%1000000000d', 1))").rows == ((None,),)
