"""`FeatureFunction`: the fitted function f(x) = w·φ(x) + b of a feature map without landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.features._maps import ROWS, FeatureMap
from mercer.gram._machine import pieces
from mercer.kernels import Kernel
from mercer.kernels._samples import Samples

__all__ = ["FeatureFunction"]


@dataclass(frozen=True, eq=False)
class FeatureFunction:
    """A linear function of features, with one or several outputs.

    Attributes
    ----------
    kernel : Kernel
        That the features approximate.
    map : FeatureMap
    support : Samples
        No rows, of the kind that the model was fitted to.
    coef : float64 array of shape (outputs, n_features)
    b : float64 array of shape (outputs,)
    """

    kernel: Kernel
    map: FeatureMap
    support: Samples
    coef: np.ndarray
    b: np.ndarray

    n_support = 0
    columns = None

    def __call__(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """f at the rows of X, of shape (n, outputs)."""
        out = np.empty((X.shape[0], self.b.size))

        def one(part: slice) -> None:
            out[part] = self.map.transform(X[part]) @ self.coef.T + self.b

        with single_threaded_blas(), Workers(thread_count(n_jobs)) as workers:
            workers.map(one, pieces(X.shape[0], ROWS))
        return out

    exact = __call__

    def signs(self, X: Any, n_jobs: int | None = None, is_decided: Any = None) -> np.ndarray:
        """As the call."""
        return self(X, n_jobs)

    def __repr__(self) -> str:
        return f"FeatureFunction: f(x) = w·φ(x) + b, {self.map.n_features:,} features"
