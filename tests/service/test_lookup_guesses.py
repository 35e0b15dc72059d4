"""K6 from the files to the answer: a synonym or a typo leads on to L1 and is never PRECISE."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kbapp.domain.explanation import explain, recompute_level
from kbapp.domain.invocation import Invocation
from kbapp.domain.lookup_result import LookupResult
from kbapp.domain.relevance import HintLanguage, RelevanceLevel
from kbapp.service.knowledge_base import KnowledgeBase
from kbapp.service.lookup import LookupRequest
from tests.knowledge import document, open_for_test, write_documents

DOCUMENTS = {
    "api/payment.md": document("支付网关错误码", "ERR_TIMEOUT, ERR_1001", "支付网关请求超时。", "错误码的含义"),
    "api/breaker.md": document("服务保护", "circuit breaker", "阈值与恢复。", "如何保护服务"),
    "synonyms.yaml": "- [熔断, circuit breaker]\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "knowledge_base"
    write_documents(root, DOCUMENTS)
    return root


@pytest.fixture
def kb(tmp_path: Path, root: Path) -> Iterator[KnowledgeBase]:
    with open_for_test(tmp_path) as kb:
        kb.reindex()
        yield kb


def ask(kb: KnowledgeBase, query: str) -> tuple[LookupResult, Invocation]:
    return kb.explained_lookup(LookupRequest(query))


def tiers(kb: KnowledgeBase, query: str) -> list[tuple[str, str]]:
    details = json.loads(json.dumps(ask(kb, query)[1].retrieval_details))
    return [(row["document"], row["tier"]) for row in details["l0_matches"]]


@pytest.mark.parametrize(
    ("query", "document", "tier"),
    [("ERR_TIMEOT", "api/payment.md", "typo"), ("熔断", "api/breaker.md", "synonym")],
)
def test_k6_a_single_guess_calls_l1_and_is_not_precise(kb: KnowledgeBase, query: str, document: str, tier: str) -> None:
    result, invocation = ask(kb, query)
    assert tiers(kb, query) == [(document, tier)]
    assert invocation.l1_called
    assert result.primary is not None
    assert result.primary.source == f"knowledge_base/{document}"
    assert result.primary.confidence == "low"
    assert result.relevance_level not in {None, RelevanceLevel.PRECISE}


@pytest.mark.parametrize("query", ["ERR_TIMEOT", "熔断"])
def test_t7_the_level_of_a_guess_follows_from_its_row(kb: KnowledgeBase, query: str) -> None:
    result, invocation = ask(kb, query)
    details = json.loads(json.dumps(invocation.retrieval_details, ensure_ascii=False))
    assert recompute_level(details) == result.relevance_level
    assert "although" not in explain(invocation).decision


def test_t7_the_explanation_says_that_the_only_match_is_a_guess(kb: KnowledgeBase) -> None:
    _, invocation = ask(kb, "ERR_TIMEOT")
    rows = invocation.retrieval_details | {"l1_candidates": []}
    alone = replace(invocation, retrieval_details=rows)
    assert "the only match by keyword is by a synonym or a mistyped word" in explain(alone).decision
    assert "唯一的关键词命中只凭同义词或近似拼写" in explain(alone, HintLanguage.ZH).decision
    [sentence] = explain(alone).keywords
    assert "The query nearly names the keyword 'ERR_TIMEOUT' ('err_timeot')." in sentence


def test_q8_the_log_says_that_the_only_match_is_a_guess(kb: KnowledgeBase, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "kbapp.lookup"):
        ask(kb, "ERR_TIMEOT")
    assert "[置信度判断] highConfidence=false, reason=唯一匹配但只凭同义词或近似拼写" in caplog.messages


def test_k6_a_changed_file_is_followed_by_the_next_reconcile(kb: KnowledgeBase, root: Path) -> None:
    write_documents(root, {"synonyms.yaml": "- [保险丝, circuit breaker]\n"})
    assert kb.refresh().changes == ()
    assert tiers(kb, "保险丝") == [("api/breaker.md", "synonym")]
    assert tiers(kb, "熔断") == []
    (root / "synonyms.yaml").unlink()
    kb.refresh()
    assert tiers(kb, "保险丝") == []


def test_k6_a_process_beside_the_one_that_indexes_follows_the_file_too(
    tmp_path: Path, kb: KnowledgeBase, root: Path
) -> None:
    with open_for_test(tmp_path) as beside:
        assert tiers(beside, "熔断") == [("api/breaker.md", "synonym")]
        write_documents(root, {"synonyms.yaml": "- [保险丝, circuit breaker]\n"})
        beside.follow_keywords()
        assert tiers(beside, "保险丝") == [("api/breaker.md", "synonym")]


def test_k6_a_broken_file_is_a_warning_everywhere_and_l0_works_without_it(kb: KnowledgeBase, root: Path) -> None:
    write_documents(root, {"synonyms.yaml": "- [熔断, circuit breaker]\n- [a, b\n"})
    report = kb.refresh()
    assert [problem.path for problem in report.warnings] == ["synonyms.yaml"]
    assert report.warnings[0].error.startswith("line 3: ")
    assert report.failed == ()
    assert tiers(kb, "熔断") == []
    assert ask(kb, "ERR_TIMEOUT")[0].relevance_level is RelevanceLevel.PRECISE
    health = kb.health()
    assert health.consistent
    assert any(problem.problem.startswith("synonyms.yaml: line 3: ") for problem in health.problems)
    write_documents(root, {"synonyms.yaml": "- [熔断, circuit breaker]\n"})
    assert kb.refresh().warnings == ()
    assert kb.health().problems == ()
    assert tiers(kb, "熔断") == [("api/breaker.md", "synonym")]


def test_k6_the_file_is_no_document(kb: KnowledgeBase) -> None:
    assert [record.path for record in kb.documents()] == ["api/breaker.md", "api/payment.md"]
