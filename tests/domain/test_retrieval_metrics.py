"""Metrics against values computed by hand, and their laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbapp.domain.retrieval_metrics import (
    Mean,
    RankedAnswer,
    Rate,
    is_found,
    list_figures,
    ndcg,
    percentile,
    rate_of,
    reciprocal_rank,
)

NAMES = st.sampled_from("abcdefghijklmnop")
ANSWERS = st.builds(
    RankedAnswer,
    hits=st.lists(NAMES, max_size=20).map(tuple),
    relevant=st.lists(NAMES, min_size=1, unique=True).map(tuple),
)


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    [
        (Rate(7, 10), 0.3968, 0.8922),  # Wilson 1927, as in the usual tables
        (Rate(0, 50), 0.0, 0.0713),
        (Rate(50, 50), 0.9287, 1.0),
        (Rate(1, 1), 0.2065, 1.0),
    ],
)
def test_a_rate_has_wilsons_interval(rate: Rate, low: float, high: float) -> None:
    assert rate.interval == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_the_interval_of_a_rate_holds_it_and_mirrors_that_of_its_complement(counts: tuple[int, int]) -> None:
    rate, complement = Rate(*counts), Rate(counts[1] - counts[0], counts[1])
    assert rate.value is not None
    assert rate.interval is not None
    assert complement.interval is not None
    low, high = rate.interval
    assert 0 <= low <= rate.value + 1e-12
    assert rate.value - 1e-12 <= high <= 1
    assert (1 - high, 1 - low) == pytest.approx(complement.interval, abs=1e-9)


@given(st.integers(0, 20), st.integers(2, 20))
def test_more_queries_of_the_same_rate_narrow_the_interval(count: int, factor: int) -> None:
    few, many = Rate(count, 20).interval, Rate(count * factor, 20 * factor).interval
    assert few is not None
    assert many is not None
    assert many[1] - many[0] < few[1] - few[0]


def test_a_rate_of_nothing_has_no_value_and_no_interval() -> None:
    assert Rate(0, 0).to_dict() == {"count": 0, "of": 0, "rate": None, "interval": None}
    assert rate_of([True, False, True]).to_dict() == {"count": 2, "of": 3, "rate": 0.6667, "interval": [0.2077, 0.9385]}


def test_the_mean_of_yes_and_no_has_the_interval_of_their_rate_whatever_the_scale() -> None:
    rate = rate_of([True, False, True, False])
    assert Mean((1.0, 0.0, 1.0, 0.0)).interval == rate.interval == pytest.approx((0.15, 0.85), abs=1e-3)
    assert Mean((0.5, 0.5, 0.5, 0.5)).interval == rate.interval
    assert Mean((5.0, 0.0, 5.0, 0.0), most=5).interval == pytest.approx((0.75, 4.25), abs=5e-3)


def test_a_mean_of_nothing_has_no_value_and_no_interval() -> None:
    assert Mean(()).to_dict() == {"mean": None, "queries": 0, "interval": None}
    assert Mean((1.0,)).to_dict() == {"mean": 1.0, "queries": 1, "interval": [0.2065, 1.0]}


def test_a_query_is_found_when_any_relevant_document_is_near_enough_the_top() -> None:
    assert [is_found("abc", {"c", "z"}, k) for k in (1, 2, 3, 5)] == [False, False, True, True]


def test_the_reciprocal_rank_ends_at_ten() -> None:
    documents = tuple("abcdefghijkl")
    assert [reciprocal_rank(documents, {name}) for name in "adjkz"] == [1, 0.25, 0.1, 0, 0]
    assert reciprocal_rank(documents, {"d", "b"}) == 0.5


def test_ndcg_by_hand() -> None:
    assert ndcg("abc", {"a"}) == 1
    assert ndcg("xa", {"a"}) == pytest.approx(1 / math.log2(3))
    gained, ideal = 1 + 1 / math.log2(4), 1 + 1 / math.log2(3) + 1 / math.log2(4)  # ranks 1 and 3 of three
    assert ndcg("axb", {"a", "b", "c"}) == pytest.approx(gained / ideal)
    assert ndcg("x" * 10 + "a", {"a"}) == 0
    assert ndcg([f"{number}" for number in range(10)], {f"{number}" for number in range(12)}) == pytest.approx(1)
    assert ndcg("a", set()) == 0


def test_a_document_counts_once_at_its_best_hit_and_distinct_ones_are_counted_among_five_hits() -> None:
    figures = list_figures([RankedAnswer(tuple("aabacb"), ("b",)), RankedAnswer((), ("b",))])
    assert [(rate.count, rate.of) for rate in figures.recall.values()] == [(0, 2), (1, 2), (1, 2)]
    assert figures.mrr.values == (0.5, 0.0)
    assert figures.distinct_documents.values == (3.0, 0.0)
    assert list(figures.to_dict()) == [
        "queries",
        "recall@1",
        "recall@3",
        "recall@5",
        "mrr@10",
        "ndcg@10",
        "distinct_documents@5",
    ]


@given(st.lists(ANSWERS, max_size=8))
def test_recall_grows_with_depth_and_no_mean_leaves_its_range(answers: list[RankedAnswer]) -> None:
    figures = list_figures(answers)
    counts = [rate.count for rate in figures.recall.values()]
    assert counts == sorted(counts)
    assert figures.queries == len(answers)
    assert all(0 <= value <= 1 + 1e-9 for value in (*figures.mrr.values, *figures.ndcg.values))
    assert sum(value == 1 for value in figures.mrr.values) == counts[0]


@given(ANSWERS, st.integers(0, 8))
def test_a_relevant_document_that_moves_up_never_lowers_a_metric(answer: RankedAnswer, place: int) -> None:
    documents = list(answer.documents)
    if place + 1 >= len(documents) or documents[place + 1] not in answer.relevant:
        return
    moved = [*documents[:place], documents[place + 1], documents[place], *documents[place + 2 :]]
    for metric in (reciprocal_rank, ndcg):
        assert metric(moved, answer.relevant) >= metric(documents, answer.relevant) - 1e-12


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(number) for number in range(20, 0, -1)]
    assert [percentile(values, share) for share in (0.0, 0.5, 0.95, 1.0)] == [1, 10, 19, 20]
    assert percentile([7.0], 0.95) == 7
    assert percentile([], 0.5) is None
