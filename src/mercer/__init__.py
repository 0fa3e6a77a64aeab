"""Mercer: support vector machines and kernel methods that prove their answers.

Estimators have scikit-learn's interface; every fit carries a certificate (``model.certificate_``)
that `verify` recomputes from the model alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer._deprecated import MOVED, install

if TYPE_CHECKING:
    from mercer import data, duality, embeddings, kernels, persistence, playground, plots
    from mercer._expansion import Expansion
    from mercer._result import Status
    from mercer.certificates._certificate import Certificate
    from mercer.diagnostics import doctor
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
    from mercer.estimators.linear._path import path
    from mercer.estimators.pegasos._classes import PegasosClassifier, PegasosRegressor
    from mercer.estimators.svm._geometry import Geometry, geometry
    from mercer.exceptions import FileError, NotSeparableError
    from mercer.gram._psd import check_kernel, nearest_psd
    from mercer.persistence import load, save
    from mercer.verification._verify import verify

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
    "check_kernel",
    "data",
    "doctor",
    "duality",
    "embeddings",
    "geometry",
    "kernels",
    "load",
    "nearest_psd",
    "path",
    "persistence",
    "playground",
    "plots",
    "save",
    "verify",
]

# Where each name lives. All are imported when they are first asked for, so that the command line
# answers at once; no home may be called like one of its names, or it would take the name's place.
_HOMES = {
    "_expansion": ("Expansion",),
    "_result": ("Status",),
    "certificates._certificate": ("Certificate",),
    "diagnostics": ("doctor",),
    "estimators": (
        "SVC", "SVR", "KernelKMeans", "KernelLogisticRegression", "KernelPCA", "KernelPerceptron",
        "KernelRidge", "NuSVC", "NuSVR", "OneClassSVM",
    ),
    "estimators.linear": ("LinearSVC", "LinearSVR", "LogisticRegression"),
    "estimators.linear._path": ("path",),
    "estimators.pegasos": ("PegasosClassifier", "PegasosRegressor"),
    "estimators.svm._geometry": ("Geometry", "geometry"),
    "exceptions": ("FileError", "NotSeparableError"),
    "gram._psd": ("check_kernel", "nearest_psd"),
    "persistence": ("load", "save"),
    "verification": ("verify",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


install()


def __getattr__(name: str) -> Any:
    if name in MOVED:
        return import_module(f"mercer.{name}")  # warns
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
