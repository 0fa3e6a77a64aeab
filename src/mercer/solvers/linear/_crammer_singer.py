"""The sequential dual method for all classes at once, with shrinking (Keerthi et al., KDD 2008).

Rows are visited in random order, and the shares of each are made the best for the others' as they
are. Free intercepts follow as in `mercer.solvers.linear._coordinate_descent`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from mercer._result import LinearResult, Status
from mercer.problems._crammer_singer import CrammerSinger
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.linear._coordinate_descent import Slowness, slices
from mercer.solvers.linear._crammer_singer_core import at_home, csr_epoch, dense_epoch
from mercer.solvers.linear._design_matrix import Rows, csr_arrays, precise_dot
from mercer.solvers.linear._newton import by_gap

__all__ = ["Joint", "evaluate_joint"]

# The gap met on the way is that of moving duals, and of the classes in sight. The true one is
# looked at where the former is this part of what is asked for; after each look that was too early
# a smaller one, down to a least: there, too much had been left out of sight.
FIRST_LOOK, LOOK_AGAIN, LEAST = 0.7, 0.5, 0.05
# All come back in sight each time the gap met has fallen to this part of what it was.
RECALL = 0.3
# Classes leave when they are further off than this part of the last epoch's largest change.
FAR = 0.3


@dataclass(frozen=True)
class Joint:
    """Settings: relative gap ``tol``, at most ``max_iter`` epochs (−1: no limit)."""

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0

    def solve(
        self, problem: CrammerSinger, rows: Rows, stopping: Stopping, beta: np.ndarray | None = None
    ) -> LinearResult:
        """The model w = βᵀX of all classes, its duals and its gap; from these duals, or zero."""
        began = time.perf_counter()
        state = _State(problem, rows, beta)
        rng = np.random.default_rng(self.seed)
        best: LinearResult | None = None
        epochs, rounds, part, recall = 0, 0, FIRST_LOOK, np.inf
        status: Status | None = None
        slowness = Slowness()
        while status is None:
            rng.shuffle(state.order[: state.active])
            is_full = state.is_full
            gap = state.epoch(stopping)
            slowness.met(gap, is_full)
            epochs += 1
            value = max(state.dual(), 0.0) + gap  # about the primal's
            is_time_to_look = gap <= part * self.tol * value or state.active == 0
            if is_time_to_look and stopping.stopped is None:
                rounds += 1
                best = _better(best, _look(problem, state))
                if best.gap <= self.tol * best.primal:
                    status = Status.SOLVED
                    break
                part, recall = max(LOOK_AGAIN * part, LEAST), np.inf
            if gap <= recall:
                recall = RECALL * gap
                state.all_again()
            reached = gap / value if value > 0 else 0.0
            stopping.report(Progress(stopping.seconds, rounds, epochs, reached, self.tol))
            status = Status.ITERATION_LIMIT if 0 <= self.max_iter <= epochs else stopping.stopped
            if status is None and slowness.is_stalled:
                status = Status.STALLED
        else:
            best = _better(best, _look(problem, state))
            status = Status.SOLVED if best.gap <= self.tol * best.primal else status
        seconds = time.perf_counter() - began
        return replace(best, status=status, iterations=epochs, rounds=rounds, seconds=seconds)


class _State:
    """The shares and the model that belongs to them, and which rows and classes are in sight."""

    def __init__(self, problem: CrammerSinger, rows: Rows, beta: np.ndarray | None):
        n, k = rows.n, problem.n_classes
        self.problem, self.rows = problem, rows
        self.mean, self.centred = _around_mean(rows, problem.kappa == 0)
        rows = self.centred
        self.X, self.sq_norm = rows.X, rows.sq_norms()
        self.pull_b = 0.0 if problem.kappa is None else float(self.sq_norm.mean()) or 1.0
        if problem.kappa:
            self.pull_b = 1.0 / problem.kappa
        self.shares = problem.shares(np.zeros((n, k)) if beta is None else beta)
        duals = problem.duals(self.shares)
        self.sums = duals.sum(axis=0)
        self.b = self.pull_b * self.sums
        W = np.zeros((rows.d, k)) if beta is None else _sum(rows, duals)
        self.W = W if rows.is_sparse else np.ascontiguousarray(W.T)
        self.order = np.arange(n)
        self.classes, self.count = np.tile(np.arange(k, dtype=np.int32), (n, 1)), np.empty(n, int)
        self.work = np.empty(k), np.empty(k)
        self.far = np.inf
        self.all_again()

    def all_again(self) -> None:
        """Bring everything back in sight."""
        self.active = self.rows.n
        self.count[:] = self.problem.n_classes
        self.is_full = True

    def dual(self) -> float:
        """The dual's value, without what the intercepts' prices add."""
        away = float(self.problem.cost.sum()) - at_home(self.shares, self.problem.codes)
        return away - float(np.vdot(self.W, self.W)) / 2

    def epoch(self, stopping: Stopping) -> float:
        """One visit of all rows in sight, or of as many as time allows; the gap met on the way."""
        problem, X = self.problem, self.X
        run = csr_epoch if self.rows.is_sparse else dense_epoch
        arrays = csr_arrays(X) if self.rows.is_sparse else (X,)
        self.is_full = False
        before, gap, worst = self.b.copy(), 0.0, 0.0
        stay, leave = [], []
        for s in slices(self.active, self.rows, problem.n_classes):
            order = self.order[s]
            count, more, worst_here = order.size, 0.0, 0.0
            if stopping.stopped is None:
                count, more, worst_here = run(
                    *arrays, self.sq_norm, problem.codes, problem.cost, self.pull_b, order,
                    order.size, self.far, self.W, self.b, self.shares, self.classes, self.count,
                    *self.work,
                )  # fmt: skip
            gap, worst = gap + more, max(worst, worst_here)
            stay.append(order[:count])
            leave.append(order[count:])
        self.order[: self.active] = np.concatenate([*stay, *leave])
        self.active = sum(part.size for part in stay)
        if problem.kappa == 0:  # what was b is what the next one is penalised around
            self.sums += (self.b - before) / self.pull_b
            self.b += self.pull_b * self.sums
        self.far = max(FAR * worst, 1e-12)
        return gap


def _around_mean(rows: Rows, free: bool) -> tuple[np.ndarray, Rows]:
    """Dense rows less their mean, which free intercepts make up for; all others as they are."""
    if rows.is_sparse or not free:
        return np.zeros(rows.d), rows
    mean = rows.X.mean(axis=0, dtype=np.float64).astype(rows.X.dtype)
    return mean.astype(np.float64), Rows(rows.X - mean, rows.workers)


def _look(problem: CrammerSinger, state: _State) -> LinearResult:
    """The true gap, at the model that belongs to the duals."""
    beta = problem.feasible(problem.duals(state.shares))
    w = np.ascontiguousarray(_sum(state.centred, beta).T)
    b = beta.sum(axis=0) / problem.kappa if problem.kappa else state.b
    b = b - b.mean()
    found = evaluate_joint(problem, state.centred, w, b, beta, w)
    if not state.mean.any():
        return found
    shift = np.array([precise_dot(state.mean, row) for row in w])
    return replace(found, b=(b - shift) - (b - shift).mean())


def _better(one: LinearResult | None, other: LinearResult) -> LinearResult:
    return other if one is None else min(other, one, key=by_gap)


def evaluate_joint(
    problem: CrammerSinger, rows: Rows, w: np.ndarray, b: np.ndarray, beta: np.ndarray,
    w_beta: np.ndarray,
) -> LinearResult:  # fmt: skip
    """Value and gap of a model (a row of w for each class) with feasible duals, w_beta = βᵀX."""
    g = np.empty((rows.n, problem.n_classes))

    def scores(s: slice) -> None:
        g[s] = _float64(rows.X[s]) @ w.T + b

    rows.workers.map(scores, rows.pieces)
    primal, gap = problem.values(w, b, beta, g, w_beta)
    return LinearResult(w, b, beta, g, w_beta, primal, gap, Status.SOLVED, 0, 0, 0.0)


def _sum(rows: Rows, beta: np.ndarray) -> np.ndarray:
    """Xᵀβ, a column for each class."""
    parts = rows.workers.map(lambda s: _float64(rows.X[s]).T @ beta[s], rows.summed)
    return np.add.reduce(parts)


def _float64(X):
    return X.astype(np.float64, copy=False)
