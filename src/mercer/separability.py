"""Hard margin on data that cannot be separated: the proof, a point in both convex hulls.

Classes are separable by a hyperplane in feature space if and only if their convex hulls do not
meet. Signed weights v (positive ones sum to 1, negative ones to −1) pick a point from each hull, at
distance √(vᵀKv); zero is the proof. On such data the dual has no maximum: β grows without limit
while its direction tends to a proof, slowly (the distance falls with the number of updates). So

1. `hull_distance_sq` of the present β is cheap and tells when a proof is worth trying, and
2. `prove_inseparable` tries: non-negative least squares on the present support vectors finds the
   exact weights. Where the hulls do not meet it returns None, and the solver goes on.

`HardMarginWatch` does both for a solver, between its rounds.

Without an intercept the hyperplane goes through the origin: the proof is a convex combination of
the points yᵢφ(xᵢ) that is zero, and Σ|v| = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

__all__ = ["HardMarginWatch", "HullProof", "hull_distance_sq", "prove_inseparable"]

# Points of the proof are sought among this many support vectors, those with the largest |β|.
_MOST_POINTS = 1000
# A proof is tried when the squared distance is this part of the kernel's scale, and where it fails
# again each time the distance has become ten times smaller.
_FIRST_TRY = 1e-2
_NEXT_TRY = 1e-2


@dataclass(frozen=True, eq=False)
class HullProof:
    """Signed weights under which a point lies in both convex hulls.

    Attributes
    ----------
    weights : float64 array, one entry per point
        Positive over one class and negative over the other, summing to 1 and −1.
    distance : float
        √(vᵀKv) of the two points, against √(scale of the kernel): rounding only.
    """

    weights: np.ndarray
    distance: float


class HardMarginWatch:
    """Called between rounds with (β, f): a proof as soon as there is one, else None.

    Without an infinite bound there is nothing to watch, and a call costs nothing.

    Parameters
    ----------
    problem : BoxQP
    gram : Gram
    """

    def __init__(self, problem: Any, gram: Any):
        infinite = np.isinf(problem.upper) | np.isinf(problem.lower)
        self.is_idle = problem.row is not None or not infinite.all()
        self.fit_intercept = problem.group is not None
        self.gram = gram
        self.level = 0.0 if self.is_idle else _FIRST_TRY * float(np.abs(gram.diag()).max())

    def __call__(self, beta: np.ndarray, f: np.ndarray) -> HullProof | None:
        if self.is_idle or hull_distance_sq(beta, f) > self.level:
            return None
        self.level = _NEXT_TRY * hull_distance_sq(beta, f)
        return prove_inseparable(
            beta, lambda rows: self.gram.take(rows).matrix(), fit_intercept=self.fit_intercept
        )


def hull_distance_sq(beta: np.ndarray, f: np.ndarray) -> float:
    """Squared distance of the two points of the hulls that β, normalised, picks (f = Kβ)."""
    half_sum = np.abs(beta).sum() / 2
    return float(beta @ f) / half_sum**2 if half_sum > 0 else np.inf


def prove_inseparable(
    beta: np.ndarray, kernel_of: Callable[[np.ndarray], np.ndarray], *, fit_intercept: bool = True
) -> HullProof | None:
    """The proof that hard margin is impossible, sought among the support vectors of β.

    Parameters
    ----------
    beta : float64 array
        Signed duals: the label of a support vector is the sign of its β.
    kernel_of : callable
        ``kernel_of(rows)`` is the float64 kernel matrix of these points.
    """
    rows = np.flatnonzero(beta)
    if rows.size > _MOST_POINTS:
        rows = np.sort(rows[np.argsort(-np.abs(beta[rows]), kind="stable")[:_MOST_POINTS]])
    y = np.sign(beta[rows])
    if rows.size == 0 or (fit_intercept and np.abs(y.sum()) == y.size):
        return None
    K = np.asarray(kernel_of(rows), dtype=np.float64)
    if fit_intercept:  # the distance is that of differences: move the origin to the points' mean
        scale_before = K.diagonal().max()
        mean = K.mean(axis=0)
        K = K - mean - mean[:, None] + mean.mean()
    else:
        scale_before = 0.0
    try:
        v = _nearest_points(K, y, fit_intercept)
    except RuntimeError:  # least squares gave up: no proof this time
        return None
    distance_sq = max(0.0, float(v @ K @ v))
    rounding = np.finfo(np.float64).eps * max(K.diagonal().max(), scale_before) * 64
    if distance_sq > rounding:
        return None
    weights = np.zeros(beta.shape[0])
    weights[rows] = v
    scale = K.diagonal().max()
    return HullProof(weights, float(np.sqrt(distance_sq / scale)) if scale > 0 else 0.0)


def _nearest_points(K: np.ndarray, y: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """Signed weights v = y∘u, u ≥ 0, with the required sums and (nearly) the least vᵀKv.

    Least squares on [features; sums] u = [0; 1]: exact where zero can be reached.
    """
    values, vectors = np.linalg.eigh(K)
    keep = values > max(values[-1], 0.0) * K.shape[0] * np.finfo(np.float64).eps
    scale = np.sqrt(values[-1]) if keep.any() else 1.0
    features = (np.sqrt(values[keep]) / scale)[:, None] * vectors[:, keep].T * y
    sums = np.stack([y > 0, y < 0]) if fit_intercept else np.ones((1, y.size))
    A = np.vstack([features, sums.astype(np.float64)])
    u, _ = nnls(A, np.concatenate([np.zeros(features.shape[0]), np.ones(sums.shape[0])]))
    for side in sums.astype(bool):
        total = u[side].sum()
        u[side] = u[side] / total if total > 0 else 1.0 / side.sum()
    return y * u
