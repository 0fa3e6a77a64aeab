"""Structured kernels written out once more for `mercer.verify`, with bounds of their rounding.

Each function takes a kernel and two blocks of samples (`mercer.kernels._reference_kernels.Rows`)
and returns kernel values and their errors. Features are counted by Python's own containers; no
code is shared with the kernels that fits use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._precision import UNIT
from mercer.kernels._reference_kernels import Rows, Values

__all__ = ["count_products", "spectrum", "tokens_of"]


def spectrum(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Σ_u count(u, x) count(u, z)."""

    def count(sample: Any) -> Counter:
        tokens = tokens_of(sample)
        return Counter(
            tokens[i : i + k] for k in kernel.lengths for i in range(len(tokens) - k + 1)
        )

    return count_products(A, Z, count)


def tokens_of(sample: Any) -> tuple:
    """The tokens of a sequence."""
    if isinstance(sample, bytes):
        sample = sample.decode("latin-1")
    return tuple(sample.tolist() if isinstance(sample, np.ndarray) else sample)


def count_products(A: Rows, Z: Rows, count: Callable[[Any], Counter]) -> Values:
    """Products of counts. Sums of integers below 2⁵³ have no rounding."""
    column: dict[Hashable, int] = {}
    support = _counts(Z, count, column, grow=True)
    rows = _counts(A, count, column, grow=False)
    K = np.asarray((rows @ support.T).todense())
    largest = float(K.max(initial=0.0))
    units = 0.0 if largest < 2.0**52 else (len(column) + 2) * UNIT
    return K, units * K


def _counts(
    rows: Rows, count: Callable[[Any], Counter], column: dict[Hashable, int], *, grow: bool
) -> sp.csr_matrix:
    """The counts of the features in ``column``, which are added to if it may grow."""
    data, columns, indptr = [], [], [0]
    for sample in rows.X[rows.index]:
        for key, number in count(sample).items():
            if grow:
                column.setdefault(key, len(column))
            if key in column:
                data.append(float(number))
                columns.append(column[key])
        indptr.append(len(data))
    return sp.csr_matrix((data, columns, indptr), shape=(len(indptr) - 1, len(column)))
