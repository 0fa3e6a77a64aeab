"""A solver's call, and the way from its state to its `Result`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from mercer._result import Result, Status, final_status
from mercer.certificates._box_qp import certify
from mercer.certificates._certificate import ROUNDING
from mercer.gram import Gram
from mercer.problems._dual_qp import BoxQP
from mercer.problems._kkt import intercepts
from mercer.solvers._stopping import Stopping

__all__ = [
    "Run",
    "diagonal_bound",
    "make_result",
    "relative_gap",
    "snapshot",
    "solve_within_reach",
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
    b, _, violation = kkt or intercepts(problem, run.beta, f, f_error)
    is_indefinite = run.met_negative_curvature and gram.is_psd is not True
    stopped = Status.NOT_PSD if is_indefinite else stopped
    diag = diagonal_bound(problem, gram, run.beta)
    result = Result(
        beta=run.beta,
        f=f,
        f_error=f_error,
        b=b,
        violation=violation,
        status=final_status(stopped, violation, tol),
        iterations=run.steps,
        rounds=run.rounds,
        seconds=time.perf_counter() - began,
        diag=diag,
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
    b, _, violation = intercepts(problem, beta, f)
    return [(problem, Result(beta, f, 0.0, b, violation, Status.STOPPED, 0, 0, 0.0))]


def diagonal_bound(
    problem: BoxQP, gram: Gram, beta: np.ndarray, few_points: int = 2000
) -> np.ndarray:
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


def solve_within_reach(
    solver: Any, problem: BoxQP, gram: Gram, stopping: Stopping, start: np.ndarray | None
) -> Result:
    """Solve; with squared slack a kernel that may be indefinite is given a box.

    A β at its bounds shows that the kernel is indefinite: the box changes no other solution.
    Interior point methods look at the eigenvalues first.
    """
    if problem.diag is None or gram.is_psd is True or solver.name.startswith("qp"):
        return solver.solve(problem, gram, stopping, start)
    boxed = problem.within_reach()
    if start is not None and not (np.abs(start) <= boxed.upper - boxed.lower).all():
        start = None
    result = solver.solve(boxed, gram, stopping, start)
    if (np.abs(result.beta) < boxed.upper - boxed.lower).all():
        return result
    b, _, violation = intercepts(problem, result.beta, result.f, result.f_error)
    return replace(result, b=b, violation=violation, status=Status.NOT_PSD)
