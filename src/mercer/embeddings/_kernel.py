"""Features that are kernel sums, φ_r(x) = Σⱼ c_rj k(xⱼ, x): an Expansion with one output each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer._threads import Workers, single_threaded_blas, thread_count
from mercer.estimators._data import (
    Data,
    check_rows,
    check_training,
    dense_if_small,
    is_precomputed,
    make_points,
)
from mercer.estimators._params import CONSTRAINTS, resolve_kernel
from mercer.expansion import Expansion
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.kernels.points import Points

__all__ = ["KernelFeatures"]


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Common to `EmpiricalKernelMap` and `Nystroem`."""

    _parameter_constraints: ClassVar[dict] = {
        name: CONSTRAINTS[name] for name in ("kernel", "gamma", "degree", "coef0", "n_jobs")
    }
    kernel: Any

    def _bind(self, X: Any) -> tuple[Data, Gram]:
        """The rows, checked, and the kernel bound to them."""
        data = check_training(self, X, np.zeros(_num_samples(X)), None)
        rows = dense_if_small(data.X)
        self.kernel_, _ = resolve_kernel(self, rows, None)
        points = make_points(rows, self.kernel_)
        self.kernel_.check(points)
        return data, Gram(self.kernel_, points, Workers(1))

    def _matrix(self, gram: Gram) -> np.ndarray:
        with single_threaded_blas(), Workers(thread_count(self.n_jobs)) as workers:
            gram.workers = workers
            return gram.matrix()

    def _keep(self, data: Data, gram: Gram, rows: np.ndarray | None, coef: np.ndarray) -> None:
        """Features are kernel values against these rows (None: all) times ``coef``."""
        columns = None
        support: Any = data.X if rows is None else data.X[rows]
        if is_precomputed(self.kernel):
            support = np.empty((0, 0))
            columns = np.arange(data.n) if rows is None else rows
        origin = None if gram.points.is_sparse else gram.points.origin
        zero = np.zeros(coef.shape[1])
        points = Points(support, origin if not _is_sparse(support) else None)
        self.expansion_ = Expansion(self.kernel_, points, coef.T, zero, None, columns)

    def transform(self, X: Any) -> np.ndarray:
        """Features of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            For a precomputed kernel, the kernel values against the training rows.

        Returns
        -------
        features : ndarray of shape (n_samples, n_components_)
        """
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

    def set_params(self, **params: Any) -> KernelFeatures:
        """Set parameters; ``kernel__gamma`` and the like replace the (frozen) kernel by another."""
        inner = {n: params.pop(n) for n in list(params) if n.startswith("kernel__")}
        super().set_params(**params)
        if inner and not isinstance(self.kernel, Kernel):
            raise ValueError(f"{', '.join(inner)} needs a Kernel object, got {self.kernel!r}.")
        if inner:
            names = {name.removeprefix("kernel__"): value for name, value in inner.items()}
            self.kernel = self.kernel.set_params(**names)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


def _is_sparse(X: Any) -> bool:
    return hasattr(X, "tocsr")
