"""Families of candidates: estimators after transformers, that differ in numbers only.

Kernels come from the registry (`KernelEntry.tried_on`), so that a new kernel joins by its entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from mercer.automl._look import Look, array_of
from mercer.automl._settings import AutofitSettings
from mercer.data._column_statistics import total_variance
from mercer.estimators import SVC, SVR, LinearSVC, LinearSVR, LogisticRegression
from mercer.kernels import Normalize
from mercer.kernels._registry import KERNELS, KernelEntry

__all__ = ["Family", "families", "key_of"]

# Parameters that are followed in logarithms.
LOGARITHMIC = ("C", "gamma", "epsilon")


def key_of(params: dict[str, Any]) -> tuple:
    """A hashable name of a candidate."""
    return tuple(sorted((name, value) for name, value in params.items()))


@dataclass(frozen=True, eq=False)
class Family:
    """A pipeline and values of the parameters of its last step.

    Attributes
    ----------
    steps : list of transformers
    estimator : estimator
    grid : dict of name to values
    steps_of : dict of name to float
        The factor between neighbouring values of a parameter.
    """

    steps: list[Any]
    estimator: Any
    grid: dict[str, list[Any]]
    steps_of: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Kernel or estimator, and what stands before it."""
        model = self.estimator
        what = getattr(model, "kernel", "linear")
        if not isinstance(what, str):
            what = type(what.k if isinstance(what, Normalize) else what).__name__
        what = f"{type(model).__name__} ({what})" if isinstance(model, (SVC, SVR)) else ""
        what = what or type(model).__name__
        before = " and ".join(type(step).__name__ for step in self.steps)
        return f"{what} after {before}" if before else what

    @property
    def has_kernel(self) -> bool:
        """Whether fits take time that grows faster than the rows."""
        return isinstance(self.estimator, (SVC, SVR))

    def pipeline(self, **params: Any) -> Pipeline:
        """The pipeline with these parameters of its last step."""
        last = clone(self.estimator).set_params(**params)
        return make_pipeline(*map(clone, self.steps), last)

    def candidates(self) -> list[dict[str, Any]]:
        """All combinations of the grid."""
        names = list(self.grid)
        return [dict(zip(names, v, strict=True)) for v in product(*self.grid.values())]

    def coarse(self) -> list[dict[str, Any]]:
        """Every fourth value of C and γ: a few candidates that are done at once."""
        names = list(self.grid)
        some = [v[1::4] if n in LOGARITHMIC and len(v) > 4 else v[:1] for n, v in self.grid.items()]
        return [dict(zip(names, v, strict=True)) for v in product(*some)]

    def neighbours(self, params: dict[str, Any], power: float) -> Iterator[dict[str, Any]]:
        """Candidates one step (to a power) away along C, γ and ε, also diagonally in C and γ."""
        moving = [name for name in LOGARITHMIC if name in params and name in self.steps_of]
        for moves in product((-1, 0, 1), repeat=len(moving)):
            if any(moves):
                factors = {
                    name: self.steps_of[name] ** (power * move)
                    for name, move in zip(moving, moves, strict=True)
                }
                yield params | {
                    name: self._near(name, params[name] * factor)
                    for name, factor in factors.items()
                }

    def _near(self, name: str, value: float) -> float:
        """A value of the grid if it is within rounding, else with few digits."""
        nearest = min(self.grid[name], key=lambda given: abs(np.log(given / value)))
        return nearest if abs(np.log(nearest / value)) < 0.05 else _short(value)


def families(
    look: Look, X: Any, y: np.ndarray, steps: list[Any], settings: AutofitSettings
) -> tuple[list[Family], list[Family]]:
    """Families with kernels, the first is the usual one, and linear ones; X and y are some rows."""
    kernels = [
        entry for entry in KERNELS.values() if any(kind in entry.tried_on for kind in look.kinds)
    ]
    prepared = make_pipeline(*map(clone, steps), None).fit_transform(X) if steps else array_of(X)
    unit = 1.0 if look.task == "classification" else float(np.std(y)) or 1.0
    Cs = [_short(C) for C in np.logspace(*settings.log_C, settings.n_C) * unit]
    own: dict[str, list[Any]] = {}
    machine: Any = SVC if look.task == "classification" else SVR
    if look.task == "regression":
        own["epsilon"] = [_short(unit * settings.epsilon)]
    common = {"C": Cs} | own
    step = settings.epsilon_step
    found = []
    for entry in sorted(kernels, key=lambda entry: entry.names != ("rbf",)):
        if entry.sample_type == "vectors":
            grid = common | _vector_grid(entry, prepared, settings)
            found.append(_family(steps, machine(kernel=entry.names[0]), grid, step))
        else:
            grid = {"kernel": list(_structured(entry))} | common
            found.append(_family(steps, machine(kernel=grid["kernel"][0]), grid, step))
    if look.is_structured:
        return found, []
    linear = {"C": Cs}
    if look.task == "classification":
        return found, [
            _family(steps, model, linear, step)
            for model in (LogisticRegression(), LinearSVC(intercept_scaling=None))
        ]
    return found, [_family(steps, LinearSVR(intercept_scaling=None), linear | own, step)]


def _short(value: float) -> float:
    """Three digits: more make no difference, and less of a line of code."""
    return float(f"{value:.3g}")


def _family(steps: list[Any], estimator: Any, grid: dict[str, list[Any]], step: float) -> Family:
    factors = {
        name: float(values[1] / values[0])
        for name, values in grid.items()
        if name in LOGARITHMIC and len(values) > 1
    }
    if "epsilon" in grid:
        factors["epsilon"] = step
    return Family(steps, estimator, grid, factors)


def _vector_grid(entry: KernelEntry, X: Any, settings: AutofitSettings) -> dict[str, list[Any]]:
    """γ on the scale of the kernel's distances or products, and what the entry names."""
    grid = {name: list(values) for name, values in entry.tried}
    if "gamma" in entry.parameters:
        scale = _mean_distance(X) if entry.names[0] == "laplacian" else total_variance(X)
        gammas = np.logspace(*settings.log_gamma, settings.n_gamma) / scale
        grid["gamma"] = [_short(gamma) for gamma in gammas]
    return grid


def _mean_distance(X: Any) -> float:
    """The mean |x − z|₁ over a shift of the rows by one."""
    step = abs(X[1:] - X[:-1])
    mean = float(step.sum() / max(step.shape[0], 1))
    return mean if mean > 0 else 1.0


def _structured(entry: KernelEntry) -> Iterator[Any]:
    """Normalised kernels with the parameters that the entry names."""
    names = [name for name, _ in entry.tried]
    for values in product(*(values for _, values in entry.tried)):
        yield Normalize(entry.load()(**dict(zip(names, values, strict=True))))
