"""Preconditioned conjugate gradients for several right-hand sides, with products K V alone.

Solved is (D K D + αI) z = D y for each target, with D = diag(√s) of the sample weights; c = D z are
then the coefficients of kernel ridge regression. Targets share the products, and each has its α.

The preconditioner is a Nyström approximation from m random points (Frangella, Tropp and Udell,
"Randomized Nyström preconditioning", SIAM J. Matrix Anal. Appl. 2023, eq. 1.3): with the
approximation U Λ Uᵀ of D K D,

    M⁻¹ = I + U ((λ_m + α)(Λ + αI)⁻¹ − I) Uᵀ

makes the large eigenvalues all alike and leaves the rest as it is.

A run that is stopped has no time for another product. Then the residual is the one carried along,
and a bound on how far it can be from the true one: each step adds the error of its product, at most
step · ‖p‖ · ‖E‖ (`drift`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from mercer._result import Status
from mercer.gram import BlockedGram, SymmetricGram
from mercer.gram._blocked import pieces
from mercer.gram._bounded_products import gram_error, sum_terms
from mercer.gram._entry_error import EntryError, gamma
from mercer.solvers._stopping import Progress, Stopping

__all__ = ["Nystrom", "System", "conjugate_gradients"]

ROWS = 1024
_EPS = float(np.finfo(np.float64).eps)
# The recurrence of the residual drifts from the residual itself, which is computed anew at the end
# and iterated on from there, as long as a restart gains at least this factor.
LEAST_GAIN = 0.5
# The landmarks' matrix plus a multiple of the identity is factorised; where rounding prevents that
# the multiple grows by this factor, at most so many times.
SHIFT_GROWTH, MOST_SHIFTS = 100.0, 8
Precondition = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Nystrom:
    """The preconditioner of D K D + αI, from ``rank`` points; `is_complete` unless stopped."""

    def __init__(self, gram: BlockedGram, scale: np.ndarray, rank: int, stop: Callable[[], bool]):
        self.gram = gram
        self.cut = pieces(gram.n, ROWS)
        chosen = np.sort(np.random.default_rng(0).choice(gram.n, rank, replace=False))
        block = gram.sample_block(chosen, np.float64)
        core = gram.block(block, block)
        core *= scale[chosen] * scale[chosen, np.newaxis]
        L = _factor(core)
        self._F = np.empty((gram.n, rank))

        def fill(rows: slice) -> np.ndarray:
            F = self._F[rows]
            if stop():
                return np.zeros((rank, rank))
            gram.block(rows, block, np.float64, F)
            F *= scale[rows, np.newaxis]
            F[...] = linalg.solve_triangular(L, F.T, lower=True, check_finite=False).T
            return F.T @ F

        squares = sum(gram.workers.map(fill, self.cut))
        self.is_complete = not stop()
        if not self.is_complete:
            return
        values, vectors = linalg.eigh(squares, overwrite_a=True, check_finite=False)
        kept = values > _EPS * rank * values[-1]
        self._values = values[kept]
        self._turn = vectors[:, kept] / np.sqrt(self._values)

    def __call__(self, R: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """M⁻¹ R, one α for each column."""
        if self._values.size == 0:  # K of the landmarks is zero
            return R.copy()
        cut, F, workers = self.cut, self._F, self.gram.workers
        inner = self._turn.T @ sum(workers.map(lambda rows: F[rows].T @ R[rows], cut))
        lift = (self._values[0] + alpha) / (self._values[:, np.newaxis] + alpha) - 1.0
        inner = self._turn @ (lift * inner)
        out = np.empty_like(R)
        workers.map(lambda rows: np.add(R[rows], F[rows] @ inner, out=out[rows]), cut)
        return out


def _factor(core: np.ndarray) -> np.ndarray:
    """L with L Lᵀ = core + shift: any positive definite matrix preconditions."""
    shift = 2 * _EPS * len(core) * max(float(np.trace(core)), 1e-300)
    for attempt in range(MOST_SHIFTS):
        shifted = core.copy()
        shifted.flat[:: len(core) + 1] += shift * SHIFT_GROWTH**attempt
        try:
            return linalg.cholesky(shifted, lower=True, check_finite=False)
        except linalg.LinAlgError:
            continue
    raise linalg.LinAlgError("the landmarks' matrix is not positive semidefinite")


@dataclass(frozen=True, eq=False)
class System:
    """(D K D + αI) Z = B by its products, and what rounding does to them.

    Attributes
    ----------
    product : SymmetricGram
    scale, alpha : float64 arrays
        √s of each point, α of each target.
    errors : EntryError
    trace : float
        Σ s k(x, x) ≥ ‖D |K| D‖₂ of a positive semidefinite K.
    """

    product: SymmetricGram
    scale: np.ndarray
    alpha: np.ndarray
    errors: EntryError
    trace: float

    @staticmethod
    def of(product: SymmetricGram, scale: np.ndarray, alpha: np.ndarray) -> System:
        gram = product.gram
        trace = float(scale**2 @ np.abs(gram.diag())) * (1 + 1e-9)
        return System(product, scale, alpha, gram_error(gram), trace)

    def apply(self, V: np.ndarray) -> np.ndarray | None:
        D = self.scale[:, np.newaxis]
        KV = self.product(D * V)
        return None if KV is None else D * KV + self.alpha * V

    @cached_property
    def error_norm(self) -> float:
        """A bound on ‖E‖₂, E the errors of `apply` as a matrix."""
        errors, s = self.errors, self.scale**2
        rounding = errors.relative + 2 * float(errors.near.max(initial=0.0))
        rounding += gamma(sum_terms(len(s), False) + 8)
        found = rounding * self.trace + float(s @ errors.cross**2) + gamma(4) * self.alpha.max()
        return found + 2 * float(self.scale @ self.scale) ** 0.5 * float(
            np.linalg.norm(self.scale * errors.apart)
        )

    def checked(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """K V and a bound on the error of each entry; None if the product was given up."""
        size, m, near = np.abs(V), V.shape[1], self.errors.near[:, np.newaxis]
        if self.errors.is_nonnegative:
            both = self.product(np.hstack([V, size, near * size]))
            if both is None:
                return None
            KV, absolute, of_near = both[:, :m], both[:, m : 2 * m], both[:, 2 * m :]
        else:
            found = self.product(V)
            if found is None:
                return None
            b = np.sqrt(np.abs(self.product.gram.diag()))  # |k(x, z)|² ≤ k(x, x) k(z, z)
            KV, absolute = found, b[:, np.newaxis] * (b @ size)
            of_near = b[:, np.newaxis] * (b @ (near * size))
        return KV, self.errors.of_sums(V, absolute, of_near, sum_terms(len(V), False) + 8)


@dataclass(frozen=True, eq=False)
class Iterated:
    """Z, f = K D Z, a bound on ‖D(f̂ − f)‖ of each target, why it stopped, and iterations."""

    Z: np.ndarray
    f: np.ndarray
    error: np.ndarray
    status: Status
    iterations: int


def conjugate_gradients(
    system: System,
    B: np.ndarray,
    precondition: Precondition,
    tol: float,
    max_iter: int,
    stopping: Stopping,
) -> Iterated:
    """Solve (D K D + αI) Z = B by columns until ‖residual‖ ≤ tol ‖B‖."""
    D = system.scale[:, np.newaxis]
    goal = tol * np.linalg.norm(B, axis=0)
    Z, R, drift = np.zeros_like(B), B.copy(), np.zeros(B.shape[1])
    iterations, before = 0, np.inf
    while True:
        run = _Run(system, precondition, Z, R, drift, goal)
        with np.errstate(over="ignore", invalid="ignore"):
            status, steps = run.descend(tol, max_iter - iterations, stopping)
        iterations += steps
        found = system.checked(D * Z)
        if found is None:  # stopped: what the recurrence says
            f = (B - R - system.alpha * Z) / D
            return Iterated(Z, f, drift, stopping.stopped or status, iterations)
        KDZ, error = found
        np.subtract(B, D * KDZ + system.alpha * Z, out=R)
        drift[:] = np.linalg.norm(D * error, axis=0)
        worst = _worst(R, goal)
        if worst > 1.0 and status is Status.SOLVED and worst <= LEAST_GAIN * before:
            before = worst
            continue
        if worst > 1.0 and status is Status.SOLVED:
            status = Status.STALLED
        return Iterated(Z, KDZ, drift, status if worst > 1.0 else Status.SOLVED, iterations)


def _worst(R: np.ndarray, goal: np.ndarray) -> float:
    """The largest residual over its goal, which is zero for a target of zeros."""
    norms = np.linalg.norm(R, axis=0)
    ratios = np.where(norms > 0, np.inf, 0.0)
    return float(np.max(np.divide(norms, goal, out=ratios, where=goal > 0), initial=0.0))


@dataclass(eq=False)
class _Run:
    """Iterations on Z, its residual R and the bound on R's error, in place."""

    system: System
    precondition: Precondition
    Z: np.ndarray
    R: np.ndarray
    drift: np.ndarray
    goal: np.ndarray

    def descend(self, tol: float, max_iter: int, stopping: Stopping) -> tuple[Status, int]:
        """Until R is small; status and iterations."""
        R, goal, alpha = self.R, self.goal, self.system.alpha
        active = np.linalg.norm(R, axis=0) > goal
        W = self.precondition(R, alpha)
        P = W.copy()
        slope = np.einsum("ij,ij->j", R, W)
        for steps in range(max_iter):
            if not active.any():
                return Status.SOLVED, steps
            AP = self.system.apply(P)
            if AP is None:
                return stopping.stopped or Status.STOPPED, steps
            curvature = np.einsum("ij,ij->j", P, AP)
            if not (curvature[active] > 0).all():
                return self._no_curvature(P[:, active], curvature[active]), steps
            step = np.divide(slope, curvature, out=np.zeros_like(slope), where=active)
            if not np.isfinite(step).all():
                return Status.STALLED, steps
            self._move(step, P, AP)
            active &= np.linalg.norm(R, axis=0) > goal
            reached = _worst(R, goal) * tol
            stopping.report(Progress(stopping.seconds, steps + 1, steps + 1, reached, tol))
            W = self.precondition(R, alpha)
            slope, before = np.einsum("ij,ij->j", R, W), slope
            P *= np.divide(slope, before, out=np.zeros_like(slope), where=before > 0)
            P += W
        return (Status.ITERATION_LIMIT if active.any() else Status.SOLVED), max_iter

    def _move(self, step: np.ndarray, P: np.ndarray, AP: np.ndarray) -> None:
        system = self.system
        self.Z += step * P
        self.R -= step * AP
        size = system.trace + system.alpha
        lost = system.error_norm + 4 * _EPS * size
        self.drift += np.abs(step) * np.linalg.norm(P, axis=0) * lost
        self.drift += (
            2 * _EPS * (size * np.linalg.norm(self.Z, axis=0) + np.linalg.norm(self.R, axis=0))
        )

    def _no_curvature(self, P: np.ndarray, curvature: np.ndarray) -> Status:
        """Why: rounding of a positive semidefinite K, or a direction of negative curvature."""
        lost = self.system.error_norm * np.einsum("ij,ij->j", P, P)
        return Status.NOT_PSD if (curvature < -lost).any() else Status.STALLED
