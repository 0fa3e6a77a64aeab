"""The leading eigenpairs of a centred kernel matrix H K H, H = I − 11ᵀ/n.

``dense`` decomposes the matrix. ``krylov`` needs products alone: a block Krylov method with full
orthogonalisation, in which the residuals of the Ritz vectors that have not converged yet widen the
basis, and a thick restart when that is full (Stathopoulos, Saad and Wu, "Dynamic thick restarting
of the Davidson, and the implicitly restarted Arnoldi methods", SIAM J. Sci. Comput. 1998, without
a preconditioner). Blocks make products run at the speed of BLAS-3 rather than of memory, and find
eigenvalues of any multiplicity up to their width.

Residuals ‖HKHv − λv‖ are stated with a bound on what rounding did to K and to the products
(`mercer.gram._entry_error`). A decomposition that would not end within the time limit is not begun:
fewer components are found by products. Where there is no time for a single product, components come
from some landmarks: with K̃ = C W⁻¹ Cᵀ, C their columns of K and W their rows of C, K − K̃ is
positive semidefinite, and no residual is above the trace of K − K̃.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from mercer._result import Status
from mercer._threads import single_threaded_blas
from mercer.certificates._residuals import eigen_status
from mercer.gram import BlockedGram, SymmetricGram
from mercer.gram._blocked import TILE_ROWS, pieces
from mercer.gram._bounded_products import error_norm, gram_error, sum_terms
from mercer.gram._entry_error import gamma
from mercer.solvers._dense_algebra import eigen_seconds, kernel_matrix
from mercer.solvers._stopping import Progress, Stopping

__all__ = ["Centring", "EigenAnswer", "EigenSolver"]

# Up to so many rows a dense decomposition takes milliseconds.
DENSE_ROWS = 300
# Beyond this share of all eigenvectors an iteration saves nothing.
DENSE_SHARE = 0.1
# Vectors of the first block beyond those asked for, and those a restart keeps beyond them.
EXTRA = 8
# The basis is full at so many vectors, plus some for each one asked for.
BASIS, BASIS_EACH = 120, 8
# Residuals over the largest eigenvalue that iterations aim at, and that are to be proved. Rounding
# is part of what is proved, so they aim lower: with tol=0 as low as float64 products are good for,
# else at this share of tol.
FINEST, PROVED, AIM = 1e-12, 1e-8, 0.25
# Components that are sought where there is no time for all, and landmarks where there is for none.
FEW_COMPONENTS, FEWEST_LANDMARKS, MOST_LANDMARKS = 20, 64, 512
# Without max_iter: as many products as there are rows, or this, is far beyond what is needed.
FEWEST_PRODUCTS = 100
_EPS = float(np.finfo(np.float64).eps)


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
        return Centring(means, mean, max(total - gram.n * mean, 0.0), _EPS * abs(total))


@dataclass(frozen=True, eq=False)
class EigenAnswer:
    """Eigenvalues, largest first, unit eigenvectors (n, k), ‖HKHv − λv‖ of each."""

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    centring: Centring
    status: Status
    solver: str
    iterations: int


@dataclass(frozen=True)
class EigenSolver:
    """Settings: which way, residuals at most tol λ₁ (0: as small as float64 lets them be)."""

    solver: str = "auto"
    tol: float = 0.0
    max_products: int | None = None
    cache_bytes: int = 1000 << 20

    def solve(
        self, gram: BlockedGram, k: int, seed: np.random.RandomState, stopping: Stopping
    ) -> EigenAnswer:
        """The ``k`` largest eigenvalues and their eigenvectors; fewer where time is short."""
        dense = gram.n <= DENSE_ROWS or k > DENSE_SHARE * gram.n
        no_room = 4 * k + 2 * EXTRA > gram.n  # for what a restart keeps and one more block
        with single_threaded_blas():
            if self.solver == "dense" or (self.solver == "auto" and dense) or no_room:
                if eigen_seconds(gram.n) <= stopping.remaining:
                    answer = _dense(gram, k, self.tol or PROVED, stopping)
                    if answer is not None:
                        return answer
                k = min(k, FEW_COMPONENTS, max((gram.n - 2 * EXTRA) // 4, 1))
                stopped = stopping.stopped or Status.TIME_LIMIT
                return replace(self._iterate(gram, k, seed, stopping), status=stopped)
            return self._iterate(gram, k, seed, stopping)

    def _iterate(
        self, gram: BlockedGram, k: int, seed: np.random.RandomState, stopping: Stopping
    ) -> EigenAnswer:
        if stopping.stopped is not None:
            return _by_landmarks(gram, k, stopping)
        product = SymmetricGram(gram, self.cache_bytes, stopping.is_stopped)
        start = seed.standard_normal((gram.n, min(k + EXTRA, gram.n)))
        most = self.max_products or max(gram.n, FEWEST_PRODUCTS)
        aim = max(AIM * self.tol, FINEST) if self.tol > 0 else FINEST
        run = _Krylov(product, k, aim, self.tol or PROVED, stopping)
        return run.run(start, most) or _by_landmarks(gram, k, stopping)


# Rows up to which all eigenvectors are computed.
WHOLE_ROWS = 256


def _dense(gram: BlockedGram, k: int, goal: float, stopping: Stopping) -> EigenAnswer | None:
    """By LAPACK; None if it was stopped before the decomposition."""
    n = gram.n
    K = kernel_matrix(gram, stopping.is_stopped)
    if K is None:
        return None
    centring = Centring.of(gram, K.sum(axis=0))
    K -= centring.row_means
    K -= centring.row_means[:, np.newaxis] - centring.mean
    if n <= WHOLE_ROWS:  # LAPACK may lose some of many equal eigenvalues where only some are asked
        values, vectors = linalg.eigh(K.T, overwrite_a=True, check_finite=False, driver="evd")
        values, vectors = values[n - k :], vectors[:, n - k :]
    else:
        values, vectors = linalg.eigh(
            K.T, subset_by_index=(n - k, n - 1), overwrite_a=True, check_finite=False
        )
    del K
    values, vectors = values[::-1], vectors[:, ::-1]
    found = error_norm(gram, _centred(vectors))
    assert found is not None
    image, error, size = found
    residuals = np.linalg.norm(_centred(image) - vectors * values, axis=0)
    residuals = residuals + error + gamma(64) * size
    goal = max(goal * float(values.max(initial=0.0)), centring.rounding)
    status = eigen_status(residuals, goal, Status.SOLVED)
    return EigenAnswer(values, vectors, residuals, centring, status, "dense", 0)


def _by_landmarks(gram: BlockedGram, k: int, stopping: Stopping) -> EigenAnswer:
    """Components of K̃ = C W⁻¹ Cᵀ from random landmarks: a small part of one product with K."""
    n, total = gram.n, float(np.abs(gram.diag()).sum())
    m = min(n, max(FEWEST_LANDMARKS, min(2 * k, MOST_LANDMARKS)))
    chosen = np.sort(np.random.default_rng(0).choice(n, m, replace=False))
    C, landmarks = np.empty((n, m)), gram.sample_block(chosen, np.float64)

    def fill(rows: slice) -> None:
        gram.block(rows, landmarks, np.float64, C[rows])

    gram.workers.map(fill, pieces(n, TILE_ROWS))
    values, turn = linalg.eigh(C[chosen], check_finite=False)
    kept = values > m * _EPS * max(float(values[-1]), 0.0)
    F = C @ (turn[:, kept] / np.sqrt(values[kept]))
    left_out = total - float(np.einsum("ij,ij->", F, F)) + 1e3 * m * n * _EPS * total
    means = F @ F.mean(axis=0)
    centring = Centring.of(gram, n * means)
    F -= F.mean(axis=0)
    values, turn = linalg.eigh(F.T @ F, check_finite=False)
    values, turn = values[::-1][:k], turn[:, ::-1][:, :k]
    kept = values > 1e3 * n * _EPS * max(float(values[0]), 0.0) if values.size else values > 0
    values, vectors = values[kept], F @ (turn[:, kept] / np.sqrt(values[kept]))
    bound = max(left_out, 0.0) if gram.is_psd is True else np.inf
    status = stopping.stopped or Status.TIME_LIMIT
    residuals = np.full(values.size, bound)
    return EigenAnswer(values, vectors, residuals, centring, status, "landmarks", 0)


def _centred(V: np.ndarray) -> np.ndarray:
    return V - V.mean(axis=0)


class _Krylov:
    """Basis Q with its image HKHQ and their product QᵀHKHQ.

    ``lost`` bounds the error of each column of the image.
    """

    def __init__(self, product: SymmetricGram, k: int, tol: float, goal: float, stopping: Stopping):
        self.product, self.k, self.tol, self.goal = product, k, tol, goal
        self.stopping = stopping
        n, room = product.n, BASIS + (BASIS_EACH + 1) * k + EXTRA
        room = min(room, n)
        self.Q, self.image = np.empty((n, room)), np.empty((n, room))
        self.H = np.zeros((room, room))
        self.m = 0
        self.products = 0
        self.error = self.lost = 0.0

    def run(self, block: np.ndarray, max_products: int) -> EigenAnswer | None:
        """None if the first product was given up."""
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
            values, vectors, residual, turn = self._ritz_pairs()
            norms = np.linalg.norm(residual, axis=0)
            goal = max(self.tol * float(values[0]), centring.rounding)
            status = self._status(norms, goal, max_products)
            if status is not None:
                break
            if self.m + self.k > self.Q.shape[1]:
                self._restart(values, turn)
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
        return EigenAnswer(values, vectors, norms, centring, status, "krylov", self.products)

    def _ritz_pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All Ritz values, the leading vectors and their residuals, and how they turn the basis."""
        values, turn = linalg.eigh(self.H[: self.m, : self.m], check_finite=False)
        values, turn = values[::-1], turn[:, ::-1]
        vectors, residual = self._ritz(values[: self.k], turn[:, : self.k])
        return values, vectors, residual, turn

    def _sizes(self, near: np.ndarray) -> np.ndarray:
        """Bounds on |K|1 and |K| near by |k(x, z)|² ≤ k(x, x) k(z, z)."""
        b = np.sqrt(np.abs(self.product.gram.diag()))
        return np.column_stack([b * b.sum(), b * float(b @ near)])

    def _proved(
        self, values: np.ndarray, vectors: np.ndarray, norms: np.ndarray, goal: float, why: Status
    ) -> tuple[np.ndarray, Status]:
        """Residuals with their rounding; by one more product if the carried ones prove little."""
        bound = norms + self._carried_error()
        if why.is_solved and bound.max(initial=0.0) > goal:
            image = self.product(_centred(vectors))
            if image is not None:
                fresh = np.linalg.norm(_centred(image) - vectors * values, axis=0)
                bound = np.minimum(bound, fresh + self.error)
        return bound, eigen_status(bound, goal, why)

    def _carried_error(self) -> float:
        """Of a unit combination of the image's columns: their errors, and the sum's rounding."""
        return (self.lost + gamma(self.m + 8) * self._size()) * np.sqrt(self.m)

    def _size(self) -> float:
        """The largest column of the image, which is no longer than ‖HKH‖."""
        return float(np.linalg.norm(self.image[:, : self.m], axis=0).max(initial=0.0))

    def _status(self, norms: np.ndarray, goal: float, max_products: int) -> Status | None:
        """Why to stop now, or None."""
        worst = float(norms.max(initial=0.0))
        relative = worst * self.tol / goal if goal > 0 else 0.0
        self.stopping.report(
            Progress(self.stopping.seconds, self.products, self.products, relative, self.tol)
        )
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

    def _ritz(self, values: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        vectors = self.Q[:, : self.m] @ turn
        return vectors, self.image[:, : self.m] @ turn - vectors * values

    def _restart(self, values: np.ndarray, turn: np.ndarray) -> None:
        keep = min(2 * self.k + EXTRA, self.m - 1)
        self.lost = self._carried_error()
        for basis in (self.Q, self.image):
            basis[:, :keep] = basis[:, : self.m] @ turn[:, :keep]
        self.H[:keep, :keep] = np.diag(values[:keep])
        self.m = keep

    def _orthogonal(self, block: np.ndarray) -> np.ndarray:
        """An orthonormal basis of what the block has beyond Q; directions of rounding left out."""
        Q = self.Q[:, : self.m]
        block = block / np.maximum(np.linalg.norm(block, axis=0), 1e-300)
        for _ in range(2):
            # Centred anew: of a residual near rounding the mean is not zero any more.
            block = _centred(block - Q @ (Q.T @ block))
            block, triangle = linalg.qr(block, mode="economic", check_finite=False)
            block = block[:, np.abs(np.diagonal(triangle)) > 1e-8]
        return block
