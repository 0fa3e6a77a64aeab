"""Systems (K + D) c = t by conjugate gradients, with a bound on the error of their residual.

`NystromPreconditioner` approximates D K D + αI from m landmarks (Frangella, Tropp and Udell,
"Randomized Nyström preconditioning", SIAM J. Matrix Anal. Appl. 2023, eq. 1.3): with the
approximation U Λ Uᵀ of D K D,

    M⁻¹ = I + U ((λ_m + α)(Λ + αI)⁻¹ − I) Uᵀ

makes the large eigenvalues equal and leaves the others unchanged.

`KernelSystemSolver` solves such systems with a bound on the error of the residual that it states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from mercer._precision import EPS
from mercer._result import Status
from mercer.certificates._residuals import RidgeSolution
from mercer.gram import BlockedGram, SymmetricGram
from mercer.gram._bounded_products import gram_error, sum_terms
from mercer.gram._entry_error import EntryError, gamma
from mercer.gram._low_rank import nystrom_factor, random_landmarks
from mercer.gram._machine import MACHINE, pieces
from mercer.solvers._conjugate_gradient import Iterates, conjugate_gradient_columns
from mercer.solvers._stopping import Progress, Stopping

__all__ = ["KernelSystem", "KernelSystemSolver", "NystromPreconditioner"]


class NystromPreconditioner:
    """M⁻¹ of D K D + αI, from ``rank`` random landmarks; `is_complete` unless stopped."""

    def __init__(self, gram: BlockedGram, scale: np.ndarray, rank: int, stop: Callable[[], bool]):
        self._workers, self._cut = gram.workers, pieces(gram.n, MACHINE.tile_rows)
        factor = nystrom_factor(gram, random_landmarks(gram.n, rank), stop=stop)
        self.is_complete = factor is not None
        if factor is None:
            return
        self._F = factor.F
        self._F *= scale[:, np.newaxis]
        F = self._F
        squares = sum(self._workers.map(lambda rows: F[rows].T @ F[rows], self._cut))
        values, vectors = np.zeros(0), squares
        if squares.size:  # SciPy below 1.13 refuses an empty one
            values, vectors = linalg.eigh(squares, check_finite=False)
        kept = values > EPS * rank * max(float(values.max(initial=0.0)), 0.0)
        self._values = values[kept]
        self._rotation = vectors[:, kept] / np.sqrt(self._values)

    def __call__(self, R: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """M⁻¹ R, one α for each column."""
        if self._values.size == 0:  # K of the landmarks is zero
            return R.copy()
        cut, F, workers = self._cut, self._F, self._workers
        inner = self._rotation.T @ sum(workers.map(lambda rows: F[rows].T @ R[rows], cut))
        factor = (self._values[0] + alpha) / (self._values[:, np.newaxis] + alpha) - 1.0
        inner = self._rotation @ (factor * inner)
        out = np.empty_like(R)
        workers.map(lambda rows: np.add(R[rows], F[rows] @ inner, out=out[rows]), cut)
        return out


@dataclass(frozen=True, eq=False)
class KernelSystem:
    """(D K D + αI) Z = B by its products, and what rounding does to them."""

    product: SymmetricGram
    scale: np.ndarray  # √s of each point
    alpha: np.ndarray  # of each target
    errors: EntryError
    trace: float  # Σ s k(x, x) ≥ ‖D |K| D‖₂ of a positive semidefinite K

    @staticmethod
    def of(product: SymmetricGram, scale: np.ndarray, alpha: np.ndarray) -> KernelSystem:
        gram = product.gram
        trace = float(scale**2 @ np.abs(gram.diag())) * (1 + 1e-9)
        return KernelSystem(product, scale, alpha, gram_error(gram), trace)

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
        bound = rounding * self.trace + float(s @ errors.cross**2) + gamma(4) * self.alpha.max()
        apart = float(np.linalg.norm(self.scale * errors.apart))
        return bound + 2 * float(self.scale @ self.scale) ** 0.5 * apart

    def step_error(self, now: Iterates) -> np.ndarray:
        """What a step adds to the error of the residual of the recurrence, as a bound.

        The error of its product is at most step · ‖p‖ · ‖E‖.
        """
        size = self.trace + self.alpha
        added = np.abs(now.step) * np.linalg.norm(now.P, axis=0)
        added *= self.error_norm + 4 * EPS * size
        norms = size * np.linalg.norm(now.X, axis=0) + np.linalg.norm(now.R, axis=0)
        return added + 2 * EPS * norms

    def checked(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """K V and a bound on the error of each entry; None if the product was stopped."""
        size, m, near = np.abs(V), V.shape[1], self.errors.near[:, np.newaxis]
        if self.errors.is_nonnegative:
            both = self.product(np.hstack([V, size, near * size]))
            if both is None:
                return None
            KV, absolute, of_near = both[:, :m], both[:, m : 2 * m], both[:, 2 * m :]
        else:
            product = self.product(V)
            if product is None:
                return None
            b = np.sqrt(np.abs(self.product.gram.diag()))  # |k(x, z)|² ≤ k(x, x) k(z, z)
            KV, absolute = product, b[:, np.newaxis] * (b @ size)
            of_near = b[:, np.newaxis] * (b @ (near * size))
        return KV, self.errors.of_sums(V, absolute, of_near, sum_terms(len(V), False) + 8)


class KernelSystemSolver:
    """Conjugate gradients on a `KernelSystem`, restarted from the recomputed residual.

    The residual of the recurrence drifts from the true one. A run that is stopped has no time for
    another product: then its residual is the recurrence's, with the bound ``drift`` on its error.
    """

    def __init__(self, system: KernelSystem, B: np.ndarray, tol: float, stopping: Stopping):
        self.system, self.B, self.tol, self.stopping = system, B, tol, stopping
        self.goal = tol * np.linalg.norm(B, axis=0)
        self.drift = np.zeros(B.shape[1])
        self.iterations = 0

    def run(
        self, precondition: NystromPreconditioner, max_iter: int, restart_gain: float
    ) -> RidgeSolution:
        """Until ‖residual‖ ≤ tol ‖B‖ of every column."""
        system, B, stopping = self.system, self.B, self.stopping
        D, Z, R = system.scale[:, np.newaxis], np.zeros_like(B), B.copy()
        before = np.inf
        while True:
            with np.errstate(over="ignore", invalid="ignore"):
                now = conjugate_gradient_columns(
                    system.apply,
                    R,
                    X=Z,
                    precondition=lambda V: precondition(V, system.alpha),
                    is_active=self._is_active,
                    max_iter=max_iter - self.iterations,
                    after_step=self._after_step,
                )
            self.iterations += now.iterations
            status, product = self._status(now), system.checked(D * Z)
            if product is None:
                f = (B - R - system.alpha * Z) / D
                status = stopping.stopped or status
                return RidgeSolution(D * Z, f, self.drift, status, "cg", self.iterations)
            KDZ, error = product
            np.subtract(B, D * KDZ + system.alpha * Z, out=R)
            self.drift = np.linalg.norm(D * error, axis=0)
            worst = self._worst(R)
            if worst <= 1.0:
                status = Status.SOLVED
            elif status is Status.SOLVED and worst <= restart_gain * before:
                before = worst
                continue
            elif status is Status.SOLVED:
                status = Status.STALLED
            return RidgeSolution(D * Z, KDZ, self.drift, status, "cg", self.iterations)

    def _is_active(self, now: Iterates) -> np.ndarray:
        """A column that failed ends all of them."""
        return (np.linalg.norm(now.R, axis=0) > self.goal) & ~now.failed.any()

    def _after_step(self, now: Iterates) -> None:
        self.drift = self.drift + self.system.step_error(now)
        done, reached = self.iterations + now.iterations, self._worst(now.R) * self.tol
        self.stopping.report(Progress(self.stopping.seconds, done, done, reached, self.tol))

    def _status(self, now: Iterates) -> Status:
        if now.is_interrupted:
            return self.stopping.stopped or Status.STOPPED
        if now.failed.any():  # rounding of a positive semidefinite K, or negative curvature
            is_negative = now.rayleigh < -self.system.error_norm
            return Status.NOT_PSD if is_negative.any() else Status.STALLED
        return Status.ITERATION_LIMIT if self._is_active(now).any() else Status.SOLVED

    def _worst(self, R: np.ndarray) -> float:
        """The largest residual over its goal, which is zero for a target of zeros."""
        norms = np.linalg.norm(R, axis=0)
        ratios = np.where(norms > 0, np.inf, 0.0)
        np.divide(norms, self.goal, out=ratios, where=self.goal > 0)
        return float(ratios.max(initial=0.0))
