"""Kernel SVMs that choose C and the kernel's parameters: `SVCCV`, `SVRCV`, `OneClassSVMCV`."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions

from mercer.estimators._fields import estimator
from mercer.estimators._parameters import CONSTRAINTS
from mercer.estimators.svm._one_class import OneClassSVM
from mercer.estimators.svm._svc import SVC
from mercer.estimators.svm._svr import SVR
from mercer.kernels import Kernel
from mercer.kernels._registry import KERNELS_BY_NAME
from mercer.model_selection._base import BaseSearch, SearchParameters, lists_of, values_of

__all__ = ["SVCCV", "SVRCV", "KernelGrid", "KernelSearchParameters", "OneClassSVMCV"]

_VALUES = ["array-like", int, float]


@estimator
class KernelSearchParameters(SearchParameters):
    """Kernels and their parameters."""

    _parameter_constraints: ClassVar[dict] = {
        "kernel": [*CONSTRAINTS["kernel"], list, tuple],
        "gammas": _VALUES,
    }
    kernel: Any = "rbf"
    gammas: Any = 10
    degree: int = 3
    coef0: float = 0.0


@estimator
class SVMSearchParameters(KernelSearchParameters):
    """What searches over kernel SVMs pass on."""

    tol: float = 1e-3
    shrinking: bool = True


class KernelGrid(BaseSearch):
    """Grids over kernels, their parameters, and one parameter of the estimator."""

    kernel: Any
    gammas: Any
    param_grid: Any
    # Name of the parameter, its plural here, and the powers of ten of the default values.
    _path: ClassVar[tuple[str, str, tuple[float, float]]] = ("C", "Cs", (-2.0, 3.0))
    _estimator_class: ClassVar[type]

    def _make_estimator(self) -> Any:
        own = {name: getattr(self, name) for name in self._passed_on}
        kernels = self._kernels()
        return self._estimator_class(kernel=kernels[0] if kernels else self.kernel, **own)

    def _kernels(self) -> list[Any]:
        """The kernels that are searched; none where there is one only."""
        return list(self.kernel) if isinstance(self.kernel, (list, tuple)) else []

    def _grid(self, X: Any) -> list[dict[str, list]]:
        name, plural, powers = self._path
        values = values_of(plural, getattr(self, plural), powers)
        more = lists_of(self.param_grid)
        taken = {name, "gamma", "kernel"} & set(more)
        if taken:
            raise ValueError(
                f"param_grid has {', '.join(sorted(taken))}: give {plural}, gammas and kernel."
            )
        kernels = self._kernels()
        if isinstance(self.kernel, (list, tuple)) and not kernels:
            raise ValueError("kernel is an empty list; give at least one kernel.")
        parts, used = [], set()
        for kernel in kernels or [self.kernel]:
            part: dict[str, list] = {name: values}
            if kernels:
                part["kernel"] = [kernel]
            if isinstance(kernel, str) and "gamma" in KERNELS_BY_NAME[kernel].parameters:
                shape = X.shape if hasattr(X, "shape") else np.shape(X)
                columns = shape[1] if len(shape) == 2 else 1  # the fits refuse other shapes
                part["gamma"] = values_of("gammas", self.gammas, (-3.0, 1.0), 1 / max(columns, 1))
            for key, given in more.items():
                if _has_parameter(kernel, key):
                    part[key] = given
                    used.add(key)
            parts.append(part)
        unused = sorted(set(more) - used)
        if unused:
            names = ", ".join(unused)
            raise ValueError(f"param_grid has {names}, which no kernel of the grid has.")
        return parts

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._kernels():
            tags.input_tags.pairwise = False
        return tags


def _has_parameter(kernel: Any, name: str) -> bool:
    """Whether a candidate with this kernel may have the parameter."""
    if name.startswith("kernel__"):
        nested = kernel.get_params() if isinstance(kernel, Kernel) else {}
        return name.removeprefix("kernel__") in nested
    if name in ("degree", "coef0"):
        return isinstance(kernel, str) and name in KERNELS_BY_NAME[kernel].parameters
    return True


@estimator
class SVCCV(ClassifierMixin, SVMSearchParameters, KernelGrid):
    """C-support vector classification that chooses C and the kernel by cross-validation.

    All combinations of kernels, their parameters and C are fitted on every split. The fits share
    their work: dot products of the rows once for all γ, one kernel matrix for all splits and all C
    of a kernel, and solutions followed along C. Every fit satisfies the KKT conditions to ``tol``
    under the float64 kernel; the best one is then fitted to all rows, with a certificate. Shaped
    like scikit-learn's ``LogisticRegressionCV``, with the results of its ``GridSearchCV``.

    Parameters
    ----------
    kernel : str, callable, Kernel, or a list of them, default="rbf"
        As in `SVC`; of a list the best is chosen.
    Cs : int or array-like, default=10
        An integer n stands for ``logspace(-2, 3, n)``; else the values.
    gammas : int or array-like, default=10
        Of kernels given by name that have γ. An integer n stands for
        ``logspace(-3, 1, n) / n_features``.
    param_grid : dict of name to values, optional
        Further parameters of the grid, such as ``"degree"``, ``"class_weight"`` or, of Kernel
        objects, ``"kernel__gamma"`` and ``"kernel__k1__gamma"``.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; an integer is a number of stratified folds.
    scoring : str or callable, optional
        As in scikit-learn; accuracy by default. A function of the user's own is given fitted models
        and so costs a fit for each cell.
    refit : bool, default=True
        Fit the best candidate to all rows.
    scale : bool, default=False
        Standardise the columns, in each split by its training rows alone. ``best_estimator_`` is
        then a pipeline.
    return_train_score : bool, default=False
    resume : path, optional
        A file that scores are appended to (JSON lines). If it holds some of the same search, on the
        same data, these are not computed again.
    cache_size : float, default=1000
        Megabytes of kernel values. If a kernel matrix of all rows (8 n² bytes) is larger, fits work
        row by row.
    degree, coef0, tol, shrinking, class_weight, fit_intercept, loss, decision_function_shape, \
