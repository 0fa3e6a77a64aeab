"""Newton's method for linear machines, from a sample of the rows to all of them.

A random sample is solved loosely, its prices raised to those of all rows; its model is where the
method begins on all rows. What follows is Newton's method, plain for smooth losses (`Smooth`) and
with proximal steps for tubes (`Proximal`), and a check of the gap from scratch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from mercer._result import Halted, LinearResult, Status, Wake
from mercer.problems._losses import TUBE, responses, scale
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.linear._active_rows import Nearby
from mercer.solvers.linear._design_matrix import Rows
from mercer.solvers.linear._gradient_dual import Own
from mercer.solvers.linear._path_following import along
from mercer.solvers.linear._proximal_newton import Proximal
from mercer.solvers.linear._smooth_newton import DIRECT_COLUMNS, Smooth

__all__ = ["Newton", "Start", "again", "by_gap", "evaluate", "foreseen", "ratio"]

# A sample is worth its time from so many rows on; it has this part of them, and rows enough to
# determine w.
SAMPLE_FROM = 8_000
SAMPLE_SHARE = 1 / 16
SAMPLE_ROWS_PER_COLUMN = 5
SAMPLE_GAP = 1e-2
# Width of the first smooth problem, in scores: with a model to begin from, and without.
WIDTH = {True: 0.2, False: 1.0}
# The same from the model of other prices.
FORESEEN_WIDTH = 0.05
# The method is asked for this part of the gap, and of that for this part in each further round.
INNER_GAP, AGAIN = 0.8, 0.5
ROUNDS = 4
# Conjugate gradients along prices begin further on the way the model went, in log C, at most by so
# many times as far.
FURTHEST = 1.5
TINY = 1e-300
# Prices have all grown alike if they did so up to rounding; scores of the same rows are the same.
SAME, SAME_SCORES = 1e-12, 1e-9


@dataclass(frozen=True, eq=False)
class Start:
    """Where to begin: a model, the width of the first smooth problem, and duals.

    ``known`` is what `evaluate` would say of it; ``wake`` what the last fit left, to prices that
    were by ``growth`` lower.
    """

    w: np.ndarray
    b: float
    width: float = WIDTH[True]
    beta: np.ndarray | None = None
    known: LinearResult | None = None
    wake: Wake | None = None
    growth: float = 0.0


@dataclass(frozen=True)
class Newton:
    """Settings: relative gap ``tol``, at most ``max_iter`` Newton steps (−1: no limit)."""

    tol: float = 1e-4
    max_iter: int = -1
    seed: int = 0

    def solve(
        self, problem: LinearPrimal, rows: Rows, stopping: Stopping, start: Start | None = None
    ) -> LinearResult:
        """The model, its duals and its gap."""
        began = time.perf_counter()

        def value(w: np.ndarray, b: float, beta: np.ndarray | None) -> LinearResult:
            return evaluate(problem, rows, w, b, beta if problem.kind == TUBE else None)

        def limit(more: int) -> Status | None:
            if 0 <= self.max_iter <= before + more:
                return Status.ITERATION_LIMIT
            return stopping.stopped

        def now(state: Callable) -> Progress:
            steps = before + method.steps
            return Progress(stopping.seconds, rounds, steps, ratio(best), self.tol, state=state)

        def stop() -> bool:
            """Between two steps: tell, and whether that was enough."""
            stopping.report(now(lambda: [
                (problem, value(method.w, method.b, method.beta))
            ]))  # fmt: skip
            return limit(method.steps) is not None

        before = 0
        if start is None:
            start, before = self._sampled(problem, rows, stopping)
        first = start.known or value(start.w, start.b, start.beta)
        best = first
        wake = start.wake
        if first.gap > self.tol * first.primal and wake is not None and wake.gram is not None:
            with suppress(Halted, LinAlgError), rows.asking(stopping):
                best, before = along(problem, rows, first, wake, self.tol)
        if best.gap <= self.tol * best.primal:
            seconds = time.perf_counter() - began
            return replace(best, iterations=before, rounds=1, seconds=seconds)
        method = _method(problem, rows, best, start)
        steps = before
        for rounds in range(1, ROUNDS + 1):
            status = Status.SOLVED if best.gap <= self.tol * best.primal else limit(method.steps)
            if status is not None:
                break
            enough = INNER_GAP * AGAIN ** (rounds - 1) * self.tol * best.primal
            with suppress(Halted, LinAlgError), rows.asking(stopping):
                method.solve(enough, start.width, stop)
            steps = before + method.steps
            found = value(method.w, method.b, method.beta)
            best = min(best, found, key=by_gap)
            stopping.report(now(partial(list, [(problem, best)])))
        else:
            solved = best.gap <= self.tol * best.primal
            status = Status.SOLVED if solved else limit(method.steps) or Status.STALLED
        wake = replace(
            best.wake or Wake(), step_w=best.w - first.w, step_b=best.b - first.b,
            step_g=best.g - first.g, growth=start.growth,
            gram=None if problem.kind == TUBE else method.gram,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        return replace(
            best, status=status, iterations=steps, rounds=rounds, seconds=seconds, wake=wake
        )

    def _sampled(self, problem: LinearPrimal, rows: Rows, stopping: Stopping) -> tuple[Start, int]:
        """The answer to a sample and its steps, or zero where all rows are few enough."""
        n, d = rows.n, rows.d
        size = max(int(n * SAMPLE_SHARE), SAMPLE_ROWS_PER_COLUMN * (d + 1), SAMPLE_FROM // 4)
        if n < SAMPLE_FROM or size > n // 2:
            return Start(np.zeros(d), 0.0, WIDTH[False]), 0
        rng = np.random.default_rng(self.seed)
        index = np.sort(rng.choice(n, size, replace=False))
        factor = float(problem.cost.sum() / problem.cost[index].sum())
        inner = replace(self, tol=max(SAMPLE_GAP, self.tol))
        found = inner.solve(problem.take(index, factor), rows.take(index), stopping.quiet())
        return Start(found.w, found.b), found.iterations


def _method(problem: LinearPrimal, rows: Rows, first: LinearResult, start: Start) -> Any:
    """Newton's method that fits the loss, and to how much is known."""
    wake = start.wake
    if problem.kind != TUBE:
        w, b, g = first.w, first.b, first.g
        if rows.d > DIRECT_COLUMNS and wake is not None and wake.growth > 1:
            assert wake.step_w is not None
            assert wake.step_g is not None
            t = min(math.log(start.growth) / math.log(wake.growth), FURTHEST)
            w, b, g = w + t * wake.step_w, b + t * wake.step_b, g + t * wake.step_g
        return Smooth(rows, problem, w, b, g, _reach(problem, first.wake))
    if wake is not None and wake.growth and wake.step_g is not None:
        return Nearby(rows, problem, first, wake.step_g)
    return Proximal(rows, problem, first.w, first.b, first.g, start.beta)


