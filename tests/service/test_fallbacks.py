"""X9: what a lookup does without one source of its search, and without any; what the breakers admit meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbapp.domain.circuit_breaker import BreakerKind
from kbapp.domain.errors import IndexUnavailable, UserError
from kbapp.domain.explanation import explain
from kbapp.domain.invocation import Outcome
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import RelevanceLevel
from kbapp.domain.row_evidence import row_evidence
from kbapp.service.knowledge_base import KnowledgeBase
from tests.faults import (
    OTHER_QUESTION,
    QUESTION,
    FaultyEmbedder,
    asked,
    break_full_text,
    failing,
    kinds,
    mend_full_text,
    opened,
)
from tests.knowledge import open_for_test
from tests.waiting import wait_until

DOWN = failing(IndexUnavailable("the endpoint is down"))


@pytest.fixture
def embedder() -> FaultyEmbedder:
    return FaultyEmbedder()


@pytest.fixture
def kb(tmp_path: Path, embedder: FaultyEmbedder) -> Iterator[KnowledgeBase]:
    with opened(tmp_path, embedder) as kb:
        yield kb


def test_x9_without_vectors_the_words_find_a_reference_that_says_so(
    kb: KnowledgeBase, embedder: FaultyEmbedder
) -> None:
    embedder.fault = DOWN
    result, row = asked(kb, QUESTION)
    assert result.supplement is not None
    assert result.supplement.source == "knowledge_base/api/refund.md"
    assert result.relevance_level is RelevanceLevel.REFERENCE
    assert result.degraded == "语义检索暂不可用，结果仅来自关键词和全文检索：the endpoint is down"
    assert row.outcome is Outcome.DEGRADED
    assert row.retrieval_details["search_problem"] == "the endpoint is down"
    assert row.retrieval_details["l1_top_score"] is None
    assert row.embed_ms is None
    evidence = row_evidence(row.retrieval_details)
    assert evidence is not None
    assert (evidence.level, evidence.document) == (RelevanceLevel.REFERENCE, "api/refund.md")


def test_x9_without_vectors_what_shares_few_words_is_not_given(kb: KnowledgeBase, embedder: FaultyEmbedder) -> None:
    embedder.fault = DOWN
    result, _ = asked(kb, "怎样申请发票抬头变更以及电子发票下载，银行卡")
    assert not result.found
    assert result.message == "检索不完整，无法判断知识库中是否有相关内容：请稍后再试，或先依据已有信息回答"


def test_x9_without_full_text_vectors_answer_alone(kb: KnowledgeBase, tmp_path: Path) -> None:
    break_full_text(tmp_path)
    result, row = asked(kb, QUESTION)
    assert result.supplement is not None
    assert result.supplement.source == "knowledge_base/api/refund.md"
    assert "全文检索暂不可用" in str(result.degraded)
    assert row.outcome is Outcome.DEGRADED
    assert row.retrieval_details["l1_top_score"] is not None


def test_x9_without_full_text_nothing_found_is_no_answer_about_the_knowledge_base(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    break_full_text(tmp_path)
    for _ in range(4):
        result, row = asked(kb, "zebra quagga okapi", "s")
        assert not result.found
        assert result.message == "检索不完整，无法判断知识库中是否有相关内容：请稍后再试，或先依据已有信息回答"
    assert "Not everything could be searched" in explain(row).decision


def test_x9_without_either_a_question_of_the_last_hour_gets_what_it_found_marked_as_such(
    kb: KnowledgeBase, embedder: FaultyEmbedder, tmp_path: Path
) -> None:
    before, _ = asked(kb, QUESTION)
    embedder.fault = DOWN
    break_full_text(tmp_path)
    result, row = asked(kb, QUESTION)
    assert (result.supplement, result.relevance_level) == (before.supplement, before.relevance_level)
    assert result.degraded is not None
    assert "检索结果" in result.degraded
    assert "the endpoint is down" in result.degraded
    assert row.outcome is Outcome.DEGRADED
    assert row.retrieval_details["warm_since"] is not None
    assert (row.embed_ms, row.l1_ms) == (None, None)


def test_x9_a_warm_result_is_deduped_as_any_other(kb: KnowledgeBase, embedder: FaultyEmbedder, tmp_path: Path) -> None:
    asked(kb, QUESTION, "s")
    embedder.fault = DOWN
    break_full_text(tmp_path)
    result, _ = asked(kb, QUESTION, "s")
    assert result.dedup_reason is DedupReason.DOC_RETRIEVED


def test_x9_a_warm_result_of_a_document_that_changed_or_went_is_not_given(
    kb: KnowledgeBase, embedder: FaultyEmbedder, tmp_path: Path
) -> None:
    asked(kb, QUESTION)
    asked(kb, OTHER_QUESTION)
    embedder.fault = DOWN
    break_full_text(tmp_path)
    (tmp_path / "knowledge_base" / "api" / "refund.md").write_text("# 退款\n\n已经改了。\n", encoding="utf-8")
    (tmp_path / "knowledge_base" / "ops" / "pool.md").unlink()
    for query, path in ((QUESTION, "refund.md"), (OTHER_QUESTION, "pool.md")):
        result, _ = asked(kb, query)
        assert path not in str(result.supplement)


def test_x9_without_anything_the_answer_is_that_nobody_can_tell(
    kb: KnowledgeBase, embedder: FaultyEmbedder, tmp_path: Path
) -> None:
    embedder.fault = DOWN
    break_full_text(tmp_path)
    result, row = asked(kb, QUESTION)
    assert not result.found
    assert "无法判断" in str(result.message)
    assert "the endpoint is down" in str(result.degraded)
    assert "chunk_fts" in str(result.degraded)
    assert row.outcome is Outcome.DEGRADED
    mend_full_text(tmp_path)
    embedder.fault = None
    assert asked(kb, QUESTION)[0].degraded is None, "the next call asks again"


def test_x9_warm_results_can_be_switched_off(tmp_path: Path, embedder: FaultyEmbedder) -> None:
    with opened(tmp_path, embedder, retrieval__breaker__warm_minutes="0") as kb:
        asked(kb, QUESTION)
        embedder.fault = DOWN
        break_full_text(tmp_path)
        assert not asked(kb, QUESTION)[0].found


def test_x9_keywords_answer_whatever_else_is_down(kb: KnowledgeBase, embedder: FaultyEmbedder, tmp_path: Path) -> None:
    embedder.fault = DOWN
    break_full_text(tmp_path)
    result, row = asked(kb, "ERR_TIMEOUT")
    assert (result.relevance_level, result.degraded) == (RelevanceLevel.PRECISE, None)
    assert row.outcome is Outcome.OK


def test_x9_a_source_that_fails_too_often_is_not_asked_and_comes_back_by_probes(
    tmp_path: Path, embedder: FaultyEmbedder
) -> None:
    with opened(tmp_path, embedder, retrieval__breaker__open_seconds="0.05") as kb:
        embedder.fault = DOWN
        for _ in range(5):
            asked(kb, QUESTION)
        assert kinds(kb) == [BreakerKind.OPEN, BreakerKind.CLOSED]
        assert [notice.kind.value for notice in kb.overview().notices][:1] == ["paused"]
        embedder.fault = None
        wait_until(lambda: asked(kb, QUESTION)[0].degraded is None)
        wait_until(lambda: asked(kb, QUESTION)[0].degraded is None and kinds(kb)[0] is BreakerKind.CLOSED)


def test_x9_while_it_is_open_the_source_is_not_asked_and_the_answer_says_why(
    kb: KnowledgeBase, embedder: FaultyEmbedder
) -> None:
    embedder.fault = DOWN
    for _ in range(5):
        asked(kb, QUESTION)
    queries = embedder.queries
    result, _ = asked(kb, QUESTION)
    assert embedder.queries == queries
    assert "5 of its last 5 calls failed, the last one because the endpoint is down" in str(result.degraded)
    assert result.found


def test_x9_bad_requests_do_not_open_a_breaker(kb: KnowledgeBase) -> None:
    for query in ("", " ", "长" * 5000):
        for _ in range(10):
            with pytest.raises(UserError):
                kb.lookup(query)
    assert kinds(kb) == [BreakerKind.CLOSED, BreakerKind.CLOSED]
    assert [source.failures for source in kb.overview().sources] == [0, 0]


def test_x9_another_model_is_no_failure_of_the_source(tmp_path: Path, embedder: FaultyEmbedder) -> None:
    with opened(tmp_path, embedder) as kb:
        other = FaultyEmbedder()
        other.model_id = "another"
        with open_for_test(tmp_path, other) as changed:
            changed.reindex()
        for _ in range(10):
            assert "another" in str(asked(kb, QUESTION)[0].degraded)
        assert kinds(kb) == [BreakerKind.CLOSED, BreakerKind.CLOSED]


def test_x9_a_source_switched_off_for_a_demonstration_stays_off_until_it_is_switched_on(
    kb: KnowledgeBase, embedder: FaultyEmbedder
) -> None:
    kb.switch_source("vectors", is_on=False)
    queries = embedder.queries
    result, _ = asked(kb, QUESTION)
    assert embedder.queries == queries
    assert result.degraded == (
        "语义检索暂不可用，结果仅来自关键词和全文检索：vector search is switched off for a demonstration"
        " (the switch at Home, or retrieval.breaker.forced-open)"
    )
    kb.switch_source("vectors", is_on=True)
    assert asked(kb, QUESTION)[0].degraded is None
    with pytest.raises(UserError, match="vectors, full-text"):
        kb.switch_source("milvus", is_on=False)


@pytest.mark.parametrize(
    ("forced", "off"), [("vectors", [True, False]), ("full-text", [False, True]), ("all", [True, True])]
)
def test_x9_a_setting_switches_sources_off_in_every_process(
    tmp_path: Path, embedder: FaultyEmbedder, forced: str, off: list[bool]
) -> None:
    with opened(tmp_path, embedder, retrieval__breaker__forced_open=forced) as kb:
        assert [source.is_forced for source in kb.overview().sources] == off


def test_x9_words_alone_are_never_highly_relevant_whatever_the_thresholds(
    tmp_path: Path, embedder: FaultyEmbedder
) -> None:
    equal = {"retrieval__normalization__highly_relevant_threshold": "0.5"}
    with opened(tmp_path, embedder, **equal) as kb:
        embedder.fault = DOWN
        result, _ = asked(kb, QUESTION)
        assert not result.found
        assert "the endpoint is down" in str(result.degraded)


def test_doctor_shows_the_breakers_of_this_process_and_those_of_others_that_are_open(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    kb.switch_source("full-text", is_on=False)
    [file] = (tmp_path / "state").glob("breakers-*.json")
    sources = {source.name: source for source in kb.health().sources}
    assert (sources["full-text"].kind, sources["vectors"].kind) == (BreakerKind.OPEN, BreakerKind.CLOSED)
    other = file.with_name("breakers-1.json")
    other.write_text(file.read_text("utf-8").replace(f'"pid": {sources["vectors"].pid}', '"pid": 1'), "utf-8")
    gone = file.with_name("breakers-4194304.json")
    gone.write_text(file.read_text("utf-8").replace(f'"pid": {sources["vectors"].pid}', '"pid": 4194304'), "utf-8")
    assert [(source.name, source.pid) for source in kb.health().sources[2:]] == [("full-text", 1)]
    assert not gone.exists()
    kb.switch_source("full-text", is_on=True)
    assert not file.exists()


def test_a_lookup_after_the_end_says_so_and_is_answered_by_keywords(kb: KnowledgeBase) -> None:
    kb.close()
    assert "closed" in str(kb.lookup(QUESTION).degraded)
    assert kb.lookup("ERR_TIMEOUT").relevance_level is RelevanceLevel.PRECISE
    with pytest.raises(IndexUnavailable, match="closed"):
        kb.considered(QUESTION)
    kb.close()