break_ties
        As in `SVC`.
    time_limit : float, optional
        Seconds for search and last fit; the best so far is kept.
    n_jobs : int, optional
        Threads. None: as many as BLAS would use; −1: all cores. Does not change the scores.
    callback : callable, optional
        Called with a `SearchProgress`; a true value ends the search.
    on_interrupt : {"raise", "return"}, default="raise"
        What Ctrl-C does, after the best so far was kept; as in `SVC`.
    verbose : bool, default=False
        Print progress with the time left.

    Attributes
    ----------
    best_estimator_ : SVC or Pipeline
        Fitted to all rows.
    best_params_ : dict
        Of the parameters that were searched.
    best_score_ : float
        Mean score of the best candidate.
    best_index_ : int
    ties_ : list of dict
        Other candidates with the same mean score, after all of them were solved to a tenth of tol.
    cv_results_ : dict of arrays
        As in scikit-learn's ``GridSearchCV``, and ``max_kkt_violation`` of the fits.
    certificate_, solver_
        Of ``best_estimator_``.
    classes_, n_features_in_, feature_names_in_, n_splits_, scorer_, refit_time_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1, 1.0]).fit(X, y)
    >>> round(model.best_score_, 2)
    0.98
    """

    _parameter_constraints: ClassVar[dict] = {"Cs": _VALUES}
    _estimator_class = SVC
    _passed_on = (
        "degree", "coef0", "tol", "shrinking", "class_weight", "fit_intercept", "loss",
        "decision_function_shape", "break_ties",
    )  # fmt: skip

    Cs: Any = 10
    class_weight: Any = None
    fit_intercept: bool = True
    loss: str = "hinge"
    decision_function_shape: str = "ovr"
    break_ties: bool = False


@estimator
class SVRCV(RegressorMixin, SVMSearchParameters, KernelGrid):
    """ε-support vector regression that chooses C, ε and the kernel by cross-validation.

    As `SVCCV`: dot products once for all γ, one kernel matrix for all splits and all C, solutions
    followed along C.

    Parameters
    ----------
    kernel, Cs, gammas, scale, refit, return_train_score, resume, cache_size, time_limit, n_jobs, \
