"""K kept within a byte budget, for methods that use every value many times.

Both classes wrap a `BlockedGram` and compute what does not fit anew at each use. Sums are float64.

`CachedGram` keeps all of K or nothing: float64 values if they fit, else float32 ones, else none.
`SymmetricGram` keeps float64 tiles on and below the diagonal, as many as fit; each serves its own
place and the one mirrored at the diagonal. So its run time changes gradually with the budget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.gram._base import Gram, Rows, never
from mercer.gram._blocked import BlockedGram
from mercer.gram._machine import pieces, snake_order
from mercer.gram._sum_error import SumError
from mercer.gram._tile_sums import add_product
from mercer.kernels._samples import SampleBlock

__all__ = ["MEGABYTE", "CachedGram", "SymmetricGram"]

MEGABYTE = 1 << 20  # the unit of ``cache_size``


class _Wrapped:
    """The methods of the contract that are the wrapped Gram's.

    Once ``stop()`` is true products are given up, and what they return is undefined.
    """

    def __init__(self, gram: BlockedGram, stop: Callable[[], bool] = never):
        self.gram, self.n = gram, gram.n
        self.stop = stop

    @property
    def kernel(self) -> Any:
        """The kernel."""
        return self.gram.kernel

    @property
    def is_psd(self) -> bool | None:
        """As the wrapped Gram has it."""
        return self.gram.is_psd

    @property
    def cost_per_entry(self) -> float:
        """As the wrapped Gram has it: of a value that is not kept."""
        return self.gram.cost_per_entry

    def diag(self, rows: np.ndarray | None = None) -> np.ndarray:
        """k(x, x) in float64."""
        return self.gram.diag(rows)

    def block(
        self, rows: Rows, cols: Rows, dtype: Any = np.float64, out: np.ndarray | None = None
    ) -> np.ndarray:
        """K[rows, cols], into ``out`` if it is given."""
        return self.gram.block(rows, cols, dtype, out)

    def matrix(self) -> np.ndarray:
        """All of K in float64, a new array."""
        return self.gram.matrix()

    def sample_block(self, rows: Rows, dtype: Any) -> SampleBlock:
        """Samples prepared for `block`."""
        return self.gram.sample_block(rows, dtype)

    def take(self, index: np.ndarray) -> Gram:
        """The Gram of some of the samples; its values are computed, not kept."""
        return self.gram.take(index)

    def sum_error(self, dtype: Any) -> SumError:
        """The error bound of sums of kernel values in ``dtype``."""
        return self.gram.sum_error(dtype)

    def bounded_sums(
        self,
        coef: np.ndarray,
        at: np.ndarray,
        dtype: Any = np.float64,
        stop: Callable[[], bool] = never,
    ) -> tuple[np.ndarray, np.ndarray]:
        """K[at] @ coef from values computed anew, with a rigorous bound on each error."""
        return self.gram.bounded_sums(coef, at, dtype, stop)


class CachedGram(_Wrapped):
    """The whole kernel matrix if it fits into a byte budget.

    Parameters
    ----------
    gram : BlockedGram
    cache_bytes : int
    dtype : float32 or float64, optional
        By default float64 if the matrix fits in it, else float32.

    Attributes
    ----------
    dtype : dtype
        The precision of the kernel values.
    K : array of shape (n, n) or None
        The matrix, where it is kept; in the Gram's memory, so `BlockedGram.release` ends its use.
    """

    def __init__(self, gram: BlockedGram, cache_bytes: int, dtype: Any = None):
        super().__init__(gram)
        n = gram.n
        fits = 8 * n * n <= cache_bytes
        self.dtype = np.dtype(dtype or (np.float64 if fits else np.float32))
        self.K: np.ndarray | None = None
        need = self.dtype.itemsize * n * n
        if need <= cache_bytes:
            memory = gram.scratch.memory(need + 8).view(np.uint8)[:need]
            self.K = gram.matrix(out=memory.view(self.dtype).reshape(n, n))
        self._samples = gram.sample_block(slice(0, n), self.dtype)

    def tile(self, rows: np.ndarray, columns: slice) -> tuple[np.ndarray, np.ndarray]:
        """An array, and which of its rows are K[rows, columns].

        What is not kept is valid until this thread's next call.
        """
        if self.K is not None:
            return self.K[:, columns], rows
        tile = self.gram.scratch_block(self._samples.pick(rows), self._samples[columns])
        return tile, np.arange(rows.size)

    def matvec(
        self,
        V: np.ndarray,
        rows: np.ndarray | None = None,
        dtype: Any = None,
        stop: Callable[[], bool] | None = None,
    ) -> np.ndarray:
        """K[rows] @ V; kernel values of another precision than ``self.dtype`` are computed anew."""
        dtype, stop = np.dtype(dtype or self.dtype), stop or self.stop
        K = self.K
        if K is None or dtype != self.dtype:
            return self.gram.matvec(V, rows, dtype, stop)
        W = V.reshape(self.n, -1)
        W = np.ascontiguousarray(W if W.shape[1] == 1 else W.astype(dtype))
        n_out = self.n if rows is None else rows.size
        out = np.zeros((n_out, W.shape[1]))

        def one(chunk: slice) -> None:
            if not stop():
                add_product(K[chunk] if rows is None else K[rows[chunk]], W, out[chunk])

        self.gram.workers.map(one, pieces(n_out, self.gram.machine.tile_rows // 2))
        return out.reshape(n_out, *V.shape[1:])


class SymmetricGram(_Wrapped):
    """Products K V in float64 from tiles on and below the diagonal.

    Row blocks of tiles are assigned to a fixed number of lanes, each with its own sums that are
    added up at the end: products are equal bit for bit for any number of threads.

    Parameters
    ----------
    gram : BlockedGram
    budget_bytes : int
        For tiles that are kept, in the Gram's memory: `BlockedGram.release` ends their use.
    stop : callable
        Once it is true products are given up.
    """

    def __init__(self, gram: BlockedGram, budget_bytes: int, stop: Callable[[], bool] = never):
        super().__init__(gram, stop)
        self.cut = pieces(gram.n, gram.machine.tile_side)
        self._samples = gram.sample_block(slice(0, gram.n), np.float64)
        tiles = [(i, j) for i in range(len(self.cut)) for j in range(i + 1)]
        ends = np.cumsum([self._size(i, j) for i, j in tiles])
        n_kept = int(np.searchsorted(ends, budget_bytes // 8, side="right"))
        kept_size = int(ends[n_kept - 1]) if n_kept else 0
        self._memory = gram.scratch.memory(8 * kept_size)[: 2 * kept_size].view(np.float64)
        starts = [0, *ends.tolist()]
        self._start = {tile: starts[t] for t, tile in enumerate(tiles[:n_kept])}
        self._computed: set[tuple[int, int]] = set()
        self._lanes = snake_order(len(self.cut), min(2 * gram.machine.lanes, len(self.cut)))
        self._sums = np.empty(0)

    def matvec(
        self,
        V: np.ndarray,
        rows: np.ndarray | None = None,
        dtype: Any = np.float64,
        stop: Callable[[], bool] | None = None,
    ) -> np.ndarray:
        """K[rows] @ V; only products with all rows in float64 use the tiles that are kept."""
        if rows is not None or np.dtype(dtype) != np.float64:
            return self.gram.matvec(V, rows, dtype, stop or self.stop)
        found = self(V.reshape(self.n, -1))
        return np.zeros(V.shape) if found is None else found.reshape(V.shape)

    def __call__(self, V: np.ndarray) -> np.ndarray | None:
        """K V for V of shape (n, m); None if it was given up."""
        shape = (len(self._lanes), *V.shape)
        if self._sums.shape != shape:
            self._sums = np.empty(shape)

        def one(lane: int) -> None:
            if self.stop():
                return
            sums = self._sums[lane]
            sums[...] = 0.0
            for i in self._lanes[lane]:
                self._add_row_block(i, V, sums)
                if self.stop():
                    return

        self.gram.workers.map(one, range(len(self._lanes)))
        return None if self.stop() else self._sums.sum(axis=0)

    def _add_row_block(self, i: int, V: np.ndarray, sums: np.ndarray) -> None:
        rows = self.cut[i]
        for j in range(i + 1):
            if self.stop():
                return
            columns = self.cut[j]
            T = self._tile(i, j)
            sums[rows] += T @ V[columns]
            if j < i:
                sums[columns] += T.T @ V[rows]

    def _tile(self, i: int, j: int) -> np.ndarray:
        A, B = self._samples[self.cut[i]], self._samples[self.cut[j]]
        start = self._start.get((i, j))
        if start is None:
            return self.gram.scratch_block(A, B)
        T = self._memory[start : start + len(A) * len(B)].reshape(len(A), len(B))
        if (i, j) not in self._computed:
            self._computed.add((i, j))
            self.gram.block(A, B, np.float64, T)
        return T

    def _size(self, i: int, j: int) -> int:
        rows, columns = self.cut[i], self.cut[j]
        return (rows.stop - rows.start) * (columns.stop - columns.start)
