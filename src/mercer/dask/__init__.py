"""Estimators on Dask arrays and data frames, for data that one machine cannot hold.

Fitted models are plain Mercer models: they are saved, verified, plotted and exported as those of
`mercer`, and `to_local` gives them without Dask. Needs ``pip install "mercer[dask]"``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.dask._client import close_local_cluster as close_local_cluster
    from mercer.dask._features import KernelRidge as KernelRidge
    from mercer.dask._features import Nystroem as Nystroem
    from mercer.dask._kernel import SVC as SVC
    from mercer.dask._kernel import SVR as SVR
    from mercer.dask._kernel import OneClassSVM as OneClassSVM
    from mercer.dask._linear import LinearSVC as LinearSVC
    from mercer.dask._linear import LinearSVR as LinearSVR
    from mercer.dask._linear import LogisticRegression as LogisticRegression
    from mercer.dask._search import SVCCV as SVCCV
    from mercer.dask._search import PegasosClassifier as PegasosClassifier
    from mercer.dask._unsupervised import KernelKMeans as KernelKMeans
    from mercer.dask._unsupervised import KernelPCA as KernelPCA

_HOMES = {
    "KernelKMeans": "_unsupervised",
    "KernelPCA": "_unsupervised",
    "KernelRidge": "_features",
    "Nystroem": "_features",
    "LinearSVC": "_linear",
    "LinearSVR": "_linear",
    "LogisticRegression": "_linear",
    "OneClassSVM": "_kernel",
    "PegasosClassifier": "_search",
    "SVC": "_kernel",
    "SVCCV": "_search",
    "SVR": "_kernel",
    "close_local_cluster": "_client",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
