"""What can be chosen in the playground: estimators and kernels, and what a slider is.

The page builds its controls from these tables, `State` checks against them, and the exported code
takes its arguments from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.estimators._registry import ESTIMATORS as REGISTERED
from mercer.kernels._registry import KERNELS as REGISTERED_KERNELS

__all__ = ["ESTIMATORS", "FORMULA", "KERNELS", "LABELS", "EstimatorOption", "ParameterOption"]

# Names of the classes, in the order of the keys 1 to 4.
LABELS = ("A", "B", "C", "D")


@dataclass(frozen=True)
class ParameterOption:
    """A number that has a slider."""

    title: str
    help: str
    low: float
    high: float
    step: float  # of a logarithmic slider, that of the exponents of ten
    is_log: bool = False
    is_whole: bool = False
    may_be_infinite: bool = False


@dataclass(frozen=True)
class EstimatorOption:
    """An estimator, its own parameters, and what its picture is.

    The kind is "classes" where labels count, "region" or "clusters" where they do not, and "curve"
    where the second coordinate is the target.
    """

    title: str
    estimator: str  # public name in `mercer`
    parameters: tuple[str, ...]
    kind: str
    step: str = ""  # what one step of step mode is; empty where there is none
    max_iter: int | None = None  # a limit that makes the same picture on every computer
    is_seeded: bool = False  # whether it takes ``random_state``
    has_box: bool = False  # whether its coefficients have bounds, and so KKT groups
    has_edges: bool = False  # whether f = ±1 is drawn: the margin, or odds of e to 1
    coefficient: str = "α"  # what the fit has for each row; empty where it has nothing

    @property
    def needs_finite_C(self) -> bool:
        return "C" in self.parameters and self.estimator != "SVC"

    @property
    def constants(self) -> dict[str, int]:
        """Arguments that are no choice."""
        limits = {} if self.max_iter is None else {"max_iter": self.max_iter}
        return {**limits, "random_state": 0} if self.is_seeded else limits


def _options() -> tuple[EstimatorOption, ...]:
    smo: dict[str, Any] = {"step": "pair of SMO", "has_box": True}
    option = EstimatorOption
    return (
        option("SVC (classes)", "SVC", ("C",), "classes", max_iter=50_000, has_edges=True, **smo),
        option("SVR (regression)", "SVR", ("C", "epsilon"), "curve", max_iter=20_000, **smo),
        option("One-class SVM (region)", "OneClassSVM", ("nu",), "region", max_iter=50_000, **smo),
        option(
            *("Perceptron (classes)", "KernelPerceptron", (), "classes", "mistake", 100, True),
            coefficient="mistakes",
        ),
        option(
            *("Pegasos (classes)", "PegasosClassifier", ("C",), "classes", "example", 128, True),
            has_edges=True,
        ),
        option(
            *("Logistic (classes)", "KernelLogisticRegression", ("C",), "classes", "", 50),
            has_edges=True,
        ),
        option(
            *("k-means (clusters)", "KernelKMeans", ("clusters",), "clusters"),
            is_seeded=True,
            coefficient="",
        ),
        option("Ridge (regression)", "KernelRidge", ("alpha",), "curve", coefficient="|c|"),
    )


#: By the key that the registry gives each in links and on the page.
ESTIMATORS = {REGISTERED[option.estimator].playground: option for option in _options()}
#: The kernel that is written by the user (`_formula`).
FORMULA = "formula"
#: By name: entries of the registry with a title, a formula and parameters.
KERNELS = {entry.names[0]: entry for entry in REGISTERED_KERNELS.values() if entry.formula}
