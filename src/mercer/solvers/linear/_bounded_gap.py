"""Bounds of value and gap of a linear model as it is stored, rounding included.

Scores and sums are computed from the rows, not taken from a solver, whose sums were updated step
by step. Passes in float64 sum up their worst-case rounding; where that matters against the gap
(large offsets, columns of very different size), they are taken again with doubled precision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._result import LinearResult, Status
from mercer.problems._crammer_singer import CrammerSinger
from mercer.problems._losses import UNIT, responses
from mercer.problems._regularized_loss import Bounds, LinearPrimal
from mercer.solvers.linear._bounded_sums import precise_total
from mercer.solvers.linear._design_matrix import Rows

__all__ = ["prove", "prove_joint"]

# Doubled precision is asked for where rounding adds more than these parts, of the gap and of the
# gap that is asked for.
OF_GAP, OF_TOL = 0.02, 0.01


def prove(
    problem: LinearPrimal, rows: Rows, w: np.ndarray, b: float, beta: np.ndarray | None, tol: float
) -> LinearResult:
    """Value and gap of a model with these duals, or with its own, from passes over the rows."""
    best = None
    for precise in (False, True):
        g = rows.bounded_scores(w, b, precise)
        duals = _settled(problem, _own(problem, g[0]) if beta is None else beta)
        w_beta = rows.bounded_sum(duals.beta, precise)
        found = _stated(problem, rows, w, b, duals, g, w_beta, beta is None)
        if best is None or found.gap < best.gap:
            best = found
        if precise or not np.isfinite(found.gap):
            continue
        _, plain = problem.values(w, b, duals.beta, g[0], w_beta[0])
        if _is_small(found, plain, tol):
            break
    assert best is not None
    return _at_most_primal(best)


def _at_most_primal(found: LinearResult) -> LinearResult:
    """No loss is negative: β = 0 has the dual value 0."""
    if not np.isfinite(found.primal):
        return replace(found, primal=np.inf, gap=np.inf)
    return found if found.gap <= found.primal else replace(found, gap=found.primal)


def _is_small(found: LinearResult, plain: float, tol: float) -> bool:
    """Whether rounding adds little to the gap."""
    return found.gap - plain <= OF_GAP * plain + OF_TOL * tol * found.primal


def _stated(
    problem: LinearPrimal, rows: Rows, w: np.ndarray, b: float, duals: _Duals,
    g: tuple[np.ndarray, np.ndarray], w_beta: tuple[np.ndarray, np.ndarray], own: bool,
) -> LinearResult:  # fmt: skip
    bounds = _bounds(problem, rows, w, b, duals, g, w_beta)
    return LinearResult(
        w, b, duals.beta, g[0], w_beta[0], bounds.primal, bounds.gap, Status.SOLVED, 0, 0, 0.0,
        own=own, bounded=True,
    )  # fmt: skip


def _own(problem: LinearPrimal, g: np.ndarray) -> np.ndarray:
    """The duals β = −L'(g) of a smooth loss, with Σβ = 0 where the intercept is free."""
    beta = np.empty(problem.n)
    responses(problem.kind, g, *problem.arrays, beta)
    return problem.feasible(beta)


@dataclass(frozen=True, eq=False)
class _Duals:
    """Feasible duals; Σβ with a bound of its error; Σ|β|; Σ|change| that made them feasible.

    Where the intercept is free Σβ is zero, and ``takers`` take up what its error bounds: a real
    number that no float states, moved in the proof alone.
    """

    beta: np.ndarray
    total: tuple[float, float]
    size: float
    changed: float
    takers: tuple[int, ...] = ()


def _settled(problem: LinearPrimal, given: np.ndarray) -> _Duals:
    """Where the intercept is free a drift is moved onto the largest dual, and what its rounding
    leaves onto a small one.
    """
    beta, changed = problem.in_domain(given)
    total, error, size = _total(beta)
    if problem.kappa != 0:
        return _Duals(beta, (total, error), size, changed)
    nothing = _Duals(np.zeros_like(beta), (0.0, 0.0), 0.0, size + changed)
    for small in (False, True):
        drift = total
        if drift == 0 or (small and abs(drift) <= 4 * error):
            break
        side = beta if drift > 0 else -beta
        if small:
            able = np.flatnonzero(side >= 2 * abs(drift))
            if able.size == 0:
                break
            k = able[np.argmin(side[able])]
        else:
            k = np.argmax(np.where(side < problem.cost, side, 0.0))  # of a tube: a free one
            k = k if side[k] >= abs(drift) else np.argmax(side)
            if side[k] < abs(drift):
                return nothing
        beta[k] -= drift
        changed += 1.01 * abs(drift)
        total, error, size = _total(beta)
    left = abs(total) + error
    if left == 0:
        return _Duals(beta, (0.0, 0.0), size, changed)
    up, down = int(np.argmax(beta)), int(np.argmin(beta))
    if min(beta[up], -beta[down]) < left:
        return nothing
    return _Duals(beta, (0.0, left), size, changed, (up, down))


