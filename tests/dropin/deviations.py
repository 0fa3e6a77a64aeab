"""Tests of scikit-learn that Mercer's classes fail, and why: each is a decision, not a defect.

A key is a test, or a test without its parameters for all of them.
"""

from __future__ import annotations

__all__ = ["DEVIATIONS", "MAY_PASS"]

_SVM = "sklearn/svm/tests/test_svm.py::"
_SGD = "sklearn/linear_model/tests/test_sgd.py::"

DEVIATIONS = {
    _SVM + "test_svr_errors": "a kernel function that returns the wrong shape is refused by fit, "
    "not first by predict",
    _SVM + "test_bad_input": "asks for an error for sparse rows after a dense fit; they are taken",
    _SGD + "test_sgd_oneclass_vs_linear_oneclass_offsets_match[0.9]": "the offset is zero; "
    "Mercer's is nearer to it than that of SGDOneClassSVM, by more than the tolerance of the test",
    "sklearn/utils/tests/test_estimator_checks.py::test_xfail_count_with_no_fast_fail": "asks for "
    "no other warning from NuSVC; Mercer's says of one check's data that the model is arbitrary, "
    "where rho = 0",
    # LinearSVC and LinearSVR
    _SVM + "test_linear_svm_convergence_warnings": "the toy problem is solved in two iterations",
    _SVM + "test_linearsvm_liblinear_sample_weight[42-LinearSVC-params0]": "the optimum is not "
    "unique, and which one is found depends on the order of the rows",
}
# Entries whose tests pass or fail by rounding, which is the processor's.
MAY_PASS = {_SVM + "test_linearsvm_liblinear_sample_weight[42-LinearSVC-params0]"}
