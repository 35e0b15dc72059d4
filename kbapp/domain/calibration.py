"""Labelled evidence into a relevance profile with its cuts, and how good it is on labels that it has not seen (G5)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kbapp.domain.documents import JsonValue
from kbapp.domain.logistic import fit_logistic
from kbapp.domain.relevance import (
    L1_LEVELS,
    CandidateEvidence,
    EvidenceProfile,
    RelevanceLevel,
    RelevanceProfile,
    Thresholds,
    evidence_terms,
    level_of,
)
from kbapp.domain.retrieval_metrics import Rate, rate_of

HIGHLY_RELEVANT_OFF_TOPIC = 0.02
"""Of the off-topic queries at most this share may reach HIGHLY_RELEVANT, and …"""

HIGHLY_RELEVANT_RIGHT = 0.92
"""… of the in-topic queries that reach it, at least this share must be right."""

REFERENCE_OFF_TOPIC = 0.2
"""Of the off-topic queries at most this share may reach REFERENCE."""

FOLDS = 5

MIN_GAP = 0.01
"""Log-odds between the two cuts at least: a similarity is linear between them."""

Level = RelevanceLevel | None

_OR_BETTER = {level: L1_LEVELS[: place + 1] for place, level in enumerate(L1_LEVELS)}


@dataclass(frozen=True, slots=True)
class Case:
    """The best candidate for one labelled query.

    ``right``: its document answers the query; ``in_topic``: some document of the knowledge base does.
    """

    evidence: CandidateEvidence
    right: bool
    in_topic: bool


@dataclass(frozen=True, slots=True)
class CalibrationFigures:
    """What levels are worth, and what is wrong on both sides.

    ``precision``: right of all that are given at exactly this level, off-topic ones counting as wrong. ``recall``:
    right at this level or better of all in-topic cases. ``off_topic_passing``: off-topic ones at this level or better.
    ``in_topic_lost``: of the right ones, those that are not given at all.
    """

    precision: Mapping[RelevanceLevel, Rate]
    recall: Mapping[RelevanceLevel, Rate]
    off_topic_passing: Mapping[RelevanceLevel, Rate]
    in_topic_lost: Rate

    def to_dict(self) -> dict[str, JsonValue]:
        """``levels`` and ``errors`` as JSON."""
        levels: dict[str, JsonValue] = {
            level.value: {"precision": self.precision[level].to_dict(), "recall": self.recall[level].to_dict()}
            for level in L1_LEVELS
        }
        passing: dict[str, JsonValue] = {level.value: rate.to_dict() for level, rate in self.off_topic_passing.items()}
        errors: dict[str, JsonValue] = {"off_topic_passing": passing, "in_topic_lost": self.in_topic_lost.to_dict()}
        return {"levels": levels, "errors": errors}


def calibrated_profile(name: str, cases: Sequence[Case], fusion_weight: float | None) -> EvidenceProfile:
    """The profile that these cases give.

    Raises:
        ValueError: no case is right, or all are.
    """
    features = np.array([evidence_terms(case.evidence) for case in cases], dtype=np.float64)
    weights, bias = fit_logistic(features, np.array([case.right for case in cases], dtype=np.float64))
    cosine, coverage, unknown, found, runs, agreement = map(float, weights)
    profile = EvidenceProfile(
        name,
        provisional=False,
        bias=bias,
        cosine_weight=cosine,
        coverage_weight=coverage,
        unknown_weight=unknown,
        found_weight=found,
        runs_weight=runs,
        agreement_weight=agreement,
        reference_logit=0.0,
        highly_relevant_logit=MIN_GAP,
        fusion_weight=fusion_weight,
        has_own_cuts=True,
    )
    reference, highly_relevant = label_cuts([profile.logit(case.evidence) for case in cases], cases)
    return replace(profile, reference_logit=reference, highly_relevant_logit=highly_relevant)


def label_cuts(scores: Sequence[float], cases: Sequence[Case]) -> tuple[float, float]:
    """The log-odds at which REFERENCE and HIGHLY_RELEVANT begin, the first below the second.

    Each is as low as its shares of the cases above it allow, halfway to the next score below; where no score is good
    enough, it is above all of them. ``scores``: finite, one per case, at least one.
    """
    ranked = sorted(zip(scores, cases, strict=True), key=lambda scored: scored[0], reverse=True)
    off_topic = sum(not case.in_topic for case in cases)
    above: Counter[str] = Counter()
    reference = highly_relevant = ranked[0][0] + MIN_GAP
    following = [score for score, _ in ranked[1:]] + [-math.inf]
    for (score, case), below in zip(ranked, following, strict=True):
        above["off topic"] += not case.in_topic
        above["in topic"] += case.in_topic
        above["right"] += case.in_topic and case.right
        if below == score:
            continue
        if above["off topic"] <= REFERENCE_OFF_TOPIC * off_topic:
            reference = _between(score, below)
        is_right = above["right"] > 0 and above["right"] >= HIGHLY_RELEVANT_RIGHT * above["in topic"]
        if is_right and above["off topic"] <= HIGHLY_RELEVANT_OFF_TOPIC * off_topic:
            highly_relevant = _between(score, below)
    return reference, max(highly_relevant, reference + MIN_GAP)


def cross_validated(cases: Sequence[Case], thresholds: Thresholds, folds: int = FOLDS) -> list[Level]:
    """The level of each case by a profile that was made from the other folds.

    Right, wrong and off-topic cases are dealt to the folds in turn, each in their order.

    Raises:
        ValueError: in the other folds no case is right, or all are.
    """
    dealt = _folds(cases, folds)
    levels: list[Level] = [None] * len(cases)
    for fold in sorted(set(dealt)):
        seen = [case for case, own in zip(cases, dealt, strict=True) if own != fold]
        profile = calibrated_profile("", seen, None)
        for place, own in enumerate(dealt):
            if own == fold:
                levels[place] = level_by(profile, cases[place], thresholds)
    return levels


def level_by(profile: RelevanceProfile, case: Case, thresholds: Thresholds) -> Level:
    """The level of a case (G2)."""
    return level_of(profile.similarity(case.evidence, thresholds), thresholds)


def figures_of(cases: Sequence[Case], levels: Sequence[Level]) -> CalibrationFigures:
    """The figures of cases that came out at these levels."""
    graded = list(zip(cases, levels, strict=True))
    in_topic = [(case, level) for case, level in graded if case.in_topic]
    off_topic = [level for case, level in graded if not case.in_topic]
    return CalibrationFigures(
        precision={each: rate_of([case.right for case, level in graded if level is each]) for each in L1_LEVELS},
        recall={
            each: rate_of([case.right and level in or_better for case, level in in_topic])
            for each, or_better in _OR_BETTER.items()
        },
        off_topic_passing={
            each: rate_of([level in or_better for level in off_topic]) for each, or_better in _OR_BETTER.items()
        },
        in_topic_lost=rate_of([level is None for case, level in graded if case.right]),
    )


def _between(score: float, below: float) -> float:
    """A cut that the score reaches and the one below does not."""
    if math.isinf(below):
        return score
    middle = score / 2 + below / 2
    return middle if below < middle <= score else score


def _folds(cases: Sequence[Case], folds: int) -> list[int]:
    dealt: Counter[tuple[bool, bool]] = Counter()
    numbers = []
    for case in cases:
        kind = (case.right, case.in_topic)
        numbers.append(dealt[kind] % folds)
        dealt[kind] += 1
    return numbers
