"""Kernel rows kept in float32 over a growing list of columns, within a byte budget.

The store is a ring: new rows take the next slots in turn and whatever was there is forgotten, so a
slot is only ever handed out one way. Rows of a request that are still held are used before any slot
of the same request is overwritten.
"""

from __future__ import annotations

import numpy as np

from mercer.gram._blocked import Gram, pieces
from mercer.gram._tile_sums import add_rows, pick

__all__ = ["COSTLY", "RowCache"]

# Columns a worker takes at a time. Rows of this length stay in the second-level cache.
CHUNK = 4096
# From so many multiplications on a kernel value is better kept than computed again.
COSTLY = 200
# Columns are cut where this divides their number, so that what was laid out for them can be used.
PANEL = 64
# The least number of rows a store holds, whatever the budget.
FEWEST_ROWS = 64


class RowCache:
    """Rows of K restricted to some columns.

    Parameters
    ----------
    gram : Gram
    columns : int array
        Samples of the Gram whose columns are kept.
    room : int
        How many columns may be there in the end (see `extend`).
    memory : float32 array
        For the rows: used from the front, so that one store after the other touches the same pages.
    """

    def __init__(self, gram: Gram, columns: np.ndarray, room: int, memory: np.ndarray):
        self.gram = gram
        self.columns = columns
        self.room = room
        n_rows = min(memory.size // room, gram.n)
        if n_rows < FEWEST_ROWS:
            n_rows, memory = FEWEST_ROWS, np.empty(FEWEST_ROWS * room, np.float32)
        self._rows = memory[: n_rows * room].reshape(n_rows, room)
        self._owner = np.full(n_rows, -1)  # column number whose row a slot holds
        self._slot = np.full(room, -1)  # and the way back
        self._next = 0
        self.block = gram.block(columns, np.float32)
        self.block.reserve(room, lambda size: gram.buffer("panels", (1, size), np.uint8)[0])

    @property
    def n(self) -> int:
        return self.columns.size

    @property
    def n_rows(self) -> int:
        return self._owner.size

    def extend(self, columns: np.ndarray) -> None:
        """Add columns at the end; rows that are held are completed."""
        if columns.size == 0:
            return
        old = self.n
        self.columns = np.concatenate([self.columns, columns])
        self.block = self.block.extended(self.gram.original(columns))
        held = np.flatnonzero(self._owner >= 0)
        if held.size == 0:
            return
        block, kernel = self.block.pick(self._owner[held]), self.gram.kernel
        begin = old - old % PANEL
        new = self.block[begin : self.n]

        def fill(part: slice) -> None:
            slots = held[part]
            tile = self.gram.buffer("tile", (slots.size, len(new)), np.float32)
            kernel.tile(block[part], new, tile)
            self._rows[slots, old : self.n] = tile[:, old - begin :]

        self.gram.workers.map(fill, pieces(held.size, 256))

    def sums(self, coef: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """K[first:, :] @ coef over the columns from ``first`` on; ``coef`` is one per column.

        And the sums of the bound on its error.
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
        """Of the bound on the error of sums (`SumError`)."""
        return self.gram.sum_error(np.float32).weight(coef, self.columns[which])

    def square(self, which: np.ndarray, out: np.ndarray, first: int) -> None:
        """K among the columns ``which`` into ``out``, whose leading first × first part is there.

        Values that are held are copied where computing them takes longer.
        """
        m = which.size
        slots = self._slot[which[first:]]
        if self.gram.cost_per_entry < COSTLY:
            slots = np.full(slots.size, -1)
        block = self.block.pick(which)

        def part(rows: slice) -> None:
            held = slots[rows.start - first : rows.stop - first]
            missing = np.flatnonzero(held < 0) + rows.start
            target = out[rows]
            if missing.size == target.shape[0]:
                self.gram.kernel.tile(block[rows], block, target)
            else:
                pick(self._rows, held, which, target)
                if missing.size:
                    tile = self.gram.buffer("tile", (missing.size, m), np.float32)
                    new = self.block.pick(which[missing])
                    self.gram.kernel.tile(new, block, tile)
                    out[missing] = tile
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
        block = self.block.pick(new)
        hit_weight, new_weight = self._weight(hits, hit_coef), self._weight(new, new_coef)

        def one(chunk: slice) -> None:
            ends = chunk.start, chunk.stop, total, bound
            if hits.size:
                add_rows(self._rows, hit_slots, hit_coef, hit_weight, *ends)
            for slots, part in runs:
                self.gram.kernel.tile(block[part], self.block[chunk], self._rows[slots, chunk])
                numbers = np.arange(slots.start, slots.stop)
                add_rows(self._rows, numbers, new_coef[part], new_weight[part], *ends)

        self.gram.workers.map(one, pieces(self.n, CHUNK))

    def _claim(self, which: np.ndarray) -> list[tuple[slice, slice]]:
        """Give each new row the next slot; runs of slots with the part of ``which`` they hold."""
        runs, begin = [], 0
        while begin < which.size:
            count = min(which.size - begin, self.n_rows - self._next)
            slots, part = slice(self._next, self._next + count), slice(begin, begin + count)
            gone = self._owner[slots]
            self._slot[gone[gone >= 0]] = -1
            self._owner[slots] = which[part]
            self._slot[which[part]] = np.arange(slots.start, slots.stop)
            runs.append((slots, part))
            self._next = (self._next + count) % self.n_rows
            begin += count
        return runs
