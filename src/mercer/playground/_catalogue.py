"""What can be chosen in the playground: estimators, kernels, and the parameters with their ranges.

The page builds its controls from these tables, `State` checks against them, and the exported code
takes its arguments from them.
"""

from __future__ import annotations

from dataclasses import dataclass

from mercer.estimators._registry import ESTIMATORS as REGISTERED
from mercer.kernels._registry import KERNELS as REGISTERED_KERNELS

__all__ = [
    "ESTIMATORS",
    "KERNELS",
    "LABELS",
    "PARAMETERS",
    "EstimatorOption",
    "KernelOption",
    "ParameterOption",
]

# Names of the classes, in the order of the keys 1 to 4.
LABELS = ("A", "B", "C", "D")


@dataclass(frozen=True)
class ParameterOption:
    """A number that has a slider.

    Attributes
    ----------
    title, help : str
    low, high, step : float
        The range; of a logarithmic one, that of the exponents of ten of its slider's step.
    is_log, is_whole, may_be_infinite : bool
    """

    title: str
    help: str
    low: float
    high: float
    step: float
    is_log: bool = False
    is_whole: bool = False
    may_be_infinite: bool = False


PARAMETERS = {
    "C": ParameterOption(
        "C",
        "cost of an error: a small C allows errors, a large one avoids them",
        1e-3,
        1e4,
        0.05,
        is_log=True,
        may_be_infinite=True,
    ),
    "epsilon": ParameterOption(
        "ε", "half width of the tube in which errors cost nothing", 0.0, 2.0, 0.01
    ),
    "nu": ParameterOption("ν", "largest fraction of points outside of the region", 0.01, 1.0, 0.01),
    "alpha": ParameterOption(
        "α", "regularisation: a large α gives a smooth curve", 1e-4, 1e2, 0.05, is_log=True
    ),
    "clusters": ParameterOption("clusters", "how many centres", 1, 8, 1, is_whole=True),
    "gamma": ParameterOption(
        "γ", "inverse width of the kernel: a large γ is local", 1e-2, 1e2, 0.05, is_log=True
    ),
    "degree": ParameterOption("degree", "of the polynomial", 1, 8, 1, is_whole=True),
    "coef0": ParameterOption("c₀", "constant inside of the kernel", -2.0, 2.0, 0.05),
}


@dataclass(frozen=True)
class EstimatorOption:
    """An estimator, its own parameters, and what its picture is.

    Attributes
    ----------
    title : str
    estimator : str
        Public name in `mercer`.
    parameters : tuple of str
    kind : {"classes", "region", "clusters", "curve"}
        Whether labels count, there are none, it makes them, or the second coordinate is the target.
    step : str
        What one step of step mode is; empty where there is none.
    constants : tuple of (str, value)
        Arguments that are no choice: limits that make the same picture on every computer.
    has_box : bool
        Whether its coefficients have bounds, and so KKT groups.
    has_edges : bool
        Whether f = ±1 is drawn: the margin, or odds of e to 1.
    needs_finite_C : bool
    """

    title: str
    estimator: str
    parameters: tuple[str, ...]
    kind: str
    step: str = ""
    constants: tuple[tuple[str, object], ...] = ()
    has_box: bool = False
    has_edges: bool = False
    needs_finite_C: bool = False


def _smo(
    title: str, estimator: str, parameters: tuple, kind: str, limit: int, **more: bool
) -> EstimatorOption:
    constants = (("max_iter", limit),)
    return EstimatorOption(
        title, estimator, parameters, kind, "pair of SMO", constants, has_box=True, **more
    )


def _seeded(limit: int) -> tuple[tuple[str, object], ...]:
    return ("max_iter", limit), ("random_state", 0)


_OPTIONS = (
    _smo("SVC (classes)", "SVC", ("C",), "classes", 50_000, has_edges=True),
    _smo("SVR (regression)", "SVR", ("C", "epsilon"), "curve", 20_000, needs_finite_C=True),
    _smo("One-class SVM (region)", "OneClassSVM", ("nu",), "region", 50_000),
    EstimatorOption(
        "Perceptron (classes)", "KernelPerceptron", (), "classes", "mistake", _seeded(100)
    ),
    EstimatorOption(
        "Pegasos (classes)",
        "PegasosClassifier",
        ("C",),
        "classes",
        "example",
        _seeded(128),
        has_edges=True,
        needs_finite_C=True,
    ),
    EstimatorOption(
        "Logistic (classes)",
        "KernelLogisticRegression",
        ("C",),
        "classes",
        constants=(("max_iter", 50),),
        has_edges=True,
        needs_finite_C=True,
    ),
    EstimatorOption(
        "k-means (clusters)",
        "KernelKMeans",
        ("clusters",),
        "clusters",
        constants=(("random_state", 0),),
    ),
    EstimatorOption("Ridge (regression)", "KernelRidge", ("alpha",), "curve"),
)
#: By the key that the registry gives each in links and on the page.
ESTIMATORS = {REGISTERED[option.estimator].playground: option for option in _OPTIONS}


@dataclass(frozen=True)
class KernelOption:
    """A kernel: its title, formula and parameters."""

    title: str
    formula: str
    parameters: tuple[str, ...] = ()


KERNELS = {
    entry.names[0]: KernelOption(entry.title, entry.formula, entry.parameters)
    for entry in REGISTERED_KERNELS.values()
    if entry.formula
}
