"""`dual_view` of every estimator: duals in their box, their sums, decision values, KKT groups."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_moons

import mercer
from mercer.certificates._certificate import BOUND, FREE, ZERO
from mercer.estimators._dual_view import KKTGroup, Loss, is_fitted_on, loss_of

X, y = make_moons(90, noise=0.3, random_state=0)
IRIS, SPECIES = load_iris(return_X_y=True)
LINE = np.sort(np.random.default_rng(0).uniform(0, 6, size=(70, 1)), axis=0)
SINE = np.sin(LINE[:, 0]) + 0.2 * np.random.default_rng(1).normal(size=70)

KERNEL = [
    mercer.SVC(tol=1e-9),
    mercer.SVC(tol=1e-9, kernel="linear", class_weight={0: 0.5, 1: 3.0}),
    mercer.SVC(tol=1e-9, fit_intercept=False),
    mercer.NuSVC(nu=0.4, tol=1e-9),
    mercer.KernelLogisticRegression(tol=1e-12, class_weight="balanced"),
    mercer.OneClassSVM(nu=0.3, tol=1e-9),
    mercer.SVR(epsilon=0.2, tol=1e-9),
    mercer.NuSVR(nu=0.4, tol=1e-9),
    mercer.SVC(tol=1e-9, loss="squared_hinge"),
    mercer.SVR(epsilon=0.2, tol=1e-9, loss="squared_epsilon_insensitive"),
]
LINEAR = [
    mercer.LinearSVC(
        loss="hinge", tol=1e-10, class_weight={0: 0.5, 1: 3.0}, intercept_scaling=None
    ),
    mercer.LinearSVC(loss="hinge", tol=1e-10, intercept_scaling=1.0),
    mercer.LinearSVC(tol=1e-10, intercept_scaling=None),
    mercer.LinearSVC(tol=1e-10, dual=True, intercept_scaling=None),
    mercer.LinearSVC(multi_class="crammer_singer", loss="hinge", tol=1e-8, intercept_scaling=None),
    mercer.LogisticRegression(tol=1e-10, class_weight="balanced"),
    mercer.LinearSVR(epsilon=0.2, tol=1e-10, intercept_scaling=None),
    mercer.LinearSVR(
        epsilon=0.2, loss="squared_epsilon_insensitive", tol=1e-10, intercept_scaling=None
    ),
]
PEGASOS = [
    mercer.PegasosClassifier(random_state=0, class_weight={0: 0.5, 1: 3.0}),
    mercer.PegasosClassifier(random_state=0, kernel="rbf"),
    mercer.PegasosRegressor(random_state=0, epsilon=0.2),
]
NU = (mercer.NuSVC, mercer.NuSVR)


def data_of(estimator, classes: int = 2):
    if isinstance(estimator, mercer.OneClassSVM):
        return X, None
    if loss_of_class(estimator).is_of_residual:
        return LINE, SINE
    return (X, y) if classes == 2 else (IRIS, SPECIES)


def loss_of_class(estimator) -> Loss:
    if getattr(estimator, "multi_class", "") == "crammer_singer":
        return Loss.MULTICLASS_HINGE
    return loss_of(estimator)


def ways(estimators):
    """Each estimator with two classes, with three, and with weights."""
    for estimator in estimators:
        has_classes = (
            not isinstance(estimator, mercer.OneClassSVM)
            and not loss_of_class(estimator).is_of_residual
        )
        yield pytest.param(estimator, 2, False, id=f"{estimator}".replace("\n", ""))
        yield pytest.param(estimator, 2, True, id=f"{estimator}, weights".replace("\n", ""))
        if has_classes:
            yield pytest.param(estimator, 3, False, id=f"{estimator}, 3 classes".replace("\n", ""))


@pytest.mark.filterwarnings("ignore::mercer.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "classes", "weighted"), [*ways([*KERNEL, *LINEAR, *PEGASOS])]
)
class TestConformance:
    @pytest.fixture
    def fitted(self, estimator, classes, weighted):
        rows, target = data_of(estimator, classes)
        weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=len(rows))
        weight = weight if weighted else None
        model = estimator.fit(rows, target, sample_weight=weight)
        return model, rows, target, weight

    def test_conforms(self, fitted, classes):
        model, rows, target, weight = fitted
        tasks = model.dual_view(rows, target, weight)
        used = np.arange(len(rows)) if weight is None else np.flatnonzero(weight > 0)
        assert set(np.concatenate([task.rows for task in tasks])) == set(used)
        values = decision_values(model, rows)
        assert len(tasks) == values.shape[1]
        for t, task in enumerate(tasks):
            assert np.allclose(task.f, values[task.rows, t], rtol=1e-12, atol=1e-12)
            assert task.b == pytest.approx(np.ravel(model.intercept_)[t])
            rounding = 1e-12 * np.where(np.isfinite(task.bound), task.bound, 1.0)
            assert (task.beta >= task.lower - rounding).all()
            assert (task.beta <= task.upper + rounding).all()
            check_groups(task)
            check_sums(model, task, weight)

    def test_labels_are_those_given(self, fitted, classes):
        model, rows, target, weight = fitted
        for task in model.dual_view(rows, target, weight):
            if task.loss.is_of_residual:
                assert np.array_equal(task.y, target[task.rows])
            elif task.loss is Loss.ONE_CLASS:
                assert (task.y == 1).all()
            else:
                assert set(task.y) == {-1.0, 1.0}
                own = set(target[task.rows][task.y > 0])
                assert own == ({1} if classes == 2 else own)
                assert len(own) == 1


def decision_values(model, rows) -> np.ndarray:
    """By scikit-learn's methods: of pairs of classes, ``decision_function_shape="ovo"``."""
    if isinstance(model, (mercer.SVC, mercer.NuSVC)):
        model.set_params(decision_function_shape="ovo")
    ask = model.predict if loss_of(model).is_of_residual else model.decision_function
    return np.reshape(ask(rows), (len(rows), -1))


