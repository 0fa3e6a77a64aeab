"""Decision values of held-out rows for many problems on one Gram.

`follow` solves the problems of a `FoldPath` (one training set, C increasing) and yields f + b at
the held-out rows: on the whole kernel matrix where it is at hand (`_matrix_path`), else by SMO with
the kernel rows that the Gram caches. `cross_decision_values` does so for several paths over all
threads; cross-validation, calibration and conformal sets are built on it.

Solutions satisfy the KKT conditions to ``tol`` under the float64 kernel. They have no certificate:
the rounding of f is not bounded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer._result import Status
from mercer._threads import Workers, single_threaded_blas
from mercer.gram import BlockedGram
from mercer.gram._buffer_pool import borrow, give_back
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._solution import solve_within_reach
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo._solver import SMO
from mercer.solvers.smo.paths._matrix_path import (
    MatrixPath,
    PathSettings,
    Workspace,
    bound_start,
    fits_matrix_path,
)

__all__ = ["FoldPath", "HeldOutValues", "Workspaces", "cross_decision_values", "follow"]


@dataclass(frozen=True, eq=False)
class FoldPath:
    """Problems on some rows of a Gram, and the rows where decision values are wanted.

    Attributes
    ----------
    rows : int array
        Training rows: the points of the problems.
    at : int array
        Held-out rows.
    problems : sequence of BoxQP
    factors : sequence of float
        The ratio of each problem's C to that of the one before it; the first is not read.
    """

    rows: np.ndarray
    at: np.ndarray
    problems: Sequence[BoxQP]
    factors: Sequence[float]

    @cached_property
    def first(self) -> np.ndarray | None:
        """A start of the first problem that may be better than zero."""
        is_zero = len(self.problems) > 1 and not self.problems[0].start.any()
        return bound_start(self.problems[0]) if is_zero else None


@dataclass(frozen=True, eq=False)
class HeldOutValues:
    """What one problem of a path gives.

    Attributes
    ----------
    values, train_values : float64 array
        f + b at the held-out and at the training rows.
    b : float
    beta : float64 array
        One entry per variable.
    violation : float
        The KKT violation in float64; NaN after an early stop.
    status : Status
    steps : int
    seconds : float
    """

    values: np.ndarray
    train_values: np.ndarray
    b: float
    beta: np.ndarray
    violation: float
    status: Status
    steps: int
    seconds: float


class Workspaces(threading.local):
    """One `Workspace` for each thread, as large as its largest path."""

    def __init__(self) -> None:
        self.settings = PathSettings()
        self._held: Workspace | None = None

    def of(self, n_variables: int) -> Workspace:
        """This thread's, with room for ``n_variables``."""
        if self._held is None or self._held.n_variables < n_variables:
            self._held = Workspace(n_variables, self.settings)
        return self._held


def follow(
    path: FoldPath,
    gram: BlockedGram,
    K: np.ndarray | None,
    solver: SMO,
    stopping: Stopping,
    workspaces: Workspaces,
    starts: Sequence[np.ndarray | None] | None = None,
) -> Iterator[HeldOutValues]:
    """Solve the problems of a path in turn; ends early if ``stopping`` says so.

    Parameters
    ----------
    path : FoldPath
    gram : BlockedGram
        Of all rows.
    K : float64 array or None
        Its matrix, where it is at hand.
    solver : SMO
        For problems that `MatrixPath` does not solve; its tolerance is that of all.
    stopping : Stopping
    workspaces : Workspaces
    starts : sequence of feasible β, optional
        Instead of the solution of the problem before.
    """
    run = _run(path, gram, K, solver, workspaces)
    for k, (problem, factor) in enumerate(zip(path.problems, path.factors, strict=True)):
        if stopping.stopped is not None:
            return
        began = time.perf_counter()
        start = None if starts is None else starts[k]
        found = run.solve(problem, stopping, factor if k else 1.0, start)
        if found.status in (Status.TIME_LIMIT, Status.STOPPED):
            return
        yield replace(found, seconds=time.perf_counter() - began)


def _run(
    path: FoldPath, gram: BlockedGram, K: np.ndarray | None, solver: SMO, workspaces: Workspaces
) -> Any:
    on_cache = _OnCache(path, gram, solver)
    if K is None or not all(fits_matrix_path(problem) for problem in path.problems):
        return on_cache
    largest = float(np.abs(gram.diag()).max(initial=0.0))
    most = workspaces.settings.max_diagonal
    if not 1 / most <= largest <= most:
        return on_cache
    return _OnMatrix(path, K, on_cache, workspaces)


