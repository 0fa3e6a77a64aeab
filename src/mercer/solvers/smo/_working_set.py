"""Subproblems: the variables of some points with f there, and working sets aligned to SIMD lanes.

With v = target − f[row], β may rise where β < upper and fall where β > lower. The KKT violation of
a group is the largest v that may rise minus the smallest that may fall (Keerthi et al. 2001).
Nothing here changes β or f.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.problems._dual_qp import BoxQP, gap_terms, squared_gap_terms
from mercer.solvers._violation import extremes
from mercer.solvers.smo._pair_update import LANE

__all__ = ["Subproblem", "align_to_lanes", "growing_samples", "pad_to_lanes", "set_difference"]

# The least score of a free variable: it counts as a violator.
FREE_SCORE = 1e-300


@dataclass
class Subproblem:
    """The variables of some points, f there and the sums of its error bound: for one round."""

    columns: np.ndarray
    variables: np.ndarray
    row: np.ndarray
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    group: np.ndarray
    n_groups: int
    beta: np.ndarray
    f: np.ndarray
    sums: np.ndarray
    diag: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        problem: BoxQP,
        row: np.ndarray,
        group: np.ndarray,
        columns: np.ndarray,
        beta: np.ndarray,
        f: np.ndarray,
        sums: np.ndarray,
    ) -> Subproblem:
        """Out of arrays over all variables (row, group, beta) and all points (f, sums)."""
        where = np.full(f.size, -1)
        where[columns] = np.arange(columns.size)
        variables = np.flatnonzero(where[row] >= 0)
        return cls(
            columns=columns,
            variables=variables,
            row=where[row[variables]],
            target=problem.target[variables],
            lower=problem.lower[variables],
            upper=problem.upper[variables],
            group=group[variables],
            n_groups=problem.n_groups,
            beta=beta[variables],
            f=f[columns],
            sums=sums[columns],
            diag=None if problem.diag is None else problem.at_variables(problem.diag)[variables],
        )

    def violation(self) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """The largest violation; v = target − f; per group its extremes."""
        v = np.empty(self.variables.size)
        box = self.beta, self.lower, self.upper
        top, bottom = extremes(self.f, self.row, self.target, *box, self.group, self.n_groups, v)
        return float((top - bottom).max()), v, top, bottom

    @property
    def b(self) -> np.ndarray:
        """The middle of the interval that the KKT conditions leave to each group's multiplier."""
        _, _, top, bottom = self.violation()
        return np.zeros_like(top) if self.n_groups == 0 else (top + bottom) / 2

    def gap(self, error: np.ndarray) -> tuple[float, np.ndarray]:
        """The duality gap, and what each column may add to it where f is off by ``error``.

        Infinite bounds have another gap, and none here.
        """
        r = (self.target - self.f[self.row]) - self.b[self.group]
        error = error[self.row]
        if self.diag is not None:
            sign = np.where(self.upper > 0, 1.0, -1.0)
            low, terms, high = (
                squared_gap_terms(sign * self.beta, sign * x, self.diag)
                for x in (r - error, r, r + error)
            )
            more = np.maximum(low, high) - terms
            return float(terms.sum()), np.bincount(
                self.row, weights=more, minlength=self.columns.size
            )
        finite = np.isfinite(self.lower) & np.isfinite(self.upper)
        lower, upper = np.where(finite, self.lower, -1.0), np.where(finite, self.upper, 1.0)
        terms = gap_terms(self.beta, r, lower, upper)
        more = gap_terms(self.beta, r, lower, upper, error) - terms
        gap = float(terms[finite].sum()) if finite.all() else 0.0
        return gap, np.bincount(self.row, weights=more, minlength=self.columns.size)

    def relative_gap(self) -> float:
        """The gap over the primal value, about."""
        gap, _ = self.gap(np.zeros(self.columns.size))
        dual = float(self.beta @ (self.target - 0.5 * self.f[self.row]))
        return gap / max(abs(dual + gap), 1e-300)

    def scores(self) -> tuple[float, np.ndarray]:
        """The violation, and the score of each point: its KKT violation, or minus its KKT slack.

        Both are measured from the median of v over free variables, an estimate of b. A free
        variable counts as a violator.
        """
        violation, v, top, bottom = self.violation()
        rises, falls = self.beta < self.upper, self.beta > self.lower
        free = rises & falls
        level = np.zeros_like(top) if self.n_groups == 0 else (top + bottom) / 2
        for g in range(self.n_groups):
            members = v[free & (self.group == g)]
            if members.size:
                level[g] = np.median(members)
        distance = v - level[self.group]
        score = np.maximum(np.where(rises, distance, -np.inf), np.where(falls, -distance, -np.inf))
        score[free] = np.maximum(score[free], FREE_SCORE)
        by_column = np.full(self.columns.size, -np.inf)
        np.maximum.at(by_column, self.row, score)
        return violation, by_column


def growing_samples(n: int, smallest: int, growth: int) -> list[np.ndarray]:
    """Nested random sets of the points 0..n, the last with all of them; sizes grow by a factor."""
    order = np.random.default_rng(0).permutation(n)
    sizes = [n]
    while sizes[-1] > smallest * growth:
        sizes.append(sizes[-1] // growth)
    return [np.sort(order[:size]) for size in reversed(sizes)]


def set_difference(points: np.ndarray, others: np.ndarray, n: int) -> np.ndarray:
    """Those of the points 0..n that are not among the others, in order.

    >>> set_difference(np.array([4, 0, 2]), np.array([2]), 5)
    array([0, 4])
    """
    left = np.zeros(n, bool)
    left[points] = True
    left[others] = False
    return np.flatnonzero(left)


def align_to_lanes(
    chosen: np.ndarray, group: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Variables in whole lanes, one group after the other.

    Returns the variables (padding repeats the first), which of them are real, and the lane at which
    the second group starts. Without groups the last one is the partner of all (`pad_to_lanes`).
    """
    parts = [chosen] if n_groups < 2 else [chosen[group[chosen] == g] for g in range(2)]
    extra = 1 if n_groups == 0 else 0
    lanes = [-(-(part.size + extra) // LANE) for part in parts]
    ws = np.full(sum(lanes) * LANE, chosen[0])
    real = np.zeros(ws.size, bool)
    begin = 0
    for part, count in zip(parts, lanes, strict=True):
        ws[begin : begin + part.size] = part
        real[begin : begin + part.size] = True
        begin += count * LANE
    return ws, real, lanes[0]


def pad_to_lanes(
    real: np.ndarray,
    beta: np.ndarray,
    grad: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    n_groups: int,
) -> None:
    """Padding cannot move; without groups the last variable may move at no cost.

    A pair step against a variable with a zero kernel row, zero gradient and no bounds is a
    coordinate step: so the model without intercept needs no solver of its own.
    """
    for array in (beta, grad, lower, upper):
        array[~real] = 0.0
    if n_groups == 0:
        lower[-1], upper[-1] = -np.inf, np.inf