def _total(beta: np.ndarray) -> tuple[float, float, float]:
    """Σβ, by how much it may be off, and Σ|β|."""
    total, size = precise_total(beta)
    error = 1.01 * (UNIT * abs(total) + (beta.size * UNIT) ** 2 * size)
    return float(total), float(error), float(size) * (1 + beta.size * UNIT)


def _bounds(
    problem: LinearPrimal, rows: Rows, w: np.ndarray, b: float, duals: _Duals,
    g: tuple[np.ndarray, np.ndarray], w_beta: tuple[np.ndarray, np.ndarray],
) -> Bounds:  # fmt: skip
    """Those of the problem, with the drift of Σβ taken up by one of two duals."""
    (sums, error), beta = w_beta, duals.beta
    more, drift = 0.0, duals.total[1]
    for k in duals.takers:
        error = error + 1.01 * drift * _sizes(rows, k)
        one, at = problem.take(np.array([k])), (g[0][k : k + 1], g[1][k : k + 1])
        shifted = beta[k : k + 1] - np.sign(beta[k]) * drift
        now, then = (one.gap_terms(v, *at)[3] for v in (beta[k : k + 1], shifted))
        more += max(then - now, 0.0) + 16 * UNIT * max(now, then)
    bounds = problem.bounds(w, b, beta, g, (sums, error), duals.total)
    return replace(bounds, gap=bounds.gap + 1.01 * more)


def prove_joint(
    problem: CrammerSinger, rows: Rows, w: np.ndarray, b: np.ndarray, beta: np.ndarray, tol: float
) -> LinearResult:
    """The same for all classes at once: a row of w and an entry of b for each."""
    best = None
    beta, totals, takers = _settled_joint(problem, beta)
    k = problem.n_classes
    for precise in (False, True):
        scores = [rows.bounded_scores(w[r], float(b[r]), precise) for r in range(k)]
        sums = [rows.bounded_sum(np.ascontiguousarray(beta[:, r]), precise) for r in range(k)]
        g, g_error = (np.stack([s[i] for s in scores], axis=1) for i in (0, 1))
        w_beta, error = (np.stack([s[i] for s in sums]) for i in (0, 1))
        for row in takers:
            error = error + 1.01 * float(totals[1].sum()) * _sizes(rows, row)
        bounds = problem.bounds(w, b, beta, (g, g_error), (w_beta, error), totals, takers)
        found = LinearResult(
            w, b, beta, g, w_beta, bounds.primal, bounds.gap, Status.SOLVED, 0, 0, 0.0,
            bounded=True,
        )  # fmt: skip
        if best is None or found.gap < best.gap:
            best = found
        plain = problem.values(w, b, beta, g, w_beta)[1]
        if found.gap - plain <= OF_GAP * plain + OF_TOL * tol * found.primal:
            break
    assert best is not None
    return _at_most_primal(best)


def _settled_joint(
    problem: CrammerSinger, beta: np.ndarray
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray], list[int]]:
    """Feasible duals, Σᵢβ_ir with bounds of their errors, and who takes up what is left of them."""
    beta = problem.within_bounds(beta)
    k = problem.n_classes
    totals = _totals(beta)
    if problem.kappa != 0:
        return beta, totals, []
    for _ in range(2 * k):
        over, under = int(np.argmax(totals[0])), int(np.argmin(totals[0]))
        by = min(totals[0][over], -totals[0][under])
        if not by > 0:
            break
        share = problem.share(beta, under)
        row = int(np.argmax(share))
        if share[row] < 2 * by:
            break
        problem.moved(beta, row, under, over, by)
        totals = _totals(beta)
    left = np.abs(totals[0]) + totals[1]
    if not left.any():
        return beta, (left, left), []
    takers = [int(np.argmax(problem.share(beta, r))) for r in range(k)]
    room = min(float(problem.share(beta, r)[i]) for r, i in enumerate(takers))
    if room < 2 * left.sum():
        nothing = np.zeros(k)
        return np.zeros_like(beta), (nothing, nothing), []
    return beta, (np.zeros(k), left), takers


def _totals(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σᵢβ_ir of every class, and by how much they may be off."""
    pairs = [_total(np.ascontiguousarray(column))[:2] for column in beta.T]
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])


def _sizes(rows: Rows, k: int) -> np.ndarray:
    """|x| of one row."""
    x = rows.take(np.array([k])).X
    x = x.toarray() if rows.is_sparse else x
    return np.abs(x[0].astype(np.float64))
