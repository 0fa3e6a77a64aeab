"""scikit-learn's conformance checks on estimators with ``approximation``."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVR, KernelRidge

LOW = {"approximation": "nystroem", "random_state": 0}
# Weighted and repeated rows are compared to seven digits: the tolerance is below that.
ESTIMATORS = [
    SVC(tol=1e-8, **LOW),
    SVR(tol=1e-8, **LOW),
    KernelRidge(kernel="rbf", **LOW),
]
FLOAT32 = "repeated landmarks give other float32 features; test_low_rank.py compares the values"


def expected(estimator) -> dict[str, str]:
    """Checks that ask for more digits than the features have."""
    if not isinstance(estimator, SVR):
        return {}
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": FLOAT32 for kind in ("dense", "sparse")
    }


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
def test_check_estimator(estimator, check):
    check(estimator)
