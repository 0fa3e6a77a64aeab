"""Mercer's estimators inside scikit-learn's tools and other packages: one test for each."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs, make_classification
from sklearn.ensemble import BaggingClassifier, StackingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, KernelPCA, KernelRidge, LinearSVC
from tests.read_only import read_only

X, Y = read_only(
    *make_classification(120, 6, n_informative=3, n_redundant=0, shuffle=False, random_state=0)
)


def test_pipeline():
    """Scaling in a pipeline is scaling by hand; steps are reached by their parameters."""
    pipe = make_pipeline(StandardScaler(), SVC()).set_params(svc__C=3.0).fit(X, Y)
    by_hand = SVC(C=3.0).fit(StandardScaler().fit_transform(X), Y)
    scaled = StandardScaler().fit_transform(X)
    assert_array_equal(pipe.decision_function(X), by_hand.decision_function(scaled))


def test_grid_search():
    """The best score is that of cross-validation with the best parameters."""
    search = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "kernel": ["linear", "rbf"]}, cv=3).fit(X, Y)
    again = cross_val_score(SVC(**search.best_params_), X, Y, cv=3).mean()
    assert search.best_score_ == pytest.approx(again)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_halving_grid_search():
    """By samples, and by an own resource: iterations of the solver."""
    grid = {"C": [0.1, 1, 10, 100]}
    search = HalvingGridSearchCV(SVC(), grid, cv=3, random_state=0).fit(X, Y)
    assert search.best_params_["C"] in grid["C"]
    assert search.n_iterations_ >= 2


def test_calibration():
    model = CalibratedClassifierCV(SVC(), cv=3).fit(X, Y)
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1)
    assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_rfe():
    """The informative columns come first and are kept."""
    assert RFE(SVC(kernel="linear"), n_features_to_select=3).fit(X, Y).support_[:3].sum() >= 2
    assert RFE(LinearSVC(), n_features_to_select=3).fit(X, Y).support_[:3].sum() >= 2


def test_bagging():
    bag = BaggingClassifier(SVC(), n_estimators=5, random_state=0).fit(X, Y)
    rows = bag.estimators_samples_[0]
    alone = clone(bag.estimators_[0]).fit(X[rows], Y[rows])
    # Bags are weights there: within the tolerance of the fit.
    assert_allclose(bag.estimators_[0].decision_function(X), alone.decision_function(X), atol=1e-2)


def test_stacking():
    parts = [("svc", SVC()), ("linear", LinearSVC())]
    stack = StackingClassifier(parts, cv=3).fit(X, Y)
    values = np.column_stack([m.decision_function(X) for m in stack.estimators_])
    assert_array_equal(stack.transform(X), values)
    assert stack.score(X, Y) > 0.7


def test_tuned_threshold():
    tuned = TunedThresholdClassifierCV(SVC(), cv=3, scoring="balanced_accuracy").fit(X, Y)
    expected = (tuned.estimator_.decision_function(X) >= tuned.best_threshold_).astype(int)
    assert_array_equal(tuned.predict(X), expected)


def test_permutation_importance():
    """A column of noise is less important than the informative ones together."""
    found = permutation_importance(SVC().fit(X, Y), X, Y, n_repeats=5, random_state=0)
    assert found.importances_mean[:3].sum() > found.importances_mean[3:].sum()


def test_decision_boundary_display():
    pytest.importorskip("matplotlib")
    model = SVC().fit(X[:, :2], Y)
    shown = DecisionBoundaryDisplay.from_estimator(
        model, X[:, :2], grid_resolution=7, response_method="decision_function"
    )
    rows = np.column_stack([shown.xx0.ravel(), shown.xx1.ravel()])
    assert_allclose(shown.response.ravel(), model.decision_function(rows), rtol=1e-9)


def test_metadata_routing():
    """Weights reach the fits inside a pipeline and a search only where they are requested."""
    weight = np.where(np.arange(len(Y)) < 60, 1.0, 0.25)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = SVC().set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner)
        pipe.fit(X, Y, sample_weight=weight)
        search = GridSearchCV(inner.set_score_request(sample_weight=False), {"C": [1.0]}, cv=2)
        search.fit(X, Y, sample_weight=weight)
    Z = StandardScaler().fit_transform(X)
    direct = SVC().fit(Z, Y, sample_weight=weight)
    assert_array_equal(pipe.decision_function(X), direct.decision_function(Z))
    refit = SVC(C=1.0).fit(X, Y, sample_weight=weight)
    assert_array_equal(search.best_estimator_.dual_coef_, refit.dual_coef_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_and_frames(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame(dict(zip("abcdef", X.T, strict=True)))
    pca = KernelPCA(2, kernel="rbf").set_output(transform=library).fit(frame)
    out = pca.transform(frame)
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == ["kernelpca0", "kernelpca1"]
    assert_allclose(np.asarray(out), KernelPCA(2, kernel="rbf").fit(X).transform(X), atol=1e-9)
    for model in (SVC(), LinearSVC(), SVR(), KernelRidge(kernel="rbf")):
        fitted = model.fit(frame, Y)
        assert list(fitted.feature_names_in_) == list("abcdef")
        assert_array_equal(fitted.predict(frame), clone(model).fit(X, Y).predict(X))


def test_svmsmote():
    """Borderline rows are found with our SVC as with any: classes are balanced afterwards."""
    over_sampling = pytest.importorskip("imblearn.over_sampling")
    rows, y = make_blobs([200, 30], 2, random_state=0, cluster_std=2.0)
    smote = over_sampling.SVMSMOTE(svm_estimator=SVC(), random_state=0)
    _, balanced = smote.fit_resample(rows, y)
    assert np.bincount(balanced).tolist() == [200, 200]


def test_optuna():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial):
        C = trial.suggest_float("C", 1e-3, 1e3, log=True)
        return cross_val_score(SVC(C=C), X, Y, cv=3).mean()

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(0))
    study.optimize(objective, n_trials=5)
    assert study.best_value == pytest.approx(
        cross_val_score(SVC(**study.best_params), X, Y, cv=3).mean()
    )
