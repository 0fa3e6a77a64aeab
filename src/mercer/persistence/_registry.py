"""The classes a file may name. A file's text is looked up here and never imported or evaluated.

Estimators, kernels and solvers are those of their registries. A new kind of object in a fitted
model is added to `_OBJECTS`; anything else is refused by `mercer.save`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from mercer.estimators._registry import ESTIMATORS
from mercer.kernels._registry import KERNELS, ClassPath
from mercer.solvers._registry import NAMES

__all__ = ["ESTIMATORS", "KERNELS", "OBJECTS", "arguments", "find", "name_of", "present_fields"]


class _Solvers(Mapping[str, ClassPath]):
    """The solvers by the names of their classes."""

    def _paths(self) -> dict[str, ClassPath]:
        return {path.partition(":")[2]: ClassPath(path) for path in NAMES.values()}

    def __getitem__(self, name: str) -> ClassPath:
        return self._paths()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths())

    def __len__(self) -> int:
        return len(self._paths())


_OBJECTS = {
    path.partition(":")[2]: ClassPath(f"mercer.{path}")
    for path in (
        "certificates._certificate:Certificate",
        "solvers._registry:Choice",
        "data._schema:Column",
        "solvers.pegasos._state:PegasosState",
        "estimators._warm_start:Duals",
        "certificates._residuals:EigenCertificate",
        "_expansion:Expansion",
        "_result:LinearResult",
        "solvers.linear._stored_model:StoredModel",
        "estimators.linear._base:LastFit",
        "_result:WarmStartState",
        "kernels._samples:Samples",
        "certificates._residuals:RidgeCertificate",
        "data._schema:Schema",
        "data:StreamProgress",
    )
}
OBJECTS: Mapping[str, ClassPath] = ChainMap(_OBJECTS, KERNELS, _Solvers())  # type: ignore[arg-type]
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


def find(name: Any, among: Mapping[str, Any]) -> type:
    """The class of this name; a ValueError if it is not in the list."""
    name = _RENAMED.get(name, name) if isinstance(name, str) else name
    if not isinstance(name, str) or name not in among:
        raise ValueError(f"there is no class {str(name)[:40]!r} in this version of Mercer")
    return among[name].load()


def present_fields(cls: type, given: dict[str, Any]) -> dict[str, Any]:
    """The parts of an object of this class under the present names of its fields."""
    return {_RENAMED.get(f"{cls.__name__}.{name}", name): part for name, part in given.items()}


def name_of(thing: Any, among: Mapping[str, Any]) -> str | None:
    """The name under which the class of a thing is in the list; None if it is not."""
    name = type(thing).__name__
    return name if name in among and find(name, among) is type(thing) else None


def arguments(cls: type) -> tuple[str, ...]:
    """The attributes an object is made of again."""
    if is_dataclass(cls):
        return tuple(field.name for field in fields(cls))
    return _ARGUMENTS[cls.__name__]
