"""The classes a file may name. A file's text is looked up here and never imported or evaluated.

A new public estimator, or a new kind of object in a fitted one, is added to these lists (a test
compares them with the public names); anything else is refused by `mercer.save`.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from mercer.solvers._registry import NAMES

__all__ = ["ESTIMATORS", "KERNELS", "OBJECTS", "arguments", "find", "name_of", "present_fields"]

# name → module, imported when a file has it.
ESTIMATORS = {
    **dict.fromkeys(
        ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "KernelRidge", "KernelPCA",
         "KernelKMeans", "KernelPerceptron", "KernelLogisticRegression"),
        "mercer.estimators",
    ),
    **dict.fromkeys(("LinearSVC", "LinearSVR", "LogisticRegression"), "mercer.estimators.linear"),
    **dict.fromkeys(("PegasosClassifier", "PegasosRegressor"), "mercer.estimators.pegasos"),
    **dict.fromkeys(
        ("EmpiricalKernelMap", "LaplacianEigenmaps", "LocallyLinearEmbedding", "Nystroem"),
        "mercer.embeddings",
    ),
}  # fmt: skip
KERNELS = dict.fromkeys(
    ("AllSubsets", "Callable", "Chi2", "Constant", "Cosine", "Laplacian", "Linear", "Polynomial",
     "Power", "Precomputed", "Product", "RBF", "Scaled", "Sigmoid", "Sum"),
    "mercer.kernels",
)  # fmt: skip
OBJECTS = {
    "Certificate": "mercer.certificates._certificate",
    "Choice": "mercer.solvers._registry",
    "Column": "mercer.data._schema",
    "Duals": "mercer.estimators._warm_start",
    "EigenCertificate": "mercer.certificates._residuals",
    "Expansion": "mercer._expansion",
    "LinearResult": "mercer._result",
    "StoredModel": "mercer.solvers.linear._stored_model",
    "LastFit": "mercer.estimators.linear._base",
    "WarmStartState": "mercer._result",
    "PegasosState": "mercer.solvers.pegasos._state",
    "Samples": "mercer.kernels._samples",
    "RidgeCertificate": "mercer.certificates._residuals",
    "Schema": "mercer.data._schema",
    "StreamProgress": "mercer.data",
    **KERNELS,
    **{name: f"mercer.solvers.{module}" for module, name in NAMES.values()},
}
# The arguments of classes that are no dataclasses.
_ARGUMENTS = {
    "Expansion": ("kernel", "support", "coef", "b", "blocks", "columns"),
    "Samples": ("X", "origin"),
}


# Names in files of version 0.1 → present names.
_RENAMED = {
    "Points": "Samples",
    "Descent": "PegasosState",
    "PegasosState.hits": "sign_sums",
    "PegasosState.image": "Ku",
    "Answer": "StoredModel",
    "StoredModel.found": "solution",
    "StoredModel.proof": "bounded",
    "_Last": "LastFit",
    "LastFit.answers": "models",
    "LastFit.costs": "C",
    "LinearResult.own": "is_gradient_dual",
    "LinearResult.wake": "warm_start",
    "Wake": "WarmStartState",
    "WarmStartState.bends": "curvature_pairs",
    "WarmStartState.growth": "C_ratio",
    "WarmStartState.step_b": "delta_b",
    "WarmStartState.step_beta": "delta_beta",
    "WarmStartState.step_g": "delta_g",
    "WarmStartState.step_w": "delta_w",
    "WarmStartState.sums": "signed_sums",
    "WarmStartState.totals": "signed_totals",
}


def find(name: Any, among: dict[str, str]) -> type:
    """The class of this name; a ValueError if it is not in the list."""
    name = _RENAMED.get(name, name) if isinstance(name, str) else name
    if not isinstance(name, str) or name not in among:
        raise ValueError(f"there is no class {str(name)[:40]!r} in this version of Mercer")
    return getattr(import_module(among[name]), name)


def present_fields(cls: type, given: dict[str, Any]) -> dict[str, Any]:
    """The parts of an object of this class under the present names of its fields."""
    return {_RENAMED.get(f"{cls.__name__}.{name}", name): part for name, part in given.items()}


def name_of(thing: Any, among: dict[str, str]) -> str | None:
    """The name under which the class of a thing is in the list; None if it is not."""
    name = type(thing).__name__
    return name if name in among and find(name, among) is type(thing) else None


def arguments(cls: type) -> tuple[str, ...]:
    """The attributes an object is made of again."""
    if is_dataclass(cls):
        return tuple(field.name for field in fields(cls))
    return _ARGUMENTS[cls.__name__]
