"""Mercer: support vector machines and kernel methods that prove their answers.

Estimators have scikit-learn's interface; every fit carries a certificate (``model.certificate_``)
that `verify` recomputes from the model alone.
"""

from mercer import kernels
from mercer.certificate import Certificate
from mercer.estimators import (
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    NuSVC,
    NuSVR,
    OneClassSVM,
)
from mercer.exceptions import NotSeparableError
from mercer.expansion import Expansion
from mercer.path import path
from mercer.result import Status
from mercer.verify import verify

__version__ = "0.1.0"

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "Expansion",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "NotSeparableError",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "Status",
    "kernels",
    "path",
    "verify",
]
