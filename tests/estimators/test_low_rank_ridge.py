"""`KernelRidge` with ``approximation``: normal equations, their certificate, the exact optimum."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import KernelRidge
from mercer.kernels import RBF
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=150)
    return read_only(X, y, np.column_stack([y, X[:, 1]]), rng.integers(0, 3, 150).astype(float))


X, Y, TWO, WEIGHT = _data()
LOW = KernelRidge(
    0.3, kernel="rbf", gamma=0.5, approximation="nystroem", n_components=40, random_state=0
)


@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weights"])
def test_distance_encloses_the_optimum(y, weight):
    low = clone(LOW).fit(X, y, weight)
    exact = clone(LOW).set_params(approximation=None).fit(X, y, weight).certificate_
    stated, found = low.certificate_, mercer.verify(low, X, y, weight)
    assert stated.status.is_solved
    assert found.status.is_solved
    for proof in (stated, found):
        assert proof.exact_primal >= exact.dual
        assert proof.exact_primal - proof.distance_to_exact <= exact.primal
        assert proof.distance_to_exact <= 0.2 * proof.exact_primal
    assert found.distance_to_exact == pytest.approx(stated.distance_to_exact, rel=1e-6)


def test_the_solution_is_the_best_over_the_landmarks():
    """Least squares in the span of K[:, landmarks], with √α K_mm^½ a as further residuals."""
    low = clone(LOW).fit(X, Y)
    assert low.X_fit_.shape == (40, 2)
    K, own = RBF(0.5)(X, low.X_fit_), RBF(0.5)(low.X_fit_)
    values, vectors = np.linalg.eigh(own)
    root = np.sqrt(0.3 * np.maximum(values, 0.0))[:, None] * vectors.T
    residuals, targets = np.vstack([K, root]), np.append(Y, np.zeros(40))
    a = np.linalg.lstsq(residuals, targets, rcond=1e-12)[0]
    np.testing.assert_allclose(low.predict(X), K @ a, atol=1e-4)
    np.testing.assert_allclose(low.predict(X), K @ low.dual_coef_, atol=1e-9)
    value = 0.5 * np.sum((Y - K @ a) ** 2) + 0.15 * a @ own @ a
    assert low.certificate_.primal == pytest.approx(value, rel=1e-6)


def test_all_landmarks_are_the_exact_model():
    full = clone(LOW).set_params(n_components=150).fit(X, Y)
    exact = clone(LOW).set_params(approximation=None).fit(X, Y)
    np.testing.assert_allclose(full.predict(X), exact.predict(X), atol=1e-5)
    assert full.certificate_.distance_to_exact <= 1e-5 * full.certificate_.primal


def test_fourier_features_state_no_distance_and_are_kept(tmp_path):
    model = clone(LOW).set_params(approximation="fourier").fit(X, Y)
    proof = mercer.verify(model, X, Y)
    assert proof.distance_to_exact is model.certificate_.distance_to_exact is None
    assert proof.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    mercer.save(model, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(X), model.predict(X))


@pytest.mark.parametrize("change", [{"alpha": "loo"}, {"alpha": 0.0}, {"solver": "cg"}])
def test_what_needs_the_matrix_is_refused(change):
    with pytest.raises(ValueError, match="solves normal equations"):
        clone(LOW).set_params(**change).fit(X, Y)
