"""Time series as flat arrays: what kernels on series prepare first.

A series is an array of shape (steps,) or (steps, channels), or a list of that form. Lengths may
differ, channels may not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.kernels._compiled.series_alignment import Reach
from mercer.kernels._rounding import unit
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.structured._sample_types import as_objects, is_frame
from mercer.kernels.structured._sparse_features import StructuredKernel

__all__ = ["SeriesKernel", "SeriesSet", "read_series"]

_REMEDY = (
    "A sample is an array of numbers of shape (steps,) or (steps, channels), or a list like that."
)
_MISSING = (
    "Series may differ in length: leave missing steps out, or fill them in, for example by "
    "interpolation."
)


@dataclass(frozen=True, eq=False)
class SeriesSet:
    """The series of a data set, one after the other.

    Attributes
    ----------
    values : float64 array of shape (steps of all, channels)
    offsets : int64 array of length n + 1
    """

    values: np.ndarray
    offsets: np.ndarray

    @property
    def n(self) -> int:
        return self.offsets.size - 1

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def channels(self) -> int:
        return self.values.shape[1]

    @cached_property
    def ranges(self) -> np.ndarray:
        """The least and the largest value of each channel, as two rows."""
        return np.stack([self.values.min(axis=0), self.values.max(axis=0)])

    def reach(self, other: SeriesSet) -> Reach:
        """Of all steps of both."""
        if not (self.values.size and other.values.size):
            return Reach(0.0)
        mine, theirs = self.ranges, other.ranges
        least, most = np.minimum(mine[0], theirs[0]), np.maximum(mine[1], theirs[1])
        with np.errstate(over="ignore"):
            span = most - least
            return Reach(float(span @ span), float(least[0] + span[0] / 2))

    @classmethod
    def of(cls, samples: Any, owner: str) -> SeriesSet:
        """Those of the samples; a ValueError names a row with other channels than the first."""
        items = read_series(samples, owner)
        lengths = np.array([len(item) for item in items], dtype=np.int64)
        filled = np.flatnonzero(lengths)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        if not filled.size:
            return cls(np.zeros((0, 0)), offsets)
        channels = items[filled[0]].shape[1]
        for row in filled:
            if items[row].shape[1] != channels:
                raise ValueError(
                    f"{owner}: row {row} has {items[row].shape[1]} channels, but row {filled[0]} "
                    f"has {channels}. Series are of shape (steps, channels) with the same channels."
                )
        return cls(np.concatenate([items[row] for row in filled]), offsets)

    def some_steps(self, most: int) -> np.ndarray:
        """Steps of all series, evenly spaced."""
        steps = np.unique(np.linspace(0, max(len(self.values) - 1, 0), most).astype(np.int64))
        return self.values[steps[: len(self.values)]]


def read_series(X: Any, owner: str) -> np.ndarray:
    """Each sample as a float64 array (steps, channels), in an array of objects.

    The rows of a two-dimensional array, or of a data frame of several columns, are series of one
    channel; the first axis of a three-dimensional array counts series.
    """
    if is_frame(X) and len(getattr(X, "column_names", None) or X.columns) > 1:
        X = np.asarray(X)
    items = as_objects(X)
    out = np.empty(len(items), dtype=object)
    for row, item in enumerate(items):
        out[row] = _series(item, row, owner)
    return out


def _series(item: Any, row: int, owner: str) -> np.ndarray:
    if type(item) is np.ndarray and item.dtype == np.float64 and item.ndim == 2:
        series = item
    else:
        series = _converted(item, row, owner)
    if not np.isfinite(series.sum()):
        bad = np.flatnonzero(~np.isfinite(series).all(axis=1))
        if bad.size:
            raise ValueError(
                f"{owner}: row {row} holds NaN or infinity at step {bad[0]}. {_MISSING}"
            )
    return series


def _converted(item: Any, row: int, owner: str) -> np.ndarray:
    is_text = isinstance(item, (str, bytes))
    if not is_text and hasattr(item, "__iter__"):
        missing = [step for step, value in enumerate(item) if value is None]
        if missing:
            raise ValueError(f"{owner}: row {row} has None at step {missing[0]}. {_MISSING}")
    try:
        array = np.asarray(item)
    except ValueError:  # ragged
        array = np.empty((), dtype=object)
    if is_text or array.dtype.kind not in "biuf" or array.ndim not in (1, 2):
        what = (
            f"an array of shape {np.shape(item)}"
            if array.ndim > 2
            else " ".join(repr(item).split())[:60]
        )
        raise ValueError(f"{owner}: row {row} is {what}, not a time series. {_REMEDY}")
    if array.ndim == 1:
        array = array[:, None]
    return np.ascontiguousarray(array, dtype=np.float64)


class SeriesKernel(StructuredKernel):
    """A kernel on time series that compares pairs of them, step by step."""

    sample_type = "series"
    is_nonnegative = True

    def read(self, X: Any) -> np.ndarray:
        return read_series(X, repr(self))

    def prepare(self, samples: Samples) -> Samples:
        prepared = Samples(samples.X)
        prepared.prepared["series"] = SeriesSet.of(samples.X, repr(self))
        return prepared

    @staticmethod
    def series(samples: Samples) -> SeriesSet:
        """What `prepare` has made of the samples."""
        return samples.prepared["series"]

    def both_sides(self, A: SampleBlock, B: SampleBlock) -> tuple:
        """Values, offsets and row numbers of two blocks, as compiled code takes them."""
        mine, theirs = self.series(A.points), self.series(B.points)
        if mine.channels != theirs.channels and mine.values.size and theirs.values.size:
            raise ValueError(
                f"{self!r}: the series have {mine.channels} channels, but those they are compared "
                f"with (of the training set) have {theirs.channels}."
            )
        left = mine.values, mine.offsets, A.row_numbers
        return (*left, theirs.values, theirs.offsets, B.row_numbers)

    def _cells(self, samples: Samples, band: int | None) -> float:
        """Pairs of steps that a value compares."""
        lengths = self.series(samples).lengths
        mean = float(lengths.mean()) if lengths.size else 0.0
        return mean * min(mean, np.inf if band is None else 2.0 * band)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.ones(len(A))

    def magnitude(self, points: Samples) -> np.ndarray:
        return np.full(points.n, 1.1)

    def _steps_error(self, points: Samples) -> np.ndarray:
        """Relative error of a sum of squared differences along a path, for each series."""
        series = self.series(points)
        return (series.lengths + series.channels + 4) * unit(np.float64)
