"""Searches with shared work against cold fits of every cell."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import SVC, SVCCV, SVR, SVRCV, OneClassSVM, OneClassSVMCV
from mercer.exceptions import FileError
from mercer.kernels import RBF, Linear

CS = [0.03, 0.3, 3.0, 30.0]
GAMMAS = [0.05, 0.3, 2.0]
TOL = 1e-5


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 4)) * [1.0, 2.0, 0.5, 1.0]
    score = X[:, 0] + X[:, 1] ** 2 / 4 - 0.7 + 0.4 * rng.normal(size=120)
    return X, score


@pytest.fixture(scope="module")
def labels(data):
    return np.where(data[1] > 0, "yes", "no")


def cold(estimator, grid, X, y, cv, **more):
    """scikit-learn's search with a fit for every cell."""
    return GridSearchCV(estimator, grid, cv=cv, **more).fit(X, y)


def assert_same(search, reference, atol=1e-9):
    """The same scores in every cell, by parameters."""
    by_params = {
        tuple(sorted((k.split("__")[-1], str(v)) for k, v in params.items())): row
        for params, row in zip(reference.cv_results_["params"], scores(reference), strict=True)
    }
    found = search.cv_results_["params"]
    assert len(found) == len(by_params)
    for params, row in zip(found, scores(search), strict=True):
        key = tuple(sorted((k, str(v)) for k, v in params.items()))
        np.testing.assert_allclose(row, by_params[key], atol=atol)
    assert search.best_score_ == pytest.approx(reference.best_score_, abs=atol)


def scores(search):
    n = search.n_splits_
    return np.column_stack([search.cv_results_[f"split{i}_test_score"] for i in range(n)])


def test_every_cell_scores_as_a_cold_fit(data, labels):
    X, _ = data
    search = SVCCV(Cs=CS, gammas=GAMMAS, tol=TOL).fit(X, labels)
    grid = {"C": CS, "gamma": GAMMAS}
    assert_same(search, cold(SVC(tol=TOL), grid, X, labels, 5))
    assert search.cv_results_["max_kkt_violation"].max() <= TOL
    assert search.certificate_.status.is_solved
    again = SVC(tol=TOL, **search.best_params_).fit(X, labels)
    np.testing.assert_array_equal(again.dual_coef_, search.best_estimator_.dual_coef_)


def test_three_classes_weights_and_class_weights(data):
    X, score = data
    y = np.digitize(score, [-0.5, 0.8])
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    # Not the smallest C, nor the largest γ: with all β at balanced bounds b is not unique.
    for more in ({}, {"class_weight": "balanced"}, {"break_ties": True}):
        search = SVCCV(Cs=CS[1:], gammas=GAMMAS[1:2], tol=TOL, cv=cv, **more).fit(X, y)
        grid = {"C": CS[1:], "gamma": GAMMAS[1:2]}
        assert_same(search, cold(SVC(tol=TOL, **more), grid, X, y, cv))


def test_weights_are_repetitions_and_zero_leaves_a_row_out(data, labels):
    X, _ = data
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    repeated = np.repeat(np.arange(len(X)), weight.astype(int))
    folds = [
        (np.flatnonzero(np.arange(len(X)) % 3 != k), np.flatnonzero(np.arange(len(X)) % 3 == k))
        for k in range(3)
    ]
    of_copies = [tuple(np.flatnonzero(np.isin(repeated, r)) for r in fold) for fold in folds]
    common = {"Cs": CS[:3], "gammas": GAMMAS[:2], "tol": TOL}
    weighted = SVCCV(cv=folds, **common).fit(X, labels, sample_weight=weight)
    copies = SVCCV(cv=of_copies, **common).fit(X[repeated], labels[repeated])
    np.testing.assert_allclose(scores(weighted), scores(copies), atol=1e-9)


def test_regression(data):
    X, y = data
    search = SVRCV(Cs=CS, gammas=GAMMAS, epsilons=[0.1, 0.5], tol=TOL, cv=3).fit(X, y)
    grid = {"C": CS, "gamma": GAMMAS, "epsilon": [0.1, 0.5]}
    assert_same(search, cold(SVR(tol=TOL), grid, X, y, 3), atol=1e-4)
    assert search.score(X, y) == pytest.approx(search.best_estimator_.score(X, y))


