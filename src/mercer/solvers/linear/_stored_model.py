"""A linear model as it is stored: solved, rounded to the type of its coefficients, and certified.

Solvers work on rows minus a common shift where columns are far from zero and the intercept is free:
w stays the same, and b changes by the shift times w. What counts is the gap of the stored model on
the rows as they are. Where a solver has reached its tolerance and the stored model has not, the
solver continues with a smaller one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._result import LinearResult, Status
from mercer.problems._losses import EPSILON_INSENSITIVE
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._stopping import Stopping
from mercer.solvers.linear._bounded_gap import bound_gap, bound_gap_by_norms
from mercer.solvers.linear._coordinate_descent import CoordinateDescent
from mercer.solvers.linear._design_matrix import DenseMatrix, LocalMatrix, dot_doubled
from mercer.solvers.linear._gradient_dual import evaluate
from mercer.solvers.linear._path_following import Start

__all__ = ["ShiftedDesign", "StoredModel", "solve_and_bound", "until_bounded"]

# Solvers are asked for a little less than the tolerance, as the bound adds rounding; where that was
# not enough, for this fraction of it, up to this many times.
_TOL_FACTOR, _RETRY_FACTOR, _MAX_ATTEMPTS = 0.999, 0.2, 3


@dataclass(frozen=True, eq=False)
class StoredModel:
    """The solution in the solver's coordinates, and the stored model with bounds of its gap."""

    solution: LinearResult
    bounded: LinearResult


@dataclass(frozen=True, eq=False)
class ShiftedDesign:
    """Rows as they are, rows as solvers see them, and the difference (None: there is none)."""

    design: LocalMatrix
    seen: LocalMatrix
    shift: np.ndarray | None = None

    @classmethod
    def of(cls, design: LocalMatrix, intercept_penalty: float | None) -> ShiftedDesign:
        """Shift columns whose mean is 100 × their and 10 × the typical standard deviation.

        Judged by some 200 rows.
        """
        if intercept_penalty != 0 or not isinstance(design, DenseMatrix):
            return cls(design, design)
        some = design.X[:: max(1, design.n // 200)].astype(np.float64)
        with np.errstate(all="ignore"):
            mean, deviation = some.mean(axis=0), some.std(axis=0)
            typical = float(np.sqrt(np.mean(deviation**2)))
            far = (np.abs(mean) > 100 * deviation) & (np.abs(mean) > 10 * typical)
        if not far.any() or not np.isfinite(mean).all():
            return cls(design, design)
        shift = np.where(far, mean, 0.0)
        return cls(design, design.shifted(shift), shift)

    def stored_b(self, w: np.ndarray, b: float) -> float:
        """The intercept on the rows as they are."""
        return float(b) if self.shift is None else float(b) - dot_doubled(self.shift, w)

    def seen_b(self, w: np.ndarray, b: float) -> float:
        """The intercept on the shifted rows."""
        return float(b) if self.shift is None else float(b) + dot_doubled(self.shift, w)


def solve_and_bound(
    solver: Any,
    problem: LinearPrimal,
    shifted: ShiftedDesign,
    stopping: Stopping,
    start: Start | None,
) -> StoredModel:
    """The stored model of one task; its bounded gap is to meet the solver's tolerance."""
    design, seen, dtype = shifted.design, shifted.seen, shifted.design.X.dtype
    zero, zero_w = np.zeros(design.n), np.zeros(design.d)

    def bound(found: LinearResult) -> LinearResult:
        if shifted.shift is None and dtype == np.float64:
            bounded = bound_gap_by_norms(problem, design, found, solver.tol)
            if bounded is not None:
                return bounded
        w = found.w.astype(dtype).astype(np.float64)
        b = float(dtype.type(shifted.stored_b(found.w, found.b)))
        beta = None if found.is_gradient_dual else found.beta
        return bound_gap(problem, design, w, b, beta, solver.tol)

    constant = problem.constant_fit()
    if constant is not None:  # the optimal value is 0
        found = evaluate(problem, seen, zero_w, constant, zero, zero_w)
        rounded = float(dtype.type(constant))
        bounded = bound_gap(problem, design, zero_w, rounded, zero, solver.tol)
        if bounded.gap == 0:
            return StoredModel(found, bounded)

    def solve(tol: float, left: int, start: Start | None) -> LinearResult:
        result = replace(solver, tol=tol, max_iter=left).solve(problem, seen, stopping, start)
        if result.status is Status.STALLED and problem.kind == EPSILON_INSENSITIVE:
            # C or columns too uneven for the Newton equations: coordinate descent continues.
            last = Start(result.w, result.b, result.beta)
            more = CoordinateDescent(tol, left, solver.seed).solve(problem, seen, stopping, last)
            better = more if more.finite_gap < result.finite_gap else result
            result = replace(better, status=more.status).with_effort_of(result, more)
        return result

    stopped = stopping.stopped
    if stopped is not None:  # before anything was begun
        found = evaluate(problem, seen, zero_w, 0.0, zero, zero_w)
        return StoredModel(found, replace(bound(found), status=stopped))

    def next_start(found: LinearResult) -> Start:
        return Start(found.w, found.b, found.beta)

    return until_bounded(solve, bound, next_start, solver.tol, solver.max_iter, start)


def until_bounded(
    solve: Callable[[float, int, Any], LinearResult],
    bound: Callable[[LinearResult], LinearResult],
    next_start: Callable[[LinearResult], Any],
    tol: float,
    max_iter: int,
    start: Any,
) -> StoredModel:
    """Solve to ever smaller tolerances until the stored model's bounded gap meets ``tol``."""
    best: StoredModel | None = None
    runs: list[LinearResult] = []
    solver_tol = _TOL_FACTOR * tol
    for _ in range(_MAX_ATTEMPTS):
        done = sum(result.iterations for result in runs)
        found = solve(solver_tol, max_iter - done if max_iter >= 0 else -1, start)
        runs.append(found)
        bounded = replace(bound(found), status=found.status)
        if best is None or bounded.finite_gap < best.bounded.finite_gap:
            best = StoredModel(found, bounded)
        if bounded.meets(tol) or found.status is not Status.SOLVED:
            break
        solver_tol, start = _RETRY_FACTOR * solver_tol, next_start(found)
    assert best is not None
    bounded = replace(best.bounded, status=runs[-1].status)
    return replace(best, bounded=bounded.with_effort_of(*runs))
