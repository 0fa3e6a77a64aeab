"""Without targets, on features of landmarks: `KernelPCA` and `KernelKMeans`.

Both are linear in the features φ: one sum of products over the chunks, and Lloyd's iteration.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._expansion import Expansion
from mercer._result import Status
from mercer._threads import single_threaded_blas
from mercer.dask._chunk import Chunk
from mercer.dask._features import PARAMETERS, FeatureParameters
from mercer.dask._partitions import is_dask
from mercer.dask._rounds import Rounds
from mercer.estimators import KernelKMeans as LocalKernelKMeans
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._fields import COUNT, NOT_NEGATIVE, estimator
from mercer.solvers import Stopping

__all__ = ["KernelKMeans", "KernelPCA"]


@estimator
class KernelPCA(FeatureParameters, TransformerMixin, BaseEstimator):
    """Kernel PCA on features of landmarks, on Dask collections.

    Eigenvectors of Σ (φ(xᵢ) − μ)(φ(xᵢ) − μ)ᵀ, a sum over the chunks; its eigenvalues are those of
    the centred kernel matrix of the features.

    Parameters
    ----------
    n_components : int, default=2
    {parameters}

    Attributes
    ----------
    features_ : Nystroem
    eigenvalues_ : ndarray of shape (n_components,)
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The fraction of the variance of the features that each component has.
    components_ : ndarray of shape (n_components, n_landmarks)
    mean_ : ndarray of shape (n_landmarks,)
    """

    _parameter_constraints: ClassVar[dict] = {"n_components": [COUNT]}
    n_components: int = field(default=2, kw_only=False)

    def fit(self, X: Any, y: Any = None) -> Any:
        """Compute the components."""
        self._validate_params()
        rows = self._features(X)
        with Stopping() as stopping:
            rounds = self._rounds(rows, stopping)
            build = _applied(rounds, _moments)
            n, mean, scatter = rounds.reduce(build, _add_moments, halts=False)
        values, vectors = np.linalg.eigh(scatter)
        k = min(self.n_components, len(values))
        self.eigenvalues_ = np.maximum(values[::-1][:k], 0.0)
        vectors = vectors[:, ::-1][:, :k]
        largest = np.abs(vectors).argmax(axis=0)
        self.components_ = (vectors * np.sign(vectors[largest, np.arange(k)])).T
        self.mean_, self.n_samples_ = mean, int(n)
        total = max(float(np.trace(scatter)), float(self.eigenvalues_.sum()))
        self.explained_variance_ratio_ = self.eigenvalues_ / (total or 1.0)
        return self

    def transform(self, X: Any) -> Any:
        """Components of the rows; of a Dask collection a lazy Dask array."""
        check_is_fitted(self, "components_")
        return (self.features_.transform(X) - self.mean_) @ self.components_.T

    def to_local(self) -> Pipeline:
        """The model as a ``Pipeline`` of `mercer.embeddings.Nystroem` and scikit-learn's ``PCA``.

        `mercer.save` writes that one, and it needs no Dask.
        """
        check_is_fitted(self, "components_")
        k, d = self.components_.shape
        variance = self.eigenvalues_ / max(self.n_samples_ - 1, 1)
        explained = float(self.explained_variance_ratio_.sum())
        left = float(variance.sum()) * (1.0 / explained - 1.0) if explained > 0 else 0.0
        fitted = {
            "components_": self.components_,
            "mean_": self.mean_,
            "n_components_": k,
            "n_features_in_": d,
            "n_samples_": self.n_samples_,
            "explained_variance_": variance,
            "explained_variance_ratio_": self.explained_variance_ratio_,
            "singular_values_": np.sqrt(self.eigenvalues_),
            "noise_variance_": max(left, 0.0) / max(d - k, 1),
        }
        linear = PCA(self.n_components)
        vars(linear).update(fitted)
        return Pipeline([("features", self.features_.to_local()), ("components", linear)])


@estimator
class KernelKMeans(FeatureParameters, ClusterMixin, BaseEstimator):
    """Kernel k-means on features of landmarks, on Dask collections: Lloyd's iteration in rounds.

    Parameters
    ----------
    n_clusters : int, default=8
    max_iter : int, default=300
        Rounds.
    tol : float, default=1e-4
        The relative decrease of the inertia below which the iteration ends; 0: until no row
        changes its cluster.
    {parameters}

    Attributes
    ----------
    features_ : Nystroem
    cluster_centers_ : ndarray of shape (n_clusters, n_landmarks)
        In the features.
    inertia_ : float
        Σ ‖φ(xᵢ) − nearest center‖².
    n_iter_ : int
    status_ : Status
        "solved" if the decrease fell to ``tol``.
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [COUNT],
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
    }
    n_clusters: int = field(default=8, kw_only=False)
    max_iter: int = 300
    tol: float = 1e-4

    def fit(self, X: Any, y: Any = None) -> Any:
        """Find the clusters."""
        self._validate_params()
        rows = self._features(X)
        with Stopping() as stopping:
            rounds = self._rounds(rows, stopping)
            centers, last, status = self._first_centers(), np.inf, Status.ITERATION_LIMIT
            for n_iter in range(1, self.max_iter + 1):
                self.n_iter_ = n_iter
                build = _applied(rounds, _assign, centers)
                sums, counts, inertia = rounds.reduce(build, _add_parts, halts=False)
                filled = counts > 0
                self.cluster_centers_, self.inertia_ = centers, float(inertia)
                if last - inertia <= self.tol * inertia:
                    status = Status.SOLVED
                    break
                last = inertia
                centers = np.where(filled[:, None], sums / np.maximum(counts, 1)[:, None], centers)
        self.status_ = status
        if not status.is_solved:
            effort, reached = f"{self.n_iter_} rounds", f"inertia {self.inertia_:.6g}"
            remedy = f"Raise max_iter={self.max_iter}."
            warn_stopped_early("KernelKMeans", status, effort, reached, remedy)
        return self

    def _first_centers(self) -> np.ndarray:
        """k-means++ among the landmarks, in their features."""
        points = self.features_.to_local().transform(self.features_.components_)
        rng = check_random_state(self.random_state or 0)
        chosen = [int(rng.randint(len(points)))]
        distance = np.square(points - points[chosen[0]]).sum(axis=1)
        while len(chosen) < min(self.n_clusters, len(points)) and distance.sum() > 0:
            chosen.append(int(rng.choice(len(points), p=distance / distance.sum())))
            distance = np.minimum(distance, np.square(points - points[chosen[-1]]).sum(axis=1))
        return points[chosen]

    def predict(self, X: Any) -> Any:
        """The nearest cluster of each row; of a Dask collection a lazy Dask array."""
        check_is_fitted(self, "cluster_centers_")
        rows = self.features_.transform(X)
        if is_dask(rows):
            return rows.map_blocks(_nearest, self.cluster_centers_, dtype=np.intp, drop_axis=1)
        return _nearest(rows, self.cluster_centers_)

    def to_local(self) -> LocalKernelKMeans:
        """The model as a `mercer.KernelKMeans` without labels of the training rows.

        A centre c of the features φ(x) = A k(Z, x) is the sum Σ (Aᵀc)ᵢ k(zᵢ, ·) over the landmarks.
        `mercer.save` writes that model, and it needs no Dask.
        """
        check_is_fitted(self, "cluster_centers_")
        features = self.features_.expansion_
        centers = self.cluster_centers_
        made = LocalKernelKMeans(
            len(centers),
            kernel=features.kernel,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )
        made.kernel_, made.n_features_in_ = features.kernel, self.n_features_in_
        made.expansion_ = Expansion(
            features.kernel, features.support, centers @ features.coef, np.zeros(len(centers))
        )
        made.center_norms_ = np.square(centers).sum(axis=1)
        made.inertia_, made.n_iter_, made.status_ = self.inertia_, self.n_iter_, self.status_
        return made


