"""Newton steps on the free variables of a box QP, between slices of pair steps.

With F the variables strictly inside their bounds, the step d solves

    K_FF d − E μ = −grad_F,   Eᵀ d = 0        (E: one column per group)

and β_F moves to β_F + t d with t ≤ 1 the largest feasible step: a step of an active-set method
(Nocedal and Wright, section 16.5). Where K_FF is singular a small multiple of the identity makes
the step long, and a bound ends it. The step is taken only if it raises the dual value.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la

from mercer._precision import EPS
from mercer.problems._dual_qp import BoxQP
from mercer.solvers.smo._settings import SMOSettings

__all__ = ["newton_on_free"]


def newton_on_free(
    problem: BoxQP,
    columns: Callable[[np.ndarray], np.ndarray],
    beta: np.ndarray,
    f: np.ndarray,
    settings: SMOSettings,
) -> bool:
    """Change β in place by Newton steps on the free variables; whether it was changed.

    Parameters
    ----------
    columns : callable
        ``columns(rows)`` is K of all points with these, shape (n, len(rows)).
    f : float64 array
        Kβ at the points; not changed.
    """
    moved = False
    f = f.copy()
    for _ in range(settings.newton_max_steps):
        free = np.flatnonzero((beta > problem.lower) & (beta < problem.upper))
        if free.size < 2 or free.size > settings.newton_max_free:
            break
        rows = free if problem.row is None else problem.row[free]
        K = columns(rows)
        grad = f[rows] - problem.target[free]
        group = None if problem.group is None else problem.group[free]
        step = _direction(K[rows], grad, group, settings.newton_regularisation)
        if step is None:
            break
        change = K @ step
        slope, curvature = float(grad @ step), float(step @ change[rows])
        if not slope < 0:
            break
        t, hit = _longest(beta[free], step, problem.lower[free], problem.upper[free])
        if curvature > 0:
            full = -slope / curvature
            t, hit = (full, -1) if full < t else (t, hit)
        if not np.isfinite(t) or not t * slope + 0.5 * t * t * curvature < 0:
            break
        beta[free] = np.clip(beta[free] + t * step, problem.lower[free], problem.upper[free])
        if hit >= 0:
            k = free[hit]
            beta[k] = problem.upper[k] if step[hit] > 0 else problem.lower[k]
        f += t * change
        moved = True
        if hit < 0:
            break
    return moved


def _direction(
    K: np.ndarray, grad: np.ndarray, group: np.ndarray | None, regularisation: float
) -> np.ndarray | None:
    """The solution of the system above, or None."""
    n = grad.size
    groups = [] if group is None else [g for g in range(int(group.max()) + 1) if (group == g).any()]
    size = n + len(groups)
    A = np.zeros((size, size))
    A[:n, :n] = K
    scale = float(np.abs(K.diagonal()).max())
    if not scale > 0:
        return None
    A[np.arange(n), np.arange(n)] += regularisation * EPS * n * scale
    for column, g in enumerate(groups):
        A[:n, n + column] = A[n + column, :n] = np.where(group == g, scale, 0.0)
    right = np.zeros(size)
    right[:n] = -grad
    try:
        with np.errstate(all="ignore"):
            step = la.lapack.dsysv(A, right)[2].ravel()[:n]
    except (la.LinAlgError, ValueError):
        return None
    if not np.isfinite(step).all():
        return None
    for g in groups:  # the rounding of the constraint
        step[group == g] -= step[group == g].mean()
    return step


def _longest(
    beta: np.ndarray, step: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[float, int]:
    """The largest feasible multiple of the step, and the variable that then is at its bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(
            step > 0, (upper - beta) / step, np.where(step < 0, (lower - beta) / step, np.inf)
        )
    hit = int(np.argmin(room))
    return (float(room[hit]), hit) if np.isfinite(room[hit]) else (np.inf, -1)
