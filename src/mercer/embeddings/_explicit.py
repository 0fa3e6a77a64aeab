"""`ExplicitFeatures`: the exact features of kernels that have a finite feature map."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Self

import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.estimators._fields import POSITIVE, KernelParameters, estimator
from mercer.estimators._kernel_base import KernelEstimator
from mercer.estimators._parameters import resolve_kernel
from mercer.estimators._validation import DTYPES, as_numbers, holds_objects, read_objects
from mercer.kernels._samples import Samples
from mercer.kernels.structured._feature_sums import explicit_features

__all__ = ["ExplicitFeatures"]


@estimator
class ExplicitFeatures(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelParameters, KernelEstimator
):
    """Features whose dot products are the kernel exactly, sparse for structured kernels.

    For kernels with a finite feature map: counts of substrings (`mercer.kernels.Spectrum`), of
    subtrees and paths of graphs, of tokens of sets; "linear", "poly" and sums, products and powers
    of these. A linear model on these features *is* the kernel model; features that the training
    samples do not have are left out, since their weight would be zero.

    Parameters
    ----------
    kernel, degree, gamma, coef0
        As in `mercer.SVC`, except for the default kernel.
    max_bytes : float, default=1e9
        Features that take more memory are refused.

    Attributes
    ----------
    kernel_ : Kernel
    n_components_ : int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from mercer.embeddings import ExplicitFeatures
    >>> from mercer.kernels import Spectrum
    >>> words = ["banana", "ananas", "band"]
    >>> phi = ExplicitFeatures(Spectrum(2)).fit_transform(words)
    >>> bool((phi[0] @ phi[1].T).toarray()[0, 0] == Spectrum(2)(words)[0, 1])
    True
    """

    _parameter_constraints: ClassVar[dict] = {"max_bytes": [POSITIVE]}
    kernel: Any = field(default="linear", kw_only=False)
    max_bytes: float = 1e9

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the features of the samples."""
        self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and the features of the training samples."""
        return self._fit(X)

    def _fit(self, X: Any) -> Any:
        self._seen: Samples | None = None
        if holds_objects(self.kernel, X):
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            X = read_objects(self.kernel, X)
            self.kernel_, self._gamma = resolve_kernel(self, X, None)
            self._seen = self.kernel_.prepare(Samples(X))
            phi = explicit_features(self.kernel_, self._seen, self._seen)
            if phi is None:
                raise ValueError(
                    f"{self.kernel_!r} has no explicit sparse features. Use Nystroem, which needs "
                    "kernel values only."
                )
            phi = sp.csr_matrix(phi)
        else:
            X = validate_data(self, as_numbers(X), dtype=DTYPES, accept_sparse="csr")
            self.kernel_, self._gamma = resolve_kernel(self, X, None)
            phi = self.kernel_.feature_map(X, max_bytes=self.max_bytes)
        self._count = int(phi.shape[1])
        return phi

    def transform(self, X: Any) -> Any:
        """Features of the samples, in the columns of the training samples."""
        check_is_fitted(self, "kernel_")
        if self._seen is None:
            X = validate_data(self, as_numbers(X), dtype=DTYPES, accept_sparse="csr", reset=False)
            return self.kernel_.feature_map(X, max_bytes=self.max_bytes)
        samples = self.kernel_.prepare(Samples(read_objects(self.kernel_, X)))
        return sp.csr_matrix(explicit_features(self.kernel_, samples, self._seen))

    @property
    def n_components_(self) -> int:
        """How many features there are."""
        check_is_fitted(self, "kernel_")
        return self._count

    @property
    def _n_features_out(self) -> int:
        return self.n_components_
