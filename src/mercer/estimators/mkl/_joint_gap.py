"""The certificate of weights and machine together.

For weights d with ‖d‖_p ≤ 1 and the machine fitted with Σ d_k K_k, whose certificate gives P ≥ J(d)
and a dual value D ≤ J(d) at its coefficients β,

    D − ½ (‖q‖_p* − d·q)  ≤  the optimum of the joint problem  ≤  P,     q_k = βᵀK_kβ.

q is computed in float64 with bounds on its rounding, and the largest value of the bracket is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mercer._result import Status
from mercer.certificates._certificate import Certificate
from mercer.certificates._statement import Statement
from mercer.estimators.mkl._weight_search import dual_norm
from mercer.gram._distinct import DistinctGrams

__all__ = ["JointCertificate", "certify_jointly"]


@dataclass(frozen=True, eq=False, repr=False)
class JointCertificate(Statement):
    """What is proved about learned weights and their machine, rounding included.

    Attributes
    ----------
    primal, dual : float
        The optimal value of the joint problem lies between them.
    gap, relative_gap : float
        ``primal − dual``, and that over the larger of their sizes.
    machine_gap : float
        The part of it that is the machine's: it is not optimal for its weights.
    weights_gap : float
        The part that is the weights'.
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
    machine_gap: float
    weights_gap: float
    status: Status
    machine: Certificate
    note: str = ""

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("objective", f"{self.primal:.6g}"),
            ("gap", f"{self.gap:.3g} (relative {self.relative_gap:.2g})"),
            ("of the machine", f"{self.machine_gap:.3g}"),
            ("of the weights", f"{self.weights_gap:.3g}"),
            ("status", str(self.status.value)),
        ]

    def __repr__(self) -> str:
        word = "solved" if self.holds else "not solved"
        return (
            f"JointCertificate: {word}, objective {self.primal:.6g}, relative gap "
            f"{self.relative_gap:.2g} (machine {self.machine_gap:.2g}, weights "
            f"{self.weights_gap:.2g})"
        )


def certify_jointly(
    machine: Certificate,
    grams: DistinctGrams,
    scales: np.ndarray,
    d: np.ndarray,
    coefs: Sequence[np.ndarray],
    p: float,
    gap_tol: float,
) -> JointCertificate:
    """The certificate of weights d and a machine with these coefficients, one array per task."""

    def one(k: int) -> tuple[float, float]:
        found = [grams.members[k].bounded_form(coef) for coef in coefs]
        return sum(q for q, _ in found) / scales[k], sum(error for _, error in found) / scales[k]

    values = np.array(grams.workers.map(one, range(len(grams)))).reshape(-1, 2)
    q, error = values[:, 0], 1.001 * values[:, 1]
    # A norm is largest, and a sum with weights ≥ 0 least, at the ends.
    lost = dual_norm(q + error, p) * (1 + 1e-12) - float(d @ (q - error)) * (1 - 1e-12)
    weights_gap = 0.5 * max(lost, 0.0)
    gap = machine.gap + weights_gap
    relative = gap / max(abs(machine.primal), abs(machine.primal - gap), np.finfo(float).tiny)
    is_solved = relative <= gap_tol and machine.status.is_solved
    status = machine.status
    if not is_solved and status.is_solved:
        status = Status.ITERATION_LIMIT
    return JointCertificate(
        primal=machine.primal,
        dual=machine.primal - gap,
        gap=gap,
        relative_gap=relative,
        machine_gap=machine.gap,
        weights_gap=weights_gap,
        status=status,
        machine=machine,
    )
