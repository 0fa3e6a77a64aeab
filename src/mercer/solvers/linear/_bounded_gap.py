"""Bounds of value and gap of a linear model as it is stored, rounding included.

Scores and Xᵀβ are products with the rows, never sums that a solver updated step by step. Their
rounding is bounded by the lengths of the rows first: Σ|xⱼ||wⱼ| ≤ ‖x‖‖w‖, and |X|ᵀ|β| is at most
Σ|βᵢ|‖xᵢ‖ long. Where these bounds are too large, products are computed with bounds of their
entries; and where rounding still matters against the gap (large offsets, columns of very different
scale), with doubled precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mercer._precision import UNIT
from mercer._result import LinearResult
from mercer.problems._class_simplex import SimplexDuals
from mercer.problems._losses import UNBOUNDED, negative_gradient
from mercer.problems._multinomial import Multinomial
from mercer.problems._regularized_loss import LinearPrimal, half_square
from mercer.solvers.linear._class_products import ClassProducts
from mercer.solvers.linear._design_matrix import LocalMatrix
from mercer.solvers.linear._matvec import sum_doubled

__all__ = [
    "bound_class_gap",
    "bound_class_gap_by_norms",
    "bound_gap",
    "bound_gap_by_norms",
    "bound_hard_margin_gap",
]


@dataclass(frozen=True)
class PrecisionSettings:
    """When products are computed again, with tighter bounds of their rounding."""

    # Where rounding adds more than these fractions, of the gap itself and of the gap asked for.
    gap_fraction: float = 0.02
    target_fraction: float = 0.01
    # More than what is lost where squares or products are below the normal range of float64.
    underflow: float = 1e-150


SETTINGS = PrecisionSettings()


def _with_enough_precision(
    evaluate: Callable[[bool], tuple[LinearResult, float]], tol: float
) -> LinearResult:
    """The bounds in float64 or, where rounding matters, with doubled precision.

    ``evaluate(doubled)`` returns them and the gap without rounding errors.
    """
    best, plain = evaluate(False)
    if _rounding_matters(best, plain, tol):
        found, _ = evaluate(True)
        best = found if found.gap < best.gap else best
    if not np.isfinite(best.primal):
        return replace(best, primal=np.inf, gap=np.inf)
    # No loss is negative: β = 0 has the dual value 0.
    return best if best.gap <= best.primal else replace(best, gap=best.primal)


def _rounding_matters(found: LinearResult, plain: float, tol: float) -> bool:
    rounding = found.gap - plain
    allowed = SETTINGS.gap_fraction * plain + SETTINGS.target_fraction * tol * found.primal
    return not rounding <= allowed


def bound_gap_by_norms(
    problem: LinearPrimal, design: LocalMatrix, found: LinearResult, tol: float
) -> LinearResult | None:
    """Bounds from products with the rows and the rows' lengths; None where rounding matters.

    The solver's own g and Xᵀβ may be sums of updates, or belong to duals that were not feasible
    yet: then they are computed again, without bounds of their entries.
    """
    norms, duals = design.norm_bounds, _make_feasible(problem, found.beta)
    is_known = found.direct and np.array_equal(duals.beta, found.beta)
    g = found.g if found.direct else design.matvec(found.w, found.b)
    w_beta = found.w_beta if is_known else design.rmatvec(duals.beta)
    units = 1.01 * (design.row_length + 12) * UNIT
    error = norms * (units * _length(found.w)) + units * (abs(float(found.b)) + SETTINGS.underflow)
    long = (design.additions + 12) * UNIT * float(np.abs(duals.beta) @ norms)
    long += 2 * duals.total[1] * float(norms.max(initial=0.0))
    sums = w_beta, 1.01 * (long + SETTINGS.underflow)
    bounds = problem.bounds(
        found.w, found.b, duals.beta, (g, error), sums, duals.total, duals.absorbing
    )
    gap = min(bounds.gap, bounds.primal)  # no loss is negative: β = 0 has the dual value 0
    plain = found.gap
    if not is_known:
        plain = problem.primal_and_gap(found.w, found.b, duals.beta, g, w_beta)[1]
    bounded = replace(found, beta=duals.beta, g=g, w_beta=w_beta, primal=bounds.primal, gap=gap)
    bounded = replace(bounded, bounded=True)
    return None if _rounding_matters(bounded, plain, tol) else bounded


def _length(w: np.ndarray) -> float:
    """An upper bound of ‖w‖."""
    return 1.01 * math.sqrt(2 * half_square(w)) + SETTINGS.underflow


def bound_gap(
    problem: LinearPrimal,
    design: LocalMatrix,
    w: np.ndarray,
    b: float,
    beta: np.ndarray | None,
    tol: float,
) -> LinearResult:
    """Bounds for a model with these duals, or with β = −L'(g), from products with the rows."""

    def evaluate(doubled: bool) -> tuple[LinearResult, float]:
        g = design.bounded_matvec(w, b, doubled)
        given = _gradient_dual(problem, g[0]) if beta is None else beta
        duals = _make_feasible(problem, given)
        sums, error = design.bounded_rmatvec(duals.beta, doubled)
        for k in duals.absorbing:
            error = error + 1.01 * duals.total[1] * _row_sizes(design, k)
        bounds = problem.bounds(w, b, duals.beta, g, (sums, error), duals.total, duals.absorbing)
        found = LinearResult(
            w,
            b,
            duals.beta,
            g[0],
            sums,
            bounds.primal,
            bounds.gap,
            is_gradient_dual=beta is None,
            bounded=True,
        )
        return found, problem.primal_and_gap(w, b, duals.beta, g[0], sums)[1]

    return _with_enough_precision(evaluate, tol)


