"""The data matrix as solvers of linear machines use it: passes over rows, dense or CSR.

A pass is cut into the same pieces whatever the number of threads, and what pieces give is added in
their order: results do not depend on the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._result import Halted
from mercer._threads import Workers
from mercer.problems._losses import UNIT
from mercer.solvers._stopping import Stopping
from mercer.solvers.linear import _bounded_sums as _bounded
from mercer.solvers.linear import _matvec as _passes

__all__ = ["Rows", "as_csr", "as_rows", "csr_arrays", "precise_dot"]

# Numbers (nonzeros of sparse rows) in a piece, a few tenths of a millisecond of work, and how many
# pieces there are at the most.
PIECE, MOST_PIECES = 1 << 18, 32
# Pieces of a sum have at least so many numbers for each column.
SUMMED = 6
# Rows scaled at once before they are multiplied with themselves.
PANEL = 1024
# Pieces of XᵀDX, each of which has a matrix of its own.
GRAM_PIECES = 8
# The smallest number above zero, some of which a product below the normal range may be off by, and
# what the bounds of rounding are multiplied by for their own.
LEAST, OVER = 1e-322, 1.001
# Arrays of at least so many columns with a smaller share of nonzeros are kept as CSR.
SPARSE_COLUMNS, SPARSE_SHARE = 64, 0.25


class Rows:
    """n rows of d numbers, with a column of ones at the end where an intercept asks for it."""

    def __init__(self, X: Any, workers: Workers):
        self.X = X
        self.workers = workers
        self._control: Stopping | None = None
        self.n, self.d = X.shape
        self.is_sparse = sp.issparse(X)
        self.stored = stored = int(X.nnz if self.is_sparse else X.size)
        count = min(max(1, stored // PIECE), MOST_PIECES)
        self.pieces = _cut(self.n, count)
        # Each piece of a sum touches d numbers, of wide data more than the piece has itself.
        self.summed = _cut(self.n, min(count, max(1, stored // (SUMMED * self.d))))

    @contextmanager
    def asking(self, stopping: Stopping) -> Iterator[None]:
        """Within, a pass that begins after the fit has to stop raises `Halted`."""
        self._control = stopping
        try:
            yield
        finally:
            self._control = None

    def _ask(self) -> None:
        if self._control is not None and self._control.stopped is not None:
            raise Halted

    def _parts(self, pieces: list[slice]) -> Iterator[tuple]:
        """The arrays of each piece, as compiled passes take them."""
        self._ask()
        for s in pieces:
            if self.is_sparse:
                indptr, columns, values = csr_arrays(self.X)
                yield s, (indptr[s.start : s.stop + 1], columns, values)
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
        return self._summed(
            _passes.csr_sum if self.is_sparse else _passes.dense_sum, beta, (self.d,)
        )

    def sides(self, beta: np.ndarray) -> np.ndarray:
        """Xᵀβ over β above and below zero: two rows, in one pass."""
        return self._summed(
            _passes.csr_sides if self.is_sparse else _passes.dense_sides, beta, (2, self.d)
        )

    def _summed(self, run: Callable, beta: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        def one(part: tuple) -> np.ndarray:
            total = np.empty(shape)
            run(*part[1], beta[part[0]], total)
            return total

        return _in_order(self.workers.map(one, self._parts(self.summed)))

    def bend(self, curvature: np.ndarray, w: np.ndarray, b: float) -> tuple[np.ndarray, float]:
        """XᵀD(X w + b), and the sum of D(X w + b), in one pass."""
        run = _passes.csr_bend if self.is_sparse else _passes.dense_bend

        def one(part: tuple) -> np.ndarray:
            total = np.empty(self.d + 1)
            total[self.d] = run(*part[1], curvature[part[0]], w, b, total[: self.d])
            return total

        total = _in_order(self.workers.map(one, self._parts(self.summed)))
        return total[: self.d], float(total[self.d])

    def gram(self, curvature: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """XᵀDX with the column of ones, (d+1) × (d+1), lower half."""
        used = int(np.count_nonzero(curvature))
        pieces = _cut(self.n, min(GRAM_PIECES, used // (4 * PANEL) + 1))

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
            self._ask()
            last = min(first + PANEL, s.stop)
            used += _passes.dense_scale(self.X, curvature, first, last, panel[used:])
            if used >= PANEL or last == s.stop:
                block = panel[:used]
                total += block.T @ block
                used = 0

    # ------------------------------------------------------------------ with bounds of rounding

    @cached_property
    def csr(self) -> sp.csr_matrix:
        """The rows as CSR."""
        return self.X if self.is_sparse else as_csr(self.X, self.workers)

    @cached_property
    def tops(self) -> np.ndarray:
        """The largest |x| of each column."""
        run = _bounded.csr_tops if self.is_sparse else _bounded.dense_tops

        def one(part: tuple) -> np.ndarray:
            out = np.empty(self.d)
            run(*part[1], out)
            return out

        parts = self.workers.map(one, self._parts(self.summed))
        return parts[0] if len(parts) == 1 else np.max(parts, axis=0)

    def score_error(self, w: np.ndarray) -> float:
        """By how much any score of `scores` may be off, some units of rounding of b and g apart."""
        return OVER * (self.d + 8) * UNIT * float(self.tops @ np.abs(w)) + self.d * LEAST

    def sum_error(self, size: float) -> np.ndarray:
        """By how much each column of `sum` or `sides` may be off, where Σ|β| = size."""
        return OVER * (self._length + 8) * UNIT * size * self.tops + self.n * LEAST

    @property
    def _length(self) -> int:
        """Of the longest chain of additions in a sum over rows."""
        return max(s.stop - s.start for s in self.summed) + len(self.summed) + 2

    def bounded_scores(
        self, w: np.ndarray, b: float, precise: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """X w + b and, for each row, by how much it may be off."""
        g, size = np.full(self.n, float(b)), np.zeros(self.n)
        if not w.any():
            return g, size
        run = _bounded.csr_sized_scores if self.is_sparse else _bounded.dense_sized_scores
        total, parts = np.empty(self.n), self._parts(self.pieces)
        self.workers.map(lambda part: run(*part[1], w, total[part[0]], size[part[0]]), parts)
        if precise:
            run = _bounded.csr_precise_scores if self.is_sparse else _bounded.dense_precise_scores
            parts = self._parts(self.pieces)
            self.workers.map(lambda part: run(*part[1], w, float(b), g[part[0]]), parts)
            size = ((self.d + 2) * UNIT) ** 2 * (size + abs(b))
            return g, OVER * (UNIT * np.abs(g) + size) + self.d * LEAST
        np.add(total, b, out=g)
        size *= (self.d + 2) * UNIT
        if b != 0:
            size += UNIT * np.abs(g)
        return g, OVER * size + self.d * LEAST

    def bounded_sum(self, beta: np.ndarray, precise: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Xᵀβ and, for each column, by how much it may be off."""
        if not beta.any():
            return np.zeros(self.d), np.zeros(self.d)
        run = _bounded.csr_sized_sum if self.is_sparse else _bounded.dense_sized_sum
        total, size = self._summed(run, beta, (2, self.d))
        if precise:
            run = _bounded.csr_precise_sum if self.is_sparse else _bounded.dense_precise_sum
            total, rest = np.zeros(self.d), np.zeros(self.d)
            for s, arrays in self._parts(self.summed):
                run(*arrays, beta[s], total, rest)
            total += rest
            size = UNIT * np.abs(total) + ((self.n + 2) * UNIT) ** 2 * size
        else:
            size = self._length * UNIT * size
        return total, OVER * size + self.n * LEAST

    def take(self, index: np.ndarray) -> Rows:
        """Some of the rows, copied together."""
        some = Rows(self.X[index], self.workers)
        some._control = self._control
        return some

    def around(self, shift: np.ndarray) -> Rows:
        """Dense rows less a shift, in float64."""
        return Rows(self.X - shift, self.workers)

    def sq_norms(self) -> np.ndarray:
        """‖x‖² of each row."""
        if self.is_sparse:
            out = np.empty(self.n)
            _passes.sq_norms_csr(self.X.indptr, self.X.data, out)
            return out
        return np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)


