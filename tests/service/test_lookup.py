"""The flow of a lookup over fakes of L1, so that every row of the documents' decision matrix is exact."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import pytest

from kbapp.adapters.document_files import DocumentFiles
from kbapp.adapters.keyword_index import KeywordIndex
from kbapp.domain.action_memory import DomainPolicy
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.fusion import FusedHit
from kbapp.domain.invocation import Outcome
from kbapp.domain.keyword_matching import KeywordMatch, MatchRules
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.relevance import (
    CandidateEvidence,
    DistanceProfile,
    HintLanguage,
    RelevanceLevel,
    Thresholds,
    level_of,
)
from kbapp.service.gate import Gate
from kbapp.service.lookup import Lookup, LookupOptions, LookupRequest
from kbapp.service.vector_search import Candidate, SearchOptions, SearchOutcome
from kbapp.service.warm_results import WarmResults
from tests.knowledge import document, write_documents
from tests.values import grading_in_force, make_chunk

PAYMENT = document(
    "支付网关错误码定义",
    "ERR_TIMEOUT, 超时, 支付网关",
    "## 超时类错误\n\n### ERR_TIMEOUT\n\n**含义**：支付网关请求超时\n\n## 签名类错误\n\n验签失败。",
    "记录了支付网关所有核心错误码的含义及排查方向",
)
DOCUMENTS = {
    "api/payment-errors.md": PAYMENT,
    "infrastructure/gateway.md": document("接入层", "超时, Nginx", "反向代理。", "接入层配置"),
    "troubleshooting/timeout.md": document("上游调用", "超时", "时间预算。", "分析上游"),
}
THRESHOLDS = Thresholds()
PROFILE = DistanceProfile("bge-m3", provisional=False)


class FakeSearch:
    """L1 that finds given chunks at given distances, or is down."""

    grading = grading_in_force(PROFILE)
    options = SearchOptions(top_k=3, candidates=50, fusion_min_documents=50)

    def __init__(self, *found: tuple[str, str, float], error: str | None = None) -> None:
        self.found = found
        self.error = error
        self.queries: list[str] = []

    def search(self, query: str, *, alternatives: int = 0) -> SearchOutcome:
        self.queries.append(query)
        if self.error:
            raise IndexUnavailable(self.error)
        candidates = []
        for rank, (path, content, distance) in enumerate(self.found, 1):
            stored = make_chunk(content, path=path, document_id=f"d{rank}")
            evidence = CandidateEvidence(distance)
            similarity = PROFILE.similarity(evidence, THRESHOLDS)
            hit = FusedHit(stored.id, rank, None)
            candidates.append(Candidate(stored, hit, evidence, similarity, level_of(similarity, THRESHOLDS)))
        return SearchOutcome(tuple(candidates), self.grading.now(), 3, 1.0, 2.0, None)


class BrokenKeywords(KeywordIndex):
    def match(self, query: str) -> list[KeywordMatch]:
        raise IndexUnavailable("the keyword index was not loaded")


class Counting(DocumentFiles):
    """Counts what is read."""

    reads = 0

    def read_bytes(self, path: str) -> bytes:
        self.reads += 1
        return super().read_bytes(path)


@pytest.fixture
def files(tmp_path: Path) -> Counting:
    root = tmp_path / "knowledge_base"
    write_documents(root, DOCUMENTS)
    return Counting(root)


def make_lookup(
    files: DocumentFiles, search: FakeSearch, *, keywords: KeywordIndex | None = None, min_coverage: float = 0.3
) -> Lookup:
    if keywords is None:
        keywords = KeywordIndex(MatchRules())
        entries = (files.read_entry(path) for path in files.scan().paths)
        keywords.replace(entry for entry in entries if entry)
    options = LookupOptions(
        max_query_characters=2000,
        min_coverage=min_coverage,
        domain_policy=DomainPolicy.BLOCK,
        language=HintLanguage.ZH,
    )
    warm = WarmResults(files, 0.0, time.time)
    return Lookup(keywords=keywords, files=files, search=search, options=options, warm=warm, gate=Gate(1, 1.0))  # type: ignore[arg-type]


def ask(files: DocumentFiles, search: FakeSearch, query: str, **request: str) -> LookupResult:
    return make_lookup(files, search).run(LookupRequest(query, **request)).result  # type: ignore[arg-type]


def test_q1_a_unique_match_gives_the_compact_summary_and_l1_is_not_called(files: Counting) -> None:
    search = FakeSearch(("api/x.md", "别的", 0.1))
    result = ask(files, search, "ERR_TIMEOUT")
    assert search.queries == []
    assert result.primary is not None
    assert result.supplement is None
    assert result.relevance_level is RelevanceLevel.PRECISE
    assert result.completeness_hint == "知识库中不存在比上述结果更精准的文档"
    assert result.primary.source == "knowledge_base/api/payment-errors.md"
    assert result.primary.content.startswith("文档: 支付网关错误码定义\n摘要: 记录了支付网关")
    assert "**含义**：支付网关请求超时" in result.primary.content
    assert result.primary.available_sections == ("超时类错误", "ERR_TIMEOUT", "签名类错误")
    assert result.retrieved_domains == ("api",)


def test_q2_several_matches_with_l1_give_metadata_from_memory_and_the_best_chunk(files: Counting) -> None:
    search = FakeSearch(("troubleshooting/timeout.md", "时间预算。", 0.383), ("api/payment-errors.md", "含义", 0.4))
    lookup = make_lookup(files, search)
    files.reads = 0
    outcome = lookup.run(LookupRequest("超时"))
    result, invocation = outcome.result, outcome.invocation
    assert files.reads == 0
    assert invocation.l0_match_count == 3
    assert search.queries == ["超时"]
    assert result.primary is not None
    assert result.supplement is not None
    assert result.primary.confidence.value == "low"
    assert result.primary.available_sections is None
    assert result.primary.content == ("文档: 上游调用\n摘要: 分析上游\n关键词: 超时\n来源: troubleshooting/timeout.md")
    assert result.supplement.content == "时间预算。"
    assert result.relevance_level is RelevanceLevel.HIGHLY_RELEVANT


def test_q2_of_equal_matches_the_one_with_the_best_l1_rank_is_primary_then_the_path(files: Counting) -> None:
    found = (("infrastructure/gateway.md", "反向代理。", 0.9), ("api/payment-errors.md", "含义", 0.95))
    assert ask(files, FakeSearch(*found), "超时").primary.title == "接入层"  # type: ignore[union-attr]
    elsewhere = FakeSearch(("other/x.md", "别的", 0.4))
    assert ask(files, elsewhere, "超时").primary.title == "支付网关错误码定义"  # type: ignore[union-attr]


def test_q2_several_matches_without_l1_give_the_compact_summary_as_reference(files: Counting) -> None:
    for search in (FakeSearch(), FakeSearch(("api/x.md", "太远", 1.2)), FakeSearch(error="down")):
        result = ask(files, search, "超时")
        assert result.supplement is None
        assert result.primary is not None
        assert "章节:" in result.primary.content
        assert result.relevance_level is RelevanceLevel.REFERENCE


def test_q2_no_match_gives_the_best_chunk_alone(files: Counting) -> None:
    result = ask(files, FakeSearch(("infrastructure/gateway.md", "反向代理。", 0.6031)), "如何优化性能")
    assert result.found
    assert result.primary is None
    assert result.supplement is not None
    assert result.supplement.to_dict()["matchType"] == "semantic_L1"
    assert result.relevance_level is RelevanceLevel.REFERENCE
    assert result.retrieved_domains == ("infrastructure",)


def test_q3_nothing_found_is_found_false_without_level_and_hint(files: Counting) -> None:
    result = ask(files, FakeSearch(("api/x.md", "远", 1.01)), "完全不存在的内容XYZ")
    assert not result.found
    assert result.to_dict() | {"invocationId": ""} == {
        "found": False,
        "primary": None,
        "supplement": None,
        "relevanceLevel": None,
        "completenessHint": None,
        "retrievedDomainsThisSession": [],
        "message": "知识库中没有与该问题相关的内容",
        "dedupReason": None,
        "degraded": None,
        "invocationId": "",
    }


def test_k11_a_unique_match_that_covers_little_of_the_query_is_low_confidence(files: Counting) -> None:
    query = "有部叫支付网关的武侠小说讲了什么"
    search = FakeSearch(("api/payment-errors.md", "含义", 0.9))
    outcome = make_lookup(files, search).run(LookupRequest(query))
    result, invocation = outcome.result, outcome.invocation
    assert invocation.l0_match_count == 1
    assert search.queries == [query]
    assert result.relevance_level is RelevanceLevel.REFERENCE
    switched_off = make_lookup(files, search, min_coverage=0).run(LookupRequest(query)).result
    assert switched_off.relevance_level is RelevanceLevel.PRECISE


@pytest.mark.parametrize(
    ("distance", "level"),
    [(0.383, "HIGHLY_RELEVANT"), (0.5, "HIGHLY_RELEVANT"), (0.6031, "REFERENCE"), (1.0, "REFERENCE")],
)
def test_g2_the_level_is_that_of_the_chunk_that_is_given(files: Counting, distance: float, level: str) -> None:
    outcome = make_lookup(files, FakeSearch(("a/x.md", "正文", distance))).run(LookupRequest("别的问题"))
    result, invocation = outcome.result, outcome.invocation
    assert result.relevance_level == level
    assert invocation.retrieval_details["l1_top_similarity"] == pytest.approx(1 - distance / 2)
    assert invocation.retrieval_details["l1_scores"] == [distance]


def test_g7_a_candidate_that_is_too_far_is_not_given_even_when_it_ranks_first(files: Counting) -> None:
    result = ask(files, FakeSearch(("a/far.md", "远", 1.4), ("b/near.md", "近", 0.7)), "别的问题")
    assert result.supplement is not None
    assert result.supplement.content == "近"


def test_q5_the_executor_gets_no_score_of_any_kind(files: Counting) -> None:
    for query in ("ERR_TIMEOUT", "超时", "别的问题"):
        text = str(ask(files, FakeSearch(("a/x.md", "正文", 0.383)), query).to_dict())
        for word in ("score", "similarity", "distance", "0.383", "0.8085"):
            assert word not in text


def test_q6_section_title_gives_that_section(files: Counting) -> None:
    result = ask(files, FakeSearch(), "ERR_TIMEOUT", section_title="签名类错误")
    assert result.primary is not None
    assert result.primary.content.split("\n")[-1] == "验签失败。"
    assert "超时" not in result.primary.content
    prefix = ask(files, FakeSearch(), "ERR_TIMEOUT", section_title="签名")
    assert prefix.primary is not None
    assert prefix.primary.content == result.primary.content


def test_q6_an_unknown_section_gives_the_list_and_no_content(files: Counting) -> None:
    result = ask(files, FakeSearch(), "ERR_TIMEOUT", section_title="不存在")
    assert result.primary is not None
    assert result.primary.content == ""
    assert "签名类错误" in str(result.message)
    assert result.primary.available_sections == ("超时类错误", "ERR_TIMEOUT", "签名类错误")


def test_q6_a_section_is_taken_from_the_l1_result_whose_document_has_it(files: Counting) -> None:
    search = FakeSearch(("infrastructure/gateway.md", "反向代理。", 0.4), ("api/payment-errors.md", "含义", 0.5))
    result = ask(files, search, "验签不过怎么办", section_title="签名类错误")
    assert result.supplement is not None
    assert result.supplement.source == "knowledge_base/api/payment-errors.md"
    assert "验签失败。" in result.supplement.content


def test_q7_without_l1_the_l0_result_is_given_and_the_result_says_what_is_missing(files: Counting) -> None:
    outcome = make_lookup(files, FakeSearch(error="process 7 holds the folder")).run(LookupRequest("超时"))
    result, invocation = outcome.result, outcome.invocation
    assert result.primary is not None
    assert "process 7 holds the folder" in str(result.degraded)
    assert invocation.outcome is Outcome.DEGRADED
    unique = ask(files, FakeSearch(error="down"), "ERR_TIMEOUT")
    assert unique.degraded is None


def test_q7_without_l0_l1_answers_alone(files: Counting) -> None:
    lookup = make_lookup(files, FakeSearch(("a/x.md", "正文", 0.4)), keywords=BrokenKeywords(MatchRules()))
    result = lookup.run(LookupRequest("ERR_TIMEOUT")).result
    assert result.supplement is not None
    assert "the keyword index was not loaded" in str(result.degraded)
    assert result.to_dict().keys() == ask(files, FakeSearch(), "ERR_TIMEOUT").to_dict().keys()


def test_a_document_that_vanished_after_the_match_is_degraded_not_an_exception(files: Counting) -> None:
    lookup = make_lookup(files, FakeSearch())
    files.delete("api/payment-errors.md")
    result = lookup.run(LookupRequest("ERR_TIMEOUT")).result
    assert result.primary is not None
    assert "关键词: ERR_TIMEOUT" in result.primary.content
    assert "api/payment-errors.md" in str(result.degraded)


@pytest.mark.parametrize("query", ["", " \n", "\x00", "x" * 100_000])
def test_q11_a_bad_query_is_a_sentence(files: Counting, query: str) -> None:
    with pytest.raises(UserError):
        ask(files, FakeSearch(), query)


def test_q8_log_lines_of_a_unique_match(files: Counting, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="kbapp.lookup"):
        ask(files, FakeSearch(), "ERR_TIMEOUT")
    lines = [record.getMessage() for record in caplog.records if record.name == "kbapp.lookup"]
    assert lines[0].startswith("[L0 精确匹配] 完成: matches=1, time=")
    assert lines[0].endswith("ms")
    assert lines[1:6] == [
        "[置信度判断] highConfidence=true, reason=唯一匹配",
        "[L1 语义检索] L0唯一匹配，跳过L1检索",
        "----------------------------------------",
        "<<< [工具返回] lookup_knowledge",
        "<<< [L0 主结果] 标题: 支付网关错误码定义",
    ]
    assert lines[6] == "<<< [L0 主结果] 摘要: 记录了支付网关所有核心错误码的含义及排查方向"
    assert lines[7].startswith("<<< [L0 主结果] 内容: ")
    assert lines[7].endswith(" 字符, 2 个章节")
    assert all(record.levelno == logging.DEBUG for record in caplog.records if record.name == "kbapp.lookup")


def test_q8_log_lines_of_several_matches(files: Counting, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="kbapp.lookup"):
        ask(files, FakeSearch(("api/payment-errors.md", "支付网关请求超时", 0.383)), "超时")
    lines = [record.getMessage() for record in caplog.records if record.name == "kbapp.lookup"]
    assert "[置信度判断] highConfidence=false, reason=多个或零个匹配" in lines
    assert "[L1 语义检索] L0非唯一匹配，触发L1语义检索..." in lines
    assert "[L1 语义检索] 完成: matches=1, time=3ms" in lines
    assert "<<< [L1 补充] 相似度: 0.8085" in lines
    assert "<<< [L1 补充] 内容片段: 支付网关请求超时" in lines
    assert any(line.endswith(" 字符, 0 个章节") for line in lines)


def test_t2_the_details_have_every_key_and_l1_keys_are_empty_when_it_was_not_called(files: Counting) -> None:
    details = make_lookup(files, FakeSearch()).run(LookupRequest("ERR_TIMEOUT")).invocation.retrieval_details
    assert details["l0_titles"] == ["支付网关错误码定义"]
    assert (details["l1_scores"], details["l1_top_score"], details["l1_top_similarity"]) == ([], None, None)
    keys = {"relevance_level", "completeness_hint", "retrieved_domains", "dedup_reason", "l1_top_cosine", "thresholds"}
    assert keys <= details.keys()
