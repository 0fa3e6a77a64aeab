"""Preconditioned conjugate gradients; the matrix A and M⁻¹ are given as functions.

`conjugate_gradient` solves one system, with Euclidean inner products: the Newton equations of
linear models, where a step takes microseconds.

`conjugate_gradient_columns` solves several systems of one matrix at once, each with its own step
lengths and its own end, in an inner product in which A and M⁻¹ are self-adjoint. A vector is an
array whose last axis counts the right-hand sides; what its other axes mean is left to the caller.
Kernel ridge regression iterates on coefficients with the Euclidean product, kernel logistic
regression on pairs (c, Kc) with the product cᵀKc' of feature space, so that a step takes one
product with K.

Reference: Golub and Van Loan, Matrix Computations, 2013, algorithm 11.5.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["Iterates", "column_dots", "conjugate_gradient", "conjugate_gradient_columns"]


def conjugate_gradient(
    apply: Callable[[np.ndarray], np.ndarray],
    rhs: np.ndarray,
    stop: Callable[[np.ndarray, np.ndarray, float], bool],
    max_steps: int,
    precondition: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Solve A x = rhs by preconditioned conjugate gradients (Nocedal and Wright, algorithm 5.3).

    ``apply(p)`` is A p; ``stop(x, r, rho)`` is asked before each step, with the residual r and its
    squared norm in the metric of the preconditioner. Ends, too, where pᵀA p is not positive.
    ``precondition(r)`` is an approximation of A⁻¹ r.
    """
    x, r = np.zeros_like(rhs), rhs.copy()
    z = r if precondition is None else precondition(r)
    p, rho = z.copy(), float(r @ z)
    for _ in range(max_steps):
        if stop(x, r, rho):
            break
        q = apply(p)
        curvature = float(p @ q)
        if not 0 < curvature < np.inf:
            break
        a = rho / curvature
        x += a * p
        r -= a * q
        z = r if precondition is None else precondition(r)
        rho, before = float(r @ z), rho
        p *= rho / before
        p += z
    return x


def column_dots(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The dot products of matching columns."""
    return np.einsum("ij,ij->j", A, B)


@dataclass(eq=False)
class Iterates:
    """Where the iteration stands; arrays without ``X, R, P`` have an entry per right-hand side."""

    X: np.ndarray  # the iterate
    R: np.ndarray  # its residual as the recurrence has it
    P: np.ndarray  # the last direction
    step: np.ndarray  # length of the last step; zero of right-hand sides that have ended
    size: np.ndarray  # ⟨R, M⁻¹R⟩
    failed: np.ndarray  # ended at a curvature or step that is not positive and finite
    rayleigh: np.ndarray  # ⟨P, AP⟩ / ‖P‖² of those
    iterations: int = 0
    is_interrupted: bool = False  # ``apply`` returned None or ``after_step`` was true


def conjugate_gradient_columns(
    apply: Callable[[np.ndarray], np.ndarray | None],
    R: np.ndarray,
    *,
    precondition: Callable[[np.ndarray], np.ndarray],
    is_active: Callable[[Iterates], np.ndarray],
    max_iter: int,
    X: np.ndarray | None = None,
    inner: Callable[[np.ndarray, np.ndarray], np.ndarray] = column_dots,
    after_step: Callable[[Iterates], object] | None = None,
) -> Iterates:
    """Iterate on A X = B from X (default 0) with the residual R = B − A X, both changed in place.

    ``apply`` is V ↦ A V (None ends the iteration), ``precondition`` V ↦ M⁻¹ V, ``inner`` the inner
    products of matching right-hand sides. ``is_active`` says before each step which right-hand
    sides are continued (one that has ended stays so); a true value of ``after_step`` ends all.
    """
    X = np.zeros_like(R) if X is None else X
    W = precondition(R)
    zero = np.zeros(R.shape[-1])
    failed = np.zeros(zero.shape, dtype=bool)
    now = Iterates(X, R, W, zero, inner(W, R), failed, zero.copy())
    active = ~now.failed
    while now.iterations < max_iter:
        active &= is_active(now)
        if not active.any():
            break
        AP = apply(now.P)
        if AP is None:
            now.is_interrupted = True
            break
        curvature = inner(now.P, AP)
        step = np.divide(now.size, curvature, out=zero.copy(), where=active)
        failed = active & ~((curvature > 0) & np.isfinite(step))
        if failed.any():
            now.failed |= failed
            squares = np.square(now.P[..., failed]).reshape(-1, int(failed.sum())).sum(axis=0)
            now.rayleigh[failed] = curvature[failed] / squares
            active &= ~failed
            if not active.any():
                break
        now.step = np.where(active, step, 0.0)
        now.X += now.step * now.P
        now.R -= now.step * AP
        now.iterations += 1
        if after_step is not None and after_step(now):
            now.is_interrupted = True
            break
        W = precondition(now.R)
        before, now.size = now.size, inner(W, now.R)
        ratio = np.divide(now.size, before, out=zero.copy(), where=active & (before > 0))
        now.P = W + ratio * now.P
    return now
