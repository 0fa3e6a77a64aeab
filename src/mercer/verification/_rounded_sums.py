"""Sums and products with bounds of their rounding, for `mercer.verify`.

Independent of what fits use: NumPy only, errors of products and sums carried along (Dekker 1971,
Knuth; Ogita, Rump and Oishi 2005), sums over rows by ``math.fsum``, which rounds once.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["UNIT", "scores", "sums", "total"]

UNIT = 2.0**-53
# Up to so many numbers everything is taken with doubled precision at once.
SMALL = 2_000_000
# Rows taken to float64 at once.
_SLICE = 65_536
_LEAST = 1e-320


def total(values: Any) -> float:
    """The sum, rounded once."""
    return math.fsum(np.asarray(values, dtype=np.float64).ravel().tolist())


def scores(X: Any, w: np.ndarray, b: float, precise: bool) -> tuple[np.ndarray, np.ndarray]:
    """X w + b and by how much each may be off."""
    n, d = X.shape
    if not w.any():
        return np.full(n, b), np.zeros(n)
    g, size = np.empty(n), np.empty(n)
    for part in _slices(n):
        rows = X[part].astype(np.float64)
        g[part], size[part] = rows @ w + b, abs(rows) @ np.abs(w) + abs(b)
    if not precise:
        return g, 1.01 * (d + 3) * UNIT * size + d * _LEAST
    g, rest = np.full(n, float(b)), np.zeros(n)
    for j, rows, x in _columns(X):
        if w[j] != 0:
            product, error = _two_product(x, w[j])
            g[rows], more = _two_sum(g[rows], product)
            rest[rows] += error + more
    g += rest
    return g, 1.01 * (UNIT * np.abs(g) + ((d + 3) * UNIT) ** 2 * size) + d * _LEAST


def sums(X: Any, beta: np.ndarray, precise: bool) -> tuple[np.ndarray, np.ndarray]:
    """Xᵀβ and by how much each may be off."""
    n, d = X.shape
    if not beta.any():
        return np.zeros(d), np.zeros(d)
    if precise:
        out = np.zeros(d)
        for j, rows, x in _columns(X):
            product, error = _two_product(x, beta[rows])
            out[j] = math.fsum(chain(product.tolist(), error.tolist()))
        return out, 1.01 * UNIT * np.abs(out) + n * _LEAST
    out, size = np.zeros(d), np.zeros(d)
    for part in _slices(n):
        rows = X[part].astype(np.float64)
        out += rows.T @ beta[part]
        size += abs(rows).T @ np.abs(beta[part])
    return out, 1.01 * (min(n, _SLICE) + n // _SLICE + 3) * UNIT * size + n * _LEAST


def _columns(X: Any) -> Any:
    """Number, rows and values of every column."""
    if sp.issparse(X):
        X = sp.csc_matrix(X)
        for j in range(X.shape[1]):
            s = slice(X.indptr[j], X.indptr[j + 1])
            yield j, X.indices[s], X.data[s].astype(np.float64)
        return
    for j in range(X.shape[1]):
        yield j, slice(None), X[:, j].astype(np.float64)


def _slices(n: int) -> list[slice]:
    return [slice(start, start + _SLICE) for start in range(0, n, _SLICE)]


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


def _halves(a: Any) -> tuple[Any, Any]:
    c = 134217729.0 * a
    high = c - (c - a)
    return high, a - high


def _two_product(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    p = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)
