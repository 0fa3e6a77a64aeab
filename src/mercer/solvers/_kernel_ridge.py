"""Solves (K + αS⁻¹) c = y: directly, by conjugate gradients, or for many α at once.

============  =====================================================================
``cholesky``  factorises K + αS⁻¹ in place: one n × n array (`solvers/dense.py`)
``cg``        preconditioned conjugate gradients on half of K (`solvers/cg.py`)
``eigen``     D K D = V Λ Vᵀ: any α, exact leave-one-out errors, singular systems
``auto``      cholesky for small n; cg from there on, and cholesky if that takes long
============  =====================================================================

A run that is stopped keeps what it has: conjugate gradients their last iterate, a factorisation the
solution of the leading rows' system, the other coefficients being zero; before that, the solution
of a sample of the rows. In each case f = Kc comes with a bound on its error, from which
`mercer.certificates._residuals` states the residual.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer._result import Status
from mercer._threads import single_threaded_blas
from mercer.certificates._residuals import RidgeAnswer
from mercer.gram import BlockedGram, SymmetricGram
from mercer.gram._bounded_products import bounded_columns, bounded_product, gram_error, sum_terms
from mercer.problems import Ridge
from mercer.solvers import _dense_algebra as dense
from mercer.solvers._conjugate_gradient import Nystrom, System, conjugate_gradients
from mercer.solvers._stopping import Stopping

__all__ = ["RidgeAnswer", "RidgeSolver", "Spectrum"]

# Up to so many points a factorisation takes less than the preconditioner and the iterations.
DIRECT = 2000
# Samples of the preconditioner: a twentieth of all, within these bounds.
FEWEST_POINTS, MOST_POINTS = 100, 1000
# n/60 iterations of conjugate gradients take about as long as a Cholesky factorisation, which
# "auto" then turns to if the matrix takes no more memory than this.
ITERATIONS_WORTH = 60
CHOLESKY_BYTES = 4 << 30
# Iterations aim below the tolerance, since rounding is added to the residual that they reach: with
# the default tolerance at what a factorisation reaches, else at this share of it.
DEFAULT_TOL, FINEST, AIM = 1e-6, 1e-12, 0.25
# Rows whose system is solved where there is time for no other: some milliseconds.
SAMPLED_ROWS = 256
_EPS = float(np.finfo(np.float64).eps)


def _some_rows(problem: Ridge, gram: BlockedGram, status: Status, solver: str) -> RidgeAnswer:
    """The solution of a sample of the rows, zero elsewhere: what there always is time for."""
    m = min(gram.n, SAMPLED_ROWS)
    chosen = np.sort(np.random.default_rng(0).choice(gram.n, m, replace=False))
    weight = None if problem.weight is None else problem.weight[chosen]
    part = Ridge(problem.Y[chosen], problem.alpha, weight)
    some = Spectrum(gram.take(chosen), part.scale).coefficients(part)
    coef = np.zeros_like(problem.Y)
    coef[chosen] = some
    f, error = bounded_columns(gram, chosen, some)
    error = np.linalg.norm(problem.scale[:, np.newaxis] * error, axis=0)
    return RidgeAnswer(coef, f, error, status, solver)


@dataclass(frozen=True)
class RidgeSolver:
    """Settings: which way, until ‖residual‖ ≤ tol ‖y‖, with so many bytes for tiles of K."""

    solver: str = "auto"
    tol: float = DEFAULT_TOL
    max_iter: int = -1
    cache_bytes: int = 1000 << 20

    def solve(self, problem: Ridge, gram: BlockedGram, stopping: Stopping) -> RidgeAnswer:
        """The coefficients of all targets."""
        with single_threaded_blas():
            return self._solve(problem, gram, stopping)

    def _solve(self, problem: Ridge, gram: BlockedGram, stopping: Stopping) -> RidgeAnswer:
        if self.solver == "eigen":
            return _decompose(problem, gram, None, stopping)
        if self.solver == "cg" or (self.solver == "auto" and gram.n > DIRECT):
            answer = self._iterate(problem, gram, stopping)
            failed = answer.status in (Status.NOT_PSD, Status.ITERATION_LIMIT, Status.STALLED)
            if self.solver == "cg" or not failed or 8 * gram.n**2 > CHOLESKY_BYTES:
                return answer
            if self._factor_seconds(gram) > stopping.remaining:
                return answer
        return _factorise(problem, gram, stopping)

    @staticmethod
    def _factor_seconds(gram: BlockedGram) -> float:
        """A factorisation takes about a tenth of an eigendecomposition."""
        return dense.eigen_seconds(gram.n) / 10

    @property
    def _aim(self) -> float:
        if self.tol > DEFAULT_TOL:
            return AIM * self.tol
        return max(self.tol * FINEST / DEFAULT_TOL, FINEST / 10)

    def _iterate(self, problem: Ridge, gram: BlockedGram, stopping: Stopping) -> RidgeAnswer:
        product = SymmetricGram(gram, self.cache_bytes, stopping.is_stopped)
        rank = min(gram.n, max(FEWEST_POINTS, min(gram.n // 20, MOST_POINTS)))
        limit = self.max_iter if self.max_iter >= 0 else 10 * gram.n
        if self.solver == "auto" and 8 * gram.n**2 <= CHOLESKY_BYTES:
            limit = min(limit, gram.n // ITERATIONS_WORTH)
        scale = problem.scale
        D = scale[:, np.newaxis]
        try:
            precondition = Nystrom(gram, scale, rank, stopping.is_stopped)
        except linalg.LinAlgError:
            return _some_rows(problem, gram, Status.NOT_PSD, "cg")
        if not precondition.is_complete:
            return _some_rows(problem, gram, stopping.stopped or Status.STOPPED, "cg")
        system = System.of(product, scale, problem.alpha)
        B = D * problem.Y
        found = conjugate_gradients(system, B, precondition, self._aim, limit, stopping)
        f, error = found.f, found.error
        if found.iterations == 0 and stopping.stopped is not None:
            return _some_rows(problem, gram, stopping.stopped, "cg")
        if found.status.is_solved and (error > AIM * self.tol * np.linalg.norm(B, axis=0)).any():
            checked = bounded_product(gram, D * found.Z, stopping.is_stopped)
            if checked is not None:  # fewer roundings, a smaller bound
                f, error = checked[0], np.linalg.norm(D * checked[1], axis=0)
        return RidgeAnswer(D * found.Z, f, error, found.status, "cg", found.iterations)


def _factorise(problem: Ridge, gram: BlockedGram, stopping: Stopping) -> RidgeAnswer:
    """One factorisation for each different α, in the lower triangle of K."""
    A = dense.kernel_matrix(gram, stopping.is_stopped)
    if A is None:
        return _some_rows(problem, gram, stopping.stopped or Status.STOPPED, "cholesky")
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
            return _decompose(problem, gram, A, stopping)
        coef[:rows, which] = dense.cholesky_solve(A, problem.Y[:rows, which], gram.workers)
        if stopping.stopped is not None:
            break
    f, error = _upper_sums(A, diagonal, gram, coef)
    error = np.linalg.norm(problem.scale[:, np.newaxis] * error, axis=0)
    return RidgeAnswer(coef, f, error, stopping.stopped or Status.SOLVED, "cholesky")


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


def _decompose(
    problem: Ridge, gram: BlockedGram, A: np.ndarray | None, stopping: Stopping
) -> RidgeAnswer:
    """By an eigendecomposition, if there is time for it; A is the matrix, where it is at hand."""
    if dense.eigen_seconds(gram.n) > stopping.remaining or stopping.stopped is not None:
        return _some_rows(problem, gram, stopping.stopped or Status.TIME_LIMIT, "eigen")
    return Spectrum(gram, problem.scale, A).solve(problem, gram)


class Spectrum:
    """D K D = V Λ Vᵀ: solutions for every α, and their leave-one-out errors.

    ``A`` is K where it is at hand; it is overwritten.
    """

    def __init__(self, gram: BlockedGram, scale: np.ndarray, A: np.ndarray | None = None):
        self.scale = scale[:, np.newaxis]
        if A is None:
            A = gram.matrix()
        A *= scale
        A *= self.scale
        self.values, self.vectors = linalg.eigh(
            A.T, driver="evd", overwrite_a=True, check_finite=False
        )

    def solve(self, problem: Ridge, gram: BlockedGram) -> RidgeAnswer:
        """Least squares of least norm where K + αS⁻¹ is singular."""
        coef = self.coefficients(problem)
        found = bounded_product(gram, coef)
        assert found is not None
        f, error = found
        least, largest = self.values[0], np.abs(self.values).max()
        bad = least < -self.values.size * _EPS * largest
        status = Status.NOT_PSD if bad and gram.is_psd is not True else Status.SOLVED
        gradient = self._gradient(problem, coef, f, error, gram)
        error = np.linalg.norm(self.scale * error, axis=0)
        return RidgeAnswer(coef, f, error, status, "eigen", gradient=gradient)

    def coefficients(self, problem: Ridge) -> np.ndarray:
        turned = self.vectors.T @ (self.scale * problem.Y)
        return self.scale * (self.vectors @ (self._inverse(problem.alpha) * turned))

    def _gradient(
        self, problem: Ridge, coef: np.ndarray, f: np.ndarray, error: np.ndarray, gram: BlockedGram
    ) -> np.ndarray | None:
        """‖DK S r‖ over ‖DKD‖ ‖Dy‖ with its rounding, of targets with α = 0; None without any."""
        if (problem.alpha > 0).all():
            return None
        s = self.scale**2
        r = problem.residual(coef, f)
        found = bounded_product(gram, s * r)
        assert found is not None
        product, lost = found
        largest = float(np.abs(self.values).max(initial=0.0))
        # An error e of f is one of at most ‖DKD‖ ‖De‖ here.
        norms = np.linalg.norm(self.scale * product, axis=0)
        norms += np.linalg.norm(self.scale * lost, axis=0)
        norms += largest * np.linalg.norm(self.scale * error, axis=0)
        sizes = largest * np.linalg.norm(self.scale * problem.Y, axis=0)
        ratios = np.divide(norms, sizes, out=np.zeros_like(norms), where=sizes > 0)
        return np.where(problem.alpha > 0, np.inf, ratios)

    def leave_one_out(self, Y: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Mean squared error at each point of the model fitted without it: (n_alphas, m).

        With G = (DKD + αI)⁻¹ and z = GDy the error at point i is zᵢ / (√sᵢ Gᵢᵢ) (Golub, Heath and
        Wahba, Technometrics 1979, eq. 2.3, for weighted points). Samples count by their weight.
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

    @property
    def _negligible(self) -> float:
        """λ + α up to this is zero but for rounding."""
        return self.values.size * _EPS * float(np.abs(self.values).max(initial=0.0))

    def _inverse(self, alpha: np.ndarray) -> np.ndarray:
        """1 / (λ + α), zero where that is zero but for rounding: (n, len(alpha))."""
        shifted = self.values[:, np.newaxis] + alpha
        where = abs(shifted) > self._negligible
        return np.divide(1.0, shifted, out=np.zeros_like(shifted), where=where)
