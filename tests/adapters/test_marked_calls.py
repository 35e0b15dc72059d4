"""T6: the calls that people marked, each once, with the mark that counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.adapters.database import Database
from kbapp.adapters.invocation_log import InvocationLog
from kbapp.domain.telemetry import Verdict
from tests.values import make_invocation


@pytest.fixture
def log(tmp_path: Path) -> Iterator[InvocationLog]:
    database = Database(tmp_path / "state" / "kbapp.sqlite3")
    log = InvocationLog(database)
    for name in ("a", "b", "c"):
        log.record(make_invocation(name, query=f"query {name}"))
    yield log
    database.close()


def marks(log: InvocationLog, limit: int = 10) -> list[tuple[str, Verdict, str]]:
    return [(each.call.query, each.mark.verdict, each.mark.note) for each in log.marked_calls(limit)]


def test_t6_a_call_is_listed_once_with_its_last_mark_and_the_newest_mark_first(log: InvocationLog) -> None:
    log.add_feedback("a", Verdict.HELPFUL, "")
    log.add_feedback("b", Verdict.NOT_HELPFUL, "")
    log.add_feedback("a", Verdict.WRONG_LEVEL, "too low")
    assert marks(log) == [("query a", Verdict.WRONG_LEVEL, "too low"), ("query b", Verdict.NOT_HELPFUL, "")]
    assert marks(log, limit=1) == [("query a", Verdict.WRONG_LEVEL, "too low")]


def test_t6_without_marks_there_are_no_marked_calls(log: InvocationLog) -> None:
    assert marks(log) == []


def test_t6_the_marks_of_a_call_that_was_deleted_are_gone(log: InvocationLog) -> None:
    log.add_feedback("a", Verdict.HELPFUL, "")
    assert log.prune(1) == 3
    assert marks(log) == []
