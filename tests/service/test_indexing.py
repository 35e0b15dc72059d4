import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.domain.documents import DocumentStatus
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.ports import Vectors
from kbapp.service.index_report import ChangeKind
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents

DOCUMENTS = {
    "api/payment.md": document(
        "支付网关", "ERR_TIMEOUT, 超时", "## 超时类错误\n\n支付网关请求超时。\n\n## 签名\n\n验签。"
    ),
    "domain/cache.md": document("缓存", "击穿", "缓存击穿时加互斥锁。"),
    "plain.md": "没有 frontmatter 的文档，讲连接池。\n",
}


class RefusingEmbedder(TinyEmbedder):
    """Fails on every text that holds a word."""

    word = "毒"

    def embed_passages(self, texts: list[str]) -> Vectors:  # type: ignore[override]
        if any(self.word in text for text in texts):
            raise IndexUnavailable("the model refuses this text")
        return super().embed_passages(texts)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge_base"
    write_documents(root, DOCUMENTS)
    return root


@pytest.fixture
def embedder() -> TinyEmbedder:
    return TinyEmbedder()


@pytest.fixture
def kb(tmp_path: Path, root: Path, embedder: TinyEmbedder) -> Iterator[KnowledgeBase]:
    with open_for_test(tmp_path, embedder) as kb:
        yield kb


def many_with(footer: str, numbers: range) -> dict[str, str]:
    return {f"many/{number:02}.md": f"# 文档{number}\n\n正文{number}。\n\n{footer}\n" for number in numbers}


def changes(kb: KnowledgeBase) -> list[tuple[str, ChangeKind]]:
    return [(change.path, change.kind) for change in kb.reindex().changes]


def test_k8_l0_answers_before_anything_is_indexed(kb: KnowledgeBase) -> None:
    assert [entry.path for entry in kb.entries()] == ["api/payment.md", "domain/cache.md"]
    assert kb.documents() == []


def test_s1_the_first_reconcile_adds_every_document_and_the_second_does_nothing(
    kb: KnowledgeBase, embedder: TinyEmbedder
) -> None:
    report = kb.reindex()
    assert report.count(ChangeKind.ADDED) == 3
    assert report.embedded == report.chunks == len(embedder.texts) > 0
    embedder.texts.clear()
    second = kb.reindex()
    assert (second.changes, second.embedded, second.unchanged, embedder.texts) == ((), 0, 3, [])
    assert kb.health().consistent


def test_u8_an_edit_reaches_every_index(kb: KnowledgeBase, root: Path) -> None:
    kb.reindex()
    write_documents(root, {"api/payment.md": document("支付网关", "ERR_SIGN", "改成了签名规则。")})
    assert changes(kb) == [("api/payment.md", ChangeKind.UPDATED)]
    assert kb.lookup("ERR_TIMEOUT").primary is None
    assert kb.lookup("ERR_SIGN").primary is not None
    assert kb.health().consistent


def test_u8_a_deleted_file_leaves_every_index(kb: KnowledgeBase, root: Path) -> None:
    kb.reindex()
    (root / "api/payment.md").unlink()
    assert changes(kb) == [("api/payment.md", ChangeKind.REMOVED)]
    assert [record.path for record in kb.documents()] == ["domain/cache.md", "plain.md"]
    assert kb.health().consistent


def test_s1_a_rename_embeds_nothing_and_moves_record_and_chunks(
    kb: KnowledgeBase, root: Path, embedder: TinyEmbedder
) -> None:
    kb.reindex()
    before = {record.path: record.id for record in kb.documents()}
    (root / "guides").mkdir()
    (root / "api/payment.md").rename(root / "guides/pay.md")
    embedder.texts.clear()
    assert changes(kb) == [("guides/pay.md", ChangeKind.RENAMED)]
    assert embedder.texts == []
    assert {record.path: record.id for record in kb.documents()}["guides/pay.md"] == before["api/payment.md"]
    assert {chunk.domain for chunk in kb.chunks("guides/pay.md")} == {"guides"}
    assert [entry.path for entry in kb.entries()] == ["domain/cache.md", "guides/pay.md"]
    assert kb.health().consistent


