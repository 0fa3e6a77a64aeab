"""KernelPCA: eigenvectors, linear PCA, scikit-learn as the oracle, pre-images."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelPCA, Status
from mercer.kernels import RBF, Linear
from mercer.solvers._eigen import EigenSettings

WAYS = ["dense", "krylov"]


def data(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) / np.sqrt(1 + np.arange(d)) + 3.0


def assert_same_up_to_sign(A, B, atol=1e-8):
    signs = np.sign(np.sum(A * B, axis=0))
    np.testing.assert_allclose(A, B * signs, atol=atol)


def expected(estimator) -> dict[str, str]:
    """Of the checks that run only where SCIPY_ARRAY_API is set."""
    if estimator.fit_inverse_transform:
        return {}
    return {"check_array_api_input": "asks for inverse_transform, without its parameter"}


@parametrize_with_checks(
    [
        KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
        KernelPCA(2, eigen_solver="krylov"),
        KernelPCA(2, kernel="precomputed"),
    ],
    expected_failed_checks=expected,
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("way", [*WAYS, "arpack", "randomized", "auto"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_agrees_with_scikit_learn(way, kernel):
    X, k = data(), 5
    mine = KernelPCA(k, kernel=kernel, eigen_solver=way)
    theirs = sklearn.decomposition.KernelPCA(k, kernel=kernel, eigen_solver="dense")
    T, expected = mine.fit_transform(X), theirs.fit_transform(X)
    np.testing.assert_allclose(mine.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    scale = np.abs(expected).max()
    assert_same_up_to_sign(T, expected, atol=1e-8 * scale)
    assert_same_up_to_sign(mine.transform(X[:9] + 1), theirs.transform(X[:9] + 1), 1e-8 * scale * 9)
    np.testing.assert_allclose(mine.transform(X), T, atol=1e-9 * scale)


@pytest.mark.parametrize("way", WAYS)
def test_linear_kernel_is_pca(way):
    X = data()
    pca = sklearn.decomposition.PCA(4).fit(X)
    model = KernelPCA(4, kernel=Linear(), eigen_solver=way).fit(X)
    assert_same_up_to_sign(model.transform(X), pca.transform(X))
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_)
    np.testing.assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_)


@given(st.integers(0, 1000), st.integers(1, 40), st.sampled_from(WAYS))
def test_orthonormal_centred_eigenvectors(seed, k, way):
    X = data(60, seed=seed)
    model = KernelPCA(k, kernel="rbf", eigen_solver=way).fit(X)
    V, values = model.eigenvectors_, model.eigenvalues_
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(V.sum(axis=0), 0, atol=1e-10)
    assert (np.diff(values) <= 1e-12).all()
    assert (V[np.argmax(np.abs(V), axis=0), np.arange(k)] > 0).all()
    H = np.eye(60) - 1 / 60
    residual = np.linalg.norm(H @ RBF(1 / 6)(X) @ H @ V - V * values, axis=0)
    assert residual.max() <= 2e-12 * values[0] * 10
    assert model.certificate_.status is Status.SOLVED
    assert model.certificate_.relative_residual <= 3e-11


def test_all_components_explain_everything():
    model = KernelPCA(kernel="rbf").fit(data(80))
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)


def test_repeated_eigenvalues_are_all_found():
    """Three columns of equal variance: a single-vector method could miss two of them."""
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((500, 4)) - 0.0)[0]
    Q = np.linalg.qr(np.c_[np.ones(500), Q])[0][:, 1:]
    model = KernelPCA(4, eigen_solver="krylov").fit(Q * [2, 2, 2, 1])
    np.testing.assert_allclose(model.eigenvalues_, [4, 4, 4, 1], rtol=1e-10)


@pytest.mark.parametrize("n", [60, 270, 500, 900])
@pytest.mark.parametrize("k", [3, 40])
def test_rows_that_are_all_equally_far_apart(n, k):
    """K is the identity, and I − 11ᵀ/n has n − 1 eigenvalues 1: LAPACK loses some of them."""
    X = 1e6 * np.random.default_rng(0).standard_normal((n, 5))
    model = KernelPCA(k, kernel="rbf", eigen_solver="dense").fit(X)
    np.testing.assert_allclose(model.eigenvalues_, np.ones(k), rtol=1e-12)
    assert model.certificate_.status is Status.SOLVED
    Z = model.transform(X)
    np.testing.assert_allclose(Z.T @ Z, np.eye(k), rtol=0, atol=1e-10)


def test_more_components_than_rank():
    X = data(350, d=3)
    model = KernelPCA(6, eigen_solver="krylov").fit(X)
    np.testing.assert_allclose(model.eigenvalues_[3:], 0, atol=1e-9 * model.eigenvalues_[0])
    assert KernelPCA(6, remove_zero_eig=True).fit(X).eigenvalues_.size == 3


@pytest.mark.parametrize("way", WAYS)
def test_equal_rows_have_no_variance(way):
    model = KernelPCA(3, kernel="rbf", eigen_solver=way).fit(np.ones((400, 2)))
    np.testing.assert_allclose(model.eigenvalues_, 0, atol=1e-10)
    np.testing.assert_allclose(model.transform(np.ones((2, 2))), 0, atol=1e-5)


def test_large_offset():
    """K is a million times its centred part: rounding ends the iteration, not its tolerance."""
    X = data(500, d=3) + 1000
    model = KernelPCA(2, kernel="linear", eigen_solver="krylov").fit(X)
    assert model.certificate_.status is Status.SOLVED
    expected = sklearn.decomposition.PCA(2).fit(X).explained_variance_
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-5)


def test_sparse_rows():
    X = np.where(data() > 3.5, data(), 0.0)
    dense = KernelPCA(3, kernel="rbf").fit(X)
    sparse = KernelPCA(3, kernel="rbf").fit(sp.csr_matrix(X))
    assert_same_up_to_sign(dense.transform(X), sparse.transform(sp.csr_matrix(X)))


def test_precomputed_matrix_stays_as_it_is():
    X = data(320)
    K = RBF(0.2)(X)
    before = K.copy()
    for way in WAYS:
        model = KernelPCA(3, kernel="precomputed", eigen_solver=way).fit(K)
        other = KernelPCA(3, kernel=RBF(0.2)).fit(X)
        assert_same_up_to_sign(model.transform(K[:5]), other.transform(X[:5]))
    np.testing.assert_array_equal(K, before)


def test_threads_and_budget_do_not_change_the_model():
    X = data(1300)
    fits = [
        KernelPCA(4, kernel="rbf", n_jobs=jobs, cache_size=megabytes).fit(X)
        for jobs, megabytes in [(1, 1000), (3, 1000), (2, 1e-3)]
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.eigenvectors_, fits[0].eigenvectors_)


def test_restarts_end_at_the_same_place():
    X = data(600, d=30)
    expected = KernelPCA(5, kernel="rbf", eigen_solver="dense").fit(X)
    model = KernelPCA(5, kernel="rbf")
    model._settings = EigenSettings(basis=10, basis_per_vector=3)
    model.fit(X)
    assert model.certificate_.status is Status.SOLVED
    assert_same_up_to_sign(model.transform(X), expected.transform(X))


def test_inverse_transform_is_that_of_scikit_learn():
    X = data(200)
    parameters = {"kernel": "rbf", "fit_inverse_transform": True, "alpha": 0.1}
    mine = KernelPCA(4, **parameters).fit(X)
    theirs = sklearn.decomposition.KernelPCA(4, **parameters).fit(X)
    back, expected = (m.inverse_transform(m.transform(X)) for m in (mine, theirs))
    np.testing.assert_allclose(back, expected, atol=1e-8)


def test_pre_images_of_training_rows():
    """With all components the projection of a training row is the row itself."""
    X = data(60, d=2)
    model = KernelPCA(kernel="rbf", gamma=0.5).fit(X)
    rows = model.pre_image(model.transform(X[:20]))
    np.testing.assert_allclose(rows, X[:20], atol=1e-4)


def test_pre_images_take_noise_away():
    """Noise around a circle: pre-images on its first three harmonics lie nearer to it."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.1 * rng.standard_normal((400, 2))
    model = KernelPCA(6, kernel="rbf", gamma=1.0).fit(X)
    rows = model.pre_image(model.transform(X))
    off, off_before = (np.abs(np.linalg.norm(A, axis=1) - 1).mean() for A in (rows, X))
    assert off < 0.6 * off_before


