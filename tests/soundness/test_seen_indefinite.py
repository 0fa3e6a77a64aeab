"""Kernel matrices that are not positive semidefinite or not symmetric: what was seen of them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("flint")

import mercer
from mercer._result import Status
from tests.soundness.fitter import Fitter
from tests.soundness.test_seen import LIMIT, draw, judge


@pytest.fixture(scope="module")
def fitter():
    with Fitter() as fitter:
        yield fitter


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_slacks_under_an_indefinite_kernel(fitter, seed, fit_intercept):
    """Duals without upper bounds have no maximum there; the fit ends, and says so."""
    X, y, _ = draw(seed, 20 + seed, 2)
    params = {"gamma": 3.7, "coef0": 1.0, "C": 5e3, "time_limit": LIMIT}
    for machine, target in (
        (mercer.SVC(loss="squared_hinge"), y),
        (mercer.SVR(loss="squared_epsilon_insensitive"), X[:, 0]),
    ):
        machine.set_params(kernel="sigmoid", fit_intercept=fit_intercept, **params)
        model, _ = fitter.fit(machine, X, target)
        assert model.certificate_.status is Status.NOT_PSD
        assert np.isfinite(model.certificate_.primal)
        assert judge(model, X, target) == []


def _noisy(seed, n=40, noise=0.1):
    X, y, rng = draw(seed, n, 3)
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    E = noise * rng.normal(size=(n, n))
    return K + (E + E.T) / 2, y


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.05, 0.1, 0.3])
def test_noisy_matrices_are_not_solved(fitter, seed, noise):
    K, y = _noisy(seed, noise=noise)
    assert np.linalg.eigvalsh(K)[0] < -0.01
    model, _ = fitter.fit(mercer.SVC(kernel="precomputed", time_limit=LIMIT), K, y)
    assert not model.certificate_.status.is_solved
    assert judge(model, K, y) == []


@pytest.mark.parametrize("seed", range(6))
def test_sigmoid_kernels_with_negative_eigenvalues_are_not_solved(fitter, seed):
    X, y, _ = draw(seed, 30, 3)
    K = np.tanh(0.5 * X @ X.T - 1.0)
    assert np.linalg.eigvalsh(K)[0] < -0.01
    machine = mercer.SVC(kernel="sigmoid", gamma=0.5, coef0=-1.0, time_limit=LIMIT)
    model, _ = fitter.fit(machine, X, y)
    assert not model.certificate_.status.is_solved


@pytest.mark.parametrize(
    "machine",
    [mercer.SVC, mercer.NuSVC, mercer.SVR, mercer.OneClassSVM, mercer.KernelRidge],
)
def test_asymmetric_matrices_are_refused(fitter, machine):
    K, y = _noisy(0, 20, 0.0)
    K[3, 7] += 0.1
    with pytest.raises(ValueError, match="symmetric"):
        fitter.fit(machine(kernel="precomputed"), K, y.astype(float))
