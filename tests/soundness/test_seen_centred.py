"""Rows far from the origin: what the rounding of Σβ does to ‖w‖² of the stored model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("flint")

import mercer
from mercer._result import Status, final_status
from mercer.exceptions import ConvergenceWarning
from tests.soundness.test_seen import judge


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("C", [2.64e-6, 3.0, 1e4])
def test_equal_rows_far_from_the_origin(seed, C):
    """Σβ = 1e-22 at rows of length 5e15 is a part of 1e-7 of the primal value."""
    rng = np.random.default_rng(seed)
    far = 10.0 ** rng.uniform(6, 15, 4)
    n = int(rng.integers(4, 10))
    X = np.tile(far, (n, 1)).astype(np.float32 if seed % 2 else np.float64)
    y = np.arange(n) % (2 + seed % 2)
    weight = 10.0 ** rng.uniform(-2, 2, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mercer.SVC(kernel="linear", C=C).fit(X, y, weight)
    assert judge(model, X, y, weight) == []


@pytest.mark.parametrize("seed", range(16))
def test_regression_on_equal_rows_far_from_the_origin(seed):
    """Every row is at its bound, where no term of the gap feels an error of f; ‖w‖² does."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    X = np.tile(10.0 ** rng.uniform(7, 9.5, 2), (n, 1)).astype(np.float32)
    y, weight = rng.integers(-6, 7, n).astype(float), 10.0 ** rng.uniform(-4, 4, n)
    machine = mercer.SVR if seed % 2 else mercer.NuSVR
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = machine(kernel="linear", C=10.0 ** rng.uniform(4, 8)).fit(X, y, weight)
    assert judge(model, X, y, weight) == []


@pytest.mark.parametrize("seed", range(12))
def test_nu_too_small_far_from_the_origin(seed):
    """ρ may be below zero by rounding: β itself is published then, and so is its error."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(33, 6)) + 10.0 ** rng.uniform(7, 8.5)
    y = rng.integers(0, 2, 33)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mercer.NuSVC(nu=0.1, kernel="linear", tol=3e-7).fit(X, y)
    assert judge(model, X, y) == []
    assert model.certificate_.status is not Status.SOLVED


def test_a_degenerate_solution_stays_one():
    assert final_status(Status.DEGENERATE, 0.0, 1e-3) is Status.DEGENERATE


@pytest.mark.parametrize("seed", range(8))
def test_the_objective_of_k_means_with_far_rows_of_small_weight(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 1 + seed % 3))
    X[::2] += 10.0 ** rng.uniform(4, 7)
    weight = np.where(np.arange(12) % 2, 10.0 ** rng.uniform(1, 4, 12), 1e-3)
    model = mercer.KernelKMeans(2, kernel="linear", random_state=0).fit(X, sample_weight=weight)
    assert judge(model, X, None, weight) == []


@pytest.mark.parametrize("seed", range(6))
def test_squared_slack_beside_a_large_constant_column(seed):
    """1/(2C) is lost in float32 beside K, and a step along a null direction had no end."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(24, 2)), np.full(24, 10.0 ** rng.uniform(1, 3)), np.zeros(24)]
    X[:, 3] = 1e-6 * rng.normal(size=24)
    y = rng.integers(0, 3, 24)
    C = 10.0 ** rng.uniform(4, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mercer.SVC(kernel="linear", loss="squared_hinge", C=C, time_limit=1.0).fit(X, y)
    assert judge(model, X, y) == []


@pytest.mark.parametrize("seed", range(6))
def test_eigenvalues_that_are_rounding_are_no_error(seed):
    """Kernel values of 1e14 leave nothing of rows that differ by one: the certificate says so."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3 + seed, 3)) + 10.0 ** rng.uniform(7.5, 9)
    model = mercer.KernelPCA(3, kernel="poly", gamma=1e-3, coef0=0.07, degree=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    assert judge(model, X) == []
    assert model.certificate_.status is not Status.SOLVED


@pytest.mark.parametrize("seed", range(10))
def test_nu_svc_whose_intercept_is_far_larger_than_its_function(seed):
    """Two rows at their bound, one far away at zero: the multiplier of their class is any between.

    Half of it is ρ and half of it b, and dividing by ρ rounds the other multiplier in its digits.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 3)), np.array([0, 0, 0, 1, 1, 1, 1, 1])
    X[0, 0] += 10.0 ** rng.uniform(6, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mercer.NuSVC(nu=0.5, kernel="linear", tol=1e-6).fit(X, y)
    assert judge(model, X, y) == []
