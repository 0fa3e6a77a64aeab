"""The data matrix X as solvers of linear models use it.

`DesignMatrix` is the contract: products with X and Xᵀ, the weighted Gram matrix, and a subset of
the rows. Newton's methods use nothing else, so that rows may lie in partitions elsewhere.
`DenseMatrix` and `SparseMatrix` hold X in memory; they also give what coordinate descent and the
certificate need (rows as CSR, products with a bound of their rounding).

Every product is computed in the same blocks of rows whatever the number of threads, and the
results of the blocks are added in their order: results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from mercer._precision import UNIT
from mercer._result import Halted
from mercer._threads import Workers
from mercer.solvers._stopping import Stopping
from mercer.solvers.linear import _matvec as kernels

__all__ = [
    "BlockSettings",
    "DenseMatrix",
    "DesignMatrix",
    "LocalMatrix",
    "SparseMatrix",
    "as_csr",
    "as_design_matrix",
    "csr_arrays",
    "dot_doubled",
    "halting",
]

# Errors of products below the normal range of float64, and the factor that covers the rounding of
# the bounds themselves.
_UNDERFLOW, _BOUND_FACTOR = 1e-322, 1.001


class DesignMatrix(Protocol):
    """n rows of d columns; ``nnz`` numbers are stored.

    A product that begins after ``stopping`` has stopped raises `Halted` (`halting` sets it).
    """

    n: int
    d: int
    nnz: int
    stopping: Stopping | None

    def matvec(self, w: np.ndarray, b: float) -> np.ndarray:
        """X w + b."""
        ...

    def rmatvec(self, beta: np.ndarray) -> np.ndarray:
        """Xᵀβ."""
        ...

    def signed_rmatvec(self, beta: np.ndarray) -> np.ndarray:
        """Xᵀβ over the positive and over the negative β: two rows."""
        ...

    def weighted_gram(self, D: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """[X 1]ᵀ diag(D) [X 1], (d+1) × (d+1), lower triangle; multiplied in ``dtype``."""
        ...

    def hessian_product(self, D: np.ndarray, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """XᵀD(X w + b), and the sum of D(X w + b)."""
        ...

    def take(self, rows: np.ndarray) -> DesignMatrix:
        """Some of the rows, in this order."""
        ...


@contextmanager
def halting(design: DesignMatrix, stopping: Stopping) -> Iterator[None]:
    """Within, a product that begins after the fit has to stop raises `Halted`."""
    design.stopping = stopping
    try:
        yield
    finally:
        design.stopping = None


@dataclass(frozen=True)
class BlockSettings:
    """Sizes of the blocks in which products are computed, and which arrays are stored as CSR."""

    # Numbers (of sparse rows: nonzeros) in a block: some tenths of a millisecond of work.
    numbers_per_block: int = 1 << 18
    # Upper limit of the number of blocks.
    max_blocks: int = 32
    # Blocks of Xᵀβ have at least as many numbers as this for each of the d columns they write.
    numbers_per_column: int = 6
    # Rows that are scaled by √D before they are multiplied with themselves: at least panel_rows,
    # and as many as hold panel_numbers.
    panel_rows: int = 1024
    panel_numbers: int = 1 << 16
    # Blocks of XᵀDX, each of which has a matrix of its own.
    gram_blocks: int = 8
    # Arrays of at least that number of columns, with a smaller density are stored as CSR.
    sparse_min_columns: int = 64
    sparse_max_density: float = 0.25


class LocalMatrix:
    """A `DesignMatrix` in memory; the subclasses say how a block of rows is handed to kernels."""

    is_sparse: bool
    csr: sp.csr_matrix  # the rows as CSR
    _arrays: Callable  # of a slice: the arrays of its rows, as kernels take them
    _csr_block: Callable  # the same as CSR, whatever is stored
    _matvec: Callable
    _rmatvec: Callable
    _signed_rmatvec: Callable
    _hessian_product: Callable
    _add_gram: Callable
    _sq_norms: Callable
    _matvec_with_size: Callable
    _rmatvec_with_size: Callable

    def __init__(
        self, X: Any, workers: Workers | None = None, settings: BlockSettings | None = None
    ):
        self.X = X
        self.workers = workers or Workers(1)
        self.settings = settings = settings or BlockSettings()
        self.stopping: Stopping | None = None
        self.n, self.d = X.shape
        self.nnz = nnz = int(X.nnz if self.is_sparse else X.size)
        # The largest number of stored numbers in a row.
        self.row_length = int(np.diff(X.indptr).max(initial=0)) if self.is_sparse else self.d
        count = min(max(1, nnz // settings.numbers_per_block), settings.max_blocks)
        self.blocks = _cut(self.n, count)
        most = max(1, nnz // (settings.numbers_per_column * self.d))
        self.reduction_blocks = _cut(self.n, min(count, most))

    @cached_property
    def sq_norms(self) -> np.ndarray:
        """‖x‖² of each row."""
        out = np.empty(self.n)
        self._map(lambda s: self._sq_norms(*self._arrays(s), out[s]), self.blocks)
        return out

    @cached_property
    def norm_bounds(self) -> np.ndarray:
        """Upper bounds of ‖x‖, also where squares vanish; infinite where they overflow."""
        factor = 1 + (self.row_length + 4) * UNIT
        return factor * np.sqrt(self.sq_norms + self.row_length * _UNDERFLOW)

    @property
    def additions(self) -> int:
        """Of how many numbers an entry of Xᵀβ is the sum, at most."""
        blocks = self.reduction_blocks
        return max(s.stop - s.start for s in blocks) + len(blocks) + 2

    def _check_stopping(self) -> None:
        if self.stopping is not None and self.stopping.stopped is not None:
            raise Halted

    def _map(self, task: Callable[[slice], Any], blocks: list[slice]) -> list[Any]:
        self._check_stopping()
        return [task(blocks[0])] if len(blocks) == 1 else self.workers.map(task, blocks)

    def matvec(self, w: np.ndarray, b: float) -> np.ndarray:
        """X w + b."""
        out = np.empty(self.n)
        self._map(lambda s: self._matvec(*self._arrays(s), w, b, out[s]), self.blocks)
        return out

    def rmatvec(self, beta: np.ndarray) -> np.ndarray:
        """Xᵀβ."""
        return self._reduce(self._rmatvec, beta, (self.d,))

    def signed_rmatvec(self, beta: np.ndarray) -> np.ndarray:
        """Xᵀβ over the positive and over the negative β, reading the rows once."""
        return self._reduce(self._signed_rmatvec, beta, (2, self.d))

    def _reduce(self, kernel: Callable, beta: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        def one(s: slice) -> np.ndarray:
            total = np.empty(shape)
            kernel(*self._arrays(s), beta[s], total)
            return total

        return _sum_in_order(self._map(one, self.reduction_blocks))

    def hessian_product(self, D: np.ndarray, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """XᵀD(X w + b), and the sum of D(X w + b), reading the rows once."""

        def one(s: slice) -> np.ndarray:
            total = np.empty(self.d + 1)
            total[self.d] = self._hessian_product(*self._arrays(s), D[s], w, b, total[: self.d])
            return total

        total = _sum_in_order(self._map(one, self.reduction_blocks))
        return total[: self.d], float(total[self.d])

    def weighted_gram(self, D: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """[X 1]ᵀ diag(D) [X 1], lower triangle; dense rows are multiplied in ``dtype``."""
        used, settings = int(np.count_nonzero(D)), self.settings
        count = min(settings.gram_blocks, used // (4 * settings.panel_rows) + 1)

        def one(s: slice) -> np.ndarray:
            total = np.zeros((self.d + 1, self.d + 1))
            self._add_gram(s, D, dtype, total)
            return total

        return _sum_in_order(self._map(one, _cut(self.n, count)))

    def take(self, rows: np.ndarray) -> LocalMatrix:
        """Some of the rows, copied."""
        some = type(self)(self.X[rows], self.workers, self.settings)
        some.stopping = self.stopping
        return some

    def bounded_matvec(
        self, w: np.ndarray, b: float, doubled: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """X w + b and a bound of the error of each entry; with doubled precision if asked for."""
        g, size = np.full(self.n, float(b)), np.zeros(self.n)
        if not w.any():
            return g, size
        total = np.empty(self.n)
        self._map(
            lambda s: self._matvec_with_size(*self._arrays(s), w, total[s], size[s]), self.blocks
        )
        if doubled:
            self._map(
                lambda s: kernels.csr_matvec_doubled(*self._csr_block(s), w, float(b), g[s]),
                self.blocks,
            )
            size = ((self.d + 2) * UNIT) ** 2 * (size + abs(b))
            return g, _BOUND_FACTOR * (UNIT * np.abs(g) + size) + self.d * _UNDERFLOW
        np.add(total, b, out=g)
        size *= (self.d + 2) * UNIT
        if b != 0:
            size += UNIT * np.abs(g)
        return g, _BOUND_FACTOR * size + self.d * _UNDERFLOW

    def bounded_rmatvec(
        self, beta: np.ndarray, doubled: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Xᵀβ and a bound of the error of each column; with doubled precision if asked for."""
        if not beta.any():
            return np.zeros(self.d), np.zeros(self.d)
        total, size = self._reduce(self._rmatvec_with_size, beta, (2, self.d))
        if doubled:
            total, rest = np.zeros(self.d), np.zeros(self.d)
            for s in self.reduction_blocks:
                kernels.csr_rmatvec_doubled(*self._csr_block(s), beta[s], total, rest)
            total += rest
            size = UNIT * np.abs(total) + ((self.n + 2) * UNIT) ** 2 * size
        else:
            size = self.additions * UNIT * size
        return total, _BOUND_FACTOR * size + self.n * _UNDERFLOW


