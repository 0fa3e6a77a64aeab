"""The judge against hand calculation, LIBSVM at a tight tolerance, and spoilt solutions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sklearn.svm
from scipy.sparse import csr_matrix

from benchmarks.cases import Case, Prepared
from benchmarks.judge import judge
from benchmarks.peers import PEERS, Solution, read_solution

# LIBSVM keeps kernel rows in float32, however tight its tolerance.
LIBSVM_ROUNDING = 1e-5


def _case(task: str, X, y, C: float, gamma: float) -> Prepared:
    case = Case("test", "none", task, C=C, gamma=gamma, tol=1e-9)
    return Prepared(case, X, y, X, y, gamma)


def _libsvm(data: Prepared) -> Solution:
    peer = PEERS["sklearn"]
    model = peer.build(peer.load(), data, None).fit(data.X, data.y)
    return read_solution(peer, model, model.predict(data.X_test))


def _two_points(alpha: float) -> tuple[Prepared, Solution, float]:
    """(0, 1) against (0, −1): D(α) = 2α − α²(1 − k) with k = exp(−4γ)."""
    data = _case("svc", np.array([[0.0, 1.0], [0.0, -1.0]]), np.array([1, -1]), C=100.0, gamma=0.1)
    solution = Solution(
        support=np.array([0, 1]),
        dual_coef=np.array([[alpha, -alpha]]),
        intercept=np.zeros(1),
        predictions=data.y_test,
    )
    return data, solution, 1 - np.exp(-0.4)


def test_two_points_at_the_optimum():
    slope = 1 - np.exp(-0.4)
    data, solution, _ = _two_points(1 / slope)
    found = judge(data, solution)
    assert found["primal"] == pytest.approx(1 / slope)
    assert found["dual"] == pytest.approx(1 / slope)
    assert found["kkt_violation"] == pytest.approx(0, abs=1e-12)
    assert found["test_score"] == 1


def test_two_points_half_way():
    slope = 1 - np.exp(-0.4)
    alpha = 0.5 / slope
    data, solution, _ = _two_points(alpha)
    found = judge(data, solution)
    # f = ±½, so each slack is ½, and the pair violates by (1 − ½) − (−1 + ½) = 1.
    assert found["dual"] == pytest.approx(2 * alpha - alpha**2 * slope)
    assert found["primal"] == pytest.approx(alpha**2 * slope + 100 * (0.5 + 0.5))
    assert found["kkt_violation"] == pytest.approx(1)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("sparse", [False, True])
def test_libsvm_is_found_optimal(n_classes, sparse):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(160, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=160), [0.0, 0.6, 1.2][: n_classes - 1])
    data = _case("svc", csr_matrix(X) if sparse else X, y, C=2.0, gamma=0.4)
    found = judge(data, _libsvm(data))
    assert found["n_problems"] == n_classes * (n_classes - 1) / 2
    assert 0 <= found["relative_gap"] < 1e-6
    assert found["kkt_violation"] < LIBSVM_ROUNDING
    assert found["sum_residual"] < 1e-9


def test_pairs_are_those_of_separate_fits():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    y = np.repeat([0, 1, 2], 40)
    X[y == 1] += 1
    X[y == 2] -= 1
    data = _case("svc", X, y, C=1.5, gamma=0.5)
    alone = 0.0
    for pair in ([0, 1], [0, 2], [1, 2]):
        rows = np.isin(y, pair)
        part = _case("svc", X[rows], y[rows], C=1.5, gamma=0.5)
        alone += judge(part, _libsvm(part))["dual"]
    assert judge(data, _libsvm(data))["dual"] == pytest.approx(alone, rel=1e-9)


def test_regression_is_found_optimal():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=150)
    data = _case("svr", X, y, C=3.0, gamma=0.7)
    solution = _libsvm(data)
    found = judge(data, solution)
    assert 0 <= found["relative_gap"] < 1e-6
    assert found["kkt_violation"] < LIBSVM_ROUNDING
    expected = sklearn.svm.SVR(C=3.0, gamma=0.7, tol=1e-9).fit(X, y).score(X, y)
    assert found["test_score"] == pytest.approx(expected)


@pytest.mark.parametrize("task", ["svc", "svr"])
def test_a_spoilt_coefficient_is_noticed(task):
    rng = np.random.default_rng(11)
    X = rng.normal(size=(100, 2))
    y = X[:, 0] + 0.4 * rng.normal(size=100)
    data = _case(task, X, np.sign(y) if task == "svc" else y, C=1.0, gamma=0.5)
    solution = _libsvm(data)
    good = judge(data, solution)
    worse = replace(solution, dual_coef=0.9 * solution.dual_coef)
    bad = judge(data, worse)
    assert bad["kkt_violation"] > 100 * good["kkt_violation"] + 0.01
    assert bad["dual"] < good["dual"]
    assert bad["relative_gap"] > 1e-3


def test_class_order_and_sign_are_read_off_the_answer():
    """A library may number the classes as they appear and call the first one positive."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(90, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=90) > 0, 1, -1)
    data = _case("svc", X, y, C=1.0, gamma=0.5)
    solution = _libsvm(data)
    order = np.argsort(-y[solution.support], kind="stable")
    other = replace(
        solution,
        support=solution.support[order],
        dual_coef=-solution.dual_coef[:, order],
        intercept=-solution.intercept,
    )
    assert judge(data, other)["dual"] == pytest.approx(judge(data, solution)["dual"])
    assert judge(data, other)["primal"] == pytest.approx(judge(data, solution)["primal"])
