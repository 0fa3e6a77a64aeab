"""Shrinking (Joachims 1999, section 4): which points are active, and the kernel rows kept for them.

A point is active if it violates the KKT conditions or is free, or is among the next closest to
violating. f of inactive points is not updated (`LazyGradient`) until they are activated again.
Reads scores and β; changes the row cache and the record of who is up to date.
"""

from __future__ import annotations

import numpy as np

from mercer.gram import BlockedGram, RowCache
from mercer.solvers.smo._gradient import LazyGradient
from mercer.solvers.smo._settings import SMOSettings
from mercer.solvers.smo._working_set import set_difference

__all__ = ["ActiveSet"]


class ActiveSet:
    """Selects the active points and owns their row cache.

    Parameters
    ----------
    gram : BlockedGram
    gradient : LazyGradient
    cache_bytes : int
        For kernel rows.
    shrinking : bool
        Whether points may become inactive.
    settings : SMOSettings

    Attributes
    ----------
    all_rows : RowCache or None
        The cache over all columns seen so far, where none becomes inactive: without shrinking, or
        where kernel values are costly and the rows of many points fit.
    """

    def __init__(
        self,
        gram: BlockedGram,
        gradient: LazyGradient,
        cache_bytes: int,
        shrinking: bool,
        settings: SMOSettings,
    ):
        self.gram, self.gradient = gram, gradient
        self.cache_bytes, self.settings = cache_bytes, settings
        keeps_all = (
            gram.cost_per_entry >= gram.machine.costly_entry
            and cache_bytes >= 4 * settings.keep_all_fraction * gram.n**2
        )
        self.all_rows: RowCache | None = None
        if keeps_all or not shrinking:
            self.all_rows = gram.full_row_cache(cache_bytes)

    def add_points(self, new: np.ndarray, beta: np.ndarray) -> None:
        """Compute f at points that are considered for the first time."""
        if self.all_rows is None:
            may_wait = np.ones(self.gram.n, bool)
            may_wait[new] = False
            self.gradient.update(beta, may_wait)
        else:
            first = self.all_rows.n
            new = self.all_rows.extend(new)
            coef = self.gradient.coefficients(beta)[self.all_rows.columns]
            self.gradient.set_float32(new, *self.all_rows.sums(coef, first))

    def activate(self, rows: RowCache | None, score: np.ndarray, beta: np.ndarray) -> RowCache:
        """Select the active points out of all; the cache is extended, or else rebuilt."""
        points = self.all_rows.columns if self.all_rows else self._select(score)
        rows = rows or self.all_rows
        if rows is not None and points.size > self.settings.rebuild_fraction * rows.n:
            new = set_difference(points, rows.columns, self.gram.n)
            if rows.n + new.size <= rows.capacity:
                rows.extend(new)
                points = rows.columns
            else:
                rows = None
        else:
            rows = None
        known = self.gradient.up_to_date()
        self.gradient.deactivate(set_difference(known, points, self.gram.n), beta)
        return rows or self._new_cache(points)

    def shrink(self, rows: RowCache, score: np.ndarray, beta: np.ndarray) -> RowCache:
        """Make points inactive that are far from violating, if that is worth a new cache."""
        points = self._select(score)
        if self.all_rows or points.size > self.settings.rebuild_fraction * rows.n:
            return rows
        self.gradient.deactivate(set_difference(rows.columns, points, self.gram.n), beta)
        return self._new_cache(points)

    def _select(self, score: np.ndarray) -> np.ndarray:
        """Points that violate or are free, and the closest of the others."""
        s = self.settings
        wanted = int((1 + s.near_fraction) * np.count_nonzero(score > 0)) + s.working_set_size
        count = min(wanted, int(np.count_nonzero(score > -np.inf)))
        return np.sort(np.argpartition(-score, count - 1)[:count])

    def _new_cache(self, columns: np.ndarray) -> RowCache:
        capacity = min(int(self.settings.column_growth * columns.size), self.gram.n)
        return self.gram.row_cache(columns, capacity, self.cache_bytes)
