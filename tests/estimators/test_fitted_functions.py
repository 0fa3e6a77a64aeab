"""The fitted function of every model, `expansion_`: predictions come from its values."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mercer


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 4))
    return X, (X[:, 0] + 0.3 * rng.normal(size=90) > 0).astype(int) + (X[:, 1] > 1)


LINEAR = [
    mercer.LinearSVC(),
    mercer.LogisticRegression(),
    mercer.LinearSVR(),
    mercer.PegasosClassifier(random_state=0),
    mercer.PegasosRegressor(random_state=0),
]
KERNEL = [
    mercer.SVC(decision_function_shape="ovo"),
    mercer.SVR(),
    mercer.KernelRidge(kernel="rbf"),
    mercer.PegasosClassifier(kernel="rbf", random_state=0, tol=0.1),
]


def values(model, X):
    decide = getattr(model, "decision_function", model.predict)
    return np.asarray(decide(X)).reshape(len(X), -1)


@pytest.mark.parametrize("model", LINEAR + KERNEL, ids=repr)
def test_the_fitted_function_gives_the_decision_values(model, rows):
    X, y = rows
    model.fit(X, y)
    f = model.expansion_(X)
    np.testing.assert_allclose(f.reshape(len(X), -1), values(model, X), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("model", LINEAR, ids=repr)
def test_a_linear_function_is_the_weighted_sum_of_the_columns(model, rows):
    X, y = rows
    f = model.fit(X, y).expansion_
    by_hand = [[sum(w * x for w, x in zip(v, row, strict=True)) for v in f.coef] for row in X]
    np.testing.assert_allclose(f(X), by_hand + f.b, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(f(sp.csr_matrix(X)), f(X), rtol=1e-12, atol=1e-12)
    assert f"{X.shape[1]} columns" in repr(f)
    assert "expansion_" not in vars(model)  # it follows from coef_: kept and saved once
