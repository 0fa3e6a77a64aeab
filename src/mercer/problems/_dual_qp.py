"""The one problem behind every formulation: a box-constrained QP in signed duals.

    minimise  ½ βᵀ (K[row, row] + D) β − targetᵀ β
    subject to  lower ≤ β ≤ upper,   Σ_{group(v) = g} β_v = sum_g  for each group g

With β = y∘α, C-SVC, ε-SVR, ν-SVC, ν-SVR and one-class SVM differ only in how the arrays are filled
(`_svm`). K itself is not part of the problem: it belongs to the Gram the solver is handed, whose n
points `row` refers to. The diagonal matrix D is zero, or 1/(2C) for squared slack.

**The duality gap.** With f = Kβ, b the multipliers of the groups and r = target − f[row] − b[group]

    P = ½ βᵀKβ + Σ (upper·max(0, r) + (−lower)·max(0, −r)) + Σ_g b_g · sum_g
    D = targetᵀβ − ½ βᵀKβ
    P − D = Σ (upper − β)·max(0, r) + (β − lower)·max(0, −r) + Σ_g b_g (sum_g − Σ_{group g} β)

The terms of the first sum are non-negative and vanish at the optimum (`gap_terms`); nothing cancels
in it. The second sum vanishes where β is feasible.

**Squared slack.** A variable in [0, ∞) with D > 0 has the loss r²/(2D) for r > 0, the dual term
−½Dβ², and in the gap (r − Dβ)²/(2D) for r > 0, else ½Dβ² + β|r|; one in (−∞, 0] mirrors it. Solvers
are handed K + D instead of K, so that their f is Kβ + Dβ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from mercer._precision import EPS

__all__ = ["BoxQP", "fill_from_front", "gap_terms"]

# What a problem derives from its arrays.
DERIVED = "n_variables", "n_groups", "is_finite", "is_hard"


@dataclass(frozen=True, eq=False)
class BoxQP:
    """Pure data: what is optimised. float64 arrays, one entry per variable where not said."""

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray  # a feasible β: inside the box, with the group sums the constraint keeps
    row: np.ndarray | None = None  # int64: its data point; None when variable v is data point v
    group: np.ndarray | None = None  # int8: its equality constraint; None without intercept
    diag: np.ndarray | None = None  # D, per data point: squared slack, with infinite bounds
    n_variables: int = field(init=False)
    n_groups: int = field(init=False)
    is_finite: bool = field(init=False)  # all bounds
    is_hard: bool = field(init=False)  # some constraint allows no slack: it may have no solution

    def __post_init__(self) -> None:
        n_groups = 0 if self.group is None else int(self.group.max()) + 1
        is_finite = bool(np.isfinite(self.lower).all() and np.isfinite(self.upper).all())
        known = self.target.shape[0], n_groups, is_finite, self.diag is None and not is_finite
        for name, value in zip(DERIVED, known, strict=True):
            object.__setattr__(self, name, value)

    @cached_property
    def group_sums(self) -> np.ndarray:
        """The right-hand sides of the equality constraints."""
        return self.sums(self.start)

    def sums(self, beta: np.ndarray) -> np.ndarray:
        """Σβ of each group, without rounding but that of the result."""
        return self._exact_sums(beta)

    def drift(self, beta: np.ndarray) -> np.ndarray:
        """sum_g − Σβ of each group, without rounding but that of the result."""
        return self._exact_sums(self.start, -beta)

    def _exact_sums(self, *parts: np.ndarray) -> np.ndarray:
        """The sum of all parts in each group."""
        out = np.zeros(self.n_groups)
        for g in range(self.n_groups):
            members = slice(None) if self.n_groups == 1 else self.group == g
            terms: list[float] = []
            for part in parts:
                values = part[members]
                terms += values[values != 0].tolist()
            out[g] = math.fsum(terms)
        return out

    def gap_terms(
        self, beta: np.ndarray, r: np.ndarray, error: np.ndarray | None = None
    ) -> np.ndarray:
        """What each variable adds to the duality gap, for finite bounds or squared slack.

        ``r`` is target − f − b, less Dβ with squared slack. With ``error`` the largest value for
        any r within ± error: the terms are convex in r.
        """
        if self.diag is None:
            return gap_terms(beta, r, self.lower, self.upper, error)
        if error is not None:
            return np.maximum(*(self.gap_terms(beta, r + side * error) for side in (1, -1)))
        sign = np.where(self.upper > 0, 1.0, -1.0)
        return squared_gap_terms(sign * beta, sign * r, self.at_variables(self.diag))

    def losses(self, r: np.ndarray) -> np.ndarray:
        """The loss of each variable at r = target − f − b."""
        if self.diag is None:
            return np.maximum(self.upper * r, self.lower * r)
        sign = np.where(self.upper > 0, 1.0, -1.0)
        return np.maximum(sign * r, 0.0) ** 2 / (2 * self.at_variables(self.diag))

    def loss_range(self, r: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest loss of each variable for any r within ± error."""
        high, low = r + error, r - error
        if self.diag is not None:
            nearest = np.maximum(low, 0.0) + np.minimum(high, 0.0)
            return self.losses(nearest), np.maximum(self.losses(high), self.losses(low))
        # fmax: an infinite error times a bound of zero does not count
        least = np.fmax(self.upper * low, self.lower * high)
        return np.maximum(least, 0.0), np.fmax(self.upper * high, self.lower * low)

    def within_reach(self) -> BoxQP:
        """With squared slack: the same problem in a box that holds every β with D(β) ≥ 0.

        If K is positive semidefinite, D(β) ≥ 0 says ½ min(diag) ‖β‖² ≤ ‖target‖ ‖β‖. Under an
        indefinite K the dual may have no maximum without a box.
        """
        if self.diag is None:
            return self
        scale = float(np.abs(self.target).max(initial=0.0)) or 1.0
        reach = 4 * scale * float(np.linalg.norm(self.target / scale)) / float(self.diag.min())
        return replace(
            self, lower=np.maximum(self.lower, -reach), upper=np.minimum(self.upper, reach)
        )

    def take(self, points: np.ndarray) -> BoxQP:
        """The problem of some data points; a start of zero."""
        which, row = points, None
        if self.row is not None:
            position = np.full(int(self.row.max(initial=-1)) + 1, -1)
            position[points] = np.arange(points.size)
            which = np.flatnonzero(position[self.row] >= 0)
            row = position[self.row[which]]
        part = {name: getattr(self, name)[which] for name in ("target", "lower", "upper")}
        group = None if self.group is None else self.group[which]
        diag = None if self.diag is None else self.diag[points]
        return BoxQP(**part, start=np.zeros(which.size), row=row, group=group, diag=diag)

    def at_variables(self, f: np.ndarray) -> np.ndarray:
        """Values at the data points, repeated for each variable."""
        return f if self.row is None else f[self.row]

    def at_points(self, beta: np.ndarray, n: int) -> np.ndarray:
        """The coefficient of each data point: β summed over its variables."""
        return beta if self.row is None else np.bincount(self.row, weights=beta, minlength=n)


