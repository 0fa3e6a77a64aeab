"""Rounding: the constants of `mercer.verify`, and sums and products with bounds of their error.

Independent of what fits use: NumPy only, error-free transformations of products and sums
(`mercer.kernels._double_double`), sums over rows by ``math.fsum``, which rounds once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._precision import UNIT
from mercer.kernels import _double_double as dd

__all__ = ["SETTINGS", "VerificationSettings", "column_sums", "scores", "total"]


@dataclass(frozen=True)
class VerificationSettings:
    """What `mercer.verify` takes for rounding, and where it computes more precisely."""

    # Relative error of a sum of non-negative float64 terms of a few factors each.
    summed: float = 1e-14
    # A dual variable is at its bound from this fraction of it on, because the bound C · class
    # weight · sample weight was rounded.
    at_bound: float = 1 - 1e-12
    # Dual variables violate a bound or an equality constraint if they are off by more than this,
    # relatively; the model then has no dual value.
    infeasible: float = 1e-8
    # A model of ν-SVC was not divided by ρ if Σα = νΣs up to this, relatively.
    unscaled: float = 1e-9
    # Relative excess over ``tol`` that is rounding.
    tol_slack: float = 1e-6
    # The same for estimators that stop at a relative gap.
    gap_tol_slack: float = 0.01
    # Rows are recomputed in double-double if rounding leaves open more than this fraction of the
    # gap or of ``tol``.
    open_gap: float = 0.02
    # Or more than this fraction of the objective.
    open_primal: float = 1e-11
    # Number of kernel values that are computed in double-double at the most.
    precise_values: int = 20_000_000
    # The same for residuals of ridge systems and eigenvectors.
    precise_residual_values: int = 1_000_000
    # Entries of X up to which linear models are recomputed in doubled precision at once; larger
    # ones only if rounding exceeds ``open_linear_gap``.
    precise_entries: int = 2_000_000
    # Fraction of the gap of a linear model.
    open_linear_gap: float = 1e-3
    # Rows up to which an indefinite kernel's matrix is factored.
    factored_rows: int = 3000
    # C of a row whose class has the weight zero.
    smallest_C: float = 1e-300
    # Steps of L-BFGS-B at the most, for the dual bound of a Pegasos model.
    dual_steps: int = 5000
    # The tolerance that KernelPCA documents for tol=0.
    default_eigen_tol: float = 1e-8
    # Rows of a linear model that are taken to float64 at once.
    slice_rows: int = 65_536
    # What a product that underflows loses.
    underflow: float = 1e-320


SETTINGS = VerificationSettings()


def total(values: Any) -> float:
    """The sum, rounded once; infinite or NaN where numbers leave the range of float64."""
    numbers = np.asarray(values, dtype=np.float64).ravel()
    try:
        return math.fsum(numbers.tolist())
    except (OverflowError, ValueError):  # a partial sum overflows, or infinities of both signs
        return float(np.sum(numbers))


def scores(X: Any, w: np.ndarray, b: float, precise: bool) -> tuple[np.ndarray, np.ndarray]:
    """X w + b and bounds of its error."""
    n, d = X.shape
    if not w.any():
        return np.full(n, b), np.zeros(n)
    g, size = np.empty(n), np.empty(n)
    for part in _slices(n):
        rows = X[part].astype(np.float64)
        g[part], size[part] = rows @ w + b, abs(rows) @ np.abs(w) + abs(b)
    if not precise:
        return g, 1.01 * (d + 3) * UNIT * size + d * SETTINGS.underflow
    g, rest = np.full(n, float(b)), np.zeros(n)
    for j, rows, x in _columns(X):
        if w[j] != 0:
            product, error = dd.two_product(x, w[j])
            g[rows], more = dd.two_sum(g[rows], product)
            rest[rows] += error + more
    g += rest
    error = UNIT * np.abs(g) + ((d + 3) * UNIT) ** 2 * size
    return g, 1.01 * error + d * SETTINGS.underflow


def column_sums(X: Any, beta: np.ndarray, precise: bool) -> tuple[np.ndarray, np.ndarray]:
    """Xᵀβ and bounds of its error."""
    n, d = X.shape
    if not beta.any():
        return np.zeros(d), np.zeros(d)
    if precise:
        out = np.zeros(d)
        for j, rows, x in _columns(X):
            product, error = dd.two_product(x, beta[rows])
            out[j] = math.fsum(chain(product.tolist(), error.tolist()))
        return out, 1.01 * UNIT * np.abs(out) + n * SETTINGS.underflow
    out, size = np.zeros(d), np.zeros(d)
    for part in _slices(n):
        rows = X[part].astype(np.float64)
        out += rows.T @ beta[part]
        size += abs(rows).T @ np.abs(beta[part])
    units = min(n, SETTINGS.slice_rows) + n // SETTINGS.slice_rows + 3
    return out, 1.01 * units * UNIT * size + n * SETTINGS.underflow


def _columns(X: Any) -> Iterator[tuple[int, Any, np.ndarray]]:
    """Number, rows and values of every column."""
    is_sparse = sp.issparse(X)
    X = sp.csc_matrix(X) if is_sparse else X
    for j in range(X.shape[1]):
        if is_sparse:
            part = slice(X.indptr[j], X.indptr[j + 1])
            yield j, X.indices[part], X.data[part].astype(np.float64)
        else:
            yield j, slice(None), X[:, j].astype(np.float64)


def _slices(n: int) -> list[slice]:
    step = SETTINGS.slice_rows
    return [slice(start, start + step) for start in range(0, n, step)]
