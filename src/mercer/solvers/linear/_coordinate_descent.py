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

from mercer._result import Halted, LinearResult, Status
from mercer.problems._losses import SQUARED, loss_and_gap
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._stopping import Progress, RateForecast, StallDetector, Stopping
from mercer.solvers.linear._descent_epochs import descend, mark_active
from mercer.solvers.linear._design_matrix import LocalMatrix, csr_arrays, halting
from mercer.solvers.linear._free_variable_cg import (
    cg_step_on_free_variables,
    dual_changes,
    first_duals,
    intercept_correction,
)
from mercer.solvers.linear._gradient_dual import rescaled
from mercer.solvers.linear._path_following import Start

__all__ = [
    "CoordinateDescent",
    "CoordinateDescentSettings",
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
    # Where the rate of the last epochs promises the tolerance after at most these multiples of the
    # visits so far, epochs continue instead: before the first CG step, and before another solver.
    cg_promise: float = 1.0
    handover_promise: float = 0.5
    # A forecast is kept until this multiple of the visits that it names.
    forecast_slack: float = 1.5
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

    After ``max_visits`` visits of each row, in the mean, it ends as stalled; at a gap of
    ``handover_gap`` too, unless the rate so far promises ``tol`` soon. ``single``: where rows are
    dense and float32, so is w within epochs; every evaluation of the gap computes it again in
    float64.
    """

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0
    max_visits: float = np.inf
    single: bool = False
    handover_gap: float = 0.0
    settings: CoordinateDescentSettings = field(default=CoordinateDescentSettings(), repr=False)

    def solve(
        self,
        problem: LinearPrimal,
        design: LocalMatrix,
        stopping: Stopping,
        start: Start | None = None,
    ) -> LinearResult:
        """The model w = Xᵀβ, its duals and its gap."""
        began, settings = time.perf_counter(), self.settings
        state = _State(problem, design, start, self)
        best = _zero_model(problem, design)
        epochs, rounds, check_factor = 0, 0, settings.first_check
        target = max(self.tol, self.handover_gap)
        stall = StallDetector(settings.stall_epochs, settings.stall_fraction)
        progress = partial(Progress, tol=self.tol, state=lambda: [(problem, state.solution())])
        status: Status | None = None
        while status is None:
            is_cg = is_checked = state.is_cg_due(self.tol)
            if is_cg:
                state.epochs += 1
            else:
                before = state.epochs
                is_checked = state.descend(stopping, check_factor * target)
                stall.add(state.gap, state.was_full, state.epochs - before)
            epochs = state.epochs
            if is_checked:
                rounds += 1
                found = state.solution()
                longer = rescaled(problem, found, target)
                best = longer if rounds == 1 else min(best, longer, key=attrgetter("finite_gap"))
                if best.meets(self.tol):
                    status = Status.SOLVED
                    break
                if best.meets(target):
                    if not state.continues(self.tol):
                        status = Status.STALLED
                        break
                    target = self.tol
                elif is_cg:
                    with suppress(Halted), halting(design, stopping):
                        state.cg_step(found, self.tol * best.primal)
                else:
                    missing = 0.9 * target * found.primal / (state.active_gap(found) or 1.0)
                    check_factor *= min(max(settings.next_check, missing), 1.0)
                    state.reactivate(found)
            stopping.report(progress(stopping.seconds, rounds, epochs, best.relative_gap))
            status = self._limit(epochs, state, stopping)
            if status is None and stall.is_stalled:
                status = Status.STALLED
        if not is_checked:
            last = rescaled(problem, state.solution(), self.tol)
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

    def _limit(self, epochs: int, state: _State, stopping: Stopping) -> Status | None:
        if 0 <= self.max_iter <= epochs:
            return Status.ITERATION_LIMIT
        return stopping.stopped or (Status.STALLED if state.visits > state.max_visits else None)


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
        self.rate = RateForecast(design.n)
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
    def relative_gap(self) -> float:
        """The running gap of the last epoch, relative to the primal value that it implies."""
        return self.gap / ((max(float(self.numbers[4]), 0.0) + self.gap) or 1.0)

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
        all_visits = int(min(self.next_cg, self.max_visits + 1, self.rate.next_mark, 1 << 62))
        all_epochs = self.max_epochs if stopping.callback is None else self.epochs + 1
        limits = (call_visits, all_visits, all_epochs, self.settings.shrink_fraction, check)
        self.numbers[2] = 0.0
        while True:
            is_end, is_small = descend(
                *self.data, model, self.numbers, self.counts, self.random, limits
            )
            if is_end:
                self.rate.add(self.visits, self.relative_gap)
            if is_end or stopping.stopped is not None:
                return is_small

    def is_cg_due(self, tol: float) -> bool:
        """Whether a CG step is next: not the first while epochs promise the tolerance."""
        if self.next_cg > self.visits:
            return False
        settings = self.settings
        is_first = self.visits > 0 and not np.isfinite(self.last_gap)
        if self.problem.kind != SQUARED or not is_first:
            return True
        visits = self.rate.visits_to(tol, self.visits, self.relative_gap)
        if visits > settings.cg_promise * self.visits:
            return True
        self.next_cg = self.visits + max(settings.forecast_slack * visits, self.design.n)
        return False

    def continues(self, tol: float) -> bool:
        """Whether epochs promise the tolerance; then it ends as stalled if they fail."""
        settings = self.settings
        visits = self.rate.visits_to(tol, self.visits, self.relative_gap)
        if visits > settings.handover_promise * self.visits:
            return False
        self.max_visits = self.visits + settings.forecast_slack * visits
        return True

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


def _zero_model(problem: LinearPrimal, design: LocalMatrix) -> LinearResult:
    """The model w = 0, which needs no product."""
    w, zero = np.zeros(design.d), np.zeros(design.n)
    return LinearResult(w, 0.0, zero, zero, w, *problem.primal_and_gap(w, 0.0, zero, zero, w))
