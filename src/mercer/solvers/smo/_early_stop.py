"""The answer of a run that was stopped: the model with the smallest certified gap that is known.

Between two settled states (a sample, or the active points, solved to their tolerance) the dual
value rises steadily, but the primal value is far above that of either. So the primal point and the
dual point may be different ones: P of the last settled model, of which f is known at all points,
and D of the newest β. With β = β₀ + Δ and f₀ = Kβ₀ at all points, f = Kβ at those where Δ ≠ 0,

    D(β) = targetᵀβ − ½ βᵀKβ,   βᵀKβ = β₀ᵀf₀ + Δᵀ(f₀ + f),

and no more kernel values have to be computed for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mercer._precision import EPS
from mercer._result import Result, Status
from mercer.certificates._box_qp import certify
from mercer.certificates._certificate import ROUNDING
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._solution import diagonal_bound, make_result, snapshot
from mercer.solvers.smo._gradient import LazyGradient

if TYPE_CHECKING:
    from mercer.solvers.smo._decomposition import DecompositionSMO

__all__ = ["Settled", "dual_bound", "finish_early", "result_now", "result_of"]


@dataclass(frozen=True, eq=False)
class Settled:
    """A β with its f = Kβ, which may be out of date at shrunk points."""

    beta: np.ndarray
    gradient: LazyGradient

    def copy(self) -> Settled:
        """The same, with f of its own."""
        return Settled(self.beta, self.gradient.copy())

    @property
    def seconds(self) -> float:
        """How long it takes to bring f up to date, about."""
        return self.gradient.seconds_to_reconstruct(self.beta)


def dual_bound(
    problem: BoxQP, gradient: LazyGradient, diag: np.ndarray, settled: Settled, beta: np.ndarray
) -> float:
    """A lower bound of D(β) from f where β differs from the settled one; −∞ where f is not known.

    f of the settled one must be up to date.
    ``diag`` bounds k(x, x) at the points, and may be infinite at some.
    """
    row = np.arange(beta.size) if problem.row is None else problem.row
    before, change = (gradient.coefficients(v) for v in (settled.beta, beta - settled.beta))
    known = np.zeros(before.size, bool)
    known[gradient.up_to_date()] = True
    if not known[change != 0].all():
        return -np.inf
    first, first_error = settled.gradient.f, settled.gradient.error
    moved = np.where(known, np.abs(change), 0.0)
    error = np.where(known, gradient.error, 0.0)
    both = first + np.where(known, gradient.f, 0.0)
    quad = float(before @ first + change @ both)
    size = float(np.abs(before) @ np.abs(first) + moved @ np.abs(both))
    size += float(np.abs(problem.target) @ np.abs(beta))
    if not np.isfinite(first_error[(before != 0) | (change != 0)]).all():
        return -np.inf
    first_error = np.where(np.isfinite(first_error), first_error, 0.0)
    quad_error = float(np.abs(before) @ first_error + moved @ (first_error + error))
    rounding = EPS * (beta.size + ROUNDING.units) * size
    drift_cost = 0.0
    for g, drift in enumerate(problem.drift(beta)):  # moved onto the variable where it costs least
        if drift == 0:
            continue
        room = problem.upper - beta if drift > 0 else beta - problem.lower
        able = known[row] & (problem.group == g) & (room >= abs(drift))
        slope = np.abs(problem.target) + (np.abs(gradient.f) + error)[row]
        each = abs(drift) * slope + drift**2 * diag[row] / 2
        drift_cost += float(np.min(each[able], initial=np.inf))
    lost = (quad_error / 2 + drift_cost) * ROUNDING.margin + rounding
    return float(problem.target @ beta) - quad / 2 - lost


def finish_early(run: DecompositionSMO) -> None:
    """After a stop: the newest β, if f at all points is quick to have, or else a settled one.

    Of two, the one with the smaller gap is taken.
    """
    seconds, newest = run.settings.reconstruction_seconds, run.beta
    is_quick, settled, lower = run.is_reconstruction_quick(), run.settled, -np.inf
    latest = time.perf_counter() + 3 * seconds + run.reserve  # estimates may be too small

    def is_over() -> bool:
        return time.perf_counter() > latest

    if settled is not None and settled.seconds > seconds + run.reserve:
        settled = None
    if settled is not None:
        settled.gradient.reconstruct(settled.beta, is_over)
        if run.gram.is_psd is True:
            diag = diagonal_bound(run.problem, run.gram, newest)
            lower = dual_bound(run.problem, run.gradient, diag, settled, newest)
    elif not is_quick:
        run.gradient.reset()
        while run.sample_starts and not run.is_reconstruction_quick():
            run.beta = run.sample_starts.pop()
    if settled is None or is_quick:
        run.gradient.reconstruct(run.beta, is_over)
        _refine(run, is_over)
    if settled is not None and (not is_quick or _gap(run, settled, lower) < _gap(run, None)):
        run.beta, run.gradient, run.lower = settled.beta, settled.gradient, lower
        _refine(run, is_over)
    if run.beta is not newest:
        run.reached = newest


def result_of(run: DecompositionSMO, status: Status, began: float) -> Result:
    """The result of a run that has ended."""
    result = make_result(run.problem, run.gram, run, status, run.tol, began, run.gap_tol)
    return replace(result, reached=run.reached, lower=run.lower)


def result_now(run: DecompositionSMO) -> Result:
    """What a stop at this moment would return; the run goes on as if it had not been asked."""
    other = copy(run)
    other.beta, other.gradient = run.beta.copy(), run.gradient.copy()
    other.sample_starts = list(run.sample_starts)
    other.settled = None if run.settled is None else run.settled.copy()
    finish_early(other)
    other.restore()
    return result_of(other, Status.STOPPED, run.stopping.began)


def _refine(run: DecompositionSMO, is_over: Callable[[], bool]) -> None:
    """f in float64 as far as there is time: first where the gap needs it, then the values."""
    for points in run.relevant()[:2]:
        stale = points[~run.gradient.is_fresh[points]]
        seconds = run.gradient.seconds_to_recompute(run.beta, stale)
        if seconds <= run.settings.reconstruction_seconds:
            run.gradient.recompute(run.beta, stale, is_over)


def _gap(run: DecompositionSMO, settled: Settled | None, lower: float = -np.inf) -> float:
    """The certified gap of a settled model, or of the newest one."""
    beta, gradient = (
        (run.beta, run.gradient) if settled is None else (settled.beta, settled.gradient)
    )
    (problem, result), *_ = snapshot(run.problem, beta, gradient.f)
    diag = diagonal_bound(run.problem, run.gram, beta)
    found = replace(result, f_error=gradient.error, diag=diag, lower=lower)
    return certify(problem, found).gap
