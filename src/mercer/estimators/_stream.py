"""`partial_fit` of `PegasosClassifier`: the same descent over batches of rows that come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from mercer.estimators._data import Data, check_training
from mercer.kernels import Kernel, Linear
from mercer.solvers.descent import Descent

__all__ = ["StreamMixin"]


def _has_stream(estimator: Any) -> bool:
    if not estimator._is_linear:
        raise AttributeError(
            f"partial_fit needs an explicit w, but kernel={estimator.kernel!r} keeps rows, without "
            "end in a stream. Use kernel=None, on mapped rows if need be."
        )
    if estimator.lam is None:
        raise AttributeError(
            "partial_fit needs lam: C stands for 1/(n lam), and n is not known in a stream."
        )
    return True


class StreamMixin:
    """What goes on from batch to batch is a `Descent` for each class: w, its average, t."""

    kernel_: Kernel

    @available_if(_has_stream)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self: Any, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Any:
        """One pass over some rows, going on from where the last one ended; linear only.

        There is no certificate: it is about all rows, and those before are gone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, optional
            All classes there will be; at the first call.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self : object
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows; give partial_fit a dict of class weights."
            )
        begins = not hasattr(self, "_states")
        data = self._check_batch(X, y, sample_weight, begins)
        if begins:
            if classes is None:
                raise ValueError("classes must be given at the first call of partial_fit.")
            self.classes_ = np.unique(classes)
            if self.classes_.size < 2:
                raise ValueError(f"classes must hold at least two, got {self.classes_!r}.")
            self.lam_, self.kernel_ = self._resolve_lam(1.0), Linear()
        if not hasattr(self, "_rng"):
            seed = check_random_state(self.random_state).randint(0, 2**31 - 1)
            self._rng = np.random.default_rng(seed)
        unknown = np.setdiff1d(data.y, self.classes_)
        if unknown.size:
            raise ValueError(f"y has labels that are not in classes: {unknown[:5].tolist()}.")
        codes = np.searchsorted(self.classes_, data.y)
        weight = self._weights(codes, data.weight)
        rows, signs = self._linear_rows(data.X), self._signs(codes)
        if begins:
            self._states = [
                Descent(self.lam_, rows.size, self.batch_size, self.project) for _ in signs
            ]
        order = self._rng.permutation(rows.n)
        for state, labels in zip(self._states, signs, strict=True):
            state.count_anew(rows.n)
            rows.run(labels, weight, order, state)
        self.n_iter_, self.t_ = getattr(self, "n_iter_", 0) + 1, self._states[0].t
        if hasattr(self, "certificate_"):
            del self.certificate_
        self._keep_linear()
        return self

    def _check_batch(self: Any, X: Any, y: Any, sample_weight: Any, begins: bool) -> Data:
        expected = None if begins else self.n_features_in_
        data = check_training(self, X, y, sample_weight)
        if expected not in (None, data.X.shape[1]):
            self.n_features_in_ = expected
            raise ValueError(
                f"X has {data.X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{expected} features as input."
            )
        return data
