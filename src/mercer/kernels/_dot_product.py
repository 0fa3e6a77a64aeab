"""Kernels of the dot product x·z: linear, polynomial, tanh, cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.exceptions import warn_user
from mercer.kernels._base import Kernel, integer, real
from mercer.kernels._compiled.elementwise import flat_rows, power_map
from mercer.kernels._compiled.products import products
from mercer.kernels._rounding import Rounding, smallest, unit
from mercer.kernels._samples import SampleBlock, Samples

__all__ = ["Cosine", "IndefiniteKernelWarning", "Linear", "Polynomial", "Sigmoid"]


def _dot_factor(points: Samples, dtype: Any) -> float:
    """x·z is off by this factor of ‖x‖ ‖z‖ at most: rows rounded to ``dtype``, d products, sums."""
    return (points.terms + 4) * unit(dtype)


def _norms(points: Samples, dtype: Any) -> np.ndarray:
    """‖x‖, and as much more as makes up for products that underflow."""
    lost = (points.terms + 1) * smallest(dtype) / _dot_factor(points, dtype)
    return np.sqrt(points.sq_norms) * (1 + 1e-6) + np.sqrt(lost)


class IndefiniteKernelWarning(UserWarning):
    """The kernel has Gram matrices that are not positive semidefinite."""


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """k(x, z) = x·z.

    **Cost.** One product of matrices. Models keep w, and predict with it.

    **When.** Many columns, such as counts of words; `mercer.LinearSVC` solves the same problem
    without kernel values.
    """

    linear_factor = 1.0
    is_psd = is_centrable = True

    def shift_terms(self, rows: np.ndarray, origin: np.ndarray) -> tuple[np.ndarray, Any]:
        c = origin.astype(rows.dtype)
        return rows @ c, c @ c / 2

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        return Rounding.symmetric(_norms(points, dtype), _dot_factor(points, dtype), dtype)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        products(A, B, out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return A.sq_norms.copy()


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """k(x, z) = (γ x·z + c₀)^degree, positive semidefinite for c₀ ≥ 0.

    **Cost.** One product of matrices, and log₂(degree) multiplications for each value.

    **When.** Products of up to ``degree`` columns matter, as of 0/1 columns; scale columns before.

    Parameters
    ----------
    degree : int ≥ 0, default=3
    gamma : float ≥ 0, default=1
    coef0 : float, default=0
        c₀: with 0 only products of exactly ``degree`` columns.
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "degree", integer("Polynomial", "degree", self.degree, least=0))
        set_(self, "gamma", real("Polynomial", "gamma", self.gamma, least=0))
        set_(self, "coef0", real("Polynomial", "coef0", self.coef0))

    @property
    def is_psd(self) -> bool:
        return self.coef0 >= 0

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """(t + e)^p − t^p for t within ±M and an error e of t: at most 2 p M^(p−1) e."""
        factor = 2 * max(self.degree, 1) * (_dot_factor(points, dtype) + 4 * unit(dtype))
        return Rounding.symmetric(self._majorant(_norms(points, dtype)), factor, dtype)

    def magnitude(self, points: Samples) -> np.ndarray:
        return 1.2 * self._majorant(_norms(points, np.float32))

    def _majorant(self, norms: np.ndarray) -> np.ndarray:
        """m with (γ|x·z| + |c₀|)^p ≤ m(x) m(z)."""
        with np.errstate(over="ignore"):
            return np.sqrt((self.gamma * norms**2 + abs(self.coef0)) ** self.degree)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        if self.degree == 0:
            out[...] = 1
            return
        products(A, B, out)
        self.map_products(A, B, out)

    def is_map_of_products(self, samples: Samples) -> bool:
        return self.degree > 0

    def map_products(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        flat, stride = flat_rows(out)
        number = out.dtype.type
        power_map(flat, stride, *out.shape, number(self.gamma), number(self.coef0), self.degree)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return (self.gamma * A.sq_norms + self.coef0) ** self.degree


@dataclass(frozen=True, repr=False)
class Sigmoid(Kernel):
    """k(x, z) = tanh(γ x·z + c₀): not positive semidefinite, which building one warns about.

    **Cost.** One product of matrices, and a hyperbolic tangent for each value.

    **When.** To repeat results of others; `RBF` is the usual choice.

    Parameters
    ----------
    gamma : float ≥ 0, default=1
    coef0 : float, default=0
    """

    gamma: float = 1.0
    coef0: float = 0.0

    is_psd = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", real("Sigmoid", "gamma", self.gamma, least=0))
        object.__setattr__(self, "coef0", real("Sigmoid", "coef0", self.coef0))
        warn_user(
            "The sigmoid (tanh) kernel is not positive semidefinite: the problem may be "
            "non-convex, and a solution only local. RBF is the usual alternative.",
            IndefiniteKernelWarning,
        )

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """tanh has a slope and values of at most 1, the latter with two roundings."""
        factor = _dot_factor(points, dtype) + 4 * unit(dtype)
        root = np.sqrt(factor / 2 * (self.gamma * _norms(points, dtype) ** 2 + abs(self.coef0)))
        ones = np.ones(points.n)
        return Rounding.of(0.0, points.n, (root, root), (2 * unit(dtype) * ones, ones))

    def magnitude(self, points: Samples) -> np.ndarray:
        return np.full(points.n, 1.1)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        products(A, B, out)
        self.map_products(A, B, out)

    def is_map_of_products(self, samples: Samples) -> bool:
        return True

    def map_products(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        out *= out.dtype.type(self.gamma)
        out += out.dtype.type(self.coef0)
        np.tanh(out, out=out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.tanh(self.gamma * A.sq_norms + self.coef0)


@dataclass(frozen=True, repr=False)
class Cosine(Kernel):
    """k(x, z) = x·z / (‖x‖ ‖z‖), and 0 where a row is zero.

    **Cost.** One product of matrices, and two multiplications for each value.

    **When.** Directions matter and lengths do not, as of counts of words in texts.
    """

    is_psd = True

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """That of the product over the norms, and of the norms."""
        factor = _dot_factor(points, dtype)
        root = _norms(points, dtype) * _inverse_norms(points) * np.sqrt(factor / 2)
        ones = np.ones(points.n)
        return Rounding.of(0.0, points.n, (root, root), (8 * unit(dtype) * ones, ones))

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        products(A, B, out)
        out *= _inverse_norms(A).astype(out.dtype)[:, None]
        out *= _inverse_norms(B).astype(out.dtype)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return (A.sq_norms > 0).astype(np.float64)


def _inverse_norms(A: SampleBlock | Samples) -> np.ndarray:
    norms = np.sqrt(A.sq_norms)
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
