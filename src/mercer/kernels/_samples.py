"""Rows as kernels see them: dense or CSR, of any numeric type, never copied whole to another one.

`Samples` keeps the array of the user as it is; `take` cuts a `SampleBlock` of it in one precision.
Blocks are what `Kernel.tile` receives. They are lazy: a kernel that needs no norms, or only the
index (a precomputed matrix), does not pay for the rest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from mercer.kernels._compiled.sparse_dot import LINE_BYTES, Panels, gathered, nonzeros

__all__ = ["CSR", "SampleBlock", "Samples", "centre"]

# Rows with at most this share of nonzeros are multiplied nonzero by nonzero (`_lines`): one takes
# about 0.05 ns (float64: 0.1), a column of a dense product 0.02 (0.04).
FEW_NONZEROS = 0.25
# So many columns at most: a panel has a line for each, and should stay in the second-level cache.
MOST_LINES = 4096
# Dense rows of fewer columns are not worth it.
FEWEST_LINES = 32

_INTEGER_ROWS = 4096  # rows (nonzeros of sparse ones) per step of the search for a fraction
_NORM_ROWS = 4096  # rows per step when all norms are computed, so that no full-size copy is made
SAMPLED_ROWS = 512  # of dense rows, to estimate the share of nonzeros
# The median is the origin if some squared norm is FAR_ROWS times the typical one, and if it makes
# the typical one smaller by MUCH_SMALLER.
FAR_ROWS = 100.0
MUCH_SMALLER = 0.5
_listing = threading.Lock()


class CSR(NamedTuple):
    """Sparse rows as compiled code takes them; some of them are a view with a shorter indptr."""

    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    d: int

    @property
    def nnz(self) -> int:
        return int(self.indptr[-1] - self.indptr[0])

    def part(self, start: int, stop: int) -> CSR:
        return self._replace(indptr=self.indptr[start : stop + 1])


class SampleBlock:
    """Some rows in one precision.

    Parameters
    ----------
    points : Samples
    index : slice (with a start and a stop) or int array
    dtype : float32 or float64

    Attributes
    ----------
    X : ndarray (C-contiguous), CSR, or a list or object array (structured data)
        The rows, shifted by the origin of their `Samples` where it has one.
    sq_norms : float64 array
        The squared norms ‖x‖² of the rows of ``X``, as rounded to its precision: distances from
        ‖x‖² + ‖z‖² − 2 x·z lose fewer digits if all three are of the same rows.
    index : slice or int array
        Which rows of their `Samples` these are.
    """

    def __init__(self, points: Samples, index: Any, dtype: Any):
        self.points = points
        self.index = index
        self.dtype = np.dtype(dtype)
        self._whole: tuple[SampleBlock, slice] | None = None  # what this is a part of
        # Filled when first asked for. Not cached_property: its lock would make threads wait for
        # each other's casts; two threads that both fill one of these write the same.
        self._X: Any = None
        self._csr: CSR | None = None
        self._panels: np.ndarray | None = None
        self._room: Panels | None = None
        self._sq_norms: np.ndarray | None = None
        self._len = index.stop - index.start if isinstance(index, slice) else len(index)

    def __len__(self) -> int:
        return self._len

    @property
    def X(self) -> Any:
        if self._X is None:
            if self._whole is None:
                self._X = self.points.rows(self.index, self.dtype)
            else:
                block, rows = self._whole
                self._X = block.X[rows]
        return self._X

    @property
    def csr(self) -> CSR:
        """The nonzeros as arrays, indices in 32 bits (cheaper to cut than a SciPy matrix)."""
        if self._csr is None and self._whole is not None:
            block, rows = self._whole
            self._csr = block.csr.part(rows.start, rows.stop)
        elif self._csr is None:
            self._csr = CSR(
                *gathered(*self.points.csr[:3], self.row_numbers, self.dtype), self.points.d
            )
        return self._csr

    @property
    def panels(self) -> np.ndarray:
        """The rows as `_lines` takes them; those of a part that starts with a panel are a view."""
        if self._panels is None:
            d, width = self.points.d, LINE_BYTES // self.dtype.itemsize
            if self._whole is not None and self._whole[1].start % width == 0:
                block, rows = self._whole
                self._panels = block.panels[rows.start * d : -(-rows.stop // width) * width * d]
            else:
                room = self._room or Panels(len(self), d, self.dtype)
                self._panels = room.lay(*self.points.csr[:3], self.row_numbers)
        return self._panels

    @property
    def row_numbers(self) -> np.ndarray:
        """The index as an array."""
        if isinstance(self.index, slice):
            return np.arange(self.index.start, self.index.stop)
        return self.index

    @property
    def sq_norms(self) -> np.ndarray:
        if self._sq_norms is None:
            if self._whole is None:
                self._sq_norms = self.points.norms(self.dtype)[self.index]
            else:
                block, rows = self._whole
                self._sq_norms = block.sq_norms[rows]
        return self._sq_norms

    def part(self, k: int) -> SampleBlock:
        """The same samples as the k-th part of a composed kernel takes them."""
        parts = self.points.parts
        return self if parts is None else parts[k].take(self.index, self.dtype)

    @property
    def is_sparse(self) -> bool:
        return self.points.is_sparse

    @property
    def original(self) -> Any:
        """The same rows in the type the user gave, for functions that work on those."""
        return self.points.rows(self.index, None)

    def __getitem__(self, rows: slice) -> SampleBlock:
        """A contiguous part of the block, whose arrays are views of the block's."""
        start, stop, _ = rows.indices(len(self))
        stop = max(start, stop)
        if isinstance(self.index, slice):
            index: Any = slice(self.index.start + start, self.index.start + stop)
        else:
            index = self.index[start:stop]
        part = SampleBlock(self.points, index, self.dtype)
        part._whole = (self, slice(start, stop))
        return part

    def pick(self, which: np.ndarray) -> SampleBlock:
        """Some rows of the block, in any order; dense ones are copied from the block."""
        part = SampleBlock(self.points, self.row_numbers[which], self.dtype)
        if isinstance(self._X, np.ndarray) and not self.points.are_objects:
            part._X = self._X[which]
        return part

    def reserve(self, n: int, memory: Callable[[int], np.ndarray]) -> None:
        """Have room for n rows, so that what is there is not laid out again when it is `extended`.

        ``memory`` gives bytes, which are only touched if the kernel needs panels.
        """
        if self.points.has_few_nonzeros:
            self._room = Panels(n, self.points.d, self.dtype, memory)

    def extended(self, index: np.ndarray) -> SampleBlock:
        """The block with more rows at its end; dense ones that are there are not cut again."""
        whole = SampleBlock(self.points, np.concatenate([self.index, index]), self.dtype)
        whole._room = self._room
        if isinstance(self._X, np.ndarray) and not self.points.are_objects:
            whole._X = np.concatenate([self._X, self.points.rows(index, self.dtype)])
        return whole


