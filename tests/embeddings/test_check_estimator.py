"""scikit-learn's conformance checks on the embeddings."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.embeddings import (
    EmpiricalKernelMap,
    ExplicitFeatures,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
    Nystroem,
    RandomFourierFeatures,
    TensorSketch,
)
from mercer.kernels import RBF

ESTIMATORS = [
    EmpiricalKernelMap(),
    EmpiricalKernelMap(kernel="precomputed"),
    Nystroem(random_state=0),
    Nystroem(landmarks="leverage", random_state=0),
    RandomFourierFeatures(random_state=0),
    RandomFourierFeatures(method="quasi", random_state=0),
    TensorSketch(random_state=0),
    ExplicitFeatures("poly", degree=2),
    LaplacianEigenmaps(),
    LaplacianEigenmaps(affinity=RBF(0.1)),
    LocallyLinearEmbedding(),
    LocallyLinearEmbedding(kernel="precomputed"),
]


def expected(estimator) -> dict[str, str]:
    """Matrices that are no kernel matrices are refused."""
    failing = {}
    takes_any = isinstance(estimator, LocallyLinearEmbedding)
    if getattr(estimator, "kernel", None) == "precomputed" and not takes_any:
        failing["check_positive_only_tag_during_fit"] = "its matrix is indefinite"
    if failing and isinstance(estimator, EmpiricalKernelMap):
        failing["check_estimators_dtypes"] = "a float32 matrix as float64 is indefinite by rounding"
    return failing


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected)
def test_check_estimator(estimator, check):
    check(estimator)
