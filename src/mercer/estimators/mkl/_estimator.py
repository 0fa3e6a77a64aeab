"""`MKL`: a support vector machine that learns the weights of its kernels."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._methods import WrapsEstimator
from mercer.estimators._validation import Data
from mercer.estimators.mkl._checks import check_kernels, refuse_size
from mercer.estimators.mkl._joint_gap import certify_jointly
from mercer.estimators.mkl._point import Machine, Point
from mercer.estimators.mkl._sample import SampleSettings, sample_rows, weights_of_samples
from mercer.estimators.mkl._weight_search import WeightSearch
from mercer.estimators.svm._svc import SVC
from mercer.estimators.svm._svr import SVR
from mercer.exceptions import silent_thread
from mercer.gram._distinct import DistinctGrams
from mercer.kernels import Kernel
from mercer.solvers import Stopping
from mercer.solvers._stopping import Progress

__all__ = ["MKL", "weighted_sum"]

# For the certificate of a fit that was stopped.
GRACE_SECONDS = 0.3
# A kernel whose mean k(x, x) is not above this is not scaled: its inverse would overflow.
SMALLEST_SCALE = 1e-290


def weighted_sum(weights: np.ndarray, kernels: Sequence[Kernel]) -> Kernel:
    """Σ weights_k k_k as a composed kernel, of small depth; zero weights are left out."""
    parts = [
        kernel if w == 1 else float(w) * kernel
        for w, kernel in zip(weights, kernels, strict=True)
        if w
    ]
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [pair[0] if len(pair) == 1 else pair[0] + pair[1] for pair in pairs]
    return parts[0]


def _reporter(
    search: WeightSearch, stopping: Stopping, gap_tol: float
) -> Callable[[int, Point], None]:
    """Tells the callback of the fit about each change of the weights."""

    def report(iteration: int, best: Point) -> None:
        gap = (best.primal - search.lower) / (abs(best.primal) or 1.0)
        stopping.report(
            Progress(stopping.seconds, iteration, search.n_machines, max(gap, 0.0), gap_tol)
        )

    return report


def _has(name: str) -> Any:
    def check(self: MKL) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._machine(), name)
        return True

    return check


class MKL(WrapsEstimator, BaseEstimator):
    """Multiple kernel learning: SVC or SVR with the kernel Σ d_k k_k, whose weights are learned.

    Minimises over weights d ≥ 0 with ‖d‖_p ≤ 1 and over the machine (w, b)

        ½ Σ_k ‖w_k‖²/d_k + C Σ loss(f(xᵢ), yᵢ),    f(x) = Σ_k w_k·φ_k(x) + b.

    With p = 1 most weights are 0: the kernels that matter are chosen. With p > 1 all of them keep
    some weight, the more evenly the larger p is. Kernels are compared by their mean k(x, x) = 1
    (``scale="trace"``).

    **Cost.** Some ten machines, each from the solution of the one before, and one pass over all
    kernels for each. A kernel on one column is computed among the different values of the column
    only.

    Parameters
    ----------
    kernels : list of Kernel
        Of one sample type; hundreds of them. `OnColumns` makes kernels on single columns.
    estimator : SVC or SVR, optional
        With its C, class weights and so on; its kernel is not read. ``SVC()`` by default.
    p : float ≥ 1, default=1
        The norm of the weights.
    gap_tol : float, default=1e-3
        Relative gap of the joint problem at which it is solved.
    scale : {"trace", None}, default="trace"
        Whether kernels are divided by the mean of k(x, x) before.
    max_iter : int, default=200
        Changes of the weights.
    time_limit : float, optional
        Seconds.
    cache_size : float, default=1000
        Megabytes for stored kernel values. One matrix of all rows is needed besides.
    n_jobs : int, optional
        Threads.
    callback : callable, optional
        Called after each change of the weights with a `Progress` whose ``violation`` is the
        relative gap so far, and ``tol`` is ``gap_tol``; a true return value ends the search.
    on_interrupt : {"raise", "return"}, default="raise"
        After Ctrl-C: raise KeyboardInterrupt, or return with an `InterruptWarning`. The machine of
        the best weights so far is fitted in both cases.

    Attributes
    ----------
    weights_ : array
        d, for kernels divided by their scales.
    scales_ : array
    shares_ : array
        The part of each kernel in ‖f‖², d_k βᵀK_kβ: which kernels mattered. Their sum is 1.
    kernel_ : Kernel
        The learned kernel: a plain sum, without those of weight 0.
    estimator_ : SVC or SVR
        Fitted with it.
    certificate_ : JointCertificate
        Of weights and machine together.
    n_iter_, n_machines_ : int
        Changes of the weights, and machines that were solved.
    fit_seconds_ : float

    References
    ----------
    Rakotomamonjy, Bach, Canu and Grandvalet (2008), SimpleMKL. Chapelle and Rakotomamonjy (2008),
    Second order optimization of kernel parameters. Kloft, Brefeld, Sonnenburg and Zien (2011),
    lp-norm multiple kernel learning.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import MKL, SVC
    >>> from mercer.kernels import OnColumns, RBF
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> y = np.where(np.abs(X[:, 1]) > 0.7, 1, -1)
    >>> model = MKL([OnColumns(RBF(1.0), c) for c in range(3)], SVC(C=10)).fit(X, y)
    >>> int(model.shares_.argmax())  # the column that matters
    1
    >>> bool(model.certificate_)
    True
    """

    def __init__(
        self,
        kernels: Sequence[Kernel],
        estimator: Any = None,
        *,
        p: float = 1.0,
        gap_tol: float = 1e-3,
        scale: str | None = "trace",
        max_iter: int = 200,
        time_limit: float | None = None,
        cache_size: float = 1000,
        n_jobs: int | None = None,
        callback: Callable[[Progress], object] | None = None,
        on_interrupt: str = "raise",
    ):
        self.kernels = kernels
        self.estimator = estimator
        self.p = p
        self.gap_tol = gap_tol
        self.scale = scale
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.cache_size = cache_size
        self.n_jobs = n_jobs
        self.callback = callback
        self.on_interrupt = on_interrupt

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MKL:
        """Learn the weights and fit the machine.

        Parameters
        ----------
        X : samples, as the kernels take them
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : object
        """
        began = time.perf_counter()
        self._validate_params()
        machine = self._machine()
        machine.set_params(kernel=weighted_sum(np.ones(len(self.kernels)), list(self.kernels)))
        stopping = Stopping(self.time_limit, self.callback, self.on_interrupt)
        with stopping, single_threaded_blas():
            data: Data = machine._validate(X, y, sample_weight)
            kernels = [kernel.resolved(data.X) for kernel in self.kernels]
            with Workers(thread_count(self.n_jobs)) as workers:
                self._learn(machine, data, kernels, stopping, workers)
            self.fit_seconds_ = time.perf_counter() - began
        if not self.certificate_.holds and not stopping.interrupted:
            warn_stopped_early(
                "MKL",
                self.certificate_.status,
                f"{self.n_iter_} changes of the weights",
                f"relative gap {self.certificate_.relative_gap:.2g} (gap_tol={self.gap_tol:g})",
                "Raise max_iter or time_limit, or allow a larger gap_tol.",
                by_user=True,
            )
        return self

    def _learn(
        self,
        machine: Any,
        data: Data,
        kernels: list[Kernel],
        stopping: Stopping,
        workers: Workers,
    ) -> None:
        n = data.n
        refuse_size(n)
        tasks = machine._encode(data)
        machines = [
            Machine(machine._pose(task, data), np.arange(n) if task.rows is None else task.rows)
            for task in tasks
        ]
        stop = stopping.is_stopped
        grams = DistinctGrams(kernels, data.X, 1e6 * self.cache_size, workers, stop)
        scales = self._scales(grams, data.weight)
        limits = self._search_limits(machine, stopping)
        samples = sample_rows(n, SampleSettings())
        d, n_machines = weights_of_samples(
            samples, kernels, data.X, machines, scales, limits, 1e6 * self.cache_size, workers
        )
        search = WeightSearch(grams, scales, machines, memory=np.empty((n, n)), **limits)
        search.callback = _reporter(search, stopping, self.gap_tol)
        point, betas = search.run(d)
        stopped = stopping.stopped
        # Rounded so that the norm is below 1: within the constraint.
        coefficients = point.d / scales / (1 + 1e-12)
        self.weights_, self.scales_ = coefficients * scales, scales
        self.kernel_ = weighted_sum(coefficients, kernels)
        self.n_iter_ = search.iterations
        self.n_machines_ = n_machines + search.n_machines
        part = point.d * point.q
        self.shares_ = part / (part.sum() or 1.0)
        del search
        machine.set_params(kernel=self.kernel_, gap_tol=0.25 * self.gap_tol)
        gram = machine._bind(data)
        # From the β of the search, which is what remains of a fit that was stopped.
        with silent_thread():  # `fit` says it of both
            machine._fit_tasks(data, tasks, gram, self._last_limits(machine, stopping), point.betas)
        if gram.borrowed:
            gram.release()
        self.estimator_ = machine
        over = stopping.grace(GRACE_SECONDS)
        self.certificate_ = certify_jointly(
            machine.certificate_,
            grams,
            scales,
            machines,
            betas,
            self.p,
            self.gap_tol,
            stopped or stopping.stopped,
            over,
        )

    def _search_limits(self, machine: Any, stopping: Stopping) -> dict[str, Any]:
        """Of `WeightSearch`: norm, tolerances and limits."""
        return {
            "p": float(self.p),
            "gap_tol": 0.5 * self.gap_tol,
            "tol": machine.tol,
            "stopping": stopping.quiet(),
            "max_iter": self.max_iter,
        }

    def _scales(self, grams: DistinctGrams, weight: np.ndarray | None) -> np.ndarray:
        """The numbers by which the kernels are divided: mean of the diagonal, or 1."""
        if self.scale != "trace":
            return np.ones(len(grams))
        means = np.array([member.mean_diagonal(weight) for member in grams.members])
        return np.where(means > SMALLEST_SCALE, means, 1.0)

    @staticmethod
    def _last_limits(machine: Any, stopping: Stopping) -> Stopping:
        """Those of the last fit: what remains of the time, and the machine's own limit."""
        last = stopping.quiet()
        if machine.time_limit is not None:
            last = last.until(last.seconds + machine.time_limit)
        return last

    def _machine(self) -> Any:
        if self.estimator is None:
            return SVC()
        if type(self.estimator) not in (SVC, SVR):
            raise ValueError(f"MKL: estimator must be an SVC or an SVR, got {self.estimator!r}.")
        return clone(self.estimator)

    def _validate_params(self) -> None:
        check_kernels(self.kernels)
        if not (isinstance(self.p, (int, float)) and 1 <= self.p < np.inf):
            raise ValueError(f"MKL: p must be a number ≥ 1, got {self.p!r}.")
        if not (isinstance(self.gap_tol, (int, float)) and self.gap_tol > 0):
            raise ValueError(f"MKL: gap_tol must be a number > 0, got {self.gap_tol!r}.")
        if self.scale not in ("trace", None):
            raise ValueError(f"MKL: scale must be 'trace' or None, got {self.scale!r}.")
        if self.on_interrupt not in ("raise", "return"):
            raise ValueError(
                f"MKL: on_interrupt must be 'raise' or 'return', got {self.on_interrupt!r}."
            )

    # ------------------------------------------------------------------ the fitted machine

    def report(self, most: int = 20) -> str:
        """Which kernels mattered, the largest part first, as a table.

        Parameters
        ----------
        most : int, default=20
            Lines at most.

        Returns
        -------
        str
        """
        check_is_fitted(self, "estimator_")
        order = np.argsort(-self.shares_, kind="stable")
        order = order[self.weights_[order] > 0]
        lines = [
            f"{order.size} of {len(self.weights_)} kernels have weight",
            "weight   part  kernel",
        ]
        lines += [
            f"{self.weights_[k]:6.4f}  {100 * self.shares_[k]:4.1f}%  {list(self.kernels)[k]!r}"
            for k in order[:most]
        ]
        if order.size > most:
            lines.append(f"and {order.size - most} more")
        return "\n".join(lines)

    @available_if(_has("predict"))
    def predict(self, X: Any) -> np.ndarray:
        """Of the fitted machine."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> np.ndarray:
        """Of the fitted machine."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """Of the fitted machine."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy, or R² of a regression."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.score(X, y, sample_weight)

    @property
    def classes_(self) -> np.ndarray:
        """Of the fitted machine."""
        return self.estimator_.classes_

    def _wrapped(self) -> Any:
        return SVC() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_inner = self._wrapped().__sklearn_tags__()
        tags.estimator_type = of_inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = (
            of_inner.classifier_tags,
            of_inner.regressor_tags,
        )
        tags.target_tags.required = True
        return tags
