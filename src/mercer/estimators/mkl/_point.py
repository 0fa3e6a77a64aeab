"""Weights, the machines for them, and the settings of the search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.problems import BoxQP

__all__ = ["Machine", "Point", "WeightSearchSettings", "dual_norm"]


@dataclass(frozen=True)
class WeightSearchSettings:
    """Attributes: tolerances and limits of the search.

    machine_gap : float
        Machines are solved to this fraction of the relative gap that is asked for.
    tighten : float
        Factor on the tolerance of a machine whose gap is larger.
    most_tightened : int
        How often one machine is solved again.
    entering : int
        Kernels of weight 0 that a Newton step may give weight to: those of the largest q.
    most_free : int
        Free variables up to which a Newton step is made.
    ridge : float
        Added to the diagonals of matrices that are factored, relative to their mean.
    damping : float
        Times the relative gap: added to the diagonal of second derivatives, relative to its mean.
    sufficient : float
        A step must reach this fraction of the decrease that its slope promises.
    most_trials : int
        Points that are tried along a step.
    step_tol : float
        To which the quadratic model is minimised, relative to the gradient.
    cut_step : float
        How far to go towards the weights that the cuts ask for.
    negligible : float
        Weights below this fraction of the largest one are set to 0 (p = 1).
    """

    machine_gap: float = 0.2
    tighten: float = 0.2
    most_tightened: int = 6
    entering: int = 128
    most_free: int = 4000
    ridge: float = 1e-10
    damping: float = 1e-3
    sufficient: float = 1e-3
    most_trials: int = 8
    step_tol: float = 1e-6
    cut_step: float = 0.5
    negligible: float = 1e-9


@dataclass(frozen=True, eq=False)
class Machine:
    """One problem, on some of the rows."""

    problem: BoxQP
    rows: np.ndarray


@dataclass(frozen=True, eq=False)
class Point:
    """Weights, the machines for them, and what is known of both.

    Attributes
    ----------
    d : array
        Weights of the kernels, each divided by its scale.
    betas : list of arrays
    value : float
        targetᵀβ − ½ d·q, and less the squared slack.
    machine_gap : float
        Of the machines: J(d) is at most value + machine_gap.
    q : array
        βᵀK_kβ over the scales, summed over the machines.
    sums : list of lists of arrays
        K_kβ among the distinct samples, for each machine and kernel.
    """

    d: np.ndarray
    betas: list[np.ndarray]
    value: float
    machine_gap: float
    q: np.ndarray
    sums: list[list[np.ndarray]]

    @property
    def primal(self) -> float:
        return self.value + self.machine_gap

    def dual(self, p: float) -> float:
        """The lower bound of the joint problem that β gives."""
        return self.value + 0.5 * (float(self.d @ self.q) - dual_norm(self.q, p))


def dual_norm(q: np.ndarray, p: float) -> float:
    """max q, or the ℓp* norm."""
    q = np.maximum(q, 0.0)
    largest = float(q.max(initial=0.0))
    if p == 1 or largest == 0:
        return largest
    return largest * float(((q / largest) ** (p / (p - 1))).sum()) ** (1 - 1 / p)
