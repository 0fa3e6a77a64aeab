"""`mercer.verify`: against certificates of LIBSVM's answers, fits, and on tampered models."""

import copy
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mercer
from mercer._result import Result, Status
from mercer.certificates._box_qp import certify
from mercer.kernels import RBF, Linear, Polynomial
from mercer.problems import nu_svc, nu_svr, one_class, svc, svr
from mercer.solvers._kernel_ridge import RidgeSettings
from mercer.verification._verify import verify
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 3))
    LABELS = np.where(X[:, 0] + 0.6 * rng.normal(size=90) > 0, 1, -1)
    CLASSES = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), [-0.5, 0.5])
    TARGETS = np.sin(X[:, 0]) + 0.1 * rng.normal(size=90)
    WEIGHT = rng.uniform(0.5, 2.0, 90)
    WEIGHT[[3, 17, 40]] = 0.0
    return read_only(X, LABELS, CLASSES, TARGETS, WEIGHT)


X, LABELS, CLASSES, TARGETS, WEIGHT = _data()
K = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(-1))

# name: (estimator's name, parameters, y, the same problem as a box QP)
CASES = {
    "svc": ("SVC", {"C": 2.0}, LABELS, lambda y, w: svc(y, 2.0 * w)),
    "nu-svc": ("NuSVC", {"nu": 0.4}, LABELS, lambda y, w: nu_svc(y, 0.4, w)),
    "svr": ("SVR", {"C": 3.0}, TARGETS, lambda y, w: svr(y, 3.0 * w, 0.1)),
    "nu-svr": ("NuSVR", {"C": 3.0, "nu": 0.3}, TARGETS, lambda y, w: nu_svr(y, 3.0 * w, 0.3)),
    "one-class": ("OneClassSVM", {"nu": 0.2}, None, lambda y, w: one_class(0.2, w)),
}


def fit(name, weight=None, module=mercer, **more):
    kind, params, y, _ = CASES[name]
    model = getattr(module, kind)(gamma=0.4, **{"tol": 1e-3, **params, **more})
    model.fit(X, y, sample_weight=weight)
    if module is svm:
        model.kernel_ = RBF(0.4)
    return model


def certificate_of_libsvm(name, model, weight):
    """LIBSVM's answer as a Result of the box QP, certified with a plain kernel matrix."""
    _, params, y, pose = CASES[name]
    problem = pose(np.zeros(90) if y is None else y.astype(float), weight)
    coef, b = np.zeros(90), model.intercept_
    coef[model.support_] = model.dual_coef_[0]
    if name == "nu-svc":
        rho = params["nu"] * weight.sum() / np.abs(coef).sum()
        coef, b = coef * rho, np.array([b[0] * rho - rho, b[0] * rho + rho])
    beta = (
        coef if problem.row is None else np.concatenate([np.maximum(coef, 0), np.minimum(coef, 0)])
    )
    beta = np.where(np.isclose(beta, problem.upper, rtol=1e-12), problem.upper, beta)
    beta = np.where(np.isclose(beta, problem.lower, rtol=1e-12), problem.lower, beta)
    b = np.repeat(b, 2) if name == "nu-svr" else b
    violation = largest_violation(problem, beta, problem.target - problem.at_variables(K @ coef))
    return certify(problem, Result(beta, K @ coef, 0.0, b, violation, Status.SOLVED, 1, 1, 0.0))


def largest_violation(problem, beta, e):
    """By how much some β would have to rise and another of its group to fall."""
    rise, fall = beta < problem.upper, beta > problem.lower
    members = [problem.group == g for g in range(problem.n_groups)]
    return max(0.0, *(e[rise & of].max() - e[fall & of].min() for of in members))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_box_qp_on_answers_of_libsvm(name, weighted):
    # Positive weights only: where some are zero, scikit-learn's support_ counts the other rows.
    weight = np.where(WEIGHT > 0, WEIGHT, 1.0) if weighted else np.ones(90)
    model = fit(name, weight, module=svm)
    expected = certificate_of_libsvm(name, model, weight)
    found = verify(model, X, CASES[name][2], weight)
    assert found.primal == pytest.approx(expected.primal, rel=1e-10)
    assert found.gap == pytest.approx(expected.gap, rel=1e-6)
    assert found.kkt_violation == pytest.approx(expected.kkt_violation, rel=1e-6)
    assert found.margin == pytest.approx(expected.margin, rel=1e-9)
    assert_allclose(found.bias_interval, expected.bias_interval, atol=1e-9)
    for count in ("n_zero", "n_free", "n_bound"):
        assert getattr(found, count) == getattr(expected, count)
    assert found.status is Status.SOLVED


