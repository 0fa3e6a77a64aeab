"""Kernels of distances: RBF (Gaussian)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._maps import flat_rows, rbf_map32, rbf_map64
from mercer.kernels._products import products
from mercer.kernels.base import Kernel, real
from mercer.kernels.points import Block

__all__ = ["RBF"]


@dataclass(frozen=True, repr=False, init=False)
class RBF(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖²) = exp(−‖x − z‖² / (2σ²)).

    Parameters
    ----------
    gamma : float ≥ 0, default 1
    sigma : float > 0
        Instead of gamma: γ = 1/(2σ²).
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
        if "sigma" in params:  # not a field: σ only names γ
            return RBF(**params)
        return super().set_params(**params)

    @property
    def is_psd(self) -> bool:
        return True

    @property
    def is_shift_invariant(self) -> bool:
        return True

    def tile(self, A: Block, B: Block, out: np.ndarray) -> None:
        products(A.X, B.X, out)
        flat, stride = flat_rows(out)
        if out.dtype == np.float32:
            norms = (*_two_parts(A.sq_norms), *_two_parts(B.sq_norms))
            rbf_map32(flat, stride, *out.shape, *norms, np.float32(self.gamma))
        else:
            rbf_map64(flat, stride, *out.shape, A.sq_norms, B.sq_norms, self.gamma)

    def diag(self, A: Block) -> np.ndarray:
        return np.ones(len(A))


def _two_parts(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64 values as sums of two float32 arrays."""
    high = values.astype(np.float32)
    return high, (values - high).astype(np.float32)
