"""Cholesky factorisation of K + sI that proves something, whether it succeeds or not.

**Success.** If the factorisation of a symmetric matrix A of floating-point numbers runs to
completion, its smallest eigenvalue is above −γ/(1−γ)·tr(A), γ = (n+1)u/(1−(n+1)u), apart from
underflow (Rump 2006, "Verification of positive definiteness", BIT 46, section 2; it holds for any
order of summation). So K + (s + bound)·I is positive semidefinite; `error` is that bound, doubled.
The trace stands there for the norm of |R|ᵀ|R|, whose largest row sum may be the better bound of it.

**Failure.** If the pivot of row m is p ≤ 0, then c = (−A₁⁻¹a, 1, 0) with the leading block A₁ and
the column a has cᵀAc = p: a direction of curvature at most −s, up to rounding.

The lower triangle and the diagonal of one array are worked on, the upper one keeps K for the next
shift. Blocks of columns are factored one after the other, so that a stop is heard between them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import blas, lapack, solve_triangular

from mercer._precision import EPS, TINY

__all__ = ["ShiftedCholesky", "Stopped"]

BLOCK = 192


class Stopped(Exception):
    """The caller's ``stop()`` was true."""


class ShiftedCholesky:
    """Factorisations of K + sI.

    Parameters
    ----------
    K : float64 array of shape (n, n), symmetric, C-contiguous
        Overwritten; its upper triangle stays.
    stop : callable
    """

    def __init__(self, K: np.ndarray, stop: Callable[[], bool]):
        self.A, self.stop = K, stop
        self.n = K.shape[0]
        self.diag = K.diagonal().copy()

    @property
    def first_shift(self) -> float:
        """About the smallest shift with which semidefinite matrices are factored in float64."""
        return 4 * self.n * EPS * float(np.abs(self.diag).max(initial=0.0))

    def error(self, shift: float) -> float:
        """By how much the smallest eigenvalue of K + shift·I may be below 0, after a success.

        (units of 2⁻⁵² instead of 2⁻⁵³) times the trace or ‖|R|ᵀ|R|‖, the rounding of the diagonal,
        and underflow.
        """
        trace = float(np.maximum(self.diag + shift, 0.0).sum())
        size = min(1.01 * trace, 1.01 * self._factor_norm())
        largest = float(np.abs(self.diag).max(initial=0.0)) + shift
        return (self.n + 8) * EPS * size + EPS * largest + self.n**2 * TINY

    def _factor_norm(self) -> float:
        """The largest row sum of |R|ᵀ|R|, which bounds its norm; R is in the lower triangle."""
        sums = np.zeros(self.n)
        blocks = [slice(j, min(j + BLOCK, self.n)) for j in range(0, self.n, BLOCK)]
        for rows in blocks:
            part = np.abs(np.tril(self.A[rows, : rows.stop], rows.start))
            sums[: rows.stop] += part.sum(axis=0)
        largest = 0.0
        for rows in blocks:
            part = np.abs(np.tril(self.A[rows, : rows.stop], rows.start))
            largest = max(largest, float((part @ sums[: rows.stop]).max()))
        return largest

    def succeeds(self, shift: float) -> np.ndarray | None:
        """None if K + shift·I was factored, else a unit vector of (nearly) negative curvature."""
        self._restore(shift)
        A = self.A
        for j in range(0, self.n, BLOCK):
            if self.stop():
                raise Stopped
            columns = slice(j, min(j + BLOCK, self.n))
            panel = A[j:, columns].copy()
            top = panel[: columns.stop - j]
            upper = np.triu_indices(top.shape[0], 1)
            top[upper] = top.T[upper]
            panel -= A[j:, :j] @ A[columns, :j].T
            L, info = lapack.dpotrf(top, lower=1, clean=1)
            if info > 0:
                return self._direction(j, int(info) - 1, top)
            lower = np.tril_indices(top.shape[0])
            A[columns, columns][lower] = L[lower]
            if columns.stop < self.n:
                rest = panel[top.shape[0] :]
                A[columns.stop :, columns] = solve_triangular(
                    L, rest.T, lower=True, check_finite=False
                ).T
        return None

    def _restore(self, shift: float) -> None:
        """K + shift·I in the lower triangle."""
        for j in range(0, self.n, BLOCK):
            rows = slice(j, min(j + BLOCK, self.n))
            self.A[rows, :j] = self.A[:j, rows].T
            block = self.A[rows, rows]
            lower = np.tril_indices(block.shape[0], -1)
            block[lower] = block.T[lower]
        np.fill_diagonal(self.A, self.diag + shift)

    def _direction(self, j: int, k: int, top: np.ndarray) -> np.ndarray:
        """The direction in which row j + k has a pivot ≤ 0; ``top`` is its block, updated."""
        c = np.zeros(self.n)
        c[j + k] = 1.0
        if k:
            L, info = lapack.dpotrf(top[:k, :k], lower=1, clean=1)
            if info > 0:  # rounding of another order: an earlier row fails as well
                return self._direction(j, int(info) - 1, top)
            row = solve_triangular(L, top[k, :k], lower=True, check_finite=False)
            c[j : j + k] = -solve_triangular(L, row, lower=True, trans=1, check_finite=False)
        if j:
            right = -self.A[j : j + k + 1, :j].T @ c[j : j + k + 1]
            c[:j] = solve_triangular(self.A[:j, :j], right, lower=True, trans=1, check_finite=False)
        c /= np.abs(c).max()
        return c / np.linalg.norm(c)

    def product(self, x: np.ndarray) -> np.ndarray:
        """K x, from the triangle that is kept."""
        y = blas.dsymv(1.0, self.A.T, x, lower=1)
        return y + (self.diag - self.A.diagonal()) * x

    def size(self, c: np.ndarray) -> float:
        """|c|ᵀ|K||c|, which the rounding of cᵀKc is relative to."""
        c = np.abs(c)
        total = float(c * c @ np.abs(self.diag))
        for j in range(0, self.n, BLOCK):
            rows = slice(j, min(j + BLOCK, self.n))
            part = np.abs(np.triu(self.A[rows, j:], 1))
            total += 2 * float(c[rows] @ (part @ c[j:]))
        return total