def assert_between_half_and_all(found, stated):
    assert found.gap_low <= stated.gap <= 2 * found.gap + 1e-9 * abs(stated.primal)
    for one, other in zip(found.tasks, stated.tasks, strict=True):
        assert one.gap_low <= other.gap <= 2 * one.gap + 1e-9 * abs(other.primal)
    assert found.primal == pytest.approx(stated.primal, rel=1e-6)


@pytest.mark.parametrize("tol", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_finds_at_most_the_stated_gap_and_at_least_half_of_it(name, weighted, tol):
    weight = WEIGHT if weighted else None
    model = fit(name, weight, tol=tol)
    found = verify(model, X, CASES[name][2], weight)
    assert_between_half_and_all(found, model.certificate_)
    assert found.kkt_violation <= 1.05 * tol
    assert found.status is Status.SOLVED
    assert found.n_support == model.certificate_.n_support
    assert found.n_bound == model.certificate_.n_bound


@pytest.mark.parametrize(
    ("kernel", "data"),
    [
        (Linear(), X),
        (Polynomial(degree=2, gamma=0.3, coef0=1.0), X),
        (0.5 * RBF(0.3) + Linear(), X),
        (RBF(0.3), X + 1000),
        (RBF(0.3), X.astype(np.float32)),
        (RBF(0.3), np.round(4 * X).astype(np.int8)),
        (RBF(0.3), sp.csr_matrix(np.where(X > 0.5, X, 0))),
        ("precomputed", K),
        (lambda A, B: A @ B.T, X),
    ],
    ids=["linear", "poly", "sum", "offset", "float32", "int8", "sparse", "precomputed", "callable"],
)
def test_every_kernel_and_kind_of_data(kernel, data):
    model = mercer.SVC(kernel=kernel).fit(data, LABELS)
    assert_between_half_and_all(verify(model, data, LABELS), model.certificate_)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 0.5, 2: 3.0}])
def test_several_classes(class_weight):
    names = np.array(["low", "mid", "top"])[CLASSES]
    if isinstance(class_weight, dict):
        class_weight = {["low", "mid", "top"][c]: w for c, w in class_weight.items()}
    model = mercer.SVC(C=2.0, class_weight=class_weight).fit(X, names, WEIGHT)
    found = verify(model, X, names, WEIGHT)
    assert [task.name for task in found.tasks] == ["low / mid", "low / top", "mid / top"]
    assert_between_half_and_all(found, model.certificate_)


def test_several_classes_of_nu_svc():
    model = mercer.NuSVC(nu=0.2).fit(X, CLASSES)
    assert_between_half_and_all(verify(model, X, CLASSES), model.certificate_)


@pytest.mark.parametrize("kind", ["SVC", "SVR"])
def test_without_intercept(kind):
    y = LABELS if kind == "SVC" else TARGETS
    model = getattr(mercer, kind)(fit_intercept=False).fit(X, y)
    found = verify(model, X, y)
    assert_between_half_and_all(found, model.certificate_)
    assert found.kkt_violation <= 1.05e-3


def test_hard_margin():
    y = np.where(X[:, 0] > 0, 1, -1)
    model = mercer.SVC(kernel="rbf", C=np.inf).fit(X, y)
    found = verify(model, X, y)
    assert_between_half_and_all(found, model.certificate_)
    assert found.relative_gap < 1e-2


