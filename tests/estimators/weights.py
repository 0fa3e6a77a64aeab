"""Weighted rows against repeated ones, as exactly as scikit-learn's checks compare them."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

COMPARED = "check_sample_weight_equivalence"


def with_tol(estimator: Any, check: Any, tol: float, **more: Any) -> Any:
    """The estimator; with another tol (and ``more``) for the checks that compare weights.

    They ask two fits, each within tol of the same optimum, for values that agree to 1e-7. Of an
    objective with the term ½‖w‖² the values at ‖x‖ = 1 are within √(2 gap) of the optimal ones.
    """
    if not check.func.__name__.startswith(COMPARED):
        return estimator
    return clone(estimator).set_params(tol=tol, **more)
