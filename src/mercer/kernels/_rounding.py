"""Bounds on the rounding of kernel values, by how they are computed.

A tile holds k̂(x, z) in float32 or float64. With ρ, p_t, q_t ≥ 0, one number for each row,

    |k̂(x, z) − k(x, z)| ≤ |k̂(x, z)| (ρ(x) + ρ(z)) + Σ_t p_t(x) q_t(z) + q_t(x) p_t(z),

where k is the kernel in exact arithmetic on the rows as the user gave them. Sums, products and
powers of kernels keep this form, so that the error of f(x) = Σ β_j k(x_j, x) is bounded by sums
over j that cost one number for each row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

__all__ = ["MODEL", "ErrorModel", "Rounding", "exponential", "smallest", "unit", "within_range"]

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class ErrorModel:
    """Where bounds change their form.

    exp(−t) is off by (2t + 4) u of itself if t is off by 2t u.
    """

    # Exponents whose exp(−t) < 1e-26 counts as zero.
    negligible_exponent: float = 60.0
    # What values at exponents beyond 20 may be off by: t e^(−t) < 5e-8 times the relative error of
    # an exponent, and the values that count as zero.
    negligible_value: float = 1e-17
    # t e^(−t) ≤ s e^(−t) + e^(−s−1) for every t: an error of 2t u of exp(−t) is bounded by a
    # relative one of 2s u and an absolute one. The larger s, the better for values near 0.
    split_exponent: float = 4.0
    # Relative errors above this do not add up linearly any more: |k| itself is the bound then.
    largest_relative: float = 0.1
    # (1 + a)(1 + b) − 1 is at most this factor of a + b for a, b ≤ 2 · largest_relative.
    second_order: float = 1.25
    # The magnitude of k̂ over that of k.
    rounded_magnitude: float = 1.25


MODEL = ErrorModel()


@cache
def unit(dtype: Any) -> float:
    """The unit roundoff u: a correctly rounded operation is off by u of its result at most."""
    return float(np.finfo(dtype).eps) / 2


@cache
def smallest(dtype: Any) -> float:
    """The error of an operation whose result underflows."""
    return float(np.finfo(dtype).smallest_subnormal)


@dataclass(frozen=True, eq=False)
class Rounding:
    """The arrays of the bound above, for the rows of some points."""

    relative: np.ndarray  # ρ
    pairs: tuple[Pair, ...] = ()  # (p_t, q_t)

    @classmethod
    def of(cls, relative: float | np.ndarray, n: int, *pairs: Pair) -> Rounding:
        """With ρ, or one ρ for all n rows."""
        return cls(np.array(np.broadcast_to(relative, n), dtype=np.float64), pairs)

    @classmethod
    def symmetric(cls, magnitude: np.ndarray, factor: float, dtype: Any) -> Rounding:
        """An error of ``factor`` · m(x) m(z), and a rounding of the result."""
        root = np.sqrt(factor / 2) * magnitude + np.sqrt(smallest(dtype))
        return cls.of(unit(dtype), magnitude.size, (root, root))

    @property
    def n(self) -> int:
        return self.relative.size

    def take(self, rows: Any) -> Rounding:
        """That of some of the rows."""
        return Rounding(self.relative[rows], tuple((p[rows], q[rows]) for p, q in self.pairs))

    def absolute(self, magnitude: np.ndarray) -> tuple[Pair, ...]:
        """All of it as pairs, given m with |k̂(x, z)| ≤ m(x) m(z)."""
        return (*self.pairs, (self.relative * magnitude, magnitude))

    def plus(
        self, other: Rounding, magnitudes: Sequence[np.ndarray] | None, dtype: Any
    ) -> Rounding:
        """Of k₁ + k₂; ``magnitudes`` is None where both kernels are non-negative."""
        u = unit(dtype)
        if magnitudes is None:
            relative = np.maximum(self.relative, other.relative) + u
            return Rounding(relative, self.pairs + other.pairs)
        pairs = self.absolute(magnitudes[0]) + other.absolute(magnitudes[1])
        return Rounding.of(u, self.n, *pairs)

    def times(self, other: Rounding, magnitudes: Sequence[np.ndarray], dtype: Any) -> Rounding:
        """Of k₁ k₂, which may underflow."""
        ones = np.ones(self.n)
        pairs: list[Pair] = [(smallest(dtype) * ones, ones)]
        for mine, theirs in ((self, magnitudes[1]), (other, magnitudes[0])):
            scaled = MODEL.second_order * theirs
            pairs += [(p * scaled, q * theirs) for p, q in mine.pairs]
        for p, q in self.pairs:
            for r, s in other.pairs:
                pairs += [(p * r, q * s), (p * s, q * r)]
        return within_range(
            Rounding(
                MODEL.second_order * (self.relative + other.relative) + unit(dtype),
                tuple(_merged(pairs)),
            ),
            magnitudes[0] * magnitudes[1],
        )

    def scaled(self, c: float, dtype: Any) -> Rounding:
        """Of c k; both the product and c are rounded."""
        ones = np.ones(self.n)
        pairs = [(c * p, q) for p, q in self.pairs]
        return Rounding(self.relative + 2 * unit(dtype), (*pairs, (smallest(dtype) * ones, ones)))


def _merged(pairs: Sequence[Pair]) -> list[Pair]:
    """One pair that bounds the sum of several: s(x) s(z) with s the sum of all p and q.

    Each pair is scaled so that p and q are of the same size before.
    """
    total: Any = 0.0
    for p, q in pairs:
        ratio = np.sqrt(
            max(float(p.max(initial=0.0)), 1e-300) / max(float(q.max(initial=0.0)), 1e-300)
        )
        total = total + p / ratio + q * ratio
    return [(total / 2, total)] if len(pairs) else []


def within_range(rounding: Rounding, magnitude: np.ndarray) -> Rounding:
    """Rows whose relative error is no longer small get an absolute one: |k̂ − k| ≤ 2 m(x) m(z)."""
    lost = ~(rounding.relative <= MODEL.largest_relative)
    p = np.where(lost, 2 * MODEL.rounded_magnitude * magnitude, 0.0)
    relative = np.where(lost, 0.0, rounding.relative)
    return Rounding(relative, (*rounding.pairs, (p, magnitude)))


def exponential(exponent: np.ndarray, dtype: Any) -> Rounding:
    """Of a kernel exp(−t), given absolute errors of t before its last two roundings, for each row.

    Values that count as zero have themselves as their error; where the relative one is no longer
    small, |k̂ − k| ≤ 1.
    """
    u, s = 1.1 * unit(dtype), MODEL.split_exponent
    relative = exponent + (s + 2) * u
    tiny, ones = MODEL.negligible_value + np.exp(-s - 1) * u, np.ones(relative.size)
    if relative.max(initial=0.0) <= MODEL.largest_relative:
        return Rounding(relative, ((tiny * ones, ones),))
    lost = ~(relative <= MODEL.largest_relative)
    return Rounding(np.where(lost, 0.0, relative), ((np.where(lost, 1.0, tiny), ones),))