class _OnCache:
    """Problems solved by SMO on the Gram of the training rows."""

    def __init__(self, path: FoldPath, gram: BlockedGram, solver: SMO):
        self.path, self.gram, self.solver = path, gram, solver
        self.part = gram.take(path.rows)
        self.beta: np.ndarray | None = None

    def solve(
        self, problem: BoxQP, stopping: Stopping, factor: float, start: np.ndarray | None
    ) -> HeldOutValues:
        if start is None and self.beta is not None and problem.is_finite:
            scaled = np.clip(self.beta * factor, problem.lower, problem.upper)
            drift = np.abs(problem.drift(scaled)).max(initial=0.0)
            # A start must be feasible up to rounding, which the solver removes.
            start = scaled if drift <= 1e-9 * np.abs(scaled).sum() else None
        part = self.part if problem.diag is None else self.part.with_diagonal(problem.diag)
        result = solve_within_reach(self.solver, problem, part, stopping, start)
        if part is not self.part:
            part.release()
        self.beta = result.beta
        rows, coef = self.path.rows, problem.at_points(result.beta, self.path.rows.size)
        b = float(result.b.mean()) if result.b.size else 0.0
        used, f = np.flatnonzero(coef), np.zeros(self.gram.n)
        self.gram.accumulate(f, self.path.at, rows[used], coef[used])
        train = result.f if problem.diag is None else result.f - problem.diag * coef
        return HeldOutValues(
            f[self.path.at] + b,
            train + b,
            b,
            result.beta,
            result.violation,
            result.status,
            result.iterations,
            0.0,
        )


class _OnMatrix:
    """Problems solved on the whole matrix; what stalls there goes to SMO."""

    def __init__(self, path: FoldPath, K: np.ndarray, other: _OnCache, workspaces: Workspaces):
        self.path, self.other = path, other
        n_variables = max(problem.n_variables for problem in path.problems)
        some = path.rows.size + path.at.size < workspaces.settings.most_rows * K.shape[0]
        tol, workspace = other.solver.tol, workspaces.of(n_variables)
        at = path.at if some else None
        self.run = MatrixPath(K, path.rows, tol, workspace, at, workspaces.settings)

    def solve(
        self, problem: BoxQP, stopping: Stopping, factor: float, start: np.ndarray | None
    ) -> HeldOutValues:
        if start is None and self.run.beta is None and self.path.first is not None:
            self.run.begin(problem, self.path.first, if_better=True)
        point = self.run.solve(problem, stopping, factor, start)
        if point.status is Status.STALLED:
            found = self.other.solve(problem, stopping, 1.0, point.beta)
            self.run.begin(problem, found.beta)
            return replace(found, steps=found.steps + point.steps)
        n = self.path.rows.size
        is_all = self.run.at is None
        train, held = (self.path.rows, self.path.at) if is_all else (slice(0, n), slice(n, None))
        return HeldOutValues(
            point.values[held],
            point.values[train],
            point.b,
            point.beta,
            point.violation,
            point.status,
            point.steps,
            0.0,
        )


def cross_decision_values(
    gram: BlockedGram,
    paths: Sequence[FoldPath],
    *,
    tol: float = 1e-3,
    cache_bytes: int = 200 << 20,
    n_threads: int = 1,
    stopping: Stopping | None = None,
) -> list[list[HeldOutValues]]:
    """Decision values of held-out rows, for each path and each of its problems.

    Parameters
    ----------
    gram : BlockedGram
        Of all rows.
    paths : sequence of FoldPath
        For example one for each fold, whose ``at`` are its held-out rows.
    tol : float
        KKT violation at which each problem is solved.
    cache_bytes : int
        Budget for kernel values. If the whole matrix fits (8 n² bytes), all paths share it.
    n_threads : int
        Does not change the values.
    stopping : Stopping, optional
        After an early stop the lists are shorter.

    Returns
    -------
    held_out : list of lists of HeldOut
    """
    stopping = stopping or Stopping()
    workspaces, n = Workspaces(), gram.n
    need = 8 * n * n
    if need <= 4 * gram.machine.l2_bytes:  # all paths take less time than the start of a thread
        n_threads = 1
    solver = SMO(tol=tol, cache_bytes=max(cache_bytes // max(n_threads, 1), 1))
    memory = borrow(need) if need <= cache_bytes else None
    with single_threaded_blas(), Workers(n_threads) as workers:
        K = None
        if memory is not None:
            with gram.threads(n_threads):
                K = gram.matrix(out=memory.values.view(np.float64)[: n * n].reshape(n, n))

        def one(path: FoldPath) -> list[HeldOutValues]:
            return list(follow(path, gram, K, solver, stopping, workspaces))

        out = workers.map(one, paths)
    if memory is not None:
        give_back(memory)
    return out
