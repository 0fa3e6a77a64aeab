"""Preconditioned conjugate gradients for several right-hand sides, with products K V alone.

Solved is (D K D + αI) z = D y for each target, with D = diag(√s) of the sample weights; c = D z are
then the coefficients of kernel ridge regression. Targets share the products, and each has its α.

The preconditioner is a Nyström approximation from m random points (Frangella, Tropp and Udell,
"Randomized Nyström preconditioning", SIAM J. Matrix Anal. Appl. 2023, eq. 1.3): with the
approximation U Λ Uᵀ of D K D,

    M⁻¹ = I + U ((λ_m + α)(Λ + αI)⁻¹ − I) Uᵀ

makes the large eigenvalues all alike and leaves the rest as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import linalg

from mercer.gram import Gram, SymmetricProduct
from mercer.gram.gram import pieces
from mercer.result import Status
from mercer.solvers.control import Control, Progress

__all__ = ["Nystrom", "conjugate_gradients"]

ROWS = 1024
_EPS = float(np.finfo(np.float64).eps)
# The recurrence of the residual drifts from the residual itself, which is computed anew at the end
# and iterated on from there, as long as a restart gains at least this factor.
LEAST_GAIN = 0.5
Precondition = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Nystrom:
    """The preconditioner of D K D + αI, from ``rank`` points."""

    def __init__(self, gram: Gram, scale: np.ndarray, rank: int):
        self.gram = gram
        self.cut = pieces(gram.n, ROWS)
        chosen = np.sort(np.random.default_rng(0).choice(gram.n, rank, replace=False))
        block = gram.block(chosen, np.float64)
        core = np.empty((rank, rank))
        gram.kernel.tile(block, block, core)
        core *= scale[chosen] * scale[chosen, np.newaxis]
        core.flat[:: rank + 1] += 2 * _EPS * rank * max(float(np.trace(core)), 1e-300)
        L = linalg.cholesky(core, lower=True, check_finite=False)
        self._F = np.empty((gram.n, rank))

        def fill(rows: slice) -> np.ndarray:
            F = self._F[rows]
            gram.kernel.tile(gram.block(rows, np.float64), block, F)
            F *= scale[rows, np.newaxis]
            F[...] = linalg.solve_triangular(L, F.T, lower=True, check_finite=False).T
            return F.T @ F

        squares = sum(gram.workers.map(fill, self.cut))
        values, vectors = linalg.eigh(squares, overwrite_a=True, check_finite=False)
        kept = values > _EPS * rank * values[-1]
        self._values = values[kept]
        self._turn = vectors[:, kept] / np.sqrt(self._values)

    def __call__(self, R: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """M⁻¹ R, one α for each column."""
        cut, F, workers = self.cut, self._F, self.gram.workers
        inner = self._turn.T @ sum(workers.map(lambda rows: F[rows].T @ R[rows], cut))
        lift = (self._values[0] + alpha) / (self._values[:, np.newaxis] + alpha) - 1.0
        inner = self._turn @ (lift * inner)
        out = np.empty_like(R)
        workers.map(lambda rows: np.add(R[rows], F[rows] @ inner, out=out[rows]), cut)
        return out


def conjugate_gradients(
    product: SymmetricProduct,
    scale: np.ndarray,
    B: np.ndarray,
    alpha: np.ndarray,
    precondition: Precondition,
    tol: float,
    max_iter: int,
    control: Control,
) -> tuple[np.ndarray, np.ndarray, Status, int]:
    """Solve (D K D + αI) Z = B by columns until ‖residual‖ ≤ tol ‖B‖.

    Returns Z, K D Z, status and iterations.
    """
    D = scale[:, np.newaxis]

    def apply(V: np.ndarray) -> np.ndarray | None:
        KV = product(D * V)
        return None if KV is None else D * KV + alpha * V

    goal = tol * np.linalg.norm(B, axis=0)
    Z, R = np.zeros_like(B), B.copy()
    iterations, before = 0, np.inf
    while True:
        left = max_iter - iterations
        status, steps = _descend(apply, precondition, Z, R, alpha, goal, tol, left, control)
        iterations += steps
        KDZ = product(D * Z)
        if KDZ is None:  # stopped: what the recurrence says
            return Z, (B - R - alpha * Z) / D, control.stopped or status, iterations
        np.subtract(B, D * KDZ + alpha * Z, out=R)
        worst = _worst(R, goal)
        if worst <= 1.0:
            status = Status.SOLVED
        elif status is Status.SOLVED and worst > LEAST_GAIN * before:
            status = Status.STALLED
        elif status is Status.SOLVED:
            before = worst
            continue
        return Z, KDZ, status, iterations


def _worst(R: np.ndarray, goal: np.ndarray) -> float:
    """The largest residual over its goal, which is zero for a target of zeros."""
    norms = np.linalg.norm(R, axis=0)
    ratios = np.where(norms > 0, np.inf, 0.0)
    return float(np.max(np.divide(norms, goal, out=ratios, where=goal > 0), initial=0.0))


def _descend(
    apply: Callable[[np.ndarray], np.ndarray | None],
    precondition: Precondition,
    Z: np.ndarray,
    R: np.ndarray,
    alpha: np.ndarray,
    goal: np.ndarray,
    tol: float,
    max_iter: int,
    control: Control,
) -> tuple[Status, int]:
    """Iterate on Z and its residual R in place until R is small; status and iterations."""
    active = np.linalg.norm(R, axis=0) > goal
    W = precondition(R, alpha)
    P = W.copy()
    slope = np.einsum("ij,ij->j", R, W)
    for steps in range(max_iter):
        if not active.any():
            return Status.SOLVED, steps
        AP = apply(P)
        if AP is None:
            return control.stopped or Status.STOPPED, steps
        curvature = np.einsum("ij,ij->j", P, AP)
        if (curvature[active] <= 0).any():
            return Status.NOT_PSD, steps
        step = np.divide(slope, curvature, out=np.zeros_like(slope), where=active)
        Z += step * P
        R -= step * AP
        active &= np.linalg.norm(R, axis=0) > goal
        control.report(Progress(control.seconds, steps + 1, steps + 1, _worst(R, goal) * tol, tol))
        W = precondition(R, alpha)
        slope, before = np.einsum("ij,ij->j", R, W), slope
        P *= np.divide(slope, before, out=np.zeros_like(slope), where=before > 0)
        P += W
    return (Status.ITERATION_LIMIT if active.any() else Status.SOLVED), max_iter
