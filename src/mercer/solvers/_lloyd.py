"""k-means in feature space: seeds, and Lloyd's iterations from several starts side by side.

    minimise over labels z   Σ sᵢ ‖φ(xᵢ) − μ_{zᵢ}‖²,    μ_c = Σ_{zᵢ = c} sᵢ φ(xᵢ) / W_c

    ‖φ(x) − μ_c‖² = k(x, x) − 2 φ(x)·μ_c + ‖μ_c‖²      (the cross term has −2)

All starts share the kernel values. An iteration reads only the kernel rows of points that change
their cluster (in any start), so that later ones, where few do, cost little. An iteration that is
stopped is discarded: the labels, masses and ‖μ‖² before it are the result. If even the first sums
were stopped, the centres are the seeds (`seeds_only`).

References: Lloyd 1982; Arthur and Vassilvitskii 2007 (k-means++, with several trials per centre);
Dhillon, Guan and Kulis 2004 (kernel k-means).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer._result import Status
from mercer.gram import CachedGram
from mercer.gram._base import never
from mercer.gram._low_rank import kmeans_plus_plus
from mercer.gram._machine import MACHINE, pieces
from mercer.solvers._stopping import Progress, Stopping

__all__ = [
    "Clustering",
    "Lloyd",
    "LloydSettings",
    "draw_rows",
    "nearest_rows",
    "seeds_only",
    "spread_rows",
]


@dataclass(frozen=True)
class LloydSettings:
    """Tuning constants of k-means."""

    # Kernel rows that are added to the sums at a time, if they are computed, and if the matrix is
    # kept: about ten milliseconds.
    tile_rows: int = 256
    cached_rows: int = 4096
    # A gain up to this fraction of the largest k(x, x) is rounding.
    rounding: float = 1e-13
    # Starts run at once as long as their sums S take at most this memory.
    sums_bytes: int = 64 << 20


DEFAULTS = LloydSettings()


@compiled(fastmath=REASSOCIATE)
def move(K, slots, old, new, weight, active, sums):
    """Take points out of their old clusters and put them into their new ones.

    K[slots_t] is the kernel row of point t, ``old`` and ``new`` (starts, points) its clusters
    (old −1: none), ``sums`` (starts, clusters, columns).
    """
    for t in range(slots.size):
        row, s = K[slots[t]], weight[t]
        for r in active:
            before, after = old[r, t], new[r, t]
            if before == after:
                continue
            into = sums[r, after]
            if before < 0:
                for i in range(row.size):
                    into[i] += s * row[i]
            else:
                out = sums[r, before]
                for i in range(row.size):
                    step = s * row[i]
                    into[i] += step
                    out[i] -= step


@compiled
def cluster_moments(sums, labels, weight, mass, square):
    """W_c and ‖Σ_{z_i = c} s_i φ(x_i)‖² of one start."""
    mass[:] = 0.0
    square[:] = 0.0
    for i in range(labels.size):
        c = labels[i]
        mass[c] += weight[i]
        square[c] += weight[i] * sums[c, i]


@compiled(fastmath=REASSOCIATE)
def assign(sums, labels, offset, scale, slack, new, score):
    """The nearest centre of each point: the smallest offset_c − scale_c · S[c, i].

    That is ‖φ(x_i) − μ_c‖² − k(x_i, x_i). A point moves only for a gain of more than ``slack``, so
    that rounding cannot send it back and forth.
    """
    for i in range(labels.size):
        c = labels[i]
        new[i] = c
        score[i] = offset[c] - scale[c] * sums[c, i] - slack
    for c in range(offset.size):
        row, o, f = sums[c], offset[c], scale[c]
        for i in range(labels.size):
            value = o - f * row[i]
            if value < score[i]:
                score[i] = value
                new[i] = c


@dataclass(frozen=True, eq=False)
class Clustering:
    """The result of one start."""

    labels: np.ndarray
    mass: np.ndarray  # weight of each cluster
    square: np.ndarray  # ‖Σ s φ‖² over it: ‖μ‖² is square / mass²
    inertia: list[float]  # the objective at the start and after each iteration
    iterations: int
    status: Status


class Lloyd:
    """Lloyd's iterations on one kernel matrix.

    ``diag`` and ``weight`` are k(x, x) and s of every point. A start ends once an iteration
    improves the objective by less than the fraction ``tol`` of it.
    """

    def __init__(
        self,
        whole: CachedGram,
        diag: np.ndarray,
        weight: np.ndarray,
        n_clusters: int,
        max_iter: int,
        tol: float,
        stopping: Stopping,
        settings: LloydSettings = DEFAULTS,
    ):
        self.settings = settings
        self.whole, self.diag, self.weight = whole, diag, weight
        self.k, self.max_iter, self.tol, self.stopping = n_clusters, max_iter, tol, stopping
        self.slack = settings.rounding * float(np.abs(diag).max())
        self.total = float(weight @ diag)

    def run(self, labels: np.ndarray) -> list[Clustering]:
        """From labels of shape (starts, n): a result for each, or none at all if stopped early."""
        R, n = labels.shape
        self.labels = np.ascontiguousarray(labels, dtype=np.int32)
        self.new, self.score = self.labels.copy(), np.zeros((R, n))
        self.sums = np.zeros((R, self.k, n))
        self.mass, self.square = np.zeros((R, self.k)), np.zeros((R, self.k))
        self.inertia: list[list[float]] = [[] for _ in range(R)]
        self.iterations = np.zeros(R, dtype=np.int64)
        self.status = [Status.ITERATION_LIMIT] * R
        active = np.arange(R)
        if not self._update_sums(active, np.full((R, n), -1, dtype=np.int32)):
            return []
        for _ in range(self.max_iter):
            stopped = self._iterate(active)
            active = np.array([r for r in active if self.status[r] is Status.ITERATION_LIMIT])
            if stopped is not None:
                for r in active:
                    self.status[r] = stopped
                break
            if active.size == 0:
                break
        found = self.labels, self.mass, self.square, self.inertia, self.iterations.tolist()
        return [Clustering(*of_start) for of_start in zip(*found, self.status, strict=True)]

    def _iterate(self, active: np.ndarray) -> Status | None:
        """One iteration of the active starts; ``status`` of those that have ended is set."""
        self._assign(active)
        for r in active:
            self._fill_empty(r)
            self.iterations[r] += 1
            if np.array_equal(self.new[r], self.labels[r]):
                self.status[r] = Status.SOLVED
        moving = np.array([r for r in active if self.status[r] is not Status.SOLVED], dtype=np.intp)
        if moving.size:
            old, self.labels, self.new = self.labels, self.new, self.labels
            if not self._update_sums(moving, old):
                self.labels = old
                return self.stopping.stopped
        for r in moving:
            before, now = self.inertia[r][-2:]
            if before - now <= self.tol * now and self.tol > 0:
                self.status[r] = Status.SOLVED
        least = min(values[-1] for values in self.inertia)
        rounds, seconds = int(self.iterations.max()), self.stopping.seconds
        self.stopping.report(Progress(seconds, rounds, moving.size, least, self.tol))
        return self.stopping.stopped

    def _update_sums(self, active: np.ndarray, old: np.ndarray) -> bool:
        """Update the sums and the objective from the old labels to the present ones.

        False if that was stopped: the sums are then invalid, all else is unchanged.
        """
        is_stopped = self.stopping.is_stopped
        changed = np.flatnonzero((self.labels[active] != old[active]).any(axis=0))
        before, after = old[:, changed], self.labels[:, changed]
        weight = self.weight[changed]

        def one(columns: slice) -> None:
            kept, settings = self.whole.K is not None, self.settings
            for part in pieces(changed.size, settings.cached_rows if kept else settings.tile_rows):
                if is_stopped():
                    return
                K, slots = self.whole.tile(changed[part], columns)
                labels = before[:, part], after[:, part]
                move(K, slots, *labels, weight[part], active, self.sums[:, :, columns])

        self.whole.gram.workers.map(one, pieces(self.whole.n, MACHINE.tile_rows))
        if changed.size and is_stopped():
            return False
        for r in active:
            cluster_moments(self.sums[r], self.labels[r], self.weight, self.mass[r], self.square[r])
            held = self.mass[r] > 0
            fitted = (self.square[r, held] / self.mass[r, held]).sum()
            self.inertia[r].append(max(self.total - float(fitted), 0.0))
        return True

    def _assign(self, active: np.ndarray) -> None:
        held = self.mass > 0
        inverse = np.divide(1.0, self.mass, out=np.zeros_like(self.mass), where=held)
        offset = np.where(held, self.square * inverse**2, np.inf)

        def one(columns: slice) -> None:
            for r in active:
                centres = offset[r], 2 * inverse[r], self.slack
                out = self.new[r, columns], self.score[r, columns]
                assign(self.sums[r, :, columns], self.labels[r, columns], *centres, *out)

        self.whole.gram.workers.map(one, pieces(self.whole.n, MACHINE.tile_rows))

    def _fill_empty(self, r: int) -> None:
        """Give each empty cluster the point farthest from its centre: the objective falls by its
        squared distance at least. Where all distances are zero there is nothing to gain."""
        count = np.bincount(self.new[r], minlength=self.k)
        empty = np.flatnonzero(count == 0)
        if empty.size == 0:
            return
        distance = self.diag + self.score[r]
        for i in np.argsort(-distance, kind="stable"):
            if empty.size == 0 or distance[i] <= 2 * self.slack:
                return
            if count[self.new[r, i]] > 1:
                count[self.new[r, i]] -= 1
                self.new[r, i], empty = empty[0], empty[1:]


# ---------------------------------------------------------------------- starts


def seeds_only(
    whole: CachedGram, diag: np.ndarray, weight: np.ndarray, labels: np.ndarray, k: int, why: Status
) -> tuple[Clustering, np.ndarray]:
    """Clusters around one row each, the first of its label, and these rows (−1: none)."""
    seeds = np.full(k, -1, dtype=np.intp)
    found, first = np.unique(labels, return_index=True)
    seeds[found] = first
    distance = _distances(whole, diag, first)
    nearest = np.argmin(distance, axis=0)
    mass, square = np.zeros(k), np.zeros(k)
    mass[found], square[found] = 1.0, diag[first]
    inertia = float(weight @ distance[nearest, np.arange(whole.n)])
    labels = found[nearest].astype(np.int32)
    return Clustering(labels, mass, square, [inertia], 0, why), seeds


def spread_rows(
    whole: CachedGram,
    diag: np.ndarray,
    weight: np.ndarray,
    k: int,
    rngs: Sequence[Any],
    stop: Callable[[], bool] = never,
) -> np.ndarray:
    """k-means++ in feature space: the labels of nearest centres, shape (starts, n).

    Once ``stop()`` is true there is one start with rows drawn at random.

    Each centre is the best of 2 + log k rows drawn with probability ∝ s · squared distance to the
    nearest centre so far.
    """
    seeds, labels = kmeans_plus_plus(
        lambda rows: _distances(whole, diag, rows),
        weight,
        k,
        rngs,
        trials=2 + int(np.log(k)),
        is_enough=lambda closest: stop(),
    )
    return labels if seeds.shape[1] == k else draw_rows(whole, diag, weight, k, rngs[:1])


def draw_rows(
    whole: CachedGram,
    diag: np.ndarray,
    weight: np.ndarray,
    k: int,
    rngs: Sequence[Any],
    stop: Callable[[], bool] = never,
) -> np.ndarray:
    """Labels of nearest centres where these are k different rows drawn at random."""
    p = weight / weight.sum()
    rows = [
        rng.choice(whole.n, size=k, replace=False, p=p)
        for start, rng in enumerate(rngs)
        if start == 0 or not stop()
    ]
    return np.concatenate([nearest_rows(whole, diag, each) for each in rows])


def nearest_rows(whole: CachedGram, diag: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Which of the given rows is nearest to each point: shape (1, n)."""
    return np.argmin(_distances(whole, diag, rows), axis=0).astype(np.int32)[np.newaxis]


def _distances(whole: CachedGram, diag: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """‖φ(x_r) − φ(x_i)‖² of some rows r to all points i."""
    out = np.empty((rows.size, whole.n))

    def one(columns: slice) -> None:
        K, slots = whole.tile(rows, columns)
        out[:, columns] = diag[rows, np.newaxis] + diag[columns] - 2.0 * K[slots]

    whole.gram.workers.map(one, pieces(whole.n, MACHINE.tile_rows))
    np.maximum(out, 0.0, out=out)
    return out
