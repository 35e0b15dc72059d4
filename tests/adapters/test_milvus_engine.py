"""Who owns the Milvus Lite folder: several indexes, several processes, crashes, and folders that others hold."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kbapp.adapters.milvus_client import open_client
from kbapp.adapters.milvus_engine import ADDRESS_FILE, DAMAGED_FOLDER, EngineRole
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.domain.errors import IndexUnavailable
from tests.processes.milvus_crash import BATCH
from tests.processes.milvus_processes import LineProcess, line_process
from tests.processes.milvus_samples import QUICK, local_index, sample_id, sample_vectors, write_samples

X = sample_vectors(range(1))[0]


def ids(numbers: range) -> set[str]:
    return {sample_id(number) for number in numbers}


def found(index: MilvusIndex, limit: int = 100) -> list[str]:
    return [hit.chunk_id for hit in index.search(X, limit)]


@contextmanager
def worker(state_dir: Path) -> Iterator[LineProcess]:
    with line_process("milvus_worker", str(state_dir)) as process:
        yield process


def test_s5_two_indexes_in_one_process_share_the_folder_until_the_last_is_closed(tmp_path: Path) -> None:
    first, second = local_index(tmp_path), local_index(tmp_path)
    with closing(second):
        write_samples(first, range(5))
        assert second.chunk_ids() == ids(range(5))
        assert first.status() == second.status()
        assert (first.status().role, first.status().owner_pid) == (EngineRole.OWNER, os.getpid())
        first.close()
        assert (tmp_path / ADDRESS_FILE).exists()
        write_samples(second, range(5, 6))
        assert second.chunk_ids() == ids(range(6))
    assert not (tmp_path / ADDRESS_FILE).exists()
    with closing(local_index(tmp_path)) as again:
        assert again.chunk_ids() == ids(range(6))


def test_s5_threads_and_indexes_that_open_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    indexes = [local_index(tmp_path) for _ in range(4)]
    threads = [
        threading.Thread(target=write_samples, args=(index, range(10 * place, 10 * place + 10)))
        for place, index in enumerate(indexes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [index.chunk_ids() for index in indexes] == [ids(range(40))] * 4
    assert set(found(indexes[0])) == ids(range(40))
    for index in indexes:
        index.close()


def test_s5_a_second_process_attaches_searches_and_writes_and_takes_over_when_the_owner_closes(tmp_path: Path) -> None:
    index = local_index(tmp_path)
    write_samples(index, range(10))
    with worker(tmp_path) as other:
        assert other.ask("status") == [EngineRole.ATTACHED, os.getpid(), None]
        assert other.ask("search", 0, 100) == found(index)
        other.ask("write", 10, 5)
        assert set(found(index)) == ids(range(15))
        index.close()
        assert other.ask("ids") == sorted(ids(range(15)))
        assert other.ask("status") == [EngineRole.OWNER, other.pid, None]
        other.ask("close")
    assert not (tmp_path / ADDRESS_FILE).exists()


def test_s5_when_the_owner_is_killed_an_attached_process_takes_over_in_the_middle_of_its_work(tmp_path: Path) -> None:
    with worker(tmp_path) as owner, closing(local_index(tmp_path)) as index, closing(local_index(tmp_path)) as idle:
        owner.ask("write", 0, 10)
        assert index.status().role is EngineRole.ATTACHED
        assert idle.chunk_ids() == ids(range(10))
        write_samples(index, range(10, 20))
        owner.kill()
        write_samples(index, range(20, 30))
        assert index.status().role is EngineRole.OWNER
        assert set(found(index)) == index.chunk_ids() == ids(range(30))
        assert set(found(idle)) == ids(range(30))
        assert idle.status() == index.status()


def test_s5_two_processes_create_the_collection_and_write_at_once(tmp_path: Path) -> None:
    with worker(tmp_path) as other, closing(local_index(tmp_path)) as index:
        assert {index.status().role, other.ask("status")[0]} == {EngineRole.OWNER, EngineRole.ATTACHED}
        for place in range(4):
            other.send("write", 20 * place, 10)
            write_samples(index, range(20 * place + 10, 20 * place + 20))
            other.receive()
        assert index.chunk_ids() == ids(range(80))
        assert other.ask("search", 0, 200) == found(index, 200)


@pytest.mark.parametrize("taken_by", ["nobody", "another program", "another Milvus"])
def test_s5_an_address_whose_owner_is_gone_is_survived(tmp_path: Path, taken_by: str) -> None:
    state_dir = tmp_path / "state"
    with closing(local_index(state_dir)) as owner:
        write_samples(owner, range(10))
        address = json.loads((state_dir / ADDRESS_FILE).read_text())
    with socket.create_server(("127.0.0.1", 0)) as program, closing(local_index(tmp_path / "other")) as other:
        uris = {
            "nobody": address["uri"],
            "another program": f"http://127.0.0.1:{program.getsockname()[1]}",
            "another Milvus": other.status().uri,
        }
        (state_dir / ADDRESS_FILE).write_text(json.dumps(address | {"uri": uris[taken_by]}))
        with closing(local_index(state_dir, QUICK)) as index:
            assert index.chunk_ids() == ids(range(10))
            assert index.status().role is EngineRole.OWNER
            assert index.status().uri not in (uris["another program"], uris["another Milvus"])


@pytest.mark.parametrize("text", ["", "{", "[]", '{"uri": 1}', '{"uri": "x", "pid": "y", "nonce": "", "folder": ""}'])
def test_an_address_that_cannot_be_read_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / ADDRESS_FILE).write_text(text)
    with closing(local_index(tmp_path)) as index:
        write_samples(index, range(1))
        assert json.loads((tmp_path / ADDRESS_FILE).read_text())["pid"] == os.getpid()


def test_a_copied_state_folder_does_not_attach_to_the_original(tmp_path: Path) -> None:
    with closing(local_index(tmp_path / "original")) as original:
        write_samples(original, range(3))
        shutil.copytree(tmp_path / "original", tmp_path / "copy")
        with closing(local_index(tmp_path / "copy")) as copy:
            write_samples(copy, range(3, 5))
            assert (copy.chunk_ids(), original.chunk_ids()) == (ids(range(5)), ids(range(3)))


def test_q7_a_folder_held_by_a_program_that_does_not_share_it_names_that_program(tmp_path: Path) -> None:
    from milvus_lite import MilvusLite

    with worker(tmp_path) as other:
        with MilvusLite(str(tmp_path / "milvus.db")):
            role, holder, problem = other.ask("status")
            assert (role, holder) == (EngineRole.UNAVAILABLE, os.getpid())
            assert f"is held by process {holder}, which does not answer: end it" in problem
        assert other.ask("search", 0, 3) == []
        assert other.ask("status") == [EngineRole.OWNER, other.pid, None]
        assert other.ask("refused") == "operands could not be broadcast together with shapes (1,1,3) (1,1,8)"


def test_q7_an_owner_that_is_stopped_is_named_and_found_again_when_it_goes_on(tmp_path: Path) -> None:
    with worker(tmp_path) as owner, closing(local_index(tmp_path, QUICK)) as index:
        owner.ask("write", 0, 5)
        assert set(found(index)) == ids(range(5))
        owner.signal(signal.SIGSTOP)
        for _ in range(2):
            with pytest.raises(IndexUnavailable, match=f"process {owner.pid}"):
                index.search(X, 3)
        owner.signal(signal.SIGCONT)
        assert set(found(index)) == ids(range(5))
        assert index.status().role is EngineRole.ATTACHED


def test_q7_a_state_folder_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "milvus.db").write_text("made by an older Milvus Lite")
    for state_dir in (tmp_path / "file", tmp_path / "old"):
        with closing(local_index(state_dir)) as index, pytest.raises(IndexUnavailable, match=str(state_dir)):
            index.chunk_ids()


@pytest.mark.parametrize("is_compacted", [False, True])
def test_s4_rows_that_come_back_twice_after_a_kill_are_one_again(tmp_path: Path, is_compacted: bool) -> None:
    collection = filled_collection(tmp_path, range(5))
    log = collection / "wal"
    with closing(local_index(tmp_path)) as index, closing(open_client(index.status().uri or "", "", 5.0)) as client:
        rows = client.query(collection.name, filter="", limit=100, output_fields=["*"])
        client.upsert(collection.name, rows, timeout=5)
        shutil.copytree(log, tmp_path / "log")
    shutil.rmtree(log)
    (tmp_path / "log").rename(log)
    assert list(log.iterdir())
    if is_compacted:
        # As the compaction does that runs when a collection is opened: the file of the log's rows gets another name.
        manifest = collection / "manifest.json"
        manifest.write_text(manifest.read_text().replace("data_000006_000010", "data_000006_000011"))
        data = collection / "partitions" / "_default" / "data"
        (data / "data_000006_000010.parquet").rename(data / "data_000006_000011.parquet")
    for count in (5, 6):
        with closing(local_index(tmp_path)) as index:
            write_samples(index, range(5, count))
            assert raw_search(index) == sorted(ids(range(count)))
            assert not list(log.iterdir()), "what is not flushed is searched by a slow path"


def test_s4_a_collection_that_cannot_be_read_is_set_aside_and_written_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        collection = filled_collection(tmp_path, range(5))
        for file in collection.glob("partitions/*/data/*.parquet"):
            os.truncate(file, 100)
        with closing(local_index(tmp_path)) as index:
            assert index.chunk_ids() == set()
            assert collection.name in caplog.text
            write_samples(index, range(5))
            assert index.chunk_ids() == ids(range(5))
        assert [folder.name for folder in (tmp_path / DAMAGED_FOLDER).iterdir()] == [collection.name]


def test_s4_a_collection_that_was_killed_while_it_was_created_is_created_again(tmp_path: Path) -> None:
    collection = filled_collection(tmp_path, range(1))
    shutil.rmtree(collection)
    collection.mkdir()
    with closing(local_index(tmp_path)) as index:
        assert index.chunk_ids() == set()
        write_samples(index, range(5))
        assert index.chunk_ids() == ids(range(5))


def filled_collection(state_dir: Path, numbers: range) -> Path:
    with closing(local_index(state_dir)) as index:
        write_samples(index, numbers)
        return state_dir / "milvus.db" / "collections" / index.collection_name()


def raw_search(index: MilvusIndex) -> list[str]:
    """What Milvus itself finds, with its duplicates."""
    with closing(open_client(str(index.status().uri), "", 5.0)) as client:
        options = {"limit": 10_000, "search_params": {"metric_type": "L2"}, "output_fields": ["id"]}
        hits = client.search(index.collection_name(), data=[X.tolist()], timeout=10, **options)[0]
        return sorted(str(hit["id"]) for hit in hits)


def test_s4_a_writer_killed_at_random_moments_loses_nothing_and_leaves_nothing_twice(tmp_path: Path) -> None:
    moments = random.Random(7)
    held: set[str] = set()
    with line_process("milvus_crash", str(tmp_path)) as writer:
        for seed in range(10):
            writer.send(seed, moments.uniform(0.05, 0.6))
            while step := writer.receive():
                held = after_step(held, step)
            with closing(local_index(tmp_path)) as index:
                there = index.chunk_ids()
                assert len(there ^ held) <= BATCH, "more than the one step that was under way"
                assert set(found(index, 10_000)) == there
                if there:
                    assert raw_search(index) == sorted(there)
            held = there
    assert not (tmp_path / DAMAGED_FOLDER).exists()


def after_step(held: set[str], step: object) -> set[str]:
    assert isinstance(step, list)
    what, first = step
    some = ids(range(first, first + BATCH))
    return held | some if what == "write" else held - some