@pytest.mark.parametrize("name", CASES)
def test_a_tampered_model_is_caught(name):
    y = CASES[name][2]
    model = fit(name)
    moved = copy.deepcopy(model)
    moved.intercept_ = model.intercept_ + 0.1
    assert verify(moved, X, y).gap > 10 * model.certificate_.gap
    scaled = copy.deepcopy(model)
    scaled.dual_coef_ = model.dual_coef_ * 1.05  # beyond the bounds, or (ν-SVC) f without its b
    assert verify(scaled, X, y).gap > 1.2 * model.certificate_.gap
    unbalanced = copy.deepcopy(model)
    unbalanced.dual_coef_ = model.dual_coef_.copy()
    unbalanced.dual_coef_[0, 0] *= 0.9
    assert verify(unbalanced, X, y).gap == np.inf
    assert not verify(unbalanced, X, y).status.is_solved


def test_the_wrong_data_are_refused():
    model = fit("svc")
    with pytest.raises(NotFittedError):
        verify(mercer.SVC(), X, LABELS)
    with pytest.raises(TypeError, match="SVC"):
        verify("model", X, LABELS)
    with pytest.raises(ValueError, match="columns"):
        verify(model, X[:, :2], LABELS)
    with pytest.raises(ValueError, match="support vector"):
        verify(model, X[:10], LABELS[:10])
    with pytest.raises(ValueError, match="differs"):
        verify(model, X[::-1], LABELS[::-1])
    with pytest.raises(ValueError, match="label"):
        verify(model, X, LABELS[:-1])
    with pytest.raises(ValueError, match="does not know"):
        verify(model, X, LABELS + 7)
    with pytest.raises(ValueError, match="None"):
        verify(model, X)
    with pytest.raises(ValueError, match="sample_weight"):
        verify(model, X, LABELS, np.ones(3))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_ridge(tol, weight):
    targets = np.column_stack([TARGETS, X[:, 1]])
    model = mercer.KernelRidge(kernel="rbf", gamma=0.4, alpha=[0.1, 1.0], solver="cg", tol=tol)
    model._settings = RidgeSettings(min_landmarks=5)  # an inexact preconditioner
    model.fit(X, targets, sample_weight=weight)
    found, stated = verify(model, X, targets, weight), model.certificate_
    assert found.gap <= stated.gap
    assert found.gap == pytest.approx(stated.gap, rel=1e-4)
    assert found.primal == pytest.approx(stated.primal, rel=1e-9)
    assert found.residual == pytest.approx(stated.residual, rel=1e-6)
    assert found.status is Status.SOLVED
    moved = copy.deepcopy(model)
    moved.dual_coef_ = model.dual_coef_ * 1.05
    assert verify(moved, X, targets, weight).gap > 2 * stated.gap
    assert verify(moved, X, targets, weight).status is Status.NOT_REACHED
    with pytest.raises(ValueError, match="training data"):
        verify(model, X[:5], targets[:5])


def test_pca():
    model = mercer.KernelPCA(3, kernel="rbf", gamma=0.4, eigen_solver="arpack").fit(X)
    found = verify(model, X)
    centring = np.eye(90) - 1 / 90
    v, value = model.eigenvectors_, model.eigenvalues_
    expected = np.linalg.norm(centring @ K @ centring @ v - v * value, axis=0)
    assert_allclose(found.residuals, expected, atol=1e-12 * value[0])
    assert found.status.is_solved
    moved = copy.deepcopy(model)
    moved.eigenvalues_ = value * [1.0, 1.1, 1.0]
    assert verify(moved, X).residuals[1] == pytest.approx(0.1 * value[1], rel=1e-6)
    assert not verify(moved, X).status.is_solved
    # The threshold is tol and not what the certificate states.
    moved.certificate_ = replace(model.certificate_, residuals=(1.0, 1.0, 1.0))
    assert not verify(moved, X).status.is_solved
    loose = copy.deepcopy(model).set_params(tol=0.2)
    loose.eigenvalues_ = value * [1.0, 1.1, 1.0]
    loose.certificate_ = replace(model.certificate_, status=Status.TIME_LIMIT)
    assert verify(loose, X).status is Status.SOLVED
    with pytest.raises(NotFittedError):
        verify(mercer.KernelPCA(), X)


