"""The sample knowledge base with the real bundled model: every example of the documents comes out on it.

`KBAPP_REWRITE_GOLDEN=1 pytest tests/golden` rewrites the results, to be reviewed as a diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from kbapp.domain.documents import JsonValue
from kbapp.domain.invocation import Invocation
from kbapp.domain.lookup_result import DedupReason, LookupResult
from kbapp.domain.relevance import RelevanceLevel
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from kbapp.surfaces.ui.context import open_from_arguments
from kbapp.surfaces.ui.home_examples import SAMPLE_EXAMPLES, Example, Shows, is_sample, queries_of
from tests.golden.conftest import ROOT

pytestmark = pytest.mark.model

GOLDEN = Path(__file__).with_name("sample.json")
POOL = "infrastructure/mysql-connection-pool.md"
PAYMENT = "api/payment-errors.md"


def ask(kb: KnowledgeBase, query: str) -> tuple[LookupResult, Invocation]:
    return kb.explained_lookup(LookupRequest(query))


def matches(invocation: Invocation) -> list[JsonValue]:
    rows = invocation.retrieval_details["l0_matches"]
    assert isinstance(rows, list)
    return [row["document"] for row in rows if isinstance(row, dict)]


@pytest.mark.parametrize("query", ["ERR_TIMEOUT", "err_timeout", "ERR_TIMEOUT 是什么？"])
def test_scenario_3_an_error_code_is_precise_and_l1_is_not_called(kb: KnowledgeBase, query: str) -> None:
    result, invocation = ask(kb, query)
    assert result.primary is not None
    assert result.primary.title == "支付网关错误码定义"
    assert result.relevance_level is RelevanceLevel.PRECISE
    assert (invocation.l0_match_count, invocation.l1_called) == (1, False)


def test_k1_the_document_with_two_contained_keywords_comes_first(kb: KnowledgeBase) -> None:
    result, invocation = ask(kb, "支付网关超时问题")
    assert matches(invocation)[0] == PAYMENT
    assert len(matches(invocation)) > 1
    assert result.primary is not None
    assert result.primary.title == "支付网关错误码定义"


def test_spec_5_2_three_matches_give_primary_and_supplement(kb: KnowledgeBase) -> None:
    result, invocation = ask(kb, "超时")
    assert invocation.l0_match_count == 3
    assert result.primary is not None
    assert result.supplement is not None
    assert result.primary.available_sections is None


@pytest.mark.parametrize("query", ["限流", "如何优化缓存", "如何优化性能"])
def test_spec_5_3_without_a_keyword_l1_answers_alone(kb: KnowledgeBase, query: str) -> None:
    result, invocation = ask(kb, query)
    assert invocation.l0_match_count == 0
    assert result.primary is None
    assert result.supplement is not None


@pytest.mark.parametrize("query", ["数据库连接池配置", "数据库连接池怎么配置？", "数据库连接池"])
def test_scenario_1_the_connection_pool_is_highly_relevant_from_infrastructure(kb: KnowledgeBase, query: str) -> None:
    result, invocation = ask(kb, query)
    assert invocation.l0_match_count != 1
    assert result.relevance_level is RelevanceLevel.HIGHLY_RELEVANT
    assert result.retrieved_domains == ("infrastructure",)
    assert invocation.retrieval_details["l0_titles"] == ["MySQL 数据库连接池配置", "Redis 缓存配置指南"]


@pytest.mark.parametrize("query", ["HikariCP 参数", "连接池耗尽"])
def test_scenario_2_the_follow_ups_are_no_unique_match_and_of_the_same_domain(kb: KnowledgeBase, query: str) -> None:
    result, invocation = ask(kb, query)
    assert invocation.l0_match_count != 1
    assert result.relevance_level is RelevanceLevel.HIGHLY_RELEVANT
    assert result.supplement is not None
    assert result.supplement.source == f"knowledge_base/{POOL}"


def test_scenario_4_fault_diagnosis_is_a_reference_from_troubleshooting(kb: KnowledgeBase) -> None:
    result, invocation = ask(kb, "故障排查")
    assert invocation.l0_match_count != 1
    assert result.relevance_level is RelevanceLevel.REFERENCE
    assert result.retrieved_domains == ("troubleshooting",)


def test_scenario_4_the_steps_of_log_analysis_are_found(kb: KnowledgeBase) -> None:
    result, _ = ask(kb, "日志分析步骤")
    assert result.supplement is not None
    assert result.supplement.source == "knowledge_base/troubleshooting/log-analysis.md"


@pytest.mark.parametrize("query", ["完全不存在的内容XYZ", "zqxv blorp"])
def test_spec_5_4_what_is_not_there_is_not_found(kb: KnowledgeBase, query: str) -> None:
    result, _ = ask(kb, query)
    assert not result.found
    assert result.relevance_level is None


def test_k11_a_novel_named_like_a_keyword_is_not_precise(kb: KnowledgeBase) -> None:
    result, invocation = ask(kb, "有部叫支付网关的武侠小说讲了什么")
    assert invocation.l0_match_count == 1
    assert result.relevance_level is not RelevanceLevel.PRECISE
    assert result.relevance_level is not RelevanceLevel.HIGHLY_RELEVANT


def in_session(kb: KnowledgeBase, session: str, *queries: str) -> list[LookupResult]:
    kb.clear_session(session)
    return [kb.lookup(query, session_id=session) for query in queries]


def test_m8_scenario_1_one_lookup_is_enough(kb: KnowledgeBase) -> None:
    [result] = in_session(kb, "scenario-1", "数据库连接池配置")
    assert result.relevance_level is RelevanceLevel.HIGHLY_RELEVANT
    assert str(result.completeness_hint).startswith("当前结果已高度相关")
    assert result.retrieved_domains == ("infrastructure",)


def test_m8_scenario_2_the_memory_stops_the_repeats(kb: KnowledgeBase) -> None:
    first, second, third, other = in_session(
        kb, "scenario-2", "数据库连接池", "HikariCP 参数", "连接池耗尽", "Nginx 反向代理配置"
    )
    assert first.relevance_level is RelevanceLevel.HIGHLY_RELEVANT
    for repeat in (second, third):
        assert repeat.relevance_level is RelevanceLevel.DEDUPED
        assert repeat.retrieved_domains == ("infrastructure",)
        assert (repeat.primary, repeat.supplement) == (None, None)
        assert "missing_dimension" in str(repeat.message)
    assert other.primary is not None
    assert other.primary.title == "Nginx 接入层配置手册"


def test_m4_another_question_of_a_retrieved_domain_gets_through(kb: KnowledgeBase) -> None:
    _, other = in_session(kb, "planted", "数据库连接池配置", "如何优化缓存")
    assert other.relevance_level is RelevanceLevel.HIGHLY_RELEVANT
    assert other.supplement is not None
    assert other.supplement.source == "knowledge_base/infrastructure/cache-strategy.md"


def test_m8_scenario_3_a_precise_answer_is_given_once(kb: KnowledgeBase) -> None:
    first, again = in_session(kb, "scenario-3", "ERR_TIMEOUT", "ERR_TIMEOUT 是什么？")
    assert first.relevance_level is RelevanceLevel.PRECISE
    assert first.completeness_hint == "知识库中不存在比上述结果更精准的文档"
    assert again.relevance_level is RelevanceLevel.DEDUPED


def test_m8_scenario_4_a_reference_and_then_the_missing_dimension(kb: KnowledgeBase) -> None:
    first, second = in_session(kb, "scenario-4", "故障排查", "日志分析步骤")
    assert first.relevance_level is RelevanceLevel.REFERENCE
    assert first.retrieved_domains == ("troubleshooting",)
    assert second.supplement is not None
    assert second.supplement.source == "knowledge_base/troubleshooting/log-analysis.md"


def test_c3_the_breadcrumbs_of_the_documents(kb: KnowledgeBase) -> None:
    breadcrumbs = {
        chunk.chunk.breadcrumb
        for path in (PAYMENT, "troubleshooting/fault-diagnosis-process.md")
        for chunk in kb.chunks(path)
    }
    assert {
        "故障诊断流程规范 > 应急响应流程 > 1. 初步评估",
        "故障诊断流程规范 > 应急响应流程 > 2. 快速止血",
        "故障诊断流程规范 > 根因分析方法 > 5-Why 分析法",
        "支付网关错误码定义 > 超时类错误 > ERR_TIMEOUT",
    } <= breadcrumbs


def test_the_sample_is_indexed_without_a_failure_and_warns_of_one_document(kb: KnowledgeBase) -> None:
    records = kb.documents()
    assert len(records) >= 60
    assert len({record.path.split("/")[0] for record in records if "/" in record.path}) >= 7
    assert all(record.status.value == "INDEXED" for record in records)
    assert [record.path for record in records if record.warning] == ["troubleshooting/disk-full.md"]


SHOWN = {
    Shows.PRECISE: (RelevanceLevel.PRECISE, None),
    Shows.HIGHLY_RELEVANT: (RelevanceLevel.HIGHLY_RELEVANT, None),
    Shows.REFERENCE: (RelevanceLevel.REFERENCE, None),
    Shows.NOT_FOUND: (None, None),
    Shows.REPEAT: (RelevanceLevel.DEDUPED, DedupReason.DOC_RETRIEVED),
    Shows.DOMAIN_BLOCK: (RelevanceLevel.DEDUPED, DedupReason.DOMAIN_RETRIEVED),
}


@pytest.mark.parametrize("example", SAMPLE_EXAMPLES, ids=lambda example: example.shows)
def test_every_example_of_the_home_page_shows_what_it_says(kb: KnowledgeBase, example: Example) -> None:
    assert is_sample(kb.entries())
    *_, result = in_session(kb, f"home-{example.shows}", *queries_of(example, asked=()))
    assert (result.relevance_level, result.dedup_reason) == SHOWN[example.shows]


def test_the_examples_of_the_home_page_show_what_they_say_one_after_the_other(kb: KnowledgeBase) -> None:
    asked: list[str] = []
    kb.clear_session("home-in-order")
    for example in SAMPLE_EXAMPLES:
        for query in queries_of(example, asked):
            result = kb.lookup(query, session_id="home-in-order")
            asked.append(query)
        assert (result.relevance_level, result.dedup_reason) == SHOWN[example.shows], example


def test_the_buttons_of_the_home_page_pressed_one_after_the_other_show_what_they_say(
    kb: KnowledgeBase, sample_settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in sample_settings.items():
        monkeypatch.setenv("KBAPP_" + name.upper().replace(".", "__").replace("-", "_"), value)
    st.cache_resource.clear()
    try:
        page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
        for number, example in enumerate(SAMPLE_EXAMPLES):
            page.button(key=f"home_example_{number}").click().run()
            assert not page.exception
            row = kb.telemetry(limit=1)[0]
            assert (row.query, row.relevance_level, row.dedup_reason) == (example.query, *SHOWN[example.shows])
        open_from_arguments().close()
    finally:
        st.cache_resource.clear()


def test_the_results_are_those_that_were_reviewed(kb: KnowledgeBase) -> None:
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))
    found = {query: _summary(*ask(kb, query)) for query in expected}
    if os.environ.get("KBAPP_REWRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    assert found == expected


def _summary(result: LookupResult, invocation: Invocation) -> dict[str, JsonValue]:
    return {
        "level": result.relevance_level,
        "matches": sorted(str(path) for path in matches(invocation)),
        "primary": result.primary and result.primary.source,
        "supplement": result.supplement and f"{result.supplement.source} | {result.supplement.breadcrumb}",
    }
