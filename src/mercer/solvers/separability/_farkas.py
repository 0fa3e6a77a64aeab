"""Weights that prove a system of inequalities unsolvable, found in float64 and shown exactly.

Of rows x with features g(x) (monomials, and 1 with an intercept), sides s = ±1 and targets t:

    Σ uᵢ sᵢ g(xᵢ) = 0 for every feature,   u ≥ 0,   Σ uᵢ sᵢ tᵢ > 0

Non-negative least squares on centred, scaled and orthonormalised features finds the support of u,
at most one row more than there are equations. On it the equations are solved in exact arithmetic,
or their solution is enclosed (`_rational`). What least squares finds need not be right: where the
features are nearly dependent (an offset without an intercept, a column of 1e-14 of the others,
turned), or its residual is not clear, the simplex method on integers decides.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.linalg import LinAlgWarning
from scipy.optimize import nnls

from mercer._precision import EPS
from mercer.solvers.separability._rational import (
    Monomials,
    as_integers,
    encloses_positive,
    exact_seconds,
    feasible_point,
    is_shiftable,
    products,
    solve_exactly,
)

__all__ = ["LIMITS", "FarkasFeatures", "ProofSettings", "find_weights"]


@dataclass(frozen=True)
class ProofSettings:
    """Limits of the search for a proof."""

    # The support of a proof is sought among ``most_points`` variables with the largest |β|, with
    # no more features and entries than these: what least squares does in some tenths of a second.
    most_points: int = 1000
    most_features: int = 2000
    most_entries: int = 1_000_000
    # Up to this number a proof is sought once, among all variables.
    few_variables: int = 500
    # For more variables it is sought among the support vectors when the squared distance of the
    # hulls is below this fraction of the kernel's scale, and again each time it was reduced by this
    # factor.
    first_try: float = 1e-2
    next_try: float = 1e-2
    # Exact elimination is tried if it takes no longer than the first; what takes longer than the
    # second is left to enclosures where they succeed.
    exact_seconds: float = 0.6
    quick_seconds: float = 0.01
    # What is left unclear goes through the simplex method on integers, if that takes no longer.
    simplex_seconds: float = 0.2
    # Least squares that leaves more than the first of its right-hand side found no support. More
    # than the second, from features of a condition up to ``condition``, and the rows are separable.
    residual: float = 1e-5
    separable_residual: float = 1e-3
    condition: float = 1e6
    # Supports that are tried, each for another scaling of the variables.
    supports: int = 3
    # Fraction of the largest at which a pivot counts as zero.
    rank: float = 1e-13
    # Variables that need not be solved for are multiples of 1 over this.
    denominator: int = 1 << 30
    # Entries of the largest system that is converted to integers as a whole.
    few_entries: int = 20_000
    # Terms of a combination of equations that another one may be.
    few_terms: int = 100
    # Unknowns of the largest system whose solution is enclosed.
    most_enclosed: int = 400


LIMITS = ProofSettings()


@dataclass(frozen=True, eq=False)
class FarkasFeatures:
    """The features of some rows: rounded for least squares, and exact for a few of them."""

    rows: np.ndarray  # the numbers that features are made of, one row per variable
    shift: np.ndarray | None  # subtracted from the rows where that keeps their functions
    found: list[tuple[int, ...]]  # monomials; with an intercept, the constant is one of them

    @classmethod
    def of(cls, rows: np.ndarray, found: Monomials, has_intercept: bool) -> FarkasFeatures:
        found = found | {()} if has_intercept else found
        shift = None
        if () in found and is_shiftable(found):
            shift = np.sort(rows, axis=0)[rows.shape[0] // 2]
        return cls(rows, shift, sorted(found))

    def rounded(self) -> np.ndarray:
        """In float64, each column at most 1; one row per variable."""
        X = self.rows.astype(np.float64) / 2  # differences stay finite
        if self.shift is not None:
            X -= self.shift.astype(np.float64) / 2
        largest = np.abs(X).max(axis=0, initial=0.0)
        X = X / np.where(largest > 0, largest, 1.0)
        columns = products(X.T, self.found, np.ones(X.shape[0]))
        return np.array(columns, dtype=np.float64).reshape(-1, X.shape[0]).T

    def exact(self, some: np.ndarray) -> np.ndarray:
        """Integers, one row per feature, each multiplied by a positive number; none is zero."""
        X = self.rows[some]
        if self.shift is not None:
            X = as_integers(np.concatenate([X, self.shift[None]]))
            X = X[:-1] - X[-1]
        else:
            X = as_integers(X)
        ones = np.array([1] * some.size, dtype=object)
        rows = products(X.T, self.found, ones)
        return np.array([row for row in rows if any(row)], dtype=object).reshape(-1, some.size)


def find_weights(
    features: FarkasFeatures, s: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray, str] | None:
    """Rows, their signed weights v = s∘u and how these were shown, or None.

    s = ±1 is the side that each row is asked to be on, ``target`` of which value.
    """
    centre = np.median(target) if () in features.found and np.ptp(s * target) else 0.0
    asked = s * (target - centre)
    asked /= np.abs(asked).max(initial=0.0) or 1.0
    A, condition = _equations(features.rounded())
    found, residual = _search(A, asked, s, target, features.exact)
    is_clear = condition <= LIMITS.condition and residual > LIMITS.separable_residual
    if found is not None or is_clear or s.size * len(features.found) > LIMITS.few_entries:
        return found
    return _by_simplex(features.exact(np.arange(s.size)), s, target)


def _equations(columns: np.ndarray) -> tuple[np.ndarray, float]:
    """Orthonormal rows that span the columns, and how nearly dependent these were."""
    n = columns.shape[0]
    if columns.size == 0:
        return np.zeros((0, n)), 1.0
    Q, R, _ = la.qr(columns, mode="economic", pivoting=True)
    sizes = np.abs(R.diagonal())
    kept = sizes > n * EPS * sizes.max()
    condition = float(sizes.max() / sizes.min()) if sizes.min() > 0 else np.inf
    return Q[:, kept].T * np.sqrt(n), condition


def _search(
    A: np.ndarray, asked: np.ndarray, s: np.ndarray, target: np.ndarray, exact: Any
) -> tuple[tuple[np.ndarray, np.ndarray, str] | None, float]:
    """Weights, or None and what least squares left of its right-hand side.

    ``exact(rows)`` are the same equations in integers.
    """
    residual = np.inf
    # As many equations as rows: u = 0 only. More than can be solved: not worth the search.
    if A.shape[0] >= min(s.size, LIMITS.most_enclosed):
        return None, residual
    for scale in _scalings(s.size):
        support, u, residual = _support(A * s * scale, asked * scale)
        if residual > LIMITS.residual:
            break
        v = _weights(exact(support), s[support], target[support], u * scale[support])
        if v is not None:
            return (support, *v), residual
    return None, residual


def _scalings(n: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    yield np.ones(n)
    for _ in range(LIMITS.supports - 1):
        yield rng.uniform(0.2, 1.0, size=n)


def _support(A: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Variables with u > 0 and their u, where least squares A u = 0, asked·u = 1 ends."""
    rhs = np.zeros(A.shape[0] + 1)
    rhs[-1] = 1.0
    try:
        with warnings.catch_warnings():  # of SciPy below 1.15; the proof is checked in the end
            warnings.simplefilter("ignore", LinAlgWarning)
            u, residual = nnls(np.concatenate([A, [asked]]), rhs)
    except RuntimeError:  # it gave up
        return np.zeros(0, int), np.zeros(0), np.inf
    support = np.flatnonzero(u > 1e-14 * u.max(initial=0.0))
    return support, u[support], float(residual)


