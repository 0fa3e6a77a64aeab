"""Platt's sigmoid of decision values.

    p(class i | f) = 1 / (1 + exp(A f + B)),   f the decision value of pair (i, j)

A and B minimise the cross-entropy to Platt's smoothed targets (Platt 1999) by Newton's method with
backtracking (Lin, Lin and Weng, Machine Learning 68, 2007, Algorithm 1). A > 0 would reverse the
order of the decision values, so A ≤ 0 is kept.
"""

from __future__ import annotations

import math

import numpy as np

from mercer._numba import compiled

__all__ = ["fit_sigmoid", "sigmoid", "smoothed_targets"]

# Newton steps, largest gradient of a solution, ridge and shortest step as in Lin, Lin and Weng.
MAX_STEPS = 100
SMALL_GRADIENT = 1e-5
RIDGE = 1e-12
SHORTEST_STEP = 1e-10


def sigmoid(f: np.ndarray, A: float | np.ndarray, B: float | np.ndarray) -> np.ndarray:
    """1 / (1 + exp(A f + B)) without overflow."""
    z = A * f + B
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, e, 1.0) / (1.0 + e)


def smoothed_targets(is_positive: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, float]:
    """Labels away from 0 and 1 by what as many rows can tell: Platt's. And the prior's offset B."""
    n_positive, n_negative = w[is_positive].sum(), w[~is_positive].sum()
    t = np.where(is_positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    return t, math.log((n_negative + 1) / (n_positive + 1))


def fit_sigmoid(
    f: np.ndarray, is_positive: np.ndarray, weight: np.ndarray | None = None
) -> tuple[float, float]:
    """A ≤ 0 and B of the sigmoid that fits decision values to labels."""
    w = np.ones(f.size) if weight is None else weight
    t, prior = smoothed_targets(is_positive, w)
    values, w = (np.ascontiguousarray(each, np.float64) for each in (f, w))
    A, B = _newton(values, t, w, prior)
    return (A, B) if A <= 0 else (0.0, prior)


@compiled(inner=True)
def _loss(f, t, w, A, B):
    """Σ w (t z + log(1 + exp(−z))), z = A f + B."""
    total = 0.0
    for i in range(f.size):
        z = A * f[i] + B
        total += w[i] * (t[i] * z + max(-z, 0.0) + math.log1p(math.exp(-abs(z))))
    return total


@compiled
def _newton(f, t, w, prior):
    """Newton's method with backtracking from A = 0 and B = ``prior``."""
    A, B = 0.0, prior
    value = _loss(f, t, w, A, B)
    for _ in range(MAX_STEPS):
        gA, gB, AA, AB, BB = 0.0, 0.0, RIDGE, 0.0, RIDGE
        for i in range(f.size):
            z = A * f[i] + B
            e = math.exp(-abs(z))
            p = (e if z >= 0 else 1.0) / (1.0 + e)
            slope, curvature = w[i] * (t[i] - p), w[i] * e / ((1.0 + e) * (1.0 + e))
            gA += slope * f[i]
            gB += slope
            AA += curvature * f[i] * f[i]
            AB += curvature * f[i]
            BB += curvature
        if max(abs(gA), abs(gB)) < SMALL_GRADIENT:
            break
        determinant = AA * BB - AB * AB
        if not determinant > 0:  # all f are equal up to rounding
            break
        dA, dB = (AB * gB - BB * gA) / determinant, (AB * gA - AA * gB) / determinant
        slope_along, step, new = gA * dA + gB * dB, 1.0, value
        while step >= SHORTEST_STEP:
            new = _loss(f, t, w, A + step * dA, B + step * dB)
            if new < value + 1e-4 * step * slope_along:
                break
            step /= 2
        if step < SHORTEST_STEP:
            break
        A, B, value = A + step * dA, B + step * dB, new
    return A, B
