"""The leading eigenpairs of a centred kernel matrix H K H, H = I − 11ᵀ/n.

``dense`` decomposes the matrix. ``krylov`` needs products alone: a block Krylov method with full
orthogonalisation, in which the residuals of the Ritz vectors that have not converged yet widen the
basis, and a thick restart when that is full (Stathopoulos, Saad and Wu, "Dynamic thick restarting
of the Davidson, and the implicitly restarted Arnoldi methods", SIAM J. Sci. Comput. 1998, without
a preconditioner). Blocks make products run at the speed of BLAS-3 rather than of memory, and find
eigenvalues of any multiplicity up to their width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from mercer._threads import single_threaded_blas
from mercer.gram import Gram, SymmetricProduct
from mercer.result import Status
from mercer.solvers.control import Control, Progress

__all__ = ["Centring", "EigenAnswer", "EigenSolver"]

# Up to so many rows a dense decomposition takes milliseconds.
DENSE_ROWS = 300
# Beyond this share of all eigenvectors an iteration saves nothing.
DENSE_SHARE = 0.1
# Vectors of the first block beyond those asked for, and those a restart keeps beyond them.
EXTRA = 8
# The basis is full at so many vectors, plus some for each one asked for.
BASIS, BASIS_EACH = 120, 8
# tol=0: residuals over the largest eigenvalue; float64 products are good to a tenth of that.
FINEST = 1e-12
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
    def of(gram: Gram, row_sums: np.ndarray) -> Centring:
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
        self, gram: Gram, k: int, seed: np.random.RandomState, control: Control
    ) -> EigenAnswer:
        """The ``k`` largest eigenvalues and their eigenvectors."""
        dense = gram.n <= DENSE_ROWS or k > DENSE_SHARE * gram.n
        no_room = 4 * k + 2 * EXTRA > gram.n  # for what a restart keeps and one more block
        if self.solver == "dense" or (self.solver == "auto" and dense) or no_room:
            return _dense(gram, k)
        with single_threaded_blas():
            product = SymmetricProduct(gram, self.cache_bytes, lambda: control.stopped is not None)
            start = seed.standard_normal((gram.n, k + EXTRA))
            most = self.max_products or max(gram.n, FEWEST_PRODUCTS)
            return _Krylov(product, k, max(self.tol, FINEST), control).run(start, most)


def _dense(gram: Gram, k: int) -> EigenAnswer:
    n = gram.n
    with single_threaded_blas():
        K = gram.matrix()
    centring = Centring.of(gram, K.sum(axis=0))
    K -= centring.row_means
    K -= centring.row_means[:, np.newaxis] - centring.mean
    values, vectors = linalg.eigh(
        K.T, subset_by_index=(n - k, n - 1), overwrite_a=True, check_finite=False
    )
    del K
    values, vectors = values[::-1], vectors[:, ::-1]
    with single_threaded_blas():
        image = SymmetricProduct(gram, 0)(_centred(vectors))
    assert image is not None
    residuals = np.linalg.norm(_centred(image) - vectors * values, axis=0)
    return EigenAnswer(values, vectors, residuals, centring, Status.SOLVED, "dense", 0)


def _centred(V: np.ndarray) -> np.ndarray:
    return V - V.mean(axis=0)


class _Krylov:
    """Basis Q with its image HKHQ and their product QᵀHKHQ."""

    def __init__(self, product: SymmetricProduct, k: int, tol: float, control: Control):
        self.product, self.k, self.tol, self.control = product, k, tol, control
        n, room = product.n, BASIS + (BASIS_EACH + 1) * k + EXTRA
        room = min(room, n)
        self.Q, self.image = np.empty((n, room)), np.empty((n, room))
        self.H = np.zeros((room, room))
        self.m = 0
        self.products = 0

    def run(self, block: np.ndarray, max_products: int) -> EigenAnswer:
        n = self.product.n
        # The means of K come with the first product, as one more column.
        ones = np.ones((n, 1))
        block = self._orthogonal(block)
        both = self.product(np.hstack([block, ones]))
        if both is None:
            raise TimeoutError(
                "time_limit or the callback stopped the fit before the kernel matrix had been "
                "computed once; there is no model yet. Raise time_limit."
            )
        centring = Centring.of(self.product.gram, both[:, -1])
        self._append(block, _centred(both[:, :-1]))
        while True:
            values, turn = linalg.eigh(self.H[: self.m, : self.m], check_finite=False)
            values, turn = values[::-1], turn[:, ::-1]
            vectors, residual = self._ritz(values[: self.k], turn[:, : self.k])
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
                status = self.control.stopped or Status.STALLED
                break
            self._append(block, _centred(image))
        return EigenAnswer(
            values[: self.k], vectors, norms, centring, status, "krylov", self.products
        )

    def _status(self, norms: np.ndarray, goal: float, max_products: int) -> Status | None:
        """Why to stop now, or None."""
        worst = float(norms.max(initial=0.0))
        relative = worst * self.tol / goal if goal > 0 else 0.0
        self.control.report(
            Progress(self.control.seconds, self.products, self.products, relative, self.tol)
        )
        if worst <= goal:
            return Status.SOLVED
        if self.products >= max_products:
            return Status.ITERATION_LIMIT
        return self.control.stopped

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
