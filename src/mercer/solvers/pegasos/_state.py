"""The objective of Pegasos by its loss intervals, and the state of its iteration.

    minimise  (λ/2)‖w‖² + mean of weight·ξ(w·x),    ξ(f) = max(0, low − f, f − high)

The loss is the distance of f from an interval in which it is zero: [1, ∞) and (−∞, −1] for the
hinge loss of y = ±1, [y − ε, y + ε] for the ε-insensitive loss. Times 1/λ the objective is
½‖w‖² + Σ Cᵢξᵢ with Cᵢ = weightᵢ/(nλ), so λ = 1/(nC). (The λ = 1/C of other texts stands in
(λ/2n)‖w‖² + mean loss: the same objective.) The dual, with w = Σ βᵢxᵢ and |βᵢ| ≤ Cᵢ:

    maximise  D(β) = Σ (lowᵢ max(0, βᵢ) + highᵢ min(0, βᵢ)) − ½‖w‖²
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mercer.solvers.pegasos._steps import fill_hinge_intervals

__all__ = ["DEFAULTS", "LossInterval", "PegasosSettings", "PegasosState"]


@dataclass(frozen=True)
class PegasosSettings:
    """Tuning constants of Pegasos.

    Attributes
    ----------
    epochs_per_sweep : int
        Whenever the gap is evaluated the dual point is improved by one sweep of coordinate ascent,
        and by one more for each ``epochs_per_sweep`` epochs since the last evaluation.
    work_per_call : int
        Multiplications of one compiled call, about ten milliseconds: the time until a limit or
        Ctrl-C is seen.
    row_cost : int
        Cost of a row besides its multiplications, in multiplications.
    max_matrix_bytes : int
        Kernel matrices beyond this size are refused.
    sample_rows, sample_epochs : int
        Size and epochs of the model on a random sample that is returned if there was no time for
        the kernel matrix: about ten milliseconds.
    """

    epochs_per_sweep: int = 4
    work_per_call: int = 10_000_000
    row_cost: int = 50
    max_matrix_bytes: int = 4 << 30
    sample_rows: int = 256
    sample_epochs: int = 16

    def rows_per_call(self, multiplications: int, batch_size: int) -> int:
        """Rows of one compiled call, in whole batches."""
        rows = self.work_per_call // multiplications + 1
        return -(-rows // batch_size) * batch_size


DEFAULTS = PegasosSettings()


@dataclass(frozen=True, eq=False)
class LossInterval:
    """The interval [low, high] of f in which each row's loss is zero; either end may be infinite.

    The ε-insensitive interval of a regression, the half line beyond the margin of a classification.
    """

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def hinge(cls, y: np.ndarray) -> LossInterval:
        """Labels ±1, or whether they are +1."""
        low, high = np.empty(len(y)), np.empty(len(y))
        fill_hinge_intervals(y > 0, low, high)
        return cls(low, high)

    @classmethod
    def epsilon_insensitive(cls, y: np.ndarray, epsilon: float) -> LossInterval:
        return cls(y - epsilon, y + epsilon)

    def take(self, rows: np.ndarray) -> LossInterval:
        return LossInterval(self.low[rows], self.high[rows])

    def loss(self, f: np.ndarray) -> np.ndarray:
        """The distance of f from the interval."""
        return np.maximum(0.0, np.maximum(self.low - f, f - self.high))

    def dual_linear_term(self, beta: np.ndarray) -> float:
        """Σ low·max(0, β) + high·min(0, β)."""
        end = np.where(beta > 0, self.low, np.where(beta < 0, self.high, 0.0))
        return float(end @ beta)

    def dual_bounds(self, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of β; an infinite end allows no β of its sign."""
        finite = np.isfinite
        return np.where(finite(self.high), -C, 0.0), np.where(finite(self.low), C, 0.0)


@dataclass
class PegasosState:
    """The state of the iteration, which continues from one batch of rows to the next.

    Attributes
    ----------
    lam : float
    size : int
        Length of the model's vector.
    batch_size : int
        Rows of a step.
    project : bool
        Whether w is projected onto the ball of radius 1/√λ.
    t : int
        Steps taken.
    u, total : float64 arrays
        w = u/(λt), and the sum of all u.
    sign_sums : float64 array
        The sum over the visits of each row of its subgradient sign: +1 below its interval, −1
        above, 0 within; empty where it is not needed.
    Ku : float64 array or None
        K u, of rows with a kernel matrix.
    """

    lam: float
    size: int
    batch_size: int = 1
    project: bool = False
    t: int = 0
    u: np.ndarray = field(init=False)
    total: np.ndarray = field(init=False)
    sign_sums: np.ndarray = field(init=False)
    Ku: np.ndarray | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.u, self.total = np.zeros(self.size), np.zeros(self.size)
        self.sign_sums = np.zeros(0)

    def reset_signs(self, n: int) -> None:
        """Set the sums of the subgradient signs of n rows to zero."""
        self.sign_sums = np.zeros(n)
        self.Ku = None  # recomputed: incremental updates accumulate rounding

    def coef(self, average: bool) -> np.ndarray:
        """w, or the average of all iterates so far, step t with weight t."""
        t = max(self.t, 1)
        if average:
            return self.total * (2 / (self.lam * t * (t + 1)))
        return self.u / (self.lam * t)
