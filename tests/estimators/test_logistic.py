"""KernelLogisticRegression: stationarity, duality, and scikit-learn's linear model as an oracle."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import expit, xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from mercer import KernelLogisticRegression, KernelPerceptron, Status, verify
from mercer.kernels import RBF, Polynomial
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] + 0.5 * rng.normal(size=300) > 0, 1, -1)
    return read_only(X, y)


X, y = _data()


def values(K, y, C, beta, b):
    """Primal value at (β, b), and dual value at the β̃ that this model asks for."""
    g = K @ beta + b
    primal = beta @ K @ beta / 2 + C @ np.logaddexp(0, -y * g)
    p = expit(-y * g)
    asked = y * C * p
    dual = -asked @ K @ asked / 2 - C @ (xlogy(p, p) + xlogy(1 - p, 1 - p))
    return primal, dual, asked


def full(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    return beta


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_linear_kernel_is_logistic_regression(C):
    theirs = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-12).fit(X, y)
    mine = KernelLogisticRegression(kernel="linear", C=C, tol=1e-13).fit(X, y)
    assert mine.coef_ == pytest.approx(theirs.coef_, abs=1e-6)
    assert mine.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
    assert mine.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-6)
    assert mine.predict_log_proba(X) == pytest.approx(theirs.predict_log_proba(X), abs=1e-5)


@pytest.mark.parametrize("cache_size", [200, 0.5, 0.1], ids=["float64", "float32", "tiles"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", [RBF(0.5), Polynomial(2, 1.0, 1.0)])
def test_certificate_is_true_and_the_gradient_vanishes(kernel, fit_intercept, cache_size):
    model = KernelLogisticRegression(
        kernel=kernel, C=5.0, fit_intercept=fit_intercept, cache_size=cache_size, tol=1e-9
    ).fit(X, y)
    beta, b = full(model, 300), model.intercept_[0]
    K, found = kernel(X), model.certificate_
    primal, dual, asked = values(K, y, np.full(300, 5.0), beta, b)
    assert primal * (1 - 1e-13) <= found.primal <= primal * (1 + 1e-8)
    assert dual - 1e-9 * primal <= primal <= found.dual * (1 + 2e-9)
    assert found.gap >= (primal - dual) - 1e-12 * primal
    assert found.relative_gap <= 1.1e-9
    gradient = K @ (beta - asked)
    assert np.abs(gradient).max() < 1e-2 * 5.0
    assert found.kkt_violation == pytest.approx(np.sqrt((beta - asked) @ gradient), rel=0.05)
    assert asked.sum() == pytest.approx(0, abs=1e-8) or not fit_intercept


@given(st.integers(0, 10_000), st.floats(1e-3, 1e5), st.booleans())
@example(72, 1.76953125, True)  # the first gap is tol, but for rounding
def test_gap_bounds_the_distance_to_the_optimum(seed, C, fit_intercept):
    rng = np.random.default_rng(seed)
    points, labels = rng.normal(size=(25, 2)), np.sign(rng.normal(size=25))
    labels[:2] = -1, 1
    settings = {"C": C, "gamma": 1.0, "fit_intercept": fit_intercept}
    loose = KernelLogisticRegression(tol=0.5, **settings).fit(points, labels).certificate_
    tight = KernelLogisticRegression(tol=1e-9, **settings).fit(points, labels).certificate_
    assert tight.status is Status.SOLVED
    assert loose.gap >= 0
    assert loose.dual <= tight.primal * (1 + 1e-12)
    assert loose.primal - tight.primal <= loose.gap


def test_weights_are_repetitions_and_class_weights_are_weights():
    weight = np.random.default_rng(1).integers(0, 4, size=300)
    settings = {"kernel": RBF(0.5), "tol": 1e-12}
    weighted = KernelLogisticRegression(**settings).fit(X, y, sample_weight=weight)
    repeated = KernelLogisticRegression(**settings)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.decision_function(X) == pytest.approx(repeated.decision_function(X), abs=1e-5)
    by_class = KernelLogisticRegression(class_weight={1: 3.0}, **settings).fit(X, y)
    by_row = KernelLogisticRegression(**settings).fit(X, y, np.where(y == 1, 3.0, 1.0))
    assert by_class.decision_function(X) == pytest.approx(by_row.decision_function(X), abs=1e-5)
    assert by_class.predict_proba(X)[:, 1].mean() > weighted.predict_proba(X)[:, 1].mean()


def test_several_classes_are_one_against_the_rest():
    codes = np.digitize(X[:, 0] + X[:, 1] ** 2, [0, 1])
    mine = KernelLogisticRegression(kernel="linear", tol=1e-12).fit(sp.csr_matrix(X), codes)
    theirs = OneVsRestClassifier(LogisticRegression(tol=1e-10)).fit(X, codes)
    assert mine.predict_proba(sp.csr_matrix(X)) == pytest.approx(theirs.predict_proba(X), abs=1e-4)
    assert [task.name for task in mine.certificate_.tasks] == ["0 / rest", "1 / rest", "2 / rest"]
    mine.threshold = 0.7
    with pytest.raises(ValueError, match="3 classes"):
        mine.predict(sp.csr_matrix(X))


def test_confidence_threshold():
    model = KernelLogisticRegression(gamma=0.5, threshold=0.8).fit(X, y)
    assert np.array_equal(model.predict(X) == 1, model.predict_proba(X)[:, 1] >= 0.8)


def test_lambda_is_one_over_c():
    """C times (λ/2 ‖w‖² + Σ cost) is the objective: scaling both by λ = 1/C changes nothing."""
    model = KernelLogisticRegression(gamma=0.5, C=4.0, tol=1e-10).fit(X, y)
    beta, K = full(model, 300), RBF(0.5)(X)
    g = K @ beta + model.intercept_[0]
    notes = beta @ K @ beta / (2 * 4.0) + np.logaddexp(0, -y * g).sum()
    assert model.certificate_.primal == pytest.approx(4.0 * notes)


def test_limits_are_kept_and_told():
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model = KernelLogisticRegression(C=1e4, gamma=0.5, max_iter=1, tol=1e-12).fit(X, y)
    assert model.n_iter_ == 1
    assert model.certificate_.gap > 0
    with pytest.warns(ConvergenceWarning, match="time limit"):
        KernelLogisticRegression(time_limit=0.0).fit(X, y)
    stopped = KernelLogisticRegression(C=1e4, tol=1e-12, callback=lambda progress: True).fit(X, y)
    assert stopped.certificate_.status is Status.STOPPED
    assert np.isfinite(stopped.certificate_.gap)


def test_threads_do_not_matter():
    one, two = (KernelLogisticRegression(gamma=0.5, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.dual_coef_, two.dual_coef_)


def test_an_indefinite_kernel_is_no_proof():
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = KernelLogisticRegression(kernel="precomputed").fit(-np.eye(20), y[:20])
    assert model.certificate_.status is Status.NOT_PSD


@pytest.mark.parametrize("n_classes", [2, 3])
def test_verify_finds_what_the_certificate_states(n_classes):
    codes = np.digitize(X[:, 0] + X[:, 1] ** 2, [0, 1][: n_classes - 1])
    weight = np.random.default_rng(1).integers(0, 4, size=300)
    model = KernelLogisticRegression(gamma=0.5, class_weight="balanced").fit(X, codes, weight)
    found, stated = verify(model, X, codes, weight), model.certificate_
    assert found.primal == pytest.approx(stated.primal, rel=1e-10)
    assert found.gap == pytest.approx(stated.gap, rel=0.01)
    assert found.status is Status.SOLVED
    model.dual_coef_ = model.dual_coef_ * 1.1
    assert verify(model, X, codes, weight).relative_gap > 100 * model.tol


def test_verify_refuses_a_perceptron():
    with pytest.raises(TypeError, match="KernelPerceptron"):
        verify(KernelPerceptron(gamma=0.5).fit(X[:20], y[:20]), X[:20], y[:20])


def test_duplicates_with_both_labels():
    model = KernelLogisticRegression().fit([[0.0], [0.0]], [0, 1])
    assert model.predict_proba([[0.0]]) == pytest.approx(0.5)


@pytest.mark.parametrize(("name", "value"), [("C", np.inf), ("C", 0.0), ("threshold", 1.0)])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=name):
        KernelLogisticRegression(**{name: value}).fit(X, y)
