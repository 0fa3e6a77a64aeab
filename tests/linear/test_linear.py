"""Linear models against dense QPs, kernel models, LIBLINEAR and their own certificates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model, svm
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import LinearSVC, LinearSVR, LogisticRegression
from mercer.problems import svc, svr
from tests.estimators.weights import with_tol
from tests.oracles.dense_qp import solve_problem
from tests.read_only import read_only

N, D = 60, 4


def _data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, D))
    LABELS = np.where(X[:, 0] + 0.7 * rng.normal(size=N) > 0.3, 1, -1)
    CLASSES = np.digitize(X[:, 0] + 0.3 * rng.normal(size=N), [-0.5, 0.5])
    TARGETS = X @ [1.0, -2.0, 0.5, 0.0] + 3.0 + 0.3 * rng.normal(size=N)
    WEIGHT = rng.integers(0, 3, N).astype(float)
    return read_only(X, LABELS, CLASSES, TARGETS, WEIGHT)


X, LABELS, CLASSES, TARGETS, WEIGHT = _data()
TIGHT = {"tol": 1e-9, "max_iter": -1}
ROUTES = [True, False]


def dense_qp_value(problem):
    K = X @ X.T
    beta, _ = solve_problem(problem, K)
    rows = np.arange(N) if problem.row is None else problem.row
    return problem.target @ beta - beta @ K[np.ix_(rows, rows)] @ beta / 2


@pytest.mark.parametrize("name", ["LinearSVC", "LinearSVR"])
def test_defaults_and_default_models_are_scikit_learns(name):
    """The same parameters minimise the same objective, with the penalty of the intercept."""
    mine, theirs = getattr(mercer, name), getattr(svm, name)
    assert mine().get_params().items() >= theirs().get_params().items()
    y = LABELS if name == "LinearSVC" else TARGETS
    found = mine(**TIGHT).fit(X, y)
    expected = theirs(tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
    assert_allclose(found.coef_, expected.coef_, atol=1e-4)
    assert_allclose(found.intercept_, expected.intercept_, atol=1e-4)


@pytest.mark.parametrize("dual", [True, "auto"])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_hinge_is_the_dense_qp_and_the_linear_kernel(dual, C):
    model = LinearSVC(loss="hinge", C=C, dual=dual, intercept_scaling=None, **TIGHT)
    model.fit(X, LABELS)
    kernel = mercer.SVC(kernel="linear", C=C, tol=1e-8).fit(X, LABELS)
    assert_allclose(model.certificate_.primal, dense_qp_value(svc(LABELS, C)), rtol=1e-6)
    assert_allclose(model.certificate_.primal, kernel.certificate_.primal, rtol=1e-6)
    assert_allclose(model.coef_, kernel.coef_, atol=1e-3)


@pytest.mark.parametrize("dual", ROUTES)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_epsilon_insensitive_is_the_dense_qp(dual, epsilon):
    model = LinearSVR(
        epsilon=epsilon, C=2.0, dual=dual, intercept_scaling=None, tol=1e-8, max_iter=-1
    )
    model.fit(X, TARGETS)
    assert_allclose(
        model.certificate_.primal, dense_qp_value(svr(TARGETS, 2.0, epsilon)), rtol=1e-6
    )


@pytest.mark.parametrize("dual", [True, "auto"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_liblinears_problem_gives_liblinears_answer(dual, loss):
    theirs = svm.LinearSVC(loss=loss, tol=1e-10, max_iter=1_000_000, intercept_scaling=2.0)
    theirs.fit(X, LABELS)
    mine = LinearSVC(loss=loss, dual=dual, intercept_scaling=2.0, **TIGHT).fit(X, LABELS)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-4)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_liblinears_regression(loss):
    params = {"loss": loss, "epsilon": 0.1, "intercept_scaling": 1.0}
    theirs = svm.LinearSVR(tol=1e-10, max_iter=1_000_000, **params).fit(X, TARGETS)
    mine = LinearSVR(**params, **TIGHT).fit(X, TARGETS)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)


def test_logistic_is_scikit_learns():
    theirs = linear_model.LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, LABELS)
    mine = LogisticRegression(tol=1e-10).fit(X, LABELS)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear", "newton-cholesky", "saga"])
def test_logistic_takes_scikit_learns_parameters(solver):
    """And says that they are not used."""
    expected = LogisticRegression(tol=1e-10).fit(X, LABELS)
    given = LogisticRegression("l2", solver=solver, dual=solver == "liblinear", l1_ratio=None)
    with pytest.warns(UserWarning, match=f"solver='{solver}'.* not used"):
        given.set_params(tol=1e-10).fit(X, LABELS)
    assert_array_equal(given.coef_, expected.coef_)
    assert given.solver_.name == "newton"


@pytest.mark.parametrize("other", [{"penalty": "l1"}, {"penalty": None}, {"l1_ratio": 0.5}])
def test_penalties_that_are_not_there_are_refused(other):
    with pytest.raises(ValueError, match='penalty must be "l2"'):
        LogisticRegression(**other).fit(X, LABELS)
    with pytest.raises(ValueError, match="solver"):
        LogisticRegression(solver="cg").fit(X, LABELS)


MODELS = {
    "hinge": (LinearSVC, {"loss": "hinge"}, LABELS),
    "squared hinge": (LinearSVC, {}, LABELS),
    "hinge, descent": (LinearSVC, {"loss": "hinge", "dual": True}, LABELS),
    "one against the rest": (LinearSVC, {"loss": "hinge"}, CLASSES),
    "svr": (LinearSVR, {"epsilon": 0.1}, TARGETS),
    "squared svr": (LinearSVR, {"epsilon": 0.1, "loss": "squared_epsilon_insensitive"}, TARGETS),
    "logistic": (LogisticRegression, {}, LABELS),
}


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_repetitions(name):
    cls, params, y = MODELS[name]
    params = {**params, "tol": 1e-9, "max_iter": -1}
    weighted = cls(**params).fit(X, y, sample_weight=WEIGHT)
    times = WEIGHT.astype(int)
    repeated = cls(**params).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.certificate_.primal, repeated.certificate_.primal, rtol=1e-7)
    assert_allclose(weighted.coef_, repeated.coef_, atol=2e-3)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scaling", [None, 1.0], ids=["free intercept", "penalised"])
def test_sparse_rows_and_float32(name, scaling):
    cls, params, y = MODELS[name]
    params = {**params, "intercept_scaling": scaling, "tol": 1e-6, "max_iter": -1}
    dense = cls(**params).fit(X, y)
    sparse = cls(**params).fit(sp.csr_matrix(X), y)
    single = cls(**params).fit(X.astype(np.float32), y)
    assert_allclose(sparse.certificate_.primal, dense.certificate_.primal, rtol=1e-5)
    assert_allclose(single.certificate_.primal, dense.certificate_.primal, rtol=1e-4)
    assert single.coef_.dtype == np.float32
    assert single.certificate_.relative_gap < 1e-4


@given(st.integers(0, 10_000), st.sampled_from(sorted(MODELS)), st.floats(0.01, 100.0))
def test_the_gap_is_a_bound(seed, name, C):
    """The dual value of any fit is below the primal value of any other model."""
    cls, params, y = MODELS[name]
    random = np.random.default_rng(seed)
    rows = random.permutation(N)[:40]
    if len(np.unique(y[rows])) < 2:
        return
    loose = cls(C=C, **params, tol=0.3, max_iter=-1).fit(X[rows], y[rows])
    tight = cls(C=C, **params, tol=1e-7, max_iter=-1).fit(X[rows], y[rows])
    assert loose.certificate_.gap >= 0
    assert loose.certificate_.dual <= tight.certificate_.primal * (1 + 1e-9)
    assert tight.certificate_.dual <= loose.certificate_.primal * (1 + 1e-9)
    assert loose.certificate_.relative_gap <= 0.31


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_threads_do_not_change_the_model(rng, loss):
    X = rng.normal(size=(200_000, 3))  # three blocks of rows, and large enough for threads
    y = np.where(X[:, 0] + rng.normal(size=200_000) > 0, 1, -1)
    one, two = (LinearSVC(loss=loss, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert_array_equal(one.coef_, two.coef_)
    assert_array_equal(one.intercept_, two.intercept_)


def test_limits_leave_a_usable_model():
    with pytest.warns(mercer.exceptions.ConvergenceWarning, match="max_iter=1 "):
        model = LinearSVC(loss="hinge", max_iter=1, tol=1e-9).fit(X, LABELS)
    assert model.certificate_.status is mercer.Status.ITERATION_LIMIT
    assert np.isfinite(model.decision_function(X)).all()
    stopped = LinearSVC(loss="hinge", dual=True, tol=1e-12, callback=lambda p: True).fit(X, LABELS)
    assert stopped.certificate_.status is mercer.Status.STOPPED
    assert stopped.certificate_.gap >= 0


def test_the_solver_says_why(rng):
    chosen = LinearSVC(loss="hinge").fit(X, LABELS).solver_
    assert chosen.name == "newton"
    assert "proximal Newton with 4 × 4" in chosen.reason
    assert "asked for" in LinearSVC(dual=True).fit(X, LABELS).solver_.reason
    wide = rng.normal(size=(10, 40))
    assert LinearSVC().fit(wide, np.repeat([0, 1], 5)).solver_.name == "coordinate-descent"


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
def test_the_threshold_is_a_confidence_level(threshold):
    model = LogisticRegression(threshold=threshold).fit(X, LABELS)
    expected = np.where(model.predict_proba(X)[:, 1] >= threshold, 1, -1)
    assert_array_equal(model.predict(X), expected)
    several = LogisticRegression(threshold=threshold).fit(X, CLASSES)
    if threshold == 0.5:
        assert_array_equal(several.predict(X), several.predict_proba(X).argmax(axis=1))
    else:
        with pytest.raises(ValueError, match="confidence level between two classes"):
            several.predict(X)


@pytest.mark.parametrize("estimator", [LinearSVC(), LogisticRegression()], ids=repr)
def test_a_fitted_model_holds_no_training_data(estimator):
    """Besides dual_coef_, which is sparse and has an entry for each support vector only."""
    many = np.repeat(X, 50, axis=0)
    model = estimator.fit(many, np.repeat(LABELS, 50))
    sizes = {k: np.size(v) for k, v in vars(model).items() if isinstance(v, np.ndarray)}
    assert max(sizes.values()) < len(many)


def test_path_follows_the_single_fits():
    Cs = np.logspace(-2, 2, 5)
    path = mercer.path(X, LABELS, Cs=Cs, estimator=LinearSVC(loss="hinge", tol=1e-7))
    for C, model, certificate in zip(path.Cs, path.models, path.certificates, strict=True):
        alone = LinearSVC(loss="hinge", tol=1e-7, C=C).fit(X, LABELS)
        assert_allclose(certificate.primal, alone.certificate_.primal, rtol=1e-6)
        assert model.C == C
    assert len(path.support) == 5


@pytest.mark.filterwarnings("default")
@parametrize_with_checks([LinearSVC(), LinearSVC(loss="hinge"), LinearSVR(), LogisticRegression()])
def test_check_estimator(estimator, check):
    """A hinge ends at a vertex of its bounds, a squared hinge with Newton's steps (dual=False)."""
    is_squared = getattr(estimator, "loss", "").startswith("squared")
    if not isinstance(estimator, LogisticRegression):  # whose Newton steps end nearer anyway
        more = {"dual": False} if is_squared else {}
        estimator = with_tol(estimator, check, 1e-15 if is_squared else 1e-10, **more)
    check(estimator)


