"""scikit-learn's conformance checks on the searches."""

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
from tests.estimators.weights import with_tol

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


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(SEARCHES)
def test_check_estimator(estimator, check):
    if isinstance(estimator, (SVCCV, SVRCV)):
        estimator = with_tol(estimator, check, 1e-9)
    check(estimator)


def test_one_class_needs_labels_of_outliers():
    """The checks fit outlier detectors without any."""
    with pytest.raises(ValueError, match=r"needs y: \+1 for inliers"):
        OneClassSVMCV().fit([[0.0], [1.0]])
