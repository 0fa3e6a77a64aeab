"""The estimators of the package: one entry each, from which every list of estimators is derived.

The names of `mercer`, files of models (Mercer's and LIBSVM's), `mercer.verify`, the command line
and the playground read this table. A new estimator is a class and one entry. Classes and functions
are named by path and imported when they are used (see `mercer.kernels._registry`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from mercer.kernels._registry import ClassPath

__all__ = ["ESTIMATORS", "EstimatorEntry", "Task", "cli_names", "entry_of", "register_estimator"]

Task = Literal["classification", "regression", "outliers", "clustering", "embedding"]


@dataclass(frozen=True)
class EstimatorEntry(ClassPath):
    """An estimator.

    Attributes
    ----------
    path : str
        Of its class.
    task : str
        What it makes of the data.
    cli_name, help : str
        The value of ``mercer train --machine`` and its description; without a name the command line
        does not offer it. The first name of a task is its default.
    verify : str
        Path of the function that recomputes its certificate, ``(model, X, y, weight) →
        certificate``; empty where the estimator states none.
    libsvm_code : int, optional
        Value of ``-s`` of svm-train.
    libsvm_name : str
        ``svm_type`` in a model file of LIBSVM.
    playground : str
        Its key in the playground (`mercer.playground._catalogue`); empty where it has none.
    """

    task: Task = "classification"
    cli_name: str = ""
    help: str = ""
    verify: str = ""
    libsvm_code: int | None = None
    libsvm_name: str = ""
    playground: str = ""

    @property
    def is_public(self) -> bool:
        """Whether `mercer` itself has the name; embeddings are in `mercer.embeddings`."""
        return self.module.startswith("mercer.estimators.")


#: Entries by the name of the class.
ESTIMATORS: dict[str, EstimatorEntry] = {}


def register_estimator(entry: EstimatorEntry) -> None:
    """Add an estimator. Its class name and its names must be new."""
    for other in ESTIMATORS.values():
        if other.class_name == entry.class_name or other.cli_name == entry.cli_name != "":
            raise ValueError(f"{entry.path} has a name of {other.path}.")
    ESTIMATORS[entry.class_name] = entry


def entry_of(model: Any) -> EstimatorEntry | None:
    """The entry of a model's class, or of the first of its bases that has one.

    scikit-learn's estimators on LIBSVM have the same attributes (but for ``kernel_``), and share
    the entries of Mercer's.
    """
    for cls in type(model).__mro__:
        entry = ESTIMATORS.get(cls.__name__)
        if entry is not None and (
            entry.module == cls.__module__
            or (entry.libsvm_name and cls.__module__.startswith("sklearn.svm"))
        ):
            return entry
    return None


def cli_names() -> dict[str, EstimatorEntry]:
    """The estimators of the command line by the names they have there."""
    return {entry.cli_name: entry for entry in ESTIMATORS.values() if entry.cli_name}


_SVM = "mercer.estimators.svm."
_LINEAR = "mercer.estimators.linear."
_PEGASOS = "mercer.estimators.pegasos._classes:"
_VERIFY = "mercer.verification._verify:"

for _entry in (
    EstimatorEntry(
        _SVM + "_svc:SVC",
        "classification",
        cli_name="svc",
        help="C-support vector classification",
        verify=_VERIFY + "verify_svc",
        libsvm_code=0,
        libsvm_name="c_svc",
        playground="svc",
    ),
    EstimatorEntry(
        _SVM + "_svc:NuSVC",
        "classification",
        cli_name="nusvc",
        help="ν-support vector classification",
        verify=_VERIFY + "verify_nu_svc",
        libsvm_code=1,
        libsvm_name="nu_svc",
    ),
    EstimatorEntry(
        _LINEAR + "_classes:LinearSVC",
        "classification",
        cli_name="linear-svc",
        help="linear, for many rows or columns",
        verify=_VERIFY + "verify_linear",
    ),
    EstimatorEntry(
        _LINEAR + "_logistic_regression:LogisticRegression",
        "classification",
        cli_name="logistic",
        help="linear, with probabilities",
        verify=_VERIFY + "verify_linear",
    ),
    EstimatorEntry(
        "mercer.estimators._logistic:KernelLogisticRegression",
        "classification",
        cli_name="kernel-logistic",
        help="logistic regression with a kernel",
        verify=_VERIFY + "verify_logistic",
        playground="logistic",
    ),
    EstimatorEntry(
        "mercer.estimators._perceptron:KernelPerceptron",
        "classification",
        cli_name="perceptron",
        help="the perceptron with a kernel",
        playground="perceptron",
    ),
    EstimatorEntry(
        _PEGASOS + "PegasosClassifier",
        "classification",
        cli_name="pegasos",
        help="stochastic subgradients",
        verify=_VERIFY + "verify_pegasos",
        playground="pegasos",
    ),
    EstimatorEntry(
        _SVM + "_svr:SVR",
        "regression",
        cli_name="svr",
        help="ε-support vector regression",
        verify=_VERIFY + "verify_svr",
        libsvm_code=3,
        libsvm_name="epsilon_svr",
        playground="svr",
    ),
    EstimatorEntry(
        _SVM + "_svr:NuSVR",
        "regression",
        cli_name="nusvr",
        help="ν-support vector regression",
        verify=_VERIFY + "verify_nu_svr",
        libsvm_code=4,
        libsvm_name="nu_svr",
    ),
    EstimatorEntry(
        _LINEAR + "_classes:LinearSVR",
        "regression",
        cli_name="linear-svr",
        help="linear support vector regression",
        verify=_VERIFY + "verify_linear",
    ),
    EstimatorEntry(
        "mercer.estimators._ridge:KernelRidge",
        "regression",
        cli_name="ridge",
        help="ridge regression with a kernel",
        verify=_VERIFY + "verify_ridge",
        playground="ridge",
    ),
    EstimatorEntry(
        _PEGASOS + "PegasosRegressor",
        "regression",
        cli_name="pegasos-regressor",
        help="stochastic subgradients",
        verify=_VERIFY + "verify_pegasos",
    ),
    EstimatorEntry(
        _SVM + "_one_class:OneClassSVM",
        "outliers",
        cli_name="oneclass",
        help="the region of most rows; no target",
        verify=_VERIFY + "verify_one_class",
        libsvm_code=2,
        libsvm_name="one_class",
        playground="oneclass",
    ),
    EstimatorEntry("mercer.estimators._kmeans:KernelKMeans", "clustering", playground="kmeans"),
    EstimatorEntry(
        "mercer.estimators._pca:KernelPCA", "embedding", verify=_VERIFY + "verify_eigenvectors"
    ),
    EstimatorEntry("mercer.embeddings._empirical_map:EmpiricalKernelMap", "embedding"),
    EstimatorEntry("mercer.embeddings._laplacian_eigenmaps:LaplacianEigenmaps", "embedding"),
    EstimatorEntry("mercer.embeddings._lle:LocallyLinearEmbedding", "embedding"),
    EstimatorEntry("mercer.embeddings._nystroem:Nystroem", "embedding"),
):
    register_estimator(_entry)
