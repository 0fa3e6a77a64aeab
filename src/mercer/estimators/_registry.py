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
        return self.module.startswith(("mercer.estimators.", "mercer.model_selection."))


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


def _register(
    path: str, task: Task, cli_name: str = "", help: str = "", verify: str = "", **more: Any
) -> None:
    """An estimator of this package; ``verify`` is a function of `mercer.verification._verify`."""
    function = f"mercer.verification._verify:{verify}" if verify else ""
    register_estimator(EstimatorEntry(f"mercer.{path}", task, cli_name, help, function, **more))


_SVM, _LINEAR, _PEGASOS = "estimators.svm._", "estimators.linear._", "estimators.pegasos._classes:"
_OTHERS = "model_selection._other_classes:"
# fmt: off
_register(_SVM + "svc:SVC", "classification", "svc", "C-support vector classification",
          "verify_svc", libsvm_code=0, libsvm_name="c_svc", playground="svc")
_register(_SVM + "svc:NuSVC", "classification", "nusvc", "ν-support vector classification",
          "verify_nu_svc", libsvm_code=1, libsvm_name="nu_svc")
_register(_LINEAR + "classes:LinearSVC", "classification", "linear-svc",
          "linear, for many rows or columns", "verify_linear")
_register(_LINEAR + "logistic_regression:LogisticRegression", "classification", "logistic",
          "linear, with probabilities", "verify_linear")
_register("estimators._logistic:KernelLogisticRegression", "classification", "kernel-logistic",
          "logistic regression with a kernel", "verify_logistic", playground="logistic")
_register("estimators._perceptron:KernelPerceptron", "classification", "perceptron",
          "the perceptron with a kernel", playground="perceptron")
_register(_PEGASOS + "PegasosClassifier", "classification", "pegasos", "stochastic subgradients",
          "verify_pegasos", playground="pegasos")
_register(_SVM + "svr:SVR", "regression", "svr", "ε-support vector regression", "verify_svr",
          libsvm_code=3, libsvm_name="epsilon_svr", playground="svr")
_register(_SVM + "svr:NuSVR", "regression", "nusvr", "ν-support vector regression", "verify_nu_svr",
          libsvm_code=4, libsvm_name="nu_svr")
_register(_LINEAR + "classes:LinearSVR", "regression", "linear-svr",
          "linear support vector regression", "verify_linear")
_register("estimators._ridge:KernelRidge", "regression", "ridge", "ridge regression with a kernel",
          "verify_ridge", playground="ridge")
_register(_PEGASOS + "PegasosRegressor", "regression", "pegasos-regressor",
          "stochastic subgradients", "verify_pegasos")
_register(_SVM + "one_class:OneClassSVM", "outliers", "oneclass",
          "the region of most rows; no target", "verify_one_class",
          libsvm_code=2, libsvm_name="one_class", playground="oneclass")
_register("model_selection._kernel_classes:SVCCV", "classification", verify="verify_best")
_register("model_selection._kernel_classes:SVRCV", "regression", verify="verify_best")
_register("model_selection._kernel_classes:OneClassSVMCV", "outliers", verify="verify_best")
_register(_OTHERS + "KernelRidgeCV", "regression", verify="verify_best")
_register(_OTHERS + "KernelLogisticRegressionCV", "classification", verify="verify_best")
_register(_OTHERS + "LinearSVCCV", "classification", verify="verify_best")
_register(_OTHERS + "LinearSVRCV", "regression", verify="verify_best")
_register(_OTHERS + "LogisticRegressionCV", "classification", verify="verify_best")
_register("estimators._kmeans:KernelKMeans", "clustering", playground="kmeans")
_register("estimators._pca:KernelPCA", "embedding", verify="verify_eigenvectors")
_register("embeddings._empirical_map:EmpiricalKernelMap", "embedding")
_register("embeddings._laplacian_eigenmaps:LaplacianEigenmaps", "embedding")
_register("embeddings._lle:LocallyLinearEmbedding", "embedding")
_register("embeddings._nystroem:Nystroem", "embedding")
_register("embeddings._random_features:RandomFourierFeatures", "embedding")
_register("embeddings._random_features:TensorSketch", "embedding")
_register("embeddings._explicit:ExplicitFeatures", "embedding")
# fmt: on