class DenseMatrix(LocalMatrix):
    """Rows of a C-contiguous array in float32 or float64."""

    is_sparse = False
    _matvec = staticmethod(kernels.dense_matvec)
    _rmatvec = staticmethod(kernels.dense_rmatvec)
    _signed_rmatvec = staticmethod(kernels.dense_signed_rmatvec)
    _hessian_product = staticmethod(kernels.dense_hessian_product)
    _sq_norms = staticmethod(kernels.dense_sq_norms)
    _matvec_with_size = staticmethod(kernels.dense_matvec_with_size)
    _rmatvec_with_size = staticmethod(kernels.dense_rmatvec_with_size)

    def _arrays(self, s: slice) -> tuple:
        return (self.X[s],)

    def _csr_block(self, s: slice) -> tuple:
        rows, d = s.stop - s.start, self.d
        columns = np.tile(np.arange(d, dtype=np.uint32), rows)
        return np.arange(rows + 1, dtype=np.int32) * np.int32(d), columns, self.X[s].ravel()

    def _add_gram(self, s: slice, D: np.ndarray, dtype: Any, total: np.ndarray) -> None:
        rows = max(self.settings.panel_rows, self.settings.panel_numbers // (self.d + 1))
        panel = np.empty((2 * rows, self.d + 1), dtype=dtype)
        used = 0
        for first in range(s.start, s.stop, rows):
            self._check_stopping()
            last = min(first + rows, s.stop)
            used += kernels.scaled_rows(self.X, D, first, last, panel[used:])
            if used >= rows or last == s.stop:
                block = panel[:used]
                total += block.T @ block
                used = 0

    def shifted(self, shift: np.ndarray) -> DenseMatrix:
        """The rows minus a shift."""
        return DenseMatrix(self.X - shift, self.workers, self.settings)

    @cached_property
    def csr(self) -> sp.csr_matrix:
        return as_csr(self.X, self.workers, self.settings)


class SparseMatrix(LocalMatrix):
    """Rows of a canonical CSR matrix in float32 or float64."""

    is_sparse = True
    _matvec = staticmethod(kernels.csr_matvec)
    _rmatvec = staticmethod(kernels.csr_rmatvec)
    _signed_rmatvec = staticmethod(kernels.csr_signed_rmatvec)
    _hessian_product = staticmethod(kernels.csr_hessian_product)
    _sq_norms = staticmethod(kernels.csr_sq_norms)
    _matvec_with_size = staticmethod(kernels.csr_matvec_with_size)
    _rmatvec_with_size = staticmethod(kernels.csr_rmatvec_with_size)

    def _arrays(self, s: slice) -> tuple:
        indptr, columns, values = csr_arrays(self.X)
        return indptr[s.start : s.stop + 1], columns, values

    _csr_block = _arrays

    def _add_gram(self, s: slice, D: np.ndarray, dtype: Any, total: np.ndarray) -> None:
        kernels.csr_weighted_gram(*self._arrays(s), D[s], total)

    @property
    def csr(self) -> sp.csr_matrix:
        return self.X


def as_design_matrix(X: Any, workers: Workers | None = None) -> DenseMatrix | SparseMatrix:
    """An array or a CSR matrix in float32 or float64; arrays with few nonzeros become CSR."""
    settings = BlockSettings()
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if sp.issparse(X):
        X = sp.csr_matrix(X, dtype=dtype)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return SparseMatrix(X, workers)
    X = np.ascontiguousarray(X, dtype=dtype)
    if _has_few_nonzeros(X, settings):
        return SparseMatrix(as_csr(X, workers or Workers(1), settings), workers)
    return DenseMatrix(X, workers)


def _has_few_nonzeros(X: np.ndarray, settings: BlockSettings) -> bool:
    """Judged by up to 1,000 of the rows."""
    n, d = X.shape
    if d < settings.sparse_min_columns:
        return False
    some = X[:: max(1, n // 500)]
    return bool(np.count_nonzero(some) < settings.sparse_max_density * some.size)


def as_csr(X: np.ndarray, workers: Workers, settings: BlockSettings) -> sp.csr_matrix:
    """The nonzeros of an array."""
    n, d = X.shape
    blocks = _cut(n, X.size // settings.numbers_per_block + 1)
    indptr = np.zeros(n + 1, np.int64)
    workers.map(lambda s: kernels.count_nonzeros(X[s], indptr[s.start + 1 : s.stop + 1]), blocks)
    np.cumsum(indptr, out=indptr)
    if indptr[-1] < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    columns, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], X.dtype)
    workers.map(
        lambda s: kernels.take_nonzeros(X[s], indptr[s.start : s.stop + 1], columns, values), blocks
    )
    return sp.csr_matrix((values, columns, indptr), shape=(n, d), copy=False)


def dot_doubled(x: np.ndarray, w: np.ndarray) -> float:
    """x·w with doubled precision."""
    x = np.ascontiguousarray(x, dtype=np.float64)
    return float(DenseMatrix(x[np.newaxis]).bounded_matvec(w, 0.0, doubled=True)[0][0])


def csr_arrays(X: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row pointers, columns and values, as kernels take them."""
    return X.indptr, X.indices.view(f"u{X.indices.itemsize}"), X.data


def _cut(n: int, count: int) -> list[slice]:
    count = min(count, max(n, 1))
    ends = [n * k // count for k in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends)]


def _sum_in_order(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
