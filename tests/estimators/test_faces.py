"""The estimators against scikit-learn's, and what they add to them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import SVC, SVR, NotSeparableError, NuSVC, NuSVR, OneClassSVM
from mercer.certificates._certificate import Certificate
from mercer.estimators.svm._solve import FitSettings
from mercer.exceptions import ConvergenceWarning, WarmStartWarning
from mercer.kernels import RBF, Linear, Precomputed

ALL = [SVC, NuSVC, SVR, NuSVR, OneClassSVM]
IRIS = load_iris()
TOL = 1e-8


def values(model, X):
    return model.predict(X) if isinstance(model, (SVR, NuSVR, svm.SVR, svm.NuSVR)) else (
        model.decision_function(X)
    )  # fmt: skip


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    X.setflags(write=False)
    return X, y


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("cls", ALL)
def test_attributes_are_scikit_learns(cls, kernel):
    X = IRIS.data / IRIS.data.std(axis=0)
    ours = cls(kernel=kernel, tol=TOL).fit(X, IRIS.target)
    theirs = getattr(svm, cls.__name__)(kernel=kernel, tol=TOL).fit(X, IRIS.target)
    scale = np.abs(values(theirs, X)).max()
    # LIBSVM's kernel values are float32; which of two equal rows has the coefficient is open.
    atol = 3e-4 * scale + 1e-6
    np.testing.assert_allclose(values(ours, X), values(theirs, X), atol=atol)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=10 * atol)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.n_support_.dtype == theirs.n_support_.dtype
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert np.abs(ours.n_support_ - theirs.n_support_).max() <= 2
    assert ours.dual_coef_.shape == (theirs.dual_coef_.shape[0], ours.n_support_.sum())
    assert ours.shape_fit_ == theirs.shape_fit_
    assert ours.fit_status_ == theirs.fit_status_ == 0
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=atol)
    if cls is OneClassSVM:
        np.testing.assert_allclose(ours.offset_, theirs.offset_, atol=atol)


def test_ten_classes_predict_like_scikit_learn():
    X, y = load_digits(return_X_y=True)
    X, y, T = X[:600], y[:600], X[600:900]
    ours, theirs = SVC(tol=1e-6).fit(X, y), svm.SVC(tol=1e-6).fit(X, y)
    np.testing.assert_array_equal(ours.predict(T), theirs.predict(T))
    np.testing.assert_allclose(ours.decision_function(T), theirs.decision_function(T), atol=1e-5)
    assert len(ours.certificate_.tasks) == 45
    two = clone(ours).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(ours.dual_coef_, two.dual_coef_)


def test_weight_zero_is_a_removed_row(noisy):
    X, y = noisy
    weight = np.ones(len(y))
    weight[::3] = 0
    for cls in ALL:
        model = cls(tol=TOL).fit(X, y, sample_weight=weight)
        without = cls(tol=TOL).fit(X[weight > 0], y[weight > 0])
        np.testing.assert_array_equal(values(model, X), values(without, X))
        np.testing.assert_array_equal(model.support_, np.flatnonzero(weight)[without.support_])


@pytest.mark.parametrize("cls", ALL)
def test_weight_two_is_a_repeated_row(noisy, cls):
    X, y = noisy
    weight = 1 + (np.arange(len(y)) % 2)
    twice = np.repeat(np.arange(len(y)), weight)
    model = cls(tol=1e-10).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        values(model, X), values(cls(tol=1e-10).fit(X[twice], y[twice]), X), atol=1e-7
    )


def test_balanced_counts_rows_by_weight(noisy):
    X, y = noisy
    weight = 1.0 + (np.arange(len(y)) % 2)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    a = SVC(class_weight="balanced", tol=TOL).fit(X, y, sample_weight=weight)
    b = SVC(class_weight="balanced", tol=TOL).fit(X[twice], y[twice])
    np.testing.assert_allclose(a.class_weight_, b.class_weight_)
    np.testing.assert_allclose(values(a, X), values(b, X), atol=1e-6)


EFFECTS = [
    (SVC, {"C": 0.1}), (SVC, {"kernel": "linear"}), (SVC, {"gamma": "auto"}),
    (SVC, {"class_weight": "balanced"}), (SVC, {"class_weight": {0: 3.0}}), (SVC, {"tol": 0.5}),
    (SVC, {"fit_intercept": False}), (NuSVC, {"nu": 0.2}), (NuSVC, {"class_weight": {0: 1.3}}),
    (SVR, {"epsilon": 0.3}), (SVR, {"C": 0.1}), (SVR, {"fit_intercept": False}),
    (NuSVR, {"nu": 0.2}), (NuSVR, {"C": 0.1}), (OneClassSVM, {"nu": 0.2}),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "change"), EFFECTS)
def test_parameter_has_an_effect(noisy, cls, change):
    X, y = noisy
    before, after = cls().fit(X, y), cls(**change).fit(X, y)
    assert np.abs(values(before, X) - values(after, X)).max() > 1e-4


@pytest.mark.parametrize("change", [{"degree": 2}, {"coef0": 1.0}, {"gamma": 0.7}])
def test_kernel_parameter_has_an_effect(noisy, change):
    X, y = noisy
    before, after = SVC(kernel="poly").fit(X, y), SVC(kernel="poly", **change).fit(X, y)
    assert np.abs(values(before, X) - values(after, X)).max() > 1e-4


def test_no_intercept_is_zero(noisy):
    X, y = noisy
    assert SVC(fit_intercept=False).fit(X, y).intercept_ == [0.0]
    for cls in (NuSVC, NuSVR, OneClassSVM):
        with pytest.raises(ValueError, match=rf"{cls.__name__}.*fit_intercept=False"):
            cls(fit_intercept=False).fit(X, y)


def test_search_replaces_the_kernel(noisy):
    X, y = noisy
    pipe = make_pipeline(StandardScaler(), SVC(kernel=RBF(gamma=1.0)))
    search = GridSearchCV(pipe, {"svc__kernel__gamma": [0.01, 0.1]}, cv=2).fit(X, y)
    best = search.best_params_["svc__kernel__gamma"]
    assert search.best_estimator_[-1].kernel == RBF(gamma=best)
    assert pipe[-1].kernel == RBF(gamma=1.0)


def test_kernel_objects_are_their_names(noisy):
    X, y = noisy
    by_name = SVC(gamma=0.3).fit(X, y)
    np.testing.assert_array_equal(values(SVC(kernel=RBF(0.3)).fit(X, y), X), values(by_name, X))
    assert SVC(kernel=Linear()).fit(X, y).coef_.shape == (1, 4)
    with pytest.raises(ValueError, match=r"gamma=0\.5 cannot be combined with the Kernel object"):
        SVC(kernel=RBF(0.3), gamma=0.5).fit(X, y)
    with pytest.raises(ValueError, match="needs a Kernel object"):
        SVC().set_params(kernel__gamma=1.0)


def test_precomputed_picks_support_columns(noisy):
    X, y = noisy
    K = X @ X.T
    weight = np.ones(len(y))
    weight[:7] = 0
    linear = SVC(kernel="linear", tol=TOL).fit(X, y, sample_weight=weight)
    for kernel in ("precomputed", Precomputed()):
        model = SVC(kernel=kernel, tol=TOL).fit(K, y, sample_weight=weight)
        np.testing.assert_allclose(values(model, K), values(linear, X), atol=1e-6)
    K[:, np.setdiff1d(np.arange(len(y)), model.support_)] = np.nan_to_num(np.inf)
    np.testing.assert_allclose(values(model, K), values(linear, X), atol=1e-6)


def test_callable_predicts_from_support_vectors_only(noisy):
    X, y = noisy
    seen = []

    def k(A, B):
        seen.append(len(B))
        return A @ B.T

    model = SVC(kernel=k).fit(X, y)
    seen.clear()
    model.predict(X)
    assert max(seen) == model.support_.size < len(y)


def test_callable_takes_strings():
    words = ["aa", "aab", "abb", "bbb", "bb", "aaa"]
    y = [1, 1, 0, 0, 0, 1]

    def shared(A, B):
        return np.array([[sum(min(a.count(c), b.count(c)) for c in "ab") for b in B] for a in A])

    model = SVC(kernel=shared, C=10).fit(words, y)
    np.testing.assert_array_equal(model.predict(words), y)
    assert model.predict(["bbbb"]) == [0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(noisy, make):
    X, y = noisy
    frame = make({f"x{j}": X[:, j] for j in range(4)})
    if not hasattr(svm.SVC().fit(frame, y), "feature_names_in_"):
        pytest.skip("this version of scikit-learn does not read names from such frames")
    model = SVC().fit(frame, y)
    assert list(model.feature_names_in_) == ["x0", "x1", "x2", "x3"]
    np.testing.assert_array_equal(model.predict(frame), SVC().fit(X, y).predict(X))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.float32])
def test_types_are_taken_as_they_are(dtype):
    X, y = load_digits(n_class=3, return_X_y=True)
    a, b = SVC(tol=1e-6).fit(X.astype(dtype), y), SVC(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(values(a, X), values(b, X), atol=1e-4)
    assert a.support_vectors_.dtype == np.float64


def test_large_sparse_is_as_dense(noisy):
    # Too many cells to be made dense.
    X = sp.random(400, 4000, 0.01, "csr", random_state=np.random.RandomState(0))
    y = np.asarray(X[:, :2000].sum(axis=1) > X[:, 2000:].sum(axis=1)).ravel()
    a, b = SVC(tol=TOL).fit(X, y), SVC(tol=TOL).fit(X.toarray(), y)
    assert sp.issparse(a.support_vectors_)
    np.testing.assert_allclose(values(a, X), values(b, X.toarray()), atol=1e-6)


def test_pickle_keeps_the_function(noisy):
    X, y = noisy
    model = SVC().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(values(again, X), values(model, X))
    assert again.certificate_ == model.certificate_


@pytest.mark.parametrize("at_once", [0, 10**9])
def test_certificate_is_the_same_whenever_it_is_made(noisy, at_once):
    X, y = noisy
    model = SVC()
    model._fit_settings = FitSettings(certified_from=at_once)
    assert not hasattr(model, "certificate_")
    model.fit(X, y)
    assert isinstance(model._proof, Certificate) == (at_once == 0)
    found = mercer.verify(model, X, y)
    assert found.gap <= model.certificate_.gap
    assert model.certificate_.n_support == model.n_support_.sum()
    assert model.certificate_ is model.certificate_
    assert not hasattr(clone(model), "certificate_")


def test_stopped_fit_goes_on(noisy):
    X, y = noisy
    model = SVC(max_iter=250, C=100.0, warm_start=True)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=250.*violation .* \(tol=0.001\)"):
        model.fit(X, y)
    assert model.fit_status_ == 1
    assert model.n_iter_.tolist() == [250]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_iter=-1).fit(X, y)
        cold = SVC(C=100.0).fit(X, y)
        assert model.n_iter_[0] < cold.n_iter_[0]
        assert model.set_params(C=1000.0).fit(X, y).fit_status_ == 0
        assert model.fit(X, y).n_iter_.tolist() == [0]  # nothing left to do
    with pytest.warns(WarmStartWarning, match="not those of the last fit"):
        model.fit(X + 1.0, y)


def test_convergence_warning_names_the_column(noisy):
    X, y = noisy
    frame = pd.DataFrame(X * [1, 1, 1e4, 1], columns=["a", "b", "income", "d"])
    with pytest.warns(ConvergenceWarning, match="income.*StandardScaler"):
        SVC(kernel="linear", max_iter=3).fit(frame, y)


def test_callback_stops_the_fit(noisy):
    X, y = noisy
    calls = []
    model = SVC(callback=lambda progress: calls.append(progress) or True).fit(X, y)
    assert calls
    assert model.predict(X).shape == y.shape


def test_hard_margin_and_its_refusal():
    X = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 2.0]])
    model = SVC(kernel="linear", C=np.inf).fit(X, [1, -1, 1])
    assert model.certificate_.margin == pytest.approx(2.0)
    square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(NotSeparableError) as caught:
        SVC(kernel="linear", C=np.inf).fit(square, [0, 0, 1, 1])
    weights = caught.value.weights
    np.testing.assert_allclose(weights @ square, 0.0, atol=1e-7)
    assert weights[weights > 0].sum() == pytest.approx(1.0)
    assert weights[weights < 0].sum() == pytest.approx(-1.0)
    assert len({*np.sign(weights[:2])}) == 1


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        ([[1.0], [np.nan]], [0, 1], None, "NaN"),
        ([[1.0], [np.inf]], [0, 1], None, "infinity"),
        (np.empty((0, 2)), [], None, "0 sample"),
        ([["a"], ["b"]], [0, 1], None, "must hold numbers"),
        ([[1.0], [2.0]], [0, 1], [1.0], "incompatible shapes"),
        ([[1.0], [2.0]], [0, 1], [1.0, np.nan], "sample_weight must be finite"),
        ([[1.0], [2.0]], [0, 1], [0.0, 0.0], "zero or negative weights"),
        ([[1e300], [-1e300]], [0, 1], None, "overflow|[Ss]cale"),
    ],
)
def test_bad_data_is_refused(cls, X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        cls().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("cls", [SVC, NuSVC])
def test_one_class_is_refused(cls):
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        cls().fit([[1.0], [2.0]], [1, 1])


def test_bad_parameters_are_refused(noisy):
    X, y = noisy
    for change in ({"C": 0}, {"C": -1.0}, {"tol": 0.0}, {"time_limit": -1}, {"solver": "magic"}):
        with pytest.raises(ValueError, match=rf"'{next(iter(change))}' parameter of SVC must be"):
            SVC(**change).fit(X, y)
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="features"):
        SVC().fit(X, y).predict(X[:, :2])


def test_constant_columns_and_indefinite_matrices_have_an_answer(noisy):
    X, y = noisy
    assert SVC().fit(np.ones_like(X), y).predict(X[:1]).shape == (1,)
    K = X @ X.T - 2 * np.eye(len(y))
    assert SVC(kernel="precomputed", time_limit=5).fit(K, y).predict(K).shape == y.shape


@pytest.mark.filterwarnings("ignore:The `probability`:FutureWarning")
def test_probabilities_follow_decision_values(noisy):
    X, y = noisy
    for cls in (SVC, NuSVC):
        model = cls(probability=True, random_state=0).fit(X, y)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        order = np.argsort(model.decision_function(X))
        assert (np.diff(p[order, 1]) >= 0).all()
        assert p[order[-1], 1] > 0.8
    other = SVC(probability=True, random_state=1).fit(X, y)
    assert np.abs(other.predict_proba(X) - SVC(probability=True, random_state=0).fit(X, y)
                  .predict_proba(X)).max() > 0  # fmt: skip


def test_certificate_is_verified(noisy):
    X, y = noisy
    for cls in ALL:
        model = cls(tol=1e-5).fit(X, y)
        found = mercer.verify(model, X, y)
        assert found.kkt_violation <= 1.05e-5
        assert found.gap <= model.certificate_.gap
