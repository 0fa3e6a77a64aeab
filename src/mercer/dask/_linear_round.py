"""What a worker computes of one chunk in a round of the distributed Newton method.

A `Request` has a point (w, b) and the step that led to it; a `Reply` has the sums over the rows
that the driver needs: Xᵀβ and Σβ by sign, XᵀDX, the derivatives along the step, and the terms of
the certificate with their rounding bounds. Replies are added in the order of the chunks along a
fixed tree, so that the model does not depend on which worker computed what.

The duals β of the smooth losses are −L'(g). Those of the ε-insensitive loss are the proximal ones
of `mercer.solvers.linear._proximal_newton`, around duals β₀ that stay on the worker; β₀ is a
function of the chunk and of the earlier points alone (`recenter`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mercer._precision import UNIT
from mercer._threads import single_threaded_blas
from mercer.dask._chunk import Chunk
from mercer.problems._losses import (
    EPSILON_INSENSITIVE,
    capacity,
    directional_derivatives,
    hessian_diagonal,
    kkt_violation,
    loss_and_gap,
    negative_gradient,
    restore_sum,
    signed_totals,
)
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._bounded_gap import SETTINGS, _length, _total
from mercer.solvers.linear._proximal_newton import (
    _free_hessian,
    proximal_derivatives,
    update_duals,
)

__all__ = [
    "LINE_GRID", "Center", "Certify", "Extreme", "Reply", "Request", "Terms", "add_replies",
    "chunk_duals", "evaluate_chunk", "recenter",
]  # fmt: skip

# Fractions of a step at which the derivatives along it are known.
LINE_GRID = np.array([0.0, 0.0625, 0.125, 0.25, 0.5, 0.75, 1.0])
# Numbers of additions in a reduction tree of any size, at most (`mercer.dask._rounds`).
TREE_ADDITIONS = 100


@dataclass(frozen=True, eq=False)
class Center:
    """A point whose duals, times a factor, become β₀."""

    w: np.ndarray
    b: float
    width: float
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class Certify:
    """Of which model the terms of the certificate are asked for.

    ``repair`` makes Σβ zero: ("scale", factor of β > 0, factor of β < 0), or ("restore", excess,
    fraction). ``precision`` is 0 (bounds by norms), 1 (of each entry) or 2 (doubled precision).
    """

    w: np.ndarray
    b: float
    width: float
    repair: tuple | None = None
    precision: int = 0


@dataclass(frozen=True, eq=False)
class Request:
    """One task's part of a round: the point, the step that led to it, and what is asked for."""

    task: int
    w: np.ndarray
    b: float
    width: float
    step_w: np.ndarray | None = None
    step_b: float = 0.0
    t: float = 1.0
    certify: Certify | None = None


@dataclass(frozen=True, eq=False)
class Extreme:
    """The row with the largest (or smallest) dual: it absorbs what rounding leaves of Σβ."""

    beta: float
    g: float
    error: float
    low: float
    high: float
    C: float
    interval_error: float
    norm: float


@dataclass(frozen=True, eq=False)
class Terms:
    """Sums of the certificate over rows; ``largest`` are maxima: norm, additions, violation."""

    losses: np.ndarray  # least and most loss and largest gap
    plain: np.ndarray  # loss and gap without rounding errors
    w_beta: np.ndarray
    w_beta_error: np.ndarray  # of each column; one number: Σ|β|‖x‖
    total: np.ndarray  # Σβ, the bound of its error, Σ|Σβ of a chunk|
    counts: np.ndarray  # zero, at the bound, rows
    largest: np.ndarray
    up: Extreme
    down: Extreme


@dataclass(frozen=True, eq=False)
class Reply:
    """Sums over rows at the point of a request."""

    signed_sums: np.ndarray
    signed_totals: np.ndarray
    gram: np.ndarray
    used: int
    pull: np.ndarray
    loss_gap: float
    capacity: np.ndarray
    slopes: np.ndarray
    terms: Terms | None = None


