"""Functions as kernels, tiny numbers, two variables for a row: what was seen of them."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("flint")

import mercer
from mercer._result import Result, Status
from mercer.certificates._box_qp import certify
from mercer.exceptions import ConvergenceWarning
from mercer.problems._svm import svc, svr
from tests.soundness.test_seen import draw, judge

WIDE = np.longdouble


@mercer.kernel(psd=True)
def squared_exponential(x, z, gamma=1.0):
    return np.exp(-gamma * np.sum((x - z) ** 2))


@mercer.kernel(psd=True)
def exponential(x, z, gamma=1.0):
    return np.exp(-gamma * np.linalg.norm(x - z))


@mercer.kernel(psd=True)
def cauchy(x, z, gamma=1.0):
    d = x - z
    return 1 / (1 + gamma * d @ d)


@mercer.kernel
def asymmetric(x, z):
    return np.exp(-np.sum((x - z) ** 2)) + (0.5 if x[0] > 2 and z[1] > 2 else 0.0)


FUNCTIONS = {
    squared_exponential: lambda s, gamma: np.exp(-gamma * s),
    exponential: lambda s, gamma: np.exp(-gamma * np.sqrt(s)),
    cauchy: lambda s, gamma: 1 / (1 + gamma * s),
}


def wide_matrix(kernel, X, gamma):
    """The kernel matrix in long double, from differences of the rows as given."""
    rows = X.astype(WIDE)
    s = ((rows[:, None] - rows[None]) ** 2).sum(axis=-1)
    return FUNCTIONS[kernel](s, WIDE(gamma))


@pytest.mark.parametrize("far", [0.0, 3e4, 2e7, 5e8])
@pytest.mark.parametrize("kernel", list(FUNCTIONS), ids=lambda k: k.definition.name)
def test_a_function_of_differences_is_that_of_the_rows_as_given(kernel, far):
    """Half of the rows far away, each one twice: ‖x‖² + ‖z‖² − 2 x·z has lost all digits."""
    X, y, _ = draw(3, 40, 3)
    X[::2] += far
    X[20:] = X[:20]
    model = mercer.SVC(kernel=kernel(gamma=0.3), C=20.0, tol=1e-6).fit(X, y)
    K = wide_matrix(kernel, X, 0.3)
    beta = np.zeros(40, WIDE)
    beta[model.support_] = model.dual_coef_[0]
    sign = np.where(y == 1, 1, -1).astype(WIDE)
    f, b = K @ beta, WIDE(model.intercept_[0])
    primal = beta @ f / 2 + 20 * np.maximum(0, 1 - sign * (f + b)).sum()
    dual = sign @ beta - beta @ f / 2
    stated = model.certificate_
    size = 1e-16 * float(abs(primal))
    assert primal <= stated.primal + size
    assert primal - dual <= stated.gap + size
    assert stated.status is Status.SOLVED
    np.testing.assert_allclose(model.decision_function(X), (f + b).astype(float), atol=1e-9)


def test_a_function_that_is_asymmetric_at_few_rows_is_refused():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(90, 2))
    X[[37, 62]] = [[2.5, 0.0], [0.0, 2.5]]  # not among the rows that are looked at first
    with pytest.raises(ValueError, match=r"not symmetric.*(37.*62|62.*37)"):
        mercer.SVC(kernel=asymmetric).fit(X, np.arange(90) % 2)


@pytest.mark.parametrize("scale", [1e-155, 1e-158, 3e-160, 1e-161, 1e-170])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_products_that_are_subnormal(scale, loss):
    """β times the scale of K was subnormal, and came back outside of its box."""
    X, y, _ = draw(5, 30, 2)
    X = X * scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mercer.SVC(kernel="linear", C=0.0201, loss=loss).fit(X, y)
    assert model.certificate_.gap >= 0
    if loss == "hinge":
        assert np.abs(model.dual_coef_).max() <= 0.0201
    assert judge(model, X, y) == []


def test_duals_outside_their_box_prove_nothing():
    problem, f = svc(np.array([1.0, -1.0]), 2.0), np.array([2.0, -2.0])
    result = Result(
        np.array([2.0, -2.0]), f, 0.0, np.zeros(1), 0.0, Status.SOLVED, 0, 0, 0.0, diag=np.ones(2)
    )
    assert certify(problem, result).gap < np.inf
    outside = replace(result, beta=np.array([2.0 + 1e-9, -2.0 - 1e-9]))
    assert certify(problem, outside).gap == np.inf


def test_what_an_indefinite_matrix_may_cost_a_regression():
    """β = (C, −C), the optimum −β: with λ = −δ the cost is ½ δ ‖2β‖² = 4 δ C²."""
    C, delta = 3.0, 1e-3
    problem = svr(np.zeros(2), C, 0.0)
    beta = np.array([C, 0.0, 0.0, -C])
    f = -delta * np.array([C, -C])
    result = Result(
        beta, f, 0.0, np.zeros(1), 0.0, Status.SOLVED, 0, 0, 0.0, diag=np.zeros(2), psd_delta=delta
    )
    without = certify(problem, replace(result, psd_delta=0.0))
    assert certify(problem, result).gap - without.gap >= 4 * delta * C**2


@pytest.mark.parametrize("seed", range(6))
def test_a_compressed_model_of_an_indefinite_kernel_states_no_bound(seed):
    """Without a feature space ‖w − w̃‖² may be 0, and f another function."""
    X, y, _ = draw(seed, 40, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mercer.SVC(kernel="sigmoid", gamma=0.1, coef0=-0.5, C=30.0).fit(np.round(2 * X), y)
    small = model.compress(max_vectors=4, X=X)
    assert all(change == np.inf for change in small.compression_.change)
    with pytest.raises(ValueError, match="positive semidefinite"):
        model.compress(tolerance=0.1)
