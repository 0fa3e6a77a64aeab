"""Clusters in feature space: `KernelKMeans`."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from mercer._result import Status
from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._fields import (
    COUNT,
    NOT_NEGATIVE,
    KernelParameters,
    RunParameters,
    estimator,
)
from mercer.estimators._kernel_base import KernelEstimator
from mercer.estimators._methods import Unless
from mercer.estimators._validation import (
    Data,
    check_rows,
    check_training,
    is_precomputed,
    number_of_samples,
)
from mercer.exceptions import ConvergenceWarning, warn_user
from mercer.gram import BlockedGram, CachedGram
from mercer.gram._cached import MEGABYTE
from mercer.kernels import Linear
from mercer.kernels._samples import Samples
from mercer.solvers import Stopping
from mercer.solvers._lloyd import (
    Clustering,
    Lloyd,
    LloydSettings,
    draw_rows,
    nearest_rows,
    seeds_only,
    spread_rows,
)

__all__ = ["KernelKMeans"]


def _why_no_distances(model: Any) -> str:
    if not is_precomputed(model.kernel):
        return ""
    return (
        "needs k(x, x) of the rows, which kernel values against the training rows "
        "(kernel='precomputed') do not hold; predict needs no such values."
    )


@estimator
class KernelKMeans(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    RunParameters,
    KernelParameters,
    KernelEstimator,
):
    """k-means in the feature space of a kernel.

    Minimises Σ sᵢ ‖φ(xᵢ) − μ_{zᵢ}‖² over labels z, where μ_c is the weighted mean of φ over cluster
    c. Distances need kernel values only:

        ‖φ(x) − μ_c‖² = k(x, x) − 2 φ(x)·μ_c + ‖μ_c‖²

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, degree, gamma, coef0 : as in `SVC`
    init : {"k-means++", "random"} or array of int, default="k-means++"
        How to start: k-means++ in feature space; rows drawn at random as first centres; the
        numbers of ``n_clusters`` rows that are the first centres; or a label for every row.
    n_init : int, default=10
        Starts, of which the best is kept (one, if ``init`` is an array).
    max_iter : int, default=300
        Iterations from each start.
    tol : float, default=0.0
        Stop once an iteration improves the objective by less than this fraction of it; with 0 only
        when no label changes any more.
    cache_size : float, default=200
        Megabytes for the kernel matrix. Where it does not fit it is computed again as needed.
    random_state : int, RandomState or None, default=None
    n_jobs, time_limit, callback, on_interrupt, verbose : as in `SVC`
        The callback's ``violation`` is the smallest objective so far.

    Attributes
    ----------
    labels_ : int32 array of shape (n_samples,)
    inertia_ : float
        The objective reached.
    inertias_ : list of float
        The objective at the start and after each iteration from the best start: it never rises.
    n_iter_ : int
    status_ : Status
        "solved" if no label changed any more (with ``tol``: if the objective did not); else what
        stopped the iterations. A fit that is stopped in its first has clusters around single rows.
    kernel_ : Kernel
    expansion_ : Expansion
        φ(x)·μ_c for every cluster c.
    center_norms_ : float64 array of shape (n_clusters,)
        ‖μ_c‖²; infinite for a cluster without points.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelKMeans
    >>> angle = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    >>> ring = np.c_[np.cos(angle), np.sin(angle)]
    >>> X = np.r_[ring, 4 * ring]
    >>> model = KernelKMeans(2, gamma=1.0, random_state=0).fit(X)
    >>> len(set(model.labels_[:50])), len(set(model.labels_[50:]))
    (1, 1)
    """

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [COUNT],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [COUNT],
        "max_iter": [COUNT],
        "tol": [NOT_NEGATIVE],
    }

    _progress_words = ("starts still moving", "objective")

    n_clusters: int = field(default=8, kw_only=False)
    init: Any = "k-means++"
    n_init: int = 10
    max_iter: int = 300
    tol: float = 0.0
    cache_size: float = 200
    random_state: Any = None

    _settings = LloydSettings()

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Cluster the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Training rows; for a precomputed kernel, the kernel matrix.
        y : Ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight 2 counts as the row twice; rows of weight 0 (or less) are only labelled.
        """
        with Stopping(self.time_limit, self._callback(), self.on_interrupt, self) as stopping:
            data = check_training(self, X, np.ones(number_of_samples(X)), sample_weight)
            if data.n < self.n_clusters:
                raise ValueError(
                    f"n_samples={data.n} (with a positive weight) must be at least "
                    f"n_clusters={self.n_clusters}; ask for fewer clusters."
                )
            gram = self._bind(data)
            with single_threaded_blas(), gram.threads(thread_count(self.n_jobs)):
                best, seeds = self._cluster(data, gram, stopping)
                gram.release()
            self._keep(X, data, gram, best, seeds)
        return self

    def _bind(self, data: Data) -> BlockedGram:
        gram = super()._bind(data)
        if type(self.kernel_) is Linear and not sp.issparse(data.X):
            # Distances do not change, and the objective loses fewest digits around its own mean.
            X, weight = gram.points.X, data.weight
            mean = X.mean(axis=0, dtype=np.float64)
            if weight is not None:
                mean += np.average(X - mean, axis=0, weights=weight / weight.max())
            gram = gram.recentred(mean)
        return gram

    def _cluster(
        self, data: Data, gram: BlockedGram, stopping: Stopping
    ) -> tuple[Clustering, np.ndarray | None]:
        """The best of all starts, finished under float64 kernel values.

        Of a fit that was stopped before that: clusters around single rows, and these rows.
        """
        weight = np.ones(data.n) if data.weight is None else data.weight
        diag = gram.diag()
        fits = stopping.stopped is None
        whole = CachedGram(gram, int(self.cache_size * MEGABYTE) if fits else 0)
        settings = diag, weight, self.n_clusters, self.max_iter, self.tol, stopping
        # A start has its own seed, so that the first ones do not depend on n_init.
        seeds = check_random_state(self.random_state).randint(1 << 31, size=self._starts())
        rngs = [check_random_state(int(seed)) for seed in seeds]
        at_once = max(1, self._settings.sums_bytes // (8 * self.n_clusters * data.n))
        best: Clustering | None = None
        for begin in range(0, self._starts(), at_once):
            now = rngs[begin : begin + at_once]
            labels = self._start(data, whole, diag, weight, now, stopping)
            found = Lloyd(whole, *settings, self._settings).run(labels)
            found += [] if best is None else [best]
            if not found:
                why = stopping.stopped or Status.STOPPED
                return seeds_only(whole, diag, weight, labels[0], self.n_clusters, why)
            best = min(found, key=lambda each: each.inertia[-1])
            if stopping.stopped is not None:
                break
        assert best is not None
        if stopping.stopped is not None and best.status is not Status.ITERATION_LIMIT:
            return replace(best, status=stopping.stopped), None
        if whole.dtype == np.float64 or stopping.stopped is not None:
            return best, None
        last = Lloyd(CachedGram(gram, 0, np.float64), *settings, self._settings).run(
            best.labels[np.newaxis]
        )
        if not last:
            return replace(best, status=stopping.stopped or Status.STOPPED), None
        exact = last[0]
        inertia = [*best.inertia[:-1], *exact.inertia]
        iterations = best.iterations + exact.iterations - 1
        return replace(exact, inertia=inertia, iterations=iterations), None

    def _starts(self) -> int:
        return self.n_init if isinstance(self.init, str) else 1

    def _start(
        self,
        data: Data,
        whole: CachedGram,
        diag: np.ndarray,
        weight: np.ndarray,
        rngs: list,
        stopping: Stopping,
    ) -> np.ndarray:
        """The first labels of each start."""
        if isinstance(self.init, str):
            choose = spread_rows if self.init == "k-means++" else draw_rows
            return choose(whole, diag, weight, self.n_clusters, rngs, stopping.is_stopped)
        init = np.asarray(self.init)
        n = data.shape[0]
        is_rows = init.shape == (self.n_clusters,)
        most = n if is_rows else self.n_clusters
        if (
            init.dtype.kind not in "iu"
            or init.shape not in ((self.n_clusters,), (n,))
            or init.min() < 0
            or init.max() >= most
        ):
            raise ValueError(
                f"init must be 'k-means++', 'random', {self.n_clusters} row numbers below {n}, or "
                f"{n} labels below {self.n_clusters}; got an array of {init.dtype} and shape "
                f"{init.shape}."
            )
        if not is_rows:
            return (init if data.rows is None else init[data.rows])[np.newaxis].astype(np.int32)
        if data.rows is not None:
            if not np.isin(init, data.rows).all():
                raise ValueError("init must name rows with a positive weight; got one without.")
            init = np.searchsorted(data.rows, init)
        return nearest_rows(whole, diag, init)

    def _keep(
        self, X: Any, data: Data, gram: BlockedGram, best: Clustering, seeds: np.ndarray | None
    ) -> None:
        held = best.mass > 0
        inverse = np.divide(1.0, best.mass, out=np.zeros_like(best.mass), where=held)
        if seeds is None:
            weight = np.ones(data.n) if data.weight is None else data.weight
            order = np.argsort(best.labels, kind="stable")
            labels = best.labels[order]
            coef = (weight[order] * inverse[labels])[np.newaxis]
        else:
            labels = np.flatnonzero(held)
            order, coef = seeds[labels], np.ones((1, labels.size))
        ends = np.searchsorted(labels, np.arange(self.n_clusters + 1))
        blocks = [(int(ends[c]), int(ends[c + 1]), np.array([c])) for c in range(self.n_clusters)]
        b = np.zeros(self.n_clusters)
        self.expansion_ = self._expansion(data, gram, order, coef, b, blocks)
        del self.support_vectors_  # all rows
        self.center_norms_ = np.where(held, best.square * inverse**2, np.inf)
        self.inertia_, self.inertias_ = best.inertia[-1], best.inertia
        self.n_iter_ = best.iterations
        self.status_ = best.status
        self.labels_ = best.labels if data.rows is None else self._all_labels(X, data, best)
        self._warn(best, int(held.sum()))

    def _all_labels(self, X: Any, data: Data, best: Clustering) -> np.ndarray:
        """Labels of the rows without weight, too."""
        assert data.rows is not None
        out = np.empty(data.shape[0], np.int32)
        out[data.rows] = best.labels
        others = np.setdiff1d(np.arange(data.shape[0]), data.rows)
        out[others] = self.predict(_safe_indexing(X, others))
        return out

    def _warn(self, best: Clustering, n_found: int) -> None:
        if n_found < self.n_clusters and best.status is not Status.TIME_LIMIT:
            warn_user(
                f"Number of distinct clusters ({n_found}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
            )
        if best.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT):
            warn_stopped_early(
                "Lloyd's algorithm",
                best.status,
                f"{best.iterations} iterations",
                f"labels are still changing, objective {best.inertia[-1]:.6g}",
                f"Raise max_iter={self.max_iter} or time_limit={self.time_limit}, or set tol > 0.",
            )

    # ------------------------------------------------------------------ new rows

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    def _scores(self, X: Any) -> np.ndarray:
        """‖φ(x) − μ_c‖² − k(x, x), shape (n, n_clusters)."""
        return self.center_norms_ - 2.0 * self.expansion_.exact(X, self.n_jobs)

    def predict(self, X: Any) -> np.ndarray:
        """The cluster whose centre is nearest to each row."""
        check_is_fitted(self, "expansion_")
        return np.argmin(self._scores(check_rows(self, X)), axis=1).astype(np.int32)

    def _sq_distances(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "expansion_")
        X = check_rows(self, X)
        points = Samples(X, self.expansion_.support.origin)
        norms = BlockedGram(self.kernel_, points, Workers(1)).diag()
        return np.maximum(self._scores(X) + norms[:, np.newaxis], 0.0)

    def transform(self, X: Any) -> np.ndarray:
        """The distance in feature space of each row to each centre.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
        """
        return np.sqrt(self._sq_distances(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the objective of these rows under the fitted centres."""
        nearest = self._sq_distances(X).min(axis=1)
        weight = _check_sample_weight(sample_weight, nearest)
        return -float(weight @ nearest)


# Here, since scikit-learn's wrapper for `set_output` would hide the condition.
for _name in ("transform", "fit_transform", "score"):
    setattr(KernelKMeans, _name, Unless(getattr(KernelKMeans, _name), _why_no_distances))
