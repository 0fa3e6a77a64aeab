"""A kernel and the rows of a data set: what a parameter such as gamma="scale" is on them, and how
they are laid out for the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._precision import EPS
from mercer.kernels._base import LARGEST, Kernel
from mercer.kernels._registry import KERNELS_BY_NAME
from mercer.kernels._samples import SAMPLED_ROWS, Samples, centre
from mercer.kernels._symmetry import require_symmetric_kernel
from mercer.kernels._user_defined import as_kernel

__all__ = ["SETTINGS", "bind_samples", "kernel_of", "make_samples"]


@dataclass(frozen=True)
class BindingSettings:
    """When rows are densified and centred, and what counts as a constant.

    Attributes
    ----------
    dense_cells : int
        Sparse matrices with at most this number of cells are fitted as dense ones (8 MB).
    mean_fraction : float
        Sparse or linear rows are centred if ‖mean‖² exceeds this fraction of the mean ‖x‖².
    float64_rows : int
        Up to this number of rows a fit is in float64, and linear rows are centred only beyond
        ``float64_mean_fraction``: where digits would be lost.
    float64_mean_fraction : float
    rows_at_once : int
        Rows that the variance of large data is summed over at a time: no second X is made.
    constant : float
        A variance below this multiple of the largest squared entry is the rounding of equal ones.
    """

    dense_cells: int = 1_000_000
    mean_fraction: float = 0.67
    float64_rows: int = 768
    float64_mean_fraction: float = 0.9999
    rows_at_once: int = 4096
    constant: float = 16 * EPS**2


SETTINGS = BindingSettings()


def kernel_of(
    kernel: Any, X: Any, weight: np.ndarray | None, gamma: Any, degree: int, coef0: float
) -> tuple[Kernel, float]:
    """The Kernel of a name or a function on these rows, and γ as a number (0 where it has none)."""
    if callable(kernel) or "gamma" not in KERNELS_BY_NAME[kernel].parameters:
        return as_kernel(kernel, 1.0, degree, coef0), 0.0
    gamma = _gamma(gamma, X, weight)
    return as_kernel(kernel, gamma, degree, coef0), gamma


def bind_samples(
    kernel: Kernel, X: Any, *, zero_sum: bool = False, largest: float = LARGEST
) -> Samples:
    """The rows checked and prepared for a kernel.

    Squared norms and kernel values must not exceed ``largest``; ``zero_sum`` as in `make_samples`.
    """
    samples = kernel.prepare(make_samples(X, kernel, zero_sum=zero_sum))
    samples.kernel = kernel
    kernel.check(samples, largest)
    require_symmetric_kernel(kernel, samples)
    return samples


def make_samples(X: Any, kernel: Kernel, *, zero_sum: bool = False) -> Samples:
    """The rows as the kernel takes them, dense ones shifted if only differences count.

    Where coefficients sum to zero (``zero_sum``) that is so of the linear kernel, too; its rows are
    shifted if their mean is most of what they are.

    Zeros that are worth keeping are kept, unless the mean is most of what the rows are. Otherwise
    the rows lie around their mean (or median: `centre`), or around the values that most of them
    share where that gives zeros worth having (a column of two values that was standardised).
    """
    points = Samples(X)
    may_shift = kernel.is_shift_invariant or (zero_sum and kernel.is_centrable)
    if not may_shift or sp.issparse(X) or X.ndim != 2 or not len(X):
        return points
    with np.errstate(over="ignore"):  # an infinite mean is reported by Kernel.check
        mean = centre(X)
        if (
            points.has_few_nonzeros
            and mean @ mean <= SETTINGS.mean_fraction * points.sq_norms.mean()
        ):
            return points
        if not kernel.is_shift_invariant:
            offset, total = float(mean @ mean), float(points.sq_norms.mean())
            share = (
                SETTINGS.mean_fraction
                if len(X) > SETTINGS.float64_rows
                else SETTINGS.float64_mean_fraction
            )
            is_far = offset > share * total and np.isfinite(mean).all()
            return Samples(X, mean) if is_far else points
        if points.fits_panels:
            shifted = Samples(X, _common_values(X, mean))
            if shifted.has_few_nonzeros:
                return shifted
        return Samples(X, mean)


def _common_values(X: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Of each column the value that more than half of some rows have, or else the mean."""
    some = X[:: max(1, X.shape[0] // SAMPLED_ROWS)]
    middle = np.sort(some, axis=0)[some.shape[0] // 2]
    return np.where((some == middle).mean(axis=0) > 0.5, middle, mean)


def _gamma(gamma: float | str | None, X: Any, weight: np.ndarray | None) -> float:
    """'scale' is 1 / (d · variance of X), rows counted by weight; 'auto' and None are 1 / d."""
    if gamma is None or gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        return float(gamma)
    with np.errstate(over="ignore"):  # reported by Kernel.check
        variance = _variance(X, weight)
    is_constant = variance <= SETTINGS.constant * _largest_square(X)
    return 1.0 if is_constant else 1.0 / (X.shape[1] * variance)


def _largest_square(X: Any) -> float:
    largest = float(abs(X).max()) if X.shape[0] and X.shape[1] else 0.0
    return largest * largest


def _variance(X: Any, weight: np.ndarray | None) -> float:
    """Variance of all entries; in slices, so that no second X is made."""
    n, d = X.shape
    if weight is None and n <= SETTINGS.rows_at_once and not sp.issparse(X):
        return float(X.var(dtype=np.float64))
    w = np.ones(n) if weight is None else weight / weight.max()  # equal weights count as none
    total = d * w.sum()
    if sp.issparse(X):
        values = X.data.astype(np.float64)
        per_entry = np.repeat(w, np.diff(X.indptr))
        return float((per_entry * values**2).sum() / total - ((per_entry @ values) / total) ** 2)
    slices = [
        slice(start, start + SETTINGS.rows_at_once) for start in range(0, n, SETTINGS.rows_at_once)
    ]
    mean = sum(w[s] @ X[s].sum(axis=1, dtype=np.float64) for s in slices) / total
    squares = 0.0
    for s in slices:
        difference = np.subtract(X[s], mean, dtype=np.float64)
        squares += w[s] @ np.einsum("ij,ij->i", difference, difference)
    return float(squares / total)
