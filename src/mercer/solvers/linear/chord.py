"""Smooth losses along prices: Newton steps with the equations of the last fit.

XᵀDX grows with the prices, and changes little otherwise: while steps with the old one, in their
proportion, bring the gap down fast, no new one is needed, nor a line search. Where the model
changes much from price to price, they begin further along the way it went, in log C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.problems.linear import LinearPrimal
from mercer.problems.losses import responses
from mercer.result import LinearResult, Status, Wake
from mercer.solvers.linear.rows import Rows
from mercer.solvers.linear.smooth import RIDGE, newton_equations

__all__ = ["along"]

# So many steps, while each leaves no more than this part of the gap.
STEPS, LEFT = 6, 0.3
# The relative gap from which on they begin further on, at most by so many times the last way.
GO_ON, FURTHEST = 1e-2, 1.5


def along(
    problem: LinearPrimal, rows: Rows, first: LinearResult, wake: Wake, growth: float, tol: float
) -> tuple[LinearResult, int]:
    """A model that is better than the first, if there is one, and the steps taken."""
    w, b, g = first.w, first.b, first.g
    if wake.growth and first.gap > GO_ON * first.primal:
        t = min(math.log(growth) / math.log(wake.growth), FURTHEST)
        w, b, g = w + t * wake.step_w, b + t * wake.step_b, g + t * wake.step_g
    assert wake.gram is not None
    solve = newton_equations(wake.gram, problem.kappa, 0.0, RIDGE[np.float32])
    gap = math.inf
    for steps in range(STEPS + 1):
        beta = np.empty(rows.n)
        total = responses(problem.kind, g, *problem.arrays, beta)
        sums = _Sums.of(problem, rows, beta)
        gap, before = sums.gap(problem, w, b, total), gap
        if gap <= tol * first.primal or gap > LEFT * before or steps == STEPS:
            found = sums.evaluate(problem, w, b, g, beta)
            if found.gap <= tol * found.primal or gap > tol * first.primal:
                break
        grad_b = 0.0 if problem.kappa is None else problem.kappa * b - total
        step_w, step_b = solve(sums.up + sums.down - w, -grad_b)
        w, b, g = w + step_w, b + step_b, g + rows.scores(step_w, step_b)
    else:
        found = sums.evaluate(problem, w, b, g, beta)
    return min(found, first, key=lambda answer: answer.gap), steps


@dataclass(frozen=True, eq=False)
class _Sums:
    """Xᵀβ of duals above and below zero, and by what these are scaled to be feasible."""

    up: np.ndarray
    down: np.ndarray
    keep_up: float = 1.0
    keep_down: float = 1.0

    @classmethod
    def of(cls, problem: LinearPrimal, rows: Rows, beta: np.ndarray) -> _Sums:
        if problem.kappa != 0:
            return cls(rows.sum(beta), np.zeros(rows.d))
        up, down = np.maximum(beta, 0.0), np.minimum(beta, 0.0)
        more, less = float(up.sum()), -float(down.sum())
        return cls(
            rows.sum(up), rows.sum(down),
            less / more if more > less else 1.0, more / less if less > more else 1.0,
        )  # fmt: skip

    @property
    def feasible(self) -> np.ndarray:
        return self.keep_up * self.up + self.keep_down * self.down

    def gap(self, problem: LinearPrimal, w: np.ndarray, b: float, total: float) -> float:
        """All of it but what the scaling adds."""
        off = w - self.feasible
        gap = float(off @ off) / 2
        if problem.kappa:
            gap += problem.kappa * (b - total / problem.kappa) ** 2 / 2
        return gap

    def evaluate(
        self, problem: LinearPrimal, w: np.ndarray, b: float, g: np.ndarray, beta: np.ndarray
    ) -> LinearResult:
        beta = np.where(beta > 0, self.keep_up, self.keep_down) * beta
        w_beta = self.feasible
        primal, gap = problem.values(w, b, beta, g, w_beta)
        return LinearResult(w, b, beta, g, w_beta, primal, gap, Status.SOLVED, 0, 0, 0.0)
