"""Kernel logistic regression: `KernelLogisticRegression`."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from mercer._result import Result, Status
from mercer._threads import single_threaded_blas, thread_count
from mercer.certificates._certificate import Certificate, summarise
from mercer.certificates._duality_gap import certify_logistic, gap_status
from mercer.estimators._compress import Compressible
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._dual_view import HasDualView
from mercer.estimators._fields import (
    COUNT,
    POSITIVE,
    KernelParameters,
    RunParameters,
    estimator,
)
from mercer.estimators._one_vs_rest import RestClassifier
from mercer.estimators._validation import Data, check_training, class_weights
from mercer.gram import BlockedGram, CachedGram
from mercer.gram._cached import MEGABYTE
from mercer.problems import Logistic
from mercer.solvers import Choice, Stopping
from mercer.solvers._kernel_logistic import NewtonCG, with_bounds

__all__ = ["KernelLogisticRegression"]


@estimator
class KernelLogisticRegression(
    HasDualView, Compressible, RestClassifier, RunParameters, KernelParameters
):
    """Logistic regression in the feature space of a kernel.

    Minimises ½‖w‖² + C Σ log(1 + exp(−yᵢ(w·φ(xᵢ) + b))): the objective of `SVC` with the logistic
    loss in place of the hinge loss. P(y = 1 | x) = 1 / (1 + exp(−w·φ(x) − b)).

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss; λ = 1/C in the notation of regularised logistic regression.
    kernel, degree, gamma, coef0 : as in `SVC`
    fit_intercept : bool, default=True
        The intercept is not penalised.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Newton steps.
    class_weight : dict, "balanced" or None
        Factors on C by class.
    threshold : float in (0, 1), default=0.5
        The confidence level: with two classes, `predict` gives ``classes_[1]`` where its
        probability is at least this. More classes need 0.5.
    cache_size : float, default=200
        Megabytes for the kernel matrix. Where it does not fit it is computed again as needed.
    n_jobs, time_limit, callback, on_interrupt, verbose : as in `SVC`
        The callback's ``iterations`` are products with K, its ``violation`` the relative gap.

    Attributes
    ----------
    certificate_ : Certificate
        Primal and (entropy) dual value and their gap. ``kkt_violation`` is the length of the
        gradient in feature space; the gap is half its square.
    solver_ : Choice
        The method of solution (``name``), and the reason.
    classes_, class_weight_
    n_iter_ : int
        Newton steps.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, kernel_, expansion_, \
n_features_in_, feature_names_in_
        As in `SVC`. All rows are support vectors. Two classes are one task, more are one task each
        against the rest: ``dual_coef_`` has one row per task.

    Examples
    --------
    >>> from mercer import KernelLogisticRegression
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    >>> model = KernelLogisticRegression(C=10.0, gamma=1.0).fit(X, y)
    >>> model.predict(X)
    array([0, 0, 1, 1])
    >>> model.certificate_.relative_gap <= model.tol
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": [POSITIVE],
        "max_iter": [COUNT],
        "threshold": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    _progress_words = ("products with K", "relative gap")

    C: float = 1.0
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 100
    class_weight: Any = None
    threshold: float = 0.5
    cache_size: float = 200

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelLogisticRegression:
        """Fit the model."""
        with Stopping(self.time_limit, self._callback(), self.on_interrupt, self) as stopping:
            data = check_training(self, X, y, sample_weight)
            labels = self._encode(data)
            gram = self._bind(data)
            problems = [Logistic(y, self._sample_C(data), self.fit_intercept) for y in labels]
            with single_threaded_blas(), gram.threads(thread_count(self.n_jobs)):
                whole = CachedGram(gram, int(self.cache_size * MEGABYTE))
                results = NewtonCG(self.tol, self.max_iter).solve(problems, whole, stopping)
                gram.release()
                results = with_bounds(problems, results, gram, stopping)
            self._keep(data, gram, problems, results, stopping)
        return self

    def _sample_C(self, data: Data) -> np.ndarray:
        """C of each row, by its weight and that of its class."""
        self.class_weight_ = class_weights(
            self.class_weight, self.classes_, self._codes, data.weight
        )
        weight = 1.0 if data.weight is None else data.weight
        return self.C * self.class_weight_[self._codes] * weight

    def _keep(
        self,
        data: Data,
        gram: BlockedGram,
        problems: list[Logistic],
        results: list[Result],
        stopping: Stopping,
    ) -> None:
        coef = np.array([result.beta for result in results])
        self._keep_coefficients(data, gram, coef, np.array([r.b[0] for r in results]))
        names = [""] if self.classes_.size == 2 else [f"{c} / rest" for c in self.classes_]
        self.certificate_: Certificate = summarise(
            [
                gap_status(certify_logistic(*each), self.tol, self.kernel_.is_psd is True)
                for each in zip(problems, results, names, strict=True)
            ]
        )
        self.solver_ = Choice("newton", "the loss is smooth; steps by conjugate gradients")
        self.n_iter_ = max(result.rounds for result in results)
        if self.verbose:
            print(f"[{type(self).__name__}] {self.certificate_!r}")
        status = self.certificate_.status
        if not status.is_solved:
            remedy = f"A smaller C={self.C:g} or scaled columns are the most likely help."
            if status is Status.NOT_PSD:
                remedy = "The kernel is not positive semi-definite on these data: use one that is."
            warn_stopped_early(
                "Newton's method",
                status,
                f"{self.n_iter_} steps and {self.certificate_.iterations} products with K",
                f"relative gap {self.certificate_.relative_gap:.3g} (tol={self.tol:g})",
                remedy,
            )

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, with two classes by the confidence level ``threshold``."""
        check_is_fitted(self, "expansion_")
        if self.classes_.size > 2:
            if self.threshold != 0.5:
                raise ValueError(
                    f"threshold={self.threshold!r} is a confidence level between two classes; "
                    f"with {self.classes_.size} classes it must be 0.5. Use predict_proba."
                )
            return super().predict(X)
        return self.classes_[(self.decision_function(X) >= logit(self.threshold)).astype(np.intp)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, in the order of ``classes_``.

        With more than two classes those of each against the rest, divided by their sum.
        """
        values = self.decision_function(X)
        if values.ndim == 1:
            return np.column_stack([expit(-values), expit(values)])
        p = expit(values)
        return p / p.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        values = self.decision_function(X)
        if values.ndim == 1:
            return -np.logaddexp(0.0, np.column_stack([values, -values]))
        return np.log(self.predict_proba(X))
