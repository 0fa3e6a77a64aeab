"""Kernel matrices by their distinct samples: K = P K_u Pᵀ, with K_u the kernel among those.

A kernel on one column of a table sees no more samples than the column has values. Several kernels
on one column share P, so that a weighted sum of them is formed among the distinct samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._threads import SERIAL, Workers
from mercer.gram._base import never
from mercer.gram._blocked import BlockedGram
from mercer.gram._machine import pieces
from mercer.gram._tile_sums import add_expanded
from mercer.kernels import Kernel
from mercer.kernels._binding import bind_samples
from mercer.kernels._rounding import unit
from mercer.kernels._samples import Samples

__all__ = ["DistinctGram", "DistinctGrams"]


@dataclass(frozen=True)
class DistinctSettings:
    """Attributes: when distinct samples are looked for, and how work is cut.

    most_columns : int
        Of rows of numbers whose distinct ones are found.
    strip_cells : int
        Values of a matrix that sums are added to at a time: 256 KB.
    """

    most_columns: int = 4
    strip_cells: int = 32_768


SETTINGS = DistinctSettings()


class DistinctGram:
    """The kernel matrix of a data set.

    Parameters
    ----------
    kernel : Kernel
    X : samples, as the kernel reads them

    Attributes
    ----------
    kept : int array
        One row for each distinct sample.
    index : int32 array
        The distinct sample of each row.
    values : array or None
        K among the distinct samples, where it is stored.
    """

    def __init__(self, kernel: Kernel, X: Any):
        samples = bind_samples(kernel, X)
        self.gram = BlockedGram(kernel, samples)
        self.kept, self.index = _distinct(samples)
        self.values: np.ndarray | None = None

    @property
    def n_distinct(self) -> int:
        return self.kept.size

    def mean_diagonal(self, weight: np.ndarray | None = None) -> float:
        return float(np.average(self.gram.diag(), weights=weight))

    def store(self, dtype: Any, stop: Callable[[], bool] = never) -> None:
        """Keep K among the distinct samples, unless ``stop()`` before it is whole."""
        values = np.empty((self.n_distinct,) * 2, dtype)
        self.gram.take(self.kept).matrix(out=values, stop=stop)
        if not stop():
            self.values = values

    def add(
        self, weight: float, total: np.ndarray, workers: Workers, stop: Callable[[], bool]
    ) -> None:
        """total += weight K among the distinct samples, of half of the tiles, until ``stop()``."""
        part = self.gram.take(self.kept)
        block = part.sample_block(slice(0, self.n_distinct), np.float64)
        cut = pieces(self.n_distinct, part.machine.tile_side)

        def one(i: int) -> None:
            here = cut[i]
            for there in cut[: i + 1]:
                if stop():
                    return
                tile = part.scratch_block(block[here], block[there])
                tile *= weight
                total[here, there] += tile
                if there is not here:
                    total[there, here] += tile.T

        workers.map(one, range(len(cut)))

    def sums(self, coef: np.ndarray, stop: Callable[[], bool] = never) -> np.ndarray:
        """K β among the distinct samples, in float64 sums; not all of them once ``stop()``."""
        b = np.bincount(self.index, weights=coef, minlength=self.n_distinct)
        used = np.flatnonzero(b)
        if self.values is None:
            out = np.zeros(self.n_distinct)
            part = self.gram.take(self.kept)
            part.accumulate(out, np.arange(self.n_distinct), used, b[used], np.float64, stop)
            return out
        return self.values @ b if self.values.dtype == np.float64 else _products(self.values, b)

    def form(self, coef: np.ndarray, sums: np.ndarray) -> float:
        """βᵀKβ, given `sums`."""
        return float(np.bincount(self.index, weights=coef, minlength=self.n_distinct) @ sums)

    def bounded_form(
        self, coef: np.ndarray, stop: Callable[[], bool] = never
    ) -> tuple[float, float]:
        """βᵀKβ and a rigorous bound on its error, in float64; neither once ``stop()``.

        Sums of β over equal samples are rounded, too: by at most their number times the sum of |β|.
        """
        u = unit(np.float64)
        b = np.bincount(self.index, weights=coef, minlength=self.n_distinct)
        size = np.bincount(self.index, weights=np.abs(coef), minlength=self.n_distinct)
        count = np.bincount(self.index, minlength=self.n_distinct)
        lost = np.where(count > 1, 1.01 * count * u * size, 0.0)
        used = np.flatnonzero(size)
        part = self.gram.take(self.kept)
        f, error = part.bounded_sums(b, used, np.float64, stop)
        b, lost = b[used], lost[used]
        terms = np.abs(b) * (np.abs(f) + error)
        largest = self.gram.kernel.magnitude(self.gram.points)[self.kept[used]]
        bound = float(np.abs(b) @ error + 2 * lost @ (np.abs(f) + error))
        bound += float(lost @ largest) ** 2 + (used.size + 4) * u * float(terms.sum())
        return float(b @ f), 1.001 * bound


def _products(values: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A float32 matrix by a float64 vector, which is split into two float32 parts."""
    high = b.astype(np.float32)
    low = (b - high).astype(np.float32)
    return (values @ np.column_stack([high, low])).astype(np.float64).sum(axis=1)


