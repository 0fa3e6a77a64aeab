"""Stated residuals and gaps of ridge regression, PCA and logistic regression hold in 200 bits.

The data are drawn to be hard: offsets, huge and constant columns, far clusters, duplicates, weights
over decades. What is stated may be large there; it may not be below the truth.
"""

from __future__ import annotations

import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC, KernelLogisticRegression, KernelPCA, KernelRidge, verify
from mercer._result import Status

seeds = st.integers(0, 10**6)
kernels = st.sampled_from(["linear", "rbf", "poly"])


def hard_rows(rng, n):
    X = rng.normal(size=(n, 3))
    kind = rng.integers(0, 6)
    if kind == 1:
        X += 10.0 ** rng.integers(2, 7)
    elif kind == 2:
        X[:, 0] = 10.0 ** rng.integers(2, 7)
    elif kind == 3:
        X[: n // 2] += 10.0 ** rng.integers(2, 6)
    elif kind == 4:
        X[n // 2 :] = X[: n - n // 2]
    elif kind == 5:
        X *= 10.0 ** rng.integers(-4, 3)
    return X


def exact_kernel(kernel, X):
    """The matrix in mpmath's precision."""
    rows = [[mpmath.mpf(float(v)) for v in row] for row in X]
    name = type(kernel).__name__

    def value(x, z):
        if name == "RBF":
            square = sum((a - b) ** 2 for a, b in zip(x, z, strict=True))
            return mpmath.exp(-mpmath.mpf(kernel.gamma) * square)
        dot = sum(a * b for a, b in zip(x, z, strict=True))
        if name == "Linear":
            return dot
        return (mpmath.mpf(kernel.gamma) * dot + mpmath.mpf(kernel.coef0)) ** kernel.degree

    return mpmath.matrix([[value(x, z) for z in rows] for x in rows])


def vector(values):
    return mpmath.matrix([mpmath.mpf(float(v)) for v in np.ravel(values)])


@given(seeds, kernels, st.sampled_from(["cholesky", "cg", "eigen"]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_ridge(seed, kernel, solver, weighted):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    X, y = hard_rows(rng, n), rng.normal(size=n)
    weight = 10.0 ** rng.uniform(-2, 2, n) if weighted else None
    alpha = 10.0 ** rng.integers(-6, 4)
    model = KernelRidge(alpha, kernel=kernel, gamma=0.5, degree=2, solver=solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stated = model.fit(X, y, weight).certificate_
    s = vector(np.ones(n) if weight is None else weight)
    with mpmath.workprec(200):
        K, c, t = exact_kernel(model.kernel_, X), vector(model.dual_coef_), vector(y)
        f = K * c
        r = [t[i] - f[i] - mpmath.mpf(alpha) * c[i] / s[i] for i in range(n)]
        square = sum(s[i] * r[i] ** 2 for i in range(n))
        size = sum(s[i] * t[i] ** 2 for i in range(n))
        primal = sum(s[i] * (t[i] - f[i]) ** 2 for i in range(n)) / 2
        primal += mpmath.mpf(alpha) * sum(c[i] * f[i] for i in range(n)) / 2
        assert mpmath.sqrt(square / size) <= stated.residual
        assert square / 2 <= stated.gap
        assert primal <= stated.primal
        best = mpmath.lu_solve(
            K + mpmath.mpf(alpha) * mpmath.diag([1 / s[i] for i in range(n)]), t
        )  # fmt: skip
        optimum = mpmath.mpf(alpha) * sum(t[i] * best[i] for i in range(n)) / 2
        assert stated.dual <= optimum * (1 + mpmath.mpf(2) ** -100)
        assert primal - optimum <= stated.gap
        found = verify(model, X, y, weight).status  # may prove what the fit cannot
        assert found.is_solved or not stated.status.is_solved
        if found.is_solved:
            assert mpmath.sqrt(square / size) <= model.tol * (1 + 1e-6)
        if stated.status.is_solved:
            assert mpmath.sqrt(square / size) <= model.tol


@given(seeds, kernels)
@settings(max_examples=40, deadline=None)
def test_pca(seed, kernel):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    X = hard_rows(rng, n)
    model = KernelPCA(3, kernel=kernel, gamma=0.5, degree=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stated = model.fit(X).certificate_
    with mpmath.workprec(200):
        K = exact_kernel(model.kernel_, X)
        H = mpmath.eye(n) - mpmath.ones(n, n) / n
        centred = H * K * H
        for j, bound in enumerate(stated.residuals):
            v = vector(model.eigenvectors_[:, j])
            off = mpmath.norm(centred * v - mpmath.mpf(float(model.eigenvalues_[j])) * v)
            # Eigenvalues of rounding alone are shown as zero.
            assert off <= bound + 1e-10 * float(model.eigenvalues_[0])
    assert verify(model, X).status.is_solved or not stated.status.is_solved


@given(seeds, kernels, st.booleans())
@settings(max_examples=40, deadline=None)
def test_logistic(seed, kernel, fit_intercept):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 10))
    X, y = hard_rows(rng, n), np.arange(n) % 2
    C = 10.0 ** rng.integers(-3, 4)
    model = KernelLogisticRegression(
        C=C, kernel=kernel, gamma=0.5, degree=2, fit_intercept=fit_intercept
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stated = model.fit(X, y).certificate_
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[0]
    with mpmath.workprec(200):
        K, c = exact_kernel(model.kernel_, X), vector(beta)
        f, b, sign = K * c, mpmath.mpf(float(model.intercept_[0])), [2 * int(v) - 1 for v in y]
        primal = sum(c[i] * f[i] for i in range(n)) / 2
        primal += C * sum(mpmath.log1p(mpmath.exp(-sign[i] * (f[i] + b))) for i in range(n))
        assert primal <= stated.primal
        assert stated.dual <= primal
        assert primal - minimum(K, sign, C, fit_intercept) <= stated.gap * (1 + 1e-9) + 1e-25
    if stated.status.is_solved:
        assert stated.relative_gap <= model.tol


def minimum(K, sign, C, fit_intercept):
    """An upper bound of the optimal value by damped Newton steps, tight enough for the test."""
    n = K.rows
    c, b = mpmath.zeros(n, 1), mpmath.mpf(0)

    def value(c, b):
        f = K * c
        losses = (mpmath.log1p(mpmath.exp(-sign[i] * (f[i] + b))) for i in range(n))
        return (c.T * f)[0] / 2 + C * sum(losses)

    now = value(c, b)
    for _ in range(40):
        f = K * c
        p = [1 / (1 + mpmath.exp(sign[i] * (f[i] + b))) for i in range(n)]
        d = [C * p[i] * (1 - p[i]) for i in range(n)]
        # (I + DK) Δc + D1 Δb = Cyp − c, and 1ᵀ(Cyp − DKΔc − D1Δb) = 0
        M, rhs = mpmath.eye(n + 1), mpmath.zeros(n + 1, 1)
        for i in range(n):
            for j in range(n):
                M[i, j] += d[i] * K[i, j]
            M[i, n] = d[i] if fit_intercept else 0
            rhs[i] = C * sign[i] * p[i] - c[i]
        for j in range(n):
            M[n, j] = sum(d[i] * K[i, j] for i in range(n)) if fit_intercept else 0
        if fit_intercept:
            M[n, n] = sum(d) + mpmath.mpf(2) ** -150
            rhs[n] = C * sum(sign[i] * p[i] for i in range(n))
        step = mpmath.lu_solve(M, rhs)
        t = mpmath.mpf(1)
        while t > mpmath.mpf(2) ** -30:
            trial = c + t * step[:n, 0], b + t * step[n]
            if value(*trial) < now:
                c, b = trial
                now = value(c, b)
                break
            t /= 2
        else:
            break
    return now


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1e5, 1e6, 3e7])
def test_huge_constant_column(seed, size):
    """A residual that float64 cannot prove is no solution, and nothing raises."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    X[:, seed] = size
    y = rng.normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ridge = KernelRidge(1.0).fit(X, y)
        logistic = KernelLogisticRegression(kernel="linear", C=1.0).fit(X, y > 0)
        KernelLogisticRegression(kernel="linear", C=100.0).fit(X, y > 0)
    if ridge.certificate_.residual > ridge.tol:
        assert ridge.certificate_.status is Status.STALLED
    assert np.isfinite(logistic.predict_proba(X)).all()
    assert logistic.certificate_.status.is_solved == (
        logistic.certificate_.relative_gap <= logistic.tol
    )


@pytest.mark.parametrize("seed", range(4))
def test_pegasos_solver_is_solved_only_within_the_tolerance(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    model = SVC(solver="pegasos", fit_intercept=False, C=1.0, tol=1e-3).fit(X, y)
    assert model.certificate_.status.is_solved
    assert model.certificate_.kkt_violation <= model.tol * 1.01


@pytest.mark.parametrize("name", ["ridge", "pca", "loo"])
def test_model_does_not_depend_on_the_threads_of_blas(name):
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(350, 4)), rng.normal(size=350)
    fits = {
        "ridge": lambda: KernelRidge(0.1, kernel="rbf").fit(X, y).dual_coef_,
        "pca": lambda: KernelPCA(kernel="rbf", eigen_solver="dense").fit(X).eigenvectors_,
        "loo": lambda: KernelRidge("loo", kernel="rbf").fit(X, y).dual_coef_,
    }
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(fits[name]())
    np.testing.assert_array_equal(*found)
