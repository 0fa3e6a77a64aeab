"""Rows as kernels see them: dense or CSR, of any numeric type, never copied whole to another one.

`Samples` keeps the array of the user as it is; `take` cuts a `SampleBlock` of it in one precision.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._compiled.sparse_dot import nonzeros
from mercer.kernels._sample_block import CSR, SampleBlock
from mercer.kernels.structured._sample_types import may_be_array
from mercer.kernels.tables._table import Table

__all__ = ["CSR", "SampleBlock", "Samples", "centre"]

# Rows whose fraction of nonzeros is at most FEW_NONZEROS are multiplied nonzero by nonzero
# (`_compiled.sparse_dot`): one takes about 0.05 ns (float64: 0.1), a column of a dense product 0.02
# (0.04). A panel has a line for each column and should stay in the second-level cache: at most
# MOST_LINES columns. For dense rows it pays from FEWEST_LINES columns on.
FEW_NONZEROS, FEWEST_LINES, MOST_LINES = 0.25, 32, 4096

_INTEGER_ROWS = 4096  # rows (nonzeros of sparse ones) per step of the search for a fraction
_NORM_ROWS = 4096  # rows per step when all norms are computed, so that no full-size copy is made
SAMPLED_ROWS = 512  # of dense rows, to estimate the share of nonzeros
# The median is the origin if some squared norm is FAR_ROWS times the typical one, and if it makes
# the typical one smaller by MUCH_SMALLER.
FAR_ROWS = 100.0
MUCH_SMALLER = 0.5
_listing = threading.Lock()


class Samples:
    """The rows of a matrix, to be cut into blocks.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or a sequence of n objects
        Numbers of any type are kept in that type. A list of strings or other objects (an object
        array too) is kept as it is; kernels on structures and functions can take it.
    origin : array of shape (d,), optional
        Subtracted from dense rows as they are cut: kernels of differences lose fewer digits there.

    Attributes
    ----------
    n, d : int
        Samples and columns (of objects: 0).
    fits_panels : bool
        Whether the number of columns allows products nonzero by nonzero.
    """

    def __init__(self, X: Any, origin: np.ndarray | None = None):
        self.is_sparse = sp.issparse(X)
        if self.is_sparse:
            X = X.tocsr()
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
        else:
            X = _array_or_objects(X)
        self.X = X
        self.origin = origin
        self.are_objects = isinstance(X, list) or X.dtype == object
        self.n: int = len(X) if isinstance(X, list) else X.shape[0]
        self.d: int = 0 if self.are_objects else X.shape[1]
        fewest = 0 if self.is_sparse else FEWEST_LINES
        self.fits_panels = not self.are_objects and fewest < self.d <= MOST_LINES
        if self.is_sparse and origin is not None:
            raise ValueError("origin must be None for sparse rows: shifting them would fill them.")
        self._norms: dict[np.dtype, np.ndarray] = {}
        self._largest: dict[np.dtype, float] = {}
        self._absolute_sums: np.ndarray | None = None
        self._terms: int | None = None
        self._has_few_nonzeros: bool | None = None
        self._csr: CSR | None = None
        self.parts: tuple[Samples, ...] | None = None
        # Rows are compared with those of other `Samples`, which need not be integers.
        self.is_compared = False
        self.prepared: dict[Any, Any] = {}  # what a kernel computes once per data set, by its key
        self.kernel: Any = None  # for which they are prepared
        self.diagonal: tuple[Any, Any] = None, None  # a kernel that took them, and its k(x, x)

    def __getstate__(self) -> dict:
        """Without what is computed from the rows."""
        names = ("X", "origin", "parts", "is_compared")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict) -> None:
        Samples.__init__(self, state["X"], state["origin"])
        self.__dict__.update(state)

    @property
    def terms(self) -> int:
        """The most products other than zero that a dot product of two rows adds up.

        Zeros are added without rounding, whatever the order of the sum.
        """
        if self._terms is None:
            is_listed = self.is_sparse or self.has_few_nonzeros
            most = np.diff(self.csr.indptr).max(initial=0) if is_listed else self.d
            self._terms = int(most)
        return self._terms

    def with_parts(self, parts: tuple[Samples, ...]) -> Samples:
        """The same samples, with what each part of a composed kernel has prepared of them."""
        whole = Samples(self.X, self.origin)
        whole.parts = parts
        return whole

    def compared(self) -> Samples:
        """Marks them, and what is prepared of them, as compared with other samples."""
        self.is_compared = True
        for part in self.parts or ():
            if part is not self:
                part.compared()
        return self

    def part(self, k: int) -> Samples:
        """What the k-th part of a composed kernel has prepared."""
        return self if self.parts is None else self.parts[k]

    def are_exact(self, dtype: Any) -> bool:
        """Whether dot products and squared norms of all rows have no rounding in ``dtype``.

        That is so for integers whose squared norms are below 1/u: all partial sums are integers
        that ``dtype`` holds.
        """
        limit = 2.0 ** np.finfo(dtype).nmant
        return (
            not self.is_compared and self._are_integers() and self.largest_norm(dtype) < limit / 4
        )

    def _are_integers(self) -> bool:
        if "integers" not in self.prepared:
            self.prepared["integers"] = not self.are_objects and self._find_integers()
        return self.prepared["integers"]

    def _find_integers(self) -> bool:
        if self.origin is not None and not _is_integral(self.origin):
            return False
        values = self.X.data if self.is_sparse else self.X
        if values.dtype.kind in "biu":
            return True
        steps = range(0, values.shape[0], _INTEGER_ROWS)
        return all(_is_integral(values[start : start + _INTEGER_ROWS]) for start in steps)

    @property
    def has_few_nonzeros(self) -> bool:
        """Whether products nonzero by nonzero are quicker than dense ones, and panels small."""
        if self._has_few_nonzeros is None:
            self._has_few_nonzeros = self.fits_panels and self._share_of_nonzeros() <= FEW_NONZEROS
        return self._has_few_nonzeros

    def _share_of_nonzeros(self) -> float:
        """Of dense rows an estimate from some of them."""
        if self.is_sparse:
            return self.X.nnz / max(self.n * self.d, 1)
        some = self.X[:: max(1, self.n // SAMPLED_ROWS)]
        shifted = some if self.origin is None else some - self.origin
        return np.count_nonzero(shifted) / max(shifted.size, 1)

    @property
    def csr(self) -> CSR:
        """The nonzeros of all rows, less the origin; those of dense ones are listed once."""
        if self.is_sparse:
            return CSR(self.X.indptr, self.X.indices, self.X.data, self.d)
        with _listing:
            if self._csr is None:
                self._csr = CSR(*nonzeros(self.X, self.origin), self.d)
        return self._csr

    @property
    def sq_norms(self) -> np.ndarray:
        """‖x‖² of every row in float64."""
        return self.norms(np.float64)

    def largest_norm(self, dtype: Any) -> float:
        """The largest of `norms`."""
        dtype = np.dtype(dtype)
        if dtype not in self._largest:
            self._largest[dtype] = float(np.max(self.norms(dtype), initial=0.0))
        return self._largest[dtype]

    def norms(self, dtype: Any) -> np.ndarray:
        """‖x‖² (float64) of every row as rounded to ``dtype``, computed once, a slice at a time."""
        dtype = np.dtype(dtype)
        if dtype not in self._norms:
            self._norms[dtype] = self._compute_norms(dtype)
        return self._norms[dtype]

    def _compute_norms(self, dtype: np.dtype) -> np.ndarray:
        out = np.zeros(self.n)
        if self.are_objects:
            return out
        with np.errstate(over="ignore"):  # infinite norms are reported by Kernel.check
            for start in range(0, self.n, _NORM_ROWS):
                rows = slice(start, min(start + _NORM_ROWS, self.n))
                part = self.rows(rows, dtype)
                if self.is_sparse:
                    squares = part.astype(np.float64)
                    np.square(squares.data, out=squares.data)
                    out[rows] = np.asarray(squares.sum(axis=1)).ravel()
                else:
                    np.einsum("ij,ij->i", part, part, out=out[rows], dtype=np.float64)
        return out

    @property
    def absolute_sums(self) -> np.ndarray:
        """‖x‖₁ of every row in float64."""
        if self._absolute_sums is None:
            out = np.zeros(self.n)
            for start in range(0, self.n, _NORM_ROWS):
                rows = slice(start, min(start + _NORM_ROWS, self.n))
                out[rows] = np.asarray(abs(self.rows(rows, np.float64)).sum(axis=1)).ravel()
            self._absolute_sums = out
        return self._absolute_sums

    def rows(self, index: slice | np.ndarray, dtype: Any) -> Any:
        """The rows in ``dtype`` (None: as they are), less the origin."""
        if isinstance(self.X, list):
            return self.X[index] if isinstance(index, slice) else [self.X[i] for i in index]
        part = self.X[index]
        if self.are_objects or (dtype is None and self.origin is None):
            return part
        if self.is_sparse:
            return part.astype(dtype, copy=False)
        if self.origin is not None:
            part = part - self.origin
        return np.ascontiguousarray(part, dtype=dtype)

    def take(self, rows: slice | np.ndarray, dtype: Any = np.float64) -> SampleBlock:
        """The given rows (an explicit slice or an index array) as a block of ``dtype``."""
        return SampleBlock(self, rows, dtype)


def centre(X: np.ndarray) -> np.ndarray:
    """The mean of the rows, or their median by column where a few far rows move the mean.

    Squared distances from dot products lose digits in proportion to the squared norms: the median
    is taken if it makes the norm of most rows (of a sample) much smaller.
    """
    mean = X.mean(axis=0, dtype=np.float64)
    some = X[:: max(1, X.shape[0] // SAMPLED_ROWS)]
    half = some.shape[0] // 2
    norms = _sq_norms(some - mean)
    typical = np.partition(norms, half)[half]
    if norms.max() <= FAR_ROWS * typical:
        return mean
    middle = np.partition(some, half, axis=0)[half].astype(np.float64)
    others = np.partition(_sq_norms(some - middle), half)[half]
    return middle if others < MUCH_SMALLER * typical else mean


def _is_integral(values: np.ndarray) -> bool:
    return bool((values == np.rint(values)).all())


def _sq_norms(X: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.einsum("ij,ij->i", X, X)


def _array_or_objects(X: Any) -> Any:
    """X as a two-dimensional array of numbers; lists and arrays of other things, and tables,
    as they are.
    """
    if isinstance(X, Table):
        return X
    array = X
    if not isinstance(X, np.ndarray):
        if isinstance(X, (list, tuple)) and not may_be_array(X):
            return list(X)
        try:
            array = np.asarray(X)
        except ValueError:  # rows of different lengths: objects, not a matrix
            return X if isinstance(X, list) else list(X)
    if array.dtype.kind in "biuf":
        if array.ndim != 2:
            raise ValueError(
                f"X must have two dimensions (rows and columns), got shape {array.shape}. "
                "Use X.reshape(-1, 1) for a single column, X.reshape(1, -1) for a single row."
            )
        return array
    if array.dtype == object and isinstance(X, np.ndarray):
        return array
    return X if isinstance(X, list) else list(X)
