"""Certificates of Pegasos: a primal model, and a dual point from its iterates or from a stream."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._precision import EPS
from mercer._result import Status
from mercer.certificates._certificate import ROUNDING, Certificate, relative
from mercer.solvers.pegasos._rows import KernelRows
from mercer.solvers.pegasos._streaming_gap_bound import OnePassBound
from mercer.solvers.pegasos._subgradient import DualBound

__all__ = ["Effort", "certify_bound", "certify_one_pass"]


class Effort(NamedTuple):
    """What ended the iteration of a task, and its cost."""

    status: Status
    iterations: int
    rounds: int
    seconds: float
    name: str = ""


def _certificate(
    primal: float,
    gap: float,
    norm: float,
    counts: tuple[int, int, int],
    violation: float,
    e: Effort,
) -> Certificate:
    """``counts`` are those of the dual point: zero, free and at the bound."""
    return Certificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative_gap=relative(gap, primal),
        kkt_violation=violation,
        bias_interval=(0.0, 0.0),
        margin=2 / norm if norm > 0 else np.inf,
        n_zero=counts[0],
        n_free=counts[1],
        n_bound=counts[2],
        **e._asdict(),
    )


def certify_bound(
    bound: DualBound, coef: np.ndarray, b: float, primal: float, effort: Effort
) -> Certificate:
    """The certificate of a primal model by a feasible β of the dual.

    Both values are sums over the rows, stated with bounds on the rounding of f, of ‖w‖² and of the
    sums; violation and counts are those of β. ``b`` is the weight of the column of ones in
    ``coef``: part of the objective, and no part of w.
    """
    rows, sums = bound.rows, (bound.rows.n + ROUNDING.units) * EPS
    dual = bound.dual - rows.norm_rounding(bound.beta) - sums * abs(bound.dual)
    dual -= sums * abs(bound.interval.dual_linear_term(bound.beta))
    if coef.size == rows.size:
        lost = rows.rounding(coef)
        primal += float(bound.C @ lost) + float(np.linalg.norm(coef)) * float(
            np.linalg.norm(lost) if isinstance(rows, KernelRows) else sums * np.linalg.norm(coef)
        )
    primal *= 1 + sums
    gap = max(primal - max(dual, 0.0), 0.0)
    beta, low, high = bound.beta, bound.interval.low, bound.interval.high
    f = rows.values(rows.combine(beta))
    rising = (np.where(beta >= 0, low, high) - f)[beta < bound.C]
    falling = (np.where(beta > 0, low, high) - f)[beta > -bound.C]
    violation = float(max(rising.max(initial=0.0), -falling.min(initial=0.0)))
    alpha = np.abs(beta)
    n_zero, n_bound = int((alpha == 0).sum()), int((alpha == bound.C).sum())
    counts = n_zero, alpha.size - n_zero - n_bound, n_bound
    norm = float(np.sqrt(max(rows.norm_sq(coef) - b * b, 0.0)))
    return _certificate(primal, gap, norm, counts, violation, effort)


def certify_one_pass(bound: OnePassBound, tol: float, effort: Effort) -> Certificate:
    """The certificate of a linear model by one pass over a stream; its status follows from ``tol``.

    Counts are those of the dual point; its violation would take another pass.
    """
    dual, theta = bound.solve()
    primal = bound.primal
    gap = max(primal - dual, 0.0) + (ROUNDING.units + bound.n) * EPS * (primal + dual)
    n_zero, n_bound = (int(bound.counts[theta == end].sum()) for end in (0.0, 1.0))
    counts = n_zero, bound.n - n_zero - n_bound, n_bound
    status = Status.SOLVED if gap <= tol * primal else Status.ITERATION_LIMIT
    norm = float(np.linalg.norm(bound.coef[:-1]))  # the last is the weight of the column of ones
    effort = effort._replace(status=status)
    return _certificate(primal, gap, norm, counts, float("nan"), effort)
