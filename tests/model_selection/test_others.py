"""Searches over ridge, logistic and linear models; `GridSearchCV`; paths; leave-one-out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV as TheirSearch
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    SVC,
    SVR,
    KernelLogisticRegression,
    KernelLogisticRegressionCV,
    KernelRidge,
    KernelRidgeCV,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    LinearSVRCV,
    LogisticRegression,
    LogisticRegressionCV,
    OneClassSVM,
)
from mercer.kernels import RBF, Linear
from mercer.model_selection import GridSearchCV
from mercer.solvers import Stopping
from mercer.solvers.smo.paths._matrix_path import PathSettings

CS = [0.1, 1.0, 10.0]
GAMMAS = [0.1, 1.0]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 3))
    score = X[:, 0] + X[:, 1] ** 2 / 2 - 0.5 + 0.3 * rng.normal(size=90)
    return X, score, (score > 0).astype(int)


def means(search):
    """Mean scores by parameters."""
    results = search.cv_results_
    return {
        tuple(sorted((k.split("__")[-1], float(v)) for k, v in params.items())): score
        for params, score in zip(results["params"], results["mean_test_score"], strict=True)
    }


def assert_same(found, reference, atol=1e-9):
    expected = means(reference)
    assert means(found).keys() == expected.keys()
    for key, score in means(found).items():
        assert score == pytest.approx(expected[key], abs=atol), key


LINEAR = [
    (LinearSVCCV(Cs=CS, cv=3, tol=1e-8), LinearSVC(tol=1e-8), True, 1e-9),
    (LogisticRegressionCV(Cs=CS, cv=3, tol=1e-8), LogisticRegression(tol=1e-8), True, 1e-9),
    (LinearSVRCV(Cs=CS, cv=3, tol=1e-8), LinearSVR(tol=1e-8, intercept_scaling=None), False, 1e-3),
]


@pytest.mark.parametrize(("search", "estimator", "has_classes", "atol"), LINEAR, ids=str)
def test_linear_models(data, search, estimator, has_classes, atol):
    X, score, labels = data
    y = labels if has_classes else score
    search = clone(search).fit(X, y)
    assert_same(search, TheirSearch(estimator, {"C": CS}, cv=3).fit(X, y), atol)
    assert search.certificate_.status.is_solved


@pytest.mark.parametrize("n_alphas", [3, 30])  # factors of each, or one decomposition
def test_ridge(data, n_alphas):
    X, score, _ = data
    alphas = np.logspace(-3, 1, n_alphas).tolist()
    search = KernelRidgeCV(alphas=alphas, gammas=GAMMAS, cv=3).fit(X, score)
    grid = {"alpha": alphas, "gamma": GAMMAS}
    reference = TheirSearch(KernelRidge(kernel="rbf"), grid, cv=3).fit(X, score)
    assert_same(search, reference, 1e-6)
    assert search.best_params_ == reference.best_params_


def test_ridge_with_weights_several_targets_and_a_singular_matrix(data):
    X, score, _ = data
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    folds = list(KFold(3).split(X))
    search = KernelRidgeCV(alphas=[0.1, 1.0], gammas=[1.0], cv=folds, scoring="r2")
    search.fit(X, score, sample_weight=weight)
    used = [train[weight[train] > 0] for train, _ in folds]
    models = [KernelRidge(alpha=0.1, kernel="rbf", gamma=1.0) for _ in folds]
    for split, (model, train, (_, test)) in enumerate(zip(models, used, folds, strict=True)):
        model.fit(X[train], score[train], weight[train])
        expected = model.score(X[test], score[test], weight[test])
        assert search.cv_results_[f"split{split}_test_score"][0] == pytest.approx(expected)
    both = np.column_stack([score, X[:, 1]])
    found = KernelRidgeCV(alphas=[0.1, 1.0], gammas=[1.0], cv=3).fit(X, both)
    assert found.predict(X).shape == both.shape
    linear = KernelRidgeCV(kernel="linear", alphas=[0.0, 1.0], cv=3)  # rank 3
    assert np.isfinite(linear.fit(X, score).cv_results_["mean_test_score"]).all()


def test_logistic_regression_with_a_kernel(data):
    X, _, y = data
    search = KernelLogisticRegressionCV(Cs=CS, gammas=GAMMAS, cv=3, scoring="neg_log_loss")
    search.fit(X, y)
    grid = {"C": CS, "gamma": GAMMAS}
    estimator = KernelLogisticRegression()
    assert_same(search, TheirSearch(estimator, grid, cv=3, scoring="neg_log_loss").fit(X, y), 1e-6)
    assert search.predict_proba(X).shape == (90, 2)


SHARED = [
    (SVC(tol=1e-6), {"C": CS, "gamma": GAMMAS}, True),
    (SVC(tol=1e-6), [{"C": CS, "gamma": ["scale", "auto"]}, {"kernel": ["linear"], "C": CS}], True),
    (SVC(tol=1e-6, kernel=RBF(1.0) + Linear()), {"kernel__k1__gamma": GAMMAS, "C": CS}, True),
    (SVR(tol=1e-6), {"C": CS, "epsilon": [0.1, 0.3]}, False),
    (make_pipeline(StandardScaler(), SVC(tol=1e-6)), {"svc__C": CS, "svc__gamma": GAMMAS}, True),
    (KernelRidge(kernel="rbf"), {"alpha": [0.1, 1.0], "gamma": GAMMAS}, False),
    (LinearSVC(tol=1e-8), {"C": CS, "class_weight": [None, "balanced"]}, True),
]


@pytest.mark.parametrize(("estimator", "grid", "has_classes"), SHARED, ids=str)
def test_grid_search_shares_work_and_scores_as_scikit_learn(data, estimator, grid, has_classes):
    X, score, labels = data
    y = labels if has_classes else score
    found = GridSearchCV(estimator, grid, cv=3).fit(X, y)
    reference = TheirSearch(estimator, grid, cv=3).fit(X, y)
    assert found.shares_work_
    assert set(found.cv_results_) == {*reference.cv_results_, "max_kkt_violation"}
    assert found.cv_results_["params"] == reference.cv_results_["params"]
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], reference.cv_results_["mean_test_score"], atol=1e-4
    )
    np.testing.assert_array_equal(
        found.cv_results_["rank_test_score"].min(), reference.cv_results_["rank_test_score"].min()
    )
    np.testing.assert_allclose(found.predict(X), reference.predict(X), atol=1e-4)


@pytest.mark.parametrize(
    ("search", "fit_params"),
    [
        (GridSearchCV(SVC(solver="platt"), {"C": CS}, cv=3), {}),
        (GridSearchCV(SVC(), {"C": CS}, scoring=["accuracy", "f1"], refit="f1", cv=3), {}),
        (GridSearchCV(SVC(), {"C": CS}, scoring=lambda m, X, y: m.score(X, y), cv=3), {}),
        (
            GridSearchCV(
                make_pipeline(StandardScaler(), SVC()),
                {"standardscaler__with_mean": [True, False]},
                cv=3,
            ),
            {},
        ),
    ],
    ids=["another solver", "two scores", "a function", "a parameter of a transformer"],
)
def test_other_searches_are_scikit_learns(data, search, fit_params):
    X, _, y = data
    search.fit(X, y, **fit_params)
    assert not search.shares_work_
    assert search.predict(X).shape == y.shape


def test_grid_search_refuses_bad_grids(data):
    X, _, y = data
    with pytest.raises(ValueError, match="'C' parameter of SVC"):
        GridSearchCV(SVC(), {"C": [0.0, 1.0]}).fit(X, y)
    with pytest.raises(ValueError, match="twice"):
        GridSearchCV(SVC(), {"C": [1.0, 1.0]}).fit(X, y)


# ---------------------------------------------------------------------- paths


@pytest.mark.parametrize("estimator", [SVC(gamma=0.5), SVR(gamma=0.5)], ids=str)
def test_a_path_along_C_has_the_models_of_single_fits(data, estimator):
    X, score, labels = data
    y = labels if isinstance(estimator, SVC) else score
    estimator.set_params(tol=1e-7)
    found = mercer.path(X, y, Cs=CS[::-1], estimator=estimator)
    assert found.Cs.tolist() == CS
    assert found.gammas is None
    for C, model, certificate in zip(CS, found.models, found.certificates, strict=True):
        assert model.C == C
        assert certificate.status.is_solved
        assert not model.warm_start
        alone = clone(estimator).set_params(C=C).fit(X, y)
        ask = "decision_function" if isinstance(estimator, SVC) else "predict"
        np.testing.assert_allclose(getattr(model, ask)(X), getattr(alone, ask)(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", RBF(1.0)])
def test_a_path_along_gamma(data, kernel):
    X, _, y = data
    found = mercer.path(X, y, gammas=GAMMAS, estimator=SVC(kernel=kernel, C=3.0, tol=1e-7))
    assert found.gammas.tolist() == GAMMAS
    assert found.Cs.tolist() == [3.0, 3.0]
    for gamma, model in zip(GAMMAS, found.models, strict=True):
        alone = SVC(gamma=gamma, C=3.0, tol=1e-7).fit(X, y)
        np.testing.assert_allclose(
            model.decision_function(X), alone.decision_function(X), atol=1e-5
        )


def test_paths_that_make_no_sense(data):
    X, _, y = data
    with pytest.raises(ValueError, match="Cs or gammas"):
        mercer.path(X, y)
    with pytest.raises(ValueError, match="Cs must be positive"):
        mercer.path(X, y, Cs=[0.0], estimator=SVC())
    with pytest.raises(ValueError, match="no gamma"):
        mercer.path(X, y, gammas=[1.0], estimator=SVC(kernel=Linear()))
    with pytest.raises(TypeError, match="path along gamma takes"):
        mercer.path(X, y, gammas=[1.0], estimator=LinearSVC())
    with pytest.raises(TypeError, match="has no C"):
        mercer.path(X, y, Cs=[1.0], estimator=mercer.NuSVC())


# ---------------------------------------------------------------------- leave-one-out


MODELS = [
    SVC(C=0.3, gamma=0.5, tol=1e-7),
    SVC(C=30.0, gamma=0.5, tol=1e-7),
    SVC(C=3.0, gamma=0.5, tol=1e-7, loss="squared_hinge"),
    SVC(C=3.0, gamma=0.5, tol=1e-7, fit_intercept=False),
    SVC(C=3.0, kernel="linear", tol=1e-7),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_leave_one_out_is_that_of_single_fits(data, model, n_jobs):
    X, _, y = data
    X, y = X[:50], y[:50]
    found = mercer.leave_one_out(model, X, y, n_jobs=n_jobs)
    cv = LeaveOneOut()
    values = cross_val_predict(model, X, y, cv=cv, method="decision_function")
    np.testing.assert_allclose(found.values[:, 0], values, atol=2e-5)
    assert found.error == np.mean(cross_val_predict(model, X, y, cv=cv) != y)
    assert found.violation <= model.tol
    assert found.n_solved == (model.fit(X, y).n_support_).sum()
    assert found.error <= found.support_vector_bound
    if model.loss == "hinge":
        assert found.error <= found.xi_alpha_bound


def test_leave_one_out_of_three_classes_and_of_regression(data):
    X, score, _ = data
    X, score = X[:45], score[:45]
    y = np.digitize(score, [-0.5, 0.5])
    model = SVC(C=3.0, gamma=0.5, tol=1e-7)
    found = mercer.leave_one_out(model, X, y)
    expected = cross_val_predict(model, X, y, cv=LeaveOneOut())
    np.testing.assert_array_equal(found.predictions, expected)
    assert np.isnan(found.xi_alpha_bound)
    machine = SVR(C=3.0, gamma=0.5, tol=1e-7)
    found = mercer.leave_one_out(machine, X, score)
    expected = cross_val_predict(machine, X, score, cv=LeaveOneOut())
    np.testing.assert_allclose(found.predictions, expected, atol=2e-5)
    assert found.error == pytest.approx(np.mean((expected - score) ** 2), abs=1e-4)


def test_leave_one_out_in_several_parts_is_the_same_with_any_number_of_threads():
    X, y = make_classification(300, 6, flip_y=0.3, random_state=3)
    model = SVC(C=2.0, gamma=0.3, tol=1e-6)
    found = [mercer.leave_one_out(model, X, y, n_jobs=n_jobs) for n_jobs in (1, 2, 5)]
    assert found[0].n_solved > 2 * PathSettings.points_per_call
    for other in found[1:]:
        np.testing.assert_array_equal(other.values, found[0].values)
    for i in range(0, 300, 25):
        alone = model.fit(np.delete(X, i, axis=0), np.delete(y, i)).decision_function(X[[i]])
        np.testing.assert_allclose(found[0].values[i], alone, atol=1e-4)


def test_leave_one_out_of_one_class(data):
    X = data[0][:40]
    model = OneClassSVM(nu=0.3, gamma=0.5, tol=1e-8)
    found = mercer.leave_one_out(model, X)
    expected = [
        model.fit(np.delete(X, i, axis=0)).decision_function(X[[i]])[0] for i in range(len(X))
    ]
    np.testing.assert_allclose(found.values[:, 0], expected, atol=1e-4)
    assert found.n_solved == 40


def test_leave_one_out_limits(data):
    X, _, y = data
    with pytest.raises(TimeoutError, match="stopped"):
        mercer.leave_one_out(SVC(), X, y, time_limit=0.0)
    with pytest.raises(TypeError, match="alpha='loo'"):
        mercer.leave_one_out(KernelRidge(), X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_path_within_a_search_that_stops_has_the_finished_models():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    labels = rows[:, 0] > 0
    assert LinearSVC()._fit_path(rows, labels, None, [0.1, 1.0], Stopping(0.0)) == []
    whole = LinearSVC()._fit_path(rows, labels, None, [0.1, 1.0], Stopping())
    alone = LinearSVC()._fit_path(rows, labels, None, [0.1, 1.0])
    assert [model.C for model in whole] == [0.1, 1.0]
    for one, other in zip(whole, alone, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("several", [False, True])
def test_kernel_ridge_searches_kernel_objects(several):
    """Its default of coef0 is that of `KernelRidge`, which refuses another beside an object."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.sin(2 * X[:, 0])
    kernels = [RBF(0.01), RBF(1.0)] if several else RBF(1.0)
    search = KernelRidgeCV(kernel=kernels, alphas=[0.01, 10.0], cv=4).fit(X, y)
    given = KernelRidge(kernel=RBF(1.0), alpha=search.best_params_["alpha"]).fit(X, y)
    np.testing.assert_allclose(search.predict(X), given.predict(X), rtol=1e-6)
    names = KernelRidgeCV(kernel="poly", alphas=[1.0], gammas=[1.0], cv=4).fit(X, y)
    given = KernelRidge(kernel="poly", gamma=1.0, alpha=1.0).fit(X, y)
    np.testing.assert_allclose(names.predict(X), given.predict(X), rtol=1e-6)
