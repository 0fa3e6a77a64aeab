"""Kernels gathered column by column: all subsets; and the way from blocks to the compiled tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._base import Kernel
from mercer.kernels._compiled.differences import raw_rows
from mercer.kernels._compiled.sparse_pairwise import ALL_SUBSETS, gather_columns
from mercer.kernels._rounding import Rounding, unit
from mercer.kernels._samples import CSR, SampleBlock, Samples

__all__ = ["AllSubsets", "gather"]


def gather(A: SampleBlock, B: SampleBlock, kind: int, gamma: float, out: np.ndarray) -> None:
    """Fill a tile with `gather_columns`; dense rows go as sparse ones that hold every column.

    Dense rows are the user's, in float64 and not shifted: their differences have one rounding.
    """
    base = np.empty(0)
    if A.is_sparse:
        a, b = A.csr, B.csr
        if kind != ALL_SUBSETS:  # Σ_c f(0, z_c) is Σ_c |z_c| for both sums
            values = np.abs(b.values, dtype=np.float64)
            base = _by_row(np.add, values, b, np.zeros(len(B)))
    else:
        a, b = _full(raw_rows(A)), _full(raw_rows(B))
    gather_columns(a, b, base, kind, gamma, out)


def _by_row(ufunc: np.ufunc, values: np.ndarray, rows: CSR, out: np.ndarray) -> np.ndarray:
    """``ufunc`` over the values of each row, into ``out``; rows without any keep theirs."""
    filled = np.flatnonzero(np.diff(rows.indptr))
    if filled.size:
        out[filled] = ufunc.reduceat(values[: rows.indptr[-1]], rows.indptr[filled])
    return out


def _full(X: np.ndarray) -> CSR:
    n, d = X.shape
    columns = np.tile(np.arange(d, dtype=np.int32), n)
    return CSR(np.arange(0, n * d + 1, d) if d else np.zeros(n + 1, int), columns, X.ravel(), d)


@dataclass(frozen=True, repr=False)
class AllSubsets(Kernel):
    """k(x, z) = Π_c (1 + x_c z_c): the dot product of all 2^d products of distinct columns.

    **Cost.** One multiplication for each column and value.

    **When.** 0/1 columns of which any combination may matter, and few of them: values grow as 2^d.
    """

    is_psd = True

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """d factors 1 + x_c z_c, each off by a few roundings."""
        factor = 2 * (4 * points.terms + 4) * unit(dtype)
        return Rounding.symmetric(self.magnitude(points), factor, dtype)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        gather(A, B, ALL_SUBSETS, 0.0, out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        if not A.is_sparse:
            return np.prod(1.0 + np.square(A.X, dtype=np.float64), axis=1)
        factors = 1.0 + np.square(A.csr.values, dtype=np.float64)
        return _by_row(np.multiply, factors, A.csr, np.ones(len(A)))
