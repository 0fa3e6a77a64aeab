"""Solves (K + αS⁻¹) c = y: directly, by conjugate gradients, or for many α at once.

============  =====================================================================
``cholesky``  factorises K + αS⁻¹ in place: one n × n array
``cg``        preconditioned conjugate gradients on half of K (`solvers/cg.py`)
``eigen``     D K D = V Λ Vᵀ: any α, exact leave-one-out errors, singular systems
``auto``      cholesky for small n; cg from there on, and cholesky if that takes long
============  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer._threads import single_threaded_blas
from mercer.gram import Gram, SymmetricProduct
from mercer.problems import Ridge
from mercer.result import Status
from mercer.solvers.cg import Nystrom, conjugate_gradients
from mercer.solvers.control import Control

__all__ = ["RidgeAnswer", "RidgeSolver", "Spectrum"]

# Up to so many points a factorisation takes less than the preconditioner and the iterations.
DIRECT = 2000
# Points of the preconditioner: a twentieth of all, within these bounds.
FEWEST_POINTS, MOST_POINTS = 100, 1000
# n/60 iterations of conjugate gradients take about as long as a Cholesky factorisation, which
# "auto" then turns to if the matrix takes no more memory than this.
ITERATIONS_WORTH = 60
CHOLESKY_BYTES = 4 << 30
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class RidgeAnswer:
    """Coefficients and f = K coef (n × m, float64), and how they were found."""

    coef: np.ndarray
    f: np.ndarray
    status: Status
    solver: str
    iterations: int = 0


@dataclass(frozen=True)
class RidgeSolver:
    """Settings: which way, until ‖residual‖ ≤ tol ‖y‖, with so many bytes for tiles of K."""

    solver: str = "auto"
    tol: float = 1e-12
    max_iter: int = -1
    cache_bytes: int = 1000 << 20

    def solve(self, problem: Ridge, gram: Gram, control: Control) -> RidgeAnswer:
        """The coefficients of all targets."""
        if self.solver == "eigen":
            return Spectrum(gram, problem.scale).solve(problem)
        if self.solver == "cg" or (self.solver == "auto" and gram.n > DIRECT):
            with single_threaded_blas():
                answer = self._iterate(problem, gram, control)
            failed = answer.status in (Status.NOT_PSD, Status.ITERATION_LIMIT, Status.STALLED)
            if self.solver == "cg" or not failed or 8 * gram.n**2 > CHOLESKY_BYTES:
                return answer
        return self._factorise(problem, gram)

    def _iterate(self, problem: Ridge, gram: Gram, control: Control) -> RidgeAnswer:
        product = SymmetricProduct(gram, self.cache_bytes, lambda: control.stopped is not None)
        rank = min(gram.n, max(FEWEST_POINTS, min(gram.n // 20, MOST_POINTS)))
        limit = self.max_iter if self.max_iter >= 0 else 10 * gram.n
        if self.solver == "auto" and 8 * gram.n**2 <= CHOLESKY_BYTES:
            limit = min(limit, gram.n // ITERATIONS_WORTH)
        scale = problem.scale
        D = scale[:, np.newaxis]
        try:
            precondition = Nystrom(gram, scale, rank)
        except linalg.LinAlgError:
            nothing = np.zeros_like(problem.Y)
            return RidgeAnswer(nothing, nothing, Status.NOT_PSD, "cg")
        Z, KDZ, status, iterations = conjugate_gradients(
            product, scale, D * problem.Y, problem.alpha, precondition, self.tol, limit, control
        )
        return RidgeAnswer(D * Z, KDZ, status, "cg", iterations)

    def _factorise(self, problem: Ridge, gram: Gram) -> RidgeAnswer:
        """One factorisation for each different α; the matrix is computed anew for each."""
        coef = np.empty_like(problem.Y)
        shift = 1.0 if problem.weight is None else 1 / problem.weight
        for alpha in np.unique(problem.alpha):
            which = problem.alpha == alpha
            with single_threaded_blas():  # the factorisation then has all of BLAS's threads
                A = gram.matrix()
            A.flat[:: gram.n + 1] += alpha * shift
            try:
                # The transpose of a symmetric matrix is itself, in the order LAPACK works in place.
                factor = linalg.cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                del A
                return Spectrum(gram, problem.scale).solve(problem)
            coef[:, which] = linalg.cho_solve(factor, problem.Y[:, which], check_finite=False)
            del A, factor
        # Half of K afresh, without keeping it, tells how good that is.
        with single_threaded_blas():
            f = SymmetricProduct(gram, 0)(coef)
        assert f is not None
        return RidgeAnswer(coef, f, Status.SOLVED, "cholesky")


class Spectrum:
    """D K D = V Λ Vᵀ: solutions for every α, and their leave-one-out errors."""

    def __init__(self, gram: Gram, scale: np.ndarray):
        self.scale = scale[:, np.newaxis]
        with single_threaded_blas():
            A = gram.matrix()
        A *= scale
        A *= self.scale
        self.values, self.vectors = linalg.eigh(
            A.T, driver="evd", overwrite_a=True, check_finite=False
        )

    def solve(self, problem: Ridge) -> RidgeAnswer:
        """Least squares of least norm where K + αS⁻¹ is singular."""
        inverse = self._inverse(problem.alpha)
        turned = self.vectors.T @ (self.scale * problem.Y)
        Z = self.vectors @ (inverse * turned)
        f = self.vectors @ (self.values[:, np.newaxis] * inverse * turned) / self.scale
        least, largest = self.values[0], np.abs(self.values).max()
        bad = least < -self.values.size * _EPS * largest
        return RidgeAnswer(self.scale * Z, f, Status.NOT_PSD if bad else Status.SOLVED, "eigen")

    def leave_one_out(self, Y: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Mean squared error at each point of the model fitted without it: (n_alphas, m).

        With G = (DKD + αI)⁻¹ and z = GDy the error at point i is zᵢ / (√sᵢ Gᵢᵢ) (Golub, Heath and
        Wahba, Technometrics 1979, eq. 2.3, for weighted points). Points count by their weight.
        """
        inverse = self._inverse(alphas)
        diagonal = np.square(self.vectors) @ inverse
        turned = self.vectors.T @ (self.scale * Y)
        out = np.empty((alphas.size, Y.shape[1]))
        for a in range(alphas.size):
            Z = self.vectors @ (inverse[:, a, np.newaxis] * turned)
            # (√s · error)², so that the sum is weighted.
            out[a] = np.square(Z / diagonal[:, a, np.newaxis]).sum(axis=0)
        return out / np.sum(self.scale**2)

    def _inverse(self, alpha: np.ndarray) -> np.ndarray:
        """1 / (λ + α), zero where that is zero but for rounding: (n, len(alpha))."""
        shifted = self.values[:, np.newaxis] + alpha
        negligible = self.values.size * _EPS * np.abs(self.values).max(initial=0.0)
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=abs(shifted) > negligible)
