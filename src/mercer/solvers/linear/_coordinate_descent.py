"""Dual coordinate descent with shrinking, for sparse and wide data (Hsieh et al., ICML 2008).

For one row with everything else fixed the dual is a parabola in β with a kink at zero; its maximum
is a clipped step from either end of the interval (Hsieh et al., eq. 9; Ho and Lin, JMLR 2012, for
the two ends of regression).

An intercept is a column of ones of squared length s² = 1/κ. A free intercept is the limit of
proximal steps: b is penalised around its last value, ½ (b − b₀)²/s², and b₀ follows after each
epoch (the method of multipliers on Σβ = 0). Where many epochs are needed, and along a path from the
beginning, the free duals are solved for jointly in between (`_free_variable_cg`).
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter

import numpy as np
from scipy.optimize import minimize_scalar

from mercer._result import Halted, LinearResult, Status
from mercer.problems._losses import EPSILON_INSENSITIVE, SQUARED, loss_and_gap
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.linear._descent_epochs import descend, mark_active
from mercer.solvers.linear._design_matrix import LocalMatrix, csr_arrays, halting
from mercer.solvers.linear._free_variable_cg import (
    cg_step_on_free_variables,
    dual_changes,
    first_duals,
    intercept_correction,
)
from mercer.solvers.linear._path_following import Start

__all__ = [
    "CoordinateDescent",
    "CoordinateDescentSettings",
    "StallDetector",
    "duals_with_diagonal",
    "row_slices",
]


@dataclass(frozen=True)
class CoordinateDescentSettings:
    """Tuning of dual coordinate descent."""

    # The running gap (duals still changing, active rows only) slightly overestimates the true gap.
    # The true gap is evaluated when the running gap falls below this multiple of the target; after
    # a failed check the multiple is reduced by the factor that the active rows miss, at most to
    # ``next_check``. What rows contribute that were shrunk too early ends with their next visit.
    first_check: float = 1.2
    next_check: float = 0.3
    # Numbers read in one call of compiled code: some milliseconds.
    numbers_per_call: int = 1 << 21
    # Rows become inactive if their distance exceeds this fraction of the largest change of a score
    # in the last epoch.
    shrink_fraction: float = 0.5
    # Visits per row before the first CG step on the free duals, from zero and from a warm start;
    # the step is repeated at once where the last one left at most this fraction of the gap.
    squared_cg_visits: tuple[float, float] = (10.0, 0.0)
    interval_cg_visits: tuple[float, float] = (40.0, 8.0)
    repeat_cg_gap: float = 0.5
    # The proximal term of the CG step in units of the mean ‖x‖²; divided by the factor after a step
    # of at least ``whole_step``, multiplied by it after one below ``short_step``.
    ridge: float = 0.1
    ridge_factor: float = 5.0
    whole_step: float = 0.9
    short_step: float = 0.3
    # A gap above this fraction after the number of epochs below: rounding stops the method.
    stall_epochs: int = 20_000
    stall_fraction: float = 0.9


@dataclass(frozen=True)
class CoordinateDescent:
    """Settings: relative gap ``tol``, at most ``max_iter`` epochs (−1: no limit).

    After ``max_visits`` visits of each row, in the mean, it ends as stalled. ``single``: where rows
    are dense and float32, so is w within epochs; every evaluation of the gap computes it again in
    float64.
    """

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0
    max_visits: float = np.inf
    single: bool = False
    settings: CoordinateDescentSettings = field(default=CoordinateDescentSettings(), repr=False)

    def solve(
        self,
        problem: LinearPrimal,
        design: LocalMatrix,
        stopping: Stopping,
        start: Start | None = None,
    ) -> LinearResult:
        """The model w = Xᵀβ, its duals and its gap."""
        began = time.perf_counter()
        settings = self.settings
        state = _State(problem, design, start, self)
        best = _zero_model(problem, design)
        epochs, rounds, check_factor = 0, 0, settings.first_check
        stall = StallDetector(settings.stall_epochs, settings.stall_fraction)
        progress = partial(Progress, tol=self.tol, state=lambda: [(problem, state.solution())])
        status: Status | None = None
        while status is None:
            is_cg = is_checked = state.next_cg <= state.visits
            if is_cg:
                state.epochs += 1
            else:
                before = state.epochs
                is_checked = state.descend(stopping, check_factor * self.tol)
                stall.add(state.gap, state.was_full, state.epochs - before)
            epochs = state.epochs
            if is_checked:
                rounds += 1
                found = state.solution()
                rescaled = _rescaled(problem, found, self.tol)
                best = (
                    rescaled if rounds == 1 else min(best, rescaled, key=attrgetter("finite_gap"))
                )
                if best.meets(self.tol):
                    status = Status.SOLVED
                    break
                if is_cg:
                    with suppress(Halted), halting(design, stopping):
                        state.cg_step(found, self.tol * best.primal)
                else:
                    missing = 0.9 * self.tol * found.primal / (state.active_gap(found) or 1.0)
                    check_factor *= min(max(settings.next_check, missing), 1.0)
                    state.reactivate(found)
            stopping.report(progress(stopping.seconds, rounds, epochs, best.relative_gap))
            status = self._limit(epochs, state.visits / design.n, stopping)
            if status is None and stall.is_stalled:
                status = Status.STALLED
        if not is_checked:
            last = _rescaled(problem, state.solution(), self.tol)
            best = min(best, last, key=attrgetter("finite_gap"))
            status = Status.SOLVED if best.meets(self.tol) else status
        return replace(
            best,
            status=status,
            iterations=epochs,
            rounds=rounds,
            seconds=time.perf_counter() - began,
            warm_start=dual_changes(problem, best, start),
        )

    def _limit(self, epochs: int, visits: float, stopping: Stopping) -> Status | None:
        if 0 <= self.max_iter <= epochs:
            return Status.ITERATION_LIMIT
        return stopping.stopped or (Status.STALLED if visits > self.max_visits else None)


class StallDetector:
    """Whether the running gap still falls, over all rows or over the active ones."""

    def __init__(self, max_epochs: int, fraction: float):
        self.max_epochs, self.fraction = max_epochs, fraction
        self.of_all = self.of_active = np.inf
        self.epochs = 0

    def add(self, gap: float, is_full: bool, epochs: int = 1) -> None:
        self.epochs += epochs
        if is_full and gap <= self.of_all:
            self.of_all, self.of_active, self.epochs = self.fraction * gap, np.inf, 0
        elif not is_full and gap <= self.of_active:
            self.of_active, self.epochs = self.fraction * gap, 0

    @property
    def is_stalled(self) -> bool:
        return self.epochs >= self.max_epochs


def row_slices(count: int, design: LocalMatrix, width: int = 1) -> list[slice]:
    """Slices of ``count`` rows of about 20 ms of work each; ``width`` models at once."""
    size = max(1, int((1 << 23) / max(1.0, width * design.nnz / design.n)))
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


class _State:
    """The duals, the model w = Xᵀβ, and the active rows."""

    def __init__(
        self,
        problem: LinearPrimal,
        design: LocalMatrix,
        start: Start | None,
        solver: CoordinateDescent,
        diagonal: np.ndarray | None = None,
    ):
        self.problem, self.design, self.settings = problem, design, solver.settings
        settings = solver.settings
        self.losses = problem.arrays
        sq_norm = design.sq_norms
        self.penalty = penalty = problem.intercept_penalty
        self.is_free = penalty == 0
        is_squared, mean = problem.kind == SQUARED, float(sq_norm.mean())
        self.sq_ones = 0.0 if penalty is None else 1.0 / penalty if penalty else mean or 1.0
        norms = sq_norm, self.sq_ones, self.is_free, diagonal
        self.data = problem.kind, _row_arrays(design), self.losses, norms
        is_single = solver.single and not design.is_sparse and design.X.dtype == np.float32
        self.dtype = np.dtype(np.float32 if is_single else np.float64)
        self.w, self.beta = np.zeros(design.d, self.dtype), np.zeros(design.n)
        self.max_visits = solver.max_visits * design.n
        self.max_epochs = solver.max_iter if solver.max_iter >= 0 else np.iinfo(np.int64).max
        # Changed by `descend`, which says what they are.
        self.numbers, self.counts = np.zeros(5), np.zeros(6, np.int64)
        self.random = np.random.default_rng(solver.seed).integers(1, 1 << 63, 1, np.uint64)
        visits = settings.squared_cg_visits if is_squared else settings.interval_cg_visits
        uses_cg = is_squared or design.d > design.n  # otherwise few duals are free
        self.next_cg = visits[start is not None] * design.n if uses_cg else np.inf
        self.ridge = 0.0 if is_squared else settings.ridge * mean
        self.last_gap = np.inf
        if start is not None and start.beta is not None:
            self.beta, w = first_duals(problem, design, start)
            self.w = w.astype(self.dtype, copy=False)
            self.b = start.b if self.is_free else self.sq_ones * float(self.beta.sum())
        self.stays = np.empty(design.n, np.bool_)
        self.activate_all()

    @property
    def b(self) -> float:
        return float(self.numbers[0])

    @b.setter
    def b(self, b: float) -> None:
        self.numbers[0] = b

    @property
    def gap(self) -> float:
        """The running gap of the last epoch."""
        return float(self.numbers[2])

    @property
    def was_full(self) -> bool:
        """Whether all rows were visited in the last epoch."""
        return bool(self.counts[3] == self.design.n)

    @property
    def epochs(self) -> int:
        return int(self.counts[4])

    @epochs.setter
    def epochs(self, epochs: int) -> None:
        self.counts[4] = epochs

    @property
    def visits(self) -> int:
        return int(self.counts[5])

    def descend(self, stopping: Stopping, check: float) -> bool:
        """Some epochs, or a part of one if time is up; whether the gap is to be evaluated."""
        model, design = (self.w, self.beta, self.active), self.design
        call_visits = max(1, int(self.settings.numbers_per_call * design.n / max(design.nnz, 1)))
        all_visits = int(min(self.next_cg, self.max_visits + 1, 1 << 62))
        all_epochs = self.max_epochs if stopping.callback is None else self.epochs + 1
        limits = (call_visits, all_visits, all_epochs, self.settings.shrink_fraction, check)
        self.numbers[2] = 0.0
        while True:
            is_end, is_small = descend(
                *self.data, model, self.numbers, self.counts, self.random, limits
            )
            if is_end or stopping.stopped is not None:
                return is_small

    def cg_step(self, found: LinearResult, target_gap: float) -> None:
        """Solve for the free duals; again at once where it helps, else after as much work."""
        settings = self.settings
        step = cg_step_on_free_variables(self.problem, self.design, found, target_gap, self.ridge)
        self.beta, self.w = step.beta, step.w.astype(self.dtype, copy=False)
        if step.fraction > settings.whole_step:
            self.ridge /= settings.ridge_factor
        elif step.fraction < settings.short_step:
            self.ridge *= settings.ridge_factor
        self.b = found.b if self.is_free else self.sq_ones * float(self.beta.sum())
        helped = found.gap < settings.repeat_cg_gap * self.last_gap
        self.next_cg = self.visits + (0 if helped else step.rows_read + 2 * self.design.n)
        self.last_gap = found.gap
        self.activate_all()

    def activate_all(self) -> None:
        self._activate(np.arange(self.design.n))
        self.numbers[1] = np.inf

    def _activate(self, active: np.ndarray) -> None:
        self.active, self.counts[2] = active, active.size

    def active_gap(self, found: LinearResult) -> float:
        """The part of the true gap that the active rows have."""
        rows = self.active[: self.counts[2]]
        losses = (values[rows] for values in self.losses)
        return float(loss_and_gap(self.problem.kind, found.g[rows], found.beta[rows], *losses)[1])

    def reactivate(self, found: LinearResult) -> None:
        """Activate the rows that were shrunk too early."""
        if self.dtype != np.float64:
            self.w[:] = self.design.rmatvec(self.beta)
        distance = float(self.numbers[1])
        mark_active(self.problem.kind, found.g, self.beta, *self.losses, distance, self.stays)
        self._activate(np.flatnonzero(self.stays))
        if self.active.size == 0:
            self.activate_all()

    def solution(self) -> LinearResult:
        """The model of the duals, and its true gap."""
        beta = self.problem.feasible(self.beta.copy())
        w, b = self.design.rmatvec(beta), self.b
        if self.penalty:
            b = float(beta.sum()) / self.penalty
        f = self.design.matvec(w, 0.0)

        def with_intercept(b: float) -> LinearResult:
            values = self.problem.primal_and_gap(w, b, beta, f + b, w)
            return LinearResult(w, b, beta, f + b, w, *values, direct=True)

        found = with_intercept(b)
        if not self.is_free:
            return found
        corrected = with_intercept(b + intercept_correction(self.problem, beta, found.g))
        return min(found, corrected, key=attrgetter("gap"))


def _row_arrays(design: LocalMatrix) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Row pointers, columns and values of the rows as they are stored; no columns of dense rows."""
    if design.is_sparse:
        return csr_arrays(design.csr)
    return np.arange(design.n + 1) * design.d, None, design.X.reshape(-1)


