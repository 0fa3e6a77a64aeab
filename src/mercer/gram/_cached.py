"""K of all points for methods that use every value many times: kept if it fits, else computed anew.

float64 values are kept if they fit into the byte budget, else float32 ones, else none: then each
use computes float32 tiles again. Sums are float64 in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.gram._blocked import TILE_COLUMNS, TILE_ROWS, Gram, pieces
from mercer.gram._tile_sums import add_tile

__all__ = ["CachedGram"]

# Products of float32 values with several vectors are summed so many terms at a time, then in
# float64: short sums lose nothing that matters.
TERMS_PER_SUM = 256


class CachedGram:
    """The kernel matrix within a byte budget.

    Parameters
    ----------
    gram : Gram
    cache_bytes : int
    dtype : float32 or float64, optional
        By default float64 if the matrix fits in it, else float32.

    Attributes
    ----------
    dtype : dtype
        The precision of the kernel values.
    K : array of shape (n, n) or None
        The matrix, where it is kept.
    """

    def __init__(self, gram: Gram, cache_bytes: int, dtype: Any = None):
        self.gram, n = gram, gram.n
        # Once this is true products are given up, and what they return is of no use.
        self.stop: Callable[[], bool] = lambda: False
        fits = 8 * n * n <= cache_bytes
        self.dtype = np.dtype(dtype or (np.float64 if fits else np.float32))
        self.K: np.ndarray | None = None
        need = self.dtype.itemsize * n * n
        if need <= cache_bytes:
            room = gram.memory(need + 8).view(np.uint8)[:need]
            self.K = gram.matrix(out=room.view(self.dtype).reshape(n, n))
        self._block = gram.block(slice(0, n), self.dtype)

    @property
    def n(self) -> int:
        return self.gram.n

    def tile(self, rows: np.ndarray, columns: slice) -> tuple[np.ndarray, np.ndarray]:
        """An array and the numbers of its rows that are K[rows, columns].

        What is not kept is valid until this thread's next call.
        """
        if self.K is not None:
            return self.K[:, columns], rows
        out = self.gram.buffer("tile", (rows.size, columns.stop - columns.start), self.dtype)
        self.gram.kernel.tile(self._block.pick(rows), self._block[columns], out)
        return out, np.arange(rows.size)

    def product(self, V: np.ndarray, dtype: Any = None) -> np.ndarray:
        """K @ V for V of shape (n, t); kernel values of another precision are computed anew."""
        dtype = np.dtype(dtype or self.dtype)
        kept = self.K if dtype == self.dtype else None
        block = self._block if dtype == self.dtype else self.gram.block(slice(0, self.n), dtype)
        out = np.zeros(V.shape)
        single = V.shape[1] == 1
        V = np.ascontiguousarray(V if single else V.astype(dtype))
        step = TILE_COLUMNS if kept is None else self.n

        def one(rows: slice) -> None:
            for columns in pieces(self.n, step):
                if self.stop():
                    return
                if kept is None:
                    width = columns.stop - columns.start
                    tile = self.gram.buffer("tile", (rows.stop - rows.start, width), dtype)
                    self.gram.kernel.tile(block[rows], block[columns], tile)
                else:
                    tile = kept[rows]
                _add(tile, V[columns], out[rows])

        self.gram.workers.map(one, pieces(self.n, TILE_ROWS // 2))
        return out


def _add(tile: np.ndarray, V: np.ndarray, out: np.ndarray) -> None:
    """out += tile @ V with sums in float64."""
    if V.shape[1] == 1:
        add_tile(tile, V[:, 0], out[:, 0])
        return
    step = V.shape[0] if tile.dtype == np.float64 else TERMS_PER_SUM
    for part in pieces(V.shape[0], step):
        out += tile[:, part] @ V[part]
