"""K + D with a diagonal matrix D over the samples of one data set: squared slack inside K.

Internal: a kernel that knows its data. It exists so that every solver can be handed K + D without a
line of its own; models are expansions of the kernel without D.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._base import LARGEST, Kernel
from mercer.kernels._composite import OfOne
from mercer.kernels._rounding import Rounding, unit
from mercer.kernels._samples import SampleBlock, Samples

__all__ = ["PlusDiagonal"]


@dataclass(frozen=True, repr=False, eq=False)
class PlusDiagonal(OfOne, Kernel):
    """k(xᵢ, xⱼ) + dᵢ [i = j]."""

    k: Kernel
    d: np.ndarray  # one entry ≥ 0 for each sample

    def prepare(self, samples: Samples) -> Samples:
        """They are those of a Gram, prepared already."""
        return samples

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self.k.tile(A, B, out)
        if A.points is not B.points:
            return
        rows = A.row_numbers
        column = np.full(A.points.n, -1)
        column[B.row_numbers] = np.arange(len(B))
        at = column[rows]
        here = np.flatnonzero(at >= 0)
        out[here, at[here]] += self.d[rows[here]].astype(out.dtype)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return self.k.diag(A) + self.d[A.row_numbers]

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """d and the sum are rounded; for a PSD kernel 0 ≤ k(x, x) ≤ k(x, x) + d."""
        of_k, u = self.k.rounding(points, dtype), unit(dtype)
        if self.k.is_psd is True:
            return Rounding(of_k.relative + 2 * u, of_k.pairs)
        return Rounding.of(2 * u, points.n, *of_k.absolute(self.k.magnitude(points)))

    def magnitude(self, points: Samples) -> np.ndarray:
        return np.sqrt(self.k.magnitude(points) ** 2 + self.d)

    def check(self, points: Samples, largest: float = LARGEST) -> None:
        """That of k, and d is finite."""
        self.k.check(points, largest)

    def __repr__(self) -> str:
        return f"{self.k!r} + diag"
