"""The kernel perceptron: `KernelPerceptron`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer._result import Status
from mercer._threads import single_threaded_blas, thread_count
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._fields import COUNT, KernelParameters, RunParameters, estimator
from mercer.estimators._one_vs_rest import RestClassifier
from mercer.estimators._validation import Data, check_rows, check_training
from mercer.gram import BlockedGram
from mercer.gram._cached import MEGABYTE
from mercer.gram._machine import MACHINE, pieces
from mercer.solvers import Stopping
from mercer.solvers._perceptron import (
    Perceptron,
    PerceptronSettings,
    Updates,
    count_votes,
    rows_for,
)

__all__ = ["KernelPerceptron"]


@estimator
class KernelPerceptron(RestClassifier, RunParameters, KernelParameters):
    """The perceptron in the feature space of a kernel.

    Rows are visited in turn; one on the wrong side, y (w·φ(x) + b) ≤ 0, moves w by y φ(x) and b by
    y. On separable data there are at most (R/ρ)² mistakes, where R is the largest norm of the rows
    (φ(x), 1) and ρ the largest margin by which a hyperplane through the origin separates them;
    without intercept the same holds for φ(x).

    Parameters
    ----------
    kernel, degree, gamma, coef0 : as in `SVC`
    fit_intercept : bool, default=True
    average : {"last", "averaged", "voted"}, default="last"
        Which model predicts: the last one; the mean of all models, each weighted by the number
        of visits until its next mistake; or all of them by votes with that weight.
    max_iter : int, default=1000
        Epochs; fewer if one has no mistake.
    shuffle : bool, default=True
        Whether each epoch visits the rows in an order of its own.
    cache_size : float, default=200
        Megabytes for kernel rows of mistaken points.
    random_state : int, RandomState or None, default=None
    n_jobs, time_limit, callback, on_interrupt, verbose : as in `SVC`
        The callback's ``iterations`` are mistakes, its ``violation`` those of the last epoch.

    Attributes
    ----------
    classes_ : ndarray
    mistakes_ : int array, one entry per task
        Two classes are one task, more are one task each against the rest.
    mistake_bound_ : float64 array, one entry per task
        (R/ρ_w)² with the margin ρ_w of the last model: an upper bound on Novikoff's (R/ρ)², since
        ρ_w ≤ ρ. Infinite if that model does not separate the rows, or if a limit left no time to
        compute it.
    updates_ : list of int arrays, one per task
        The row of every mistake, in order.
    survival_ : list of int arrays, one per task
        How many visits the model after that mistake lived.
    n_iter_ : int
        Epochs.
    status_ : Status
        "solved" if the last epoch of every task had no mistake; else what stopped it.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, kernel_, expansion_, \
