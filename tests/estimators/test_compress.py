"""`compress`: the change of f is what is stated, and no choice of coefficients is better."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.estimators._compress import dense_coefficients
from mercer.kernels import RBF, Linear, Polynomial
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(150, 3)) + 4.0
    y = np.digitize((X[:, 0] - 4) * (X[:, 1] - 4), [-0.4, 0.4])
    return read_only(X, y, X[:, 0] + np.sin(X[:, 1]))


X, Y, T = _data()
MODELS = {
    "SVC": (mercer.SVC(C=5, gamma=0.3), Y == 1),
    "SVC several": (mercer.SVC(C=5, gamma=0.3, decision_function_shape="ovo"), Y),
    "NuSVC": (mercer.NuSVC(nu=0.2, gamma=0.3), Y == 1),
    "SVR": (mercer.SVR(gamma=0.3, epsilon=0.01), T),
    "OneClassSVM": (mercer.OneClassSVM(gamma=0.3), None),
    "poly": (mercer.SVR(kernel=Polynomial(2, 0.1, 1.0), epsilon=0.05), T),
    "linear": (mercer.SVC(kernel="linear"), Y == 1),
    "ridge": (mercer.KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1), T),
    "two targets": (mercer.KernelRidge(kernel=RBF(0.3), alpha=0.1), np.column_stack([T, -T])),
    "logistic": (mercer.KernelLogisticRegression(gamma=0.3), Y),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    model, y = MODELS[request.param]
    return model.fit(X, y)


def values(model, rows=X):
    """f by the definition, without the Expansion's own code."""
    e = model.expansion_
    origin = 0.0 if e.support.origin is None else e.support.origin
    return e.b + e.kernel(rows - origin, e.support.X - origin) @ dense_coefficients(e).T


def distance(one, other):
    """‖w − w̃‖ of every output from the matrix of all vectors."""
    a, b = one.expansion_, other.expansion_
    Z = np.vstack([a.support.X, b.support.X])
    c = np.hstack([dense_coefficients(a), -dense_coefficients(b)])
    K = a.kernel(Z)
    return np.sqrt(np.maximum(np.einsum("ti,ij,tj->t", c, K, c), 0.0))


@pytest.mark.parametrize("m", [3, 8])
def test_the_change_is_the_one_stated(fitted, m):
    small = fitted.compress(m, X=X)
    said = small.compression_
    assert said.n_vectors == small.expansion_.n_support <= m
    assert said.n_vectors_before == fitted.expansion_.n_support
    true = distance(fitted, small)
    # Squared norms have the rounding of their terms, whose size is (Σ|c| √k)².
    size = np.sqrt(np.diag(fitted.kernel_(fitted.expansion_.support.X)).max())
    size *= np.abs(dense_coefficients(fitted.expansion_)).sum(axis=1).max()
    assert_allclose(said.change, true, atol=1e-6 * size, rtol=1e-5)
    assert (np.array(said.change) >= true - 1e-7 * size).all()
    moved = np.abs(values(small) - values(fitted))
    assert_allclose(said.largest_change, moved.max(), rtol=1e-8, atol=1e-9)
    k = fitted.kernel_
    bound = np.array(said.change) * np.sqrt(np.diag(k(X)))[:, None]
    assert (moved <= bound + 1e-8).all()


def test_coefficients_are_the_best_ones(fitted):
    """The gradient of ‖w − w̃‖² in the coefficients is zero: w̃ is the projection."""
    small = fitted.compress(6)
    a, b = fitted.expansion_, small.expansion_
    left = a.kernel(b.support.X, a.support.X) @ dense_coefficients(a).T
    right = a.kernel(b.support.X) @ dense_coefficients(b).T
    has = np.zeros(left.shape, bool)
    for start, stop, outputs in b.blocks:
        has[start:stop, outputs] = True
    assert_allclose(right[has], left[has], atol=1e-7 * np.abs(left).max())


