"""Sessions over the real stores: repeats are withheld, also after a restart (M2–M7, T8)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.documents import DocumentStatus
from kbapp.domain.errors import IndexUnavailable
from kbapp.domain.lookup_result import DedupReason, LookupResult
from kbapp.domain.ports import Vectors
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from tests.embedding import TinyEmbedder
from tests.knowledge import document, open_for_test, write_documents

DOCUMENTS = {
    "api/payment.md": document(
        "支付网关错误码", "ERR_TIMEOUT, 超时", "## 超时类错误\n\n支付网关请求超时。\n\n## 签名\n\n验签失败。"
    ),
    "infrastructure/gateway.md": document("接入层手册", "超时, Nginx", "## 代理\n\n反向代理的缓冲区。"),
    "guides/copy.md": "# 值班手册\n\n## 交接\n\n值班交接时核对告警静默。\n\n## 升级\n\n十分钟无人响应时升级。\n",
    "operations/copy.md": "# 值班手册\n\n## 交接\n\n值班交接时核对告警静默。\n\n## 升级\n\n十分钟无人响应时升级。\n",
}


class DeadEmbedder(TinyEmbedder):
    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise IndexUnavailable("the endpoint is dead")


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        yield kb


def ask(kb: KnowledgeBase, query: str, **values: object) -> LookupResult:
    return kb.lookup(query, session_id="s", **values)  # type: ignore[arg-type]


def test_m3_a_precise_document_asked_for_again_is_deduped_with_a_way_to_go_on(kb: KnowledgeBase) -> None:
    first = ask(kb, "ERR_TIMEOUT")
    again = ask(kb, "ERR_TIMEOUT 是什么")
    assert first.relevance_level is RelevanceLevel.PRECISE
    assert again.relevance_level is RelevanceLevel.DEDUPED
    assert again.dedup_reason is DedupReason.DOC_RETRIEVED
    assert again.found
    assert (again.primary, again.supplement) == (None, None)
    assert again.completeness_hint == "该内容已在本会话中提供，请直接使用；如需补充，请指明缺少的维度或章节"
    for part in ("ERR_TIMEOUT", "knowledge_base/api/payment.md", "section_title", "签名"):
        assert part in str(again.message)
    assert again.to_dict().keys() == first.to_dict().keys()


def test_m5_the_second_repeat_gets_a_final_message_and_force_gives_again(kb: KnowledgeBase) -> None:
    ask(kb, "ERR_TIMEOUT")
    first, second = ask(kb, "ERR_TIMEOUT"), ask(kb, "ERR_TIMEOUT")
    assert first.message != second.message
    assert "请停止检索" in str(second.message)
    assert ask(kb, "ERR_TIMEOUT", force=True).relevance_level is RelevanceLevel.PRECISE


def test_m4_a_section_passes_once(kb: KnowledgeBase) -> None:
    ask(kb, "ERR_TIMEOUT")
    section = ask(kb, "ERR_TIMEOUT", section_title="签名")
    assert section.primary is not None
    assert "验签失败" in section.primary.content
    assert ask(kb, "ERR_TIMEOUT", section_title="签名").relevance_level is RelevanceLevel.DEDUPED


def test_m3_a_twin_of_a_given_document_is_not_given(kb: KnowledgeBase) -> None:
    first = ask(kb, "值班手册 值班交接时核对告警静默")
    assert first.supplement is not None
    again = ask(kb, "值班手册 十分钟无人响应时升级")
    assert again.dedup_reason is DedupReason.DOC_RETRIEVED


def test_m3_a_passage_that_another_document_brought_is_marked_not_repeated(tmp_path: Path) -> None:
    shared = "所有变更先在预发环境验证，再按百分之五、百分之二十、百分之百三批放量，每批观察十五分钟，随时可以回滚。"
    texts = {
        "api/a.md": document("支付发布手册", "支付发布", f"## 步骤\n\n先停支付回调。\n\n{shared}"),
        "guides/b.md": document("缓存发布手册", "缓存发布", f"## 步骤\n\n先预热缓存。\n\n{shared}"),
        "guides/c.md": document("附录", "附录", shared),
    }
    write_documents(tmp_path / "knowledge_base", texts)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        contents = [ask(kb, query).primary for query in ("支付发布", "缓存发布")]
        assert [content and shared in content.content for content in contents] == [True, False]
        again = ask(kb, "缓存发布", force=True)
        appendix = kb.lookup("附录", session_id="s")
    assert contents[1] is not None
    assert contents[1].content.endswith("先预热缓存。\n…")
    assert again.primary is not None
    assert shared in again.primary.content
    assert appendix.primary is not None
    assert shared not in appendix.primary.content
    assert "“…”" in str(appendix.message)


def test_m2_domains_add_up_and_sessions_and_calls_without_one_share_nothing(kb: KnowledgeBase) -> None:
    assert ask(kb, "ERR_TIMEOUT").retrieved_domains == ("api",)
    assert ask(kb, "Nginx").retrieved_domains == ("api", "infrastructure")
    assert kb.lookup("ERR_TIMEOUT", session_id="other").retrieved_domains == ("api",)
    for _ in range(2):
        assert kb.lookup("ERR_TIMEOUT").relevance_level is RelevanceLevel.PRECISE


def test_m7_three_misses_in_a_row_say_to_stop_and_a_hit_resets(kb: KnowledgeBase) -> None:
    messages = [str(ask(kb, f"zqxv{number} blorp").message) for number in range(3)]
    assert ["请停止检索" in message for message in messages] == [False, False, True]
    ask(kb, "Nginx")
    assert "请停止检索" not in str(ask(kb, "qqqq wwww").message)


def test_t8_a_session_goes_on_after_a_restart_and_a_clear_is_kept(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        ask(kb, "ERR_TIMEOUT")
        before = kb.session("s")
    with open_for_test(tmp_path) as kb:
        assert kb.session("s") == before
        assert ask(kb, "ERR_TIMEOUT").relevance_level is RelevanceLevel.DEDUPED
        kb.clear_session("s")
        assert kb.session("s").documents == {}
        assert ask(kb, "ERR_TIMEOUT").relevance_level is RelevanceLevel.PRECISE
    with open_for_test(tmp_path) as kb:
        assert list(kb.session("s").documents) == ["api"]


def test_m5_a_document_that_changed_is_new_again(kb: KnowledgeBase, tmp_path: Path) -> None:
    ask(kb, "ERR_TIMEOUT")
    write_documents(
        tmp_path / "knowledge_base", {"api/payment.md": document("支付网关错误码", "ERR_TIMEOUT", "全新的正文。")}
    )
    kb.reindex()
    result = ask(kb, "ERR_TIMEOUT")
    assert result.primary is not None
    assert "全新的正文" in result.primary.content


def test_m1_many_threads_of_one_session_are_given_a_document_once(kb: KnowledgeBase) -> None:
    results: list[LookupResult] = []
    threads = [threading.Thread(target=lambda: results.append(ask(kb, "ERR_TIMEOUT"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    levels = sorted(str(result.relevance_level) for result in results)
    assert levels == ["DEDUPED"] * 7 + ["PRECISE"]


def test_t1_every_call_is_a_row_with_what_was_given(kb: KnowledgeBase) -> None:
    ask(kb, "ERR_TIMEOUT")
    ask(kb, "ERR_TIMEOUT")
    newest, oldest = kb.telemetry(session_id="s")
    assert (oldest.relevance_level, newest.relevance_level) == ("PRECISE", "DEDUPED")
    assert newest.dedup_reason == "doc_retrieved"
    assert newest.outcome == "deduped"
    assert newest.retrieval_details["level_before_dedup"] == "PRECISE"
    assert newest.retrieval_details["given"] == []
    given = oldest.retrieval_details["given"]
    assert isinstance(given, list)
    assert isinstance(given[0], dict)
    assert {"document", "chunks", "domain", "content_hash", "level"} <= given[0].keys()


def test_the_databases_loss_takes_no_memory_from_a_running_process(kb: KnowledgeBase, tmp_path: Path) -> None:
    ask(kb, "ERR_TIMEOUT")
    with open_for_test(tmp_path) as other, other._parts.records._database.write() as connection:  # type: ignore[attr-defined]
        connection.execute("DELETE FROM tool_invocation")
    assert ask(kb, "ERR_TIMEOUT").relevance_level is RelevanceLevel.DEDUPED


def test_q7_a_lookup_beside_unfinished_indexing_says_so(kb: KnowledgeBase) -> None:
    records = kb._parts.records
    record = kb.documents()[0]
    records.save([replace(record, status=DocumentStatus.PENDING)])
    result = kb.lookup("完全不存在 zqxv")
    assert "1 份文档尚未建立索引" in str(result.degraded)


def test_q6_a_section_stands_under_its_own_title(kb: KnowledgeBase) -> None:
    result = kb.lookup("值班交接时核对告警静默的问题", section_title="升级")
    assert result.supplement is not None
    assert (result.supplement.title, result.supplement.breadcrumb) == ("升级", "值班手册 > 升级")
    assert "十分钟" in result.supplement.content


def test_t2_the_row_of_a_repeat_names_the_earlier_call_and_holds_what_the_executor_saw(kb: KnowledgeBase) -> None:
    first = ask(kb, "ERR_TIMEOUT")
    again = ask(kb, "ERR_TIMEOUT")
    row = kb.telemetry(session_id="s")[0]
    assert row.retrieval_details["earlier_invocation"] == first.invocation_id
    assert row.retrieval_details["result"] == again.to_dict()
    assert row.retrieval_details["domain_policy"] == "block"


def test_m4_a_person_may_try_another_domain_policy_for_one_call(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"ops/a.md": "# 值班\n\n值班交接时核对告警静默。\n"} | DOCUMENTS)
    policies: list[DomainPolicy | None] = [DomainPolicy.OFF, DomainPolicy.WARN, None]
    with open_for_test(tmp_path, retrieval__l0__min_coverage="0") as kb:
        kb.reindex()
        for policy in policies:
            kb.explained_lookup(LookupRequest("ERR_TIMEOUT", "s", domain_policy=policy))
        rows = kb.telemetry(session_id="s")
    assert [row.retrieval_details["domain_policy"] for row in reversed(rows)] == ["off", "warn", "block"]


def test_m5_a_document_that_changed_is_given_whole(tmp_path: Path) -> None:
    text = "萃取时间 {seconds} 秒，研磨刻度 9，水温 93 度，粉量 18 克，出液 36 克，注水分三次，每次间隔十秒。"
    folder = tmp_path / "knowledge_base"
    write_documents(folder, {"api/coffee.md": document("咖啡", "ERR_ESPRESSO", text.format(seconds=25))})
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        ask(kb, "ERR_ESPRESSO")
        write_documents(folder, {"api/coffee.md": document("咖啡", "ERR_ESPRESSO", text.format(seconds=40))})
        kb.reindex()
        again = ask(kb, "ERR_ESPRESSO")
    assert again.primary is not None
    assert text.format(seconds=40) in again.primary.content


def test_m7_what_an_outage_hides_is_no_miss_and_nothing_is_said_of_the_content(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", DOCUMENTS)
    with open_for_test(tmp_path) as kb:
        kb.reindex()
    with open_for_test(tmp_path, DeadEmbedder()) as kb:
        results = [ask(kb, f"zqxv{number} blorp") for number in range(4)]
    for result in results:
        assert result.degraded
        assert not result.found
        assert "无法判断" in str(result.message)


def test_m3_a_document_without_sections_is_not_said_to_have_one_to_go_on_with(tmp_path: Path) -> None:
    write_documents(tmp_path / "knowledge_base", {"api/a.md": "---\nkeywords: [ERR_FLAT]\n---\n\n只有一段正文。\n"})
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        ask(kb, "ERR_FLAT")
        again = ask(kb, "ERR_FLAT 是什么")
    assert again.relevance_level is RelevanceLevel.DEDUPED
    assert "section_title" not in str(again.message)
    assert "请用 missing_dimension 指明缺少的维度" in str(again.message)
