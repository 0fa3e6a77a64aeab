"""Rigorous bounds on the error of sums f(x_i) = Σ_j c_j k(x_i, x_j), carried along with the sums.

With the bound of a kernel value (`mercer.kernels._rounding`),

    |f̂_i − f_i| ≤ Σ_j |c_j| |k̂_ij| (ρ_i + ρ_j + s) + pairs,

where s is the rounding of the sum itself. One sum Σ_j |k̂_ij| w_j is enough (`SumError.weight`):
with w_j = |c_j| (ρ_j + ρ̄ + s), since for any ρ̄ > 0 and m = min ρ + s

    ρ_i + ρ_j + s ≤ max(1, (ρ_i + m)/(ρ̄ + m)) (ρ_j + ρ̄ + s);

or, where all ρ are alike, with w_j = |c_j| (ρ̄ + max ρ + s). The factor of row i and the pairs are
applied at the end (`SumError.bound`).
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from mercer.kernels._rounding import Rounding, unit

__all__ = ["SumError"]

# The bound is computed with rounding too.
SLACK = 1 + 1e-6
# All ρ are alike if the largest is at most this multiple of their median.
ALIKE = 1.5


class SumError:
    """The error of sums over some rows (``columns``), at some rows (``rows``), in one precision.

    Parameters
    ----------
    rows, columns : Rounding
    terms : int
        Products that are added up one after the other, at most.
    """

    def __init__(self, rows: Rounding, columns: Rounding, terms: int):
        self.rows, self.columns = rows, columns
        n = columns.relative.size
        self.median = float(np.partition(columns.relative, n // 2)[n // 2]) if n else 0.0
        self.largest = float(columns.relative.max(initial=0.0))
        self.smallest = float(columns.relative.min()) if n else 0.0
        self._set_terms(terms)

    def _set_terms(self, terms: int) -> None:
        self.of_sum = (terms + 2) * unit(np.float64)
        self.mean = max(self.median, self.of_sum)
        self.is_even = self.largest <= ALIKE * self.mean
        self.factor = self.factor_of(self.rows)

    def with_terms(self, terms: int) -> SumError:
        """The same for sums with fewer additions one after the other."""
        fewer = copy(self)
        fewer._set_terms(terms)
        return fewer

    def take(self, index: np.ndarray) -> SumError:
        """That of sums over and at some of the rows; constants of all rows bound theirs."""
        part = copy(self)
        part.rows = part.columns = self.rows.take(index)
        part.factor = self.factor[index]
        return part

    def factor_of(self, rows: Rounding) -> np.ndarray:
        """The factor of each row."""
        if self.is_even:
            scale = self.mean + self.largest + self.of_sum
            return SLACK * np.maximum(1.0, (rows.relative + self.largest + self.of_sum) / scale)
        least = self.smallest + self.of_sum
        return SLACK * np.maximum(1.0, (rows.relative + least) / (self.mean + least))

    def weight(self, coef: np.ndarray, which: Any = slice(None)) -> np.ndarray:
        """w of some of the columns."""
        if self.is_even:
            return np.abs(coef) * (self.mean + self.largest + self.of_sum)
        return np.abs(coef) * (self.columns.relative[which] + (self.mean + self.of_sum))

    def bound(
        self, sums: np.ndarray, total_coef: np.ndarray, which: Any = slice(None)
    ) -> np.ndarray:
        """The bound at some of the rows, from Σ_j |k̂_ij| w_j.

        ``total_coef`` has Σ|c_j| of every column, over all updates of f.
        """
        of_pairs, size = np.zeros(sums.size), np.abs(total_coef)
        for (p, q), (r, s) in zip(self.rows.pairs, self.columns.pairs, strict=True):
            of_pairs += p[which] * float(size @ s) + q[which] * float(size @ r)
        return sums * self.factor[which] + SLACK * of_pairs