def test_limits():
    X = data(900, d=40)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter=2"):
        model = KernelPCA(5, kernel="rbf", max_iter=2).fit(X)
    assert model.certificate_.status is Status.ITERATION_LIMIT
    assert model.certificate_.relative_residual > 1e-6
    rough = KernelPCA(5, kernel="rbf", eigen_solver="randomized", iterated_power=3).fit(X)
    assert rough.certificate_.iterations == 4
    loose = KernelPCA(5, kernel="rbf", tol=1e-3).fit(X)
    assert loose.certificate_.relative_residual <= 1e-3
    assert loose.certificate_.iterations < KernelPCA(5, kernel="rbf").fit(X).certificate_.iterations
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = KernelPCA(5, kernel="rbf", time_limit=0.0).fit(X)
    assert model.certificate_.status is Status.TIME_LIMIT
    assert np.isfinite(model.transform(X[:3])).all()


def test_refusals():
    X = data(40)
    with pytest.raises(ValueError, match="precomputed"):
        KernelPCA(2, kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)
    with pytest.raises(NotFittedError, match="fit_inverse_transform"):
        KernelPCA(2).fit(X).inverse_transform(X[:, :2])
    with pytest.raises(ValueError, match="RBF"):
        KernelPCA(2).fit(X).pre_image(X[:, :2])
    with pytest.raises(ValueError, match="2 components"):
        KernelPCA(2, kernel="rbf").fit(X).pre_image(X[:, :3])


