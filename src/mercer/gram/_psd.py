"""What makes a kernel: symmetric, and cᵀKc ≥ 0 on every set of rows. Checked, and put right.

A check on some rows can refute a kernel for good: a vector c with cᵀKc < 0 is a proof, which is
evaluated once more by independent code (`mercer.kernels._reference`) before it is given. That
nothing was found proves the matrix of these rows only.

**Rounding.** Eigenvalues of a computed K are off by up to about n·eps·‖K‖: this is the tolerance.
**Many rows.** The matrix of a random part is a principal submatrix, so its negative directions are
the whole's; then Lanczos steps on the whole, from products with tiles that are never stored. Their
Rayleigh quotients can only be too large.

`psd_bound` is the same question with a proof either way: K + δI is positive semidefinite (a
Cholesky factorisation with its rounding bound), or there is a witness.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.gram import BlockedGram
from mercer.gram._psd_bound import (
    FEWEST_UNITS,
    SETTINGS,
    PSDBound,
    lanczos,
    psd_bound,
    quadratic_form,
    rounding_unit,
)
from mercer.kernels import Kernel, Precomputed, as_kernel
from mercer.kernels._samples import Samples
from mercer.kernels._symmetry import UNITS

__all__ = [
    "FEWEST_UNITS",
    "KernelCheck",
    "PSDBound",
    "check_kernel",
    "nearest_psd",
    "psd_bound",
    "rounding_unit",
]


@dataclass(frozen=True, eq=False, repr=False)
class KernelCheck:
    """What `check_kernel` found.

    Attributes
    ----------
    is_psd : bool
        Symmetric, and no eigenvalue below ``−tolerance``.
    min_eigenvalue : float
        The smallest of the matrix (of its symmetric part); if not ``is_exact``, the smallest found,
        an upper bound.
    witness : float64 array of length n, or None
        A unit vector c with cᵀKc < 0: the proof that this is no kernel.
    witness_value : float
        That cᵀKc, recomputed independently (NaN without a witness).
    tolerance : float
        What rounding can do to an eigenvalue.
    asymmetry : float
        The largest |K_ij − K_ji|.
    is_symmetric : bool
    n : int
        Rows given.
    is_exact : bool
        Whether all eigenvalues were computed; else a random part and Lanczos steps on the whole.
    in_general : bool or None
        What is known of the kernel on any rows (`mercer.kernels.Kernel.is_psd`); None: nothing.
    """

    is_psd: bool
    min_eigenvalue: float
    witness: np.ndarray | None
    witness_value: float
    tolerance: float
    asymmetry: float
    is_symmetric: bool
    n: int
    is_exact: bool
    in_general: bool | None = None

    def __repr__(self) -> str:
        how = "" if self.is_exact else ", the smallest found by a random part and Lanczos steps"
        found = (
            f"smallest eigenvalue {self.min_eigenvalue:.6g} on {self.n:,} rows "
            f"(rounding ±{self.tolerance:.2g}{how})"
        )
        if not self.is_symmetric:
            by = f"{self.asymmetry:.3g}"
            return f"Not a kernel: not symmetric, K_ij and K_ji differ by {by}; {found}."
        if self.is_psd:
            limits = "No proof for other rows." if self.is_exact else "No proof."
            if self.in_general is False:
                limits = "The kernel is not positive semidefinite in general."
            return f"Positive semidefinite on these rows: {found}. {limits}"
        return f"Not a kernel: {found}; the witness c has cᵀKc = {self.witness_value:.6g} < 0."


def check_kernel(
    kernel: Any,
    X: Any = None,
    *,
    tol: float | None = None,
    max_rows: int = 2000,
    random_state: int = 0,
) -> KernelCheck:
    """Whether a function is a kernel on these rows, with a witness if it is not.

    Parameters
    ----------
    kernel : Kernel, callable, name of a kernel, or a square matrix (then without X)
    X : rows as the kernel takes them; for ``"precomputed"`` the matrix
    tol : float ≥ 0, optional
        How far below zero an eigenvalue may be, instead of max(n, 32)·eps·‖K‖.
    max_rows : int, default=2000
        Up to this number of rows all eigenvalues are computed, in a few seconds; of more rows those
        of a random subset of that size.
    random_state : int
        For the random subset.

    Returns
    -------
    KernelCheck

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import check_kernel
    >>> check = check_kernel(lambda X, Z: np.tanh(1 + X @ Z.T), np.array([[1.0], [2.0]]))
    >>> check
    Not a kernel: smallest eigenvalue -0.0132481 on 2 rows (rounding ±1.4e-14); the witness c has \
