"""Kernels on sets and bags once more for `mercer.verify`, pair by pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._precision import UNIT
from mercer.kernels._reference_kernels import Rows, Values, evaluate
from mercer.kernels.sets._bags import stack_bags

__all__ = ["intersection", "jaccard", "mean_embedding"]


def _sets(rows: Rows) -> list[set]:
    samples = rows.X[rows.index]
    return [set(s.tolist() if isinstance(s, np.ndarray) else s) for s in samples]


def intersection(kernel: Any, A: Rows, Z: Rows) -> Values:
    K = [[float(len(x & z)) for z in _sets(Z)] for x in _sets(A)]
    values = np.array(K).reshape(len(A.index), len(Z.index))
    return values, np.zeros_like(values)


def jaccard(kernel: Any, A: Rows, Z: Rows) -> Values:
    left, right = _sets(A), _sets(Z)
    K = [[len(x & z) / len(x | z) if x or z else 1.0 for z in right] for x in left]
    values = np.array(K, dtype=np.float64).reshape(len(A.index), len(Z.index))
    return values, 2 * UNIT * values


def mean_embedding(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Means of the inner kernel between the samples of each two bags."""
    bags = [*kernel.read(A.X[A.index]), *kernel.read(Z.X[Z.index])]
    stacked = stack_bags(bags, kernel.k)
    K = np.zeros((len(A.index), len(Z.index)))
    error = np.zeros_like(K)
    middle, end = (int(stacked.offsets[i]) for i in (len(A.index), -1))
    if middle in (0, end):
        return K, error
    # One set of samples: equal numbers stand for the same sample.
    left, right = (Rows(stacked.items, np.arange(*ends)) for ends in ((0, middle), (middle, end)))
    inner, lost = evaluate(kernel.k, left, right)
    a, z = stacked.offsets[: len(A.index) + 1], stacked.offsets[len(A.index) :] - middle
    for i in range(len(A.index)):
        rows = slice(*a[i : i + 2])
        for j in range(len(Z.index)):
            columns = slice(*z[j : j + 2])
            part = inner[rows, columns]
            if part.size:
                K[i, j] = part.mean()
                units = (part.size + 2) * UNIT
                error[i, j] = lost[rows, columns].mean() + units * np.abs(part).mean()
    return K, error
