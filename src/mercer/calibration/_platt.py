"""Platt's sigmoid of decision values.

    p(class i | f) = 1 / (1 + exp(A f + B)),   f the decision value of pair (i, j)

A and B minimise the cross-entropy to Platt's smoothed targets (Platt 1999) by Newton's method with
backtracking (Lin, Lin and Weng, Machine Learning 68, 2007, Algorithm 1). A > 0 would reverse the
order of the decision values, so A ≤ 0 is kept.
"""

from __future__ import annotations

import numpy as np

__all__ = ["fit_sigmoid", "sigmoid", "smoothed_targets"]

# Newton steps, smallest ridge and step length as in Lin, Lin and Weng.
MAX_STEPS = 100
RIDGE = 1e-12
SHORTEST_STEP = 1e-10


def sigmoid(f: np.ndarray, A: float | np.ndarray, B: float | np.ndarray) -> np.ndarray:
    """1 / (1 + exp(A f + B)) without overflow."""
    z = A * f + B
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, e, 1.0) / (1.0 + e)


def smoothed_targets(is_positive: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Labels away from 0 and 1 by what as many rows can tell: Platt's."""
    n_positive, n_negative = w[is_positive].sum(), w[~is_positive].sum()
    return np.where(is_positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))


def fit_sigmoid(
    f: np.ndarray, is_positive: np.ndarray, weight: np.ndarray | None = None
) -> tuple[float, float]:
    """A ≤ 0 and B of the sigmoid that fits decision values to labels."""
    w = np.ones(f.size) if weight is None else weight
    t = smoothed_targets(is_positive, w)
    n_positive, n_negative = w[is_positive].sum(), w[~is_positive].sum()
    A, B = 0.0, float(np.log((n_negative + 1) / (n_positive + 1)))
    prior = B

    def loss(A: float, B: float) -> float:
        z = A * f + B
        return float(w @ (t * z + np.logaddexp(0.0, -z)))

    value = loss(A, B)
    for _ in range(MAX_STEPS):
        p = sigmoid(f, A, B)
        slope = w * (t - p)
        gA, gB = float(slope @ f), float(slope.sum())
        if max(abs(gA), abs(gB)) < 1e-5:
            break
        curvature = w * p * (1 - p)
        weighted = curvature * f
        AA, AB = float(weighted @ f) + RIDGE, float(weighted.sum())
        BB = float(curvature.sum()) + RIDGE
        determinant = AA * BB - AB * AB
        if not determinant > 0:  # all f are equal up to rounding
            break
        dA, dB = (AB * gB - BB * gA) / determinant, (AB * gA - AA * gB) / determinant
        slope_along, step = gA * dA + gB * dB, 1.0
        while step >= SHORTEST_STEP:
            new = loss(A + step * dA, B + step * dB)
            if new < value + 1e-4 * step * slope_along:
                break
            step /= 2
        else:
            break
        A, B, value = A + step * dA, B + step * dB, new
    return (float(A), float(B)) if A <= 0 else (0.0, prior)
