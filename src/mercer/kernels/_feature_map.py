"""Explicit feature maps: φ with k(x, z) = φ(x)·φ(z), of the kernels that have a finite one.

=====================  ==========================================  =====================
kernel                 φ(x)                                        features in d columns
=====================  ==========================================  =====================
Linear                 x                                           d
Cosine                 x / ‖x‖                                     d
Constant(c)            √c                                          1
Polynomial             monomials of degree p in (√c₀, √γ x)        C(d+p, p); C(d+p−1, p) if c₀ = 0
AllSubsets             products of all subsets of columns          2^d
c k, k₁ + k₂, k₁ k₂    √c φ; φ₁ next to φ₂; φ₁ ⊗ φ₂ row by row     m; m₁ + m₂; m₁ m₂
k^p                    monomials of degree p in φ                  C(m+p−1, p)
RBF, cut at degree p   e^(−γ‖x‖²) √((2γ)^j/j!) monomials, j ≤ p    C(d+p, p)
=====================  ==========================================  =====================

A monomial of degree p comes with the root of its multinomial coefficient p!/Πeᵢ!, since
(u·v)^p = Σ p!/Πeᵢ! Π(uᵢvᵢ)^eᵢ.

**RBF.** e^(−γ‖x−z‖²) = e^(−γ‖x‖²) e^(−γ‖z‖²) Σ_j (2γ x·z)^j / j!. What is cut off is a kernel too:
Cauchy and Schwarz bound it by its diagonal: |k − φ·φ| ≤ √(e(x) e(z)), where e(x) is the probability
that a Poisson variable of mean 2γ‖x‖² exceeds p. Sums, products and powers keep this: with kernels
k̃ = φ·φ and k − k̃ both positive semidefinite, so are the parts of k₁k₂ − k̃₁k̃₂.
"""

from __future__ import annotations

from itertools import chain, combinations_with_replacement
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammainc

from mercer.kernels._base import Kernel, integer
from mercer.kernels._composite import Constant, Power, Product, Scaled, Sum
from mercer.kernels._dot_product import Cosine, Linear, Polynomial
from mercer.kernels._histogram import AllSubsets
from mercer.kernels._samples import Samples
from mercer.kernels._stationary import RBF

__all__ = ["count_features", "map_error", "map_rows"]


def count_features(kernel: Kernel, d: int, degree: int | None = None) -> int:
    """The number of features of rows with ``d`` columns."""
    match kernel:
        case Linear() | Cosine():
            return d
        case Constant():
            return 1
        case Polynomial(degree=p, coef0=c) if c >= 0:
            return comb(d + p, p) if c else comb(d + p - 1, p) if p else 1
        case AllSubsets():
            return 2**d
        case RBF():
            return comb(d + _cut(kernel, degree), _cut(kernel, degree))
        case Scaled():
            return count_features(kernel.k, d, degree)
        case Sum():
            return sum(count_features(k, d, degree) for k in (kernel.k1, kernel.k2))
        case Product():
            m1, m2 = (count_features(k, d, degree) for k in (kernel.k1, kernel.k2))
            return m1 * m2
        case Power():
            return comb(count_features(kernel.k, d, degree) + kernel.power - 1, kernel.power)
    raise ValueError(
        f"{kernel!r} has no explicit feature map of finite size here. Linear, Cosine, Constant, "
        "Polynomial (coef0 ≥ 0), AllSubsets and their sums, products, multiples and powers have; "
        "RBF with degree=…. For any kernel: mercer.embeddings.EmpiricalKernelMap or Nystroem."
    )


def _cut(kernel: Kernel, degree: int | None) -> int:
    if degree is None:
        raise ValueError(
            f"{kernel!r} has infinitely many features: give the degree at which its series is cut, "
            "for example degree=4, and see feature_map_error(X, degree=4)."
        )
    return integer("feature_map", "degree", degree, least=0)


def map_rows(kernel: Kernel, X: Any, degree: int | None, max_bytes: float) -> Any:
    """φ of every row: an array, or CSR for CSR rows."""
    points = Samples(X)
    kernel.check(points)
    if points.are_objects:
        raise ValueError("feature_map needs rows of numbers; got a sequence of objects.")
    _refuse_too_large(kernel, points, degree, max_bytes)
    rows = points.rows(slice(0, points.n), np.float64)
    return _map(kernel, rows, degree)


def _refuse_too_large(
    kernel: Kernel, points: Samples, degree: int | None, max_bytes: float
) -> None:
    m = count_features(kernel, points.d, degree)
    need = 8 * points.n * m
    if points.is_sparse:  # columns without an entry add no features to a row
        filled = int(np.diff(points.X.indptr).max(initial=0))
        # An entry of a CSR matrix is a float64 value and a 32-bit column.
        need = 12 * (points.n * count_features(kernel, filled, degree) + m)
    if need > max_bytes:
        raise ValueError(
            f"The feature map of {kernel!r} has {m:,} features on {points.d:,} columns: "
            f"{points.n:,} rows of them take {_bytes(need)}, more than max_bytes="
            f"{_bytes(max_bytes)}. Use the kernel itself, or mercer.embeddings.Nystroem."
        )


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def _map(kernel: Kernel, X: Any, degree: int | None) -> Any:
    match kernel:
        case Linear():
            return X.copy()
        case Cosine():
            norms = np.sqrt(_sq_norms(X))
            return _scale_rows(X, np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0))
        case Constant():
            return _constant(X, kernel.value)
        case Polynomial():
            inner = np.sqrt(kernel.gamma) * X
            if kernel.coef0:
                inner = _beside([_constant(X, kernel.coef0), inner])
            return _monomials(inner, kernel.degree)
        case AllSubsets():
            return _all_subsets(X)
        case RBF():
            return _rbf_series(kernel.gamma, X, _cut(kernel, degree))
        case Scaled():
            return np.sqrt(kernel.c) * _map(kernel.k, X, degree)
        case Power():
            return _monomials(_map(kernel.k, X, degree), kernel.power)
        case Sum():
            return _beside([_map(k, X, degree) for k in (kernel.k1, kernel.k2)])
        case Product():
            return _row_products(*(_map(k, X, degree) for k in (kernel.k1, kernel.k2)))
    raise AssertionError(kernel)  # count_features has refused all others


