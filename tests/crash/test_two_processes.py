"""Several operating-system processes on one knowledge base: the same answers, no lost write, no hang (S5, Q7)."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kbapp.adapters.milvus_client import MilvusLimits
from kbapp.bootstrap import open_knowledge_base
from kbapp.settings import Settings
from tests.crash.invariant import assert_invariant, found_by_keyword
from tests.embedding import TinyEmbedder
from tests.embedding_server import serve_embedder
from tests.knowledge import open_for_test, write_documents
from tests.processes.crash_samples import RefusingEmbedder, keyword, unique_text
from tests.processes.milvus_processes import ROOT, LineProcess, line_process

logger = logging.getLogger(__name__)

TAKEOVER_SECONDS = 5
LIMITS = MilvusLimits()
# A search that is not answered, then: is the owner there, is it there after waiting for the lock of the writers?
STOPPED_SECONDS = LIMITS.search_seconds + 3 * LIMITS.connect_seconds + LIMITS.lock_seconds
QUERY = "first 第一段 second 第二段"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_documents(tmp_path / "knowledge_base", {f"api/{name}.md": unique_text(name) for name in ("first", "second")})
    return tmp_path


@pytest.fixture
def processes(folder: Path) -> Iterator[tuple[LineProcess, LineProcess]]:
    """The first owns the engine, the second is attached to it."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(line_process("crash_worker", str(folder), "milvus")) for _ in range(2))
        first.ask("reindex")
        second.ask("refresh")
        assert first.ask("engine") == ["owner", first.pid]
        assert second.ask("engine") == ["attached", first.pid]
        yield first, second


def result(answer: object) -> dict[str, object]:
    assert isinstance(answer, dict)
    found = answer["result"]
    assert isinstance(found, dict)
    return found


def seconds(answer: object) -> float:
    assert isinstance(answer, dict)
    return float(answer["seconds"])


def test_s5_the_command_line_beside_a_running_process_answers_the_same_with_vectors(tmp_path: Path) -> None:
    names = ("first", "second")
    write_documents(tmp_path / "docs", {f"api/{name}.md": unique_text(name) for name in names})
    with serve_embedder(TinyEmbedder()) as url:
        environment = {"KBAPP_EMBEDDING__MODEL": "openai:tiny", "KBAPP_EMBEDDING__BASE_URL": url}
        folders = {"knowledge.base-path": str(tmp_path / "docs"), "state-dir": str(tmp_path / "state")}
        with open_knowledge_base(Settings.load(environ=environment, overrides=folders)) as kb:
            kb.reindex()
            expected = kb.lookup(QUERY).to_dict()
            command = [sys.executable, "-c", "from kbapp.surfaces.cli import main; main()"]
            options = ["--root", str(tmp_path / "docs"), "--state-dir", str(tmp_path / "state")]
            told = {
                words[0]: subprocess.run(
                    [*command, *options, *words, "--json"],
                    cwd=ROOT,
                    env=os.environ | environment,
                    capture_output=True,
                    check=True,
                )
                for words in (["lookup", QUERY], ["doctor"])
            }
    assert [run.stderr for run in told.values()] == [b"", b""]
    answer, doctor = (json.loads(run.stdout) for run in told.values())
    assert answer | {"invocationId": None} == expected | {"invocationId": None}
    assert answer["supplement"] is not None
    assert answer["degraded"] is None
    assert (doctor["engine"]["role"], doctor["engine"]["owner_pid"]) == ("attached", os.getpid())
    assert doctor["consistent"]


def test_s5_two_processes_that_upload_at_once_lose_nothing(
    folder: Path, processes: tuple[LineProcess, LineProcess]
) -> None:
    uploads = {process: [f"p{place}d{number}" for number in range(5)] for place, process in enumerate(processes)}
    for process, markers in uploads.items():
        process.send("upload", [f"{marker}.md" for marker in markers], [unique_text(marker) for marker in markers])
    assert [process.receive() for process in processes] == [["indexed"] * 5] * 2
    for process in processes:
        process.ask("refresh")
        for marker in (marker for markers in uploads.values() for marker in markers):
            found = result(process.ask("lookup", keyword(marker)))["primary"]
            assert isinstance(found, dict)
            assert found["source"] == f"knowledge_base/api/{marker}.md"
        assert process.ask("problems") == []
    with open_for_test(folder, RefusingEmbedder()) as kb:
        assert_invariant(kb, folder)


