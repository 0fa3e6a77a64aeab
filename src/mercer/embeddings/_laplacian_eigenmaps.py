"""Laplacian eigenmaps: coordinates that vary least along the edges of a neighbour graph.

With weights W and D = diag(W 1) the coordinates minimise Σ W_ij (y_i − y_j)² under yᵀDy = 1: the
generalised eigenvectors (D − W) y = λ D y, the constant one left out (Belkin and Niyogi 2003). They
are those of a random walk, D⁻¹W y = (1 − λ) y, which extends to a new point by the walk's step from
there (Bengio et al. 2004): y(x) = Σᵢ w(x, xᵢ) yᵢ / ((1 − λ) Σᵢ w(x, xᵢ)).
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.embeddings._neighbour_graph import NeighbourEmbedding, graph, smallest_eigenvectors

__all__ = ["LaplacianEigenmaps"]

# γ‖x − z‖² of an edge counts as this at most: outliers stay tied to the rest, if loosely, or each
# would be a part of its own with an eigenvalue of zero.
FARTHEST = 16.0


class LaplacianEigenmaps(NeighbourEmbedding):
    """Laplacian eigenmaps, with coordinates for new rows.

    Rows are joined to their nearest ones (an edge if either is among the other's) with the weight
    exp(−γ ‖x − z‖²), at least 1e-7, and to themselves with weight 1, so that the walk may rest.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=10
    gamma : "median" or float ≥ 0, default="median"
        "median" is 1/median of the neighbours' squared distances; with 0 all weights are 1.
    n_jobs : int, optional
        Threads of the neighbour search.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows, each scaled to Σ d_i y_i² = Σ d_i.
    eigenvalues_ : ndarray of shape (n_components,)
        λ in [0, 2].
    gamma_ : float
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
        **NeighbourEmbedding._parameter_constraints,
        "gamma": [StrOptions({"median"}), Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        gamma: Any = "median",
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.gamma = gamma
        self.n_jobs = n_jobs

    def _embed(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        typical = float(np.median(distances**2)) or 1.0
        self.gamma_ = 1.0 / typical if self.gamma == "median" else float(self.gamma)
        one_way = graph(indices, self._weights(distances))
        W = one_way.maximum(one_way.T) + sp.identity(X.shape[0], format="csr")
        degree = np.asarray(W.sum(axis=1)).ravel()
        root = sp.diags(1 / np.sqrt(degree))
        laplacian = sp.identity(X.shape[0]) - root @ W @ root
        values, vectors = smallest_eigenvectors(laplacian, self.n_components + 1)
        self.eigenvalues_ = values[1:]
        return vectors[:, 1:] * np.sqrt(degree.sum() / degree)[:, None]

    def _extend(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        # Relative to the nearest, so that far from all rows not every weight is zero.
        nearest = distances[:, :1]
        weights = np.exp(-self.gamma_ * (distances**2 - nearest**2))
        weights /= weights.sum(axis=1, keepdims=True)
        step = np.einsum("ij,ijk->ik", weights, self.embedding_[indices])
        return step / (1.0 - self.eigenvalues_)

    def _weights(self, distances: np.ndarray) -> np.ndarray:
        return np.exp(-np.minimum(self.gamma_ * distances**2, FARTHEST))
