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
    from mercer.diagnosis import doctor
    from mercer.estimators.pegasos import PegasosClassifier

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
    "NotSeparableError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "PegasosClassifier",
    "Status",
    "check_kernel",
    "doctor",
    "duality",
    "embeddings",
    "geometry",
    "kernels",
    "nearest_psd",
    "verify",
]

# Imported when they are asked for: what they import takes longer than the rest of the package.
_LAZY = {"PegasosClassifier": "mercer.estimators.pegasos", "doctor": "mercer.diagnosis"}
_LAZY_ROOMS = {"duality", "embeddings"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name in _LAZY_ROOMS:
        return import_module(f"mercer.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
