"""Newton's method for smooth losses.

    F(w, b) = ½‖w‖² + ½ κ b² + Σ Lᵢ(xᵢ·w + b)

Squared losses are piecewise quadratic: semismooth Newton steps with an exact line search end after
finitely many. Only rows outside their interval have a second derivative, so XᵀDX is taken over
those, and between two steps it changes by the rows that entered or left their interval. Up to
``direct_columns`` columns the Newton equations are solved by Cholesky factorisation, beyond by
conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.problems._losses import directional_derivatives, hessian_diagonal, negative_gradient
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._conjugate_gradient import conjugate_gradient
from mercer.solvers.linear._design_matrix import DesignMatrix
from mercer.solvers.linear._newton_equations import NewtonGram, factor_newton_equations

__all__ = [
    "NewtonSettings",
    "SmoothNewton",
    "intercept_gap",
    "line_search",
]


@dataclass(frozen=True)
class NewtonSettings:
    """Tuning of Newton's method, smooth and proximal, and of path following."""

    # Up to direct_columns columns the Newton equations are factorised, beyond solved by CG.
    direct_columns: int = 1500
    # With more columns, coordinate descent is faster at first for the ε-insensitive loss.
    interval_columns: int = 400
    # Conjugate gradients: limit of steps, and the reduction of the residual at which they stop.
    cg_steps: int = 200
    cg_reduction: float = 0.1
    # Newton steps for one target of the gap; of the proximal method, over all its smooth problems.
    newton_steps: int = 100
    proximal_steps: int = 500
    # XᵀDX of more rows is multiplied in float32: early directions need few digits, and later steps
    # have fewer rows with a free dual.
    float32_rows: int = 30_000
    # From gram_update_rows rows on XᵀDX is not computed again where D differs from the last one at
    # no more than this fraction of its nonzeros: those rows are added and subtracted.
    gram_update_rows: int = 8_000
    gram_update_fraction: float = 0.25
    # It is computed again if the sum of squares of a column falls below this fraction of its
    # largest value since.
    gram_lost_square: float = 1e-6
    # From subsample_from rows on a subsample is solved first, to the relative gap subsample_gap. It
    # has subsample_fraction of the rows, and at least subsample_rows_per_column rows per column.
    subsample_from: int = 8_000
    subsample_fraction: float = 1 / 16
    subsample_rows_per_column: int = 5
    subsample_gap: float = 1e-2
    # Width ω of the first smooth problem of the proximal method, in units of scores: from w = 0,
    # from the model of a subsample or an earlier fit, and from the model of another C.
    cold_width: float = 1.0
    warm_width: float = 0.2
    path_width: float = 0.05
    # The proximal width falls by this factor after each smooth problem, down to the limit at which
    # scores in float64 differ.
    width_reduction: float = 2.5
    min_width: float = 1e-10
    # The gap asked of the first round, as a fraction of the target, and its factor in each further
    # round; the gap of all rows is evaluated after each.
    round_gap: float = 0.8
    round_gap_reduction: float = 0.5
    max_rounds: int = 4
    # Along a path, conjugate gradients start from the model extrapolated in log C by at most this
    # multiple of the last step.
    max_extrapolation: float = 1.5
    # Active rows of the proximal method along a path: those within this multiple of the mean change
    # of the scores; above this fraction of the rows, all.
    active_margin: float = 0.5
    max_active_fraction: float = 0.5
    # L-BFGS along a path: steps remembered; how often XᵀDX is computed at one C; steps with one
    # XᵀDX (or one step for every ``numbers_per_step`` numbers in a row, if that is more), of which
    # a third may leave more than ``slow_reduction`` of the gap.
    lbfgs_memory: int = 5
    lbfgs_grams: int = 2
    lbfgs_steps: int = 3
    lbfgs_numbers_per_step: int = 6
    lbfgs_slow_reduction: float = 0.4

    def subsample(self, n: int, d: int, seed: int) -> np.ndarray | None:
        """The rows that are solved first; None where all rows are few enough."""
        size = max(
            int(n * self.subsample_fraction),
            self.subsample_rows_per_column * (d + 1),
            self.subsample_from // 4,
        )
        if n < self.subsample_from or size > n // 2:
            return None
        return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


