"""scikit-learn's conformance checks on estimators with ``approximation``."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVR, KernelRidge

LOW = {"approximation": "nystroem", "random_state": 0}
ESTIMATORS = [SVC(**LOW), SVR(**LOW), KernelRidge(kernel="rbf", **LOW)]
WEIGHTS = "two solutions agree to the relative gap tol (test_low_rank.py compares them)"


def expected(estimator) -> dict[str, str]:
    if isinstance(estimator, KernelRidge):
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    }


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
def test_check_estimator(estimator, check):
    check(estimator)
