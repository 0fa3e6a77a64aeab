"""The fitted function f(x) = Σ cᵢ k(xᵢ, x) + b, over support vectors only.

Several outputs (the tasks of a multiclass model) share the kernel values: each tile of rows ×
support vectors is computed once and multiplied by the coefficients of every output that uses it.
Tiles are the same whatever the number of threads, so values do not depend on it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.gram._rows import add_tile
from mercer.kernels import Kernel, Linear
from mercer.kernels.points import Block, Points

__all__ = ["Expansion"]

# A tile of 512 × 1024 float32 values is 2 MB: it stays in the second-level cache between the kernel
# map and the product with the coefficients, and keeps Python's share of the time below a percent.
ROWS_PER_TILE = 512
VECTORS_PER_TILE = 1024
# Products of float32 values are summed so many at a time, then in float64: a sum over all vectors
# of one class is large, and its rounding would outweigh all the others once the classes cancel.
TERMS_PER_SUM = 128
# float32 tiles take half the time, and only time that matters is worth digits: models with fewer
# multiplications per row than this are evaluated in float64.
WORTH_FLOAT32 = 100_000
# How far float32 is off is measured on so many support vectors, not bounded: a worst-case bound in
# (γ, norms, Σ|c|) is some hundred times the error that occurs, since roundings of different support
# vectors cancel. A kernel of differences loses most near the support vectors, where it is largest;
# other kernels grow with the rows, and are always evaluated in float64.
# Values are computed in float32 if that error is at most FLOAT32_ERROR of the largest value. Signs
# are so in any case, and rows with a value within SAFETY times the error of zero again in float64.
PROBES = 128
FLOAT32_ERROR = 1e-5
SAFETY = 10.0
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


class Expansion:
    """A kernel expansion with one or several outputs.

    Parameters
    ----------
    kernel : Kernel
    support : Points
        The support vectors. For a precomputed kernel only their number matters.
    coef : float64 array of shape (m, n_support)
    b : float64 array of shape (n_outputs,)
    blocks : sequence of (start, stop, outputs), optional
        Row r of ``coef[:, start:stop]`` belongs to output ``outputs[r]``; by default row r is
        output r everywhere. One-vs-one models have one block per class.
    columns : int array, optional
        For a precomputed kernel: which columns of the kernel matrix are the support vectors'.
    """

    def __init__(
        self,
        kernel: Kernel,
        support: Points,
        coef: np.ndarray,
        b: np.ndarray,
        blocks: Sequence[tuple[int, int, np.ndarray]] | None = None,
        columns: np.ndarray | None = None,
    ):
        self.kernel = kernel
        self.support = support
        self.coef = np.atleast_2d(coef)
        self.b = np.asarray(b, dtype=np.float64)
        self.blocks = blocks or [(0, self.coef.shape[1], np.arange(self.coef.shape[0]))]
        self.columns = columns
        self._prepared: dict[Any, Any] = {}
        self._scratch = threading.local()

    @property
    def n_support(self) -> int:
        return self.coef.shape[1]

    def __getstate__(self) -> dict:
        return {k: v for k, v in self.__dict__.items() if k not in ("_prepared", "_scratch")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state, _prepared={}, _scratch=threading.local())

    def __call__(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """f at the rows of X (dense or CSR, like the support vectors): shape (n, n_outputs)."""
        error, scale = self._float32_error()
        return self._values(X, FLOAT64 if error > FLOAT32_ERROR * scale else FLOAT32, n_jobs)

    def exact(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """As the call, with float64 kernel values whatever they cost."""
        return self._values(X, FLOAT64, n_jobs)

    def signs(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """As the call, but only the signs are as good as float64's: all that votes need."""
        error, _ = self._float32_error()
        if error == np.inf:
            return self._values(X, FLOAT64, n_jobs)
        values = self._values(X, FLOAT32, n_jobs)
        near = np.flatnonzero((np.abs(values) <= SAFETY * error).any(axis=1))
        if near.size:
            values[near] = self._values(X[near], FLOAT64, n_jobs)
        return values

    def _values(self, X: Any, dtype: np.dtype, n_jobs: int | None) -> np.ndarray:
        n = X.shape[0]
        if self.n_support == 0:
            return np.tile(self.b, (n, 1))
        if type(self.kernel) is Linear:
            origin = self.support.origin
            return np.asarray((X if origin is None else X - origin) @ self.weights().T) + self.b
        out = np.tile(self.b, (n, 1))
        pieces = self._pieces(dtype)
        chunks = [slice(i, min(i + ROWS_PER_TILE, n)) for i in range(0, n, ROWS_PER_TILE)]
        if len(chunks) == 1:  # small inputs skip the ceremony
            self._add(X, pieces, out)
            return out
        with single_threaded_blas(), Workers(thread_count(n_jobs)) as workers:
            workers.map(lambda rows: self._add(X[rows], pieces, out[rows]), chunks)
        return out

    def values_of_kernel(self, X: Any) -> np.ndarray:
        """k(x, support vector) in float64, for a few rows at a time."""
        points = Points(X, self.support.origin)
        out = np.empty((points.n, self.n_support))
        vectors = self._vectors(slice(0, self.n_support), FLOAT64)
        self.kernel.tile(points.take(slice(0, points.n)), vectors, out)
        return out

    def weights(self) -> np.ndarray:
        """For the linear kernel: the w of each output, shape (n_outputs, d), less any origin's."""
        if "weights" not in self._prepared:
            W = np.zeros((self.b.size, self.support.d))
            for start, stop, outputs in self.blocks:
                vectors = self.support.rows(slice(start, stop), None)
                W[outputs] += self.coef[:, start:stop] @ vectors
            self._prepared["weights"] = W
        return self._prepared["weights"]

    def _add(self, X: Any, pieces: list, out: np.ndarray) -> None:
        """Add the kernel sums at some rows to ``out``."""
        dtype = pieces[0][0].dtype
        points = Points(X, self.support.origin)
        block = points.take(slice(0, points.n), dtype)
        tile = self._tile(dtype)
        for vectors, products in pieces:
            K = tile[: points.n, : len(vectors)]
            self.kernel.tile(block, vectors, K)
            if self.b.size == 1:
                add_tile(K, products, out[:, 0])
                continue
            for outputs, terms in products:
                total = np.zeros((points.n, len(outputs)))
                for part, coef in terms:
                    total += K[:, part] @ coef
                out[:, outputs] += total

    def _tile(self, dtype: Any) -> np.ndarray:
        """Scratch of this thread; fresh memory costs more than the kernel values put into it."""
        tile = getattr(self._scratch, dtype.name, None)
        if tile is None:
            width = min(VECTORS_PER_TILE, self.n_support)
            tile = np.empty((ROWS_PER_TILE, width), dtype=dtype)
            setattr(self._scratch, dtype.name, tile)
        return tile

    def _pieces(self, dtype: Any) -> list:
        """The support vectors in tiles: their block, and the coefficients that each tile meets."""
        if dtype not in self._prepared:
            tiles = [
                slice(i, min(i + VECTORS_PER_TILE, self.n_support))
                for i in range(0, self.n_support, VECTORS_PER_TILE)
            ]
            self._prepared[dtype] = [
                (self._vectors(tile, dtype), self._products(tile, dtype)) for tile in tiles
            ]
        return self._prepared[dtype]

    def _products(self, tile: slice, dtype: Any) -> Any:
        """The coefficients of a tile. With several outputs: for each block that it meets its
        outputs, and (columns, coefficients) of matrix products short enough that float32 sums lose
        nothing."""
        if self.b.size == 1:
            return self.coef[0, tile].copy()
        products = []
        length = TERMS_PER_SUM if dtype == FLOAT32 else VECTORS_PER_TILE
        for first, last, outputs in self.blocks:
            terms = []
            for start in range(max(first, tile.start), min(last, tile.stop), length):
                stop = min(start + length, last, tile.stop)
                coef = np.ascontiguousarray(self.coef[:, start:stop].T, dtype=dtype)
                terms.append((slice(start - tile.start, stop - tile.start), coef))
            if terms:
                products.append((outputs, terms))
        return products

    def _vectors(self, which: slice, dtype: Any) -> Block:
        if self.columns is None:
            return self.support.take(which, dtype)
        return Block(self.support, self.columns[which], dtype)

    def _float32_error(self) -> tuple[float, float]:
        """Largest error of float32 values at some support vectors, and the largest value there.

        Infinite where float32 is not worth it or cannot be trusted.
        """
        if "error" not in self._prepared:
            worth = self.n_support * self.support.d >= WORTH_FLOAT32
            found = (np.inf, 1.0)
            if worth and self.kernel.is_shift_invariant and self.columns is None:
                probes = np.unique(np.linspace(0, self.n_support - 1, PROBES).astype(np.intp))
                X = self.support.X[probes]
                exact, rounded = (self._values(X, dtype, 1) for dtype in (FLOAT64, FLOAT32))
                found = float(np.abs(exact - rounded).max()), float(np.abs(exact).max())
            self._prepared["error"] = found
        return self._prepared["error"]
