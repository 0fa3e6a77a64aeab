"""Import paths of version 0.1 that have moved: they still work, with a DeprecationWarning.

``import mercer.psd`` and ``from mercer.io import read_table`` go through a finder at the end of
``sys.meta_path``, so that nothing is spent on it where no old path is used.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["MOVED", "install"]

#: Old path → where its names are now; both without the leading "mercer.".
MOVED: dict[str, tuple[str, ...]] = {
    "app": ("playground",),
    "diagnosis": ("diagnostics",),
    "io": ("data", "persistence"),
    "streams": ("data",),
    "psd": ("gram._psd",),
    "symmetry": ("gram._symmetry",),
    "separability": ("solvers.separability._hull",),
    "c_path": ("estimators.linear._path",),
    "calibration": ("_calibration",),
    "certificate": ("certificates._certificate", "certificates._box_qp"),
    "certify_others": ("certificates._duality_gap",),
    "residuals": ("certificates._residuals",),
    "columns": ("data._column_statistics",),
    "expansion": ("_expansion",),
    "hyperplane": ("estimators.svm._geometry",),
    "multiclass": ("_multiclass",),
    "result": ("_result",),
    "style": ("plots._style",),
    "app.catalogue": ("playground._catalogue",),
    "app.code": ("playground._words",),
    "app.contours": ("playground._picture",),
    "app.facts": ("playground._explain",),
    "app.figures": ("playground._figures",),
    "app.machines": ("playground._fit",),
    "app.page": ("playground._page",),
    "app.paint": ("playground._render",),
    "app.picture": ("playground._picture",),
    "app.presets": ("playground._presets",),
    "app.server": ("playground._server",),
    "app.session": ("playground._session",),
    "app.state": ("playground._state",),
    "app.steps": ("playground._steps",),
    "app.upload": ("playground._upload",),
    "app.why": ("playground._explain",),
    "diagnosis.examine": ("diagnostics._doctor",),
    "diagnosis.report": ("diagnostics._report",),
    "duality.games": ("duality._games",),
    "duality.picture": ("duality._picture",),
    "duality.program": ("duality._program",),
    "embeddings.eigenmaps": ("embeddings._laplacian_eigenmaps",),
    "embeddings.empirical": ("embeddings._empirical_map",),
    "embeddings.lle": ("embeddings._lle",),
    "embeddings.nystroem": ("embeddings._nystroem",),
    "estimators.base": ("estimators.svm._base",),
    "estimators.kmeans": ("estimators._kmeans",),
    "estimators.logistic": ("estimators._logistic",),
    "estimators.oneclass": ("estimators.svm._one_class",),
    "estimators.pca": ("estimators._pca",),
    "estimators.perceptron": ("estimators._perceptron",),
    "estimators.ridge": ("estimators._ridge",),
    "estimators.svc": ("estimators.svm._svc",),
    "estimators.svr": ("estimators.svm._svr",),
    "gram.arena": ("gram._buffer_pool",),
    "gram.bounded": ("gram._bounded_products",),
    "gram.gram": ("gram._blocked",),
    "gram.rounding": ("gram._entry_error",),
    "gram.store": ("gram._row_cache",),
    "gram.sum_error": ("gram._sum_error",),
    "gram.symmetric": ("gram._cached",),
    "gram.whole": ("gram._cached",),
    "io.arrays": ("data._arrays",),
    "io.codec": ("persistence._state",),
    "io.container": ("persistence._container",),
    "io.csr": ("data._arrays",),
    "io.delimited": ("data._csv",),
    "io.libsvm": ("persistence._libsvm",),
    "io.models": ("persistence._model_file",),
    "io.parquet": ("data._parquet",),
    "io.raw": ("data._columns",),
    "io.registry": ("persistence._registry",),
    "io.schema": ("data._schema",),
    "io.shaping": ("data._schema",),
    "io.tables": ("data._table",),
    "io.validity": ("persistence._validity",),
    "io.writing": ("data._write",),
    "kernels.algebra": ("kernels._composite",),
    "kernels.base": ("kernels._base",),
    "kernels.coordinate": ("kernels._histogram",),
    "kernels.custom": ("kernels._user_defined",),
    "kernels.distance": ("kernels._stationary",),
    "kernels.dot": ("kernels._dot_product",),
    "kernels.feature_maps": ("kernels._feature_map",),
    "kernels.points": ("kernels._samples",),
    "kernels.rounding": ("kernels._rounding",),
    "plots.boundary": ("plots._boundary",),
    "plots.gap": ("plots._gap", "certificates._trace"),
    "plots.kinds": ("plots",),
    "plots.kkt": ("plots._kkt",),
    "plots.losses": ("plots._losses",),
    "plots.matrix": ("plots._kernel_matrix",),
    "plots.tube": ("plots._regression",),
    "plots.weights": ("plots._weights",),
    "plots.writing": ("plots._write",),
    "problems.boxqp": ("problems._dual_qp",),
    "problems.classification": ("problems._svm",),
    "problems.crammer_singer": ("problems._crammer_singer",),
    "problems.linear": ("problems._regularized_loss",),
    "problems.logistic": ("problems._logistic",),
    "problems.losses": ("problems._losses",),
    "problems.oneclass": ("problems._svm",),
    "problems.regression": ("problems._svm",),
    "problems.ridge": ("problems._ridge",),
    "solvers.answer": ("solvers._solution",),
    "solvers.cg": ("solvers._conjugate_gradient",),
    "solvers.choice": ("solvers._registry",),
    "solvers.class_pair": ("solvers.smo._class_pair",),
    "solvers.control": ("solvers._stopping",),
    "solvers.coordinate": ("solvers._coordinate_ascent",),
    "solvers.dense": ("solvers._dense_algebra",),
    "solvers.descent": (
        "solvers.pegasos._state",
        "solvers.pegasos._rows",
        "solvers.pegasos._subgradient",
    ),
    "solvers.direct": ("solvers.smo._dense",),
    "solvers.eigen": ("solvers._eigen",),
    "solvers.free_variables": ("solvers.smo._free_variable_newton",),
    "solvers.gradient": ("solvers._projected_gradient",),
    "solvers.in_play": ("solvers.smo._shrinking",),
    "solvers.layout": ("solvers.smo._working_set",),
    "solvers.linear.both": ("solvers.linear._selection",),
    "solvers.linear.choose": ("solvers.linear._selection",),
    "solvers.linear.chord": ("solvers.linear._path_following",),
    "solvers.linear.descent": ("solvers.linear._coordinate_descent",),
    "solvers.linear.joint": ("solvers.linear._crammer_singer",),
    "solvers.linear.leap": ("solvers.linear._free_variable_cg",),
    "solvers.linear.nearby": ("solvers.linear._proximal_newton",),
    "solvers.linear.newton": ("solvers.linear._newton",),
    "solvers.linear.own": ("solvers.linear._gradient_dual",),
    "solvers.linear.proof": ("solvers.linear._bounded_gap",),
    "solvers.linear.proximal": ("solvers.linear._proximal_newton",),
    "solvers.linear.rows": ("solvers.linear._design_matrix",),
    "solvers.linear.smooth": ("solvers.linear._smooth_newton",),
    "solvers.linear.stored": ("solvers.linear._stored_model",),
    "solvers.lloyd": ("solvers._lloyd",),
    "solvers.many": ("solvers.smo._many_pairs",),
    "solvers.nested": ("solvers.smo._decomposition",),
    "solvers.newton": ("solvers._kernel_logistic",),
    "solvers.one_pass": ("solvers.pegasos._streaming_gap_bound",),
    "solvers.perceptron": ("solvers._perceptron",),
    "solvers.platt": ("solvers._platt",),
    "solvers.qp": ("solvers._interior_point",),
    "solvers.ridge": ("solvers._kernel_ridge",),
    "solvers.values": ("solvers.smo._gradient",),
    "solvers.whole": ("solvers._base",),
    "streams.ahead": ("data._stream",),
    "streams.checkpoint": ("data._checkpoint",),
    "streams.parquet": ("data._parquet",),
    "streams.progress": ("data._stream",),
    "streams.source": ("data._stream",),
    "streams.svmlight": ("data._svmlight",),
}


class _Loader(Loader):
    """Makes a module whose attributes are those of the new places."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__.removeprefix("mercer.")
        homes = [import_module(f"mercer.{new}") for new in MOVED[old]]

        def find(name: str) -> Any:
            for home in homes:
                if hasattr(home, name):
                    return getattr(home, name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__doc__ = homes[0].__doc__
        module.__path__ = []  # old modules of old packages are found by `_Finder`
        module.__getattr__ = find  # type: ignore[method-assign]
        public = [name for home in homes for name in getattr(home, "__all__", ())]
        module.__all__ = public  # type: ignore[attr-defined]
        places = " and ".join(f"mercer.{new}" for new in MOVED[old] if "._" not in f".{new}")
        remedy = f"use {places}" if places else "its public names are in mercer"
        warnings.warn(
            f"{module.__name__} has moved; {remedy}.", DeprecationWarning, stacklevel=_depth()
        )


def _depth() -> int:
    """How many frames above `_Loader.exec_module` the statement that imports is."""
    frame, depth = sys._getframe(2), 2
    while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
        frame, depth = frame.f_back, depth + 1
    return depth


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        head, _, old = fullname.partition(".")
        if head != "mercer" or old not in MOVED:
            return None
        return ModuleSpec(fullname, _Loader(), is_package=True)


def install() -> None:
    """Let old paths be imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
