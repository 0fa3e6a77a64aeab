"""Mercer: support vector machines and kernel methods with certificates.

Estimators have scikit-learn's interface; every fit carries a certificate (``model.certificate_``)
that `verify` recomputes, independently of the solver, from the model and its training data.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer._deprecated import MOVED, install
from mercer.estimators._registry import ESTIMATORS as _ESTIMATORS

if TYPE_CHECKING:
    from mercer import automl as automl
    from mercer import conformal as conformal
    from mercer import dask as dask
    from mercer import data as data
    from mercer import duality as duality
    from mercer import embeddings as embeddings
    from mercer import export as export
    from mercer import kernels as kernels
    from mercer import model_selection as model_selection
    from mercer import persistence as persistence
    from mercer import playground as playground
    from mercer import plots as plots
    from mercer._expansion import Expansion as Expansion
    from mercer._linear_function import LinearFunction as LinearFunction
    from mercer._result import Status as Status
    from mercer.automl import autofit as autofit
    from mercer.certificates._certificate import Certificate as Certificate
    from mercer.diagnostics import doctor as doctor
    from mercer.estimators import SVC as SVC
    from mercer.estimators import SVR as SVR
    from mercer.estimators import KernelKMeans as KernelKMeans
    from mercer.estimators import KernelLogisticRegression as KernelLogisticRegression
    from mercer.estimators import KernelPCA as KernelPCA
    from mercer.estimators import KernelPerceptron as KernelPerceptron
    from mercer.estimators import KernelRidge as KernelRidge
    from mercer.estimators import LinearSVC as LinearSVC
    from mercer.estimators import LinearSVR as LinearSVR
    from mercer.estimators import LogisticRegression as LogisticRegression
    from mercer.estimators import NuSVC as NuSVC
    from mercer.estimators import NuSVR as NuSVR
    from mercer.estimators import OneClassSVM as OneClassSVM
    from mercer.estimators import PegasosClassifier as PegasosClassifier
    from mercer.estimators import PegasosRegressor as PegasosRegressor
    from mercer.estimators._path import path as path
    from mercer.estimators.mkl._estimator import MKL as MKL
    from mercer.estimators.svm._geometry import Geometry as Geometry
    from mercer.estimators.svm._geometry import geometry as geometry
    from mercer.exceptions import FileError as FileError
    from mercer.exceptions import NotSeparableError as NotSeparableError
    from mercer.gram._psd import check_kernel as check_kernel
    from mercer.gram._psd import nearest_psd as nearest_psd
    from mercer.kernels.functions._decorator import kernel as kernel
    from mercer.model_selection import SVCCV as SVCCV
    from mercer.model_selection import SVRCV as SVRCV
    from mercer.model_selection import KernelLogisticRegressionCV as KernelLogisticRegressionCV
    from mercer.model_selection import KernelRidgeCV as KernelRidgeCV
    from mercer.model_selection import LinearSVCCV as LinearSVCCV
    from mercer.model_selection import LinearSVRCV as LinearSVRCV
    from mercer.model_selection import LogisticRegressionCV as LogisticRegressionCV
    from mercer.model_selection import OneClassSVMCV as OneClassSVMCV
    from mercer.model_selection import leave_one_out as leave_one_out
    from mercer.persistence import load as load
    from mercer.persistence import save as save
    from mercer.verification._verify import verify as verify

__version__ = "0.1.0"

# The module of each name, imported when the name is first used; packages are their own module. No
# module may be called like one of its names, or importing it would replace the name.
_HOMES = {entry.class_name: entry.module for entry in _ESTIMATORS.values() if entry.is_public} | {
    "Certificate": "mercer.certificates._certificate",
    "Expansion": "mercer._expansion",
    "FileError": "mercer.exceptions",
    "Geometry": "mercer.estimators.svm._geometry",
    "LinearFunction": "mercer._linear_function",
    "MKL": "mercer.estimators.mkl._estimator",
    "NotSeparableError": "mercer.exceptions",
    "Status": "mercer._result",
    "autofit": "mercer.automl",
    "check_kernel": "mercer.gram._psd",
    "doctor": "mercer.diagnostics",
    "geometry": "mercer.estimators.svm._geometry",
    "kernel": "mercer.kernels.functions._decorator",
    "leave_one_out": "mercer.model_selection._leave_one_out",
    "load": "mercer.persistence",
    "nearest_psd": "mercer.gram._psd",
    "path": "mercer.estimators._path",
    "save": "mercer.persistence",
    "verify": "mercer.verification",
}
_PACKAGES = [
    "automl", "conformal", "dask", "data", "duality", "embeddings", "export", "kernels",
    "model_selection", "persistence", "playground", "plots",
]  # fmt: skip
__all__ = sorted([*_HOMES, *_PACKAGES])

install()


def __getattr__(name: str) -> Any:
    if name in MOVED:
        return import_module(f"mercer.{name}")  # warns
    if name in _HOMES:
        globals()[name] = getattr(import_module(_HOMES[name]), name)
        return globals()[name]
    if name in _PACKAGES:
        return import_module(f"mercer.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