def check_groups(task) -> None:
    group, alpha = task.kkt_group, task.alpha
    assert ((group == KKTGroup.ZERO) == (alpha == 0)).all()
    assert np.allclose(alpha[group == KKTGroup.BOUND], task.bound[group == KKTGroup.BOUND])
    free = group == KKTGroup.FREE
    assert (alpha[free] > 0).all()
    assert (alpha[free] < task.bound[free]).all()
    if not (task.is_stored and task.loss.is_piecewise_linear):
        return
    # Complementary slackness: β = 0 beyond the edge, at its bound before it, free on it.
    distance = beyond_edge(task)
    terms = alpha * np.maximum(distance, 0) + (task.bound - alpha) * np.maximum(-distance, 0)
    assert (terms <= 1e-4 * task.bound).all()


def beyond_edge(task) -> np.ndarray:
    """How far a sample is on the side of the edge that costs nothing."""
    if task.loss.is_of_residual:
        return task.epsilon - np.abs(task.position)
    return task.position - task.edges[0]


def check_sums(model, task, weight) -> None:
    scale = task.alpha.sum() + 1e-300
    positive, negative = task.beta[task.y > 0].sum(), task.beta[task.y < 0].sum()
    if isinstance(model, mercer.OneClassSVM):
        total = model.nu * (np.ones(len(task.rows)) if weight is None else weight[task.rows]).sum()
        assert task.beta.sum() == pytest.approx(total, rel=1e-9)
    elif isinstance(model, mercer.NuSVC):  # ν Σ bound / 2 of each class, bounds being s/ρ
        half = model.nu * task.bound.sum() / 2
        assert positive == pytest.approx(half, rel=1e-9)
        assert negative == pytest.approx(-half, rel=1e-9)
    elif isinstance(model, (mercer.PegasosClassifier, mercer.PegasosRegressor)):
        assert not task.is_stored
    elif not model.fit_intercept or getattr(model, "intercept_scaling", None) is not None:
        assert abs(task.beta.sum()) > 1e-6 * scale  # the sum is not constrained
    else:
        assert abs(task.beta.sum()) <= 1e-9 * scale


@pytest.mark.parametrize("estimator", [*KERNEL[:3], *LINEAR[:2], *LINEAR[5:]], ids=str)
def test_w_is_the_sum_of_the_duals(estimator):
    """w = Σ β x, at the optimum."""
    rows, target = data_of(estimator)
    if estimator in KERNEL:
        estimator = mercer.SVC(kernel="linear", tol=1e-9)
    model = estimator.fit(rows, target)
    (task,) = model.dual_view(rows, target)
    scale = np.linalg.norm(model.coef_)
    assert np.allclose(task.beta @ rows[task.rows], np.ravel(model.coef_), atol=1e-4 * scale)


