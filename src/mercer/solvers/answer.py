"""From a run to its `Result`: intercepts, violation, status. Common to all solvers."""

from __future__ import annotations

import time
from typing import Protocol

import numpy as np

from mercer.problems.boxqp import BoxQP
from mercer.result import Result, Status
from mercer.solvers._scan import extremes
from mercer.solvers.layout import gap_terms

__all__ = ["ALMOST", "Run", "answer", "intercepts", "so_far"]

# Where no progress is left, a violation of up to so many times tol is almost a solution.
ALMOST = 10
_LIMITS = (Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.STOPPED)
# A value this large stands for "no such variable".
_ABSENT = 1e299


class Run(Protocol):
    """What a solver has reached: a feasible β, f = Kβ up to ``f_error``, and its effort."""

    beta: np.ndarray
    steps: int
    rounds: int

    @property
    def f(self) -> np.ndarray: ...

    @property
    def f_error(self) -> float | np.ndarray: ...

    @property
    def met_negative_curvature(self) -> bool: ...


def answer(problem: BoxQP, run: Run, status: Status, tol: float, began: float) -> Result:
    """The frozen answer."""
    b, interval, violation = intercepts(problem, run.beta, run.f)
    if run.met_negative_curvature:
        status = Status.NOT_PSD
    elif status in _LIMITS and violation <= tol:
        status = Status.SOLVED  # and was being made better still
    elif status is Status.STALLED and violation <= ALMOST * tol:
        status = Status.ALMOST_SOLVED
    return Result(
        beta=run.beta,
        f=run.f,
        f_error=run.f_error,
        b=b,
        b_interval=interval,
        violation=violation,
        status=status,
        iterations=run.steps,
        rounds=run.rounds,
        seconds=time.perf_counter() - began,
    )


def so_far(problem: BoxQP, beta: np.ndarray, f: np.ndarray) -> list[tuple[BoxQP, Result]]:
    """The state of a run for those who look on: all that a certificate needs."""
    b, interval, violation = intercepts(problem, beta, f)
    return [(problem, Result(beta, f, 0.0, b, interval, violation, Status.STOPPED, 0, 0, 0.0))]


def intercepts(
    problem: BoxQP, beta: np.ndarray, f: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """The multiplier of each group, the interval KKT leaves it, and the largest violation.

    On free variables target − f equals b: their mean, where there are any; else, or where that
    leaves a smaller gap, the middle of the interval between the largest that may rise and the
    smallest that may fall.
    """
    m = problem.n_variables
    row = np.arange(m) if problem.row is None else problem.row
    group = np.zeros(m, np.int8) if problem.group is None else problem.group
    v = np.empty(m)
    top, bottom = extremes(
        f, row, problem.target, beta, problem.lower, problem.upper, group, problem.n_groups, v
    )
    violation = max(float((top - bottom).max()), 0.0)
    b = np.zeros(problem.n_groups)
    interval = np.empty((problem.n_groups, 2))
    free = (beta > problem.lower) & (beta < problem.upper)
    for g in range(problem.n_groups):
        free_v = v[free if problem.n_groups == 1 else free & (group == g)]
        low = top[g] if top[g] > -_ABSENT else -np.inf
        high = bottom[g] if bottom[g] < _ABSENT else np.inf
        interval[g] = low, high
        ends = [end for end in (low, high) if np.isfinite(end)]
        middle = sum(ends) / max(len(ends), 1)
        b[g] = free_v.mean() if free_v.size else middle
        if problem.n_groups == 1 and len(ends) == 2:
            mean_gap, middle_gap = (_gap(problem, beta, v - at) for at in (b[g], middle))
            b[g] = middle if middle_gap < mean_gap else b[g]
    return b, interval, violation


def _gap(problem: BoxQP, beta: np.ndarray, r: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):  # infinite bounds: not a number, and so not smaller
        return float(gap_terms(r, beta, problem.lower, problem.upper).sum())
