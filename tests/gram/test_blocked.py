"""Gram against the kernels' definitions: whole matrix, diagonal, sums, parts of the points."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer._threads import Workers
from mercer.gram import BlockedGram, MachineModel
from mercer.gram import _buffer_pool as arena
from mercer.kernels import RBF, Laplacian, Linear, Polynomial
from mercer.kernels._samples import Samples
from tests.oracles.naive_kernels import naive_matrix

N, D = 90, 5
KERNELS = [
    RBF(gamma=0.3),
    Linear(),
    Polynomial(degree=3, gamma=0.4, coef0=1.0),
    Laplacian(gamma=0.2),
    RBF(gamma=0.3) + 0.5 * Linear(),
]
ROUNDING = {np.float32: 2e-5, np.float64: 1e-12}


def rows(kind, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.uniform(size=(N, D)) < 0.6)
    X = X.astype(dtype)
    return sp.csr_matrix(X) if kind == "csr" else X


def naive(kernel, X):
    dense = X.toarray() if sp.issparse(X) else X
    return naive_matrix(kernel, dense, dense)


# Tiles of 12 × 12 and 24 × 12, so that every loop has several turns.
SMALL = MachineModel(l2_bytes=8 * 12 * 12)


def make(kernel, X, workers=None):
    return BlockedGram(kernel, Samples(X), workers, machine=SMALL)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrix_diagonal_and_sums_are_the_kernel_s(kernel, kind, dtype):
    X = rows(kind, dtype)
    gram, K = make(kernel, X), naive(kernel, X)
    scale = np.abs(K).max()
    assert gram.n == N
    assert_allclose(gram.diag(), K.diagonal(), rtol=1e-6, atol=1e-6 * scale)
    rng = np.random.default_rng(1)
    at, which = rng.permutation(N)[:50], rng.permutation(N)[:70]
    coef = rng.normal(size=70)
    assert_allclose(gram.matrix(), K, atol=1e-12 * scale)
    for out in (np.float32, np.float64):
        total = np.ones(N)
        gram.accumulate(total, at, which, coef, out)
        expected = np.ones(N)
        expected[at] += K[np.ix_(at, which)] @ coef
        assert_allclose(total, expected, atol=ROUNDING[out] * scale * np.abs(coef).sum())


def test_the_matrix_is_symmetric_and_padded_with_zeros():
    K = make(RBF(gamma=0.3), rows("dense")).matrix(size=N + 7)
    assert K.shape == (N + 7, N + 7)
    assert_allclose(K, K.T, atol=1e-15)
    assert not K[N:].any()


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_part_of_a_part_is_the_part_of_the_matrix(kind):
    X = rows(kind)
    gram, K = make(RBF(gamma=0.3), X), naive(RBF(gamma=0.3), X)
    first = np.random.default_rng(2).permutation(N)[:40]
    second = np.array([3, 39, 0, 17])
    part = gram.take(first).take(second)
    index = first[second]
    assert part.n == 4
    assert_array_equal(part.original(np.arange(4)), index)
    assert_allclose(part.matrix(), K[np.ix_(index, index)], atol=1e-12)
    assert_allclose(part.diag(), np.ones(4), atol=1e-12)
    total = np.zeros(4)
    part.accumulate(total, np.array([2, 1]), np.array([0, 3]), np.array([2.0, -1.0]))
    expected = K[np.ix_(index, index)][:, [0, 3]] @ [2.0, -1.0]
    assert_allclose(total, [0, expected[1], expected[2], 0], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_that_others_take_too_are_shared(dtype):
    """Three classes, their pairs: K within a class is computed once, between two for each pair."""
    X = rows("dense")
    gram, K = make(RBF(gamma=0.3), X), naive(RBF(gamma=0.3), X)
    classes = {name: np.arange(start, N, 3) for start, name in enumerate("abc")}
    within = {}
    for names in ("ab", "ac", "bc"):
        one, other = (classes[name] for name in names)
        parts = [(name, classes[name].size) for name in names]
        first, cross, second = gram.take(np.concatenate([one, other]), parts=parts).class_blocks(
            dtype
        )
        atol = 1e-12 if dtype is np.float64 else 1e-6
        assert_allclose(cross, K[np.ix_(one, other)], atol=atol)
        for name, block in zip(names, (first, second), strict=True):
            assert_allclose(block, K[np.ix_(classes[name], classes[name])], atol=atol)
            assert within.setdefault(name, block) is block


def test_nothing_to_add_adds_nothing():
    gram, total = make(Linear(), rows("dense")), np.zeros(N)
    none = np.zeros(0, np.int64)
    gram.accumulate(total, none, np.arange(3), np.ones(3))
    gram.accumulate(total, np.arange(3), none, np.zeros(0))
    assert not total.any()


def test_threads_change_no_bit():
    X = rows("dense")
    found = []
    for n_threads in (1, 3):
        with Workers(n_threads) as workers:
            gram, total = make(RBF(gamma=0.3), X, workers), np.zeros(N)
            gram.accumulate(total, np.arange(N), np.arange(N), np.linspace(-1, 1, N), np.float32)
            found.append((total, gram.matrix()))
    assert_array_equal(found[0][0], found[1][0])
    assert_array_equal(found[0][1], found[1][1])


def test_scratch_memory_is_kept_and_grows():
    gram = make(Linear(), rows("dense"))
    small = gram.scratch.memory(4000)
    assert small.dtype == np.float32
    assert np.shares_memory(gram.scratch.memory(4000), small)
    assert np.shares_memory(gram.take(np.arange(5)).scratch.memory(2000), small)
    assert gram.scratch.memory(8000).size >= 2000


def test_released_memory_serves_the_next_gram(monkeypatch):
    monkeypatch.setattr(arena, "_free", [])
    first = make(Linear(), rows("dense"))
    memory = first.take(np.arange(3)).scratch.memory(1 << 20)
    first.release()
    second = make(Linear(), rows("dense"))
    assert np.shares_memory(second.scratch.memory(1 << 20), memory)
    third = make(Linear(), rows("dense"))
    assert not np.shares_memory(third.scratch.memory(1 << 20), memory)
