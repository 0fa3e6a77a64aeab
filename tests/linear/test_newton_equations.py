"""XᵀDX that is changed by the rows whose D changed, against the product with all rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from mercer._result import Status
from mercer.problems._regularized_loss import classification
from mercer.solvers import Stopping
from mercer.solvers.linear._design_matrix import as_design_matrix
from mercer.solvers.linear._newton import Newton
from mercer.solvers.linear._newton_equations import NewtonGram
from mercer.solvers.linear._smooth_newton import NewtonSettings
from tests.read_only import read_only

N, D = 400, 5
CHANGED = NewtonSettings(gram_update_rows=1)


def _rows(seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(N, D))


def _expected(X, weights):
    X1 = np.column_stack([X, np.ones(len(X))])
    return np.tril(X1.T @ (weights[:, None] * X1))


class _Counting:
    """A design matrix that records how many rows each XᵀDX reads."""

    def __init__(self, X):
        self.design, self.n, self.rows_read = as_design_matrix(X), len(X), []

    def weighted_gram(self, weights, dtype=np.float64):
        self.rows_read.append(np.count_nonzero(weights))
        return self.design.weighted_gram(weights, dtype)


def _sequence(rng, steps=8, flips=10):
    """D of a squared loss whose rows enter and leave, with C that differ."""
    weights = 2 * np.exp(rng.normal(size=N))
    is_used = rng.random(N) < 0.7
    for _ in range(steps):
        yield np.where(is_used, weights, 0.0)
        is_used[rng.choice(N, flips, replace=False)] ^= True


@pytest.mark.parametrize("is_sparse", [False, True])
def test_changed_rows_give_the_matrix_of_all_rows(is_sparse):
    rng, X = _rows()
    gram = NewtonGram(as_design_matrix(sp.csr_matrix(X) if is_sparse else X), CHANGED)
    for weights in _sequence(rng):
        found, _ = gram.at(read_only(weights), np.count_nonzero(weights))
        assert_allclose(np.tril(found), _expected(X, weights), rtol=1e-12, atol=1e-11)
        assert found is gram.gram


def test_only_changed_rows_are_read():
    rng, X = _rows(1)
    design = _Counting(X)
    gram = NewtonGram(design, CHANGED)
    for weights in _sequence(rng, flips=12):
        gram.at(weights, np.count_nonzero(weights))
    first, *rest = design.rows_read
    assert first > N / 2
    assert sum(rest) == 7 * 12


def test_many_changes_are_a_new_matrix():
    rng, X = _rows(2)
    design = _Counting(X)
    gram = NewtonGram(design, CHANGED)
    for weights in _sequence(rng, steps=3, flips=N // 2):
        gram.at(weights, np.count_nonzero(weights))
        assert design.rows_read[-1] == np.count_nonzero(weights)


def test_few_rows_are_not_worth_the_changes():
    rng, X = _rows(3)
    design = _Counting(X)
    gram = NewtonGram(design, NewtonSettings(gram_update_rows=N + 1))
    used = []
    for weights in _sequence(rng):
        used.append(np.count_nonzero(weights))
        gram.at(weights, used[-1])
    assert design.rows_read == used


def test_a_float32_matrix_is_changed_once_and_then_computed_in_float64():
    rng, X = _rows(4)
    gram = NewtonGram(as_design_matrix(X), NewtonSettings(gram_update_rows=1, float32_rows=50))
    errors, ridges = [], []
    for weights in _sequence(rng, steps=5):
        found, ridge = gram.at(weights, np.count_nonzero(weights))
        errors.append(np.abs(np.tril(found) - _expected(X, weights)).max() / weights.sum())
        ridges.append(ridge)
    assert min(errors[:2]) > 1e-12
    assert max(errors[:2]) < 1e-6
    assert max(errors[2:]) < 1e-14
    assert ridges[0] == ridges[1] > ridges[2] == ridges[4]


def test_a_huge_row_that_leaves_takes_its_rounding_along():
    _, X = _rows(5)
    X[7] *= 1e9
    weights = np.ones(N)
    gram = NewtonGram(as_design_matrix(X), CHANGED)
    gram.at(weights, N)
    weights[7] = 0.0
    found, _ = gram.at(weights, N - 1)
    assert_allclose(np.tril(found), _expected(X, weights), rtol=1e-12, atol=1e-11)


def test_the_solution_is_the_same():
    rng, X = _rows(6)
    X = np.column_stack([X, X[:, 0] + 1e-6 * rng.normal(size=N)])  # nearly dependent columns
    y = np.where(X[:, 1] + rng.normal(size=N) > 0, 1.0, -1.0)
    problem = classification(y, np.full(N, 3.0), squared=True, intercept_penalty=1.0)
    settings = NewtonSettings(gram_update_rows=1, float32_rows=20, subsample_from=10**9)
    changed, direct = (
        Newton(tol=1e-10, settings=each).solve(problem, as_design_matrix(X), Stopping())
        for each in (settings, NewtonSettings(subsample_from=10**9))
    )
    assert changed.status is direct.status is Status.SOLVED
    assert_allclose(changed.primal, direct.primal, rtol=1e-9)
    assert_allclose(changed.g, direct.g, atol=1e-4)
