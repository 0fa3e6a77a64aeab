"""The classes a file may name. A file's text is looked up here and never imported or evaluated.

Estimators, kernels and solvers are those of their registries. A new kind of object in a fitted
model is added to `_OBJECTS`; anything else is refused by `mercer.save`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from mercer.estimators._registry import ESTIMATORS
from mercer.kernels._registry import KERNELS, ClassPath
from mercer.solvers._registry import NAMES

__all__ = [
    "EARLIER_PARAMETERS",
    "ESTIMATORS",
    "TRANSFORMERS",
    "WARM_START",
    "WRAPPERS",
    "UnknownObjectError",
    "arguments",
    "find",
    "is_warm_start",
    "name_of",
    "objects",
    "present_fields",
]


_OBJECTS = [
    ClassPath(f"mercer.{path}")
    for path in (
        "certificates._certificate:Certificate",
        "solvers._registry:Choice",
        "estimators._compress:Compression",
        "data._schema:Column",
        "solvers.pegasos._state:PegasosState",
        "estimators._warm_start:Duals",
        "certificates._residuals:EigenCertificate",
        "estimators.mkl._joint_gap:JointCertificate",
        "_expansion:Expansion",
        "features._function:FeatureFunction",
        "features._maps:FourierMap",
        "features._maps:SketchMap",
        "kernels.graphs._graph:Graph",
        "_result:LinearResult",
        "solvers.linear._stored_model:StoredModel",
        "estimators.linear._base:LastFit",
        "_result:WarmStartState",
        "kernels._samples:Samples",
        "kernels.tables._table:Table",
        "certificates._residuals:RidgeCertificate",
        "data._schema:Schema",
        "calibration._step_maps:StepMaps",
        "data:StreamProgress",
    )
]


# Estimators around others of Mercer: a parameter is an estimator that is not fitted.
WRAPPERS = {"MKL": ClassPath("mercer.estimators.mkl._estimator:MKL")}
# Parameters that files of earlier versions do not have, and what was fitted then.
EARLIER_PARAMETERS: dict[str, dict[str, Any]] = {"LogisticRegression": {"multi_class": "ovr"}}


def objects() -> dict[str, ClassPath]:
    """The classes of parts of a model by name; kernels and solvers may be registered later."""
    solvers = map(ClassPath, NAMES.values())
    return {path.class_name: path for path in (*_OBJECTS, *KERNELS.values(), *solvers)}


# Steps of pipelines: transformers of scikit-learn whose fitted attributes are numbers and arrays.
TRANSFORMERS = {
    path.class_name: path
    for path in map(
        ClassPath,
        (
            "sklearn.preprocessing:StandardScaler",
            "sklearn.preprocessing:MinMaxScaler",
            "sklearn.preprocessing:MaxAbsScaler",
            "sklearn.preprocessing:RobustScaler",
            "sklearn.preprocessing:Normalizer",
            "sklearn.preprocessing:Binarizer",
            "sklearn.preprocessing:QuantileTransformer",
            "sklearn.preprocessing:PolynomialFeatures",
            "sklearn.decomposition:PCA",
            "sklearn.decomposition:TruncatedSVD",
            "sklearn.feature_selection:VarianceThreshold",
        ),
    )
}
# The arguments of classes that are no dataclasses.
_ARGUMENTS = {
    "Expansion": ("kernel", "support", "coef", "b", "blocks", "columns"),
    "Samples": ("X", "origin"),
}
# Names of classes in files of earlier versions → present names, and "Class.field" → "field" of
# fields that were renamed (the class by its present name).
RENAMED = {
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
# Fitted attributes that serve only to continue a fit, and the class of what they hold (or of the
# items of a list). Where a file of an earlier version holds something else, the attribute is left
# out, and the next fit starts anew.
WARM_START = {"_duals": "Duals", "_last": "LastFit", "_states": "PegasosState"}


class UnknownObjectError(ValueError):
    """A file names a class, or fields of a class, that this version does not have."""


def find(name: Any, among: Mapping[str, Any]) -> type:
    """The class of this name, by its present or an earlier one; an error if it is not listed."""
    name = RENAMED.get(name, name) if isinstance(name, str) else name
    if not isinstance(name, str) or name not in among:
        raise UnknownObjectError(f"there is no class {str(name)[:40]!r} in this version of Mercer")
    return among[name].load()


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
    cls = find(WARM_START[name], objects())
    items = value if isinstance(value, list) else [value]
    return value is None or all(isinstance(item, cls) for item in items)


def name_of(thing: Any, among: Mapping[str, Any]) -> str | None:
    """The name under which the class of a thing is in the list; None if it is not."""
    name = type(thing).__name__
    return name if name in among and find(name, among) is type(thing) else None


def arguments(cls: type) -> tuple[str, ...]:
    """The attributes an object is made of again."""
    if is_dataclass(cls):
        return tuple(field.name for field in fields(cls))
    return _ARGUMENTS[cls.__name__]
