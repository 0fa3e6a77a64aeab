"""Centred kernels: values from the definition, fits by the training samples, files."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.kernels import (
    RBF,
    Centre,
    Laplacian,
    Linear,
    Normalize,
    OnColumns,
    Polynomial,
    Spectrum,
)
from mercer.kernels._reference import kernel_matrix
from mercer.kernels._reference_kernels import Rows, evaluate
from mercer.kernels._samples import Samples
from tests.oracles.naive_kernels import naive_matrix

X = np.random.default_rng(0).normal(size=(40, 3))
y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, 1, -1)
WORDS = ["abba", "baba", "abab", "aabb", "xyyx", "yxyx", "xxyy", "xyxy", "abxy", "yyba", ""]


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


@pytest.mark.parametrize("k", [Linear(), RBF(0.5), 2 * Polynomial(2, 0.3, 1.0) + RBF(0.1)])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_values(k, form):
    kernel = Centre(k, form(X[:25]))
    expected = naive_matrix(Centre(k, X[:25]), X, X)
    np.testing.assert_allclose(kernel(form(X)), expected, atol=1e-13)
    np.testing.assert_allclose(kernel(form(X[:5]), form(X[30:])), expected[:5, 30:], atol=1e-13)
    np.testing.assert_allclose(kernel_matrix(kernel, X, np.arange(40)), expected, atol=1e-13)
    whole = Centre(k, form(X))
    np.testing.assert_allclose(whole(form(X)), centred(k(X)), atol=1e-13)
    assert whole.is_psd


def test_other_columns_are_named():
    for form in (np.asarray, sp.csr_matrix):
        with pytest.raises(
            ValueError, match="X has 2 columns, but the samples to centre by have 3"
        ):
            Centre(RBF(0.5), X)(form(X[:, :2]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [Linear(), RBF(0.5), Normalize(Polynomial(2, 0.3, 1.0))])
def test_rounding(k, dtype):
    kernel = Centre(k, X[:25])
    exact = naive_matrix(kernel, X, X)
    points = kernel.prepare(Samples(X))
    block = points.take(slice(0, 40), dtype)
    K = np.empty((40, 40), dtype)
    kernel.tile(block, block, K)
    bound = kernel.rounding(points, dtype)
    error = np.abs(K) * np.add.outer(bound.relative, bound.relative)
    for p, q in bound.pairs:
        error = error + np.outer(p, q) + np.outer(q, p)
    assert (np.abs(K - exact) <= error + 1e-15).all()
    assert error.max() < (1e-4 if dtype == np.float32 else 1e-12)
    size = kernel.magnitude(points)
    assert (np.abs(K) <= np.outer(size, size)).all()


@pytest.mark.parametrize(("k", "items"), [(RBF(0.5), X), (Spectrum(2), WORDS)])
def test_a_fit_centres_by_its_training_samples(tmp_path, k, items):
    target = np.arange(len(items)) % 2 * 2 - 1
    model = mercer.SVC(kernel=Centre(k), fit_intercept=False).fit(items, target)
    assert len(model.kernel_.samples) == len(items)
    given = mercer.SVC(kernel="precomputed", fit_intercept=False)
    K = centred(k(items))
    given.fit(K, target)
    np.testing.assert_allclose(
        model.decision_function(items), given.decision_function(K), atol=5e-3
    )
    assert mercer.verify(model, items, target).gap_low <= model.certificate_.gap
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    assert loaded.kernel_ == model.kernel_
    np.testing.assert_array_equal(
        loaded.decision_function(items[:4]), model.decision_function(items[:4])
    )


@pytest.mark.parametrize("k", [RBF(0.5), Laplacian(0.5), OnColumns(RBF(0.5), (0, 1)), Linear()])
def test_the_reference_of_other_samples_than_those_of_the_mean(k, rng):
    """Row 3 of the data is not row 3 of the samples: `mercer.verify` must not take them for one."""
    others = rng.normal(size=(40, X.shape[1]))
    kernel = Centre(k, others)
    data = k.read(X)
    rows = Rows(data, np.arange(12))
    K, error = evaluate(kernel, rows, Rows(data, np.arange(5, 30)))
    own = k(X, others).mean(axis=1)
    expected = k(X, X) - own[:, None] - own + k(others, others).mean()
    assert (np.abs(K - expected[:12, 5:30]) <= error + 1e-13).all()
    assert error.max() < 1e-12
    target = np.sign(X[:, 0])
    model = mercer.SVC(kernel=kernel, fit_intercept=False).fit(X, target)
    assert mercer.verify(model, X, target).gap_low <= model.certificate_.gap
    assert mercer.verify(model, X, target)


def test_value_semantics():
    assert Centre(RBF()) == Centre(RBF())
    assert Centre(RBF(), X) == Centre(RBF(), X.copy())
    assert Centre(RBF(), X) != Centre(RBF(), X + 1)
    assert Centre(RBF(), X) != Centre(RBF())
    assert Centre(RBF()).set_params(k__gamma=2.0) == Centre(RBF(2.0))
    assert repr(Centre(RBF(1.0), X)) == "Centre(k=RBF(gamma=1.0), samples=<40 samples>)"
    with pytest.raises(ValueError, match="no samples to centre by"):
        Centre(RBF())(X)
    with pytest.raises(ValueError, match="one or more"):
        Centre(RBF(), np.zeros((0, 2)))
