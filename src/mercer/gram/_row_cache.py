"""Kernel rows kept in float32 over a growing list of columns, within a byte budget.

FIFO cache: new rows overwrite the oldest slots. Cached rows of a request are used before any slot
is overwritten by the same request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer.gram._machine import pieces
from mercer.gram._tile_sums import add_rows, pick

if TYPE_CHECKING:
    from mercer.gram._blocked import BlockedGram

__all__ = ["RowCache"]


class RowCache:
    """Rows of K restricted to some columns; made by `BlockedGram.row_cache`.

    Parameters
    ----------
    gram : BlockedGram
    columns : int array
        Samples of the Gram whose columns are kept.
    capacity : int
        The number of columns up to which `extend` may be called.
    memory : float32 array
        For the rows: used from the front, so that one cache after the other uses the same pages.
    """

    def __init__(self, gram: BlockedGram, columns: np.ndarray, capacity: int, memory: np.ndarray):
        self.gram = gram
        self.columns = columns
        self.capacity = capacity
        n_rows, fewest = min(memory.size // capacity, gram.n), gram.machine.fewest_cached_rows
        if n_rows < fewest:
            n_rows, memory = fewest, np.empty(fewest * capacity, np.float32)
        self._rows = memory[: n_rows * capacity].reshape(n_rows, capacity)
        self._owner = np.full(n_rows, -1)  # slot → column number of the row it holds
        self._slot = np.full(capacity, -1)  # column number → slot
        self._filled = np.zeros(n_rows, np.int64)  # columns that the row of a slot has
        self._next = 0
        self.samples = gram.sample_block(columns, np.float32)
        self.samples.reserve(
            capacity, lambda size: gram.scratch.buffer("panels", (1, size), np.uint8)[0]
        )
        self._all_columns, self._all_samples = columns, self.samples  # see `restart`

    @property
    def n(self) -> int:
        return self.columns.size

    @property
    def n_rows(self) -> int:
        return self._owner.size

    def restart(self) -> None:
        """Begin again without columns, for another problem on the same samples.

        Rows stay cached if the same columns are added in the same order (of each call, as a set).
        """
        self.columns = self._all_columns[:0]
        self.samples = self._all_samples[0:0]

    def extend(self, columns: np.ndarray) -> np.ndarray:
        """Add columns at the end, cached rows are completed; returns them in the cache's order."""
        old = self.n
        known = self._all_columns[old : old + columns.size]
        if known.size == columns.size and np.array_equal(np.sort(known), np.sort(columns)):
            columns = known  # of a solve before this one
        else:
            if self._all_columns.size > old:  # of a solve that saw others
                self._owner[:], self._slot[:] = -1, -1
                self._all_columns, self._all_samples = self.columns, self.samples
            self._all_columns = np.concatenate([self.columns, columns])
            self._all_samples = self.samples.extended(self.gram.original(columns))
        n = old + columns.size
        is_all = n == self._all_columns.size
        self.columns = self._all_columns[:n]
        self.samples = self._all_samples if is_all else self._all_samples[0:n]
        self._complete(np.flatnonzero((self._owner >= 0) & (self._filled < n)), old)
        return columns

    def _complete(self, held: np.ndarray, old: int) -> None:
        """Compute the columns from ``old`` on in some slots."""
        if held.size == 0:
            return
        self._filled[held] = self.n
        block = self.samples.pick(self._owner[held])
        begin = old - old % self.gram.machine.panel_columns
        new = self.samples[begin : self.n]

        def fill(part: slice) -> None:
            slots = held[part]
            tile = self.gram.scratch_block(block[part], new)
            self._rows[slots, old : self.n] = tile[:, old - begin :]

        self.gram.workers.map(fill, pieces(held.size, 256))

    def sums(self, coef: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """K[first:, :] @ coef at the columns from ``first`` on, and the sums of its error bound.

        ``coef`` has one entry per column.
        """
        total, bound = np.zeros(self.n), np.zeros(self.n, np.float32)
        which = np.flatnonzero(coef)
        slots = self._slot[which]
        held = slots >= 0
        hits = which[held]
        weight = self._weight(hits, coef[hits])
        add_rows(self._rows, slots[held], coef[hits], weight, first, self.n, total, bound)
        missing = which[~held]
        at, out, more = self.columns[first:], np.zeros(self.gram.n), np.zeros(self.gram.n)
        rows = self.columns[missing]
        self.gram.accumulate(out, at, rows, coef[missing], np.float32, bound=more)
        return total[first:] + out[at], bound[first:] + more[at]

    def _weight(self, which: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Weights of the error bound (`SumError.weight`)."""
        return self.gram.sum_error(np.float32).weight(coef, self.columns[which])

    def square(self, which: np.ndarray, out: np.ndarray, first: int) -> None:
        """K among the columns ``which`` into ``out``, whose leading first × first part is known.

        Cached values are copied where computing them takes longer (`MachineModel.costly_entry`).
        """
        m = which.size
        slots = self._slot[which[first:]]
        if self.gram.cost_per_entry < self.gram.machine.costly_entry:
            slots = np.full(slots.size, -1)
        block = self.samples.pick(which)

        def part(rows: slice) -> None:
            held = slots[rows.start - first : rows.stop - first]
            missing = np.flatnonzero(held < 0) + rows.start
            target = out[rows]
            if missing.size == target.shape[0]:
                self.gram.block(block[rows], block, np.float32, target)
            else:
                pick(self._rows, held, which, target)
                if missing.size:
                    new = self.samples.pick(which[missing])
                    out[missing] = self.gram.scratch_block(new, block)
            out[:first, rows] = target[:, :first].T
            if self.gram.kernel.is_shift_invariant:  # k(x, x) is known exactly
                numbers = np.arange(rows.start, rows.stop)
                out[numbers, numbers] = self.gram.kernel.diag(block[rows])

        middle = (first + m) // 2
        self.gram.workers.map(part, [slice(first, middle), slice(middle, m)])

    def add_to(
        self, total: np.ndarray, bound: np.ndarray, which: np.ndarray, coef: np.ndarray
    ) -> None:
        """total += K[:, which] @ coef over the columns; ``which`` are column numbers.

        ``bound`` gets the sums of the bound on its error.
        """
        slots = self._slot[which]
        held = slots >= 0
        hit_slots, hits, hit_coef = slots[held], which[held], coef[held]
        missing, missing_coef = which[~held], coef[~held]
        batches = pieces(missing.size, self.n_rows) or [slice(0, 0)]
        for part in batches:
            self._pass(total, bound, hit_slots, hits, hit_coef, missing[part], missing_coef[part])
            hit_slots, hits, hit_coef = hit_slots[:0], hits[:0], hit_coef[:0]

    def _pass(
        self,
        total: np.ndarray,
        bound: np.ndarray,
        hit_slots: np.ndarray,
        hits: np.ndarray,
        hit_coef: np.ndarray,
        new: np.ndarray,
        new_coef: np.ndarray,
    ) -> None:
        runs = self._claim(new) if new.size else []
        block = self.samples.pick(new)
        hit_weight, new_weight = self._weight(hits, hit_coef), self._weight(new, new_coef)

        def one(chunk: slice) -> None:
            ends = chunk.start, chunk.stop, total, bound
            if hits.size:
                add_rows(self._rows, hit_slots, hit_coef, hit_weight, *ends)
            for slots, part in runs:
                rows = self._rows[slots, chunk]
                self.gram.block(block[part], self.samples[chunk], np.float32, rows)
                numbers = np.arange(slots.start, slots.stop)
                add_rows(self._rows, numbers, new_coef[part], new_weight[part], *ends)

        self.gram.workers.map(one, pieces(self.n, self.gram.machine.row_chunk))

    def _claim(self, which: np.ndarray) -> list[tuple[slice, slice]]:
        """Assign the next slots to new rows; runs of slots with the part of ``which`` they hold."""
        runs, begin = [], 0
        while begin < which.size:
            count = min(which.size - begin, self.n_rows - self._next)
            slots, part = slice(self._next, self._next + count), slice(begin, begin + count)
            gone = self._owner[slots]
            self._slot[gone[gone >= 0]] = -1
            self._owner[slots] = which[part]
            self._slot[which[part]] = np.arange(slots.start, slots.stop)
            self._filled[slots] = self.n
            runs.append((slots, part))
            self._next = (self._next + count) % self.n_rows
            begin += count
        return runs
