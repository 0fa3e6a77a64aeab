"""The primal of a linear machine, its dual, and the gap between them.

    minimise over w, b   P = ½‖w‖² + ½ κ b² + Σ Lᵢ(xᵢ·w + b)
    maximise over β      D = −Σ Lᵢ*(−βᵢ) − ½‖Xᵀβ‖² − (Σβ)²/(2κ)

κ = 0 leaves the intercept free, and then Σβ = 0 belongs to the dual; κ = 1/s² is the problem of
LIBLINEAR with ``intercept_scaling=s``; without intercept b = 0 and the sum is free. The losses are
those of `mercer.problems.losses`. For every (w, b) and every feasible β, with g = X w + b,

    P − D = ½‖w − Xᵀβ‖² + ½ κ (b − Σβ/κ)² + Σ (Lᵢ(gᵢ) + Lᵢ*(−βᵢ) + βᵢ gᵢ)

a sum of terms none of which is negative (the second is −b Σβ, zero, for κ = 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.problems.losses import FAR, LOGISTIC, SQUARED, TUBE, rebalance, room, terms

__all__ = ["LinearPrimal", "classification", "logistic", "regression"]


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
    """

    kind: int
    low: np.ndarray
    high: np.ndarray
    cost: np.ndarray
    kappa: float | None = 0.0

    @property
    def n(self) -> int:
        return self.low.size

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.low, self.high, self.cost

    def take(self, rows: np.ndarray, factor: float = 1.0) -> LinearPrimal:
        """The losses of some rows, their prices times a factor."""
        low, high, cost = (values[rows] for values in self.arrays)
        return LinearPrimal(self.kind, low, high, cost * factor, self.kappa)

    def with_price(self, factor: float) -> LinearPrimal:
        """The same problem with all prices times a factor."""
        return LinearPrimal(self.kind, self.low, self.high, self.cost * factor, self.kappa)

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
    return LinearPrimal(kind, np.where(y > 0, 1.0, -FAR), np.where(y > 0, FAR, -1.0), C, kappa)


def regression(
    y: np.ndarray, C: np.ndarray, epsilon: float, *, squared: bool, kappa: float | None
) -> LinearPrimal:
    """ε-insensitive, or its square."""
    kind = SQUARED if squared else TUBE
    return LinearPrimal(kind, y - epsilon, y + epsilon, C, kappa)


def logistic(y: np.ndarray, C: np.ndarray, *, kappa: float | None) -> LinearPrimal:
    """log(1 + exp(−y g)): labels y = ±1."""
    return LinearPrimal(LOGISTIC, np.asarray(y, dtype=np.float64), y, C, kappa)