def test_a_pair_of_classes_has_vectors_of_these_classes_only(tmp_path):
    """Coefficients have scikit-learn's layout, which LIBSVM's format has as well."""
    model = mercer.SVC(C=5, gamma=0.3, decision_function_shape="ovo").fit(X, Y)
    small = model.compress(12)
    assert small.dual_coef_.shape == (2, 12)
    classes = Y[small.support_]
    assert_array_equal(np.bincount(classes, minlength=3), small.n_support_)
    coef = dense_coefficients(small.expansion_)
    for t, pair in enumerate([(0, 1), (0, 2), (1, 2)]):
        assert (coef[t, ~np.isin(classes, pair)] == 0).all()
        assert (coef[t, np.isin(classes, pair)] != 0).all()
    assert_allclose(
        mercer.export.to_sklearn(small).decision_function(X), small.decision_function(X)
    )
    mercer.persistence.write_libsvm(small, tmp_path / "m")
    again, _ = mercer.persistence.read_libsvm(tmp_path / "m")
    again.set_params(decision_function_shape="ovo")
    assert_allclose(again.decision_function(X), small.decision_function(X), atol=1e-12)


def test_more_vectors_change_less_and_all_of_them_nothing(fitted):
    changes = [max(fitted.compress(m).compression_.change) for m in (2, 5, 20)]
    assert changes == sorted(changes, reverse=True)
    whole = fitted.compress(fitted.expansion_.n_support)
    assert_allclose(values(whole), values(fitted), atol=1e-4 * np.abs(values(fitted)).max())


def test_tolerance_bounds_the_change(fitted):
    small = fitted.compress(tolerance=0.3, X=X)
    k = np.diag(fitted.kernel_(np.asarray(fitted.expansion_.support.X)))
    assert max(small.compression_.change) * np.sqrt(k.max()) <= 0.3
    few = fitted.compress(small.compression_.n_vectors - 1 or 1)
    if small.compression_.n_vectors > 1:
        assert max(few.compression_.change) * np.sqrt(k.max()) > 0.29


def test_the_model_itself_is_not_changed(fitted):
    before = values(fitted)
    certificate = fitted.certificate_
    small = fitted.compress(3)
    assert_array_equal(values(fitted), before)
    assert fitted.certificate_ == certificate
    assert not hasattr(small, "certificate_")


def test_it_is_saved_and_exported(fitted, tmp_path):
    small = fitted.compress(5, X=X)
    mercer.save(small, tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    assert again.compression_ == small.compression_
    assert_array_equal(again.predict(X), small.predict(X))
    pytest.importorskip("onnx")
    session = pytest.importorskip("onnxruntime").InferenceSession
    mercer.export.to_onnx(small, tmp_path / "m.onnx")
    got = session(str(tmp_path / "m.onnx")).run(None, {"X": X})[0]
    if small.predict(X).dtype.kind != "f":
        assert_array_equal(got, small.predict(X))
    else:
        assert_allclose(got.reshape(small.predict(X).shape), small.predict(X), atol=1e-9)


def test_sparse_rows():
    S = sp.csr_matrix(np.where(X > 4, X, 0))
    model = mercer.SVC(gamma=0.1).fit(S, Y == 1)
    small = model.compress(10, X=S)
    assert sp.issparse(small.support_vectors_)
    assert_allclose(
        np.abs(small.decision_function(S) - model.decision_function(S)).max(),
        small.compression_.largest_change,
    )


def test_a_linear_function_of_d_columns_needs_d_vectors():
    model = mercer.SVC(kernel=Linear()).fit(X, Y == 1)
    small = model.compress(tolerance=1e-6)
    assert small.compression_.n_vectors <= X.shape[1]
    assert_allclose(small.coef_, model.coef_, atol=1e-5)


def test_refusals():
    model = mercer.SVC().fit(X, Y)
    with pytest.raises(ValueError, match="max_vectors, tolerance"):
        model.compress()
    with pytest.raises(ValueError, match="at least 1, got 0"):
        model.compress(0)
    with pytest.raises(ValueError, match="at least 0, got -1"):
        model.compress(tolerance=-1)
    with pytest.raises(ValueError, match="precomputed"):
        mercer.SVC(kernel="precomputed").fit(RBF(0.1)(X), Y).compress(3)
