"""Features that are kernel sums, φ_r(x) = Σⱼ c_rj k(xⱼ, x): an Expansion with one output each."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from mercer._result import Status
from mercer.estimators._convergence import warn_stopped_early
from mercer.estimators._fields import KernelParameters, estimator
from mercer.estimators._kernel_base import KernelEstimator
from mercer.estimators._validation import Data, check_rows, check_training, number_of_samples
from mercer.gram import BlockedGram
from mercer.solvers import Stopping

__all__ = ["KernelFeatures"]


@estimator
class KernelFeatures(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelParameters, KernelEstimator
):
    """Common to `EmpiricalKernelMap` and `Nystroem`."""

    n_jobs: int | None = None
    time_limit: float | None = None
    on_interrupt: str = "raise"

    def _validate(self, X: Any) -> Data:
        return check_training(self, X, np.zeros(number_of_samples(X)), None)

    def _warn_if_stopped(self: Any, stopping: Stopping) -> None:
        """Say what a time limit left."""
        if self.status_ is Status.TIME_LIMIT and not stopping.interrupted:
            warn_stopped_early(
                type(self).__name__,
                self.status_,
                f"{self.expansion_.n_support} rows",
                f"they give {self.n_components_} features",
                f"Raise time_limit={self.time_limit}.",
            )

    def _keep(self, data: Data, gram: BlockedGram, rows: np.ndarray, coef: np.ndarray) -> None:
        """Features are kernel values against these rows times ``coef``."""
        no_b = np.zeros(coef.shape[1])
        self.expansion_ = self._expansion(data, gram, rows, coef.T, no_b)

    @abstractmethod
    def _fit(self, X: Any, wants_features: bool) -> np.ndarray | None:
        """Fit; the features of the training rows if they are wanted."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the features' coefficients from the rows."""
        self._fit(X, wants_features=False)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit, and the features of the training rows."""
        features = self._fit(X, wants_features=True)
        assert features is not None
        return features

    def transform(self, X: Any) -> np.ndarray:
        """Features of the rows."""
        check_is_fitted(self, "expansion_")
        return self.expansion_.exact(check_rows(self, X), self.n_jobs)

    @property
    def n_components_(self) -> int:
        """How many features there are."""
        check_is_fitted(self, "expansion_")
        return self._n_features_out

    @property
    def _n_features_out(self) -> int:
        return self.expansion_.b.size
