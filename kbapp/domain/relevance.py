"""Distances and lexical evidence into a similarity, a level and a hint (G1–G7)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class RelevanceLevel(StrEnum):
    """How good a result is, as the executor sees it."""

    PRECISE = "PRECISE"
    HIGHLY_RELEVANT = "HIGHLY_RELEVANT"
    REFERENCE = "REFERENCE"
    DEDUPED = "DEDUPED"


class HintLanguage(StrEnum):
    """Language of what the executor reads (G3); independent of the screen's."""

    ZH = "zh"
    EN = "en"


HINTS: Mapping[HintLanguage, Mapping[RelevanceLevel, str]] = {
    HintLanguage.ZH: {
        RelevanceLevel.PRECISE: "知识库中不存在比上述结果更精准的文档",
        RelevanceLevel.HIGHLY_RELEVANT: "当前结果已高度相关，继续检索不太可能找到更精准的文档",
        RelevanceLevel.REFERENCE: "当前结果为相关参考，如需更精准信息请明确缺少的具体维度",
        RelevanceLevel.DEDUPED: "该内容已在本会话中提供，请直接使用；如需补充，请指明缺少的维度或章节",
    },
    HintLanguage.EN: {
        RelevanceLevel.PRECISE: "The knowledge base holds no document more precise than this result",
        RelevanceLevel.HIGHLY_RELEVANT: (
            "This result is highly relevant; searching on is unlikely to find a more precise document"
        ),
        RelevanceLevel.REFERENCE: (
            "This result is a related reference; for more precise information name the dimension that is missing"
        ),
        RelevanceLevel.DEDUPED: (
            "This content was already given in this session: use it, or name the missing dimension or section"
        ),
    },
}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """G2 and G4; both bounds are inclusive."""

    max_l2_distance: float = 2.0
    highly_relevant: float = 0.75
    reference: float = 0.5


COVERAGE_PRIOR = 10.0
"""Weight added to the query's when its coverage is judged: one word that stands in a text is not the whole of it."""


@dataclass(frozen=True, slots=True)
class CandidateEvidence:
    """What is known of one chunk as an answer to one query.

    ``distance``: squared L2 between the query's and the chunk's unit vectors, 0 … 4; None: there was no vector. The
    query's content tokens are weighed by their rarity in the knowledge base (``query_terms``): ``query_weight`` is the
    weight of all, ``found_weight`` of those that stand in the chunk or its headings (``found_terms``: how many, in
    ``found_runs`` separate places of the query), ``unknown_weight`` of the Latin ones that stand nowhere in the
    knowledge base (a product, an error code that it does not know).
    ``leads_both``: the chunk's document is the first one by vectors and by full text.
    """

    distance: float | None
    query_weight: float = 0.0
    found_weight: float = 0.0
    unknown_weight: float = 0.0
    found_terms: int = 0
    found_runs: int = 0
    leads_both: bool = False

    @property
    def cosine(self) -> float | None:
        """Cosine of the two unit vectors: 1 − d/2; None: there was no vector."""
        return None if self.distance is None else 1 - self.distance / 2

    @property
    def coverage(self) -> float:
        """Share of the query's weight that was found, 0 … 1; what people are shown."""
        return self.found_weight / self.query_weight if self.query_weight else 0.0

    @property
    def unknown_share(self) -> float:
        """Share of the query's weight that the knowledge base does not know, 0 … 1; what people are shown."""
        return self.unknown_weight / self.query_weight if self.query_weight else 0.0

    @property
    def judged_coverage(self) -> float:
        """The coverage with the prior: found / (query + 10); the shorter the query, the less it can reach."""
        return self.found_weight / (self.query_weight + COVERAGE_PRIOR)


def evidence_terms(evidence: CandidateEvidence) -> tuple[float, ...]:
    """What ``EvidenceProfile`` weighs, in the order of its weights.

    Raises:
        ValueError: there was no vector.
    """
    return (
        1 - _distance_of(evidence) / 2,
        evidence.judged_coverage,
        math.log1p(evidence.unknown_weight),
        math.log1p(evidence.found_terms),
        math.log1p(evidence.found_runs),
        float(evidence.leads_both),
    )


def _distance_of(evidence: CandidateEvidence) -> float:
    if evidence.distance is None:
        raise ValueError("without a vector a candidate is graded by WordsProfile")
    return evidence.distance


def l2_similarity(distance: float, max_l2_distance: float) -> float:
    """``1 − min(d, max) / max`` (G1); for unit vectors and max 2.0 this is max(0, cos)."""
    return 1 - min(distance, max_l2_distance) / max_l2_distance


