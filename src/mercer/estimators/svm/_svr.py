"""Support vector regression: `SVR` (ε) and `NuSVR` (ν)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import StrOptions

from mercer._multiclass import Task
from mercer.estimators._fields import SVMParameters, estimator
from mercer.estimators._validation import Data, as_targets
from mercer.estimators.svm._base import KernelMachine
from mercer.problems import BoxQP, nu_svr, svr
from mercer.solvers.separability._hull import HullProof

__all__ = ["SVR", "NuSVR"]


class KernelRegressor(RegressorMixin, KernelMachine):
    """A kernel machine whose targets are numbers."""

    def _encode(self, data: Data) -> list[Task]:
        return [Task(None, as_targets(data.y))]

    def _bounds(self, data: Data) -> float | np.ndarray:
        return self.C if data.weight is None else self.C * data.weight

    def _raise_not_separable(self, data: Data, task: Task, proof: HullProof) -> None:
        raise ValueError(
            "C=inf asks for every row within epsilon of f, and no f of this kernel comes so near "
            f"(proved in exact arithmetic: {proof.how}). Use a finite C, a larger epsilon or "
            "another kernel."
        )

    def predict(self, X: Any) -> np.ndarray:
        """f at each row."""
        return self._decide(X)[:, 0]


@estimator
class SVR(SVMParameters, KernelRegressor):
    """ε-support vector regression.

    Minimises ½‖w‖² + C Σ sᵢ max(0, abs(yᵢ − f(xᵢ)) − ε) with f(x) = w·φ(x) + b and sample
    weights s; with ``loss="squared_epsilon_insensitive"`` the maxima are squared. A drop-in for
    ``sklearn.svm.SVR``.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver, \
time_limit, n_jobs, callback, on_interrupt, warm_start, fit_intercept, gap_tol, approximation, \
n_components, checkpoint
        As in `SVC`.
    random_state : int, RandomState or None, default=None
        For an ``approximation``.
    C : float, default=1.0
        Penalty on the slack variables, positive; ``inf`` keeps every residual within epsilon.
    epsilon : float, default=0.1
        Residuals up to epsilon are not penalised.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        Whether the slack is penalised by C ξ or by C ξ².

    Attributes
    ----------
    certificate_, solver_, kernel_, expansion_, support_, support_vectors_, fit_status_, \
n_features_in_, feature_names_in_, shape_fit_, duals_, bound_duals_, residual_
        As in `SVC`.
    dual_coef_ : ndarray or CSR of shape (1, n_support)
    intercept_ : ndarray of shape (1,)
    coef_ : ndarray or CSR of shape (1, n_features)
        For a linear kernel.
    n_support_ : ndarray of shape (1,)
    n_iter_ : int
        Steps of the solver ("smo": pair updates).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = SVR(kernel="linear", C=100, epsilon=0.0, tol=1e-9).fit(X, [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(6)
    array([7.])
    """

    _parameter_constraints: ClassVar[dict] = {
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
    }
    C: float = 1.0
    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"

    def _pose(self, task: Task, data: Data) -> BoxQP:
        return svr(
            task.y,
            self._bounds(data),
            self.epsilon,
            fit_intercept=self.fit_intercept,
            squared=self.loss == "squared_epsilon_insensitive",
        )


@estimator
class NuSVR(SVMParameters, KernelRegressor):
    """ν-support vector regression.

    As `SVR`, but the tube finds its own width: ν bounds the share of rows outside it from above and
    that of support vectors from below. A drop-in for ``sklearn.svm.NuSVR``.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
    C : float, default=1.0
        Penalty on the slack variables, positive and finite.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, solver, \
time_limit, n_jobs, callback, on_interrupt, warm_start, gap_tol, checkpoint
        As in `SVC`.
    approximation, n_components, random_state
        Not for this formulation: ``approximation`` other than None is refused.
    fit_intercept : True
        Without intercept ν is another problem: False is refused.

    Attributes
    ----------
    certificate_, solver_, kernel_, expansion_, support_, support_vectors_, n_support_, \
dual_coef_, intercept_, coef_, fit_status_, n_iter_, n_features_in_, feature_names_in_, shape_fit_
        As in `SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVR
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> NuSVR(kernel="linear", C=100, tol=1e-9).fit(X, [1.0, 3.0, 5.0]).predict([[3.0]]).round(6)
    array([7.])
    """

    _needs_intercept = True
    nu: float = 0.5
    C: float = 1.0

    def _pose(self, task: Task, data: Data) -> BoxQP:
        return nu_svr(task.y, self._bounds(data), self.nu)
