"""Proofs that hard margin is impossible, checked by computing both points of the hulls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.separability import hull_distance_sq, prove_inseparable


def linear(X):
    return lambda rows: X[rows] @ X[rows].T


@given(seed=st.integers(0, 10_000), offset=st.sampled_from([0.0, 100.0]))
def test_the_weights_give_one_point_in_both_hulls(seed, offset):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)) + offset
    beta = np.where(rng.uniform(size=30) < 0.5, 1.0, -1.0)
    proof = prove_inseparable(beta, linear(X))
    assert proof is not None
    assert np.all(proof.weights * beta >= 0)
    assert proof.weights[beta > 0].sum() == pytest.approx(1)
    assert proof.weights[beta < 0].sum() == pytest.approx(-1)
    assert_allclose(proof.weights @ X, 0, atol=1e-6)


@given(seed=st.integers(0, 10_000), distance=st.sampled_from([1e-4, 1.0]))
def test_no_proof_for_separable_classes(seed, distance):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(20, 2))
    beta = np.where(np.arange(20) < 10, 1.0, -1.0)
    X[:, 0] = beta * (X[:, 0] + distance)
    assert prove_inseparable(beta, linear(X)) is None


def test_duplicates_with_opposite_labels_are_an_exact_proof():
    X = np.array([[0.0, 1.0], [3.0, 1.0], [3.0, 1.0], [5.0, -2.0]])
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
    beta = np.array([1.0, 1.0, -1.0, -1.0])
    proof = prove_inseparable(beta, lambda rows: K[np.ix_(rows, rows)])
    assert_allclose(proof.weights, [0, 1, -1, 0], atol=1e-9)


def test_through_the_origin_there_must_be_a_zero_among_the_mirrored_points():
    X = np.array([[1.0], [2.0]])
    beta = np.array([1.0, -1.0])  # separable, but not by a hyperplane through the origin
    assert prove_inseparable(beta, linear(X)) is None
    proof = prove_inseparable(beta, linear(X), fit_intercept=False)
    assert_allclose(proof.weights, [2 / 3, -1 / 3])


def test_one_class_only_has_no_proof():
    assert prove_inseparable(np.ones(3), linear(np.eye(3))) is None


def test_hull_distance_is_that_of_the_weighted_means():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]])
    beta = np.array([2.0, 2.0, -4.0])
    assert hull_distance_sq(beta, X @ (X.T @ beta)) == pytest.approx(9.0)
    assert hull_distance_sq(np.zeros(3), np.zeros(3)) == np.inf
