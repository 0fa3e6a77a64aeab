"""`LinearSVC` and `LinearSVR`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import StrOptions

from mercer.estimators._fields import estimator
from mercer.estimators._parameters import CONSTRAINTS
from mercer.estimators._validation import Data, as_targets
from mercer.estimators.linear._base import LinearEstimator, LinearTask
from mercer.estimators.linear._hard_margin import HardMarginClassifier
from mercer.problems._regularized_loss import LinearPrimal, classification, regression
from mercer.solvers.linear import ShiftedDesign, Start

__all__ = ["LinearSVC", "LinearSVR"]


@estimator
class LinearSVC(HardMarginClassifier):
    """Linear support vector classification.

    Minimises ½‖w‖² + C Σ sᵢ max(0, 1 − yᵢ (w·xᵢ + b))^p with p = 1 ("hinge") or 2
    ("squared_hinge") and sample weights s; several classes one against the rest. As in
    scikit-learn, ½b² is added; with ``intercept_scaling=None`` it is not, and ``loss="hinge"`` is
    the problem of ``SVC(kernel="linear")``. ``penalty="l1"`` has ‖w‖₁ in place of ½‖w‖²: most
    weights of columns that do not help are zero.

    Parameters
    ----------
    penalty : {"l1", "l2"}, default="l2"
        "l1" needs ``loss="squared_hinge"``, and ``dual`` "auto" or False.
    loss : {"hinge", "squared_hinge"}, default="squared_hinge"
    dual : {"auto"} or bool, default="auto"
        "auto" chooses by the shape of the data; True asks for dual coordinate descent, False for
        Newton's method, not with ``loss="hinge"``. The L1 penalty has a method of its own.
    tol : float, default=1e-4
        Relative duality gap.
    C : float, default=1.0
        Penalty of the errors, positive. ``inf`` is the hard margin, for which both losses are the
        same problem, solved as that of ``SVC(kernel="linear")`` (``max_iter`` is not used): on
        classes that cannot be separated `NotSeparableError` is raised, with the proof.
    multi_class : {"ovr", "crammer_singer"}, default="ovr"
        "crammer_singer" minimises ½ Σ_r ‖w_r‖² + C Σ sᵢ max_r ([r ≠ yᵢ] + f_r(xᵢ) − f_yᵢ(xᵢ)) over
        all classes at once by the sequential dual method. That loss is a hinge: pass
        ``loss="hinge"``; a fit warns that another ``loss`` or ``dual`` is not used.
    fit_intercept : bool, default=True
    intercept_scaling : float or None, default=1.0
        A number s penalises the intercept by ½ (b/s)², with an L1 penalty by abs(b)/s, as
        LIBLINEAR does; None does not penalise it. Where the best b is far from zero (columns or
        targets that are not centred), None gives the better model. The hard margin has no such
        penalty.
    class_weight : dict or "balanced", optional
        Factors of C for the classes.
    verbose : int, default=0
    random_state : int, RandomState or None, default=None
        Order of coordinates, choice of samples. None is a fixed order.
    max_iter : int, default=1000
        Newton steps, epochs of coordinate descent, or passes over the rows of all classes at once;
        −1 for no limit.
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
        Start from the last fit.

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
        Signed duals, for the hinge, the L1 penalty, and for squared losses by coordinate descent;
        for "crammer_singer" a row for each class.
    n_iter_ : int

    Examples
    --------
    >>> from mercer import LinearSVC
    >>> X, y = [[0.0, 1.0], [0.0, -1.0]], [1, -1]
    >>> LinearSVC(loss="hinge", C=10, tol=1e-8).fit(X, y).coef_.round(6) + 0.0
    array([[0., 1.]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "C": CONSTRAINTS["C"],
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
    }

    penalty: str = field(default="l2", kw_only=False)
    loss: str = field(default="squared_hinge", kw_only=False)
    dual: Any = "auto"
    tol: float = 1e-4
    C: float = 1.0
    multi_class: str = "ovr"
    fit_intercept: bool = True
    intercept_scaling: float | None = 1.0
    class_weight: Any = None
    verbose: Any = 0
    random_state: Any = None
    max_iter: int = 1000
    time_limit: float | None = None
    n_jobs: int | None = None
    callback: Any = None
    on_interrupt: str = "raise"
    warm_start: bool = False

    @property
    def _is_l1(self) -> bool:
        return self.penalty == "l1" and not self._is_crammer_singer

    def _check_parameters(self) -> None:
        super()._check_parameters()
        l1, hinge = self._is_l1, self.loss == "hinge" and not self._is_crammer_singer
        # scikit-learn's sentences, which programs and tests look for.
        which = ""
        if l1 and hinge:
            which = "is not supported"
        elif (l1 and self.dual not in (False, "auto")) or (hinge and self.dual is False):
            which = f"are not supported when dual={self.dual}"
        if which:
            needed = "loss='squared_hinge' and dual=False" if l1 else "dual='auto' or True"
            raise ValueError(
                f"Unsupported set of arguments: The combination of penalty={self.penalty!r} and "
                f"loss={self.loss!r} {which}, Parameters: penalty={self.penalty!r}, "
                f"loss={self.loss!r}, dual={self.dual!r}. "
                f"{'The L1 penalty' if l1 else 'The hinge'} needs {needed}."
            )

    def _intercept_penalty(self) -> float | None:
        if self._is_l1 and self.fit_intercept and self.intercept_scaling is not None:
            return 1.0 / self.intercept_scaling
        return super()._intercept_penalty()

    def _pose(self, task: LinearTask, data: Data) -> Any:
        if self._is_crammer_singer:
            return super()._pose(task, data)
        return classification(
            task.y,
            self._sample_C(task, data),
            squared=self.loss == "squared_hinge" and bool(np.isfinite(self.C)),
            intercept_penalty=self._intercept_penalty(),
            l1=self._is_l1,
        )

    def _starts(
        self, shifted: ShiftedDesign, problems: Sequence[LinearPrimal], same_rows: bool
    ) -> Sequence[Start | None]:
        last = getattr(self, "_last", None) if self.warm_start else None
        if not self._is_l1 or last is None:
            return super()._starts(shifted, problems, same_rows)
        is_alike = len(last.models) == len(problems) and last.kind == problems[0].kind
        if not is_alike or last.shape[1] != shifted.design.d:
            return [None] * len(problems)
        weights = [model.solution.w for model in last.models]
        return [Start(w, shifted.seen_b(w, b)) for w, b in zip(weights, last.stored_b, strict=True)]


@estimator
class LinearSVR(RegressorMixin, LinearEstimator):
    """Linear support vector regression.

    Minimises ½‖w‖² + C Σ sᵢ max(0, abs(yᵢ − w·xᵢ − b) − ε)^p, p = 1 or 2. As in scikit-learn, ½b²
    is added; with ``intercept_scaling=None`` it is not, which suits targets far from zero.

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
    >>> model = LinearSVR(C=100, tol=1e-9, intercept_scaling=None)
    >>> model = model.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(4)
    array([7.])
    """

    _parameter_constraints: ClassVar[dict] = {
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }

    epsilon: float = 0.0
    tol: float = 1e-4
    C: float = 1.0
    loss: str = "epsilon_insensitive"
    fit_intercept: bool = True
    intercept_scaling: float | None = 1.0
    dual: Any = "auto"
    verbose: Any = 0
    random_state: Any = None
    max_iter: int = 1000
    time_limit: float | None = None
    n_jobs: int | None = None
    callback: Any = None
    on_interrupt: str = "raise"
    warm_start: bool = False

    def _encode(self, data: Data) -> list[LinearTask]:
        return [LinearTask("", as_targets(data.y))]

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
        """w·x + b at each row."""
        return self._scores(X)[:, 0]
