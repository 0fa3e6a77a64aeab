"""Duals of wide data settled together: conjugate gradients beside coordinate descent.

Coordinates soon tell which duals are free, but agree on their values slowly, the more so the higher
the prices. With the others fixed the free ones F of a squared loss solve

    (X_F X_Fᵀ + s² 1 1ᵀ + diag 1/(2C)) δ = edge − g − β/(2C)

where s² is what a unit of β adds to b; of a free intercept Σδ = 0 instead. What would change its sign is set to zero, and the step cut
to where the dual is best along it, so that it never falls.
"""

from __future__ import annotations

import numpy as np

from mercer.problems.linear import LinearPrimal
from mercer.result import LinearResult
from mercer.solvers.linear.rows import Rows

__all__ = ["leap", "level", "onward"]

# Conjugate gradients end where the residual is this part of what it was, where its part of the gap
# is this part of what is asked for, after so many steps, or where more than this part of the way
# leads across zero.
REDUCTION, PART, STEPS, ACROSS = 0.1, 0.2, 100, 0.5
# A larger share of the rows is not copied together, but all are read.
MOST = 0.8


def leap(
    problem: LinearPrimal, rows: Rows, found: LinearResult, enough: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """Duals further up, Xᵀβ of them, and how many rows were read on the way.

    ``enough`` is the gap that is asked for.
    """
    under, over = problem.low - found.g, found.g - problem.high
    sign = np.where(found.beta != 0, np.sign(found.beta), (under > 0) * 1.0 - (over > 0))
    index = np.flatnonzero(sign)
    if index.size == 0:
        return found.beta, found.w_beta, 0
    if index.size > MOST * rows.n:
        index, some = np.arange(rows.n), rows
    else:
        some = rows.take(index)
    used = sign[index] != 0
    sign, old, diagonal = sign[index], found.beta[index], 0.5 / problem.cost[index]
    pull_b = 1.0 / problem.kappa if problem.kappa else 0.0

    def settled(v: np.ndarray) -> np.ndarray:
        """Without what a free intercept takes up."""
        return np.where(used, v - v[used].mean() if problem.kappa == 0 else v, 0.0)

    first = settled(np.where(sign > 0, under[index], -over[index]) - diagonal * old)
    r, step, p = first.copy(), np.zeros(index.size), first.copy()
    rho = float(r @ r)
    end = REDUCTION**2 * rho
    for steps in range(STEPS):
        if rho <= end or float(r @ (r / diagonal)) / 2 <= PART * enough:
            break
        q = settled(some.scores(some.sum(p), pull_b * float(p.sum())) + diagonal * p)
        a = rho / float(p @ q)
        step += a * p
        r -= a * q
        rho, before = float(r @ r), rho
        p *= rho / before
        p += r
        if np.maximum(-sign * (old + step), 0.0).sum() > ACROSS * np.abs(step).sum():
            break
    step = sign * np.maximum(sign * (old + step), 0.0) - old
    step_w, total = some.sum(step), float(step.sum())
    bend = float(step_w @ step_w + pull_b * total * total + diagonal @ (step * step))
    t = min(max(float(first @ step) / bend, 0.0), 1.0) if bend > 0 else 0.0
    beta = found.beta.copy()
    beta[index] += t * step
    return beta, found.w_beta + t * step_w, (steps + 2) * index.size


def level(problem: LinearPrimal, beta: np.ndarray, g: np.ndarray) -> float:
    """By how much more a free intercept would fit squared losses' duals best."""
    under, over = problem.low - g, g - problem.high
    short = np.where(beta > 0, under, np.where(beta < 0, -over, 0.0)) - 0.5 * beta / problem.cost
    weight = float(problem.cost[beta != 0].sum())
    return float(problem.cost @ short) / weight if weight else 0.0


def onward(
    problem: LinearPrimal, beta: np.ndarray, f: np.ndarray, step_beta: np.ndarray,
    step_f: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The best duals of a squared loss among those in line with the last two, signs kept.

    ``f`` is XXᵀβ, and the steps are what the last prices changed.
    """
    diagonal = 0.5 / problem.cost
    edge = np.where(beta > 0, problem.low, np.where(beta < 0, problem.high, 0.0))
    ways = [(beta, f), (step_beta, step_f)]
    bend = [[float(v @ g + diagonal @ (v * u)) for u, g in ways] for v, _ in ways]
    rise = [float(v @ (edge - f - diagonal * beta)) for v, _ in ways]
    t, *_ = np.linalg.lstsq(np.array(bend), np.array(rise), rcond=1e-10)
    new = beta + t[0] * beta + t[1] * step_beta
    return np.where(new * beta > 0, new, 0.0)
