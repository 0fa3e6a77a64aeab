"""All classes at once: against a dense QP, LIBLINEAR, the binary hinge, and its own certificate."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import svm
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import LinearSVC
from mercer.problems._crammer_singer import CrammerSinger
from mercer.solvers import Stopping
from mercer.solvers.linear import SequentialDualMethod, as_design_matrix
from tests.estimators.weights import with_tol
from tests.oracles.dense_qp import solve_box_qp
from tests.read_only import read_only

N, D, K = 40, 3, 3


def _data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, D)) + 0.5
    CODES = np.digitize(X[:, 0] - 0.5 + 0.4 * rng.normal(size=N), [-0.6, 0.5])
    NAMES = np.array(["low", "mid", "top"])[CODES]
    WEIGHT = rng.integers(0, 3, N).astype(float)
    return read_only(X, CODES, NAMES, WEIGHT)


X, CODES, NAMES, WEIGHT = _data()
TIGHT = {"multi_class": "crammer_singer", "loss": "hinge", "tol": 1e-8, "max_iter": -1}
INTERCEPTS = {
    "free": {"intercept_scaling": None},
    "penalised": {"intercept_scaling": 2.0},
    "none": {"fit_intercept": False},
}


def dense_qp_value(C, intercept):
    """min ½ Σ_r ‖Xᵀβ_r‖² − Σ β_i,y: one variable for each row and class, rows sum to zero."""
    Z = X if intercept != "penalised" else np.column_stack([X, np.full(N, 2.0)])
    Q = np.kron(Z @ Z.T, np.eye(K))
    own = np.eye(K)[CODES].ravel()
    # β = C own − a with a ≥ 0; a row's a sum to C
    A = np.kron(np.eye(N), np.ones((1, K)))
    sums = np.full(N, C)
    if intercept == "free":  # Σᵢ β_ir = 0; the last class's follows from the others
        A = np.vstack([A, np.kron(np.ones((1, N)), np.eye(K)[:-1])])
        sums = np.append(sums, C * np.bincount(CODES, minlength=K)[:-1])
    target = Q @ (C * own) - own
    a, _ = solve_box_qp(Q, target, np.zeros(N * K), np.full(N * K, np.inf), A, sums)
    beta = C * own - a
    return own @ beta - beta @ Q @ beta / 2


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [0.05, 1.0])
def test_is_the_dense_qp(C, intercept):
    model = LinearSVC(C=C, **TIGHT, **INTERCEPTS[intercept]).fit(X, NAMES)
    assert_allclose(model.certificate_.primal, dense_qp_value(C, intercept), rtol=1e-6)
    assert model.certificate_.relative_gap <= 1e-8
    assert model.classes_[model.decision_function(X).argmax(axis=1)].tolist() == (
        model.predict(X).tolist()
    )


@pytest.mark.parametrize("weights", [None, "balanced", {"low": 3.0, "top": 0.5}])
def test_liblinears_problem_gives_liblinears_answer(weights):
    params = {"multi_class": "crammer_singer", "intercept_scaling": 2.0, "class_weight": weights}
    theirs = svm.LinearSVC(tol=1e-9, max_iter=1_000_000, **params).fit(X, NAMES)
    mine = LinearSVC(loss="hinge", tol=1e-9, max_iter=-1, **params).fit(X, NAMES)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-3)
    assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-3)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_two_classes_are_the_hinge_with_twice_the_C(intercept):
    """With u = w₁ − w₀: ½(‖w₀‖² + ‖w₁‖²) + CΣξ = ½ (½‖u‖² + 2C Σ max(0, 1 − y u·x))."""
    y, params = CODES > 0, INTERCEPTS[intercept]
    joint = LinearSVC(C=0.7, **TIGHT, **params).fit(X, y)
    hinge = LinearSVC(loss="hinge", C=1.4, tol=1e-9, max_iter=-1, **params).fit(X, y)
    assert joint.coef_.shape == (1, D)
    assert_allclose(2 * joint.certificate_.primal, hinge.certificate_.primal, rtol=1e-7)
    assert_allclose(joint.coef_, hinge.coef_, atol=1e-3)
    assert (joint.predict(X) == hinge.predict(X)).mean() > 0.97


def test_weights_are_repetitions():
    weighted = LinearSVC(**TIGHT).fit(X, NAMES, sample_weight=WEIGHT)
    times = WEIGHT.astype(int)
    repeated = LinearSVC(**TIGHT).fit(np.repeat(X, times, axis=0), np.repeat(NAMES, times))
    assert_allclose(weighted.certificate_.primal, repeated.certificate_.primal, rtol=1e-7)
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_sparse_rows_and_float32(intercept):
    thin = np.where(np.abs(X) > 0.7, X, 0.0)
    params = {**TIGHT, "tol": 1e-6, **INTERCEPTS[intercept]}
    dense = LinearSVC(**params).fit(thin, NAMES)
    penalty = {"free": 0.0, "penalised": 0.25, "none": None}[intercept]
    sparse = SequentialDualMethod(1e-6).solve(
        CrammerSinger(CODES, np.ones(N), K, penalty),
        as_design_matrix(sp.csr_matrix(thin)),
        Stopping(),
    )
    single = LinearSVC(**params).fit(thin.astype(np.float32), NAMES)
    assert_allclose(sparse.primal, dense.certificate_.primal, rtol=1e-5)
    assert_allclose(single.certificate_.primal, dense.certificate_.primal, rtol=1e-4)
    assert single.coef_.dtype == np.float32
    assert single.certificate_.relative_gap < 1e-4


@given(st.integers(0, 10_000), st.sampled_from(sorted(INTERCEPTS)), st.floats(0.01, 30.0))
def test_the_gap_is_a_bound(seed, intercept, C):
    """The dual value of any fit is below the primal value of any other model."""
    rows = np.random.default_rng(seed).permutation(N)[:25]
    if len(np.unique(CODES[rows])) < 2:
        return
    params = {**TIGHT, "C": C, **INTERCEPTS[intercept]}
    loose = LinearSVC(**{**params, "tol": 0.3}).fit(X[rows], CODES[rows])
    tight = LinearSVC(**{**params, "tol": 1e-5}).fit(X[rows], CODES[rows])
    assert loose.certificate_.gap >= 0
    assert loose.certificate_.dual <= tight.certificate_.primal * (1 + 1e-9)
    assert tight.certificate_.dual <= loose.certificate_.primal * (1 + 1e-9)
    assert loose.certificate_.relative_gap <= 0.31


@given(st.integers(0, 10_000))
def test_duals_are_made_feasible(seed):
    """Any weights become duals within their bounds, whose sums vanish for every class."""
    random = np.random.default_rng(seed)
    codes = np.append(np.arange(4), random.integers(0, 4, 20))
    problem = CrammerSinger(codes, random.uniform(0.1, 2.0, 24), 4, 0.0)
    wild = -random.exponential(size=(24, 4)) * random.integers(0, 2, (24, 4))
    beta = problem.feasible(problem.duals(problem.simplex_weights(wild)))
    own = beta[np.arange(24), codes]
    assert_allclose(beta.sum(axis=0), 0, atol=1e-9)
    assert_allclose(beta.sum(axis=1), 0, atol=1e-12)
    assert (own <= problem.C * (1 + 1e-12)).all()
    beta[np.arange(24), codes] = 0
    assert (beta <= 1e-15).all()


def test_duals_that_are_nearly_feasible_hardly_change(rng):
    model = LinearSVC(**TIGHT, intercept_scaling=None).fit(X, NAMES)
    problem = CrammerSinger(CODES, np.ones(N), K, 0.0)
    beta = model.dual_coef_.toarray().T
    moved = problem.duals(problem.simplex_weights(beta * (1 + 1e-6 * rng.normal(size=(N, 1)))))
    assert abs(moved.sum(axis=0)).max() > 1e-8
    assert_allclose(problem.feasible(moved), beta, atol=1e-4)


def test_limits_warm_starts_and_the_path():
    with pytest.warns(mercer.exceptions.ConvergenceWarning, match="max_iter=2 "):
        model = LinearSVC(**{**TIGHT, "max_iter": 2}).fit(X, NAMES)
    assert model.certificate_.status is mercer.Status.ITERATION_LIMIT
    stopped = LinearSVC(**TIGHT, callback=lambda progress: True).fit(X, NAMES)
    assert stopped.certificate_.status is mercer.Status.STOPPED
    assert 0 <= stopped.certificate_.gap < np.inf
    warm = LinearSVC(**TIGHT, warm_start=True).fit(X, NAMES)
    cold = warm.n_iter_
    assert warm.fit(X, NAMES).n_iter_ < cold
    estimator = LinearSVC(**{**TIGHT, "tol": 1e-6})
    path = mercer.path(X, NAMES, Cs=[0.1, 1.0], estimator=estimator)
    alone = LinearSVC(**TIGHT, C=0.1).fit(X, NAMES)
    assert_allclose(path.certificates[0].primal, alone.certificate_.primal, rtol=1e-5)


@pytest.mark.filterwarnings("default")
@parametrize_with_checks([LinearSVC(multi_class="crammer_singer", loss="hinge")])
def test_check_estimator(estimator, check):
    check(with_tol(estimator, check, 1e-10))


def test_duals_at_their_bounds_are_made_feasible_without_giving_them_up():
    """No row has a weight for its own class: only whole flows can be scaled, which keeps most.

    The flows between k classes are all n/(k(k−1)), but for one row more: the nearest circulation is
    within a few rows of them, so the sum of duals is too.
    """
    k, times = 4, 7
    pairs = [(y, r) for y in range(k) for r in range(k) if r != y]
    codes, to = np.array([*(pairs * times), (0, 1)]).T
    problem = CrammerSinger(codes, np.ones(codes.size), k)
    a = np.zeros((codes.size, k))
    a[np.arange(codes.size), to] = 1.0
    beta = problem.feasible(problem.duals(a))
    assert_allclose(beta.sum(axis=0), 0.0, atol=1e-9)
    assert_allclose(beta.sum(axis=1), 0.0, atol=1e-12)
    assert (beta <= np.eye(k)[codes] + 1e-12).all()
    assert np.maximum(beta, 0.0).sum() >= codes.size - 2 * k


def test_labels_without_a_rule_are_solved_and_said_to_be():
    """The optimum is near w = 0, of value C n, with most duals at their bounds."""
    noise = np.random.default_rng(0).random((40, 3))
    noise[noise < 0.5] = 0.0
    labels = np.random.default_rng(1).integers(0, 4, 40)
    model = LinearSVC(**{**TIGHT, "tol": 1e-4}).fit(noise, labels)
    assert model.certificate_.relative_gap <= model.tol
    assert model.certificate_.primal <= 40.0


@pytest.mark.parametrize("given", [{"loss": "squared_hinge"}, {"dual": True}])
def test_parameters_that_are_not_used_are_named(given):
    (name,) = given
    with pytest.warns(UserWarning, match=f"{name}=.* is not used"):
        LinearSVC(**{**TIGHT, **given}).fit(X, NAMES)


def test_iris_is_solved_with_the_default_parameters():
    """``max_iter`` counts passes over all rows: most epochs visit a few active ones."""
    model = LinearSVC(multi_class="crammer_singer", loss="hinge").fit(*load_iris(return_X_y=True))
    assert model.certificate_.status.is_solved
    assert model.n_iter_ <= model.max_iter
