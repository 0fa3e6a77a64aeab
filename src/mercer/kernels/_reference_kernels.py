"""The kernels written out once more for `mercer.kernels._reference`, with bounds of their rounding.

Each function takes a kernel and two blocks of rows, and returns the values and their errors; the
registry of kernels names it. A kernel without one is evaluated itself: the values of functions are
exact as they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer._precision import UNIT
from mercer.kernels._registry import kernel_entry, load_path

__all__ = ["Rows", "Values", "evaluate", "has_precise", "parts_of"]

Values = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of the data, and what kernels need of them, computed once.

    ``source`` is the data set whose samples ``index`` numbers, where X was made from it.
    """

    X: Any
    index: np.ndarray
    source: Any = None
    _known: dict[Any, Any] = field(default_factory=dict)

    def equals(self, other: Rows) -> np.ndarray:
        """Which pairs are one and the same sample: of one data set, with one number."""
        mine, theirs = (rows.X if rows.source is None else rows.source for rows in (self, other))
        if mine is not theirs:
            return np.zeros((len(self.index), len(other.index)), dtype=bool)
        return self.index[:, None] == other.index

    def once(self, compute: Callable[[Rows], Any]) -> Any:
        """compute(self), which is kept."""
        if compute not in self._known:
            self._known[compute] = compute(self)
        return self._known[compute]

    @cached_property
    def values(self) -> Any:
        """In float64, dense or CSR."""
        return self.X[self.index].astype(np.float64)

    @cached_property
    def dense(self) -> np.ndarray:
        return self.values.toarray() if sp.issparse(self.X) else self.values

    @cached_property
    def norms(self) -> np.ndarray:
        return np.sqrt(sq_norms(self.values))

    @cached_property
    def centre(self) -> Any:
        return 0.0 if sp.issparse(self.X) else self.X[self.index].mean(axis=0, dtype=np.float64)

    @cached_property
    def centred(self) -> tuple[Any, np.ndarray]:
        """The rows less their centre, and squared norms."""
        return self.less(self.centre)

    def less(self, centre: Any) -> tuple[Any, np.ndarray]:
        """The rows less a centre (CSR: as they are), and squared norms."""
        A = self.values if sp.issparse(self.X) else self.values - centre
        return A, sq_norms(A)


def evaluate(kernel: Any, A: Rows, Z: Rows, precise: bool = False) -> Values:
    """Kernel values and their errors; ``precise``: in double-double, (high, low, error)."""
    entry = kernel_entry(kernel)
    path = "" if entry is None else entry.precise if precise else entry.reference
    if path:
        return load_path(path)(kernel, A, Z)
    K = np.array(kernel(A.X[A.index], Z.X[Z.index]), dtype=np.float64)
    return K, 4 * UNIT * np.abs(K)


def has_precise(kernel: Any) -> bool:
    """Whether there are values in double-double."""
    entry = kernel_entry(kernel)
    return bool(entry and entry.precise) and all(map(has_precise, parts_of(kernel)))


def parts_of(kernel: Any) -> list[Any]:
    """The kernels that a sum, product, multiple or power is made of."""
    parts = (getattr(kernel, name, None) for name in ("k", "k1", "k2"))
    return [part for part in parts if hasattr(part, "sample_type")]


def exact_values(kernel: Any, A: Rows, Z: Rows) -> Values:
    """In double-double: kernel values that are exact as they are given."""
    K = evaluate(kernel, A, Z)[0]
    return K, np.zeros_like(K), np.zeros_like(K)


