"""The one problem behind every formulation: a box-constrained QP in signed duals.

    minimise  ½ βᵀ K[row, row] β − targetᵀ β
    subject to  lower ≤ β ≤ upper,   Σ_{group(v) = g} β_v = sum_g  for each group g

With β = y∘α, C-SVC, ε-SVR, ν-SVC, ν-SVR and one-class SVM differ only in how the arrays are filled
(`mercer.problems.classification` and its neighbours). K itself is not part of the problem: it
belongs to the Gram the solver is handed, whose n points `row` refers to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["BoxQP", "fill_from_front"]


@dataclass(frozen=True, eq=False)
class BoxQP:
    """Pure data: what is optimised.

    Attributes
    ----------
    target, lower, upper : float64 arrays, one entry per variable
    start : float64 array
        A feasible β: inside the box, with the group sums the constraint keeps.
    row : int64 array or None
        The data point of each variable; None when variable v is data point v.
    group : int8 array or None
        The equality constraint each variable belongs to; None when there is none
        (the model without intercept).
    """

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray
    row: np.ndarray | None = None
    group: np.ndarray | None = None

    @property
    def n_variables(self) -> int:
        return self.target.shape[0]

    @cached_property
    def n_groups(self) -> int:
        return 0 if self.group is None else int(self.group.max()) + 1

    @cached_property
    def group_sums(self) -> np.ndarray:
        """The right-hand sides of the equality constraints."""
        if self.group is None:
            return np.zeros(0)
        return np.bincount(self.group, weights=self.start, minlength=self.n_groups)

    def at_variables(self, f: np.ndarray) -> np.ndarray:
        """Values at the data points, repeated for each variable."""
        return f if self.row is None else f[self.row]

    def at_points(self, beta: np.ndarray, n: int) -> np.ndarray:
        """The coefficient of each data point: β summed over its variables."""
        return beta if self.row is None else np.bincount(self.row, weights=beta, minlength=n)


def fill_from_front(total: float, bound: np.ndarray) -> np.ndarray:
    """Values in [0, bound] that sum to ``total``: each at its bound until nothing is left."""
    before = np.concatenate([[0.0], np.cumsum(bound)[:-1]])
    return np.clip(total - before, 0.0, bound)
