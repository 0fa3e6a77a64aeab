"""Other estimators that choose their parameters: ridge, logistic and linear models."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions

from mercer.estimators._fields import POSITIVE, estimator
from mercer.estimators._logistic import KernelLogisticRegression
from mercer.estimators._ridge import KernelRidge
from mercer.estimators.linear._classes import LinearSVC, LinearSVR
from mercer.estimators.linear._logistic_regression import LogisticRegression
from mercer.model_selection._base import BaseSearch, SearchParameters, lists_of, values_of
from mercer.model_selection._kernel_classes import KernelGrid, KernelSearchParameters

__all__ = [
    "KernelLogisticRegressionCV",
    "KernelRidgeCV",
    "LinearSVCCV",
    "LinearSVRCV",
    "LogisticRegressionCV",
]

_VALUES = ["array-like", int, float]


@estimator
class KernelRidgeCV(RegressorMixin, KernelSearchParameters, KernelGrid):
    """Kernel ridge regression that chooses α and the kernel by cross-validation.

    One kernel matrix for all splits and all α of a kernel; each α costs a Cholesky factorisation,
    many of them one eigendecomposition. For α alone, ``KernelRidge(alpha="loo")`` has exact
    leave-one-out errors.

    Parameters
    ----------
    kernel, gammas, param_grid, cv, scoring, scale, refit, return_train_score, resume, cache_size, \
time_limit, n_jobs, callback, on_interrupt, verbose, degree
        As in `SVRCV`.
    alphas : int or array-like, default=10
        An integer n stands for ``logspace(-5, 2, n)``; else the values.
    coef0 : float, default=1
        As in `KernelRidge`.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, ties_, cv_results_, certificate_, \
solver_, n_features_in_, feature_names_in_, n_splits_, scorer_, refit_time_
        As in `SVCCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidgeCV
    >>> X = np.linspace(0, 6, 60)[:, np.newaxis]
    >>> model = KernelRidgeCV(gammas=[0.1, 1.0]).fit(X, np.sin(X[:, 0]))
    >>> sorted(model.best_params_)
    ['alpha', 'gamma']
    """

    _parameter_constraints: ClassVar[dict] = {"alphas": _VALUES}
    _estimator_class = KernelRidge
    _passed_on = ("degree", "coef0")
    _path = ("alpha", "alphas", (-5.0, 2.0))

    alphas: Any = 10
    coef0: float = 1

    def _check_y(self, y: Any) -> Any:
        """Also several targets."""
        if np.ndim(y) == 2:
            return np.asarray(y, dtype=np.float64)
        return np.asarray(super()._check_y(y), dtype=np.float64)


@estimator
class KernelLogisticRegressionCV(ClassifierMixin, KernelSearchParameters, KernelGrid):
    """Kernel logistic regression that chooses C and the kernel by cross-validation.

    Every candidate is fitted on every split, over all threads.

    Parameters
    ----------
    kernel, Cs, gammas, param_grid, cv, scoring, scale, refit, return_train_score, resume, \
cache_size, time_limit, n_jobs, callback, on_interrupt, verbose, degree, coef0, class_weight
        As in `SVCCV`.
    tol : float, default=1e-6
        As in `KernelLogisticRegression`.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, ties_, cv_results_, certificate_, \
solver_, n_features_in_, feature_names_in_, n_splits_, scorer_, refit_time_, classes_
        As in `SVCCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelLogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelLogisticRegressionCV(Cs=[1.0, 10.0], gammas=[0.1], cv=3).fit(X, y)
    >>> model.predict_proba(X).shape
    (150, 3)
    """

    _parameter_constraints: ClassVar[dict] = {"Cs": _VALUES}
    _estimator_class = KernelLogisticRegression
    _passed_on = ("degree", "coef0", "class_weight", "tol")

    Cs: Any = 10
    class_weight: Any = None
    tol: float = 1e-6


class _LinearGrid(BaseSearch):
    """Grids over C and parameters of ``param_grid``; the intercept is not penalised."""

    Cs: Any
    param_grid: Any
    _estimator_class: ClassVar[type]

    def _make_estimator(self) -> Any:
        given = {name: getattr(self, name) for name in self._passed_on}
        return self._estimator_class(**given, intercept_scaling=None)

    def _grid(self, X: Any) -> list[dict[str, list]]:
        more = lists_of(self.param_grid)
        if "C" in more:
            raise ValueError("param_grid has C: give Cs.")
        return [{"C": values_of("Cs", self.Cs, (-2.0, 3.0)), **more}]


@estimator
class LinearSVCCV(ClassifierMixin, SearchParameters, _LinearGrid):
    """Linear support vector classification that chooses C by cross-validation.

    On each split one regularisation path (`mercer.path`).

    Parameters
    ----------
    Cs : int or array-like, default=10
        An integer n stands for ``logspace(-2, 3, n)``; else the values.
    param_grid, cv, scoring, scale, refit, return_train_score, resume, time_limit, n_jobs, \
