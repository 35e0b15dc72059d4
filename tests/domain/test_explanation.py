from __future__ import annotations

import pytest

from kbapp.domain.documents import JsonValue
from kbapp.domain.explanation import explain, recompute_level
from kbapp.domain.invocation import Invocation, Outcome, clear_invocation
from kbapp.domain.lookup_result import DedupReason
from kbapp.domain.relevance import HintLanguage, RelevanceLevel
from tests.values import make_invocation

PRECISE, HIGHLY, REFERENCE = RelevanceLevel.PRECISE, RelevanceLevel.HIGHLY_RELEVANT, RelevanceLevel.REFERENCE
BGE_M3: JsonValue = {"kind": "DistanceProfile", "name": "bge-m3", "provisional": False}
E5: JsonValue = {
    "kind": "EvidenceProfile",
    "name": "e5",
    "provisional": True,
    "bias": 0.0,
    "cosine_weight": 0.0,
    "coverage_weight": 1.0,
    "unknown_weight": 0.0,
    "found_weight": 0.0,
    "runs_weight": 0.0,
    "agreement_weight": 0.0,
    "reference_logit": 0.25,
    "highly_relevant_logit": 0.75,
    "fusion_weight": 2.5,
}


def match(coverage: float, document: str = "api/payment.md") -> JsonValue:
    return {"document": document, "coverage": coverage, "reason": "The query contains the keyword '超时'."}


def candidate(distance: float, *, coverage: float = 0.5, document: str = "api/pool.md") -> JsonValue:
    return {
        "document": document,
        "breadcrumb": "连接池 > 参数",
        "distance": distance,
        "query_weight": 10.0,
        "found_weight": 20 * coverage,  # judged with the prior: found / (query + 10)
        "unknown_weight": 0.0,
        "found_terms": 2,
        "found_runs": 1,
        "leads_both": False,
        "similarity": max(0.0, 1 - distance / 2),
        "vector_rank": 1,
        "full_text_rank": None,
    }


def details(**values: JsonValue) -> dict[str, JsonValue]:
    row: dict[str, JsonValue] = {
        "l0_matches": [],
        "min_coverage": 0.4,
        "l1_candidates": [],
        "profile": BGE_M3,
        "thresholds": {"max_l2_distance": 2.0, "highly_relevant": 0.75, "reference": 0.5},
        "section_candidate": None,
        "nothing_readable": False,
    }
    return row | values


def searched(level: RelevanceLevel | None, **values: JsonValue) -> Invocation:
    return make_invocation(
        l1_called=True, embed_ms=1.0, l1_ms=1.0, relevance_level=level, retrieval_details=details(**values)
    )


@pytest.mark.parametrize(
    ("row", "level"),
    [
        (details(), None),
        (details(l0_matches=[match(0.4)]), PRECISE),
        (details(l0_matches=[match(0.4)], l1_candidates=[candidate(0.383)]), PRECISE),
        (details(l0_matches=[match(0.39)]), REFERENCE),
        (details(l0_matches=[match(0.39)], l1_is_complete=True), None),
        (details(l0_matches=[match(0.39)], l1_candidates=[candidate(1.5)], l1_is_complete=True), None),
        (details(l0_matches=[match(0.39)], l1_candidates=[candidate(0.9)], l1_is_complete=True), REFERENCE),
        (details(l0_matches=[match(0.39), match(0.2, "b.md")], l1_is_complete=True), REFERENCE),
        (details(l0_matches=[match(1.0), match(1.0, "b.md")]), REFERENCE),
        (details(l0_matches=[match(1.0), match(1.0, "b.md")], l1_candidates=[candidate(0.383)]), HIGHLY),
        (details(l1_candidates=[candidate(0.5)]), HIGHLY),
        (details(l1_candidates=[candidate(0.6031)]), REFERENCE),
        (details(l1_candidates=[candidate(1.0)]), REFERENCE),
        (details(l1_candidates=[candidate(1.0000001)]), None),
        (details(l1_candidates=[candidate(1.5), candidate(0.9), candidate(0.1)]), HIGHLY),
        (details(l1_candidates=[candidate(0.9), candidate(0.1)], section_candidate=1), HIGHLY),
        (details(l0_matches=[match(1.0)], nothing_readable=True), None),
        (details(l1_candidates=[candidate(2.0, coverage=0.75)], profile=E5), HIGHLY),
        (details(l1_candidates=[candidate(2.0, coverage=0.25)], profile=E5), REFERENCE),
        (details(l1_candidates=[candidate(0.0, coverage=0.24)], profile=E5), None),
    ],
)
def test_t7_the_level_follows_from_the_evidence_in_the_row(
    row: dict[str, JsonValue], level: RelevanceLevel | None
) -> None:
    assert recompute_level(row) == level


@pytest.mark.parametrize("missing", [*details(), "all of it"])
def test_t7_a_row_without_evidence_has_no_level_and_says_so(missing: str) -> None:
    row = {} if missing == "all of it" else {key: value for key, value in details().items() if key != missing}
    assert recompute_level(row) is None
    explanation = explain(make_invocation(retrieval_details=row))
    assert explanation.sentences == ("The row does not say how the level came about.",)


