"""``LinearSVC(penalty="l1")``: against closed forms, a bound-constrained solver and LIBLINEAR."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.svm import LinearSVC as LiblinearSVC
from sklearn.svm import l1_min_c

import mercer
from mercer import LinearSVC, Status, verify
from mercer.exceptions import ConvergenceWarning
from mercer.solvers.linear._l1_descent import L1CoordinateDescent, L1DescentSettings

L1 = {"penalty": "l1", "dual": False}
# LIBLINEAR's problem, and Mercer's own.
INTERCEPTS = [
    {"fit_intercept": False},
    {"intercept_scaling": 1.0},
    {"intercept_scaling": 30.0},
    {"intercept_scaling": None},
]


def data(rng, n=60, d=8, used=3):
    """Rows whose label depends on some of the columns."""
    X = rng.normal(size=(n, d)) + 0.3
    return X, (X[:, :used].sum(axis=1) + rng.normal(size=n) > 0.3 * used).astype(int)


def value(model, X, y, weight=1.0):
    """P of a model with two classes, from the problem statement."""
    w, b, s = model.coef_[0], float(model.intercept_[0]), model.intercept_scaling
    short = np.maximum(1 - np.where(y == 1, 1, -1) * (X @ w + b), 0.0)
    penalty = np.abs(w).sum() + (abs(b) / s if s is not None and model.fit_intercept else 0.0)
    return penalty + (model.C * weight * short**2).sum()


def oracle(X, y, C, intercept):
    """The optimal value: L-BFGS-B over w = u − v, u and v not negative, and b likewise."""
    sign, d = np.where(y == 1, 1.0, -1.0), X.shape[1]
    s = intercept.get("intercept_scaling")
    A = sign[:, np.newaxis] * np.column_stack([X, np.ones(len(y))])
    cost = np.append(np.ones(d), 0.0 if s is None else 1 / s)
    if not intercept.get("fit_intercept", True):
        A[:, -1] = 0.0

    def objective(z):
        short = np.maximum(1 - A @ (z[: d + 1] - z[d + 1 :]), 0.0)
        slope = -2 * C * (A.T @ short)
        gradient = np.concatenate([cost + slope, cost - slope])
        return cost @ (z[: d + 1] + z[d + 1 :]) + C * (short @ short), gradient

    options = {"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 40}
    bounds = [(0, None)] * (2 * d + 2)
    start = np.zeros(2 * d + 2)
    best = np.inf
    for _ in range(3):  # started anew where a line search has failed
        found = minimize(objective, start, jac=True, bounds=bounds, options=options)
        if found.fun >= best * (1 - 1e-12):
            break
        start, best = found.x, found.fun
    return found.fun


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [0.02, 1.0, 50.0])
@pytest.mark.parametrize("shape", [(60, 8), (15, 40)])
def test_value_and_certificate_against_another_solver(rng, shape, C, intercept):
    X, y = data(rng, *shape)
    model = LinearSVC(**L1, C=C, tol=1e-9, **intercept).fit(X, y)
    best, proof = oracle(X, y, C, intercept), model.certificate_
    assert proof.status is Status.SOLVED
    assert proof.relative_gap <= 1e-9
    assert value(model, X, y) == pytest.approx(best, rel=1e-6)
    assert proof.dual <= best * (1 + 1e-12)
    assert value(model, X, y) <= proof.primal * (1 + 1e-12)


@pytest.mark.parametrize("scaling", [1.0, 100.0])
@pytest.mark.parametrize("C", [0.05, 2.0])
def test_weights_and_zeros_of_liblinear(rng, C, scaling):
    X, y = data(rng, 200, 20)
    ours = LinearSVC(**L1, C=C, tol=1e-10, intercept_scaling=scaling).fit(X, y)
    theirs = LiblinearSVC(**L1, C=C, tol=1e-7, intercept_scaling=scaling, max_iter=100_000)
    theirs.random_state = 0
    theirs.fit(X, y)
    assert value(ours, X, y) <= value(theirs, X, y) * (1 + 1e-9)
    assert value(theirs, X, y) == pytest.approx(value(ours, X, y), rel=1e-6)
    assert 0 < np.count_nonzero(ours.coef_) < 20 or C > 1
    np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_closed_form_of_columns_of_their_own():
    """Each row has a column: |w| + C (1 − w)² is least at 1 − 1/(2C), not below zero."""
    weight = np.array([0.1, 0.4, 0.6, 2.0, 10.0, 1.0])
    X, y = np.diag([1.0, 1, 1, 1, 1, -1]), [1, 1, 1, 1, 1, 0]
    model = LinearSVC(**L1, tol=1e-12, fit_intercept=False).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[0], np.maximum(0, 1 - 1 / (2 * weight)), rtol=1e-12)


@pytest.mark.parametrize("intercept", [{"fit_intercept": False}, {"intercept_scaling": 10.0}])
@pytest.mark.parametrize("make", [np.array, sp.csr_matrix])
def test_zero_up_to_the_smallest_C(rng, intercept, make):
    X, y = data(rng)
    C = l1_min_c(X, y, **intercept)
    model = LinearSVC(**L1, C=C * (1 - 1e-12), **intercept).fit(make(X), y)
    assert not model.coef_.any()
    assert not model.intercept_.any()
    assert model.certificate_.relative_gap < 1e-9
    larger = clone(model).set_params(C=1.01 * C).fit(make(X), y)
    assert larger.coef_.any() or larger.intercept_.any()


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_weights_are_repetitions(rng, intercept):
    X, y = data(rng)
    count = rng.integers(0, 4, size=len(y))
    model = LinearSVC(**L1, tol=1e-11, **intercept)
    weighted = clone(model).fit(X, y, sample_weight=count)
    repeated = clone(model).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-6)
    by_class = clone(model).set_params(class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    same = clone(model).fit(X, y, sample_weight=np.where(y == 1, 0.5, 3.0))
    np.testing.assert_allclose(by_class.coef_, same.coef_, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_and_types(rng, dtype):
    X, y = data(rng, 300, 30)
    X = (X * (rng.random(X.shape) < 0.2)).astype(dtype)
    model = LinearSVC(**L1, tol=1e-5)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_matrix(X), y)
    assert dense.coef_.dtype == sparse.coef_.dtype == dtype
    for fitted in (dense, sparse):
        assert fitted.certificate_.status is Status.SOLVED
        assert fitted.certificate_.relative_gap <= 1e-5
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=0.02)
    assert value(dense, X, y) == pytest.approx(value(sparse, X, y), rel=2e-5)
    np.testing.assert_array_equal(dense.predict(X), clone(dense).fit(X, y).predict(X))


def test_several_classes_are_tasks_against_the_rest(rng):
    X = rng.normal(size=(150, 6))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=150), [-0.5, 0.5])
    model = LinearSVC(**L1, tol=1e-9).fit(X, y)
    assert model.coef_.shape == (3, 6)
    assert len(model.certificate_.tasks) == 3
    for c in range(3):
        one = LinearSVC(**L1, tol=1e-9).fit(X, y == c)
        np.testing.assert_allclose(model.coef_[c], one.coef_[0], atol=1e-5)
    sparse = clone(model).fit(X, y).sparsify()
    np.testing.assert_array_equal(sparse.predict(X), model.predict(X))


def test_correlated_columns_are_solved_to_a_small_gap(rng):
    X, y = data(rng, 400, 10)
    X = np.hstack([X, X + 1e-4 * rng.normal(size=X.shape)])
    model = LinearSVC(**L1, C=100.0, tol=1e-11).fit(X, y)
    assert model.certificate_.status is Status.SOLVED
    assert model.n_iter_ < 200


def test_more_nonzero_weights_than_are_solved_for_by_cholesky(rng, monkeypatch):
    """Conjugate gradients in place of Cholesky factors find the same optimum."""
    X, y = data(rng, 80, 120)
    expected = LinearSVC(**L1, C=10.0, tol=1e-8).fit(X, y).certificate_.primal
    settings = L1DescentSettings(newton_columns=0)
    solver = L1CoordinateDescent(tol=1e-8, settings=settings)
    monkeypatch.setattr(
        "mercer.estimators.linear._base.choose_linear",
        lambda *_: (solver, mercer.solvers.Choice("l1", "")),
    )
    other = LinearSVC(**L1, C=10.0, tol=1e-8).fit(X, y).certificate_
    assert other.status is Status.SOLVED
    assert other.primal == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_verify_recomputes(rng, intercept):
    X, y = data(rng)
    model = LinearSVC(**L1, tol=1e-6, **intercept).fit(X, y)
    found = verify(model, X, y)
    assert found.status is Status.SOLVED
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-10)
    assert found.gap <= model.certificate_.gap * 1.01 + 1e-12
    model.coef_ = 1.1 * model.coef_
    assert verify(model, X, y).gap > 1e-4 * found.primal


def test_verify_of_liblinears_model(rng):
    X, y = data(rng, 200, 20)
    theirs = LiblinearSVC(**L1, C=0.3, tol=1e-6, max_iter=100_000, random_state=0).fit(X, y)
    found = verify(theirs, X, y)
    best = LinearSVC(**L1, C=0.3, tol=1e-10, intercept_scaling=1.0).fit(X, y).certificate_
    assert found.primal == pytest.approx(value(theirs, X, y), rel=1e-10)
    assert found.dual <= best.primal
    assert found.gap >= found.primal - best.primal
    assert found.relative_gap < 1e-4


def test_saved_and_loaded(rng, tmp_path):
    X, y = data(rng)
    model = LinearSVC(**L1).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.penalty == "l1"
    assert verify(loaded, X, y).status is Status.SOLVED


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"loss": "hinge"}, "penalty='l1' and loss='hinge' is not supported"),
        ({"dual": True}, "are not supported when dual=True"),
        ({"C": np.inf}, "penalty='l1'"),
    ],
)
def test_what_is_refused(params, says):
    model = LinearSVC(penalty="l1", **params)
    with pytest.raises(ValueError, match=says):
        model.fit([[0.0], [1.0]], [0, 1])


def test_crammer_singer_does_not_use_it():
    model = LinearSVC(penalty="l1", loss="hinge", multi_class="crammer_singer")
    with pytest.warns(UserWarning, match="penalty='l1' is not used"):
        model.fit([[0.0], [1.0], [2.0]], [0, 1, 2])


def test_limits_keep_a_certified_model(rng):
    X, y = data(rng, 200, 50)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = LinearSVC(**L1, time_limit=0.0).fit(X, y)
    assert model.certificate_.status is Status.TIME_LIMIT
    with pytest.warns(ConvergenceWarning, match=r"^Liblinear failed to converge, increase the num"):
        model = LinearSVC(**L1, max_iter=2, tol=1e-12).fit(X, y)
    assert model.n_iter_ == 2
    assert value(model, X, y) <= model.certificate_.primal * (1 + 1e-12)
    best = LinearSVC(**L1, tol=1e-10).fit(X, y).certificate_
    assert model.certificate_.dual <= best.primal
    stopped = LinearSVC(**L1, tol=1e-12, callback=lambda progress: True).fit(X, y)
    assert stopped.certificate_.status is Status.STOPPED


def test_warm_start_and_path(rng):
    X, y = data(rng, 300, 30)
    model = LinearSVC(**L1, tol=1e-8, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    Cs = [0.01, 0.1, 1.0]
    along = mercer.path(X, y, Cs=Cs, estimator=LinearSVC(**L1, tol=1e-8))
    for C, one in zip(Cs, along.models, strict=True):
        alone = LinearSVC(**L1, tol=1e-8, C=C).fit(X, y)
        assert one.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changed = model.set_params(penalty="l2").fit(X, y)
    fresh = LinearSVC(dual=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(changed.coef_, fresh.coef_, atol=1e-3)


def test_intercept_is_penalised_by_its_scaling():
    """The classes differ at x₂ = 2: without a penalty b is about −2 w₂, with a large one zero."""
    X, y = [[2, 1], [3, 1], [1, 3], [2, 3]], [0, 0, 1, 1]
    penalised, nearly_free, free, unpenalised = (
        LinearSVC(**L1, C=4.0, tol=1e-7, intercept_scaling=scaling).fit(X, y).intercept_[0]
        for scaling in (1.0, 100.0, 1000.0, None)
    )
    assert penalised == pytest.approx(0.0, abs=1e-5)
    assert nearly_free < -1
    assert free == pytest.approx(nearly_free, abs=0.01)
    assert unpenalised == pytest.approx(free, abs=0.01)
