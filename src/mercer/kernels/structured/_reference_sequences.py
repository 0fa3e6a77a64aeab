"""Kernels on pairs of sequences once more, for `mercer.verify`: one sample against all others.

Plain NumPy from the definitions, vectorised over the second set of samples. No code is shared with
the kernels that fits use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from mercer._precision import UNIT
from mercer.kernels._reference_kernels import Rows, Values
from mercer.kernels.structured._reference import tokens_of

__all__ = ["gapped_kmer", "local_alignment", "mismatch", "subsequence", "weighted_degree"]

# Of the higher precision where the machine has one.
_LONG = np.longdouble


@dataclass(frozen=True, eq=False)
class _Padded:
    """Sequences as rows of an array, filled up with a code that occurs nowhere."""

    codes: np.ndarray
    lengths: np.ndarray

    def __getitem__(self, i: int) -> np.ndarray:
        return self.codes[i, : self.lengths[i]]


def _padded(A: Rows, Z: Rows) -> tuple[_Padded, _Padded]:
    number: dict[Any, int] = {}
    found = []
    for pad, rows in ((-1, A), (-2, Z)):
        samples = [tokens_of(sample) for sample in rows.X[rows.index]]
        lengths = np.array([len(tokens) for tokens in samples], dtype=np.int64)
        codes = np.full((len(samples), int(lengths.max(initial=0))), pad)
        for i, tokens in enumerate(samples):
            codes[i, : len(tokens)] = [number.setdefault(t, len(number)) for t in tokens]
        found.append(_Padded(codes, lengths))
    return found[0], found[1]


def _against_all(
    A: Rows, Z: Rows, value: Callable[[np.ndarray, _Padded], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """K, and the sum of the lengths of each pair."""
    rows, others = _padded(A, Z)
    K = np.zeros((len(A.index), len(Z.index)))
    for i in range(len(A.index)):
        K[i] = value(rows[i], others)
    return K, np.add.outer(rows.lengths, others.lengths)


# ---------------------------------------------------------------------- windows


def gapped_kmer(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Σ C(equal positions, g − m) over pairs of windows."""
    values = [comb(equal, kernel.g - kernel.m) for equal in range(kernel.g + 1)]
    return _of_windows(A, Z, kernel.g, values)