def test_s1_two_files_that_change_places_embed_nothing(kb: KnowledgeBase, root: Path, embedder: TinyEmbedder) -> None:
    kb.reindex()
    first, second = root / "api/payment.md", root / "domain/cache.md"
    texts = first.read_bytes(), second.read_bytes()
    first.write_bytes(texts[1])
    second.write_bytes(texts[0])
    embedder.texts.clear()
    kb.reindex()
    assert embedder.texts == []
    assert kb.lookup("击穿").primary.source == "knowledge_base/api/payment.md"  # type: ignore[union-attr]
    assert kb.health().consistent


def test_c7_blank_lines_at_the_top_embed_nothing_and_move_the_line_ranges(
    kb: KnowledgeBase, root: Path, embedder: TinyEmbedder
) -> None:
    kb.reindex()
    before = kb.chunks("plain.md")[0]
    write_documents(root, {"plain.md": "\n\n\n" + DOCUMENTS["plain.md"]})
    embedder.texts.clear()
    kb.reindex()
    after = kb.chunks("plain.md")[0]
    assert embedder.texts == []
    assert after.id == before.id
    assert after.chunk.lines == (before.chunk.lines[0] + 3, before.chunk.lines[1] + 3)


def test_s3_a_text_that_comes_back_is_not_embedded_again(kb: KnowledgeBase, root: Path, embedder: TinyEmbedder) -> None:
    kb.reindex()
    (root / "plain.md").unlink()
    kb.reindex()
    embedder.texts.clear()
    write_documents(root, {"plain.md": DOCUMENTS["plain.md"]})
    kb.reindex()
    assert embedder.texts == []


def test_f3_a_malformed_frontmatter_is_reported_and_the_document_indexed(kb: KnowledgeBase, root: Path) -> None:
    write_documents(root, {"bad.md": "---\ntitle: Error: disk full\n---\n磁盘写满了\n"})
    report = kb.reindex()
    assert [warning.path for warning in report.warnings] == ["bad.md"]
    assert "disk full" in "".join(chunk.chunk.content for chunk in kb.chunks("bad.md"))
    assert "bad.md" not in [entry.path for entry in kb.entries()]


def test_bad_files_are_listed_with_the_reason_and_the_others_indexed(kb: KnowledgeBase, root: Path) -> None:
    write_documents(root, {"binary.md": b"\x89PNG\r\n\x1a\n" + bytes(100), "big.md": b"a" * (5 * 1024 * 1024 + 1)})
    (root / "folder.md").mkdir()
    (root / "loop").symlink_to(root, target_is_directory=True)
    report = kb.reindex()
    assert [problem.path for problem in report.failed if problem.path.endswith(".md")] == ["big.md", "binary.md"]
    assert "knowledge.max-file-size" in next(problem.error for problem in report.failed if problem.path == "big.md")
    assert report.count(ChangeKind.ADDED) == 3
    statuses = {record.path: record.status for record in kb.documents()}
    assert statuses["binary.md"] is DocumentStatus.FAILED


def test_u4_a_document_that_cannot_be_embedded_fails_alone_and_is_retried(tmp_path: Path, root: Path) -> None:
    write_documents(root, {"bad.md": "有毒的文本\n"})
    embedder = RefusingEmbedder()
    with open_for_test(tmp_path, embedder) as kb:
        report = kb.reindex()
        assert [(problem.path, problem.error) for problem in report.failed] == [
            ("bad.md", "the model refuses this text")
        ]
        assert report.count(ChangeKind.ADDED) == 3
        embedder.word = "nothing"
        assert changes(kb) == [("bad.md", ChangeKind.ADDED)]
        assert kb.health().consistent


def test_u4_a_failed_replacement_keeps_answering_from_the_old_version(tmp_path: Path, root: Path) -> None:
    with open_for_test(tmp_path, RefusingEmbedder()) as kb:
        kb.reindex()
        before = kb.chunks("plain.md")
        write_documents(root, {"plain.md": "有毒的新版本\n"})
        kb.reindex()
        assert kb.chunks("plain.md") == before
        record = next(record for record in kb.documents() if record.path == "plain.md")
        assert (record.status, record.error) == (DocumentStatus.FAILED, "the model refuses this text")


