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
    "symmetry": ("kernels._symmetry",),
    "separability": ("solvers.separability._hull",),
    "c_path": ("estimators._path",),
    "certificate": ("certificates._certificate", "certificates._box_qp"),
    "certify_others": ("certificates._duality_gap",),
    "residuals": ("certificates._residuals",),
    "columns": ("data._column_statistics",),
    "expansion": ("_expansion",),
    "hyperplane": ("estimators.svm._geometry",),
    "multiclass": ("_multiclass",),
    "result": ("_result",),
    "style": ("plots.style",),
    "tuning": ("automl",),
    "plots.gap": ("plots._gap", "certificates._trace"),
    "plots.kinds": ("plots",),
    "solvers.descent": (
        "solvers.pegasos._state",
        "solvers.pegasos._rows",
        "solvers.pegasos._subgradient",
    ),
}
# Old package: new package and modules; "name" is now "_name", "old=new" is "_new".
_MODULES = """
app: playground catalogue code=words contours=picture facts=explain figures machines=fit page
    paint=render picture presets server session state steps upload why=explain
diagnosis: diagnostics examine=doctor report
duality: duality games picture program
embeddings: embeddings eigenmaps=laplacian_eigenmaps empirical=empirical_map lle nystroem
estimators: estimators.svm base oneclass=one_class svc svr
estimators: estimators kmeans logistic pca perceptron ridge
gram: gram arena=buffer_pool bounded=bounded_products gram=blocked rounding=entry_error
    store=row_cache sum_error symmetric=cached whole=cached
io: data arrays csr=arrays delimited=csv parquet raw=columns schema shaping=schema tables=table
    writing=write
io: persistence codec=state container libsvm models=model_file registry validity
kernels: kernels algebra=composite base coordinate=histogram custom=user_defined distance=stationary
    dot=dot_product feature_maps=feature_map points=samples rounding
plots: plots boundary kkt losses matrix=kernel_matrix tube=regression weights writing=write
problems: problems boxqp=dual_qp classification=svm crammer_singer linear=regularized_loss logistic
    losses oneclass=svm regression=svm ridge
solvers: solvers answer=solution cg=conjugate_gradient choice=registry control=stopping
    coordinate=coordinate_ascent dense=dense_algebra eigen gradient=projected_gradient lloyd
    newton=kernel_logistic perceptron platt qp=interior_point ridge=kernel_ridge whole=base
solvers: solvers.smo class_pair direct=dense free_variables=free_variable_newton in_play=shrinking
    layout=working_set many=many_pairs nested=decomposition values=gradient
solvers.linear: solvers.linear both=selection choose=selection chord=path_following
    descent=coordinate_descent joint=crammer_singer leap=free_variable_cg nearby=proximal_newton
    newton own=gradient_dual proof=bounded_gap proximal=proximal_newton rows=design_matrix
    smooth=smooth_newton stored=stored_model
solvers: solvers.pegasos one_pass=streaming_gap_bound
streams: data ahead=stream checkpoint parquet progress=stream source=stream svmlight
"""
for _line in _MODULES.strip().replace("\n    ", " ").split("\n"):
    _old, _new, *_names = _line.split()
    for _name in _names:
        _before, _, _after = _name.partition("=")
        MOVED[f"{_old[:-1]}.{_before}"] = (f"{_new}._{_after or _before}",)


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
        # The frames of importlib between here and the import statement do not count.
        warnings.warn(f"{module.__name__} has moved; {remedy}.", DeprecationWarning, stacklevel=2)


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
