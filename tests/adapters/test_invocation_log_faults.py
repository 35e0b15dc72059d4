"""A database that cannot be used: recording says no, questions get a sentence, the file is left alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.telemetry import InvocationFilter, Verdict
from tests.values import make_invocation


def corrupt(file: Path) -> None:
    file.write_bytes(b"not a database" * 1000)


def newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('kbapp', 'V999', '2026-01-01')"
        )


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[InvocationLog]:
    database = Database(tmp_path / "kbapp.sqlite3")
    log = InvocationLog(database)
    assert log.record(make_invocation())
    database.close()
    yield log
    database.close()


@pytest.mark.parametrize("damage", [corrupt, newer, a_folder])
def test_t5_nothing_is_recorded_and_questions_get_a_sentence(
    log: InvocationLog, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    file = tmp_path / "kbapp.sqlite3"
    damage(file)
    before = file.read_bytes() if file.is_file() else None
    assert not log.record(make_invocation("second"))
    for ask in (
        lambda: log.select("SELECT 1"),
        lambda: log.rows(InvocationFilter()),
        lambda: log.session_rows("s1", ""),
        lambda: log.add_feedback("i1", Verdict.HELPFUL, ""),
    ):
        with pytest.raises(IndexUnavailable, match=r"kbapp\.sqlite3"):
            ask()
    assert log.failures == 1
    assert (file.read_bytes() if file.is_file() else None) == before


def test_t5_a_state_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    log = InvocationLog(Database(tmp_path / "state" / "kbapp.sqlite3"))
    assert not log.record(make_invocation())
    with pytest.raises(IndexUnavailable, match="--state-dir"):
        log.select("SELECT 1")


def test_t5_a_missing_database_is_made_anew(log: InvocationLog, tmp_path: Path) -> None:
    for file in tmp_path.glob("kbapp.sqlite3*"):
        file.unlink()
    assert log.record(make_invocation("second"))
    assert log.select("SELECT id FROM tool_invocation").rows == (("second",),)


class ReadOnlyDatabase(Database):
    """What a file without write permission does; permissions mean nothing to the superuser."""

    def _connect(self) -> sqlite3.Connection:
        connection = super()._connect()
        connection.execute("PRAGMA query_only = ON")
        return connection


def test_t5_a_read_only_database_is_read_but_not_written(log: InvocationLog, tmp_path: Path) -> None:
    database = ReadOnlyDatabase(tmp_path / "kbapp.sqlite3")
    read_only = InvocationLog(database)
    assert not read_only.record(make_invocation("second"))
    assert [row.id for row in read_only.rows(InvocationFilter())] == ["i1"]
    assert read_only.select("SELECT id FROM tool_invocation").rows == (("i1",),)
    with pytest.raises(IndexUnavailable, match="writable"):
        read_only.add_feedback("i1", Verdict.HELPFUL, "")
    database.close()


def test_t5_another_process_that_writes_for_long_costs_a_row_and_no_error(
    log: InvocationLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kbapp.adapters.invocation_log.RECORD_WAIT_SECONDS", 0.01)
    with closing(sqlite3.connect(tmp_path / "kbapp.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert not log.record(make_invocation("second"))
        other.execute("ROLLBACK")
    assert log.record(make_invocation("third"))
