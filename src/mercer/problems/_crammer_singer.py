"""Multiclass SVM of Crammer and Singer (JMLR 2001): the primal, its dual and their gap.

    minimise over w_r, b_r   P = ½ Σ_r ‖w_r‖² + ½ κ Σ_r b_r² + Σ Cᵢ max_r (u_ir),
                             u_ir = [r ≠ yᵢ] + g_ir − g_i,yᵢ,   g_ir = w_r·xᵢ + b_r
    maximise over β          D = Σ β_i,yᵢ − ½ Σ_r ‖Xᵀβ_r‖² − Σ_r (Σᵢ β_ir)²/(2κ)
                             with Σ_r β_ir = 0 and β_ir ≤ Cᵢ [r = yᵢ]

κ is the ``intercept_penalty`` of `_regularized_loss`: 0 leaves the intercepts free, and then
Σᵢ β_ir = 0 for every class. With the simplex weights a_ir = Cᵢ [r = yᵢ] − β_ir ≥ 0, which sum to Cᵢ
in each row,

    P − D = ½ Σ_r ‖w_r − Xᵀβ_r‖² + ½ κ Σ_r (b_r − Σᵢβ_ir/κ)² + Σ a_ir (max_s u_is − u_ir)

a sum of non-negative terms (the second is −Σ_r b_r Σᵢβ_ir, zero, for κ = 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._numba import compiled
from mercer._precision import UNIT
from mercer.problems._class_simplex import SimplexDuals

__all__ = ["CrammerSinger"]

# Newton steps of `_circulation`, and the relative imbalance at which it stops.
_BALANCE_STEPS = 60
_BALANCED = 1e-13


@dataclass(frozen=True, eq=False)
class CrammerSinger(SimplexDuals):
    """Pure data, as in `SimplexDuals`."""

    def simplex_weights(self, beta: np.ndarray) -> np.ndarray:
        """a = C [r = y] − β; duals of another C are scaled down to fit into the simplex."""
        a = np.maximum(-beta, 0.0)
        rows = np.arange(self.n)
        a[rows, self.codes] = 0.0
        total = a.sum(axis=1)
        a *= np.minimum(1.0, self.C / np.maximum(total, 1e-300))[:, np.newaxis]
        a[rows, self.codes] = np.maximum(self.C - a.sum(axis=1), 0.0)
        return a

    def loss_and_gap(self, beta: np.ndarray, g: np.ndarray) -> tuple[float, float]:
        """Σ C max_r u_r, and Σ a_r (max_s u_s − u_r)."""
        return _terms(self.codes, self.C, beta, g)

    def gap_terms(
        self, beta: np.ndarray, g: np.ndarray, error: np.ndarray
    ) -> tuple[float, float, float]:
        """Smallest and largest Σ L, and the largest sum of the gap's terms, over g ± error."""
        return _bounded_terms(self.codes, self.C, beta, g, error)

    def _absorbing_cost(self, row: int, g: np.ndarray, error: np.ndarray, moved: float) -> float:
        spread = 1.0 + float(np.ptp(g)) + 2 * float(error.max())
        return 1.01 * moved * spread

    def feasible(self, beta: np.ndarray) -> np.ndarray:
        """β with Σᵢβ_ir = 0 for every class, where the intercepts are free.

        The weights a_ir of the rows of class y, r ≠ y, are a flow from y to r, and the sums vanish
        where it is a circulation. Rows with positive weight for their own and for other classes
        absorb the excess in proportion to their capacity; where they cannot, all weights for other
        classes are scaled down, one factor for each pair of classes.
        """
        if self.intercept_penalty != 0:
            return beta
        others = np.maximum(-beta, 0.0)
        own = self.C - np.maximum(beta[np.arange(self.n), self.codes], 0.0)
        total = others.sum(axis=1)
        capacity = others * np.minimum(1.0, own / np.maximum(total, 1e-300))[:, np.newaxis]
        p = _potentials(self._flows(capacity), -beta.sum(axis=0))
        if p is not None and np.ptp(p) <= 1.0:
            return self.duals(others + capacity * (p[:, np.newaxis] - p)[self.codes])
        factor = _circulation(self._flows(others))
        return self.duals(others * factor[self.codes])

    def _flows(self, a: np.ndarray) -> np.ndarray:
        """The weights that the rows of each class have for each class, summed."""
        flows = np.zeros((self.n_classes, self.n_classes))
        for r in range(self.n_classes):
            flows[:, r] = np.bincount(self.codes, a[:, r], minlength=self.n_classes)
        return flows