class Samples:
    """The rows of a matrix, to be cut into blocks.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d), or a sequence of n objects
        Numbers of any type are kept in that type. A list of strings or other objects (an object
        array too) is kept as it is; only kernels made from a callable can take it.
    origin : array of shape (d,), optional
        Subtracted from dense rows as they are cut: kernels of differences lose fewer digits there.
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

    @property
    def n(self) -> int:
        return len(self.X) if isinstance(self.X, list) else self.X.shape[0]

    @property
    def d(self) -> int:
        """The number of columns (of structured data: 0)."""
        return 0 if self.are_objects else self.X.shape[1]

    @property
    def terms(self) -> int:
        """The most products that a dot product of two rows adds up."""
        if not self.is_sparse:
            return self.d
        if self._terms is None:
            self._terms = int(np.diff(self.X.indptr).max(initial=0))
        return self._terms

    def with_parts(self, parts: tuple[Samples, ...]) -> Samples:
        """The same samples, with what each part of a composed kernel has prepared of them."""
        whole = Samples(self.X, self.origin)
        whole.parts = parts
        return whole

    def compared(self) -> Samples:
        """Marks them, and what is prepared of them, as compared with other samples."""
        for samples in (self, *(self.parts or ())):
            samples.is_compared = True
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
            self._has_few_nonzeros = (
                not self.are_objects
                and (0 if self.is_sparse else FEWEST_LINES) < self.d <= MOST_LINES
                and self._share_of_nonzeros() <= FEW_NONZEROS
            )
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
    """X as a two-dimensional array of numbers; lists and arrays of other things as they are."""
    array = X
    if not isinstance(X, np.ndarray):
        if isinstance(X, list) and X and not np.isscalar(X[0]) and not hasattr(X[0], "__len__"):
            return X
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
