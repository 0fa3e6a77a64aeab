"""What makes a kernel: the check with its witness, and the nearest positive semidefinite matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import SVC, check_kernel, nearest_psd, psd
from mercer.kernels import RBF, IndefiniteKernelWarning, Laplacian, Linear, Polynomial, Sigmoid

X = np.random.default_rng(0).normal(size=(60, 3))


def tanh(A, B):
    return np.tanh(1 + A @ B.T)


def test_tanh_on_one_and_two():
    """tanh(1 + x·z) on x = 1, 2: by the quadratic formula the eigenvalue is −0.013."""
    check = check_kernel(tanh, np.array([[1.0], [2.0]]))
    a, b, c = np.tanh([2.0, 3.0, 5.0])
    least = (a + c) / 2 - np.hypot((a - c) / 2, b)
    assert least == pytest.approx(-0.013, abs=5e-4)
    assert check.min_eigenvalue == pytest.approx(least, rel=1e-10)
    assert not check.is_psd
    assert check.witness @ tanh(*2 * [np.array([[1.0], [2.0]])]) @ check.witness < 0
    assert check.witness_value == pytest.approx(least, rel=1e-10)
    assert "Not a kernel" in repr(check)


@pytest.mark.parametrize(
    "kernel", [RBF(0.3), Laplacian(), Linear(), Polynomial(3, coef0=1.0), "rbf"]
)
def test_kernels_pass(kernel):
    check = check_kernel(kernel, X)
    assert check.is_psd
    assert check.witness is None
    assert check.min_eigenvalue >= -check.tolerance
    assert check.is_exact
    assert "semidefinite on these rows" in repr(check)


def test_names_functions_matrices_and_kernels_say_the_same():
    with pytest.warns(IndefiniteKernelWarning):
        kernel = Sigmoid(1.0, 1.0)
    K = kernel(X)
    checks = [check_kernel(kernel, X), check_kernel(tanh, X), check_kernel(K)]
    checks += [check_kernel("precomputed", K), check_kernel(K.astype(np.float32))]
    for check in checks:
        assert not check.is_psd
        assert check.min_eigenvalue == pytest.approx(checks[0].min_eigenvalue, rel=1e-4)
        assert check.witness @ K @ check.witness < 0


def test_words():
    words = ["ab", "abc", "b", "a"]

    def common(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    assert check_kernel(common, words).is_psd
    assert not check_kernel(lambda A, B: 1.0 - common(A, B), words).is_psd


def test_a_function_that_is_not_symmetric():
    check = check_kernel(lambda A, B: A @ B.T + A[:, :1], X)
    assert not check.is_psd
    assert not check.is_symmetric
    assert check.asymmetry == pytest.approx(np.ptp(X[:, 0]))
    assert "not symmetric" in repr(check)


@pytest.mark.parametrize(("function", "expected"), [(tanh, False), (RBF(0.3), True)])
def test_many_rows(monkeypatch, function, expected):
    monkeypatch.setattr(psd, "EXACT_ROWS", 20)
    check = check_kernel(function, X)
    assert check.is_psd is expected
    assert not check.is_exact
    assert "Lanczos" in repr(check)
    if not expected:
        exact = np.linalg.eigvalsh(tanh(X, X))[0]
        assert exact - 1e-9 <= check.min_eigenvalue < 0
        assert check.witness @ tanh(X, X) @ check.witness == pytest.approx(check.witness_value)


def test_one_negative_direction_hidden_from_parts(monkeypatch):
    """K = I − 1.5 uuᵀ with u spread over all rows: parts of 20 rows are positive definite."""
    monkeypatch.setattr(psd, "EXACT_ROWS", 20)
    u = np.full(60, 60**-0.5)
    check = check_kernel(np.eye(60) - 1.5 * np.outer(u, u))
    assert check.min_eigenvalue == pytest.approx(-0.5)
    assert not check.is_psd


@given(st.integers(0, 2**16), st.integers(1, 8))
def test_the_verdict_is_that_of_the_eigenvalues(seed, n):
    A = np.random.default_rng(seed).normal(size=(n, n))
    K = A + A.T
    least = np.linalg.eigvalsh(K)[0]
    assert check_kernel(K).is_psd == (least >= 0)
    assert check_kernel(K, tol=abs(least) + 1).is_psd


@given(st.integers(0, 2**16), st.integers(1, 7))
def test_nearest_psd_is_nearest(seed, n):
    """The projection onto a convex cone: the rest is orthogonal to it and in the polar cone."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    K = A + A.T
    P = nearest_psd(K)
    rest = K - P
    assert np.linalg.eigvalsh(P)[0] >= -1e-12 * n
    assert np.linalg.eigvalsh(rest)[-1] <= 1e-12 * n
    assert abs((rest * P).sum()) <= 1e-10 * n


def test_nearest_correlation_matrix():
    """Higham's 3 × 3 example, solved by hand: off-diagonals 0.7607 and 0.1573."""
    K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    P = nearest_psd(K, unit_diagonal=True)
    np.testing.assert_allclose(np.diag(P), 1, atol=0)
    np.testing.assert_allclose([P[0, 1], P[0, 2]], [0.7607, 0.1573], atol=5e-5)
    assert np.linalg.eigvalsh(P)[0] >= -1e-8
    # Optimal: (K − P) plus a diagonal is in the polar cone and orthogonal to P.
    rest = K - P
    multiplier = -np.diag(rest @ P) / np.diag(P)
    assert np.linalg.eigvalsh(rest + np.diag(multiplier))[-1] <= 1e-6


def test_a_repaired_matrix_is_fitted_without_complaint():
    y = np.where(X[:, 0] > 0, 1, -1)
    model = SVC(kernel="precomputed").fit(nearest_psd(tanh(X, X)), y)
    assert model.certificate_.status.is_solved


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_kernel(np.ones((2, 3))), "must be square"),
        (lambda: check_kernel("rbf", np.empty((0, 2))), "at least one row"),
        (lambda: check_kernel("nope", X), "kernel must be a Kernel"),
        (lambda: check_kernel(np.full((2, 2), np.nan)), "holds NaN"),
        (lambda: check_kernel("rbf", X, tol=-1), "tol must be"),
        (lambda: nearest_psd(np.ones((2, 3))), "square matrix of finite"),
        (lambda: nearest_psd(np.full((2, 2), np.inf)), "square matrix of finite"),
        (lambda: nearest_psd(-np.ones((3, 3)), unit_diagonal=True, max_iter=1), "max_iter=1"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
