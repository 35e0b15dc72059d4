"""Percentiles, rows with targets, interleaving."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure import Row, Target, interleaved, percentile, row, significant, text_line

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)


@given(VALUES, st.floats(0, 1))
def test_a_percentile_lies_between_the_least_and_the_greatest_value(values, share):
    assert min(values) - 1e-6 <= percentile(values, share) <= max(values) + 1e-6


@given(VALUES)
def test_the_outermost_percentiles_are_the_least_and_the_greatest_value(values):
    assert (percentile(values, 0), percentile(values, 1)) == (min(values), max(values))


def test_a_percentile_between_two_values_is_in_proportion():
    assert percentile([4.0, 1.0, 2.0], 0.75) == 3.0


def test_a_row_compares_the_medians_of_both_ways():
    made = row("lookup", (10, "chunks"), "ms", [3.0, 2.0, 40.0], raw=("search", [2.0, 1.0, 2.0]))
    assert (made.p50, made.raw_p50, made.ratio, made.count) == (3.0, 2.0, 1.5, 3)


def test_a_row_of_few_values_has_no_p99():
    assert row("start", (1, "documents"), "ms", [1.0] * 19).p99 is None
    assert row("start", (1, "documents"), "ms", [1.0] * 20).p99 == 1.0


@pytest.mark.parametrize(
    ("target", "meets"),
    [
        (Target("p50", 3), True),
        (Target("p50", 2.9), False),
        (Target("ratio", 1.5, at_least=True), True),
        (Target("ratio", 1.6, at_least=True), False),
        (Target("more", 1), True),
        (Target("more", 0.9), False),
        (Target("p99", 100), None),
    ],
)
def test_a_target_bounds_one_figure_of_the_row(target, meets):
    assert row("x", (1, "chunks"), "ms", [3.0], raw=("y", [2.0]), target=target).meets is meets


def test_a_target_is_judged_by_what_was_measured_not_by_what_is_shown():
    assert row("x", (1, "chunks"), "ms", [1.00001], target=Target("p50", 1)).meets is False


def test_a_row_survives_json():
    made = row("x", (1, "chunks"), "ms", [3.0], raw=("y", [2.0]), target=Target("p50", 1), note="three")
    assert Row(**asdict(made)) == made


def test_a_row_for_the_terminal_says_what_is_missed():
    assert "MISSES p50 ≤ 1" in text_line(row("x", (1, "chunks"), "ms", [3.0], target=Target("p50", 1)))


def test_four_digits_are_kept():
    assert (significant(123456.0), significant(0.00123456), significant(None)) == (123500.0, 0.001235, None)


def test_interleaved_ways_take_turns_on_each_input_and_in_being_first():
    calls: list[tuple[str, int]] = []
    ways = {name: lambda number, name=name: calls.append((name, number)) for name in "ab"}
    times = interleaved(ways, [1, 2], warm_up=1)
    assert calls == [("a", 1), ("b", 1), ("a", 1), ("b", 1), ("b", 2), ("a", 2)]
    assert {name: len(values) for name, values in times.items()} == {"a": 2, "b": 2}
