"""Dual coordinate descent with shrinking, for sparse and wide data (Hsieh et al., ICML 2008).

An intercept is a column of ones of squared length s² = 1/κ. A free intercept is the limit of
proximal steps: b is penalised around its last value, ½ (b − b₀)²/s², and b₀ follows after each
epoch (the method of multipliers on Σβ = 0).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from mercer.problems.linear import LinearPrimal
from mercer.result import LinearResult, Status
from mercer.solvers.control import Control, Progress
from mercer.solvers.linear._epoch import epoch, gains, in_sight
from mercer.solvers.linear.newton import Start, evaluate
from mercer.solvers.linear.rows import Rows, csr_arrays

__all__ = ["Descent"]

# The gap met on the way is that of moving duals and of the rows that were left in, mostly a little
# more than the true one. The true one is looked at where the former is this many times what is
# asked for; after a look that was too early, where it has fallen as far as the true one has to, or
# to this part.
FIRST_LOOK, LOOK_AGAIN = 1.2, 0.3
# Rows leave when they are further off than this part of the last epoch's largest change.
FAR = 0.5


@dataclass(frozen=True)
class Descent:
    """Settings: relative gap ``tol``, at most ``max_iter`` epochs (−1: no limit).

    After ``patience`` visits of each row, in the mean, it ends as stalled.
    """

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0
    patience: float = np.inf

    def solve(
        self, problem: LinearPrimal, rows: Rows, control: Control, start: Start | None = None
    ) -> LinearResult:
        """The model w = Xᵀβ, its duals and its gap."""
        began = time.perf_counter()
        state = _State(problem, rows, start)
        rng = np.random.default_rng(self.seed)
        best = _nothing(problem, rows)
        epochs, rounds, part = 0, 0, FIRST_LOOK
        status: Status | None = None
        while status is None:
            rng.shuffle(state.active)  # in one order for all, twice as many epochs are needed
            gap = state.epoch()
            epochs += 1
            looked = gap <= part * self.tol * (max(state.dual(), 0.0) + gap)
            if looked or state.active.size == 0:
                looked, rounds = True, rounds + 1
                found = state.look()
                best = found if found.gap < best.gap or rounds == 1 else best
                if best.gap <= self.tol * best.primal:
                    status = Status.SOLVED
                    break
                part *= max(LOOK_AGAIN, 0.9 * self.tol * best.primal / found.gap)
                state.look_around(found)
            control.report(Progress(
                control.seconds, rounds, epochs, best.gap / best.primal, self.tol,
                state=lambda: [(problem, state.look())],
            ))  # fmt: skip
            status = self._limit(epochs, state.visits / rows.n, control)
        if not looked:
            best = min(best, state.look(), key=lambda result: result.gap)
            status = Status.SOLVED if best.gap <= self.tol * best.primal else status
        seconds = time.perf_counter() - began
        return replace(best, status=status, iterations=epochs, rounds=rounds, seconds=seconds)

    def _limit(self, epochs: int, visits: float, control: Control) -> Status | None:
        if 0 <= self.max_iter <= epochs:
            return Status.ITERATION_LIMIT
        return control.stopped or (Status.STALLED if visits > self.patience else None)


class _State:
    """The duals and the model that belongs to them, and which rows are in sight."""

    def __init__(self, problem: LinearPrimal, rows: Rows, start: Start | None):
        self.problem, self.rows = problem, rows
        self.X = rows.X if rows.is_sparse else sp.csr_matrix(rows.X)
        self.sq_norm = rows.sq_norms()
        self.free = problem.kappa == 0
        self.pull_b = 0.0 if problem.kappa is None else float(self.sq_norm.mean()) or 1.0
        if problem.kappa:
            self.pull_b = 1.0 / problem.kappa
        self.w, self.beta, self.b = np.zeros(rows.d), np.zeros(rows.n), 0.0
        if start is not None and start.beta is not None:
            self.beta = np.clip(start.beta, -problem.cost, problem.cost)
            self.w = rows.sum(self.beta)
            self.b = start.b if self.free else self.pull_b * float(self.beta.sum())
        self.active, self.far = np.arange(rows.n), np.inf
        self.stays = np.empty(rows.n, np.bool_)
        self.visits = 0

    def epoch(self) -> float:
        """One visit of all rows in sight; the gap that was met on the way."""
        self.visits += self.active.size
        self.b, gap, worst = epoch(
            self.problem.kind, *csr_arrays(self.X), self.sq_norm, *self.problem.arrays,
            self.pull_b, self.active, self.far, self.w, self.beta, self.b, self.stays,
        )  # fmt: skip
        self.active = self.active[self.stays[: self.active.size]]
        if self.free:  # what was b is what the next one is penalised around
            self.b += self.pull_b * float(self.beta.sum())
        self.far = max(FAR * worst, 1e-12)
        return gap

    def dual(self) -> float:
        """The dual's value, without what the intercept's price adds."""
        gain = gains(self.problem.kind, self.beta, *self.problem.arrays)
        return gain - float(self.w @ self.w) / 2

    def look(self) -> LinearResult:
        """The true gap, at the model that belongs to the duals."""
        beta = self.problem.feasible(self.beta.copy())
        w, b = self.rows.sum(beta), self.b
        if self.problem.kappa:
            b = float(beta.sum()) / self.problem.kappa
        return evaluate(self.problem, self.rows, w, b, beta, w)

    def look_around(self, found: LinearResult) -> None:
        """Bring back rows that had been left out too early."""
        arrays = self.problem.arrays
        in_sight(self.problem.kind, found.g, self.beta, *arrays, self.far, self.stays)
        self.active = np.flatnonzero(self.stays)
        if self.active.size == 0:
            self.active, self.far = np.arange(self.rows.n), np.inf


def _nothing(problem: LinearPrimal, rows: Rows) -> LinearResult:
    """The model w = 0, for which no pass is needed."""
    w, zero = np.zeros(rows.d), np.zeros(rows.n)
    primal, gap = problem.values(w, 0.0, zero, zero, w)
    return LinearResult(w, 0.0, zero, zero, w, primal, gap, Status.SOLVED, 0, 0, 0.0)
