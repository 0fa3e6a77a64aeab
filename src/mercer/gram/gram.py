"""A kernel bound to data: the matrix K that is never held whole.

Everything is computed in tiles of a fixed size over a pool of workers, so that the numbers do not
depend on how many there are.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from mercer._threads import Workers
from mercer.gram._rows import add_tile
from mercer.kernels.points import Block, Points

__all__ = ["Gram", "pieces"]

# A tile of so many rows and columns stays in the second-level cache while it is mapped and summed.
TILE_ROWS = 256
TILE_COLUMNS = 512


def pieces(n: int, size: int) -> list[slice]:
    """0..n cut into slices of ``size``."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


class Gram:
    """The kernel matrix of some points.

    Parameters
    ----------
    kernel : Kernel
    points : Points
    workers : Workers
    index : int array, optional
        Which of the points; all by default.
    """

    def __init__(
        self, kernel: Any, points: Points, workers: Workers, index: np.ndarray | None = None
    ):
        self.kernel = kernel
        self.points = points
        self.workers = workers
        self.index = index
        self._scratch = threading.local()

    @property
    def n(self) -> int:
        return self.points.n if self.index is None else self.index.size

    def take(self, rows: np.ndarray, workers: Workers | None = None) -> Gram:
        """The Gram of some of the points."""
        part = Gram(self.kernel, self.points, workers or self.workers, self.original(rows))
        part._scratch = self._scratch
        return part

    @property
    def multiplications(self) -> float:
        """How many a kernel value takes, about."""
        X = self.points.X
        return X.nnz / max(self.points.n, 1) if self.points.is_sparse else float(self.points.d)

    def block(self, rows: slice | np.ndarray, dtype: Any) -> Block:
        """Points as the kernel takes them, in the precision ``dtype``."""
        return self.points.take(self.original(rows), dtype)

    def original(self, rows: Any) -> Any:
        """Which of the `Points` these are."""
        return rows if self.index is None else self.index[rows]

    def diag(self) -> np.ndarray:
        """k(x, x) of every point in float64."""
        parts = [self.kernel.diag(self.block(rows, np.float64)) for rows in pieces(self.n, 4096)]
        return np.concatenate(parts)

    def matrix(self, dtype: Any = np.float64, size: int | None = None) -> np.ndarray:
        """K as a whole, for small n; zeros pad it to ``size``."""
        n = self.n
        out = np.zeros((n if size is None else size,) * 2, dtype)
        block = self.block(slice(0, n), np.float64)
        direct = dtype == np.float64

        def lower_part(rows: slice) -> None:
            columns = slice(0, rows.stop)
            tile = out[rows, columns] if direct else self._buffer(rows.stop - rows.start, rows.stop)
            self.kernel.tile(block[rows], block[columns], tile)
            if not direct:
                out[rows, columns] = tile
            out[: rows.start, rows] = out[rows, : rows.start].T

        self.workers.map(lower_part, pieces(n, TILE_ROWS))
        return out

    def accumulate(
        self,
        total: np.ndarray,
        at: np.ndarray,
        rows: np.ndarray,
        coef: np.ndarray,
        dtype: Any = np.float64,
    ) -> None:
        """total[at] += K[at, rows] @ coef, with kernel values of the precision ``dtype``.

        Nothing is stored: each tile is computed, summed in float64 and forgotten.
        """
        if at.size == 0 or rows.size == 0:
            return
        block = self.block(rows, dtype)
        parts = pieces(rows.size, TILE_COLUMNS)

        def one(chunk: slice) -> None:
            here = self.block(at[chunk], dtype)
            sums = np.zeros(len(here))
            for part in parts:
                tile = self._buffer(len(here), part.stop - part.start, dtype)
                self.kernel.tile(here, block[part], tile)
                add_tile(tile, coef[part], sums)
            total[at[chunk]] += sums

        self.workers.map(one, pieces(at.size, TILE_ROWS))

    def memory(self, n_bytes: int) -> np.ndarray:
        """This thread's room for kernel rows, the same for one task after the other.

        Pages are only taken as they are written, and fresh ones cost more than the values in them.
        """
        held = getattr(self._scratch, "memory", None)
        if held is None or held.nbytes < n_bytes:
            held = self._scratch.memory = np.empty(max(n_bytes // 4, 1), np.float32)
        return held

    def _buffer(self, rows: int, columns: int, dtype: Any = np.float64) -> np.ndarray:
        """Scratch of this thread: fresh memory costs more to touch than a tile to compute."""
        need = rows * columns * np.dtype(dtype).itemsize
        held = getattr(self._scratch, "bytes", None)
        if held is None or held.size < need:
            held = self._scratch.bytes = np.empty(need, np.uint8)
        return held[:need].view(dtype).reshape(rows, columns)
