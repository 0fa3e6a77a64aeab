"""Kernels on strings and token lists, from their definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import strategies as st

from mercer import SVC
from mercer.kernels import (
    IndefiniteKernelWarning,
    LocalAlignment,
    Mismatch,
    Normalize,
    Precomputed,
    Sigmoid,
    Spectrum,
    Subsequence,
)
from tests.kernels.structured_conformance import StructuredConformance

TEXTS = st.text(alphabet="abc", max_size=7) | st.text(max_size=4)
WORDS = [
    *("abba", "xyyx", "baba", "yxyx", "abab", "xxyy", "aabb", "xyxy", "abxy", "yyba"),
    *("", "naïve 日本", "a", "日本日本"),
]
PIECES = [word.split("a") for word in WORDS]
NOT_SEQUENCES = [None, float("nan"), 3, {"a", "b"}, np.zeros((2, 2)), [["a"]], ["a", None]]


def spectrum(x, z, k):
    """Σ_u count(u, x) count(u, z), occurrence by occurrence."""
    return sum(
        tuple(x[i : i + k]) == tuple(z[j : j + k])
        for i in range(len(x) - k + 1)
        for j in range(len(z) - k + 1)
    )


class TestSpectrum(StructuredConformance):
    kernel = Spectrum(2)
    samples, examples, bad = TEXTS, WORDS, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return spectrum(x, z, 2)


class TestSeveralSpectra(StructuredConformance):
    kernel = Spectrum((1, 3))
    samples, examples, bad = TEXTS, WORDS, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return spectrum(x, z, 1) + spectrum(x, z, 3)


class TestSpectrumOfTokens(StructuredConformance):
    kernel = Spectrum(2)
    token = st.sampled_from(["to", "be", 3, (1, "x")])
    samples = st.lists(token, max_size=6) | st.lists(token, max_size=6).map(tuple)
    examples = PIECES
    bad = NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        return spectrum(x, z, 2)


@pytest.mark.parametrize("k", [1, 5, 40])
def test_long_substrings_of_a_large_alphabet(k):
    """More than 63 bits for a substring; occurrences counted by Python."""
    rng = np.random.default_rng(k)
    letters = rng.integers(33, 0x3000, size=60)
    texts = ["".join(map(chr, rng.choice(letters[: 1 + i], size=300))) for i in range(12)]

    def count(text):
        return Counter(text[i : i + k] for i in range(len(text) - k + 1))

    counts = [count(text) for text in texts]
    expected = [[sum(n * b[u] for u, n in a.items()) for b in counts] for a in counts]
    np.testing.assert_array_equal(Spectrum(k)(texts), expected)


def test_containers_are_read_alike():
    K = Spectrum(2)(WORDS)
    arrays = np.array(WORDS), np.array(WORDS, dtype=object), np.array(WORDS)[:, None]
    for given in (tuple(WORDS), *arrays, [list(word) for word in WORDS]):
        np.testing.assert_array_equal(Spectrum(2)(given), K)
    ascii_words = [word for word in WORDS if word.isascii()]
    K = Spectrum(2)(ascii_words)
    for given in (
        [word.encode() for word in ascii_words],
        [np.array([ord(c) for c in word], dtype=int) for word in ascii_words],
    ):
        np.testing.assert_array_equal(Spectrum(2)(given), K)


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", (), (2, 0), None])
def test_lengths_that_are_none(k):
    with pytest.raises(ValueError, match="Spectrum"):
        Spectrum(k)


def test_lengths_are_a_set():
    assert Spectrum((3, 1, 3)) == Spectrum([1, 3])
    assert Spectrum((2,)) == Spectrum(2)


class TestNormalizedSpectrum(StructuredConformance):
    kernel = Normalize(Spectrum(2))
    samples, examples, bad = TEXTS, WORDS, NOT_SEQUENCES

    @staticmethod
    def naive(x, z):
        size = spectrum(x, x, 2) * spectrum(z, z, 2)
        return spectrum(x, z, 2) / size**0.5 if size else 0.0


def test_normalized_sum_of_kernels_in_a_sum():
    kernel = Normalize(Spectrum(1) + 2 * Spectrum(2)) * Normalize(Spectrum(2)) + Spectrum(1)
    K1, K2 = Spectrum(1)(WORDS), Spectrum(2)(WORDS)

    def unit(K):
        size = np.sqrt(np.outer(np.diag(K), np.diag(K)))
        return np.divide(K, size, out=np.zeros_like(K), where=size > 0)

    expected = unit(K1 + 2 * K2) * unit(K2) + K1
    np.testing.assert_allclose(kernel(WORDS), expected, rtol=1e-14)
    np.testing.assert_allclose(kernel(WORDS[:5], WORDS[3:]), expected[:5, 3:], rtol=1e-14)


def test_normalize_refuses_what_has_no_length():
    with pytest.raises(ValueError, match="change the matrix"):
        Normalize(Precomputed())
    with pytest.warns(IndefiniteKernelWarning):
        kernel = Normalize(Sigmoid(1.0, -5.0))
    with pytest.raises(ValueError, match="negative at row 0"):
        kernel(np.ones((2, 2)))


@pytest.mark.parametrize("kernel", [Spectrum(1), Mismatch(2, 1), Subsequence(1), LocalAlignment()])
def test_strings_are_not_compared_with_lists_of_words(kernel):
    """None of their tokens would be equal: the values would be those of unseen words."""
    texts, words = ["to be", "or not"], [["to", "be"], ["or", "not"]]
    with pytest.raises(ValueError, match=r"row 0 is a string, .* lists of tokens.*text\.split"):
        kernel(["", "to be"][1:], words)
    with pytest.raises(ValueError, match=r"row 1 is a list of tokens, .* are strings"):
        kernel([[], ["to", "be"]], texts)
    with pytest.raises(ValueError, match="row 1 is a string and row 2 is a list of tokens"):
        kernel(["", "to be", ["to", "be"]])
    y = [0, 1]
    with pytest.raises(ValueError, match="row 0 is a list of tokens"):
        SVC(kernel=kernel).fit(texts, y).predict(words)
    with pytest.raises(ValueError, match="row 0 is a string"):
        SVC(kernel=kernel).fit(words, y).predict(texts)


@pytest.mark.parametrize("kernel", [Spectrum(2), Mismatch(2, 1), Subsequence(2)])
def test_lists_of_characters_and_bytes_are_strings(kernel):
    texts = ["abba", "", "baba"]
    K = kernel(texts)
    np.testing.assert_array_equal(kernel([list(text) for text in texts], texts), K)
    np.testing.assert_array_equal(kernel([text.encode() for text in texts], texts), K)
    np.testing.assert_array_equal(kernel([texts[0], [], list(texts[2])], texts), K)
