"""What was seen to go wrong, with other seeds, sizes and constants, against exact arithmetic.

Fits run in a process of their own: one that does not return fails its test, and the others go on.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("flint")

from sklearn.base import clone
from sklearn.datasets import load_iris

import mercer
from mercer._result import Status
from mercer.exceptions import ConvergenceWarning, NotSeparableError
from mercer.kernels import RBF, Linear
from tests.soundness.check import judge_machine
from tests.soundness.exact import Rows, kernel_sums, rational
from tests.soundness.fitter import Fitter
from tests.soundness.generator import Problem
from tests.soundness.machines import read_tasks
from tests.soundness.oracle import examine
from tests.soundness.others import judge_other
from tests.soundness.separable import is_separable

LIMIT = 2.0


@pytest.fixture(scope="module")
def fitter():
    with Fitter() as fitter:
        yield fitter


def judge(model, X, y=None, weight=None):
    """Everything that the exact values contradict; what the oracle cannot decide does not count."""
    params = tuple(model.get_params(deep=False).items())
    p = Problem(0, type(model).__name__, params, X.shape[0], X.shape[1], (), "")
    found = (judge_machine if p.is_svm else judge_other)(p, model, X, y, weight)
    return [str(failure) for failure in found if failure.kind != "undecided"]


def draw(seed, n, d, classes=2):
    """Normal rows, and labels by the first column with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score), rng


# ---------------------------------------------------------------------- fits that never returned


@pytest.mark.parametrize(("C", "gamma"), [(1e8, 1e-4), (3e7, 3e-4), (1e9, 1e-5)])
def test_large_C_returns_in_its_time(fitter, C, gamma):
    X, y = load_iris(return_X_y=True)
    model, seconds = fitter.fit(mercer.SVC(C=C, gamma=gamma, time_limit=LIMIT), X, y)
    assert seconds <= LIMIT + 1
    assert judge(model, X, y) == []


@pytest.mark.parametrize(("seed", "n", "d"), [(0, 150, 4), (1, 300, 5), (2, 900, 4), (3, 1500, 5)])
def test_a_column_of_years_returns_in_its_time(fitter, seed, n, d):
    X, y, rng = draw(seed, n, d, classes=3)
    X[:, d - 1] = 2005 + rng.integers(-5, 6, n)
    model, seconds = fitter.fit(mercer.SVC(kernel="linear", time_limit=LIMIT), X, y)
    assert seconds <= LIMIT + 1
    assert judge(model, X, y) == []


@pytest.mark.parametrize(
    ("seed", "n", "offset", "tol"),
    [
        (0, 12, 1e6, 1e-6),
        (1, 12, 1e6, 1e-6),
        (2, 20, 3e5, 1e-7),
        (3, 8, 1e8, 1e-3),
        (4, 15, 1e7, 1e-5),
    ],
)
def test_offset_rows_return_without_a_limit(fitter, seed, n, offset, tol):
    X, y, _ = draw(seed, n, 3)
    X = X + offset
    model, _ = fitter.fit(mercer.SVC(kernel="linear", tol=tol), X, y)
    assert judge(model, X, y) == []


@pytest.mark.parametrize("seed", range(4))
def test_hard_margins_with_a_tiny_column_return(fitter, seed):
    """The separating column is 1e-7 of the others."""
    X, _, rng = draw(seed, 6 + 2 * seed, 3)
    y = np.arange(len(X)) % 2
    X[:, 0] = np.where(y == 1, 1e-7, -1e-7) * rng.uniform(0.5, 1.5, len(X))
    model, _ = fitter.fit(mercer.SVC(C=np.inf, kernel="linear"), X, y)
    assert judge(model, X, y) == []


# ---------------------------------------------------------------------- gaps that were no bounds


@pytest.mark.parametrize(
    ("seed", "n", "d", "moved", "by", "gamma"),
    [(0, 2600, 20, 3, 1e4, 0.05), (1, 2200, 15, 4, 8e3, 0.05), (2, 1800, 10, 2, 3e5, 0.1),
     (3, 2000, 6, 5, 1e6, 0.3)],
)  # fmt: skip
def test_a_few_far_rows_among_many(fitter, seed, n, d, moved, by, gamma):
    X, y, rng = draw(seed, n, d)
    X[rng.choice(n, moved, replace=False)] += by
    model, _ = fitter.fit(mercer.SVC(C=1.0, gamma=gamma, time_limit=15.0), X, y, seconds=40)
    assert judge(model, X, y) == []


