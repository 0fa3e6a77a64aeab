"""Probabilities that agree with `predict`: Platt, isotonic, Venn–Abers."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.isotonic import IsotonicRegression
from sklearn.preprocessing import scale

import mercer
from mercer import SVC, NuSVC
from mercer.calibration._coupling import agree, agree_in_pairs
from mercer.calibration._platt import fit_sigmoid, sigmoid
from mercer.calibration._step_maps import fit_steps

METHODS = ["platt", "isotonic", "venn_abers"]


def overlapping(seed, n=150, n_classes=2, positive=0.5):
    weights = [1 - positive] if n_classes == 2 else None
    return make_classification(
        n, 5, n_informative=3, n_redundant=0, n_classes=n_classes, weights=weights, flip_y=0.15,
        class_sep=0.6, n_clusters_per_class=1, random_state=seed,
    )  # fmt: skip


# ---------------------------------------------------------------------- agreement


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n_classes", "positive"), [(2, 0.5), (2, 0.1), (3, 0.5), (4, 0.5)])
def test_the_most_probable_class_is_the_predicted_one(method, n_classes, positive):
    for seed in range(3):
        X, y = overlapping(seed, n_classes=n_classes, positive=positive)
        new = np.random.default_rng(seed).normal(size=(500, 5)) * 2
        model = SVC(C=2.0, probability=method, random_state=0).fit(X, y)
        p = model.predict_proba(new)
        assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(new))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert p.min() >= 0


@pytest.mark.parametrize("method", METHODS)
def test_predictions_do_not_depend_on_the_method(method):
    X, y = overlapping(1, n_classes=3)
    plain = SVC().fit(X, y)
    model = SVC(probability=method, random_state=0).fit(X, y)
    assert np.array_equal(plain.decision_function(X), model.decision_function(X))
    assert np.array_equal(plain.predict(X), model.predict(X))


@pytest.mark.parametrize("method", METHODS)
def test_two_classes_are_in_the_order_of_the_decision_values(method):
    X, y = overlapping(2, positive=0.15)
    model = SVC(probability=method, random_state=0).fit(X, y)
    f = model.decision_function(X)
    p = model.predict_proba(X)[np.argsort(f), 1]
    assert (np.diff(p) >= -1e-15).all()
    if method == "platt":  # strictly, for values that differ by more than rounding
        assert (np.diff(p)[np.diff(np.sort(f)) > 1e-9] > 0).all()


def test_break_ties_and_nu():
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    for model in (
        SVC(break_ties=True, probability="platt", random_state=0),
        NuSVC(nu=0.3, probability="platt", random_state=0),
    ):
        p = model.fit(X, y).predict_proba(X)
        assert np.array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_folds_are_equal_whatever_the_solver(loss, n_classes):
    """SMO solves all folds on one matrix, of small class pairs in one call; others one by one."""
    X, y = overlapping(3, n=60, n_classes=n_classes)
    y[np.flatnonzero(y == n_classes - 1)[1:]] = 0  # a class of one row: a fold leaves one class
    weight = np.random.default_rng(4).uniform(0.3, 2.0, size=60)
    p = [
        SVC(probability="platt", random_state=0, loss=loss, tol=1e-8, solver=solver)
        .fit(X, y, sample_weight=weight)
        .predict_proba(X)
        for solver in ("smo", "qp")
    ]
    np.testing.assert_allclose(*p, atol=1e-4)


def test_only_the_spelling_of_scikit_learn_warns():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(FutureWarning, match="deprecated"):
        old = SVC(probability=True, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = SVC(probability="platt", random_state=0).fit(X, y)
    assert np.array_equal(old.predict_proba(X), new.predict_proba(X))


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="venn_abers"):
        SVC(probability="plat").fit([[0.0], [1.0]], [0, 1])


# ---------------------------------------------------------------------- projections


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_agreement_is_the_nearest_distribution(seed, k):
    """Against a general solver: min ‖q − p‖² with q ≥ 0, Σ q = 1, q_c ≥ q_j."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k))
    c = int(rng.integers(k))
    q = agree(p[None], np.array([c]))[0]
    assert q.argmax() == c
    assert q.min() >= 0
    constraints = [{"type": "eq", "fun": lambda x: x.sum() - 1}]
    constraints += [{"type": "ineq", "fun": lambda x, j=j: x[c] - x[j]} for j in range(k) if j != c]
    found = minimize(
        lambda x: ((x - p) ** 2).sum(), np.full(k, 1 / k), jac=lambda x: 2 * (x - p),
        bounds=[(0, 1)] * k, constraints=constraints, method="SLSQP", options={"ftol": 1e-14},
    )  # fmt: skip
    np.testing.assert_allclose(q, found.x, atol=1e-5)


def test_equal_entries_go_to_the_winner():
    p = np.full((3, 3), 1 / 3)
    assert agree(p, np.array([0, 1, 2])).argmax(axis=1).tolist() == [0, 1, 2]