def _task_problem(estimator: Any, chunk: Chunk, task: int) -> LinearPrimal:
    """The losses of a chunk's rows."""
    data = chunk.data
    if hasattr(estimator, "classes_"):
        return estimator._pose(estimator._class_task(chunk.y, task), data)
    return estimator._pose(estimator._encode(data)[task], data)


def evaluate_chunk(
    chunk: Chunk, estimator: Any, requests: Sequence[Request], centers: list, before: list
) -> list[Reply] | None:
    """Replies to the requests, in their order; None of a chunk without rows.

    ``centers`` has β₀ for each request (None: there is none), ``before`` that of its certificate.
    """
    if chunk.n == 0:
        return None
    with single_threaded_blas(), np.errstate(over="ignore", invalid="ignore"):
        return [
            _evaluate(chunk, _task_problem(estimator, chunk, request.task), request, *state)
            for request, *state in zip(requests, centers, before, strict=True)
        ]


def recenter(
    chunk: Chunk, estimator: Any, task: int, center: np.ndarray | None, point: Center
) -> np.ndarray:
    """β₀ after a point: its proximal duals around the last β₀."""
    if chunk.n == 0:
        return np.zeros(0)
    problem = _task_problem(estimator, chunk, task)
    beta = np.zeros(chunk.n) if center is None else center.copy()
    change = np.empty(chunk.n)
    g = chunk.design.matvec(point.w, point.b)
    old = beta.copy()
    update_duals(g, *problem.arrays, old, point.width, beta, change)
    return beta * point.factor


def chunk_duals(
    chunk: Chunk, estimator: Any, task: int, certify: Certify, center: Any
) -> tuple[int, np.ndarray, np.ndarray]:
    """Rows of the chunk as given, row numbers and values of the duals that are not zero."""
    if chunk.n == 0:
        return chunk.n_given, np.zeros(0, np.int64), np.zeros(0)
    problem = _task_problem(estimator, chunk, task)
    g = chunk.design.matvec(certify.w, certify.b)
    beta = _repaired(problem, _duals(problem, g, center, certify.width), certify.repair)
    used = np.flatnonzero(beta)
    rows = used if chunk.rows is None else chunk.rows[used]
    return chunk.n_given, rows, beta[used]


def _duals(
    problem: LinearPrimal, g: np.ndarray, center: np.ndarray | None, width: float
) -> np.ndarray:
    """−L'(g), or the proximal duals around the center."""
    beta = np.zeros(problem.n)
    if problem.kind == EPSILON_INSENSITIVE:
        around = np.zeros(problem.n) if center is None else center
        update_duals(g, *problem.arrays, around, width, beta, np.empty(problem.n))
    else:
        negative_gradient(problem.kind, g, *problem.arrays, beta)
    return beta


def _repaired(problem: LinearPrimal, beta: np.ndarray, repair: tuple | None) -> np.ndarray:
    """Feasible duals, but for the rounding of Σβ."""
    if repair is not None and repair[0] == "scale":
        beta = np.where(beta > 0, beta * repair[1], beta * repair[2])
    elif repair is not None:
        out = np.empty_like(beta)
        restore_sum(beta, problem.C, repair[1], repair[2], out)
        beta = out
    return problem.clipped(beta)


