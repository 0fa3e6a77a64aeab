"""The classes a file may name. A file's text is looked up here and never imported or evaluated.

A new public estimator, or a new kind of object in a fitted one, is added to these lists (a test
compares them with the public names); anything else is refused by `mercer.save`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from typing import Any

from mercer.solvers._registry import NAMES

__all__ = [
    "ESTIMATORS",
    "KERNELS",
    "OBJECTS",
    "WARM_START",
    "UnknownObjectError",
    "arguments",
    "find",
    "is_warm_start",
    "name_of",
    "present_fields",
]

# name → module, imported when a file has it.
ESTIMATORS = {
    **dict.fromkeys(
        (
            "SVC",
            "NuSVC",
            "SVR",
            "NuSVR",
            "OneClassSVM",
            "KernelRidge",
            "KernelPCA",
            "KernelKMeans",
            "KernelPerceptron",
            "KernelLogisticRegression",
        ),
        "mercer.estimators",
    ),
    **dict.fromkeys(("LinearSVC", "LinearSVR", "LogisticRegression"), "mercer.estimators.linear"),
    **dict.fromkeys(("PegasosClassifier", "PegasosRegressor"), "mercer.estimators.pegasos"),
    **dict.fromkeys(
        ("EmpiricalKernelMap", "LaplacianEigenmaps", "LocallyLinearEmbedding", "Nystroem"),
        "mercer.embeddings",
    ),
}
KERNELS = dict.fromkeys(
    (
        "AllSubsets",
        "Callable",
        "Chi2",
        "Constant",
        "Cosine",
        "Laplacian",
        "Linear",
        "Polynomial",
        "Power",
        "Precomputed",
        "Product",
        "RBF",
        "Scaled",
        "Sigmoid",
        "Sum",
    ),
    "mercer.kernels",
)
OBJECTS = {
    "Certificate": "mercer.certificates._certificate",
    "Choice": "mercer.solvers._registry",
    "Column": "mercer.data._schema",
    "Descent": "mercer.solvers._pegasos",
    "Duals": "mercer.estimators._warm_start",
    "EigenCertificate": "mercer.certificates._residuals",
    "Expansion": "mercer._expansion",
    "LinearResult": "mercer._result",
    "Answer": "mercer.solvers.linear._stored_model",
    "_Last": "mercer.estimators.linear._base",
    "Wake": "mercer._result",
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
# Names of classes in files of earlier versions → present names, and "Class.field" → "field" of
# fields that were renamed (the class by its present name).
RENAMED = {"Points": "Samples"}
# Fitted attributes that serve only to continue a fit, and the class of what they hold (or of the
# items of a list). Where a file of an earlier version holds something else, the attribute is left
# out, and the next fit starts anew.
WARM_START = {"_duals": "Duals", "_last": "_Last", "_states": "Descent"}


class UnknownObjectError(ValueError):
    """A file names a class, or fields of a class, that this version does not have."""


def find(name: Any, among: dict[str, str]) -> type:
    """The class of this name, by its present or an earlier one; an error if it is not listed."""
    name = RENAMED.get(name, name) if isinstance(name, str) else name
    if not isinstance(name, str) or name not in among:
        raise UnknownObjectError(f"there is no class {str(name)[:40]!r} in this version of Mercer")
    return getattr(import_module(among[name]), name)


def present_fields(cls: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a file gives for the fields of ``cls``, by their present names.

    Fields that have a default may be absent: versions add such fields.
    """
    values = {RENAMED.get(f"{cls.__name__}.{name}", name): value for name, value in given.items()}
    required = arguments(cls)
    if is_dataclass(cls):
        required = tuple(
            field.name
            for field in fields(cls)
            if field.default is MISSING and field.default_factory is MISSING
        )
    if not set(required) <= set(values) <= set(arguments(cls)):
        raise UnknownObjectError(f"{cls.__name__} is not made of {sorted(given)}")
    return values


def is_warm_start(name: str, value: Any) -> bool:
    """Whether an attribute of `WARM_START` holds what this version keeps there."""
    cls = find(WARM_START[name], OBJECTS)
    items = value if isinstance(value, list) else [value]
    return value is None or all(isinstance(item, cls) for item in items)


def name_of(thing: Any, among: dict[str, str]) -> str | None:
    """The name under which the class of a thing is in the list; None if it is not."""
    name = type(thing).__name__
    return name if name in among and find(name, among) is type(thing) else None


def arguments(cls: type) -> tuple[str, ...]:
    """The attributes an object is made of again."""
    if is_dataclass(cls):
        return tuple(field.name for field in fields(cls))
    return _ARGUMENTS[cls.__name__]
