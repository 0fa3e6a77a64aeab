"""Primal value and gap of a model, and the dual β = −L'(g) that smooth losses give to every model.

Where the intercept is free Σβ must be zero: the duals of the sign with the larger sum are scaled
down. Xᵀβ of the positive and of the negative duals, kept apart, give the gap after that scaling and
the gradient as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from mercer._result import LinearResult, WarmStartState
from mercer.problems._losses import (
    EPSILON_INSENSITIVE,
    directional_derivatives,
    fenchel_gap_at_gradient,
    loss_and_gap,
    negative_gradient,
    signed_totals,
)
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._design_matrix import DesignMatrix
from mercer.solvers.linear._smooth_newton import line_search

__all__ = ["GradientDual", "evaluate", "regularizer_diagonal", "rescaled"]


def evaluate(
    problem: LinearPrimal,
    design: DesignMatrix,
    w: np.ndarray,
    b: float,
    beta: np.ndarray | None = None,
    w_beta: np.ndarray | None = None,
) -> LinearResult:
    """Value and gap of a model with these duals, or with −L'(g), the best ones at an optimum.

    ``w_beta`` is Xᵀβ of feasible duals, where it is known.
    """
    g = design.matvec(w, b)
    if problem.kind != EPSILON_INSENSITIVE and beta is None:
        return replace(GradientDual.at(problem, design, w, b, g).result, direct=True)
    if beta is None:
        beta = np.empty(design.n)
        negative_gradient(problem.kind, g, problem.low, problem.high, problem.C, beta)
    if w_beta is None:
        beta = problem.feasible(beta)
        w_beta = design.rmatvec(beta)
    primal, gap = problem.primal_and_gap(w, b, beta, g, w_beta)
    return LinearResult(w, b, beta, g, w_beta, primal, gap)  # β is the caller's


def regularizer_diagonal(problem: LinearPrimal, d: int) -> np.ndarray:
    """The Hessian of ½‖w‖² + ½κb², a diagonal of d + 1 entries."""
    diagonal = np.ones(d + 1)
    diagonal[-1] = problem.intercept_penalty or 0.0
    return diagonal


@dataclass(frozen=True, eq=False)
class GradientDual:
    """A model, its scores, and Xᵀβ and Σ|β| of its positive and negative duals β = −L'(g)."""

    problem: LinearPrimal
    w: np.ndarray
    b: float
    g: np.ndarray
    signed_sums: np.ndarray
    signed_totals: np.ndarray
    beta: np.ndarray | None = None

    @classmethod
    def at(
        cls, problem: LinearPrimal, design: DesignMatrix, w: np.ndarray, b: float, g: np.ndarray
    ) -> GradientDual:
        beta = np.empty(design.n)
        negative_gradient(problem.kind, g, problem.low, problem.high, problem.C, beta)
        totals = np.array(signed_totals(beta))
        return cls(problem, w, b, g, design.signed_rmatvec(beta), totals, beta)

    def after_step(
        self, design: DesignMatrix, step: np.ndarray, delta_g: np.ndarray
    ) -> GradientDual:
        """The model after a step (w, b) that changes the scores by ``delta_g``."""
        w, b = self.w + step[:-1], self.b + float(step[-1])
        return GradientDual.at(self.problem, design, w, b, self.g + delta_g)

    def line_search(self, step: np.ndarray, h: np.ndarray) -> float:
        """The t ≥ 0 at which P is least along a step with the scores h; 0 if it does not fall."""
        problem = self.problem
        diagonal = regularizer_diagonal(problem, self.w.size)
        square = float(diagonal @ (step * step))
        linear = float((diagonal * step) @ np.append(self.w, self.b))

        def derivatives(t: float) -> tuple[float, float]:
            first, second = directional_derivatives(
                problem.kind, self.g, h, t, problem.low, problem.high, problem.C
            )
            return linear + t * square + first, square + second

        return line_search(derivatives, float(self.gradient() @ step))

    def gradient(self) -> np.ndarray:
        """The gradient of P in w and, as the last entry, b."""
        penalty = self.problem.intercept_penalty
        total = self.signed_totals[0] - self.signed_totals[1]
        grad_b = 0.0 if penalty is None else penalty * self.b - total
        return np.append(self.w - self.signed_sums[0] - self.signed_sums[1], grad_b)

    def partial_gap(self) -> float:
        """The gap without the terms of the losses, which are zero but for the scaling of β."""
        off, penalty = self.w - self._scaling @ self.signed_sums, self.problem.intercept_penalty
        gap = float(off @ off) / 2
        if penalty:
            total = self.signed_totals[0] - self.signed_totals[1]
            gap += penalty * (self.b - total / penalty) ** 2 / 2
        return gap

    @cached_property
    def result(self) -> LinearResult:
        """With β scaled, in place, to be feasible."""
        problem, scaling = self.problem, self._scaling
        assert self.beta is not None
        loss, gap = fenchel_gap_at_gradient(
            problem.kind, self.g, self.beta, problem.low, problem.C, *scaling
        )
        penalty = problem.intercept_penalty or 0.0
        primal = float(self.w @ self.w) / 2 + penalty * self.b * self.b / 2 + loss
        return LinearResult(
            self.w,
            self.b,
            self.beta,
            self.g,
            scaling @ self.signed_sums,
            primal,
            gap + self.partial_gap(),
            warm_start=WarmStartState(
                signed_sums=self.signed_sums, signed_totals=self.signed_totals
            ),
            is_gradient_dual=True,
        )

    @property
    def _scaling(self) -> np.ndarray:
        """The factors of the positive and the negative duals that make Σβ = 0."""
        more, less = self.signed_totals
        if self.problem.intercept_penalty != 0 or more == less:
            return np.ones(2)
        return np.array([less / more, 1.0] if more > less else [1.0, more / less])


def rescaled(problem: LinearPrimal, found: LinearResult, tol: float) -> LinearResult:
    """The model w = Xᵀβ of an ε-insensitive loss times up to 1.01, where that helps to ``tol``.

    With a large C a larger w costs less than many margins that are short by little.
    """
    if problem.kind != EPSILON_INSENSITIVE or found.meets(tol):
        return found
    sq_length = float(found.w @ found.w)
    penalty = problem.intercept_penalty
    sq_length += penalty * found.b * found.b if penalty else 0.0

    def gap(log: float) -> float:
        s = 1 + 10**log
        terms = loss_and_gap(problem.kind, s * found.g, found.beta, *problem.arrays)[1]
        return float(terms) + (s - 1) ** 2 * sq_length / 2

    best = minimize_scalar(gap, bounds=(-7.0, -2.0), method="bounded", options={"xatol": 0.05})
    if best.fun >= found.gap:
        return found
    s = 1 + 10**best.x
    w, b, g = s * found.w, s * found.b, s * found.g
    values = problem.primal_and_gap(w, b, found.beta, g, found.w_beta)
    # g stays as near to X w + b as a product with the rows but for three roundings, of s times each
    # of w, b and g, which the bound of its error has room for (`_bounded_gap.SCORE_ROUNDINGS`).
    return replace(found, w=w, b=b, g=g, primal=values[0], gap=values[1])
