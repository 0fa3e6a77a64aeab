"""From the state of a solver to its `Result`: group sums, intercepts, violation, status.

With v = target − f[row], the KKT conditions of a group hold with the multiplier b if v ≤ b where
β < upper and v ≥ b where β > lower: the *bias interval* of b lies between the largest v that may
rise and the smallest that may fall; its length, if negative, is the violation (Keerthi et al.,
Neural Computation 13, 2001). Reads β and f; only `restore_sums` changes β.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Protocol

import numpy as np

from mercer._result import Result, Status, final_status
from mercer.certificates._box_qp import certify
from mercer.certificates._certificate import ROUNDING
from mercer.gram import Gram
from mercer.problems._dual_qp import BoxQP, gap_terms
from mercer.solvers._violation import bounded_extremes

__all__ = [
    "Run",
    "intercepts",
    "make_result",
    "relative_gap",
    "restore_sums",
    "snapshot",
    "upper_diagonal",
]


class Run(Protocol):
    """The state of a solver: a feasible β, f = Kβ up to ``f_error``, and the effort so far."""

    beta: np.ndarray
    steps: int
    rounds: int

    @property
    def f(self) -> np.ndarray: ...

    @property
    def f_error(self) -> np.ndarray: ...

    @property
    def met_negative_curvature(self) -> bool: ...


def make_result(
    problem: BoxQP,
    gram: Gram,
    run: Run,
    stopped: Status,
    tol: float,
    began: float,
    gap_tol: float | None = None,
) -> Result:
    """The result of a run; ``stopped`` is why the solver stopped.

    With ``gap_tol`` it is solved if the certified relative gap is at most that.
    """
    f, f_error = run.f, run.f_error
    kkt = getattr(run, "kkt", None)
    b, interval, violation = kkt or intercepts(problem, run.beta, f, f_error)
    is_indefinite = run.met_negative_curvature and gram.is_psd is not True
    stopped = Status.NOT_PSD if is_indefinite else stopped
    result = Result(
        beta=run.beta,
        f=f,
        f_error=f_error,
        b=b,
        b_interval=interval,
        violation=violation,
        status=final_status(stopped, violation, tol),
        iterations=run.steps,
        rounds=run.rounds,
        seconds=time.perf_counter() - began,
        diag=_diagonal(problem, gram, run.beta),
        certificate_seconds=getattr(run, "certificate_seconds", 0.0),
    )
    if gap_tol is None:
        return result
    return replace(result, status=final_status(stopped, relative_gap(problem, result), gap_tol))


def relative_gap(problem: BoxQP, result: Result) -> float:
    """The certified relative duality gap."""
    return certify(problem, result).relative_gap


def snapshot(problem: BoxQP, beta: np.ndarray, f: np.ndarray) -> list[tuple[BoxQP, Result]]:
    """Snapshot of a running solver for callbacks: the pairs a certificate is computed from.

    The rounding of f is not bounded: these are estimates.
    """
    b, interval, violation = intercepts(problem, beta, f)
    return [(problem, Result(beta, f, 0.0, b, interval, violation, Status.STOPPED, 0, 0, 0.0))]


def restore_sums(problem: BoxQP, beta: np.ndarray) -> dict[int, float]:
    """Move the rounding of each group's sum onto its variable with the most room, in place.

    Returns the variables that were changed, and by how much.
    """
    changed = {}
    for g, drift in enumerate(problem.drift(beta)):
        if drift == 0:
            continue
        members = np.flatnonzero(problem.group == g)
        room = np.minimum(beta - problem.lower, problem.upper - beta)[members]
        k = int(members[np.argmax(room)])
        before = beta[k]
        beta[k] = min(max(before + drift, problem.lower[k]), problem.upper[k])
        changed[k] = float(beta[k] - before)
    return changed


def _diagonal(problem: BoxQP, gram: Gram, beta: np.ndarray, few_points: int = 2000) -> np.ndarray:
    """An upper bound of k(x, x) at the points; infinite where it would be costly to compute.

    Up to ``few_points`` the whole diagonal is computed, also of a kernel function.
    """
    if gram.n <= few_points or gram.kernel._has_formula:
        return upper_diagonal(gram)
    out = np.full(gram.n, np.inf)
    room = np.minimum(beta - problem.lower, problem.upper - beta)
    some = np.argsort(-room)[:8]
    rows = np.unique(some if problem.row is None else problem.row[some])
    out[rows] = np.abs(gram.diag(rows)) * ROUNDING.diagonal
    return out


def upper_diagonal(gram: Gram) -> np.ndarray:
    """An upper bound of k(x, x) at all points."""
    return np.abs(gram.diag()) * ROUNDING.diagonal


def intercepts(
    problem: BoxQP, beta: np.ndarray, f: np.ndarray, f_error: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """The multiplier of each group, the interval KKT leaves it, and the largest violation.

    On free variables target − f equals b: their mean, where there are any; else, or where that
    leaves a smaller gap, the middle of the interval between the largest that may rise and the
    smallest that may fall. The violation is an upper bound: f may be off by ``f_error``.
    """
    m = beta.size
    row = np.arange(m) if problem.row is None else problem.row
    group = np.zeros(m, np.int8) if problem.group is None else problem.group
    v, error = np.empty(m), np.zeros(f.size) if f_error is None else f_error
    ends_of = np.empty((4, max(problem.n_groups, 1)))
    ends_of[::2], ends_of[1::2] = -np.inf, np.inf
    box = beta, problem.lower, problem.upper
    bounded_extremes(f, error, row, problem.target, *box, group, problem.n_groups, v, ends_of)
    top, bottom, top_at_most, bottom_at_least = ends_of
    violation = max(float((top_at_most - bottom_at_least).max()), 0.0)
    b = np.zeros(problem.n_groups)
    interval = np.empty((problem.n_groups, 2))
    free = (beta > problem.lower) & (beta < problem.upper) & np.isfinite(error)[row]
    for g in range(problem.n_groups):
        free_v = v[free if problem.n_groups == 1 else free & (group == g)]
        interval[g] = top[g], bottom[g]
        ends = [end for end in (top[g], bottom[g]) if np.isfinite(end)]
        middle = sum(ends) / max(len(ends), 1)
        b[g] = free_v.mean() if free_v.size else middle
        if problem.n_groups == 1 and len(ends) == 2 and problem.is_finite:
            mean_gap = gap_terms(beta, v - b[g], problem.lower, problem.upper).sum()
            middle_gap = gap_terms(beta, v - middle, problem.lower, problem.upper).sum()
            b[g] = middle if middle_gap < mean_gap else b[g]
    return b, interval, violation
