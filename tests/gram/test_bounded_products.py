"""Products with K and the bounds on their errors, against 200-bit arithmetic."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._threads import Workers
from mercer.gram import BlockedGram
from mercer.gram._bounded_products import bounded_columns, bounded_product, error_norm
from mercer.kernels import RBF, Linear, Polynomial
from mercer.kernels._samples import Samples
from tests.gram.conformance import exact_value

KERNELS = {
    "rbf": RBF(0.7),
    "narrow rbf": RBF(300.0),
    "linear": Linear(),
    "cubic": Polynomial(3, 0.5, 1.0),
    "sum": 2 * RBF(0.3) + Linear(),
}


def exact_matrix(kernel, X):
    rows = [[mpmath.mpf(float(v)) for v in row] for row in X]
    return [[exact_value(kernel, x, z) for z in rows] for x in rows]


def exact_product(K, V):
    columns = [[mpmath.mpf(float(v)) for v in column] for column in V.T]
    return [
        [sum(k * v for k, v in zip(row, column, strict=True)) for column in columns] for row in K
    ]


@given(
    st.sampled_from(sorted(KERNELS)),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    st.sampled_from([1e-3, 1.0, 1e3]),
)
@settings(max_examples=60, deadline=None)
def test_errors_are_within_their_bounds(name, seed, offset, scale):
    kernel, rng = KERNELS[name], np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    X = rng.normal(size=(n, 3)) * scale + offset
    X[: n // 2] *= rng.choice([1.0, 30.0])
    V = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-6, 7, (n, 2))
    origin = X.mean(axis=0) if kernel.is_shift_invariant and seed % 2 else None
    gram = BlockedGram(kernel, Samples(X, origin), Workers(1))
    with mpmath.workprec(200):
        K = exact_matrix(kernel, X)
        true = exact_product(K, V)
        product, bound = bounded_product(gram, V)
        some = np.arange(n)
        columns, of_columns = bounded_columns(gram, some, V)
        for i in range(n):
            for j in range(2):
                assert abs(mpmath.mpf(product[i, j]) - true[i][j]) <= bound[i, j]
                assert abs(mpmath.mpf(columns[i, j]) - true[i][j]) <= of_columns[i, j]
        unit = V / np.linalg.norm(V, axis=0)
        image, error, size = error_norm(gram, unit)
        true = exact_product(K, unit)
        for j in range(2):
            off = mpmath.sqrt(sum((mpmath.mpf(image[i, j]) - true[i][j]) ** 2 for i in range(n)))
            assert off <= error * (1 + 1e-9)
            norm = mpmath.sqrt(sum(true[i][j] ** 2 for i in range(n)))
            assert norm <= size * (1 + 1e-9)


@pytest.mark.parametrize("n", [3, 63, 64, 65, 511, 513, 1100])
def test_products_are_those_of_the_matrix(n):
    rng = np.random.default_rng(n)
    X, V = rng.normal(size=(n, 4)), rng.normal(size=(n, 3))
    gram = BlockedGram(RBF(0.2), Samples(X), Workers(2))
    product, bound = bounded_product(gram, V)
    np.testing.assert_allclose(product, gram.matrix() @ V, atol=1e-11)
    assert (bound > 0).all()
    assert (bound < 1e-9).all()
    few = np.sort(rng.choice(n, min(n, 40), replace=False))
    np.testing.assert_allclose(
        bounded_columns(gram, few, V[few])[0], gram.matrix()[:, few] @ V[few], atol=1e-11
    )


def test_stopped_products_are_none():
    gram = BlockedGram(RBF(0.2), Samples(np.ones((40, 2))), Workers(1))
    assert bounded_product(gram, np.ones((40, 1)), lambda: True) is None
    assert error_norm(gram, np.ones((40, 1)), lambda: True) is None
