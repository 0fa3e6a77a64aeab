"""The fitted function of a linear model, f(x) = w·x + b: what `Expansion` is for kernel models."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["FromCoefficients", "LinearFunction"]


class LinearFunction:
    """f(x) = w·x + b with one or several outputs.

    Parameters
    ----------
    coef : array or CSR matrix of shape (n_outputs, n_features)
        A row w for each output; of one output, also of shape (n_features,).
    b : array of shape (n_outputs,)
    """

    def __init__(self, coef: Any, b: np.ndarray):
        self.coef = coef if sp.issparse(coef) else np.atleast_2d(coef)
        self.b = np.atleast_1d(b)

    def __call__(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """f at the rows of X (dense or CSR): shape (n, n_outputs). ``n_jobs`` is not used."""
        values = X @ self.coef.T
        return np.asarray(values.toarray() if sp.issparse(values) else values) + self.b

    def __repr__(self) -> str:
        n_outputs, d = self.coef.shape
        many = "" if n_outputs == 1 else f", {n_outputs} outputs"
        b = f", b = {float(self.b[0]):.6g}" if n_outputs == 1 else ""
        return f"LinearFunction: f(x) = w·x + b, {d:,} columns{many}{b}"


class FromCoefficients:
    """``expansion_`` of an estimator with ``coef_``; an attribute that a fit sets comes first."""

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        return self if model is None else LinearFunction(model.coef_, model.intercept_)