def _gradient_dual(problem: LinearPrimal, g: np.ndarray) -> np.ndarray:
    """β = −L'(g) of a smooth loss, with Σβ = 0 where the intercept is free."""
    beta = np.empty(problem.n)
    negative_gradient(problem.kind, g, *problem.arrays, beta)
    return problem.feasible(beta)


@dataclass(frozen=True, eq=False)
class _Duals:
    """Feasible duals, and Σβ with a bound of its error.

    Where the intercept is free Σβ is zero, and one of the duals ``absorbing`` absorbs what its
    error bounds: a real number that no float states, moved in the proof alone.
    """

    beta: np.ndarray
    total: tuple[float, float]
    absorbing: tuple[int, ...] = ()


def _make_feasible(problem: LinearPrimal, given: np.ndarray) -> _Duals:
    """Clip β; with a free intercept move Σβ onto the largest dual, the rest onto a small one."""
    beta = problem.clipped(given)
    total, error = _total(beta)
    if problem.intercept_penalty != 0:
        return _Duals(beta, (total, error))
    zero = _Duals(np.zeros_like(beta), (0.0, 0.0))
    for is_second in (False, True):
        drift = total
        if drift == 0 or (is_second and abs(drift) <= 4 * error):
            break
        side = beta if drift > 0 else -beta
        if is_second:
            able = np.flatnonzero(side >= 2 * abs(drift))
            if able.size == 0:
                break
            k = able[np.argmin(side[able])]
        else:
            k = np.argmax(np.where(side < problem.C, side, 0.0))  # a free one, if there is one
            k = k if side[k] >= abs(drift) else np.argmax(side)
            if side[k] < abs(drift):
                return zero
        beta[k] -= drift
        total, error = _total(beta)
    left = abs(total) + error
    if left == 0:
        return _Duals(beta, (0.0, 0.0))
    up, down = int(np.argmax(beta)), int(np.argmin(beta))
    if min(beta[up], -beta[down]) < left:
        return zero
    return _Duals(beta, (0.0, left), (up, down))


def _total(beta: np.ndarray) -> tuple[float, float]:
    """Σβ, and a bound of its error."""
    total, size = sum_doubled(beta)
    return float(total), float(1.01 * (UNIT * abs(total) + (beta.size * UNIT) ** 2 * size))


def bound_hard_margin_gap(
    problem: LinearPrimal,
    design: LocalMatrix,
    w: np.ndarray,
    b: float,
    beta: np.ndarray,
    tol: float,
) -> LinearResult:
    """Bounds for C = ∞, where only a separating model has a finite value.

    With the smallest t for which t (w, b) satisfies every constraint y g ≥ 1, in the worst case
    over the errors, P − D = ½‖t w − Xᵀβ‖² + Σ |β| (t y g − 1), a sum of non-negative terms.
    """
    y = np.where(problem.low > -UNBOUNDED, 1.0, -1.0)
    duals = _make_feasible(problem, beta)
    alpha, units = np.abs(duals.beta), (design.n + design.d + 16) * UNIT

    def primal_and_gap(
        margin: np.ndarray, error: np.ndarray, sums: np.ndarray, sums_error: np.ndarray
    ) -> tuple[float, float]:
        least = float((margin - error).min()) * (1 - 2 * UNIT)
        if not least > 0:
            return np.inf, np.inf
        t = (1 + 4 * UNIT) / least
        off = np.abs(t * w - sums) + sums_error + 4 * UNIT * (np.abs(t * w) + np.abs(sums))
        excess = np.maximum(t * (margin + error) * (1 + 4 * UNIT) - 1, 0.0)
        gap = (half_square(off) + float(alpha @ excess)) * (1 + units)
        return half_square(t * w) * (1 + units), gap + units * half_square(t * w)

    def evaluate(doubled: bool) -> tuple[LinearResult, float]:
        g, g_error = design.bounded_matvec(w, b, doubled)
        sums, error = design.bounded_rmatvec(duals.beta, doubled)
        for k in duals.absorbing:  # |β| falls: the terms of the rows do not grow
            error = error + 1.01 * duals.total[1] * _row_sizes(design, k)
        primal, gap = primal_and_gap(y * g, g_error, sums, error)
        found = LinearResult(w, b, duals.beta, g, sums, primal, gap, bounded=True)
        return found, primal_and_gap(y * g, 0 * g, sums, 0 * sums)[1]

    return _with_enough_precision(evaluate, tol)


