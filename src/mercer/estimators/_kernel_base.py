"""What every kernel estimator shares: parameters, the kernel bound to rows, the fitted function."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from mercer._expansion import Expansion
from mercer.estimators._convergence import ProgressLines
from mercer.estimators._parameters import refuse_as_kernel, resolve_kernel
from mercer.estimators._validation import (
    Data,
    check_rows,
    dense_if_small,
    is_precomputed,
)
from mercer.gram import BlockedGram
from mercer.kernels import Kernel
from mercer.kernels._base import LARGEST
from mercer.kernels._binding import bind_samples
from mercer.kernels._samples import Samples
from mercer.solvers import Stopping

__all__ = ["BoundData", "HasWeights", "KernelEstimator"]


@dataclass(frozen=True, eq=False)
class BoundData:
    """Validated training data with a kernel bound to its rows: what several fits can share.

    Attributes
    ----------
    data : Data
    gram : BlockedGram
    kernel : Kernel
    gamma : float
        The number that the estimator's ``gamma`` stands for.
    zero_sum : bool
        Whether the rows may be centred because coefficients sum to zero.
    attributes : dict
        ``n_features_in_`` and ``feature_names_in_``.
    """

    data: Data
    gram: BlockedGram
    kernel: Kernel
    gamma: float
    zero_sum: bool
    attributes: dict[str, Any]

    @classmethod
    def of(cls, estimator: Any, data: Data, gram: BlockedGram) -> BoundData:
        names = ("n_features_in_", "feature_names_in_")
        attributes = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
        zero_sum = estimator._has_zero_sum
        return cls(data, gram, estimator.kernel_, estimator._gamma, zero_sum, attributes)

    def adopt(self, estimator: Any) -> tuple[Kernel, float]:
        """Give an estimator what validation would have set; its kernel must be the bound one."""
        kernel, gamma = resolve_kernel(estimator, dense_if_small(self.data.X), self.data.weight)
        if kernel != self.kernel or estimator._has_zero_sum != self.zero_sum:
            raise ValueError(
                f"The data are bound to {self.kernel!r} with fit_intercept={self.zero_sum}, but "
                f"this {type(estimator).__name__} has {kernel!r} and "
                f"fit_intercept={estimator._has_zero_sum}. Bind the data again."
            )
        for name, value in self.attributes.items():
            setattr(estimator, name, value)
        return kernel, gamma


class KernelEstimator(BaseEstimator):
    """An estimator with the parameters ``kernel, degree, gamma, coef0`` and a kernel expansion."""

    _parameter_constraints: ClassVar[dict] = {}
    kernel: Any
    # What a callback's ``iterations`` and ``violation`` are.
    _progress_words: ClassVar[tuple[str, str]] = ("steps", "violation")

    def _bind(self, data: Data) -> BlockedGram:
        """The kernel that the parameters mean on these rows, and its Gram."""
        X = dense_if_small(data.X)
        zero_sum, largest = self._has_zero_sum, self._largest_value(X.shape[0])
        self.kernel_, self._gamma = resolve_kernel(self, X, data.weight)
        samples = bind_samples(self.kernel_, X, zero_sum=zero_sum, largest=largest)
        return BlockedGram(self.kernel_, samples)

    def _largest_value(self, n: int) -> float:
        """What squared norms and kernel values of n rows must not exceed."""
        return LARGEST

    @property
    def _has_zero_sum(self) -> bool:
        """Whether the coefficients of every task sum to zero, and the model has an intercept."""
        return False

    def _callback(self) -> Any:
        if self.verbose:
            return ProgressLines(type(self).__name__, self.callback, self._progress_words)
        return self.callback

    def _limits(self) -> Stopping:
        return Stopping(self.time_limit, self._callback(), self.on_interrupt, self)

    def _check_parameters(self) -> None:
        """What scikit-learn's ``_fit_context`` does, which imports a library of progress bars."""
        if not get_config()["skip_parameter_validation"]:
            self._validate_params()

    def _expansion(
        self,
        data: Data,
        gram: BlockedGram,
        support: np.ndarray,
        coef: np.ndarray,
        b: np.ndarray,
        blocks: Any = None,
    ) -> Expansion:
        """Σ cᵢ k(xᵢ, ·) + b over the rows ``support``, which are kept as support_vectors_."""
        columns = None
        if is_precomputed(self.kernel):
            self.support_vectors_ = np.empty((0, 0))
            columns = data.original(support)
        else:
            vectors = data.X[support]
            # Integers would wrap around in the user's arithmetic, so float64, as in scikit-learn.
            self.support_vectors_ = (
                vectors if vectors.ndim == 1 else vectors.astype(np.float64, copy=False)
            )
        if getattr(self.kernel_, "on_whole_set", False):
            return Expansion(self.kernel_, Samples(data.X), coef, b, blocks, support)
        origin = None if sp.issparse(data.X) else gram.points.origin
        points = Samples(self.support_vectors_, origin)
        return Expansion(self.kernel_, points, coef, b, blocks, columns)

    def _whole_expansion(
        self, data: Data, gram: BlockedGram, coef: np.ndarray, b: np.ndarray | None = None
    ) -> Expansion:
        """Σ cᵢ k(xᵢ, ·) + b over all rows."""
        precomputed = is_precomputed(self.kernel)
        columns = data.original(np.arange(data.n)) if precomputed else None
        points = Samples(data.X, None if sp.issparse(data.X) else gram.points.origin)
        b = np.zeros(coef.shape[0]) if b is None else b
        return Expansion(self.kernel_, points, coef, b, None, columns)

    def _decide(self, X: Any, signs_only: bool = False) -> np.ndarray:
        """Decision values of every task, shape (n, n_tasks)."""
        check_is_fitted(self, "expansion_")
        rows = check_rows(self, X)
        if signs_only:
            return self.expansion_.signs(rows, self.n_jobs, self._is_decided)
        return self.expansion_(rows, self.n_jobs)

    # Which rows' predictions are decided by the signs that are certain: see `Expansion.signs`.
    _is_decided: Any = None

    # ------------------------------------------------------------------ scikit-learn's protocol

    def set_params(self, **params: Any) -> KernelEstimator:
        """Set parameters; ``kernel__gamma`` and the like replace the (frozen) kernel by another."""
        inner = {name: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)
        if inner:
            if not hasattr(self.kernel, "set_params"):
                raise ValueError(
                    f"{', '.join(inner)} needs a Kernel object, got kernel={self.kernel!r}; "
                    "for example kernel=RBF(gamma=1.0)."
                )
            names = {name.removeprefix("kernel__"): value for name, value in inner.items()}
            # Another kernel; those of scikit-learn's Gaussian processes are changed in place.
            self.kernel = self.kernel.set_params(**names)
        return self

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()  # reading the signature costs a tenth of a small fit

    @classmethod
    @cache
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def _validate_params(self) -> None:
        """Check the parameters that were set: defaults are valid, and checking costs time."""
        defaults = self._defaults()
        changed = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if value is not defaults.get(name, inspect.Parameter.empty)
        }
        if "kernel" in changed:
            refuse_as_kernel(type(self).__name__, self.kernel)
        validate_parameter_constraints(
            self._parameter_constraints, changed, caller_name=type(self).__name__
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags


class HasWeights:
    """An estimator whose expansion with a linear kernel is w·x + b."""

    kernel: Any
    expansion_: Expansion

    @property
    def coef_(self) -> Any:
        """Weights of the features, for a linear kernel only; read-only."""
        is_linear = isinstance(self.kernel, Kernel) and self.kernel.is_linear
        if not (is_linear or self.kernel == "linear"):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self, "expansion_")
        if self.expansion_.support.is_sparse:
            coef = self.expansion_.sparse_weights()
            coef.data.flags.writeable = False
            return coef
        coef = self.expansion_.weights(centred=False).view()
        coef.flags.writeable = False
        return coef
