"""K computed tile by tile: nothing of it is kept.

Tiles have a fixed size and are computed over a pool of workers, so that the numbers do not depend
on how many there are. A precomputed matrix is a `BlockedGram` of the kernel `Precomputed`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np

from mercer._precision import UNIT
from mercer._threads import SERIAL, Workers
from mercer.gram._base import Rows, never
from mercer.gram._buffer_pool import BufferPool, Scratch, give_back
from mercer.gram._machine import MACHINE, MachineModel, pieces, snake_order
from mercer.gram._row_cache import RowCache
from mercer.gram._sum_error import SumError
from mercer.gram._tile_sums import (
    add_product,
    add_tile,
    add_tile_bounded,
    add_tile_mirrored,
    terms_of_sum,
)
from mercer.kernels._normalize import PlusDiagonal
from mercer.kernels._samples import SampleBlock, Samples

__all__ = ["BlockedGram"]


class BlockedGram:
    """The kernel matrix of some samples.

    Parameters
    ----------
    kernel : Kernel
    points : Samples
    workers : Workers, see `threads`
    index : int array, optional: which of the samples
    machine : MachineModel, for the sizes of tiles

    Attributes
    ----------
    object_cost : float
        As `MachineModel.object_cost`.
    borrowed : list
        Memory for cached kernel values, which `release` returns.
    """

    def __init__(
        self,
        kernel: Any,
        points: Samples,
        workers: Workers | None = None,
        index: np.ndarray | None = None,
        machine: MachineModel = MACHINE,
    ):
        self.kernel, self.is_psd = kernel, kernel.is_psd
        self.points = points if points.kernel is kernel else kernel.prepare(points)
        self.workers = workers or SERIAL
        self.index, self.machine = index, machine
        self.object_cost = machine.object_cost(kernel, self.points)
        self.n = points.n if index is None else index.size
        self.parts: Sequence[tuple[Hashable, int]] = ()
        self._diag: np.ndarray | None = None
        self._shared: dict[Hashable, Any] = {}
        self._sum_errors: dict[np.dtype, SumError] = {}
        self.borrowed: list[BufferPool] = []
        self.scratch = Scratch(self.borrowed)

    @cached_property
    def cost_per_entry(self) -> float:
        return self.kernel.cost_per_entry(self.points)

    def take(
        self,
        index: np.ndarray,
        workers: Workers | None = None,
        parts: Sequence[tuple[Hashable, int]] = (),
    ) -> BlockedGram:
        """The Gram of some of the samples; it shares memory and what is computed per sample.

        ``parts`` (key, count) name the two consecutive classes that the samples consist of:
        `class_blocks` then computes K within a class once for all Grams taken with its key.
        """
        part = copy(self)
        part.index, part.n, part.parts = self.original(index), index.size, parts
        part.workers = workers or self.workers
        part._diag, part._sum_errors = None, {}
        return part

    def with_diagonal(self, d: np.ndarray) -> BlockedGram:
        """The Gram of K + diag(d), for all of its points; nothing computed is shared."""
        values = np.zeros(self.points.n)
        values[self.original(np.arange(self.n))] = d
        kernel = PlusDiagonal(self.kernel, values)
        return BlockedGram(kernel, self.points, self.workers, self.index, self.machine)

    def recentred(self, origin: np.ndarray) -> BlockedGram:
        """The Gram of the samples less ``origin``."""
        moved = Samples(self.points.X, origin)
        return BlockedGram(self.kernel, moved, self.workers, self.index, self.machine)

    @contextmanager
    def threads(self, count: int) -> Iterator[Workers]:
        """Compute with ``count`` threads inside the context, with one after it."""
        try:
            with Workers(count) as self.workers:
                yield self.workers
        finally:
            self.workers = SERIAL

    def original(self, rows: Any) -> Any:
        """The row numbers in the `Samples`."""
        return rows if self.index is None else self.index[rows]

    def sample_block(self, rows: Rows, dtype: Any) -> SampleBlock:
        """Samples as the kernel takes them, in the precision ``dtype``."""
        if isinstance(rows, SampleBlock):
            return rows
        return self.points.take(self.original(rows), dtype)

    def diag(self, rows: np.ndarray | None = None) -> np.ndarray:
        """k(x, x) in float64, of some samples or of all."""
        kernel, known = self.points.diagonal
        if self._diag is None and kernel is self.kernel:
            self._diag = known if self.index is None else known[self.index]
        if self._diag is None:
            if rows is not None:
                return self.kernel.diag(self.sample_block(rows, np.float64))
            cut = pieces(self.n, self.machine.row_chunk)
            parts = [self.kernel.diag(self.sample_block(part, np.float64)) for part in cut]
            self._diag = np.concatenate(parts)
        return self._diag.copy() if rows is None else self._diag[rows]

    def block(
        self, rows: Rows, cols: Rows, dtype: Any = np.float64, out: np.ndarray | None = None
    ) -> np.ndarray:
        """K[rows, cols], into ``out`` if it is given."""
        A, B = self.sample_block(rows, dtype), self.sample_block(cols, dtype)
        if out is None:
            out = np.empty((len(A), len(B)), dtype)
        self.kernel.tile(A, B, out)
        return out

    def scratch_block(self, A: SampleBlock, B: SampleBlock) -> np.ndarray:
        """K of two blocks in this thread's scratch memory, valid until its next call."""
        tile = self.scratch.buffer("tile", (len(A), len(B)), A.dtype)
        self.kernel.tile(A, B, tile)
        return tile

    def matvec(
        self,
        V: np.ndarray,
        rows: np.ndarray | None = None,
        dtype: Any = np.float64,
        stop: Callable[[], bool] = never,
    ) -> np.ndarray:
        """K[rows] @ V for V of shape (n,) or (n, m); nothing is stored.

        Once ``stop()`` is true the rest is not computed.
        """
        at = slice(0, self.n) if rows is None else rows
        here, there = (self.sample_block(r, dtype) for r in (at, slice(0, self.n)))
        W = V.reshape(self.n, -1)
        out = np.zeros((len(here), W.shape[1]))
        W = np.ascontiguousarray(W if W.shape[1] == 1 else W.astype(dtype))

        def one(chunk: slice) -> None:
            A = here[chunk]
            for part in pieces(self.n, self.machine.tile_columns):
                if stop():
                    return
                add_product(self.scratch_block(A, there[part]), W[part], out[chunk])

        self.workers.map(one, pieces(len(here), self.machine.tile_rows // 2))
        return out.reshape(len(here), *V.shape[1:])

    def sum_error(self, dtype: Any) -> SumError:
        """The error bound of sums of kernel values in ``dtype``."""
        dtype = np.dtype(dtype)
        if dtype not in self._sum_errors:
            key = ("sum error", dtype)
            if key not in self._shared:
                rounding = self.kernel.rounding(self.points, dtype)
                n, columns = rounding.relative.size, self.machine.tile_columns
                terms = max(terms_of_sum(n, n), terms_of_sum(n, columns))
                self._shared[key] = SumError(rounding, rounding, terms)
            error = self._shared[key]
            self._sum_errors[dtype] = error if self.index is None else error.take(self.index)
        return self._sum_errors[dtype]

    def bounded_sums(
        self,
        coef: np.ndarray,
        at: np.ndarray,
        dtype: Any = np.float64,
        stop: Callable[[], bool] = never,
    ) -> tuple[np.ndarray, np.ndarray]:
        """K[at] @ coef with a rigorous bound on the error of each sum.

        ``coef`` has an entry for each point; nothing is stored.
        """
        rows = np.flatnonzero(coef)
        total, bound, others = np.zeros(self.n), np.zeros(self.n), at
        if rows.size > self.machine.symmetric_rows:
            is_row, is_at = np.zeros((2, self.n), bool)
            is_row[rows], is_at[at] = True, True
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

        Row blocks are assigned to a fixed number of accumulators, whatever the number of threads.
        """
        weight = self.sum_error(dtype).weight(coef, rows)
        block, cut = self.sample_block(rows, dtype), pieces(rows.size, self.machine.tile_side)
        n_lanes = self.machine.lanes
        lanes = snake_order(len(cut), n_lanes)
        sums = np.zeros((n_lanes, 2, rows.size))

        def one(lane: int) -> None:
            f, e = sums[lane]
            for i in lanes[lane]:
                here = cut[i]
                for there in cut[: i + 1]:
                    if stop():
                        return
                    tile = self.scratch_block(block[here], block[there])
                    add_tile_bounded(tile, coef[there], weight[there], f[here], e[here])
                    if there is not here:
                        scratch = self.scratch.buffer("mirrored", (2, tile.shape[1]))
                        add_tile_mirrored(
                            tile, coef[here], weight[here], f[there], e[there], *scratch
                        )

        self.workers.map(one, range(n_lanes))
        total[rows] += sums[:, 0].sum(axis=0)
        bound[rows] += sums[:, 1].sum(axis=0) + (n_lanes + len(cut)) * UNIT * np.abs(total[rows])

    def matrix(
        self,
        size: int | None = None,
        *,
        lasting: bool = True,
        out: np.ndarray | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> np.ndarray:
        """All of K, in the precision of ``out`` or else float64, padded with zeros to ``size``.

        A matrix that is not ``lasting`` lies in this thread's scratch memory, until its next call.
        Once ``stop()`` is true the rest is not computed.
        """
        n, side, is_scratch = self.n, size or self.n, out is None and not lasting
        held = self.scratch.whole_matrix(self.index, side, out, is_scratch)
        if held is not None:  # of a solve before this one
            return held
        if out is None:
            shape = (side, side)
            out = self.scratch.buffer("matrix", shape) if is_scratch else np.empty(shape)
        out[n:], out[:, n:] = 0.0, 0.0
        strip = self.machine.part_rows(self.machine.tile_rows // 4, self.object_cost, n)
        run = None if self.workers.n_threads == 1 else self.workers.map
        self.kernel.matrix(self.sample_block(slice(0, n), out.dtype), out[:n, :n], strip, run, stop)
        if is_scratch and (stop is None or not stop()):
            self.scratch.matrix_of = self.index, side
        return out

    def bounded_product(
        self, K: np.ndarray, coef: np.ndarray, support: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """K @ coef for the K of `matrix`, and a rigorous bound on the error of each sum.

        With ``support`` as sums over these columns alone, the others being zero: the fewer terms a
        sum has, the smaller is its bound.
        """
        n, side = self.n, K.shape[0]
        error = self.sum_error(np.float64)
        if support is not None:
            error = error.with_terms(min(support.size + 4, terms_of_sum(n, n)))
            K, side = np.ascontiguousarray(K[:, support]), support.size
            c, weight = coef[support], error.weight(coef[support], support)
        else:
            c, weight = np.zeros((2, side))
            c[:n], weight[:n] = coef, error.weight(coef)
        f, bound = np.zeros((2, K.shape[0]))
        add_tile_bounded(K, c, weight, f, bound)
        return f[:n], error.bound(bound[:n], coef)

    def class_blocks(self, dtype: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """K within the first of the two ``parts``, between them, and within the second.

        The block between them lies in this thread's scratch memory, until its next call.
        """
        head, tail = self.class_samples(dtype)
        cross = self.scratch.buffer("cross", (len(head), len(tail)), dtype)
        self.kernel.tile(head, tail, cross)
        (first, _), (second, _) = self.parts
        return self._within(first, head), cross, self._within(second, tail)

    def class_samples(self, dtype: Any) -> list[SampleBlock]:
        """The samples of each of the ``parts``, gathered once for all Grams that have it."""
        found, start = [], 0
        for key, count in self.parts:
            if (key, dtype) not in self._shared:
                self._shared[key, dtype] = self.sample_block(slice(start, start + count), dtype)
            found.append(self._shared[key, dtype])
            start += count
        return found

    def _within(self, key: Hashable, block: SampleBlock) -> np.ndarray:
        """K among the samples of a part, computed once for all Grams that have it."""
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
        stop: Callable[[], bool] = never,
        bound: np.ndarray | None = None,
    ) -> None:
        """total[at] += K[at, rows] @ coef, with kernel values of the precision ``dtype``.

        Each tile is computed, summed in float64 and discarded. Once ``stop()`` is true the rest is
        not computed. ``bound`` gets the weighted sums of `SumError`.
        """
        if at.size == 0 or rows.size == 0:
            return
        block = self.sample_block(rows, dtype)
        parts = pieces(rows.size, self.machine.tile_columns)
        weight = None if bound is None else self.sum_error(dtype).weight(coef, rows)

        def one(chunk: slice) -> None:
            if stop():
                return
            here = self.sample_block(at[chunk], dtype)
            sums, errors = np.zeros(len(here)), np.zeros(len(here))
            for part in parts:
                tile = self.scratch_block(here, block[part])
                if weight is None:
                    add_tile(tile, coef[part], sums)
                else:
                    add_tile_bounded(tile, coef[part], weight[part], sums, errors)
            total[at[chunk]] += sums
            if bound is not None:
                bound[at[chunk]] += errors + UNIT * np.abs(total[at[chunk]])

        self.workers.map(one, pieces(at.size, self.machine.tile_rows))

    def row_cache(self, columns: np.ndarray, capacity: int, cache_bytes: int) -> RowCache:
        """A cache of rows of K over some columns, in the memory that this thread's caches share.

        It ends the use of the one before, of this Gram and of all that share its memory.
        """
        memory = self.scratch.memory(min(cache_bytes, 4 * self.n**2))
        return RowCache(self, columns, capacity, memory)

    def full_row_cache(self, cache_bytes: int) -> RowCache:
        """A row cache that all columns are added to, in parts (`RowCache.extend`).

        What an earlier solve on this Gram left in it is still cached, unless this thread's memory
        was used for something else since then, or released.
        """
        rows = self.scratch.full_rows
        if rows is not None and rows.gram is self:
            rows.restart()
            return rows
        self.scratch.full_rows = self.row_cache(np.zeros(0, np.int64), self.n, cache_bytes)
        return self.scratch.full_rows

    def release(self) -> None:
        """Return the memory for cached kernel values, also of all Grams taken from this one."""
        while self.borrowed:
            give_back(self.borrowed.pop())
        self.scratch = Scratch(self.borrowed)
