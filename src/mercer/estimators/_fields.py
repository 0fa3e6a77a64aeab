"""Parameters of estimators as annotated fields, from which `estimator` writes the constructor.

    @estimator
    class KernelKMeans(RunParameters, KernelParameters, KernelEstimator):
        n_clusters: int = field(default=8, kw_only=False)
        tol: float = 0.0

Parameters are keywords unless their field says otherwise. What they may be is in `CONSTRAINTS`, a
bool is one, and a class lists in ``_parameter_constraints`` only what differs from that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from mercer.estimators._methods import document_methods
from mercer.estimators._parameters import CONSTRAINTS, COUNT, NOT_NEGATIVE, POSITIVE

__all__ = [
    "COUNT",
    "NOT_NEGATIVE",
    "POSITIVE",
    "KernelParameters",
    "RunParameters",
    "SVMParameters",
    "SmoothingParameters",
    "estimator",
]

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: type[T]) -> type[T]:
    """Give a class its constructor, the constraints of its parameters, and complete docstrings."""
    cls = dataclass(eq=False, repr=False, kw_only=True)(cls)
    own: dict[str, list] = {}
    for base in reversed(cls.__mro__):
        own |= vars(base).get("_parameter_constraints", {})
    cls._parameter_constraints = {  # type: ignore[attr-defined]
        f.name: own.get(f.name) or CONSTRAINTS.get(f.name) or {"bool": ["boolean"]}[str(f.type)]
        for f in fields(cls)  # type: ignore[arg-type]
    }
    document_methods(cls)
    return cls


@estimator
class KernelParameters:
    """The kernel, with the defaults of `SVC`."""

    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0


@estimator
class SmoothingParameters:
    """The kernel, with scikit-learn's defaults of kernel ridge regression and kernel PCA."""

    _parameter_constraints: ClassVar[dict] = {
        "gamma": [None, NOT_NEGATIVE],
        "kernel_params": [None, dict],
    }
    kernel: Any = "linear"
    gamma: float | None = None
    degree: int = 3
    coef0: float = 1
    kernel_params: dict | None = None


@estimator
class RunParameters:
    """Threads, limits and reports of a fit."""

    n_jobs: int | None = None
    time_limit: float | None = None
    callback: Any = None
    on_interrupt: str = "raise"
    verbose: Any = False


@estimator
class SVMParameters(RunParameters, KernelParameters):
    """What all kernel SVMs have."""

    tol: float = 1e-3
    shrinking: bool = True
    cache_size: float = 200
    max_iter: int = -1
    solver: Any = "auto"
    warm_start: bool = False
    fit_intercept: bool = True
    gap_tol: float | None = None
    approximation: str | None = None
    n_components: int = 500
    random_state: Any = None
    checkpoint: Any = None
