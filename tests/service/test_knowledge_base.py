from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp import LookupResult, RelevanceLevel, Settings, open_knowledge_base
from kbapp.domain.errors import UserError
from kbapp.service.knowledge_base import KnowledgeBase
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, settings_for, write_documents

SECRET = {
    "secret/vault.md": document("机密金库手册", "VAULT_KEY, 金库", "## 钥匙存放\n\n金库钥匙在地下室。", "机密的摘要"),
    "hidden/plan.md": document("隐藏计划书", "PLAN_X, 计划", "## 第一阶段\n\n先试点。", "计划的摘要"),
    "api/payment.md": document("支付网关", "ERR_TIMEOUT, 超时", "## 超时类错误\n\n支付网关请求超时。", "支付的摘要"),
}


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", SECRET)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        yield kb


def test_the_public_names_are_those_of_the_design(kb: KnowledgeBase) -> None:
    result = kb.lookup("ERR_TIMEOUT")
    assert isinstance(result, LookupResult)
    assert result.relevance_level is RelevanceLevel.PRECISE


@pytest.mark.parametrize(
    ("query", "section"),
    [
        ("ERR_TIMEOUT", None),
        ("ERR_TIMEOUT", "不存在的章节"),
        ("支付网关请求超时", None),
        ("完全无关 zqxv", None),
        ("超时 计划 金库", "x"),
    ],
)
def test_q10_no_string_names_a_document_that_was_not_given(kb: KnowledgeBase, query: str, section: str | None) -> None:
    result = kb.lookup(query, section_title=section)
    given = [part.source for part in (result.primary, result.supplement) if part]
    everything = str(result.to_dict())
    for path, text in SECRET.items():
        if f"knowledge_base/{path}" in given:
            continue
        title = text.split("title: ")[1].split("\n")[0]
        for word in (path, path.split("/")[0] + "/", title, text.split("summary: ")[1].split("\n")[0]):
            assert word not in everything


def test_k8_the_configured_folder_is_created_when_absent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings.load(
        environ={}, overrides={"knowledge.base-path": str(tmp_path / "new/kb"), "state-dir": str(tmp_path / "s")}
    )
    with caplog.at_level(logging.INFO, logger="kbapp"), open_knowledge_base(settings, embedder=TinyEmbedder()) as kb:
        assert (tmp_path / "new/kb").is_dir()
        assert kb.reindex().documents == 0
        assert not kb.lookup("什么").found
    assert any("created" in record.getMessage() for record in caplog.records)


def test_k8_a_folder_that_a_caller_names_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a folder"):
        open_knowledge_base(tmp_path / "nowhere", embedder=TinyEmbedder())


def test_k8_the_number_of_documents_is_logged_at_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_documents(tmp_path / "knowledge_base", SECRET)
    with caplog.at_level(logging.INFO, logger="kbapp"), open_for_test(tmp_path):
        assert any("3 documents" in record.getMessage() for record in caplog.records)


def test_k8_the_tree_of_spec_6_1_has_four_documents_and_three_entries(tmp_path: Path) -> None:
    write_documents(
        tmp_path / "knowledge_base",
        {
            "api/payment.md": document("支付", "pay", "正文"),
            "api/order.md": "没有 frontmatter\n",
            "domain/cache.md": document("缓存", "cache", "正文"),
            "troubleshooting/timeout.md": document("超时", "timeout", "正文"),
            "readme.txt": "不是文档",
        },
    )
    with open_for_test(tmp_path) as kb:
        report = kb.reindex()
        assert (report.documents, report.entries) == (4, 3)


def test_f8_a_category_in_the_frontmatter_does_not_override_the_folder(tmp_path: Path) -> None:
    write_documents(
        tmp_path / "knowledge_base",
        {"api/a.md": "---\ntitle: A 文档\ncategory: other\n---\n正文\n", "root.md": "# 根\n\n正文\n"},
    )
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        assert {chunk.domain for chunk in kb.chunks("api/a.md")} == {"api"}
        assert {chunk.domain for chunk in kb.chunks("root.md")} == {"general"}


def test_a_changed_chunk_size_cuts_everything_anew(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"a.md": "# 标题\n\n" + "一句话说明问题。" * 100 + "\n"})
    with open_for_test(tmp_path) as kb:
        few = kb.reindex().chunks
    with open_for_test(tmp_path, chunking__max_characters="200") as kb:
        assert kb.reindex().chunks > few
        assert kb.health().consistent


def test_lookups_go_on_with_l0_when_the_state_folder_cannot_be_used(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", SECRET)
    (tmp_path / "state").write_text("a file where the folder should be")
    with open_for_test(tmp_path) as kb:
        assert kb.lookup("ERR_TIMEOUT").relevance_level is RelevanceLevel.PRECISE
        other = kb.lookup("地下室在哪里呢")
        assert other.degraded is not None


def test_lookups_go_on_with_l0_when_the_database_is_corrupt(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", SECRET)
    (tmp_path / "state").mkdir()
    (tmp_path / "state/kbapp.sqlite3").write_bytes(b"not a database" * 1000)
    with open_for_test(tmp_path) as kb:
        assert kb.lookup("ERR_TIMEOUT").relevance_level is RelevanceLevel.PRECISE
        assert kb.lookup("地下室在哪里呢").degraded is not None
    assert (tmp_path / "state/kbapp.sqlite3").read_bytes() == b"not a database" * 1000


def test_settings_open_what_they_name(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", SECRET)
    with open_knowledge_base(settings_for(tmp_path), embedder=TinyEmbedder()) as kb:
        assert [entry.path for entry in kb.entries()] == ["api/payment.md", "hidden/plan.md", "secret/vault.md"]
