"""Kernels that come from outside: a precomputed matrix, a function; and names for kernels."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable as Function
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._base import LARGEST, OBJECT_COST, OBJECTS, Kernel
from mercer.kernels._registry import KERNELS_BY_NAME, KernelNames
from mercer.kernels._sample_block import diagonal_of_tiles
from mercer.kernels._samples import SampleBlock, Samples

__all__ = ["Callable", "Precomputed", "as_kernel", "depends_on_the_set", "takes_pairs"]

# Rows on which a function is asked whether its values depend on the other rows, and by what share
# of the largest value they may differ through rounding.
FEW_ROWS = 6
ROUNDING = 1e-6
_whole_matrix = threading.Lock()


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """A kernel matrix given as data: row i of the points holds k(x_i, ·) of the training points.

    **Cost.** None; the whole matrix is in memory, and predictions need the values with all training
    points.

    **When.** Values come from another program. Otherwise a function as kernel stores less.
    """

    _has_formula = _is_symmetric = False

    def magnitude(self, points: Samples) -> np.ndarray:
        """With m ≥ 1, m(x) m(z) bounds the entry from either side."""
        largest = abs(points.X).max(axis=1)
        largest = largest.toarray() if points.is_sparse else largest
        return np.maximum(np.ravel(np.asarray(largest, dtype=np.float64)), 1.0)

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        if points.are_objects:
            raise ValueError("A precomputed kernel matrix must hold numbers; got objects.")
        values = points.X.data if points.is_sparse else points.X
        if not _in_range(values, largest):
            raise ValueError(
                "The precomputed kernel matrix holds NaN, infinity, or values beyond "
                f"±{largest:g}. Check or scale the kernel."
            )

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        K, rows, columns = A.points.X, A.index, B.index
        if A.is_sparse:
            out[...] = K[rows][:, columns].toarray()
        else:
            out[...] = _entries(K, rows, columns)

    def diag(self, A: SampleBlock) -> np.ndarray:
        rows = A.index
        which = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        return np.asarray(A.points.X[which, which], dtype=np.float64).ravel()

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        points = Samples(X)
        self.check(points)
        return points.X.toarray().astype(np.float64) if points.is_sparse else points.X.astype(float)


@dataclass(frozen=True, repr=False)
class Callable(Kernel):
    """k given by a function of two sets of rows that returns the matrix of their kernel values.

    **Cost.** That of the function, which is called with blocks of rows.

    **When.** A function that exists already; `mercer.kernel` compiles a function of two samples.

    Parameters
    ----------
    function : callable
        ``function(X, Z)`` with ``len(X)`` and ``len(Z)`` rows (arrays, CSR, or lists of objects, as
        the data came) returns an array of shape ``(len(X), len(Z))``. It is asked for tiles.
    on_pairs : bool, default=False
        The function takes two rows and returns a number, as the functions that scikit-learn's
        ``KernelRidge`` and ``KernelPCA`` take; it is called for each pair.
    on_whole_set : bool, default=False
        The values depend on the set of rows (a function that subtracts their mean, say), so that
        the function is called as in scikit-learn: once with all training rows, whose matrix is
        kept, and with all of them as its second argument for predictions. Estimators find out for
        a function that is given as ``kernel``.
    """

    function: Function[[Any, Any], Any]
    on_pairs: bool = False
    on_whole_set: bool = False

    sample_type = OBJECTS
    _has_formula = _is_symmetric = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"Callable: function must be callable, got {self.function!r}.")

    def cost_per_entry(self, samples: Samples) -> float:
        return OBJECT_COST

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        """The function decides which samples it takes; its values are checked in `tile`."""

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        if not self.on_whole_set:
            out[...] = self._values(A, B)
        elif A.points is B.points:
            out[...] = _entries(self._matrix(A.points), A.index, B.index)
        else:
            out[...] = self._values(A, _all(B.points))[:, B.index]

    def _matrix(self, points: Samples) -> np.ndarray:
        """The kernel matrix of all points, computed once."""
        with _whole_matrix:
            key = "kernel matrix", self.function
            if key not in points.prepared:
                points.prepared[key] = self.whole_matrix(points)
            return points.prepared[key]

    def whole_matrix(self, data: Any) -> np.ndarray:
        """The function called once with all rows ``data.X``."""
        X = data.X
        n = len(X) if isinstance(X, list) else X.shape[0]
        return self._checked(self.function(X, X), (n, n))

    def diag(self, A: SampleBlock) -> np.ndarray:
        if self.on_whole_set:
            return np.diagonal(self._matrix(A.points))[A.index].astype(np.float64)
        return diagonal_of_tiles(self, A, 4)  # few calls, and few values that are not used

    def _values(self, A: SampleBlock, B: SampleBlock) -> np.ndarray:
        values: Any
        if self.on_pairs:
            values = [[self.function(x, z) for z in B.original] for x in A.original]
        else:
            values = self.function(A.original, B.original)
        return self._checked(values, (len(A), len(B)))

    def _checked(self, values: Any, shape: tuple[int, int]) -> np.ndarray:
        values = _dense(values)
        if values.shape != shape:
            raise ValueError(
                f"The kernel function {_name(self.function)} must return a value for each pair of "
                f"rows, shape {shape}; got {values.shape}."
            )
        if values.dtype == object:
            with contextlib.suppress(TypeError, ValueError):
                values = values.astype(np.float64)
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"The kernel function {_name(self.function)} must return real numbers; got values "
                f"of type {values.dtype}."
            )
        if not _in_range(values):
            raise ValueError(
                f"The kernel function {_name(self.function)} returned NaN, infinity, or values "
                f"beyond ±{LARGEST:g}. Check or scale it."
            )
        return values

    def __repr__(self) -> str:
        return f"Callable({_name(self.function)})"


def takes_pairs(function: Function[[Any, Any], Any], X: Any) -> bool:
    """Whether a kernel function takes two rows of X; those that take two sets of rows do not."""
    few, more = X[np.arange(2) % X.shape[0]], X[np.arange(3) % X.shape[0]]
    try:
        if np.shape(function(few, more)) == (2, 3):
            return False
    except Exception:  # whatever a function of two rows raises on matrices
        pass
    try:
        return np.ndim(function(X[0], X[0])) == 0
    except Exception:  # of neither kind: `Callable` shows what it raises on sets of rows
        return False


def depends_on_the_set(function: Function[[Any, Any], Any], X: Any) -> bool:
    """Whether values of a function of two sets of rows change with the other rows of the sets.

    Asked of a few rows of X. One that fails on fewer rows than all is such a function, too.
    """
    n = X.shape[0]
    few = X[np.unique(np.linspace(0, n - 1, FEW_ROWS).astype(np.intp))]
    part = few[: (few.shape[0] + 1) // 2]
    try:
        whole, some = _dense(function(few, few)), _dense(function(few, part))
        scale = ROUNDING * float(np.abs(whole).max())
        return not np.allclose(some, whole[:, : part.shape[0]], rtol=0, atol=scale, equal_nan=True)
    except Exception:  # whatever a function of one set raises on two; `Callable` shows it
        return True


def _all(points: Samples) -> SampleBlock:
    return points.take(slice(0, points.n))


def _entries(K: np.ndarray, rows: Any, columns: Any) -> np.ndarray:
    if isinstance(rows, slice):
        return K[rows][:, columns]
    return K[:, columns][rows] if isinstance(columns, slice) else K[np.ix_(rows, columns)]


def _dense(values: Any) -> np.ndarray:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)


def _in_range(values: np.ndarray, largest: float = LARGEST) -> bool:
    return values.size == 0 or bool(values.min() >= -largest and values.max() <= largest)


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def as_kernel(kernel: Any, gamma: float = 1.0, degree: int = 3, coef0: float = 0.0) -> Kernel:
    """A Kernel from a Kernel, a function of two sets of rows, or one of scikit-learn's names."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Callable(kernel)
    if not isinstance(kernel, str) or kernel not in KernelNames():
        raise ValueError(
            f"kernel must be a Kernel, a callable, or one of {sorted(KernelNames())}; "
            f"got {kernel!r}."
        )
    return KERNELS_BY_NAME[kernel].make(gamma=gamma, degree=degree, coef0=coef0)