def test_pca_of_equal_rows_and_limited_iterations():
    equal = np.ones((30, 2))
    assert verify(mercer.KernelPCA(2).fit(equal), equal).status is Status.SOLVED
    settings = {"kernel": "rbf", "gamma": 5.0, "eigen_solver": "randomized", "iterated_power": 0}
    few = mercer.KernelPCA(3, **settings).fit(X)
    assert not few.certificate_.status.is_solved
    assert not verify(few, X).status.is_solved


PEGASOS = {
    "two": (mercer.PegasosClassifier, LABELS),
    "three": (mercer.PegasosClassifier, CLASSES),
    "tube": (mercer.PegasosRegressor, TARGETS),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [None, "rbf", "poly"])
@pytest.mark.parametrize("case", PEGASOS)
def test_pegasos(case, kernel, weighted):
    """The stated value again, and a bound that is as good and holds for the exact optimum."""
    kind, y = PEGASOS[case]
    weight = WEIGHT if weighted else None
    model = kind(C=0.5, kernel=kernel, gamma=0.4, random_state=0, tol=0.02)
    stated = model.fit(X, y, sample_weight=weight).certificate_
    found = verify(model, X, y, weight)
    assert found.primal == pytest.approx(stated.primal, rel=1e-9)
    assert found.gap <= stated.gap * (1 + 1e-9)
    assert found.status is Status.SOLVED
    if case == "tube" and kernel == "rbf" and not weighted:
        exact = mercer.SVR(kernel=RBF(0.4) + 1.0, C=0.5, fit_intercept=False, tol=1e-8).fit(X, y)
        assert found.dual <= exact.certificate_.primal <= found.primal