def test_outliers(data):
    X, score = data
    y = np.where(np.abs(score) < 2, 1, -1)
    search = OneClassSVMCV(nus=[0.1, 0.3, 0.6], gammas=GAMMAS, tol=TOL, cv=3).fit(X, y)
    cv = StratifiedKFold(3)
    grid = {"nu": [0.1, 0.3, 0.6], "gamma": GAMMAS}
    expected = np.full((9, 3), np.nan)
    for i, params in enumerate(search.cv_results_["params"]):
        for k, (train, test) in enumerate(cv.split(X, y)):
            model = OneClassSVM(tol=TOL, **params).fit(X[train])
            expected[i, k] = roc_auc_score(y[test], model.decision_function(X[test]))
    assert set(grid) == set(search.best_params_)
    np.testing.assert_allclose(scores(search), expected, atol=0.02)
    assert set(np.unique(search.predict(X))) <= {-1, 1}


@pytest.mark.parametrize("scoring", ["roc_auc", "f1_macro", "balanced_accuracy", "accuracy"])
def test_scorers(data, labels, scoring):
    X, _ = data
    search = SVCCV(Cs=CS[:2], gammas=GAMMAS[:2], tol=1e-7, scoring=scoring).fit(X, labels)
    grid = {"C": CS[:2], "gamma": GAMMAS[:2]}
    assert_same(search, cold(SVC(tol=1e-7), grid, X, labels, 5, scoring=scoring))


def test_a_users_scorer_gets_fitted_models(data, labels):
    X, _ = data

    def few_vectors(model, X, y):
        return -len(model.support_)

    common = {"Cs": CS[:2], "gammas": GAMMAS[:2], "tol": TOL}
    search = SVCCV(scoring=few_vectors, **common).fit(X, labels)
    reference = cold(
        SVC(tol=TOL), {"C": CS[:2], "gamma": GAMMAS[:2]}, X, labels, 5, scoring=few_vectors
    )
    assert_same(search, reference)
    made = SVCCV(scoring=make_scorer(lambda a, b: np.mean(a == b)), **common).fit(X, labels)
    np.testing.assert_allclose(scores(made), scores(SVCCV(**common).fit(X, labels)))


def test_kernels_in_a_list_and_nested_parameters(data, labels):
    X, _ = data
    kernels = [RBF(0.1) + Linear(), Linear(), RBF(0.1)]
    search = SVCCV(
        kernel=kernels, Cs=[0.1, 1.0], param_grid={"kernel__gamma": [0.05, 0.5]}, tol=TOL
    ).fit(X, labels)
    assert len(search.cv_results_["params"]) == 2 + 2 + 4
    cv = list(StratifiedKFold(5).split(X, labels))
    for params, row in zip(search.cv_results_["params"], scores(search), strict=True):
        model = SVC(tol=TOL).set_params(**params)
        expected = [
            clone(model).fit(X[train], labels[train]).score(X[test], labels[test])
            for train, test in cv
        ]
        np.testing.assert_allclose(row, expected, atol=1e-9)
    assert search.cv_results_["param_kernel__gamma"].mask.sum() == 4


def test_a_precomputed_kernel_and_sparse_rows(data, labels):
    X, _ = data
    common = {"Cs": CS, "tol": TOL}
    of_rows = SVCCV(gammas=[0.3], **common).fit(X, labels)
    of_matrix = SVCCV(kernel="precomputed", **common).fit(RBF(0.3)(X), labels)
    np.testing.assert_allclose(scores(of_matrix), scores(of_rows), atol=1e-9)
    assert "gamma" not in of_matrix.best_params_
    of_sparse = SVCCV(gammas=[0.3], **common).fit(sp.csr_matrix(X), labels)
    np.testing.assert_allclose(scores(of_sparse), scores(of_rows), atol=1e-9)


def test_the_scaler_sees_training_rows_only(data, labels):
    X, _ = data
    far = X * [1.0, 100.0, 1.0, 0.01]
    search = SVCCV(Cs=CS, gammas=GAMMAS, tol=TOL, scale=True).fit(far, labels)
    reference = cold(
        make_pipeline(StandardScaler(), SVC(tol=TOL)),
        {"svc__C": CS, "svc__gamma": GAMMAS}, far, labels, 5,
    )  # fmt: skip
    assert_same(search, reference)
    assert set(search.best_params_) == {"C", "gamma"}
    np.testing.assert_array_equal(search.predict(far), reference.predict(far))
    assert mercer.verify(search, far, labels).holds


def test_beyond_the_budget_rows_are_cached(data, labels):
    X, _ = data
    small = SVCCV(Cs=CS, gammas=GAMMAS, tol=TOL, cache_size=0.05).fit(X, labels)
    large = SVCCV(Cs=CS, gammas=GAMMAS, tol=TOL).fit(X, labels)
    np.testing.assert_allclose(scores(small), scores(large), atol=1e-9)


