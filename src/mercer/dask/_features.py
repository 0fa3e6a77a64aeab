"""Kernel methods on features of landmarks, for any number of rows.

`Nystroem` chooses its landmarks among a sample that the workers draw; features are computed chunk
by chunk, and never stored as a whole unless they fit into the workers' memory. What follows is
linear: a Newton method in rounds (`KernelRidge`, and any linear model after `Nystroem` in a
``Pipeline``), one sum of products (`KernelPCA`), Lloyd's iteration (`KernelKMeans`).
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, RegressorMixin, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._result import Status
from mercer._threads import single_threaded_blas
from mercer.dask._base import DistributedEstimator
from mercer.dask._chunk import Chunk, join_chunks, sample_chunk
from mercer.dask._linear import LinearSVR
from mercer.dask._partitions import is_dask, partitions
from mercer.dask._rounds import Rounds
from mercer.embeddings import Nystroem as LocalNystroem
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._fields import COUNT, NOT_NEGATIVE, POSITIVE, estimator
from mercer.solvers import Stopping

__all__ = ["KernelKMeans", "KernelPCA", "KernelRidge", "Nystroem"]

# Rows of the sample in which landmarks are chosen, at least, and for each landmark.
SAMPLE_ROWS, SAMPLE_ROWS_PER_LANDMARK = 2_000, 10


@estimator
class Nystroem(DistributedEstimator, LocalNystroem):
    """`mercer.embeddings.Nystroem` on Dask collections.

    The workers draw a sample of 10 rows for each landmark (at least 2,000), one of them chooses the
    landmarks, and `transform` is lazy.

    Parameters
    ----------
    scheduler, scheduler_timeout, persist
        As in `mercer.dask.LinearSVC`.
    kernel, gamma, coef0, degree, kernel_params, n_components, n_jobs, landmarks, random_state, \
time_limit, on_interrupt
        As in `mercer.embeddings.Nystroem`; γ = "scale" is that of the sample.

    Attributes
    ----------
    components_, normalization_, kernel_, expansion_
        As in `mercer.embeddings.Nystroem`.
    trace_residual_ : float
        That of the sample.
    """

    def fit(self, X: Any, y: Any = None) -> Any:
        """Choose the landmarks."""
        self._validate_params()
        parts = partitions(X)
        with Stopping(self.time_limit, None, self.on_interrupt) as stopping:
            rounds = Rounds(parts, self.scheduler, self.scheduler_timeout, stopping, self.persist)
            summaries = rounds.bind(False, False)
            self._keep_columns(summaries, parts.names)
            rounds.encode(None)
            n = sum(summary.n for summary in summaries)
            if n == 0:
                raise ValueError("X has no rows in any chunk.")
            wanted = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_LANDMARK * self.n_components)
            sizes = [-(-summary.n * min(wanted, n) // n) for summary in summaries]
            seed = int(check_random_state(self.random_state or 0).randint(2**31 - 1))
            fitted = rounds.run(lambda: self._build(rounds, sizes, seed), halts=False)
        own = self.get_params(deep=False)
        kept = {k: v for k, v in vars(fitted).items() if k not in own}
        columns, names = self.n_features_in_, vars(self).get("feature_names_in_")
        self.__dict__.update(kept, n_features_in_=columns)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _build(self, rounds: Rounds, sizes: list[int], seed: int) -> Any:
        from dask import delayed

        draw = delayed(sample_chunk, pure=False)
        given = zip(rounds.chunks, sizes, strict=True)
        joined = rounds._tree([draw(chunk, size, seed) for chunk, size in given], join_chunks)
        plain = self._plain().set_params(random_state=seed, n_jobs=1)
        return delayed(_fit_features, pure=False)(joined, rounds.payload(plain))

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Choose the landmarks; the features of all rows as a lazy Dask array."""
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> Any:
        """Features: an array, or of a Dask collection a lazy Dask array."""
        return self._or_by_chunks("transform", X)


def _fit_features(chunk: Chunk, payload: Any) -> Any:
    with single_threaded_blas():
        return payload.value.fit(chunk.X)


