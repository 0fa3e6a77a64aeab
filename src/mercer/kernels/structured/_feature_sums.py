"""Kernel sums Σ_j c_j k(z_j, x) by explicit sparse features: w·φ(x) with w = Σ_j c_j φ(z_j).

A prediction then costs one sparse row, not one product for each support vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import Kernel
from mercer.kernels._composite import Scaled
from mercer.kernels._normalize import Normalize
from mercer.kernels._samples import Samples
from mercer.kernels.structured._sparse_features import SparseFeatureKernel

__all__ = ["explicit_features", "sums_by_features"]


def sums_by_features(
    kernel: Kernel,
    samples: Samples,
    support: Samples,
    coef: np.ndarray,
    blocks: Sequence[tuple[int, int, np.ndarray]],
) -> np.ndarray | None:
    """The sums at prepared samples, one column per output; None if the kernel has no such features.

    Row r of ``coef[:, start:stop]`` belongs to output ``outputs[r]``, for each (start, stop,
    outputs) of ``blocks``.
    """
    rows = explicit_features(kernel, support, support)
    if rows is None:
        return None
    W = np.zeros((1 + max(int(outputs.max()) for *_, outputs in blocks), rows.shape[1]))
    for start, stop, outputs in blocks:
        W[outputs] += coef[:, start:stop] @ rows[start:stop]
    return np.asarray(explicit_features(kernel, samples, support) @ W.T)


def explicit_features(kernel: Kernel, samples: Samples, others: Samples) -> Any:
    """φ of prepared samples in the columns of others, in float64; None without features."""
    if isinstance(kernel, SparseFeatureKernel):
        return kernel.rows(samples, others)
    if isinstance(kernel, Scaled):
        rows = explicit_features(kernel.k, samples, others)
        return None if rows is None else np.sqrt(kernel.c) * rows
    if isinstance(kernel, Normalize):
        rows = explicit_features(kernel.k, samples, others)
        return None if rows is None else sp.diags(kernel.inverse_lengths(samples)) @ rows
    return None