callback, on_interrupt, verbose
        As in `SVCCV`.
    cache_size : float
        Without effect: linear models need no kernel values.
    penalty, loss, tol, fit_intercept, class_weight
        As in `LinearSVC`.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, ties_, cv_results_, certificate_, \
solver_, n_features_in_, feature_names_in_, n_splits_, scorer_, refit_time_, classes_
        As in `SVCCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import LinearSVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearSVCCV(Cs=[0.1, 1.0, 10.0]).fit(X, y).best_score_ > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "Cs": _VALUES,
        "penalty": [StrOptions({"l1", "l2"})],
    }
    _estimator_class = LinearSVC
    _passed_on = ("penalty", "loss", "tol", "fit_intercept", "class_weight")

    Cs: Any = 10
    penalty: str = "l2"
    loss: str = "squared_hinge"
    tol: float = 1e-4
    fit_intercept: bool = True
    class_weight: Any = None


@estimator
class LinearSVRCV(RegressorMixin, SearchParameters, _LinearGrid):
    """Linear support vector regression that chooses C by cross-validation.

    On each split one regularisation path (`mercer.path`).

    Parameters
    ----------
    Cs, param_grid, cv, scoring, scale, refit, return_train_score, resume, cache_size, time_limit, \
n_jobs, callback, on_interrupt, verbose
        As in `LinearSVCCV`.
    epsilon, loss, tol, fit_intercept
        As in `LinearSVR`.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, ties_, cv_results_, certificate_, \
solver_, n_features_in_, feature_names_in_, n_splits_, scorer_, refit_time_
        As in `SVCCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from mercer import LinearSVRCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> LinearSVRCV(Cs=[1.0, 100.0]).fit(X, y).best_score_ > 0.3
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "Cs": _VALUES,
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }
    _estimator_class = LinearSVR
    _passed_on = ("epsilon", "loss", "tol", "fit_intercept")

    Cs: Any = 10
    epsilon: float = 0.0
    loss: str = "epsilon_insensitive"
    tol: float = 1e-4
    fit_intercept: bool = True

    def _check_y(self, y: Any) -> Any:
        return np.asarray(super()._check_y(y), dtype=np.float64)


@estimator
class LogisticRegressionCV(ClassifierMixin, SearchParameters, _LinearGrid):
    """Logistic regression that chooses C by cross-validation.

    On each split one regularisation path (`mercer.path`). With the interface of `SVCCV`, not of
    scikit-learn's class of this name.

    Parameters
    ----------
    Cs, param_grid, cv, scoring, scale, refit, return_train_score, resume, cache_size, time_limit, \
n_jobs, callback, on_interrupt, verbose
        As in `LinearSVCCV`.
    tol, fit_intercept, class_weight
        As in `LogisticRegression`.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, ties_, cv_results_, certificate_, \
solver_, n_features_in_, feature_names_in_, n_splits_, scorer_, refit_time_, classes_
        As in `SVCCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> LogisticRegressionCV(Cs=[0.1, 1.0, 10.0]).fit(X, y).best_score_ > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {"Cs": _VALUES, "tol": [POSITIVE]}
    _estimator_class = LogisticRegression
    _passed_on = ("tol", "fit_intercept", "class_weight")

    Cs: Any = 10
    tol: float = 1e-4
    fit_intercept: bool = True
    class_weight: Any = None
