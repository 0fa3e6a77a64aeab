"""Searches inside scikit-learn: pipelines, routing, Ctrl-C, clones, data frames."""

from __future__ import annotations

import signal

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVCCV
from mercer.exceptions import InterruptWarning

GRID = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.1, 1.0], "cv": 3}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    return X, (X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=90) > 0.6).astype(int)


def test_the_last_step_of_a_pipeline(data):
    X, y = data
    model = make_pipeline(StandardScaler(), SVCCV(**GRID)).fit(X, y)
    assert model.score(X, y) > 0.7
    assert cross_val_score(SVCCV(**GRID), X, y, cv=2).shape == (2,)


def test_names_of_columns_are_kept(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = SVCCV(**GRID).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), SVCCV(**GRID).fit(X, y).predict(X))


def test_without_the_last_fit(data):
    X, y = data
    search = SVCCV(refit=False, **GRID).fit(X, y)
    assert search.best_params_
    assert not hasattr(search, "best_estimator_")
    assert not hasattr(search, "decision_function")
    assert clone(search).get_params()["refit"] is False


@pytest.mark.parametrize("on_interrupt", ["raise", "return"])
@pytest.mark.filterwarnings("ignore:smo stopped early")
def test_ctrl_c_keeps_the_best_so_far(data, on_interrupt):
    X, y = data
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def press(progress):
        if progress.done >= 9:
            signal.raise_signal(signal.SIGINT)

    search = SVCCV(callback=press, n_jobs=1, on_interrupt=on_interrupt, **GRID)
    try:
        if on_interrupt == "raise":
            with pytest.raises(KeyboardInterrupt):
                search.fit(X, y)
        else:
            with pytest.warns(InterruptWarning):
                search.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    known = np.isfinite(search.cv_results_["mean_test_score"])
    assert 0 < known.sum() < known.size
    assert search.best_score_ == search.cv_results_["mean_test_score"][known].max()
    assert search.predict(X).shape == y.shape


def test_metadata_is_routed_to_splitter_and_scorer(data):
    X, y = data
    groups = np.arange(90) % 9
    heavy = np.where(y == 1, 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight="heavy")
        cv = GroupKFold(3).set_split_request(groups="of")
        search = SVCCV(**{**GRID, "cv": cv}, scoring=scorer)
        search.fit(X, y, of=groups, heavy=heavy)
    folds = list(GroupKFold(3).split(X, y, groups))
    model = search._make_estimator().set_params(**search.cv_results_["params"][0])
    for split, (train, test) in enumerate(folds):
        predicted = clone(model).fit(X[train], y[train]).predict(X[test])
        expected = accuracy_score(y[test], predicted, sample_weight=heavy[test])
        assert search.cv_results_[f"split{split}_test_score"][0] == pytest.approx(expected)


def test_parameters_that_nobody_takes_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        SVCCV(**GRID).fit(X, y, colour="red")
