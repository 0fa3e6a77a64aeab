"""Machines and kernels by name, without importing them; the machine that a target asks for."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from mercer.cli._errors import Misused, option

__all__ = ["KERNELS", "MACHINES", "Machine", "build", "choose"]


@dataclass(frozen=True)
class Machine:
    """An estimator of the package, by its name there, and what it makes of a target."""

    estimator: str
    task: str | None
    says: str


MACHINES = {
    "svc": Machine("SVC", "classification", "C-support vector classification"),
    "nusvc": Machine("NuSVC", "classification", "ν-support vector classification"),
    "linear-svc": Machine("LinearSVC", "classification", "linear, for many rows or columns"),
    "logistic": Machine("LogisticRegression", "classification", "linear, with probabilities"),
    "kernel-logistic": Machine(
        "KernelLogisticRegression", "classification", "logistic regression with a kernel"
    ),
    "perceptron": Machine("KernelPerceptron", "classification", "the perceptron with a kernel"),
    "pegasos": Machine("PegasosClassifier", "classification", "stochastic subgradients"),
    "svr": Machine("SVR", "regression", "ε-support vector regression"),
    "nusvr": Machine("NuSVR", "regression", "ν-support vector regression"),
    "linear-svr": Machine("LinearSVR", "regression", "linear support vector regression"),
    "ridge": Machine("KernelRidge", "regression", "ridge regression with a kernel"),
    "pegasos-regressor": Machine("PegasosRegressor", "regression", "stochastic subgradients"),
    "oneclass": Machine("OneClassSVM", None, "what most rows look like; no target"),
}
KERNELS = ("rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", "chi2", "precomputed")

BY_TASK = {"classification": "svc", "regression": "svr", None: "oneclass"}


def choose(schema: Any) -> tuple[str, str]:
    """The machine for a table's target, and why."""
    what = f"the target {schema.target!r}" if schema.target else "the target"
    why = {
        "classification": f"{what} has {len(schema.labels or ())} labels",
        "regression": f"{what} is a number",
        None: "there is no target",
    }[schema.task]
    return BY_TASK[schema.task], why


def build(name: str, parameters: dict[str, Any]) -> Any:
    """The estimator with the parameters that were given; one it does not have is refused."""
    import mercer

    kind = getattr(mercer, MACHINES[name].estimator)
    known = inspect.signature(kind).parameters
    given = {key: value for key, value in parameters.items() if value is not None}
    for key in given:
        if key not in known:
            others = [
                other for other, machine in MACHINES.items()
                if key in inspect.signature(getattr(mercer, machine.estimator)).parameters
            ]  # fmt: skip
            raise Misused(
                f"{option(key)} does not go with the machine {name}; it goes with "
                + ", ".join(others)
            )
    return kind(**given)
