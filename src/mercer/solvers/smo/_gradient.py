"""f = Kβ at all points while β changes (the gradient is f − target), and a bound on its error.

f of inactive (shrunk) points is not updated. For each of them the β of its last update is kept, and
the update K(β − β_last) is made when the point is activated again (LIBSVM's gradient
reconstruction), from tiles that are summed and discarded: one product, however often β changed.

f is updated with float32 kernel values. A rigorous bound on its error is updated with it
(`SumError`): Σ over all changes of β of |Δβ_j| |k̂_ij| times the relative rounding of kernel values.
At the end f is recomputed in float64 at the points where the bound matters: support vectors, and
points whose residual may have either sign.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import numpy as np

from mercer.gram import BlockedGram
from mercer.gram._base import never
from mercer.gram._machine import pieces
from mercer.problems._dual_qp import BoxQP
from mercer.solvers.smo._settings import SMOSettings

__all__ = ["LazyGradient", "Settled"]

# The sums of the bound are float32: rounding of up to 1e6 updates changes them by less than this
# factor.
FLOAT32_SUMS = 1.1


class LazyGradient:
    """f = Kβ at the points of a Gram, up to date at the active ones.

    Parameters
    ----------
    problem : BoxQP
    gram : BlockedGram
    is_stopped : callable
        Once it returns True, updates are left unfinished.
    settings : SMOSettings

    Attributes
    ----------
    f : float64 array
    sums : float32 array
        Of the error bound: Σ |k̂_ij| w_j over the float32 updates so far.
    is_fresh : bool array
        Whether f is the float64 sum for the present β.
    """

    def __init__(
        self,
        problem: BoxQP,
        gram: BlockedGram,
        is_stopped: Callable[[], bool],
        settings: SMOSettings,
    ):
        self.gram, self.is_stopped, self.settings = gram, is_stopped, settings
        self._row, self._n_variables = problem.row, problem.target.size
        n = gram.n
        self.f, self.sums = np.zeros(n), np.zeros(n, np.float32)
        self._variation = np.zeros(n)  # Σ|Δβ| of each point over all updates
        self._exact_error = np.zeros(n)  # of the last float64 sums, less that of the pairs then
        self.is_fresh = np.zeros(n, bool)
        self._seconds_per_value = settings.seconds_per_value
        self._outdated: list[tuple[np.ndarray, np.ndarray]] = []  # points, β of their last update
        self.reset()

    def copy(self) -> LazyGradient:
        """The present state, which later updates leave as it is."""
        other = copy(self)
        for name in ("f", "sums", "is_fresh", "_variation", "_exact_error"):
            setattr(other, name, getattr(self, name).copy())
        other._outdated = list(self._outdated)
        return other

    def coefficients(self, beta: np.ndarray) -> np.ndarray:
        """The coefficient of each point: β summed over its variables."""
        if self._row is None:
            return beta
        return np.bincount(self._row, weights=beta, minlength=self.gram.n)

    # ---- the error bound --------------------------------------------------------------------

    def record_change(self, points: np.ndarray, change: np.ndarray) -> None:
        """β of these points changed."""
        np.add.at(self._variation, points, np.abs(change))
        self.is_fresh[:] = False

    @property
    def error(self) -> np.ndarray:
        """A bound on the error of f at each point."""
        error = self.gram.sum_error(np.float32).bound(FLOAT32_SUMS * self.sums, self._variation)
        return np.maximum(error + self._exact_error, 0.0)

    def recompute(
        self, beta: np.ndarray, at: np.ndarray, stop: Callable[[], bool] | None = None
    ) -> None:
        """f in float64 at some points; nothing changes if it is stopped."""
        stop = stop or self.is_stopped
        f, error = self.gram.bounded_sums(self.coefficients(beta), at, np.float64, stop)
        if not stop():
            self.set_exact(at, f, error)
            self.is_fresh[at] = True

    def set_exact(self, at: np.ndarray, f: np.ndarray, error: np.ndarray) -> None:
        """f at some points with a bound on its error, computed elsewhere."""
        self.f[at], self.sums[at] = f, 0.0
        pairs = self.gram.sum_error(np.float32).bound(np.zeros(at.size), self._variation, at)
        self._exact_error[at] = error - pairs

    # ---- which points are up to date --------------------------------------------------------

    @property
    def is_complete(self) -> bool:
        """Whether f is up to date at all points."""
        return not self._outdated

    def up_to_date(self) -> np.ndarray:
        """The points at which f is up to date."""
        known = np.ones(self.gram.n, bool)
        for points, _ in self._outdated:
            known[points] = False
        return np.flatnonzero(known)

    def deactivate(self, points: np.ndarray, beta: np.ndarray) -> None:
        """f at these points is not updated from now on."""
        if points.size:
            self._outdated.append((points, beta.copy()))

    def set_float32(self, points: np.ndarray, f: np.ndarray, sums: np.ndarray) -> None:
        """f at some points and the sums of its bound, computed elsewhere in float32."""
        self.f[points], self.sums[points] = f, sums
        self._exact_error[points] = 0.0
        known = np.zeros(self.gram.n, bool)
        known[points] = True
        outdated = [(others[~known[others]], last) for others, last in self._outdated]
        self._outdated = [(others, last) for others, last in outdated if others.size]

    def update(self, beta: np.ndarray, may_wait: np.ndarray | None = None) -> None:
        """Bring f up to date, except at points of the mask ``may_wait``.

        After a stop it is up to date at the points that were finished.
        """
        outdated, self._outdated = self._outdated, []
        for points, last in outdated:
            waits = np.zeros(points.size, bool) if may_wait is None else may_wait[points]
            if waits.all():
                self._outdated.append((points, last))
                continue
            now = points[~waits]
            before, began = (self.f[now], self.sums[now]), time.perf_counter()
            count = self._add(self.f, self.sums, now, beta - last, self.is_stopped)
            if self.is_stopped():  # a block of rows is finished or as it was
                same = (self.f[now] == before[0]) & (self.sums[now] == before[1])
                self._outdated.append((now[same], last))
            elif count >= self.settings.timed_values:
                self._seconds_per_value = (time.perf_counter() - began) / count
            if waits.any():
                self._outdated.append((points[waits], last))

    def reset(self) -> None:
        """f = 0, up to date nowhere."""
        self.f[:] = self.sums[:] = self._exact_error[:] = 0.0
        self._outdated = [(np.arange(self.gram.n), np.zeros(self._n_variables))]

    def reconstruct(self, beta: np.ndarray, stop: Callable[[], bool] = never) -> None:
        """Bring f up to date at all points; where ``stop()`` comes first its error is infinite."""
        for points, last in self._outdated:
            change = beta - last
            for part in pieces(points.size, self.settings.rows_between_checks):
                if stop():
                    self.f[points[part]], self._exact_error[points[part]] = 0.0, np.inf
                else:
                    self._add(self.f, self.sums, points[part], change, never)
        self._outdated = []

    def seconds_to_recompute(self, beta: np.ndarray, at: np.ndarray) -> float:
        """How long float64 sums at some points take, about."""
        return 2 * self.seconds_for(at.size * np.count_nonzero(beta))

    def seconds_to_reconstruct(self, beta: np.ndarray) -> float:
        """How long it takes to bring f up to date at all points, about."""
        count = sum(points.size * np.count_nonzero(beta - last) for points, last in self._outdated)
        return self.seconds_for(count)

    def seconds_for(self, values: int | np.integer) -> float:
        """How long some float32 kernel values take, about."""
        return self._seconds_per_value * float(values)

    def _add(
        self,
        f: np.ndarray,
        sums: np.ndarray,
        at: np.ndarray,
        change: np.ndarray,
        stop: Callable[[], bool],
    ) -> int:
        """f[at] += K[at, :] change with float32 values; how many of them that takes."""
        coef = self.coefficients(change)
        rows = np.flatnonzero(coef)
        self.gram.accumulate(f, at, rows, coef[rows], np.float32, stop, sums)
        return at.size * rows.size


@dataclass(frozen=True, eq=False)
class Settled:
    """A β with its f = Kβ, which may be out of date at shrunk points."""

    beta: np.ndarray
    gradient: LazyGradient

    def copy(self) -> Settled:
        """The same, with f of its own."""
        return Settled(self.beta, self.gradient.copy())

    @property
    def seconds(self) -> float:
        """How long it takes to bring f up to date, about."""
        return self.gradient.seconds_to_reconstruct(self.beta)
