"""Classifiers of one class against the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from mercer.estimators._kernel_base import HasWeights, KernelEstimator
from mercer.estimators._validation import Data, class_codes
from mercer.gram import BlockedGram

__all__ = ["RestClassifier", "RestPredictions"]


class RestPredictions(ClassifierMixin):
    """One output per class, positive for it; with two classes one output, positive for the second.

    Where more than one is positive, or none, the largest decides.
    """

    classes_: np.ndarray
    _decide: Any  # decision values of every task, shape (n, n_tasks)

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values."""
        values = self._decide(X)
        return values[:, 0] if self.classes_.size == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        values = self._decide(X)  # raises if there is no fit
        return self.classes_[self._winners(values)]

    def _winners(self, values: np.ndarray) -> np.ndarray:
        """The number of the class, of values of shape (n, n_tasks)."""
        return (values[:, 0] > 0).astype(np.intp) if values.shape[1] == 1 else values.argmax(axis=1)


class RestClassifier(RestPredictions, HasWeights, KernelEstimator):
    """What `KernelPerceptron` and `KernelLogisticRegression` share."""

    intercept_: np.ndarray

    def _encode(self, data: Data) -> np.ndarray:
        """Labels ±1 of every task: shape (tasks, n)."""
        self.classes_, self._codes = class_codes(data)
        positive = [1] if self.classes_.size == 2 else range(self.classes_.size)
        return np.array([np.where(self._codes == c, 1.0, -1.0) for c in positive])

    def _keep_coefficients(
        self, data: Data, gram: BlockedGram, coef: np.ndarray, b: np.ndarray
    ) -> np.ndarray:
        """Set scikit-learn's attributes from coefficients (tasks, n); returns the support rows."""
        support = np.flatnonzero(coef.any(axis=0))
        self.intercept_ = b
        self.dual_coef_ = np.ascontiguousarray(coef[:, support])
        self.support_ = data.original(support).astype(np.int32)
        self.n_support_ = np.bincount(self._codes[support], minlength=self.classes_.size)
        self.expansion_ = self._expansion(data, gram, support, self.dual_coef_, b)
        del self._codes
        return support
