"""Data bound once for several fits: the same models, fewer kernel values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import SVC, SVR, NuSVC, OneClassSVM
from mercer.kernels import RBF, Callable


def data(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)


@pytest.mark.parametrize("n", [80, 1000])
@pytest.mark.parametrize(
    ("first", "others"),
    [
        (SVC(), [SVC(C=0.1), SVC(C=10.0), SVC(loss="squared_hinge"), NuSVC(nu=0.6)]),
        (SVR(), [SVR(C=10.0), SVR(epsilon=0.5)]),
        (OneClassSVM(nu=0.1), [OneClassSVM(nu=0.4)]),
    ],
)
def test_models_are_those_of_fit(n, first, others):
    X, y = data(n)
    bound = first.bind(X, y)
    for model in (first, *others):
        alone = type(model)(**model.get_params()).fit(X, y)
        shared = type(model)(**model.get_params()).fit_bound(bound)
        assert_array_equal(shared.dual_coef_, alone.dual_coef_)
        assert_array_equal(shared.intercept_, alone.intercept_)
        assert shared.n_features_in_ == alone.n_features_in_
        assert_array_equal(shared.predict(X), alone.predict(X))
        assert shared.certificate_.gap == alone.certificate_.gap


def test_a_second_fit_reuses_kernel_values():
    X, y = data(1700)
    count = [0]

    def rbf(A, B):
        count[0] += len(A) * len(B)
        return RBF(0.3)(A, B)

    def made(C):
        return SVC(kernel=Callable(rbf), C=C, cache_size=400, n_jobs=1, tol=1e-2)

    bound = made(1.0).bind(X, y)
    made(1.0).fit_bound(bound)
    first, count[0] = count[0], 0
    made(1.2).fit_bound(bound)
    second, count[0] = count[0], 0
    made(1.2).fit(X, y)
    assert second < 0.9 * count[0]
    assert first > 0


def test_weights_classes_and_names_are_kept():
    X, _ = data(90)
    labels = np.digitize(X[:, 1], [-0.5, 0.5])
    weight = np.linspace(0, 2, 90)
    bound = SVC(class_weight="balanced").bind(X, labels, weight)
    shared = SVC(class_weight="balanced", C=3.0).fit_bound(bound)
    alone = SVC(class_weight="balanced", C=3.0).fit(X, labels, weight)
    assert_array_equal(shared.support_, alone.support_)
    assert_array_equal(shared.dual_coef_, alone.dual_coef_)


@pytest.mark.parametrize("other", [SVC(gamma=0.1), SVC(kernel="linear"), SVC(fit_intercept=False)])
def test_another_kernel_is_refused(other):
    X, y = data(40)
    with pytest.raises(ValueError, match="Bind the data again"):
        other.fit_bound(SVC().bind(X, y))


def test_the_matrix_of_a_small_problem_is_computed_once():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    counts = []

    def kernel(A, B):
        counts.append(len(A) * len(B))
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    bound = SVC(kernel=kernel).bind(X, y)
    values = []
    for C in (1.0, 3.0):
        before = sum(counts)
        SVC(kernel=kernel, C=C).fit_bound(bound)
        values.append(sum(counts) - before)
    assert values[0] - values[1] >= X.shape[0] ** 2