def test_an_embedder_that_is_down_is_not_asked_for_every_document(tmp_path: Path, root: Path) -> None:
    class DownEmbedder(TinyEmbedder):
        def embed_passages(self, texts: list[str]) -> Vectors:  # type: ignore[override]
            self.calls += 1
            raise IndexUnavailable("the endpoint does not answer")

    write_documents(root, {f"more/{number}.md": f"文档 {number}\n" for number in range(10)})
    embedder = DownEmbedder()
    with open_for_test(tmp_path, embedder) as kb:
        report = kb.reindex()
        assert len(report.failed) == 13
        assert embedder.calls == 2


def test_a_changed_model_is_explained_and_rebuilds_every_vector(tmp_path: Path, root: Path) -> None:
    query = "没有 frontmatter 的文档，讲连接池"
    with open_for_test(tmp_path, TinyEmbedder(64)) as kb:
        kb.reindex()
    with open_for_test(tmp_path, TinyEmbedder(32)) as kb:
        before = kb.lookup(query)
        assert "made with tiny:64, embedding.model is now tiny:32" in str(before.degraded)
        report = kb.reindex()
        assert report.former_model == "tiny:64"
        assert report.embedded == report.chunks
        after = kb.lookup(query)
        assert after.supplement is not None
        assert after.degraded is None
        assert kb.health().consistent
        assert kb.reindex().former_model is None


def test_c8_a_line_repeated_in_many_documents_is_shown_but_not_embedded(
    kb: KnowledgeBase, root: Path, embedder: TinyEmbedder
) -> None:
    footer = "©2023 公司名称 机密文件"
    write_documents(
        root, {f"many/{number:02}.md": f"# 文档{number}\n\n正文{number}。\n\n{footer}\n" for number in range(20)}
    )
    kb.reindex()
    assert footer not in "\n".join(embedder.texts)
    assert footer in kb.chunks("many/00.md")[0].chunk.content


def test_c8_documents_indexed_before_a_line_became_repeated_are_embedded_anew(
    kb: KnowledgeBase, root: Path, embedder: TinyEmbedder
) -> None:
    footer = "©2023 公司名称 机密文件"
    write_documents(root, {"many/00.md": f"# 文档\n\n正文。\n\n{footer}\n"})
    kb.reindex()
    assert footer in "\n".join(embedder.texts)
    write_documents(
        root, {f"many/{number:02}.md": f"# 文档{number}\n\n正文{number}。\n\n{footer}\n" for number in range(1, 21)}
    )
    kb.reindex()
    assert footer not in kb.chunks("many/00.md")[0].chunk.embedded_text
    assert kb.health().consistent


def test_vectors_lost_behind_our_back_come_back_from_the_cache(
    tmp_path: Path, root: Path, embedder: TinyEmbedder
) -> None:
    import shutil

    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
    shutil.rmtree(tmp_path / "state" / "milvus.db")
    embedder.texts.clear()
    with open_for_test(tmp_path, embedder) as kb:
        assert not kb.health().consistent
        kb.reindex()
        assert kb.health().consistent
        assert "kbapp" in embedder.texts  # what doctor asks the model
        assert len(embedder.texts) <= 2


def test_documents_in_a_folder_that_cannot_be_looked_into_are_not_gone(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.reindex()
    scandir = os.scandir

    def closed(folder: str) -> object:
        if Path(folder) == root / "api":
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(folder)

    (root / "domain/cache.md").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", closed)
        assert changes(kb) == [("domain/cache.md", ChangeKind.REMOVED)]
    assert [record.path for record in kb.documents()] == ["api/payment.md", "plain.md"]
    assert kb.lookup("ERR_TIMEOUT").primary is not None


def test_documents_of_a_folder_that_became_a_link_to_the_outside_are_gone(
    kb: KnowledgeBase, root: Path, tmp_path: Path
) -> None:
    kb.reindex()
    (root / "api").rename(tmp_path / "outside")
    (root / "api").symlink_to(tmp_path / "outside")
    report = kb.reindex()
    assert [(change.path, change.kind) for change in report.changes] == [("api/payment.md", ChangeKind.REMOVED)]
    assert "leads outside" in report.problems[0].error
    assert kb.lookup("ERR_TIMEOUT").primary is None
    assert (tmp_path / "outside/payment.md").exists()