# The line search ends at this fraction of the first derivative, or at this number of steps.
_LINE_REDUCTION, _LINE_STEPS = 0.1, 40


class SmoothNewton:
    """The point (w, b), its scores g and its duals β = −L'(g).

    ``sum_norm`` bounds the change of Xᵀβ when Σβ = 0 is restored by one unit; 0: not known.
    """

    def __init__(
        self,
        design: DesignMatrix,
        problem: LinearPrimal,
        w: np.ndarray,
        b: float,
        g: np.ndarray,
        sum_norm: float = 0.0,
        settings: NewtonSettings | None = None,
    ):
        self.design, self.problem = design, problem
        self.settings = settings or NewtonSettings()
        self.losses = problem.arrays
        self.penalty = problem.intercept_penalty
        self.w, self.b, self.g = w, b, g.copy()
        self.beta, self.D = np.empty(design.n), np.empty(design.n)
        self.newton_gram = NewtonGram(design, self.settings)
        self.steps = 0
        self.target_gap, self.sum_norm = 0.0, sum_norm

    @property
    def gram(self) -> np.ndarray | None:
        """XᵀDX of the last step that was solved for directly."""
        return self.newton_gram.gram

    def solve(self, target_gap: float, width: float, stop: Callable[[], bool]) -> None:
        """Newton steps until the gap, which the gradient determines, is at most the target."""
        self.target_gap = target_gap
        for _ in range(self.settings.newton_steps):
            grad_w, grad_b = self._gradient()
            if self._gap(grad_w, grad_b) <= target_gap or stop() or not self._step(grad_w, grad_b):
                return
            self.steps += 1

    def _gap(self, grad_w: np.ndarray, grad_b: float) -> float:
        if self.sum_norm:
            return (float(np.sqrt(grad_w @ grad_w)) + self.sum_norm * abs(grad_b)) ** 2 / 2
        return float(grad_w @ grad_w) / 2 + intercept_gap(self.penalty, grad_b)

    def _gradient(self) -> tuple[np.ndarray, float]:
        total = negative_gradient(self.problem.kind, self.g, *self.losses, self.beta)
        grad_b = 0.0 if self.penalty is None else self.penalty * self.b - total
        return self.w - self.design.rmatvec(self.beta), grad_b

    def _step(self, grad_w: np.ndarray, grad_b: float) -> bool:
        """One Newton step; False where float64 knows no descent."""
        return self._step_towards(grad_w, grad_b, *self._hessian_diagonal(), grad_w, grad_b)

    def _step_towards(
        self,
        model_w: np.ndarray,
        model_b: float,
        used: int,
        total: float,
        grad_w: np.ndarray,
        grad_b: float,
    ) -> bool:
        """A step along −H⁻¹ (model_w, model_b), with a line search from the true gradient.

        ``used`` entries of D are not zero, and ``total`` is their sum.
        """
        if self.design.d <= self.settings.direct_columns:
            step_w, step_b = self._direct(model_w, model_b, used)
        else:
            step_w, step_b = self._conjugate(model_w, model_b, total)
        h = self.design.matvec(step_w, step_b)
        t = self._line_search(step_w, step_b, h, float(grad_w @ step_w) + grad_b * step_b)
        if t == 0:
            return False
        self.w = self.w + t * step_w
        self.b += t * step_b
        self.g += t * h
        return True

    def _hessian_diagonal(self) -> tuple[int, float]:
        return hessian_diagonal(self.problem.kind, self.g, *self.losses, self.D)

    def _derivatives(self, h: np.ndarray, t: float) -> tuple[float, float]:
        return directional_derivatives(self.problem.kind, self.g, h, t, *self.losses)

    def _direct(self, grad_w: np.ndarray, grad_b: float, used: int) -> tuple[np.ndarray, float]:
        gram, ridge = self.newton_gram.at(self.D, used)
        # Where b has no second derivative: a step of 1 in the scores.
        extra_b = 0.0 if used or self.penalty else abs(grad_b) or 1.0
        solve = factor_newton_equations(gram, self.penalty, extra_b, ridge)
        return solve(-grad_w, -grad_b)

    def _conjugate(
        self, grad_w: np.ndarray, grad_b: float, total: float
    ) -> tuple[np.ndarray, float]:
        """Conjugate gradients, b scaled by its penalty or, if it is free, its second derivative.

        The residual that is left is the gradient after the step, but for the curvature of the
        losses; what is left of Σβ = 0 will be scaled away.
        """
        has_b, penalty = self.penalty is not None, self.penalty or 0.0
        scale_b = penalty or total or abs(grad_b) or 1.0
        inverse_diagonal = np.ones(self.design.d + 1)
        inverse_diagonal[-1] = 1 / scale_b

        def apply(v: np.ndarray) -> np.ndarray:
            out, out_b = self.design.hessian_product(self.D, v[:-1], float(v[-1]))
            out_b += (penalty + 1e-12 * scale_b) * v[-1]
            return np.append(out + v[:-1], out_b if has_b else 0.0)

        rhs = np.append(-grad_w, -grad_b if has_b else 0.0)
        end = self.settings.cg_reduction**2 * float(rhs @ (inverse_diagonal * rhs))

        def stop(x: np.ndarray, r: np.ndarray, rho: float) -> bool:
            r_b = float(r[-1])
            left = np.sqrt(r[:-1] @ r[:-1] + (r_b * r_b / scale_b if penalty else 0.0))
            return rho <= end or (left + self.sum_norm * abs(r_b)) ** 2 <= self.target_gap

        steps = self.settings.cg_steps
        x = conjugate_gradient(apply, rhs, stop, steps, lambda r: inverse_diagonal * r)
        return x[:-1], float(x[-1])

    def _line_search(self, step_w: np.ndarray, step_b: float, h: np.ndarray, slope: float) -> float:
        """The t with a zero derivative of F along the step; ``slope`` is that at 0."""
        square = float(step_w @ step_w) + (self.penalty or 0.0) * step_b * step_b
        linear = slope + float(self.beta @ h)  # all but the losses of these rows

        def derivatives(t: float) -> tuple[float, float]:
            first, second = self._derivatives(h, t)
            return linear + t * square + first, square + second

        return line_search(derivatives, slope)


def line_search(derivatives: Callable[[float], tuple[float, float]], slope: float) -> float:
    """Where an increasing derivative, ``slope`` < 0 at 0, is about zero: safeguarded Newton steps.

    ``derivatives(t)`` are the first and the second one. Returns 0 where float64 knows no descent.
    """
    if not slope < 0:
        return 0.0
    low, high, t, shrink = 0.0, np.inf, 1.0, 0.5
    for _ in range(_LINE_STEPS):
        first, second = derivatives(t)
        if abs(first) <= _LINE_REDUCTION * -slope:
            return t
        if first < 0:
            low = t
        else:
            high = t
        new = t - first / second if second > 0 else np.inf
        if not low < new < high:
            if high == np.inf:
                new = 4 * t
            elif low == 0:  # the step may be too long by a hundred decades
                new, shrink = shrink * high, shrink * shrink
            else:
                new = (low + high) / 2 if high < 4 * low else np.sqrt(low) * np.sqrt(high)
        t = new
    return low


def intercept_gap(penalty: float | None, grad_b: float) -> float:
    """What κ b ≠ Σβ adds to the gap: exactly for κ > 0, as an estimate for κ = 0."""
    if penalty:
        return grad_b * grad_b / (2 * penalty)
    return abs(grad_b)
