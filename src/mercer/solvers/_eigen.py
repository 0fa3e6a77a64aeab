"""The leading eigenpairs of a centred kernel matrix H K H, H = I − 11ᵀ/n.

``dense`` decomposes the matrix. ``krylov`` needs products alone: a block Krylov method with full
orthogonalisation, in which the residuals of the Ritz vectors that have not converged yet widen the
basis, and a thick restart when that is full (Stathopoulos, Saad and Wu, "Dynamic thick restarting
of the Davidson, and the implicitly restarted Arnoldi methods", SIAM J. Sci. Comput. 1998, without
a preconditioner). Blocks make products run at the speed of BLAS-3 rather than of memory, and find
eigenvalues of any multiplicity up to their width.

Residuals ‖HKHv − λv‖ are stated with a bound on what rounding did to K and to the products
(`mercer.gram._entry_error`). A decomposition that would not end within the time limit is not begun:
fewer components are computed by products. Where there is no time for a single product, components
come from the Nyström approximation K̃ of random landmarks: K − K̃ is positive semidefinite, and no
residual is above its trace.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from mercer._precision import EPS
from mercer._result import Status, final_status
from mercer._threads import single_threaded_blas
from mercer.gram import BlockedGram, SymmetricGram
from mercer.gram._bounded_products import error_norm, gram_error, sum_terms
from mercer.gram._entry_error import gamma
from mercer.gram._low_rank import nystrom_factor, random_landmarks
from mercer.solvers._dense_algebra import eigen_seconds, kernel_matrix
from mercer.solvers._stopping import Progress, Stopping

__all__ = ["Centring", "EigenSettings", "EigenSolution", "EigenSolver", "has_equal_rows"]


@dataclass(frozen=True)
class EigenSettings:
    """Tuning constants of `EigenSolver`."""

    # Up to this number of rows a dense decomposition takes milliseconds.
    dense_rows: int = 300
    # Beyond this fraction of all eigenvectors an iteration saves nothing.
    dense_fraction: float = 0.1
    # Up to this number of rows all eigenvectors are computed. LAPACK may lose some of many equal
    # eigenvalues where only some are asked for, and of more rows they are computed if it did.
    all_vectors_rows: int = 256
    # Vectors of the first block beyond those asked for, and those a restart keeps beyond them.
    extra: int = 8
    # Size at which the Krylov basis is restarted, and what each vector asked for adds to it.
    basis: int = 120
    basis_per_vector: int = 8
    # With tol = 0, the relative residual that iterations aim at and the one to be proved; the
    # latter includes the rounding.
    finest: float = 1e-12
    default_tol: float = 1e-8
    # With tol > 0, iterations aim at this fraction of it.
    aim: float = 0.25
    # Limit on products without ``max_products``, if that is more than one for each row.
    min_products: int = 100
    # Components that are computed where there is no time for all, and limits on the landmarks where
    # there is no time for a product.
    short_components: int = 20
    min_landmarks: int = 64
    max_landmarks: int = 512
    # Of a fast computer: a first product that would not end in time on it is not begun.
    multiply_adds_per_second: float = 1e11


DEFAULTS = EigenSettings()


@dataclass(frozen=True, eq=False)
class Centring:
    """Means of the rows of K, of all of K, and the trace of H K H: the total variance times n.

    ``rounding`` is what float64 leaves of products with K where their true value is zero.
    """

    row_means: np.ndarray
    mean: float
    trace: float
    rounding: float

    @staticmethod
    def of(gram: BlockedGram, row_sums: np.ndarray) -> Centring:
        means = row_sums / gram.n
        mean = float(means.mean())
        total = float(gram.diag().sum())
        return Centring(means, mean, max(total - gram.n * mean, 0.0), EPS * abs(total))


@dataclass(frozen=True, eq=False)
class EigenSolution:
    """Eigenvalues, largest first, unit eigenvectors (n, k), ‖HKHv − λv‖ of each.

    ``lowest`` is the least Ritz value met: but for rounding, the least eigenvalue is at most that.
    """

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    centring: Centring
    status: Status
    solver: str
    iterations: int
    lowest: float = np.inf


@dataclass(frozen=True)
class EigenSolver:
    """Computes eigenpairs with residuals of at most tol λ₁."""

    solver: str = "auto"  # or "dense", "krylov"
    tol: float = 0.0  # 0 stands for ``default_tol``, with iterations to ``finest``
    max_products: int | None = None  # of K with a block of vectors
    cache_bytes: int = 1000 << 20  # memory for tiles of K
    settings: EigenSettings = DEFAULTS

    def solve(
        self, gram: BlockedGram, k: int, seed: np.random.RandomState, stopping: Stopping
    ) -> EigenSolution:
        """The ``k`` largest eigenvalues and their eigenvectors; fewer where time is short."""
        n, settings = gram.n, self.settings
        is_dense = n <= settings.dense_rows or k > settings.dense_fraction * n
        # A restart needs space for the vectors that it keeps and one more block.
        is_dense = self.solver == "dense" or (self.solver == "auto" and is_dense)
        with single_threaded_blas():
            if not is_dense and 4 * k + 2 * settings.extra <= n:
                return self._iterate(gram, k, seed, stopping)
            if eigen_seconds(n) <= stopping.remaining:
                solution = self._decompose(gram, k, stopping)
                if solution is not None:
                    return solution
            k = min(k, settings.short_components, max((n - 2 * settings.extra) // 4, 1))
            stopped = stopping.stopped or Status.TIME_LIMIT
            return replace(self._iterate(gram, k, seed, stopping), status=stopped)

    def _iterate(
        self, gram: BlockedGram, k: int, seed: np.random.RandomState, stopping: Stopping
    ) -> EigenSolution:
        settings = self.settings
        work = gram.n**2 * (k + settings.extra + gram.cost_per_entry / 2)
        has_time = work <= stopping.remaining * settings.multiply_adds_per_second
        if stopping.stopped is not None or not has_time:
            return self._from_landmarks(gram, k, stopping)
        product = SymmetricGram(gram, self.cache_bytes, stopping.is_stopped)
        start = seed.standard_normal((gram.n, min(k + settings.extra, gram.n)))
        most = self.max_products or max(gram.n, settings.min_products)
        aim = max(settings.aim * self.tol, settings.finest)
        run = _Krylov(product, k, aim, self._goal, stopping, settings)
        return run.run(start, most) or self._from_landmarks(gram, k, stopping)

    @property
    def _goal(self) -> float:
        return self.tol or self.settings.default_tol

    def _decompose(self, gram: BlockedGram, k: int, stopping: Stopping) -> EigenSolution | None:
        """By LAPACK; None if it was stopped before the decomposition."""
        n = gram.n
        ways: list[dict] = [{"subset_by_index": (n - k, n - 1)}, {"driver": "evd"}]
        if 1 < n <= self.settings.all_vectors_rows:  # SciPy below 1.13 cannot with one row
            del ways[0]
        for how in ways:
            K = kernel_matrix(gram, stopping.is_stopped)
            if K is None:
                return None
            centring = Centring.of(gram, K.sum(axis=0))
            K -= centring.row_means
            K -= centring.row_means[:, np.newaxis] - centring.mean
            values, vectors = linalg.eigh(K.T, overwrite_a=True, check_finite=False, **how)
            del K
            if values.size >= k:
                break
        lowest = float(values[0])
        values, vectors = values[-k:][::-1], vectors[:, -k:][:, ::-1]
        product = error_norm(gram, _centred(vectors))
        assert product is not None
        image, error, size = product
        residuals = np.linalg.norm(_centred(image) - vectors * values, axis=0)
        residuals = residuals + error + gamma(64) * size
        goal = max(self._goal * float(values.max(initial=0.0)), centring.rounding)
        status = final_status(Status.SOLVED, float(residuals.max(initial=0.0)), goal)
        return EigenSolution(values, vectors, residuals, centring, status, "dense", 0, lowest)

    def _from_landmarks(self, gram: BlockedGram, k: int, stopping: Stopping) -> EigenSolution:
        """Components of the Nyström approximation of random landmarks."""
        n, total, settings = gram.n, float(np.abs(gram.diag()).sum()), self.settings
        m = min(n, max(settings.min_landmarks, min(2 * k, settings.max_landmarks)))
        factor = nystrom_factor(gram, random_landmarks(n, m))
        assert factor is not None
        F = factor.F
        left_out = total - float(np.einsum("ij,ij->", F, F)) + 1e3 * m * n * EPS * total
        means = F @ F.mean(axis=0)
        centring = Centring.of(gram, n * means)
        F -= F.mean(axis=0)
        values, rotation = linalg.eigh(F.T @ F, check_finite=False)
        values, rotation = values[::-1][:k], rotation[:, ::-1][:, :k]
        kept = values > 1e3 * n * EPS * max(float(values[0]), 0.0) if values.size else values > 0
        values, vectors = values[kept], F @ (rotation[:, kept] / np.sqrt(values[kept]))
        bound = max(left_out, 0.0) if gram.is_psd is True else np.inf
        status = stopping.stopped or Status.TIME_LIMIT
        residuals = np.full(values.size, bound)
        return EigenSolution(values, vectors, residuals, centring, status, "landmarks", 0)


def _centred(V: np.ndarray) -> np.ndarray:
    return V - V.mean(axis=0)


class _Krylov:
    """Basis Q with its image HKHQ and their product QᵀHKHQ.

    ``lost`` bounds the error of each column of the image.
    """

    def __init__(
        self,
        product: SymmetricGram,
        k: int,
        tol: float,
        goal: float,
        stopping: Stopping,
        settings: EigenSettings,
    ):
        self.product, self.k, self.tol, self.goal = product, k, tol, goal
        self.stopping, self.extra = stopping, settings.extra
        n, size = product.n, settings.basis + (settings.basis_per_vector + 1) * k + settings.extra
        size = min(size, n)
        self.Q, self.image = np.empty((n, size)), np.empty((n, size))
        self.H = np.zeros((size, size))
        self.m = 0
        self.products = 0
        self.error = self.lost = 0.0
        self.lowest = np.inf  # Ritz value so far

    def run(self, block: np.ndarray, max_products: int) -> EigenSolution | None:
        """None if the first product was stopped."""
        n = self.product.n
        # The means of K come with the first product, as one more column, and its size.
        errors = gram_error(self.product.gram)
        block = self._orthogonal(block)
        if self.stopping.stopped is not None:
            return None
        both = self.product(np.column_stack([block, np.ones(n), errors.near]))
        if both is None:
            return None
        centring = Centring.of(self.product.gram, both[:, -2])
        sums = both[:, -2:] if errors.is_nonnegative else self._sizes(errors.near)
        self.error = errors.norm(sums[:, 0], sums[:, 1], sum_terms(n, False) + 64)
        self.lost = self.error
        self._append(block, _centred(both[:, :-2]))
        while True:
            values, vectors, residual, rotation = self._ritz_pairs()
            norms = np.linalg.norm(residual, axis=0)
            goal = max(self.tol * float(values[0]), centring.rounding)
            status = self._status(norms, goal, max_products)
            if status is not None:
                break
            if self.m + self.k > self.Q.shape[1]:
                self._restart(values, rotation)
            block = self._orthogonal(residual[:, norms > goal])
            image = self.product(block) if block.shape[1] else None
            if image is None:
                status = self.stopping.stopped or Status.STALLED
                break
            self._append(block, _centred(image))
            if eigen_seconds(self.m) > self.stopping.remaining:
                status = Status.TIME_LIMIT
                break
        values = values[: self.k]
        goal = max(self.goal * float(values[0]), centring.rounding)
        norms, status = self._proved(values, vectors, norms, goal, status)
        found = values, vectors, norms, centring, status, "krylov", self.products
        return EigenSolution(*found, self.lowest)

    def _ritz_pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All Ritz values, the leading vectors, their residuals, and the rotation of the basis."""
        values, rotation = linalg.eigh(self.H[: self.m, : self.m], check_finite=False)
        values, rotation = values[::-1], rotation[:, ::-1]
        self.lowest = min(self.lowest, float(values[-1]))
        leading = rotation[:, : self.k]
        vectors = self.Q[:, : self.m] @ leading
        residual = self.image[:, : self.m] @ leading - vectors * values[: self.k]
        return values, vectors, residual, rotation

    def _sizes(self, near: np.ndarray) -> np.ndarray:
        """Bounds on |K|1 and |K| near by |k(x, z)|² ≤ k(x, x) k(z, z)."""
        b = np.sqrt(np.abs(self.product.gram.diag()))
        return np.column_stack([b * b.sum(), b * float(b @ near)])

    def _proved(
        self, values: np.ndarray, vectors: np.ndarray, norms: np.ndarray, goal: float, why: Status
    ) -> tuple[np.ndarray, Status]:
        """Residuals with their rounding; by one more product if the bound exceeds the goal."""
        bound = norms + self._image_error()
        if why.is_solved and bound.max(initial=0.0) > goal:
            image = self.product(_centred(vectors))
            if image is not None:
                fresh = np.linalg.norm(_centred(image) - vectors * values, axis=0)
                bound = np.minimum(bound, fresh + self.error)
        return bound, final_status(why, float(bound.max(initial=0.0)), goal)

    def _image_error(self) -> float:
        """Of a unit combination of the image's columns: their errors, and the sum's rounding.

        No column of the image is longer than ‖HKH‖.
        """
        size = float(np.linalg.norm(self.image[:, : self.m], axis=0).max(initial=0.0))
        return (self.lost + gamma(self.m + 8) * size) * np.sqrt(self.m)

    def _status(self, norms: np.ndarray, goal: float, max_products: int) -> Status | None:
        """Why to stop now, or None."""
        worst = float(norms.max(initial=0.0))
        relative = worst * self.tol / goal if goal > 0 else 0.0
        effort = self.stopping.seconds, self.products, self.products
        self.stopping.report(Progress(*effort, relative, self.tol))
        if worst <= goal:
            return Status.SOLVED
        if self.products >= max_products:
            return Status.ITERATION_LIMIT
        return self.stopping.stopped

    def _append(self, block: np.ndarray, image: np.ndarray) -> None:
        m, end = self.m, self.m + block.shape[1]
        self.Q[:, m:end], self.image[:, m:end] = block, image
        part = self.Q[:, :end].T @ image
        self.H[:end, m:end] = part
        self.H[m:end, :end] = part.T
        self.m = end
        self.products += 1

    def _restart(self, values: np.ndarray, rotation: np.ndarray) -> None:
        keep = min(2 * self.k + self.extra, self.m - 1)
        self.lost = self._image_error()
        for basis in (self.Q, self.image):
            basis[:, :keep] = basis[:, : self.m] @ rotation[:, :keep]
        self.H[:keep, :keep] = np.diag(values[:keep])
        self.m = keep

    def _orthogonal(self, block: np.ndarray) -> np.ndarray:
        """An orthonormal basis of the part of the block orthogonal to Q, rounding left out."""
        Q = self.Q[:, : self.m]
        block = block / np.maximum(np.linalg.norm(block, axis=0), 1e-300)
        for _ in range(2):
            # Centred again: the mean of a residual near rounding is not zero.
            block = _centred(block - Q @ (Q.T @ block))
            block, triangle = linalg.qr(block, mode="economic", check_finite=False)
            block = block[:, np.abs(np.diagonal(triangle)) > 1e-8]
        return block


def has_equal_rows(X: Any) -> bool:
    """Whether all rows of numbers are equal."""
    if sp.issparse(X) or X.ndim != 2 or X.dtype.kind not in "biuf" or len(X) == 0:
        return False
    return bool((X[0] == X[-1]).all() and (X[0] == X).all())
