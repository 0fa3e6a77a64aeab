"""scikit-learn's conformance checks on `PegasosClassifier`; exceptions carry their reason."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import PegasosClassifier

ORDER = "examples are drawn at random: repeated rows make another order than weighted ones"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [
        PegasosClassifier(max_iter=50),
        PegasosClassifier(lam=0.01, max_iter=50, batch_size=4, project=True),
        PegasosClassifier(kernel="rbf", max_iter=50),
        PegasosClassifier(kernel="precomputed", max_iter=50),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_check_estimator(estimator, check):
    check(estimator)
