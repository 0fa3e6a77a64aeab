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
from mercer.gram._buffer_pool import BufferPool, borrow, give_back
from mercer.gram._sum_error import SumError
from mercer.gram._tile_sums import UNIT, add_tile, add_tile_bounded, add_tile_mirrored, terms_of_sum
from mercer.kernels._diagonal import PlusDiagonal
from mercer.kernels._samples import SampleBlock, Samples

__all__ = ["Gram", "pieces"]

# A tile of so many rows and columns stays in the second-level cache while it is mapped and summed.
TILE_ROWS = 1024
TILE_COLUMNS = 512
# Sums over more rows than SYMMETRIC_ROWS use the symmetry of K among them, by square tiles.
SYMMETRIC_ROWS = 2048
SYMMETRIC_TILE = 512
LANES = 8


def pieces(n: int, size: int) -> list[slice]:
    """0..n cut into slices of ``size``."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


class Gram:
    """The kernel matrix of some points.

    Parameters
    ----------
    kernel : Kernel
    points : Samples
    workers : Workers
    index : int array, optional
        Which of the points; all by default.
    """

    def __init__(
        self, kernel: Any, points: Samples, workers: Workers, index: np.ndarray | None = None
    ):
        self.kernel = kernel
        self.points = kernel.prepare(points)
        self.workers = workers
        self.index = index
        self.parts: Sequence[tuple[Hashable, int]] = ()
        self._shared: dict[Hashable, Any] = {}
        self._borrowed: list[BufferPool] = []
        self._sum_errors: dict[np.dtype, SumError] = {}
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

    def with_diagonal(self, d: np.ndarray) -> Gram:
        """The Gram of K + diag(d), for all of its points; nothing computed is shared."""
        values = np.zeros(self.points.n)
        values[self.original(np.arange(self.n))] = d
        return Gram(PlusDiagonal(self.kernel, values), self.points, self.workers, self.index)

    @property
    def cost_per_entry(self) -> float:
        """About how many multiply-adds a kernel value takes."""
        return self.kernel.cost_per_entry(self.points)

    def block(self, rows: slice | np.ndarray, dtype: Any) -> SampleBlock:
        """Samples as the kernel takes them, in the precision ``dtype``."""
        return self.points.take(self.original(rows), dtype)

    def original(self, rows: Any) -> Any:
        """Which of the `Samples` these are."""
        return rows if self.index is None else self.index[rows]

    def diag(self) -> np.ndarray:
        """k(x, x) of every point in float64."""
        parts = [self.kernel.diag(self.block(rows, np.float64)) for rows in pieces(self.n, 4096)]
        return np.concatenate(parts)

    def sum_error(self, dtype: Any) -> SumError:
        """How far sums of rows of K in ``dtype`` are off."""
        dtype = np.dtype(dtype)
        if dtype not in self._sum_errors:
            key = ("sum error", dtype)
            if key not in self._shared:
                n = self.points.n
                rounding = self.kernel.rounding(self.points, dtype)
                terms = max(terms_of_sum(n, n), terms_of_sum(n, TILE_COLUMNS))
                self._shared[key] = SumError(rounding, rounding, terms)
            whole = self._shared[key]
            self._sum_errors[dtype] = whole if self.index is None else whole.take(self.index)
        return self._sum_errors[dtype]

    def bounded_sums(
        self,
        coef: np.ndarray,
        at: np.ndarray,
        dtype: Any = np.float64,
        stop: Callable[[], bool] = lambda: False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """K[at] @ coef with a rigorous bound on the error of each sum.

        ``coef`` has an entry for each point; nothing is stored.
        """
        rows = np.flatnonzero(coef)
        total, bound = np.zeros(self.n), np.zeros(self.n)
        others = at
        if rows.size > SYMMETRIC_ROWS:
            is_row, is_at = np.zeros(self.n, bool), np.zeros(self.n, bool)
            is_row[rows] = True
            is_at[at] = True
            if is_at[rows].all():  # K among the rows is symmetric: half of it is computed
                self._accumulate_symmetric(total, bound, rows, coef[rows], dtype, stop)
                others = at[~is_row[at]]
        self.accumulate(total, others, rows, coef[rows], dtype, stop, bound)
        return total[at], self.sum_error(dtype).bound(bound[at], coef, at)

    def _accumulate_symmetric(
        self,
        total: np.ndarray,
        bound: np.ndarray,
        rows: np.ndarray,
        coef: np.ndarray,
        dtype: Any,
        stop: Callable[[], bool],
    ) -> None:
        """total[rows] += K[rows, rows] @ coef and the sums of its bound, from half of the tiles.

        Row blocks are dealt to LANES accumulators in snake order, whatever the number of threads.
        """
        weight = self.sum_error(dtype).weight(coef, rows)
        block, cut = self.block(rows, dtype), pieces(rows.size, SYMMETRIC_TILE)
        lanes: list[list[int]] = [[] for _ in range(LANES)]
        for turn, i in enumerate(reversed(range(len(cut)))):
            place = turn % (2 * LANES)
            lanes[min(place, 2 * LANES - 1 - place)].append(i)
        sums = np.zeros((LANES, 2, rows.size))

        def one(lane: int) -> None:
            f, e = sums[lane]
            for i in lanes[lane]:
                here = cut[i]
                for there in cut[: i + 1]:
                    if stop():
                        return
                    shape = here.stop - here.start, there.stop - there.start
                    tile = self.buffer("tile", shape, dtype)
                    self.kernel.tile(block[here], block[there], tile)
                    add_tile_bounded(tile, coef[there], weight[there], f[here], e[here])
                    if there is not here:
                        scratch = self.buffer("mirrored", (2, shape[1]))
                        add_tile_mirrored(
                            tile, coef[here], weight[here], f[there], e[there], *scratch
                        )

        self.workers.map(one, range(LANES))
        total[rows] += sums[:, 0].sum(axis=0)
        bound[rows] += sums[:, 1].sum(axis=0) + (LANES + len(cut)) * UNIT * np.abs(total[rows])

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
        if self.kernel.is_shift_invariant:  # k(x, x) is known exactly
            np.fill_diagonal(out[:n, :n], self.diag())
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

    def part_blocks(self, dtype: Any) -> list[SampleBlock]:
        """The points of each part, gathered once for all that `take` it."""
        found, start = [], 0
        for key, count in self.parts:
            if (key, dtype) not in self._shared:
                self._shared[key, dtype] = self.block(slice(start, start + count), dtype)
            found.append(self._shared[key, dtype])
            start += count
        return found

    def _within(self, key: Hashable, block: SampleBlock) -> np.ndarray:
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
        bound: np.ndarray | None = None,
    ) -> None:
        """total[at] += K[at, rows] @ coef, with kernel values of the precision ``dtype``.

        Each tile is computed, summed in float64 and discarded. Once ``stop()`` is true what is left
        is not computed. ``bound`` gets the weighted sums of `SumError`.
        """
        if at.size == 0 or rows.size == 0:
            return
        block = self.block(rows, dtype)
        parts = pieces(rows.size, TILE_COLUMNS)
        weight = None if bound is None else self.sum_error(dtype).weight(coef, rows)

        def one(chunk: slice) -> None:
            if stop():
                return
            here = self.block(at[chunk], dtype)
            sums, errors = np.zeros(len(here)), np.zeros(len(here))
            for part in parts:
                tile = self.buffer("tile", (len(here), part.stop - part.start), dtype)
                self.kernel.tile(here, block[part], tile)
                if weight is None:
                    add_tile(tile, coef[part], sums)
                else:
                    add_tile_bounded(tile, coef[part], weight[part], sums, errors)
            total[at[chunk]] += sums
            if bound is not None:
                bound[at[chunk]] += errors + UNIT * np.abs(total[at[chunk]])

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
