"""Certificates of Pegasos: a primal model, and a dual point from its iterates or from a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._result import Status
from mercer.certificates._certificate import EPS, ROUNDING_UNITS, Certificate, relative
from mercer.solvers._pegasos import Bound, KernelRows
from mercer.solvers._streaming_gap_bound import OnePassBound

__all__ = ["certify_bound", "certify_shares"]


def certify_bound(bound: Bound, coef: np.ndarray, primal: float, **effort: Any) -> Certificate:
    """The certificate of a model that is no solution of its dual, by a feasible β of the latter.

    Both values are sums over the rows, stated with bounds on the rounding of f, of ‖w‖² and of the
    sums; violation and counts are those of β.
    """
    rows, sums = bound.rows, (bound.rows.n + ROUNDING_UNITS) * EPS
    dual = bound.dual - rows.norm_rounding(bound.beta) - sums * abs(bound.dual)
    dual -= sums * abs(bound.corridor.linear(bound.beta))
    if coef.size == rows.size:
        lost = rows.rounding(coef)
        primal += float(bound.bound @ lost) + float(np.linalg.norm(coef)) * float(
            np.linalg.norm(lost) if isinstance(rows, KernelRows) else sums * np.linalg.norm(coef)
        )
    primal *= 1 + sums
    gap = max(primal - max(dual, 0.0), 0.0)
    beta, low, high = bound.beta, bound.corridor.low, bound.corridor.high
    f = bound.rows.values(bound.rows.combine(beta))
    rising = (np.where(beta >= 0, low, high) - f)[beta < bound.bound]
    falling = (np.where(beta > 0, low, high) - f)[beta > -bound.bound]
    alpha = np.abs(beta)
    norm = np.sqrt(bound.rows.norm_sq(coef))
    n_zero, n_bound = int((alpha == 0).sum()), int((alpha == bound.bound).sum())
    return Certificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative_gap=relative(gap, primal),
        kkt_violation=float(max(rising.max(initial=0.0), -falling.min(initial=0.0))),
        bias_interval=(0.0, 0.0),
        margin=float(2 / norm) if norm > 0 else np.inf,
        n_zero=n_zero,
        n_free=alpha.size - n_zero - n_bound,
        n_bound=n_bound,
        **effort,
    )


def certify_shares(bound: OnePassBound, tol: float, **effort: Any) -> Certificate:
    """The certificate of a linear model by one pass over a stream.

    Counts are those of the dual point; its violation would take another pass.
    """
    dual, shares = bound.solve()
    primal = bound.primal
    gap = max(primal - dual, 0.0) + (ROUNDING_UNITS + bound.n) * EPS * (primal + dual)
    norm = float(np.linalg.norm(bound.coef))
    n_zero, n_bound = (int(bound.counts[shares == end].sum()) for end in (0.0, 1.0))
    return Certificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative_gap=relative(gap, primal),
        kkt_violation=float("nan"),
        bias_interval=(0.0, 0.0),
        margin=2 / norm if norm > 0 else np.inf,
        n_zero=n_zero,
        n_free=bound.n - n_zero - n_bound,
        n_bound=n_bound,
        status=Status.SOLVED if gap <= tol * primal else Status.ITERATION_LIMIT,
        **effort,
    )
