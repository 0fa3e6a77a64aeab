"""Kernels on time series once more, for `mercer.verify`, with bounds of their rounding.

Plain NumPy from the definitions, vectorised over pairs of series that are filled up to one length.
Sums over alignments are in extended precision, whose range they do not exceed. No code is shared
with the kernels that fits use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._precision import UNIT
from mercer.kernels._reference_kernels import Rows, Values

__all__ = ["dtw", "global_alignment"]

# Of the higher precision where the machine has one.
_LONG = np.longdouble


@dataclass(frozen=True, eq=False)
class _Padded:
    """Series as an array (n, steps, channels), filled up with zeros."""

    values: np.ndarray
    lengths: np.ndarray

    def one(self, i: int, n: int) -> _Padded:
        """One of them, n times."""
        shape = n, int(self.lengths[i]), self.values.shape[2]
        values = np.broadcast_to(self.values[i, : self.lengths[i]], shape)
        return _Padded(values, np.full(n, self.lengths[i]))


def _padded(rows: Rows) -> _Padded:
    items = [np.asarray(sample, dtype=np.float64) for sample in rows.X[rows.index]]
    items = [item[:, None] if item.ndim == 1 else item for item in items]
    lengths = np.array([len(item) for item in items], dtype=np.int64)
    channels = max((item.shape[1] for item in items if len(item)), default=1)
    values = np.zeros((len(items), int(lengths.max(initial=0)), channels))
    for i, item in enumerate(items):
        if len(item):
            values[i, : len(item)] = item
    return _Padded(values, lengths)


def _last_cells(X: _Padded, Z: _Padded, empty: Any, nothing: Any, cell: Any) -> np.ndarray:
    """Of pairs of series the value of their last cell.

    ``cell(t, j, cost, neighbours)`` is that of pairs (t, j), by ‖x_t − z_j‖² and the values of the
    cells diagonally before, above and to the left. Where a series is empty the value is
    ``nothing``, and ``empty`` where both are.
    """
    n, steps, width = len(X.lengths), X.values.shape[1], Z.values.shape[1]
    before = np.full((n, width + 1), nothing, _LONG)
    before[:, 0] = empty
    out = np.where((X.lengths == 0) & (Z.lengths == 0), empty, np.asarray(nothing, _LONG))
    for t in range(steps):
        after = np.full((n, width + 1), nothing, _LONG)
        costs = ((X.values[:, t, None] - Z.values) ** 2).sum(axis=2)
        for j in range(width):
            neighbours = before[:, j], before[:, j + 1], after[:, j]
            after[:, j + 1] = cell(t, j, costs[:, j], neighbours)
        ends = np.flatnonzero((X.lengths == t + 1) & (Z.lengths > 0))
        out[ends] = after[ends, Z.lengths[ends]]
        before = after
    return out


def _logs(kernel: Any, X: _Padded, Z: _Padded) -> np.ndarray:
    """log of the sum over all alignments, −∞ where there is none."""

    def cell(t: int, j: int, cost: np.ndarray, neighbours: tuple) -> np.ndarray:
        g = np.exp(-cost.astype(_LONG) / (2 * _LONG(kernel.sigma) ** 2))
        if kernel.band is not None:
            g = g * max(_LONG(0), 1 - _LONG(abs(t - j)) / kernel.band)
        return g / (2 - g) * sum(neighbours)

    with np.errstate(divide="ignore"):
        return np.log(_last_cells(X, Z, 1, 0, cell)).astype(np.float64)


def global_alignment(kernel: Any, A: Rows, Z: Rows) -> Values:
    """The sum over alignments, normalised."""
    rows, others = _padded(A), _padded(Z)
    own = [_logs(kernel, each, each) for each in (rows, others)]
    logs = np.array([_logs(kernel, rows.one(i, len(Z.index)), others) for i in range(len(A.index))])
    logs = logs.reshape(len(A.index), len(Z.index))
    K = np.exp(np.minimum(logs - own[0][:, None] / 2 - own[1] / 2, 0.0))
    lengths = np.add.outer(rows.lengths, others.lengths)
    sizes = np.add.outer(np.abs(own[0]), np.abs(own[1]))
    channels = others.values.shape[2]
    units = 8 * lengths + (channels + 4) * (800 + 2 * lengths) + 8 * sizes
    return K, units * UNIT * K


def dtw(kernel: Any, A: Rows, Z: Rows) -> Values:
    """exp(−γ d) with the least cost d of an alignment."""
    rows, others = _padded(A), _padded(Z)
    K = np.zeros((len(A.index), len(Z.index)))
    error = np.zeros_like(K)
    for i in range(len(A.index)):
        X = rows.one(i, len(Z.index))
        width = None
        if kernel.window is not None:
            width = np.maximum(kernel.window, np.abs(X.lengths - others.lengths))

        def cell(t: int, j: int, cost: Any, neighbours: tuple, width: Any = width) -> np.ndarray:
            least = np.minimum(np.minimum(*neighbours[:2]), neighbours[2]) + cost
            return least if width is None else np.where(abs(t - j) <= width, least, np.inf)

        exponent = kernel.gamma * _last_cells(X, others, 0, np.inf, cell).astype(np.float64)
        K[i] = np.exp(-exponent)
        units = X.lengths + others.lengths + others.values.shape[2] + 8
        size = np.where(np.isfinite(exponent), exponent + 1, 1)
        error[i] = 2 * size * units * UNIT * K[i]
    return K, error
