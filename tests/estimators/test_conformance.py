"""The estimators of the package keep the contract of `EstimatorConformance`."""

from __future__ import annotations

import mercer
from mercer.estimators._registry import ESTIMATORS
from tests.estimators.conformance import EstimatorConformance


class Regression(EstimatorConformance):
    def targets(self, t):
        return t


class TestSVC(EstimatorConformance):
    estimator = mercer.SVC()


class TestNuSVC(EstimatorConformance):
    estimator = mercer.NuSVC(nu=0.3)


class TestLinearSVC(EstimatorConformance):
    estimator = mercer.LinearSVC()


class TestLogisticRegression(EstimatorConformance):
    estimator = mercer.LogisticRegression()


class TestKernelLogisticRegression(EstimatorConformance):
    estimator = mercer.KernelLogisticRegression()


class TestPegasosClassifier(EstimatorConformance):
    estimator = mercer.PegasosClassifier(random_state=0)


class TestSVR(Regression):
    estimator = mercer.SVR()


class TestNuSVR(Regression):
    estimator = mercer.NuSVR()


class TestLinearSVR(Regression):
    estimator = mercer.LinearSVR()


class TestKernelRidge(Regression):
    estimator, has_duals = mercer.KernelRidge(kernel="rbf"), False


class TestPegasosRegressor(Regression):
    estimator = mercer.PegasosRegressor(random_state=0)


class TestOneClassSVM(EstimatorConformance):
    estimator = mercer.OneClassSVM(nu=0.3)

    def targets(self, t):
        return None


class TestKernelPCA(EstimatorConformance):
    estimator, has_duals = mercer.KernelPCA(2, kernel="rbf"), False

    def targets(self, t):
        return None


def test_every_estimator_with_a_certificate_is_checked():
    checked = {
        type(case.estimator).__name__
        for case in globals().values()
        if isinstance(case, type) and hasattr(case, "estimator")
    }
    stated = {
        name
        for name, entry in ESTIMATORS.items()
        if entry.verify and "model_selection" not in entry.module
    }
    assert checked == stated
