"""Kernels that compare two sequences letter by letter: weighted degree, subsequences, alignment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels._base import integer, real
from mercer.kernels._compiled.elementwise import flat_rows
from mercer.kernels._compiled.sequence_pairs import (
    alignment_logs,
    subsequences,
    weighted_degrees,
)
from mercer.kernels._rounding import Rounding, smallest, unit
from mercer.kernels._samples import SampleBlock, Samples
from mercer.kernels.structured._sequence_kernel import SequenceKernel

__all__ = ["LocalAlignment", "Subsequence", "WeightedDegree"]


class PairKernel(SequenceKernel):
    """A kernel with a compiled function for a tile of pairs."""

    is_psd = is_nonnegative = True

    def _fill(self, sides: tuple, out: np.ndarray) -> None:
        """Values of the pairs of codes, offsets and rows of both sides."""
        raise NotImplementedError

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        self._fill(self.both_sides(A, B), out)

    def diag(self, A: SampleBlock) -> np.ndarray:
        out = np.empty((len(A), 1))
        for i in range(len(A)):
            one = A[i : i + 1]
            self._fill(self.both_sides(one, one), out[i : i + 1])
        return out[:, 0]

    def _relative(self, points: Samples, factor: float, dtype: Any) -> Rounding:
        """Sums of non-negative terms: the relative error grows with the lengths."""
        lengths = self.sequences(points).lengths
        ones = np.ones(points.n)
        relative = factor * (lengths + 2) * unit(np.float64)
        relative = relative + (0.0 if np.dtype(dtype) == np.float64 else unit(dtype))
        return Rounding.of(relative, points.n, (smallest(dtype) * ones, ones))


@dataclass(frozen=True, repr=False)
class WeightedDegree(PairKernel):
    """k(x, z) = Σ_d β_d Σ_i [x and z have the same d letters from position i on], d ≤ degree.

    β_d = 2 (degree − d + 1) / (degree (degree + 1)): longer common pieces count for more, since
    they contain the shorter ones. With shifts, positions i of x and i ± s of z are compared as
    well, with the weight 1/(2 (s + 1)), s ≤ shift.

    Sequences of different lengths are compared as far as both have positions.

    **Cost.** length · (2 shift + 1) steps for a value.

    **When.** Sequences that are aligned to a point, such as splice sites or promoters: it matters
    where a piece occurs. Where that is not so, use `Spectrum` or `GappedKmer`.

    Parameters
    ----------
    degree : int, default=10
        The longest common pieces.
    shift : int, default=0

    References
    ----------
    Rätsch, Sonnenburg and Schölkopf (2005), RASE: recognition of alternatively spliced exons in
    C. elegans. The weights of the shifts are positive semidefinite by an inequality of Rogosinski
    and Szegő, ½ + Σ_s cos(sθ)/(s + 1) ≥ 0.

    Examples
    --------
    >>> from mercer.kernels import WeightedDegree
    >>> WeightedDegree(degree=2)(["ACGT", "ACCT"]).round(3)
    array([[3.667, 2.333],
           [2.333, 3.667]])
    """

    degree: int = 10
    shift: int = 0

    def __post_init__(self) -> None:
        for name, least in (("degree", 1), ("shift", 0)):
            value = integer("WeightedDegree", name, getattr(self, name), least=least)
            object.__setattr__(self, name, value)

    def cost_per_entry(self, samples: Samples) -> float:
        return 1 + self.sequences(samples).mean_length() * (2 * self.shift + 1)

    def _fill(self, sides: tuple, out: np.ndarray) -> None:
        d = np.arange(1, self.degree + 1)
        weights = 2.0 * (self.degree - d + 1) / (self.degree * (self.degree + 1))
        of_shift = 1 / (2.0 * (np.arange(self.shift + 1) + 1))
        of_shift[0] = 1.0
        of_run = np.concatenate([[0.0], np.cumsum(weights)])
        weighted_degrees(*sides, of_run, of_shift, *flat_rows(out))

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        return self._relative(points, 2.0 * (2 * self.shift + 1) + self.degree, dtype)


@dataclass(frozen=True, repr=False)
class Subsequence(PairKernel):
    """k(x, z) = Σ_u Σ_(i: x[i] = u) Σ_(j: z[j] = u) λ^(span(i) + span(j)), u of a given length.

    Subsequences need not be contiguous: i and j are increasing positions, and their span is the
    length of the piece from the first to the last of them. Gaps make an occurrence count for less.

    **Cost.** ``length · |x| · |z|`` steps for a value: for a few thousand short sequences.

    **When.** Short texts and token lists (sentences as lists of words) in which order matters, but
    other letters or words may lie between. Use ``Normalize(Subsequence(…))``.

    Parameters
    ----------
    length : int, default=3
    decay : float, default=0.5
        λ, above 0 and at most 1.

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins (2002), Text classification using string
    kernels.

    Examples
    --------
    >>> from mercer.kernels import Subsequence
    >>> Subsequence(length=2, decay=0.5)(["cat", "car"])
    array([[0.140625, 0.0625  ],
           [0.0625  , 0.140625]])
    """

    length: int = 3
    decay: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", integer("Subsequence", "length", self.length, least=1))
        decay = real("Subsequence", "decay", self.decay, least=0, open_left=True)
        if decay > 1:
            raise ValueError(f"Subsequence: decay must be at most 1, got {decay!r}.")
        object.__setattr__(self, "decay", decay)

    def cost_per_entry(self, samples: Samples) -> float:
        return 1 + 4 * self.length * self.sequences(samples).mean_length() ** 2

    def _fill(self, sides: tuple, out: np.ndarray) -> None:
        subsequences(*sides, self.length, self.decay, *flat_rows(out))

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        return self._relative(points, 4.0 * self.length, dtype)


@dataclass(frozen=True, repr=False)
class LocalAlignment(PairKernel):
    """k(x, z) = K(x, z) / √(K(x, x) K(z, z)), K the sum of e^(β score) over all local alignments.

    An alignment pairs letters of x with letters of z in their order; its score is the sum of
    ``match`` or ``mismatch`` over the pairs, less the cost ``gap_open + gap_extend (n − 1)`` of
    each gap of n letters between two pairs. The empty alignment has the score 0. The largest score
    is that of Smith and Waterman; the sum over all alignments is a kernel. K grows exponentially
    with the length, and is therefore computed by its logarithm and normalised: k(x, x) = 1.

    **Cost.** ``10 |x| |z|`` steps for a value: for a few thousand sequences.

    **When.** Protein and DNA sequences that are related by insertions and deletions, so that no
    piece of a fixed length is common to them.

    Parameters
    ----------
    beta : float > 0, default=0.5
        Small values count all alignments alike, large ones the best alone.
    match, mismatch : float, default=1, −1
        Scores; mismatch at most match.
    gap_open, gap_extend : float ≥ 0, default=2, 0.5
        Costs.

    References
    ----------
    Vert, Saigo and Akutsu (2004), Local alignment kernels for biological sequences.

    Examples
    --------
    >>> from mercer.kernels import LocalAlignment
    >>> LocalAlignment()(["ACGT", "AGT"]).round(3)
    array([[1.  , 0.74],
           [0.74, 1.  ]])
    """

    beta: float = 0.5
    match: float = 1.0
    mismatch: float = -1.0
    gap_open: float = 2.0
    gap_extend: float = 0.5

    def __post_init__(self) -> None:
        for name in ("match", "mismatch"):
            object.__setattr__(self, name, real("LocalAlignment", name, getattr(self, name)))
        for name in ("beta", "gap_open", "gap_extend"):
            value = real("LocalAlignment", name, getattr(self, name), least=0)
            object.__setattr__(self, name, value)
        if self.mismatch > self.match:
            raise ValueError(
                "LocalAlignment: mismatch must be at most match (else the kernel is not positive "
                f"semidefinite), got mismatch={self.mismatch!r}, match={self.match!r}."
            )
        if self.beta * max(abs(self.match), abs(self.mismatch), self.gap_open) > 300:
            raise ValueError(
                f"LocalAlignment: beta={self.beta!r} times the scores must be at most 300."
            )

    def cost_per_entry(self, samples: Samples) -> float:
        return 1 + 10 * self.sequences(samples).mean_length() ** 2

    def prepare(self, samples: Samples) -> Samples:
        prepared = super().prepare(samples)
        self._own_logs(prepared)
        return prepared

    def _logs(self, A: SampleBlock, B: SampleBlock) -> np.ndarray:
        scores = self.match, self.mismatch, -self.gap_open, -self.gap_extend
        out = np.empty((len(A), len(B)))
        alignment_logs(*self.both_sides(A, B), *np.exp(self.beta * np.array(scores)), out)
        return out

    def _own_logs(self, points: Samples) -> np.ndarray:
        """log K(x, x) of all samples, computed once."""
        if self not in points.prepared:
            each = [points.take(slice(i, i + 1)) for i in range(points.n)]
            points.prepared[self] = np.array([self._logs(x, x)[0, 0] for x in each])
        return points.prepared[self]

    def tile(self, A: SampleBlock, B: SampleBlock, out: np.ndarray) -> None:
        mine, theirs = (self._own_logs(each.points)[each.index] / 2 for each in (A, B))
        out[...] = np.exp(self._logs(A, B) - mine[:, None] - theirs)

    def diag(self, A: SampleBlock) -> np.ndarray:
        return np.ones(len(A))

    def rounding(self, points: Samples, dtype: Any) -> Rounding:
        """Of the recursion, of logarithms as large as that of K(x, x), and of their exponential."""
        logs = self._own_logs(points)
        of_sum = self._relative(points, 16.0, dtype)
        relative = of_sum.relative + (8 + 8 * np.abs(logs)) * unit(np.float64)
        return Rounding.of(relative, points.n, *of_sum.pairs)

    def magnitude(self, points: Samples) -> np.ndarray:
        return np.full(points.n, 1.1)
