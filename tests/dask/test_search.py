"""Searches on a cluster: the scores of the search in memory; Pegasos: the stream's model."""

from __future__ import annotations

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import mercer

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
from mercer.dask import SVCCV, PegasosClassifier  # noqa: E402


def test_search_has_the_scores_of_the_one_in_memory(client, rows):
    X, y = rows[0][:200], rows[1][:200]
    grid = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.02, 0.2], "cv": 3}
    model = SVCCV(**grid).fit(da.from_array(X, chunks=(70, 5)), y)
    local = mercer.SVCCV(**grid).fit(X, y)
    mine = {tuple(sorted(p.items())): s for p, s in _scores(model)}
    theirs = {tuple(sorted(p.items())): s for p, s in _scores(local)}
    assert mine == pytest.approx(theirs)
    assert model.best_score_ == pytest.approx(local.best_score_)
    assert model.certificate_.status.is_solved
    assert mercer.verify(model.best_estimator_, X, y).status.is_solved
    values = model.decision_function(da.from_array(X, chunks=(70, 5)))
    assert isinstance(values, da.Array)
    np.testing.assert_array_equal(values, model.best_estimator_.decision_function(X))
    with pytest.raises(ValueError, match=r"joint_size=0\.001.*search on a sample"):
        SVCCV(**grid, joint_size=0.001).fit(da.from_array(X, chunks=(70, 5)), y)


def _scores(model):
    return zip(model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True)


def test_joblib_on_dask(client, rows):
    X, y = rows[0][:90], rows[1][:90]
    search = GridSearchCV(mercer.SVC(), {"C": [0.1, 1.0]}, cv=2)
    alone = GridSearchCV(mercer.SVC(), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        search.fit(X, y)
    assert np.array_equal(
        search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


def test_pegasos_is_that_of_the_stream(client, rows):
    X, y = rows
    model = PegasosClassifier(lam=0.01, random_state=0, passes=2)
    model.fit(da.from_array(X, chunks=((250, 0, 350), 5)), y)
    local = mercer.PegasosClassifier(lam=0.01, random_state=0)
    batches = [(X[:250], y[:250]), (X[250:], y[250:])]
    local.fit_stream(batches, classes=[-1, 1], passes=2)
    assert np.array_equal(model.coef_, local.coef_)
    assert model.certificate_.gap == local.certify(batches).gap
    found = model.predict(da.from_array(X, chunks=(200, 5))).compute()
    assert np.array_equal(found, local.predict(X))


def test_pegasos_has_lam_of_C(client, rows):
    """C is 1/(n lam), rows counted by their weight."""
    X, y = rows
    weight = np.where(np.arange(600) < 100, 2.0, 1.0)
    chunks = da.from_array(X, chunks=(200, 5))
    model = PegasosClassifier(C=0.5, random_state=0).fit(chunks, y, weight)
    same = PegasosClassifier(lam=1 / (0.5 * 700), random_state=0).fit(chunks, y, weight)
    assert model.lam_ == same.lam_
    assert np.array_equal(model.coef_, same.coef_)
    with pytest.raises(ValueError, match="cannot be combined with lam"):
        PegasosClassifier(C=0.5, lam=0.1).fit(chunks, y)
