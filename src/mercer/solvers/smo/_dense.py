"""Pair SMO on the whole kernel matrix, for some hundred points.

The kernel matrix is float64. Pair steps come in slices, after each of which f = Kβ is computed
from scratch with a bound on its error, and the limits are asked. Where pair steps make slow
progress (large C, ill-conditioned K) Newton steps on the free variables take over in between
(`newton_on_free`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np

from mercer._result import Status
from mercer.gram import BlockedGram
from mercer.gram._tile_sums import add_tile_bounded
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._solution import intercepts, relative_gap, restore_sums, so_far
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.separability._hull import HardMarginWatch
from mercer.solvers.smo._free_variable_newton import newton_on_free
from mercer.solvers.smo._pair_update import LANE, MET_NEGATIVE_CURVATURE, UNBOUNDED, solve_pairs
from mercer.solvers.smo._working_set import lay_out, pad

__all__ = ["DirectSMO", "is_one_to_one"]

# Pair steps of one slice: a few milliseconds.
STEPS_PER_SLICE = 10_000
# With a callback the first slice makes FIRST_STEPS, and each later one MORE_STEPS times as many.
FIRST_STEPS, MORE_STEPS = 8, 1.3
# The tolerance of pair steps is lowered by this factor where their violation is below it, and the
# bound on the violation, or the gap, is not small yet.
TIGHTER = 0.1
# A kernel matrix whose diagonal is larger than this, or smaller than its inverse, is scaled.
MOST_SCALE = 1e6
# Slices without a smaller violation or a larger dual value before the limit of float64 is declared.
MAX_IDLE_SLICES = 10
# Pair steps (with Newton steps in between) without a violation smaller by a tenth before the same.
MAX_STEPS_WITHOUT_GAIN = 600_000
# An increase of the dual value below this factor of it is rounding.
NO_PROGRESS = 1e-15


def is_one_to_one(problem: BoxQP) -> bool:
    """Whether each point is one variable, all in one group: K of the points is K of these."""
    return problem.row is None and problem.n_groups == 1


class DirectSMO:
    """One run on one problem; attributes as `NestedSMO`'s."""

    max_idle_slices = MAX_IDLE_SLICES

    def __init__(
        self,
        problem: BoxQP,
        gram: BlockedGram,
        stopping: Stopping,
        tol: float,
        max_steps: float,
        start: np.ndarray,
        gap_tol: float | None = None,
    ):
        self.gap_tol, self.inner_tol = gap_tol, tol
        self.problem, self.gram, self.stopping = problem, gram, stopping
        self.tol, self.max_steps = tol, max_steps
        self.beta = start.copy()
        self.f, self.f_error = np.zeros(gram.n), np.zeros(gram.n)
        self.watch = HardMarginWatch(problem, gram)
        self.steps = self.rounds = self.flags = 0
        self.certificate_seconds = 0.0
        self.scale, self.newton_after, self.is_inner_solved = 1.0, STEPS_PER_SLICE, False
        self.dual, self.least, self.idle, self.last_better = -np.inf, np.inf, 0, 0
        self.kkt: tuple[np.ndarray, np.ndarray, float] | None = None  # of `intercepts`, if known
        self.status: Status | None = None

    def run(self) -> Status:
        p, m = self.problem, self.problem.n_variables
        group = np.zeros(m, np.int8) if p.group is None else p.group
        late = self.stopping.stopped
        if late is not None and not self.beta.any():
            return late  # of many tasks those after the limit cost nothing
        ws, real, split = lay_out(np.arange(m), group, p.n_groups)
        self._bind(ws)
        if self.beta.any():
            self._sum_f()
        while self.status is None:
            self._slice(ws, real, split)
            self._decide()
        return self.status

    def _slice(self, ws: np.ndarray, real: np.ndarray, split: int) -> None:
        """Pair steps until tol or the end of the slice; then f from scratch."""
        p = self.problem
        # With K/s, sβ and bounds times s it is the same problem: s is a power of two.
        beta, lower, upper = (self.scale * v[ws] for v in (self.beta, p.lower, p.upper))
        grad = (p.at_variables(self.f) - p.target)[ws]
        pad(real, beta, grad, lower, upper, p.n_groups)
        most = int(min(self.max_steps - self.steps, self._steps_per_slice()))
        steps, left, flags = self._pairs(beta, grad, lower, upper, split, self.inner_tol, most)
        self.is_inner_solved = left <= self.inner_tol
        self.steps += steps
        self.flags |= flags
        self.beta[ws[real]] = beta[real] / self.scale
        self.rounds += 1
        began = time.perf_counter()
        restore_sums(p, self.beta)
        self._sum_f()
        self.certificate_seconds += time.perf_counter() - began

    def _steps_per_slice(self) -> float:
        if self.stopping.callback is None:
            return STEPS_PER_SLICE
        return min(STEPS_PER_SLICE, FIRST_STEPS * MORE_STEPS ** min(self.rounds, 40))

    def _bind(self, ws: np.ndarray) -> None:
        """K of the variables as laid out; ``points`` is K of the points (with padding)."""
        p, n = self.problem, self.gram.n
        is_simple = is_one_to_one(p)
        K = self.gram.matrix(-(-n // LANE) * LANE if is_simple else None, lasting=False)
        self.points = K
        if not is_simple:
            row = ws if p.row is None else p.row[ws]
            K = K.take(row, axis=1, mode="clip").take(row, axis=0, mode="clip")
            if p.n_groups == 0:
                K[-1] = 0
                K[:, -1] = 0
        largest = float(np.abs(K.diagonal()).max(initial=0.0))
        if largest > 0 and not 1 / MOST_SCALE <= largest <= MOST_SCALE:
            self.scale = float(2.0 ** np.round(np.log2(largest)))
            K = K / self.scale
        self.K = K

    def _pairs(
        self,
        beta: np.ndarray,
        grad: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        split: int,
        tol: float,
        most: int,
    ) -> tuple[int, float, int]:
        """At most ``most`` pair steps: how many, the violation left, flags."""
        return solve_pairs(self.K, beta, grad, lower, upper, split, tol, most)

    def _sum_f(self) -> None:
        """f = Kβ from scratch, with a bound on its error."""
        n, side = self.gram.n, self.points.shape[0]
        error = self.gram.sum_error(np.float64)
        coef, weight = np.zeros(side), np.zeros(side)
        coef[:n] = self.problem.at_points(self.beta, n)
        weight[:n] = error.weight(coef[:n])
        f, bound = np.zeros(side), np.zeros(side)
        add_tile_bounded(self.points, coef, weight, f, bound)
        self.f, self.f_error = f[:n], error.bound(bound[:n], coef[:n])

    def _decide(self) -> None:
        """Stop if solved, or if a limit says so."""
        self.kkt = intercepts(self.problem, self.beta, self.f, self.f_error)
        violation = self.kkt[2]
        if self.stopping.callback is not None:
            effort = self.stopping.seconds, self.rounds, self.steps
            state = partial(so_far, self.problem, self.beta, self.f)
            self.stopping.report(Progress(*effort, violation, self.tol, state=state))
        if self._is_solved(violation):
            self.status = Status.SOLVED
            return
        proof = self.watch(self.beta, self.f)
        if proof is not None:
            self.beta = proof.weights
            self._sum_f()
            self.kkt = None
        if self.flags & UNBOUNDED or proof is not None:
            self.status = Status.NOT_SEPARABLE
        elif self.steps >= self.max_steps:
            self.status = Status.ITERATION_LIMIT
        else:
            self.status = self.stopping.stopped
        if self.status is None:
            self._go_on(violation)

    def _is_solved(self, violation: float) -> bool:
        if self.gap_tol is None:
            return violation <= self.tol
        (problem, snapshot), *_ = so_far(self.problem, self.beta, self.f)
        result = replace(snapshot, f_error=self.f_error, diag=self._diag)
        return relative_gap(problem, result) <= self.gap_tol

    @property
    def _diag(self) -> np.ndarray:
        return np.abs(self.gram.diag()) * (1 + 1e-6)

    def _go_on(self, violation: float) -> None:
        """A Newton step where pair steps were slow; the limit of float64 where nothing helps."""
        # Pair steps have done what they can: many of them, or by their own measure all.
        is_slow = self.steps >= self.newton_after or self.is_inner_solved
        if self.is_inner_solved:
            self.inner_tol *= TIGHTER
        if is_slow:
            self.newton_after = self.steps + STEPS_PER_SLICE
        if is_slow and newton_on_free(self.problem, self._matrix, self.beta, self.f):
            restore_sums(self.problem, self.beta)
            self._sum_f()
            self.kkt = None
        dual = self._dual()
        if violation < 0.9 * self.least:
            self.last_better = self.steps
        better = violation < 0.9 * self.least or dual - self.dual > NO_PROGRESS * abs(dual)
        self.least, self.dual = min(self.least, violation), max(self.dual, dual)
        self.idle = 0 if better else self.idle + 1
        is_slow = self.steps - self.last_better > MAX_STEPS_WITHOUT_GAIN
        if self.idle >= self.max_idle_slices or is_slow:
            self.status = Status.STALLED

    def _matrix(self, rows: np.ndarray) -> np.ndarray:
        """K of all points with some, shape (n, len(rows))."""
        return self.points[: self.gram.n, rows]

    def _dual(self) -> float:
        coef = self.problem.at_points(self.beta, self.gram.n)
        return float(self.problem.target @ self.beta) - 0.5 * float(coef @ self.f)

    @property
    def met_negative_curvature(self) -> bool:
        return bool(self.flags & MET_NEGATIVE_CURVATURE)
