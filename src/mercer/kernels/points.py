"""Rows as kernels see them: dense or CSR, of any numeric type, never copied whole to another one.

`Points` keeps the user's array as it is; `take` cuts a `Block` of it in the precision asked for.
Blocks are what `Kernel.tile` receives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Block", "Points"]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows in one precision.

    Attributes
    ----------
    X : ndarray (C-contiguous) or CSR
        The rows, shifted by the origin of their `Points` where it has one.
    sq_norms : float64 array
        Their squared norms, ‖x‖².
    index : slice or int array
        Which rows of their `Points` these are.
    """

    X: Any
    sq_norms: np.ndarray
    index: Any

    def __len__(self) -> int:
        return self.X.shape[0]

    def __getitem__(self, rows: slice) -> Block:
        """A contiguous part of the block (a view)."""
        index = self.index
        if isinstance(index, slice):
            index = slice(index.start + rows.start, index.start + min(rows.stop, len(self)))
        else:
            index = index[rows]
        return Block(self.X[rows], self.sq_norms[rows], index)


class Points:
    """The rows of a matrix, to be cut into blocks.

    Parameters
    ----------
    X : ndarray or CSR of shape (n, d)
    origin : array of shape (d,), optional
        Subtracted from dense rows as they are cut: kernels of differences lose fewer digits there.
    """

    def __init__(self, X: Any, origin: np.ndarray | None = None):
        self.X = X
        self.origin = origin
        self.is_sparse = sp.issparse(X)

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @cached_property
    def sq_norms(self) -> np.ndarray:
        """‖x‖² of every row in float64, computed a slice at a time."""
        out = np.empty(self.n)
        if self.is_sparse:
            data = self.X.data.astype(np.float64)
            np.square(data, out=data)
            squares = sp.csr_matrix((data, self.X.indices, self.X.indptr), shape=self.X.shape)
            out[:] = np.asarray(squares.sum(axis=1)).ravel()
            return out
        for start in range(0, self.n, 4096):
            rows = slice(start, min(start + 4096, self.n))
            part = self._dense(rows, np.float64)
            np.einsum("ij,ij->i", part, part, out=out[rows])
        return out

    def _dense(self, rows: Any, dtype: Any) -> np.ndarray:
        part = self.X[rows]
        if self.origin is None:
            return np.ascontiguousarray(part, dtype=dtype)
        return np.ascontiguousarray(part - self.origin, dtype=dtype)

    def take(self, rows: slice | np.ndarray, dtype: Any = np.float64) -> Block:
        """The given rows (an explicit slice or an index array) as a block of ``dtype``."""
        if self.is_sparse:
            return Block(self.X[rows].astype(dtype, copy=False), self.sq_norms[rows], rows)
        return Block(self._dense(rows, dtype), self.sq_norms[rows], rows)
