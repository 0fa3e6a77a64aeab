"""Mercer: support vector machines and kernel methods that prove their answers.

Estimators have scikit-learn's interface; every fit carries a certificate (``model.certificate_``)
that `verify` recomputes from the model alone.
"""

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
from mercer.result import Status
from mercer.verify import verify

if TYPE_CHECKING:
    from mercer.estimators.pegasos import PegasosClassifier

__version__ = "0.1.0"

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "Expansion",
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
    "kernels",
    "verify",
]

# Imported when they are asked for.
_LAZY = {"PegasosClassifier": "mercer.estimators.pegasos"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
