"""The problems of leave-one-out: each has the bounds zero for the variables of one point.

The solution without a point is predicted (`_active_set`); where that fails, β of the point is set
to zero, and its sum is given to other variables (`rescale`). Rounds of decomposition follow
(`_matrix_rounds`), which often have nothing left to do. One call solves the problems of many
points: the block of one serves the next, as most of its variables are the same.

Reference: decremental learning, Cauwenberghs and Poggio, NIPS 13, 2001.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import compiled
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo.paths._active_set import ActiveSet
from mercer.solvers.smo.paths._matrix_path import PathSettings, Workspace
from mercer.solvers.smo.paths._matrix_rounds import (
    _B,
    _IDLE,
    _LEAST,
    _ROUNDS,
    _STEPS,
    _VIOLATION,
    _WORK,
    Count,
    RoundNumber,
    add_columns,
    rescale,
    rounds,
)

__all__ = ["leave_out"]


@compiled(inner=True)
def _move(K, row, at, old, new, f, change, changed):
    """Add the change from one β to another to f."""
    count = 0
    for k in range(old.size):
        if new[k] != old[k]:
            change[count], changed[count] = new[k] - old[k], row[k]
            count += 1
            if count == change.size:
                add_columns(K, changed, change, count, at, f)
                count = 0
    add_columns(K, changed, change, count, at, f)


@compiled
def _leave_out(
    K, row, position, at, target, lower, upper, D, has_group, tol, factors, limits, rounding,
    whole_beta, whole_f, starts, points, totals, begin, is_begun, low, high,
    beta, f, v, slack, side, chosen, active, place, log, filled_at, rows, block, is_filled, vectors,
    half_diag, g, moves, change, changed, counts, numbers, values, violations,
):  # fmt: skip
    """Solve the problems of ``points`` from ``begin`` on, until the work of a call is done.

    Returns the number of the next point, and whether its problem is begun.
    """
    work, m = 0, beta.size
    for s in range(begin, points.size):
        if not is_begun:
            for k in range(m):
                low[k], high[k] = lower[k], upper[k]
                if row[k] == row[points[s]]:
                    low[k] = high[k] = 0.0
            for k in range(f.size):
                f[k] = whole_f[k]
            _move(K, row, at, whole_beta, starts[s], f, change, changed)
            rescale(
                K, row, position, at, starts[s], lower, upper, target, low, high, has_group,
                totals[s], 1.0, rounding, f, beta, change, changed,
            )  # fmt: skip
            counts[_STEPS] = counts[_ROUNDS] = counts[_IDLE] = 0
            numbers[_LEAST] = np.inf
        has_ended = rounds(
            K, row, position, at, target, low, high, D, has_group, tol, factors, limits, beta, f,
            v, slack, side, chosen, active, place, log, filled_at, rows, block, is_filled, vectors,
            half_diag, g, moves, change, changed, counts, numbers,
        )  # fmt: skip
        if not has_ended:
            return s, True
        is_begun = False
        values[s] = f[position[points[s]]] + numbers[_B]
        violations[s] = numbers[_VIOLATION]
        work += counts[_WORK]
        if work > limits[1]:
            return s + 1, False
    return points.size, False


def leave_out(
    K: np.ndarray,
    rows: np.ndarray,
    problem: BoxQP,
    beta: np.ndarray,
    f: np.ndarray,
    points: np.ndarray,
    tol: float,
    workspace: Workspace,
    stopping: Stopping,
    settings: PathSettings,
    active_set: ActiveSet | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Decision values of some points, each under the problem without it, and KKT violations.

    A violation above ``tol`` says that the value is not known to the tolerance; after an early stop
    the violations of what is missing are infinite.

    Parameters
    ----------
    K : float64 array of shape (n, n)
    rows : int array
        Of K: the points of the problem.
    problem : BoxQP
        One that `fits_matrix_path`.
    beta, f : float64 arrays
        Its solution, and Kβ at its points.
    points : int array
    tol : float
    workspace : Workspace
    stopping : Stopping
    settings : PathSettings
    active_set : ActiveSet, optional
        Of the problem's solution, to predict those without a point.
    """
    s, n, m = settings, rows.size, problem.n_variables
    where = np.arange(n) if problem.row is None else problem.row
    row = rows[where].astype(np.int64, copy=False)
    is_all = n == len(K)
    D = None if problem.diag is None else problem.at_variables(problem.diag)
    total = float(problem.group_sums[0]) if problem.n_groups else 0.0
    # Of a one-class SVM the sum is ν times that of the bounds; of others it is zero.
    totals = total * (1 - problem.upper[points] / problem.upper.sum()) if total else 0.0 * points
    starts = np.tile(beta, (points.size, 1)) if active_set is None else active_set.without(points)
    starts[row[None] == row[points][:, None]] = 0.0
    values, violations = np.full((2, points.size), np.inf)
    counts, numbers = np.zeros(len(Count), np.int64), np.zeros(len(RoundNumber))
    low, high = np.empty((2, m))
    fixed = (
        K, row, row if is_all else where, None if is_all else rows, problem.target, problem.lower,
        problem.upper, D, problem.n_groups == 1, tol, s.factors, s.limits,
        s.rounding, beta, f, starts, points, totals,
    )  # fmt: skip
    space = workspace.for_path(values, m)
    changing = low, high, np.empty(m), np.empty(f.size), *space, counts, numbers, values, violations
    done, is_begun = 0, False
    while done < points.size and stopping.stopped is None:
        done, is_begun = _leave_out(*fixed, done, is_begun, *changing)
    return values, violations
