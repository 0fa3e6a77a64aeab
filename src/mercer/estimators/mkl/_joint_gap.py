"""The certificate of weights and machine together.

For weights d with ‖d‖_p ≤ 1 the certificate of the machine fitted with Σ d_k K_k gives P ≥ J(d).
Every feasible β gives a lower bound of the optimum of the joint problem,

    targetᵀβ − ½ βᵀDβ − ½ ‖q‖_p*,     q_k = βᵀK_kβ,     D the squared slack.

q is computed in float64 with bounds on its rounding. β is rounded to multiples of a power of two,
whose sums are exact, and some take what is missing to the sum: it is feasible without error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mercer._precision import TINY
from mercer._result import Status
from mercer.certificates._certificate import Certificate
from mercer.certificates._statement import Statement
from mercer.estimators.mkl._point import Machine, dual_norm
from mercer.gram._distinct import DistinctGrams
from mercer.kernels._rounding import unit
from mercer.problems import BoxQP

__all__ = ["JointCertificate", "certify_jointly", "feasible"]


@dataclass(frozen=True)
class FeasibleSettings:
    """Attributes: bits: of the largest |β| that are kept; sums of 2^(52 − bits) are exact."""

    bits: int = 36


SETTINGS = FeasibleSettings()


@dataclass(frozen=True, eq=False, repr=False)
class JointCertificate(Statement):
    """What is proved about learned weights and their machine, rounding included.

    Attributes
    ----------
    primal, dual : float
        The optimal value of the joint problem lies between them.
    gap, relative_gap : float
        ``primal − dual``, and that over the larger of their sizes.
    status : Status
        Solved if the relative gap is at most ``gap_tol``.
    machine : Certificate
        Of the machine alone, with its weights.
    note : str
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    status: Status
    machine: Certificate
    note: str = ""

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("objective", f"{self.primal:.6g}"),
            ("gap", f"{self.gap:.3g} (relative {self.relative_gap:.2g})"),
            ("gap of the machine alone", f"{self.machine.gap:.3g}"),
            ("status", str(self.status.value)),
        ]

    def __repr__(self) -> str:
        word = "solved" if self.holds else "not solved"
        return (
            f"JointCertificate: {word}, objective {self.primal:.6g}, gap {self.gap:.3g} "
            f"(relative {self.relative_gap:.2g}; of the machine alone {self.machine.gap:.2g})"
        )


def certify_jointly(
    machine: Certificate,
    grams: DistinctGrams,
    scales: np.ndarray,
    machines: Sequence[Machine],
    betas: Sequence[np.ndarray],
    p: float,
    gap_tol: float,
    stopped: Status | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> JointCertificate:
    """The certificate of a machine with learned weights, given the β of a lower bound.

    ``stopped`` is what ended the search before the tolerance, if something did. Once ``stop()``,
    the lower bound is that of β = 0.
    """
    betas = [feasible(each.problem, beta) for each, beta in zip(machines, betas, strict=True)]
    values = _forms(grams, scales, machines, betas, stop)
    if values is None:
        betas = [each.problem.start for each in machines]  # 0
        values = np.zeros((len(grams), 2))
    # The norm is largest at the upper ends.
    norm = dual_norm(values[:, 0] + 1.001 * values[:, 1], p) * (1 + 1e-12)
    dual = -0.5 * norm
    for each, beta in zip(machines, betas, strict=True):
        dual += _linear_part(each.problem, beta)
    dual -= 8 * unit(np.float64) * (abs(dual) + norm)
    gap = max(machine.primal - dual, 0.0)
    relative = gap / max(abs(machine.primal), abs(dual), TINY)
    status = machine.status
    if status.is_solved and relative > gap_tol:
        status = stopped or Status.ITERATION_LIMIT
    return JointCertificate(machine.primal, dual, gap, relative, status, machine)


def _forms(
    grams: DistinctGrams,
    scales: np.ndarray,
    machines: Sequence[Machine],
    betas: Sequence[np.ndarray],
    stop: Callable[[], bool],
) -> np.ndarray | None:
    """βᵀK_kβ over the scales, summed over the machines, and bounds of their errors."""
    coefs = []
    for each, beta in zip(machines, betas, strict=True):
        coef = np.zeros(grams.n)
        coef[each.rows] = each.problem.at_points(beta, each.rows.size)
        coefs.append(coef)

    def one(k: int) -> tuple[float, float]:
        found = [grams.members[k].bounded_form(coef, stop) for coef in coefs]
        return sum(q for q, _ in found) / scales[k], sum(error for _, error in found) / scales[k]

    found = grams.workers.map(one, range(len(grams)))
    return None if stop() else np.array(found).reshape(-1, 2)


def _linear_part(problem: BoxQP, beta: np.ndarray) -> float:
    """targetᵀβ − ½ βᵀDβ, rounded down."""
    terms = problem.target * beta
    if problem.diag is not None:
        terms = terms - 0.5 * problem.at_variables(problem.diag) * beta**2
    size = np.abs(problem.target * beta).sum() + np.abs(terms).sum()
    return math.fsum(terms.tolist()) - 8 * unit(np.float64) * float(size)


def feasible(problem: BoxQP, beta: np.ndarray) -> np.ndarray:
    """β within its bounds, with the sum of its group exactly (which is 0 or a multiple)."""
    largest = float(np.abs(beta).max(initial=0.0))
    if largest == 0 or problem.n_groups == 0:
        return np.clip(beta, problem.lower, problem.upper)
    step = 2.0 ** (math.frexp(largest)[1] - SETTINGS.bits)
    lower = np.ceil(problem.lower / step) * step
    upper = np.floor(problem.upper / step) * step
    out = np.clip(np.rint(beta / step) * step, lower, upper)
    drift = float(problem.drift(out)[0])
    # As much as each variable can take, the freest first.
    room = upper - out if drift > 0 else out - lower
    for j in np.argsort(-room, kind="stable"):
        if drift == 0 or room[j] <= 0:
            break
        change = math.copysign(min(abs(drift), float(room[j])), drift)
        out[j] += change
        drift = float(problem.drift(out)[0])
    return out if drift == 0 else problem.start.copy()
