"""kill -9 at every step of an indexer and at random moments: the next start repairs by one reconcile (S4)."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest

from tests.crash.invariant import assert_repaired
from tests.knowledge import open_for_test, write_documents
from tests.processes.crash_samples import POISON, RefusingEmbedder, unique_text
from tests.processes.milvus_processes import LineProcess, line_process

MOMENTS = 50
MOMENT_SECONDS = (0.02, 0.6)
FEWEST_STEPS = 60
FEWEST_REPAIR_STEPS = 6
KILLED_REPAIRS = 15
REPEATED_FROM = 20  # documents: chunking.repeated-line-min-documents
LAST_STEPS = (0, 1, 2, 3, 4, 5, 8, 13)  # before the last one
FOOTER = "\n\n内部资料 请勿外传\n\n"

BEFORE = {
    "keep.md": unique_text("kept"),
    "api/edit.md": unique_text("edited"),
    "api/shift.md": unique_text("shifted"),
    "empty.md": unique_text("emptied"),
    "folder/moved.md": unique_text("moved"),
    "gone.md": unique_text("gone"),
    "refused.md": unique_text("refusedFormer"),
    "refused/earlier.md": unique_text("earlierFormer"),
    "swap/a.md": unique_text("swapA"),
    "swap/b.md": unique_text("swapB"),
    "delete/deleted.md": unique_text("deleted"),
}


@pytest.fixture(scope="module")
def indexer() -> Iterator[LineProcess]:
    with line_process("crash_indexer") as process:
        yield process


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base in order, then changed on disk in every way."""
    folder = tmp_path_factory.mktemp("before")
    root = folder / "knowledge_base"
    write_documents(root, BEFORE)
    with open_for_test(folder, RefusingEmbedder()) as kb:
        kb.reindex()
        write_documents(root, {"refused/earlier.md": unique_text("earlierNew", POISON)})
        kb.reindex()
    write_documents(
        root,
        {
            "new/新.md": unique_text("new"),
            "api/edit.md": BEFORE["api/edit.md"].replace("第二段", "改过的第二段"),
            "api/shift.md": BEFORE["api/shift.md"].replace("\n# ", "\n\n\n# "),
            "empty.md": "",
            "refused.md": unique_text("refusedNew", POISON),
            "swap/a.md": BEFORE["swap/b.md"],
            "swap/b.md": BEFORE["swap/a.md"],
        },
    )
    (root / "folder").rename(root / "folder2")
    (root / "refused/earlier.md").rename(root / "refused/renamed.md")
    (root / "gone.md").unlink()
    return folder


def run(indexer: LineProcess, folder: Path, task: str, seed: int, kill: object) -> list[list[object]]:
    """What the child said, the last word being that it is gone."""
    indexer.send(str(folder), task, seed, kill)
    said: list[list[object]] = []
    while not said or said[-1][0] != "gone":
        words = indexer.receive()
        assert isinstance(words, list)
        said.append(words)
    return said


def copied(before: Path, folder: Path) -> Path:
    shutil.copytree(before, folder, copy_function=shutil.copy2)
    return folder


def test_s4_an_indexer_killed_after_any_step_is_repaired_by_the_next_start(
    indexer: LineProcess, before: Path, tmp_path: Path
) -> None:
    for step in count():
        folder = copied(before, tmp_path / str(step))
        *_, last, gone = run(indexer, folder, "scenario", 0, step)
        if gone != ["gone", 0]:
            assert (last[1], gone) == (step, ["gone", -signal.SIGKILL])
        assert_repaired(folder)
        assert_refused_answers_as_before(folder)
        if gone == ["gone", 0]:
            assert step > FEWEST_STEPS
            return


@pytest.mark.parametrize("documents", [REPEATED_FROM - 1, REPEATED_FROM])
def test_c8_an_indexer_killed_while_a_line_becomes_or_ceases_to_be_repeated_is_repaired_when_that_is_undone(
    indexer: LineProcess, tmp_path: Path, documents: int
) -> None:
    before = tmp_path / "before"
    texts = {f"{number}.md": unique_text(f"d{number}", FOOTER) for number in range(documents)}
    write_documents(before / "knowledge_base", texts)
    with open_for_test(before, RefusingEmbedder()) as kb:
        kb.reindex()
    change = {"one more.md": unique_text("more", FOOTER)} if documents < REPEATED_FROM else {"0.md": None}
    undo = {"one more.md": None, "0.md": texts["0.md"]}
    last = 0
    for back in (None, *LAST_STEPS):
        folder = copied(before, tmp_path / str(back))
        put(folder, change)
        *_, said, gone = run(indexer, folder, "follow", 0, None if back is None else last - back)
        last = int(str(said[1])) if back is None else last
        assert gone == ["gone", 0 if back is None else -signal.SIGKILL]
        put(folder, {path: undo[path] for path in change})
        assert_repaired(folder)


def put(folder: Path, texts: Mapping[str, str | None]) -> None:
    for path, text in texts.items():
        if text is None:
            (folder / "knowledge_base" / path).unlink()
        else:
            write_documents(folder / "knowledge_base", {path: text})


def test_s4_a_repair_that_is_killed_as_well_is_repaired(indexer: LineProcess, before: Path, tmp_path: Path) -> None:
    some = random.Random(1)
    for number in range(KILLED_REPAIRS):
        folder = copied(before, tmp_path / str(number))
        for task, steps in (("scenario", FEWEST_STEPS), ("follow", FEWEST_REPAIR_STEPS)):
            assert run(indexer, folder, task, 0, some.randrange(steps))[-1] == ["gone", -signal.SIGKILL]
        assert_repaired(folder)
        assert_refused_answers_as_before(folder)


def assert_refused_answers_as_before(folder: Path) -> None:
    with open_for_test(folder, RefusingEmbedder()) as kb:
        for path, marker in {"refused.md": "refusedFormer", "refused/renamed.md": "earlierFormer"}.items():
            assert f"{marker} 第一段" in kb.chunks(path)[0].chunk.content


def test_s4_a_process_killed_at_any_moment_loses_nothing_that_it_acknowledged(
    indexer: LineProcess, tmp_path: Path
) -> None:
    moments = random.Random(4)
    root = tmp_path / "knowledge_base"
    acknowledged: dict[str, str | None] = {}
    for seed in range(MOMENTS):
        for words in run(indexer, tmp_path, "workload", seed, {"seconds": moments.uniform(*MOMENT_SECONDS)}):
            note(words, acknowledged)
        assert_repaired(tmp_path)
        for path, text in acknowledged.items():
            file = root / path
            assert (file.read_text(encoding="utf-8") if file.exists() else None) == text


def note(words: list[object], acknowledged: dict[str, str | None]) -> None:
    """What is on disk for sure: an upload or a delete that has returned, until the next change of the file begins."""
    match words:
        case ["begin", str(path)]:
            acknowledged.pop(path, None)
        case ["uploaded", str(path), str(text)]:
            acknowledged[path] = text
        case ["deleted", str(path)]:
            acknowledged[path] = None