def function_values(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Of a function; one whose values depend on the set of rows is called with all of them."""
    if not kernel.on_whole_set:
        K = np.array(kernel(A.X[A.index], Z.X[Z.index]), dtype=np.float64)
    elif A.X is Z.X:
        K = np.array(Z.once(kernel.whole_matrix)[np.ix_(A.index, Z.index)], dtype=np.float64)
    else:
        K = np.array(kernel(A.X[A.index], Z.X)[:, Z.index], dtype=np.float64)
    return K, 4 * UNIT * np.abs(K)


def precomputed(kernel: Any, A: Rows, Z: Rows) -> Values:
    K = np.array(A.X[np.ix_(A.index, Z.index)], dtype=np.float64)
    return K, np.zeros_like(K)


def constant(kernel: Any, A: Rows, Z: Rows) -> Values:
    K = np.full((len(A.index), len(Z.index)), kernel.value)
    return K, np.zeros_like(K)


def composite(kernel: Any, A: Rows, Z: Rows) -> Values:
    """Sums, products, multiples and powers of kernels."""
    name = type(kernel).__name__
    (K, error), *others = (evaluate(part, A, Z) for part in parts_of(kernel))
    if name == "Power":
        return _power(K, error, kernel.power)
    if name == "Scaled":
        K, error = kernel.c * K, kernel.c * error
    elif name == "Sum":
        K, error = K + others[0][0], error + others[0][1]
    else:
        ((K2, error2),) = others
        error = np.abs(K) * error2 + np.abs(K2) * error + error * error2
        K = K * K2
    return K, error + 2 * UNIT * np.abs(K)


def normalized(kernel: Any, A: Rows, Z: Rows) -> Values:
    """k(x, z) / √(k(x, x) k(z, z)); values of samples with k(x, x) = 0 are 0."""
    K, error = evaluate(kernel.k, A, Z)
    (a, a_error), (z, z_error) = (_diagonal(kernel.k, rows) for rows in (A, Z))
    size = np.sqrt(np.multiply.outer(a, z))
    relative = np.add.outer(_over(a_error, a), _over(z_error, z)) + 8 * UNIT
    K, error = _over(K, size), _over(error, size)
    # Where nothing is known of a root, values lie within ±1.
    return K, np.where(relative < 0.5, 1.1 * (error + np.abs(K) * relative), 2.0)


def centred(kernel: Any, A: Rows, Z: Rows) -> Values:
    """k(x, z) less the means of k(x, r) and k(r, z) over the samples r, plus the mean of all."""
    n = kernel.samples.shape[0] if hasattr(kernel.samples, "shape") else len(kernel.samples)
    reference = Rows(kernel.samples, np.arange(n))
    units = (n + 4) * UNIT
    means = []
    for rows in (A, Z, reference):
        R, R_error = evaluate(kernel.k, rows, reference)
        means.append((R.mean(axis=1), (R_error + units * np.abs(R)).mean(axis=1)))
    (a, a_error), (z, z_error), (r, r_error) = means
    K, error = evaluate(kernel.k, A, Z)
    size = np.abs(K) + np.add.outer(np.abs(a), np.abs(z)) + np.abs(r).mean()
    error = error + np.add.outer(a_error, z_error) + r_error.mean()
    return K - a[:, None] - z + r.mean(), error + units * np.abs(r).mean() + 4 * UNIT * size


@dataclass(frozen=True)
class _DiagonalOf:
    """k(x, x) of each row, one at a time, as `Rows.once` takes it."""

    kernel: Any

    def __call__(self, rows: Rows) -> Values:
        each = [Rows(rows.X, rows.index[i : i + 1]) for i in range(len(rows.index))]
        found = [evaluate(self.kernel, one, one) for one in each]
        values, errors = (np.array([pair[k][0, 0] for pair in found]) for k in (0, 1))
        return values.astype(np.float64), errors.astype(np.float64)


def _diagonal(kernel: Any, rows: Rows) -> Values:
    return rows.once(_DiagonalOf(kernel))


def _over(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, and 0 where b is not positive."""
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=b > 0)


# ---------------------------------------------------------------------- dot products


def linear(kernel: Any, A: Rows, Z: Rows) -> Values:
    units = (A.X.shape[1] + 4) * UNIT
    return _dot(A.values, Z.values), np.multiply.outer(units * A.norms, Z.norms)


def polynomial(kernel: Any, A: Rows, Z: Rows) -> Values:
    t, error = _affine(kernel, A, Z)
    if kernel.degree == 0:
        return np.ones_like(t), np.zeros_like(t)
    return _power(t, error, kernel.degree)


def sigmoid(kernel: Any, A: Rows, Z: Rows) -> Values:
    t, error = _affine(kernel, A, Z)
    return np.tanh(t), error + 8 * UNIT


def cosine(kernel: Any, A: Rows, Z: Rows) -> Values:
    K, size = _dot(A.values, Z.values), np.multiply.outer(A.norms, Z.norms)
    K = np.divide(K, size, out=np.zeros_like(K), where=size > 0)
    return K, np.full_like(K, 2 * (A.X.shape[1] + 8) * UNIT)


