"""Certificates of models that are not solutions of a box QP: linear models, logistic regression.

The gap itself is written in the problems; here it is put into the one form of `Certificate`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._precision import EPS
from mercer._result import LinearResult, Result, final_status
from mercer.certificates._certificate import ROUNDING, Certificate, relative
from mercer.problems import Logistic
from mercer.problems._crammer_singer import CrammerSinger
from mercer.problems._losses import kkt_violation
from mercer.problems._multinomial import Multinomial
from mercer.problems._regularized_loss import LinearPrimal

__all__ = [
    "certify_crammer_singer",
    "certify_linear",
    "certify_linear_sums",
    "certify_logistic",
    "certify_multinomial",
    "gap_status",
]


def _length(w: np.ndarray) -> float:
    """‖w‖, also where squares would overflow or vanish."""
    top = float(np.abs(w).max(initial=0.0))
    return top * float(np.linalg.norm(w / top)) if 0 < top < np.inf else top


def _certificate(
    result: LinearResult, tol: float | None, norm: float, counts: tuple, **rest: Any
) -> Certificate:
    """Values that are not bounds (snapshots of a running fit) get some units of rounding."""
    gap = result.gap
    if not result.bounded:
        rounding = ROUNDING.units * EPS * (abs(result.primal) + abs(result.primal - result.gap))
        gap = result.gap * ROUNDING.margin + rounding
    if np.isfinite(result.primal):
        dual, part = result.primal - gap, relative(gap, result.primal)
    else:
        dual, gap, part = -np.inf, np.inf, np.inf
    if 0 < gap < np.inf and result.bounded:
        dual, part = float(np.nextafter(dual, -np.inf)), float(np.nextafter(part, np.inf))
    status = result.status if tol is None else final_status(result.status, part, tol)
    rest |= {"result": result, "status": status}
    return Certificate.of(result.primal, dual, gap, norm, counts, relative_gap=part, **rest)


def certify_linear(
    problem: LinearPrimal, result: LinearResult, name: str = "", tol: float | None = None
) -> Certificate:
    """The certificate of a linear model; with ``tol``, its status follows from the gap.

    ``kkt_violation`` is the largest distance of a score from where its dual would be optimal.
    """
    violation, n_zero, n_bound = kkt_violation(
        problem.kind, result.g, result.beta, problem.low, problem.high, problem.C
    )
    return certify_linear_sums(result, violation, (n_zero, n_bound, result.beta.size), name, tol)


def certify_linear_sums(
    result: LinearResult,
    violation: float,
    counts: tuple[int, int, int],
    name: str = "",
    tol: float | None = None,
) -> Certificate:
    """The same from sums over the rows, which may lie elsewhere.

    ``counts`` are those of the duals at 0, of the duals at their bound, and of the rows.
    """
    rest = {"kkt_violation": violation, "bias_interval": (result.b, result.b), "name": name}
    return _certificate(result, tol, _length(result.w), counts, **rest)


def certify_crammer_singer(
    problem: CrammerSinger, result: LinearResult, tol: float | None = None
) -> Certificate:
    """The certificate of Crammer and Singer's problem.

    ``kkt_violation`` is the largest distance of the u of a class with positive simplex weight below
    the largest u of its row; ``margin`` is the smallest between two classes. There is no interval
    for several intercepts, of which only differences count.
    """
    rows = np.arange(problem.n)
    own_beta = result.beta[rows, problem.codes]
    u = 1.0 + result.g - result.g[rows, problem.codes][:, np.newaxis]
    u[rows, problem.codes] = 0.0
    used = result.beta < 0
    below_bound = own_beta < problem.C * ROUNDING.at_bound  # weights sum to C up to rounding
    used[rows, problem.codes] = below_bound
    below = u.max(axis=1, keepdims=True) - u
    zero = own_beta == 0
    bound = ~zero & ~below_bound
    return _certificate(
        result,
        tol,
        _widest(result.w),
        (zero.sum(), bound.sum(), problem.n),
        kkt_violation=float(below[used].max(initial=0.0)),
        bias_interval=(float("nan"), float("nan")),
        unit="epochs",
    )


def _widest(w: np.ndarray) -> float:
    """The largest distance between the models of two classes."""
    return max(_length(other - w[r]) for r in range(len(w)) for other in w[r + 1 :])


def certify_multinomial(
    problem: Multinomial, result: LinearResult, tol: float | None = None
) -> Certificate:
    """The certificate of a softmax over all classes: smooth, hence without a violation.

    ``margin`` and intercepts are as in `certify_crammer_singer`; a row is at zero if its duals are.
    """
    n_zero = np.count_nonzero(result.beta[np.arange(problem.n), problem.codes] == 0)
    return _certificate(
        result,
        tol,
        _widest(result.w),
        (n_zero, 0, problem.n),
        kkt_violation=0.0,
        bias_interval=(float("nan"), float("nan")),
    )


def certify_logistic(problem: Logistic, result: Result, name: str = "") -> Certificate:
    """The certificate of a logistic model, whose violation is the length of its gradient.

    ``result.f_error`` bounds the errors of f, ``result.violation`` the length of w − w̃; the status
    is what stopped the solver (`gap_status`).
    """
    beta, f, b, C = result.beta, result.f, float(result.b[0]), problem.C
    error = np.broadcast_to(np.asarray(result.f_error, np.float64), f.shape)
    with np.errstate(invalid="ignore"):
        lost = float(C @ error) + float(np.abs(beta) @ error) / 2
    rounding = (f.size + ROUNDING.units) * EPS
    value = problem.primal(beta, f, b)
    size = float(np.abs(beta) @ np.abs(f)) / 2 + float(C @ (1 + np.abs(f + b)))
    primal = value + (lost if np.isfinite(lost) else np.inf) + rounding * size
    _, repair = problem.dual_point(f + b)
    gap = (result.violation**2 / 2 + float(C @ error**2) / 8 + repair) * ROUNDING.margin
    # The sum of β̃ is zero up to one rounding, of at most the largest C.
    gap += 4 * EPS * float(C.max()) * (abs(b) + float(np.abs(f).max()) + 1)
    gap = min(gap, primal)  # D(0) = 0
    dual = max(value - lost - rounding * size - gap, 0.0) if np.isfinite(primal) else 0.0
    return Certificate.of(
        primal,
        dual,
        gap,
        np.sqrt(max(0.0, float(beta @ f))),
        (np.count_nonzero(beta == 0), 0, beta.size),
        kkt_violation=float(result.violation),
        bias_interval=(b, b),
        name=name,
        unit="products with K",
        result=result,
    )


def gap_status(certificate: Certificate, tol: float, is_psd: bool = True) -> Certificate:
    """The certificate with the status that follows from its relative gap.

    "solved" if that is at most ``tol``, on the condition that the kernel is positive semidefinite
    where this is not known; else what stopped the solver.
    """
    measure = certificate.relative_gap
    return replace(certificate, status=final_status(certificate.status, measure, tol, is_psd))
