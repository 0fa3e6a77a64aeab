"""Reduced sets: functions Σ cᵢ k(zᵢ, ·) by fewer of their own vectors.

Given w_t = Σᵢ c_tᵢ φ(zᵢ) for some outputs t, vectors P are chosen one by one, and the w̃_t are the
orthogonal projections of the w_t onto the span of φ(z_p), p ∈ P: the best coefficients that there
are (Burges 1996; Schölkopf, Mika et al. 1999). The next vector is the one whose addition reduces
Σ_t ‖w_t − w̃_t‖² most (orthogonal matching pursuit, Vincent and Bengio 2002, section 2.3): with the
residual functions r_t = w_t − w̃_t and the residual diagonal d = diag(K − L Lᵀ) that is the largest
Σ_t r_t(zᵢ)² / dᵢ, and L is the pivoted Cholesky factor of K.

Of class pairs, w_t has vectors of its two classes only, and so has w̃_t: a vector keeps k − 1
coefficients, one for each pair of its class, where k (k − 1)/2 would cost more than its kernel
value. Each pair then has a factor L of its own, and the gains of a vector are summed over them.

For every x, |f_t(x) − f̃_t(x)| = |⟨w_t − w̃_t, φ(x)⟩| ≤ ‖w_t − w̃_t‖ √k(x, x).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from mercer._precision import EPS
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
    gram: BlockedGram,
    coef: np.ndarray,
    max_vectors: int | None,
    max_change: float | None,
    supports: Sequence[tuple[np.ndarray, np.ndarray]],
) -> ReducedSet:
    """The vectors that matter most to functions with coefficients ``coef`` (outputs, n).

    At most ``max_vectors`` of them, and no more than it takes for ‖w − w̃‖ ≤ ``max_change`` of every
    output. ``supports`` has (vectors, outputs): which vectors some outputs may have.
    """
    values = np.zeros_like(coef)
    for members, outputs in supports:
        for t in outputs:
            values[t, members] = gram.bounded_sums(coef[t], members)[0]
    factors = [_Factor(gram, coef, values, *pair) for pair in supports]
    chosen = _pursue(gram, factors, max_vectors or gram.n, max_change)
    dense = np.zeros_like(coef)
    change = np.zeros(coef.shape[0])
    for factor in factors:
        dense[np.ix_(factor.outputs, factor.members)] = factor.coefficients()
        for t in factor.outputs:
            change[t] = _distance(gram, coef[t], dense[t], factor.members)
    index = np.sort(np.array(chosen, dtype=np.intp))
    norm = np.sqrt(np.maximum((coef * values).sum(axis=1), 0.0))
    return ReducedSet(index, np.ascontiguousarray(dense[:, index]), change, norm)


class _Factor:
    """The pivoted Cholesky factor of K among ``members``, and the residuals of some outputs.

    Attributes
    ----------
    place : int array of shape (n,)
        The number of a vector among the members, or −1.
    gain : float64 array
        Of each member, how much Σ ‖w − w̃‖² falls if it is chosen.
    left : float64 array
        The residual diagonal.
    """

    def __init__(
        self,
        gram: BlockedGram,
        coef: np.ndarray,
        values: np.ndarray,
        members: np.ndarray,
        outputs: np.ndarray,
    ):
        self.members, self.outputs = members, outputs
        self.place = np.full(gram.n, -1, dtype=np.intp)
        self.place[members] = np.arange(members.size)
        self.coef = coef[np.ix_(outputs, members)]
        self.residual = values[np.ix_(outputs, members)]
        # Below this ‖w − w̃‖² cannot be told from the rounding of its sum.
        terms = np.abs(self.coef * self.residual).sum(axis=1)
        self.noise = members.size * EPS * terms
        self.left = np.asarray(gram.diag(), np.float64)[members]
        self.least = IN_SPAN * float(self.left.max(initial=0.0))
        self.pivots: list[int] = []
        self.alpha: list[np.ndarray] = []  # Lᵀ c̃
        self.L = np.empty((0, members.size))  # rows of Lᵀ
        self._measure()

    def _measure(self) -> None:
        self.norm2 = (self.coef * self.residual).sum(axis=1)
        gain = (self.residual**2).sum(axis=0)
        self.gain = np.zeros(gain.size)
        if (self.norm2 > self.noise).any():
            np.divide(gain, self.left, out=self.gain, where=self.left > self.least)

    def add(self, pivot: int, column: np.ndarray) -> None:
        """Choose a vector, whose kernel values with all vectors are ``column``."""
        at, step = int(self.place[pivot]), len(self.pivots)
        if self.left[at] <= self.least:
            return
        if step == self.L.shape[0]:
            more = min(max(step, 16), self.members.size - step)
            self.L = np.concatenate([self.L, np.empty((more, self.members.size))])
        L, root = self.L, np.sqrt(self.left[at])
        L[step] = (column[self.members] - L[:step, at] @ L[:step]) / root
        L[step, self.pivots] = 0.0
        part = self.residual[:, at] / root
        self.residual -= np.outer(part, L[step])
        self.left -= L[step] ** 2
        self.left[at] = 0.0
        self.pivots.append(at)
        self.alpha.append(part)
        self._measure()

    def coefficients(self) -> np.ndarray:
        """c̃ of the outputs at the members; zero but at the chosen ones."""
        found = np.zeros(self.coef.shape)
        if self.pivots:
            square = self.L[: len(self.pivots), self.pivots]
            found[:, self.pivots] = solve_triangular(square, np.array(self.alpha), lower=False).T
        return found


def _pursue(
    gram: BlockedGram, factors: list[_Factor], most: int, max_change: float | None
) -> list[int]:
    """The vectors chosen, in the order of the choice."""
    everyone = np.arange(gram.n)
    numbers = np.concatenate([factor.members for factor in factors])
    chosen: list[int] = []
    while len(chosen) < min(most, gram.n):
        largest = max(factor.norm2.max(initial=0.0) for factor in factors)
        if max_change is not None and largest <= SAFETY * max_change**2:
            break
        gains = np.concatenate([factor.gain for factor in factors])
        gain = np.bincount(numbers, gains, gram.n)
        pivot = int(np.argmax(gain))
        if gain[pivot] <= 0.0:
            break
        column = gram.block(everyone, np.array([pivot]))[:, 0]
        for factor in factors:
            if factor.place[pivot] >= 0:
                factor.add(pivot, column)
        chosen.append(pivot)
    return chosen


def _distance(gram: BlockedGram, coef: np.ndarray, kept: np.ndarray, members: np.ndarray) -> float:
    """An upper bound of ‖w − w̃‖, from kernel sums whose rounding is bounded."""
    delta = coef - kept
    f, error = gram.bounded_sums(delta, members)
    # δᵀKδ with the rounding of its own sum; δ itself was rounded at the kept vectors.
    terms = np.abs(delta[members])
    rounding = 2 * gram.n * EPS * float(terms @ np.abs(f))
    index = np.flatnonzero(kept)
    roots = np.sqrt(np.abs(gram.diag())[index])
    lost = EPS * np.abs(delta[index]) @ roots
    squared = float(delta[members] @ f) + float(terms @ error) + rounding
    return float(np.sqrt(max(squared, 0.0)) + lost)