def _weights(
    E: np.ndarray, s: np.ndarray, target: np.ndarray, u: np.ndarray
) -> tuple[np.ndarray, str] | None:
    """Signed weights v near s∘u that solve E v = 0 with target·v > 0, or are near such weights.

    The normalisation Σ|v| = 1 is one more equation. As many variables as there are independent
    equations are solved for; others, if any, keep a rational number near u.
    """
    E = np.concatenate([E * _integers(s), np.ones((1, s.size), dtype=int).astype(object)])
    bits = [int(max(map(abs, row))).bit_length() for row in E.tolist()]
    u = u / u.sum()
    pivots, rows = _independent(E, bits, u)
    seconds = exact_seconds(sum(bits[i] for i in rows), rows.size)
    if seconds > LIMITS.quick_seconds:
        found = _enclosed(E, bits, rows, s, target)
        if found is not None or seconds > LIMITS.exact_seconds:
            return found
    kept = np.array([round(x * LIMITS.denominator) for x in u.tolist()], dtype=object)
    kept[pivots] = 0
    rhs = np.array([0] * (E.shape[0] - 1) + [LIMITS.denominator], dtype=object)
    solved = solve_exactly(E[np.ix_(rows, pivots)], (rhs - E.dot(kept))[rows])
    if solved is None:
        return None
    whole = kept * solved[1]
    whole[pivots] = solved[0]
    return _checked(E[:-1], whole, s, target)


