"""Kernel sums Σ cⱼ k(xᵢ, xⱼ) in extended precision, with rigorous error bounds.

Rows are written as integers times a common power of two, so that dot products and squared distances
have no rounding at all; what is rounded (exp, tanh, square roots, products with coefficients) is so
at `PRECISION` bits, and each ball holds the exact value. Matrices with more than `MOST_ENTRIES`
entries are summed in the platform's long double instead, whose worst-case error is the ball's
radius (for the kernels `linear`, which stays exact, `rbf` and `laplacian`).

Nothing of `mercer` takes part but the names and parameters of kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import arb, arb_mat, ctx, fmpq, fmpz, fmpz_mat

__all__ = ["PRECISION", "Rows", "ball", "kernel_matrix", "kernel_sums", "rational", "upper"]

PRECISION = 330
ctx.prec = PRECISION
MOST_ENTRIES = 100_000
LONG = np.longdouble


def rational(value: Any) -> fmpq:
    """A float or an integer as the fraction that it is."""
    if isinstance(value, (fmpq, fmpz)):
        return fmpq(value)
    numerator, denominator = (
        (int(value), 1) if isinstance(value, (int, np.integer)) else float(value).as_integer_ratio()
    )
    return fmpq(numerator, denominator)


def ball(value: Any) -> arb:
    """The ball of a float, a fraction or a ball."""
    return (
        value if isinstance(value, arb) else arb(value if isinstance(value, fmpq) else float(value))
    )


def upper(value: arb) -> float:
    """A float that is not below the ball."""
    return float(np.nextafter(float(value.upper()), np.inf)) if value.is_finite() else np.inf


class Rows:
    """Rows of numbers as integers times 2^exponent.

    Parameters
    ----------
    X : array or CSR
        Of any dtype; every number is taken as it is stored.
    """

    def __init__(self, X: Any):
        if sp.issparse(X):
            X = X.toarray()
        X = np.asarray(X)
        self.X = X
        self.n, self.d = X.shape
        if X.dtype.kind in "iu":
            self.exponent, self.integers = 0, [[int(v) for v in row] for row in X.tolist()]
            return
        mantissa, exponent = np.frexp(X.astype(np.float64))
        whole = (mantissa * 2.0**53).astype(np.int64)
        least = int((exponent - 53)[whole != 0].min(initial=0))
        shift = np.where(whole != 0, exponent - 53 - least, 0)
        self.exponent = least
        self.integers = [
            [v << s for v, s in zip(row, shifts, strict=True)]
            for row, shifts in zip(whole.tolist(), shift.tolist(), strict=True)
        ]

    @property
    def unit(self) -> arb:
        """2^exponent."""
        return arb(2) ** self.exponent

    def matrix(self, rows: Sequence[int]) -> fmpz_mat:
        return fmpz_mat(len(rows), self.d, [v for i in rows for v in self.integers[i]])


# ---------------------------------------------------------------------- matrices of balls


def kernel_matrix(kernel: Any, X: Rows, rows: Sequence[int], cols: Sequence[int]) -> arb_mat:
    """k(xᵢ, xⱼ) for these rows and columns."""
    return arb_mat(len(rows), len(cols), _entries(kernel, X, list(rows), list(cols)))


def _entries(kernel: Any, X: Rows, rows: list[int], cols: list[int]) -> list[arb]:
    name = type(kernel).__name__
    if name in ("Sum", "Product"):
        first, second = (_entries(k, X, rows, cols) for k in (kernel.k1, kernel.k2))
        pairs = zip(first, second, strict=True)
        return [a + b for a, b in pairs] if name == "Sum" else [a * b for a, b in pairs]
    if name == "Scaled":
        c = ball(kernel.c)
        return [c * v for v in _entries(kernel.k, X, rows, cols)]
    if name == "Power":
        return [v**kernel.power for v in _entries(kernel.k, X, rows, cols)]
    if name == "Constant":
        return [ball(kernel.value)] * (len(rows) * len(cols))
    if name == "Precomputed":
        unit = X.unit
        return [arb(X.integers[i][j]) * unit for i in rows for j in cols]
    if name == "Laplacian":
        return _laplacian(kernel, X, rows, cols)
    if name == "RBF":
        factor = -ball(kernel.gamma) * X.unit**2
        return [(arb(v) * factor).exp() for v in _sq_distances(X, rows, cols)]
    return _of_dot(kernel, name, X, rows, cols)


def _of_dot(kernel: Any, name: str, X: Rows, rows: list[int], cols: list[int]) -> list[arb]:
    unit = X.unit**2
    dots = (X.matrix(rows) * X.matrix(cols).transpose()).entries()
    if name == "Cosine":
        length_r, length_c = (_lengths(X, part) for part in (rows, cols))
        lengths = [None if a is None or b is None else a * b for a in length_r for b in length_c]
        return [arb(0) if s is None else arb(v) / s for v, s in zip(dots, lengths, strict=True)]
    values = [arb(v) * unit for v in dots]
    if name == "Linear":
        return values
    gamma, coef0 = ball(kernel.gamma), ball(kernel.coef0)
    values = [gamma * v + coef0 for v in values]
    if name == "Polynomial":
        return [v**kernel.degree for v in values]
    if name == "Sigmoid":
        return [v.tanh() for v in values]
    raise NotImplementedError(f"no exact values of {name}")


def _lengths(X: Rows, rows: list[int]) -> list[Any]:
    """‖x‖ in units, None for a row of zeros."""
    squares = [sum(v * v for v in X.integers[i]) for i in rows]
    return [arb(s).sqrt() if s else None for s in squares]


def _sq_distances(X: Rows, rows: list[int], cols: list[int]) -> list[fmpz]:
    """‖xᵢ − xⱼ‖² in units squared: integers, so the three terms may cancel."""
    dots = (X.matrix(rows) * X.matrix(cols).transpose()).entries()
    square_r, square_c = (
        [fmpz(sum(v * v for v in X.integers[i])) for i in p] for p in (rows, cols)
    )
    m = len(cols)
    return [square_r[k // m] + square_c[k % m] - 2 * dot for k, dot in enumerate(dots)]


def _laplacian(kernel: Any, X: Rows, rows: list[int], cols: list[int]) -> list[arb]:
    factor = -ball(kernel.gamma) * X.unit
    values = np.array(X.integers, dtype=object).reshape(X.n, X.d)
    other = values[cols]
    return [
        (arb(v) * factor).exp()
        for i in rows
        for v in np.abs(values[i] - other).sum(axis=1).tolist()
    ]


# ---------------------------------------------------------------------- sums


def kernel_sums(
    kernel: Any, X: Rows, rows: Sequence[int], cols: Sequence[int], coefs: Sequence[Sequence[fmpq]]
) -> list[list[arb]]:
    """Σⱼ cⱼ k(xᵢ, xⱼ) over ``cols`` at ``rows``, for each vector of coefficients c."""
    if not cols:
        return [[arb(0)] * len(rows) for _ in coefs]
    if type(kernel).__name__ == "Linear":
        return [_linear_sums(X, rows, cols, coef) for coef in coefs]
    if len(rows) * len(cols) > MOST_ENTRIES and type(kernel).__name__ in ("RBF", "Laplacian"):
        return _long_sums(kernel, X, rows, cols, coefs)
    K = kernel_matrix(kernel, X, rows, cols)
    C = arb_mat(len(cols), len(coefs), [arb(c[j]) for j in range(len(cols)) for c in coefs])
    sums = (K * C).tolist()
    return [[row[t] for row in sums] for t in range(len(coefs))]


def _linear_sums(
    X: Rows, rows: Sequence[int], cols: Sequence[int], coef: Sequence[fmpq]
) -> list[arb]:
    """x·w with w = Σ cⱼ xⱼ, both without rounding."""
    w = [
        sum((c * X.integers[j][k] for j, c in zip(cols, coef, strict=True) if c), fmpq(0))
        for k in range(X.d)
    ]
    unit = X.unit**2
    return [
        arb(sum((a * v for a, v in zip(w, X.integers[i], strict=True)), fmpq(0))) * unit
        for i in rows
    ]


def _long_sums(
    kernel: Any, X: Rows, rows: Sequence[int], cols: Sequence[int], coefs: Sequence[Sequence[fmpq]]
) -> list[list[arb]]:
    """The same in long double, from differences of coordinates, with its error as radius.

    With u the unit round-off, a squared (or absolute) distance t is off by (d + 3) u t, γt by 2u γt
    more, and exp(−γt) by itself: (d + 5) u γt exp(−γt) + 2u exp ≤ (d + 7) u. A sum of m products
    adds m u Σ|c|k. A coefficient that is no long double is off by u.
    """
    power = 2 if type(kernel).__name__ == "RBF" else 1
    A, B = X.X[list(rows)].astype(LONG), X.X[list(cols)].astype(LONG)
    gamma, u = LONG(kernel.gamma), float(np.finfo(LONG).eps)
    C = np.array([[_long(c) for c in coef] for coef in coefs], dtype=LONG).T
    out: list[list[arb]] = [[] for _ in coefs]
    total = np.abs(C).sum(axis=0)
    for start in range(0, len(A), 256):
        part = A[start : start + 256]
        t = np.zeros((len(part), len(B)), LONG)
        for k in range(X.d):
            t += np.abs(part[:, k, np.newaxis] - B[np.newaxis, :, k]) ** power
        K = np.exp(-gamma * t)
        sums, sizes = _product(K, C), _product(K, np.abs(C))
        error = u * ((X.d + 9) * total + (len(B) + 4) * sizes) * 1.01
        for k, column in enumerate(out):
            column += [
                _from_long(v, e) for v, e in zip(sums[:, k], error[:, k].astype(float), strict=True)
            ]
    return out


def _product(K: np.ndarray, C: np.ndarray) -> np.ndarray:
    return np.stack([(K * C[:, k]).sum(axis=1) for k in range(C.shape[1])], axis=1)


def _long(value: fmpq) -> Any:
    """The long double nearest to a fraction, up to a unit of rounding."""
    high = float(arb(value).mid())
    return LONG(high) + LONG(float((arb(value) - arb(high)).mid()))


def _from_long(value: Any, error: float) -> arb:
    high = float(value)
    return arb(high) + arb(float(value - LONG(high)), float(np.nextafter(error, np.inf)))
