"""The global alignment kernel (Cuturi 2011): a sum over all alignments of two series."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from mercer.kernels._base import Kernel, integer, real
from mercer.kernels._compiled.series_alignment import (
    alignment_logs,
    alignment_logs_of_pairs,
    alignment_logs_within,
)
from mercer.kernels._rounding import MODEL, Rounding, unit
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.series._series import SeriesKernel, SeriesSet

__all__ = ["GlobalAlignment"]


@dataclass(frozen=True, repr=False)
class GlobalAlignment(SeriesKernel):
    """k(x, z) = K(x, z) / √(K(x, x) K(z, z)), K(x, z) = Σ_π Π_((i, j) in π) κ(i, j).

    π runs over all alignments of x with z: paths of pairs of steps (i, j) from the first ones to
    the last ones, each pair one step ahead in x, in z, or in both. A pair counts κ = g/(2 − g) with
    the Gaussian g = exp(−‖x_i − z_j‖²/(2σ²)) over all channels: DTW takes the best path, this the
    sum of all of them, which is positive semidefinite. With a band T, g is multiplied by
    ``max(0, 1 − |i − j|/T)``; paths that leave the band do not count, and k stays positive
    semidefinite.

    K grows or falls exponentially with the length, and is therefore computed by its logarithm and
    normalised: k(x, x) = 1. Lengths may differ (by less than T); an empty series has the value 0
    with all others.

    **Cost.** ``|x| |z|`` steps of a third of a nanosecond to two for a value (more for many
    channels), ``|x| 2T`` with a band.

    **When.** Signals that are shifted or run at different speeds: gestures, speech, sensors. Scale
    channels to one size first. σ and T are best found by a search, σ around its default.

    Parameters
    ----------
    sigma : float > 0 or None, default=None
        σ. None: the median distance of two steps of the training series, times the root of their
        median length.
    band : int ≥ 1 or None, default=None
        T, in steps; None: no band.

    References
    ----------
    Cuturi (2011), Fast global alignment kernels.

    Examples
    --------
    >>> from mercer.kernels import GlobalAlignment
    >>> GlobalAlignment(sigma=1.0)([[0, 1, 2, 1], [0, 0, 1, 2, 1], [2, 1, 0]]).round(3)
    array([[1.   , 0.715, 0.018],
           [0.715, 1.   , 0.003],
           [0.018, 0.003, 1.   ]])
    """

    sigma: float | None = None
    band: int | None = None

    is_psd = True

    def __post_init__(self) -> None:
        if self.sigma is not None:
            sigma = real("GlobalAlignment", "sigma", self.sigma, least=0, open_left=True)
            object.__setattr__(self, "sigma", sigma)
        if self.band is not None:
            band = integer("GlobalAlignment", "band", self.band, least=1)
            object.__setattr__(self, "band", band)

    def resolved(self, X: Any) -> Kernel:
        if self.sigma is not None:
            return self
        series = SeriesSet.of(X, repr(self))
        steps = series.some_steps(500)
        distance = float(np.median(pdist(steps))) if len(steps) > 1 else 0.0
        length = float(np.median(series.lengths)) if series.n else 0.0
        return replace(self, sigma=distance * np.sqrt(length) or 1.0)

    def _rate(self) -> float:
        """1/(2σ²)."""
        if self.sigma is None:
            raise ValueError(
                "GlobalAlignment: sigma is None, which a fit replaces by a number of the training "
                "series; give a number, or use GlobalAlignment().resolved(series)."
            )
        return 0.5 / self.sigma**2

    def cost_per_entry(self, samples: Samples) -> float:
        return 1 + (20 + 2 * self.series(samples).channels) * self._cells(samples, self.band)

    def prepare(self, samples: Samples) -> Samples:
        prepared = super().prepare(samples)
        self._own_logs(prepared)
        return prepared

    def _own_logs(self, points: Samples) -> np.ndarray:
        """log K(x, x) of all samples, computed once."""
        if self not in points.prepared:
            series = self.series(points)
            every = np.arange(series.n)
            points.prepared[self] = self._logs_of_pairs(series, (every, every))
        return points.prepared[self]

    def _logs_of_pairs(self, series: SeriesSet, pairs: tuple) -> np.ndarray:
        """log K of pairs of numbers."""
        values, offsets, reach = series.values, series.offsets, series.reach(series)
        return alignment_logs_of_pairs(values, offsets, pairs, self._rate(), self.band or 0, reach)

    def _fill_logs(self, A: SampleBlock, B: SampleBlock, logs: np.ndarray) -> None:
        """log K of two blocks."""
        sides, band = self.both_sides(A, B), self.band or 0
        reach = self.series(A.points).reach(self.series(B.points))
        alignment_logs(sides, self._rate(), band, logs, reach)

    def _fill_triangle(self, A: SampleBlock, logs: np.ndarray) -> None:
        """log K within a block."""
        series, band = self.series(A.points), self.band or 0
        side = series.values, series.offsets, A.row_numbers
        alignment_logs_within(side, self._rate(), band, logs, series.reach(series))

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        logs = np.zeros(out.shape)
        rest = len(B) - len(A)  # columns before the rows of A, if these are the last
        if A.points is B.points and np.array_equal(A.row_numbers, B.row_numbers[max(rest, 0) :]):
            self._fill_triangle(A, logs[:, rest:])
            if rest > 0:
                self._fill_logs(A, B[:rest], logs[:, :rest])
        else:
            self._fill_logs(A, B, logs)
        own = self._own_logs(A.points)[A.index], self._own_logs(B.points)[B.index]
        logs -= np.add.outer(own[0] / 2, own[1] / 2)  # the same for (x, z) and (z, x)
        if A.points is B.points:  # k(x, x) = 1, without rounding
            logs[A.row_numbers[:, None] == B.row_numbers] = 0.0
        out[...] = np.exp(np.minimum(logs, 0.0, out=logs))

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Of paths, of logarithms, and of their exponential; what underflows counts absolutely.

        A path has ``|x| + |z|`` factors at most, each with its sum rounded by 26 units, of which
        six come from steps that were scaled. The sum of their exponents is below the smallest
        value's and the logarithm of the number of paths, 1.77 for each step. A cell is lost if it
        underflows, 2^1300 below the largest of its row; it would have at most 2^1.28 for each step
        of a weight in the result.
        """
        series, logs = self.series(points), self._own_logs(points)
        u, lengths = unit(np.float64), series.lengths
        exponents = 400 + 1.77 * lengths
        relative = (28 * (lengths + 2) + (series.channels + 8) * exponents + 8 * np.abs(logs)) * u
        relative = relative + (0.0 if np.dtype(dtype) == np.float64 else unit(dtype))
        longest = float(lengths.max(initial=0))
        lost = np.exp2(np.minimum(2 * np.log2(longest + 1) + 1.28 * longest - 1300, 0.0))
        ones = np.ones(points.n)
        return Rounding.of(relative, points.n, ((MODEL.negligible_value + lost) * ones, ones))