@pytest.mark.parametrize(
    "values",
    [
        {"l0_matches": "text"},
        {"l1_candidates": [1]},
        {"min_coverage": None},
        {"profile": {"kind": "Unknown"}},
        {"thresholds": {"unknown": 1}},
        {"section_candidate": 7},
    ],
)
def test_t7_a_row_with_strange_evidence_is_one_without(values: dict[str, JsonValue]) -> None:
    assert recompute_level(details(**values)) is None


@pytest.mark.parametrize(
    ("invocation", "decision"),
    [
        (
            make_invocation(relevance_level=PRECISE, retrieval_details=details(l0_matches=[match(1.0)])),
            "PRECISE: exactly one document matches by keyword, and covers 1.0 of the query; vectors were not searched.",
        ),
        (
            searched(HIGHLY, l1_candidates=[candidate(0.383)]),
            "HIGHLY_RELEVANT: the best chunk has similarity 0.8085, at least 0.75.",
        ),
        (
            searched(REFERENCE, l1_candidates=[candidate(0.6031)]),
            "REFERENCE: the best chunk has similarity 0.6985, at least 0.5 and less than 0.75.",
        ),
        (
            searched(REFERENCE, l1_candidates=[candidate(0.5000001)]),
            "REFERENCE: the best chunk has similarity 0.7499, at least 0.5 and less than 0.75.",
        ),
        (
            searched(HIGHLY, l1_candidates=[candidate(0.9), candidate(0.383)], section_candidate=1),
            "HIGHLY_RELEVANT: the chunk of the document with the section has similarity 0.8085, at least 0.75.",
        ),
        (
            searched(REFERENCE, l0_matches=[match(1.0), match(1.0, "b.md")]),
            "REFERENCE: 2 documents match by keyword, and no chunk was found.",
        ),
        (
            searched(REFERENCE, l0_matches=[match(0.3999999)], l1_candidates=[candidate(1.2)]),
            "REFERENCE: the only match by keyword covers 0.3999 of the query, less than 0.4,"
            " and no chunk reaches 0.5 (the best has 0.4).",
        ),
        (searched(None), "Not found: no keyword matches, and no chunk was found."),
        (
            make_invocation(l1_called=True, retrieval_details=details()),
            "Not found: no keyword matches, and vectors could not be searched.",
        ),
        (
            make_invocation(retrieval_details=details(l0_matches=[match(1.0)], nothing_readable=True)),
            "Not found: something was found, but no document of it could be read.",
        ),
        (
            make_invocation(outcome=Outcome.ERROR, error="the query is empty: say more"),
            "Refused: the query is empty: say more.",
        ),
        (
            clear_invocation("c1", "s1", "2026-01-01T00:00:00.000+00:00"),
            "The session was cleared: what was given before does not count any more.",
        ),
        (
            searched(PRECISE, l1_candidates=[candidate(0.383)]),
            "PRECISE, although HIGHLY_RELEVANT follows: the best chunk has similarity 0.8085, at least 0.75.",
        ),
    ],
)
def test_t7_the_decision_is_one_sentence(invocation: Invocation, decision: str) -> None:
    assert explain(invocation).decision == decision


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (DedupReason.DOC_RETRIEVED, "the session had already been given this document"),
        (
            DedupReason.DOMAIN_RETRIEVED,
            "the session had already been given this domain, and the query asks for it again",
        ),
    ],
)
def test_t7_what_was_withheld_says_why_and_what_it_would_have_been(reason: DedupReason, words: str) -> None:
    row = make_invocation(
        relevance_level=RelevanceLevel.DEDUPED,
        dedup_reason=reason,
        outcome=Outcome.DEDUPED,
        found=True,
        retrieval_details=details(l1_candidates=[candidate(0.383)]),
    )
    explanation = explain(row)
    assert explanation.decision == (
        f"DEDUPED: {words}; without that it is HIGHLY_RELEVANT,"
        " since the best chunk has similarity 0.8085, at least 0.75."
    )
    assert explanation.recomputed_level is HIGHLY


def test_t7_every_match_and_every_candidate_has_a_sentence() -> None:
    explanation = explain(searched(HIGHLY, l0_matches=[match(0.25)], l1_candidates=[candidate(0.383)]))
    assert explanation.sentences == (
        "HIGHLY_RELEVANT: the best chunk has similarity 0.8085, at least 0.75.",
        "L0 api/payment.md: The query contains the keyword '超时'. It covers 0.25 of the query.",
        "L1 api/pool.md (连接池 > 参数): similarity 0.8085, at least 0.75; distance 0.383, cosine 0.8085,"
        " words found 2 (100% by weight), unknown names 0%; rank 1 by vector.",
    )


def test_t7_the_decision_is_said_in_chinese_too() -> None:
    row = searched(REFERENCE, l0_matches=[match(0.3999999)], l1_candidates=[candidate(1.2)])
    assert explain(row, HintLanguage.ZH).decision == (
        "REFERENCE：唯一的关键词命中只覆盖查询的 0.3999，低于 0.4，且没有片段达到 0.5（最高 0.4）。"
    )
    deduped = make_invocation(
        relevance_level=RelevanceLevel.DEDUPED,
        dedup_reason=DedupReason.DOC_RETRIEVED,
        retrieval_details=details(l0_matches=[match(1.0)]),
    )
    assert explain(deduped, HintLanguage.ZH).decision == (
        "DEDUPED：本会话已提供过该文档；若非重复则为 PRECISE，因为关键词只命中一份文档，覆盖查询的 1.0；未做向量检索。"
    )
