"""Coordinates from a graph of neighbours: what Laplacian eigenmaps and LLE have in common.

The rows are vectors, of which the nearest ones are searched, or they are given by their similarity:
a kernel, or a precomputed matrix. A row of the training set keeps its coordinates; a new one gets
an average of its neighbours' (`_extend`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
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
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.estimators._fields import COUNT, estimator
from mercer.estimators._validation import as_numbers
from mercer.exceptions import warn_user
from mercer.kernels import Kernel
from mercer.kernels._symmetry import require_symmetric
from mercer.solvers._stopping import restoring

__all__ = ["GraphSettings", "NeighbourEmbedding", "neighbour_matrix", "smallest_eigenvectors"]


@dataclass(frozen=True)
class GraphSettings:
    """Tuning constants of the embeddings.

    Attributes
    ----------
    dense_rows : int
        Sparse matrices up to this size are decomposed as dense ones, larger ones by shifted inverse
        iteration.
    shift : float
        The distance of the shift below the smallest eigenvalue, zero, over the largest row sum:
        large enough for a stable factorisation, small enough for few steps.
    max_exponent : float
        γ‖x − z‖² of an edge of Laplacian eigenmaps is at most this: outliers stay connected, else
        each would be a component of its own with an eigenvalue of zero.
    block_cells : int
        Numbers of neighbours' differences held at once.
    """

    dense_rows: int = 300
    shift: float = 1e-12
    max_exponent: float = 16.0
    block_cells: int = 1 << 21


@estimator
class NeighbourEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Common to `LaplacianEigenmaps` and `LocallyLinearEmbedding`."""

    _parameter_constraints: ClassVar[dict] = {
        "n_components": [COUNT],
        "n_neighbors": [COUNT],
        "n_jobs": [None, Integral],
    }
    n_components: int = field(default=2, kw_only=False)
    n_neighbors: int = 10
    n_jobs: int | None = None

    _settings = GraphSettings()

    @property
    @abstractmethod
    def _similarity(self) -> Kernel | str | None:
        """A kernel, "precomputed", or None where the rows are vectors of a Euclidean space."""

    @abstractmethod
    def _embed(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Coordinates of the training rows from their neighbours (themselves not among them)."""

    @abstractmethod
    def _extend(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Coordinates of new rows from their neighbours in the training set."""

    @abstractmethod
    def _embed_matrix(self, S: Any) -> np.ndarray:
        """Coordinates of the training rows from the matrix of their similarities."""

    @abstractmethod
    def _extend_matrix(self, X: Any, S: Any) -> np.ndarray:
        """Coordinates of new rows from their similarities to the training rows."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> NeighbourEmbedding:
        """Compute the coordinates of the rows."""
        with restoring(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        X = self._check(X, reset=True)
        n = X.shape[0]
        if self.n_components >= n:
            raise ValueError(
                f"n_components={self.n_components} must be below the number of rows, n_samples={n}."
            )
        self._k = min(self.n_neighbors, n - 1)
        self._rows = X
        if self._similarity is not None:
            self._search = None
            self.embedding_ = self._embed_matrix(self._similarities(X))
            return
        self._search = self._index()
        distances, indices = self._search.kneighbors()
        self._warn_if_in_parts(neighbour_matrix(indices, np.ones(indices.shape)))
        self.embedding_ = self._embed(X, distances, indices)

    def _check(self, X: Any, *, reset: bool) -> Any:
        is_matrix = self._similarity == "precomputed"
        X = validate_data(
            self,
            as_numbers(X),
            dtype=np.float64 if is_matrix else [np.float64, np.float32],
            accept_sparse="csr",
            ensure_min_samples=2 if reset else 1,
            reset=reset,
        )
        if is_matrix and reset:
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"A precomputed matrix must be square, got the shape {X.shape}.")
            require_symmetric(X.toarray() if sp.issparse(X) else X)
        return X

    def _similarities(self, X: Any) -> Any:
        """Of rows to the training rows; they are X itself if it is precomputed."""
        kernel = self._similarity
        return kernel(X, self._rows) if isinstance(kernel, Kernel) else X

    def _index(self) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=self._k, n_jobs=self.n_jobs).fit(self._rows)

    def __getstate__(self) -> dict:
        """Without the search index, which is built again from the rows."""
        return {name: v for name, v in super().__getstate__().items() if name != "_search"}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        if "_rows" in state:
            self._search = self._index() if self._similarity is None else None

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and the coordinates of the training rows."""
        return self.fit(X).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of the rows; those of the training set keep theirs."""
        check_is_fitted(self, "embedding_")
        X = self._check(X, reset=False)
        if sp.issparse(self._rows) != sp.issparse(X):
            X = sp.csr_matrix(X) if sp.issparse(self._rows) else X.toarray()
        if self._search is None:
            return self._extend_matrix(X, self._similarities(X))
        distances, indices = self._search.kneighbors(X)
        out = self.embedding_[indices[:, 0]]
        new = ~_equal_rows(X, self._rows[indices[:, 0]])
        if new.any():
            out[new] = self._extend(X[new], distances[new], indices[new])
        return out

    def _warn_if_in_parts(self, graph: Any) -> None:
        parts, _ = connected_components(graph, directed=False)
        if parts > 1:
            remedy = "" if self._similarity == "precomputed" else " Raise n_neighbors."
            warn_user(
                f"The graph of n_neighbors={self._k} falls into {parts} parts without an edge "
                f"between them: coordinates only tell the parts apart.{remedy}",
                UserWarning,
            )

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._similarity == "precomputed"
        return tags


def neighbour_matrix(indices: np.ndarray, weights: np.ndarray) -> sp.csr_matrix:
    """Row i holds weights[i] at the columns indices[i]."""
    n, k = indices.shape
    return sp.csr_matrix(
        (weights.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n)
    )


def _equal_rows(A: Any, B: Any) -> np.ndarray:
    if sp.issparse(A):
        return np.asarray(abs(A - B).sum(axis=1)).ravel() == 0
    return (A == B).all(axis=1)


def smallest_eigenvectors(
    M: Any, count: int, settings: GraphSettings
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (rising) and vectors of a positive semidefinite matrix, dense or sparse.

    Signs are arbitrary: the largest entry of a vector is positive.
    """
    n = M.shape[0]
    if not sp.issparse(M) or n <= settings.dense_rows or count >= n - 1:
        M = M.toarray() if sp.issparse(M) else M
        count = min(count, n)
        values, vectors = la.eigh(M, subset_by_index=(0, count - 1))
        if values.size < count:  # LAPACK may lose some of many equal eigenvalues
            values, vectors = la.eigh(M, driver="evd")
            values, vectors = values[:count], vectors[:, :count]
    else:
        # A symmetric order of elimination fills in half as much as SuperLU's own.
        shift = settings.shift * abs(M).sum(axis=1).max()
        factor = splu(
            sp.csc_matrix(M + shift * sp.identity(n)),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        inverse = LinearOperator(M.shape, factor.solve, dtype=np.float64)
        start = np.random.RandomState(0).uniform(-1, 1, n)
        values, vectors = eigsh(M, count, sigma=-shift, OPinv=inverse, which="LM", v0=start)
        order = np.argsort(values)
        values, vectors = values[order], vectors[:, order]
    largest = np.abs(vectors).argmax(axis=0)
    return values, vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
