"""Which points are in play, and the kernel rows kept for them: see `nested`."""

from __future__ import annotations

import numpy as np

from mercer.gram import BlockedGram, RowCache
from mercer.problems._dual_qp import BoxQP
from mercer.solvers.smo._gradient import Values
from mercer.solvers.smo._working_set import without

__all__ = ["InPlay"]

# So many points close to violating join too, as a share of those that do or are free.
NEAR = 0.3
# A store of which less than this share is still wanted is built anew.
COMPACT = 0.8
# All columns stay in play if the rows of this share of the points can be kept.
KEPT_SHARE = 0.2
# The columns of a new store may grow by this factor before it is built anew.
ROOM = 1.25


class InPlay:
    """Chooses the points in play; those that leave see no change of β until they catch up.

    Parameters
    ----------
    gram : BlockedGram
    values : Values
    cache_bytes : int
        For kernel rows.
    spare : int
        Samples that are in play beyond those that have to be, at least.
    shrinking : bool
        Whether points may leave.

    Attributes
    ----------
    whole : RowCache or None
        All columns seen so far, where they stay in play: values are costly and there is room for
        the rows of many.
    """

    def __init__(
        self,
        gram: BlockedGram,
        values: Values,
        cache_bytes: int,
        spare: int,
        shrinking: bool,
    ):
        self.gram = gram
        self.values = values
        self.spare = spare
        self.cache_bytes = cache_bytes
        keep = gram.cost_per_entry >= gram.machine.costly_entry
        keep = keep and cache_bytes >= 4 * KEPT_SHARE * gram.n**2
        self.whole: RowCache | None = None
        if keep or not shrinking:
            self.whole = self._store(np.zeros(0, np.int64), gram.n)

    def see(self, new: np.ndarray, beta: np.ndarray, problem: BoxQP) -> None:
        """f at points that are looked at for the first time."""
        n = self.gram.n
        if self.whole is None:
            may_wait = np.ones(n, bool)
            may_wait[new] = False
            self.values.catch_up(beta, may_wait)
        else:
            first = self.whole.n
            self.whole.extend(new)
            coef = problem.at_points(beta, n)[self.whole.columns]
            self.values.set(new, *self.whole.sums(coef, first))

    def join(self, store: RowCache | None, score: np.ndarray, beta: np.ndarray) -> RowCache:
        """Columns in play out of all points: the old ones with more, or chosen anew."""
        points = self.whole.columns if self.whole else self._wanted(score)
        store = store or self.whole
        if store is not None and points.size > COMPACT * store.n:
            new = without(points, store.columns, self.gram.n)
            if store.n + new.size <= store.capacity:
                store.extend(new)
                points = store.columns
            else:
                store = None
        else:
            store = None
        self.values.deactivate(without(self.values.up_to_date(), points, self.gram.n), beta)
        return store or self._store(points)

    def leave(self, store: RowCache, score: np.ndarray, beta: np.ndarray) -> RowCache:
        """Fewer columns in play; the others wait outside, with the β they have seen."""
        points = self._wanted(score)
        if self.whole or points.size > COMPACT * store.n:
            return store
        self.values.deactivate(without(store.columns, points, self.gram.n), beta)
        return self._store(points)

    def _wanted(self, score: np.ndarray) -> np.ndarray:
        """Samples that violate or are free, and the nearest of the others."""
        wish = int((1 + NEAR) * np.count_nonzero(score > 0)) + self.spare
        count = min(wish, int(np.count_nonzero(score > -np.inf)))
        return np.sort(np.argpartition(-score, count - 1)[:count])

    def _store(self, columns: np.ndarray, room: int | None = None) -> RowCache:
        room = room or min(int(ROOM * columns.size), self.gram.n)
        return self.gram.row_cache(columns, room, self.cache_bytes)