def _distinct(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """One row for each distinct sample, and which of them each row is."""
    inner, n = samples, samples.n
    while inner.parts is not None and len(inner.parts) == 1 and inner.parts[0] is not inner:
        inner = inner.parts[0]
    every = np.arange(n), np.arange(n, dtype=np.int32)
    if inner.parts is not None or inner.are_objects or inner.is_sparse:
        return every
    if not 0 < inner.d <= SETTINGS.most_columns:
        return every
    rows = inner.X[:, 0] if inner.d == 1 else inner.X
    axis = None if inner.d == 1 else 0
    _, kept, index = np.unique(rows, axis=axis, return_index=True, return_inverse=True)
    return (kept, index.ravel().astype(np.int32)) if kept.size < n else every


class DistinctGrams:
    """The matrices of several kernels on one data set, stored as far as memory allows.

    Parameters
    ----------
    kernels : sequence of Kernel
    X : samples, as the kernels read them
    cache_bytes : int
        For stored values.
    workers : Workers
    stop : callable
        Once it is true, no more values are stored.
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        X: Any,
        cache_bytes: float,
        workers: Workers = SERIAL,
        stop: Callable[[], bool] = never,
    ):
        self.workers, self.n = workers, X.shape[0]
        self.members = [DistinctGram(kernel, X) for kernel in kernels]
        cells = sum(member.n_distinct**2 for member in self.members)
        dtype = np.float64 if 8 * cells <= cache_bytes else np.float32
        stored, left = [], cache_bytes
        for member in sorted(self.members, key=lambda each: each.n_distinct):
            left -= np.dtype(dtype).itemsize * member.n_distinct**2
            if left < 0:
                break
            stored.append(member)
        workers.map(lambda member: None if stop() else member.store(dtype, stop), stored)
        groups: dict[bytes, list[int]] = {}
        for k, member in enumerate(self.members):
            groups.setdefault(member.index.tobytes(), []).append(k)
        self.groups = list(groups.values())  # members with the same distinct samples

    def __len__(self) -> int:
        return len(self.members)

    def combined(
        self, weights: np.ndarray, out: np.ndarray, stop: Callable[[], bool] = never
    ) -> None:
        """Write Σ_k weights_k K_k into ``out``, a float64 matrix of all rows, until ``stop()``.

        Kernels with the same distinct samples are summed among these; then each strip of ``out``
        gets all of these sums while it is in the cache.
        """
        strips = pieces(self.n, max(1, SETTINGS.strip_cells // self.n))
        self.workers.map(lambda strip: None if stop() else out[strip].fill(0.0), strips)
        expanded: list[tuple[np.ndarray, np.ndarray]] = []
        for members in self.groups:
            used = [k for k in members if weights[k]]
            if not used or stop():
                continue
            first = self.members[used[0]]
            if first.n_distinct == self.n:
                self._add_weighted(used, weights, out, stop)
                continue
            total = np.zeros((first.n_distinct,) * 2)
            self._add_weighted(used, weights, total, stop)
            expanded.append((total, first.index))

        def one(strip: slice) -> None:
            for total, index in [] if stop() else expanded:
                add_expanded(out[strip], strip.start, total, index)

        if expanded:
            self.workers.map(one, strips)

    def _add_weighted(
        self,
        used: Sequence[int],
        weights: np.ndarray,
        total: np.ndarray,
        stop: Callable[[], bool],
    ) -> None:
        """Add the weighted matrices among the distinct samples, by strips that stay in a cache."""
        stored = [k for k in used if self.members[k].values is not None]
        blocks: list[tuple[float, Any]] = [(weights[k], self.members[k].values) for k in stored]

        def one(strip: slice) -> None:
            if stop():
                return
            scaled = np.empty_like(total[strip])
            for weight, block in blocks:
                np.multiply(block[strip], weight, out=scaled)
                total[strip] += scaled

        if blocks:
            self.workers.map(one, pieces(len(total), max(1, SETTINGS.strip_cells // len(total))))
        for k in used:
            if self.members[k].values is None:
                self.members[k].add(weights[k], total, self.workers, stop)

    def sums(self, coef: np.ndarray, stop: Callable[[], bool] = never) -> list[np.ndarray]:
        """K_k β among the distinct samples, for each k; not all of them once ``stop()``."""
        return self.workers.map(lambda member: member.sums(coef, stop), self.members)
