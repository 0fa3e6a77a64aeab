"""Duals of wide data settled together: conjugate gradients beside coordinate descent.

Coordinates soon tell which duals are free, but agree on their values slowly, the more so the higher
the prices. With the others fixed the free ones F solve

    (X_F X_Fᵀ + s² 1 1ᵀ + diag + ρ) δ = edge − g − diag β,     diag = 1/(2C) if squared, else 0

where s² is what a unit of β adds to b; with a free intercept Σδ = 0 instead. ρ keeps duals of a
tube from going far where rows are alike: a proximal step. What would leave its bounds ends there,
and the step is cut to where the dual is best along it, so that it never falls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._result import LinearResult, Wake
from mercer.problems._losses import TUBE
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers.linear._design_matrix import Rows

__all__ = ["Leap", "leap", "level", "onward"]

# Conjugate gradients end where the residual is this part of what it was, where its part of the gap
# is this part of what is asked for, after so many steps, or where more than this part of the way is
# out of bounds.
REDUCTION, PART, STEPS, OUTSIDE = 0.1, 0.2, 100, 0.5
# A larger share of the rows is not copied together: all are read.
MOST = 0.8


@dataclass(frozen=True, eq=False)
class Leap:
    """New duals and Xᵀβ, how many rows were read, and which part of the step was taken."""

    beta: np.ndarray
    w: np.ndarray
    work: int
    part: float


def leap(
    problem: LinearPrimal, rows: Rows, found: LinearResult, enough: float, ridge: float
) -> Leap:
    """Duals further up; ``enough`` is the gap that is asked for, ``ridge`` is ρ."""
    sign = _signs(problem, found)
    index = np.flatnonzero(sign)
    if index.size == 0:
        return Leap(found.beta, found.w_beta, 0, 0.0)
    if index.size > MOST * rows.n:
        index, some = np.arange(rows.n), rows
    else:
        some = rows.take(index)
    sign, old, cost = sign[index], found.beta[index], problem.cost[index]
    tube = problem.kind == TUBE
    diagonal, most = (np.zeros(index.size), cost) if tube else (0.5 / cost, np.inf)
    pull_b = 1.0 / problem.kappa if problem.kappa else 0.0
    used = sign != 0

    def settled(v: np.ndarray) -> np.ndarray:
        """Without what a free intercept takes up."""
        return np.where(used, v - v[used].mean() if problem.kappa == 0 else v, 0.0)

    def inside(step: np.ndarray) -> np.ndarray:
        return np.where(used, sign * np.clip(sign * (old + step), 0.0, most) - old, 0.0)

    edge = np.where(sign > 0, problem.low[index], problem.high[index])
    first = settled(edge - found.g[index] - diagonal * old)
    r, step, p = first.copy(), np.zeros(index.size), first.copy()
    rho = float(r @ r)
    end, work = REDUCTION**2 * rho, 2 * index.size
    for _ in range(STEPS):
        left = np.abs(old + step) @ np.abs(r) if tube else float(cost @ (r * r))
        if rho <= end or left <= PART * enough:
            break
        q = settled(some.scores(some.sum(p), pull_b * float(p.sum())) + (diagonal + ridge) * p)
        bend = float(p @ q)
        if not 0 < bend < np.inf:  # beyond what float64 can tell
            break
        a = rho / bend
        step += a * p
        r -= a * q
        rho, before = float(r @ r), rho
        p *= rho / before
        p += r
        work += index.size
        if np.abs(step - inside(step)).sum() > OUTSIDE * np.abs(step).sum():
            break
    step = inside(step)
    step_w, total = some.sum(step), float(step.sum())
    bend = float(step_w @ step_w + pull_b * total * total + diagonal @ (step * step))
    part = min(max(float(first @ step) / bend, 0.0), 1.0) if bend > 0 else 0.0
    beta = found.beta.copy()
    beta[index] += part * step
    return Leap(beta, found.w_beta + part * step_w, work, part)


def _signs(problem: LinearPrimal, found: LinearResult) -> np.ndarray:
    """Of duals that are free or should be; 0 of others."""
    under, over = problem.low - found.g, found.g - problem.high
    sign = np.where(found.beta != 0, np.sign(found.beta), (under > 0) * 1.0 - (over > 0))
    if problem.kind == TUBE:
        held = (np.abs(found.beta) >= problem.cost) & (np.where(sign > 0, under, over) > 0)
        sign[held] = 0.0
    return sign


def level(problem: LinearPrimal, beta: np.ndarray, g: np.ndarray) -> float:
    """By how much more a free intercept would fit the free duals, in the mean."""
    size = np.abs(beta)
    squared = problem.kind != TUBE
    free = size > 0 if squared else (size > 0) & (size < problem.cost)
    if not free.any():
        return 0.0
    beta, cost = beta[free], problem.cost[free]
    short = np.where(beta > 0, problem.low[free], problem.high[free]) - g[free]
    if squared:
        return float(cost @ (short - 0.5 * beta / cost)) / float(cost.sum())
    return float(short.mean())


def onward(problem: LinearPrimal, known: LinearResult, wake: Wake, growth: float) -> np.ndarray:
    """Duals further along the way they went, signs kept.

    Free duals of a tube are linear in the price as long as they are the same ones. Of a squared
    loss the best duals in line with the last two are taken; ``known`` has them in the proportion of
    the prices then, and f = XXᵀβ.
    """
    beta, step = known.beta, wake.step_beta
    assert step is not None
    if problem.kind == TUBE:
        ahead = np.sign(beta) * (beta + (growth - 1) / (1 - 1 / wake.growth) * step)
        return np.sign(beta) * np.clip(ahead, 0.0, problem.cost)
    f, diagonal = growth * (known.g - known.b), 0.5 / problem.cost
    edge = np.where(beta > 0, problem.low, np.where(beta < 0, problem.high, 0.0))
    ways = [(beta, f), (step, wake.step_g)]
    bend = [[float(v @ bent + diagonal @ (v * u)) for u, bent in ways] for v, _ in ways]
    rise = [float(v @ (edge - f - diagonal * beta)) for v, _ in ways]
    t, *_ = np.linalg.lstsq(np.array(bend), np.array(rise), rcond=1e-10)
    new = beta + t[0] * beta + t[1] * step
    return np.where(new * beta > 0, new, 0.0)
