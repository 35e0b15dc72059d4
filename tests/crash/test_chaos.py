"""30 of the random kills of ``make chaos``, and that its bookkeeping would notice a loss (S4, S5, T1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.acknowledged import Change, Files, Move, Rows
from tests.crash.chaos import Run

SEED, KILLS = 30, 30

UPLOADED = Change(1.0, 2.0, ("new",), is_acknowledged=True)
REPLACED = Change(3.0, 4.0, ("newer",), is_acknowledged=True)
KILLED = Change(5.0, 6.0, ("newest", "half"), is_acknowledged=False)


def files(*changes: Change) -> Files:
    known = Files()
    for change in changes:
        known.note("a.md", change)
    return known


def test_s4_processes_killed_at_random_moments_of_mixed_work_lose_nothing_and_leave_no_ghost(tmp_path: Path) -> None:
    run = Run(tmp_path, SEED, lanes=1)
    assert run.go(KILLS), f'make chaos ARGS="--kills {KILLS} --lanes 1 --seed {SEED}": {run.summary()}\n{run.faults}'
    tally = run.tallies[0]
    assert tally.kills >= KILLS
    # How much is done before a kill is up to the machine.
    assert min(tally.acknowledged[name] for name in ("changes", "lookups", "checked documents")) > 0


@pytest.mark.parametrize("found", [{}, {"a.md": "new"}, {"a.md": "other"}])
def test_what_was_acknowledged_last_is_there(found: dict[str, str]) -> None:
    known = files(UPLOADED, REPLACED)
    assert list(known.faults({"a.md": "newer"})) == []
    assert len(list(known.faults(found))) == 1


@pytest.mark.parametrize(("value", "is_fault"), [("newer", False), ("newest", False), ("half", False), ("new", True)])
def test_a_change_that_was_killed_is_there_or_not(value: str, is_fault: bool) -> None:
    assert any(files(UPLOADED, REPLACED, KILLED).faults({"a.md": value})) == is_fault


def test_of_two_changes_at_once_either_may_have_been_the_last() -> None:
    other = Change(3.5, 5.0, (None,), is_acknowledged=True)
    assert files(UPLOADED, REPLACED, other).allowed("a.md") == {"newer", None}
    assert files(UPLOADED, REPLACED, Change(4.0, 5.0, (None,), True)).allowed("a.md") == {None}


def test_a_file_that_nobody_wrote_is_a_ghost_and_a_deletion_stays() -> None:
    known = files(UPLOADED, Change(3.0, 4.0, (None,), is_acknowledged=True))
    assert list(known.faults({})) == []
    assert len(list(known.faults({"a.md": "new", "b.md": "new"}))) == 2
    known.settle({"b.md": "new"})
    assert list(known.faults({"b.md": "new"})) == []
    assert len(list(known.faults({}))) == 1


def test_a_rename_that_was_killed_has_its_bytes_at_one_of_both_places() -> None:
    known = files(UPLOADED, Change(3.0, 4.0, (None,), is_acknowledged=False))
    known.note("b.md", Change(3.0, 4.0, ("new",), is_acknowledged=False))
    known.moves.append(Move(3.0, "a.md", "b.md", "new"))
    assert [list(known.faults(found)) for found in ({"a.md": "new"}, {"b.md": "new"})] == [[], []]
    assert len(list(known.faults({}))) == 1


@pytest.mark.parametrize(
    ("found", "count"), [(["1", "2"], 0), (["1", "2", "3"], 0), (["1"], 1), (["1", "2", "2"], 1), (list("1234"), 1)]
)
def test_t1_rows_are_lost_twice_or_without_a_call(found: list[str], count: int) -> None:
    assert len(list(Rows({"1", "2"}, unanswered=1).faults(found, "tool_invocation"))) == count