@dataclass(frozen=True, slots=True)
class DistanceProfile:
    """Relevance by the distance alone: BGE-M3 (G4) and, with a warning, models nothing is known of (G5)."""

    name: str
    provisional: bool

    @property
    def fusion_weight(self) -> float | None:
        """None: documents are ordered by the spread of the cosines (``fusion``)."""
        return None

    def similarity(self, evidence: CandidateEvidence, thresholds: Thresholds) -> float:
        """G1's formula."""
        return l2_similarity(_distance_of(evidence), thresholds.max_l2_distance)


REFERENCE_SIMILARITY = 0.5
HIGHLY_RELEVANT_SIMILARITY = 0.75
"""What an evidence profile's two logits map to: the documents' thresholds (000 §3), whatever thresholds are set."""


@dataclass(frozen=True, slots=True)
class EvidenceProfile:
    """Relevance by distance and lexical evidence together, for models whose raw similarities do not separate (G5).

    ``logit = bias + cosine_weight·cosine + coverage_weight·judged_coverage + unknown_weight·ln(1 + unknown_weight)
    + found_weight·ln(1 + found_terms) + runs_weight·ln(1 + found_runs) + agreement_weight·leads_both``: log-odds that
    the document answers, weights by logistic regression over labelled queries. The similarity is 0.5 at
    ``reference_logit``, 0.75 at ``highly_relevant_logit`` and linear in the logit between them, so that the documents'
    thresholds mean the same for every model and every knowledge base. ``fusion_weight``: what a cosine of 1 is worth
    when documents are ordered. ``has_own_cuts``: they come from labelled queries of this knowledge base, and probes do
    not move them.
    """

    name: str
    provisional: bool
    bias: float
    cosine_weight: float
    coverage_weight: float
    unknown_weight: float
    found_weight: float
    runs_weight: float
    agreement_weight: float
    reference_logit: float
    highly_relevant_logit: float
    fusion_weight: float | None
    has_own_cuts: bool = False

    def logit(self, evidence: CandidateEvidence) -> float:
        """Log-odds that the chunk's document answers the query."""
        weights = (
            self.cosine_weight,
            self.coverage_weight,
            self.unknown_weight,
            self.found_weight,
            self.runs_weight,
            self.agreement_weight,
        )
        return self.bias + sum(w * term for w, term in zip(weights, evidence_terms(evidence), strict=True))

    def similarity(self, evidence: CandidateEvidence, thresholds: Thresholds) -> float:  # noqa: ARG002 - as DistanceProfile
        """Monotone in the evidence, in [0, 1]; whatever the thresholds."""
        logit = self.logit(evidence)
        low, high = self.reference_logit, self.highly_relevant_logit
        if logit < low:
            return REFERENCE_SIMILARITY * math.exp(logit - low)
        if logit < high:
            share = (logit - low) / (high - low)
            return REFERENCE_SIMILARITY + share * (HIGHLY_RELEVANT_SIMILARITY - REFERENCE_SIMILARITY)
        return 1 - (1 - HIGHLY_RELEVANT_SIMILARITY) * math.exp(high - logit)


@dataclass(frozen=True, slots=True)
class WordsProfile:
    """Relevance by the words alone, while there are no vectors: a reference at most.

    ``min_coverage``: the share of the query's weight that a chunk must hold, 0 … 1.
    """

    name: str
    min_coverage: float
    provisional: bool = False

    @property
    def fusion_weight(self) -> float | None:
        """There are no cosines to weigh."""
        return None

    def similarity(self, evidence: CandidateEvidence, thresholds: Thresholds) -> float:
        """The threshold of a reference from ``min_coverage`` on, less in proportion below it.

        Where no result is a mere reference, because both thresholds are the same, words alone give none.
        """
        most = min(thresholds.reference, math.nextafter(thresholds.highly_relevant, 0.0))
        return most * min(1.0, evidence.coverage / self.min_coverage)


WORDS_ALONE = WordsProfile("words alone", min_coverage=0.4)
"""Chosen by measurement, see ``docs/reliability.md``."""

RelevanceProfile = DistanceProfile | EvidenceProfile | WordsProfile


L1_LEVELS = (RelevanceLevel.HIGHLY_RELEVANT, RelevanceLevel.REFERENCE)
"""The levels that an L1 candidate can have, best first."""


def level_of(similarity: float, thresholds: Thresholds) -> RelevanceLevel | None:
    """The level of one L1 candidate (G2); None: not a result."""
    if similarity >= thresholds.highly_relevant:
        return RelevanceLevel.HIGHLY_RELEVANT
    if similarity >= thresholds.reference:
        return RelevanceLevel.REFERENCE
    return None
