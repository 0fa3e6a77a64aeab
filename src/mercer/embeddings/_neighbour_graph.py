"""Coordinates from a graph of neighbours: what Laplacian eigenmaps and LLE have in common.

A row that was in the training set keeps its coordinates; a new one gets an average of its
neighbours' (`_extend`).
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.exceptions import warn_user

__all__ = ["NeighbourEmbedding", "smallest_eigenvectors"]

# Matrices up to this size are decomposed whole; larger ones by shifted inverse iteration.
DENSE_ROWS = 300
# How far below the smallest eigenvalue, zero, the shift is, in units of the largest: far enough for
# the factorisation to be sound, near enough that a few steps suffice.
SHIFT = 1e-12


class NeighbourEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Common to `LaplacianEigenmaps` and `LocallyLinearEmbedding`."""

    _parameter_constraints: ClassVar[dict] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    def _embed(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Coordinates of the training rows from their neighbours (themselves not among them)."""
        raise NotImplementedError

    def _extend(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Coordinates of new rows from their neighbours in the training set."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> NeighbourEmbedding:
        """Find the neighbours and the coordinates of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self : object
        """
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], accept_sparse="csr", ensure_min_samples=2
        )
        n = X.shape[0]
        if self.n_components >= n:
            raise ValueError(
                f"n_components={self.n_components} must be below the number of rows, n_samples={n}."
            )
        self._k = min(self.n_neighbors, n - 1)
        self._rows = X
        self._search = self._index()
        distances, indices = self._search.kneighbors()
        self._warn_if_in_parts(indices)
        self.embedding_ = self._embed(X, distances, indices)
        return self

    def _index(self) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=self._k, n_jobs=self.n_jobs).fit(self._rows)

    def __getstate__(self) -> dict:
        """Without the index of the rows, which is made of them again."""
        return {name: v for name, v in super().__getstate__().items() if name != "_search"}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        if "_rows" in state:
            self._search = self._index()

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and the coordinates of the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        return self.fit(X).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of the rows; those of the training set keep theirs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        embedding : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self, "embedding_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], accept_sparse="csr", reset=False)
        if sp.issparse(self._rows) != sp.issparse(X):
            X = sp.csr_matrix(X) if sp.issparse(self._rows) else X.toarray()
        distances, indices = self._search.kneighbors(X)
        out = self.embedding_[indices[:, 0]]
        new = ~_equal_rows(X, self._rows[indices[:, 0]])
        if new.any():
            out[new] = self._extend(X[new], distances[new], indices[new])
        return out

    def _warn_if_in_parts(self, indices: np.ndarray) -> None:
        parts, _ = connected_components(graph(indices, np.ones(indices.shape)), directed=False)
        if parts > 1:
            warn_user(
                f"The graph of n_neighbors={self._k} falls into {parts} parts that know nothing of "
                "each other: coordinates only tell the parts apart. Raise n_neighbors.",
                UserWarning,
            )

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def graph(indices: np.ndarray, weights: np.ndarray) -> sp.csr_matrix:
    """Row i holds weights[i] at the columns indices[i]."""
    n, k = indices.shape
    return sp.csr_matrix(
        (weights.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)
    )


def _equal_rows(A: Any, B: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.asarray(abs(A - B).sum(axis=1)).ravel() == 0
    return (A == B).all(axis=1)


def smallest_eigenvectors(M: sp.spmatrix, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (rising) and vectors of a sparse positive semidefinite matrix."""
    n = M.shape[0]
    if n <= DENSE_ROWS or count >= n - 1:
        values, vectors = la.eigh(M.toarray(), subset_by_index=(0, min(count, n) - 1))
    else:
        # A symmetric order of elimination fills in half as much as SuperLU's own.
        shift = SHIFT * abs(M).sum(axis=1).max()
        factor = splu(
            sp.csc_matrix(M + shift * sp.identity(n)), permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0, options={"SymmetricMode": True},
        )  # fmt: skip
        inverse = LinearOperator(M.shape, factor.solve, dtype=np.float64)
        start = np.random.RandomState(0).uniform(-1, 1, n)
        values, vectors = eigsh(M, count, sigma=-shift, OPinv=inverse, which="LM", v0=start)
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
    # signs are arbitrary: the largest entry of a vector is made positive
    largest = np.abs(vectors).argmax(axis=0)
    return values, vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