cᵀKc = -0.0132481 < 0.
    """
    if X is None:
        kernel, X = Precomputed(), kernel
    kernel = as_kernel(kernel)
    if tol is not None and not tol >= 0:
        raise ValueError(f"tol must be None or a number ≥ 0, got {tol!r}.")
    points = Samples(kernel.read(X))
    _require_rows(kernel, points)
    kernel = kernel.resolved(points.X)
    kernel.check(kernel.prepare(points))
    eps = rounding_unit(kernel, points)
    rng = np.random.default_rng(random_state)
    exact = points.n <= max_rows
    rows = np.arange(points.n) if exact else np.sort(rng.choice(points.n, max_rows, False))
    K = _matrix(kernel, points, rows)
    asymmetry = float(np.abs(K - K.T).max())
    # A formula is symmetric; its values need not be, to the last digits.
    is_symmetric = kernel._is_symmetric or asymmetry <= UNITS * eps * np.abs(K).max()
    values, vectors = la.eigh((K + K.T) / 2)
    least, norm = float(values[0]), float(np.abs(values).max())
    c = np.zeros(points.n)
    c[rows] = vectors[:, 0]
    if not exact:
        with single_threaded_blas(), Workers(thread_count(None)) as workers:
            least, norm, c = lanczos(
                BlockedGram(kernel, points, workers), c, least, norm, SETTINGS.lanczos_steps
            )
    tolerance = max(points.n, FEWEST_UNITS) * eps * norm if tol is None else float(tol)
    value = quadratic_form(kernel, points, c) if least < -tolerance else np.nan
    refuted = value < -tolerance
    return KernelCheck(
        is_psd=bool(is_symmetric and not refuted),
        min_eigenvalue=least,
        witness=c if refuted else None,
        witness_value=value if refuted else np.nan,
        tolerance=tolerance,
        asymmetry=asymmetry,
        is_symmetric=bool(is_symmetric),
        n=points.n,
        is_exact=exact,
        in_general=kernel.is_psd,
    )


def _require_rows(kernel: Kernel, points: Samples) -> None:
    if points.n == 0:
        raise ValueError("X must have at least one row, got none.")
    if isinstance(kernel, Precomputed) and points.n != points.d:
        raise ValueError(f"A precomputed kernel matrix must be square, got shape {points.X.shape}.")


def _matrix(kernel: Kernel, points: Samples, rows: np.ndarray) -> np.ndarray:
    """K of some rows, both halves of it computed."""
    if isinstance(kernel, Precomputed):
        K = points.X[np.ix_(rows, rows)]
        return (K.toarray() if sp.issparse(K) else K).astype(np.float64)
    some = points.rows(rows, None)
    return kernel(some, some)


def nearest_psd(
    K: Any, *, unit_diagonal: bool = False, tol: float = 1e-10, max_iter: int = 1000
) -> np.ndarray:
    """The positive semidefinite matrix nearest to K (Frobenius norm): an explicit repair.

    Negative eigenvalues are set to zero. With ``unit_diagonal`` the nearest correlation matrix, by
    alternating projections with Dykstra's correction (Higham 2002, algorithm 3.3).

    Parameters
    ----------
    K : array of shape (n, n)
        Its symmetric part is taken.
    unit_diagonal : bool, default=False
        Keep k(x, x) = 1.
    tol : float, default=1e-10
        ``unit_diagonal``: largest change of an entry in the last round.
    max_iter : int, default=1000

    Returns
    -------
    nearest : float64 array of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import check_kernel, nearest_psd
    >>> K = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
    >>> check_kernel(K).is_psd, check_kernel(nearest_psd(K)).is_psd
    (False, True)
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size or not np.isfinite(K).all():
        raise ValueError(f"K must be a square matrix of finite numbers, got shape {K.shape}.")
    Y = (K + K.T) / 2
    if not unit_diagonal:
        return _clip(Y)
    correction = np.zeros_like(Y)
    for _ in range(max_iter):
        R = Y - correction
        P = _clip(R)
        correction = P - R
        before, Y = Y, P.copy()
        np.fill_diagonal(Y, 1.0)
        if np.abs(Y - before).max() <= tol:
            break
    else:
        raise ValueError(
            f"No nearest correlation matrix to tol={tol:g} within max_iter={max_iter} rounds "
            f"(change {np.abs(Y - before).max():.3g}): raise one of them."
        )
    # The last projection was onto the unit diagonal: back into the cone, and scaled to it.
    P = _clip(Y)
    scale = 1 / np.sqrt(np.diag(P))
    P *= scale[:, None] * scale
    np.fill_diagonal(P, 1.0)
    return P


def _clip(K: np.ndarray) -> np.ndarray:
    values, vectors = la.eigh(K)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return root @ root.T
