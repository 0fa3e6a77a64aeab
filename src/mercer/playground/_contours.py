"""Where a function on a grid crosses its levels: lines and regions as polygons."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mercer.playground._state import EXTENT

__all__ = ["Grid", "Rings"]

# Points of the grid in each direction: islands of γ = 100 are still some points across.
ACROSS = 121

# A polygon: its outline, then its holes, each an array of corners (m, 2).
Rings = list[np.ndarray]


class Grid:
    """The plane of the picture as rows, and contours of values there."""

    def __init__(self, across: int = ACROSS):
        self.ticks = np.linspace(-EXTENT, EXTENT, across)
        self.rows = np.stack(np.meshgrid(self.ticks, self.ticks), axis=-1).reshape(-1, 2)

    def lines(self, values: np.ndarray, level: float) -> list[np.ndarray]:
        """Where the values are ``level``: arrays of corners (m, 2)."""
        return self._contours(values).lines(level)

    def regions(self, values: np.ndarray, low: float, high: float) -> list[Rings]:
        """Where the values are between two levels, either of which may be infinite."""
        low = max(low, float(values.min()) - 1.0)
        high = min(high, float(values.max()) + 1.0)
        if not low < high:
            return []
        corners, offsets = self._contours(values).filled(low, high)
        return [
            [part[start:stop] for start, stop in pairwise(ends)]
            for part, ends in zip(corners, offsets, strict=True)
        ]

    def _contours(self, values: np.ndarray):
        from contourpy import FillType, LineType, contour_generator

        square = values.reshape(self.ticks.size, self.ticks.size)
        return contour_generator(
            self.ticks,
            self.ticks,
            square,
            line_type=LineType.Separate,
            fill_type=FillType.OuterOffset,
        )
