"""Presets: sets of points by name, seeded, so that a link needs the name only."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

__all__ = ["PRESETS", "Point", "as_points", "preset"]

# x, y, class.
Point = tuple[float, float, int]

#: Titles by name.
PRESETS = {
    "separable": "Separable",
    "outlier": "One outlier",
    "overlapping": "Overlapping",
    "xor": "XOR",
    "rings": "Rings",
    "moons": "Moons",
    "three": "Three classes",
    "sine": "Sine (regression)",
}


def as_points(X: np.ndarray, labels: np.ndarray) -> tuple[Point, ...]:
    """Coordinates, to a thousandth as in a link, and classes: the points of a state."""
    rows = np.round(np.asarray(X, dtype=np.float64), 3) + 0.0  # no −0.0
    return tuple((x, y, int(c)) for (x, y), c in zip(rows.tolist(), labels, strict=True))


@lru_cache
def preset(name: str) -> tuple[Point, ...]:
    """The points of a preset.

    Examples
    --------
    >>> from mercer.playground._presets import preset
    >>> len(preset("moons")), preset("outlier")[-1]
    (80, (0.9, 0.4, 0))
    """
    return as_points(*_generate(name, np.random.default_rng(7)))


def _generate(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    if name == "outlier":
        X, labels = _generate("separable", rng)
        return np.vstack([X, [[0.9, 0.4]]]), np.append(labels, 0)
    if name == "xor":
        corners = [[-1.6, -1.6], [1.6, 1.6], [-1.6, 1.6], [1.6, -1.6]]
        X, labels = _blobs(rng, corners, 0.5, 15)
        return X, labels // 2
    halves = np.repeat([0, 1], 40)
    if name == "rings":
        angle = rng.uniform(0, 2 * np.pi, 80)
        radius = np.where(halves == 0, 1.0, 2.6) + rng.normal(0, 0.18, 80)
        return np.c_[radius * np.cos(angle), radius * np.sin(angle)], halves
    if name == "moons":
        angle = np.linspace(0, np.pi, 40)
        upper = np.c_[np.cos(angle) - 0.5, np.sin(angle) - 0.25]
        return 2.0 * np.vstack([upper, -upper]) + rng.normal(0, 0.22, (80, 2)), halves
    if name == "sine":
        x = np.sort(rng.uniform(-3.6, 3.6, 60))
        return np.c_[x, 1.8 * np.sin(1.4 * x) + rng.normal(0, 0.25, 60)], np.zeros(60, int)
    blobs: dict[str, tuple[list, float, int]] = {
        "separable": ([[-1.7, -1.1], [1.7, 1.1]], 0.55, 20),
        "overlapping": ([[-1.0, -0.5], [1.0, 0.5]], 1.0, 40),
        "three": ([[-1.8, -1.2], [1.8, -1.2], [0.0, 1.8]], 0.75, 25),
    }
    return _blobs(rng, *blobs[name])


def _blobs(rng: np.random.Generator, centres: list, spread: float, each: int) -> tuple:
    labels = np.repeat(np.arange(len(centres)), each)
    return np.asarray(centres)[labels] + rng.normal(0, spread, (labels.size, 2)), labels
