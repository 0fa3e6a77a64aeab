"""The primal of a linear machine, its dual, and the gap between them.

    minimise over w, b   P = ½‖w‖² + ½ κ b² + Σ Lᵢ(xᵢ·w + b)
    maximise over β      D = −Σ Lᵢ*(−βᵢ) − ½‖Xᵀβ‖² − (Σβ)²/(2κ)

κ = 0 leaves the intercept free, and then Σβ = 0 belongs to the dual; κ = 1/s² is the problem of
LIBLINEAR with ``intercept_scaling=s``; without intercept b = 0 and the sum is free. The losses are
those of `mercer.problems._losses`. For every (w, b) and every feasible β, with g = X w + b,

    P − D = ½‖w − Xᵀβ‖² + ½ κ (b − Σβ/κ)² + Σ (Lᵢ(gᵢ) + Lᵢ*(−βᵢ) + βᵢ gᵢ)

a sum of terms none of which is negative (the second is −b Σβ, zero, for κ = 0).

`LinearPrimal.bounds` is that sum with every rounding error at its worst: of the scores and of Xᵀβ
as their passes bound them, of the edges y ± ε, of the prices (products of up to three factors:
duals are taken (1 − 3u) times as large, which keeps their sum and their bounds), of b and of the
sums themselves. A drift Σβ ≠ 0 is what the caller moves onto one dual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.problems._losses import (
    FAR,
    LOGISTIC,
    SQUARED,
    TUBE,
    UNIT,
    bounded_terms,
    cut,
    rebalance,
    room,
    terms,
)

__all__ = [
    "NO_PRICE",
    "Bounds",
    "LinearPrimal",
    "classification",
    "half_square",
    "logistic",
    "regression",
]

# Prices are products of up to three factors.
COST_UNITS = 3
# The price of rows whose class has the weight 0: they have no edges.
NO_PRICE = 1e-300


@dataclass(frozen=True)
class Bounds:
    """An upper bound of the primal value, and of its distance from the dual value of some β."""

    primal: float
    gap: float

    @classmethod
    def of(cls, least: float, most: float, gap: float, n: int, d: int) -> Bounds:
        """From bounds of the primal value and of the terms' sum, both summed in floats.

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


