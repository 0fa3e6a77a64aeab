"""Proofs that hard margin is impossible, checked by computing both points of the hulls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.problems import svc
from mercer.separability import HardMarginWatch, hull_distance_sq, prove_inseparable


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


class Matrix:
    """As much of a Gram as the watch uses."""

    def __init__(self, K):
        self.K = K

    def diag(self):
        return self.K.diagonal()

    def take(self, rows):
        return Matrix(self.K[np.ix_(rows, rows)])

    def matrix(self):
        return self.K


def test_the_watch_speaks_only_where_there_is_a_proof():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    K = X @ X.T
    near = np.array([1.0, 0.9, -0.9, -1.0])
    proof = HardMarginWatch(svc(y, np.inf), Matrix(K))(near, K @ near)
    assert_allclose(proof.weights, y / 2, atol=1e-9)
    assert HardMarginWatch(svc(y, 1e9), Matrix(K))(near, K @ near) is None
    X[2:, 0] += 10  # apart: no proof, however often it is asked
    K = X @ X.T
    watch = HardMarginWatch(svc(y, np.inf), Matrix(K))
    assert all(watch(near, K @ near) is None for _ in range(3))


def test_the_watch_tries_again_only_when_the_hulls_have_come_nearer():
    X = np.array([[1e-3], [-1e-3], [5.0]])
    y = np.array([1.0, -1.0, 1.0])
    K = X @ X.T
    watch = HardMarginWatch(svc(y, np.inf), Matrix(K))
    beta = np.array([1.0, -1.0, 0.0])
    asked = []
    watch.gram.take = lambda rows: asked.append(rows) or Matrix(K[np.ix_(rows, rows)])
    for _ in range(3):
        assert watch(beta, K @ beta) is None
    assert len(asked) == 1
