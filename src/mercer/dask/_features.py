"""Kernel methods on features of landmarks, for any number of rows.

`Nystroem` chooses its landmarks among a sample that the workers draw; features are computed chunk
by chunk, and never stored as a whole unless they fit into the workers' memory. What follows is
linear: here a Newton method in rounds (`KernelRidge`, and any linear model after `Nystroem` in a
``Pipeline``); in `_unsupervised` a sum of products and Lloyd's iteration.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._threads import single_threaded_blas
from mercer.dask._base import DistributedEstimator
from mercer.dask._chunk import Chunk, join_chunks, sample_chunk
from mercer.dask._linear import LinearSVR
from mercer.dask._partitions import partitions
from mercer.dask._rounds import Rounds
from mercer.embeddings import Nystroem as LocalNystroem
from mercer.estimators._fields import COUNT, POSITIVE, estimator
from mercer.solvers import Stopping

__all__ = ["PARAMETERS", "FeatureParameters", "KernelRidge", "Nystroem"]

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


PARAMETERS = """kernel, gamma, degree, coef0, random_state
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


KernelRidge.__doc__ = (KernelRidge.__doc__ or "").replace("{parameters}", PARAMETERS)
