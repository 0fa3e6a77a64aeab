"""Choosing parameters by cross-validation, with shared work.

_base.py            what the estimators have in common: `fit`, results, the best model
_kernel_classes.py  `SVCCV`, `SVRCV`, `OneClassSVMCV`
_other_classes.py   `KernelRidgeCV`, `KernelLogisticRegressionCV`, `LinearSVCCV` and the like
_grid_search.py     `GridSearchCV`: scikit-learn's, with shared work
_error_bounds.py    `ranges_of_C`: C that cannot be better, for linear models
_leave_one_out.py   `leave_one_out`: exact, by warm starts, and bounds
_driver.py          checks, evaluation, polish of ties
_plan.py            candidates along one parameter; rows after transformers
_svm_search.py      kernel SVMs: paths on shared kernel matrices
_ridge_search.py    kernel ridge regression: all α of a kernel matrix
_linear_search.py   linear models: regularisation paths
_general_search.py  any estimator: one fit for each candidate and split
_ledger.py          scores so far; the file to resume from; ``cv_results_``
_scoring.py         scorers on decision values
_held_out.py        a model of which only decision values are known
_progress.py        progress as lines of text
"""

from mercer.model_selection._error_bounds import CRanges, ranges_of_C
from mercer.model_selection._grid_search import GridSearchCV
from mercer.model_selection._kernel_classes import SVCCV, SVRCV, OneClassSVMCV
from mercer.model_selection._leave_one_out import LeaveOneOut, leave_one_out
from mercer.model_selection._ledger import SearchProgress
from mercer.model_selection._other_classes import (
    KernelLogisticRegressionCV,
    KernelRidgeCV,
    LinearSVCCV,
    LinearSVRCV,
    LogisticRegressionCV,
)

__all__ = [
    "SVCCV",
    "SVRCV",
    "CRanges",
    "GridSearchCV",
    "KernelLogisticRegressionCV",
    "KernelRidgeCV",
    "LeaveOneOut",
    "LinearSVCCV",
    "LinearSVRCV",
    "LogisticRegressionCV",
    "OneClassSVMCV",
    "SearchProgress",
    "leave_one_out",
    "ranges_of_C",
]