def _checked(
    E: np.ndarray, whole: np.ndarray, s: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, str] | None:
    """The signed weights of integers u if E u = 0, u ≥ 0 and Σ s t u > 0: the proof itself."""
    if any(w < 0 for w in whole) or not any(whole) or any(E.dot(whole)):
        return None
    asked = as_integers(target[:, None])[:, 0]
    # Targets y ± ε were rounded: what they add up to must be more than that.
    if not (asked * _integers(s) * whole).sum() << 50 > (abs(asked) * whole).sum():
        return None
    total = int(whole.sum())
    return s * np.array([w / total for w in whole.tolist()]), "exact weights"


def _integers(s: np.ndarray) -> np.ndarray:
    return np.array([int(x) for x in s], dtype=object)


def _by_simplex(
    E: np.ndarray, s: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray, str] | None:
    """All in exact arithmetic, for few rows and features."""
    E = E * _integers(s)
    asked = as_integers((s * target)[:, None]).T
    rhs = np.array([0] * E.shape[0] + [1], dtype=object)
    u = feasible_point(np.concatenate([E, asked]), rhs, LIMITS.simplex_seconds)
    v = None if u is None else _checked(E, u, s, target)
    if v is None:
        return None
    support = np.flatnonzero(v[0])
    return support, v[0][support], v[1]


def _independent(E: np.ndarray, bits: list[int], u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns, preferably of large u, and rows whose square block is regular in float64."""
    F = _rounded(E, bits)
    weight = np.maximum(u / u.max(), 1e-3)
    _, R, columns = la.qr(F * weight, mode="economic", pivoting=True)
    size = np.abs(R.diagonal())
    columns = np.sort(columns[: int((size > LIMITS.rank * size[0]).sum())])
    _, _, rows = la.qr(F[:, columns].T, mode="economic", pivoting=True)
    return columns, np.sort(rows[: columns.size])


def _rounded(E: np.ndarray, bits: list[int]) -> np.ndarray:
    """Integers in float64, each row over its power of two."""
    return np.array([[e / (1 << b) for e in row] for row, b in zip(E.tolist(), bits, strict=True)])


def _enclosed(
    E: np.ndarray, bits: list[int], rows: np.ndarray, s: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, str] | None:
    """The same for many unknowns: that weights exist is shown, without computing them exactly."""
    if not rows.size == s.size <= LIMITS.most_enclosed or not _follow(E, bits, rows):
        return None
    found = encloses_positive(E[rows], np.array([0] * (rows.size - 1) + [1], dtype=object))
    if found is None:
        return None
    u, error = found
    size = fsum(np.abs(target) * u)
    if not fsum(s * target * u) > 1.001 * fsum(np.abs(target)) * error + 1e-9 * size:
        return None
    return s * u, "enclosed weights"


def _follow(E: np.ndarray, bits: list[int], rows: np.ndarray) -> bool:
    """Whether the other equations follow from these, of which the last is the normalisation.

    Columns that add up to a constant, or repeat others, do: the combination is found in float64,
    rounded to few bits and checked exactly.
    """
    others = np.setdiff1d(np.arange(E.shape[0]), rows)
    if rows[-1] != E.shape[0] - 1:
        return False
    F = _rounded(E, bits)
    for k in others:
        coef = la.lstsq(F[rows].T, F[k], check_finite=False)[0]
        coef[np.abs(coef) < 1e-9] = 0.0
        mantissa, exponent = np.frexp(coef)
        coef = np.ldexp(np.round(np.ldexp(mantissa, 24)), exponent - 24)
        used = np.flatnonzero(coef)
        if used.size > LIMITS.few_terms or rows.size - 1 in used:
            return False
        total = sum(
            E[rows[i]] * (Fraction(coef[i]) * Fraction(1 << bits[k], 1 << bits[rows[i]]))
            for i in used
        )
        if any(E[k] - total):
            return False
    return True