def gap_terms(
    beta: np.ndarray,
    r: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    error: np.ndarray | float | None = None,
) -> np.ndarray:
    """The terms of the duality gap: (upper − β)·r for r > 0, else (lower − β)·r.

    With ``error`` the largest value for any r within ± error.
    """
    if error is None:
        return np.maximum((upper - beta) * r, (lower - beta) * r)
    # fmax: an infinite error times a distance of zero does not count
    return np.fmax((upper - beta) * (r + error), (lower - beta) * (r - error))


def squared_gap_terms(alpha: np.ndarray, e: np.ndarray, D: np.ndarray) -> np.ndarray:
    """(r − Dα)²/(2D) where r > 0, else ½Dα² + α|r|, with e = r − Dα and α ≥ 0."""
    return np.where(e + D * alpha > 0, e * e / (2 * D), -alpha * e - D * alpha * alpha / 2)


def fill_from_front(total: float, bound: np.ndarray) -> np.ndarray:
    """Values in [0, bound] that sum to ``total``: each at its bound until nothing is left.

    What is missing to a bound, or left for the next value, only by rounding is neither.
    """
    before = np.concatenate([[0.0], np.cumsum(bound)[:-1]])
    left, rounding = total - before, 8 * EPS * abs(total)
    return np.where(left <= rounding, 0.0, np.where(left >= bound - rounding, bound, left))
