"""Estimators with scikit-learn's interface.

===============  ====================================================================
_registry.py     one entry for each estimator; all lists of estimators derive from it
_fields.py       parameters as fields, from which `estimator` writes the constructor
_parameters.py   what parameters may be, and the kernel that they mean
_methods.py      sections of docstrings, and methods that depend on parameters
_validation.py   rows, targets and weights, checked once
_kernel_base.py  what every kernel estimator shares
_one_vs_rest.py  classifiers of one class against the rest
_convergence.py  progress lines, the convergence warning, the error with a proof
_warm_start.py   the duals of the last fit as a start
_dual_view.py    `dual_view`: the dual variables of a fitted model
_task_duals.py   `TaskDuals`: those of one binary task
_path.py         `path`: models along C or γ
_compress.py     `compress`: a kernel model with fewer vectors
_ridge.py        `KernelRidge`
_logistic.py     `KernelLogisticRegression`
_perceptron.py   `KernelPerceptron`
_kmeans.py       `KernelKMeans`
_pca.py          `KernelPCA`
_pre_image.py    pre-images for the RBF kernel
svm/             SVC, NuSVC, SVR, NuSVR, OneClassSVM
linear/          LinearSVC, LinearSVR, LogisticRegression
pegasos/         Pegasos
low_rank/        kernel SVMs and ridge on features
mkl/             MKL: weights of kernels
===============  ====================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer.estimators._registry import ESTIMATORS

if TYPE_CHECKING:
    from mercer.estimators._kmeans import KernelKMeans as KernelKMeans
    from mercer.estimators._logistic import KernelLogisticRegression as KernelLogisticRegression
    from mercer.estimators._pca import KernelPCA as KernelPCA
    from mercer.estimators._perceptron import KernelPerceptron as KernelPerceptron
    from mercer.estimators._ridge import KernelRidge as KernelRidge
    from mercer.estimators.linear import LogisticRegression as LogisticRegression
    from mercer.estimators.linear._classes import LinearSVC as LinearSVC
    from mercer.estimators.linear._classes import LinearSVR as LinearSVR
    from mercer.estimators.pegasos._classes import PegasosClassifier as PegasosClassifier
    from mercer.estimators.pegasos._classes import PegasosRegressor as PegasosRegressor
    from mercer.estimators.svm._one_class import OneClassSVM as OneClassSVM
    from mercer.estimators.svm._svc import SVC as SVC
    from mercer.estimators.svm._svc import NuSVC as NuSVC
    from mercer.estimators.svm._svr import SVR as SVR
    from mercer.estimators.svm._svr import NuSVR as NuSVR

__all__ = sorted(
    entry.class_name for entry in ESTIMATORS.values() if entry.module.startswith(__name__)
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(ESTIMATORS[name].module), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
