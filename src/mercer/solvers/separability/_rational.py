"""Exact arithmetic for proofs: floats as integers, polynomial features, linear systems with signs.

A float is an integer times a power of two, so data and parameters are rational numbers. Rows of
numbers become integers by one power of two per column, which no statement made here depends on.

Two ways to show that A u = e has a solution u ≥ 0 (A with integer entries):

1. `solve_exactly`: Bareiss' fraction-free elimination gives u itself. Determinants have about
   (rows × bits of an entry) bits, so this is for some dozens of unknowns.
2. `encloses_positive`: for a square A and an approximate inverse R with α = ‖I − RA‖ < 1, A is
   regular and |u − û| ≤ ‖R(e − Aû)‖/(1 − α) in the maximum norm (Rump 2010, "Verification methods",
   section 10). The residual is computed exactly and rounding is bounded, so û above that bound
   shows u > 0. This is for some hundred unknowns.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import Any

import numpy as np

from mercer._precision import EPS, TINY
from mercer.kernels import (
    AllSubsets,
    Constant,
    Kernel,
    Linear,
    Polynomial,
    Power,
    Product,
    Scaled,
    Sum,
)

__all__ = [
    "as_integers",
    "encloses_positive",
    "exact_seconds",
    "feasible_point",
    "is_shiftable",
    "monomials",
    "products",
    "solve_exactly",
]

# A monomial is the sorted tuple of its columns, with repetitions: (0, 0, 2) is x₀² x₂.
Monomials = frozenset[tuple[int, ...]]


def monomials(kernel: Kernel, d: int, most: int) -> Monomials | None:
    """A set whose span holds every k(z, ·) of a polynomial kernel; None: too many, or no such set.

    For kernels that are positive semidefinite it is the space of the kernel, so that rows are
    separable in it if and only if they are separable by these features.
    """
    found = _monomials(kernel, d, most)
    return None if found is None or len(found) > most else found


def _monomials(kernel: Kernel, d: int, most: int) -> Monomials | None:
    match kernel:
        case Linear():
            return _of_degrees(d, [1], most)
        case Constant(value=value):
            return frozenset([()] if value else [])
        case Polynomial(degree=p, gamma=gamma, coef0=c):
            least = p if gamma and not c else 0
            degrees = range(least, (p if gamma else 0) + 1) if c or gamma or p == 0 else range(0)
            return _of_degrees(d, degrees, most)
        case AllSubsets():
            if 2**d > most:
                return None
            return frozenset(m for p in range(d + 1) for m in combinations(range(d), p))
        case Scaled(c=c, k=k):
            return monomials(k, d, most) if c else frozenset()
        case Sum(k1=k1, k2=k2):
            first, second = monomials(k1, d, most), monomials(k2, d, most)
            return None if first is None or second is None else first | second
        case Product(k1=k1, k2=k2):
            return _times(monomials(k1, d, most), monomials(k2, d, most), most)
        case Power(k=k, power=power):
            one = found = monomials(k, d, most)
            for _ in range(power - 1):
                found = _times(found, one, most)
            return found
    return None


def _of_degrees(d: int, degrees: Any, most: int) -> Monomials | None:
    if sum(comb(d + p - 1, p) if d or not p else 0 for p in degrees) > most:
        return None
    return frozenset(m for p in degrees for m in combinations_with_replacement(range(d), p))


def _times(first: Monomials | None, second: Monomials | None, most: int) -> Monomials | None:
    if first is None or second is None or len(first) * len(second) > 50 * most:
        return None
    found = frozenset(tuple(sorted(a + b)) for a in first for b in second)
    return None if len(found) > most else found


def is_shiftable(found: Monomials) -> bool:
    """Whether the features with a constant span the same functions of x − c as of x."""
    return all(
        len(m) == 1 or m[:i] + m[i + 1 :] in found for m in found if m for i in range(len(m))
    )


def products(columns: Any, found: list[tuple[int, ...]], ones: Any) -> list[Any]:
    """The features: of each monomial the product of its columns (numbers of any kind)."""
    known: dict[tuple[int, ...], Any] = {(): ones}

    def product(m: tuple[int, ...]) -> Any:
        if m not in known:
            known[m] = product(m[:-1]) * columns[m[-1]]
        return known[m]

    return [product(m) for m in found]


def as_integers(X: np.ndarray) -> np.ndarray:
    """Rows of finite numbers as Python integers, each column multiplied by a power of two."""
    if X.dtype.kind in "iub":
        return X.astype(object) + 0
    mantissa, exponent = np.frexp(X.astype(np.float64))
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = np.where(whole == 0, np.iinfo(np.int32).max, exponent)
    shift = exponent - exponent.min(axis=0, initial=np.iinfo(np.int32).max)
    return whole.astype(object) << np.where(whole == 0, 0, shift).astype(object)


def exact_seconds(bits: int, r: int) -> float:
    """About how long `solve_exactly` takes for r unknowns and rows of ``bits`` bits in total."""
    return r**3 / 3 * (4e-7 + 5e-13 * bits**2)


def solve_exactly(A: np.ndarray, rhs: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Integers (x, q), q > 0, with A x = q·rhs, of a square integer matrix; None if singular.

    Bareiss 1968, Sylvester's identity: every division is exact.
    """
    r = A.shape[0]
    M = np.concatenate([A, rhs[:, None]], axis=1).astype(object)
    last = 1
    for k in range(r):
        nonzero = [i for i in range(k, r) if M[i, k]]
        if not nonzero:
            return None
        i = min(nonzero, key=lambda i: abs(M[i, k]))
        M[[k, i]] = M[[i, k]]
        rest = M[k + 1 :, k + 1 :] * M[k, k] - np.multiply.outer(M[k + 1 :, k], M[k, k + 1 :])
        M[k + 1 :, k + 1 :] = rest // last
        last = M[k, k]
    x = np.zeros(r, object)
    for i in range(r - 1, -1, -1):
        x[i] = (last * M[i, r] - (M[i, i + 1 : r] * x[i + 1 :]).sum()) // M[i, i]
    return (x, last) if last > 0 else (-x, -last)


