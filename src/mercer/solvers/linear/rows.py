"""The data matrix as solvers of linear machines use it: passes over rows, dense or CSR.

A pass is cut into the same pieces whatever the number of threads, and what pieces give is added in
their order: results do not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._threads import Workers
from mercer.solvers.linear import _passes

__all__ = ["Rows", "as_rows"]

# Numbers (nonzeros of sparse rows) in a piece: a few tenths of a millisecond of work.
PIECE = 1 << 20
# Rows scaled at once before they are multiplied with themselves.
PANEL = 1024
# Pieces of XᵀDX, each of which has a matrix of its own.
GRAM_PIECES = 8


class Rows:
    """n rows of d numbers, with a column of ones at the end where an intercept asks for it."""

    def __init__(self, X: Any, workers: Workers):
        self.X = X
        self.workers = workers
        self.n, self.d = X.shape
        self.is_sparse = sp.issparse(X)
        stored = X.nnz if self.is_sparse else X.size
        self.pieces = _cut(self.n, stored // PIECE + 1)
        self.numbers = stored
        self.gram_rows = 0.0  # rows that went into XᵀDX so far

    def _parts(self, pieces: list[slice]) -> Iterator[tuple]:
        """The arrays of each piece, as compiled passes take them."""
        for s in pieces:
            if self.is_sparse:
                X = self.X
                yield s, (X.indptr[s.start : s.stop + 1], X.indices, X.data)
            else:
                yield s, (self.X[s],)

    def scores(self, w: np.ndarray, b: float, out: np.ndarray | None = None) -> np.ndarray:
        """X w + b."""
        out = np.empty(self.n) if out is None else out
        run = _passes.csr_scores if self.is_sparse else _passes.dense_scores
        parts = self._parts(self.pieces)
        self.workers.map(lambda part: run(*part[1], w, b, out[part[0]]), parts)
        return out

    def sum(self, beta: np.ndarray) -> np.ndarray:
        """Xᵀβ."""
        run = _passes.csr_sum if self.is_sparse else _passes.dense_sum

        def one(part: tuple) -> np.ndarray:
            total = np.empty(self.d)
            run(*part[1], beta[part[0]], total)
            return total

        # Sparse pieces of wide data would each touch d numbers.
        pieces = self.pieces if self.numbers > 4 * self.d * len(self.pieces) else _cut(self.n, 1)
        return _in_order(self.workers.map(one, self._parts(pieces)))

    def gram(self, curvature: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """XᵀDX with the column of ones, (d+1) × (d+1), lower half."""
        self.gram_rows += np.count_nonzero(curvature)
        pieces = _cut(self.n, min(GRAM_PIECES, self.n // (4 * PANEL) + 1))

        def one(part: tuple) -> np.ndarray:
            s, arrays = part
            total = np.zeros((self.d + 1, self.d + 1))
            if self.is_sparse:
                _passes.csr_gram(*arrays, curvature[s], total)
            else:
                self._dense_gram(s, curvature, total, dtype)
            return total

        return _in_order(self.workers.map(one, self._parts(pieces)))

    def _dense_gram(self, s: slice, curvature: np.ndarray, total: np.ndarray, dtype: Any) -> None:
        panel = np.empty((2 * PANEL, self.d + 1), dtype=dtype)
        used = 0
        for first in range(s.start, s.stop, PANEL):
            last = min(first + PANEL, s.stop)
            used += _passes.dense_scale(self.X, curvature, first, last, panel[used:])
            if used >= PANEL or last == s.stop:
                block = panel[:used]
                total += block.T @ block
                used = 0

    def take(self, index: np.ndarray) -> Rows:
        """Some of the rows, copied together."""
        return Rows(self.X[index], self.workers)

    def sq_norms(self) -> np.ndarray:
        """‖x‖² of each row."""
        if self.is_sparse:
            out = np.empty(self.n)
            _passes.sq_norms_csr(self.X.indptr, self.X.data, out)
            return out
        return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)


def as_rows(X: Any, workers: Workers) -> Rows:
    """Rows of a C-contiguous array or of a CSR matrix, in float32 or float64."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if sp.issparse(X):
        X = sp.csr_matrix(X, dtype=dtype)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return Rows(X, workers)
    return Rows(np.ascontiguousarray(X, dtype=dtype), workers)


def _cut(n: int, pieces: int) -> list[slice]:
    ends = np.linspace(0, n, min(pieces, max(n, 1)) + 1).astype(np.int64).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]


def _in_order(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