def _potentials(flows: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """p such that flows (p_y − p_r) change outflow − inflow of each class by ``wanted``, if any.

    A linear system with the Laplacian of the graph of the classes.
    """
    both = flows + flows.T
    laplacian = np.diag(both.sum(axis=1)) - both
    p = np.linalg.lstsq(laplacian, wanted, rcond=1e-13)[0]
    missed = float(np.abs(laplacian @ p - wanted).sum())
    # ``wanted`` sums to zero but for the rounding of the flows, which may be most of it.
    rounding = _BALANCED * float(flows.sum())
    return p if missed <= 1e-9 * float(np.abs(wanted).sum()) + rounding else None


def _circulation(flows: np.ndarray) -> np.ndarray:
    """Factors exp(p_y − p_r) ≤ 1 that make a circulation of the flows; zeros where none does.

    p minimises Σ flows · exp(p_y − p_r), by Newton's method.
    """
    p = np.zeros(len(flows))
    np.fill_diagonal(flows := flows.copy(), 0.0)
    for _ in range(_BALANCE_STEPS):
        moved = flows * np.exp(p[:, np.newaxis] - p)
        over = moved.sum(axis=1) - moved.sum(axis=0)
        if np.abs(over).sum() <= _BALANCED * moved.sum():
            factor = np.exp(p[:, np.newaxis] - p)
            return factor / factor[flows > 0].max(initial=1.0)
        step = _potentials(moved, -over)
        if step is None:
            break
        p = p + step / max(1.0, np.ptp(step))
    return np.zeros_like(flows)


@compiled
def _terms(
    codes: np.ndarray, C: np.ndarray, beta: np.ndarray, g: np.ndarray
) -> tuple[float, float]:
    """Σ C max_r u_r, and Σ a_r (max_s u_s − u_r)."""
    loss, gap = 0.0, 0.0
    for i in range(codes.size):
        y = codes[i]
        most = 0.0
        for r in range(g.shape[1]):
            if r != y:
                most = max(most, 1.0 + g[i, r] - g[i, y])
        loss += C[i] * most
        for r in range(g.shape[1]):
            if r != y:
                gap -= beta[i, r] * (most - (1.0 + g[i, r] - g[i, y]))
        gap += max(C[i] - beta[i, y], 0.0) * most
    return loss, gap


@compiled
def _bounded_terms(
    codes: np.ndarray, C: np.ndarray, beta: np.ndarray, g: np.ndarray, error: np.ndarray
) -> tuple[float, float, float]:
    """Smallest and largest Σ C max_r u_r, and the largest Σ a_r (max_s u_s − u_r)."""
    least, most, gap = 0.0, 0.0, 0.0
    first, k = 0, g.shape[1]
    while first < codes.size:
        last = min(first + 256, codes.size)
        least_here, most_here, gap_here = 0.0, 0.0, 0.0
        for i in range(first, last):
            y, c = codes[i], C[i]
            low, high = 0.0, 0.0
            for r in range(k):
                if r != y:
                    u = 1.0 + g[i, r] - g[i, y]
                    e = error[i, r] + error[i, y] + 3 * UNIT * (1 + abs(g[i, r]) + abs(g[i, y]))
                    low, high = max(low, u - e), max(high, u + e)
            least_here += c * low
            most_here += c * high
            gap_here += max(c - beta[i, y], 0.0) * high
            for r in range(k):
                if r != y:
                    u = 1.0 + g[i, r] - g[i, y]
                    e = error[i, r] + error[i, y] + 3 * UNIT * (1 + abs(g[i, r]) + abs(g[i, y]))
                    gap_here -= beta[i, r] * (high - (u - e))
        least, most, gap = least + least_here, most + most_here, gap + gap_here
        first = last
    return least, most, gap
