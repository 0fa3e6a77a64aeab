"""A linear machine as it is stored: solved, rounded to the type of its coefficients, and proved.

Solvers work on rows less a common shift where columns are far from zero and the intercept is free:
w stays the same, and b takes up the shift. What counts is the proof of the stored model on the rows
as they are. Where a solver has reached its tolerance, and the stored model has not, it goes on with
a smaller one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._result import LinearResult, Status
from mercer.problems._losses import TUBE
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._stopping import Stopping
from mercer.solvers.linear._bounded_gap import prove
from mercer.solvers.linear._coordinate_descent import Descent
from mercer.solvers.linear._design_matrix import Rows, precise_dot
from mercer.solvers.linear._newton import Start, by_gap, evaluate

__all__ = ["Answer", "Shifted", "solve_and_prove", "until_proved"]

# Solvers are asked for a little less than the tolerance, as the proof adds rounding; where that was
# not enough, for this part of it, so many times.
ASKED, AGAIN, ATTEMPTS = 0.999, 0.2, 3
# Rows are shifted where a column's mean is this many times its spread, and this many times the
# spread of a typical column; judged by so many rows.
FAR_FROM_ZERO, TYPICAL, SOME = 100.0, 10.0, 200


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver found, in its own coordinates, and the proof of what is stored of it."""

    found: LinearResult
    proof: LinearResult


@dataclass(frozen=True, eq=False)
class Shifted:
    """Rows as they are, rows as solvers see them, and the difference (None: there is none)."""

    rows: Rows
    seen: Rows
    shift: np.ndarray | None = None

    @classmethod
    def of(cls, rows: Rows, kappa: float | None) -> Shifted:
        if rows.is_sparse or kappa != 0:
            return cls(rows, rows)
        some = rows.X[:: max(1, rows.n // SOME)].astype(np.float64)
        with np.errstate(all="ignore"):
            mean, spread = some.mean(axis=0), some.std(axis=0)
            typical = float(np.sqrt(np.mean(spread**2)))
            far = (np.abs(mean) > FAR_FROM_ZERO * spread) & (np.abs(mean) > TYPICAL * typical)
        if not far.any() or not np.isfinite(mean).all():
            return cls(rows, rows)
        shift = np.where(far, mean, 0.0)
        return cls(rows, rows.around(shift), shift)

    def stored_b(self, w: np.ndarray, b: float) -> float:
        """The intercept on the rows as they are."""
        return float(b) if self.shift is None else float(b) - precise_dot(self.shift, w)

    def seen_b(self, w: np.ndarray, b: float) -> float:
        """The reverse."""
        return float(b) if self.shift is None else float(b) + precise_dot(self.shift, w)


def solve_and_prove(
    solver: Any, problem: LinearPrimal, shifted: Shifted, stopping: Stopping, start: Start | None
) -> Answer:
    """A stored model of one task; ``solver`` has the tolerance that its proof is to meet."""
    rows, dtype = shifted.rows, shifted.rows.X.dtype

    def proved(found: LinearResult) -> LinearResult:
        w = found.w.astype(dtype).astype(np.float64)
        b = float(dtype.type(shifted.stored_b(found.w, found.b)))
        return prove(problem, rows, w, b, None if found.own else found.beta, solver.tol)

    constant = problem.constant_fit()
    if constant is not None:  # the optimal value is 0
        zero = np.zeros(rows.n)
        found = evaluate(problem, shifted.seen, np.zeros(rows.d), constant, zero, np.zeros(rows.d))
        proof = prove(problem, rows, found.w, float(dtype.type(constant)), zero, solver.tol)
        if proof.gap == 0:
            return Answer(found, proof)

    def solve(tol: float, left: int, start: Start | None) -> LinearResult:
        mine = replace(solver, tol=tol, max_iter=left)
        result = mine.solve(problem, shifted.seen, stopping, start)
        if result.status is Status.STALLED and problem.kind == TUBE:
            # Prices or scales too uneven for Newton's equations: coordinates go on from there.
            last = Start(result.w, result.b, beta=result.beta)
            more = Descent(tol, left, solver.seed).solve(problem, shifted.seen, stopping, last)
            better = min(result, more, key=by_gap)
            result = _after(replace(better, status=more.status), result, more)
        return result

    stopped = stopping.stopped
    if stopped is not None:  # before anything was begun
        zero, w = np.zeros(rows.n), np.zeros(rows.d)
        found = evaluate(problem, shifted.seen, w, 0.0, zero, w)
        return Answer(found, replace(proved(found), status=stopped))

    def go_on(found: LinearResult) -> Start:
        return Start(found.w, found.b, beta=found.beta)

    return until_proved(solve, proved, go_on, solver.tol, solver.max_iter, start)


def until_proved(
    solve: Callable[[float, int, Any], LinearResult],
    proved: Callable[[LinearResult], LinearResult],
    go_on: Callable[[LinearResult], Any],
    tol: float, max_iter: int, start: Any,
) -> Answer:  # fmt: skip
    """Solve to ever smaller tolerances until the proof of the stored model meets ``tol``."""
    best: Answer | None = None
    effort: list[LinearResult] = []
    asked = ASKED * tol
    for _ in range(ATTEMPTS):
        done = sum(result.iterations for result in effort)
        found = solve(asked, max_iter - done if max_iter >= 0 else -1, start)
        effort.append(found)
        proof = replace(proved(found), status=found.status)
        if best is None or by_gap(proof) < by_gap(best.proof):
            best = Answer(found, proof)
        if proof.gap <= tol * proof.primal or found.status is not Status.SOLVED:
            break
        asked, start = AGAIN * asked, go_on(found)
    assert best is not None
    return replace(best, proof=_after(replace(best.proof, status=effort[-1].status), *effort))


def _after(result: LinearResult, *effort: LinearResult) -> LinearResult:
    return replace(
        result,
        iterations=sum(one.iterations for one in effort),
        rounds=sum(one.rounds for one in effort),
        seconds=sum(one.seconds for one in effort),
    )
