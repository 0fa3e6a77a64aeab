"""The public estimators: `LinearSVC`, `LinearSVR` and `LogisticRegression`."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.estimators._validation import Data
from mercer.estimators.linear._base import (
    LINEAR_CONSTRAINTS,
    LinearClassifier,
    LinearEstimator,
    LinearTask,
)
from mercer.estimators.linear._multiclass import CrammerSingerClassifier
from mercer.exceptions import warn_user
from mercer.problems._regularized_loss import LinearPrimal, classification, logistic, regression

__all__ = ["LinearSVC", "LinearSVR", "LogisticRegression"]

_COMMON = {
    **LINEAR_CONSTRAINTS,
    "C": [Interval(Real, 0.0, None, closed="neither")],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "dual": ["boolean", StrOptions({"auto"})],
    "intercept_scaling": [None, Interval(Real, 0.0, None, closed="neither")],
}


_SOLVERS_OF_SCIKIT_LEARN = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")


def _without(*names: str) -> dict[str, list]:
    return {name: allowed for name, allowed in _COMMON.items() if name not in names}


class LinearSVC(CrammerSingerClassifier):
    """Linear support vector classification.

    Minimises ½‖w‖² + C Σ sᵢ max(0, 1 − yᵢ (w·xᵢ + b))^p with p = 1 ("hinge") or 2
    ("squared_hinge") and sample weights s; several classes one against the rest. The intercept is
    not penalised, so that ``loss="hinge"`` is the problem of ``SVC(kernel="linear")``.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
    dual : {"auto"} or bool, default="auto"
        "auto" chooses by the shape of the data; True asks for dual coordinate descent, False for
        Newton's method.
    tol : float, default=1e-4
        Relative duality gap.
    C : float, default=1.0
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        "crammer_singer" minimises ½ Σ_r ‖w_r‖² + C Σ sᵢ max_r ([r ≠ yᵢ] + f_r(xᵢ) − f_yᵢ(xᵢ)) over
        all classes at once by the sequential dual method. That loss is a hinge: pass
        ``loss="hinge"``; a fit warns that another ``loss`` or ``dual`` is not used.
    fit_intercept : bool, default=True
    intercept_scaling : float or None, default=None
        A number s penalises the intercept by ½ (b/s)²: LIBLINEAR's problem.
    class_weight : dict or "balanced", optional
        Factors of C for the classes.
    verbose : int, default=0
    random_state : int, RandomState or None, default=None
        Order of coordinates, choice of samples. None is a fixed order.
    max_iter : int, default=1000
        Newton steps, or epochs of coordinate descent; −1 for no limit.
    time_limit : float, optional
        Seconds for the whole fit; the model so far is kept.
    n_jobs : int, optional
        Threads. None: as many as BLAS would use; −1: all cores. Does not change the model.
    callback : callable, optional
        Called with a `Progress` about once a round; a true value stops the fit.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does. The fit ends, and the model so far is stored in the estimator. With
        "raise" the KeyboardInterrupt then goes through: `fit` does not return, so that
        ``m = LinearSVC().fit(X, y)`` leaves ``m`` as it was, and only an estimator that has a name
        already (``m.fit(X, y)``) can be used. With "return" there is a warning
        (`InterruptWarning`), and `fit` returns the estimator.
    warm_start : bool, default=False
        Go on from the last fit.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    certificate_ : Certificate
        What is proved about the fit: primal, dual, gap, status.
    solver_ : Choice
        Which method was chosen (``name``), and why (``reason``).
    dual_coef_ : CSR of shape (n_tasks, n_samples)
        Signed duals, for the hinge, and for squared losses by coordinate descent; for
        "crammer_singer" a row for each class.
    n_iter_ : int

    Examples
    --------
    >>> from mercer import LinearSVC
    >>> X, y = [[0.0, 1.0], [0.0, -1.0]], [1, -1]
    >>> LinearSVC(loss="hinge", C=10, tol=1e-8).fit(X, y).coef_.round(6) + 0.0
    array([[0., 1.]])
    """

    _parameter_constraints: ClassVar[dict] = {
        **_without("epsilon"),
        "penalty": [StrOptions({"l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: Any = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        verbose: Any = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        warm_start: bool = False,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.callback = callback
        self.on_interrupt = on_interrupt
        self.warm_start = warm_start

    def _pose(self, task: LinearTask, data: Data) -> Any:
        if self._is_crammer_singer:
            return super()._pose(task, data)
        return classification(
            task.y,
            self._sample_C(task, data),
            squared=self.loss == "squared_hinge",
            intercept_penalty=self._intercept_penalty(),
        )


class LinearSVR(RegressorMixin, LinearEstimator):
    """Linear support vector regression.

    Minimises ½‖w‖² + C Σ sᵢ max(0, abs(yᵢ − w·xᵢ − b) − ε)^p, p = 1 or 2; the intercept is not
    penalised.

    Parameters
    ----------
    epsilon : float, default=0.0
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    tol, C, fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter, time_limit, \
n_jobs, callback, on_interrupt, warm_start
        As in `LinearSVC`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : ndarray of shape (1,)
    certificate_, solver_, dual_coef_, n_iter_
        As in `LinearSVC`.

    Examples
    --------
    >>> from mercer import LinearSVR
    >>> model = LinearSVR(C=100, tol=1e-9).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(4)
    array([7.])
    """

    _parameter_constraints: ClassVar[dict] = {
        **_without("class_weight"),
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        dual: Any = "auto",
        verbose: Any = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        warm_start: bool = False,
    ):
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.callback = callback
        self.on_interrupt = on_interrupt
        self.warm_start = warm_start

    def _encode(self, data: Data) -> list[LinearTask]:
        return [LinearTask("", np.asarray(data.y, dtype=np.float64))]

    def _pose(self, task: LinearTask, data: Data) -> LinearPrimal:
        return regression(
            task.y,
            self._sample_C(task, data),
            self.epsilon,
            squared=self.loss.startswith("squared"),
            intercept_penalty=self._intercept_penalty(),
        )

    def _keep(self, *args: Any) -> None:
        super()._keep(*args)
        self.coef_ = self.coef_[0]

    def predict(self, X: Any) -> np.ndarray:
        """w·x + b at each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._scores(X)