def test_s5_two_processes_that_index_the_same_files_at_once_embed_them_once(
    folder: Path, processes: tuple[LineProcess, LineProcess]
) -> None:
    write_documents(folder / "knowledge_base", {f"new/{number}.md": unique_text(f"n{number}") for number in range(10)})
    for process in processes:
        process.send("reindex")
    embedded = [process.receive() for process in processes]
    assert sorted(embedded, key=str) == [0, 20]
    assert [process.ask("problems") for process in processes] == [[], []]


def test_s5_another_process_takes_over_from_an_owner_that_is_killed_and_nothing_acknowledged_is_lost(
    folder: Path, processes: tuple[LineProcess, LineProcess]
) -> None:
    owner, other = processes
    owner.ask("upload", ["last.md"], [unique_text("last")])
    expected = result(other.ask("lookup", QUERY))
    assert expected["supplement"] is not None
    other.send("lookups", QUERY, 500)
    before = [other.receive() for _ in range(20)]
    owner.kill()
    killed = time.monotonic()
    assert [result(answer) for answer in before] == [expected] * 20
    waited = None
    while (answer := other.receive()) != "done":
        if waited is None and seconds(answer) > 10 * seconds(before[-1]):
            waited = time.monotonic() - killed
        assert result(answer) == expected, "not one answer is degraded"
        assert seconds(answer) < TAKEOVER_SECONDS
    logger.info("taken over after %s s", waited)
    assert other.ask("engine") == ["owner", other.pid]
    assert other.ask("upload", ["after.md"], [unique_text("after")]) == ["indexed"]
    other.ask("refresh")
    assert other.ask("problems") == []
    with open_for_test(folder, RefusingEmbedder()) as kb:
        assert found_by_keyword(kb, "last") == {"api/last.md"}
        assert found_by_keyword(kb, "after") == {"api/after.md"}
        assert_invariant(kb, folder)


def test_q7_a_folder_held_by_a_program_that_does_not_share_it_degrades_the_result_and_names_it(folder: Path) -> None:
    from milvus_lite import MilvusLite

    with open_for_test(folder, RefusingEmbedder()) as kb:
        kb.reindex()
    milvus = str(folder / "state" / "milvus.db")
    with MilvusLite(milvus), line_process("crash_worker", str(folder), "milvus") as process:
        for query in (QUERY, f"{keyword('first')} {keyword('second')}"):
            assert f"is held by process {os.getpid()}" in str(result(process.ask("lookup", query))["degraded"])
        found = result(process.ask("lookup", keyword("first")))
        assert (found["found"], found["degraded"]) == (True, None)


def test_s5_the_read_replica_answers_whoever_holds_the_folder(folder: Path) -> None:
    with ExitStack() as stack:
        owner = stack.enter_context(line_process("crash_worker", str(folder)))
        owner.ask("reindex")
        expected = result(owner.ask("lookup", QUERY))
        assert expected["supplement"] is not None
        owner.signal(signal.SIGSTOP)
        try:
            other = stack.enter_context(line_process("crash_worker", str(folder)))
            assert result(other.ask("lookup", QUERY)) == expected
        finally:
            owner.signal(signal.SIGCONT)


def test_q7_an_owner_that_is_stopped_degrades_results_in_bounded_time_until_it_goes_on(
    processes: tuple[LineProcess, LineProcess],
) -> None:
    owner, other = processes
    expected = result(other.ask("lookup", QUERY))
    owner.signal(signal.SIGSTOP)
    for _ in range(2):
        answer = other.ask("lookup", QUERY)
        logger.info("degraded after %.2f s", seconds(answer))
        assert f"process {owner.pid}" in str(result(answer)["degraded"])
        assert seconds(answer) < STOPPED_SECONDS
    assert result(other.ask("lookup", keyword("first")))["degraded"] is None
    owner.signal(signal.SIGCONT)
    assert result(other.ask("lookup", QUERY)) == expected
