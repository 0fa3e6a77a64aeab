"""KernelRidge: normal equations, scikit-learn as the oracle, leave-one-out by refitting."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.kernel_ridge
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import ExpSineSquared
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelRidge, Status
from mercer.gram._machine import memory_bytes
from mercer.kernels import RBF, Linear
from mercer.solvers import Choice
from mercer.solvers._kernel_ridge import RidgeSettings

SOLVERS = ["auto", "cholesky", "cg", "eigen"]


def data(n=120, d=4, targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.sin(X @ rng.standard_normal((d, targets))) + 0.1 * rng.standard_normal((n, targets))
    return X, Y


def expected(estimator) -> dict[str, str]:
    """Checks that cannot hold, and why."""
    if estimator.alpha != "loo":
        return {}
    reason = "a row left out leaves its copies in, a weighted row leaves as a whole"
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")
    }


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [
        KernelRidge(kernel="rbf", solver="cg"),
        KernelRidge(alpha="loo"),
        KernelRidge(kernel="precomputed"),
    ],
    expected_failed_checks=expected,
)
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1.0, [0.5, 3.0]])
def test_agrees_with_scikit_learn(solver, weighted, alpha):
    X, Y = data()
    weight = np.random.default_rng(1).uniform(0.1, 3, len(X)) if weighted else None
    mine = KernelRidge(alpha, kernel="rbf", solver=solver).fit(X, Y, weight)
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=alpha, kernel="rbf").fit(X, Y, weight)
    np.testing.assert_allclose(mine.dual_coef_, theirs.dual_coef_, rtol=1e-8, atol=1e-9)
    Z = X[:30] + 0.3
    np.testing.assert_allclose(mine.predict(Z), theirs.predict(Z), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "poly", "laplacian", "cosine"])
def test_kernels_have_the_defaults_of_scikit_learn(kernel):
    X, Y = data(60)
    mine = KernelRidge(kernel=kernel).fit(X, Y[:, 0])
    theirs = sklearn.kernel_ridge.KernelRidge(kernel=kernel).fit(X, Y[:, 0])
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_normal_equations_and_certificate(solver):
    X, Y = data(150)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(X))
    model = KernelRidge([0.3, 2.0], kernel=RBF(0.2), solver=solver).fit(X, Y, weight)
    K, c = RBF(0.2)(X), model.dual_coef_
    r = Y - K @ c - np.array([0.3, 2.0]) * c / weight[:, None]
    root = np.sqrt(weight)[:, None]
    assert np.linalg.norm(root * r) <= 2e-12 * np.linalg.norm(root * Y)
    norms = np.sum(c * (K @ c), axis=0)
    primal = 0.5 * np.sum((root * (Y - K @ c)) ** 2) + 0.5 * np.sum([0.3, 2.0] * norms)
    proof = model.certificate_
    assert proof.status is Status.SOLVED
    assert proof.primal == pytest.approx(primal, rel=1e-10)
    assert 0 <= proof.gap <= 1e-20 * primal


def test_the_gap_bounds_every_other_model():
    """Stopped early, primal − gap is below the optimum."""
    X, Y = data(200)
    exact = KernelRidge(1e-3, kernel="rbf", solver="cholesky").fit(X, Y[:, 0]).certificate_
    with pytest.warns(ConvergenceWarning, match="Raise max_iter=3"):
        model = KernelRidge(1e-3, kernel="rbf", solver="cg", max_iter=3).fit(X, Y[:, 0])
    proof = model.certificate_
    assert proof.status is Status.ITERATION_LIMIT
    assert proof.dual <= exact.primal <= proof.primal
    assert proof.gap > 1e-6


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_errors_are_those_of_refits(weighted):
    X, Y = data(25)
    weight = np.random.default_rng(3).uniform(0.2, 2, 25) if weighted else np.ones(25)
    alphas = np.array([0.01, 0.3, 5.0])
    model = KernelRidge("loo", alphas=alphas, kernel="rbf").fit(X, Y, weight)
    expected = np.zeros((3, 2))
    for a, alpha in enumerate(alphas):
        for i in range(25):
            rest = np.arange(25) != i
            part = KernelRidge(alpha, kernel="rbf").fit(X[rest], Y[rest], weight[rest])
            expected[a] += weight[i] * (Y[i] - part.predict(X[[i]])[0]) ** 2
    np.testing.assert_allclose(model.loo_errors_, expected / weight.sum(), rtol=1e-9)
    assert model.alpha_ == alphas[np.argmin(expected.sum(axis=1))]
    same = KernelRidge(model.alpha_, kernel="rbf").fit(X, Y, weight)
    np.testing.assert_allclose(model.dual_coef_, same.dual_coef_, rtol=1e-8, atol=1e-10)


@given(st.integers(0, 1000), st.sampled_from(["cholesky", "cg", "eigen"]))
def test_weights_are_repetitions(seed, solver):
    X, Y = data(20, seed=seed)
    times = np.random.default_rng(seed).integers(0, 3, 20)
    times[0] = 1
    weighted = KernelRidge(0.5, kernel="rbf", gamma=0.3, solver=solver).fit(X, Y, times)
    repeated = KernelRidge(0.5, kernel="rbf", gamma=0.3, solver=solver).fit(
        np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0)
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_target_of_zeros_beside_another(solver):
    X, Y = data(50)
    Y[:, 0] = 0
    model = KernelRidge(kernel="rbf", solver=solver).fit(X, Y)
    assert (model.dual_coef_[:, 0] == 0).all()
    assert KernelRidge(kernel="rbf", solver=solver).fit(X, Y[:, 0]).certificate_.gap == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_sparse_rows_and_float32(solver):
    X, Y = data(80, d=6)
    X[np.abs(X) < 0.8] = 0
    X = X.astype(np.float32)
    dense = KernelRidge(kernel="rbf", solver=solver).fit(X, Y)
    sparse = KernelRidge(kernel="rbf", solver=solver).fit(sp.csr_matrix(X), Y)
    np.testing.assert_allclose(
        dense.predict(X), sparse.predict(sp.csr_matrix(X)), rtol=1e-8, atol=1e-9
    )


def test_threads_and_budget_do_not_change_the_model():
    X, Y = data(1300)
    fits = [
        KernelRidge(kernel="rbf", solver="cg", n_jobs=jobs, cache_size=megabytes).fit(X, Y)
        for jobs, megabytes in [(1, 1000), (3, 1000), (2, 1e-3), (2, 5)]
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.dual_coef_, fits[0].dual_coef_)


def test_auto_falls_back_to_a_factorisation():
    """Many small eigenvalues and a tiny alpha: the iteration would take longer."""
    X, Y = data(400, d=3)
    model = KernelRidge(1e-7, kernel="rbf", tol=1e-5)
    model._settings = RidgeSettings(direct_rows=200)
    model.fit(X, Y)
    assert model.solver_ == Choice(
        "cholesky", "conjugate gradients would have taken longer than a factorisation"
    )
    assert KernelRidge(solver="cg").fit(X, Y).solver_ == Choice("cg", "asked for")
    assert "400 rows are at most" in KernelRidge().fit(X, Y).solver_.reason
    theirs = sklearn.kernel_ridge.KernelRidge(alpha=1e-7, kernel="rbf").fit(X, Y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=1e-7)


def test_singular_system_has_the_least_squares_solution():
    X, Y = data(30, d=3)
    model = KernelRidge(0.0, kernel=Linear()).fit(X, Y)
    best = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), best, atol=1e-10)


def test_indefinite_kernel_is_named():
    rng = np.random.default_rng(0)
    K = rng.standard_normal((30, 30))
    K = K + K.T
    y = rng.standard_normal(30)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = KernelRidge(1.0, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(K + np.eye(30), y), rtol=1e-8)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        KernelRidge(1.0, kernel="precomputed", solver="cg").fit(K, y)


def test_time_limit_and_callback():
    X, Y = data(300)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = KernelRidge(kernel="rbf", solver="cg", time_limit=0.0).fit(X, Y)
    assert model.certificate_.status is Status.TIME_LIMIT
    assert np.isfinite(model.predict(X)).all()
    seen = []
    stop_at_three = lambda progress: seen.append(progress) or len(seen) > 2  # noqa: E731
    model = KernelRidge(kernel="rbf", solver="cg", callback=stop_at_three)
    assert model.fit(X, Y).certificate_.status is Status.STOPPED
    assert len(seen) == 3


@pytest.mark.parametrize(("parameters", "message"), [
    ({"alpha": -1.0}, "alpha"),
    ({"alpha": [1.0, 2.0, 3.0]}, "one for each of the 2 targets"),
    ({"alpha": "loo", "solver": "cg"}, "solver='cg'"),
    ({"alpha": "loo", "alphas": [0.0]}, "positive numbers"),
    ({"alphas": [1.0]}, "alpha='loo'"),
    ({"kernel": "rbf", "kernel_params": {"a": 1}}, "kernel_params"),
    ({"kernel": RBF(), "gamma": 2.0}, "gamma=2.0"),
    ({"solver": "qr"}, "solver"),
])  # fmt: skip
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge(**parameters).fit(*data(20))


def test_kernel_function_with_arguments():
    X, Y = data(40)
    model = KernelRidge(kernel=lambda A, B, c: c * A @ B.T, kernel_params={"c": 2.0}).fit(X, Y)
    same = KernelRidge(kernel=2 * Linear()).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-10)


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_at_most_one_matrix_is_alive(solver):
    """tracemalloc sees NumPy's arrays, not the pages of the tiles: those are half a matrix."""
    n = 2600
    X, Y = data(n, targets=1)
    KernelRidge(kernel="rbf", solver=solver).fit(X[:600], Y[:600])
    tracemalloc.start()
    KernelRidge(kernel="rbf", solver=solver).fit(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    small = 16 * 8 * n + 8 * 512 * n + 10e6  # sums of the lanes, the preconditioner, the rest
    assert peak <= 8 * n * n * (1 if solver == "cholesky" else 0) + small


def test_unlimited_budget_keeps_half_of_the_matrix():
    from mercer._threads import Workers
    from mercer.gram import BlockedGram, SymmetricGram
    from mercer.kernels import Samples

    X, _ = data(2000)
    product = SymmetricGram(BlockedGram(RBF(), Samples(X), Workers(1)), 1 << 40)
    assert product._memory.nbytes <= 8 * 2000**2 * 0.66


def test_parameters_of_scikit_learns_kernels_are_set():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, size=(40, 1))
    y = np.sin(X[:, 0])
    model = KernelRidge(kernel=ExpSineSquared(periodicity=6.0), alpha=0.1)
    assert model.get_params()["kernel__length_scale"] == 1.0
    changed = clone(model).set_params(kernel__length_scale=2.0)
    assert (changed.kernel.length_scale, model.kernel.length_scale) == (2.0, 1.0)
    theirs = sklearn.kernel_ridge.KernelRidge(kernel=ExpSineSquared(2.0, 6.0), alpha=0.1).fit(X, y)
    np.testing.assert_allclose(changed.fit(X, y).predict(X), theirs.predict(X), rtol=1e-6)


@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
def test_a_matrix_larger_than_the_memory_is_refused(solver):
    """Before anything is allocated, with what does work."""
    n = math.isqrt(memory_bytes() // 8) + 1
    with pytest.raises(ValueError, match=r"whole kernel matrix: .* GB for .* Use solver='cg'"):
        KernelRidge(solver=solver, kernel="rbf").fit(np.zeros((n, 1)), np.zeros(n))