def as_rows(X: Any, workers: Workers) -> Rows:
    """Rows of an array or of a CSR matrix, in float32 or float64; few nonzeros are kept as CSR."""
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if sp.issparse(X):
        X = sp.csr_matrix(X, dtype=dtype)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return Rows(X, workers)
    X = np.ascontiguousarray(X, dtype=dtype)
    return Rows(as_csr(X, workers) if _has_few_nonzeros(X) else X, workers)


def _has_few_nonzeros(X: np.ndarray) -> bool:
    """Judged by some of the rows."""
    n, d = X.shape
    if d < SPARSE_COLUMNS:
        return False
    some = X[:: max(1, n // 500)]
    return bool(np.count_nonzero(some) < SPARSE_SHARE * some.size)


def as_csr(X: np.ndarray, workers: Workers) -> sp.csr_matrix:
    """The nonzeros of an array."""
    n, d = X.shape
    pieces = _cut(n, X.size // PIECE + 1)
    indptr = np.zeros(n + 1, np.int64)
    workers.map(lambda s: _passes.count_nonzeros(X[s], indptr[s.start + 1 : s.stop + 1]), pieces)
    np.cumsum(indptr, out=indptr)
    if indptr[-1] < np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    columns, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], X.dtype)
    workers.map(
        lambda s: _passes.take_nonzeros(X[s], indptr[s.start : s.stop + 1], columns, values), pieces
    )
    return sp.csr_matrix((values, columns, indptr), shape=(n, d), copy=False)


def precise_dot(x: np.ndarray, w: np.ndarray) -> float:
    """x·w with doubled precision."""
    out = np.empty(1)
    _bounded.dense_precise_scores(np.ascontiguousarray(x)[np.newaxis], w, 0.0, out)
    return float(out[0])


def csr_arrays(X: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row pointers, columns and values, as compiled passes take them."""
    return X.indptr, X.indices.view(f"u{X.indices.itemsize}"), X.data


def _cut(n: int, pieces: int) -> list[slice]:
    pieces = min(pieces, max(n, 1))
    ends = [n * k // pieces for k in range(pieces + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends)]


def _in_order(parts: list[np.ndarray]) -> np.ndarray:
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total
