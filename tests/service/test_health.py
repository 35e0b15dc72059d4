"""``kbapp doctor``: each way in which stores can differ is found, and ends when its way out is followed (S4)."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kbapp.adapters.index_lock import hold_index_lock
from kbapp.adapters.milvus_engine import LocalEngine
from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.domain.documents import DocumentStatus, KnowledgeEntry
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import Vectors
from kbapp.service import health
from kbapp.service.consistency import MEND_CAUSE, MEND_FILE, RUN_INDEX
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents

DOCUMENTS = {
    "api/payment.md": document("支付网关", "ERR_TIMEOUT", "## 超时\n\n支付网关请求超时。\n\n## 签名\n\n验签失败。"),
    "domain/cache.md": document("缓存", "击穿", "缓存击穿时加互斥锁。"),
    "plain.md": "没有 frontmatter 的文档，讲连接池。\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge_base"
    write_documents(root, DOCUMENTS)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        assert kb.health().consistent
    return root


@pytest.fixture
def kb(tmp_path: Path, root: Path) -> Iterator[KnowledgeBase]:
    with open_for_test(tmp_path) as kb:
        yield kb


def sql(tmp_path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(tmp_path / "state" / "kbapp.sqlite3")) as connection, connection:
        for statement in statements:
            assert connection.execute(statement).rowcount, "the statement changes nothing"


def vectors_of(tmp_path: Path) -> closing[MilvusIndex]:
    engine = LocalEngine(tmp_path / "state")
    return closing(MilvusIndex(engine, model=TinyEmbedder(), base_folder="knowledge_base"))


def lose_vectors(tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "state" / "milvus.db")


def lose_one_vector(tmp_path: Path) -> None:
    with vectors_of(tmp_path) as index:
        index.delete([min(index.chunk_ids())])


def leave_an_orphan(tmp_path: Path) -> None:
    with open_for_test(tmp_path) as kb, vectors_of(tmp_path) as index:
        chunk = kb.chunks("plain.md")[0]
        index.write([replace(chunk, id="gone-0123456789abcdef-0")], vector_of(chunk.chunk.embedded_text))


def move_a_row(tmp_path: Path) -> None:
    with open_for_test(tmp_path) as kb, vectors_of(tmp_path) as index:
        chunk = kb.chunks("plain.md")[0]
        index.write([replace(chunk, chunk=replace(chunk.chunk, lines=(7, 9)))], vector_of(chunk.chunk.embedded_text))


def vector_of(text: str) -> Vectors:
    return TinyEmbedder().embed_passages([text])


class Refusing(TinyEmbedder):
    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if any("有毒" in text for text in texts):
            raise IndexUnavailable("the model refuses this text")
        return super().embed_passages(texts)


BREAKS: dict[str, tuple[Callable[[Path], None], str]] = {
    "the vectors are gone": (lose_vectors, "vectors and chunks differ: 4 missing"),
    "a vector is gone": (lose_one_vector, "vectors and chunks differ: 1 missing"),
    "a vector too many": (leave_an_orphan, "vectors and chunks differ: 1 too many"),
    "a row's lines": (move_a_row, "vectors and chunks differ: 1 out of date"),
    "a chunk's text": (
        lambda path: sql(path, "UPDATE chunk SET content = 'x' WHERE content LIKE '%验签%'"),
        "the chunks of api/payment.md are not those of its file",
    ),
    "a chunk's lines": (
        lambda path: sql(path, "UPDATE chunk SET first_line = 2 WHERE content LIKE '%验签%'"),
        "the chunks of api/payment.md are not those of its file",
    ),
    "a chunk is gone": (
        lambda path: sql(path, "DELETE FROM chunk WHERE content LIKE '%验签%'"),
        "api/payment.md has 1 chunks and its record says 2",
    ),
    "a record's title": (
        lambda path: sql(path, "UPDATE api_document SET title = 'x' WHERE file_name = 'cache.md'"),
        "the record of domain/cache.md is not that of its file",
    ),
    "a record's metadata": (
        lambda path: sql(path, "UPDATE api_document SET metadata = NULL WHERE file_name = 'cache.md'"),
        "the record of domain/cache.md is not that of its file",
    ),
    "full text is gone": (lambda path: sql(path, "DELETE FROM chunk_fts"), "full text and chunks differ"),
    "full text of another text": (
        lambda path: sql(path, "UPDATE chunk_fts SET tokens = 'x' WHERE rowid = 1"),
        "full text and chunks differ",
    ),
    "full text too many": (
        lambda path: sql(path, "INSERT INTO chunk_fts (rowid, tokens) VALUES (99, 'x')"),
        "full text and chunks differ",
    ),
    "full text's own structure": (
        lambda path: sql(path, "UPDATE chunk_fts_content SET c0 = 'x' WHERE id = 1"),
        "full text and chunks differ",
    ),
    "a new file": (
        lambda path: write_documents(path / "knowledge_base", {"new.md": "新\n"}),
        "new.md is not indexed yet",
    ),
    "a changed file": (
        lambda path: write_documents(path / "knowledge_base", {"plain.md": "改\n"}),
        "plain.md has changed since it was indexed, or the settings have",
    ),
    "a deleted file": (
        lambda path: (path / "knowledge_base" / "plain.md").unlink(),
        "plain.md is indexed but there is no such file",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_s4_a_difference_is_found_and_gone_after_its_way_out(tmp_path: Path, root: Path, name: str) -> None:
    break_it, sentence = BREAKS[name]
    break_it(tmp_path)
    with open_for_test(tmp_path) as kb:
        found = kb.health()
    assert not found.consistent
    assert (sentence, RUN_INDEX) in [(problem.problem, problem.way_out) for problem in found.problems]
    embedder = TinyEmbedder()
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        assert len(embedder.texts) <= 1, "what was embedded once is in the cache"
        assert [problem.problem for problem in kb.health().problems] == []
        assert kb.health().consistent


def test_s4_vectors_lost_while_nothing_ran_come_back_at_the_next_start(tmp_path: Path, root: Path) -> None:
    lose_vectors(tmp_path)
    with open_for_test(tmp_path) as kb:
        kb.refresh()
        assert kb.health().consistent


def test_an_l0_entry_that_is_not_the_file_s_is_found_and_read_again(kb: KnowledgeBase) -> None:
    keywords = kb._parts.keywords
    keywords.remove("domain/cache.md")
    keywords.put(KnowledgeEntry("api/payment.md", "另一个", (), None))
    keywords.put(KnowledgeEntry("gone.md", "不存在", (), None))
    assert [problem.problem for problem in kb.health().problems] == [
        "the L0 index differs from the file api/payment.md",
        "the L0 index differs from the file domain/cache.md",
        "gone.md is indexed but there is no such file",
    ]
    kb.reindex()
    assert kb.health().consistent


def test_a_failed_document_is_a_problem_and_no_difference_and_mended_as_said(
    tmp_path: Path, root: Path, kb: KnowledgeBase
) -> None:
    (root / "domain" / "cache.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    kb.reindex()
    found = kb.health()
    assert found.consistent
    [problem] = found.problems
    assert problem.way_out == MEND_CAUSE
    assert problem.problem.startswith("domain/cache.md: ")
    write_documents(root, {"domain/cache.md": DOCUMENTS["domain/cache.md"]})
    kb.reindex()
    assert kb.health().problems == ()


def test_a_file_that_can_no_longer_be_read_is_named_with_the_file_as_the_way_out(root: Path, kb: KnowledgeBase) -> None:
    (root / "plain.md").write_bytes(b"a" * (5 * 1024 * 1024 + 1))
    [problem] = kb.health().problems
    assert (problem.way_out, "knowledge.max-file-size" in problem.problem) == (MEND_CAUSE, True)
    write_documents(root, {"plain.md": DOCUMENTS["plain.md"]})
    assert kb.health().problems == ()


def test_what_a_scan_leaves_out_is_a_problem_and_no_difference(root: Path, kb: KnowledgeBase) -> None:
    (root / "lost.md").symlink_to(root / "nowhere.md")
    found = kb.health()
    assert (found.consistent, [problem.way_out for problem in found.problems]) == (True, [MEND_FILE])


def test_vectors_that_nobody_can_read_are_not_called_consistent(tmp_path: Path, root: Path) -> None:
    from milvus_lite import MilvusLite

    with MilvusLite(str(tmp_path / "state" / "milvus.db")), open_for_test(tmp_path) as kb:
        found = kb.health()
        assert not found.consistent
        assert ["is held by process" in problem.problem for problem in found.problems] == [True]
    with open_for_test(tmp_path) as kb:
        assert kb.health().consistent


def test_a_prune_leaves_what_the_documents_use_and_what_a_failed_one_answers_with(tmp_path: Path, root: Path) -> None:
    embedder = Refusing()
    with open_for_test(tmp_path, embedder) as kb:
        write_documents(root, {"plain.md": "有毒的新版本\n", "new.md": "新文档\n"})
        (root / "domain" / "cache.md").unlink()
        kb.reindex()
        counts = kb.health().counts
        assert counts["cached_vectors"] == 5
        assert counts["cached_bytes"] == 5 * 64 * 4
        assert kb.prune_cache() == 1
        assert kb.health().counts["cached_vectors"] == 4
        assert kb.health().consistent
    lose_vectors(tmp_path)
    embedder.texts.clear()
    with open_for_test(tmp_path, embedder) as kb:
        kb.refresh()
        assert embedder.texts == []
        assert [chunk.chunk.content for chunk in kb.chunks("plain.md")] == [DOCUMENTS["plain.md"].strip()]
        assert kb.health().consistent


def test_a_damaged_database_ends_when_it_is_moved_away_as_said(tmp_path: Path, root: Path) -> None:
    database = tmp_path / "state" / "kbapp.sqlite3"
    for file in database.parent.glob("kbapp.sqlite3-*"):
        file.unlink()
    database.write_bytes(b"not a database" * 100)
    with open_for_test(tmp_path) as kb:
        found = kb.health()
    assert not found.consistent
    [problem] = found.problems
    assert "move it away and run `kbapp index`" in problem.problem
    database.rename(tmp_path / "moved away")
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        assert kb.health().problems == ()


def test_s5_nothing_is_compared_while_somebody_indexes(
    tmp_path: Path, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "WAIT_SECONDS", 0.0)
    with hold_index_lock(tmp_path / "state", 0):
        found = kb.health()
        with pytest.raises(IndexUnavailable, match="is indexing"):
            kb.prune_cache()
    [problem] = found.problems
    assert (found.consistent, problem.way_out) == (False, "run `kbapp doctor` again then")
    assert f"process {os.getpid()} is indexing: try again when it has finished" in problem.problem
    assert kb.health().consistent


def test_u4_a_failed_document_that_is_moved_goes_on_answering_from_its_former_version(
    tmp_path: Path, root: Path
) -> None:
    with open_for_test(tmp_path, Refusing()) as kb:
        write_documents(root, {"plain.md": "有毒的新版本\n"})
        kb.reindex()
        former = kb.chunks("plain.md")[0].chunk
        (root / "plain.md").rename(root / "api" / "moved.md")
        kb.refresh()
        assert kb.chunks("api/moved.md")[0].chunk == former
        assert [record.path for record in kb.documents() if record.status is DocumentStatus.FAILED] == ["api/moved.md"]
        assert kb.health().consistent
        kb.refresh()
        assert kb.health().consistent


def test_a_run_after_a_run_compares_nothing_on_the_real_engine(kb: KnowledgeBase, root: Path) -> None:
    vectors = kb._parts.indexer._rows._vectors
    compared = []
    compare = vectors.differences
    vectors.differences = lambda chunks: compared.append(1) or compare(chunks)  # type: ignore[method-assign, func-returns-value]
    for number in range(3):
        kb.upload(f"{number}.md", f"# 文档 {number}\n\n正文\n".encode(), "api")
        write_documents(root, {"plain.md": f"第 {number} 版\n"})
        kb.refresh()
    assert compared == []
    assert kb.health().consistent
