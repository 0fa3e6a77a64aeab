"""Dense linear algebra that can be stopped: K filled, factorised and solved with in blocks.

A LAPACK call of thousands of rows takes seconds or minutes and cannot be interrupted. The Cholesky
factorisation here is the blocked right-looking one (Golub and Van Loan, Matrix Computations, 2013,
algorithm 4.2.2), whose tiles are distributed over threads with BLAS held to one: the tiles are
always the same, so that the factor is equal bit for bit for any number of threads, and ``stop()``
is evaluated between two tiles. After each panel the leading rows of the factor are final: they
solve the system of the leading rows.

Symmetric eigenvalue problems are left to LAPACK; `eigen_seconds` estimates the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import linalg

from mercer._threads import Workers, single_threaded_blas
from mercer.gram import BlockedGram
from mercer.gram._bounded_products import LANES, SIDE, chunked
from mercer.gram._machine import MACHINE, pieces

__all__ = [
    "cholesky",
    "cholesky_solve",
    "eigen_seconds",
    "kernel_matrix",
    "restore",
    "rows_in_time",
    "upper_product",
]

# Rows of a panel of the factorisation, and of K that one call fills.
PANEL = MACHINE.panel_rows
TILE = SIDE
Stop = Callable[[], bool]


def kernel_matrix(gram: BlockedGram, stop: Stop) -> np.ndarray | None:
    """K as a whole in float64; None if ``stop()`` became true."""
    n = gram.n
    K = np.empty((n, n))
    block = gram.sample_block(slice(0, n), np.float64)

    def stripe(rows: slice) -> None:
        if not stop():
            gram.block(block[rows], block[: rows.stop], out=K[rows, : rows.stop])
            K[: rows.start, rows] = K[rows, : rows.start].T

    gram.workers.map(stripe, pieces(n, PANEL))
    return None if stop() else K


def cholesky(A: np.ndarray, workers: Workers, stop: Stop) -> tuple[int, bool]:
    """Write L of A = L Lᵀ over the lower triangle; the upper one is left as it is.

    Returns the number of leading rows of L that are final, and whether A is positive definite up to
    there.
    """
    n = A.shape[0]
    for panel in pieces(n, PANEL):
        corner = A[panel, panel]
        try:
            L = linalg.cholesky(corner, lower=True, check_finite=False)
        except linalg.LinAlgError:
            return panel.start, False
        if not np.isfinite(L).all():
            return panel.start, False
        corner[np.tril_indices(len(L))] = L[np.tril_indices(len(L))]
        end = panel.stop
        below = [slice(s.start + end, s.stop + end) for s in pieces(n - end, TILE)]
        for rows in below:
            A[rows, panel] = linalg.solve_triangular(
                L, A[rows, panel].T, lower=True, check_finite=False
            ).T
        tiles = [(rows, columns) for i, rows in enumerate(below) for columns in below[: i + 1]]

        def update(tile: tuple[slice, slice], panel: slice = panel) -> None:
            if stop():
                return
            rows, columns = tile
            change = A[rows, panel] @ A[columns, panel].T
            if rows == columns:  # the upper triangle keeps K
                change = np.tril(change)
            A[rows, columns] -= change

        workers.map(update, tiles)
        if stop():
            return panel.stop, True
    return n, True


def cholesky_solve(A: np.ndarray, B: np.ndarray, workers: Workers) -> np.ndarray:
    """X of L Lᵀ X = B with the L in the lower triangle of A, block by block."""
    X = B.copy()
    cut = pieces(len(B), PANEL)
    for panel in cut:
        corner = np.tril(A[panel, panel])
        X[panel] = linalg.solve_triangular(corner, X[panel], lower=True, check_finite=False)
        after = [rows for rows in cut if rows.start >= panel.stop]

        def forward(rows: slice, panel: slice = panel) -> None:
            X[rows] -= A[rows, panel] @ X[panel]

        workers.map(forward, after)
    for panel in reversed(cut):
        corner = np.tril(A[panel, panel])
        X[panel] = linalg.solve_triangular(
            corner, X[panel], lower=True, trans=1, check_finite=False
        )
        before = [rows for rows in cut if rows.stop <= panel.start]

        def backward(rows: slice, panel: slice = panel) -> None:
            X[rows] -= A[panel, rows].T @ X[panel]

        workers.map(backward, before)
    return X


def upper_product(
    A: np.ndarray, diagonal: np.ndarray, V: np.ndarray, workers: Workers, *, absolute: bool = False
) -> np.ndarray:
    """K V, or |K| V, with the K in the upper triangle of A and its diagonal.

    Sums go through as many roundings as those of `mercer.gram._bounded_products`.
    """
    cut = pieces(len(V), TILE)
    lanes = [range(lane, len(cut), LANES) for lane in range(min(LANES, len(cut)))]
    sums = np.zeros((len(lanes), *V.shape))

    def one(lane: int) -> None:
        for i in lanes[lane]:
            for j in range(i, len(cut)):
                rows, columns = cut[i], cut[j]
                T = np.triu(A[rows, columns], 1) if i == j else A[rows, columns]
                T = np.abs(T) if absolute else T
                sums[lane, rows] += chunked(T, V[columns])
                sums[lane, columns] += chunked(T.T, V[rows])

    workers.map(one, range(len(lanes)))
    size = np.abs(diagonal) if absolute else diagonal
    return sums.sum(axis=0) + size[:, np.newaxis] * V


def restore(A: np.ndarray, diagonal: np.ndarray) -> None:
    """The lower triangle of A again the mirror of the upper one, which `cholesky` kept."""
    for rows in pieces(len(A), TILE):
        A[rows, : rows.start] = A[: rows.start, rows].T
        corner = np.triu(A[rows, rows], 1)
        A[rows, rows] = corner + corner.T
    A.flat[:: len(A) + 1] = diagonal


@cache
def _seconds_per_cube() -> float:
    """Time of a symmetric eigenvalue problem over n³, measured once on a small one."""
    n = 250
    A = np.random.default_rng(0).normal(size=(n, n))
    A += A.T
    with single_threaded_blas():
        linalg.eigh(A)  # the first call loads the library
        began = time.perf_counter()
        linalg.eigh(A)
        return (time.perf_counter() - began) / n**3


def eigen_seconds(n: int) -> float:
    """About how long all eigenvectors of an n × n matrix take, with one thread."""
    return _seconds_per_cube() * n**3


def rows_in_time(seconds: float) -> int:
    """About the largest number of rows whose eigenvectors take at most ``seconds``."""
    return int(min((max(seconds, 0.0) / _seconds_per_cube()) ** (1 / 3), 1e9))