def _reach(problem: LinearPrimal, wake: Wake | None) -> float:
    """By how much the gap's root grows for each unit that Σβ is off, if that is known."""
    if problem.kappa != 0 or wake is None or wake.sums is None or wake.totals is None:
        return 0.0
    totals = np.maximum(wake.totals, TINY)
    square = np.sum(wake.sums**2, axis=1) / totals**2
    return math.sqrt(np.max(square + 2 / totals))  # the latter by the losses' own terms


def evaluate(
    problem: LinearPrimal, rows: Rows, w: np.ndarray, b: float, beta: np.ndarray | None = None,
    w_beta: np.ndarray | None = None,
) -> LinearResult:  # fmt: skip
    """Value and gap of a model, with these duals or its own, which are the best at an optimum.

    ``w_beta`` is Xᵀβ of feasible duals, where it is known.
    """
    g = rows.scores(w, b)
    if problem.kind != TUBE and beta is None:
        return Own.at(problem, rows, w, b, g).result
    if beta is None:
        beta = np.empty(rows.n)
        responses(problem.kind, g, *problem.arrays, beta)
    if w_beta is None:
        beta = problem.feasible(beta)
        w_beta = rows.sum(beta)
    primal, gap = problem.values(w, b, beta, g, w_beta)
    return LinearResult(w, b, beta, g, w_beta, primal, gap, Status.SOLVED, 0, 0, 0.0)


def ratio(result: LinearResult) -> float:
    """The gap against the primal value, as far as a solver knows them."""
    return result.gap / result.primal if result.primal > 0 else float(result.gap > 0)


def by_gap(result: LinearResult) -> float:
    """A key for the better of two answers; what is beyond float64 is the worse."""
    return result.gap if math.isfinite(result.primal) and result.gap >= 0 else math.inf


