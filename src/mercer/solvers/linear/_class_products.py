"""Products with X of several vectors at once, one for each class: the rows are read once.

As in `_design_matrix`, blocks of rows are the same whatever the number of threads, and sums over
them are in their order. Everything is computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.solvers.linear._design_matrix import LocalMatrix

__all__ = ["ClassProducts"]


class ClassProducts:
    """Products of a data matrix with a row of w, an entry of b, or a column of β for each class."""

    def __init__(self, design: LocalMatrix):
        self.design = design
        self._parts = {s.start: _rows(design, s) for s in design.reduction_blocks}

    def _map(self, one: Callable[[slice, Any], Any]) -> list[Any]:
        design = self.design
        return design._map(lambda s: one(s, self._parts[s.start]), design.reduction_blocks)

    def _reduce(self, one: Callable[[slice, Any], np.ndarray]) -> np.ndarray:
        total, *parts = self._map(one)
        for part in parts:
            total += part
        return total

    def matmat(self, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        """X wᵀ + b: a column for each class."""
        right, out = np.ascontiguousarray(w.T), np.empty((self.design.n, len(w)))
        self._map(lambda s, X: np.add(_float64(X) @ right, b, out=out[s]))
        return out

    def rmatmat(self, beta: np.ndarray) -> np.ndarray:
        """βᵀX: a row for each class."""
        return np.ascontiguousarray(self._reduce(lambda s, X: _float64(X).T @ beta[s]).T)

    def squares(self, D: np.ndarray) -> np.ndarray:
        """Dᵀ(X∘X): a row for each class."""
        return np.ascontiguousarray(self._reduce(lambda s, X: _squared(X).T @ D[s]).T)

    def hessian_product(
        self, p: np.ndarray, weighted: np.ndarray, w: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        """The second derivative of Σ C log Σ exp g along (w, b): a row (w, b) for each class.

        ``p`` are the probabilities, ``weighted`` is C p.
        """
        right, d = np.ascontiguousarray(w.T), self.design.d

        def one(s: slice, X: Any) -> np.ndarray:
            X = _float64(X)
            h = X @ right
            h += b
            h -= np.einsum("ij,ij->i", p[s], h)[:, np.newaxis]
            h *= weighted[s]
            out = np.empty((d + 1, len(w)))
            out[:d] = X.T @ h
            out[d] = h.sum(axis=0)
            return out

        return np.ascontiguousarray(self._reduce(one).T)


def _rows(design: LocalMatrix, s: slice) -> Any:
    """A block of the rows, without a copy."""
    if not design.is_sparse:
        return design.X[s]
    X = design.X
    ends = X.indptr[s.start : s.stop + 1]
    part = slice(ends[0], ends[-1])
    shape = s.stop - s.start, design.d
    return sp.csr_matrix((X.data[part], X.indices[part], ends - ends[0]), shape=shape, copy=False)


def _float64(X: Any) -> Any:
    return X.astype(np.float64, copy=False)


def _squared(X: Any) -> Any:
    X = _float64(X)
    return X.multiply(X).tocsr() if sp.issparse(X) else X * X
