"""A kernel bound to data: the matrix K that is never held whole.

Everything is computed in tiles of a fixed size over a pool of workers, so that the numbers do not
depend on how many there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from mercer._threads import Workers
from mercer.gram._rows import add_tile
from mercer.gram.arena import Arena, borrow, give_back
from mercer.kernels.points import Block, Points

__all__ = ["Gram", "pieces"]

# A tile of so many rows and columns stays in the second-level cache while it is mapped and summed.
TILE_ROWS = 1024
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
        self.parts: Sequence[tuple[Hashable, int]] = ()
        self._shared: dict[Hashable, Any] = {}
        self._borrowed: list[Arena] = []
        self._scratch = threading.local()

    @property
    def n(self) -> int:
        return self.points.n if self.index is None else self.index.size

    def take(
        self,
        rows: np.ndarray,
        workers: Workers | None = None,
        parts: Sequence[tuple[Hashable, int]] = (),
    ) -> Gram:
        """The Gram of some of the points.

        ``parts`` (key, count) say that these come in two parts others may take too, such as
        classes: `blocks` then computes K within a part once for all.
        """
        part = Gram(self.kernel, self.points, workers or self.workers, self.original(rows))
        part._scratch, part._borrowed = self._scratch, self._borrowed
        part._shared, part.parts = self._shared, parts
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

    def matrix(
        self, size: int | None = None, *, lasting: bool = True, out: np.ndarray | None = None
    ) -> np.ndarray:
        """K as a whole, in the precision of ``out`` or else float64; zeros pad it to ``size``.

        A matrix that is not ``lasting`` lies in this thread's scratch, until the next one.
        """
        n, side = self.n, size or self.n
        if out is None:
            out = np.empty((side, side)) if lasting else self.buffer("matrix", (side, side))
        out[n:], out[:, n:] = 0.0, 0.0
        block = self.block(slice(0, n), out.dtype)

        def lower_part(rows: slice) -> None:
            self.kernel.tile(block[rows], block[: rows.stop], out[rows, : rows.stop])
            out[: rows.start, rows] = out[rows, : rows.start].T

        self.workers.map(lower_part, pieces(n, TILE_ROWS // 4))
        return out

    def blocks(self, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """K within the first part, between the two, and within the second.

        The one between lies in this thread's scratch, until the next one.
        """
        head, tail = self.part_blocks(dtype)
        cross = self.buffer("cross", (len(head), len(tail)), dtype)
        self.kernel.tile(head, tail, cross)
        (first, _), (second, _) = self.parts
        return self._within(first, head), cross, self._within(second, tail)

    def part_blocks(self, dtype: Any) -> list[Block]:
        """The points of each part, gathered once for all that `take` it."""
        found, start = [], 0
        for key, count in self.parts:
            if (key, dtype) not in self._shared:
                self._shared[key, dtype] = self.block(slice(start, start + count), dtype)
            found.append(self._shared[key, dtype])
            start += count
        return found

    def _within(self, key: Hashable, block: Block) -> np.ndarray:
        """K among the points of a part, computed once for all that `take` it."""
        if key not in self._shared:
            K = np.empty((len(block), len(block)), block.dtype)
            self.kernel.tile(block, block, K)
            self._shared[key] = K
        return self._shared[key]

    def accumulate(
        self,
        total: np.ndarray,
        at: np.ndarray,
        rows: np.ndarray,
        coef: np.ndarray,
        dtype: Any = np.float64,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """total[at] += K[at, rows] @ coef, with kernel values of the precision ``dtype``.

        Nothing is stored: each tile is computed, summed in float64 and forgotten. Once ``stop()``
        is true what is left is not computed.
        """
        if at.size == 0 or rows.size == 0:
            return
        block = self.block(rows, dtype)
        parts = pieces(rows.size, TILE_COLUMNS)

        def one(chunk: slice) -> None:
            if stop():
                return
            here = self.block(at[chunk], dtype)
            sums = np.zeros(len(here))
            for part in parts:
                tile = self.buffer("tile", (len(here), part.stop - part.start), dtype)
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
            arena = borrow(n_bytes)
            self._borrowed.append(arena)
            held = self._scratch.memory = arena.values
        return held[: max(n_bytes // 4, 1)]

    def release(self) -> None:
        """Give back the room for kernel rows, of this Gram and of all taken from it."""
        self._scratch = threading.local()
        while self._borrowed:
            give_back(self._borrowed.pop())

    def buffer(self, name: str, shape: tuple[int, int], dtype: Any = np.float64) -> np.ndarray:
        """Scratch of this thread: fresh memory costs more to touch than a tile to compute."""
        need = shape[0] * shape[1] * np.dtype(dtype).itemsize
        held = getattr(self._scratch, name, None)
        if held is None or held.size < need:
            held = np.empty(need, np.uint8)
            setattr(self._scratch, name, held)
        return held[:need].view(dtype).reshape(shape)
