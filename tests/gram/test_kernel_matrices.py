"""Kernel matrices that share dot products and buffers."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from mercer._threads import SERIAL
from mercer.gram import BlockedGram, _buffer_pool
from mercer.gram._buffer_pool import borrow, give_back
from mercer.gram._kernel_matrices import KernelMatrices
from mercer.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from mercer.kernels._binding import bind_samples

N = 60


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(N, 5))


FAMILIES = [
    [RBF(0.1), RBF(1.0), RBF(10.0)],
    [Polynomial(2, 0.5, 1.0), Polynomial(3, 1.0, 0.0)],
    [Laplacian(0.1), Laplacian(1.0)],  # no map of dot products: computed
]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize("n_buffers", [1, 2, 4])
def test_matrices_are_those_of_the_kernels(X, family, n_buffers):
    samples = bind_samples(family[0], X)
    with KernelMatrices(N, n_buffers * 8 * N * N, 2) as matrices:
        grams = [BlockedGram(kernel, samples) for kernel in family]
        matrices.share_products(grams[0], SERIAL)
        for key, (kernel, gram) in enumerate(zip(family, grams, strict=True)):
            K = matrices.acquire(key, gram, uses=2)
            assert matrices.acquire(key, gram, uses=2) is K
            np.testing.assert_allclose(K, kernel(X), rtol=1e-10, atol=1e-14)
            np.testing.assert_allclose(K, K.T, rtol=1e-12)
            matrices.release(key)
            matrices.release(key)


@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
def test_which_kernels_are_maps_of_products(X):
    def is_map(kernel, rows=X):
        return kernel.is_map_of_products(bind_samples(kernel, rows))

    assert is_map(RBF(1.0))
    assert is_map(Polynomial(2))
    assert is_map(Sigmoid(0.1))
    assert not is_map(Laplacian(1.0))
    assert not is_map(Linear() + RBF(1.0))
    far = X.copy()
    far[0] *= 1e7  # its distances come from differences of coordinates
    assert not is_map(RBF(1.0), far)


def test_a_matrix_waits_for_a_free_buffer(X):
    kernels = RBF(0.1), RBF(1.0)
    samples = bind_samples(kernels[0], X)
    grams = [BlockedGram(kernel, samples) for kernel in kernels]
    with KernelMatrices(N, 8 * N * N, 2) as matrices:
        first = matrices.acquire(0, grams[0], uses=1)
        assert matrices.acquire(1, grams[1], uses=1, stop=lambda: True) is None
        found = []
        waiting = threading.Thread(target=lambda: found.append(matrices.acquire(1, grams[1], 1)))
        waiting.start()
        np.testing.assert_allclose(first, kernels[0](X), rtol=1e-10)  # nobody has written to it
        matrices.release(0)
        waiting.join(timeout=30)
        np.testing.assert_allclose(found[0], kernels[1](X), rtol=1e-10)


def test_a_kernel_that_fails_leaves_its_buffer(X):
    def broken(A, B):
        raise RuntimeError("no values")

    from mercer.kernels import Callable

    gram = BlockedGram(RBF(1.0), bind_samples(RBF(1.0), X))
    bad = BlockedGram(Callable(broken), gram.points)
    with KernelMatrices(N, 8 * N * N, 1) as matrices:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="no values"):
                matrices.acquire(0, bad, uses=1)
        assert matrices.acquire(1, gram, uses=1, stop=lambda: True) is not None


@pytest.mark.parametrize("extra", [1, 4, 7])
def test_memory_of_any_size_can_be_used_again_for_float64(X, extra, monkeypatch):
    monkeypatch.setattr(_buffer_pool, "_free", [])
    give_back(borrow(3 * 8 * N * N + extra))  # float32 rows of another fit need any size
    with KernelMatrices(N, 8 * N * N, 2) as matrices:
        K = matrices.acquire(0, BlockedGram(Linear(), bind_samples(Linear(), X)), uses=1)
        np.testing.assert_allclose(K, X @ X.T, rtol=1e-12, atol=1e-12)
