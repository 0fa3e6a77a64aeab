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
from mercer.solvers.linear._epoch import epoch
from mercer.solvers.linear.newton import Start, evaluate
from mercer.solvers.linear.rows import Rows

__all__ = ["Descent"]

# The gap met on the way is that of moving duals and of the rows that were left in. After a look at
# the true one that was too early, what is met has to be this part of what it was then.
LOOK_AGAIN = 0.3
# Rows leave when they are further off than this part of the last epoch's largest change.
FAR = 1.0


@dataclass(frozen=True)
class Descent:
    """Settings: relative gap ``tol``, at most ``max_iter`` epochs (−1: no limit)."""

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0

    def solve(
        self, problem: LinearPrimal, rows: Rows, control: Control, start: Start | None = None
    ) -> LinearResult:
        """The model w = Xᵀβ, its duals and its gap."""
        began = time.perf_counter()
        X = rows.X if rows.is_sparse else sp.csr_matrix(rows.X)
        sq_norm = rows.sq_norms()
        free = problem.kappa == 0
        pull_b = 0.0 if problem.kappa is None else float(sq_norm.mean()) or 1.0
        if problem.kappa:
            pull_b = 1.0 / problem.kappa
        rng = np.random.default_rng(self.seed)
        w, beta, b = np.zeros(rows.d), np.zeros(rows.n), 0.0
        if start is not None and start.beta is not None:
            beta = np.clip(start.beta, -problem.cost, problem.cost)
            w, b = rows.sum(beta), start.b if free else pull_b * float(beta.sum())
        order, active, far = rng.permutation(rows.n), rows.n, np.inf
        best = evaluate(problem, rows, np.zeros(rows.d), 0.0, np.zeros(rows.n))
        epochs, rounds, enough = 0, 0, np.inf
        status: Status | None = None

        def look() -> LinearResult:
            return self._look(problem, rows, w, b, beta, free)

        while status is None:
            rng.shuffle(order[:active])
            active, b, gap, worst = epoch(
                problem.kind, X.indptr, X.indices, X.data, sq_norm, *problem.arrays, pull_b,
                order, active, far, w, beta, b,
            )  # fmt: skip
            epochs += 1
            if free:
                b += pull_b * float(beta.sum())
            far = max(FAR * worst, 1e-12)
            looked = False
            if rounds == 0:  # P of the model so far is not known; the dual's half of it is near
                enough = self.tol * best.primal
            if gap <= enough or active == 0:
                looked, rounds = True, rounds + 1
                found = look()
                best = found if found.gap < best.gap or rounds == 1 else best
                if best.gap <= self.tol * best.primal:
                    status = Status.SOLVED
                    break
                enough = LOOK_AGAIN * gap
                if active < rows.n:  # what was left out may have been left out too early
                    active, far = rows.n, np.inf
                b = found.b if free else b
            control.report(Progress(
                control.seconds, rounds, epochs, best.gap / best.primal, self.tol,
                state=lambda: [(problem, look())],
            ))  # fmt: skip
            status = Status.ITERATION_LIMIT if 0 <= self.max_iter <= epochs else control.stopped
        if not looked:
            found = look()
            best = min(best, found, key=lambda result: result.gap)
        seconds = time.perf_counter() - began
        return replace(best, status=status, iterations=epochs, rounds=rounds, seconds=seconds)

    def _look(
        self, problem: LinearPrimal, rows: Rows, w: np.ndarray, b: float, beta: np.ndarray,
        free: bool,
    ) -> LinearResult:  # fmt: skip
        """The true gap, at the model that belongs to the duals."""
        feasible = problem.feasible(beta)
        w = rows.sum(feasible)
        if problem.kappa:
            b = float(feasible.sum()) / problem.kappa
        return evaluate(problem, rows, w, b, feasible)
