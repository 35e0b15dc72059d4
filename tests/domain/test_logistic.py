from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kbapp.domain.logistic import RIDGE, Matrix, fit_logistic

COLUMNS = 2
VALUES = st.integers(-20, 20).map(float)
ROWS = st.lists(st.tuples(VALUES, VALUES, st.booleans()), min_size=3, max_size=30)
Rows = list[tuple[float, float, bool]]


def arrays(rows: Rows) -> tuple[Matrix, Matrix]:
    """Features and labels; both labels are among them."""
    labels = np.array([float(label) for *_, label in rows])
    assume(0 < labels.sum() < len(labels))
    return np.array([values for *values, _ in rows], dtype=np.float64), labels


def test_without_a_feature_that_varies_the_bias_is_the_log_odds_of_the_labels() -> None:
    weights, bias = fit_logistic(np.full((4, 2), 0.1), np.array([1.0, 1.0, 0.0, 1.0]))
    assert weights.tolist() == [0.0, 0.0]
    assert bias == pytest.approx(math.log(3))


def test_two_opposite_rows_give_the_weight_at_which_the_penalty_equals_what_is_unexplained() -> None:
    (weight,), bias = fit_logistic(np.array([[-1.0], [1.0]]), np.array([0.0, 1.0]))
    assert bias == pytest.approx(0, abs=1e-9)
    assert RIDGE * weight == pytest.approx(1 / (1 + math.exp(weight)))
    assert weight == pytest.approx(3.359, abs=0.001)


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_labels_of_one_kind_are_refused(label: float) -> None:
    with pytest.raises(ValueError, match="nothing to tell apart"):
        fit_logistic(np.array([[0.0], [1.0]]), np.array([label, label]))


def test_a_single_row_far_from_the_others_does_not_keep_it_from_ending() -> None:
    features = np.r_[np.zeros((999, 1)), [[1e9]]]
    weights, bias = fit_logistic(features, np.r_[np.zeros(999), [1.0]])
    assert np.isfinite(weights).all()
    assert bias < 0 < weights[0] * 1e9 + bias


@given(ROWS)
def test_the_chances_add_up_to_the_labels_because_the_bias_is_free(rows: Rows) -> None:
    features, labels = arrays(rows)
    weights, bias = fit_logistic(features, labels)
    chances = 1 / (1 + np.exp(-(features @ weights + bias)))
    assert chances.sum() == pytest.approx(labels.sum(), abs=1e-6)


@given(ROWS, st.integers(0, COLUMNS - 1), st.floats(0.001, 1000))
def test_scaling_a_column_scales_its_weight_inversely_and_nothing_else(rows: Rows, column: int, factor: float) -> None:
    features, labels = arrays(rows)
    weights, bias = fit_logistic(features, labels)
    factors = np.ones(COLUMNS)
    factors[column] = factor
    scaled, bias_of_scaled = fit_logistic(features * factors, labels)
    assert scaled * factors == pytest.approx(weights, abs=1e-6)
    assert bias_of_scaled == pytest.approx(bias, abs=1e-6)


@given(ROWS)
def test_swapping_the_labels_flips_every_sign(rows: Rows) -> None:
    features, labels = arrays(rows)
    weights, bias = fit_logistic(features, labels)
    flipped, flipped_bias = fit_logistic(features, 1 - labels)
    assert flipped == pytest.approx(-weights, abs=1e-6)
    assert flipped_bias == pytest.approx(-bias, abs=1e-6)


@given(ROWS)
def test_the_order_of_the_rows_does_not_matter(rows: Rows) -> None:
    features, labels = arrays(rows)
    weights, bias = fit_logistic(features, labels)
    reversed_weights, reversed_bias = fit_logistic(features[::-1], labels[::-1])
    assert reversed_weights == pytest.approx(weights, abs=1e-6)
    assert reversed_bias == pytest.approx(bias, abs=1e-6)
