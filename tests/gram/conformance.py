"""The contract of a Gram (`mercer.gram.Gram`), checked for every implementation.

A subclass says how a Gram of some rows is made (`make`); the expected values come from the
definition of the kernel (``tests/oracles/naive_kernels.py``) and, for error bounds, from arithmetic
in 200 bits.
"""

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.gram import Gram, MachineModel
from mercer.kernels import RBF, Linear, Polynomial
from tests.oracles.naive_kernels import naive_matrix

# Tiles of 12 × 12 and 24 × 12: 61 rows make several of each, and a rest.
SMALL = MachineModel(l2_bytes=8 * 12 * 12)
N, D = 61, 4
KERNELS = {
    "rbf": RBF(gamma=0.3),
    "linear": Linear(),
    "cubic": Polynomial(degree=3, gamma=0.4, coef0=1.0),
    "sum": RBF(gamma=0.3) + 0.5 * Linear(),
}
UNIT = {np.float32: 1e-5, np.float64: 1e-13}


def rows(kind="dense"):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.uniform(size=(N, D)) < 0.7)
    X.setflags(write=False)
    return sp.csr_matrix(X) if kind == "csr" else X


def exact_value(kernel, x, z):
    """k(x, z) in mpmath's precision."""
    name = type(kernel).__name__
    if name == "RBF":
        return mpmath.exp(
            -mpmath.mpf(kernel.gamma) * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))
        )
    dot = sum(a * b for a, b in zip(x, z, strict=True))
    if name == "Linear":
        return dot
    if name == "Polynomial":
        return (mpmath.mpf(kernel.gamma) * dot + mpmath.mpf(kernel.coef0)) ** kernel.degree
    if name == "Scaled":
        return mpmath.mpf(kernel.c) * exact_value(kernel.k, x, z)
    return exact_value(kernel.k1, x, z) + exact_value(kernel.k2, x, z)


class GramConformance:
    """Subclasses set ``make`` and, where values are not computed, ``kinds``."""

    kinds = ("dense", "csr")

    def make(self, kernel, X, threads=1):
        """A Gram of the rows X that computes with this many threads."""
        raise NotImplementedError

    def cases(self):
        for name, kernel in KERNELS.items():
            for kind in self.kinds:
                yield f"{name} {kind}", self.make(kernel, rows(kind)), self.expected(kernel)

    def expected(self, kernel):
        return naive_matrix(kernel, rows(), rows())

    def test_it_has_the_contract(self):
        for _, gram, K in self.cases():
            assert isinstance(gram, Gram)
            assert gram.n == N
            assert gram.is_psd in (True, False, None)
            assert gram.cost_per_entry >= 0
            assert_allclose(gram.matrix(), K, atol=1e-12 * np.abs(K).max())

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_a_block_is_a_part_of_the_matrix(self, dtype):
        rng = np.random.default_rng(1)
        some, others = rng.permutation(N)[:17], rng.permutation(N)[:30]
        for name, gram, K in self.cases():
            atol = UNIT[dtype] * np.abs(K).max()
            block = gram.block(some, others, dtype)
            assert block.dtype == dtype
            assert_allclose(block, K[np.ix_(some, others)], atol=atol, err_msg=name)
            assert_array_equal(gram.block(others, some, dtype).shape, (30, 17))
            assert_allclose(gram.block(others, some, dtype), block.T, atol=atol)
            out = np.empty((17, 9), dtype)
            prepared = gram.sample_block(slice(5, 14), dtype)
            assert gram.block(some, prepared, dtype, out) is out
            assert_allclose(out, K[some, 5:14], atol=atol)

    def test_the_diagonal(self):
        some = np.array([3, 60, 0])
        for name, gram, K in self.cases():
            assert_allclose(gram.diag(some), K.diagonal()[some], rtol=1e-12, err_msg=name)
            assert_allclose(gram.diag(), K.diagonal(), rtol=1e-12, atol=1e-15, err_msg=name)
            gram.diag()[:] = np.nan  # the caller's own array
            assert_allclose(gram.diag(some), K.diagonal()[some], rtol=1e-12, err_msg=name)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_products(self, dtype):
        rng = np.random.default_rng(2)
        some, v, V = rng.permutation(N)[:20], rng.normal(size=N), rng.normal(size=(N, 3))
        for name, gram, K in self.cases():
            for W in (v, V):
                atol = UNIT[dtype] * np.abs(K).max() * np.abs(W).sum(axis=0).max()
                found = gram.matvec(W, dtype=dtype)
                assert found.dtype == np.float64
                assert_allclose(found, K @ W, atol=atol, err_msg=name)
                assert_allclose(gram.matvec(W, some, dtype), K[some] @ W, atol=atol)

    def test_views_compose(self):
        first, second = np.random.default_rng(3).permutation(N)[:40], np.array([3, 39, 0, 17])
        index = first[second]
        for name, gram, K in self.cases():
            part = gram.take(first).take(second)
            assert isinstance(part, Gram)
            assert part.n == 4
            here, scale = K[np.ix_(index, index)], np.abs(K).max()
            assert_allclose(part.matrix(), here, atol=1e-12 * scale, err_msg=name)
            assert_allclose(part.diag(), here.diagonal(), atol=1e-12 * scale)
            assert_allclose(part.matvec(np.arange(4.0)), here @ np.arange(4.0), atol=1e-11 * scale)
            assert_allclose(
                part.block(np.array([2]), np.array([1, 3])), here[2:3, [1, 3]], atol=1e-12 * scale
            )

    def test_threads_change_no_bit(self):
        V, coef = np.random.default_rng(4).normal(size=(N, 3)), np.linspace(-1, 1, N)
        found = []
        for threads in (1, 3):
            gram = self.make(RBF(gamma=0.3), rows(), threads)
            sums = gram.bounded_sums(coef, np.arange(N))
            found.append((gram.matvec(V), gram.matvec(V[:, 0]), gram.matrix(), *sums))
        for one, other in zip(*found, strict=True):
            assert_array_equal(one, other)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_sums_are_within_their_bound(self, kernel, dtype):
        """Also with coefficients of very different sizes, where rounding of the sum matters."""
        gram, rng = self.make(KERNELS[kernel], rows()), np.random.default_rng(5)
        coef = rng.normal(size=N) * 10.0 ** rng.integers(-3, 4, N)
        at = rng.permutation(N)[:8]
        sums, bound = gram.bounded_sums(coef, at, dtype)
        error = gram.sum_error(dtype)
        assert error.weight(coef).shape == (N,)
        with mpmath.workprec(200):
            X = [[mpmath.mpf(float(v)) for v in row] for row in rows()]
            K = self.exact_rows(KERNELS[kernel], X, at)
            for k in range(at.size):
                true = sum(v * mpmath.mpf(float(c)) for v, c in zip(K[k], coef, strict=True))
                assert abs(mpmath.mpf(float(sums[k])) - true) <= bound[k]
        assert bound.max() < 1e-3 * np.abs(coef).sum() * np.abs(gram.diag()).max()

    def exact_rows(self, kernel, X, at):
        """K[at] in mpmath's precision."""
        return [[exact_value(kernel, X[i], x) for x in X] for i in at]

    def test_products_can_be_stopped(self):
        for _, gram, _ in self.cases():
            assert gram.matvec(np.ones(N), stop=lambda: True).shape == (N,)
