"""Random features: `RandomFourierFeatures` of stationary, `TensorSketch` of polynomial kernels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer.estimators._fields import COUNT, estimator
from mercer.estimators._kernel_base import KernelEstimator
from mercer.estimators._parameters import CONSTRAINTS, resolve_kernel
from mercer.estimators._validation import DTYPES, as_numbers
from mercer.features import FeatureMap, draw_fourier, draw_sketch
from mercer.features._fourier import FOURIER_RULES

__all__ = ["RandomFourierFeatures", "TensorSketch"]


class RandomFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Features that depend on the columns of the rows and on a seed, not on the rows."""

    map_: FeatureMap

    @abstractmethod
    def _draw(self, d: int) -> FeatureMap:
        """The features of rows with d columns."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the features; of the rows only the number of columns counts, and γ."""
        X = validate_data(self, as_numbers(X), dtype=DTYPES, accept_sparse="csr")
        self.kernel_, self._gamma = resolve_kernel(self, X, None)
        self.map_ = self._draw(X.shape[1])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Features of the rows."""
        check_is_fitted(self, "map_")
        X = validate_data(self, as_numbers(X), dtype=DTYPES, accept_sparse="csr", reset=False)
        return self.map_.transform(X, X.dtype)

    @property
    def n_components_(self) -> int:
        """How many features there are."""
        check_is_fitted(self, "map_")
        return self.map_.n_features

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


@estimator
class RandomFourierFeatures(RandomFeatures):
    """Random Fourier features: cosines and sines whose dot products estimate a stationary kernel.

    φ(x) = √(1/D) (cos ω₁·x, …, cos ω_D·x, sin ω₁·x, …, sin ω_D·x) with frequencies ω drawn from the
    kernel's spectral density: E φ(x)·φ(z) = k(x, z), and φ(x)·φ(x) = k(x, x) exactly.

    Parameters
    ----------
    kernel : str or Kernel, default="rbf"
        "rbf", "laplacian", or a product or multiple of such Kernel objects.
    gamma : float, "scale" or "auto", default=None
        None and "auto" are 1 / n_features.
    n_components : int, default=100
        Features, two for each frequency: an odd number is rounded up.
    method : {"orthogonal", "plain", "quasi"}, default="orthogonal"
        How frequencies are drawn: in orthogonal blocks (RBF kernels), independently, or by a
        scrambled Sobol sequence. All are unbiased; the first has the smallest variance.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    map_ : FourierMap
        The frequencies as a frozen object with ``transform(rows)``.
    kernel_, n_components_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import RandomFourierFeatures
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> phi = RandomFourierFeatures(RBF(0.2), n_components=2000, random_state=0).fit_transform(X)
    >>> bool(np.abs(phi @ phi.T - RBF(0.2)(X)).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "gamma": [None, *CONSTRAINTS["gamma"]],
        "n_components": [COUNT],
        "method": [StrOptions(set(FOURIER_RULES))],
    }
    kernel: Any = field(default="rbf", kw_only=False)
    gamma: Any = None
    n_components: int = 100
    method: str = "orthogonal"
    random_state: Any = None
    # Of the kernels that a name can stand for.
    degree: ClassVar[int] = 3
    coef0: ClassVar[float] = 0.0

    def _draw(self, d: int) -> FeatureMap:
        rng = check_random_state(self.random_state)
        return draw_fourier(self.kernel_, d, self.n_components, self.method, rng)


@estimator
class TensorSketch(RandomFeatures):
    """TensorSketch: features whose dot products estimate a polynomial kernel (γ x·z + c₀)^p.

    The p-fold product of a row with itself is hashed into n_components buckets without being
    formed: E φ(x)·φ(z) = k(x, z), with a variance of at most (3^p − 1) k(x, x) k(z, z) /
    n_components. The time of a row is that of its nonzeros and of p + 1 fast Fourier transforms.

    Parameters
    ----------
    kernel : str or Kernel, default="poly"
        "poly", "linear", or a power or multiple of such Kernel objects, with coef0 ≥ 0.
    degree : int, default=3
    gamma : float, "scale" or "auto", default=None
        None and "auto" are 1 / n_features.
    coef0 : float, default=1
    n_components : int, default=100
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    map_ : SketchMap
        Buckets and signs as a frozen object with ``transform(rows)``.
    kernel_, n_components_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.embeddings import TensorSketch
    >>> from mercer.kernels import Polynomial
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) / 2
    >>> k = Polynomial(2, coef0=1.0)
    >>> phi = TensorSketch(k, n_components=4000, random_state=0).fit_transform(X)
    >>> bool(np.abs(phi @ phi.T - k(X)).max() < 0.5)
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "gamma": [None, *CONSTRAINTS["gamma"]],
        "n_components": [COUNT],
    }
    kernel: Any = field(default="poly", kw_only=False)
    degree: int = 3
    gamma: Any = None
    coef0: float = 1.0
    n_components: int = 100
    random_state: Any = None

    def _draw(self, d: int) -> FeatureMap:
        rng = check_random_state(self.random_state)
        return draw_sketch(self.kernel_, d, self.n_components, rng)
