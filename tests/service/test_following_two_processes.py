"""S5: two processes follow one knowledge base: both see what changes, and the work is done once."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.adapters.index_lock import hold_index_lock
from tests.knowledge import open_for_test, write_documents
from tests.processes.follower_process import Process, following_process, sample

Pair = tuple[Process, Process]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with following_process(tmp_path) as first, following_process(tmp_path) as second:
        yield first, second


def test_s5_both_find_new_files_which_are_embedded_once(pair: Pair) -> None:
    names = [f"shrew{number:02}" for number in range(30)]
    pair[0].write(*(f"api/{name}.md" for name in names))
    for process in pair:
        process.sees(lambda process=process: process.finds("shrew29", "api/shrew29.md"))  # type: ignore[misc]
        process.wait(lambda: set(pair[0].documents("api").values()) == {"INDEXED"})
        assert all(process.finds(name, f"api/{name}.md") for name in names)
    embedded = Counter(pair[0].embedded("shrew") + pair[1].embedded("shrew"))
    assert (len(embedded), set(embedded.values())) == (30, {1})


def test_s5_an_upload_and_a_delete_in_a_third_process_are_seen_by_both(pair: Pair, tmp_path: Path) -> None:
    text = "The wombat digs long tunnels below the hill"
    with open_for_test(tmp_path) as kb:
        kb.upload("panda.md", sample("panda").encode(), "api")
        kb.upload("plain.md", text.encode(), "api")
        for process in pair:
            process.sees(lambda process=process: process.finds("panda", "api/panda.md"))  # type: ignore[misc]
            process.sees(lambda process=process: process.finds(text, "api/plain.md"))  # type: ignore[misc]
        kb.delete("api/panda.md")
        for process in pair:
            process.sees(lambda process=process: not process.finds("panda", "api/panda.md"))  # type: ignore[misc]
    assert pair[0].embedded("panda") + pair[1].embedded("panda") == []


def test_s5_what_changes_while_a_third_process_holds_the_lock_is_found_soon_after(pair: Pair, tmp_path: Path) -> None:
    pair[0].write("api/lion.md")
    pair[0].wait(lambda: pair[0].documents("api") == {"api/lion.md": "INDEXED"})
    with hold_index_lock(tmp_path / "state", 60):
        write_documents(pair[0].root, {"api/lion.md": sample("tiger")})
        for process in pair:
            process.wait(lambda process=process: "is indexing" in str(process.status["problem"]))  # type: ignore[misc]
            assert process.finds("lion", "api/lion.md")
    for process in pair:
        process.sees(lambda process=process: process.finds("tiger", "api/lion.md"))  # type: ignore[misc]
        process.wait(lambda process=process: process.status["problem"] is None)  # type: ignore[misc]
    assert len(pair[0].embedded("tiger") + pair[1].embedded("tiger")) == 1


def test_s5_new_files_are_found_by_both_while_one_of_them_embeds(pair: Pair) -> None:
    for process in pair:
        process.line.ask("embedding", "stop")
    pair[0].write("api/zebra.md", "api/okapi.md")
    for process in pair:
        process.sees(lambda process=process: process.finds("zebra", "api/zebra.md"))  # type: ignore[misc]
    assert "INDEXED" not in pair[0].documents("api").values()
    for process in pair:
        process.line.ask("embedding", "go")
    pair[0].wait(lambda: set(pair[0].documents("api").values()) == {"INDEXED"})
    assert len(pair[0].embedded("zebra") + pair[1].embedded("zebra")) == 1


def test_s5_one_is_killed_and_the_other_goes_on(pair: Pair) -> None:
    pair[0].write("api/lion.md")
    pair[0].wait(lambda: pair[0].documents("api") == {"api/lion.md": "INDEXED"})
    pair[0].line.kill()
    text = "The wombat digs long tunnels below the hill"
    pair[1].write("api/tiger.md")
    write_documents(pair[1].root, {"api/plain.md": text})
    pair[1].sees(lambda: pair[1].finds("tiger", "api/tiger.md"))
    pair[1].sees(lambda: pair[1].finds(text, "api/plain.md"))
