"""The stated bound on the rounding of kernel values holds, against extended precision."""

import warnings
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("flint", reason="needs python-flint")

from mercer.kernels import (
    RBF,
    AllSubsets,
    Chi2,
    Cosine,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from mercer.kernels._binding import make_samples
from mercer.kernels._rounding import MODEL
from mercer.kernels._samples import Samples
from tests.oracles.exact_kernels import exact_matrix

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    KERNELS = [
        Linear(), Polynomial(3, 0.5, 1.0), Polynomial(2, 1.0, -0.3), Sigmoid(0.01, 0.2), Cosine(),
        RBF(0.3), RBF(1e-6), RBF(1e6), Laplacian(0.2), Laplacian(1e4), Chi2(0.5), AllSubsets(),
        RBF(0.1) + Linear(), 2 * RBF(0.3) * Laplacian(0.1) + 1, RBF(0.2) ** 3 * Polynomial(2),
    ]  # fmt: skip


def hard_rows(kind: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 4))
    X[4] = X[3]
    X[5] = X[3] + 1e-7
    match kind:
        case "offset":
            X += 10.0 ** rng.integers(2, 7)
        case "far":
            X[::2] += 10.0 ** rng.integers(3, 9)
        case "column":
            X[:, 1] *= 10.0 ** rng.integers(-7, 7)
        case "tiny":
            X *= 1e-20
        case "zeros":
            X *= rng.random(X.shape) < 0.4
        case "integers":
            X = rng.integers(-3, 4, X.shape).astype(np.float64)
    return X


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("kind", ["plain", "offset", "far", "column", "tiny", "zeros", "integers"])
def test_bound_holds(kernel, kind):
    for seed in range(2):
        X = hard_rows(kind, seed)
        if isinstance(kernel, Chi2):
            X = np.abs(X)
        try:
            kernel.check(make_samples(X, kernel))
        except ValueError:
            continue  # values beyond what is computed with
        exact = exact_matrix(kernel, X, X)
        for container, dtype in product((np.asarray, sp.csr_matrix), (np.float32, np.float64)):
            points = make_samples(container(X), kernel)
            out = np.empty((9, 9), dtype)
            block = points.take(slice(0, 9), dtype)
            kernel.tile(block, block, out)
            rounding = kernel.rounding(points, dtype)
            assert (rounding.relative <= MODEL.largest_relative).all()
            rho = rounding.relative
            bound = np.abs(out.astype(np.float64)) * (rho[:, None] + rho)
            for p, q in rounding.pairs:
                bound += np.outer(p, q) + np.outer(q, p)
            error = [
                [abs(float(exact[i][j] - float(out[i, j]))) for j in range(9)] for i in range(9)
            ]
            assert (np.array(error) <= bound).all()


def test_diagonal_of_far_rows_is_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5))
    X[10:] += 1e9
    for dtype in (np.float32, np.float64):
        points = make_samples(X, RBF(0.5))
        block = points.take(slice(0, 20), dtype)
        K = np.empty((20, 20), dtype)
        RBF(0.5).tile(block, block, K)
        np.testing.assert_array_equal(np.diag(K), 1.0)
        difference = X[10:, None] - X[None, 10:]
        expected = np.exp(-0.5 * (difference**2).sum(axis=2))
        np.testing.assert_allclose(K[10:, 10:], expected, rtol=1e-6)
        np.testing.assert_array_equal(K[:10, 10:], 0.0)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_integer_rows_have_no_rounding_of_distances(container):
    X = np.random.default_rng(0).integers(0, 3, (40, 6)).astype(np.float64)
    for gamma in (0.05, 0.7):
        points = Samples(container(X))
        block, K = points.take(slice(0, 40)), np.empty((40, 40))
        RBF(gamma).tile(block, block, K)
        squares = ((X[:, None] - X) ** 2).sum(axis=2)
        np.testing.assert_allclose(K, np.exp(-gamma * squares), rtol=1e-15)
        float32, half = (RBF(gamma).rounding(Samples(container(Z)), np.float32) for Z in (X, X / 3))
        assert (float32.relative < half.relative).all()


@pytest.mark.parametrize(
    ("X", "origin", "float32", "float64"),
    [
        (np.array([[1.0, -2.0]]), None, True, True),
        (np.array([[1, 2]]), None, True, True),
        (np.array([[1.0, 2.5]]), None, False, False),
        (np.array([[1.0, 2.0]]), np.array([1.0, 0.0]), True, True),
        (np.array([[1.0, 2.0]]), np.array([0.5, 0.0]), False, False),
        (np.array([[3000.0, 2.0]]), None, False, True),
        (np.array([[1e9, 2.0]]), None, False, False),
    ],
)
def test_which_rows_are_exact(X, origin, float32, float64):
    assert Samples(X, origin).are_exact(np.float32) == float32
    assert Samples(X, origin).are_exact(np.float64) == float64
    compared = Samples(X, origin)
    compared.is_compared = True
    assert not compared.are_exact(np.float64)
