"""Upload, replace and delete when nothing goes wrong (U1–U7)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from kbapp.adapters.milvus_index import MilvusIndex
from kbapp.domain.documents import DocumentStatus
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.service.documents import UploadOutcome, UploadResult
from kbapp.service.index_report import ChangeKind, IndexProgress
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, tree, write_documents

CACHE = document("缓存", "击穿", "缓存击穿时加互斥锁。")
PAYMENT = document(
    "支付网关",
    "ERR_TIMEOUT, 超时",
    "## 超时类错误\n\n先重试三次再看控制台日志，仍不行就找网络组排查防火墙规则。",
    "错误码",
)
OTHER_PAYMENT = document("支付网关", "ERR_SIGN", "## 签名\n\n验签失败时检查密钥。")
TEXT_QUERY = "先重试三次再看控制台日志，仍不行就找网络组排查防火墙规则"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge_base"
    write_documents(root, {"domain/cache.md": CACHE})
    return root


@pytest.fixture
def embedder() -> TinyEmbedder:
    return TinyEmbedder()


@pytest.fixture
def kb(tmp_path: Path, root: Path, embedder: TinyEmbedder) -> Iterator[KnowledgeBase]:
    with open_for_test(tmp_path, embedder) as kb:
        kb.reindex()
        embedder.texts.clear()
        yield kb


def paths(kb: KnowledgeBase) -> list[str]:
    return [record.path for record in kb.documents()]


def found_by_text(kb: KnowledgeBase) -> str | None:
    result = kb.lookup(TEXT_QUERY)
    return result.supplement.source if result.supplement else None


def test_u1_the_bytes_are_stored_unchanged_in_a_new_folder(kb: KnowledgeBase, root: Path) -> None:
    data = b"\xef\xbb\xbf" + PAYMENT.replace("\n", "\r\n").encode()
    result = kb.upload("payment.md", data, "api")
    assert (root / "api/payment.md").read_bytes() == data
    assert result.record.to_dict(kb.base_folder)["source"] == "knowledge_base/api/payment.md"


def test_u5_an_upload_is_found_at_once_by_keyword_and_by_text(kb: KnowledgeBase) -> None:
    result = kb.upload("payment.md", PAYMENT.encode(), "api")
    assert result.outcome is UploadOutcome.INDEXED
    assert result.record.status is DocumentStatus.INDEXED
    assert result.record == next(record for record in kb.documents() if record.path == "api/payment.md")
    assert kb.lookup("ERR_TIMEOUT").primary.source == "knowledge_base/api/payment.md"  # type: ignore[union-attr]
    assert found_by_text(kb) == "knowledge_base/api/payment.md"
    assert kb.health().consistent


def test_u5_an_upload_into_a_knowledge_base_that_was_never_indexed_is_found_by_text(tmp_path: Path, root: Path) -> None:
    with open_for_test(tmp_path) as kb:
        kb.upload("payment.md", PAYMENT.replace("keywords", "words").replace("title", "name").encode(), "api")
        assert found_by_text(kb) == "knowledge_base/api/payment.md"
        assert paths(kb) == ["api/payment.md"]
        kb.refresh()
        assert paths(kb) == ["api/payment.md", "domain/cache.md"]
        assert kb.health().consistent


def test_u4_the_next_reconcile_finds_nothing_left_to_do(kb: KnowledgeBase, embedder: TinyEmbedder) -> None:
    kb.upload("payment.md", PAYMENT.encode(), "api")
    embedder.texts.clear()
    report = kb.refresh()
    assert (report.changes, report.unchanged, embedder.texts) == ((), 2, [])
    assert kb.health().consistent


def test_an_upload_embeds_its_own_chunks_only_and_shows_progress(kb: KnowledgeBase, embedder: TinyEmbedder) -> None:
    seen: list[IndexProgress] = []
    text = "\n\n".join(f"## 第{number}节\n\n正文{number}。" for number in range(20))
    result = kb.upload("long.md", text.encode(), "api", on_progress=seen.append)
    assert len(embedder.texts) == result.record.chunk_count == 20
    assert [(progress.done, progress.total) for progress in seen] == [(16, 20), (20, 20)]
    assert {progress.path for progress in seen} == {"api/long.md"}


def test_u3_the_frontmatter_is_kept_as_metadata_and_a_broken_one_is_null_with_a_warning(kb: KnowledgeBase) -> None:
    good = kb.upload("payment.md", PAYMENT.encode(), "api")
    bad = kb.upload("bad.md", b"---\ntitle: Error: disk full\n---\ntext\n", "api")
    none = kb.upload("none.md", b"# text\n", "api")
    assert good.record.metadata == {"title": "支付网关", "keywords": ["ERR_TIMEOUT", "超时"], "summary": "错误码"}
    assert (bad.record.metadata, none.record.metadata) == (None, None)
    assert (good.warning, none.warning) == (None, None)
    assert "frontmatter" in str(bad.warning)
    assert bad.outcome is UploadOutcome.INDEXED


def test_an_empty_file_is_stored_with_a_warning(kb: KnowledgeBase) -> None:
    result = kb.upload("empty.md", b"", "api")
    assert (result.outcome, result.record.chunk_count) == (UploadOutcome.INDEXED, 0)
    assert "is empty" in str(result.warning)


def test_u6_the_same_bytes_again_are_no_work(kb: KnowledgeBase, root: Path, embedder: TinyEmbedder) -> None:
    first = kb.upload("payment.md", PAYMENT.encode(), "api")
    state = (root / "api/payment.md").stat()
    embedder.texts.clear()
    for is_replacing in (False, True):
        again = kb.upload("payment.md", PAYMENT.encode(), "api", replace=is_replacing)
        assert again == UploadResult(UploadOutcome.UNCHANGED, first.record, identical_to=None)
    assert embedder.texts == []
    assert (root / "api/payment.md").stat() == state


def test_u6_another_text_under_the_same_name_is_refused_until_the_caller_asks_to_replace(
    kb: KnowledgeBase, root: Path
) -> None:
    first = kb.upload("payment.md", PAYMENT.encode(), "api")
    with pytest.raises(
        UserError, match=r"^api/payment\.md is there already .* replace=True \(kbapp upload --replace\)"
    ):
        kb.upload("payment.md", OTHER_PAYMENT.encode(), "api")
    assert (root / "api/payment.md").read_bytes() == PAYMENT.encode()
    result = kb.upload("payment.md", OTHER_PAYMENT.encode(), "api", replace=True)
    assert (result.outcome, result.record.id) == (UploadOutcome.REPLACED, first.record.id)
    assert kb.lookup("ERR_TIMEOUT").primary is None
    assert kb.lookup("ERR_SIGN").primary is not None
    assert kb.health().consistent


def test_u6_the_same_bytes_under_another_name_are_accepted_and_the_twin_is_named(kb: KnowledgeBase, root: Path) -> None:
    assert kb.upload("payment.md", PAYMENT.encode(), "api").identical_to is None
    result = kb.upload("copy.md", PAYMENT.encode(), "docs")
    assert (result.outcome, result.identical_to) == (UploadOutcome.INDEXED, "api/payment.md")
    (root / "api/payment.md").unlink()
    assert kb.upload("third.md", PAYMENT.encode(), "docs").identical_to == "docs/copy.md"


def test_u6_a_file_put_there_by_hand_is_indexed_by_uploading_the_same_bytes(kb: KnowledgeBase, root: Path) -> None:
    write_documents(root, {"api/payment.md": PAYMENT})
    assert kb.upload("payment.md", PAYMENT.encode(), "api").outcome is UploadOutcome.INDEXED
    assert kb.lookup("ERR_TIMEOUT").primary is not None


def test_u6_a_file_changed_by_hand_is_indexed_by_uploading_the_same_bytes(kb: KnowledgeBase, root: Path) -> None:
    kb.upload("payment.md", PAYMENT.encode(), "api")
    write_documents(root, {"api/payment.md": OTHER_PAYMENT})
    assert kb.upload("payment.md", OTHER_PAYMENT.encode(), "api").outcome is UploadOutcome.INDEXED
    assert kb.lookup("ERR_SIGN").primary is not None


def test_u6_a_file_put_back_by_hand_after_a_failed_replacement_is_no_failure_any_more(
    kb: KnowledgeBase, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise IndexUnavailable("it is out of order")

    kb.upload("payment.md", PAYMENT.encode(), "api")
    with monkeypatch.context() as patch:
        patch.setattr(MilvusIndex, "write", refuse)
        assert kb.upload("payment.md", OTHER_PAYMENT.encode(), "api", replace=True).outcome is UploadOutcome.FAILED
    write_documents(root, {"api/payment.md": PAYMENT})
    result = kb.upload("payment.md", PAYMENT.encode(), "api")
    assert (result.outcome, result.record.status) == (UploadOutcome.INDEXED, DocumentStatus.INDEXED)
    assert kb.health().consistent


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_u6_two_unicode_forms_of_a_name_are_one_document(
    kb: KnowledgeBase, root: Path, form: Literal["NFC", "NFD"]
) -> None:
    on_disk = unicodedata.normalize("NFD", "café/übër.md")
    write_documents(root, {on_disk: PAYMENT})
    kb.refresh()
    category, name = unicodedata.normalize(form, "café/übër.md").split("/")
    assert kb.upload(name, PAYMENT.encode(), category).outcome is UploadOutcome.UNCHANGED
    assert kb.upload(name, OTHER_PAYMENT.encode(), category, replace=True).record.path == "café/übër.md"
    assert [path for path in tree(root) if path.endswith("r.md")] == [on_disk]
    kb.delete(f"{category}/{name}")
    assert paths(kb) == ["domain/cache.md"]


@pytest.fixture
def _aliases(root: Path) -> None:
    """A folder and a file that answer to a second name, as every name does where case does not count."""
    write_documents(root, {"api/payment.md": PAYMENT})
    (root / "API").symlink_to(root / "api")
    (root / "api/Payment.md").symlink_to(root / "api/payment.md")


@pytest.mark.usefixtures("_aliases")
def test_u6_names_that_are_one_file_for_the_file_system_are_one_document(kb: KnowledgeBase) -> None:
    assert kb.upload("Payment.md", PAYMENT.encode(), "API").record.path == "api/payment.md"
    with pytest.raises(UserError, match=r"api/payment\.md is there already"):
        kb.upload("Payment.md", OTHER_PAYMENT.encode(), "api")
    replaced = kb.upload("Payment.md", OTHER_PAYMENT.encode(), "API", replace=True)
    assert (replaced.outcome, replaced.record.path) == (UploadOutcome.REPLACED, "api/payment.md")
    assert kb.upload("new.md", b"new", "API").record.path == "api/new.md"
    assert kb.refresh().changes == ()
    assert kb.delete("API/Payment.md").path == "api/payment.md"
    assert paths(kb) == ["api/new.md", "domain/cache.md"]
    assert kb.health().consistent


@pytest.mark.parametrize("path", ["api/payment.md", "knowledge_base/api/payment.md"])
def test_u7_a_deleted_document_is_gone_from_everywhere_also_after_a_restart(
    kb: KnowledgeBase, tmp_path: Path, root: Path, path: str
) -> None:
    uploaded = kb.upload("payment.md", PAYMENT.encode(), "api")
    before = kb.health().counts
    assert found_by_text(kb) == "knowledge_base/api/payment.md"
    assert kb.delete(path) == uploaded.record
    assert not (root / "api/payment.md").exists()
    counts = kb.health().counts
    assert counts["vectors"] == counts["chunks"] == before["chunks"] - uploaded.record.chunk_count
    for knowledge_base in (kb, open_for_test(tmp_path)):
        with knowledge_base:
            assert paths(knowledge_base) == ["domain/cache.md"]
            assert [entry.path for entry in knowledge_base.entries()] == ["domain/cache.md"]
            assert knowledge_base.lookup("ERR_TIMEOUT").primary is None
            assert found_by_text(knowledge_base) is None
            assert knowledge_base.health().consistent
            assert knowledge_base.refresh().changes == ()


def test_u7_what_is_not_there_cannot_be_deleted(kb: KnowledgeBase, root: Path) -> None:
    before = tree(root)
    with pytest.raises(UserError, match=r"^api/none\.md is not in the knowledge base: `kbapp documents`"):
        kb.delete("api/none.md")
    assert tree(root) == before
    assert paths(kb) == ["domain/cache.md"]


def test_u7_a_record_whose_file_is_gone_is_cleaned_up(kb: KnowledgeBase, root: Path) -> None:
    kb.upload("payment.md", PAYMENT.encode(), "api")
    (root / "api/payment.md").unlink()
    kb.delete("api/payment.md")
    assert paths(kb) == ["domain/cache.md"]
    assert kb.lookup("ERR_TIMEOUT").primary is None
    assert kb.health().consistent


def test_u7_a_file_that_was_never_indexed_can_be_deleted(tmp_path: Path, root: Path) -> None:
    with open_for_test(tmp_path) as kb:
        assert kb.delete("domain/cache.md").path == "domain/cache.md"
        assert tree(root) == {"domain": None}
        assert kb.entries() == ()


def test_c8_a_line_that_became_repeated_by_uploads_is_left_out_from_the_next_reconcile_on(
    kb: KnowledgeBase, embedder: TinyEmbedder
) -> None:
    footer = "©2023 公司名称 机密文件"
    for number in range(20):
        kb.upload(f"{number:02}.md", f"# 文档{number}\n\n正文{number}。\n\n{footer}\n".encode(), "many")
    assert footer in kb.chunks("many/00.md")[0].chunk.embedded_text
    report = kb.refresh()
    assert report.count(ChangeKind.UPDATED) == 20
    assert footer not in kb.chunks("many/00.md")[0].chunk.embedded_text
    embedder.texts.clear()
    kb.upload("20.md", f"# 文档20\n\n正文20。\n\n{footer}\n".encode(), "many")
    assert footer not in "\n".join(embedder.texts)
    assert kb.refresh().changes == ()
    assert kb.health().consistent
