"""`PegasosClassifier`: its bound holds, its parameters count, and scikit-learn's checks pass."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, PegasosClassifier
from mercer._result import Status
from mercer.exceptions import ConvergenceWarning
from mercer.kernels import RBF, Constant, Linear
from mercer.solvers.pegasos._state import PegasosSettings
from tests.solvers.small import make_data

ORDER = "examples are drawn at random: repeated rows make another order than weighted ones"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [
        PegasosClassifier(max_iter=50),
        PegasosClassifier(kernel="rbf", max_iter=50),
        PegasosClassifier(kernel="precomputed", max_iter=50),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_check_estimator(estimator, check):
    check(estimator)


X, y, t, w = make_data(200)
WITH_ONES = np.column_stack([X, np.ones(len(X))])


def objective(model, C, X, weight=1.0):
    """½(‖w‖² + b²) + CΣξ, written out."""
    slack = np.maximum(0, 1 - y * (X @ model.coef_[0] + model.intercept_[0]))
    size = (model.coef_**2).sum() + model.intercept_[0] ** 2
    return size / 2 + C * np.sum(weight * slack)


SETTINGS = [
    {},
    {"average": False},
    {"project": True},
    {"batch_size": 7},
    {"batch_size": 7, "project": True},
    {"replacement": True},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("C", [0.05, 2.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_bound_holds_and_tol_is_kept(settings, C, fit_intercept):
    exact = SVC(kernel="linear", C=C, fit_intercept=False, tol=1e-8)
    best = exact.fit(WITH_ONES if fit_intercept else X, y).certificate_
    model = PegasosClassifier(C=C, fit_intercept=fit_intercept, random_state=0, tol=0.03,
                              max_iter=4000, **settings).fit(X, y)  # fmt: skip
    found = model.certificate_
    assert found.status is Status.SOLVED
    assert found.dual <= best.primal
    assert best.dual <= found.primal
    assert found.relative_gap <= 0.03 * 1.001
    assert found.primal == pytest.approx(objective(model, C, X), rel=1e-12)
    assert found.primal - best.dual <= found.gap
    assert model.lam_ == pytest.approx(1 / (200 * C))
    assert bool(model.intercept_[0]) == fit_intercept


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_kernelised_is_the_linear_one_on_a_linear_kernel(settings):
    """1 · Linear() keeps coefficients of rows: the same steps, in the same order, the same w."""
    same = {"random_state": 3, "max_iter": 8, "tol": 1e-12, **settings}
    with pytest.warns(ConvergenceWarning, match="8 passes"):
        linear = PegasosClassifier(**same).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        kernel = PegasosClassifier(kernel=1.0 * Linear(), **same).fit(X, y)
    assert_allclose(kernel.decision_function(X), linear.decision_function(X), rtol=1e-9, atol=1e-9)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-9)
    with pytest.warns(ConvergenceWarning):
        sparse = PegasosClassifier(**same).fit(sp.csr_matrix(X), y)
    assert_allclose(sparse.coef_, linear.coef_, rtol=1e-10)


def test_kernelised_against_the_exact_machine():
    kernel = RBF(gamma=0.5)
    model = PegasosClassifier(kernel=kernel, random_state=0, tol=0.02).fit(X, y)
    best = SVC(kernel=kernel + Constant(1.0), fit_intercept=False, tol=1e-8).fit(X, y)
    assert model.certificate_.dual <= best.certificate_.primal <= model.certificate_.primal
    assert model.certificate_.relative_gap <= 0.021
    assert np.abs(model.decision_function(X) - best.decision_function(X)).mean() < 0.1
    K = kernel(X)
    given = PegasosClassifier(kernel="precomputed", random_state=0, tol=0.02).fit(K, y)
    assert_allclose(given.decision_function(K), model.decision_function(X), atol=1e-9)


def test_weights_are_prices():
    """Weighted C, zero weights left out, and class weights as weights of their rows."""
    weight = np.where(np.arange(200) % 5 == 0, 0.0, w)
    kept = weight > 0
    settings = {"C": 0.3, "random_state": 0, "tol": 0.005, "max_iter": 4000}
    model = PegasosClassifier(**settings).fit(X, y, sample_weight=weight)
    exact = SVC(kernel="linear", C=0.3, fit_intercept=False, tol=1e-8)
    best = exact.fit(WITH_ONES[kept], y[kept], sample_weight=weight[kept]).certificate_
    assert model.certificate_.dual <= best.primal <= model.certificate_.primal * (1 + 1e-9)
    assert model.certificate_.primal == pytest.approx(objective(model, 0.3, X, weight))
    by_class = PegasosClassifier(class_weight={1: 3.0}, **settings).fit(X, y)
    by_row = PegasosClassifier(**settings).fit(X, y, sample_weight=np.where(y > 0, 3.0, 1.0))
    assert_array_equal(by_class.coef_, by_row.coef_)
    balanced = PegasosClassifier(class_weight="balanced", **settings).fit(X, y)
    assert not np.array_equal(balanced.coef_, by_class.coef_)


def test_several_classes_and_threads():
    labels = np.array(["low", "middle", "high"])[np.digitize(t, [-0.5, 0.5])]
    models = [
        PegasosClassifier(C=0.1, random_state=0, tol=0.05, n_jobs=n_jobs).fit(X, labels)
        for n_jobs in (1, 2)
    ]
    assert_array_equal(models[0].coef_, models[1].coef_)
    assert models[0].coef_.shape == (3, 3)
    assert models[0].certificate_.tasks[0].name == "high / the rest"
    assert models[0].score(X, labels) > 0.5  # chance: a third


def test_partial_fit_is_the_same_descent():
    """One batch, one pass: fit with max_iter=1 takes the same steps in some order."""
    model = PegasosClassifier(lam=0.01, random_state=0)
    for start in range(0, 200, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50], classes=[-1, 1])
    assert model.t_ == 200
    assert not hasattr(model, "certificate_")
    for _ in range(40):
        model.partial_fit(X, y)
    best = SVC(kernel="linear", C=1 / (200 * 0.01), fit_intercept=False, tol=1e-8)
    optimum = best.fit(WITH_ONES, y).certificate_.primal
    assert optimum <= objective(model, 0.5, X) <= 1.02 * optimum
    sparse = PegasosClassifier(lam=0.01, random_state=0)
    sparse.partial_fit(sp.csr_matrix(X), y, classes=[-1, 1])
    dense = PegasosClassifier(lam=0.01, random_state=0).partial_fit(X, y, classes=[-1, 1])
    assert_allclose(sparse.coef_, dense.coef_, rtol=1e-12)


def test_a_second_fit_forgets_the_first():
    model = PegasosClassifier(C=0.1, random_state=0).fit(X, y)
    model.set_params(kernel="rbf").fit(X, y)
    fresh = PegasosClassifier(C=0.1, kernel="rbf", random_state=0).fit(X, y)
    assert_array_equal(model.decision_function(X), fresh.decision_function(X))
    assert not hasattr(model, "coef_")


def test_errors_of_streams():
    stream = PegasosClassifier(lam=0.1)
    with pytest.raises(ValueError, match="classes must be given at the first call"):
        stream.partial_fit(X, y)
    stream.partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="labels that are not in classes"):
        stream.partial_fit(X, np.where(y > 0, 7, -1))
    with pytest.raises(ValueError, match="2 features, but PegasosClassifier is expecting 3"):
        stream.partial_fit(X[:, :2], y)
    with pytest.raises(AttributeError, match="partial_fit"):
        PegasosClassifier().partial_fit(X, y)
    with pytest.raises(AttributeError, match="partial_fit"):
        PegasosClassifier(lam=0.1, kernel="rbf").partial_fit(X, y)
    with pytest.raises(ValueError, match="needs all rows"):
        PegasosClassifier(lam=0.1, class_weight="balanced").partial_fit(X, y, classes=[-1, 1])


def test_errors():
    with pytest.raises(ValueError, match="Give one of them"):
        PegasosClassifier(C=2.0, lam=0.1).fit(X, y)
    for change in ({"C": np.inf}, {"lam": 0.0}, {"batch_size": 0}, {"max_iter": 0}, {"tol": 0.0}):
        with pytest.raises(ValueError, match=next(iter(change))):
            PegasosClassifier(**change).fit(X, y)
    with pytest.raises(ValueError, match="number of classes"):
        PegasosClassifier().fit(X, np.ones(200))
    with pytest.raises(ValueError, match="Scale the columns"):
        PegasosClassifier().fit(X * 1e200, y)
    with pytest.raises(ValueError, match="Give one of them"):
        PegasosClassifier(n_steps=10, max_iter=5).fit(X, y)
    model = PegasosClassifier(kernel="rbf")
    model._settings = PegasosSettings(max_matrix_bytes=1000)
    with pytest.raises(ValueError, match="whole kernel matrix"):
        model.fit(X, y)


def test_zero_rows_and_constant_columns():
    """x = 0 without intercept: its slack is 1 for every w, and the bound includes it."""
    rows = np.zeros((4, 2))
    model = PegasosClassifier(fit_intercept=False, random_state=0).fit(rows, [0, 1, 0, 1])
    assert model.certificate_.primal == pytest.approx(4)
    assert model.certificate_.dual == pytest.approx(4)
    assert_array_equal(model.coef_, 0)


def test_limits_keep_the_model_so_far():
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = PegasosClassifier(C=1e4, time_limit=0.0, random_state=0).fit(X, y)
    assert model.certificate_.status is Status.TIME_LIMIT
    assert model.certificate_.gap > 0
    model = PegasosClassifier(C=1e6, max_iter=10**7, tol=1e-9)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.certificate_.status is Status.STOPPED


@pytest.mark.parametrize("T", [1, 7, 200, 451])
@pytest.mark.parametrize("project", [False, True])
def test_exactly_t_steps_on_single_rows(T, project):
    """Figure 1 of the paper, written out: w ← (1 − 1/t) w + [y w·x < 1] yx/(λt), last iterate."""
    lam, n = 0.05, len(X)
    rng = np.random.default_rng(np.random.RandomState(3).randint(0, 2**31 - 1, size=1)[0])
    drawn = np.concatenate([rng.integers(0, n, n) for _ in range(3)])
    w = np.zeros(X.shape[1])
    for t, i in enumerate(drawn[:T], start=1):
        inside = y[i] * (w @ X[i]) < 1
        w = (1 - 1 / t) * w + inside * y[i] * X[i] / (lam * t)
        if project:
            w *= min(1.0, 1 / (np.sqrt(lam) * np.linalg.norm(w)))
    form = {"n_steps": T, "average": False, "replacement": True, "fit_intercept": False}
    form |= {"lam": lam, "project": project, "random_state": 3}
    model = PegasosClassifier(**form).fit(X, y)
    assert model.t_ == T
    assert_allclose(model.coef_[0], w, rtol=1e-10, atol=1e-14)
    optimum = SVC(kernel="linear", C=1 / (n * lam), fit_intercept=False, tol=1e-8).fit(X, y)
    assert model.certificate_.dual <= optimum.certificate_.primal
    assert model.certificate_.primal >= optimum.certificate_.dual
    kernelised = PegasosClassifier(kernel="poly", degree=1, gamma=1.0, **form).fit(X, y)
    assert_allclose(kernelised.decision_function(X), X @ w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("batch_size", [1, 3, 64, 500])
@pytest.mark.parametrize("rows", [X, sp.csr_matrix(X)])
def test_n_steps_counts_steps_of_any_batch_size(batch_size, rows):
    model = PegasosClassifier(n_steps=11, batch_size=batch_size, random_state=0).fit(rows, y)
    assert model.t_ == 11
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        model.set_params(lam=0.1).partial_fit(X, y, classes=[-1, 1])
    assert "n_steps=11" in str(caught.value)


@pytest.mark.parametrize("kernel", [None, "linear"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_margin_is_the_width_of_the_strip(kernel, fit_intercept):
    """2/‖w‖, without the intercept: a part of the objective here, and no part of w."""
    rng = np.random.default_rng(0)
    X = rng.normal(loc=[3.0, 1.0], size=(60, 2))
    y = np.where(X[:, 0] > 3, 1, -1)
    model = PegasosClassifier(kernel=kernel, fit_intercept=fit_intercept, random_state=0).fit(X, y)
    step = 1e-3 * np.eye(2)
    w = (model.decision_function(X[:1] + step) - model.decision_function(X[:1] - step)) / 2e-3
    assert model.certificate_.margin == pytest.approx(2 / np.linalg.norm(w), rel=1e-6)