def bound_class_gap(
    problem: SimplexDuals,
    design: LocalMatrix,
    w: np.ndarray,
    b: np.ndarray,
    beta: np.ndarray | None,
    tol: float,
) -> LinearResult:
    """The same for all classes in one problem: a row of w and an entry of b for each class.

    Without β the duals are those of the scores (`_class_gradient_dual`).
    """
    k = problem.n_classes
    given = None if beta is None else _make_feasible_classes(problem, beta)

    def evaluate(doubled: bool) -> tuple[LinearResult, float]:
        scores = [design.bounded_matvec(w[r], float(b[r]), doubled) for r in range(k)]
        g, g_error = (np.stack([s[i] for s in scores], axis=1) for i in (0, 1))
        beta, totals, absorbing = given or _class_gradient_dual(problem, g)
        sums = [design.bounded_rmatvec(np.ascontiguousarray(v), doubled) for v in beta.T]
        w_beta, error = (np.stack([s[i] for s in sums]) for i in (0, 1))
        for row in absorbing:
            error = error + 1.01 * float(totals[1].sum()) * _row_sizes(design, row)
        bounds = problem.bounds(w, b, beta, (g, g_error), (w_beta, error), totals, absorbing)
        values = bounds.primal, bounds.gap
        found = LinearResult(w, b, beta, g, w_beta, *values, is_gradient_dual=given is None)
        plain = problem.primal_and_gap(w, b, beta, g, w_beta)[1]
        return replace(found, bounded=True), plain

    return _with_enough_precision(evaluate, tol)


def bound_class_gap_by_norms(
    problem: Multinomial, design: LocalMatrix, w: np.ndarray, b: np.ndarray, tol: float
) -> LinearResult | None:
    """The same from products without bounds of their entries; None where rounding matters."""
    products, norms = ClassProducts(design), design.norm_bounds
    g = products.matmat(w, b)
    beta, totals, absorbing = _class_gradient_dual(problem, g)
    w_beta = products.rmatmat(beta)
    units = 1.01 * (design.row_length + 12) * UNIT
    lengths = np.array([_length(row) for row in w])
    g_error = norms[:, np.newaxis] * (units * lengths) + units * (np.abs(b) + SETTINGS.underflow)
    long = (design.additions + 12) * UNIT * (norms @ np.abs(beta))
    long += 2 * len(absorbing) * float(totals[1].sum()) * float(norms.max(initial=0.0))
    sums = w_beta, 1.01 * (_length(long) + SETTINGS.underflow)
    bounds = problem.bounds(w, b, beta, (g, g_error), sums, totals, absorbing)
    gap = min(bounds.gap, bounds.primal)  # no loss is negative: β = 0 has the dual value 0
    found = LinearResult(w, b, beta, g, w_beta, bounds.primal, gap, is_gradient_dual=True)
    plain = problem.primal_and_gap(w, b, beta, g, w_beta)[1]
    found = replace(found, bounded=True)
    return None if _rounding_matters(found, plain, tol) else found


def _class_gradient_dual(
    problem: SimplexDuals, g: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], list[int]]:
    """Feasible duals near −L'(g): those of g + δ, δ the best constants, if intercepts are free."""
    assert isinstance(problem, Multinomial)
    shift = problem.best_intercepts(g) if problem.intercept_penalty == 0 else None
    return _make_feasible_classes(problem, problem.gradient_duals(g, shift))


def _make_feasible_classes(
    problem: SimplexDuals, beta: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], list[int]]:
    """Feasible duals, Σᵢβ_ir with bounds of their errors, and the rows that absorb these."""
    beta = problem.within_bounds(beta)
    k = problem.n_classes
    totals = _class_totals(beta)
    if problem.intercept_penalty != 0:
        return beta, totals, []
    for _ in range(2 * k):
        over, under = int(np.argmax(totals[0])), int(np.argmin(totals[0]))
        by = min(totals[0][over], -totals[0][under])
        if not by > 0:
            break
        weights = problem.class_weights(beta, under)
        row = int(np.argmax(weights))
        if weights[row] < 2 * by:
            break
        problem.move_weight(beta, row, under, over, by)
        totals = _class_totals(beta)
    left = np.abs(totals[0]) + totals[1]
    if not left.any():
        return beta, (left, left), []
    moving = np.flatnonzero(left).tolist()  # classes without weight have no duals, and no drift
    absorbing = [int(np.argmax(problem.class_weights(beta, r))) for r in moving]
    given = zip(moving, absorbing, strict=True)
    capacity = min(float(problem.class_weights(beta, r)[i]) for r, i in given)
    if capacity < 2 * left.sum():
        return np.zeros_like(beta), (np.zeros(k), np.zeros(k)), []
    return beta, (np.zeros(k), left), absorbing


def _class_totals(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σᵢβ_ir of every class, and bounds of their errors."""
    pairs = [_total(np.ascontiguousarray(column)) for column in beta.T]
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])


def _row_sizes(design: LocalMatrix, k: int) -> np.ndarray:
    """|x| of one row."""
    x = design.take(np.array([k])).X
    x = x.toarray() if design.is_sparse else x
    return np.abs(x[0].astype(np.float64))
