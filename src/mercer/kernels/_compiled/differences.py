"""RBF values between rows that are far from the origin: distances from differences of coordinates.

‖x‖² + ‖z‖² − 2x·z loses a multiple of u (‖x‖² + ‖z‖²), however near x and z are. For the few rows
whose norms make that too much, the pairs that are not surely too far apart to matter are evaluated
by differences of the coordinates as the user gave them, in float64, which loses u of ‖x − z‖² only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._numba import REASSOCIATE, compiled
from mercer.kernels._rounding import MODEL
from mercer.kernels._samples import SampleBlock

__all__ = ["raw_rows", "replace_far_values"]


def replace_far_values(
    A: SampleBlock,
    B: SampleBlock,
    far: np.ndarray,
    sq_dist: np.ndarray,
    error: float,
    gamma: float,
    out: Any,
) -> None:
    """Write the values of the rows ``far`` of A against all rows of B into ``out[far]``.

    ``sq_dist``, squared distances from dot products, are off by error · (‖x‖² + ‖z‖²) at most.
    """
    slack = error * (A.sq_norms[far][:, None] + B.sq_norms)
    near = gamma * (sq_dist - slack) < MODEL.negligible_exponent
    values = np.zeros(sq_dist.shape)
    if A.is_sparse:
        _sparse_values(*_raw_csr(A, far), *_raw_csr(B, None), near, gamma, values)
    else:
        _dense_values(raw_rows(A, far), raw_rows(B), near, gamma, values)
    out[far] = values


def _numbers(block: SampleBlock, which: np.ndarray | None) -> np.ndarray:
    rows = block.row_numbers
    return rows if which is None else rows[which]


def raw_rows(block: SampleBlock, which: np.ndarray | None = None) -> np.ndarray:
    """Dense rows as the user gave them, not shifted, in float64."""
    rows = block.index if which is None else _numbers(block, which)
    return np.ascontiguousarray(block.points.X[rows], dtype=np.float64)


def _raw_csr(
    block: SampleBlock, which: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = block.points.X[_numbers(block, which)]
    rows.sort_indices()
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(np.float64)


@compiled(fastmath=REASSOCIATE)
def _dense_values(X, Z, near, gamma, out):
    for i in range(X.shape[0]):
        for j in range(Z.shape[0]):
            if near[i, j]:
                total = 0.0
                for c in range(X.shape[1]):
                    difference = X[i, c] - Z[j, c]
                    total += difference * difference
                out[i, j] = math.exp(-gamma * total)


@compiled
def _sparse_values(x_indptr, x_columns, x_values, z_indptr, z_columns, z_values, near, gamma, out):
    """The same on CSR rows with sorted columns, by merging their columns."""
    for i in range(x_indptr.size - 1):
        for j in range(z_indptr.size - 1):
            if not near[i, j]:
                continue
            s, t = x_indptr[i], z_indptr[j]
            s_end, t_end = x_indptr[i + 1], z_indptr[j + 1]
            total = 0.0
            while s < s_end or t < t_end:
                if t == t_end or (s < s_end and x_columns[s] < z_columns[t]):
                    difference = x_values[s]
                    s += 1
                elif s == s_end or z_columns[t] < x_columns[s]:
                    difference = z_values[t]
                    t += 1
                else:
                    difference = x_values[s] - z_values[t]
                    s += 1
                    t += 1
                total += difference * difference
            out[i, j] = math.exp(-gamma * total)
