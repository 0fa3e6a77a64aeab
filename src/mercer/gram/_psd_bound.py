"""How negative the eigenvalues of a kernel matrix can be, with a proof either way.

K + δI is positive semidefinite, shown by a Cholesky factorisation with its rounding bound
(`_cholesky`), or there is a witness c with cᵀKc < 0: the direction in which the factorisation
failed, polished by a few Lanczos steps and evaluated once more by code of its own (`_naive`).

δ covers how K was computed, too: given numbers are exact, tanh(γ x·z + c₀) has the rounding of its
argument, and of other functions a few units of rounding of the largest value are assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from mercer._precision import EPS, TINY
from mercer._threads import single_threaded_blas
from mercer.gram import BlockedGram
from mercer.gram._base import never
from mercer.gram._cholesky import ShiftedCholesky, Stopped
from mercer.gram._machine import pieces
from mercer.kernels import Kernel, Precomputed, Sigmoid
from mercer.kernels._reference import kernel_sums
from mercer.kernels._samples import Samples
from mercer.kernels._symmetry import UNITS, holds_function, require_symmetric_values

__all__ = [
    "FEWEST_UNITS",
    "SETTINGS",
    "PSDBound",
    "lanczos",
    "psd_bound",
    "quadratic_form",
    "rounding_unit",
]

# Kernel values themselves are a few roundings off, which outweighs n·eps on a handful of rows.
FEWEST_UNITS = 32


@dataclass(frozen=True)
class PSDSettings:
    """How far definiteness is looked into."""

    # Shifts δ that are tried, and rows up to which K + δI is factored (0.7 s for 4,000).
    shifts: int = 8
    factored_rows: int = 4000
    # Of a function of Python, which is asked for K once more.
    factored_rows_of_function: int = 1000
    # Up to these rows it takes milliseconds and is done after a time limit, too.
    quick_rows: int = 500
    # Steps that turn a direction of negative curvature into one of nearly the smallest eigenvalue.
    polish_steps: int = 12
    # Of more rows: a part is factored, and kernel values spent on Lanczos steps on the whole.
    part_rows: int = 1500
    look_values: int = 500_000_000
    look_steps: int = 8
    # Lanczos steps on the matrix of a kernel that is judged on its own.
    lanczos_steps: int = 60


SETTINGS = PSDSettings()


@dataclass(frozen=True, eq=False)
class PSDBound:
    """What is known about the eigenvalues of a Gram.

    Attributes
    ----------
    delta : float or None
        K + delta·I was shown to be positive semidefinite, K of all rows and in exact arithmetic;
        0 for kernels that are by construction. None: not shown.
    witness : float64 array of length n, or None
        A unit vector c with cᵀKc < 0 by more than rounding.
    witness_value : float
        That cᵀKc, recomputed independently (NaN without a witness).
    """

    delta: float | None
    witness: np.ndarray | None = None
    witness_value: float = np.nan


def psd_bound(
    gram: BlockedGram,
    *,
    max_rows: int = SETTINGS.factored_rows,
    stop: Callable[[], bool] = never,
) -> PSDBound:
    """How negative the eigenvalues of a Gram can be, or a proof that one is.

    Parameters
    ----------
    gram : BlockedGram
    max_rows : int
        Of more rows K is not held: a witness is sought in a random subset, and by Lanczos steps.
    stop : callable
        Asked every few milliseconds; once it is true, what is left to do is not done.

    Returns
    -------
    PSDBound

    Examples
    --------
    >>> import numpy as np
    >>> from mercer._threads import Workers
    >>> from mercer.gram import BlockedGram
    >>> from mercer.kernels import Precomputed
    >>> from mercer.kernels._samples import Samples
    >>> from mercer.gram._psd import psd_bound
    >>> K = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, 0.9], [0.2, 0.9, 1.0]])
    >>> bound = psd_bound(BlockedGram(Precomputed(), Samples(K), Workers(1)))
    >>> bound.delta, round(bound.witness_value, 4)
    (None, -0.1767)
    """
    if gram.kernel.is_psd is True or gram.n == 0:
        return PSDBound(0.0)
    try:
        with single_threaded_blas():
            if gram.n <= max_rows:
                return _factored(gram, stop)
            return _from_subset(gram, min(SETTINGS.part_rows, max_rows), stop)
    except Stopped:
        return PSDBound(None)


def _factored(gram: BlockedGram, stop: Callable[[], bool]) -> PSDBound:
    """Shifts from the rounding bound of the factorisation on, until one succeeds or a witness."""
    K = _filled(gram, stop)
    largest = max(float(K.max()), -float(K.min()))
    entries = _entry_errors(gram, largest)
    unit = max(gram.n, FEWEST_UNITS) * rounding_unit(gram.kernel, gram.points)
    cholesky = ShiftedCholesky(K, stop)
    # Of a semidefinite matrix the largest entry is on the diagonal; of others shifts start there.
    shift = max(cholesky.first_shift, EPS * largest, TINY)
    for _ in range(SETTINGS.shifts):
        c = cholesky.succeeds(shift)
        if c is None:
            return PSDBound(float(shift + cholesky.error(shift) + entries) * (1 + 1e-12))
        c, value, norm = _polished(cholesky, c)
        rounding = (gram.n + 16) * EPS * cholesky.size(c)
        if value < -unit * norm - entries - rounding:
            again = _recomputed(gram, c)
            if again < -unit * norm:
                return PSDBound(None, c, again)
        shift = max(8 * shift, -2 * value)
    return PSDBound(None)


def _filled(gram: BlockedGram, stop: Callable[[], bool]) -> np.ndarray:
    """K, the lower half of it computed; of functions the other one is compared with it."""
    n = gram.n
    K = np.empty((n, n))
    whole = gram.sample_block(slice(0, n), np.float64)
    is_function = holds_function(gram.kernel)
    for rows in pieces(n, 256):
        if stop():
            raise Stopped
        gram.block(whole[rows], whole[: rows.stop], out=K[rows, : rows.stop])
        if is_function:
            other = np.empty((rows.stop, rows.stop - rows.start))
            gram.block(whole[: rows.stop], whole[rows], out=other)
            numbers = gram.original(np.arange(rows.stop))
            require_symmetric_values(
                gram.kernel, K[rows, : rows.stop], other.T, numbers[rows], numbers
            )
        K[: rows.start, rows] = K[rows, : rows.start].T
        square = K[rows, rows]
        upper = np.triu_indices(square.shape[0], 1)
        square[upper] = square.T[upper]
    return K


def _entry_errors(gram: BlockedGram, largest: float) -> float:
    """A bound on the norm of what K differs by from the exact one, √(Σ error of an entry²)."""
    n = gram.n
    match gram.kernel:
        case Precomputed():
            # The other half may differ by what passes for symmetric; integers may not fit float64.
            given = gram.points.X.dtype
            half = UNITS / 2 * float(np.finfo(given).eps) if given.kind == "f" else EPS / 2
            return 0.0 if _is_symmetric(gram) else n * half * largest
        case Sigmoid(gamma=gamma, coef0=c):
            # tanh has slope at most 1; its argument is a sum of d products, and two roundings.
            squares = float(gram.sample_block(slice(0, n), np.float64).sq_norms.sum())
            inside = (gram.points.d + 4) * EPS * (gamma * squares + n * abs(c))
            return inside + 4 * n * EPS * largest
    return n * FEWEST_UNITS * EPS * largest


def _is_symmetric(gram: BlockedGram) -> bool:
    X = gram.points.X
    if sp.issparse(X) or X.dtype == np.int64 or X.dtype == np.uint64:
        return False
    index = gram.original(np.arange(gram.n))
    return all(
        np.array_equal(X[np.ix_(index[a], index[b])], X[np.ix_(index[b], index[a])].T)
        for a in pieces(gram.n, 1024)
        for b in pieces(a.stop, 1024)
    )


def _polished(cholesky: ShiftedCholesky, c: np.ndarray) -> tuple[np.ndarray, float, float]:
    """The smallest Rayleigh quotient of a few Lanczos steps from c, and a norm of K."""
    m = min(SETTINGS.polish_steps, c.size)
    basis, images = np.zeros((m, c.size)), np.zeros((m, c.size))
    v = c
    for k in range(m):
        basis[k], images[k] = v, cholesky.product(v)
        v = images[k] - basis[: k + 1].T @ (basis[: k + 1] @ images[k])
        v -= basis[: k + 1].T @ (basis[: k + 1] @ v)
        length = float(np.linalg.norm(v))
        if length <= 1e-10 * float(np.linalg.norm(images[k])):
            m = k + 1
            break
        v /= length
    T = basis[:m] @ images[:m].T
    values, vectors = la.eigh((T + T.T) / 2)
    norm = max(float(np.abs(values).max()), float(np.abs(cholesky.diag).max()))
    best = vectors[:, 0] @ basis[:m]
    best /= np.linalg.norm(best)
    value = float(best @ cholesky.product(best))
    first = float(c @ images[0])
    return (best, value, norm) if value < first else (c, first, norm)


def _recomputed(gram: BlockedGram, c: np.ndarray) -> float:
    whole = np.zeros(gram.points.n)
    whole[gram.original(np.arange(gram.n))] = c
    return quadratic_form(gram.kernel, gram.points, whole)


def _from_subset(gram: BlockedGram, part: int, stop: Callable[[], bool]) -> PSDBound:
    """A witness among some rows, or in a Krylov space of the whole that starts there."""
    n = gram.n
    rows = np.sort(np.random.default_rng(0).choice(n, part, replace=False))
    found = _factored(gram.take(rows), stop)
    c = np.zeros(n)
    if found.witness is not None:
        c[rows] = found.witness
        return PSDBound(None, c, found.witness_value)
    steps = int(min(SETTINGS.look_steps, SETTINGS.look_values // n**2))
    c[:] = np.random.default_rng(1).normal(size=n)
    if steps < 2 or stop():
        return PSDBound(None)
    least, norm, c = lanczos(gram, c, np.inf, 0.0, steps, stop)
    c /= np.linalg.norm(c)
    # Bounded by its largest entry, |c|ᵀ|K||c| is what rounding of the sum is relative to.
    unit = rounding_unit(gram.kernel, gram.points)
    rounding = max(n, FEWEST_UNITS) * unit * max(norm, float(np.abs(gram.diag()).max()))
    if stop() or not least < -2 * rounding:
        return PSDBound(None)
    value = _recomputed(gram, c)
    return PSDBound(None, c, value) if value < -2 * rounding else PSDBound(None)


def rounding_unit(kernel: Kernel, points: Samples) -> float:
    """eps of the numbers the values were computed in: a float32 matrix has its own."""
    if isinstance(kernel, Precomputed) and points.X.dtype == np.float32:
        return float(np.finfo(np.float32).eps)
    return EPS


def lanczos(
    gram: BlockedGram,
    c: np.ndarray,
    least: float,
    norm: float,
    steps: int,
    stop: Callable[[], bool] = never,
) -> tuple[float, float, np.ndarray]:
    """Smallest Rayleigh quotient, largest norm and their vector in a Krylov space that starts at c.

    Plain Lanczos with full orthogonalisation: the steps are few, and each is a product with K.
    """
    n = gram.n
    everyone = np.arange(n)
    basis = np.zeros((steps, n))
    images = np.zeros((steps, n))
    v, m = c / np.linalg.norm(c), 0
    while m < steps:
        basis[m] = v
        gram.accumulate(images[m], everyone, everyone, v, stop=stop)
        if stop():  # this product is not whole
            break
        v = images[m].copy()
        m += 1
        for _ in range(2):  # once more: what the first pass leaves of the basis by rounding
            v -= basis[:m].T @ (basis[:m] @ v)
        length = np.linalg.norm(v)
        if length <= n * EPS * norm:
            break
        v /= length
    if m == 0:
        return least, norm, c
    T = basis[:m] @ images[:m].T
    values, vectors = la.eigh((T + T.T) / 2)
    return min(least, values[0]), max(norm, abs(values[-1])), vectors[:, 0] @ basis[:m]


def quadratic_form(kernel: Kernel, points: Samples, c: np.ndarray) -> float:
    """cᵀKc by `mercer.kernels._reference`, which shares no code with the kernels."""
    X = points.X
    if isinstance(X, list):
        X = np.empty(points.n, dtype=object)
        X[:] = points.X
    rows = np.flatnonzero(c)
    return float(c[rows] @ kernel_sums(kernel, X, rows, rows, c[rows][:, None])[:, 0])