def test_a_map_is_cut_off_at_one_half():
    f = np.array([-2.0, -1e-3, 0.0, 1e-3, 2.0])
    p = agree_in_pairs(np.full(5, 0.7), f)
    assert p[2] == 0.5
    assert (p[:2] < 0.5).all()
    assert (p[3:] == 0.7).all()
    assert (np.diff(p)[:2] > 0).all()


# ---------------------------------------------------------------------- maps


def test_isotonic_is_the_regression_on_smoothed_labels():
    rng = np.random.default_rng(0)
    f = rng.normal(size=80)
    positive = rng.random(80) < sigmoid(f, -2.0, 0.3)
    w = rng.uniform(0.5, 2, 80)
    maps = fit_steps("isotonic", [f], [positive], [w])
    a, b = w[positive].sum(), w[~positive].sum()
    t = np.where(positive, (a + 1) / (a + 2), 1 / (b + 2))
    new = rng.normal(size=200) * 2
    wanted = IsotonicRegression(out_of_bounds="clip").fit(f, t, sample_weight=w).predict(new)
    low, high = maps(new[:, None])
    np.testing.assert_allclose(low[:, 0], wanted, atol=1e-12)
    assert np.array_equal(low, high)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 40), st.booleans())
def test_venn_abers_is_the_regression_with_one_row_more(seed, n, has_ties):
    """By its definition: isotonic regression of the calibration rows and the new one."""
    rng = np.random.default_rng(seed)
    f = rng.integers(0, 8, n) / 4.0 if has_ties else rng.normal(size=n)
    positive = rng.random(n) < 0.5
    new = np.r_[rng.normal(size=6), f[:3]]
    low, high = fit_steps("venn_abers", [f], [positive], [None])(new[:, None])
    for i, s in enumerate(new):
        for label, found in ((0, low[i, 0]), (1, high[i, 0])):
            model = IsotonicRegression().fit(np.r_[f, s], np.r_[positive, label])
            assert found == pytest.approx(model.predict([s])[0], abs=1e-12)


def test_the_intervals_contain_the_probability():
    X, y = overlapping(4)
    model = SVC(probability="venn_abers", random_state=0).fit(X, y)
    low, high = model.predict_proba_interval(X)
    p = model.predict_proba(X)[:, 1]
    assert (low <= p + 1e-9).all()
    assert (p <= high + 1e-9).all()
    assert (high - low).max() < 0.5
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="two classes"):
        SVC(probability="venn_abers").fit(X, y).predict_proba_interval(X)


def test_the_sigmoid_minimises_the_cross_entropy():
    rng = np.random.default_rng(3)
    f = rng.normal(size=200)
    positive = rng.random(200) < sigmoid(f, -1.5, 0.4)
    w = rng.uniform(0.2, 3, 200)
    a, b = w[positive].sum(), w[~positive].sum()
    t = np.where(positive, (a + 1) / (a + 2), 1 / (b + 2))

    def loss(v):
        z = v[0] * f + v[1]
        return w @ (t * z + np.logaddexp(0, -z))

    A, B = fit_sigmoid(f, positive, w)
    assert loss([A, B]) <= minimize(loss, [-1.0, 0.0]).fun + 1e-9


# ---------------------------------------------------------------------- threads, weights, files


@pytest.mark.parametrize("method", METHODS)
def test_equal_for_any_number_of_threads(method):
    X, y = overlapping(5, n_classes=4, n=240)
    one, two = (
        SVC(probability=method, random_state=0, n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2)
    )
    assert np.array_equal(one, two)


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_weight_zero_are_as_absent(method):
    """The draw of the folds is another one: maps of the same values are compared."""
    rng = np.random.default_rng(7)
    f = rng.normal(size=60)
    positive = rng.random(60) < sigmoid(f, -2.0, 0.0)
    w = np.where(rng.random(60) < 0.3, 0.0, 1.0)
    used = w > 0
    if method == "platt":
        np.testing.assert_allclose(
            fit_sigmoid(f, positive, w), fit_sigmoid(f[used], positive[used]), atol=1e-6
        )
        return
    grid = np.linspace(-3, 3, 50)[:, None]
    weighted = fit_steps(method, [f], [positive], [w])(grid)
    absent = fit_steps(method, [f[used]], [positive[used]], [None])(grid)
    np.testing.assert_allclose(weighted, absent, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_saved_models_give_the_same_probabilities(method, tmp_path):
    X, y = overlapping(6, n_classes=3)
    model = SVC(probability=method, random_state=0).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")
    assert np.array_equal(
        mercer.load(tmp_path / "m.mercer").predict_proba(X), model.predict_proba(X)
    )
    again = model.set_params(probability=False)
    with pytest.warns(FutureWarning):
        again.fit(X, y)
    assert not hasattr(again, "predict_proba")