@pytest.mark.parametrize("cache_size", [1000, 0.15])  # several matrices, or one for all threads
def test_scores_do_not_depend_on_threads(data, labels, cache_size):
    X, _ = data
    found = [
        SVCCV(Cs=CS, gammas=GAMMAS, n_jobs=n, cache_size=cache_size).fit(X, labels) for n in (1, 3)
    ]
    np.testing.assert_array_equal(*map(scores, found))
    np.testing.assert_array_equal(*(s.cv_results_["max_kkt_violation"] for s in found))


def test_groups_stay_together(data, labels):
    X, _ = data
    groups = np.arange(len(X)) // 10
    search = SVCCV(Cs=CS[:2], gammas=GAMMAS[:1], tol=TOL, cv=GroupKFold(3))
    search.fit(X, labels, groups=groups)
    folds = list(GroupKFold(3).split(X, labels, groups))
    reference = cold(SVC(tol=TOL), {"C": CS[:2], "gamma": GAMMAS[:1]}, X, labels, folds)
    assert_same(search, reference)


def test_train_scores(data, labels):
    X, score = data
    for y in (labels, np.digitize(score, [-0.5, 0.8])):
        search = SVCCV(Cs=CS, gammas=GAMMAS[:1], tol=TOL, return_train_score=True).fit(X, y)
        reference = cold(
            SVC(tol=TOL), {"C": CS, "gamma": GAMMAS[:1]}, X, y, 5, return_train_score=True
        )
        np.testing.assert_allclose(
            search.cv_results_["mean_train_score"], reference.cv_results_["mean_train_score"]
        )


def test_default_grids_are_logarithmic(data, labels):
    X, _ = data
    search = SVCCV(Cs=2, gammas=3).fit(X, labels)
    params = search.cv_results_["params"]
    assert sorted({p["C"] for p in params}) == pytest.approx([1e-2, 1e3])
    assert sorted({p["gamma"] for p in params}) == pytest.approx([1e-3 / 4, 0.1 / 4, 10 / 4])


def test_ties_are_polished_and_reported():
    X = np.concatenate([np.zeros((20, 1)), np.ones((20, 1))])
    y = np.repeat([0, 1], 20)
    search = SVCCV(Cs=[1.0, 10.0], gammas=[1.0, 2.0], cv=4).fit(X, y)
    assert search.best_score_ == 1.0
    assert len(search.ties_) == 3
    assert search.best_params_ == {"C": 1.0, "gamma": 1.0}
    assert search.cv_results_["max_kkt_violation"].max() <= 1e-4


@pytest.mark.filterwarnings("ignore:smo stopped early")
def test_a_time_limit_keeps_the_best_so_far(data, labels):
    X, _ = data
    with pytest.warns(UserWarning, match="stopped after 0 of 60 fits"):
        search = SVCCV(Cs=CS, gammas=GAMMAS, time_limit=0.0).fit(X, labels)
    assert np.isnan(search.best_score_)
    assert search.predict(X).shape == (120,)

    seen = []

    def stop(progress):
        seen.append(progress)
        return progress.done >= 20

    with pytest.warns(UserWarning, match="stopped after"):
        part = SVCCV(Cs=CS, gammas=GAMMAS, callback=stop, n_jobs=1).fit(X, labels)
    whole = SVCCV(Cs=CS, gammas=GAMMAS).fit(X, labels)
    assert np.isfinite(part.best_score_)
    known = np.isfinite(scores(part)).all(axis=1)
    assert 0 < known.sum() < 12
    np.testing.assert_allclose(scores(part)[known], scores(whole)[known])
    assert seen[-1].done == 20
    assert seen[-1].seconds_left > 0


@pytest.mark.parametrize("n_done", [1, 2])
def test_a_stopped_search_with_scaling_keeps_the_best_of_the_splits_that_are_done(
    data, labels, n_done
):
    """After transformers splits are done one after the other: no candidate is complete."""
    X, _ = data
    grid = {"Cs": CS, "gammas": GAMMAS, "scale": True, "n_jobs": 1}
    stop = 12 * n_done + (n_done - 1) * len(CS)  # in the second case a part of the third split
    seen = []
    with pytest.warns(UserWarning, match="the best candidate so far is kept"):
        search = SVCCV(callback=lambda p: seen.append(p) or p.done >= stop, **grid).fit(X, labels)
    found = scores(search)
    done = np.isfinite(found)
    assert not done.all(axis=1).any()
    assert done[:, :n_done].all()
    mean = found[:, :n_done].mean(axis=1)
    assert search.best_index_ == np.argmax(mean)
    assert search.best_score_ == pytest.approx(mean.max())
    assert seen[-1].best_score == pytest.approx(mean.max())
    assert np.isfinite(seen[0].best_score)


