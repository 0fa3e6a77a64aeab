"""The spectrum kernel: counts of the substrings of a length (Leslie, Eskin and Noble 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.kernels._base import integer
from mercer.kernels.structured._sequences import Sequences, read_sequences
from mercer.kernels.structured._sparse_features import Features, SparseFeatureKernel

__all__ = ["Spectrum"]


@dataclass(frozen=True, repr=False)
class Spectrum(SparseFeatureKernel):
    """k(x, z) = Σ_u count(u, x) · count(u, z) over all substrings u of length k.

    Occurrences may overlap. With several k the sum is over the substrings of all these lengths. A
    sequence that is shorter than k has no substrings: its kernel values are 0.

    A sample is a string, or a list, tuple or one-dimensional array of tokens (words, numbers).
    Substrings that no training sample has add nothing to a prediction.

    **Cost.** The counts are made once per data set, in time proportional to its length; a value is
    a product of two sparse rows, as of a linear kernel.

    **When.** Texts, DNA and protein sequences, logs: where it matters which short pieces occur, not
    where. `Normalize` removes the effect of length. For pieces that match with errors use
    `Mismatch` or `GappedKmer`.

    Parameters
    ----------
    k : int or tuple of int, default=3
        Lengths of substrings.

    References
    ----------
    Leslie, Eskin and Noble (2002), The spectrum kernel: a string kernel for SVM protein
    classification.

    Examples
    --------
    >>> from mercer.kernels import Spectrum
    >>> Spectrum(k=2)(["banana", "ananas"])
    array([[9., 8.],
           [8., 9.]])
    >>> Spectrum(k=(1, 2))([["to", "be"], ["to", "be", "or"]])
    array([[3., 3.],
           [3., 5.]])
    """

    k: int | tuple[int, ...] = 3

    sample_type = "sequences"
    is_nonnegative = True

    def __post_init__(self) -> None:
        given = self.k if isinstance(self.k, (tuple, list)) else (self.k,)
        lengths = tuple(sorted({integer("Spectrum", "k", k, least=1) for k in given}))
        if not lengths:
            raise ValueError("Spectrum: k must be one or more lengths, got none.")
        object.__setattr__(self, "k", lengths[0] if len(lengths) == 1 else lengths)

    @property
    def lengths(self) -> tuple[int, ...]:
        """All k."""
        return self.k if isinstance(self.k, tuple) else (self.k,)

    def features(self, samples: Any) -> Features:
        sequences = read_sequences(samples, repr(self))
        parts = [_Substrings(sequences, k) for k in self.lengths]
        matrices = [part.counts for part in parts]
        matrix = matrices[0] if len(parts) == 1 else sp.hstack(matrices, format="csr")

        def column_keys() -> list[Any]:
            return [key for part in parts for key in part.texts()]

        return SequenceFeatures(matrix, column_keys, sequences, repr(self))


@dataclass(frozen=True, eq=False)
class SequenceFeatures(Features):
    """Features of sequences, which are compared with those of the same kind only."""

    sequences: Sequences
    owner: str

    def columns_in(self, others: Any) -> np.ndarray:
        self.sequences.check_against(others.sequences, self.owner)
        return super().columns_in(others)


class _Substrings:
    """The substrings of one length, numbered by column, and their counts in each sequence."""

    def __init__(self, sequences: Sequences, k: int):
        self.sequences, self.k = sequences, k
        codes, offsets = sequences.codes, sequences.offsets
        number = np.maximum(sequences.lengths - k + 1, 0)  # of substrings in each sequence
        indptr = np.concatenate([[0], np.cumsum(number)])
        shift = np.repeat(offsets[:-1] - indptr[:-1], number)
        starts = np.arange(indptr[-1]) + shift
        columns, d = _numbered(codes, starts, k, len(sequences.alphabet))
        self.first = np.empty(d, np.int64)  # where each of them occurs first
        self.first[columns[::-1]] = starts[::-1]
        parts = np.ones(columns.size, np.float32), columns, indptr
        self.counts = sp.csr_matrix(parts, shape=(sequences.n, d))
        self.counts.sum_duplicates()

    def texts(self) -> list[Any]:
        """The substrings; of other sequences than texts, tuples of tokens."""
        at, k = self.first.tolist(), self.k
        tokens = self.sequences.alphabet
        whole = [tokens[code] for code in self.sequences.codes]
        if self.sequences.are_texts:
            text = "".join(whole)
            return [text[i : i + k] for i in at]
        return [tuple(whole[i : i + k]) for i in at]


def _numbered(
    codes: np.ndarray, starts: np.ndarray, k: int, n_letters: int
) -> tuple[np.ndarray, int]:
    """Equal substrings of length k have equal numbers 0..d: the numbers, and d.

    A substring is a number with digits base ``n_letters``; prefixes are numbered anew before they
    exceed 63 bits.
    """
    number, size = codes[starts].astype(np.int64), n_letters
    for j in range(1, k):
        if size * n_letters >= 1 << 62:
            number, size = _compressed(number, size)
        number *= n_letters
        number += codes[starts + j]
        size *= n_letters
    number, size = _compressed(number, size)
    return number.astype(np.int32), size


def _compressed(number: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    """Numbers below ``size`` as ranks among those that occur."""
    if size <= 8 * number.size + 1024:
        occurs = np.zeros(size, bool)
        occurs[number] = True
        rank = np.cumsum(occurs) - 1
        return rank[number], int(rank[-1]) + 1 if number.size else 0
    found, inverse = np.unique(number, return_inverse=True)
    return inverse, found.size
