"""Another user of the machine finds nothing of ours that can be read or written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kbapp.adapters.environment_checks import folder_problems
from tests.knowledge import document, open_for_test, write_documents

OTHERS = 0o077


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def index(folder: Path) -> None:
    write_documents(folder / "knowledge_base", {"api/a.md": document("支付", "支付", "超时重试三次。")})
    with open_for_test(folder) as kb:
        kb.reindex()
        kb.lookup("支付", session_id="s")
        assert not open_entries(folder / "state"), "while it is open"  # the WAL, and the address of the engine


def open_entries(folder: Path) -> list[str]:
    """What lies in the folder itself and could be opened by others; a folder that is closed closes all below it."""
    return sorted(entry.name for entry in folder.iterdir() if entry.stat().st_mode & OTHERS)


@pytest.mark.parametrize("mask", [0o022, 0o000])
def test_whatever_the_umask_the_state_belongs_to_its_owner_alone(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        index(tmp_path)
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert open_entries(tmp_path / "state") == []


def test_in_a_folder_that_others_can_look_into_the_files_are_closed_all_the_same(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with umask(0):
        (state / "milvus.db").mkdir(parents=True)
        (state / "kbapp.sqlite3").touch()  # as an earlier version made them
        index(tmp_path)
    assert open_entries(state) == []
    assert state.stat().st_mode & 0o777 == 0o777  # whoever made it may have put other things into it


def test_a_state_folder_that_others_can_look_into_is_a_problem_with_its_way_out(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (problem,) = folder_problems(tmp_path, tmp_path)
    assert str(tmp_path) in problem.problem
    assert problem.way_out == f"chmod 700 {tmp_path}"
    tmp_path.chmod(0o700)
    assert list(folder_problems(tmp_path, tmp_path)) == []
