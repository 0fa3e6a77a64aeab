"""f = Kβ at all points while β changes: which points are up to date, and a bound on the error.

Inactive (shrunk) points are not updated: they are kept with the β they have seen, and brought up to
date by tiles of what changed since, which are summed and discarded. So a point that is inactive for
long costs no more than one that is not.

f is updated in float32 steps. A rigorous bound on its error is updated with it (`SumError`): Σ
over all changes of β of |Δβ_j| |k̂_ij| times the relative rounding of kernel values. Before an
answer is given, f is recomputed in float64 at the points where the bound matters: support vectors,
and points that may be on either side of the kink of their loss.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mercer.gram import BlockedGram
from mercer.gram._blocked import pieces
from mercer.problems._dual_qp import BoxQP

__all__ = ["FIRST_PACE", "Values"]

# Seconds for a float32 kernel value until that was timed, on at least TIMED_VALUES.
FIRST_PACE = 0.75e-9
TIMED_VALUES = 1_000_000
# Rows whose f is brought up to date between two looks at the clock, after the fit has to stop.
ROWS_BETWEEN_STOPS = 2048
# The sums of the bound are float32: of up to 1e6 updates they lose less than this factor.
FLOAT32_SUMS = 1.1


class Values:
    """f = Kβ at the points of a Gram.

    Parameters
    ----------
    problem : BoxQP
    gram : BlockedGram
    is_stopped : callable
        Once it returns True, updates are left unfinished.

    Attributes
    ----------
    f : float64 array
    sums : float32 array
        Of the bound on the error of f: Σ |k̂_ij| w_j over the float32 updates so far.
    """

    def __init__(self, problem: BoxQP, gram: BlockedGram, is_stopped: Callable[[], bool]):
        self.problem = problem
        self.gram = gram
        self.is_stopped = is_stopped
        self.f, self.sums = np.zeros(gram.n), np.zeros(gram.n, np.float32)
        self._variation = np.zeros(gram.n)  # Σ|Δβ| of each point over all updates
        self._exact_error = np.zeros(
            gram.n
        )  # of the last float64 sums, less that of the pairs then
        self.is_fresh = np.zeros(gram.n, bool)  # float64 sums of the present β
        self._pace = FIRST_PACE
        self._behind: list[tuple[np.ndarray, np.ndarray]] = []
        self.discard()

    # ---- the error --------------------------------------------------------------------------

    def count(self, points: np.ndarray, change: np.ndarray) -> None:
        """β of these points changed."""
        np.add.at(self._variation, points, np.abs(change))
        self.is_fresh[:] = False

    @property
    def error(self) -> np.ndarray:
        """A bound on the error of f at each point."""
        return self._error(self.sums)

    def _error(self, sums: np.ndarray) -> np.ndarray:
        error = self.gram.sum_error(np.float32).bound(FLOAT32_SUMS * sums, self._variation)
        return np.maximum(error + self._exact_error, 0.0)

    def recompute(
        self, beta: np.ndarray, at: np.ndarray, stop: Callable[[], bool] | None = None
    ) -> None:
        """f in float64, from scratch, at some points; nothing changes if it is stopped."""
        stop = stop or self.is_stopped
        coef = self.problem.at_points(beta, self.gram.n)
        f, error = self.gram.bounded_sums(coef, at, np.float64, stop)
        if not stop():
            self.restore(at, f, error)
            self.is_fresh[at] = True

    def restore(self, at: np.ndarray, f: np.ndarray, error: np.ndarray) -> None:
        """f at some points with a bound on its error, known from elsewhere."""
        self.f[at], self.sums[at] = f, 0.0
        pairs = self.gram.sum_error(np.float32).bound(np.zeros(at.size), self._variation, at)
        self._exact_error[at] = error - pairs

    # ---- who is up to date ------------------------------------------------------------------

    @property
    def is_complete(self) -> bool:
        """Whether f is up to date at all points."""
        return not self._behind

    def up_to_date(self) -> np.ndarray:
        """The points at which f is."""
        known = np.ones(self.gram.n, bool)
        for points, _ in self._behind:
            known[points] = False
        return np.flatnonzero(known)

    def deactivate(self, points: np.ndarray, beta: np.ndarray) -> None:
        """These points see no change of β from now on."""
        if points.size:
            self._behind.append((points, beta.copy()))

    def set(self, points: np.ndarray, f: np.ndarray, sums: np.ndarray) -> None:
        """f at some points and the sums of its bound, computed elsewhere in float32."""
        self.f[points], self.sums[points] = f, sums
        self._exact_error[points] = 0.0
        known = np.zeros(self.gram.n, bool)
        known[points] = True
        behind = [(others[~known[others]], seen) for others, seen in self._behind]
        self._behind = [(others, seen) for others, seen in behind if others.size]

    def catch_up(self, beta: np.ndarray, may_wait: np.ndarray | None = None) -> None:
        """Bring f up to date, except at points that ``may_wait`` (a mask)."""
        behind, self._behind = self._behind, []
        for points, seen in behind:
            waits = np.zeros(points.size, bool) if may_wait is None else may_wait[points]
            now = points[~waits]
            began = time.perf_counter()
            count = self._add(self.f, self.sums, now, beta - seen, self.is_stopped)
            if self.is_stopped():  # half done is as good as not begun
                self.f[now] = self.sums[now] = self._exact_error[now] = 0.0
                self._behind.append((now, np.zeros_like(beta)))
            elif count >= TIMED_VALUES:
                self._pace = (time.perf_counter() - began) / count
            if waits.any():
                self._behind.append((points[waits], seen))

    def discard(self) -> None:
        """Begin again: f is up to date nowhere."""
        self.f[:] = self.sums[:] = self._exact_error[:] = 0.0
        self._behind = [(np.arange(self.gram.n), np.zeros(self.problem.n_variables))]

    def caught_up(
        self, beta: np.ndarray, stop: Callable[[], bool]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """f at all points, brought up to date, and its error; None if that was stopped."""
        f, sums = self.f.copy(), self.sums.copy()
        for points, seen in self._behind:
            self._add(f, sums, points, beta - seen, stop)
        return None if stop() else (f, self._error(sums))

    def complete(self, beta: np.ndarray, stop: Callable[[], bool] = lambda: False) -> None:
        """Bring f up to date at all points; after ``stop()`` its error is infinite."""
        for points, seen in self._behind:
            change = beta - seen
            for part in pieces(points.size, ROWS_BETWEEN_STOPS):
                if stop():
                    self.f[points[part]], self._exact_error[points[part]] = 0.0, np.inf
                else:
                    self._add(self.f, self.sums, points[part], change, lambda: False)
        self._behind = []

    def seconds_to_recompute(self, beta: np.ndarray, at: np.ndarray) -> float:
        """How long float64 sums at some points take, about."""
        return 2 * self._pace * at.size * int(np.count_nonzero(beta))

    def seconds_behind(self, beta: np.ndarray) -> float:
        """How long it takes to bring f up to date, about."""
        count = sum(points.size * np.count_nonzero(beta - seen) for points, seen in self._behind)
        return self._pace * float(count)

    def _add(
        self,
        f: np.ndarray,
        sums: np.ndarray,
        at: np.ndarray,
        change: np.ndarray,
        stop: Callable[[], bool],
    ) -> int:
        """f[at] += K[at, :] change, in float32 tiles; how many kernel values that takes."""
        coef = self.problem.at_points(change, self.gram.n)
        rows = np.flatnonzero(coef)
        self.gram.accumulate(f, at, rows, coef[rows], np.float32, stop, sums)
        return at.size * rows.size
