"""Kernels of differences: RBF (Gaussian), Laplacian, chi-squared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._maps import (
    exp_map32,
    flat_rows,
    rbf_map32,
    rbf_map64,
    sq_distances,
)
from mercer.kernels._products import products
from mercer.kernels._sparse import CHI2, L1
from mercer.kernels.base import Kernel, real
from mercer.kernels.coordinate import gather
from mercer.kernels.points import Block, Points

__all__ = ["RBF", "Chi2", "Laplacian"]

# Up to so many columns float32 distances from differences take no longer than from dot products,
# and lose fewer digits.
FEW_COLUMNS = 12


@dataclass(frozen=True, repr=False, init=False)
class RBF(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖²) = exp(−‖x − z‖² / (2σ²)).

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

    @property
    def is_psd(self) -> bool:
        return True

    @property
    def is_shift_invariant(self) -> bool:
        return True

    def tile(self, A: Block, B: Block, out: np.ndarray) -> None:
        flat, stride = flat_rows(out)
        if out.dtype == np.float32 and not A.is_sparse and A.points.d <= FEW_COLUMNS:
            sq_distances(flat, stride, *out.shape, _in_fours(A.X), _in_fours(B.X).T.copy())
            exp_map32(flat, stride, *out.shape, np.float32(self.gamma))
            return
        products(A, B, out)
        if out.dtype == np.float32:
            norms = (*_two_parts(A.sq_norms), *_two_parts(B.sq_norms))
            rbf_map32(flat, stride, *out.shape, *norms, np.float32(self.gamma))
        else:
            rbf_map64(flat, stride, *out.shape, A.sq_norms, B.sq_norms, self.gamma)

    def diag(self, A: Block) -> np.ndarray:
        return np.ones(len(A))


def _in_fours(X: np.ndarray) -> np.ndarray:
    """X with zero columns added, so that their number is a multiple of four."""
    return np.pad(X, ((0, 0), (0, -X.shape[1] % 4)))


def _two_parts(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64 values as sums of two float32 arrays."""
    high = values.astype(np.float32)
    return high, (values - high).astype(np.float32)


@dataclass(frozen=True, repr=False)
class Laplacian(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖₁)."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", real("Laplacian", "gamma", self.gamma, least=0))

    @property
    def is_psd(self) -> bool:
        return True

    @property
    def is_shift_invariant(self) -> bool:
        return True

    def tile(self, A: Block, B: Block, out: np.ndarray) -> None:
        gather(A, B, L1, self.gamma, out)

    def diag(self, A: Block) -> np.ndarray:
        return np.ones(len(A))


@dataclass(frozen=True, repr=False)
class Chi2(Kernel):
    """k(x, z) = exp(−γ Σ_c (x_c − z_c)² / (x_c + z_c)) for x, z ≥ 0, as of histograms."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", real("Chi2", "gamma", self.gamma, least=0))

    @property
    def is_psd(self) -> bool:
        return True

    def _check_rows(self, points: Points) -> None:
        super()._check_rows(points)
        values = points.X.data if points.is_sparse else points.X
        if values.size and values.min() < 0:
            raise ValueError(
                f"Chi2 needs values ≥ 0; got {np.count_nonzero(values < 0)} negative ones, the "
                f"least {values.min():g}. Shift or clip the columns, or use Laplacian."
            )

    def tile(self, A: Block, B: Block, out: np.ndarray) -> None:
        gather(A, B, CHI2, self.gamma, out)

    def diag(self, A: Block) -> np.ndarray:
        return np.ones(len(A))
