import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.relevance import (
    HINTS,
    CandidateEvidence,
    DistanceProfile,
    EvidenceProfile,
    HintLanguage,
    RelevanceLevel,
    Thresholds,
    l2_similarity,
    level_of,
)

THRESHOLDS = Thresholds()
BGE = DistanceProfile("bge-m3", provisional=False)
E5 = EvidenceProfile("x", True, -30.0, 30.0, 6.0, -4.0, 2.0, 0.5, 1.0, -1.0, 1.0, 2.5)

distances = st.floats(0, 4)
shares = st.floats(0, 1)


@pytest.mark.parametrize(
    ("distance", "similarity"),
    [(0, 1.0), (0.383, 0.8085), (0.5, 0.75), (0.6031, 0.69845), (1.0, 0.5), (2.0, 0.0), (3.1, 0.0), (4.0, 0.0)],
)
def test_g1_similarity_of_a_squared_distance(distance: float, similarity: float) -> None:
    assert l2_similarity(distance, 2.0) == pytest.approx(similarity, abs=1e-12)


@pytest.mark.parametrize(
    ("similarity", "level"),
    [
        (1.0, RelevanceLevel.HIGHLY_RELEVANT),
        (0.75, RelevanceLevel.HIGHLY_RELEVANT),
        (math.nextafter(0.75, 0), RelevanceLevel.REFERENCE),
        (0.5, RelevanceLevel.REFERENCE),
        (math.nextafter(0.5, 0), None),
        (0.0, None),
    ],
)
def test_g2_bounds_are_inclusive(similarity: float, level: RelevanceLevel | None) -> None:
    assert level_of(similarity, THRESHOLDS) is level


def test_g2_no_l1_candidate_is_ever_precise() -> None:
    assert level_of(1.0, THRESHOLDS) is not RelevanceLevel.PRECISE


def test_g3_hints_to_the_letter() -> None:
    assert HINTS[HintLanguage.ZH] == {
        RelevanceLevel.PRECISE: "知识库中不存在比上述结果更精准的文档",
        RelevanceLevel.HIGHLY_RELEVANT: "当前结果已高度相关，继续检索不太可能找到更精准的文档",
        RelevanceLevel.REFERENCE: "当前结果为相关参考，如需更精准信息请明确缺少的具体维度",
        RelevanceLevel.DEDUPED: "该内容已在本会话中提供，请直接使用；如需补充，请指明缺少的维度或章节",
    }
    assert HINTS[HintLanguage.EN].keys() == HINTS[HintLanguage.ZH].keys()


def test_g4_bge_m3_takes_the_documents_thresholds() -> None:
    assert Thresholds(2.0, 0.75, 0.5) == THRESHOLDS
    assert BGE.similarity(CandidateEvidence(0.383), THRESHOLDS) == pytest.approx(0.8085)


def evidence(distance: float, *, coverage: float, unknown: float = 0.3) -> CandidateEvidence:
    """Of a query that weighs 20, of which these shares were found and are unknown."""
    return CandidateEvidence(distance, 20.0, 20 * coverage, 20 * unknown, 2)


@given(distances, distances, shares)
def test_g5_a_nearer_chunk_is_never_less_relevant(first: float, second: float, coverage: float) -> None:
    near, far = sorted((first, second))
    for profile in (BGE, E5):
        nearer = profile.similarity(evidence(near, coverage=coverage), THRESHOLDS)
        farther = profile.similarity(evidence(far, coverage=coverage), THRESHOLDS)
        assert nearer >= farther


@given(distances, shares, shares)
def test_g5_more_of_the_query_in_the_text_is_never_less_relevant(distance: float, first: float, second: float) -> None:
    less, more = sorted((first, second))
    assert E5.similarity(evidence(distance, coverage=more), THRESHOLDS) >= E5.similarity(
        evidence(distance, coverage=less), THRESHOLDS
    )


@given(distances, shares)
def test_g5_a_similarity_is_a_share_and_the_documents_thresholds_lie_at_their_logits(
    distance: float, coverage: float
) -> None:
    known = evidence(distance, coverage=coverage)
    similarity = E5.similarity(known, THRESHOLDS)
    assert 0 <= similarity <= 1
    logit = E5.logit(known)
    if not math.isclose(logit, E5.highly_relevant_logit) and not math.isclose(logit, E5.reference_logit):
        assert (similarity >= THRESHOLDS.highly_relevant) == (logit >= E5.highly_relevant_logit)
        assert (similarity >= THRESHOLDS.reference) == (logit >= E5.reference_logit)


@given(distances, shares, st.floats(0, 1), st.floats(0, 1))
def test_g5_other_thresholds_change_the_level_and_never_the_similarity(
    distance: float, coverage: float, first: float, second: float
) -> None:
    low, high = sorted((first, second))
    known = evidence(distance, coverage=coverage)
    assert E5.similarity(known, Thresholds(2.0, high, low)) == E5.similarity(known, THRESHOLDS)


@given(distances, shares, shares, shares)
def test_g5_a_name_that_the_knowledge_base_does_not_know_never_raises_the_relevance(
    distance: float, coverage: float, first: float, second: float
) -> None:
    less, more = sorted((first, second))
    assert E5.similarity(evidence(distance, coverage=coverage, unknown=more), THRESHOLDS) <= E5.similarity(
        evidence(distance, coverage=coverage, unknown=less), THRESHOLDS
    )