class LogisticRegression(LinearClassifier):
    """Logistic regression with an L2 penalty.

    Minimises ½‖w‖² + C Σ sᵢ log(1 + exp(−yᵢ (w·xᵢ + b))); several classes one against the rest,
    their probabilities scaled to one. The intercept is not penalised.

    Parameters
    ----------
    penalty : {"l2"}, default="l2"
    l1_ratio : {0.0} or None, default=0.0
        The penalties of scikit-learn that Mercer does not have are refused.
    dual : bool, default=False
    solver : str, default="auto"
        The problem is solved by Newton's method always. scikit-learn's names ("lbfgs", "liblinear",
        "newton-cg", "newton-cholesky", "sag", "saga") and ``dual=True`` are accepted, and a fit
        warns that they are not used.
    threshold : float in (0, 1), default=0.5
        The confidence level: with two classes, `predict` answers ``classes_[1]`` where its
        probability is at least this. More classes need 0.5.
    C, tol, fit_intercept, intercept_scaling, class_weight, random_state, max_iter, verbose, \
warm_start, n_jobs, time_limit, callback, on_interrupt
        As in `LinearSVC`.

    Attributes
    ----------
    coef_, intercept_, classes_, certificate_, solver_, n_iter_
        As in `LinearSVC`.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> model = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])
    >>> model.predict_proba([[0.0]]).round(6)
    array([[0.5, 0.5]])
    """

    _parameter_constraints: ClassVar[dict] = {
        **_without("epsilon"),
        "penalty": [StrOptions({"l1", "l2", "elasticnet", "deprecated"}), None],
        "l1_ratio": [Interval(Real, 0.0, 1.0, closed="both"), None],
        "dual": ["boolean"],
        "solver": [StrOptions({"auto", *_SOLVERS_OF_SCIKIT_LEARN})],
        "threshold": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def __init__(
        self,
        penalty: str | None = "l2",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        verbose: Any = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        callback: Any = None,
        on_interrupt: str = "raise",
        threshold: float = 0.5,
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.callback = callback
        self.on_interrupt = on_interrupt
        self.threshold = threshold

    def _check_parameters(self) -> None:
        if self.penalty not in ("l2", "deprecated") or self.l1_ratio:
            raise ValueError(
                'penalty must be "l2" with l1_ratio 0 or None, got '
                f"penalty={self.penalty!r}, l1_ratio={self.l1_ratio!r}: other penalties have no "
                "certificate here. Without a penalty: a large C, such as C=1e6."
            )
        unused = [f"solver={self.solver!r}"] if self.solver != "auto" else []
        unused += ["dual=True"] if self.dual else []
        if unused:
            warn_user(
                f"{' and '.join(unused)} not used: LogisticRegression is solved by Newton's "
                'method. Pass solver="auto", dual=False.',
                UserWarning,
            )

    def _pose(self, task: LinearTask, data: Data) -> LinearPrimal:
        C, penalty = self._sample_C(task, data), self._intercept_penalty()
        return logistic(task.y, C, intercept_penalty=penalty)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, with two classes by the confidence level ``threshold``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores >= logit(self.threshold)).astype(np.intp)]
        if self.threshold != 0.5:
            raise ValueError(
                f"threshold={self.threshold!r} is a confidence level between two classes; with "
                f"{self.classes_.size} classes it must be 0.5. Use predict_proba."
            )
        return super().predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, in the order of ``classes_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        p = 0.5 * (1 + np.tanh(0.5 * self._scores(X)))
        if p.shape[1] == 1:
            return np.hstack([1 - p, p])
        return p / p.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))
