"""Presets: sets of points by name, seeded, so that a link needs the name only."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

__all__ = ["PRESETS", "Point", "as_points", "preset"]

# x, y, class.
Point = tuple[float, float, int]


def as_points(X: np.ndarray, labels: np.ndarray) -> tuple[Point, ...]:
    """Coordinates, to a thousandth as in a link, and classes: the points of a state."""
    rows = np.round(np.asarray(X, dtype=np.float64), 3) + 0.0  # no −0.0
    return tuple((x, y, int(c)) for (x, y), c in zip(rows.tolist(), labels, strict=True))


def _blobs(rng: np.random.Generator, centres: list, spread: float, each: int) -> tuple:
    labels = np.repeat(np.arange(len(centres)), each)
    return np.asarray(centres)[labels] + rng.normal(0, spread, (labels.size, 2)), labels


def _separable(rng: np.random.Generator) -> tuple:
    return _blobs(rng, [[-1.7, -1.1], [1.7, 1.1]], 0.55, 20)


def _outlier(rng: np.random.Generator) -> tuple:
    X, labels = _separable(rng)
    return np.vstack([X, [[0.9, 0.4]]]), np.append(labels, 0)


def _overlapping(rng: np.random.Generator) -> tuple:
    return _blobs(rng, [[-1.0, -0.5], [1.0, 0.5]], 1.0, 40)


def _xor(rng: np.random.Generator) -> tuple:
    X, quarter = _blobs(rng, [[-1.6, -1.6], [1.6, 1.6], [-1.6, 1.6], [1.6, -1.6]], 0.5, 15)
    return X, quarter // 2


def _rings(rng: np.random.Generator) -> tuple:
    labels = np.repeat([0, 1], 40)
    angle = rng.uniform(0, 2 * np.pi, 80)
    radius = np.where(labels == 0, 1.0, 2.6) + rng.normal(0, 0.18, 80)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)], labels


def _moons(rng: np.random.Generator) -> tuple:
    angle = np.linspace(0, np.pi, 40)
    upper = np.c_[np.cos(angle) - 0.5, np.sin(angle) - 0.25]
    lower = np.c_[0.5 - np.cos(angle), 0.25 - np.sin(angle)]
    X = 2.0 * np.vstack([upper, lower]) + rng.normal(0, 0.22, (80, 2))
    return X, np.repeat([0, 1], 40)


def _three(rng: np.random.Generator) -> tuple:
    return _blobs(rng, [[-1.8, -1.2], [1.8, -1.2], [0.0, 1.8]], 0.75, 25)


def _sine(rng: np.random.Generator) -> tuple:
    x = np.sort(rng.uniform(-3.6, 3.6, 60))
    return np.c_[x, 1.8 * np.sin(1.4 * x) + rng.normal(0, 0.25, 60)], np.zeros(60, int)


PRESETS: dict[str, tuple[str, Callable[[np.random.Generator], tuple]]] = {
    "separable": ("Separable", _separable),
    "outlier": ("One outlier", _outlier),
    "overlapping": ("Overlapping", _overlapping),
    "xor": ("XOR", _xor),
    "rings": ("Rings", _rings),
    "moons": ("Moons", _moons),
    "three": ("Three classes", _three),
    "sine": ("Sine (regression)", _sine),
}


@lru_cache
def preset(name: str) -> tuple[Point, ...]:
    """The points of a preset.

    Examples
    --------
    >>> from mercer.playground._presets import preset
    >>> len(preset("moons")), preset("outlier")[-1]
    (80, (0.9, 0.4, 0))
    """
    return as_points(*PRESETS[name][1](np.random.default_rng(7)))