def map_error(kernel: Kernel, X: Any, degree: int | None) -> np.ndarray:
    """e(x) of every row: |k(x, z) − φ(x)·φ(z)| ≤ √(e(x) e(z)). Zero for exact maps."""
    points = Samples(X)
    kernel.check(points)
    count_features(kernel, points.d, degree)
    return _left_out(kernel, points, degree)[1]


def _left_out(kernel: Kernel, points: Samples, degree: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The diagonals of k, and of the kernel k − φ·φ that the map leaves out."""
    diagonal = kernel.diag(points.take(slice(0, points.n)))
    match kernel:
        case RBF():
            # P(Poisson(s) > p) is the regularised lower incomplete gamma function of p + 1 at s
            mean = 2 * kernel.gamma * points.sq_norms
            return diagonal, gammainc(_cut(kernel, degree) + 1, mean)
        case Scaled():
            return diagonal, kernel.c * _left_out(kernel.k, points, degree)[1]
        case Power():
            k, left = _left_out(kernel.k, points, degree)
            return diagonal, _power_left_out(k, left, kernel.power)
        case Sum() | Product():
            (k1, e1), (k2, e2) = (_left_out(k, points, degree) for k in (kernel.k1, kernel.k2))
            return diagonal, e1 + e2 if isinstance(kernel, Sum) else k1 * e2 + e1 * (k2 - e2)
    return diagonal, np.zeros(points.n)


def _power_left_out(k: np.ndarray, left: np.ndarray, power: int) -> np.ndarray:
    """k^p − (k − left)^p, as left · Σ k^(p−1−j) (k − left)^j, which loses no digits."""
    return left * sum(k ** (power - 1 - j) * (k - left) ** j for j in range(power))


def _constant(X: Any, value: float) -> Any:
    column = np.full((X.shape[0], 1), np.sqrt(value))
    return sp.csr_matrix(column) if sp.issparse(X) else column


def _beside(parts: list) -> Any:
    sparse = any(sp.issparse(part) for part in parts)
    return sp.hstack(parts, format="csr") if sparse else np.hstack(parts)


def _sq_norms(X: Any) -> np.ndarray:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _scale_rows(X: Any, factors: np.ndarray) -> Any:
    return sp.csr_matrix(X.multiply(factors[:, None])) if sp.issparse(X) else X * factors[:, None]


def _monomials(X: Any, p: int) -> Any:
    """All monomials of degree p in the columns, each times √(p!/Πeᵢ!)."""
    if p == 0:
        return _constant(X, 1.0)
    if p == 1:
        return X
    from sklearn.preprocessing import PolynomialFeatures

    out = PolynomialFeatures(degree=(p, p), include_bias=False).fit_transform(X)
    weights = _root_multinomials(X.shape[1], p)
    return sp.csr_matrix(out.multiply(weights)) if sp.issparse(out) else np.multiply(out, weights)


def _root_multinomials(d: int, p: int) -> np.ndarray:
    """√(p!/Πeᵢ!) of the monomials of degree p in d variables, in scikit-learn's order."""
    chosen = np.fromiter(chain.from_iterable(combinations_with_replacement(range(d), p)), np.int32)
    chosen = chosen.reshape(-1, p)
    run = np.ones(chosen.shape[0])
    repeated = np.ones(chosen.shape[0])  # Πeᵢ! as the product of 1, 2, …, eᵢ along each run
    for j in range(1, p):
        run = np.where(chosen[:, j] == chosen[:, j - 1], run + 1, 1.0)
        repeated *= run
    return np.sqrt(factorial(p) / repeated)


def _all_subsets(X: Any) -> Any:
    phi = _constant(X, 1.0)
    for column in range(X.shape[1]):
        x = X[:, [column]]
        phi = _beside([phi, _row_products(phi, x)])
    return phi


def _rbf_series(gamma: float, X: Any, degree: int) -> Any:
    inner = np.sqrt(2 * gamma) * X
    parts = [_monomials(inner, j) / np.sqrt(float(factorial(j))) for j in range(degree + 1)]
    return _scale_rows(_beside(parts), np.exp(-gamma * _sq_norms(X)))


def _row_products(A: Any, B: Any) -> Any:
    """Row by row all products a_i b_j, those of the first a before those of the second."""
    n, width = A.shape[0], A.shape[1] * B.shape[1]
    if not sp.issparse(A):
        return (A[:, :, None] * B[:, None, :]).reshape(n, width)
    a_count, b_count = np.diff(A.indptr), np.diff(B.indptr)
    count = a_count * b_count
    row = np.repeat(np.arange(n), count)
    place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    a = A.indptr[row] + place // b_count[row]
    b = B.indptr[row] + place % b_count[row]
    columns = A.indices[a].astype(np.int64) * B.shape[1] + B.indices[b]
    indptr = np.concatenate([[0], np.cumsum(count)])
    return sp.csr_matrix((A.data[a] * B.data[b], columns, indptr), shape=(n, width))
