"""K_ij = K_ji: checked where a kernel comes from outside, before anything is computed from it.

Solvers use one half of a kernel matrix, so that one which is not symmetric would silently be
replaced by another. Entries may differ by the rounding of the sums they come from.
"""

from __future__ import annotations

import numpy as np

from mercer.kernels._base import Kernel
from mercer.kernels._samples import Samples
from mercer.kernels._user_defined import Callable, Precomputed
from mercer.kernels.functions._kernels import FunctionKernel

__all__ = [
    "holds_function",
    "require_symmetric",
    "require_symmetric_kernel",
    "require_symmetric_values",
    "symmetric_part",
]

# Units of rounding of the largest entry by which K_ij and K_ji may differ.
UNITS = 128
# Rows and columns compared at once.
TILE = 512
# Rows on which a kernel function is checked.
FEW_ROWS = 16
_REMEDY = "Use (K + K.T)/2 if the difference is an error of computation."


def require_symmetric(K: np.ndarray, *, centred: bool = False) -> None:
    """Raise a ValueError that names the entry in which a square matrix is least symmetric, if so.

    Parameters
    ----------
    K : array of shape (n, n)
    centred : bool
        Whether it is to be so after its rows and columns are centred: terms that depend on the
        row or the column alone do not count.
    """
    n = K.shape[0]
    excess = np.zeros(n)
    if centred:
        excess = K.mean(axis=1, dtype=np.float64) - K.mean(axis=0, dtype=np.float64)
    largest, worst, place = 0.0, 0.0, (0, 0)
    for i in range(0, n, TILE):
        for j in range(0, i + 1, TILE):
            here = K[i : i + TILE, j : j + TILE]
            there = K[j : j + TILE, i : i + TILE].T
            largest = max(largest, _largest(here), _largest(there))
            if not centred and np.array_equal(here, there):
                continue
            off = here.astype(np.float64) - there
            if centred:
                off -= excess[i : i + TILE, None] - excess[j : j + TILE]
            np.abs(off, out=off)
            at = int(np.argmax(off))
            if off.flat[at] > worst:
                worst = float(off.flat[at])
                place = i + at // off.shape[1], j + at % off.shape[1]
    # Means of integers are rounded as well.
    is_float = K.dtype.kind == "f" or centred
    eps = float(np.finfo(K.dtype if K.dtype.kind == "f" else np.float64).eps) if is_float else 0.0
    if worst > UNITS * eps * largest:
        row, column = max(place), min(place)
        raise ValueError(
            f"The precomputed kernel matrix is not symmetric{' after centring' * centred}: "
            f"K[{column}, {row}] = {K[column, row].item()!r} and K[{row}, {column}] = "
            f"{K[row, column].item()!r} "
            f"(they may differ by rounding, {UNITS * eps * largest:.2g} here). {_REMEDY}"
        )


def _largest(tile: np.ndarray) -> float:
    return max(abs(float(tile.min())), abs(float(tile.max())))


def symmetric_part(K: np.ndarray) -> np.ndarray:
    """(K + Kᵀ)/2, or K itself if it is symmetric."""
    tiles = [slice(i, i + TILE) for i in range(0, K.shape[0], TILE)]
    if all(np.array_equal(K[a, b], K[b, a].T) for a in tiles for b in tiles):
        return K
    return K / 2 + K.T / 2


def require_symmetric_kernel(kernel: Kernel, points: Samples) -> None:
    """The same for a kernel: a given matrix, or a function on some rows; formulas are symmetric."""
    if kernel._is_symmetric:
        return
    if _holds(kernel, Precomputed):
        require_symmetric(points.X)
    if holds_function(kernel) and points.n > 1:
        _require_symmetric_function(kernel, points)


def _holds(kernel: Kernel, kind: type | tuple[type, ...]) -> bool:
    """Whether a kernel is of a kind, or made of one that is."""
    parts = kernel.get_params(deep=True).values()
    return isinstance(kernel, kind) or any(isinstance(part, kind) for part in parts)


def holds_function(kernel: Kernel) -> bool:
    """Whether values come from a function that need not be symmetric."""
    return not kernel._is_symmetric and _holds(kernel, (Callable, FunctionKernel))


def _require_symmetric_function(kernel: Kernel, points: Samples) -> None:
    rows = np.unique(np.linspace(0, points.n - 1, min(points.n, FEW_ROWS)).astype(np.int64))
    block = points.take(rows)
    K = np.empty((rows.size, rows.size))
    kernel.tile(block, block, K)
    require_symmetric_values(kernel, K, K.T, rows, rows)


def require_symmetric_values(
    kernel: Kernel, here: np.ndarray, there: np.ndarray, rows: np.ndarray, columns: np.ndarray
) -> None:
    """Raise if k(x, z) of some rows and columns (``here``) is not k(z, x) (``there``)."""
    off = np.abs(here - there)
    i, j = np.unravel_index(int(np.argmax(off)), off.shape)
    # A function may round in float32.
    if off[i, j] > UNITS * float(np.finfo(np.float32).eps) * np.abs(here).max():
        raise ValueError(
            f"The kernel function {kernel!r} is not symmetric: k(x, z) = {here[i, j].item()!r} and "
            f"k(z, x) = {there[i, j].item()!r} for rows x = {rows[i]} and z = {columns[j]} of X. "
            "A kernel is symmetric; use (k(X, Z) + k(Z, X).T)/2 if the difference is an error of "
            "computation."
        )