def test_a_search_is_resumed_from_its_file(data, labels, tmp_path):
    X, _ = data
    path = tmp_path / "search.jsonl"
    common = {"Cs": CS, "gammas": GAMMAS, "resume": path}
    with pytest.warns(UserWarning, match="stopped after"):
        SVCCV(callback=lambda p: p.done >= 20, n_jobs=1, **common).fit(X, labels)
    lines = path.read_text().splitlines()
    assert len(lines) == 21
    cell = json.loads(lines[1])
    cell["score"] = 77.0  # no fit gives that: it is read
    cut = [lines[0], json.dumps(cell), *lines[2:20], lines[20][:10]]
    path.write_text("\n".join(cut))
    search = SVCCV(**common).fit(X, labels)
    found = scores(search)
    assert found[cell["candidate"], cell["split"]] == 77.0
    fresh = scores(SVCCV(Cs=CS, gammas=GAMMAS).fit(X, labels))
    assert np.count_nonzero(found != fresh) == 1
    with pytest.raises(FileError, match="of another search"):
        SVCCV(**common).fit(X[::-1], labels)
    path.write_text("no search\n")
    with pytest.raises(FileError, match="not a file of a search"):
        SVCCV(**common).fit(X, labels)


def test_progress_is_printed_with_the_time_left(data, labels, capsys):
    X, _ = data
    SVCCV(Cs=CS, gammas=GAMMAS, verbose=True).fit(X, labels)
    out = capsys.readouterr().out
    assert "[SVCCV] 60 of 60 fits" in out
    assert "best" in out


def test_a_fitted_search_is_saved_and_verified(data, labels, tmp_path):
    X, _ = data
    for more in ({}, {"scale": True, "cv": KFold(3, shuffle=True, random_state=0)}):
        search = SVCCV(Cs=CS[:2], gammas=GAMMAS[:2], **more).fit(X, labels)
        mercer.save(search, tmp_path / "search")
        again = mercer.load(tmp_path / "search")
        np.testing.assert_array_equal(again.predict(X), search.predict(X))
        assert again.best_params_ == search.best_params_
        assert again.certificate_ == search.certificate_
        np.testing.assert_array_equal(scores(again), scores(search))
        assert mercer.verify(again, X, labels).holds


BAD = [
    ({"Cs": [0.0, 1.0]}, {}, "'C' parameter of SVC"),
    ({"Cs": [1.0, 1.0]}, {}, "twice"),
    ({"Cs": []}, {}, "Cs must be"),
    ({"Cs": 0}, {}, "Cs must be"),
    ({"gammas": [-1.0]}, {}, "'gamma' parameter of SVC"),
    ({"cv": [(np.arange(120), np.arange(0))]}, {}, "Split 0 of cv has no test rows"),
    ({"cv": [(np.arange(0), np.arange(120))]}, {}, "Split 0 of cv has no training rows"),
    ({"cv": KFold(2), "sorted": True}, {}, "one class only"),
    ({"cv": GroupKFold(2)}, {"groups": np.arange(7)}, "groups must have one entry"),
    ({"scoring": make_scorer(lambda a, b: np.nan)}, {}, "gives nan for right predictions"),
    ({"Cs": True}, {}, "number of values, or the values"),
    ({"param_grid": {"C": [1.0]}}, {}, "give Cs"),
    ({"param_grid": {"loss": "hinge"}}, {}, "loss='hinge': give a list"),
    ({"param_grid": {"class_weight": None}}, {}, "class_weight=None: give a list"),
    ({"param_grid": {"class_weight": []}}, {}, "no values of class_weight"),
    ({"param_grid": {"kernel__gamma": [1.0]}}, {}, "no kernel of the grid"),
    ({"kernel": []}, {}, "empty list"),
    ({}, {"sample_weight": np.ones(3)}, "incompatible shapes"),
]  # fmt: skip


@pytest.mark.parametrize(("params", "given", "message"), BAD, ids=[b[2] for b in BAD])
def test_bad_input_is_refused_before_the_search(data, labels, params, given, message, monkeypatch):
    X, _ = data
    params = dict(params)
    y = np.sort(labels) if params.pop("sorted", False) else labels
    from mercer.model_selection import _driver

    def none(*args):
        raise AssertionError("the search began")

    monkeypatch.setattr(_driver, "search_svm", none)
    with pytest.raises(ValueError, match=message):
        SVCCV(**params).fit(X, y, **given)
