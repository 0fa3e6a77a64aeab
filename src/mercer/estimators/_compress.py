"""`compress`: a fitted kernel model with fewer vectors."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer._expansion import Expansion
from mercer.estimators._validation import check_rows
from mercer.gram import BlockedGram
from mercer.gram._reduced_set import ReducedSet, reduce_set
from mercer.kernels._binding import bind_samples
from mercer.kernels._samples import Samples

__all__ = ["Compressible", "Compression"]


@dataclass(frozen=True)
class Compression:
    """How a compressed model differs from the one that was fitted.

    Attributes
    ----------
    n_vectors, n_vectors_before : int
    change : tuple of float
        Upper bounds of ‖w − w̃‖ in the kernel's feature space, one for each output, rounding
        included. Of every row x, f has changed by at most ``change · √k(x, x)``. Infinite where the
        kernel is not known to be positive semidefinite, and has no feature space.
    relative_change : tuple of float
        The same over ‖w‖.
    largest_change : float or None
        The largest change of f on the rows that were given to `compress`.
    """

    n_vectors: int
    n_vectors_before: int
    change: tuple
    relative_change: tuple
    largest_change: float | None = None


class Compressible:
    """A kernel model whose vectors can be made fewer."""

    expansion_: Expansion
    compression_: Compression
    kernel_: Any
    n_jobs: int | None

    def compress(
        self, max_vectors: int | None = None, *, tolerance: float | None = None, X: Any = None
    ) -> Any:
        """The model with fewer expansion vectors, and what that changes.

        The vectors are some of those that the model has, chosen one by one so that each reduces the
        change of f in the norm of the kernel's feature space most; their coefficients are the best
        ones for that norm. A pair of classes has vectors of these two classes only, as before. A
        prediction evaluates the kernel at the vectors that are left.

        Parameters
        ----------
        max_vectors : int, optional
            The largest number of vectors that are kept.
        tolerance : float, optional
            Keep no more than it takes for ‖w − w̃‖ √k(z, z) ≤ tolerance at every vector z: with a
            kernel such as RBF, whose k(x, x) is 1, f changes by at most ``tolerance`` anywhere.
            Only for kernels that are known to be positive semidefinite.
        X : {array-like, sparse matrix}, optional
            Rows at which the largest change of f is computed (``compression_.largest_change``).

        Returns
        -------
        model : estimator
            A copy with the attribute ``compression_`` (a `Compression`). It has no certificate: it
            is no longer the solution of the problem.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import SVC
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 2))
        >>> model = SVC(C=10, gamma=0.5).fit(X, X[:, 0] * X[:, 1] > 0)
        >>> small = model.compress(tolerance=0.05, X=X)
        >>> small.compression_.n_vectors < small.compression_.n_vectors_before
        True
        >>> small.compression_.largest_change <= 0.05
        True
        """
        check_is_fitted(self, "expansion_")
        _check(self, max_vectors, tolerance)
        old = self.expansion_
        gram = BlockedGram(old.kernel, bind_samples(old.kernel, old.support.X))
        scale = float(np.sqrt(np.abs(gram.diag()).max(initial=0.0))) or 1.0
        max_change = None if tolerance is None else tolerance / scale
        found = reduce_set(gram, dense_coefficients(old), max_vectors, max_change, _supports(old))
        gram.release()
        made = copy.copy(self)
        for name in ("certificate_", "_proof", "_duals"):
            vars(made).pop(name, None)
        _keep(made, old, found)
        largest = None
        if X is not None:
            rows = check_rows(self, X)
            jobs = self.n_jobs
            moved = made.expansion_.exact(rows, jobs) - old.exact(rows, jobs)
            largest = float(np.abs(moved).max(initial=0.0))
        change = found.change
        if old.kernel.is_psd is not True:
            change = np.full(change.size, np.inf)
        relative = np.divide(change, found.norm, out=np.zeros(change.size), where=found.norm > 0)
        sizes = found.index.size, old.n_support
        made.compression_ = Compression(
            *sizes, tuple(change.tolist()), tuple(relative.tolist()), largest
        )
        return made


def dense_coefficients(expansion: Expansion) -> np.ndarray:
    """One row of coefficients for each output."""
    coef = np.zeros((expansion.b.size, expansion.n_support))
    for start, stop, outputs in expansion.blocks:
        for r, output in enumerate(outputs):
            coef[output, start:stop] += expansion.coef[r, start:stop]
    return coef


def _supports(expansion: Expansion) -> list[tuple[np.ndarray, np.ndarray]]:
    """(vectors, outputs) of every set of vectors that some outputs have coefficients of."""
    has = np.zeros((expansion.b.size, expansion.n_support), bool)
    for start, stop, outputs in expansion.blocks:
        has[outputs, start:stop] = True
    sets, which = np.unique(has, axis=0, return_inverse=True)
    own = which.ravel()
    return [(np.flatnonzero(row), np.flatnonzero(own == i)) for i, row in enumerate(sets)]


def _check(model: Any, max_vectors: Any, tolerance: Any) -> None:
    if max_vectors is None and tolerance is None:
        raise ValueError("compress needs max_vectors, tolerance, or both.")
    if max_vectors is not None and not (
        isinstance(max_vectors, (int, np.integer)) and max_vectors >= 1
    ):
        raise ValueError(f"max_vectors must be a whole number of at least 1, got {max_vectors!r}.")
    if tolerance is not None and not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance must be a number of at least 0, got {tolerance!r}.")
    if model.expansion_.columns is not None:
        raise ValueError(
            f"A {type(model).__name__} with a precomputed kernel cannot be compressed: it has no "
            "vectors of which kernel values could be computed."
        )
    if tolerance is not None and model.expansion_.kernel.is_psd is not True:
        raise ValueError(
            f"tolerance must be None: {model.expansion_.kernel!r} is not known to be positive "
            "semidefinite, and the change of f has no bound. Use max_vectors, and see "
            "compression_.largest_change on rows X."
        )


def _layout(old: Expansion, found: ReducedSet) -> tuple[list, np.ndarray]:
    """Blocks and coefficients of the vectors that are kept, arranged as they were."""
    coef = np.zeros((old.coef.shape[0], found.index.size))
    blocks = []
    for start, stop, outputs in old.blocks:
        first, last = (int(end) for end in np.searchsorted(found.index, (start, stop)))
        coef[:, first:last] = found.coef[outputs, first:last]
        blocks.append((first, last, outputs))
    return blocks, coef


def _keep(made: Any, old: Expansion, found: ReducedSet) -> None:
    """Put the reduced set into the copy of an estimator."""
    index = found.index
    blocks, coef = _layout(old, found)
    vectors = old.support.X[index]
    is_fixed = old.kernel.is_shift_invariant
    # Other kernels may have been fitted to centred rows, where the coefficients sum to zero: these
    # do not, and their function is that of the rows as they are, with the published intercept.
    origin = old.support.origin if is_fixed else None
    b = old.b if is_fixed or old.support.origin is None else np.asarray(made.intercept_)
    made.expansion_ = Expansion(old.kernel, Samples(vectors, origin), coef, b, blocks)
    if hasattr(made, "X_fit_"):
        made.X_fit_ = vectors
        made.dual_coef_ = coef[0] if made._one_target else coef.T
        return
    made.support_vectors_ = vectors
    made.dual_coef_ = sp.csr_matrix(coef) if sp.issparse(made.dual_coef_) else coef
    for name in ("support_", "_support_rows"):
        if hasattr(made, name):
            setattr(made, name, getattr(made, name)[index])
    if "_n_support" in vars(made):  # vectors are in the order of their classes
        counts = made._n_support
        own = np.searchsorted(np.cumsum(counts), index, side="right")
        made._n_support = np.bincount(own, minlength=counts.size).astype(counts.dtype)
    vars(made).pop("n_support_", None)  # elsewhere the classes of the vectors are not kept