def feasible_point(A: np.ndarray, rhs: np.ndarray, seconds: float) -> np.ndarray | None:
    """Integers x ≥ 0 with A x = q·rhs for a positive q; None: there are none, or it takes longer.

    Phase 1 of the simplex method on integers (rhs ≥ 0) with Bland's rule. All rows of the tableau
    have the last pivot as denominator, and every division is exact (Edmonds 1967).
    """
    m, n = A.shape
    T = np.concatenate([A, rhs[:, None]], axis=1).astype(object)
    T = np.concatenate([T, [-T.sum(axis=0)]])  # the last row: reduced costs of Σ artificial ones
    basis = list(range(n, n + m))
    last, bits = 1, sum(max(map(abs, row)).bit_length() for row in A.tolist())
    # Entries grow to ``bits``, and a product of two such takes their square.
    for _ in range(int(seconds / (m * n * (4e-7 + 2e-10 * bits + 1e-12 * bits * bits)))):
        j = next((j for j in range(n) if T[m, j] < 0), None)
        if j is None:
            break
        rows = [i for i in range(m) if T[i, j] > 0]
        ratios = {i: Fraction(int(T[i, n]), int(T[i, j])) for i in rows}
        i = min(rows, key=lambda i: (ratios[i], basis[i]))
        row, pivot = T[i].copy(), T[i, j]
        T = (T * pivot - np.multiply.outer(T[:, j], row)) // last
        T[i], basis[i], last = row, j, pivot
    if T[m, n]:
        return None
    x = np.array([0] * (n + m), dtype=object)
    x[basis] = T[:m, n]
    return x[:n]


def encloses_positive(A: np.ndarray, rhs: np.ndarray) -> tuple[np.ndarray, float] | None:
    """û and a bound on |û − u| for the solution of A u = rhs, if it is shown to be positive.

    A is a square array of Python integers, as is ``rhs``.
    """
    s = A.shape[0]
    # Rows are divided by powers of two (exact, and the same equations), then rounded once each.
    powers = [1 << max(int(abs(row).max()).bit_length(), 1) for row in A]
    F = np.array([[a / p for a in row] for row, p in zip(A.tolist(), powers, strict=True)])
    e = np.array([b / p for b, p in zip(rhs.tolist(), powers, strict=True)])
    try:
        R = np.linalg.inv(F)
    except np.linalg.LinAlgError:
        return None
    if not np.abs(R).max() < 1e100:  # singular as far as float64 goes: entries are at most 1
        return None
    # Of RF: s products and sums each; of F against A/powers: half a unit. Units of 2⁻⁵², so twice
    # what is needed, which covers the rounding of these bounds themselves.
    doubt = np.abs(R) @ np.abs(F) * ((s + 8) * EPS) + TINY * s
    alpha = float((np.abs(np.eye(s) - R @ F) + doubt).sum(axis=1).max()) * (1 + s * EPS)
    if not alpha < 0.5:
        return None
    u = R @ e
    for _ in range(3):
        rest = _residual(A, rhs, powers, u)
        bound = np.abs(R) @ (np.abs(rest) + TINY) * ((1 + (s + 8) * EPS) / (1 - alpha))
        error = float(bound.max()) * (1 + 8 * EPS)
        if (u > error).all():
            return u, error
        u = u + R @ rest
    return None


def _residual(A: np.ndarray, rhs: np.ndarray, powers: list[int], u: np.ndarray) -> np.ndarray:
    """rhs − A u by row, over its power of two: computed exactly and rounded upwards in size."""
    v = as_integers(u[:, None])[:, 0]
    unit = next((abs(x) / abs(w) for x, w in zip(u.tolist(), v.tolist(), strict=True) if w), 1.0)
    up, down = float(unit).as_integer_ratio()
    rest = rhs * down - A.dot(v) * up
    exact = [r / (p * down) for r, p in zip(rest.tolist(), powers, strict=True)]
    return np.array(exact) * (1 + 2 * EPS)