def test_a_linear_kernel_on_sparse_rows_keeps_no_weights():
    """Of many columns; the w of all components would be larger than the rows."""
    rng = np.random.default_rng(0)
    n, d, per_row, k = 60, 400_000, 20, 30
    columns = np.sort(rng.choice(d, n * per_row, replace=False).reshape(n, per_row), axis=1)
    columns[:, 0] = np.arange(n) // 2
    rows = sp.csr_matrix(
        (rng.normal(size=n * per_row), columns.ravel(), np.arange(0, n * per_row + 1, per_row)),
        shape=(n, d),
    )
    model = KernelPCA(k).fit(rows)
    tracemalloc.start()
    T = model.transform(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(T, model.eigenvectors_ * np.sqrt(model.eigenvalues_), atol=1e-10)
    assert peak < 8 * k * d / 10


@pytest.mark.parametrize("n", [12, 60])  # decomposed, and by the Krylov method
def test_randomized_refuses_a_negative_eigenvalue_of_larger_modulus(n):
    """As scikit-learn's method does, which would return it; the other solvers leave it out."""
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(np.column_stack([np.ones(n), rng.standard_normal((n, 3))]))

    def fit(lowest, solver):
        K = (basis[:, 1:] * [5.0, 2.0, lowest]) @ basis[:, 1:].T
        model = KernelPCA(2, kernel="precomputed", eigen_solver=solver, random_state=0)
        return model.fit((K + K.T) / 2).eigenvalues_

    np.testing.assert_allclose(fit(-3.0, "arpack"), [5, 2])
    np.testing.assert_allclose(fit(-1.0, "randomized"), [5, 2])
    with pytest.raises(ValueError, match="There are significant negative eigenvalues"):
        fit(-3.0, "randomized")
