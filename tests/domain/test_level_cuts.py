from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.level_cuts import (
    HIGHLY_RELEVANT_BOUNDS,
    HIGHLY_RELEVANT_SHARE,
    REFERENCE_BOUNDS,
    REFERENCE_SHARE,
    SKETCH_SIZE,
    LevelCuts,
    alike,
    cuts_of,
    fingerprint,
    read_cuts,
)
from kbapp.domain.relevance import CandidateEvidence, EvidenceProfile, Thresholds

PROFILE = EvidenceProfile("x", True, -30.0, 30.0, 6.0, -4.0, 2.0, 0.5, 1.0, -1.0, 1.0, 2.5)
SKETCH = tuple(f"{number:04d}" for number in range(100))
CUTS = LevelCuts(fingerprint(PROFILE), -2.0, 0.5, 500, 1000, SKETCH, "2026-11-30T10:00:00.000+00:00")
scores = st.lists(st.floats(-20, 20) | st.just(-math.inf), min_size=1, max_size=300)


def test_g5_of_a_hundred_probes_three_reach_highly_relevant_and_twenty_reference() -> None:
    ranked = [1.2 - 0.1 * place for place in range(100)]
    reference, highly = cuts_of(ranked)
    assert sum(score >= highly for score in ranked) == 3
    assert sum(score >= reference for score in ranked) == 20


@given(scores)
def test_g5_no_more_probes_than_their_share_reach_a_level_within_its_bounds(values: list[float]) -> None:
    reference, highly = cuts_of(values)
    assert reference <= highly
    if highly < HIGHLY_RELEVANT_BOUNDS[1]:
        assert sum(value >= highly for value in values) <= HIGHLY_RELEVANT_SHARE * len(values)
    if reference < REFERENCE_BOUNDS[1]:
        assert sum(value >= reference for value in values) <= REFERENCE_SHARE * len(values)


@given(scores, scores)
def test_g5_probes_that_the_knowledge_base_answers_cannot_raise_the_cuts_beyond_their_bounds(
    values: list[float], answered: list[float]
) -> None:
    reference, highly = cuts_of([*values, *(abs(value) + 50 for value in answered)])
    assert HIGHLY_RELEVANT_BOUNDS[0] <= highly <= HIGHLY_RELEVANT_BOUNDS[1]
    assert REFERENCE_BOUNDS[0] <= reference <= REFERENCE_BOUNDS[1]


def test_without_a_single_probe_there_are_no_cuts() -> None:
    with pytest.raises(ValueError, match="no probe"):
        cuts_of([])


def test_cuts_come_back_as_they_were_stored_and_anything_else_is_none() -> None:
    assert read_cuts(CUTS.to_json()) == CUTS
    for stored in (None, "", "{}", "[1]", "nonsense", '{"profile": 1}'):
        assert read_cuts(stored) is None


def test_g5_a_profile_with_cuts_begins_its_levels_there() -> None:
    profile = CUTS.applied_to(PROFILE)
    evidence = CandidateEvidence(0.2, 20.0, 10.0, 0.0, 2)
    at_cut = CUTS.applied_to(PROFILE).logit(evidence)
    moved = LevelCuts(CUTS.profile, at_cut - 1, at_cut, 1, 1, (), "").applied_to(PROFILE)
    assert (profile.reference_logit, profile.highly_relevant_logit) == (-2.0, 0.5)
    assert moved.similarity(evidence, Thresholds()) == 0.75
    assert CUTS.fit(PROFILE)
    assert not CUTS.fit(profile)


@pytest.mark.parametrize(
    ("kept", "new", "outdated"),
    [(100, 0, False), (95, 5, False), (100, 20, False), (85, 15, True), (100, 40, True), (0, 0, True)],
)
def test_g5_cuts_are_outdated_once_a_tenth_of_the_knowledge_base_was_replaced(
    kept: int, new: int, outdated: bool
) -> None:
    now = [*SKETCH[:kept], *(f"{number:04d}x" for number in range(new))]
    assert CUTS.are_outdated(now) is outdated


HASHES = st.sets(st.integers(0, 10**9).map("{:010d}".format), max_size=300)


@given(HASHES, HASHES)
def test_alike_is_a_share_the_same_both_ways_and_whole_for_equal_sets(first: set[str], second: set[str]) -> None:
    one, other = sorted(first)[:SKETCH_SIZE], sorted(second)[:SKETCH_SIZE]
    assert 0 <= alike(one, other) == alike(other, one) <= 1
    assert alike(one, one) == 1


def test_stored_cuts_of_a_wrong_type_are_none() -> None:
    stored = json.loads(CUTS.to_json())
    for name in ("reference", "probes", "sketch"):
        assert read_cuts(json.dumps(stored | {name: None})) is None
