"""What can be chosen in the playground: machines, kernels, and the parameters with their ranges.

One table for all: the page builds its controls from it, `State` checks against it, and the exported
code takes its arguments from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from mercer.estimators._registry import ESTIMATORS
from mercer.kernels._registry import KERNELS as REGISTERED_KERNELS

__all__ = ["KERNELS", "LABELS", "MACHINES", "PARAMETERS", "Kernel", "Machine", "Parameter"]

# Names of the classes, in the order of the keys 1 to 4.
LABELS = ("A", "B", "C", "D")


@dataclass(frozen=True)
class Parameter:
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
    "C": Parameter(
        "C", "price of an error: small forgives, large insists", 1e-3, 1e4, 0.05,
        is_log=True, may_be_infinite=True,
    ),
    "epsilon": Parameter("ε", "half width of the tube in which errors are free", 0.0, 2.0, 0.01),
    "nu": Parameter("ν", "largest share of points outside of the region", 0.01, 1.0, 0.01),
    "alpha": Parameter("α", "strength of the ridge: large is stiff", 1e-4, 1e2, 0.05, is_log=True),
    "clusters": Parameter("clusters", "how many centres", 1, 8, 1, is_whole=True),
    "gamma": Parameter("γ", "reach of a point: large is local", 1e-2, 1e2, 0.05, is_log=True),
    "degree": Parameter("degree", "of the polynomial", 1, 8, 1, is_whole=True),
    "coef0": Parameter("c₀", "constant inside of the kernel", -2.0, 2.0, 0.05),
}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A machine: its estimator, its own parameters, and what its picture is.

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
    constants : dict
        Arguments that are no choice.
    """

    title: str
    estimator: str
    parameters: tuple[str, ...]
    kind: str
    step: str = ""
    constants: tuple[tuple[str, object], ...] = ()


# Limits that make the same picture on every machine, and keep it quick.
_FEW_UPDATES = ("max_iter", 50_000)
_OPTIONS = (
    Machine("SVC (classes)", "SVC", ("C",), "classes", "pair of SMO",
                   (_FEW_UPDATES,)),
    Machine("SVR (regression)", "SVR", ("C", "epsilon"), "curve",
                   "pair of SMO", (("max_iter", 20_000),)),
    Machine("One-class SVM (region)", "OneClassSVM", ("nu",), "region", "pair of SMO",
                        (_FEW_UPDATES,)),
    Machine("Perceptron (classes)", "KernelPerceptron", (), "classes", "mistake",
                          (("max_iter", 100), ("random_state", 0))),
    Machine("Pegasos (classes)", "PegasosClassifier", ("C",), "classes", "example",
                       (("max_iter", 128), ("random_state", 0))),
    Machine("Logistic (classes)", "KernelLogisticRegression", ("C",), "classes", "",
                        (("max_iter", 50),)),
    Machine("k-means (clusters)", "KernelKMeans", ("clusters",), "clusters", "",
                      (("random_state", 0),)),
    Machine("Ridge (regression)", "KernelRidge", ("alpha",), "curve"),
)  # fmt: skip
MACHINES = {ESTIMATORS[option.estimator].playground: option for option in _OPTIONS}


@dataclass(frozen=True)
class Kernel:
    """A kernel: its title and formula, and the parameters it has."""

    title: str
    formula: str
    parameters: tuple[str, ...] = ()


KERNELS = {
    entry.names[0]: Kernel(entry.title, entry.formula, entry.parameters)
    for entry in REGISTERED_KERNELS.values()
    if entry.formula
}
