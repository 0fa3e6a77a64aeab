"""Conformal sets, intervals and p-values: against their definitions, and their coverage."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from mercer import SVC, SVR, KernelRidge, OneClassSVM
from mercer.conformal import ConformalClassifier, ConformalOutlierDetector, ConformalRegressor


def classes(seed, n, k=2):
    return make_classification(
        n, 4, n_informative=3, n_redundant=0, n_classes=k, n_clusters_per_class=1, flip_y=0.1,
        class_sep=0.7, random_state=seed,
    )  # fmt: skip


def curve(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 1))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)


# ---------------------------------------------------------------------- by definition


def test_two_classes_are_ranked_by_their_fold():
    """Each p-value lies between the fractions of rows that are stranger, and as strange."""
    X, y = classes(0, 60)
    new = classes(1, 20)[0]
    folds = StratifiedKFold(4)
    p = ConformalClassifier(SVC(), cv=folds).fit(X, y).p_values(new)
    above, at_least = np.zeros((20, 2)), np.zeros((20, 2))
    for seen, held_out in folds.split(X, y):
        model = SVC().fit(X[seen], y[seen])
        own = -np.where(y[held_out] == 1, 1, -1) * model.decision_function(X[held_out])
        for c, sign in ((0, -1), (1, 1)):
            of_new = -sign * model.decision_function(new)
            above[:, c] += (own[None] > of_new[:, None]).sum(axis=1)
            at_least[:, c] += (own[None] >= of_new[:, None]).sum(axis=1)
    assert (above / 61 <= p).all()
    assert (p <= (at_least + 1) / 61).all()


@pytest.mark.parametrize("cv", [5, "loo"])
def test_intervals_are_those_of_jackknife_plus(cv):
    X, y = curve(0, 31)
    new = np.linspace(-3, 3, 7)[:, None]
    low, high = ConformalRegressor(SVR(C=5.0), cv=cv).fit(X, y).predict_interval(new, level=0.8)
    splits = KFold(31 if cv == "loo" else 5).split(X)
    ends = [[], []]
    for seen, held_out in splits:
        model = SVR(C=5.0).fit(X[seen], y[seen])
        for i in held_out:
            residual = abs(y[i] - model.predict(X[i : i + 1])[0])
            ends[0].append(model.predict(new) - residual)
            ends[1].append(model.predict(new) + residual)
    # ⌈0.8 · 32⌉ = 26 values are at most the upper end, and 26 at least the lower one.
    np.testing.assert_allclose(high, np.sort(ends[1], axis=0)[25], atol=1e-12)
    np.testing.assert_allclose(low, np.sort(ends[0], axis=0)[31 - 26], atol=1e-12)


def test_higher_levels_contain_lower_ones():
    X, y = classes(2, 90, 3)
    model = ConformalClassifier(SVC()).fit(X, y)
    small, large = (model.predict_set(X, level) for level in (0.6, 0.95))
    assert (large >= small).all()
    assert large.sum() > small.sum()
    X, y = curve(1, 60)
    model = ConformalRegressor(KernelRidge(kernel="rbf", alpha=0.1)).fit(X, y)
    (a, b), (c, d) = model.predict_interval(X, 0.5), model.predict_interval(X, 0.95)
    assert (c <= a).all()
    assert (b <= d).all()


def test_sets_need_not_be_empty():
    X, y = load_iris(return_X_y=True)
    model = ConformalClassifier(SVC()).fit(X, y)
    full = model.predict_set(X, 0.3, allow_empty=False)
    assert full.any(axis=1).all()
    assert not model.predict_set(X, 0.3).any(axis=1).all()
    rows = np.arange(150)
    assert full[rows, np.searchsorted(model.classes_, model.predict(X))].all()


# ---------------------------------------------------------------------- coverage


def test_coverage_of_sets():
    """Over 40 draws of 500 test rows: the level within four standard errors of the draws."""
    found = []
    for seed in range(40):
        X, y = classes(seed, 600, 2 + seed % 2)
        model = ConformalClassifier(SVC(), random_state=seed).fit(X[:100], y[:100])
        is_in = model.predict_set(X[100:], 0.9)
        found.append(is_in[np.arange(500), np.searchsorted(model.classes_, y[100:])].mean())
    assert abs(np.mean(found) - 0.9) <= 4 * np.std(found) / np.sqrt(40) + 0.01


def test_coverage_of_sets_where_the_models_of_folds_differ():
    """A narrow kernel: most new rows are near few of the training rows, or near none."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        is_rare = (rng.random((700, 2)) < 0.1) / 0.3
        X = np.column_stack([rng.normal(size=(700, 2)), is_rare])
        y = (X[:, 0] + 0.5 * rng.normal(size=700) > 0).astype(int)
        model = ConformalClassifier(SVC(gamma=20.0), random_state=seed).fit(X[:100], y[:100])
        found.append(model.predict_set(X[100:], 0.9)[np.arange(600), y[100:]].mean())
    assert abs(np.mean(found) - 0.9) <= 0.016


def test_coverage_of_intervals():
    found = []
    for seed in range(30):
        X, y = curve(seed, 560)
        low, high = ConformalRegressor(SVR()).fit(X[:60], y[:60]).predict_interval(X[60:], 0.9)
        found.append(((low <= y[60:]) & (y[60:] <= high)).mean())
    assert 0.89 <= np.mean(found) <= 0.95


def test_p_values_of_normal_rows_are_uniform():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = ConformalOutlierDetector(OneClassSVM(nu=0.2)).fit(X)
    p = model.p_values(rng.normal(size=(2000, 3)))
    for alpha in (0.05, 0.1, 0.3):
        assert abs((p <= alpha).mean() - alpha) <= 4 * np.sqrt(alpha * (1 - alpha) / 300) + 0.01
    assert (model.p_values(X[:5] + 20) <= 1 / 301).all()


# ---------------------------------------------------------------------- use


def test_any_estimator_and_clone():
    X, y = curve(2, 40)
    model = clone(ConformalRegressor(LinearRegression(), cv=4)).fit(X, y)
    assert np.array_equal(model.predict(X), LinearRegression().fit(X, y).predict(X))


def test_bad_input_is_named():
    X, y = classes(3, 40)
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        ConformalClassifier(SVC()).fit(X, y).predict_set(X, level=90)
    with pytest.raises(ValueError, match="hold out every row exactly once"):
        ConformalClassifier(SVC(), cv=ShuffleSplit(3, random_state=0)).fit(X, y)
    with pytest.raises(ValueError, match="no row of class"):
        ConformalClassifier(SVC(), cv=KFold(2)).fit(X[:20], np.repeat([0, 1, 2], [9, 10, 1]))
    four = classes(4, 60, 4)
    with pytest.raises(ValueError, match="decision_function_shape"):
        ConformalClassifier(SVC(decision_function_shape="ovo")).fit(*four)
    X, y = curve(3, 8)
    with pytest.warns(UserWarning, match="too few for level"):
        low, high = ConformalRegressor(SVR(), cv=4).fit(X, y).predict_interval(X, 0.95)
    assert np.isinf(low).all()
    assert np.isinf(high).all()
