"""scikit-learn's conformance checks on estimators around others."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import MKL, SVC, SVR, OneClassSVM
from mercer.conformal import ConformalClassifier, ConformalOutlierDetector, ConformalRegressor
from mercer.kernels import RBF, Linear

# Weighted and repeated rows are compared to seven digits: the tolerances are below that.
ESTIMATORS = [
    MKL([RBF(0.1), Linear()], SVC(tol=1e-10), gap_tol=1e-12),
    ConformalClassifier(SVC(tol=1e-10)),
    ConformalRegressor(SVR(tol=1e-10)),
    ConformalOutlierDetector(OneClassSVM()),
]


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(ESTIMATORS)
def test_check_estimator(estimator, check):
    check(estimator)
