"""What scikit-learn asks of an estimator around another one."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["WrapsEstimator"]


class WrapsEstimator:
    """The columns of the fitted ``estimator_``, and the rows that the given one takes."""

    @property
    def n_features_in_(self) -> int:
        """Of the fitted estimator."""
        return self.estimator_.n_features_in_  # type: ignore[attr-defined]

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Of the fitted estimator."""
        return self.estimator_.feature_names_in_  # type: ignore[attr-defined]

    def _wrapped(self) -> Any:
        return self.estimator  # type: ignore[attr-defined]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags = self._wrapped().__sklearn_tags__().input_tags
        return tags