@pytest.mark.parametrize("shrinking", [True, False])
def test_rows_of_large_norm(fitter, shrinking):
    X, y, rng = draw(5, 2200, 12)
    X[rng.choice(len(X), 10, replace=False)] *= 1000
    machine = mercer.SVC(C=10.0, gamma=0.5, shrinking=shrinking, time_limit=15.0)
    model, _ = fitter.fit(machine, X, y, seconds=40)
    assert judge(model, X, y) == []


@pytest.mark.parametrize(("seed", "n", "d", "by"), [(0, 1700, 40, 1e5), (1, 2000, 14, 1e6)])
def test_predictions_do_not_contradict_decision_values(fitter, seed, n, d, by):
    """Many support vectors, so that predictions are computed in float32 where that is safe."""
    X, y, rng = draw(seed, n, d)
    X[rng.choice(n, 10, replace=False)] += by
    model, _ = fitter.fit(mercer.SVC(gamma=0.02, time_limit=15.0), X, y, seconds=40)
    assert judge(model, X, y) == []
    near = X + 1e-3 * rng.normal(size=X.shape)
    values = model.decision_function(near)
    contradicted = (model.predict(near) == 1) != (values > 0)
    assert not (contradicted & (np.abs(values) > 1e-9 * np.abs(values).max())).any()


@pytest.mark.parametrize(
    ("seed", "n", "d", "offset", "C"),
    [(0, 30, 3, 1e6, 100.0), (1, 30, 3, 1e6, 100.0), (2, 40, 4, 3e5, 50.0), (3, 25, 2, 1e7, 10.0),
     (4, 50, 5, 1e5, 1e3)],
)  # fmt: skip
def test_rounding_of_offset_rows_is_part_of_the_gap(fitter, seed, n, d, offset, C):
    X, y, _ = draw(seed, n, d)
    X = X + offset
    model, _ = fitter.fit(mercer.SVC(kernel="linear", C=C, time_limit=LIMIT), X, y)
    assert judge(model, X, y) == []


# ---------------------------------------------------------------------- far clusters