def _affine(kernel: Any, A: Rows, Z: Rows) -> Values:
    """γ x·z + c₀."""
    dots, error = linear(kernel, A, Z)
    t = kernel.gamma * dots
    rounding = 2 * UNIT * (np.abs(t) + abs(kernel.coef0))
    return t + kernel.coef0, kernel.gamma * error + rounding


def _power(t: np.ndarray, error: np.ndarray, degree: int) -> Values:
    below = _raise(np.abs(t) + error, degree - 1)
    K = _raise(t, degree)
    return K, 1.01 * degree * below * error + (4 + 2 * degree) * UNIT * np.abs(K)


def _raise(t: np.ndarray, power: int) -> np.ndarray:
    """t^power by repeated squaring."""
    out = np.ones_like(t)
    while power > 0:
        if power & 1:
            out = out * t
        power >>= 1
        if power:
            t = t * t
    return out


# ---------------------------------------------------------------------- distances


def rbf(kernel: Any, A: Rows, Z: Rows) -> Values:
    """exp(−γ‖x − z‖²), from products of centred rows where these keep the digits."""
    gamma, d = kernel.gamma, A.X.shape[1]
    (rows, a_sq), (support, z_sq) = A.less(Z.centre), Z.centred
    lost = 2 * (d + 8) * UNIT
    D = _dot(rows, support)
    D *= -2.0
    D += a_sq[:, None]
    D += z_sq
    np.maximum(D, 0.0, out=D)
    E = lost * (a_sq[:, None] + z_sq)
    for far, columns in ((z_sq, True), (a_sq, False)):
        # An error of γ‖x − z‖² beyond 1e-12: the differences of the rows are squared.
        which = np.flatnonzero(~(gamma * lost * far <= 1e-12 / 2))
        if which.size:
            part = (slice(None), which) if columns else (which, slice(None))
            pair = (A, Rows(Z.X, Z.index[which])) if columns else (Rows(A.X, A.index[which]), Z)
            D[part] = cdist(pair[0].dense, pair[1].dense, "sqeuclidean")
            E[part] = (d + 4) * UNIT * D[part]
    same = A.equals(Z)
    D[same], E[same] = 0.0, 0.0
    E += 4 * UNIT * D
    return _exponential(gamma, D, E)


def _exponential(gamma: float, D: np.ndarray, E: np.ndarray) -> Values:
    """exp(−γD) and its error, for D within E; both arrays are overwritten."""
    D *= -gamma
    E *= gamma
    far = E > 1
    if far.any():
        upper = np.exp(np.minimum(D[far] + E[far], 0.0)) * (1 + 8 * UNIT)
        E[far] = 0.0
    np.expm1(E, out=E)
    E += 8 * UNIT * (D < 0)
    np.exp(D, out=D)
    E *= D
    if far.any():
        E[far] = upper
    np.minimum(E, 1.0, out=E)
    return D, E


def laplacian(kernel: Any, A: Rows, Z: Rows) -> Values:
    D = cdist(A.dense, Z.dense, "cityblock")
    return _exponential(kernel.gamma, D, (A.X.shape[1] + 6) * UNIT * D)


def chi2(kernel: Any, A: Rows, Z: Rows) -> Values:
    D = np.zeros((len(A.index), len(Z.index)))
    for x, z in zip(A.dense.T, Z.dense.T, strict=True):
        total, difference = np.add.outer(x, z), np.subtract.outer(x, z)
        D += np.divide(difference**2, total, out=np.zeros_like(D), where=total > 0)
    return _exponential(kernel.gamma, D, (A.X.shape[1] + 10) * UNIT * D)


def all_subsets(kernel: Any, A: Rows, Z: Rows) -> Values:
    K = np.ones((len(A.index), len(Z.index)))
    size = np.ones_like(K)
    for x, z in zip(A.dense.T, Z.dense.T, strict=True):
        product = np.multiply.outer(x, z)
        K *= 1 + product
        size *= 1 + np.abs(product)
    return K, 4 * (A.X.shape[1] + 1) * UNIT * size


def _dot(A: Any, B: Any) -> np.ndarray:
    return (A @ B.T).toarray() if sp.issparse(A) else A @ B.T


def sq_norms(A: Any) -> np.ndarray:
    """‖x‖² of every row."""
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)
