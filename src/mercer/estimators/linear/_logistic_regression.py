"""`LogisticRegression`."""

from __future__ import annotations

from dataclasses import field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import logit, logsumexp
from sklearn.utils._param_validation import Interval, StrOptions

from mercer.estimators._fields import estimator
from mercer.estimators._validation import Data
from mercer.estimators.linear._base import LinearTask
from mercer.estimators.linear._multinomial import MultinomialClassifier
from mercer.exceptions import warn_user
from mercer.problems._multinomial import Multinomial, softmax
from mercer.problems._regularized_loss import LinearPrimal, logistic

__all__ = ["LogisticRegression", "several_classes"]

_SOLVERS_OF_SCIKIT_LEARN = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")


@estimator
class LogisticRegression(MultinomialClassifier):
    """Logistic regression with an L2 penalty.

    Minimises ½‖w‖² + C Σ sᵢ log(1 + exp(−yᵢ (w·xᵢ + b))) for two classes, y = ±1. For more,
    ½ Σ_r ‖w_r‖² + C Σ sᵢ (log Σ_r exp g_ir − g_i,yᵢ) with the scores g_ir = w_r·xᵢ + b_r. The
    intercept is not penalised.

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
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        With more than two classes: the softmax over all of them in one problem, or each class
        against the rest, whose probabilities are scaled to sum to one.
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
        "penalty": [StrOptions({"l1", "l2", "elasticnet", "deprecated"}), None],
        "l1_ratio": [Interval(Real, 0.0, 1.0, closed="both"), None],
        "dual": ["boolean"],
        "solver": [StrOptions({"auto", *_SOLVERS_OF_SCIKIT_LEARN})],
        "threshold": [Interval(Real, 0.0, 1.0, closed="neither")],
        "multi_class": [StrOptions({"multinomial", "ovr"})],
    }

    penalty: str | None = field(default="l2", kw_only=False)
    C: float = 1.0
    l1_ratio: float | None = 0.0
    dual: bool = False
    tol: float = 1e-4
    fit_intercept: bool = True
    intercept_scaling: float | None = None
    class_weight: Any = None
    random_state: Any = None
    solver: str = "auto"
    max_iter: int = 100
    verbose: Any = 0
    warm_start: bool = False
    n_jobs: int | None = None
    time_limit: float | None = None
    callback: Any = None
    on_interrupt: str = "raise"
    threshold: float = 0.5
    multi_class: str = "multinomial"

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

    def _pose(self, task: LinearTask, data: Data) -> LinearPrimal | Multinomial:
        if self._is_multinomial:
            return self._pose_classes(task, data)
        C, penalty = self._sample_C(task, data), self._intercept_penalty()
        return logistic(task.y, C, intercept_penalty=penalty)

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row, with two classes by the confidence level ``threshold``."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            level = logit(self.threshold)
            return self._second_where(scores >= level, scores == level)
        if self.threshold != 0.5:
            raise ValueError(
                f"threshold={self.threshold!r} is a confidence level between two classes; with "
                f"{self.classes_.size} classes it must be 0.5. Use predict_proba."
            )
        return super().predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, in the order of ``classes_``."""
        scores = self._scores(X)
        if self._is_multinomial:
            return softmax(scores)
        p = 0.5 * (1 + np.tanh(0.5 * scores))
        if p.shape[1] == 1:
            return np.hstack([1 - p, p])
        return p / p.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        scores = self._scores(X)
        if not self._is_multinomial:
            return np.log(self.predict_proba(X))
        return scores - logsumexp(scores, axis=1, keepdims=True)


def several_classes(model: Any) -> str:
    """What scikit-learn's model does with several classes; older versions have ``multi_class``."""
    is_one_vs_rest = model.solver == "liblinear" or getattr(model, "multi_class", "") == "ovr"
    return "ovr" if is_one_vs_rest else "multinomial"