def again(problem: LinearPrimal, rows: Rows, last: LinearResult, cost: np.ndarray) -> Start | None:
    """Where to begin after a fit to rows that may have been others: nothing of it is believed.

    Value and gap of the old model are those on these rows; what its fit left on the way is used if
    the scores are still the same. A model that is worse than none is left.
    """
    if last.w.size != rows.d or not np.isfinite(last.w).all():
        return None
    nothing = float(problem.values(np.zeros(rows.d), 0.0, *_nothing(problem, rows))[0])
    if last.beta.shape != (problem.n,):
        found = evaluate(problem, rows, last.w, last.b)
        return Start(last.w, last.b) if found.primal < nothing else None
    kept = np.empty(problem.n)
    scale(last.beta, cost, problem.cost, kept)
    kept, _ = problem.in_domain(kept)
    found = evaluate(problem, rows, last.w, last.b, kept if problem.kind == TUBE else None)
    if not found.primal < nothing:
        return None
    start = foreseen(problem, last, cost)
    size = float(np.abs(last.g).max(initial=1.0))
    if start.known is None or np.abs(found.g - last.g).max() > SAME_SCORES * size:
        return Start(last.w, last.b, WIDTH[True], kept, found)
    wake = start.wake
    if wake is not None and problem.kind != TUBE:  # a way of scores is that of the rows then
        fresh = found.wake or Wake()
        wake = replace(wake, growth=0.0, sums=fresh.sums, totals=fresh.totals)
        found = replace(found, wake=wake)
    return replace(start, beta=kept, known=found, wake=wake)


def _nothing(problem: LinearPrimal, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Duals, scores and sum of the model w = 0."""
    zero = np.zeros(problem.n)
    return zero, zero, np.zeros(rows.d)


def foreseen(problem: LinearPrimal, last: LinearResult, cost: np.ndarray) -> Start:
    """Where to begin after other prices: at their model.

    Duals keep their part of the price; but those of wide data their value, as those of rows that
    can be separated do whatever the price.
    """
    if last.beta.size != problem.n:
        return Start(last.w, last.b)
    beta = np.empty(problem.n)
    least, most = scale(last.beta, cost, problem.cost, beta)
    if problem.kind == TUBE and last.w.size > problem.n:
        return _kept(problem, last, most if most - least <= SAME * most else 0.0)
    if most - least > SAME * most:
        return Start(last.w, last.b, FORESEEN_WIDTH, beta)
    known = _rescaled(problem, last, beta, most)
    wake = last.wake
    if wake is not None and problem.kind != TUBE:
        wake = replace(wake, **{
            name: most * value for name in ("sums", "totals", "gram", "bends")
            if (value := getattr(wake, name)) is not None
        })  # fmt: skip
    known = replace(known, wake=wake)
    return Start(last.w, last.b, FORESEEN_WIDTH, beta, known, wake, most)


def _kept(problem: LinearPrimal, last: LinearResult, growth: float) -> Start:
    """The last model and its duals, which remain feasible where no price fell."""
    beta, known = np.clip(last.beta, -problem.cost, problem.cost), None
    if np.array_equal(beta, last.beta):
        primal, gap = problem.values(last.w, last.b, beta, last.g, last.w_beta)
        known = replace(last, primal=primal, gap=gap, status=Status.SOLVED)
    return Start(last.w, last.b, FORESEEN_WIDTH, beta, known, last.wake, growth)


def _rescaled(
    problem: LinearPrimal, last: LinearResult, beta: np.ndarray, ratio: float
) -> LinearResult:
    """The last model with all prices and duals times a ratio: its losses grow by just that."""
    kappa = problem.kappa or 0.0

    def off(w_beta: np.ndarray, total: float) -> float:
        apart = last.w - w_beta
        off_b = last.b - total / kappa if kappa else 0.0
        return float(apart @ apart + kappa * off_b * off_b) / 2

    total = float(last.beta.sum()) if kappa else 0.0
    weight = float(last.w @ last.w + kappa * last.b * last.b) / 2
    w_beta = ratio * last.w_beta
    primal = weight + ratio * (last.primal - weight)
    gap = ratio * max(last.gap - off(last.w_beta, total), 0.0) + off(w_beta, ratio * total)
    return replace(last, beta=beta, w_beta=w_beta, primal=primal, gap=gap, status=Status.SOLVED)