def _applied(rounds: Rounds, function: Any, *arguments: Any) -> Any:
    """What `Rounds.reduce` takes: the function of every chunk of features."""

    def build() -> list[Any]:
        payload = rounds.payload(arguments)
        return [rounds._apply(function, chunk, payload) for chunk in rounds.chunks]

    return build


def _moments(chunk: Chunk) -> tuple[float, np.ndarray, np.ndarray]:
    """Number, mean and scatter matrix of the rows."""
    if chunk.n == 0:
        return 0.0, np.zeros(chunk.d), np.zeros((chunk.d, chunk.d))
    with single_threaded_blas():
        mean = chunk.X.mean(axis=0)
        apart = chunk.X - mean
        return float(chunk.n), mean, apart.T @ apart


def _add_moments(parts: list[tuple[float, np.ndarray, np.ndarray]]) -> tuple:
    """Of all parts (Chan, Golub and LeVeque)."""
    n, mean, scatter = parts[0]
    for m, other, more in parts[1:]:
        total = n + m
        if total > 0:
            apart = other - mean
            mean = mean + apart * (m / total)
            scatter = scatter + more + np.outer(apart, apart) * (n * m / total)
        n = total
    return n, mean, scatter


def _distances(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """‖row − center‖² but for ‖row‖²."""
    return np.square(centers).sum(axis=1) - 2 * rows @ centers.T


def _nearest(rows: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return _distances(rows, centers).argmin(axis=1)


def _assign(chunk: Chunk, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Sums and numbers of the rows of each cluster, and the inertia."""
    if chunk.n == 0:
        return np.zeros_like(centers), np.zeros(len(centers)), 0.0
    with single_threaded_blas():
        distance = _distances(chunk.X, centers)
        nearest = distance.argmin(axis=1)
        member = np.zeros((len(centers), chunk.n))
        member[nearest, np.arange(chunk.n)] = 1.0
        least = distance[np.arange(chunk.n), nearest] + np.square(chunk.X).sum(axis=1)
        return member @ chunk.X, member.sum(axis=1), float(np.maximum(least, 0.0).sum())


def _add_parts(parts: list[tuple]) -> tuple:
    total = parts[0]
    for part in parts[1:]:
        total = tuple(one + other for one, other in zip(total, part, strict=True))
    return total


for _class in (KernelPCA, KernelKMeans):
    _class.__doc__ = (_class.__doc__ or "").replace("{parameters}", PARAMETERS)
