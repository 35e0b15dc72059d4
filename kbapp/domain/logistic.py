"""Labelled feature rows into the weights of a ridge logistic regression."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

RIDGE = 0.01
"""Penalty of a standardised weight's square, per row; the bias is not penalised."""

NEWTON_STEPS = 50

_CONSTANT = 1e-6
"""A column that varies by less than this share of its greatest value says nothing: float32 is not more exact."""

_CONVERGED = 1e-12


def fit_logistic(features: Matrix, labels: npt.NDArray[np.float64]) -> tuple[Matrix, float]:
    """Weights ``(k,)`` and bias, for which ``features @ weights + bias`` are the log-odds of label 1.

    ``features``: ``(n, k)`` finite; ``labels``: ``(n,)`` of 0 and 1. A column that does not vary gets weight 0.

    Raises:
        ValueError: all labels are the same, so that the log-odds have no bound.
    """
    if len(np.unique(labels)) < 2:
        raise ValueError("all labels are the same: there is nothing to tell apart")
    mean, scale = features.mean(axis=0), features.std(axis=0)
    varies = scale > _CONSTANT * np.abs(features).max(axis=0)
    rows = np.c_[(features - mean)[:, varies] / scale[varies], np.ones(len(features))]
    fitted = _minimum(rows, labels)
    weights = np.zeros(features.shape[1])
    weights[varies] = fitted[:-1] / scale[varies]
    return weights, float(fitted[-1] - weights @ mean)


def _minimum(rows: Matrix, labels: Matrix) -> Matrix:
    """The weights of least penalised loss, the bias last, by Newton's method; a step that overshoots is halved."""
    penalty = RIDGE * len(rows) * np.r_[np.ones(rows.shape[1] - 1), 0.0]
    weights = np.zeros(rows.shape[1])
    loss = _loss(weights, rows, labels, penalty)
    for _ in range(NEWTON_STEPS):
        chances = np.exp(-np.logaddexp(0.0, -rows @ weights))
        gradient = rows.T @ (chances - labels) + penalty * weights
        hessian = (rows.T * (chances * (1 - chances))) @ rows + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        after = _loss(weights - step, rows, labels, penalty)
        while after > loss and np.abs(step).max() > _CONVERGED:
            step /= 2
            after = _loss(weights - step, rows, labels, penalty)
        weights, loss = weights - step, after
        if np.abs(step).max() <= _CONVERGED:
            break
    return weights


def _loss(weights: Matrix, rows: Matrix, labels: Matrix, penalty: Matrix) -> float:
    logits = rows @ weights
    return float(np.sum(np.logaddexp(0.0, logits) - labels * logits) + penalty @ weights**2 / 2)
