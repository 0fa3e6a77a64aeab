"""Dual coordinate descent with shrinking, for sparse and wide data (Hsieh et al., ICML 2008).

An intercept is a column of ones of squared length s² = 1/κ. A free intercept is the limit of
proximal steps: b is penalised around its last value, ½ (b − b₀)²/s², and b₀ follows after each
epoch (the method of multipliers on Σβ = 0). Where epochs go on for long, free duals are settled
together by conjugate gradients in between; along prices from the beginning.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from mercer._result import Halted, LinearResult, Status, Wake
from mercer.problems._losses import SQUARED, TUBE
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.linear._coordinate_core import epoch, gains, in_sight
from mercer.solvers.linear._design_matrix import Rows, csr_arrays
from mercer.solvers.linear._free_variable_cg import leap, level, onward
from mercer.solvers.linear._newton import Start, by_gap, evaluate, ratio

__all__ = ["Descent", "Slowness", "slices"]

# The gap met on the way is that of moving duals and of the rows that were left in, mostly a little
# more than the true one. The true one is looked at where the former is this many times what is
# asked for; after a look that was too early, where it has fallen as far as the true one has to, or
# to this part.
FIRST_LOOK, LOOK_AGAIN = 1.2, 0.3
# Rows leave when they are further off than this part of the last epoch's largest change.
FAR = 0.5
# Duals are settled together (`leap`) after so many visits of each row, from nothing and from duals
# to begin with; again at once where the last time left no more than this part of the gap.
LEAP_AFTER = {SQUARED: (10.0, 0.0), TUBE: (40.0, 8.0)}
HELPED = 0.5
# The first ridge of a tube, in squared lengths of rows; it falls and grows as steps are taken whole
# or are cut short.
RIDGE, WHOLE, SHORT, RIDGE_CHANGES = 0.1, 0.9, 0.3, 5.0
# By what a model is stretched, in powers of ten.
STRETCH = (-7.0, -2.0)
# Numbers of rows visited between two looks at the clock, some 20 ms of work.
SLICE = 1 << 23
# Rounding has stopped the method where this many epochs leave more than this part of the gap.
WINDOW, WINDOW_LEFT = 20_000, 0.9


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
        self, problem: LinearPrimal, rows: Rows, stopping: Stopping, start: Start | None = None
    ) -> LinearResult:
        """The model w = Xᵀβ, its duals and its gap."""
        began = time.perf_counter()
        state = _State(problem, rows, start)
        rng = np.random.default_rng(self.seed)
        best = _nothing(problem, rows)
        epochs, rounds, part = 0, 0, FIRST_LOOK
        slowness = Slowness()
        status: Status | None = None
        while status is None:
            leaps = looked = state.leap_at <= state.visits
            if not leaps:
                rng.shuffle(state.active)  # in one order for all, twice as many epochs are needed
                is_full = state.active.size == rows.n
                gap = state.epoch(stopping)
                slowness.met(gap, is_full)
                looked = gap <= part * self.tol * (max(state.dual(), 0.0) + gap)
            epochs += 1
            if looked or state.active.size == 0:
                looked, rounds = True, rounds + 1
                found = state.look()
                stretched = _stretched(problem, found)
                best = stretched if rounds == 1 else min(best, stretched, key=by_gap)
                if best.gap <= self.tol * best.primal:
                    status = Status.SOLVED
                    break
                if leaps:
                    with suppress(Halted), rows.asking(stopping):
                        state.leap(found, self.tol * best.primal)
                else:
                    part *= max(LOOK_AGAIN, 0.9 * self.tol / (ratio(found) or 1.0))
                    state.look_around(found)
            stopping.report(Progress(
                stopping.seconds, rounds, epochs, ratio(best), self.tol,
                state=lambda: [(problem, state.look())],
            ))  # fmt: skip
            status = self._limit(epochs, state.visits / rows.n, stopping)
            if status is None and slowness.is_stalled:
                status = Status.STALLED
        if not looked:
            best = min(best, _stretched(problem, state.look()), key=by_gap)
            status = Status.SOLVED if best.gap <= self.tol * best.primal else status
        seconds = time.perf_counter() - began
        return replace(
            best, status=status, iterations=epochs, rounds=rounds, seconds=seconds,
            wake=_wake(problem, best, start),
        )  # fmt: skip

    def _limit(self, epochs: int, visits: float, stopping: Stopping) -> Status | None:
        if 0 <= self.max_iter <= epochs:
            return Status.ITERATION_LIMIT
        return stopping.stopped or (Status.STALLED if visits > self.patience else None)


class Slowness:
    """Whether a gap that is met once an epoch still falls, over all rows or over those in sight."""

    def __init__(self) -> None:
        self.of_all = self.of_some = np.inf
        self.epochs = 0

    def met(self, gap: float, all_rows: bool) -> None:
        self.epochs += 1
        if all_rows and gap <= self.of_all:
            self.of_all, self.of_some, self.epochs = WINDOW_LEFT * gap, np.inf, 0
        elif not all_rows and gap <= self.of_some:
            self.of_some, self.epochs = WINDOW_LEFT * gap, 0

    @property
    def is_stalled(self) -> bool:
        return self.epochs >= WINDOW


def slices(count: int, rows: Rows, width: int = 1) -> list[slice]:
    """Parts of so many rows that take some milliseconds each; ``width`` models at once."""
    size = max(1, int(SLICE / max(1.0, width * rows.stored / rows.n)))
    return [slice(first, min(first + size, count)) for first in range(0, count, size)]


class _State:
    """The duals and the model that belongs to them, and which rows are in sight."""

    def __init__(self, problem: LinearPrimal, rows: Rows, start: Start | None):
        self.problem, self.rows = problem, rows
        self.X = rows.csr
        self.sq_norm = rows.sq_norms()
        self.free = problem.kappa == 0
        self.pull_b = 0.0 if problem.kappa is None else float(self.sq_norm.mean()) or 1.0
        if problem.kappa:
            self.pull_b = 1.0 / problem.kappa
        self.w, self.beta, self.b = np.zeros(rows.d), np.zeros(rows.n), 0.0
        leaps = problem.kind == SQUARED or rows.d > rows.n  # of others few duals are free
        self.leap_at = LEAP_AFTER[problem.kind][start is not None] * rows.n if leaps else np.inf
        self.ridge = RIDGE * float(self.sq_norm.mean()) if problem.kind == TUBE else 0.0
        self.last_gap = np.inf
        if start is not None and start.beta is not None:
            self.beta, self.w = _begin(problem, rows, start)
            self.b = start.b if self.free else self.pull_b * float(self.beta.sum())
        self.active, self.far = np.arange(rows.n), np.inf
        self.stays = np.empty(rows.n, np.bool_)
        self.visits = 0

    def epoch(self, stopping: Stopping) -> float:
        """One visit of all rows in sight, or of as many as time allows; the gap met on the way."""
        self.visits += self.active.size
        gap = worst = 0.0
        self.stays[: self.active.size] = True
        for s in slices(self.active.size, self.rows):
            self.b, more, worst_here = epoch(
                self.problem.kind, *csr_arrays(self.X), self.sq_norm, *self.problem.arrays,
                self.pull_b, self.active[s], self.far, self.w, self.beta, self.b, self.stays[s],
            )  # fmt: skip
            gap, worst = gap + more, max(worst, worst_here)
            if stopping.stopped is not None:
                break
        self.active = self.active[self.stays[: self.active.size]]
        if self.free:  # what was b is what the next one is penalised around
            self.b += self.pull_b * float(self.beta.sum())
        self.far = max(FAR * worst, 1e-12)
        return gap

    def leap(self, found: LinearResult, enough: float) -> None:
        """Settle duals together; again at once where it helps, else after as much work."""
        made = leap(self.problem, self.rows, found, enough, self.ridge)
        self.beta, self.w = made.beta, made.w
        if made.part > WHOLE:
            self.ridge /= RIDGE_CHANGES
        elif made.part < SHORT:
            self.ridge *= RIDGE_CHANGES
        self.b = found.b if self.free else self.pull_b * float(self.beta.sum())
        self.leap_at = self.visits + (
            0 if found.gap < HELPED * self.last_gap else made.work + 2 * self.rows.n
        )
        self.last_gap = found.gap
        self.active, self.far = np.arange(self.rows.n), np.inf

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
        found = evaluate(self.problem, self.rows, w, b, beta, w)
        more = level(self.problem, beta, found.g) if self.free else 0.0
        g = found.g + more
        primal, gap = self.problem.values(w, b + more, beta, g, w)
        if gap >= found.gap:
            return found
        return replace(found, b=b + more, g=g, primal=primal, gap=gap)

    def look_around(self, found: LinearResult) -> None:
        """Bring back rows that had been left out too early."""
        arrays = self.problem.arrays
        in_sight(self.problem.kind, found.g, self.beta, *arrays, self.far, self.stays)
        self.active = np.flatnonzero(self.stays)
        if self.active.size == 0:
            self.active, self.far = np.arange(self.rows.n), np.inf


def _begin(problem: LinearPrimal, rows: Rows, start: Start) -> tuple[np.ndarray, np.ndarray]:
    """Duals to begin with, and Xᵀβ: further along the way they went, where the dual is better."""
    known, wake = start.known, start.wake
    if known is None or wake is None or wake.step_beta is None or wake.growth in (0.0, 1.0):
        assert start.beta is not None
        bound = problem.cost if problem.kind == TUBE else np.inf
        beta = np.clip(start.beta, -bound, bound)
        return beta, rows.sum(beta)
    beta = onward(problem, known, wake, start.growth)
    w = rows.sum(beta)
    dual = gains(problem.kind, beta, *problem.arrays) - float(w @ w) / 2
    if dual > known.primal - known.gap:
        return beta, w
    return known.beta.copy(), known.w_beta.copy()


def _wake(problem: LinearPrimal, best: LinearResult, start: Start | None) -> Wake | None:
    """What the prices changed; duals of tubes are known as they were, others in proportion."""
    if start is None or start.known is None or not start.growth:
        return None
    known = start.known
    before = known.beta if problem.kind == TUBE else known.beta / start.growth
    step_g = best.g - best.b - (known.g - known.b)
    return Wake(step_g=step_g, growth=start.growth, step_beta=best.beta - before)


def _stretched(problem: LinearPrimal, found: LinearResult) -> LinearResult:
    """The model of a tube times a little more than 1, where that brings the gap down.

    At high prices it is cheaper to have a larger w than many margins that are short by little.
    """
    if problem.kind != TUBE:
        return found

    def at(s: float) -> tuple[float, float]:
        return problem.values(s * found.w, s * found.b, found.beta, s * found.g, found.w_beta)

    best = minimize_scalar(
        lambda log: at(1 + 10**log)[1], bounds=STRETCH, method="bounded", options={"xatol": 0.05}
    )
    if best.fun >= found.gap:
        return found
    s = 1 + 10**best.x
    primal, gap = at(s)
    return replace(found, w=s * found.w, b=s * found.b, g=s * found.g, primal=primal, gap=gap)


def _nothing(problem: LinearPrimal, rows: Rows) -> LinearResult:
    """The model w = 0, for which no pass is needed."""
    w, zero = np.zeros(rows.d), np.zeros(rows.n)
    primal, gap = problem.values(w, 0.0, zero, zero, w)
    return LinearResult(w, 0.0, zero, zero, w, primal, gap, Status.SOLVED, 0, 0, 0.0)