n_features_in_, feature_names_in_
        As in `SVC`; ``dual_coef_`` has one row per task.

    Notes
    -----
    There are no sample weights: a row seen twice is not a row that counts double, since its second
    visit is a mistake only if the first did not put it right.

    Examples
    --------
    >>> from mercer import KernelPerceptron
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    >>> model = KernelPerceptron(gamma=1.0, shuffle=False).fit(X, y)
    >>> model.predict(X)
    array([0, 0, 1, 1])
    >>> bool(model.mistakes_[0] <= model.mistake_bound_[0])
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "average": [StrOptions({"last", "averaged", "voted"})],
        "max_iter": [COUNT],
    }
    _settings = PerceptronSettings()

    _progress_words = ("mistakes", "mistakes of the epoch")

    fit_intercept: bool = True
    average: str = "last"
    max_iter: int = 1000
    shuffle: bool = True
    cache_size: float = 200
    random_state: Any = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> KernelPerceptron:
        """Visit the rows until none is on the wrong side."""
        with Stopping(self.time_limit, self._callback(), self.on_interrupt, self) as stopping:
            data = check_training(self, X, y, None)
            labels = self._encode(data)
            gram = self._bind(data)
            solver = Perceptron(self.max_iter, self.shuffle, self.fit_intercept)
            with single_threaded_blas(), gram.threads(thread_count(self.n_jobs)):
                rows = rows_for(gram, int(self.cache_size * MEGABYTE), self._settings)
                rng = check_random_state(self.random_state)
                updates = [solver.solve(y, rows, stopping, rng) for y in labels]
                gram.release()
            self._keep(data, gram, labels, updates)
        return self

    def _keep(
        self, data: Data, gram: BlockedGram, labels: np.ndarray, updates: list[Updates]
    ) -> None:
        pairs = list(zip(labels, updates, strict=True))
        averaged = self.average == "averaged"
        coef = np.array([u.coefficients(y, averaged) for y, u in pairs])
        b = coef.sum(axis=1) * self.fit_intercept  # b moves by y with every β
        support = self._keep_coefficients(data, gram, coef, b)
        self.updates_ = [u.rows for u in updates]
        self.survival_ = [u.survival for u in updates]
        slot = np.zeros(data.n, np.intp)
        slot[support] = np.arange(support.size)
        self._steps = [(slot[u.rows], y[u.rows]) for y, u in pairs]
        self.mistakes_ = np.array([u.rows.size for u in updates])
        radius = float(gram.diag().max()) + self.fit_intercept
        self.mistake_bound_ = np.array([_bound(y, u, radius) for y, u in pairs])
        self.n_iter_ = max(u.epochs for u in updates)
        self.status_ = max((u.status for u in updates), key=lambda status: status.severity)
        self._warn(updates)

    def _warn(self, updates: list[Updates]) -> None:
        late = [u for u in updates if u.status in (Status.ITERATION_LIMIT, Status.TIME_LIMIT)]
        if late:
            warn_stopped_early(
                "The perceptron",
                late[0].status,
                f"{self.n_iter_} epochs and {self.mistakes_.sum():,} mistakes",
                "rows are still on the wrong side",
                f"If the kernel separates the classes, raise max_iter={self.max_iter} or "
                f"time_limit={self.time_limit}; if not, use average='averaged' or SVC.",
            )

    def _decide(self, X: Any, signs_only: bool = False) -> np.ndarray:
        if self.average != "voted":
            return super()._decide(X, signs_only)
        check_is_fitted(self, "expansion_")
        X = check_rows(self, X)
        out = np.zeros((X.shape[0], self.intercept_.size))
        for rows in pieces(X.shape[0], MACHINE.tile_rows // 4):
            K = self.expansion_.values_of_kernel(X[rows])
            for t, (slots, signs) in enumerate(self._steps):
                survival = self.survival_[t] / self.survival_[t].sum()
                votes = np.zeros(K.shape[0])
                count_votes(K, slots, signs, float(self.fit_intercept), survival, votes)
                out[rows, t] = votes
        return out

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Decision values after each update of a fit with two classes, in order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Yields
        ------
        values : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "expansion_")
        if self.classes_.size > 2:
            raise ValueError(
                f"staged_decision_function follows one task, but {self.classes_.size} classes are "
                "as many tasks; fit on two classes."
            )
        K = self.expansion_.values_of_kernel(check_rows(self, X))
        values = np.zeros(K.shape[0])
        for slot, sign in zip(*self._steps[0], strict=True):
            values = values + sign * (K[:, slot] + self.fit_intercept)
            yield values


def _bound(y: np.ndarray, updates: Updates, radius: float) -> float:
    """(R/ρ_w)², R² being ``radius``, under the kernel k + 1 where there is an intercept."""
    if updates.f is None:
        return np.inf
    edge = y * (updates.f + updates.b)
    beta = updates.coefficients(y, averaged=False)
    norm, least = float(beta @ (updates.f + updates.b)), float(edge.min())
    return radius / least * (norm / least) if least > 0 else np.inf
