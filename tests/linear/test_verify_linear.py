"""`mercer.verify` on linear models: against what fits state, and on tampered models."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import mercer
from mercer import LinearSVC, LinearSVR, LogisticRegression, verify
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(11)
    X = rng.normal([3.0, 0.0, 0.0, -1.0], 1.0, size=(80, 4))
    LABELS = np.where(X[:, 0] - 3 + 0.7 * rng.normal(size=80) > 0.3, "yes", "no")
    CLASSES = np.digitize(X[:, 0] - 3 + 0.3 * rng.normal(size=80), [-0.5, 0.5])
    TARGETS = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=80)
    WEIGHT = rng.uniform(0.5, 2.0, 80)
    WEIGHT[[4, 20]] = 0.0
    return read_only(X, LABELS, CLASSES, TARGETS, WEIGHT)


X, LABELS, CLASSES, TARGETS, WEIGHT = _data()

JOINT = {"multi_class": "crammer_singer", "loss": "hinge"}
MODELS = {
    "hinge": (LinearSVC, {"loss": "hinge"}, LABELS),
    "hinge, descent": (LinearSVC, {"loss": "hinge", "dual": True}, LABELS),
    "squared hinge": (LinearSVC, {}, LABELS),
    "squared hinge, descent": (LinearSVC, {"dual": True}, LABELS),
    "three classes": (LinearSVC, {"loss": "hinge", "class_weight": "balanced"}, CLASSES),
    "three classes, squared": (LinearSVC, {"class_weight": {1: 3.0}}, CLASSES),
    "all classes at once": (LinearSVC, {**JOINT, "class_weight": "balanced"}, CLASSES),
    "two classes at once": (LinearSVC, JOINT, LABELS),
    "tube": (LinearSVR, {"epsilon": 0.1}, TARGETS),
    "squared tube": (LinearSVR, {"epsilon": 0.1, "loss": "squared_epsilon_insensitive"}, TARGETS),
    "logistic": (LogisticRegression, {}, LABELS),
    "logistic, three classes": (LogisticRegression, {}, CLASSES),
}
INTERCEPTS = [{"intercept_scaling": s} for s in (None, 2.0)] + [{"fit_intercept": False}]


def fit(name, X=X, weight=None, **more):
    kind, params, y = MODELS[name]
    model = kind(**{"max_iter": -1, **params, **more}).fit(X, y, sample_weight=weight)
    return model, y


def assert_between_half_and_all(found, stated):
    pairs = [(found, stated), *zip(found.tasks, stated.tasks, strict=True)]
    for one, other in pairs:
        # Of a gap that is rounding alone, more is found out with doubled precision.
        assert other.gap / 2 - 1e-11 * other.primal <= one.gap <= other.gap
        assert one.primal == pytest.approx(other.primal, rel=1e-9)
        assert (one.n_zero, one.n_free, one.n_bound) == (other.n_zero, other.n_free, other.n_bound)
        assert one.kkt_violation == pytest.approx(other.kkt_violation, rel=1e-6, abs=1e-9)
        assert one.margin == pytest.approx(other.margin)
        assert one.name == other.name
    assert found.status is mercer.Status.SOLVED


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("intercept", INTERCEPTS, ids=["free", "penalised", "none"])
@pytest.mark.parametrize("name", MODELS)
def test_finds_at_most_the_stated_gap_and_at_least_half_of_it(name, intercept, tol):
    weight = WEIGHT if tol == 1e-3 else None
    model, y = fit(name, weight=weight, tol=tol, **intercept)
    assert_between_half_and_all(verify(model, X, y, weight), model.certificate_)


@pytest.mark.parametrize("name", MODELS)
def test_sparse_rows_and_float32(name):
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    for data in (sp.csr_matrix(thin), thin.astype(np.float32)):
        model, y = fit(name, X=data, tol=1e-3)
        assert_between_half_and_all(verify(model, data, y), model.certificate_)


@pytest.mark.parametrize("name", MODELS)
def test_a_tampered_model_is_caught(name):
    model, y = fit(name, tol=1e-6)
    moved = copy.deepcopy(model)
    moved.coef_ = model.coef_ * 1.1
    assert verify(moved, X, y).gap > 10 * model.certificate_.gap
    assert not verify(moved, X, y).status.is_solved
    if hasattr(model, "dual_coef_"):
        unbalanced = copy.deepcopy(model)
        # Beyond their bounds; those of squared losses have but a sign.
        unbalanced.dual_coef_ = model.dual_coef_ * (-1.0 if "squared" in name else 1.05)
        assert verify(unbalanced, X, y).gap == np.inf


def test_the_wrong_data_are_refused():
    model, y = fit("hinge")
    with pytest.raises(NotFittedError):
        verify(LinearSVC(), X, y)
    with pytest.raises(ValueError, match="columns"):
        verify(model, X[:, :2], y)
    with pytest.raises(ValueError, match="training data"):
        verify(model, X[:10], y[:10])
    with pytest.raises(ValueError, match="does not know"):
        verify(model, X, CLASSES)
