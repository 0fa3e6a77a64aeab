"""Mercer: support vector machines and kernel methods that prove their answers.

Estimators have scikit-learn's interface; every fit carries a certificate (``model.certificate_``)
that `verify` recomputes from the model alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer import kernels
from mercer.certificate import Certificate
from mercer.estimators import (
    SVC,
    SVR,
    KernelKMeans,
    KernelLogisticRegression,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.exceptions import NotSeparableError
from mercer.expansion import Expansion
from mercer.geometry import Geometry, geometry
from mercer.psd import check_kernel, nearest_psd
from mercer.result import Status
from mercer.verify import verify

if TYPE_CHECKING:
    from mercer.c_path import path
    from mercer.diagnosis import doctor
    from mercer.estimators.linear import LinearSVC, LinearSVR, LogisticRegression
    from mercer.estimators.pegasos import PegasosClassifier, PegasosRegressor

__version__ = "0.1.0"

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "Expansion",
    "Geometry",
    "KernelKMeans",
    "KernelLogisticRegression",
    "KernelPCA",
    "KernelPerceptron",
    "KernelRidge",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "NotSeparableError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PegasosClassifier",
    "PegasosRegressor",
    "Status",
    "check_kernel",
    "doctor",
    "duality",
    "embeddings",
    "geometry",
    "kernels",
    "nearest_psd",
    "path",
    "plots",
    "streams",
    "verify",
]

# Imported when they are asked for: what they import takes longer than the rest of the package.
_LAZY = {
    "LinearSVC": "mercer.estimators.linear",
    "LinearSVR": "mercer.estimators.linear",
    "LogisticRegression": "mercer.estimators.linear",
    "PegasosClassifier": "mercer.estimators.pegasos",
    "PegasosRegressor": "mercer.estimators.pegasos",
    "doctor": "mercer.diagnosis",
    "path": "mercer.c_path",
}
_LAZY_ROOMS = {"duality", "embeddings", "plots", "streams"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _LAZY_ROOMS:
        return import_module(f"mercer.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
