"""Products K V with the symmetric matrix K, of which no more than one half is ever kept.

K is cut into square tiles. Those on and below the diagonal serve both their own place and the one
mirrored at the diagonal. Tiles are kept in float64 as far as a byte budget goes; the others are
computed anew in each product, so that there is no cliff where K stops to fit.

Stripes of tiles are dealt to a fixed number of lanes, each with sums of its own that are added up
in the end: products are equal bit for bit for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.gram._blocked import Gram, pieces

__all__ = ["SymmetricGram"]

# 2 MB in float64: large enough for BLAS, small enough to be in cache for the mirrored product.
SIDE = 512
LANES = 16


class SymmetricGram:
    """V ↦ K V for the kernel matrix of some points, in float64.

    Parameters
    ----------
    gram : Gram
    budget_bytes : int
        For tiles that are kept. They lie in the Gram's memory: `Gram.release` ends their use.
    stop : callable
        Once it is true products are given up.
    """

    def __init__(self, gram: Gram, budget_bytes: int, stop: Callable[[], bool] = lambda: False):
        self.gram = gram
        self.stop = stop
        self.cut = pieces(gram.n, SIDE)
        self.block = gram.block(slice(0, gram.n), np.float64)
        tiles = [(i, j) for i in range(len(self.cut)) for j in range(i + 1)]
        ends = np.cumsum([self._size(i, j) for i, j in tiles])
        n_kept = int(np.searchsorted(ends, budget_bytes // 8, side="right"))
        kept_size = int(ends[n_kept - 1]) if n_kept else 0
        self._memory = gram.memory(8 * kept_size)[: 2 * kept_size].view(np.float64)
        starts = [0, *ends.tolist()]
        self._start = {tile: starts[t] for t, tile in enumerate(tiles[:n_kept])}
        self._computed: set[tuple[int, int]] = set()
        self._lanes = self._deal()
        self._sums = np.empty(0)

    @property
    def n(self) -> int:
        return self.gram.n

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
                self._add_stripe(i, V, sums)
                if self.stop():
                    return

        self.gram.workers.map(one, range(len(self._lanes)))
        return None if self.stop() else self._sums.sum(axis=0)

    def _add_stripe(self, i: int, V: np.ndarray, sums: np.ndarray) -> None:
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
        rows, columns = self.cut[i], self.cut[j]
        shape = rows.stop - rows.start, columns.stop - columns.start
        start = self._start.get((i, j))
        if start is None:
            T = self.gram.buffer("tile", shape)
        else:
            T = self._memory[start : start + shape[0] * shape[1]].reshape(shape)
            if (i, j) in self._computed:
                return T
            self._computed.add((i, j))
        self.gram.kernel.tile(self.block[rows], self.block[columns], T)
        return T

    def _size(self, i: int, j: int) -> int:
        rows, columns = self.cut[i], self.cut[j]
        return (rows.stop - rows.start) * (columns.stop - columns.start)

    def _deal(self) -> list[list[int]]:
        """Stripes, the longest first, dealt there and back, so that all lanes have as much."""
        n_lanes = min(LANES, len(self.cut))
        lanes: list[list[int]] = [[] for _ in range(n_lanes)]
        for turn, i in enumerate(reversed(range(len(self.cut)))):
            place = turn % (2 * n_lanes)
            lanes[min(place, 2 * n_lanes - 1 - place)].append(i)
        return lanes
