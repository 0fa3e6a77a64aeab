"""Solves (K + αS⁻¹) c = y: directly, by conjugate gradients, or for many α at once.

============  =====================================================================
``cholesky``  factorises K + αS⁻¹ in place: one n × n array (`_dense_algebra`)
``cg``        preconditioned conjugate gradients on half of K (`_kernel_system`)
``eigen``     D K D = V Λ Vᵀ: any α, exact leave-one-out errors, singular systems
``auto``      cholesky for small n; cg from there on, and cholesky if that takes long
============  =====================================================================

With D = diag(√s) of the sample weights, conjugate gradients solve (D K D + αI) z = D y; c = D z.

A run that is stopped keeps its last iterate: of conjugate gradients z, of a factorisation the
solution of the leading rows' system, the other coefficients being zero; before that, the solution
of a sample of the rows. In each case f = Kc comes with a bound on its error, from which
`mercer.certificates._residuals` states the residual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from mercer._precision import EPS
from mercer._result import Status
from mercer._threads import single_threaded_blas
from mercer.certificates._residuals import RidgeSolution
from mercer.gram import BlockedGram, SymmetricGram
from mercer.gram._bounded_products import bounded_columns, bounded_product, gram_error, sum_terms
from mercer.gram._low_rank import random_landmarks
from mercer.gram._machine import memory_bytes
from mercer.problems import Ridge
from mercer.solvers import _dense_algebra as dense
from mercer.solvers._kernel_system import (
    KernelSystem,
    KernelSystemSolver,
    NystromPreconditioner,
)
from mercer.solvers._stopping import Stopping

__all__ = ["Eigensystem", "RidgeSettings", "RidgeSolver"]


@dataclass(frozen=True)
class RidgeSettings:
    """Tuning constants of `RidgeSolver`."""

    # Up to this number of rows a factorisation costs less than preconditioner and iterations.
    direct_rows: int = 2000
    # Limits on the landmarks of the preconditioner, n/20.
    min_landmarks: int = 100
    max_landmarks: int = 1000
    # n over this number of iterations cost about as much as a Cholesky factorisation, to which
    # "auto" then changes if the matrix takes at most ``max_matrix_bytes``.
    iterations_per_factorisation: int = 60
    max_matrix_bytes: int = 4 << 30
    # Arrays of the size of K that an eigendecomposition holds at once: K, and its vectors.
    eigen_copies: int = 2
    # The default relative residual.
    default_tol: float = 1e-6
    # The relative residual that iterations aim at with the default tolerance, about that of a
    # factorisation.
    finest: float = 1e-12
    # With a larger tolerance they aim at this fraction of it, since bounds on the rounding are
    # added to the residual.
    aim: float = 0.25
    # Iterations restart from the recomputed residual as long as that falls by this factor.
    restart_gain: float = 0.5
    # Rows whose system is solved where there is no time for another: some milliseconds.
    sample_rows: int = 256
    # Rows of the sample on which leave-one-out errors are computed at any time limit.
    min_loo_rows: int = 200

    def landmarks(self, n: int) -> int:
        return min(n, max(self.min_landmarks, min(n // 20, self.max_landmarks)))

    def iteration_tol(self, tol: float) -> float:
        """The relative residual that iterations aim at."""
        if tol > self.default_tol:
            return self.aim * tol
        return max(tol * self.finest / self.default_tol, self.finest / 10)


DEFAULTS = RidgeSettings()


@dataclass(frozen=True)
class RidgeSolver:
    """Solves until ‖residual‖ ≤ tol ‖y‖."""

    solver: str = "auto"  # or "cholesky", "cg", "eigen"
    tol: float = RidgeSettings.default_tol
    max_iter: int = -1  # of conjugate gradients; −1 for no limit but 10 n
    cache_bytes: int = 1000 << 20  # memory for tiles of K
    settings: RidgeSettings = DEFAULTS

    def solve(self, problem: Ridge, gram: BlockedGram, stopping: Stopping) -> RidgeSolution:
        """The coefficients of all targets."""
        with single_threaded_blas():
            return self._solve(problem, gram, stopping)

    def _solve(self, problem: Ridge, gram: BlockedGram, stopping: Stopping) -> RidgeSolution:
        self._check_memory(gram)
        if self.solver == "eigen":
            return self._decompose(problem, gram, None, stopping)
        if self.solver == "cg" or (self.solver == "auto" and gram.n > self.settings.direct_rows):
            solution = self._iterate(problem, gram, stopping)
            failed = solution.status in (Status.NOT_PSD, Status.ITERATION_LIMIT, Status.STALLED)
            if self.solver == "cg" or not failed or not self._fits(gram):
                return solution
            # A factorisation takes about a tenth of an eigendecomposition.
            if dense.eigen_seconds(gram.n) / 10 > stopping.remaining:
                return solution
        return self._factorise(problem, gram, stopping)

    def _check_memory(self, gram: BlockedGram) -> None:
        """Refuse a matrix that is larger than the memory of this computer."""
        if self.solver not in ("cholesky", "eigen"):
            return
        copies = self.settings.eigen_copies if self.solver == "eigen" else 1
        need, memory = 8 * copies * gram.n**2, memory_bytes()
        if need > memory:
            raise ValueError(
                f"solver={self.solver!r} holds the whole kernel matrix: {need / 1e9:.3g} GB for "
                f"{gram.n:,} rows, of {memory / 1e9:.3g} GB of memory. Use solver='cg', which does "
                "not hold it, or fewer rows."
            )

    def _fits(self, gram: BlockedGram) -> bool:
        return 8 * gram.n**2 <= self.settings.max_matrix_bytes

    def _iterate(self, problem: Ridge, gram: BlockedGram, stopping: Stopping) -> RidgeSolution:
        settings, scale, n = self.settings, problem.scale, gram.n
        B = scale[:, np.newaxis] * problem.Y
        limit = self.max_iter if self.max_iter >= 0 else 10 * n
        if self.solver == "auto" and self._fits(gram):
            limit = min(limit, n // settings.iterations_per_factorisation)
        landmarks = settings.landmarks(n)
        precondition = NystromPreconditioner(gram, scale, landmarks, stopping.is_stopped)
        if not precondition.is_complete:
            return self._sample(problem, gram, stopping.stopped or Status.STOPPED, "cg")
        product = SymmetricGram(gram, self.cache_bytes, stopping.is_stopped)
        system = KernelSystem.of(product, scale, problem.alpha)
        run = KernelSystemSolver(system, B, settings.iteration_tol(self.tol), stopping)
        end = run.run(precondition, limit, settings.restart_gain)
        if end.iterations == 0 and stopping.stopped is not None:
            return self._sample(problem, gram, stopping.stopped, "cg")
        allowed = settings.aim * self.tol * np.linalg.norm(B, axis=0)
        if end.status.is_solved and (end.error > allowed).any():
            checked = bounded_product(gram, end.coef, stopping.is_stopped)
            if checked is not None:  # fewer roundings, a smaller bound
                return replace(end, f=checked[0], error=problem.norms(checked[1]))
        return end

    def _sample(
        self, problem: Ridge, gram: BlockedGram, status: Status, solver: str
    ) -> RidgeSolution:
        """The solution of a sample of the rows, zero elsewhere, where there is no time for more."""
        chosen = random_landmarks(gram.n, self.settings.sample_rows)
        weight = None if problem.weight is None else problem.weight[chosen]
        part = Ridge(problem.Y[chosen], problem.alpha, weight)
        values = Eigensystem(gram.take(chosen), part.scale).coefficients(part)
        coef = np.zeros_like(problem.Y)
        coef[chosen] = values
        f, error = bounded_columns(gram, chosen, values)
        return RidgeSolution(coef, f, problem.norms(error), status, solver)

    def _factorise(self, problem: Ridge, gram: BlockedGram, stopping: Stopping) -> RidgeSolution:
        """One factorisation for each different α, in the lower triangle of K."""
        A = dense.kernel_matrix(gram, stopping.is_stopped)
        if A is None:
            return self._sample(problem, gram, stopping.stopped or Status.STOPPED, "cholesky")
        diagonal = A.diagonal().copy()
        coef = np.zeros_like(problem.Y)
        shift = 1.0 if problem.weight is None else 1 / problem.weight
        for number, alpha in enumerate(np.unique(problem.alpha)):
            which = np.flatnonzero(problem.alpha == alpha)
            if number:
                dense.restore(A, diagonal)
            A.flat[:: gram.n + 1] = diagonal + alpha * shift
            rows, is_definite = dense.cholesky(A, gram.workers, stopping.is_stopped)
            if not is_definite and stopping.stopped is None:
                dense.restore(A, diagonal)
                return self._decompose(problem, gram, A, stopping)
            coef[:rows, which] = dense.cholesky_solve(A, problem.Y[:rows, which], gram.workers)
            if stopping.stopped is not None:
                break
        f, error = _upper_sums(A, diagonal, gram, coef)
        status = stopping.stopped or Status.SOLVED
        return RidgeSolution(coef, f, problem.norms(error), status, "cholesky")

    def _decompose(
        self, problem: Ridge, gram: BlockedGram, A: np.ndarray | None, stopping: Stopping
    ) -> RidgeSolution:
        """By an eigendecomposition, if there is time for it; A is K, if it is known."""
        if dense.eigen_seconds(gram.n) > stopping.remaining or stopping.stopped is not None:
            return self._sample(problem, gram, stopping.stopped or Status.TIME_LIMIT, "eigen")
        return Eigensystem(gram, problem.scale, A).solve(problem, gram)


def _upper_sums(
    A: np.ndarray, diagonal: np.ndarray, gram: BlockedGram, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """K V and a bound on the error of each entry, by the values in the upper triangle of A."""
    errors, size, m = gram_error(gram), np.abs(V), V.shape[1]
    W = np.hstack([size, errors.near[:, np.newaxis] * size])
    if errors.is_nonnegative:
        both = dense.upper_product(A, diagonal, np.hstack([V, W]), gram.workers)
        KV, sums = both[:, :m], both[:, m:]
    else:
        KV = dense.upper_product(A, diagonal, V, gram.workers)
        sums = dense.upper_product(A, diagonal, W, gram.workers, absolute=True)
    return KV, errors.of_sums(V, sums[:, :m], sums[:, m:], sum_terms(gram.n))


def _product(gram: BlockedGram, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K V and a bound on the error of each entry."""
    found = bounded_product(gram, V)
    assert found is not None  # nothing stops it
    return found


