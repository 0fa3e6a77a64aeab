"""Votes of one-against-one tasks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import mercer
from mercer._multiclass import pairs, votes, winner_is_certain
from mercer.kernels import Linear


def winners(decisions: np.ndarray, k: int) -> np.ndarray:
    return np.argmax(votes(decisions, k), axis=1)


@given(k=st.integers(3, 6), seed=st.integers(0, 2**32 - 1))
def test_a_certain_winner_wins_whatever_the_uncertain_signs(k, seed):
    rng = np.random.default_rng(seed)
    decisions = rng.normal(size=(40, len(pairs(k))))
    error = rng.random(decisions.shape) * rng.choice([0.1, 0.5])
    certain = winner_is_certain(decisions, error, k)
    expected = winners(decisions, k)
    for _ in range(20):
        side = rng.choice([-1.0, 0.0, 1.0], size=decisions.shape)
        found = winners(decisions + side * error, k)
        assert_array_equal(found[certain], expected[certain])


@given(k=st.integers(2, 7), seed=st.integers(0, 2**32 - 1))
def test_votes_count_the_tasks_that_a_class_wins(k, seed):
    decisions = np.random.default_rng(seed).integers(-2, 3, size=(9, len(pairs(k)))) / 2
    expected = np.zeros((9, k), int)
    for row, counts in zip(decisions, expected, strict=True):
        for value, (i, j) in zip(row, pairs(k), strict=True):
            counts[i if value > 0 else j] += 1
    assert_array_equal(votes(decisions, k), expected)


def test_a_class_that_wins_all_its_tasks_for_sure_is_certain_whatever_the_others_do():
    k = 4
    decisions = np.array([[0.0 if 0 not in pair else 1.0 for pair in pairs(k)]])
    assert winner_is_certain(decisions, np.full(decisions.shape, 0.5), k).all()
    assert not winner_is_certain(decisions, np.full(decisions.shape, 1.5), k).any()


@pytest.mark.parametrize("k", [2, 4])
def test_sparse_weights_of_a_linear_kernel(k):
    """w of each pair of classes, Σ c z, whatever the rows are kept in."""
    rng = np.random.default_rng(k)
    X = rng.integers(-2, 3, (60, 7)) * (rng.random((60, 7)) < 0.4)
    model = mercer.SVC(kernel=3 * Linear()).fit(sp.csr_matrix(X.astype(float)), np.arange(60) % k)
    dense = model.expansion_.weights()
    assert sp.issparse(model.coef_)
    assert model.coef_.has_sorted_indices
    np.testing.assert_allclose(model.coef_.toarray(), dense, rtol=0, atol=1e-12)


def test_votes_of_many_classes():
    """More classes than dense matrices are made for: counted task by task."""
    k = 150
    decisions = np.random.default_rng(0).normal(size=(3, len(pairs(k))))
    expected = np.zeros((3, k), dtype=int)
    for t, (i, j) in enumerate(pairs(k)):
        for row in range(3):
            expected[row, i if decisions[row, t] > 0 else j] += 1
    assert_array_equal(votes(decisions, k), expected)
