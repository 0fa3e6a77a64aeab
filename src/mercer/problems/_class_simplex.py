"""Linear classifiers of all classes in one problem: what their duals have in common.

    minimise over w_r, b_r   P = ½ Σ_r ‖w_r‖² + ½ κ Σ_r b_r² + Σ Lᵢ(gᵢ),   g_ir = w_r·xᵢ + b_r
    maximise over β          D = −Σ Lᵢ*(−βᵢ) − ½ Σ_r ‖Xᵀβ_r‖² − Σ_r (Σᵢ β_ir)²/(2κ)
                             with Σ_r β_ir = 0 and β_ir ≤ Cᵢ [r = yᵢ]

κ is the ``intercept_penalty`` of `_regularized_loss`: 0 leaves the intercepts free, and then
Σᵢ β_ir = 0 for every class. The simplex weights a_ir = Cᵢ [r = yᵢ] − β_ir ≥ 0 sum to Cᵢ in each
row, and

    P − D = ½ Σ_r ‖w_r − Xᵀβ_r‖² + ½ κ Σ_r (b_r − Σᵢβ_ir/κ)² + Σ (Lᵢ(gᵢ) + Lᵢ*(−βᵢ) + βᵢ·gᵢ)

a sum of non-negative terms (the second is −Σ_r b_r Σᵢβ_ir, zero, for κ = 0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mercer._numba import compiled
from mercer._precision import UNIT
from mercer.problems._regularized_loss import Bounds, bounds_of_sums

__all__ = ["SimplexDuals"]


@dataclass(frozen=True, eq=False)
class SimplexDuals(ABC):
    """Pure data: the class and C of each row, and the penalty of the intercepts.

    Attributes
    ----------
    codes : int array
        Number of each row's class.
    C : float64 array, one entry per row
    n_classes : int
    intercept_penalty : float or None
        The factor κ of ½ b²; 0 for free intercepts, None for none.
    """

    codes: np.ndarray
    C: np.ndarray
    n_classes: int
    intercept_penalty: float | None = 0.0

    @property
    def n(self) -> int:
        return self.codes.size

    def with_C(self, factor: float) -> Self:
        """The same problem with every C times a factor."""
        return replace(self, C=self.C * factor)

    @abstractmethod
    def loss_and_gap(self, beta: np.ndarray, g: np.ndarray) -> tuple[float, float]:
        """Σ L(g), and Σ L(g) + L*(−β) + β·g."""

    @abstractmethod
    def gap_terms(
        self, beta: np.ndarray, g: np.ndarray, error: np.ndarray
    ) -> tuple[float, float, float]:
        """Smallest and largest Σ L, and the largest sum of the gap's terms, over g ± error."""

    @abstractmethod
    def _absorbing_cost(self, row: int, g: np.ndarray, error: np.ndarray, moved: float) -> float:
        """By how much the terms of a row grow at most where weights change by ``moved``."""

    def duals(self, a: np.ndarray) -> np.ndarray:
        """β of the simplex weights; a row's β sum to zero."""
        beta = -a
        rows = np.arange(self.n)
        beta[rows, self.codes] = 0.0
        beta[rows, self.codes] = -beta.sum(axis=1)
        return beta

    def primal_and_gap(
        self, w: np.ndarray, b: np.ndarray, beta: np.ndarray, g: np.ndarray, w_beta: np.ndarray
    ) -> tuple[float, float]:
        """Primal value and gap, from g = X wᵀ + b and w_beta = βᵀX, one row for each class."""
        loss, gap = self.loss_and_gap(beta, g)
        primal = float(np.vdot(w, w)) / 2 + loss
        off = w - w_beta
        gap += float(np.vdot(off, off)) / 2
        penalty = self.intercept_penalty
        if penalty:
            primal += penalty * float(b @ b) / 2
            gap += penalty * float(np.sum((b - beta.sum(axis=0) / penalty) ** 2)) / 2
        elif penalty == 0:
            gap += abs(float(b @ beta.sum(axis=0)))  # rounding of the sums
        return primal, gap

    def within_bounds(self, beta: np.ndarray) -> np.ndarray:
        """β that lie in their bounds, those of each row with a sum of exactly zero."""
        out = np.ascontiguousarray(beta, dtype=np.float64).copy()
        _exact_rows(self.codes, self.C, out)
        return out

    def move_weight(self, beta: np.ndarray, row: int, source: int, target: int, by: float) -> None:
        """Move a part of a row's simplex weight from one class to another, in place."""
        own = self.codes[row]
        if source != own:
            beta[row, source] = min(beta[row, source] + by, 0.0)
        if target != own:
            beta[row, target] -= by
        _exact_rows(self.codes[row : row + 1], self.C[row : row + 1], beta[row : row + 1])

    def class_weights(self, beta: np.ndarray, r: int) -> np.ndarray:
        """The simplex weight a_ir of each row for one class."""
        return np.where(self.codes == r, self.C, 0.0) - beta[:, r]

    def bounds(
        self,
        w: np.ndarray,
        b: np.ndarray,
        beta: np.ndarray,
        g: tuple[np.ndarray, np.ndarray],
        w_beta: tuple[np.ndarray, np.ndarray | float],
        totals: tuple[np.ndarray, np.ndarray],
        absorbing: Sequence[int] = (),
    ) -> Bounds:
        """Bounds of value and gap from scores, Xᵀβ and Σᵢβ_ir, each with its error.

        Where intercepts are free, the weights of the rows ``absorbing`` absorb a drift of Σᵢβ_ir.
        """
        losses = self.gap_terms(beta, *g)
        least, most, gap = bounds_of_sums(losses, w, b, w_beta, totals, self.intercept_penalty)
        for row in absorbing:
            gap += self._absorbing_cost(row, g[0][row], g[1][row], float(totals[1].sum()))
        return Bounds.of(least, most, gap, self.n, w.size + 8 * w.shape[0])


@compiled
def _exact_rows(codes: np.ndarray, C: np.ndarray, beta: np.ndarray) -> None:
    """Clip β to their bounds; make the one of a row's own class the exact sum of the others.

    From the largest on, s' = s + a is rounded and a replaced by s' − s, which is exact as s ≥ a
    (Dekker's fast two-sum).
    """
    k = beta.shape[1]
    for i in range(codes.size):
        row, y = beta[i], codes[i]
        total, top = 0.0, -1
        for r in range(k):
            if r != y:
                row[r] = min(row[r], 0.0)
                total -= row[r]
                if top < 0 or row[r] < row[top]:
                    top = r
        if total > C[i] * (1 - k * UNIT):
            keep = min(C[i] / total, 1.0) * (1 - 2 * k * UNIT)
            for r in range(k):
                if r != y:
                    row[r] *= keep
        s = -row[top]
        for r in range(k):
            if r not in (y, top):
                after = s - row[r]
                row[r] = s - after
                s = after
        row[y] = min(s, C[i])