@pytest.mark.parametrize("far", [1e7, 1e8, 1e9])
@pytest.mark.parametrize(
    "machine",
    [
        mercer.KernelRidge(alpha=1e-2, kernel="rbf", gamma=0.5),
        mercer.SVC(gamma=0.5),
        mercer.SVR(gamma=0.5),
        mercer.NuSVC(gamma=0.5, nu=0.3),
        mercer.OneClassSVM(gamma=0.5, nu=0.3),
        mercer.KernelPCA(2, kernel="rbf", gamma=0.5),
        mercer.KernelKMeans(2, gamma=0.5, random_state=0),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_far_clusters_do_not_spoil_near_distances(fitter, machine, far):
    """k(x, x) is 1 and near rows are near, however far the other half is."""
    X, labels, _ = draw(11, 24, 3)
    X[::2] += far
    y = {"KernelRidge": X[:, 0] % 1.0, "SVR": np.sin(np.arange(24.0))}.get(
        type(machine).__name__, labels
    )
    model, _ = fitter.fit(clone(machine), X, y)
    assert judge(model, X, y) == []


@pytest.mark.parametrize("far", [1e6, 1e9, 1e12])
@pytest.mark.parametrize(
    "machine",
    [
        mercer.KernelRidge(alpha=1e-3, kernel="laplacian", gamma=0.5),
        mercer.SVC(kernel="laplacian", gamma=0.5, tol=1e-8),
        mercer.OneClassSVM(kernel="laplacian", gamma=0.5, nu=0.3, tol=1e-8),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_absolute_differences_are_those_of_the_rows_as_given(fitter, machine, far):
    """Rows less the middle of two far clusters have lost their digits."""
    X, labels, _ = draw(13, 24, 2)
    X[::2] += far
    y = np.sin(np.arange(24.0)) if isinstance(machine, mercer.KernelRidge) else labels
    model, _ = fitter.fit(clone(machine), X, y)
    assert judge(model, X, y) == []
    support = getattr(model, "support_", np.arange(24)).tolist()
    coef = [rational(v) for v in np.ravel(model.dual_coef_)]
    exact = kernel_sums(model.kernel_, Rows(X), range(24), support, [coef])[0]
    b = float(np.ravel(getattr(model, "intercept_", 0.0))[0])
    said = model.expansion_(X).ravel()
    np.testing.assert_allclose(said, [float(v) + b for v in exact], atol=1e-11)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", [RBF(0.1) + 0.4 * Linear(), 2.0 * Linear()], ids=repr)
def test_coefficients_that_do_not_sum_to_zero_are_part_of_predictions(fitter, kernel, seed):
    """ν-SVR publishes differences of two duals: of tiny ones the sum is far from zero."""
    X, _, rng = draw(seed, 2 + seed, 5)
    X = 1e5 * X + 6e7
    y = rng.normal(size=len(X))
    model, _ = fitter.fit(mercer.NuSVR(C=3.0, nu=0.1, kernel=kernel, time_limit=LIMIT), X, y)
    assert judge(model, X, y) == []


def test_ridge_predicts_what_it_was_shown(fitter):
    """A constant target, tiny α, half of the rows 1e9 away: the prediction is near the target."""
    X, _, _ = draw(12, 20, 2)
    X[::2] += 1e9
    y = np.full(20, 1.35)
    model, _ = fitter.fit(mercer.KernelRidge(alpha=1e-6, kernel="rbf", gamma=1.0), X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-3)


# ---------------------------------------------------------------------- hard margins


SEPARABLE = [
    *((f"tiny column {seed}", seed, 0.0, 10.0 ** -(5 + seed % 4)) for seed in range(8)),
    *(
        (f"mean 1e{power} {seed}", seed, 10.0**power, 1.0)
        for seed in range(4)
        for power in (6, 7, 8)
    ),
]


@pytest.mark.parametrize(
    ("name", "seed", "offset", "width"), SEPARABLE, ids=[s[0] for s in SEPARABLE]
)
def test_separable_classes_are_not_called_inseparable(fitter, name, seed, offset, width):
    rng = np.random.default_rng(100 + seed)
    n = 3 + 2 * seed
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2))
    X[:, 0] = width * (np.where(y == 1, 1.0, -1.0) + 0.9 * rng.uniform(-1, 1, n))
    X = X + offset
    assert is_separable(
        mercer.kernels.Linear(), Rows(X), list(range(n)), (2 * y - 1).tolist(), True
    )
    model, _ = fitter.fit(mercer.SVC(C=np.inf, kernel="linear", time_limit=LIMIT), X, y)
    assert judge(model, X, y) == []
    if model.certificate_.status is Status.SOLVED:
        assert np.isfinite(model.certificate_.primal)


def test_three_points(fitter):
    X = np.array([[9e-8, -1.9], [9e-8, 1.1], [-9e-8, 0.5]])
    model, _ = fitter.fit(mercer.SVC(C=np.inf, kernel="linear", time_limit=LIMIT), X, [1, 1, -1])
    assert judge(model, X, np.array([1, 1, -1])) == []


@pytest.mark.parametrize("seed", range(4))
def test_inseparable_classes_are_proved_so(fitter, seed):
    """A row of one class is the mean of rows of the other, in numbers that float64 holds."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, size=(10, 3)).astype(float) * 10.0 ** (seed - 1)
    X[0] = (X[1] + X[2]) / 2
    y = np.array([1, 0, 0, *rng.integers(0, 2, 7)])
    with pytest.raises(NotSeparableError) as error:
        fitter.fit(mercer.SVC(C=np.inf, kernel="linear", time_limit=LIMIT), X, y)
    weights = error.value.weights
    assert weights[weights > 0].sum() == pytest.approx(1)
    np.testing.assert_allclose(weights @ X, 0, atol=1e-9 * np.abs(X).max())


# ---------------------------------------------------------------------- details


@pytest.mark.parametrize("scale", [1e-9, 1e-12])
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_margins_of_small_rows_are_those_of_the_model(fitter, scale, C):
    """2/‖w‖ with ‖w‖² = βᵀKβ in exact arithmetic."""
    X, y, _ = draw(21, 30, 3)
    X = X * scale
    model, _ = fitter.fit(mercer.SVC(kernel="linear", C=C, time_limit=LIMIT), X, y)
    quad = examine(read_tasks(model, y, None, 30)[0], model.kernel_, Rows(X)).quad
    margin = 2 / float(quad.sqrt())
    assert model.margin_[0] == pytest.approx(margin, rel=1e-6)
    np.testing.assert_allclose(
        model.distance(X), model.decision_function(X) * margin / 2, rtol=1e-6, atol=0
    )


def test_bias_interval_with_everything_at_the_bound():
    """Two rows at ±1, C = ¼ for both: w = ½, every |b| ≤ ½; with C → 0 it is [−1, 1]."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
    for C, end in ((0.25, 0.5), (2.0**-20, 1 - 2.0**-19)):
        low, high = mercer.SVC(kernel="linear", C=C).fit(X, y).certificate_.bias_interval
        assert low == pytest.approx(-end, abs=1e-12)
        assert high == pytest.approx(end, abs=1e-12)


@pytest.mark.parametrize("size", [1e6, 1e7])
def test_ridge_with_a_constant_column_says_what_it_reached(size):
    X, _, rng = draw(22, 40, 3)
    X[:, 0] = size
    y = rng.normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mercer.KernelRidge(alpha=1e-3).fit(X, y)
    assert judge(model, X, y) == []


@pytest.mark.parametrize("row", [(1.0, 2.0, 3.0), (1e6, 1e-3, 7.0), (0.1, 0.1, 0.1)])
@pytest.mark.parametrize("n", [3, 6])
def test_equal_rows_are_positive_semidefinite(fitter, row, n):
    X = np.tile(row, (n, 1))
    y = np.arange(n) % 2
    model, _ = fitter.fit(mercer.SVC(kernel="linear", time_limit=LIMIT), X, y)
    assert model.certificate_.status is not Status.NOT_PSD
    assert judge(model, X, y) == []


# ---------------------------------------------------------------------- weak, though honest


@pytest.mark.parametrize(("seed", "mean"), [(0, 300.0), (1, -500.0)])
def test_many_rows_with_a_mean_are_solved(fitter, seed, mean):
    X, y, _ = draw(seed, 2000, 4)
    X[:, 1] += mean
    model, _ = fitter.fit(mercer.SVC(kernel="linear", time_limit=20.0), X, y, seconds=40)
    assert model.certificate_.status is Status.SOLVED
    assert judge(model, X, y) == []


@pytest.mark.parametrize("seed", range(2))
def test_several_classes_reach_a_small_tolerance(fitter, seed):
    X, y, _ = draw(seed, 240, 4, classes=3)
    machine = mercer.SVC(kernel="linear", C=100.0, tol=1e-6, time_limit=10.0)
    model, _ = fitter.fit(machine, X, y, seconds=30)
    assert model.certificate_.kkt_violation <= 1e-6
    assert judge(model, X, y) == []


@pytest.mark.parametrize("scale", [1e-20, 1e-15, 1e12, 1e16, 1e20])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_scales_are_taken(fitter, scale, kernel):
    """scikit-learn fits these; with gamma="scale" the model is that of the rows as they were."""
    X, y, _ = draw(31, 40, 3)
    machine = mercer.SVC(kernel=kernel, time_limit=LIMIT)
    model, _ = fitter.fit(machine, X * scale, y)
    assert judge(model, X * scale, y) == []
    if kernel == "rbf":
        same, _ = fitter.fit(mercer.SVC(time_limit=LIMIT), X, y)
        np.testing.assert_array_equal(model.predict(X * scale), same.predict(X))


# ---------------------------------------------------------------------- ν-SVC at ρ = 0


@pytest.mark.parametrize(("seed", "n", "nu"), [(0, 150, 0.3), (1, 150, 0.1), (2, 80, 0.2)])
def test_nu_too_small_has_a_status_of_its_own(fitter, seed, n, nu):
    """The hulls of the reduced classes meet: P* = 0, and no direction is better than another."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    model, _ = fitter.fit(mercer.NuSVC(nu=nu, kernel="linear", tol=1e-8, time_limit=LIMIT), X, y)
    assert not model.certificate_.status.is_solved
    assert judge(model, X, y) == []
