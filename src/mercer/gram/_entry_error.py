"""What rounding does to kernel values and to sums of them: bounds, not estimates.

The value k̂ that `Kernel.tile` computes of rows i and j satisfies, by `mercer.kernels._rounding`,

    |k̂ − k| ≤ |k̂| (relative + near_i + near_j) + cross_i cross_j + apart_i + apart_j

A sum of products adds γ_m Σ |k̂||v| for m terms (Higham, Accuracy and Stability of Numerical
Algorithms, 2002, section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._rounding import unit
from mercer.kernels._samples import Samples

__all__ = ["EntryError", "entry_error", "gamma"]

# Sums and products of bounds are rounded, too; each bound is enlarged by this.
SAFETY = 1 + 1e-6


def gamma(terms: float, dtype: Any = np.float64) -> float:
    """γ_m = mu / (1 − mu); infinite where a sum of m terms has no bound."""
    mu = terms * unit(dtype)
    return mu / (1 - mu) if mu < 1 else np.inf


@dataclass(frozen=True, eq=False)
class EntryError:
    """The bound above; ``near``, ``cross`` and ``apart`` have an entry per row.

    ``is_nonnegative`` says that no value is below zero.
    """

    relative: float
    near: np.ndarray
    cross: np.ndarray
    apart: np.ndarray
    is_nonnegative: bool = False

    def of_sums(
        self, V: np.ndarray, absolute: np.ndarray, near: np.ndarray, terms: int
    ) -> np.ndarray:
        """|fl(Kv) − Kv| of each column v, entry by entry.

        ``absolute`` is |K||V|, ``near`` is |K| diag(near) |V|; ``terms`` is the number of roundings
        that a sum goes through.
        """
        size = np.abs(V)
        rounding = self.relative + gamma(terms + 2)
        out = (rounding + self.near[:, np.newaxis]) * absolute + near
        out += self.cross[:, np.newaxis] * (self.cross @ size)
        out += self.apart[:, np.newaxis] * size.sum(axis=0) + self.apart @ size
        return out * SAFETY

    def norm(self, row_sums: np.ndarray, near_sums: np.ndarray, terms: int) -> float:
        """A bound on ‖E‖₂, E the matrix of all errors and of ``terms`` roundings of sums.

        ``row_sums`` is |K|1, ``near_sums`` is |K| near. A symmetric matrix without negative entries
        has no eigenvalue above its largest row sum.
        """
        n = len(row_sums)
        rounding = self.relative + gamma(terms + 2)
        found = float(np.max(rounding * row_sums + self.near * row_sums + near_sums, initial=0.0))
        found += float(self.cross @ self.cross) + 2 * np.sqrt(n) * float(np.linalg.norm(self.apart))
        return found * SAFETY

    @property
    def largest(self) -> float:
        """A bound on every |k̂ − k| where no |k̂| is above 1."""
        near, cross, apart = (
            float(v.max(initial=0.0)) for v in (self.near, self.cross, self.apart)
        )
        return (self.relative + 2 * near + cross**2 + 2 * apart) * SAFETY


def entry_error(kernel: Any, points: Samples, dtype: Any = np.float64) -> EntryError:
    """The bound for the values of a kernel among some points, computed in a precision."""
    rounding = kernel.rounding(points, dtype)
    cross_sq, apart = np.zeros(points.n), np.zeros(points.n)
    for p, q in rounding.pairs:
        if (q == q[:1]).all():
            apart += p * (q[0] if q.size else 0.0)
        elif p is q:
            cross_sq += 2 * p * q
        else:  # p_i q_j + q_i p_j ≤ s_i s_j with s = p/c + q c
            scale = np.sqrt(max(float(p.max()), 1e-300) / max(float(q.max()), 1e-300))
            cross_sq += np.square(p / scale + q * scale)
    return EntryError(0.0, rounding.relative, np.sqrt(cross_sq), apart, bool(kernel.is_nonnegative))
