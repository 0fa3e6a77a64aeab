"""Kernels that compare all windows of two sequences: gapped k-mers and mismatches.

Both are Σ f(number of equal positions) over all pairs of windows of length g, with an integer f.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from typing import Any

import numpy as np

from mercer.kernels._base import integer
from mercer.kernels._compiled.windows import panels_of, self_sums, window_sums
from mercer.kernels._rounding import Rounding, unit
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.structured._sequence_kernel import SequenceKernel

__all__ = ["GappedKmer", "Mismatch"]


@dataclass(frozen=True)
class WindowSettings:
    """Attributes: sizes and costs of sums over pairs of windows.

    few_letters : int
        Up to this number of letters codes have 8 bits, without the one that pads panels. Windows
        are at most as long: their equal positions are counted in 8 bits.
    pair_cost : float
        Multiply-adds that take as long as a pair of windows, for each threshold.
    """

    few_letters: int = int(np.iinfo(np.uint8).max)
    pair_cost: float = 0.1


SETTINGS = WindowSettings()


class WindowKernel(SequenceKernel):
    """Σ f(equal positions) over pairs of windows; a subclass has ``width`` and ``weights``."""

    is_psd = is_nonnegative = True

    @property
    def width(self) -> int:
        """The length g of a window."""
        raise NotImplementedError

    def weights(self) -> list[int]:
        """f(0), …, f(g)."""
        raise NotImplementedError

    def cost_per_entry(self, samples: Samples) -> float:
        mean = self.sequences(samples).mean_length(self.width - 1)
        thresholds = int(np.count_nonzero(np.diff(self.weights())))
        return 1 + SETTINGS.pair_cost * mean**2 * max(1, thresholds)

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        x_codes, x_offsets, rows, z_codes, z_offsets, columns = self.both_sides(A, B)
        n_letters = max(int(x_codes.max(initial=0)), int(z_codes.max(initial=0))) + 1
        dtype = np.uint8 if n_letters <= SETTINGS.few_letters else np.int32
        values = np.array(self.weights(), dtype=np.float64)
        increments = np.diff(values, prepend=values[0])
        panels = panels_of(z_codes, z_offsets, columns, dtype)
        codes = x_codes.astype(dtype)
        window_sums(codes, x_offsets, rows, panels, self.width, increments, values[0], out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        out = np.empty(len(A))
        values = np.array(self.weights(), dtype=np.float64)
        self_sums(*self.both_sides(A, A)[:3], self.width, values, out)
        return out

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Sums of integers: exact below 2⁵³, and rounded once in float32."""
        lengths = self.sequences(points).lengths
        is_exact = max(self.weights()) * int(lengths.max(initial=0)) ** 2 < 2**52
        terms = 0.0 if is_exact else float(lengths.max() ** 2) * unit(np.float64)
        return Rounding.of(
            terms + (0.0 if np.dtype(dtype) == np.float64 else unit(dtype)), points.n
        )


@dataclass(frozen=True, repr=False)
class GappedKmer(WindowKernel):
    """k(x, z) = Σ_P Σ_u count(u at P, x) · count(u at P, z): k-mers with gaps, exactly.

    P runs over the C(g, g − m) sets of g − m positions of a window of length g, u over the texts at
    these positions, and counts are over all windows: m positions are ignored. The same is the sum
    of C(number of equal positions, g − m) over all pairs of windows, which is how it is computed.

    A sequence shorter than g has the values 0. Letters that differ, whatever they are, do not
    match; case counts.

    **Cost.** About 0.1 multiply-adds for each of the (m + 1) thresholds and each pair of windows,
    length² for a value; no features are stored, and m may be as large as g − 1.

    **When.** DNA and protein sequences in which a motif occurs somewhere, with some positions that
    do not matter (binding sites). Use ``Normalize(GappedKmer(…))`` where lengths differ.

    Parameters
    ----------
    g : int, default=10
        Length of a window.
    m : int, default=4
        Ignored positions, below g.

    References
    ----------
    Ghandi, Lee, Mohammad-Noori and Beer (2014), Enhanced regulatory sequence prediction using
    gapped k-mer features.

    Examples
    --------
    >>> from mercer.kernels import GappedKmer
    >>> GappedKmer(g=3, m=1)(["ACGT", "ACCT"])
    array([[6., 2.],
           [2., 6.]])
    """

    g: int = 10
    m: int = 4

    def __post_init__(self) -> None:
        object.__setattr__(self, "g", integer("GappedKmer", "g", self.g, least=1))
        object.__setattr__(self, "m", integer("GappedKmer", "m", self.m, least=0))
        if not self.m < self.g <= SETTINGS.few_letters:
            raise ValueError(
                f"GappedKmer: m must be below g, and g at most {SETTINGS.few_letters}; got "
                f"g={self.g}, m={self.m}."
            )

    @property
    def width(self) -> int:
        return self.g

    def weights(self) -> list[int]:
        return [comb(equal, self.g - self.m) for equal in range(self.g + 1)]


@dataclass(frozen=True, repr=False)
class Mismatch(WindowKernel):
    """k(x, z) = Σ_u N(u, x) N(u, z), N(u, x) the substrings of x that differ from u in ≤ m letters.

    u runs over all texts of length k over an alphabet of a given size, so that the kernel does not
    depend on the data: 4 for DNA, 20 for proteins. Letters beyond it are allowed, and match none
    but themselves.

    It is computed as a sum over pairs of substrings: how many u are within m letters of both
    depends on the number of letters in which the two differ alone.

    **Cost.** About 0.1 multiply-adds for each of up to 2m + 1 thresholds and each pair of
    substrings, length² for a value; the alphabet does not matter.

    **When.** Protein and DNA sequences whose common substrings are not quite the same.

    Parameters
    ----------
    k : int, default=5
        Length of the substrings.
    m : int, default=1
        Letters that may differ, at most k.
    alphabet_size : int, default=4

    References
    ----------
    Leslie, Eskin, Cohen, Weston and Noble (2004), Mismatch string kernels for discriminative
    protein classification.

    Examples
    --------
    >>> from mercer.kernels import Mismatch
    >>> Mismatch(k=2, m=1, alphabet_size=4)(["AC", "AG", "GT"])
    array([[7., 4., 2.],
           [4., 7., 2.],
           [2., 2., 7.]])
    """

    k: int = 5
    m: int = 1
    alphabet_size: int = 4

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("m", 0), ("alphabet_size", 2)):
            value = integer("Mismatch", name, getattr(self, name), least=least)
            object.__setattr__(self, name, value)
        if not self.m <= self.k <= SETTINGS.few_letters:
            raise ValueError(
                f"Mismatch: m must be at most k, and k at most {SETTINGS.few_letters}; got "
                f"k={self.k}, m={self.m}."
            )

    @property
    def width(self) -> int:
        return self.k

    def weights(self) -> list[int]:
        return [
            _common_neighbours(self.k, self.k - equal, self.m, self.alphabet_size)
            for equal in range(self.k + 1)
        ]


def _common_neighbours(k: int, d: int, m: int, letters: int) -> int:
    """Texts of length k within m letters of two texts that differ in d letters.

    Such a text differs from both in i of the k − d equal positions, and of the d others it has p
    letters of the first, q of the second and r of neither.
    """
    total = 0
    for i in range(min(k - d, m) + 1):
        for p in range(d + 1):
            for q in range(d - p + 1):
                r = d - p - q
                if i + q + r <= m and i + p + r <= m:
                    ways = factorial(d) // (factorial(p) * factorial(q) * factorial(r))
                    total += comb(k - d, i) * (letters - 1) ** i * ways * (letters - 2) ** r
    return total
