"""Laplacian eigenmaps: coordinates that vary least along the edges of a graph.

With weights W and D = diag(W 1) the coordinates minimise Σ W_ij (y_i − y_j)² under yᵀDy = 1: the
generalised eigenvectors (D − W) y = λ D y, the constant one left out (Belkin and Niyogi 2003). They
are those of a random walk, D⁻¹W y = (1 − λ) y, which extends to a new point by the walk's step from
there (Bengio et al. 2004): y(x) = Σᵢ w(x, xᵢ) yᵢ / ((1 − λ) Σᵢ w(x, xᵢ)). At a training row, with
its row of W, that is its own coordinate.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import StrOptions

from mercer.embeddings._neighbour_graph import (
    NeighbourEmbedding,
    neighbour_matrix,
    smallest_eigenvectors,
)
from mercer.estimators._fields import NOT_NEGATIVE, estimator
from mercer.kernels import Kernel

__all__ = ["LaplacianEigenmaps"]


@estimator
class LaplacianEigenmaps(NeighbourEmbedding):
    """Laplacian eigenmaps, with coordinates for new rows.

    With ``affinity="neighbors"`` rows have edges to their nearest ones (if either is among the
    other's) with the weight exp(−γ ‖x − z‖²), at least 1e-7, and to themselves with weight 1.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=10
    gamma : "median" or float ≥ 0, default="median"
        "median" is 1/median of the neighbours' squared distances; with 0 all weights are 1.
    affinity : "neighbors", "precomputed" or Kernel, default="neighbors"
        The weights of the graph: of nearest neighbours; X itself, a symmetric matrix of affinities
        ≥ 0 (dense or sparse), of new rows those to the training rows; or k(x, z) ≥ 0 of all pairs.
        ``n_neighbors`` and ``gamma`` belong to the first.
    n_jobs : int, optional
        Threads of the neighbour search.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows, each scaled to Σ d_i y_i² = Σ d_i.
    eigenvalues_ : ndarray of shape (n_components,)
        λ in [0, 2].
    gamma_ : float
        With ``affinity="neighbors"``.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import LaplacianEigenmaps
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> y = LaplacianEigenmaps(1, n_neighbors=4).fit(X).transform([[0.111], [0.888]])
    >>> bool(np.allclose(y[0], -y[1], atol=0.1))
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "gamma": [StrOptions({"median"}), NOT_NEGATIVE],
        "affinity": [StrOptions({"neighbors", "precomputed"}), Kernel],
    }

    gamma: Any = "median"
    affinity: Any = "neighbors"

    @property
    def _similarity(self) -> Any:
        return None if self.affinity == "neighbors" else self.affinity

    def _embed(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        typical = float(np.median(distances**2)) or 1.0
        self.gamma_ = 1.0 / typical if self.gamma == "median" else float(self.gamma)
        one_way = neighbour_matrix(indices, self._weights(distances))
        return self._coordinates(one_way.maximum(one_way.T) + sp.identity(X.shape[0], format="csr"))

    def _embed_matrix(self, S: Any) -> np.ndarray:
        if self.n_neighbors != 10 or self.gamma != "median":
            raise ValueError(
                f"n_neighbors={self.n_neighbors} and gamma={self.gamma!r} belong to "
                f"affinity='neighbors', and cannot be combined with affinity={self.affinity!r}."
            )
        self._require_nonnegative(S)
        W = (S + S.T) / 2
        if not (np.asarray(W.sum(axis=1)) > 0).all():
            raise ValueError("A row of the affinity matrix is zero: it has no edges.")
        self._warn_if_in_parts(W if sp.issparse(W) else W > 0)
        return self._coordinates(W)

    def _require_nonnegative(self, S: Any) -> None:
        if S.min() < 0:
            raise ValueError(f"Affinities must be ≥ 0, but the least is {S.min():.3g}.")

    def _coordinates(self, W: Any) -> np.ndarray:
        """Generalised eigenvectors of (D − W) y = λ D y."""
        n, degree = W.shape[0], np.asarray(W.sum(axis=1)).ravel()
        if sp.issparse(W):
            root = sp.diags(1 / np.sqrt(degree))
            laplacian = sp.identity(n) - root @ W @ root
        else:
            laplacian = np.eye(n) - W / np.sqrt(np.outer(degree, degree))
        values, vectors = smallest_eigenvectors(laplacian, self.n_components + 1, self._settings)
        self.eigenvalues_ = values[1:]
        return vectors[:, 1:] * np.sqrt(degree.sum() / degree)[:, None]

    def _extend(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        # Relative to the nearest, so that far from all rows not every weight is zero.
        nearest = distances[:, :1]
        weights = np.exp(-self.gamma_ * (distances**2 - nearest**2))
        weights /= weights.sum(axis=1, keepdims=True)
        step = np.einsum("ij,ijk->ik", weights, self.embedding_[indices])
        return step / (1.0 - self.eigenvalues_)

    def _extend_matrix(self, X: Any, S: Any) -> np.ndarray:
        """A row without any affinity gets the mean of the coordinates weighted by D: zero."""
        self._require_nonnegative(S)
        total = np.asarray(S.sum(axis=1)).reshape(-1, 1)
        return np.divide(
            np.asarray(S @ self.embedding_),
            total * (1.0 - self.eigenvalues_),
            out=np.zeros((S.shape[0], self.embedding_.shape[1])),
            where=total > 0,
        )

    def _weights(self, distances: np.ndarray) -> np.ndarray:
        return np.exp(-np.minimum(self.gamma_ * distances**2, self._settings.max_exponent))