@dataclass(frozen=True, eq=False)
class LinearPrimal:
    """Pure data: the losses of the rows, and what an intercept costs.

    Attributes
    ----------
    kind : int
        TUBE, SQUARED or LOGISTIC.
    low, high, cost : float64 arrays, one entry per row
    kappa : float or None
        Price of ½ b²; 0 for a free intercept, None for none.
    edge_error : float64 array or None
        By how much the edges were rounded; None where they are exact.
    """

    kind: int
    low: np.ndarray
    high: np.ndarray
    cost: np.ndarray
    kappa: float | None = 0.0
    edge_error: np.ndarray | None = None

    @property
    def n(self) -> int:
        return self.low.size

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.low, self.high, self.cost

    def take(self, rows: np.ndarray, factor: float = 1.0) -> LinearPrimal:
        """The losses of some rows, their prices times a factor."""
        low, high, cost = (values[rows] for values in self.arrays)
        error = None if self.edge_error is None else self.edge_error[rows]
        return LinearPrimal(self.kind, low, high, cost * factor, self.kappa, error)

    def with_price(self, factor: float) -> LinearPrimal:
        """The same problem with all prices times a factor."""
        return replace(self, cost=self.cost * factor)

    def values(
        self, w: np.ndarray, b: float, beta: np.ndarray, g: np.ndarray, w_beta: np.ndarray
    ) -> tuple[float, float]:
        """Primal value and gap, from g = X w + b and w_beta = Xᵀβ."""
        loss, gap = terms(self.kind, g, beta, *self.arrays)
        off = w - w_beta
        primal = w @ w / 2 + loss
        gap += off @ off / 2
        if self.kappa:
            primal += self.kappa * b * b / 2
            gap += self.kappa * (b - beta.sum() / self.kappa) ** 2 / 2
        return float(primal), float(gap)

    def gap_terms(
        self, beta: np.ndarray, g: np.ndarray, error: np.ndarray
    ) -> tuple[np.ndarray, float, float, float]:
        """Largest term of each row over g ± error; smallest and largest loss, and their sum."""
        if self.edge_error is not None:
            error = error + self.edge_error
        out = np.empty(self.n)
        if not (np.isfinite(g).all() and np.isfinite(error).all()):
            return np.full(self.n, np.inf), 0.0, np.inf, np.inf
        return out, *bounded_terms(self.kind, g, error, beta, *self.arrays, out)

    def bounds(
        self, w: np.ndarray, b: float, beta: np.ndarray,
        g: tuple[np.ndarray, np.ndarray], w_beta: tuple[np.ndarray, np.ndarray],
        total: tuple[float, float],
    ) -> Bounds:  # fmt: skip
        """Bounds of value and gap from X w + b, Xᵀβ and Σβ, each with its error.

        Where the intercept is free, Σβ must be zero up to what its error and that of Xᵀβ include.
        """
        _, least, most, gap = self.gap_terms(beta, *g)
        gap += 2 * COST_UNITS * UNIT * most
        sums, error = w_beta
        off = np.abs(w - sums) * (1 + 2 * UNIT) + error + (COST_UNITS + 1) * UNIT * np.abs(sums)
        gap += half_square(off)
        square = half_square(w)
        least, most = (1 - COST_UNITS * UNIT) * least, (1 + COST_UNITS * UNIT) * most
        if self.kappa:
            square += self.kappa * b * b / 2
            pull = self.kappa * b
            size = abs(pull - total[0]) + total[1] + 8 * UNIT * (abs(pull) + abs(total[0]))
            gap += size * size / (2 * self.kappa)
        return Bounds.of(least + square, most + square, gap, self.n, w.size)

    def in_domain(self, beta: np.ndarray) -> tuple[np.ndarray, float]:
        """A copy of β in which no dual is beyond its bounds, and the sum of what was cut off."""
        beta = beta.copy()
        return beta, cut(self.kind, beta, *self.arrays)

    def constant_fit(self) -> float | None:
        """An intercept that alone costs nothing, if there is one."""
        if self.kind == LOGISTIC:
            return None
        low, high = float(self.low.max()), float(self.high.min())
        if low > high or (self.kappa != 0 and not low <= 0 <= high):
            return None
        if low <= 0 <= high:
            return 0.0
        ends = [end for end in (low, high) if abs(end) < FAR]
        return ends[0] + (ends[-1] - ends[0]) / 2

    def feasible(self, beta: np.ndarray) -> np.ndarray:
        """β with Σβ = 0 where the intercept is free.

        Free duals of a tube take up what is over, within their bounds; where they cannot, and for
        smooth losses, the heavier side is scaled down.
        """
        if self.kappa != 0:
            return beta
        over = float(beta.sum())
        if over == 0:
            return beta
        if self.kind == TUBE:
            total = room(beta, self.cost, over)
            if total > abs(over):
                out = np.empty_like(beta)
                rebalance(beta, self.cost, over, over / total, out)
                return out
        up, down = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
        more, less = up.sum(), down.sum()
        if more > less:
            return up * (less / more) - down
        return up - down * (more / less) if less > 0 else beta


def classification(
    y: np.ndarray, C: np.ndarray, *, squared: bool, kappa: float | None
) -> LinearPrimal:
    """Hinge, or its square: labels y = ±1."""
    kind = SQUARED if squared else TUBE
    has_price = C > NO_PRICE
    low = np.where((y > 0) & has_price, 1.0, -FAR)
    high = np.where((y > 0) | ~has_price, FAR, -1.0)
    return LinearPrimal(kind, low, high, C, kappa)


def regression(
    y: np.ndarray, C: np.ndarray, epsilon: float, *, squared: bool, kappa: float | None
) -> LinearPrimal:
    """ε-insensitive, or its square."""
    kind = SQUARED if squared else TUBE
    low, high = y - epsilon, y + epsilon
    error = np.maximum(_rounding(y, -epsilon, low), _rounding(y, epsilon, high))
    return LinearPrimal(kind, low, high, C, kappa, error if error.any() else None)


def _rounding(y: np.ndarray, more: float, total: np.ndarray) -> np.ndarray:
    """|y + more − total|, where total is the sum rounded (Knuth's two-sum: exact)."""
    part = total - y
    return np.abs((y - (total - part)) + (more - part))


def logistic(y: np.ndarray, C: np.ndarray, *, kappa: float | None) -> LinearPrimal:
    """log(1 + exp(−y g)): labels y = ±1."""
    return LinearPrimal(LOGISTIC, np.asarray(y, dtype=np.float64), y, C, kappa)