def _evaluate(
    chunk: Chunk,
    problem: LinearPrimal,
    request: Request,
    center: np.ndarray | None,
    before: np.ndarray | None,
) -> Reply:
    design, kind, n = chunk.design, problem.kind, chunk.n
    is_interval = kind == EPSILON_INSENSITIVE
    g = design.matvec(request.w, request.b)
    around = np.zeros(n) if center is None else center
    beta, D, pull, loss_gap = np.zeros(n), np.empty(n), np.zeros(design.d + 1), 0.0
    if is_interval:
        _, loss_gap = update_duals(g, *problem.arrays, around, request.width, beta, np.empty(n))
        used, _ = _free_hessian(beta, problem.C, request.width, D)
        towards = D * (np.where(beta > 0, problem.low, problem.high) - g)
        towards[D == 0] = 0.0
        pull = np.append(design.rmatvec(towards), towards.sum())
    else:
        negative_gradient(kind, g, *problem.arrays, beta)
        used, _ = hessian_diagonal(kind, g, *problem.arrays, D)
    slopes = np.zeros(len(LINE_GRID))
    if request.step_w is not None:
        h = design.matvec(request.step_w, request.step_b)
        base = g - request.t * h
        for k, fraction in enumerate(LINE_GRID):
            at = base, h, fraction * request.t, *problem.arrays
            if is_interval:
                slopes[k] = proximal_derivatives(*at, around, request.width)[0]
            else:
                slopes[k] = directional_derivatives(kind, *at)[0]
    return Reply(
        design.signed_rmatvec(beta),
        np.array(signed_totals(beta)),
        design.weighted_gram(D),
        used,
        pull,
        loss_gap,
        np.array([capacity(beta, problem.C, sign) for sign in (1.0, -1.0)]),
        slopes,
        None if request.certify is None else _terms(chunk, problem, request.certify, before),
    )


def _terms(
    chunk: Chunk, problem: LinearPrimal, certify: Certify, center: np.ndarray | None
) -> Terms:
    """The terms of the certificate of a model, every rounding error at its worst."""
    design, w, b = chunk.design, certify.w, certify.b
    norms = design.norm_bounds
    precision = certify.precision
    g = design.matvec(w, b)
    beta = _repaired(problem, _duals(problem, g, center, certify.width), certify.repair)
    units = 1.01 * (design.row_length + 12) * UNIT
    error = norms * (units * _length(w)) + units * (abs(b) + SETTINGS.underflow)
    w_beta = design.rmatvec(beta)
    w_beta_error = np.array(float(np.abs(beta) @ norms))
    if precision:
        g, error = design.bounded_matvec(w, b, precision == 2)
        w_beta, w_beta_error = design.bounded_rmatvec(beta, precision == 2)
        w_beta_error = w_beta_error + TREE_ADDITIONS * UNIT * np.abs(w_beta)
    losses = problem.gap_terms(beta, g, error)[1]
    violation, n_zero, n_bound = kkt_violation(problem.kind, g, beta, *problem.arrays)
    total, total_error = _total(beta)

    def extreme(k: int) -> Extreme:
        interval = 0.0 if problem.interval_error is None else problem.interval_error[k]
        of_row = beta[k], g[k], error[k], problem.low[k], problem.high[k], problem.C[k]
        return Extreme(*map(float, (*of_row, interval, norms[k])))

    return Terms(
        np.array(losses),
        np.array(loss_and_gap(problem.kind, g, beta, *problem.arrays)),
        w_beta,
        w_beta_error,
        np.array([total, total_error, abs(total)]),
        np.array([n_zero, n_bound, chunk.n]),
        np.array([norms.max(), design.additions, violation]),
        extreme(int(np.argmax(beta))),
        extreme(int(np.argmin(beta))),
    )


def add_replies(parts: Sequence[list[Reply] | None]) -> list[Reply] | None:
    """The sum of replies, request by request, in the order given."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    total = known[0]
    for part in known[1:]:
        total = [_add(one, other) for one, other in zip(total, part, strict=True)]
    return total


def _add(one: Reply, other: Reply) -> Reply:
    sums = {
        field.name: getattr(one, field.name) + getattr(other, field.name)
        for field in fields(Reply)
        if field.name != "terms"
    }
    terms = None
    if one.terms is not None and other.terms is not None:
        terms = _add_terms(one.terms, other.terms)
    return Reply(**sums, terms=terms)


def _add_terms(one: Terms, other: Terms) -> Terms:
    names = ("losses", "plain", "w_beta", "w_beta_error", "total", "counts")
    return replace(
        one,
        **{name: getattr(one, name) + getattr(other, name) for name in names},
        largest=np.maximum(one.largest, other.largest),
        up=one.up if one.up.beta >= other.up.beta else other.up,
        down=one.down if one.down.beta <= other.down.beta else other.down,
    )
