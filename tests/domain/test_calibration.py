from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.calibration import (
    HIGHLY_RELEVANT_OFF_TOPIC,
    HIGHLY_RELEVANT_RIGHT,
    MIN_GAP,
    REFERENCE_OFF_TOPIC,
    Case,
    calibrated_profile,
    cross_validated,
    figures_of,
    label_cuts,
    level_by,
)
from kbapp.domain.relevance import CandidateEvidence, DistanceProfile, RelevanceLevel, Thresholds

HIGHLY, REFERENCE = RelevanceLevel.HIGHLY_RELEVANT, RelevanceLevel.REFERENCE
RIGHT, WRONG, OFF = (True, True), (False, True), (False, False)
KINDS = st.sampled_from([RIGHT, WRONG, OFF])
SCORES = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e6, 1e6))
SCORED = st.lists(st.tuples(SCORES, KINDS), min_size=1, max_size=60)


def case(kind: tuple[bool, bool], evidence: CandidateEvidence | None = None) -> Case:
    return Case(evidence or CandidateEvidence(2.0), *kind)


def numbered(count: int) -> list[Case]:
    """As many right, wrong and off-topic ones: words part them, the distance does not."""
    found = [(RIGHT, 3.0 + n % 5) for n in range(count)] + [(WRONG, float(n % 3)) for n in range(count)]
    off = [(OFF, float(n % 4) / 2) for n in range(count)]
    return [
        case(kind, CandidateEvidence(0.4 + n % 7 / 50, query_weight=10.0, found_weight=weight, found_terms=int(weight)))
        for n, (kind, weight) in enumerate(found + off)
    ]


@pytest.mark.parametrize(
    ("weight", "values"),
    [
        ("cosine_weight", {"distance": 0.3}),
        ("coverage_weight", {"found_weight": 9.0}),
        ("unknown_weight", {"unknown_weight": 4.0}),
        ("found_weight", {"found_terms": 3}),
        ("agreement_weight", {"leads_both": True}),
    ],
)
def test_g5_what_alone_tells_right_from_wrong_has_the_only_weight(weight: str, values: dict[str, Any]) -> None:
    cases = [case(RIGHT, CandidateEvidence(**{"distance": 0.9, "query_weight": 20.0} | values))] * 9
    cases += [case(OFF, CandidateEvidence(0.9, query_weight=20.0))] * 9
    profile = calibrated_profile("mine", cases, None)
    weights = {name: value for name, value in asdict(profile).items() if name.endswith("_weight") and value}
    assert list(weights) == [weight]
    assert weights[weight] > 0
    assert profile.logit(cases[-1].evidence) < 0 < profile.logit(cases[0].evidence)


@given(SCORED)
def test_g5_cuts_keep_their_shares_and_are_finite_and_apart(scored: list[tuple[float, tuple[bool, bool]]]) -> None:
    scores, cases = [score for score, _ in scored], [case(kind) for _, kind in scored]
    reference, highly = label_cuts(scores, cases)
    assert math.isfinite(reference)
    assert math.isfinite(highly)
    assert highly - reference >= MIN_GAP / 2  # what rounding leaves of it at great scores
    off = [score for score, each in zip(scores, cases, strict=True) if not each.in_topic]
    assert sum(score >= reference for score in off) <= REFERENCE_OFF_TOPIC * len(off)
    assert sum(score >= highly for score in off) <= HIGHLY_RELEVANT_OFF_TOPIC * len(off)


@given(SCORED)
def test_g5_no_lower_cut_would_do(scored: list[tuple[float, tuple[bool, bool]]]) -> None:
    scores, cases = [score for score, _ in scored], [case(kind) for _, kind in scored]
    reference, highly = label_cuts(scores, cases)
    off = sum(not each.in_topic for each in cases)
    for cut in set(scores):
        above = [each for score, each in zip(scores, cases, strict=True) if score >= cut]
        passing = sum(not each.in_topic for each in above)
        in_topic = [each.right for each in above if each.in_topic]
        if cut < reference:
            assert passing > REFERENCE_OFF_TOPIC * off
        if cut < highly - 2 * MIN_GAP and any(in_topic):  # less than that may be the gap between the cuts
            few = sum(in_topic) < HIGHLY_RELEVANT_RIGHT * len(in_topic)
            assert few or passing > HIGHLY_RELEVANT_OFF_TOPIC * off


