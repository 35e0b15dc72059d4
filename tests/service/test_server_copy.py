"""What is indexed, copied to a Milvus server: the same answers there, nothing embedded, nothing written twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kbapp.adapters.index_lock import hold_index_lock
from kbapp.adapters.milvus_client import open_client
from kbapp.adapters.milvus_engine import EngineRole, RemoteEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.domain.errors import IndexBusy
from kbapp.service.index_report import IndexProgress
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.server_copy import CopyReport
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, tree, write_documents
from tests.processes.milvus_processes import milvus_server

DOCUMENTS = {
    f"api/{number}.md": document(
        f"第{number}号错误", f"ERR_{number}", f"## 处理\n\n支付网关第{number}号错误码，先看网络。"
    )
    for number in range(6)
} | {"domain/cache.md": document("缓存", "击穿", "缓存击穿时加互斥锁。\n\n## 预热\n\n上线前预热缓存。")}
QUERIES = ("缓存击穿时怎么办", "支付网关错误码先看什么", "ERR_3", "上线前预热", "园艺")
LONG = {"long.md": "\n".join(f"## 第{number}节\n\n第{number}节的正文。\n" for number in range(300))}


@pytest.fixture(scope="module")
def server_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server")


@pytest.fixture(scope="module")
def server(server_folder: Path) -> Iterator[str]:
    with milvus_server(server_folder) as uri:
        yield uri


def indexed(tmp_path: Path, documents: dict[str, str]) -> None:
    write_documents(tmp_path / "knowledge_base", documents)
    with open_for_test(tmp_path) as kb:
        kb.reindex()


def copied(tmp_path: Path, uri: str) -> CopyReport:
    embedder = TinyEmbedder()
    with open_for_test(tmp_path, embedder) as kb:
        report = kb.copy_to_server(uri)
    assert embedder.texts == []
    assert report.consistent
    return report


def answer(kb: KnowledgeBase, query: str) -> dict[str, object]:
    return kb.lookup(query).to_dict() | {"invocationId": None}


def done(report: CopyReport) -> tuple[int, int, int]:
    return report.chunks, report.written, report.removed


def server_index(tmp_path: Path, uri: str) -> MilvusIndex:
    """What ``milvus.uri`` gives this state folder."""
    return MilvusIndex(RemoteEngine(tmp_path / "state", uri, ""), model=TinyEmbedder(), base_folder="knowledge_base")


def rows_there(tmp_path: Path, uri: str) -> set[str]:
    with closing(server_index(tmp_path, uri)) as index:
        assert index.count() == len(index.chunk_ids())
        return index.chunk_ids()


def test_the_server_answers_as_the_folder_did_and_the_next_start_embeds_and_writes_nothing(
    tmp_path: Path, server: str, server_folder: Path
) -> None:
    indexed(tmp_path, DOCUMENTS)
    with open_for_test(tmp_path) as kb:
        answers = [answer(kb, query) for query in QUERIES]
        chunks = {chunk.id for path in DOCUMENTS for chunk in kb.chunks(path)}
    report = copied(tmp_path, server)
    assert done(report) == (len(chunks), len(chunks), 0)
    files = tree(server_folder)
    embedder = TinyEmbedder()
    with open_for_test(tmp_path, embedder, milvus__uri=server) as kb:
        assert kb.refresh().embedded == kb.reindex().embedded == 0
        assert embedder.texts == []
        assert tree(server_folder) == files
        assert [answer(kb, query) for query in QUERIES] == answers
        health = kb.health()
        assert (health.engine.role, health.consistent, health.counts["vectors"]) == (
            EngineRole.REMOTE,
            True,
            len(chunks),
        )
    with closing(server_index(tmp_path, server)) as index:
        assert (index.collection_name(), index.chunk_ids()) == (report.collection, chunks)


def test_a_second_copy_writes_nothing_and_a_later_one_what_has_changed(
    tmp_path: Path, server: str, server_folder: Path
) -> None:
    indexed(tmp_path, DOCUMENTS)
    chunks = copied(tmp_path, server).chunks
    files = tree(server_folder)
    assert done(copied(tmp_path, server)) == (chunks, 0, 0)
    assert tree(server_folder) == files
    with open_for_test(tmp_path) as kb:
        gone = {chunk.id for chunk in kb.chunks("domain/cache.md")}
        kb.delete("domain/cache.md")
    there = rows_there(tmp_path, server)
    assert gone <= there
    assert done(copied(tmp_path, server)) == (chunks - len(gone), 0, len(gone))
    assert rows_there(tmp_path, server) == there - gone
    with open_for_test(tmp_path) as kb:
        kb.upload("new.md", document("新文档", "新", "新的正文。").encode(), "api")
        new = {chunk.id for chunk in kb.chunks("api/new.md")}
    assert done(copied(tmp_path, server)) == (chunks - len(gone) + len(new), len(new), 0)
    assert rows_there(tmp_path, server) == there - gone | new


def test_rows_that_were_lost_on_the_server_or_name_a_former_path_are_written_again(tmp_path: Path, server: str) -> None:
    indexed(tmp_path, DOCUMENTS)
    chunks = copied(tmp_path, server).chunks
    there = rows_there(tmp_path, server)
    with closing(server_index(tmp_path, server)) as index:
        index.delete(sorted(there)[:2])
    assert done(copied(tmp_path, server)) == (chunks, 2, 0)
    (tmp_path / "knowledge_base/domain/cache.md").rename(tmp_path / "knowledge_base/domain/caches.md")
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        renamed = len(kb.chunks("domain/caches.md"))
    assert done(copied(tmp_path, server)) == (chunks, renamed, 0)
    assert rows_there(tmp_path, server) == there


def test_collections_of_others_on_the_server_are_left_alone(tmp_path: Path, server: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    indexed(other, DOCUMENTS)
    indexed(tmp_path, {path: DOCUMENTS[path] for path in ("api/1.md", "domain/cache.md")})
    copied(other, server)
    theirs = rows_there(other, server)
    with closing(open_client(server, "", 5.0)) as client:
        client.create_collection("chunks_of_somebody_else", dimension=4)
        copied(tmp_path, server)
        with open_for_test(tmp_path) as kb:
            kb.delete("domain/cache.md")
        assert copied(tmp_path, server).removed
        assert client.has_collection("chunks_of_somebody_else")
    assert rows_there(other, server) == theirs
    assert done(copied(other, server)) == (len(theirs), 0, 0)


def test_a_copy_that_was_cut_off_is_taken_up_again(tmp_path: Path, server: str) -> None:
    indexed(tmp_path, LONG)

    def cut_off(progress: IndexProgress) -> None:
        raise KeyboardInterrupt

    with open_for_test(tmp_path) as kb, pytest.raises(KeyboardInterrupt):
        kb.copy_to_server(server, cut_off)
    before = len(rows_there(tmp_path, server))
    report = copied(tmp_path, server)
    assert 0 < before < report.chunks
    assert report.written == report.chunks - before


def test_nobody_indexes_while_the_server_is_written_to_and_progress_tells_how_far_it_is(
    tmp_path: Path, server: str
) -> None:
    indexed(tmp_path, LONG)
    seen: list[tuple[int, int]] = []
    with open_for_test(tmp_path) as kb:

        def look(progress: IndexProgress) -> None:
            seen.append((progress.done, progress.total))
            with pytest.raises(IndexBusy):
                kb.refresh()

        report = kb.copy_to_server(server, look)
    assert len(seen) > 1
    assert seen[-1] == (report.chunks, report.chunks)
    assert seen == sorted(seen)


def test_a_copy_waits_for_whoever_is_indexing_and_writes_nothing_before(tmp_path: Path, server: str) -> None:
    indexed(tmp_path, DOCUMENTS)
    busy = pytest.raises(IndexBusy, match="is indexing: try again")
    with open_for_test(tmp_path) as kb, hold_index_lock(tmp_path / "state", 0), busy:
        kb.copy_to_server(server, wait_seconds=0)
    assert rows_there(tmp_path, server) == set()
