"""Growth, tables, and two commits side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure import Row, Target, row
from table import changes, changes_table, figures_table, growth_exponent, growth_table, replaced_between


def figure(p50: float, size: int = 10, name: str = "lookup", unit: str = "ms", target: Target | None = None) -> Row:
    return row(name, (size, "chunks"), unit, [p50], target=target)


@given(st.floats(-1, 3), st.floats(0.01, 100))
def test_the_exponent_of_a_power_is_found(exponent, factor):
    sizes = [100, 1_000, 5_000, 20_000]
    found = growth_exponent(sizes, [factor * size**exponent for size in sizes])
    assert found == pytest.approx(exponent, abs=1e-6)


def test_one_size_or_zeros_alone_have_no_exponent():
    assert growth_exponent([10, 10], [1.0, 2.0]) is None
    assert growth_exponent([10, 20], [0.0, 0.0]) is None


def test_growth_shows_figures_of_three_sizes_or_more():
    rows = [figure(size / 10, size) for size in (10, 100, 1_000)] + [figure(1, size, "other") for size in (10, 100)]
    table = growth_table(rows)
    assert "| lookup, ms | 10: 1 · 100: 10 · 1,000: 100 chunks | 1.00 |" in table
    assert "other" not in table


def test_a_missed_target_is_marked_in_the_table():
    table = figures_table({"lookup": [figure(3.0, target=Target("p50", 2)), figure(1.0, target=Target("p50", 2))]})
    assert "| lookup | 10 chunks | 3 ms |  |  |  | p50 ≤ 2 | **missed** |" in table
    assert "| 1 ms |  |  |  | p50 ≤ 2 | met |" in table


def verdict(old: list[float], new: list[float], unit: str = "ms") -> str:
    (change,) = changes([[figure(p50, unit=unit)] for p50 in old], [[figure(p50, unit=unit)] for p50 in new])
    return change.verdict


def test_a_difference_within_that_of_one_commit_from_itself_is_none():
    assert verdict([10.0, 13.0], [12.0, 12.5]) == "="
    assert verdict([12.0, 12.5], [10.0, 13.0]) == "="
    assert verdict([10.0, 10.0], [12.0, 12.5]) == "**worse**"
    assert verdict([12.0, 12.5], [10.0, 10.0]) == "better"


def test_five_percent_are_noise_however_alike_the_runs_of_one_commit():
    assert verdict([10.0, 10.0], [10.4, 10.4]) == "="


def test_more_per_second_is_better():
    assert verdict([10.0, 10.0], [20.0, 20.0], unit="chunks/s") == "better"
    assert verdict([20.0, 20.0], [10.0, 10.0], unit="chunks/s") == "**worse**"


def test_figures_of_zero_are_compared_too():
    assert verdict([0.0, 0.0], [0.0, 0.0]) == "="
    assert verdict([0.0, 0.0], [1.0, 1.0]) == "**worse**"
    assert verdict([1.0, 1.0], [0.0, 0.0]) == "better"


def test_what_only_one_commit_has_is_left_out():
    found = changes([[figure(1.0, name="old")]], [[figure(1.0, name="new"), figure(2.0, name="new", size=20)]])
    assert found == []


def test_changes_are_shown_as_new_over_old():
    found = changes([[figure(10.0)], [figure(10.0)]], [[figure(5.0)], [figure(5.0)]])
    assert "| lookup, 10 chunks | 10 ms | 5 ms | 0.50 | ± 5% | better |" in changes_table(found)


def test_what_stands_between_the_marks_is_replaced_and_nothing_else():
    text = "before\n<!-- a -->\nold\n<!-- /a -->\nafter\n"
    replaced = replaced_between(text, "<!-- a -->", "<!-- /a -->", "new")
    assert replaced == "before\n<!-- a -->\n\nnew\n\n<!-- /a -->\nafter\n"
    assert replaced_between(replaced, "<!-- a -->", "<!-- /a -->", "new") == replaced


@pytest.mark.parametrize("text", ["", "<!-- a -->", "<!-- /a -->"])
def test_a_missing_mark_is_an_error(text):
    with pytest.raises(ValueError, match="not both there"):
        replaced_between(text, "<!-- a -->", "<!-- /a -->", "new")