SPOILT = {
    "svc": (mercer.SVC(gamma=0.4), "dual_coef_"),
    "linear": (mercer.LinearSVC(), "coef_"),
    "logistic": (mercer.KernelLogisticRegression(gamma=0.4), "dual_coef_"),
    "pca": (mercer.KernelPCA(2, kernel="rbf", gamma=0.4), "eigenvalues_"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_model_is_called_not_optimal(name):
    """Its violation is no matter of rounding."""
    model, attribute = SPOILT[name]
    model = clone(model).fit(X, LABELS)
    assert verify(model, X, LABELS).status.is_solved
    setattr(model, attribute, 0.5 * getattr(model, attribute))
    assert verify(model, X, LABELS).status is Status.NOT_REACHED


def test_pegasos_that_was_tampered_with_or_streamed():
    model = mercer.PegasosClassifier(lam=0.02, random_state=0, tol=0.05)
    model.fit_stream([(X, LABELS)], passes=200)
    stated = model.certify([(X, LABELS)])
    assert verify(model, X, LABELS).primal == pytest.approx(stated.primal, rel=1e-9)
    model.coef_ = 3 * model.coef_
    assert verify(model, X, LABELS).relative_gap > 0.05
    assert verify(model, X, LABELS).status is Status.NOT_REACHED


def test_a_model_without_support_vectors():
    for kernel, data in (("precomputed", K), ("rbf", X), ("linear", X)):
        model = mercer.SVR(kernel=kernel, epsilon=100.0).fit(data, TARGETS)
        found = verify(model, data, TARGETS)
        assert (found.primal, found.gap, found.n_support) == (0.0, 0.0, 0)
        assert found.status is Status.SOLVED


@pytest.mark.parametrize("kind", ["SVC", "NuSVC", "KernelLogisticRegression", "LinearSVC"])
def test_a_class_whose_weights_are_all_zero(kind):
    weight = np.where(CLASSES == 2, 0.0, WEIGHT)
    options = {"nu": 0.2} if kind == "NuSVC" else {}
    model = getattr(mercer, kind)(**options).fit(X, CLASSES, sample_weight=weight)
    found = verify(model, X, CLASSES, weight)
    kept = CLASSES != 2
    alone = getattr(mercer, kind)(**options).fit(X[kept], CLASSES[kept], weight[kept])
    assert found.primal == pytest.approx(alone.certificate_.primal, rel=1e-2)
    assert found.status is Status.SOLVED
    with pytest.raises(ValueError, match="does not know"):
        verify(model, X, CLASSES, WEIGHT)


def test_nu_svc_without_a_direction_is_degenerate():
    """Two equal clouds: w = 0 satisfies the KKT conditions, and rho = 0 at the optimum."""
    y = np.tile([1, -1], 20)
    model = mercer.NuSVC(nu=0.3, kernel="rbf").fit(X[:40], y)
    rows = np.repeat(X[:20], 2, axis=0)
    model.kernel_, model.support_, model.support_vectors_ = Linear(), np.arange(40), rows
    model.dual_coef_, model.intercept_ = y[np.newaxis].astype(float), np.zeros(1)
    found = verify(model, rows, y)
    assert found.kkt_violation < 1e-12
    assert found.primal >= 0
    assert found.status is Status.DEGENERATE
    model = mercer.NuSVC(nu=0.3, kernel="linear").fit(X, np.where(X[:, 0] > 0, 1, -1))
    assert verify(model, X, np.where(X[:, 0] > 0, 1, -1)).status is Status.SOLVED


def test_an_indefinite_matrix_is_not_solved():
    """A stationary point of a problem that is not convex may be far from optimal."""
    noise = np.random.default_rng(9).normal(size=K.shape) * 0.3
    indefinite = K + (noise + noise.T) / 2
    model = mercer.SVC(kernel="precomputed", C=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(indefinite, LABELS)
    assert np.linalg.eigvalsh(indefinite)[0] < -0.1
    assert verify(model, indefinite, LABELS).status is Status.NOT_PSD
    good = mercer.SVC(kernel="precomputed").fit(K, LABELS)
    assert verify(good, K, LABELS).status is Status.SOLVED


def test_ridge_with_an_indefinite_kernel_is_not_solved():
    """The gradient vanishes at a point that is no minimum."""

    @mercer.kernel
    def distance(x, z):
        return -np.sum((x - z) ** 2)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mercer.KernelRidge(kernel=distance).fit(X, y)
    assert np.linalg.eigvalsh(distance(X))[0] < -10
    assert verify(model, X, y).status is Status.NOT_PSD

    @mercer.kernel
    def cauchy(x, z):
        return 1 / (1 + np.sum((x - z) ** 2))

    good = mercer.KernelRidge(kernel=cauchy).fit(X, y)
    assert verify(good, X, y).status is Status.SOLVED  # shown on these rows


@pytest.mark.parametrize("scale", [1.0, 1.1, 0.5])
@pytest.mark.parametrize(("alpha", "gap"), [(0.5, 0.0), (0.4, 0.02)])
def test_hard_margins_of_linear_models(scale, alpha, gap):
    """w = (0, 1) separates (0, ±1) with P = ½; D = 2α − ½ (2α)²."""
    model = mercer.LinearSVC(C=np.inf, loss="hinge", tol=1e-6)
    model.classes_, model.class_weight_ = np.array([-1, 1]), np.ones(2)
    model.coef_, model.intercept_ = np.array([[0.0, scale]]), np.zeros(1)
    model.dual_coef_, model.n_features_in_ = np.array([[alpha, -alpha]]), 2
    found = verify(model, [[0.0, 1.0], [0.0, -1.0]], [1, -1])
    assert found.primal == pytest.approx(0.5, rel=1e-12)
    assert found.gap == pytest.approx(gap, abs=1e-12)
    assert (found.status is Status.SOLVED) == (gap == 0)
    model.coef_ = -model.coef_  # separates nothing
    assert verify(model, [[0.0, 1.0], [0.0, -1.0]], [1, -1]).gap == np.inf


def test_other_labels_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "a", "b")
    model = mercer.SVC().fit(X, y)
    assert "y and sample_weight those of the fit" in mercer.verify(model, X, y[::-1]).note
    assert mercer.verify(model, X, y).note == ""
