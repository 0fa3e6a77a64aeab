"""Kernels of differences: RBF (Gaussian), Laplacian, chi-squared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._base import LARGEST, Kernel, real
from mercer.kernels._compiled.differences import replace_far_values
from mercer.kernels._compiled.elementwise import (
    exp_map32,
    flat_rows,
    map_by_table,
    rbf_map32,
    rbf_map64,
    rbf_of_few_columns,
    sq_distances,
)
from mercer.kernels._compiled.products import products
from mercer.kernels._compiled.sparse_pairwise import CHI2, L1
from mercer.kernels._histogram import gather
from mercer.kernels._rounding import Rounding, exponential, unit
from mercer.kernels._samples import SampleBlock, Samples

__all__ = ["RBF", "Chi2", "Laplacian"]

# Up to FEW_COLUMNS columns float32 distances from differences take no longer than from dot
# products, and lose fewer digits.
FEW_COLUMNS = 12
# Rows are far if dot products would lose more than this of γ‖x − z‖².
LOST_IN_PRODUCTS = {np.dtype(np.float32): 1e-2, np.dtype(np.float64): 1e-12}
# Differences take some thirty times as long: where more than MANY_FAR of more than FEW_ROWS rows
# are far, products may lose LARGER_LOSS in float64.
MANY_FAR, FEW_ROWS, LARGER_LOSS = 0.01, 2048, 1e-10


# Integer squared distances up to this are mapped by a table, which stays in the first-level cache.
LARGEST_TABULATED = 1024

_NONE = np.zeros(0, np.intp)


def _distance_error(points: Samples, dtype: Any) -> float:
    """‖x − z‖² is off by this factor of ‖x‖² + ‖z‖² at most.

    Rows are rounded to ``dtype`` (4 u), d products are summed, and three numbers added (at most 2 u
    each). Norms are float64 sums of d squares: in float64 they are off by as much as the products.
    Differences are off by (d + 3) u of ‖x − z‖² ≤ 2 (‖x‖² + ‖z‖²). Nothing is lost on rows of small
    integers.
    """
    if points.are_exact(dtype):
        return 0.0
    is_product = np.dtype(dtype) == np.float32 and points.d > FEW_COLUMNS
    return (points.terms + 10 if is_product else 2 * points.terms + 16) * unit(dtype)


def _difference_error(points: Samples) -> float:
    """Of γ‖x − z‖² (or of γ Σ (x_c − z_c)²/(x_c + z_c)) from differences, up to an exponent of 20.

    Beyond it |k̂ − k| ≤ t e^(−t) · error / 20 is below the rounding of values near 1.
    """
    return 1.1 * 20 * (2 * points.terms + 6) * unit(np.float64)


@dataclass(frozen=True, repr=False, init=False)
class RBF(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖²) = exp(−‖x − z‖² / (2σ²)).

    **Cost.** One product of matrices, and an exponential for each value.

    **When.** The first choice for rows of numbers of a common scale; γ and C are to be searched.

    Parameters
    ----------
    gamma : float ≥ 0, default 1
    sigma : float > 0
        Instead of gamma: γ = 1/(2σ²).

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> RBF(sigma=1.0) == RBF(gamma=0.5)
    True
    """

    gamma: float
    is_psd = is_shift_invariant = is_nonnegative = True

    def __init__(self, gamma: float | None = None, *, sigma: float | None = None):
        if gamma is not None and sigma is not None:
            raise ValueError(
                f"RBF: give gamma or sigma, not both (gamma = 1/(2 sigma²)); got gamma={gamma!r}, "
                f"sigma={sigma!r}."
            )
        if sigma is not None:
            gamma = 0.5 / real("RBF", "sigma", sigma, least=0, open_left=True) ** 2
        gamma = 1.0 if gamma is None else real("RBF", "gamma", gamma, least=0)
        object.__setattr__(self, "gamma", gamma)

    @property
    def sigma(self) -> float:
        """The width σ = 1/√(2γ)."""
        return float(np.sqrt(0.5 / self.gamma)) if self.gamma else np.inf

    def set_params(self, **params: Any) -> Kernel:
        """A new kernel with this gamma, or this sigma."""
        if set(params) <= {"gamma", "sigma"} and params:
            return RBF(**params)
        return super().set_params(**params)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        flat, stride = flat_rows(out)
        has_few_columns = not A.is_sparse and A.points.d <= FEW_COLUMNS
        differences = out.dtype == np.float32 and has_few_columns
        at_once = out.dtype == np.float64 and has_few_columns and A.points.is_compared
        if differences:
            sq_distances(flat, stride, *out.shape, A.in_fours(), B.in_fours(transposed=True))
        elif not at_once:
            products(A, B, out)
        rows, columns = self._far(A), self._far(B)
        if rows.size or columns.size:
            parts = out[rows], out[:, columns]
            if at_once:
                parts = A.X[rows] @ B.X.T, A.X @ B.X[columns].T
            by_row = self._distances(A, B, parts[0], differences, rows=rows)
            by_column = self._distances(A, B, parts[1], differences, columns=columns)
        if at_once:
            blocks = A.in_fours(), B.in_fours(transposed=True), A.sq_norms, B.sq_norms
            rbf_of_few_columns(flat, stride, *out.shape, *blocks, self.gamma)
        elif differences:
            exp_map32(flat, stride, *out.shape, np.float32(self.gamma))
        else:
            self.map_products(A, B, out)
        if rows.size or columns.size:
            error = _distance_error(A.points, out.dtype)
            if rows.size:
                replace_far_values(A, B, rows, by_row, error, self.gamma, out)
            if columns.size:
                replace_far_values(B, A, columns, by_column.T, error, self.gamma, out.T)

    def is_map_of_products(self, samples: Samples) -> bool:
        """Not where some rows are far: their values come from differences."""
        norms = samples.largest_norm(np.float64)
        return norms <= self._largest_norm(samples, np.float64)

    def map_products(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        flat, stride = flat_rows(out)
        if out.dtype == np.float32:
            norms = (*A.norm_parts, *B.norm_parts)
            rbf_map32(flat, stride, *out.shape, *norms, np.float32(self.gamma))
        elif A.points is B.points and (table := self._table(A.points)) is not None:
            map_by_table(out, A.sq_norms, B.sq_norms, table)
        else:
            rbf_map64(flat, stride, *out.shape, A.sq_norms, B.sq_norms, self.gamma)

    def _table(self, points: Samples) -> np.ndarray | None:
        """exp(−γ s) for every squared distance s of rows of small integers; None for others."""
        key = "table", self.gamma
        if key not in points.prepared:
            largest = 4 * points.largest_norm(np.float64)
            is_small = largest <= LARGEST_TABULATED and points.are_exact(np.float64)
            points.prepared[key] = (
                np.exp(-self.gamma * np.arange(int(largest) + 1)) if is_small else None
            )
        return points.prepared[key]

    def _far(self, A: SampleBlock) -> np.ndarray:
        """Rows whose norms take too many digits from their distances."""
        largest = self._largest_norm(A.points, A.dtype)
        if A.points.largest_norm(A.dtype) <= largest:
            return _NONE
        return np.flatnonzero(~(A.sq_norms <= largest))

    def _largest_norm(self, points: Samples, dtype: Any) -> float:
        """Of rows whose distances come from dot products: those lose less than differences do."""
        key = "largest norm", self.gamma, np.dtype(dtype)
        if key not in points.prepared:
            error = max(self.gamma * _distance_error(points, dtype), 1e-300)
            least = _difference_error(points)
            largest = max(LOST_IN_PRODUCTS[np.dtype(dtype)] / 2, least) / error
            if points.n > FEW_ROWS and np.mean(points.norms(dtype) > largest) > MANY_FAR:
                largest = max(largest, LARGER_LOSS / 2 / error)
            points.prepared[key] = largest
        return points.prepared[key]

    @staticmethod
    def _distances(
        A: SampleBlock,
        B: SampleBlock,
        part: np.ndarray,
        differences: bool,
        rows: Any = slice(None),
        columns: Any = slice(None),
    ) -> np.ndarray:
        """Squared distances in float64 of a part of a tile, before it is mapped."""
        part = part.astype(np.float64)
        if differences or part.size == 0:
            return part
        return A.sq_norms[rows][:, None] + B.sq_norms[columns] - 2 * part

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """γ times the error of the squared distance, and that of exp on an exponent up to 60."""
        norms = points.norms(dtype)
        lost = 1.1 * self.gamma * _distance_error(points, dtype) * norms
        largest = self._largest_norm(points, dtype)
        if points.largest_norm(dtype) > largest:
            lost = np.where(norms <= largest, lost, _difference_error(points))
        return exponential(lost, dtype)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.ones(len(A))


@dataclass(frozen=True, repr=False)
class Laplacian(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖₁).

    **Cost.** A difference for each column and an exponential for each value, several times that of
    `RBF`.

    **When.** Functions with kinks, and rows with a few columns that are far off.

    Parameters
    ----------
    gamma : float ≥ 0, default=1
    """

    gamma: float = 1.0
    is_psd = is_shift_invariant = is_nonnegative = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", real("Laplacian", "gamma", self.gamma, least=0))

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        return _exponential_rounding(points, dtype, self.gamma)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        gather(A, B, L1, self.gamma, out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.ones(len(A))


@dataclass(frozen=True, repr=False)
class Chi2(Kernel):
    """k(x, z) = exp(−γ Σ_c (x_c − z_c)² / (x_c + z_c)) for x, z ≥ 0, as of histograms.

    **Cost.** A division for each column and an exponential for each value, several times that of
    `RBF`.

    **When.** Histograms and counts: a difference counts for more where both are small.

    Parameters
    ----------
    gamma : float ≥ 0, default=1
    """

    gamma: float = 1.0
    is_psd = is_nonnegative = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", real("Chi2", "gamma", self.gamma, least=0))

    def _check_rows(self, points: Samples, largest: float = LARGEST) -> None:
        super()._check_rows(points, largest)
        values = points.X.data if points.is_sparse else points.X
        if values.size and values.min() < 0:
            raise ValueError(
                f"Chi2 needs values ≥ 0; got {np.count_nonzero(values < 0)} negative ones, the "
                f"least {values.min():g}. Shift or clip the columns, or use Laplacian."
            )

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        return _exponential_rounding(points, dtype, 4 * self.gamma)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        gather(A, B, CHI2, self.gamma, out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.ones(len(A))


def _exponential_rounding(points: Samples, dtype: Any, gamma: float) -> Rounding:
    """Of exp(−γ s), where s is a sum of d terms, each at most |x_c| + |z_c| with a slope below 1.

    Sums are in float64, sparse rows and the result in ``dtype``. Of dense rows the terms are
    differences of the user's numbers, which lose a few roundings of themselves.
    """
    u = unit(dtype)
    if not points.is_sparse:
        return exponential(np.full(points.n, _difference_error(points) + 2 * u), np.float64)
    size = points.absolute_sums * (1 + 1e-6)
    relative = 1.1 * gamma * size * (2 * u + (2 * points.terms + 4) * unit(np.float64))
    return exponential(relative + 2 * u, np.float64)
