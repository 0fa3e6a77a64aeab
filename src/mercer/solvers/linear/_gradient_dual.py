"""A model of a smooth loss with its own duals β = −L'(g), the best there are at an optimum.

Where the intercept is free Σβ must be zero: the heavier side is scaled down, and the sums Xᵀβ of
the two sides, taken in one pass, tell what that makes of the gap, and the gradient as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer._result import LinearResult, Status, Wake
from mercer.problems._losses import own_terms, responses, sides, slope
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._design_matrix import Rows
from mercer.solvers.linear._smooth_newton import line_search

__all__ = ["Own"]


@dataclass(frozen=True, eq=False)
class Own:
    """The model, its scores, and Xᵀβ and Σ|β| of its duals above and below zero."""

    problem: LinearPrimal
    w: np.ndarray
    b: float
    g: np.ndarray
    sums: np.ndarray
    totals: np.ndarray
    beta: np.ndarray | None = None

    @classmethod
    def at(cls, problem: LinearPrimal, rows: Rows, w: np.ndarray, b: float, g: np.ndarray) -> Own:
        beta = np.empty(rows.n)
        responses(problem.kind, g, *problem.arrays, beta)
        return cls(problem, w, b, g, rows.sides(beta), np.array(sides(beta)), beta)

    def moved(self, rows: Rows, step: np.ndarray, h: np.ndarray, t: float) -> Own:
        """After a step, b's at its end; ``h`` are its scores, or those of 1/t of it."""
        w, b = self.w + step[:-1], self.b + float(step[-1])
        return Own.at(self.problem, rows, w, b, self.g + t * h)

    def line(self, step: np.ndarray, h: np.ndarray) -> float:
        """The part of a step after which the primal value is least; 0 where it does not fall."""
        problem = self.problem
        price = np.ones(step.size)
        price[-1] = problem.kappa or 0.0
        square = float(price @ (step * step))
        linear = float((price * step) @ np.append(self.w, self.b))

        def at(t: float) -> tuple[float, float]:
            first, second = slope(problem.kind, self.g, h, t, *problem.arrays)
            return linear + t * square + first, square + second

        return line_search(at, float(self.gradient() @ step))

    def gradient(self) -> np.ndarray:
        """By w and, at the end, b."""
        kappa = self.problem.kappa
        by_b = 0.0 if kappa is None else kappa * self.b - (self.totals[0] - self.totals[1])
        return np.append(self.w - self.sums[0] - self.sums[1], by_b)

    def gap(self) -> float:
        """All of it but what the scaling adds."""
        off, kappa = self.w - self._keep @ self.sums, self.problem.kappa
        gap = float(off @ off) / 2
        if kappa:
            gap += kappa * (self.b - (self.totals[0] - self.totals[1]) / kappa) ** 2 / 2
        return gap

    @cached_property
    def result(self) -> LinearResult:
        """With the duals scaled to be feasible, in place."""
        problem, keep = self.problem, self._keep
        assert self.beta is not None
        loss, gap = own_terms(problem.kind, self.g, self.beta, problem.low, problem.cost, *keep)
        primal = float(self.w @ self.w) / 2 + (problem.kappa or 0.0) * self.b**2 / 2 + loss
        return LinearResult(
            self.w, self.b, self.beta, self.g, keep @ self.sums, primal, gap + self.gap(),
            Status.SOLVED, 0, 0, 0.0, Wake(sums=self.sums, totals=self.totals),
            own=True,
        )  # fmt: skip

    @property
    def _keep(self) -> np.ndarray:
        """What is kept of the duals on either side."""
        more, less = self.totals
        if self.problem.kappa != 0 or more == less:
            return np.ones(2)
        return np.array([less / more, 1.0] if more > less else [1.0, more / less])