def test_g5_cuts_stand_halfway_between_the_scores_that_they_part() -> None:
    kinds = [RIGHT] * 10 + [OFF] + [RIGHT] + [OFF] * 4
    scores = [9.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 7.0, 5.0, 4.0, 1.0, 0.0, -1.0, -2.0]
    assert label_cuts(scores, [case(kind) for kind in kinds]) == (2.5, 6.0)


def test_g5_highly_relevant_begins_where_the_in_topic_ones_above_are_right() -> None:
    kinds = [WRONG] + [RIGHT] * 12 + [WRONG] * 5 + [OFF] * 50
    scores = [20.0, *range(19, 7, -1), *range(7, 2, -1), *([0.0] * 50)]
    assert label_cuts(scores, [case(kind) for kind in kinds])[1] == 7.5


def test_g5_where_off_topic_ones_lead_no_level_begins_below_them() -> None:
    reference, highly = label_cuts([3.0, 3.0, 1.0], [case(OFF), case(OFF), case(RIGHT)])
    assert 3.0 < reference < highly


def test_g5_right_ones_that_distance_does_not_part_are_parted_by_words() -> None:
    cases = numbered(30)
    profile = calibrated_profile("mine", cases, 2.5)
    assert (profile.name, profile.fusion_weight) == ("mine", 2.5)
    assert profile.has_own_cuts
    assert not profile.provisional
    assert profile.coverage_weight > 0
    assert profile.agreement_weight == 0  # it never varies
    figures = figures_of(cases, [level_by(profile, each, Thresholds()) for each in cases])
    assert figures.off_topic_passing[HIGHLY].count == 0
    assert figures.precision[HIGHLY].of <= 30 / HIGHLY_RELEVANT_RIGHT
    assert figures.recall[HIGHLY].count == 30


def test_g5_what_is_wrong_in_one_fold_does_not_move_its_own_levels() -> None:
    cases = numbered(10)
    levels = cross_validated(cases, Thresholds())
    as_good_as_right = CandidateEvidence(0.4, query_weight=10.0, found_weight=7.0, found_terms=7)
    changed = [*cases[:20], case(OFF, as_good_as_right), *cases[21:]]
    again = cross_validated(changed, Thresholds())
    same_fold = [0, 5, 10, 15, 25]
    assert [again[place] for place in same_fold] == [levels[place] for place in same_fold]
    assert again[20] is HIGHLY
    assert again[1] is not HIGHLY


def test_g5_every_fold_holds_some_of_each_kind_whatever_the_order() -> None:
    cases = sorted(numbered(5), key=lambda each: (each.in_topic, each.right))
    assert len(cross_validated(cases, Thresholds())) == 15
    with pytest.raises(ValueError, match="nothing to tell apart"):
        cross_validated([*cases[:10], cases[-1]], Thresholds())


def test_g5_figures_count_each_level_and_the_errors_on_both_sides() -> None:
    kinds = [RIGHT, RIGHT, RIGHT, WRONG, WRONG, OFF, OFF, OFF]
    levels = [HIGHLY, REFERENCE, None, HIGHLY, None, HIGHLY, REFERENCE, None]
    figures = figures_of([case(kind) for kind in kinds], levels)
    counted = {
        "precision": {level: (rate.count, rate.of) for level, rate in figures.precision.items()},
        "recall": {level: (rate.count, rate.of) for level, rate in figures.recall.items()},
        "passing": {level: (rate.count, rate.of) for level, rate in figures.off_topic_passing.items()},
    }
    assert counted == {
        "precision": {HIGHLY: (1, 3), REFERENCE: (1, 2)},
        "recall": {HIGHLY: (1, 5), REFERENCE: (2, 5)},
        "passing": {HIGHLY: (1, 3), REFERENCE: (2, 3)},
    }
    assert (figures.in_topic_lost.count, figures.in_topic_lost.of) == (1, 3)
    values = figures.to_dict()
    assert list(values) == ["levels", "errors"]
    assert values["levels"]["REFERENCE"]["recall"]["rate"] == 0.4  # type: ignore[index, call-overload]
    assert values["errors"]["in_topic_lost"]["interval"] == [0.0615, 0.7923]  # type: ignore[index, call-overload]


@pytest.mark.parametrize(("distance", "level"), [(0.2, HIGHLY), (0.8, REFERENCE), (1.5, None)])
def test_g2_a_case_is_graded_by_any_profile(distance: float, level: RelevanceLevel | None) -> None:
    each = case(RIGHT, CandidateEvidence(distance))
    assert level_by(DistanceProfile("x", provisional=True), each, Thresholds()) is level