def mismatch(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Σ over pairs of substrings of the number of texts near both, counted letter by letter.

    ``near[a][b]`` counts the beginnings of texts that differ in a letters from one substring and in
    b from the other; a position at which these two agree, or differ, adds to it.
    """
    k, m, letters = kernel.k, kernel.m, kernel.alphabet_size
    values = []
    for equal in range(k + 1):
        near = {(0, 0): 1}
        for position in range(k):
            if position < equal:
                steps = [(0, 0, 1), (1, 1, letters - 1)]
            else:
                steps = [(0, 1, 1), (1, 0, 1), (1, 1, letters - 2)]
            after: dict[tuple[int, int], int] = {}
            for (a, b), count in near.items():
                for da, db, ways in steps:
                    if a + da <= m and b + db <= m:
                        place = a + da, b + db
                        after[place] = after.get(place, 0) + count * ways
            near = after
        values.append(sum(near.values()))
    return _of_windows(A, Z, k, values)


def _of_windows(A: Rows, Z: Rows, g: int, values: list[int]) -> Values:
    """Equal positions of all pairs of windows as dot products of their indicators."""
    rows, others = _padded(A, Z)
    n_letters = int(max(rows.codes.max(initial=0), others.codes.max(initial=0))) + 1
    support = [_indicators(others[j], g, n_letters) for j in range(len(Z.index))]
    counts = np.array([len(windows) for windows in support], dtype=np.int64)
    filled = np.flatnonzero(counts)
    K = np.zeros((len(A.index), len(Z.index)))
    if filled.size:
        whole = np.concatenate(support).T
        starts = (np.cumsum(counts) - counts)[filled]
        table = np.array(values, dtype=np.float64)
        for i in range(len(A.index)):
            mine = _indicators(rows[i], g, n_letters)
            if len(mine):
                found = table[np.rint(mine @ whole).astype(np.int8 if g < 128 else np.int64)]
                K[i, filled] = np.add.reduceat(found.sum(axis=0), starts)
    # Sums of integers below 2⁵³ have no rounding.
    exact = K.max(initial=0.0) < 2.0**52
    terms = 0 if exact else int(counts.max(initial=1)) + int(rows.lengths.max(initial=1))
    return K, terms * UNIT * K


def _indicators(codes: np.ndarray, g: int, n_letters: int) -> np.ndarray:
    """For each window and position of it, which letter is there."""
    if codes.size < g:
        return np.zeros((0, g * n_letters), np.float32)
    letters = np.lib.stride_tricks.sliding_window_view(codes, g)
    out = np.zeros((*letters.shape, n_letters), np.float32)
    np.put_along_axis(out, letters[:, :, None], 1.0, axis=2)
    return out.reshape(len(letters), -1)


# ---------------------------------------------------------------------- letter by letter


def weighted_degree(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Σ_s w(s) Σ_d β_d · number of common pieces of length d at positions i and i + s."""
    degree = kernel.degree

    def value(x: np.ndarray, others: _Padded) -> np.ndarray:
        total = np.zeros(len(others.codes))
        for s in range(-kernel.shift, kernel.shift + 1):
            left, right = x[max(0, -s) :], others.codes[:, max(0, s) :]
            width = min(left.size, right.shape[1])
            equal = right[:, :width] == left[:width]
            weight = 1.0 if s == 0 else 1 / (2 * (abs(s) + 1))
            common = equal
            for d in range(1, min(degree, width) + 1):
                if d > 1:
                    common = common[:, :-1] & equal[:, d - 1 :]
                beta = 2 * (degree - d + 1) / (degree * (degree + 1))
                total += weight * beta * common.sum(axis=1)
        return total

    K, lengths = _against_all(A, Z, value)
    return K, (lengths + 4 * (2 * kernel.shift + 1) * degree + 8) * UNIT * K


def subsequence(kernel: Any, A: Rows, Z: Rows) -> Values:
    """The recursion over prefixes, for all z at once."""
    n, decay = kernel.length, _LONG(kernel.decay)

    def value(x: np.ndarray, others: _Padded) -> np.ndarray:
        size = len(others.codes), others.codes.shape[1] + 1
        K = [np.ones(size, _LONG), *(np.zeros(size, _LONG) for _ in range(n - 1))]
        total = np.zeros(size[0], _LONG)
        for letter in x:
            equal = others.codes == letter
            total += decay * decay * (K[n - 1][:, :-1] * equal).sum(axis=1)
            for q in range(n - 1, 0, -1):
                ends_here = np.zeros(size[0], _LONG)
                added = decay * decay * (K[q - 1][:, :-1] * equal)
                for t in range(size[1] - 1):
                    ends_here = decay * ends_here + added[:, t]
                    K[q][:, t + 1] = decay * K[q][:, t + 1] + ends_here
        return total.astype(np.float64)

    K, lengths = _against_all(A, Z, value)
    return K, 4 * n * (lengths + 2) * UNIT * K


def local_alignment(kernel: Any, A: Rows, Z: Rows) -> Values:
    """The sum over local alignments, normalised."""
    K, lengths = _against_all(A, Z, lambda x, others: _alignments(kernel, x, others))
    logs = []
    for rows in (A, Z):
        own = [Rows(rows.X, rows.index[i : i + 1]) for i in range(len(rows.index))]
        pairs = [_padded(one, one) for one in own]
        logs.append(np.array([_alignments(kernel, x[0], z)[0] for x, z in pairs]))
    sizes = np.abs(logs[0])[:, None] + np.abs(logs[1])
    K = np.exp(K - logs[0][:, None] / 2 - logs[1] / 2)
    return K, (16 * lengths + 8 * sizes + 32) * UNIT * K


def _alignments(kernel: Any, x: np.ndarray, others: _Padded) -> np.ndarray:
    """log K(x, z) of all z, in extended precision, whose range sums do not exceed."""
    scores = kernel.match, kernel.mismatch, -kernel.gap_open, -kernel.gap_extend
    match, mismatch, gap, extend = np.exp(_LONG(kernel.beta) * np.array(scores, _LONG))
    n, width = others.codes.shape
    is_letter = np.arange(width) < others.lengths[:, None]
    M, X = np.zeros((n, width + 1), _LONG), np.zeros((n, width + 1), _LONG)
    Y, total = np.zeros((n, width + 1), _LONG), np.ones(n, _LONG)
    for letter in x:
        factor = np.where(others.codes == letter, match, mismatch) * is_letter
        new = np.zeros_like(M)
        new[:, 1:] = factor * (1 + M[:, :-1] + X[:, :-1] + Y[:, :-1])
        X = gap * M + extend * X
        Y = np.zeros_like(Y)
        for t in range(width):
            Y[:, t + 1] = gap * (new[:, t] + X[:, t]) + extend * Y[:, t]
        M = new
        total += M.sum(axis=1)
    return np.log(total).astype(np.float64)
