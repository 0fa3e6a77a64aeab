"""Certificates of linear models on hard data: against extended precision, and case by case."""

import copy
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from flint import arb, ctx
from sklearn.base import clone

import mercer
from mercer import LinearSVC, LinearSVR, LogisticRegression, Status, verify
from mercer.exceptions import ConvergenceWarning
from mercer.problems._losses import kkt_violation
from mercer.problems._regularized_loss import regression
from tests.linear import exact, hard_problems

SMOOTH = "squared_epsilon_insensitive"


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_no_claim_is_wrong(first):
    for seed in range(first, first + 20):
        hard_problems.check(seed)


@pytest.mark.parametrize("seed", [34589, 53869])
def test_the_oracle_takes_more_bits_where_its_matrix_is_singular(seed):
    hard_problems.check(seed)


@pytest.mark.parametrize("seed", range(4))
def test_a_separating_hyperplane_that_float32_cannot_store_is_not_solved(seed):
    """Its intercept is lost: the model as stored separates nothing, so its primal value is ∞."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 2, 300)
    x = rng.normal(size=300)
    score = x + 2 * steps - 1
    kept = np.abs(score) > 0.001
    X = np.column_stack([x, 1e8 + 8.0 * steps])[kept].astype(np.float32)
    with pytest.warns(ConvergenceWarning):
        model = LinearSVC(C=np.inf).fit(X, score[kept] > 0)
    proof = model.certificate_
    assert proof.primal == proof.gap == proof.relative_gap == np.inf
    assert proof.status is Status.STALLED
    assert not proof
    assert not verify(model, X, score[kept] > 0)


@pytest.mark.parametrize("seed", range(12))
def test_wrong_claims_are_found(seed, monkeypatch):
    """The oracle is no rubber stamp: a gap or a primal value that is too small is refused."""

    def spoilt(case, fitted=hard_problems._fitted):
        models = fitted(case)
        for model in models:
            proof = model.certificate_
            tasks = tuple(replace(t, primal=t.primal * (1 - 1e-9)) for t in proof.tasks)
            model.certificate_ = replace(proof, primal=proof.primal * (1 - 1e-9), tasks=tasks)
        return models

    case = hard_problems.problem(seed)
    if case["name"] == "LinearSVR" and np.ptp(case["y"]) == 0:
        return
    monkeypatch.setattr(hard_problems, "_fitted", spoilt)
    with pytest.raises(AssertionError, match="import numpy as np, mercer"):
        hard_problems.check(seed)


def test_the_oracle_brackets_the_optimum():
    ctx.prec = exact.BITS
    rng = np.random.default_rng(3)
    X = [[exact.ball(v) for v in row] for row in rng.normal(size=(12, 2))]
    signs = [1 if v > 0 else -1 for v in rng.normal(size=12)]
    for kind in ("interval", "squared", "logistic"):
        for intercept_penalty in (None, arb(0), arb(2)):
            task = {
                "kind": kind,
                "X": X,
                "cost": [arb(2)] * 12,
                "intercept_penalty": intercept_penalty,
                "y": signs,
                "low": [arb(1) if s > 0 else None for s in signs],
                "high": [None if s > 0 else arb(-1) for s in signs],
            }
            low, high = exact.optimum(task)
            assert not low > high
            assert high - low < arb(10) ** -25


# ---------------------------------------------------------------------- warm starts


def data(seed, n=120, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1), rng


MODELS = [
    LinearSVC(loss="hinge", intercept_scaling=None),
    LinearSVC(intercept_scaling=None),
    LinearSVC(dual=True, intercept_scaling=None),
    LinearSVC(loss="hinge", dual=True, intercept_scaling=None),
    LinearSVC(multi_class="crammer_singer", loss="hinge", intercept_scaling=None),
    LinearSVR(intercept_scaling=None),
    LinearSVR(loss=SMOOTH, epsilon=0.1, intercept_scaling=None),
    LogisticRegression(),
]
CHANGES = {
    "labels": lambda X, y, w, rng: (X, -y, w),
    "a few labels": lambda X, y, w, rng: (X, np.where(np.arange(len(y)) < 9, -y, y), w),
    "rows": lambda X, y, w, rng: (rng.normal(size=X.shape), y, w),
    "a column": lambda X, y, w, rng: (X * [1, 1, 4, 1, 1], y, w),
    "an offset": lambda X, y, w, rng: (X + 1e5, y, w),
    "weights": lambda X, y, w, rng: (X, y, 10 ** rng.uniform(-2, 2, len(y))),
    "fewer rows": lambda X, y, w, rng: (X[::2], y[::2], None),
    "fewer columns": lambda X, y, w, rng: (X[:, :3], y, None),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_a_warm_start_believes_nothing(estimator, change):
    X, y, rng = data(len(change))
    new = CHANGES[change](X, y, None, rng)
    warm = copy.deepcopy(estimator).set_params(warm_start=True, max_iter=-1, tol=1e-4)
    warm.fit(X, y).fit(*new)
    cold = copy.deepcopy(estimator).set_params(max_iter=-1, tol=1e-4).fit(*new)
    one, other = warm.certificate_, cold.certificate_
    assert one.status.is_solved
    assert one.dual <= other.primal  # both bound the same optimum
    assert other.dual <= one.primal
    found = verify(warm, *new)
    assert found.status.is_solved
    assert found.primal == pytest.approx(one.primal, rel=1e-9)


def test_a_warm_start_notices_another_loss_and_a_changed_array():
    X, y, _ = data(1)
    model = LinearSVC(warm_start=True).fit(X, y).set_params(loss="hinge", max_iter=-1).fit(X, y)
    assert verify(model, X, y).status.is_solved
    X[:] = X[::-1]  # in place
    model.fit(X, y)
    assert verify(model, X, y).status.is_solved
    assert model.score(X, y) < 0.9


# ---------------------------------------------------------------------- status, rounding


@pytest.mark.parametrize("seed", range(3))
def test_float32_coefficients_are_judged_as_they_are_stored(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 200)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVR(C=1e4, max_iter=-1, time_limit=10).fit(X, rng.normal(size=100))
    proof = model.certificate_
    assert model.coef_.dtype == np.float32
    assert proof.status.is_solved == (proof.relative_gap <= model.tol)
    assert not proof.status.is_solved


@pytest.mark.parametrize("loss", ["epsilon_insensitive", SMOOTH])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("target", [0.0, 3.7, -1e8])
def test_a_constant_target_is_fitted_exactly(loss, epsilon, target):
    X, _, _ = data(2)
    for params in ({}, {"dual": True}, {"warm_start": True}):
        model = LinearSVR(loss=loss, epsilon=epsilon, intercept_scaling=None, **params)
        model.fit(X, np.full(len(X), target))
        model.fit(X, np.full(len(X), target))
        proof = model.certificate_
        assert (proof.primal, proof.gap, proof.status) == (0.0, 0.0, Status.SOLVED)
        assert model.predict(X) == pytest.approx(np.full(len(X), target), abs=epsilon)
        assert verify(model, X, np.full(len(X), target)).gap == 0


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_offsets_are_solved_and_proved(estimator, offset):
    X, y, _ = data(7)
    shifted, zero = X + offset, X + offset - offset  # the same rows, up to an exact shift
    here = copy.deepcopy(estimator).set_params(max_iter=-1, tol=1e-3).fit(shifted, y).certificate_
    there = copy.deepcopy(estimator).set_params(max_iter=-1, tol=1e-3).fit(zero, y).certificate_
    assert here.status.is_solved
    assert here.dual <= there.primal
    assert there.dual <= here.primal


@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_no_gap_is_above_the_primal_value(estimator):
    X, y, _ = data(3, n=4000)
    model = copy.deepcopy(estimator).set_params(time_limit=0.0)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model.fit(X, y)
    proof = model.certificate_
    assert proof.status is Status.TIME_LIMIT
    assert 0 <= proof.gap <= proof.primal
    assert verify(model, X, y).primal >= proof.dual


@pytest.mark.parametrize("estimator", MODELS, ids=repr)
def test_time_limits_are_kept(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 40))
    y = rng.integers(0, 2, len(X))
    model = copy.deepcopy(estimator).set_params(C=1e4, tol=1e-10, max_iter=-1, time_limit=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(time_limit=0.0).fit(X[:50], y[:50])  # compiled beforehand
        began = time.perf_counter()
        model.set_params(time_limit=0.1).fit(X, y)
    assert time.perf_counter() - began < 10  # some tenths on an idle computer
    assert np.isfinite(model.certificate_.gap)


# ---------------------------------------------------------------------- details


def test_violation_and_counts_of_a_weighted_hinge():
    X, y, rng = data(5)
    weight = 10 ** rng.uniform(-3, 3, len(y))
    for C in (0.3, 7.1):
        found = mercer.path(X, y, Cs=[C / 3, C], sample_weight=weight)
        model = found.models[-1]
        cost, beta = model.C * weight, model.dual_coef_.toarray()[0]
        alpha, margin = y * beta, y * (X @ model.coef_[0] + model.intercept_[0])
        at_bound, zero = alpha >= cost * (1 - 1e-12), alpha == 0
        free = ~at_bound & ~zero
        worst = max(
            np.max(1 - margin[zero], initial=0.0),
            np.max(margin[at_bound] - 1, initial=0.0),
            np.max(np.abs(1 - margin[free]), initial=0.0),
        )
        proof = model.certificate_
        assert (proof.n_zero, proof.n_free, proof.n_bound) == (
            zero.sum(),
            free.sum(),
            at_bound.sum(),
        )
        assert proof.kkt_violation == pytest.approx(worst, abs=1e-9)
        assert np.all(alpha <= cost)
        assert np.all(alpha >= 0)


def test_a_dual_a_rounding_below_its_bound_is_at_it():
    low, high = np.array([1.0]), np.array([1e200])
    cost = np.array([0.1 * 3])
    beta = np.nextafter(cost, 0)
    assert kkt_violation(0, np.array([-5.0]), beta, low, high, cost) == (0.0, 0, 1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "intercept", [{"intercept_scaling": None}, {"fit_intercept": False}, {"intercept_scaling": 3.0}]
)
def test_duals_of_all_classes_stay_within_C(seed, intercept):
    X, _, rng = data(seed, n=60)
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [-0.5, 0.5])
    weight = 10 ** rng.uniform(-2, 2, 60)
    model = LinearSVC(multi_class="crammer_singer", loss="hinge", C=0.7, max_iter=200, **intercept)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, weight)
    beta = model.dual_coef_.toarray()
    home = beta[y, np.arange(60)]
    assert np.all(home <= 0.7 * weight)
    beta[y, np.arange(60)] = 0.0
    assert np.all(beta <= 0)
    assert np.all(home >= 0)


@pytest.mark.parametrize("scale", [1e-180, 1e-9, 1.0, 1e9, 1e100])
def test_margins_of_any_scale(scale):
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 1.0], [-2.0, -1.0]]) * scale
    model = LinearSVC(loss="hinge", C=1.0, dual=True, fit_intercept=False, max_iter=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # beyond what float64 can square
        model.set_params(time_limit=5).fit(X, [1, -1, 1, -1])
    top = np.abs(model.coef_).max()
    length = top * np.linalg.norm(model.coef_ / top)
    assert model.certificate_.margin == pytest.approx(2 / length)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "crammer_singer", "logistic"])
def test_classes_without_a_weight(loss):
    X, _, _rng = data(6, n=90)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    kind, params = {
        "crammer_singer": (LinearSVC, {"multi_class": "crammer_singer", "loss": "hinge"}),
        "logistic": (LogisticRegression, {}),
    }.get(loss, (LinearSVC, {"loss": loss}))
    weight = np.where(y == 2, 0.0, 1.0)
    model = kind(max_iter=-1, **params).fit(X, y, weight)
    alone = kind(max_iter=-1, **params).fit(X[y < 2], y[y < 2])
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    assert verify(model, X, y, weight).status.is_solved
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # log(1 + exp(b)) has no minimum
        unweighted = kind(time_limit=5, class_weight={2: 0.0}, **params).fit(X, y)
    assert verify(unweighted, X, y).primal >= unweighted.certificate_.dual


def test_edges_that_were_rounded_are_known():
    ctx.prec = exact.BITS
    y = np.array([1.0, 1e16, -3.0, 0.1])
    problem = regression(y, np.ones(4), 0.1, squared=False, intercept_penalty=0.0)
    for i, error in enumerate(problem.interval_error):
        low = exact.ball(y[i]) - exact.ball(0.1) - exact.ball(problem.low[i])
        high = exact.ball(y[i]) + exact.ball(0.1) - exact.ball(problem.high[i])
        assert abs(low).max(abs(high)) == exact.ball(error)
    assert (
        regression(y, np.ones(4), 0.0, squared=False, intercept_penalty=0.0).interval_error is None
    )


def test_sparse_rows_of_any_size_have_the_certificate_of_dense_ones():
    X, y, _ = data(8, n=400, d=60)
    X[np.abs(X) < 1] = 0.0
    for estimator in (LinearSVC(loss="hinge"), LinearSVC(), LogisticRegression()):
        dense, sparse = (copy.deepcopy(estimator).fit(Z, y) for Z in (X, sp.csr_matrix(X)))
        assert dense.certificate_.dual <= sparse.certificate_.primal
        assert sparse.certificate_.dual <= dense.certificate_.primal


@pytest.mark.parametrize(
    "model",
    [
        mercer.LinearSVC(),
        mercer.LinearSVC(loss="hinge"),
        mercer.LinearSVC(loss="hinge", multi_class="crammer_singer", max_iter=20),
    ],
    ids=["squared", "hinge", "crammer_singer"],
)
def test_columns_far_from_zero_with_a_penalised_intercept(model):
    """Not solved, and said so with what to do, which works."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(300, 3))
    X, y = Z + 1e8, np.digitize(Z[:, 0], [0.0])
    with pytest.warns(ConvergenceWarning, match="intercept_scaling=None"):
        model.fit(X, y)
    assert not model.certificate_.status.is_solved
    if model.multi_class == "ovr":
        free = clone(model).set_params(intercept_scaling=None).fit(X, y)
        assert free.certificate_.status.is_solved
        assert free.score(X, y) > 0.95
