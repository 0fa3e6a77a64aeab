"""What makes a kernel: the check with its witness, and the nearest positive semidefinite matrix."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import (
    SVC,
    SVR,
    KernelKMeans,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    NuSVC,
    NuSVR,
    OneClassSVM,
    check_kernel,
    nearest_psd,
)
from mercer._threads import Workers
from mercer.gram import BlockedGram
from mercer.gram._psd import psd_bound
from mercer.kernels import (
    RBF,
    IndefiniteKernelWarning,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    as_kernel,
)
from mercer.kernels._samples import Samples
from mercer.kernels._symmetry import require_symmetric

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
def test_many_rows(function, expected):
    check = check_kernel(function, X, max_rows=20)
    assert check.is_psd is expected
    assert not check.is_exact
    assert "Lanczos" in repr(check)
    if not expected:
        exact = np.linalg.eigvalsh(tanh(X, X))[0]
        assert exact - 1e-9 <= check.min_eigenvalue < 0
        assert check.witness @ tanh(X, X) @ check.witness == pytest.approx(check.witness_value)


def test_one_negative_direction_hidden_from_parts():
    """K = I − 1.5 uuᵀ with u spread over all rows: parts of 20 rows are positive definite."""
    u = np.full(60, 60**-0.5)
    check = check_kernel(np.eye(60) - 1.5 * np.outer(u, u), max_rows=20)
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


# ---------------------------------------------------------------------- bounds with a proof


def gram_of(X, kernel="precomputed"):
    return BlockedGram(as_kernel(kernel), Samples(X), Workers(1))


def smallest_eigenvalue(K):
    """Of a matrix of floats, to 60 digits."""
    with mpmath.workdps(60):
        return mpmath.eigsy(mpmath.matrix(K.tolist()), eigvals_only=True)[0]


def value_of(c, K):
    """cᵀKc in rational arithmetic."""
    c = [Fraction(x) for x in c.tolist()]
    return sum(a * Fraction(k) * b for a, row in zip(c, K.tolist(), strict=True)
               for k, b in zip(row, c, strict=True))  # fmt: skip


def with_smallest(rng, n, least, rank=None):
    """A symmetric matrix of floats whose smallest eigenvalue is about ``least``."""
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.sort(rng.uniform(size=n))
    if rank is not None:
        values[: n - rank] = 0.0
    values[0] = least
    K = (Q * values) @ Q.T
    return (K + K.T) / 2


def check_bound(bound, K):
    least = smallest_eigenvalue(K)
    if bound.delta is not None:
        assert least >= -bound.delta
        assert bound.witness is None
    if bound.witness is not None:
        value = value_of(bound.witness, K)
        assert value < 0
        assert bound.witness_value == pytest.approx(
            float(value), rel=1e-6, abs=1e-14 * np.abs(K).max()
        )
        assert least < 0
    return least


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**20), st.integers(2, 9), st.floats(-18, -2), st.booleans())
def test_bounds_are_those_of_the_exact_eigenvalues(seed, n, exponent, low_rank):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-20, 20)
    K = with_smallest(rng, n, -(10.0**exponent), max(n // 2, 1) if low_rank else None) * scale
    bound = psd_bound(gram_of(K))
    least = check_bound(bound, K)
    assert (bound.delta is None) != (bound.witness is None)  # decided either way
    if least < -1e-13 * scale:
        assert bound.witness is not None
        assert not check_kernel(K).is_psd
    if bound.delta is not None:
        assert bound.delta <= 1e-12 * scale


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 9))
def test_matrices_that_are_semidefinite_have_no_witness(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.integers(-9, 10, size=(n, int(rng.integers(1, n + 1)))).astype(float)
    K = A @ A.T  # exact
    for matrix in (K, K * 1e-30, K + 1e6):
        bound = psd_bound(gram_of(matrix))
        assert bound.witness is None
        assert 0 <= bound.delta <= 1e-12 * max(np.trace(matrix), 1e-290)


@pytest.mark.parametrize("n", [190, 192, 193, 450])
@pytest.mark.parametrize("least", [-1e-3, -1e-9, 0.0])
def test_several_blocks(n, least):
    rng = np.random.default_rng(n)
    K = with_smallest(rng, n, least)
    bound = psd_bound(gram_of(K))
    if least:
        c = bound.witness
        assert c @ K @ c == pytest.approx(least, rel=0.5)
        assert np.linalg.norm(c) == pytest.approx(1)
    else:
        assert bound.delta <= 1e-9


def test_kernels_that_are_semidefinite_by_construction_are_not_looked_at():
    def fail():
        raise AssertionError

    for kernel in (RBF(0.3), Linear() + Laplacian()):
        assert psd_bound(gram_of(X, kernel), stop=fail).delta == 0.0


@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
def test_the_sigmoid_kernel_where_it_is_semidefinite_and_where_not():
    K = np.tanh(9.0 * np.eye(5))
    bound = psd_bound(gram_of(3 * np.eye(5), Sigmoid(1.0, 0.0)))
    assert np.linalg.eigvalsh(K)[0] > 0
    assert bound.delta < 1e-12
    bound = psd_bound(gram_of(X, Sigmoid(1.0, 1.0)))
    assert bound.witness @ tanh(X, X) @ bound.witness == pytest.approx(bound.witness_value)
    least = np.linalg.eigvalsh(tanh(X, X))[0]
    assert least - 1e-12 <= bound.witness_value <= 0.5 * least


def test_rounding_to_float32_is_no_negative_curvature():
    """A matrix of low rank, rounded: eigenvalues of −1e-7 that the numbers given do have."""
    A = np.random.default_rng(3).normal(size=(80, 3))
    K = (A @ A.T).astype(np.float32)
    assert smallest_eigenvalue(K[:12, :12].astype(float)) < 0
    bound = psd_bound(gram_of(K))
    assert bound.witness is None
    assert -np.linalg.eigvalsh(K.astype(float))[0] <= bound.delta < 1e-4
    assert psd_bound(gram_of(K.astype(np.float64))).witness is not None


def test_a_part_of_a_gram():
    K = np.diag([1.0, -1.0, 2.0, 3.0])
    assert psd_bound(gram_of(K).take(np.array([3, 0]))).delta < 1e-13
    bound = psd_bound(gram_of(K).take(np.array([3, 1])))
    assert bound.witness_value == -1.0
    assert abs(bound.witness).tolist() == [0.0, 1.0]


def test_more_rows_than_are_factored():
    """A witness of some rows, one of all rows together, and nothing shown where there is none."""
    rng = np.random.default_rng(0)
    bad = psd_bound(gram_of(tanh(X, X)), max_rows=20)
    assert bad.delta is None
    assert value_of(bad.witness, tanh(X, X)) < 0
    u = np.full(60, 60**-0.5)
    K = np.eye(60) - 1.5 * np.outer(u, u)  # parts of 20 rows are positive definite
    hidden = psd_bound(gram_of(K), max_rows=20)
    assert hidden.witness_value < -0.1
    A = rng.normal(size=(60, 5))
    good = psd_bound(gram_of(A @ A.T), max_rows=20)
    assert good.delta is None
    assert good.witness is None


def test_a_stop_is_heard_at_every_step():
    K = with_smallest(np.random.default_rng(0), 500, 0.0)
    for after in range(5):  # two tiles, three blocks of columns
        asked = itertools.count()
        bound = psd_bound(gram_of(K), stop=lambda asked=asked, after=after: next(asked) >= after)
        assert bound.delta is None
        assert bound.witness is None
    bound = psd_bound(gram_of(K), max_rows=100, stop=lambda: True)
    assert bound.delta is None


def test_zero_and_single_entries():
    assert psd_bound(gram_of(np.zeros((3, 3)))).delta < 1e-300
    assert psd_bound(gram_of(np.array([[4.0]]))).delta < 1e-13
    assert psd_bound(gram_of(np.array([[-4.0]]))).witness_value == -4.0
    assert psd_bound(gram_of(np.array([[0, 1], [1, 0]]))).witness_value == pytest.approx(-1.0)


# ---------------------------------------------------------------------- symmetry

PRECOMPUTED = [
    SVC, NuSVC, SVR, NuSVR, OneClassSVM, KernelRidge, KernelLogisticRegression, KernelKMeans,
    KernelPerceptron, KernelPCA,
]  # fmt: skip


def target_of(estimator):
    y = np.where(X[:, 0] > 0, 1, 0)
    return X[:, 1] if estimator.__name__ in ("SVR", "NuSVR", "KernelRidge") else y


@pytest.mark.parametrize("estimator", PRECOMPUTED)
def test_a_matrix_that_is_not_symmetric_is_refused_with_its_entry(estimator):
    K = RBF(0.3)(X)
    y = target_of(estimator)
    estimator(kernel="precomputed").fit(K, y)
    K[41, 7] += 0.25
    with pytest.raises(ValueError, match=r"not symmetric.*K\[7, 41\].*K\[41, 7\].*\(K \+ K.T\)/2"):
        estimator(kernel="precomputed").fit(K, y)


@pytest.mark.parametrize("estimator", PRECOMPUTED)
def test_a_function_that_is_not_symmetric_is_refused(estimator):
    def skew(A, B):
        return A @ B.T + A[:, :1]

    with pytest.raises(ValueError, match=r"skew.*not symmetric"):
        estimator(kernel=skew).fit(X, target_of(estimator))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries_may_differ_by_rounding(dtype):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(1100, 30)).astype(dtype)
    K = A @ A.T
    noise = rng.uniform(-4, 4, size=K.shape) * np.finfo(dtype).eps
    K = (K * (1 + noise)).astype(dtype)
    assert (K != K.T).any()
    require_symmetric(K)
    require_symmetric(K, centred=True)
    K[3, 1050] *= 1.01
    K[3, 1050] += 0.01
    with pytest.raises(ValueError, match=r"K\[3, 1050\]"):
        require_symmetric(K)
    with pytest.raises(ValueError, match=r"after centring: K\[3, 1050\]"):
        require_symmetric(K, centred=True)


def test_integers_must_be_equal():
    K = np.array([[200, 3], [3, 7]], dtype=np.uint8)
    require_symmetric(K)
    K[0, 1] = 2
    with pytest.raises(ValueError, match="not symmetric"):
        require_symmetric(K)


def test_terms_of_rows_alone_are_gone_after_centring():
    K = RBF(0.3)(X) + X[:, :1] - 7.0
    require_symmetric(K, centred=True)
    with pytest.raises(ValueError, match="not symmetric"):
        require_symmetric(K)
    skew, plain = (KernelPCA(2, kernel="precomputed").fit(M) for M in (K, RBF(0.3)(X)))
    np.testing.assert_allclose(skew.eigenvalues_, plain.eigenvalues_)
    scores = plain.transform(RBF(0.3)(X))
    np.testing.assert_allclose(skew.transform(K), scores, atol=1e-9)


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
