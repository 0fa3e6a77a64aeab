"""What the package promises: its public names, their docstrings, and a light import."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
import sklearn.decomposition
import sklearn.kernel_ridge
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning

import mercer
import mercer.kernels

MACHINES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "KernelRidge", "KernelPCA"]
OTHERS = ["KernelKMeans", "KernelLogisticRegression", "KernelPerceptron", "PegasosClassifier"]
LINEAR = ["LinearSVC", "LinearSVR", "LogisticRegression", "PegasosRegressor"]
SEARCHES = [
    "SVCCV", "SVRCV", "OneClassSVMCV", "KernelRidgeCV", "KernelLogisticRegressionCV",
    "LinearSVCCV", "LinearSVRCV", "LogisticRegressionCV",
]  # fmt: skip
ESTIMATORS = [*MACHINES, *OTHERS, *LINEAR, *SEARCHES]
KERNELS = [
    "Linear",
    "Polynomial",
    "RBF",
    "Sigmoid",
    "Laplacian",
    "Cosine",
    "Chi2",
    "AllSubsets",
    "Precomputed",
]


def test_public_names():
    expected = {*ESTIMATORS, "Certificate", "Expansion", "FileError", "Geometry", "MKL"}
    assert set(mercer.__all__) == expected | {
        "LinearFunction",
        "NotSeparableError",
        "Status",
        "autofit",
        "check_kernel",
        "dask",
        "data",
        "doctor",
        "duality",
        "automl",
        "conformal",
        "embeddings",
        "export",
        "geometry",
        "kernel",
        "kernels",
        "leave_one_out",
        "load",
        "model_selection",
        "nearest_psd",
        "path",
        "persistence",
        "playground",
        "plots",
        "save",
        "verify",
    }
    assert set(KERNELS) < set(mercer.kernels.__all__)


MODULES = [
    mercer,
    mercer.automl,
    mercer.conformal,
    mercer.dask,
    mercer.kernels,
    mercer.duality,
    mercer.embeddings,
    mercer.data,
    mercer.model_selection,
    mercer.persistence,
    mercer.playground,
    mercer.plots,
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_names_exist_and_are_documented(module):
    for name in module.__all__:
        assert inspect.getdoc(getattr(module, name)), f"{module.__name__}.{name} has no docstring"


def test_dir_shows_public_names_only():
    assert dir(mercer) == sorted([*mercer.__all__, "__version__"])
    assert dir(mercer.kernels) == sorted(mercer.kernels.__all__)


def _this_line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_warnings_point_at_the_line_of_the_user():
    """Past this package and scikit-learn's wrapper of ``fit``."""
    X, y = [[0.0, 1.0], [1.0, 0.0], [0.5, 0.2], [0.1, 0.9]], [0, 1, 1, 0]
    line = _this_line()
    with pytest.warns(ConvergenceWarning) as seen:
        mercer.SVC(max_iter=1, tol=1e-9).fit(X, y)
    assert (seen[0].filename, seen[0].lineno) == (__file__, line + 2)
    line = _this_line()
    with pytest.warns(mercer.kernels.IndefiniteKernelWarning) as seen:
        mercer.SVC(kernel="sigmoid").fit(X, y)
    assert (seen[0].filename, seen[0].lineno) == (__file__, line + 2)


@pytest.mark.parametrize("name", MACHINES)
def test_signatures_contain_those_of_scikit_learn(name):
    mine = inspect.signature(getattr(mercer, name)).parameters
    homes = (sklearn.svm, sklearn.kernel_ridge, sklearn.decomposition)
    home = next(module for module in homes if hasattr(module, name))
    theirs = inspect.signature(getattr(home, name)).parameters
    for parameter in theirs.values():
        assert parameter.name in mine, f"{name} lacks {parameter.name}"
        assert mine[parameter.name].default == parameter.default, parameter.name
        assert mine[parameter.name].kind == parameter.kind, parameter.name


@pytest.mark.parametrize(
    "estimator",
    [getattr(mercer, name) for name in ESTIMATORS]
    + [getattr(mercer.embeddings, name) for name in mercer.embeddings.__all__],
)
def test_every_parameter_is_documented(estimator):
    name = estimator.__name__
    documentation = inspect.getdoc(estimator)
    for parameter in inspect.signature(estimator).parameters:
        assert parameter in documentation, f"{name}: {parameter} is not in the docstring"


def test_import_leaves_optional_libraries_alone():
    code = (
        "import sys, sklearn.svm\n"
        "before = set(sys.modules)\n"  # scikit-learn imports pandas where it is installed
        "import mercer; mercer.SVC\n"
        "heavy = {'bokeh', 'matplotlib', 'pandas', 'polars', 'typer', 'rich', 'dask'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_import_alone_is_light_and_names_come_when_asked_for():
    code = (
        "import sys, mercer\n"
        "assert set(mercer.__all__) <= set(dir(mercer))\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'numba'} & set(sys.modules)))\n"
        "import mercer.estimators.svm._geometry, mercer.verification._verify\n"
        "print(callable(mercer.geometry), callable(mercer.verify), hasattr(mercer, 'SVX'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True True False"]