@pytest.mark.parametrize(
    "estimator", [*KERNEL[:3], KERNEL[4], KERNEL[6], *KERNEL[8:], *LINEAR[:4], *LINEAR[5:]]
)
def test_loss_is_that_of_the_certificate(estimator):
    """P = ½‖w‖² + ½ (b/s)² + Σ s L, with ‖w‖² = Σ β (f − b)."""
    rows, target = data_of(estimator)
    model = estimator.fit(rows, target)
    (task,) = model.dual_view(rows, target)
    cost = task.bound
    if task.loss.is_squared:
        weights = getattr(model, "class_weight_", np.ones(2))
        cost = model.C * (1.0 if task.loss.is_of_residual else weights[target])
    primal = 0.5 * task.beta @ (task.f - task.b)
    primal += np.sum(cost * task.loss.evaluate(task.position, task.epsilon))
    if getattr(model, "intercept_scaling", None) is not None:
        primal += 0.5 * (task.b / model.intercept_scaling) ** 2
    assert primal == pytest.approx(model.certificate_.primal, rel=1e-5)


# The others are functions of the scores of all classes.
OF_MARGINS = [loss for loss in Loss if loss not in (Loss.MULTICLASS_HINGE, Loss.MULTINOMIAL)]


@pytest.mark.parametrize("loss", OF_MARGINS)
def test_negative_gradient_is_that_of_the_value(loss):
    """By central differences, away from the kinks at 0, ±0.2 and 1."""
    f, step = np.array([-2.3, -0.7, 0.1, 0.6, 1.4]), 1e-6
    for y in [1.0] if loss is Loss.ONE_CLASS else [-1.0, 1.0]:

        def value(f, y=y):
            return loss.evaluate(y - f if loss.is_of_residual else y * f, 0.2)

        slope = (value(f + step) - value(f - step)) / (2 * step)
        gradient = loss.negative_gradient(np.full(5, y), f, np.ones(5), 0.2)
        assert np.allclose(gradient, -slope, atol=1e-6)


def test_edge_of_nu_svr_leaves_at_most_nu_outside():
    model = mercer.NuSVR(nu=0.3, tol=1e-10).fit(LINE, SINE)
    (task,) = model.dual_view(LINE, SINE)
    outside = np.mean(np.abs(task.position) > task.epsilon + 1e-6)
    support = np.mean(np.abs(task.position) >= task.epsilon - 1e-6)
    assert outside <= 0.3 <= support


def test_groups_count_as_the_certificate_does():
    model = mercer.SVC(class_weight="balanced").fit(IRIS, SPECIES)
    counts = [np.bincount(t.kkt_group, minlength=3) for t in model.dual_view(IRIS, SPECIES)]
    for found, proof in zip(counts, model.certificate_.tasks, strict=True):
        assert found.tolist() == [proof.n_zero, proof.n_free, proof.n_bound]
    assert [task.name for task in model.dual_view(IRIS, SPECIES)] == ["0 / 1", "0 / 2", "1 / 2"]
    assert tuple(KKTGroup) == (ZERO, FREE, BOUND)


def test_forms_of_samples():
    K = X @ X.T
    matrix = mercer.SVC(kernel="precomputed").fit(K, y)
    plain = mercer.SVC(kernel="linear").fit(X, y)
    sparse = mercer.SVC(kernel="linear").fit(sp.csr_matrix(X), y)
    first, second, third = (
        model.dual_view(given, y)[0]
        for model, given in ((matrix, K), (plain, X.tolist()), (sparse, sp.csr_matrix(X)))
    )
    assert np.allclose(first.f, second.f, atol=1e-2)
    assert np.allclose(first.f, third.f, atol=1e-2)
    words = ["ab", "abc", "b", "bc"]
    strings = mercer.SVC(
        kernel=lambda A, B: np.array([[len(set(a) & set(b)) for b in B] for a in A])
    )
    (task,) = strings.fit(words, [0, 0, 1, 1]).dual_view(words, [0, 0, 1, 1])
    assert task.rows.tolist() == [0, 1, 2, 3]


def test_refusals():
    model = mercer.SVC().fit(X, y)
    assert is_fitted_on(model, X)
    assert not is_fitted_on(model, X[::-1])
    for call, message in (
        (lambda: model.dual_view(X[:50], y[:50]), "not what SVC was fitted on"),
        (lambda: model.dual_view(X, y[:50]), "one entry for each of 90 rows"),
        (lambda: model.dual_view(X), "targets of SVC, got None"),
        (lambda: model.dual_view(X, y + 5), "labels SVC does not know"),
        (lambda: model.dual_view(X, y, [1.0]), "90 entries"),
        (lambda: mercer.SVC().dual_view(X, y), "not fitted"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
