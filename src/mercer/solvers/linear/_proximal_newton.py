"""Proximal Newton method for the ε-insensitive loss (with the hinge as a special case).

The loss has no second derivative. Around present duals β₀ its dual is given a quadratic term,
ω (β − β₀)²/(2C), with which a row's dual at the score g is

    β(g) = argmax over |β| ≤ C of   low·β₊ − high·β₋ − g β − ω (β − β₀)² / (2C)

and the primal is piecewise quadratic: within a width ω of an end of its interval a row has the
second derivative C/ω, elsewhere none. Semismooth Newton steps with an exact line search solve that
smooth problem; its duals are the next β₀, and ω falls. This is the augmented Lagrangian method on
the primal (Rockafellar, Math. Oper. Res. 1, 1976): it converges to the optimum of the loss itself,
whatever ω is. Only rows with a free dual enter XᵀDX, at the end hardly more than columns.

Along a path few rows change between 0, free and C. `ActiveRows` solves for those with a free dual
and those whose score is near an end of their interval, judged by its last change; the duals of the
others enter as a constant of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer._precision import EPS
from mercer._result import LinearResult
from mercer.problems._losses import UNBOUNDED, interval_gap
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._design_matrix import DesignMatrix
from mercer.solvers.linear._smooth_newton import NewtonSettings, SmoothNewton, intercept_gap

__all__ = [
    "ActiveRows",
    "ProximalNewton",
    "location_and_scale",
    "proximal_derivatives",
    "update_duals",
]


class ProximalNewton(SmoothNewton):
    """The point (w, b), its duals β, and the present duals β₀.

    Xᵀβ (``w_beta``) may include the duals of rows that are left out, whose sum is ``fixed_total``.
    """

    def __init__(
        self,
        design: DesignMatrix,
        problem: LinearPrimal,
        w: np.ndarray,
        b: float,
        g: np.ndarray,
        beta: np.ndarray | None = None,
        w_beta: np.ndarray | None = None,
        fixed_total: float = 0.0,
        settings: NewtonSettings | None = None,
    ):
        super().__init__(design, problem, w, b, g, settings=settings)
        self.change = np.empty(design.n)
        self.fixed_total = fixed_total
        self.is_warm, self.has_new_center = beta is not None, False
        self.width, self.unit = 0.0, location_and_scale(problem)[1]
        self.center = None if beta is None else beta.copy()
        self.beta[:] = 0.0 if beta is None else beta
        self.w_beta = np.zeros(design.d)
        if beta is not None:
            self.w_beta[:] = design.rmatvec(beta) if w_beta is None else w_beta

    def solve(
        self, target_gap: float, width: float, stop: Callable[[], bool], once: bool = False
    ) -> None:
        """Newton steps and new β₀ until the gap is at most the target; ``once``: to the first."""
        center = self._first_center(width)
        stalled, is_new = 0, self.is_warm
        for _ in range(self.settings.proximal_steps):
            grad_w, grad_b, loss_gap = self._evaluate()
            smooth_gap = float(grad_w @ grad_w) / 2 + intercept_gap(self.penalty, grad_b)
            if smooth_gap + loss_gap <= target_gap or stop() or stalled > 2:
                return
            is_solved = smooth_gap <= loss_gap
            if not is_solved:
                predicted = is_new and self._predicted_step(grad_w, grad_b)
                is_solved = not predicted and not self._step(grad_w, grad_b)
                is_new = False
                stalled = stalled + 1 if is_solved else 0
                self.steps += 1
            if is_solved:
                is_new = True
                center[:] = self.beta
                self.width = max(
                    self.width / self.settings.width_reduction,
                    self.settings.min_width * self.unit,
                )
                self.has_new_center = True
                if once:
                    return

    def _first_center(self, width: float) -> np.ndarray:
        """Set the width of the first call and, without duals to start from, β₀."""
        if self.width == 0:
            is_flat = self.is_warm or not np.ptp(self.g)
            spread = self.unit if is_flat else min(float(self.g.std()), self.unit)
            self.width = width = width * spread
        if self.center is None:
            self.center = np.zeros(self.design.n)
            update_duals(self.g, *self.losses, self.center, width, self.center, self.change)
            self.center *= 0.5
        return self.center

    def _predicted_step(self, grad_w: np.ndarray, grad_b: float) -> bool:
        """The step after which the free duals would be those of β₀."""
        used, total = _predicted_duals(
            self.g, *self.losses, self.center, self.width, self.beta, self.D, self.change
        )
        if used == 0:
            return False
        change_b = 0.0 if self.penalty is None else float(self.change.sum())
        model_w = grad_w - self.design.rmatvec(self.change)
        return self._step_towards(model_w, grad_b - change_b, used, total, grad_w, grad_b)

    def _evaluate(self) -> tuple[np.ndarray, float, float]:
        """Update β; the gradient, and the gap of duals and scores."""
        total, loss_gap = update_duals(
            self.g, *self.losses, self.center, self.width, self.beta, self.change
        )
        self.w_beta += self.design.rmatvec(self.change)  # few duals change: few rows are read
        penalty = self.penalty
        grad_b = 0.0 if penalty is None else penalty * self.b - self.fixed_total - total
        return self.w - self.w_beta, grad_b, loss_gap

    def _hessian_diagonal(self) -> tuple[int, float]:
        return _free_hessian(self.beta, self.problem.C, self.width, self.D)

    def _derivatives(self, h: np.ndarray, t: float) -> tuple[float, float]:
        return proximal_derivatives(self.g, h, t, *self.losses, self.center, self.width)


class ActiveRows:
    """`ProximalNewton` on the active rows; after the first smooth problem violating rows join.

    The caller evaluates the gap of all rows and may call `solve` again: then all are active.
    """

    def __init__(
        self,
        design: DesignMatrix,
        problem: LinearPrimal,
        first: LinearResult,
        delta_g: np.ndarray,
        settings: NewtonSettings | None = None,
    ):
        self.design, self.problem = design, problem
        self.settings = settings = settings or NewtonSettings()
        self.is_active = np.empty(design.n, np.bool_)
        count = _predicted_active(
            first.g, *problem.arrays, first.beta, delta_g, settings.active_margin, self.is_active
        )
        self.is_active[:] |= count > settings.max_active_fraction * design.n
        self.steps_before = 0
        self._restrict(first.w, first.b, first.g, first.beta, first.w_beta)

    def _restrict(
        self, w: np.ndarray, b: float, g: np.ndarray, beta: np.ndarray, w_beta: np.ndarray
    ) -> None:
        """Start the method on the active rows."""
        self.index = index = np.flatnonzero(self.is_active)
        self.all_beta = beta
        design, problem, fixed_total = self.design, self.problem, 0.0
        if index.size < design.n:
            design, problem = design.take(index), problem.take(index)
            fixed_total = float(beta.sum() - beta[index].sum())
            g, beta = g[index], beta[index]
        self.method = ProximalNewton(
            design, problem, w, b, g, beta, w_beta, fixed_total, self.settings
        )

    @property
    def w(self) -> np.ndarray:
        return self.method.w

    @property
    def b(self) -> float:
        return self.method.b

    @property
    def beta(self) -> np.ndarray:
        beta = self.all_beta.copy()
        beta[self.index] = self.method.beta
        return beta

    @property
    def steps(self) -> int:
        return self.steps_before + self.method.steps

    def solve(self, target_gap: float, width: float, stop: Callable[[], bool]) -> None:
        """Proximal steps until the gap is at most the target, as far as the active rows tell."""
        method = self.method
        if method.width:  # not the first call
            self.is_active[:] = True
            self._restart(self.design.matvec(self.w, self.b))
            width = method.width
        elif self.index.size < self.design.n:
            method.solve(target_gap, width, stop, once=True)
            if not method.has_new_center:
                return
            g = self.design.matvec(self.w, self.b)
            width = method.width
            if _violating_rows(g, *self.problem.arrays, self.all_beta, self.is_active):
                self._restart(g)
        self.method.solve(target_gap, width, stop)

    def _restart(self, g: np.ndarray) -> None:
        self.steps_before += self.method.steps
        self._restrict(self.w, self.b, g, self.beta, self.method.w_beta)


def location_and_scale(problem: LinearPrimal) -> tuple[float, float]:
    """Median and deviation of the targets of a regression, the units of its scores; else 0, 1.

    Rows count by their C: a weight of two is a row repeated.
    """
    low, high = problem.low, problem.high
    are_classes = low.min(initial=0.0) <= -UNBOUNDED or high.max(initial=0.0) >= UNBOUNDED
    if are_classes or low.size == 0:
        return 0.0, 1.0
    weight = problem.C / problem.C.max() if problem.C.max() > 0 else np.ones(low.size)
    order = np.argsort(low, kind="stable")
    targets, weight = (low + (high - low) / 2)[order], weight[order]
    below = np.cumsum(weight)
    half = below[-1] / 2 * (1 - low.size * EPS)  # sums are rounded
    mean = np.average(targets, weights=weight)
    deviation = np.sqrt(np.average((targets - mean) ** 2, weights=weight))
    return float(targets[np.searchsorted(below, half)]), float(deviation) or 1.0


# ---------------------------------------------------------------------- compiled


@compiled(fastmath=REASSOCIATE)
def _dual(g, low, high, C, center, width):
    stiffness = C / width
    up = center + stiffness * (low - g)
    down = center + stiffness * (high - g)
    return max(min(up, C), 0.0) + min(max(down, -C), 0.0)


@compiled(fastmath=REASSOCIATE)
def update_duals(g, low, high, C, center, width, beta, change):
    """Write β(g) and its change; return Σβ and the sum of the Fenchel–Young terms."""
    total, gap = 0.0, 0.0
    for i in range(g.size):
        new = _dual(g[i], low[i], high[i], C[i], center[i], width)
        gap += interval_gap(new, low[i] - g[i], g[i] - high[i], C[i])
        change[i] = new - beta[i]
        beta[i] = new
        total += new
    return total, gap


@compiled(fastmath=REASSOCIATE)
def _free_hessian(beta, C, width, out):
    """Write D: C/ω of rows with a free dual, else 0; return the number of nonzeros and the sum."""
    used, total = 0, 0.0
    for i in range(beta.size):
        size = abs(beta[i])
        out[i] = C[i] / width if 0.0 < size < C[i] else 0.0
        used += out[i] != 0.0
        total += out[i]
    return used, total


@compiled(fastmath=REASSOCIATE)
def _predicted_duals(g, low, high, C, center, width, beta, out, change):
    """As `_free_hessian`, for the rows whose dual in β₀ is free: these are predicted to stay free.

    ``change`` is what their duals would be, whatever the bounds, minus β.
    """
    used, total = 0, 0.0
    for i in range(g.size):
        out[i] = change[i] = 0.0
        size = abs(center[i])
        if 0.0 < size < C[i]:
            out[i] = C[i] / width
            end = low[i] if center[i] > 0.0 else high[i]
            change[i] = center[i] + out[i] * (end - g[i]) - beta[i]
            used += 1
            total += out[i]
    return used, total


@compiled(fastmath=REASSOCIATE)
def proximal_derivatives(g, h, t, low, high, C, center, width):
    """First and second derivative of the smoothed losses at g + t h in t."""
    first, second = 0.0, 0.0
    for i in range(g.size):
        c = C[i]
        beta = _dual(g[i] + t * h[i], low[i], high[i], c, center[i], width)
        first -= beta * h[i]
        size = abs(beta)
        second += c / width * h[i] * h[i] if 0.0 < size < c else 0.0
    return first, second


@compiled(fastmath=REASSOCIATE)
def _predicted_active(g, low, high, C, beta, delta_g, margin, out):
    """Mark rows with a free dual and rows near an end of their interval; return how many.

    Near is within 2 |Δg| of the row plus ``margin`` times the mean |Δg|.
    """
    common = 0.0
    for i in range(g.size):
        common += abs(delta_g[i])
    common *= margin / max(g.size, 1)
    count = 0
    for i in range(g.size):
        size = abs(beta[i])
        distance = min(abs(low[i] - g[i]), abs(high[i] - g[i]))
        out[i] = 0.0 < size < C[i] or distance <= 2 * abs(delta_g[i]) + common
        count += out[i]
    return count


@compiled
def _violating_rows(g, low, high, C, beta, out):
    """Mark further rows whose dual does not fit the side of their score; return how many."""
    count = 0
    for i in range(g.size):
        if not out[i]:
            is_inside = low[i] < g[i] < high[i]
            out[i] = is_inside if beta[i] != 0.0 else g[i] < low[i] or g[i] > high[i]
            count += out[i]
    return count
