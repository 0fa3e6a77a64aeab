"""SMO on a kernel matrix in memory, for many problems that share it (folds, values of C).

    minimise ½ βᵀKβ − targetᵀβ   subject to   lower ≤ β ≤ upper,  Σβ = 0

K is float64 and belongs to all rows of a data set; a problem has variables on some of them (a fold
leaves the others out), but f = Kβ is kept at all rows, so that decision values at the left-out
rows cost nothing. A round selects a working set (`_selection`), solves it by pair steps on a
float32 block whose rows are gathered when they are needed (`_pair_update`), and adds the change of
β to f in float64. Along increasing C the solution is scaled and serves as the start: duals at a
bound stay there, and f scales with them.

Reads K and the problem; changes beta and f in place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo._pair_update import LANE, solve_gathered_pairs
from mercer.solvers.smo._selection import select_working_set
from mercer.solvers.smo._settings import SMOSettings

__all__ = ["MatrixPath", "PathPoint"]


@dataclass(frozen=True)
class PathPoint:
    """The solution for one C.

    Attributes
    ----------
    f : float64 array
        Kβ at all rows of the matrix.
    b : float
        The mean of target − f over free variables, else the middle of the interval of optimal ones.
    violation : float
    steps : int
    n_support : int
    """

    f: np.ndarray
    b: float
    violation: float
    steps: int
    n_support: int


class MatrixPath:
    """Solves a sequence of problems that differ in their bounds, each from the solution before.

    Parameters
    ----------
    K : (n, n) float64 array, C-contiguous
    rows : int array
        The rows of K that the points of the problems are.
    tol : float
        The KKT violation to be reached, under K.
    stopping : Stopping
    settings : SMOSettings
    """

    def __init__(
        self,
        K: np.ndarray,
        rows: np.ndarray,
        tol: float,
        stopping: Stopping,
        settings: SMOSettings | None = None,
    ):
        self.K, self.rows, self.tol, self.stopping = K, rows, tol, stopping
        self.settings = settings or SMOSettings()
        self.beta: np.ndarray | None = None
        self.bounds: tuple[np.ndarray, np.ndarray] | None = None
        self.f = np.zeros(K.shape[0])
        side = -(-min(2 * rows.size, self.settings.path_variables) // LANE) * LANE
        self.side, self.block = side, np.empty(side * side, np.float32)

    def solve(self, problem: BoxQP, ratio: float) -> PathPoint | None:
        """The solution of a problem whose bounds are ``ratio`` times those of the one before.

        None if the stopping criteria ended it.
        """
        points = self.rows if problem.row is None else self.rows[problem.row]
        beta = self._start(problem, ratio)
        arrays = points, problem.target, problem.lower, problem.upper, beta, self.f
        v, everything = np.empty(beta.size), np.arange(beta.size)
        s, steps, best, idle = self.settings, 0, np.inf, 0
        while True:
            top, bottom = _extremes(*arrays, v)
            violation = max(top - bottom, 0.0)
            if violation <= self.tol:
                break
            idle = 0 if violation < 0.99 * best else idle + 1
            best = min(best, violation)
            if self.stopping.is_stopped() or idle > s.max_idle_path_rounds:
                return None
            inner = max(s.path_tol * self.tol, s.working_set_tol * violation)
            chosen = everything
            if beta.size > self.side:
                chosen = self._select(problem, beta, v, top, bottom)
            steps += _round(self.K, *arrays, v, chosen, self.block, inner, s.path_steps)
        self.beta, self.bounds = beta, (problem.lower, problem.upper)
        free = (beta > problem.lower) & (beta < problem.upper)
        b = float(v[free].mean()) if free.any() else (top + bottom) / 2
        n_support = int(np.count_nonzero(np.bincount(points, np.abs(beta))))
        return PathPoint(self.f.copy(), b, violation, steps, n_support)

    def _select(
        self, problem: BoxQP, beta: np.ndarray, v: np.ndarray, top: float, bottom: float
    ) -> np.ndarray:
        box, taken = (beta, problem.lower, problem.upper), np.zeros(beta.size, bool)
        ends, group = (np.array([top]), np.array([bottom])), np.zeros(beta.size, np.int8)
        return select_working_set(v, *box, group, 1, *ends, taken, self.side)

    def _start(self, problem: BoxQP, ratio: float) -> np.ndarray:
        """The scaled solution of the last problem; zero at first."""
        if self.beta is None or self.bounds is None:
            return problem.start.copy()
        lower, upper = self.bounds
        beta = np.clip(ratio * self.beta, problem.lower, problem.upper)
        for old, new in ((lower, problem.lower), (upper, problem.upper)):
            at_bound = self.beta == old
            beta[at_bound] = new[at_bound]
        self.f *= ratio
        return beta


@compiled
def _extremes(points, target, lower, upper, beta, f, v):
    """v = target − f; the largest that may rise and the smallest that may fall."""
    top, bottom = -np.inf, np.inf
    for k in range(beta.size):
        v[k] = target[k] - f[points[k]]
        if beta[k] < upper[k]:
            top = max(top, v[k])
        if beta[k] > lower[k]:
            bottom = min(bottom, v[k])
    return top, bottom


@compiled
def _round(K, points, target, lower, upper, beta, f, v, chosen, block, tol, max_steps):
    """Solve the ``chosen`` variables to ``tol``, add their change to f; the number of steps."""
    q = chosen.size
    m = -(-q // LANE) * LANE
    own_points = np.empty(q, np.int64)
    own_beta, grad, low, high = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
    part = block[: m * m].reshape(m, m)
    is_filled = np.zeros(m, np.bool_)
    for p in range(q):
        k = chosen[p]
        own_points[p] = points[k]
        own_beta[p], grad[p], low[p], high[p] = beta[k], -v[k], lower[k], upper[k]
        part[p, p] = K[points[k], points[k]]
    for p in range(q, m):
        part[p, p] = 0
    steps, _, _ = solve_gathered_pairs(
        part, is_filled, K, own_points, own_beta, grad, low, high, tol, max_steps
    )
    for p in range(q):
        k = chosen[p]
        delta = own_beta[p] - beta[k]
        if delta != 0:
            beta[k] = own_beta[p]
            _add_row(f, K[points[k]], delta)
    return steps


@compiled(fastmath=REASSOCIATE)
def _add_row(f, row, delta):
    for i in range(f.size):
        f[i] += delta * row[i]
