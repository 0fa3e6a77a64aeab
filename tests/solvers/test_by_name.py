"""Solvers × problems × kernels × dense and CSR: one table; and what each solver has of its own."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import SVC, SVR, NotSeparableError, NuSVC, NuSVR, OneClassSVM
from mercer._result import Status
from mercer.certificates._box_qp import certify
from mercer.kernels import RBF, Linear, Precomputed, Sigmoid
from mercer.kernels._base import Kernel
from mercer.problems import svc
from mercer.problems._dual_qp import BoxQP
from mercer.solvers import SMO, Stopping
from mercer.solvers._coordinate_ascent import CoordinateAscent
from mercer.solvers._interior_point import QP, QPPrimal
from mercer.solvers._platt import Platt
from mercer.solvers._projected_gradient import PlainProjectedGradient, ProjectedGradient
from mercer.solvers._registry import NAMES
from mercer.solvers.pegasos import Pegasos
from mercer.solvers.pegasos._rows import KernelRows
from mercer.solvers.pegasos._state import LossInterval, PegasosState
from tests.solvers.conformance import ONE_GROUP, TWO_GROUPS, WITHOUT, SolverConformance
from tests.solvers.small import make_data, make_gram

ALL = WITHOUT + ONE_GROUP + TWO_GROUPS


class TestSMO(SolverConformance):
    solver, problems = SMO(), ALL


class TestPlatt(SolverConformance):
    solver, problems = Platt(), ONE_GROUP


class TestQP(SolverConformance):
    solver, problems = QP(), ALL


class TestQPPrimal(SolverConformance):
    solver, problems = QPPrimal(), ALL


class TestProjectedGradient(SolverConformance):
    solver, problems = ProjectedGradient(), WITHOUT


class TestPlainProjectedGradient(SolverConformance):
    solver, problems, exact = PlainProjectedGradient(), WITHOUT, False


class TestCyclicAscent(SolverConformance):
    solver, problems = CoordinateAscent(), WITHOUT


class TestGreedyAscent(SolverConformance):
    solver, problems = CoordinateAscent(order="greedy"), WITHOUT


class TestPegasos(SolverConformance):
    solver, problems, exact = Pegasos(tol=5e-3, most_epochs=300), WITHOUT[:1], False


class TestPegasosInBatches(SolverConformance):
    solver = Pegasos(tol=2e-2, batch_size=5, project=True, seed=1, most_epochs=300)
    problems, exact = WITHOUT[:1], False


WITH_INTERCEPT = ["smo", "platt", "qp", "qp-primal"]
EXACT = [name for name in NAMES if name != "pegasos"]
TWO = np.array([[0.0, 1.0], [0.0, -1.0]])
LABELS = np.array([1, -1])


# ---------------------------------------------------------------------- worked numbers


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("C", [0.5, 1.0, np.inf])
def test_two_points(solver, C):
    """α = ½ each, w = (0, 1), and b = 0 where there is one."""
    intercept = solver in WITH_INTERCEPT
    model = SVC(kernel="linear", C=C, tol=1e-9, solver=solver, fit_intercept=intercept)
    model.fit(TWO, LABELS)
    if intercept:  # without, any α₁ + α₂ = 1 in the box gives the same w
        assert_allclose(np.sort(model.dual_coef_[0]), [-0.5, 0.5], atol=1e-8)
    assert_allclose(model.coef_, [[0, 1]], atol=1e-8)
    assert_allclose(model.intercept_, [0], atol=1e-8)
    assert model.certificate_.primal == pytest.approx(0.5)


@pytest.mark.parametrize("solver", WITH_INTERCEPT)
def test_two_points_with_a_small_c(solver):
    """C = ¼: both at the bound, w = (0, ½), and any b in [−½, ½]."""
    model = SVC(kernel="linear", C=0.25, tol=1e-9, solver=solver).fit(TWO, LABELS)
    assert_allclose(np.sort(model.dual_coef_[0]), [-0.25, 0.25])
    assert_allclose(model.coef_, [[0, 0.5]])
    assert_allclose(model.certificate_.bias_interval, (-0.5, 0.5), atol=1e-9)
    assert model.certificate_.n_bound == 2


def test_coordinate_ascent_walks_the_path_of_the_notes():
    """W(α) = −2α₁² − α₂² − α₁α₂: α₁ ← −α₂/4, α₂ ← −α₁/2, in turn, to 0."""
    K = np.array([[4.0, 1.0], [1.0, 2.0]])
    free = np.full(2, np.inf)
    problem = BoxQP(np.zeros(2), -free, free, np.array([1.0, 1.0]))
    gram = make_gram(Precomputed(), K)
    a1, a2 = 1.0, 1.0
    for steps in range(1, 7):
        if steps % 2:
            a1 = -a2 / 4
        else:
            a2 = -a1 / 2
        result = CoordinateAscent(tol=1e-15, max_iter=steps).solve(problem, gram, Stopping())
        assert_allclose(result.beta, [a1, a2], rtol=1e-14)
    end = CoordinateAscent(tol=1e-12).solve(problem, gram, Stopping())
    assert_allclose(end.beta, 0, atol=1e-12)
    # Greedy: the gain e²/(2K_ii) is 25/8 along α₁ and 9/4 along α₂, so α₁ moves first.
    first = CoordinateAscent(tol=1e-15, max_iter=1, order="greedy")
    assert_allclose(first.solve(problem, gram, Stopping()).beta, [-0.25, 1.0])


@pytest.mark.parametrize("steps", [1, 2, 5, 20])
def test_plain_gradient_steps_contract_by_their_eigenvalues(steps):
    """Within the box step k leaves (1 − λ/L)ᵏ of each eigenvector, L the largest eigenvalue."""
    K, target = np.diag([4.0, 1.0, 2.0]), np.array([1.0, -2.0, 3.0])
    wide = np.full(3, 100.0)
    problem, gram = BoxQP(target, -wide, wide, np.zeros(3)), make_gram(Precomputed(), K)
    solver = PlainProjectedGradient(tol=1e-15, max_iter=steps, power_steps=40)  # L to rounding
    left = (1 - np.diag(K) / 4.0) ** steps
    expected = target / np.diag(K) * (1 - left)
    assert_allclose(solver.solve(problem, gram, Stopping()).beta, expected, rtol=1e-9)
    same = ProjectedGradient(tol=1e-15, max_iter=steps, accelerated=False, power_steps=40)
    assert_allclose(same.solve(problem, gram, Stopping()).beta, expected, rtol=1e-9)
    # With a tight box a step is clipped: K is diagonal, so the optimum is the clipped one.
    tight = BoxQP(target, -wide / 100, wide / 100, np.zeros(3))
    end = PlainProjectedGradient(tol=1e-12).solve(tight, gram, Stopping())
    assert_allclose(end.beta, np.clip(target / np.diag(K), -1, 1), atol=1e-12)


def test_acceleration_takes_fewer_steps():
    X, y, t, _ = make_data(80)
    names = ("projected-gradient-plain", "projected-gradient")
    for name in names:
        assert SVR(solver=name, fit_intercept=False).fit(X, t).certificate_.status.is_solved
    plain, fast = (SVC(solver=n, fit_intercept=False, tol=1e-6).fit(X, y) for n in names)
    assert plain.certificate_.primal == pytest.approx(fast.certificate_.primal, rel=1e-6)
    assert fast.n_iter_[0] < plain.n_iter_[0]


def test_lambda_of_pegasos():
    """One step from w = 0 adds yx/λ, and λ = 1/(nC): with n = 2 and C = 1, twice the point."""
    gram = make_gram(Linear(), np.array([[1.0, 0.0], [0.0, 1.0]]))
    problem = svc(np.array([1.0, -1.0]), 1.0, fit_intercept=False)
    state = PegasosState(1 / 2, 2)
    rows, interval = KernelRows(gram.matrix()), LossInterval.hinge(problem.target)
    state.reset_signs(2)
    rows.run(interval, np.ones(2), np.array([0]), state)
    assert_allclose(state.coef(average=False), [2, 0])
    # Step 2 halves it and adds 1/(2λ) = 1 of the second point, which is within the margin.
    rows.run(interval, np.ones(2), np.array([1]), state)
    assert_allclose(state.coef(average=False), [1, -1])
    assert_allclose(state.coef(average=True), (1 * np.array([2, 0]) + 2 * np.array([1, -1])) / 3)
    # The ball has radius 1/√λ = √2.
    projected = PegasosState(1 / 2, 2, project=True)
    projected.reset_signs(2)
    rows.run(interval, np.ones(2), np.array([0]), projected)
    assert_allclose(projected.coef(average=False), [np.sqrt(2), 0])


# ---------------------------------------------------------------------- Platt, step by step


def test_platt_shows_its_steps():
    (step,) = Platt().steps(svc(LABELS.astype(float), 1.0), make_gram(Linear(), TWO))
    assert {step.i, step.j} == {0, 1}
    assert step.eta == 4
    assert step.alpha_interval == (0, 1)
    assert sorted(step.after) == [-0.5, 0.5]
    assert step.b == 0


def test_steps_of_platt_add_up_to_its_answer():
    """Each step keeps the sum and the interval, raises the dual value, and starts at the last."""
    X, y, *_ = make_data(60)
    problem, gram = svc(y, 1.5), make_gram(RBF(gamma=0.4), X)
    K, beta, dual = gram.matrix(), np.zeros(60), 0.0
    for step in Platt().steps(problem, gram):
        pair = [step.i, step.j]
        assert_allclose(beta[pair], step.before, atol=1e-15)
        assert sum(step.after) == pytest.approx(sum(step.before), abs=1e-12)
        assert step.low <= step.after[1] <= step.high
        assert step.alpha_interval[0] <= abs(step.after[1]) <= step.alpha_interval[1]
        beta[pair] = step.after
        before, dual = dual, y @ beta - beta @ K @ beta / 2
        assert dual > before - 1e-12
    assert_allclose(beta, Platt().solve(problem, gram, Stopping()).beta)
    assert dual == pytest.approx(certify(problem, SMO().solve(problem, gram, Stopping())).dual,
                                 rel=1e-4)  # fmt: skip


def test_eta_zero_walks_to_the_better_end():
    """The same point with both labels: η = 0, D = 2δ grows to the bound, α = C for both."""
    problem, gram = svc(np.array([1.0, -1.0]), 0.7), make_gram(Linear(), np.ones((2, 1)))
    (step,) = Platt().steps(problem, gram)
    assert step.eta == 0
    assert_allclose(sorted(step.after), [-0.7, 0.7])
    assert Platt().solve(problem, gram, Stopping()).status is Status.SOLVED


def test_eta_below_zero_walks_to_an_end_and_says_so():
    K = np.array([[1.0, 3.0], [3.0, 1.0]])
    result = Platt().solve(svc(np.array([1.0, -1.0]), 0.7), make_gram(Precomputed(), K), Stopping())
    assert result.status is Status.NOT_PSD
    assert_allclose(sorted(result.beta), [-0.7, 0.7])


# ---------------------------------------------------------------------- hard margins


@pytest.mark.parametrize("solver", EXACT)
def test_hard_margin_that_is_impossible(solver):
    """The diagonals of a square cross: a point in both hulls is the proof."""
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    y = np.array([1, 1, -1, -1])
    intercept = solver in WITH_INTERCEPT
    if not intercept:  # through the origin: a point and its opposite of one class
        X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(NotSeparableError) as caught:
        SVC(kernel="linear", C=np.inf, solver=solver, fit_intercept=intercept).fit(X, y)
    weights = caught.value.weights
    assert np.all(weights * y >= 0)
    assert np.abs(weights).sum() > 0.9
    assert_allclose(weights @ X, 0, atol=1e-6)


@pytest.mark.parametrize("solver", ["qp", "qp-primal"])
def test_a_tube_that_is_too_narrow(solver):
    """Three points on a line in one column and one off it: no line is within 0.1 of all."""
    X, t = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 9.0])
    settings = {"kernel": "linear", "C": np.inf, "solver": solver}
    with pytest.raises(ValueError, match="larger epsilon"):
        SVR(epsilon=0.1, **settings).fit(X, t)
    assert np.abs(SVR(epsilon=3.0, **settings).fit(X, t).predict(X) - t).max() <= 3 + 1e-6


# ---------------------------------------------------------------------- estimators


@pytest.mark.parametrize("solver", ["qp", "qp-primal"])
@pytest.mark.parametrize("estimator", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_all_faces(solver, estimator):
    X, y, t, _ = make_data(60)
    target = t if "SVR" in estimator.__name__ else y
    mine = estimator(solver=solver, tol=1e-8).fit(X, target)
    theirs = estimator(tol=1e-8).fit(X, target)
    assert mine.solver_.name == solver
    assert mine.certificate_.primal == pytest.approx(theirs.certificate_.primal, rel=1e-6)
    of = "predict" if "SVR" in estimator.__name__ else "decision_function"
    assert_allclose(getattr(mine, of)(X), getattr(theirs, of)(X), atol=1e-5)


@pytest.mark.parametrize("solver", [n for n in NAMES if n != "pegasos"])
def test_several_classes_and_a_warm_start(solver):
    X, _, t, _ = make_data(80)
    labels = np.digitize(t, [-0.5, 0.5])
    intercept = solver in WITH_INTERCEPT
    model = SVC(solver=solver, fit_intercept=intercept, tol=1e-6, warm_start=True).fit(X, labels)
    smo = SVC(fit_intercept=intercept, tol=1e-6).fit(X, labels)
    assert model.certificate_.primal == pytest.approx(smo.certificate_.primal, rel=1e-6)
    assert len(model.certificate_.tasks) == 3
    model.set_params(tol=1e-5).fit(X, labels)
    assert np.all(model.n_iter_ == 0)


def test_auto_says_what_it_chose():
    X, y, *_ = make_data(60)
    assert repr(SVC().fit(X, y).solver_).startswith("smo: the kernel matrix of 60 variables")
    assert repr(SVC(solver="platt").fit(X, y).solver_) == "platt: asked for"
    X, y, *_ = make_data(1600)
    chosen = SVC(tol=0.5).fit(X, y).solver_
    assert chosen.name == "smo"
    assert "1,600 variables are more than" in chosen.reason


def test_solver_objects():
    X, y, *_ = make_data(60)
    greedy = CoordinateAscent(order="greedy")
    model = SVC(solver=greedy, fit_intercept=False, tol=1e-6).fit(X, y)
    assert "greedy" in repr(model.solver_)
    cyclic = SVC(solver="coordinate-ascent", fit_intercept=False, tol=1e-6).fit(X, y)
    assert model.certificate_.primal == pytest.approx(cyclic.certificate_.primal, rel=1e-6)
    assert model.n_iter_[0] != cyclic.n_iter_[0]
    with pytest.raises(ValueError, match=r"tol=0\.5 of .* contradicts the estimator's tol=0\.001"):
        SVC(solver=CoordinateAscent(tol=0.5), fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="'solver' parameter of SVC"):
        SVC(solver="magic").fit(X, y)
    with pytest.raises(ValueError, match="order must be"):
        CoordinateAscent(order="random")


@pytest.mark.parametrize(
    ("estimator", "change", "missing"),
    [
        (SVC, {"solver": "projected-gradient"}, "Set fit_intercept=False"),
        (SVC, {"solver": "coordinate-ascent"}, "Set fit_intercept=False"),
        (SVC, {"solver": "pegasos"}, "Set fit_intercept=False"),
        (SVC, {"solver": "pegasos", "fit_intercept": False, "C": np.inf}, "finite C"),
        (SVR, {"solver": "pegasos", "fit_intercept": False}, "regression"),
        (SVC, {"solver": "platt", "fit_intercept": False}, "coordinate-ascent"),
        (NuSVC, {"solver": "platt"}, "two equality constraints"),
        (OneClassSVM, {"solver": "projected-gradient"}, "Set fit_intercept=False"),
    ],
)
def test_refusals_name_solver_estimator_and_what_is_missing(estimator, change, missing):
    X, y, *_ = make_data(30)
    start = f"solver='{change['solver']}' cannot solve the problem of {estimator.__name__}: "
    with pytest.raises(ValueError, match=start) as caught:
        estimator(**change).fit(X, y)
    assert missing in str(caught.value)


@pytest.mark.parametrize(
    "solver", ["qp", "qp-primal", "projected-gradient", "projected-gradient-plain"]
)
def test_indefinite_kernels_are_refused(solver):
    X, y, *_ = make_data(30)
    intercept = solver in WITH_INTERCEPT
    settings = {"solver": solver, "fit_intercept": intercept}
    with pytest.warns(UserWarning, match="semidefinite"):
        kernel = Sigmoid(gamma=1.0, coef0=1.0)
    assert isinstance(kernel, Kernel)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        SVC(kernel=kernel, **settings).fit(X, y)
    if intercept:
        A = np.random.default_rng(0).normal(size=(30, 30))
        with pytest.raises(ValueError, match="eigenvalue"):
            SVC(kernel="precomputed", **settings).fit(A + A.T, y)


def test_a_missing_library_names_its_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[qp\]"'):
        SVC(solver="qp").fit(TWO, LABELS)
