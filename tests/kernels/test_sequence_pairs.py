"""Kernels on pairs of sequences, from their definitions: no recursion, every term by itself."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import strategies as st

from mercer.kernels import (
    GappedKmer,
    LocalAlignment,
    Mismatch,
    Normalize,
    Subsequence,
    WeightedDegree,
)
from tests.kernels.structured_conformance import StructuredConformance
from tests.kernels.test_strings import NOT_SEQUENCES, PIECES, WORDS

SHORT = st.text(alphabet="ACG", max_size=6) | st.text(max_size=3)
DNA = st.text(alphabet="ACGT", max_size=9)
SEQUENCES = [*("ACGT", "TTGA", "GATTACA", "CCCC", "", "AC", "TAGG"), *("ACG", "CAT") * 3]
WITHOUT_T = [word.replace("T", "A") for word in SEQUENCES]
BEGINNINGS = [word[:4] for word in WORDS]
TOKENS = st.lists(st.sampled_from(["to", "be", 3]), max_size=5)


def windows(x, g):
    return [x[i : i + g] for i in range(len(x) - g + 1)]


def gapped_kmers(x, z, g, m):
    """Σ over sets of g − m positions of the common texts at these."""
    return sum(
        [a[p] for p in places] == [b[p] for p in places]
        for places in combinations(range(g), g - m)
        for a in windows(x, g)
        for b in windows(z, g)
    )


def mismatches(x, z, k, m, alphabet):
    """Σ_u N(u, x) N(u, z) over all texts u; the alphabet holds the letters of x and z."""

    def near(u, text):
        return sum(sum(a != b for a, b in zip(u, w, strict=True)) <= m for w in windows(text, k))

    return sum(near(u, x) * near(u, z) for u in product(alphabet, repeat=k))


def weighted_degrees(x, z, degree, shift):
    total = 0.0
    for d in range(1, degree + 1):
        beta = 2 * (degree - d + 1) / (degree * (degree + 1))
        for i in range(len(x) - d + 1):
            for j in range(len(z) - d + 1):
                s = abs(i - j)
                if s <= shift and x[i : i + d] == z[j : j + d]:
                    total += beta * (1.0 if s == 0 else 1 / (2 * (s + 1)))
    return total


def subsequences(x, z, length, decay):
    def places(text):
        found = {}
        for where in combinations(range(len(text)), length):
            key = tuple(text[i] for i in where)
            found.setdefault(key, []).append(where[-1] - where[0] + 1)
        return found

    mine, other = places(x), places(z)
    return math.fsum(
        decay ** (a + b) for u, spans in mine.items() for a in spans for b in other.get(u, [])
    )


def alignments(x, z, beta, match, mismatch, gap_open, gap_extend):
    """Σ over increasing places of equal number in x and z, the empty one included."""

    def gap(n):
        return gap_open + gap_extend * (n - 1) if n else 0.0

    terms = [1.0]
    for n in range(1, min(len(x), len(z)) + 1):
        for a in combinations(range(len(x)), n):
            for b in combinations(range(len(z)), n):
                score = sum(match if x[i] == z[j] else mismatch for i, j in zip(a, b, strict=True))
                for places in (a, b):
                    score -= sum(gap(q - p - 1) for p, q in pairwise(places))
                terms.append(math.exp(beta * score))
    return math.fsum(terms)


class TestGappedKmer(StructuredConformance):
    kernel = GappedKmer(g=4, m=2)
    samples, examples, bad = DNA | SHORT, WORDS, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return gapped_kmers(x, z, 4, 2)


class TestGappedKmerOfTokens(StructuredConformance):
    kernel = GappedKmer(g=2, m=1)
    samples, examples, bad = TOKENS, PIECES, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return gapped_kmers(x, z, 2, 1)


class TestNormalizedGappedKmer(StructuredConformance):
    kernel = Normalize(GappedKmer(g=3, m=1))
    samples, examples, bad = DNA, WORDS, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        size = gapped_kmers(x, x, 3, 1) * gapped_kmers(z, z, 3, 1)
        return gapped_kmers(x, z, 3, 1) / size**0.5 if size else 0.0


class TestMismatch(StructuredConformance):
    kernel = Mismatch(k=3, m=1, alphabet_size=4)
    samples = st.text(alphabet="ACGT", max_size=6)
    examples = SEQUENCES
    bad = NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return mismatches(x, z, 3, 1, "ACGT")


class TestManyMismatches(StructuredConformance):
    """Every text is near to every other: the value of pairs without an equal letter counts."""

    kernel = Mismatch(k=3, m=2, alphabet_size=3)
    samples = st.text(alphabet="ACG", max_size=5)
    examples = WITHOUT_T
    bad = NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return mismatches(x, z, 3, 2, "ACG")


class TestWeightedDegree(StructuredConformance):
    kernel = WeightedDegree(degree=3)
    samples, examples, bad = DNA | SHORT, WORDS, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return weighted_degrees(x, z, 3, 0)


class TestShiftedWeightedDegree(StructuredConformance):
    kernel = WeightedDegree(degree=2, shift=3)
    samples, examples, bad = DNA, WORDS, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return weighted_degrees(x, z, 2, 3)


class TestShiftedWeightedDegreeOfTokens(TestShiftedWeightedDegree):
    samples, examples = TOKENS, PIECES


class TestSubsequence(StructuredConformance):
    kernel = Subsequence(length=3, decay=0.7)
    samples, examples, bad = DNA, WORDS, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return subsequences(x, z, 3, 0.7)


class TestSubsequenceOfTokens(TestSubsequence):
    samples, examples = TOKENS, PIECES


class TestSingleLetters(StructuredConformance):
    kernel = Subsequence(length=1, decay=1.0)
    samples, examples, bad = SHORT, WORDS, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return subsequences(x, z, 1, 1.0)


class TestLocalAlignment(StructuredConformance):
    kernel = LocalAlignment(beta=0.7, match=1.5, mismatch=-0.5, gap_open=1.0, gap_extend=0.25)
    samples = st.text(alphabet="ACG", max_size=4)
    examples = BEGINNINGS
    bad = NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        scores = 0.7, 1.5, -0.5, 1.0, 0.25
        size = alignments(x, x, *scores) * alignments(z, z, *scores)
        return alignments(x, z, *scores) / math.sqrt(size)


def test_long_sequences_need_no_more_range_than_float64_has():
    """log K of 2,000 equal letters is far beyond the exponents of float64."""
    x = "ACGT" * 500
    K = LocalAlignment(beta=1.0, match=5.0)([x, x[1:], x[:1990], "T" * 50])
    assert np.isfinite(K).all()
    np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-10)
    assert 1 > K[0, 1] > K[0, 2] > 0
    assert K[0, 3] >= 0


@pytest.mark.parametrize("n_letters", [4, 300])
@pytest.mark.parametrize(("g", "m"), [(13, 7), (6, 0), (5, 4)])
def test_many_windows_of_long_sequences(n_letters, g, m):
    """More windows than a counter of 8 bits, more sequences than a panel, codes beyond 8 bits."""
    rng = np.random.default_rng(g)
    lengths = [*rng.integers(0, 60, size=70), 700, 300]
    items = [rng.integers(0, n_letters, size=n) for n in lengths]
    items[-1] = items[-2][200:500].copy()
    rows, columns = [0, 5, 70, 71], [*range(40, 72)]
    K = GappedKmer(g, m)([items[i] for i in rows], [items[j] for j in columns])
    table = np.array([math.comb(e, g - m) for e in range(g + 1)])
    for a, i in enumerate(rows):
        for b, j in enumerate(columns):
            x, z = items[i], items[j]
            if min(x.size, z.size) < g:
                assert K[a, b] == 0
                continue
            mine, theirs = (np.lib.stride_tricks.sliding_window_view(w, g) for w in (x, z))
            equal = (mine[:, None] == theirs[None]).sum(axis=2)
            assert K[a, b] == table[equal].sum()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GappedKmer(3, 3), "below g"),
        (lambda: GappedKmer(0, 0), "g must be"),
        (lambda: Mismatch(2, 3), "at most k"),
        (lambda: Mismatch(2, 1, 1), "alphabet_size"),
        (lambda: WeightedDegree(0), "degree"),
        (lambda: Subsequence(2, 1.5), "at most 1"),
        (lambda: Subsequence(2, 0.0), "decay"),
        (lambda: LocalAlignment(match=0.0, mismatch=1.0), "at most match"),
        (lambda: LocalAlignment(beta=1e3), "300"),
    ],
)
def test_parameters_that_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
