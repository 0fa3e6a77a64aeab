"""Certificates of machines that are no box QP: linear ones, logistic ones, Pegasos.

What each states is in its problem's file; here it is put into the one form of `Certificate`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.certificate import EPS, MARGIN, ROUNDING_UNITS, Certificate, relative
from mercer.problems import Logistic
from mercer.problems.crammer_singer import CrammerSinger
from mercer.problems.linear import LinearPrimal
from mercer.problems.losses import kkt
from mercer.result import LinearResult, Result, Status
from mercer.solvers.descent import Bound
from mercer.solvers.one_pass import OnePassBound

__all__ = ["certify_bound", "certify_joint", "certify_linear", "certify_logistic", "certify_shares"]


def certify_linear(problem: LinearPrimal, result: LinearResult, name: str = "") -> Certificate:
    """The certificate of a linear machine.

    ``kkt_violation`` is how far a score is, at the most, from where its dual would be optimal.
    """
    violation, n_zero, n_bound = kkt(problem.kind, result.g, result.beta, *problem.arrays)
    rounding = ROUNDING_UNITS * EPS * (abs(result.primal) + abs(result.primal - result.gap))
    gap = result.gap * MARGIN + rounding
    norm = float(np.sqrt(result.w @ result.w))
    return Certificate(
        primal=result.primal,
        dual=result.primal - gap,
        gap=gap,
        relative_gap=relative(gap, result.primal),
        kkt_violation=violation,
        bias_interval=(result.b, result.b),
        margin=2 / norm if norm > 0 else np.inf,
        n_zero=n_zero,
        n_free=problem.n - n_zero - n_bound,
        n_bound=n_bound,
        status=result.status,
        iterations=result.iterations,
        rounds=result.rounds,
        seconds=result.seconds,
        name=name,
    )


def certify_joint(problem: CrammerSinger, result: LinearResult) -> Certificate:
    """The certificate of all classes at once.

    ``kkt_violation`` is how far a class with a share of a row is, at the most, below the row's best
    one (that of the row's own class counts, too); ``margin`` is the smallest between two classes.
    There is no interval for several intercepts, of which only differences count.
    """
    rows = np.arange(problem.n)
    at_home = result.beta[rows, problem.codes]
    u = 1.0 + result.g - result.g[rows, problem.codes][:, np.newaxis]
    u[rows, problem.codes] = 0.0
    used = result.beta < 0
    below_bound = at_home < problem.cost * (1 - 1e-12)  # shares sum to C up to rounding
    used[rows, problem.codes] = below_bound
    below = u.max(axis=1, keepdims=True) - u
    zero = at_home == 0
    bound = ~zero & ~below_bound
    w = result.w
    widest = max(float(np.sum((w[r + 1 :] - w[r]) ** 2, axis=1).max()) for r in range(len(w) - 1))
    rounding = ROUNDING_UNITS * EPS * (abs(result.primal) + abs(result.primal - result.gap))
    gap = result.gap * MARGIN + rounding
    return Certificate(
        primal=result.primal,
        dual=result.primal - gap,
        gap=gap,
        relative_gap=relative(gap, result.primal),
        kkt_violation=float(below[used].max(initial=0.0)),
        bias_interval=(float("nan"), float("nan")),
        margin=2 / widest**0.5 if widest > 0 else np.inf,
        n_zero=int(zero.sum()),
        n_free=int((~zero & ~bound).sum()),
        n_bound=int(bound.sum()),
        status=result.status,
        iterations=result.iterations,
        rounds=result.rounds,
        seconds=result.seconds,
        unit="epochs",
    )


def certify_logistic(problem: Logistic, result: Result, name: str = "") -> Certificate:
    """The certificate of a logistic model, whose violation is the length of its gradient."""
    beta, f, b = result.beta, result.f, float(result.b[0])
    primal = problem.primal(beta, f, b)
    drift = abs(b * float(problem.duals(f + b).sum())) if problem.fit_intercept else 0.0
    gap = (result.violation**2 / 2 + drift) * MARGIN + ROUNDING_UNITS * EPS * primal
    n_zero = int(np.count_nonzero(beta == 0))
    norm = np.sqrt(max(0.0, float(beta @ f)))
    return Certificate(
        primal=primal,
        dual=primal - gap,
        gap=gap,
        relative_gap=relative(gap, primal),
        kkt_violation=float(result.violation),
        bias_interval=(b, b),
        margin=float(2 / norm) if norm > 0 else np.inf,
        n_zero=n_zero,
        n_free=beta.size - n_zero,
        n_bound=0,
        status=result.status,
        iterations=int(result.iterations),
        rounds=int(result.rounds),
        seconds=float(result.seconds),
        name=name,
        unit="products with K",
    )


def certify_bound(bound: Bound, coef: np.ndarray, primal: float, **effort: Any) -> Certificate:
    """The certificate of a model that is no solution of its dual, by a feasible β of the latter.

    Both values are sums over the rows; violation and counts are those of β.
    """
    gap = max(primal - bound.dual, 0.0) + ROUNDING_UNITS * EPS * (primal + bound.dual)
    gap += bound.rows.n * EPS * primal  # sums of so many terms
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
