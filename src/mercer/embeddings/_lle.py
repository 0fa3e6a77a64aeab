"""Locally linear embedding: coordinates that keep how each row is made of its neighbours.

Weights w with Σw = 1 minimise ‖x − Σ wⱼ xⱼ‖² + reg·trace(G)·‖w‖², G the Gram matrix of the
differences xⱼ − x. Coordinates minimise Σ ‖yᵢ − Σ wᵢⱼ yⱼ‖²: the eigenvectors of (I − W)ᵀ(I − W)
with the smallest eigenvalues, the constant one left out (Roweis and Saul 2000). A new row is made
of its neighbours' coordinates as it is made of them.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from mercer.embeddings._neighbour_graph import NeighbourEmbedding, graph, smallest_eigenvectors

__all__ = ["LocallyLinearEmbedding"]

_CELLS = 1 << 21  # numbers of neighbours' differences held at once


class LocallyLinearEmbedding(NeighbourEmbedding):
    """Locally linear embedding, with coordinates for new rows.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=10
    reg : float > 0, default=1e-3
        Regularisation of the weights, in units of the local variance.
    n_jobs : int, optional
        Threads of the neighbour search.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows: orthonormal columns.
    reconstruction_error_ : float
        Σ ‖yᵢ − Σ wᵢⱼ yⱼ‖².
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import LocallyLinearEmbedding
    >>> t = np.linspace(0, 3, 200)
    >>> spiral = np.column_stack([t * np.cos(3 * t), t * np.sin(3 * t)])
    >>> y = LocallyLinearEmbedding(1, n_neighbors=4).fit_transform(spiral)[:, 0]
    >>> bool(abs(np.corrcoef(y, t)[0, 1]) > 0.8)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **NeighbourEmbedding._parameter_constraints,
        "reg": [Interval(Real, 0.0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_neighbors: int = 10,
        reg: float = 1e-3,
        n_jobs: int | None = None,
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.n_jobs = n_jobs

    def _embed(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        weights = barycentric(X, X, indices, self.reg)
        R = sp.identity(X.shape[0], format="csr") - graph(indices, weights)
        values, vectors = smallest_eigenvectors(R.T @ R, self.n_components + 1)
        self.reconstruction_error_ = float(values[1:].sum())
        return vectors[:, 1:]

    def _extend(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        weights = barycentric(X, self._rows, indices, self.reg)
        return np.einsum("ij,ijk->ik", weights, self.embedding_[indices])


def barycentric(X: Any, Z: Any, indices: np.ndarray, reg: float) -> np.ndarray:
    """Weights with which the rows Z[indices[i]] make X[i], for all i by stacked solves."""
    n, k = indices.shape
    out = np.empty((n, k))
    step = max(1, _CELLS // (k * max(k, X.shape[1])))
    for start in range(0, n, step):
        part = slice(start, start + step)
        near = _dense(Z[indices[part].ravel()]).reshape(-1, k, X.shape[1])
        differences = near - _dense(X[part])[:, None, :]
        G = differences @ differences.transpose(0, 2, 1)
        trace = np.trace(G, axis1=1, axis2=2)
        G[:, np.arange(k), np.arange(k)] += np.where(trace > 0, reg * trace, reg)[:, None]
        w = np.linalg.solve(G, np.ones((G.shape[0], k, 1)))[:, :, 0]
        out[part] = w / w.sum(axis=1, keepdims=True)
    return out


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
