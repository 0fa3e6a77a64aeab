"""Proofs that hard margin is impossible: against rational arithmetic, and never a false one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer import SVC, SVR, NotSeparableError
from mercer._result import Status
from mercer._threads import Workers
from mercer.gram import BlockedGram
from mercer.kernels import (
    RBF,
    AllSubsets,
    Constant,
    Cosine,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    as_kernel,
)
from mercer.kernels._samples import Samples
from mercer.problems import svc, svr
from mercer.solvers.separability._hull import (
    HardMarginWatch,
    hull_distance_sq,
    prove_inseparable,
    separates,
)
from mercer.solvers.separability._rational import (
    as_integers,
    encloses_positive,
    feasible_point,
    monomials,
    solve_exactly,
)

from .oracles.rational_lp import is_feasible, is_separable

SEEDS = st.integers(0, 2**20)


def gram_of(X, kernel="linear"):
    return BlockedGram(as_kernel(kernel), Samples(X), Workers(1))


def prove(X, y, kernel="linear", *, fit_intercept=True):
    y = np.asarray(y, dtype=np.float64)
    return prove_inseparable(svc(y, np.inf, fit_intercept=fit_intercept), gram_of(X, kernel))


def separable_rows(rng, n, d):
    """Rows with a margin in a direction of its own, small against the others or the offset."""
    y = np.where(rng.permutation(n) < max(1, n // 3), 1.0, -1.0)
    X = rng.normal(size=(n, d))
    X[:, 0] = y * (10.0 ** rng.uniform(-3, 0) + rng.uniform(size=n))
    kind = rng.integers(4)
    if kind == 0:  # the separating column is tiny
        X[:, 0] *= 10.0 ** rng.uniform(-12, -7)
    elif kind == 1:
        X += 10.0 ** rng.uniform(3, 8)
    elif kind == 2:  # in a direction across all columns
        X = X * np.r_[10.0 ** rng.uniform(-9, -3), np.ones(d - 1)] @ rng.normal(size=(d, d))
    else:
        X *= 10.0 ** rng.uniform(-12, 8, size=d)
        X += rng.choice([0.0, 1e7], size=d)
    return X, y


def check_weights(proof, X, y, *, fit_intercept=True):
    assert np.all(proof.weights * y >= 0)
    if fit_intercept:
        assert proof.weights[y > 0].sum() == pytest.approx(1)
        assert proof.weights[y < 0].sum() == pytest.approx(-1)
    else:
        assert np.abs(proof.weights).sum() == pytest.approx(1)
    assert_allclose(proof.weights @ X, 0, atol=1e-12 * np.abs(X).max())


# ---------------------------------------------------------------------- soundness


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS, fit_intercept=st.booleans())
def test_no_proof_where_rational_arithmetic_separates(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    X, y = separable_rows(rng, int(rng.integers(3, 14)), int(rng.integers(1, 4)))
    proof = prove(X, y, fit_intercept=fit_intercept)
    if is_separable(X, y, fit_intercept=fit_intercept):
        assert proof is None
    elif proof is not None:
        check_weights(proof, X, y, fit_intercept=fit_intercept)


@settings(max_examples=150, deadline=None)
@given(seed=SEEDS, fit_intercept=st.booleans())
def test_rows_on_a_grid_are_decided_as_by_rational_arithmetic(seed, fit_intercept):
    """Small integers: hulls that touch in a point, an edge, or not at all; scaled and moved."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    X = rng.integers(-2, 3, size=(n, d)) * 2.0 ** rng.integers(-30, 30, size=d)
    if fit_intercept:
        X = X + rng.choice([0.0, 0.1, 1e3], size=d)  # rounded
    y = rng.choice([-1.0, 1.0], size=n)
    y[0] = -y[-1]
    proof = prove(X, y, fit_intercept=fit_intercept)
    assert (proof is None) == is_separable(X, y, fit_intercept=fit_intercept)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_classes_that_overlap_are_proved_to(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    X = rng.normal(size=(40, d)) * 10.0 ** rng.uniform(-8, 4, size=d)
    X += rng.choice([0.0, 1.0, 1e4]) * np.abs(X).max(axis=0)
    y = rng.choice([-1.0, 1.0], size=40)
    proof = prove(X, y)
    separable = is_separable(X, y)
    assert (proof is None) == separable
    if not separable:
        check_weights(proof, X, y)


def test_a_proof_of_exact_weights_holds_for_fractions():
    """The weights of a small support, recomputed as fractions from the equations alone."""
    X = np.array([[0.1, 0.7], [0.3, -0.2], [0.2, 0.9], [0.25, -0.9], [0.15, 0.1]])
    y = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
    proof = prove(X, y)
    assert proof.how == "exact weights"
    rows = np.flatnonzero(proof.weights)
    A = [[Fraction(X[i, 0]), Fraction(X[i, 1]), Fraction(1)] for i in rows]
    assert len(rows) <= 4
    assert not is_separable(X[rows], y[rows])
    total = [sum(Fraction(proof.weights[i]) * a[k] for i, a in zip(rows, A, strict=True))
             for k in range(3)]  # fmt: skip
    assert all(abs(t) < Fraction(1, 2**50) for t in total)


@pytest.mark.parametrize("d", [30, 80])
def test_many_columns(d):
    """Weights too long to compute are enclosed; one class moved away has none."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(6 * d, d)) + 1e5
    y = rng.choice([-1.0, 1.0], size=6 * d)
    proof = prove(X, y)
    assert proof.how == "enclosed weights"
    check_weights(proof, X - 1e5, y)
    assert prove(X + 20 * y[:, None], y) is None


def test_columns_that_add_up_to_a_constant():
    """A category as columns of zeros and ones, twice: equations that follow from others."""
    rng = np.random.default_rng(0)
    category = np.eye(12)[rng.integers(12, size=600)]
    X = np.concatenate([category, rng.normal(size=(600, 40)), category[:, ::-1]], axis=1)
    y = rng.choice([-1.0, 1.0], size=600)
    proof = prove(X, y)
    assert proof.how == "enclosed weights"
    check_weights(proof, X, y)
    X[:, 0] += 1e-3 * y  # one of them tells the classes apart
    assert prove(X, y) is None


# ---------------------------------------------------------------------- kernels


@pytest.mark.parametrize("kernel", [RBF(1e-9), RBF(1.0), Laplacian(1e-3), Linear() + RBF(1e-6)])
@pytest.mark.parametrize("seed", range(5))
def test_kernels_that_separate_any_distinct_rows_have_no_proof(kernel, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(30, 2)), 1) + rng.choice([0.0, 1e6])
    X = np.unique(X, axis=0)
    y = rng.choice([-1.0, 1.0], size=len(X))
    assert prove(X, y, kernel) is None


@pytest.mark.parametrize(
    "kernel", [RBF(1.0), Laplacian(), Cosine(), Linear(), "sigmoid", lambda A, B: A @ B.T]
)
@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_equal_rows_with_opposite_labels_are_a_proof_for_every_kernel(kernel, form):
    X = np.array([[0.0, 1.0], [3.0, 0.0], [3.0, -0.0], [5.0, -2.0]])
    if callable(kernel):
        X[2] = X[1]  # a function may tell −0 from 0
    proof = prove(form(X), [1.0, 1.0, -1.0, -1.0], kernel)
    assert_allclose(proof.weights, [0, 1, -1, 0], atol=1e-15)
    assert proof.how == "equal rows"


def test_equal_objects():
    def overlap(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    words = np.array(["ab", "abc", "ab", "b"], dtype=object)
    assert_allclose(prove(words, [1.0, 1.0, -1.0, -1.0], overlap).weights, [1, 0, -1, 0])
    assert prove(words, [1.0, -1.0, 1.0, -1.0], overlap) is None


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, fit_intercept=st.booleans())
def test_polynomial_kernels_are_their_monomials(seed, fit_intercept):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 16))
    X = rng.integers(-3, 4, size=(n, 2)) / 4
    y = rng.choice([-1.0, 1.0], size=n)
    a, b = X.T
    one = np.ones(n)
    cases = [
        (Polynomial(2, 1.0, 1.0), [one, a, b, a * a, a * b, b * b]),
        (Polynomial(2, 0.1, 0.0), [a * a, a * b, b * b]),
        (Linear() * Linear() + 2 * Constant(0.0), [a * a, a * b, b * b]),
        (0.3 * Linear() + Polynomial(3, 1.0, 0.0), [a, b, a**3, a * a * b, a * b * b, b**3]),
        ((Linear() + 1) ** 2, [one, a, b, a * a, a * b, b * b]),
        (AllSubsets(), [one, a, b, a * b]),
        (Constant(2.0), [one]),
    ]
    for kernel, features in cases:
        proof = prove(X, y, kernel, fit_intercept=fit_intercept)
        expected = is_separable(np.array(features).T, y, fit_intercept=fit_intercept)
        assert (proof is None) == expected, kernel


def test_how_many_monomials():
    for kernel in (Polynomial(3, 1.0, 1.0), Polynomial(2, 1.0, 0.0), Linear(), AllSubsets()):
        assert len(monomials(kernel, 4, 1000)) == kernel.n_features_out(4)
    assert monomials(Polynomial(9, 1.0, 1.0), 50, 1000) is None
    assert monomials(Linear() + RBF(), 2, 1000) is None
    assert monomials(0 * RBF(), 2, 1000) == frozenset()


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.int64])
def test_a_precomputed_matrix_is_taken_as_it_is(dtype):
    X = np.array([[0, 0], [4, 0], [2, 2], [2, -2], [3, 1]])
    y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    K = (X @ X.T).astype(dtype)
    proof = prove(K, y, Precomputed())
    check_weights(proof, K.astype(float), y)
    part = gram_of(K, Precomputed()).take(np.array([4, 2, 0]))
    assert prove_inseparable(svc(y[[4, 2, 0]], np.inf), part) is None
    # A little on the diagonal makes it regular: every labelling is possible.
    assert prove(K + 1e-9 * np.eye(5), y, Precomputed()) is None


@pytest.mark.parametrize("scale", [1.0, 2.0**-60, 1e12])
def test_sparse_rows(scale):
    X = sp.csr_matrix(np.array([[0, 0, 3.0], [2, 0, 0], [1, 1, 1.5], [1, -1, 1.5]]) * scale)
    y = np.array([1.0, 1.0, -1.0, -1.0])
    assert_allclose(prove(X, y).weights, y / 2)
    X = X.tolil()
    X[3, 2] = 1.4 * scale
    assert prove(X.tocsr(), y) is None


def test_through_the_origin_there_must_be_a_zero_among_the_mirrored_points():
    X = np.array([[1.0], [2.0]])
    y = np.array([1.0, -1.0])  # separable, but not by a hyperplane through the origin
    assert prove(X, y) is None
    assert_allclose(prove(X, y, fit_intercept=False).weights, [2 / 3, -1 / 3])


def test_one_class_only_has_no_proof():
    assert prove(np.eye(3), np.ones(3)) is None


def test_finite_bounds_ask_for_nothing():
    X, y = np.array([[1.0], [1.0]]), np.array([1.0, -1.0])
    assert prove_inseparable(svc(y, 1.0), gram_of(X)) is None


# ---------------------------------------------------------------------- tubes


def prove_tube(X, t, epsilon, kernel="linear"):
    t = np.asarray(t, dtype=np.float64)
    return prove_inseparable(svr(t, np.inf, epsilon), gram_of(X, kernel))


def test_tubes_that_are_too_narrow():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    t = np.array([0.0, 1.0, 2.0, 9.0])  # within 2 of 2x − 1 (Chebyshev), not within less
    for offset in (0.0, 1e6):
        assert prove_tube(X, t + offset, 1.99) is not None
        assert prove_tube(X, t + offset, 2.01) is None
    assert prove_tube(X, t, 0.0, RBF(1e-6)) is None
    twice = np.array([[1.0], [1.0]])
    assert prove_tube(twice, [0.0, 1.0], 0.4, RBF()).how == "equal rows"
    assert prove_tube(twice, [0.0, 1.0], 0.6, RBF()) is None


# ---------------------------------------------------------------------- the opposite proof


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS)
def test_separates_is_exact(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(6, 3)), rng.normal(size=3)
    b = -float(X[0] @ w)  # the first row lies on the plane, or next to it by rounding
    y = np.where(X @ w + b > 0, 1, -1)
    exact = [sum(Fraction(x) * Fraction(c) for x, c in zip(row, w, strict=True)) + Fraction(b)
             for row in X.tolist()]  # fmt: skip
    for side in (y, np.r_[-y[0], y[1:]]):
        assert separates(X, side, w, b) == all(s * e > 0 for s, e in zip(side, exact, strict=True))
    assert separates(sp.csr_matrix(X[1:]), y[1:], w, b)
    assert not separates(X, y, w * np.nan, b)


# ---------------------------------------------------------------------- exact arithmetic


@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 8))
def test_linear_systems(seed, n):
    rng = np.random.default_rng(seed)
    A = as_integers(rng.normal(size=(n, n)) * 10.0 ** rng.uniform(-5, 5, size=n))
    rhs = as_integers(rng.normal(size=(n, 1)))[:, 0]
    x, q = solve_exactly(A, rhs)
    assert q > 0
    assert not any(A.dot(x) - q * rhs)
    A[-1] = A[0] * 3
    assert (solve_exactly(A, rhs) is None) or n == 1


@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, n=st.integers(1, 8))
def test_enclosures_are_those_of_the_exact_solution(seed, n):
    rng = np.random.default_rng(seed)
    A = as_integers(rng.normal(size=(n, n)))
    u = as_integers(rng.uniform(-0.02, 1.0, size=(n, 1)))[:, 0]
    if rng.uniform() < 0.3:
        u[0] = int(rng.integers(-1, 2))
    found = encloses_positive(A, A.dot(u))
    if found is not None:
        assert all(v > 0 for v in u)
        middle, error = found
        assert all(abs(Fraction(m) - v) <= Fraction(error) for m, v in zip(middle, u, strict=True))
    A[-1] = A[0] * 2
    if n > 1:
        assert encloses_positive(A, A.dot(u)) is None


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_the_simplex_method_on_integers(seed):
    rng = np.random.default_rng(seed)
    m, n = (int(k) for k in rng.integers(1, 7, size=2))
    A = as_integers(rng.integers(-2, 3, size=(m, n)))
    if rng.uniform() < 0.5:
        A[-1] = A[0] * 2  # dependent
    rhs = as_integers(rng.integers(0, 3, size=(m, 1)))[:, 0]
    x = feasible_point(A, rhs, 10.0)
    exact = [[Fraction(a) for a in row] for row in A.tolist()]
    assert (x is not None) == is_feasible(exact, [Fraction(b) for b in rhs.tolist()])
    if x is not None:
        assert all(v >= 0 for v in x)
        left = A.dot(x)
        q = next((Fraction(a, b) for a, b in zip(left, rhs, strict=True) if b), Fraction(0))
        assert all(a == q * b for a, b in zip(left, rhs, strict=True))
        assert q > 0 or not any(rhs)
    assert feasible_point(A, rhs + 1, 0.0) is None  # no time


def test_floats_as_integers():
    X = np.array([[1e300, 1e-300, 0.0], [3.0, 0.1, 0.0], [-0.1, 5e-324, 0.0], [0.0, -1.0, 0.0]])
    whole = as_integers(X)
    for column, integers in zip(X.T.tolist(), whole.T, strict=True):
        ratios = {Fraction(x) / i for x, i in zip(column, integers, strict=True) if x}
        assert len(ratios) <= 1
        assert all((x == 0) == (i == 0) for x, i in zip(column, integers, strict=True))


# ---------------------------------------------------------------------- the watch


def test_hull_distance_is_that_of_the_weighted_means():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]])
    beta = np.array([2.0, 2.0, -4.0])
    assert hull_distance_sq(beta, X @ (X.T @ beta)) == pytest.approx(9.0)
    assert hull_distance_sq(np.zeros(3), np.zeros(3)) == np.inf


def test_the_watch_speaks_only_where_there_is_a_proof():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, -1.0]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    K = X @ X.T
    near = np.array([1.0, 0.9, -0.9, -1.0])
    proof = HardMarginWatch(svc(y, np.inf), gram_of(X))(near, K @ near)
    assert_allclose(proof.weights, y / 2, atol=1e-9)
    assert HardMarginWatch(svc(y, 1e9), gram_of(X)).is_idle
    X[2:, 0] += 10  # apart: no proof, however often it is asked
    watch = HardMarginWatch(svc(y, np.inf), gram_of(X))
    assert not watch.is_idle
    assert all(watch(near, X @ (X.T @ near)) is None for _ in range(3))
    assert watch.is_idle  # few rows are looked at once


def test_the_watch_of_many_rows_looks_at_support_vectors_as_the_hulls_come_nearer():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = rng.choice([-1.0, 1.0], size=1500)
    watch = HardMarginWatch(svc(y, np.inf), gram_of(X))
    beta = np.zeros(1500)
    beta[[int(np.argmax(y > 0)), int(np.argmax(y < 0))]] = 1.0, -1.0
    assert watch(beta, X @ (X.T @ beta)) is None
    assert not watch.is_idle
    beta = y / 1500  # a point of each hull: not the same, but near
    proof = watch(beta, X @ (X.T @ beta))
    check_weights(proof, X, y)
    assert watch(beta, X @ (X.T @ beta)) is None  # as near as before


# ---------------------------------------------------------------------- fits


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(12))
def test_no_fit_of_separable_rows_claims_a_proof(seed):
    rng = np.random.default_rng(seed)
    X, y = separable_rows(rng, 12, 3)
    if not is_separable(X, y):
        pytest.skip("rounding of the offset has mixed the classes")
    model = SVC(kernel="linear", C=np.inf, time_limit=2).fit(X, y)
    assert model.certificate_.gap >= 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_three_rows_of_a_tiny_column():
    X, y = [[9e-8, -1.9], [9e-8, 1.1], [-9e-8, 0.5]], [1, 1, -1]
    model = SVC(C=np.inf, kernel="linear", time_limit=2).fit(X, y)
    assert model.certificate_.gap >= 0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_float64_cannot_tell_apart_is_its_limit(seed):
    """RBF kernels so wide that K is 1 to all digits: separable, and no proof of the contrary."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    y = rng.choice([0, 1], size=30)
    gamma = 10.0 ** rng.uniform(-18, -10)
    model = SVC(C=np.inf, gamma=gamma, time_limit=2).fit(X, y)
    assert model.certificate_.status is not Status.NOT_SEPARABLE
    assert not model.certificate_.status.is_solved


@pytest.mark.parametrize("solver", ["auto", "qp"])
def test_a_tube_that_is_too_narrow_is_refused_with_a_proof(solver):
    X, t = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 2.0, 9.0])
    with pytest.raises(ValueError, match=r"proved in exact arithmetic.*larger epsilon"):
        SVR(kernel="linear", C=np.inf, epsilon=0.1, solver=solver, time_limit=5).fit(X, t)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [40, 2000])
def test_fits_of_classes_that_overlap(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + rng.choice([0.0, 100.0])
    y = rng.choice(["no", "yes"], size=n)
    with pytest.raises(NotSeparableError) as caught:
        SVC(kernel="linear", C=np.inf, time_limit=20).fit(X, y)
    weights = caught.value.weights
    assert_allclose(weights @ X, 0, atol=1e-9)
    assert weights[y == "yes"].sum() == pytest.approx(1)
