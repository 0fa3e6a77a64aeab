"""f = Kβ at all points, while β changes: who is up to date, and how exact f is.

Points out of play fall behind: they are kept with the β they have seen, and brought up to date by
tiles of what changed since, summed and forgotten. So a point that is left alone for long costs no
more than one that is not.

f is carried in float32 steps. Before an answer is given it is compared with float64 sums at some
points; where the difference matters it is summed afresh. It does not matter at points with β = 0
that are satisfied by far more than the error: neither the violation nor a loss depends on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mercer.gram import Gram
from mercer.problems.boxqp import BoxQP

__all__ = ["FIRST_PACE", "Values"]

# f is compared with float64 at so many points of either kind; an error above this share of tol is
# mended.
CHECKED = 256
ERROR_SHARE = 0.2
# The largest error at all points is taken for this many times the largest among those checked, and
# a point satisfied by this many times that is satisfied for sure.
UNSEEN = 2
SURE = 10
# Seconds for a float32 kernel value until that was timed, on at least so many.
FIRST_PACE = 0.75e-9
ENOUGH_TO_TIME = 1_000_000


class Values:
    """f = Kβ at the points of a Gram.

    Parameters
    ----------
    problem : BoxQP
    gram : Gram
    is_stopped : callable
        Once it returns True, updates are left unfinished.

    Attributes
    ----------
    f : float64 array
    error : float or float64 array
        An estimate of how far f is off, for all points or for each.
    """

    def __init__(self, problem: BoxQP, gram: Gram, is_stopped: Callable[[], bool]):
        self.problem = problem
        self.gram = gram
        self.is_stopped = is_stopped
        self.f = np.zeros(gram.n)
        self.error: float | np.ndarray = 0.0
        self._pace = FIRST_PACE
        self._behind: list[tuple[np.ndarray, np.ndarray]] = []
        self.forget()

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

    def leave(self, points: np.ndarray, beta: np.ndarray) -> None:
        """These points see no change of β from now on."""
        if points.size:
            self._behind.append((points, beta.copy()))

    def set(self, points: np.ndarray, f: np.ndarray) -> None:
        """f at some points, computed elsewhere."""
        self.f[points] = f
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
            count = self._add(self.f, now, beta - seen, self.is_stopped)
            if self.is_stopped():  # half done is as good as not begun
                self.f[now] = 0.0
                self._behind.append((now, np.zeros_like(beta)))
            elif count >= ENOUGH_TO_TIME:
                self._pace = (time.perf_counter() - began) / count
            if waits.any():
                self._behind.append((points[waits], seen))

    def forget(self) -> None:
        """Begin again: f is up to date nowhere."""
        self.f[:] = 0.0
        self._behind = [(np.arange(self.gram.n), np.zeros(self.problem.n_variables))]

    def caught_up(self, beta: np.ndarray, stop: Callable[[], bool]) -> np.ndarray | None:
        """What f would be at all points, brought up to date; None if that was stopped."""
        f = self.f.copy()
        for points, seen in self._behind:
            self._add(f, points, beta - seen, stop)
        return None if stop() else f

    def complete(self, beta: np.ndarray) -> None:
        """Bring f up to date at all points, and estimate its error."""
        f = self.caught_up(beta, lambda: False)
        assert f is not None
        self.set(np.arange(self.gram.n), f)
        self.measure_error(beta)

    def seconds_afresh(self, beta: np.ndarray) -> float:
        """How long float64 sums at all points take, about."""
        return 2 * self._pace * self.gram.n * int(np.count_nonzero(beta))

    def seconds_behind(self, beta: np.ndarray) -> float:
        """How long it takes to bring f up to date, about."""
        count = sum(points.size * np.count_nonzero(beta - seen) for points, seen in self._behind)
        return self._pace * float(count)

    def _add(
        self, f: np.ndarray, at: np.ndarray, change: np.ndarray, stop: Callable[[], bool]
    ) -> int:
        """f[at] += K[at, :] change, in float32 tiles; how many kernel values that takes."""
        coef = self.problem.at_points(change, self.gram.n)
        rows = np.flatnonzero(coef)
        self.gram.accumulate(f, at, rows, coef[rows], np.float32, stop)
        return at.size * rows.size

    def is_exact(
        self,
        beta: np.ndarray,
        score: np.ndarray,
        tol: float,
        doubts_gap: Callable[[np.ndarray], bool] = lambda error: False,
    ) -> bool:
        """Whether f agrees with float64 sums where it matters; if not, it is summed afresh there.

        ``score`` says by how much each point violates, below 0: by how much it does not.
        ``doubts_gap`` says whether errors of this size at the points leave the gap in doubt.
        """
        involved = self.problem.at_points(np.abs(beta), self.gram.n) > 0
        some = np.concatenate([_some(involved), _some(~involved)])
        errors = self._errors_at(beta, some)
        unsure = float(errors.max())
        matters = involved | (score > -SURE * unsure)
        error = float(errors[matters[some]].max(initial=0.0))
        self.error = np.where(matters, error, unsure)
        if error <= ERROR_SHARE * tol and not doubts_gap(self.error):
            return True
        self.refresh(beta, np.flatnonzero(matters))
        return False

    def measure_error(self, beta: np.ndarray) -> None:
        """Estimate the error at all points."""
        self.error = float(self._errors_at(beta, _some(np.ones(self.gram.n, bool))).max())

    def refresh(self, beta: np.ndarray, at: np.ndarray | None = None) -> None:
        """f in float64, from scratch, at some points or at all."""
        if at is None:
            at, self._behind = np.arange(self.gram.n), []
            self.error = np.zeros(self.gram.n)
        self.f[at] = self.sums(beta, at)
        np.asarray(self.error)[at] = 0.0

    def _errors_at(self, beta: np.ndarray, some: np.ndarray) -> np.ndarray:
        """What errors at some points say of those at all of their kind."""
        return UNSEEN * np.abs(self.sums(beta, some) - self.f[some])

    def sums(self, beta: np.ndarray, at: np.ndarray) -> np.ndarray:
        """f at some points in float64, from scratch; nothing is kept."""
        out = np.zeros(self.gram.n)
        coef = self.problem.at_points(beta, self.gram.n)
        rows = np.flatnonzero(coef)
        self.gram.accumulate(out, at, rows, coef[rows], np.float64)
        return out[at]


def _some(mask: np.ndarray) -> np.ndarray:
    """Points of a mask, spread over all of them, to look at in place of all."""
    points = np.flatnonzero(mask)
    return points[:: max(1, points.size // CHECKED)]
