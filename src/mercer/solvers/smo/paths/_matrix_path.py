"""Many related problems on one kernel matrix: C along a path, held-out rows as bounds of zero.

A grid search solves the problem of each fold for many C. K of all rows is computed once
(`MatrixPath` holds it in float64); a fold is the list of its training rows, no copy of K is made.
From one C to the next β and f = Kβ are scaled, which keeps every variable at its bound. f is kept
at all rows: where a row is held out, f + b is its decision value.

References: decomposition, Joachims 1999; paths by warm starts, Friedman et al. 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._precision import EPS
from mercer._result import Status
from mercer.problems._dual_qp import BoxQP, fill_from_front
from mercer.problems._kkt import intercepts
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo._pair_update import LANE, pair_scratch
from mercer.solvers.smo.paths._active_block import forget
from mercer.solvers.smo.paths._matrix_rounds import Count, RoundNumber, add_columns, rescale, rounds

__all__ = [
    "MatrixPath",
    "PathPoint",
    "PathSettings",
    "Workspace",
    "bound_start",
    "fits_matrix_path",
]


@dataclass(frozen=True)
class PathSettings:
    """Tuning parameters of `MatrixPath`.

    Attributes
    ----------
    most_active : int
        Variables of a block; its float32 values (16 MB) stay in the third-level cache.
    margin : float
        Variables whose KKT slack is below this factor times the violation are in the block, too.
    inner_tol, inner_reduction : float
        A block is solved to inner_tol · tol or to inner_reduction · violation, whichever is larger.
    values_per_slice : int
        Kernel values and gradients read between two checks of the limits (a few milliseconds).
    max_idle_rounds : int
        Rounds without progress after which the general solver is asked.
    max_diagonal : float
        Kernel values beyond this, or below its inverse, are left to the general solver.
    kept_violation : float
        The block of the last round is kept if this fraction of the violation is within it.
    progress : float
        A round has made progress if the violation is below this factor times the least so far.
    most_rows : float
        f is kept at all rows if the path asks for at least this fraction of them: no index.
    points_per_call : int
        Problems of leave-one-out that are solved one after the other: the block of one serves the
        next, so that results depend on this number, and not on that of the threads.
    rounding : float
        A sum or a change that is smaller than this, relative to its terms, is rounding.
    """

    most_active: int = 2048
    margin: float = 0.05
    inner_tol: float = 0.9
    inner_reduction: float = 0.1
    values_per_slice: int = 20_000_000
    max_idle_rounds: int = 40
    max_diagonal: float = 1e6
    kept_violation: float = 0.7
    progress: float = 0.9
    most_rows: float = 0.6
    points_per_call: int = 64
    rounding: float = 64 * EPS

    @cached_property
    def factors(self) -> np.ndarray:
        """As `rounds` takes them."""
        return np.array(
            [self.inner_tol, self.inner_reduction, self.margin, self.kept_violation, self.progress]
        )

    @cached_property
    def limits(self) -> np.ndarray:
        """As `rounds` takes them."""
        return np.array([self.max_idle_rounds, self.values_per_slice])


def fits_matrix_path(problem: BoxQP) -> bool:
    """Whether `MatrixPath` solves problems of this form: no hard margin, at most one group."""
    return problem.n_groups <= 1 and not problem.is_hard


class Workspace:
    """Memory for the blocks of one thread, used by one path after the other."""

    def __init__(self, n_variables: int, settings: PathSettings):
        most = min(n_variables, settings.most_active)
        side = -(-(most + 1) // LANE) * LANE
        self.chosen, self.active = np.empty((2, most), np.int64)
        self.place, self.filled_at = np.empty(n_variables, np.int64), np.empty(side, np.int64)
        self.log, self.rows = np.empty(4 * side, np.int64), np.empty(side, np.int64)
        self.block, self.is_filled = np.zeros((side, side + 16), np.float32), np.zeros(side, bool)
        self.vectors, self.changed = np.empty((4, side)), np.empty(side, np.int64)
        self.change = np.empty(side)
        self.pairs = pair_scratch(side, np.float32)
        self.v, self.slack = np.empty((2, n_variables))
        self.side = np.empty(n_variables, np.int8)

        self.owner: Any = None  # whose kernel values the block has
        self.n_held = 0

    @property
    def n_variables(self) -> int:
        return self.v.size

    def for_path(self, owner: Any, m: int, *, keep: bool = True) -> tuple[np.ndarray, ...]:
        """The arrays of `rounds` for m variables; the block is emptied for another owner."""
        if self.owner is not owner or not keep:
            forget(self.place, self.log, self.filled_at)
            self.owner, self.n_held = owner, 0
        return (
            self.v[:m], self.slack[:m], self.side[:m], self.chosen, self.active, self.place,
            self.log, self.filled_at, self.rows, self.block, self.is_filled, self.vectors,
            *self.pairs, self.change, self.changed,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PathPoint:
    """The solution of one problem of a path.

    Attributes
    ----------
    beta : float64 array
        One entry per variable.
    values : float64 array
        f + b at the rows the path was asked for, in float64.
    b : float
    violation : float
        The KKT violation under the float64 kernel matrix; its rounding is not bounded.
    status : Status
    steps : int
        Pair steps.
    """

    beta: np.ndarray
    values: np.ndarray
    b: float
    violation: float
    status: Status
    steps: int


class MatrixPath:
    """Problems on the same training rows, one after the other.

    Parameters
    ----------
    K : float64 array of shape (n, n)
        The kernel matrix of all rows.
    rows : int array
        The training rows: points of the problems.
    at : int array, optional
        Rows at which f is kept, besides the training rows; all rows of K by default.
    tol : float
    workspace : Workspace
    """

    def __init__(
        self,
        K: np.ndarray,
        rows: np.ndarray,
        tol: float,
        workspace: Workspace,
        at: np.ndarray | None = None,
        settings: PathSettings | None = None,
    ):
        self.K, self.rows, self.tol = K, rows, tol
        self.settings, self.workspace = settings or PathSettings(), workspace
        self.at: np.ndarray | None = None
        self.n_train = rows.size
        if at is not None:
            self.at = np.concatenate([rows, at]).astype(np.int64)
        self.f = np.zeros(K.shape[0] if self.at is None else self.at.size)
        self.beta: Any = None  # of the last problem
        self.last: Any = None

    def solve(
        self,
        problem: BoxQP,
        stopping: Stopping,
        factor: float = 1.0,
        start: np.ndarray | None = None,
    ) -> PathPoint:
        """Solve a problem, from ``factor`` times the last solution or from ``start``.

        The factor is the ratio of C to that of the last problem; bounds and group sums must have
        changed by it, or not at all.
        """
        points = np.arange(self.n_train) if problem.row is None else problem.row
        row = self.rows[points].astype(np.int64, copy=False)
        position = row if self.at is None else points
        self._points = points
        self._start(problem, row, factor, start)
        w, s = self.workspace, self.settings
        D = None if problem.diag is None else problem.at_variables(problem.diag)
        space = w.for_path(self, problem.n_variables, keep=D is None)
        counts, numbers = np.zeros(len(Count), np.int64), np.zeros(len(RoundNumber))
        counts[Count.HELD], numbers[RoundNumber.LEAST] = w.n_held, np.inf
        fixed = (
            self.K, row, position, self.at, problem.target, problem.lower, problem.upper, D,
            problem.n_groups == 1, self.tol,
            s.factors, s.limits,
        )  # fmt: skip
        stopped: Status | None = None
        while stopped is None and not rounds(*fixed, self.beta, self.f, *space, counts, numbers):
            stopped = stopping.stopped
        w.n_held = int(counts[Count.HELD])
        violation = float(numbers[RoundNumber.VIOLATION])
        b = float(numbers[RoundNumber.B])
        if stopped is not None:
            b = self._intercept(problem)
        status = stopped or (Status.SOLVED if violation <= self.tol else Status.STALLED)
        return PathPoint(self.beta, self.f + b, b, violation, status, int(counts[Count.STEPS]))

    def _start(
        self, problem: BoxQP, row: np.ndarray, factor: float, start: np.ndarray | None
    ) -> None:
        """β and f to begin with."""
        if start is not None or self.beta is None:
            self.begin(problem, problem.start if start is None else start)
            return
        last, beta, w = self.last, np.empty_like(self.beta), self.workspace
        total = float(problem.group_sums[0]) if problem.n_groups else 0.0
        rescale(
            self.K, row, row if self.at is None else self._points, self.at, self.beta, last.lower,
            last.upper, problem.target, problem.lower, problem.upper, problem.n_groups == 1, total,
            factor, PathSettings.rounding, self.f, beta, w.change, w.changed,
        )  # fmt: skip
        self.beta, self.last = beta, problem

    def begin(self, problem: BoxQP, beta: np.ndarray, *, if_better: bool = False) -> None:
        """Go on from a feasible β.

        With ``if_better`` from zero (which must be feasible) if the dual value of β is negative.
        """
        points = np.arange(self.n_train) if problem.row is None else problem.row
        row = self.rows[points].astype(np.int64, copy=False)
        self.f[:] = 0.0
        self._add(row, beta)
        f = self.f[row if self.at is None else points]
        if if_better and beta @ (problem.target - 0.5 * f) <= 0:
            beta = np.zeros_like(beta)
            self.f[:] = 0.0
        self.beta, self.last = beta.copy(), problem

    def _add(self, row: np.ndarray, change: np.ndarray) -> None:
        used = np.flatnonzero(change)
        add_columns(self.K, row[used], change[used], used.size, self.at, self.f)

    def _intercept(self, problem: BoxQP) -> float:
        """b of a solution that was stopped."""
        f = self.f[self.rows] if self.at is None else self.f[: self.n_train]
        if problem.diag is not None:
            f = f + problem.diag * problem.at_points(self.beta, self.n_train)
        b = intercepts(problem, self.beta, f)[0]
        return float(b[0]) if b.size else 0.0


def bound_start(problem: BoxQP, seed: int = 0) -> np.ndarray | None:
    """The solution for a kernel of zeros, to which β tends for C → 0; None if it has none.

    It maximises targetᵀβ: variables are raised from their lower bounds in the order of their
    targets until the sum is reached. Nearly all are then at a bound, as for small C.
    """
    if not problem.is_finite or problem.diag is not None or problem.n_groups != 1:
        return None
    rng = np.random.default_rng(seed)  # the order of equal targets
    order = np.lexsort([rng.random(problem.n_variables), -problem.target])
    total = float(problem.group_sums[0] - problem.lower.sum())
    beta = problem.lower.copy()
    beta[order] += fill_from_front(total, (problem.upper - problem.lower)[order])
    return _at_bounds(problem, beta)


def _at_bounds(problem: BoxQP, beta: np.ndarray) -> np.ndarray:
    """β with what is at a bound up to rounding exactly at it: else it would count as free."""
    near = PathSettings.rounding * beta.size * (problem.upper - problem.lower)
    beta = np.where(problem.upper - beta <= near, problem.upper, beta)
    return np.where(beta - problem.lower <= near, problem.lower, beta)
