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
from mercer.solvers.smo._gradient import LazyGradient, Settled
from mercer.solvers.smo._mixture import mixed

if TYPE_CHECKING:
    from mercer.solvers.smo._decomposition import DecompositionSMO

__all__ = ["QuadraticForm", "dual_bound", "finish_early", "result_now", "result_of"]


@dataclass(frozen=True)
class QuadraticForm:
    """βᵀKβ as a sum over points, with a bound on its error but for the rounding of the sum."""

    value: float
    error: float
    size: float  # the sum of the absolute values of its terms

    @classmethod
    def of(cls, gradient: LazyGradient, beta: np.ndarray) -> QuadraticForm:
        """From f at the points where β is not zero."""
        coef = gradient.coefficients(beta)
        return cls(0.0, 0.0, 0.0).moved(coef, gradient.f, gradient.error)

    def moved(self, change: np.ndarray, f: np.ndarray, error: np.ndarray) -> QuadraticForm:
        """After a change Δ of β: plus Δᵀf with f = K(2β + Δ), where that is off by ``error``."""
        at = np.flatnonzero(change)
        change, f, weight = change[at], f[at], np.abs(change[at])
        return QuadraticForm(
            self.value + float(change @ f),
            self.error + float(weight @ error[at]),
            self.size + float(weight @ np.abs(f)),
        )

    def after(self, first: Settled, gradient: LazyGradient, beta: np.ndarray) -> QuadraticForm:
        """That of β, if this is that of ``first``; infinite if f is not known where they differ."""
        change = gradient.coefficients(beta - first.beta)
        known = np.zeros(change.size, bool)
        known[gradient.up_to_date()] = True
        if not known[change != 0].all():
            return QuadraticForm(np.inf, np.inf, np.inf)
        before = first.gradient
        return self.moved(change, before.f + gradient.f, before.error + gradient.error)


def dual_bound(
    problem: BoxQP,
    gradient: LazyGradient,
    diag: np.ndarray,
    form: QuadraticForm,
    beta: np.ndarray,
) -> float:
    """A lower bound of D(β) from βᵀKβ; −∞ where that is not known.

    ``diag`` bounds k(x, x) at the points, and may be infinite at some.
    """
    size = form.size + float(np.abs(problem.target) @ np.abs(beta))
    if not np.isfinite([form.value, form.error, size]).all():
        return -np.inf
    row = np.arange(beta.size) if problem.row is None else problem.row
    known = np.zeros(gradient.f.size, bool)
    known[gradient.up_to_date()] = True
    rounding = EPS * (beta.size + ROUNDING.units) * size
    drift_cost = 0.0
    for g, drift in enumerate(problem.drift(beta)):  # moved onto the variable where it costs least
        if drift == 0:
            continue
        room = problem.upper - beta if drift > 0 else beta - problem.lower
        able = known[row] & (problem.group == g) & (room >= abs(drift))
        slope = np.abs(problem.target) + (np.abs(gradient.f) + gradient.error)[row]
        each = abs(drift) * slope + drift**2 * diag[row] / 2
        drift_cost += float(np.min(each[able], initial=np.inf))
    lost = (form.error / 2 + drift_cost) * ROUNDING.margin + rounding
    return float(problem.target @ beta) - form.value / 2 - lost


def finish_early(run: DecompositionSMO) -> None:
    """After a stop: the newest β, if f at all points is quick to have, or else a settled one.

    Of two, the one with the smaller gap is taken. After a pass over the points of no sample
    (`_sweep`) the settled one is the best mixture with the one before that pass.
    """
    seconds, newest = run.settings.reconstruction_seconds, run.beta
    is_quick, settled, lower = run.is_reconstruction_quick(), run.settled, run.lower
    latest = time.perf_counter() + 3 * seconds + run.reserve  # estimates may be too small

    def is_over() -> bool:
        return time.perf_counter() > latest

    if settled is not None and settled.seconds > seconds + run.reserve:
        settled = None
    if settled is not None:
        settled.gradient.reconstruct(settled.beta, is_over)
        if run.gram.is_psd is True:
            form = QuadraticForm.of(settled.gradient, settled.beta)
            form = form.after(settled, run.gradient, newest)
            diag = diagonal_bound(run.problem, run.gram, newest)
            later = dual_bound(run.problem, run.gradient, diag, form, newest)
            lower = max(lower, later)
    elif not is_quick and run.model is None:
        run.gradient.reset()
        while run.sample_starts and not run.is_reconstruction_quick():
            run.beta = run.sample_starts.pop()
    if is_quick or (settled is None and run.model is None):
        run.gradient.reconstruct(run.beta, is_over)
        _refine(run, is_over)
    if run.model is not None:
        settled = _best_mixture(run, settled, Settled(newest, run.gradient) if is_quick else None)
    mine, run.b = run.b, None
    if settled is not None and (not is_quick or _gap(run, settled, mine, lower) < _gap(run)):
        run.beta, run.gradient = settled.beta, settled.gradient
        run.b, run.lower = mine, lower
        _refine(run, is_over)
    if run.beta is not newest:
        run.reached = newest


def _best_mixture(run: DecompositionSMO, *others: Settled | None) -> Settled:
    """`mixed` of the model that is kept with the others whose f is known; sets ``run.b``."""
    assert run.model is not None
    best = run.model
    for other in others:
        if other is None or other is best or not np.isfinite(other.gradient.error).all():
            continue
        best, run.b = mixed(run.problem, best, other)
    return best


def result_of(run: DecompositionSMO, status: Status, began: float) -> Result:
    """The result of a run that has ended."""
    result = make_result(run.problem, run.gram, run, status, run.tol, began, run.gap_tol)
    b = result.b if run.b is None else run.b
    return replace(result, b=b, reached=run.reached, lower=run.lower)


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


def _gap(
    run: DecompositionSMO,
    state: Settled | None = None,
    b: np.ndarray | None = None,
    lower: float = -np.inf,
) -> float:
    """The certified gap of a state, or of the newest one."""
    state = state or Settled(run.beta, run.gradient)
    (problem, result), *_ = snapshot(run.problem, state.beta, state.gradient.f)
    diag = diagonal_bound(run.problem, run.gram, state.beta)
    result = replace(result, f_error=state.gradient.error, diag=diag)
    result = replace(result, b=result.b if b is None else b, lower=max(lower, run.lower))
    return certify(problem, result).gap