class Eigensystem:
    """D K D = V Λ Vᵀ: solutions for every α, and their leave-one-out errors.

    ``A`` is K, if it is known; it is overwritten.
    """

    def __init__(self, gram: BlockedGram, scale: np.ndarray, A: np.ndarray | None = None):
        self.scale = scale[:, np.newaxis]
        if A is None:
            A = gram.matrix()
        A *= scale
        A *= self.scale
        driver = "evd" if len(A) > 1 else None  # SciPy before 1.13 gives evd no memory for n = 1
        self.values, self.vectors = linalg.eigh(
            A.T, driver=driver, overwrite_a=True, check_finite=False
        )

    def solve(self, problem: Ridge, gram: BlockedGram) -> RidgeSolution:
        """Least squares of least norm where K + αS⁻¹ is singular."""
        coef = self.coefficients(problem)
        f, error = _product(gram, coef)
        least, largest = self.values[0], np.abs(self.values).max()
        bad = least < -self.values.size * EPS * largest
        status = Status.NOT_PSD if bad and gram.is_psd is not True else Status.SOLVED
        gradient = self._gradient(problem, coef, f, error, gram)
        return RidgeSolution(coef, f, problem.norms(error), status, "eigen", gradient=gradient)

    def coefficients(self, problem: Ridge) -> np.ndarray:
        rotated = self.vectors.T @ (self.scale * problem.Y)
        return self.scale * (self.vectors @ (self._inverse(problem.alpha) * rotated))

    def _gradient(
        self, problem: Ridge, coef: np.ndarray, f: np.ndarray, error: np.ndarray, gram: BlockedGram
    ) -> np.ndarray | None:
        """‖DK S r‖ over ‖DKD‖ ‖Dy‖ with its rounding, of targets with α = 0; None without any."""
        if (problem.alpha > 0).all():
            return None
        product, lost = _product(gram, self.scale**2 * problem.residual(coef, f))
        largest = float(np.abs(self.values).max(initial=0.0))
        # An error e of f is one of at most ‖DKD‖ ‖De‖ here.
        norms = problem.norms(product) + problem.norms(lost) + largest * problem.norms(error)
        sizes = largest * problem.norms(problem.Y)
        ratios = np.divide(norms, sizes, out=np.zeros_like(norms), where=sizes > 0)
        return np.where(problem.alpha > 0, np.inf, ratios)

    def leave_one_out(self, Y: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Mean squared error at each point of the model fitted without it: (n_alphas, m).

        With G = (DKD + αI)⁻¹ and z = GDy the error at point i is zᵢ / (√sᵢ Gᵢᵢ) (Golub, Heath and
        Wahba, Technometrics 1979, eq. 2.3, for weighted points). Samples count by their weight.
        """
        inverse = self._inverse(alphas)
        diagonal = np.square(self.vectors) @ inverse
        rotated = self.vectors.T @ (self.scale * Y)
        out = np.empty((alphas.size, Y.shape[1]))
        for a in range(alphas.size):
            Z = self.vectors @ (inverse[:, a, np.newaxis] * rotated)
            # (√s · error)², so that the sum is weighted.
            out[a] = np.square(Z / diagonal[:, a, np.newaxis]).sum(axis=0)
        return out / np.sum(self.scale**2)

    @property
    def _negligible(self) -> float:
        """λ + α up to this is zero but for rounding."""
        return self.values.size * EPS * float(np.abs(self.values).max(initial=0.0))

    def _inverse(self, alpha: np.ndarray) -> np.ndarray:
        """1 / (λ + α), zero where that is zero but for rounding: (n, len(alpha))."""
        shifted = self.values[:, np.newaxis] + alpha
        where = abs(shifted) > self._negligible
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=where)
