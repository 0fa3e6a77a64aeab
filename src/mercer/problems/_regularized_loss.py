"""The primal problem of a linear model, its dual, and the gap between them.

    minimise over w, b   P = ½‖w‖² + ½ κ b² + Σ Lᵢ(xᵢ·w + b)
    maximise over β      D = −Σ Lᵢ*(−βᵢ) − ½‖Xᵀβ‖² − (Σβ)²/(2κ)

κ is the ``intercept_penalty``: 0 leaves the intercept free, and then Σβ = 0 belongs to the dual;
1/s² is the problem of LIBLINEAR with ``intercept_scaling=s``; without intercept (None) b = 0 and
the sum is free. The losses are those of `mercer.problems._losses`. For every (w, b) and every
feasible β, with g = X w + b,

    P − D = ½‖w − Xᵀβ‖² + ½ κ (b − Σβ/κ)² + Σ (Lᵢ(gᵢ) + Lᵢ*(−βᵢ) + βᵢ gᵢ)

a sum of non-negative terms (the second is −b Σβ, zero, for κ = 0).

`LinearPrimal.bounds` is that sum with every rounding error at its worst: of the scores and of Xᵀβ
as their products bound them, of the interval ends y ± ε, of C (a product of up to three factors:
duals are taken (1 − 3u) times as large, which keeps their sum and their bounds), of b and of the
sums themselves. A drift Σβ ≠ 0 is moved onto one dual by the caller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer._precision import UNIT
from mercer.problems._loss_bounds import bounded_gap_terms
from mercer.problems._losses import (
    EPSILON_INSENSITIVE,
    LOGISTIC,
    SQUARED,
    UNBOUNDED,
    capacity,
    clip_to_domain,
    loss_and_gap,
    restore_sum,
)

__all__ = [
    "NO_PENALTY",
    "Bounds",
    "L1Primal",
    "LinearPrimal",
    "bounds_of_sums",
    "classification",
    "half_square",
    "logistic",
    "regression",
]

# Rounded factors whose product C of a row is, at the most.
_C_FACTORS = 3
# The C of rows whose class has the weight 0: their interval has no ends.
NO_PENALTY = 1e-300


@dataclass(frozen=True)
class Bounds:
    """An upper bound of the primal value, and of its distance from the dual value of some β."""

    primal: float
    gap: float

    @classmethod
    def of(cls, least: float, most: float, gap: float, n: int, d: int) -> Bounds:
        """From bounds of the primal value and of the sum of the gap terms, both summed in floats.

        ``primal − gap`` must not be above the dual value: what the primal value is rounded up by is
        added to the gap.
        """
        units = (n // 256 + d + 300) * UNIT
        primal = most * (1 + units)
        above = primal - least * (1 - units)
        return cls(primal, (gap * (1 + units) + max(above, 0.0)) * (1 + 4 * UNIT))


def half_square(v: np.ndarray, factor: float = 1.0) -> float:
    """½ factor ‖v‖², also where squares would be below the smallest number."""
    top = float(np.abs(v).max(initial=0.0))
    if top == 0 or not np.isfinite(top):
        return top
    if 1e-100 < top < 1e100:
        return float(np.vdot(v, v)) * factor / 2
    scaled = v / top
    return float(np.vdot(scaled, scaled)) * factor / 2 * top * top + 1e-320


def bounds_of_sums(
    losses: tuple[float, float, float],
    w: np.ndarray,
    b: np.ndarray | float,
    w_beta: tuple[np.ndarray, np.ndarray | float],
    totals: tuple[np.ndarray | float, np.ndarray | float],
    intercept_penalty: float | None,
) -> tuple[float, float, float]:
    """Least and most primal value and largest gap, from those of the losses.

    ``w_beta`` and ``totals`` are Xᵀβ and Σβ, each with the bound of its error; of several classes
    arrays. One number as the error of Xᵀβ bounds its length.
    """
    least, most, gap = losses
    gap += 2 * _C_FACTORS * UNIT * most
    sums, error = w_beta
    off = np.abs(w - sums) * (1 + 2 * UNIT) + (_C_FACTORS + 1) * UNIT * np.abs(sums)
    if isinstance(error, float):
        square = half_square(off)
        gap += square + error * (1.01 * math.sqrt(2 * square) + error)
    else:
        gap += half_square(off + error)
    square = half_square(w)
    least, most = (1 - _C_FACTORS * UNIT) * least, (1 + _C_FACTORS * UNIT) * most
    if intercept_penalty:
        square += intercept_penalty * float(np.sum(np.square(b))) / 2
        scaled = intercept_penalty * np.asarray(b)
        size = np.abs(scaled - totals[0]) + totals[1] + 8 * UNIT * np.abs(scaled)
        gap += float(np.sum((size + 8 * UNIT * np.abs(totals[0])) ** 2)) / (2 * intercept_penalty)
    return least + square, most + square, gap


@dataclass(frozen=True, eq=False)
class LinearPrimal:
    """Pure data: the losses of the rows, and the penalty of the intercept.

    Attributes
    ----------
    kind : int
        EPSILON_INSENSITIVE, SQUARED or LOGISTIC.
    low, high, C : float64 arrays, one entry per row
    intercept_penalty : float or None
        The factor κ of ½ b²; 0 for a free intercept, None for none.
    interval_error : float64 array or None
        By how much low and high were rounded; None where they are exact.
    """

    kind: int
    low: np.ndarray
    high: np.ndarray
    C: np.ndarray
    intercept_penalty: float | None = 0.0
    interval_error: np.ndarray | None = None

    @property
    def n(self) -> int:
        return self.low.size

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.low, self.high, self.C

    def take(self, rows: np.ndarray, factor: float = 1.0) -> LinearPrimal:
        """The losses of some rows, their C times a factor."""
        low, high, C = (values[rows] for values in self.arrays)
        error = None if self.interval_error is None else self.interval_error[rows]
        return LinearPrimal(self.kind, low, high, C * factor, self.intercept_penalty, error)

    def with_C(self, factor: float) -> LinearPrimal:
        """The same problem with every C times a factor."""
        return replace(self, C=self.C * factor)

    def primal_and_gap(
        self, w: np.ndarray, b: float, beta: np.ndarray, g: np.ndarray, w_beta: np.ndarray
    ) -> tuple[float, float]:
        """Primal value and gap, from g = X w + b and w_beta = Xᵀβ."""
        loss, gap = loss_and_gap(self.kind, g, beta, self.low, self.high, self.C)
        off, penalty = w - w_beta, self.intercept_penalty
        primal = w @ w / 2 + loss
        gap += off @ off / 2
        if penalty:
            primal += penalty * b * b / 2
            gap += penalty * (b - beta.sum() / penalty) ** 2 / 2
        return float(primal), float(gap)

    def gap_terms(
        self, beta: np.ndarray, g: np.ndarray, error: np.ndarray
    ) -> tuple[np.ndarray, tuple[float, float, float]]:
        """Largest term of each row over g ± error; smallest and largest loss and their sum."""
        if self.interval_error is not None:
            error = error + self.interval_error
        out = np.empty(self.n)
        if not (np.isfinite(g).all() and np.isfinite(error).all()):
            return np.full(self.n, np.inf), (0.0, np.inf, np.inf)
        return out, bounded_gap_terms(self.kind, g, error, beta, *self.arrays, out)

    def bounds(
        self,
        w: np.ndarray,
        b: float,
        beta: np.ndarray,
        g: tuple[np.ndarray, np.ndarray],
        w_beta: tuple[np.ndarray, np.ndarray | float],
        total: tuple[float, float],
        absorbing: Sequence[int] = (),
    ) -> Bounds:
        """Bounds of value and gap from X w + b, Xᵀβ and Σβ, each with its error.

        Where the intercept is free Σβ is zero up to its error, by which one of the duals
        ``absorbing`` is changed; the error of Xᵀβ must include that.
        """
        losses = self.gap_terms(beta, *g)[1]
        sums = bounds_of_sums(losses, w, b, w_beta, total, self.intercept_penalty)
        bounds = Bounds.of(*sums, self.n, w.size)
        return replace(bounds, gap=bounds.gap + self._absorbing_cost(beta, g, total, absorbing))

    def _absorbing_cost(
        self,
        beta: np.ndarray,
        g: tuple[np.ndarray, np.ndarray],
        total: tuple[float, float],
        absorbing: Sequence[int],
    ) -> float:
        """By how much the terms of the absorbing rows grow at most."""
        more = 0.0
        for k in absorbing:
            one, at = self.take(np.array([k])), (g[0][k : k + 1], g[1][k : k + 1])
            old = beta[k : k + 1]
            now = one.gap_terms(old, *at)[1][2]
            then = one.gap_terms(old - np.sign(old) * total[1], *at)[1][2]
            more += max(then - now, 0.0) + 16 * UNIT * max(now, then)
        return 1.01 * more

    def clipped(self, beta: np.ndarray) -> np.ndarray:
        """A copy of β within its bounds."""
        out = np.empty_like(beta)
        clip_to_domain(self.kind, beta, *self.arrays, out)
        return out

    def constant_fit(self) -> float | None:
        """An intercept that makes every loss zero with w = 0, if there is one."""
        if self.kind == LOGISTIC:
            return None
        low, high = float(self.low.max()), float(self.high.min())
        if low > high or (self.intercept_penalty != 0 and not low <= 0 <= high):
            return None
        if low <= 0 <= high:
            return 0.0
        ends = [end for end in (low, high) if abs(end) < UNBOUNDED]
        return ends[0] + (ends[-1] - ends[0]) / 2

    def feasible(self, beta: np.ndarray) -> np.ndarray:
        """β with Σβ = 0 where the intercept is free.

        Free duals of the ε-insensitive loss absorb the excess within their bounds; where they
        cannot, and for smooth losses, the duals of the sign with the larger sum are scaled down.
        """
        if self.intercept_penalty != 0:
            return beta
        excess = float(beta.sum())
        if excess == 0:
            return beta
        if self.kind == EPSILON_INSENSITIVE:
            total = capacity(beta, self.C, excess)
            if total > abs(excess):
                out = np.empty_like(beta)
                restore_sum(beta, self.C, excess, excess / total, out)
                return out
        up, down = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        more, less = up.sum(), down.sum()
        if more > less:
            return up * (less / more) - down
        return up - down * (more / less) if less > 0 else beta


@dataclass(frozen=True, eq=False)
class L1Primal(LinearPrimal):
    """The squared hinge with ‖w‖₁ + κ|b| in place of the squares.

    The dual D = −Σ Lᵢ*(−βᵢ) has the constraints |Xᵀβ| ≤ 1 for every column and |Σβ| ≤ κ, and

        P − D = Σ (|wⱼ| − wⱼ (Xᵀβ)ⱼ) + κ|b| − bΣβ + Σ (Lᵢ(gᵢ) + Lᵢ*(−βᵢ) + βᵢ gᵢ)

    D is concave with D(0) = 0: where a constraint is violated by a factor m > 1, β/m is feasible,
    and P − D(β/m) exceeds P − D(β) by at most (1 − 1/m) P.
    """

    def violation(self, w_beta: np.ndarray, total: float) -> float:
        """The factor m: the largest |Xᵀβ| and |Σβ|/κ."""
        largest = float(np.abs(w_beta).max(initial=0.0))
        return max(largest, abs(total) / self.intercept_penalty if self.intercept_penalty else 0.0)

    def best_scale(self, beta: np.ndarray, w_beta: np.ndarray) -> float:
        """The factor of β, within the constraints, with the largest dual value."""
        linear, square = float(np.abs(beta).sum()), float((beta * (beta / self.C)).sum()) / 4
        best = linear / (2 * square) if square > 0 else 1.0
        largest = self.violation(w_beta, float(beta.sum()))
        return min(best, 1.0 / largest) if largest > 0 else best

    def primal_and_gap(
        self, w: np.ndarray, b: float, beta: np.ndarray, g: np.ndarray, w_beta: np.ndarray
    ) -> tuple[float, float]:
        """Primal value and gap, from g = X w + b and w_beta = Xᵀβ."""
        loss, gap = loss_and_gap(self.kind, g, beta, self.low, self.high, self.C)
        total, penalty = float(beta.sum()), self.intercept_penalty
        primal = float(np.abs(w).sum()) + loss
        gap += float((np.abs(w) - w * w_beta).sum())
        if penalty:
            primal += penalty * abs(b)
            gap += penalty * abs(b) - b * total
        outside = max(1 - 1 / max(self.violation(w_beta, total), 1.0), 0.0)
        return float(primal), float(gap + outside * primal)

    def bounds(
        self,
        w: np.ndarray,
        b: float,
        beta: np.ndarray,
        g: tuple[np.ndarray, np.ndarray],
        w_beta: tuple[np.ndarray, np.ndarray | float],
        total: tuple[float, float],
        absorbing: Sequence[int] = (),
    ) -> Bounds:
        """As for squares; β is taken (1 − 3u)/m times as large."""
        least, most, gap = self.gap_terms(beta, *g)[1]
        least, most = (1 - _C_FACTORS * UNIT) * least, (1 + _C_FACTORS * UNIT) * most
        gap += _C_FACTORS * UNIT * most
        (sums, error), penalty = w_beta, self.intercept_penalty
        below = 1 - np.sign(w) * sums + error + 2 * UNIT * (1 + np.abs(sums))
        gap += float((np.abs(w) * np.maximum(below, 0.0)).sum())
        norm = float(np.abs(w).sum())
        if penalty:
            norm += penalty * abs(b)
            below_b = penalty - math.copysign(total[0], total[0] * b) + total[1]
            gap += abs(b) * max(below_b + 4 * UNIT * (penalty + abs(total[0])), 0.0)
        largest = self.violation(np.abs(sums) + error, abs(total[0]) + total[1]) * (1 + 4 * UNIT)
        gap += (max(1 - 1 / max(largest, 1.0), 0.0) + 8 * UNIT) * (most + norm)
        bounds = Bounds.of(least + norm, most + norm, gap, self.n, w.size)
        return replace(bounds, gap=bounds.gap + self._absorbing_cost(beta, g, total, absorbing))


def classification(
    y: np.ndarray,
    C: np.ndarray,
    *,
    squared: bool,
    intercept_penalty: float | None,
    l1: bool = False,
) -> LinearPrimal:
    """Hinge, or its square: labels y = ±1; ``l1``: with ‖w‖₁."""
    kind = SQUARED if squared else EPSILON_INSENSITIVE
    is_penalised = C > NO_PENALTY
    low = np.where((y > 0) & is_penalised, 1.0, -UNBOUNDED)
    high = np.where((y > 0) | ~is_penalised, UNBOUNDED, -1.0)
    return (L1Primal if l1 else LinearPrimal)(kind, low, high, C, intercept_penalty)


def regression(
    y: np.ndarray, C: np.ndarray, epsilon: float, *, squared: bool, intercept_penalty: float | None
) -> LinearPrimal:
    """ε-insensitive, or its square."""
    kind = SQUARED if squared else EPSILON_INSENSITIVE
    low, high = y - epsilon, y + epsilon
    error = np.maximum(_rounding(y, -epsilon, low), _rounding(y, epsilon, high))
    return LinearPrimal(kind, low, high, C, intercept_penalty, error if error.any() else None)


def _rounding(y: np.ndarray, more: float, total: np.ndarray) -> np.ndarray:
    """|y + more − total|, where total is the sum rounded (Knuth's two-sum: exact)."""
    part = total - y
    return np.abs((y - (total - part)) + (more - part))


def logistic(y: np.ndarray, C: np.ndarray, *, intercept_penalty: float | None) -> LinearPrimal:
    """log(1 + exp(−y g)): labels y = ±1."""
    return LinearPrimal(LOGISTIC, np.asarray(y, dtype=np.float64), y, C, intercept_penalty)
