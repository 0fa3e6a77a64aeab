"""Novelty detection: `OneClassSVM`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from mercer._multiclass import Task
from mercer.estimators._fields import SVMParameters, estimator
from mercer.estimators._validation import Data, number_of_samples
from mercer.estimators.svm._base import KernelMachine
from mercer.problems import BoxQP, one_class

__all__ = ["OneClassSVM"]


@estimator
class OneClassSVM(SVMParameters, OutlierMixin, KernelMachine):
    """One-class SVM: the region where most of the data lie.

    Minimises ½‖w‖² − νρ Σsᵢ + Σ sᵢ max(0, ρ − w·φ(xᵢ)); f(x) = w·φ(x) − ρ is negative for outliers.
    ν bounds their share among the training rows. A drop-in for ``sklearn.svm.OneClassSVM``.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, solver, \
time_limit, n_jobs, callback, on_interrupt, warm_start, gap_tol, approximation, n_components, \
checkpoint
        As in `SVC`.
    random_state : int, RandomState or None, default=None
        For an ``approximation``.
    nu : float in (0, 1], default=0.5
    fit_intercept : True
        Without ρ it is another problem: False is refused.

    Attributes
    ----------
    certificate_, solver_, kernel_, expansion_, support_, support_vectors_, n_support_, \
dual_coef_, intercept_, coef_, fit_status_, n_iter_, n_features_in_, feature_names_in_, \
shape_fit_, duals_, bound_duals_, residual_
        As in `SVR`.
    offset_ : ndarray of shape (1,)
        ρ: ``decision_function = score_samples - offset_``.

    Examples
    --------
    >>> from mercer import OneClassSVM
    >>> X = [[0.0], [0.44], [0.45], [0.46], [1.0]]
    >>> OneClassSVM(gamma="auto").fit(X).predict([[0.45], [5.0]])
    array([ 1, -1])
    """

    _needs_intercept = True
    nu: float = 0.5

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit the region."""
        return super().fit(X, np.ones(number_of_samples(X)), sample_weight)

    def _encode(self, data: Data) -> list[Task]:
        return [Task(None, np.ones(data.n))]

    def _pose(self, task: Task, data: Data) -> BoxQP:
        return one_class(self.nu, np.ones(data.n) if data.weight is None else data.weight)

    @property
    def _has_zero_sum(self) -> bool:
        return False  # they sum to ν n

    def _keep_expansion(
        self,
        data: Data,
        gram: Any,
        support: np.ndarray,
        dual_coef: np.ndarray,
        b: np.ndarray,
        blocks: Sequence,
    ) -> None:
        super()._keep_expansion(data, gram, support, dual_coef, b, blocks)
        self.offset_ = -self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """f at each row: positive inside, negative outside.

        Returns
        -------
        values : ndarray of shape (n_samples,)
        """
        return self._decide(X)[:, 0]

    def score_samples(self, X: Any) -> np.ndarray:
        """f without its offset: ``decision_function(X) + offset_``."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """+1 for inliers, −1 for outliers."""
        return np.where(self._decide(X, signs_only=True)[:, 0] > 0, 1, -1).astype(np.intp)