callback, on_interrupt, verbose
        As in `SVCCV`.
    epsilons : float or array-like, default=0.1
        Values of ε.
    param_grid : dict of name to values, optional
        Further parameters of the grid.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; an integer is a number of consecutive folds.
    scoring : str or callable, optional
        As in scikit-learn; R² by default.
    degree, coef0, tol, shrinking, fit_intercept, loss
        As in `SVR`.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, ties_, cv_results_, certificate_, \
solver_, n_features_in_, feature_names_in_, n_splits_, scorer_, refit_time_
        As in `SVCCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVRCV
    >>> X = np.linspace(0, 6, 60)[:, np.newaxis]
    >>> model = SVRCV(epsilons=0.01, cv=3, gammas=[0.1, 1.0]).fit(X[::-1], np.sin(X[:, 0]))
    >>> sorted(model.best_params_)
    ['C', 'epsilon', 'gamma']
    """

    _parameter_constraints: ClassVar[dict] = {
        "Cs": _VALUES,
        "epsilons": _VALUES,
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }
    _estimator_class = SVR
    _passed_on = ("degree", "coef0", "tol", "shrinking", "fit_intercept", "loss")

    Cs: Any = 10
    epsilons: Any = 0.1
    fit_intercept: bool = True
    loss: str = "epsilon_insensitive"

    def _check_y(self, y: Any) -> Any:
        return np.asarray(super()._check_y(y), dtype=np.float64)

    def _grid(self, X: Any) -> list[dict[str, list]]:
        epsilons = np.atleast_1d(np.asarray(self.epsilons, np.float64)).tolist()
        return [{**part, "epsilon": epsilons} for part in super()._grid(X)]


@estimator
class OneClassSVMCV(OutlierMixin, SVMSearchParameters, KernelGrid):
    """One-class SVM that chooses ν and the kernel by cross-validation.

    The fits do not see labels; a scorer judges them on held-out rows. With y = +1 for inliers and
    −1 for outliers ``scoring="roc_auc"``, ``"accuracy"``, ``"f1"`` and the like apply; without y a
    function ``scoring(model, X, y)`` must be given.

    Parameters
    ----------
    kernel, gammas, scale, refit, return_train_score, resume, cache_size, time_limit, n_jobs, \
callback, on_interrupt, verbose
        As in `SVCCV`.
    nus : int or array-like, default=10
        Values of ν; an integer n stands for ``logspace(-2, log10(0.5), n)``.
    param_grid : dict of name to values, optional
        Further parameters of the grid.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; with labels an integer is a number of stratified folds.
    scoring : str or callable, default="roc_auc"
        As in scikit-learn.
    degree, coef0, tol, shrinking
        As in `OneClassSVM`.

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, ties_, cv_results_, certificate_, \
solver_, n_features_in_, feature_names_in_, n_splits_, scorer_, refit_time_
        As in `SVCCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassSVMCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(90, 2)), rng.uniform(-6, 6, (30, 2))])
    >>> y = np.repeat([1, -1], [90, 30])
    >>> OneClassSVMCV(gammas=3, nus=[0.1, 0.3]).fit(X, y).best_score_ > 0.8
    True
    """

    _parameter_constraints: ClassVar[dict] = {"nus": _VALUES}
    _estimator_class = OneClassSVM
    _passed_on = ("degree", "coef0", "tol", "shrinking")
    _path = ("nu", "nus", (-2.0, float(np.log10(0.5))))

    nus: Any = 10
    scoring: Any = "roc_auc"

    def _check_y(self, y: Any) -> Any:
        if y is None:
            if isinstance(self.scoring, str):
                raise ValueError(
                    f"scoring={self.scoring!r} needs y: +1 for inliers and -1 for outliers. "
                    "Without labels give a function scoring(model, X, y)."
                )
            return None
        y = np.asarray(y)
        if isinstance(self.scoring, str) and not np.isin(y, (-1, 1)).all():
            raise ValueError("y must be +1 for inliers and -1 for outliers.")
        return y
