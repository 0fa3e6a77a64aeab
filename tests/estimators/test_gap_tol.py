"""``gap_tol``: the fit stops at a certified relative gap, which `verify` confirms."""

import warnings

import numpy as np
import pytest

from mercer import SVC, SVR, Status, verify
from mercer.exceptions import ConvergenceWarning


@pytest.mark.parametrize("n", [200, 2500])  # the dense solver, and the one on working sets
@pytest.mark.parametrize("gap_tol", [1e-1, 1e-5])
def test_the_gap_is_reached(n, gap_tol):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    for model, target in ((SVC(C=100.0, gap_tol=gap_tol), y), (SVR(gap_tol=gap_tol), X[:, 1])):
        model.fit(X, target)
        assert model.certificate_.status is Status.SOLVED
        assert model.certificate_.relative_gap <= gap_tol
        assert verify(model, X, target).gap_low <= model.certificate_.gap


def test_a_loose_gap_takes_fewer_steps():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2500, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=2500) > 0, 1, -1)
    loose, tight = (SVC(C=100.0, gap_tol=gap).fit(X, y) for gap in (0.1, 1e-6))
    assert loose.n_iter_[0] < tight.n_iter_[0]


def test_solvers_that_stop_at_tol_refuse_it():
    with pytest.raises(ValueError, match=r"gap_tol=0\.1 cannot be combined with solver='platt'"):
        SVC(solver="platt", gap_tol=0.1).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("noise", [0.0, 1e-7, 1e-5])
@pytest.mark.parametrize("gap_tol", [1e-2, 1e-7, 1e-9])
def test_solved_is_said_of_the_gap_with_what_the_matrix_adds_to_it(noise, gap_tol):
    """A matrix with eigenvalues near −noise: their effect on the gap comes after the solver."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1, -1)
    E = noise * rng.normal(size=(40, 40))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2)) + (E + E.T) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = SVC(C=1e3, kernel="precomputed", gap_tol=gap_tol).fit(K, y).certificate_
    assert not certificate.status.is_solved or certificate.relative_gap <= gap_tol
