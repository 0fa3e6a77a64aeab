"""Locally linear embedding: coordinates that keep how each row is made of its neighbours.

Weights w with Σw = 1 minimise ‖x − Σ wⱼ xⱼ‖² + reg·trace(G)·‖w‖², G the BlockedGram matrix of the
differences xⱼ − x. Coordinates minimise Σ ‖yᵢ − Σ wᵢⱼ yⱼ‖²: the eigenvectors of (I − W)ᵀ(I − W)
with the smallest eigenvalues, the constant one left out (Roweis and Saul 2000). The coordinates of
a new row are the same combination of its neighbours' coordinates as the row is of them.

G needs dot products only: with a kernel, neighbours and differences are those of feature space,

    G_jl = k(xⱼ, x_l) − k(x, xⱼ) − k(x, x_l) + k(x, x).

On Σw = 1 the last term is a constant. Of a new row given by its kernel values alone it is unknown;
it is then that of the projection onto the span of the neighbours, and enters the regularisation
only.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import StrOptions

from mercer._threads import Workers
from mercer.embeddings._neighbour_graph import (
    NeighbourEmbedding,
    neighbour_matrix,
    smallest_eigenvectors,
)
from mercer.estimators._fields import POSITIVE, estimator
from mercer.gram import BlockedGram
from mercer.kernels import Kernel
from mercer.kernels._samples import Samples

__all__ = ["LocallyLinearEmbedding"]


@estimator
class LocallyLinearEmbedding(NeighbourEmbedding):
    """Locally linear embedding, with coordinates for new rows.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=10
    reg : float > 0, default=1e-3
        Regularisation of the weights, in units of the local variance.
    kernel : None, "precomputed" or Kernel, default=None
        Where neighbours and differences are taken: in the space of the rows; in a feature space of
        which X is the kernel matrix, of new rows their kernel values with the training rows; or in
        the feature space of a kernel.
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
        "reg": [POSITIVE],
        "kernel": [None, StrOptions({"precomputed"}), Kernel],
    }

    reg: float = 1e-3
    kernel: Any = None

    @property
    def _similarity(self) -> Any:
        return self.kernel

    def _embed(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return self._coordinates(indices, self._barycentric(X, indices))

    def _extend(self, X: Any, distances: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return self._combine(self._barycentric(X, indices), indices)

    def _embed_matrix(self, S: Any) -> np.ndarray:
        K = S.toarray() if sp.issparse(S) else S
        self._diagonal = K.diagonal().copy()
        away = self._diagonal - 2 * K  # squared distances but for k(x, x)
        np.fill_diagonal(away, np.inf)
        indices = self._nearest(away)
        self._warn_if_in_parts(neighbour_matrix(indices, np.ones(indices.shape)))
        near = np.take_along_axis(K, indices, axis=1)
        weights = np.empty(indices.shape)
        for part in self._parts(*indices.shape):
            K_near = K[indices[part, :, None], indices[part, None, :]]
            weights[part] = self._kernel_weights(K_near, near[part], self._diagonal[part])
        return self._coordinates(indices, weights)

    def _extend_matrix(self, X: Any, S: Any) -> np.ndarray:
        K = S.toarray() if sp.issparse(S) else S
        indices = self._nearest(self._diagonal - 2 * K)
        near = np.take_along_axis(K, indices, axis=1)
        out = np.empty((len(K), self.embedding_.shape[1]))
        for i, rows in enumerate(indices):
            first = rows[0]
            if self._is_training_row(X[i], first):
                out[i] = self.embedding_[first]
                continue
            K_near, k_near = self._kernel_among(rows), near[i]
            own = self._own_value(X[i : i + 1], K_near, k_near)
            w = self._kernel_weights(K_near[None], k_near[None], np.array([own]))
            out[i] = self._combine(w, rows[None])[0]
        return out

    def _is_training_row(self, x: Any, row: int) -> bool:
        other = self._rows[row]
        return (abs(x - other).nnz == 0) if sp.issparse(x) else bool((x == other).all())

    def _kernel_among(self, rows: np.ndarray) -> np.ndarray:
        """K of some training rows."""
        if isinstance(self.kernel, Kernel):
            return self.kernel(self._rows[rows])
        K = self._rows[rows][:, rows]
        return K.toarray() if sp.issparse(K) else K

    def _own_value(self, x: Any, K_near: np.ndarray, k_near: np.ndarray) -> float:
        """k(x, x), or that of the projection of φ(x) onto the span of its neighbours."""
        if isinstance(self.kernel, Kernel):
            return float(BlockedGram(self.kernel, Samples(x), Workers(1)).diag()[0])
        return float(k_near @ np.linalg.lstsq(K_near, k_near, rcond=None)[0])

    def _nearest(self, away: np.ndarray) -> np.ndarray:
        """The ``n_neighbors`` columns with the smallest values of each row, nearest first."""
        some = np.argpartition(away, self._k - 1, axis=1)[:, : self._k]
        order = np.argsort(np.take_along_axis(away, some, axis=1), axis=1, kind="stable")
        return np.take_along_axis(some, order, axis=1)

    def _coordinates(self, indices: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Eigenvectors of (I − W)ᵀ(I − W)."""
        R = sp.identity(len(indices), format="csr") - neighbour_matrix(indices, weights)
        values, vectors = smallest_eigenvectors(R.T @ R, self.n_components + 1, self._settings)
        self.reconstruction_error_ = float(values[1:].sum())
        return vectors[:, 1:]

    def _combine(self, weights: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ijk->ik", weights, self.embedding_[indices])

    def _parts(self, n: int, k: int, d: int = 0) -> list[slice]:
        step = max(1, self._settings.block_cells // (k * max(k, d)))
        return [slice(start, start + step) for start in range(0, n, step)]

    def _barycentric(self, X: Any, indices: np.ndarray) -> np.ndarray:
        """Weights with which the training rows ``indices[i]`` combine to X[i]."""
        (n, k), d = indices.shape, X.shape[1]
        out = np.empty((n, k))
        for part in self._parts(n, k, d):
            near = _dense(self._rows[indices[part].ravel()]).reshape(-1, k, d)
            differences = near - _dense(X[part])[:, None, :]
            out[part] = self._weights(differences @ differences.transpose(0, 2, 1))
        return out

    def _kernel_weights(
        self, K_near: np.ndarray, k_near: np.ndarray, own: np.ndarray
    ) -> np.ndarray:
        """The same from the kernel among the neighbours, with the row, and k(x, x)."""
        G = K_near - k_near[:, :, None] - k_near[:, None, :] + own[:, None, None]
        return self._weights(G)

    def _weights(self, G: np.ndarray) -> np.ndarray:
        """Solve (G + reg·trace(G) I) w ∝ 1 with Σw = 1 for a stack of G."""
        k = G.shape[1]
        trace = np.trace(G, axis1=1, axis2=2)
        G[:, np.arange(k), np.arange(k)] += np.where(trace > 0, self.reg * trace, self.reg)[:, None]
        w = np.linalg.solve(G, np.ones((G.shape[0], k, 1)))[:, :, 0]
        return w / w.sum(axis=1, keepdims=True)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
