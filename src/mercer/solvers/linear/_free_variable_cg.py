"""Free duals of wide data by conjugate gradients, beside coordinate descent.

Coordinate descent identifies the free duals quickly but converges linearly afterwards, the more
slowly the larger C is. With the others fixed the free ones F solve

    (X_F X_Fᵀ + s² 1 1ᵀ + diag + ρ) δ = end − g − diag β,     diag = 1/(2C) if squared, else 0

where ``end`` is low or high by the sign of β and s² = 1/κ; with a free intercept Σδ = 0 instead.
ρ is a proximal term that bounds the duals of the ε-insensitive loss where rows are alike. δ is
clipped to the bounds, and the step is cut to where the dual is best along it, so that it never
falls. Where the intercept is penalised the sum of δ is kept when it is clipped: b = s² Σβ moves all
scores at once, so that a change of the sum would leave a short step only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer._result import LinearResult, WarmStartState
from mercer.problems._losses import EPSILON_INSENSITIVE
from mercer.problems._regularized_loss import LinearPrimal
from mercer.solvers._conjugate_gradient import conjugate_gradient
from mercer.solvers.linear._descent_epochs import dual_gain
from mercer.solvers.linear._design_matrix import DesignMatrix
from mercer.solvers.linear._path_following import Start

__all__ = [
    "FreeVariableSettings",
    "FreeVariableStep",
    "cg_step_on_free_variables",
    "dual_changes",
    "first_duals",
    "intercept_correction",
]


@dataclass(frozen=True)
class FreeVariableSettings:
    """When the conjugate gradients stop."""

    # The reduction of the residual.
    reduction: float = 0.1
    # The residual's contribution to the gap, as a fraction of the gap that is asked for.
    gap_fraction: float = 0.2
    max_steps: int = 100
    # The fraction of the step (1-norm) that violates the bounds.
    max_outside: float = 0.5
    # With more free duals than this fraction of the rows, all rows are read instead of copied.
    max_copied: float = 0.8
    # Clippings in which the sum of the step is restored.
    clippings: int = 10


@dataclass(frozen=True, eq=False)
class FreeVariableStep:
    """New duals and Xᵀβ, the number of rows read, and the fraction of the step that was taken."""

    beta: np.ndarray
    w: np.ndarray
    rows_read: int
    fraction: float


def cg_step_on_free_variables(
    problem: LinearPrimal,
    design: DesignMatrix,
    found: LinearResult,
    target_gap: float,
    ridge: float,
    settings: FreeVariableSettings | None = None,
) -> FreeVariableStep:
    """Better duals; ``target_gap`` is the gap that is asked for, ``ridge`` is ρ."""
    settings = settings or FreeVariableSettings()
    sign = _free_signs(problem, found)
    index = np.flatnonzero(sign)
    if index.size == 0:
        return FreeVariableStep(found.beta, found.w_beta, 0, 0.0)
    if index.size > settings.max_copied * design.n:
        index, some = np.arange(design.n), design
    else:
        some = design.take(index)
    sign, old, C = sign[index], found.beta[index], problem.C[index]
    is_bounded, penalty = problem.kind == EPSILON_INSENSITIVE, problem.intercept_penalty
    diagonal, upper = (np.zeros(index.size), C) if is_bounded else (0.5 / C, np.inf)
    inverse_penalty = 1.0 / penalty if penalty else 0.0
    used = sign != 0
    reads = 2 * index.size

    def project(v: np.ndarray) -> np.ndarray:
        """Onto the free duals and, with a free intercept, onto a sum of zero."""
        return np.where(used, v - v[used].mean() if penalty == 0 else v, 0.0)

    def clip(step: np.ndarray) -> np.ndarray:
        return np.where(used, sign * np.clip(sign * (old + step), 0.0, upper) - old, 0.0)

    def apply(p: np.ndarray) -> np.ndarray:
        nonlocal reads
        reads += index.size
        product = some.matvec(some.rmatvec(p), inverse_penalty * float(p.sum()))
        return project(product + (diagonal + ridge) * p)

    end = np.where(sign > 0, problem.low[index], problem.high[index])
    residual = project(end - found.g[index] - diagonal * old)
    end_rho = settings.reduction**2 * float(residual @ residual)

    def stop(step: np.ndarray, r: np.ndarray, rho: float) -> bool:
        if np.abs(step - clip(step)).sum() > settings.max_outside * np.abs(step).sum():
            return True
        gap = np.abs(old + step) @ np.abs(r) if is_bounded else float(C @ (r * r))
        return bool(rho <= end_rho or gap <= settings.gap_fraction * target_gap)

    step = conjugate_gradient(apply, residual, stop, settings.max_steps)
    step = _clip_keeping_sum(step, clip, used, settings.clippings if penalty else 0)
    step_w, total = some.rmatvec(step), float(step.sum())
    curvature = float(step_w @ step_w + inverse_penalty * total * total + diagonal @ (step * step))
    fraction = min(max(float(residual @ step) / curvature, 0.0), 1.0) if curvature > 0 else 0.0
    beta = found.beta.copy()
    beta[index] += fraction * step
    return FreeVariableStep(beta, found.w_beta + fraction * step_w, reads, fraction)


def _clip_keeping_sum(
    step: np.ndarray,
    clip: Callable[[np.ndarray], np.ndarray],
    used: np.ndarray,
    clippings: int,
) -> np.ndarray:
    """Clipped, and what that takes from the sum spread over the duals within their bounds."""
    total, clipped = float(step.sum()), clip(step)
    for _ in range(clippings):
        inside = (clipped == step) & used
        missing = total - float(clipped.sum())
        if not inside.any() or abs(missing) <= 1e-12 * float(np.abs(clipped).sum()):
            break
        step = np.where(inside, clipped + missing / np.count_nonzero(inside), clipped)
        clipped = clip(step)
    return clipped


def _free_signs(problem: LinearPrimal, found: LinearResult) -> np.ndarray:
    """Signs of the duals that are free or should be; 0 of others."""
    under, over = problem.low - found.g, found.g - problem.high
    sign = np.where(found.beta != 0, np.sign(found.beta), (under > 0) * 1.0 - (over > 0))
    if problem.kind == EPSILON_INSENSITIVE:
        at_bound = (np.abs(found.beta) >= problem.C) & (np.where(sign > 0, under, over) > 0)
        sign[at_bound] = 0.0
    return sign


def intercept_correction(problem: LinearPrimal, beta: np.ndarray, g: np.ndarray) -> float:
    """The change of a free intercept that fits the free duals best, in the mean."""
    size = np.abs(beta)
    is_squared = problem.kind != EPSILON_INSENSITIVE
    free = size > 0 if is_squared else (size > 0) & (size < problem.C)
    if not free.any():
        return 0.0
    beta, C = beta[free], problem.C[free]
    residual = np.where(beta > 0, problem.low[free], problem.high[free]) - g[free]
    if is_squared:
        return float(C @ (residual - 0.5 * beta / C)) / float(C.sum())
    return float(residual.mean())


def _extrapolate_duals(
    problem: LinearPrimal, known: LinearResult, state: WarmStartState, C_ratio: float
) -> np.ndarray:
    """Duals extrapolated from the last two C, signs kept.

    Free duals of the ε-insensitive loss are linear in C as long as they are the same ones. Of a
    squared loss the best combination of the last duals and their change is taken; ``known`` has
    them scaled with C, and f = XXᵀβ.
    """
    beta, step = known.beta, state.delta_beta
    assert step is not None
    if problem.kind == EPSILON_INSENSITIVE:
        new = np.sign(beta) * (beta + (C_ratio - 1) / (1 - 1 / state.C_ratio) * step)
        return np.sign(beta) * np.clip(new, 0.0, problem.C)
    f, diagonal = C_ratio * (known.g - known.b), 0.5 / problem.C
    end = np.where(beta > 0, problem.low, np.where(beta < 0, problem.high, 0.0))
    pairs = [(beta, f), (step, state.delta_g)]
    hessian = [[float(v @ Ku + diagonal @ (v * u)) for u, Ku in pairs] for v, _ in pairs]
    gradient = [float(v @ (end - f - diagonal * beta)) for v, _ in pairs]
    t, *_ = np.linalg.lstsq(np.array(hessian), np.array(gradient), rcond=1e-10)
    new = beta + t[0] * beta + t[1] * step
    return np.where(new * beta > 0, new, 0.0)


def first_duals(
    problem: LinearPrimal, design: DesignMatrix, start: Start
) -> tuple[np.ndarray, np.ndarray]:
    """Duals to start from, and Xᵀβ: extrapolated where that improves the dual."""
    known, state = start.known, start.state
    if known is None or state is None or state.delta_beta is None or state.C_ratio in (0.0, 1.0):
        assert start.beta is not None
        bound = problem.C if problem.kind == EPSILON_INSENSITIVE else np.inf
        beta = np.clip(start.beta, -bound, bound)
        return beta, design.rmatvec(beta)
    beta = _extrapolate_duals(problem, known, state, start.C_ratio)
    w = design.rmatvec(beta)
    dual = dual_gain(problem.kind, beta, *problem.arrays) - float(w @ w) / 2
    if dual > known.primal - known.gap:
        return beta, w
    return known.beta.copy(), known.w_beta.copy()


def dual_changes(
    problem: LinearPrimal, best: LinearResult, start: Start | None
) -> WarmStartState | None:
    """The changes since the previous C; duals of smooth losses are known scaled with C."""
    if start is None or start.known is None or not start.C_ratio:
        return None
    known = start.known
    is_scaled = problem.kind != EPSILON_INSENSITIVE
    before = known.beta / start.C_ratio if is_scaled else known.beta
    delta_g = best.g - best.b - (known.g - known.b)
    return WarmStartState(delta_g=delta_g, C_ratio=start.C_ratio, delta_beta=best.beta - before)
