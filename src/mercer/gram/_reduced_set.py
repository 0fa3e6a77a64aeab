"""Reduced sets: functions Σ cᵢ k(zᵢ, ·) by fewer of their own vectors.

Given w_t = Σᵢ c_tᵢ φ(zᵢ) for some outputs t, vectors P are chosen one by one, and the w̃_t are the
orthogonal projections of the w_t onto the span of φ(z_p), p ∈ P: the best coefficients that there
are (Burges 1996; Schölkopf, Mika et al. 1999). The next vector is the one whose addition reduces
Σ_t ‖w_t − w̃_t‖² most (orthogonal matching pursuit, Vincent and Bengio 2002, section 2.3): with the
residual functions r_t = w_t − w̃_t and the residual diagonal d = diag(K − L Lᵀ) that is the largest
Σ_t r_t(zᵢ)² / dᵢ, and L is the pivoted Cholesky factor of K.

For every x, |f_t(x) − f̃_t(x)| = |⟨w_t − w̃_t, φ(x)⟩| ≤ ‖w_t − w̃_t‖ √k(x, x).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer.gram._blocked import BlockedGram

__all__ = ["ReducedSet", "reduce_set"]

# A vector z is in the span of those before it if its residual is at most IN_SPAN · max k(z, z).
IN_SPAN = 1e-12
# What is asked for is approached by estimates; the final bound includes rounding.
SAFETY = 0.99


@dataclass(frozen=True, eq=False)
class ReducedSet:
    """Some of the vectors, their coefficients, and how far the functions moved.

    Attributes
    ----------
    index : int array of shape (m,)
        The vectors that are kept, in their order.
    coef : float64 array of shape (outputs, m)
    change : float64 array of shape (outputs,)
        Upper bounds of ‖w − w̃‖, rounding included.
    norm : float64 array of shape (outputs,)
        ‖w‖.
    """

    index: np.ndarray
    coef: np.ndarray
    change: np.ndarray
    norm: np.ndarray


def reduce_set(
    gram: BlockedGram, coef: np.ndarray, max_vectors: int | None, max_change: float | None
) -> ReducedSet:
    """The vectors that matter most to functions with coefficients ``coef`` (outputs, n).

    At most ``max_vectors`` of them, and no more than it takes for ‖w − w̃‖ ≤ ``max_change`` of every
    output.
    """
    values = np.array([gram.bounded_sums(row, np.arange(gram.n))[0] for row in coef])
    pivots, alpha, L = _pursue(gram, coef, values, max_vectors or gram.n, max_change)
    found = solve_triangular(L[: len(pivots), pivots], alpha, lower=False) if pivots else alpha
    order = np.argsort(pivots, kind="stable").astype(np.intp)
    index = np.array(pivots, dtype=np.intp)[order]
    kept = np.ascontiguousarray(found[order].T)
    change = [_distance(gram, row, index, own) for row, own in zip(coef, kept, strict=True)]
    norm = np.sqrt(np.maximum((coef * values).sum(axis=1), 0.0))
    return ReducedSet(index, kept, np.array(change), norm)


def _pursue(
    gram: BlockedGram,
    coef: np.ndarray,
    values: np.ndarray,
    most: int,
    max_change: float | None,
) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Pivots, Lᵀ c̃ (steps, outputs), and rows of Lᵀ (steps, n)."""
    n, everyone = gram.n, np.arange(gram.n)
    most = min(most, n)
    left = np.asarray(gram.diag(), np.float64).copy()
    least = IN_SPAN * float(left.max(initial=0.0))
    residual = values.copy()
    # Below this ‖w − w̃‖² cannot be told from the rounding of its sum.
    noise = n * np.finfo(np.float64).eps * np.abs(coef * values).sum(axis=1)
    alpha: list[np.ndarray] = []
    pivots: list[int] = []
    L = np.empty((min(most, 64), n))
    while len(pivots) < most:
        norm2 = (coef * residual).sum(axis=1)
        if max_change is not None and norm2.max(initial=0.0) <= SAFETY * max_change**2:
            break
        if (norm2 <= noise).all():
            break
        gain = (residual**2).sum(axis=0)
        gain = np.divide(gain, left, out=np.zeros(n), where=left > least)
        pivot = int(np.argmax(gain))
        if gain[pivot] <= 0.0:
            break
        step = len(pivots)
        if step == L.shape[0]:
            L = np.concatenate([L, np.empty((min(step, most - step), n))])
        root = np.sqrt(left[pivot])
        column = gram.block(everyone, np.array([pivot]))[:, 0]
        L[step] = (column - L[:step, pivot] @ L[:step]) / root
        L[step, pivots] = 0.0
        part = residual[:, pivot] / root
        residual -= np.outer(part, L[step])
        left -= L[step] ** 2
        left[pivot] = 0.0
        pivots.append(pivot)
        alpha.append(part)
    return pivots, np.array(alpha).reshape(len(pivots), coef.shape[0]), L[: len(pivots)]


def _distance(gram: BlockedGram, coef: np.ndarray, index: np.ndarray, kept: np.ndarray) -> float:
    """An upper bound of ‖w − w̃‖, from kernel sums whose rounding is bounded."""
    delta = coef.copy()
    delta[index] -= kept
    f, error = gram.bounded_sums(delta, np.arange(gram.n))
    # δᵀKδ with the rounding of its own sum; δ itself was rounded at the kept vectors.
    terms = np.abs(delta)
    rounding = 2 * gram.n * np.finfo(np.float64).eps * float(terms @ np.abs(f))
    lost = np.finfo(np.float64).eps * terms[index] @ np.sqrt(np.abs(gram.diag())[index])
    squared = float(delta @ f) + float(terms @ error) + rounding
    return float(np.sqrt(max(squared, 0.0)) + lost)
