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
from mercer.kernels import Kernel, Linear, Precomputed
from mercer.kernels.points import Block, Points

__all__ = ["Expansion"]

# A tile of 256 × 1024 float32 values is 1 MB: it stays in the second-level cache between the kernel
# map and the product with the coefficients, and keeps Python's share of the time below a percent.
ROWS_PER_TILE = 256
VECTORS_PER_TILE = 1024
# float32 tiles take half the time, and only time that matters is worth digits: models with fewer
# multiplications per row than this are evaluated in float64.
WORTH_FLOAT32 = 100_000
# float32 is used if on this many support vectors it differs from float64 by at most so much of the
# largest value. Measured, not bounded: a worst-case bound in (γ, norms, Σ|c|) is some hundred times
# the error that occurs, since roundings of different support vectors cancel. Support vectors are
# the hardest rows: a kernel of differences loses most where it is largest, and the errors of dot
# kernels grow as the values do. The aim is 1e-5; the factor of ten is for rows unlike these.
PROBES = 128
FLOAT32_ERROR = 1e-6


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
        if self.n_support == 0:
            return np.tile(self.b, (X.shape[0], 1))
        if type(self.kernel) is Linear:
            return np.asarray(X @ self.weights().T) + self.b
        n = X.shape[0]
        out = np.tile(self.b, (n, 1))
        pieces = self._pieces(self._dtype())
        chunks = [slice(i, min(i + ROWS_PER_TILE, n)) for i in range(0, n, ROWS_PER_TILE)]
        if len(chunks) == 1:  # small inputs skip the ceremony
            self._add(X, pieces, out)
            return out
        with single_threaded_blas(), Workers(thread_count(n_jobs)) as workers:
            workers.map(lambda rows: self._add(X[rows], pieces, out[rows]), chunks)
        return out

    def weights(self) -> np.ndarray:
        """For the linear kernel: the w of each output, shape (n_outputs, d)."""
        if "weights" not in self._prepared:
            W = np.zeros((self.b.size, self.support.d))
            for start, stop, outputs in self.blocks:
                W[outputs] += self.coef[:, start:stop] @ self.support.X[start:stop]
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
            for part, outputs, coef in products:
                out[:, outputs] += K[:, part] @ coef

    def _tile(self, dtype: Any) -> np.ndarray:
        """Scratch of this thread; fresh memory costs more than the kernel values put into it."""
        tile = getattr(self._scratch, dtype.name, None)
        if tile is None:
            width = min(VECTORS_PER_TILE, self.n_support)
            tile = np.empty((ROWS_PER_TILE, width), dtype=dtype)
            setattr(self._scratch, dtype.name, tile)
        return tile

    def _pieces(self, dtype: Any) -> list:
        """The support vectors in tiles: their block, and the coefficients that each tile meets.

        Sums over one tile are taken in the tile's precision, sums over tiles in float64.
        """
        if dtype not in self._prepared:
            pieces = []
            for first in range(0, self.n_support, VECTORS_PER_TILE):
                last = min(first + VECTORS_PER_TILE, self.n_support)
                products = []
                for start, stop, outputs in self.blocks:
                    start, stop = max(start, first), min(stop, last)
                    if start < stop:
                        coef = np.ascontiguousarray(self.coef[:, start:stop].T, dtype=dtype)
                        # A slice of outputs is updated in place, an index array through a copy.
                        target = slice(None) if outputs.size == self.b.size else outputs
                        products.append((slice(start - first, stop - first), target, coef))
                pieces.append((self._vectors(slice(first, last), dtype), products))
            self._prepared[dtype] = pieces
        return self._prepared[dtype]

    def _vectors(self, which: slice, dtype: Any) -> Block:
        if self.columns is None:
            return self.support.take(which, dtype)
        return Block(self.support, self.columns[which], dtype)

    def _dtype(self) -> Any:
        """float32 where it is worth it and known to be right, else float64."""
        if "dtype" not in self._prepared:
            work = self.n_support * self.support.d
            small = isinstance(self.kernel, Precomputed) or work < WORTH_FLOAT32
            self._prepared["dtype"] = np.dtype(
                np.float64 if small or self._float32_error() > FLOAT32_ERROR else np.float32
            )
        return self._prepared["dtype"]

    def _float32_error(self) -> float:
        """Largest difference of float32 and float64 on some support vectors, relative."""
        probes = np.unique(np.linspace(0, self.n_support - 1, PROBES).astype(np.intp))
        values = []
        for dtype in (np.dtype(np.float64), np.dtype(np.float32)):
            out = np.tile(self.b, (probes.size, 1))
            self._add(self.support.X[probes], self._pieces(dtype), out)
            values.append(out)
        exact, rounded = values
        error = np.abs(exact - rounded).max() / max(np.abs(exact).max(), 1e-300)
        self._prepared.pop(np.dtype(np.float32 if error > FLOAT32_ERROR else np.float64))
        return float(error)
