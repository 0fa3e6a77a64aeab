"""scikit-learn's conformance checks on the searches; exceptions carry their reason."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    SVCCV,
    SVRCV,
    KernelLogisticRegressionCV,
    KernelRidgeCV,
    LinearSVCCV,
    LinearSVRCV,
    LogisticRegressionCV,
    OneClassSVMCV,
)

KERNEL = {"gammas": [0.1, 1.0], "cv": 3}
SEARCHES = [
    SVCCV(Cs=[1.0, 10.0], **KERNEL),
    SVRCV(Cs=[1.0, 10.0], **KERNEL),
    KernelRidgeCV(alphas=[0.1, 1.0], **KERNEL),
    LinearSVCCV(Cs=[0.1, 1.0], cv=3),
    LinearSVRCV(Cs=[0.1, 1.0], cv=3),
    LogisticRegressionCV(Cs=[0.1, 1.0], cv=3),
    KernelLogisticRegressionCV(Cs=[1.0], gammas=[0.1], cv=3),
]

OTHER_FOLDS = "repeated rows fall into other folds than a row with a weight"


def expected(estimator) -> dict[str, str]:
    """Checks that cannot hold, and why."""
    return {
        "check_sample_weight_equivalence_on_dense_data": OTHER_FOLDS,
        "check_sample_weight_equivalence_on_sparse_data": OTHER_FOLDS,
    }


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(SEARCHES, expected_failed_checks=expected)
def test_check_estimator(estimator, check):
    check(estimator)


def test_one_class_needs_labels_of_outliers():
    """The checks fit outlier detectors without any."""
    with pytest.raises(ValueError, match=r"needs y: \+1 for inliers"):
        OneClassSVMCV().fit([[0.0], [1.0]])