def test_rows_without_entries_cost_what_they_must():
    """Without an intercept nothing can be said about them: β at its bound, the loss in full."""
    X, y = np.r_[np.eye(3), np.zeros((2, 3))], np.array([1, -1, 1, 1, -1])
    model = LinearSVC(loss="hinge", dual=True, fit_intercept=False, tol=1e-8, C=2.0)
    certificate = model.fit(X, y).certificate_
    assert certificate.status.is_solved
    assert certificate.primal == pytest.approx(0.5 * 3 + 2 * 2.0)  # w = y, and ξ = 1 twice


def text_like(n, columns, words, seed):
    """Rows of counted words, few of which are frequent, of length one; and labels."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, columns + 1)
    picked = rng.choice(columns, size=(n, words), p=frequency / frequency.sum())
    ends = np.arange(0, n * words + 1, words)
    X = sp.csr_matrix((np.ones(n * words), picked.ravel(), ends), shape=(n, columns))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1).A1), np.diff(X.indptr))
    scores = X @ rng.normal(size=columns) + 0.3 * rng.normal(size=n)
    return X, np.where(scores > 0, 1, -1)


@pytest.mark.parametrize("C", [10.0, 100.0])
def test_a_penalised_intercept_takes_few_rounds_on_text(C):
    """Clipped steps on the free duals keep their sum: a change of it would move every score."""
    X, y = text_like(400, 2000, 40, seed=0)
    certificate = LinearSVC(C=C, loss="hinge", max_iter=-1).fit(X, y).certificate_
    assert certificate.status.is_solved
    assert certificate.rounds <= 7


def test_an_offset_of_the_columns_names_the_free_intercept():
    far = X + 1e8
    with pytest.warns(mercer.exceptions.ConvergenceWarning, match="intercept_scaling=None"):
        LinearSVC().fit(far, LABELS)
    assert LinearSVC(intercept_scaling=None).fit(far, LABELS).certificate_.status.is_solved