@estimator
class FeatureParameters:
    """The kernel, the landmarks, and the cluster."""

    _parameter_constraints: ClassVar[dict] = {
        "kernel": "no_validation",
        "gamma": "no_validation",
        "degree": [None, COUNT],
        "coef0": "no_validation",
        "n_landmarks": [COUNT],
        "scheduler": "no_validation",
        "scheduler_timeout": [POSITIVE],
        "random_state": ["random_state"],
    }
    kernel: Any = "rbf"
    gamma: Any = None
    degree: int | None = None
    coef0: float | None = None
    n_landmarks: int = 300
    random_state: Any = None
    scheduler: Any = None
    scheduler_timeout: float = 60.0

    def _features(self, X: Any) -> Any:
        """Fit the features; X in them, lazily."""
        names = ("kernel", "gamma", "degree", "coef0", "random_state", "scheduler")
        given = {name: getattr(self, name) for name in (*names, "scheduler_timeout")}
        self.features_ = Nystroem(n_components=self.n_landmarks, **given)
        self.n_features_in_ = None
        rows = self.features_.fit_transform(X)
        self.n_features_in_ = self.features_.n_features_in_
        return rows

    def _rounds(self, rows: Any, stopping: Stopping) -> Rounds:
        """Rounds over the chunks of features."""
        rounds = Rounds(partitions(rows), self.scheduler, self.scheduler_timeout, stopping)
        rounds.bind(False, False)
        rounds.encode(None)
        return rounds


_PARAMETERS = """kernel, gamma, degree, coef0, random_state
        As in `mercer.embeddings.Nystroem`.
    n_landmarks : int, default=300
        Landmarks, and features.
    scheduler, scheduler_timeout
        As in `mercer.dask.LinearSVC`."""


@estimator
class KernelRidge(FeatureParameters, RegressorMixin, BaseEstimator):
    """Kernel ridge regression on features of landmarks, on Dask collections.

    Minimises ½ Σ sᵢ (yᵢ − w·φ(xᵢ))² + ½ α‖w‖² over w, φ the features of `Nystroem`: the squared
    ε-insensitive loss with ε = 0, solved and certified as `mercer.dask.LinearSVR` does.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the regularisation, positive.
    tol : float, default=1e-6
        Relative duality gap.
    {parameters}

    Attributes
    ----------
    features_ : Nystroem
    linear_ : LinearSVR
    certificate_ : Certificate
        Of the problem on the features, in units of 1/α: ½‖w‖² + Σ (yᵢ − w·φ(xᵢ))²/(2α).
    """

    _parameter_constraints: ClassVar[dict] = {"alpha": [POSITIVE]}
    alpha: float = field(default=1.0, kw_only=False)
    tol: float = 1e-6

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit features and weights; arguments as in `mercer.dask.LinearSVR`."""
        self._validate_params()
        rows = self._features(X)
        self.linear_ = LinearSVR(
            loss="squared_epsilon_insensitive",
            epsilon=0.0,
            C=0.5 / self.alpha,
            tol=self.tol,
            fit_intercept=False,
            scheduler=self.scheduler,
            scheduler_timeout=self.scheduler_timeout,
        )
        self.linear_.fit(rows, y, sample_weight)
        self.certificate_ = self.linear_.certificate_
        return self

    def predict(self, X: Any) -> Any:
        """f at the rows; of a Dask collection a lazy Dask array."""
        check_is_fitted(self)
        return self.linear_.predict(self.features_.transform(X))

    def to_local(self) -> Pipeline:
        """The model as a ``Pipeline`` of `mercer.embeddings.Nystroem` and `mercer.LinearSVR`."""
        check_is_fitted(self)
        steps = [("features", self.features_.to_local()), ("machine", self.linear_.to_local())]
        return Pipeline(steps)


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
        return self

    def transform(self, X: Any) -> Any:
        """Components of the rows; of a Dask collection a lazy Dask array."""
        check_is_fitted(self, "components_")
        return (self.features_.transform(X) - self.mean_) @ self.components_.T


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


for _class in (KernelRidge, KernelPCA, KernelKMeans):
    _class.__doc__ = (_class.__doc__ or "").replace("{parameters}", _PARAMETERS)