def duals_with_diagonal(
    problem: LinearPrimal,
    design: LocalMatrix,
    first: LinearResult,
    diagonal: np.ndarray,
    solver: CoordinateDescent,
    stopping: Stopping,
) -> np.ndarray:
    """Feasible duals that maximise the dual of XXᵀ + D instead of XXᵀ, from those of a result.

    They are stated without a gap: for callers that evaluate them otherwise.
    """
    state = _State(problem, design, None, solver, diagonal)
    state.next_cg = np.inf
    state.beta, state.b = first.beta.copy(), first.b
    state.w = first.w_beta.astype(state.dtype)
    limit = min(solver.max_visits, solver.settings.interval_cg_visits[0]) * design.n
    while state.visits < limit and stopping.stopped is None:
        is_small = state.descend(stopping, solver.tol)
        if is_small and state.was_full:
            break
        if is_small:
            state.activate_all()
    return problem.feasible(state.beta)


def _rescaled(problem: LinearPrimal, found: LinearResult, tol: float) -> LinearResult:
    """The model w = Xᵀβ of an ε-insensitive loss times up to 1.01, where that helps to ``tol``.

    With a large C a larger w costs less than many margins that are short by little.
    """
    if problem.kind != EPSILON_INSENSITIVE or found.meets(tol):
        return found
    sq_length = float(found.w @ found.w)
    penalty = problem.intercept_penalty
    sq_length += penalty * found.b**2 if penalty else 0.0

    def gap(log: float) -> float:
        s = 1 + 10**log
        terms = loss_and_gap(problem.kind, s * found.g, found.beta, *problem.arrays)[1]
        return float(terms) + (s - 1) ** 2 * sq_length / 2

    best = minimize_scalar(gap, bounds=(-7.0, -2.0), method="bounded", options={"xatol": 0.05})
    if best.fun >= found.gap:
        return found
    s = 1 + 10**best.x
    w, b, g = s * found.w, s * found.b, s * found.g
    values = problem.primal_and_gap(w, b, found.beta, g, found.w_beta)
    return replace(found, w=w, b=b, g=g, primal=values[0], gap=values[1], direct=False)


def _zero_model(problem: LinearPrimal, design: LocalMatrix) -> LinearResult:
    """The model w = 0, which needs no product."""
    w, zero = np.zeros(design.d), np.zeros(design.n)
    return LinearResult(w, 0.0, zero, zero, w, *problem.primal_and_gap(w, 0.0, zero, zero, w))
