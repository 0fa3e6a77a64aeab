"""Common to solvers that hold the whole kernel matrix: requirements, the driver, the limits.

An algorithm is a `DenseIteration`: `advance` changes β and f = Kβ for some milliseconds.
`DenseSolver.solve` owns the rest: tolerance, iteration and time limit, callback, Ctrl-C, hard
margins that are impossible.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from mercer._result import Result, Status
from mercer._threads import single_threaded_blas
from mercer.gram import Gram
from mercer.problems._dual_qp import BoxQP
from mercer.problems._kkt import intercepts, restore_sums
from mercer.solvers._solution import make_result, snapshot
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.separability._hull import HardMarginWatch

__all__ = ["DenseIteration", "DenseSolver", "require"]

# Progress of a round: a relative increase of the dual value above LEAST_DUAL_GAIN (less is
# rounding), or a violation below LOWER_VIOLATION times the least before.
LEAST_DUAL_GAIN = 1e-15
LOWER_VIOLATION = 0.99
# Rounds in a row without progress after which the status is "stalled".
MAX_IDLE_ROUNDS = 20


def require(solver: Any, problem: BoxQP, gram: Gram, what: str = "this problem") -> None:
    """Raise a ValueError that names the solver, the problem and what is missing, if so."""
    reason = solver.refuses(problem, gram)
    if reason is not None:
        raise ValueError(f"solver={solver.name!r} cannot solve {what}: {reason}")


class DenseIteration(ABC):
    """A run of one algorithm on one problem.

    Parameters
    ----------
    problem : BoxQP
    K : float64 array
        Of the data points, whole.
    beta : float64 array
        A feasible start, changed in place.
    tol : float
    """

    def __init__(self, problem: BoxQP, K: np.ndarray, beta: np.ndarray, tol: float):
        self.problem, self.K, self.beta, self.tol = problem, K, beta, tol
        self.row = np.arange(beta.size) if problem.row is None else problem.row
        self.steps = self.rounds = 0
        self.f_error = np.zeros(K.shape[0])
        self.is_unbounded = self.met_negative_curvature = False
        self.sum_f()

    @abstractmethod
    def advance(self, room: int) -> None:
        """Some milliseconds of work, at most ``room`` steps; β stays feasible."""

    def sum_f(self) -> None:
        """f = Kβ from scratch: steps that carry it along add their rounding to it."""
        self.f = self.K @ self.problem.at_points(self.beta, self.K.shape[0])

    def dual(self) -> float:
        """The value that every step raises: targetᵀβ − ½ βᵀKβ."""
        f = self.problem.at_variables(self.f)
        return float(self.problem.target @ self.beta - self.beta @ f / 2)


@dataclass(frozen=True)
class DenseSolver(ABC):
    """Common to the solvers below; a subclass says how a run begins (`_begin`).

    Parameters
    ----------
    tol : float
        Largest violating pair at which to stop (without intercept: a violator and zero).
    max_iter : int
        Limit on steps; −1 for none.
    most_bytes : int
        Problems whose matrices would be larger are refused.
    """

    tol: float = 1e-3
    max_iter: int = -1
    most_bytes: int = 4 << 30

    name: ClassVar[str]
    # Matrices of the size of K that are alive at once.
    copies: ClassVar[int] = 1
    needs_psd: ClassVar[bool] = True
    takes_groups: ClassVar[tuple[int, ...]] = (0,)

    def refuses(self, problem: BoxQP, gram: Gram) -> str | None:
        """Why it cannot solve the problem, with a remedy, or None."""
        if problem.n_groups not in self.takes_groups:
            return self._groups_reason(problem.n_groups)
        if self.needs_psd and gram.is_psd is False:
            return (
                f"the kernel {gram.kernel!r} is not positive semidefinite, so the problem is not "
                "convex. Use another kernel, or solver='smo', which ends at a stationary point."
            )
        need = self._bytes(problem, gram)
        if need > self.most_bytes:
            return (
                f"it holds the whole kernel matrix, {need / 1e9:.3g} GB for {gram.n:,} points "
                f"(most_bytes={self.most_bytes / 1e9:.3g} GB). Use solver='smo', which does not."
            )
        return None

    def _bytes(self, problem: BoxQP, gram: Gram) -> int:
        return 8 * self.copies * gram.n**2

    def _groups_reason(self, n_groups: int) -> str:
        return (
            "the problem has an intercept (an equality constraint on the sum of β), and it moves "
            "each β on its own. Set fit_intercept=False, or use solver='smo'."
        )

    @abstractmethod
    def _begin(
        self, problem: BoxQP, gram: Gram, beta: np.ndarray, stopping: Stopping
    ) -> DenseIteration: ...

    def solve(
        self, problem: BoxQP, gram: Gram, stopping: Stopping, start: np.ndarray | None = None
    ) -> Result:
        """Solve from ``start``, a feasible β, or else from the problem's own."""
        began = time.perf_counter()
        require(self, problem, gram)
        beta = (problem.start if start is None else start).copy()
        with single_threaded_blas():
            run = self._begin(problem, gram, beta, stopping)
            status = self._drive(run, gram, stopping)
            restore_sums(problem, run.beta)
            coef = problem.at_points(run.beta, gram.n)
            run.f, run.f_error = gram.bounded_sums(coef, np.arange(gram.n))
        return make_result(problem, gram, run, status, self.tol, began)

    def _drive(self, run: DenseIteration, gram: Gram, stopping: Stopping) -> Status:
        """Rounds until the tolerance, or a limit."""
        watch = HardMarginWatch(run.problem, gram)
        most = self._most_steps(gram.n)
        idle, dual, least = 0, run.dual(), np.inf
        while True:
            violation = self._violation(run)
            if run.rounds:
                effort = stopping.seconds, run.rounds, run.steps
                state = partial(snapshot, run.problem, run.beta, run.f)
                stopping.report(Progress(*effort, violation, self.tol, state=state))
            if self._is_solved(run, violation):
                return Status.SOLVED
            proof = watch(run.beta, run.f)
            if proof is not None:
                run.beta = proof.weights
                run.sum_f()
            if run.is_unbounded or proof is not None:
                return Status.NOT_SEPARABLE
            if run.steps >= most:
                return Status.ITERATION_LIMIT
            if idle >= MAX_IDLE_ROUNDS:
                return Status.STALLED
            stopped = stopping.stopped
            if stopped is not None:
                return stopped
            run.advance(int(min(most - run.steps, np.iinfo(np.int64).max)))
            run.rounds += 1
            before, dual = dual, run.dual()
            better = (
                dual - before > LEAST_DUAL_GAIN * abs(dual) or violation < LOWER_VIOLATION * least
            )
            least = min(least, violation)
            idle = 0 if better else idle + 1

    def _most_steps(self, n: int) -> float:
        return np.inf if self.max_iter < 0 else self.max_iter

    def _is_solved(self, run: Any, violation: float) -> bool:
        return violation <= self.tol

    def _violation(self, run: DenseIteration) -> float:
        violation = intercepts(run.problem, run.beta, run.f)[2]
        if violation <= self.tol and run.steps:
            run.sum_f()
            violation = intercepts(run.problem, run.beta, run.f)[2]
        return violation
