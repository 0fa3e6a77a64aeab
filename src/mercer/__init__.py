"""Mercer: support vector machines and kernel methods that prove their answers.

Estimators have scikit-learn's interface; every fit carries a certificate (``model.certificate_``)
that `verify` recomputes from the model alone.
"""

from importlib import import_module
from typing import Any

from mercer import kernels
from mercer.certificate import Certificate
from mercer.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.exceptions import NotSeparableError
from mercer.expansion import Expansion
from mercer.geometry import Geometry, geometry
from mercer.psd import check_kernel, nearest_psd
from mercer.result import Status
from mercer.verify import verify

__version__ = "0.1.0"

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "Expansion",
    "Geometry",
    "NotSeparableError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Status",
    "check_kernel",
    "duality",
    "embeddings",
    "geometry",
    "kernels",
    "nearest_psd",
    "verify",
]

_LAZY = {"duality", "embeddings"}  # what they import takes longer than the rest of the package


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")
