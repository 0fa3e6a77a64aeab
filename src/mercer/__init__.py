"""Mercer: support vector machines and kernel methods that prove their answers.

Estimators have scikit-learn's interface; every fit carries a certificate (``model.certificate_``)
that `verify` recomputes from the model alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer import app, duality, embeddings, io, kernels, plots, streams
    from mercer.c_path import path
    from mercer.certificate import Certificate
    from mercer.diagnosis import doctor
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
    from mercer.estimators.linear import LinearSVC, LinearSVR, LogisticRegression
    from mercer.estimators.pegasos import PegasosClassifier, PegasosRegressor
    from mercer.exceptions import FileError, NotSeparableError
    from mercer.expansion import Expansion
    from mercer.hyperplane import Geometry, geometry
    from mercer.io import load, save
    from mercer.psd import check_kernel, nearest_psd
    from mercer.result import Status
    from mercer.verification import verify

__version__ = "0.1.0"

__all__ = [
    "SVC",
    "SVR",
    "Certificate",
    "Expansion",
    "FileError",
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
    "app",
    "check_kernel",
    "doctor",
    "duality",
    "embeddings",
    "geometry",
    "io",
    "kernels",
    "load",
    "nearest_psd",
    "path",
    "plots",
    "save",
    "streams",
    "verify",
]

# Where each name lives. All are imported when they are first asked for, so that the command line
# answers at once; no home may be called like one of its names, or it would take the name's place.
_HOMES = {
    "c_path": ("path",),
    "certificate": ("Certificate",),
    "diagnosis": ("doctor",),
    "estimators": (
        "SVC", "SVR", "KernelKMeans", "KernelLogisticRegression", "KernelPCA", "KernelPerceptron",
        "KernelRidge", "NuSVC", "NuSVR", "OneClassSVM",
    ),
    "estimators.linear": ("LinearSVC", "LinearSVR", "LogisticRegression"),
    "estimators.pegasos": ("PegasosClassifier", "PegasosRegressor"),
    "exceptions": ("FileError", "NotSeparableError"),
    "expansion": ("Expansion",),
    "hyperplane": ("Geometry", "geometry"),
    "io": ("load", "save"),
    "psd": ("check_kernel", "nearest_psd"),
    "result": ("Status",),
    "verification": ("verify",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _HOME_OF:
        value = getattr(import_module(f"mercer.{_HOME_OF[name]}"), name)
    else:
        value = import_module(f"mercer.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
