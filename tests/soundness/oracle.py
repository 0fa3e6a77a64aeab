"""What is true of a fitted machine: exact values, and an enclosure of the optimal value.

``examine(task, kernel, X)`` evaluates the published model and its repaired dual point; ``Truth``
encloses the optimal value between the best dual and the best primal value seen so far, and
``sharpen`` adds those of an optimum that was found without the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq

from tests.soundness.exact import Rows, kernel_matrix, kernel_sums
from tests.soundness.interior import float_optimum, optimum
from tests.soundness.machines import Task, dual, feasible, primal, violation

__all__ = ["Truth", "examine", "sharpen"]

# An optimum in 330 bits takes some 30 ms at 20 rows, two seconds at 60. With more rows it is sought
# in float64 only; its values are evaluated as exactly as all others.
MOST_ROWS = 64
MOST_ROWS_FLOAT = 320


@dataclass
class Truth:
    """What is known of one task.

    Attributes
    ----------
    f : list of arb
        Σ βⱼ k(xᵢ, xⱼ) of the published model at its rows, without intercept.
    quad : arb
        ‖w‖².
    primal : arb
        The value of the published model.
    violation : arb
    low, high : arb
        The optimal value lies between them.
    size : arb
        |yᵀβ| + |βᵀKβ| and the like: what values are rounded against.
    """

    task: Task
    f: list[arb]
    quad: arb
    primal: arb
    violation: arb
    low: arb
    high: arb
    size: arb

    def gap_at_most(self) -> arb:
        """An upper bound of P(model) − P*."""
        return self.primal - self.low

    def gap_at_least(self) -> arb:
        """A lower bound of P(model) − P*; the primal value of another model is no more than P*."""
        return self.primal - self.high


def examine(task: Task, kernel: Any, X: Rows) -> Truth:
    """The exact values of a published model, and the bounds that it gives by itself."""
    repaired = feasible(task)
    duals = [task.beta] if repaired is None else [task.beta, repaired]
    cols = [i for i in range(len(task.rows)) if any(beta[i] for beta in duals)]
    sums = kernel_sums(
        kernel, X, task.rows, [task.rows[i] for i in cols], [[b[i] for i in cols] for b in duals]
    )
    quads = [_quad(beta, f) for beta, f in zip(duals, sums, strict=True)]
    value = primal(task, sums[0], quads[0])
    low = arb.neg_inf() if repaired is None else best_dual(task, repaired, quads[1])
    size = abs(quads[0]) + sum(
        (abs(arb(y * b)) for y, b in zip(task.y, task.beta, strict=True)), arb(0)
    )
    return Truth(
        task, sums[0], quads[0], value, violation(task, sums[0]), low, trivial(task, value), size
    )


def _quad(beta: list[fmpq], f: list[arb]) -> arb:
    return sum((arb(b) * v for b, v in zip(beta, f, strict=True) if b), arb(0))


def best_dual(task: Task, beta: list[fmpq], quad: arb) -> arb:
    """D(β); where no upper bound is finite, of the best multiple of β."""
    if task.is_hard:
        total = arb(sum((abs(v) for v in beta), fmpq(0)))
        return total**2 / (2 * quad) if quad > 0 else arb(0)
    return dual(task, beta, quad)


def trivial(task: Task, value: arb) -> arb:
    """The smaller of the model's value and that of w = 0, b = 0."""
    if task.kind == "svc" and not task.is_hard:
        return arb.min(value, arb(sum(task.s, fmpq(0))))
    return arb.min(value, arb(0)) if task.kind in ("nu_svc", "one_class") else value


def sharpen(truth: Truth, kernel: Any, X: Rows, accuracy: float) -> bool:
    """Enclose the optimal value by an answer of an interior point method; False if too large.

    P* is enclosed to about ``accuracy``, or to what float64 can do where there are many rows.
    """
    task = truth.task
    if len(task.rows) > MOST_ROWS_FLOAT:
        return False
    K = kernel_matrix(kernel, X, task.rows, task.rows)
    try:
        solve = optimum if len(task.rows) <= MOST_ROWS else float_optimum
        beta, b = solve(task, K, accuracy)
    except (ZeroDivisionError, ValueError, np.linalg.LinAlgError):
        return False
    repaired = feasible(task, beta)
    if repaired is None:
        return False
    f = (K * arb_mat([[arb(v)] for v in repaired])).entries()
    quad = _quad(repaired, f)
    truth.low = arb.max(truth.low, best_dual(task, repaired, quad))
    truth.high = arb.min(truth.high, _best_primal(task, f, quad, b))
    return True


def _best_primal(task: Task, f: list[arb], quad: arb, b: arb) -> arb:
    """P of w = Σ βφ with the intercept of the interior point method.

    That of ν-SVC is in the scale of ν: w and b are divided by the ρ that the margins suggest.
    """
    if task.kind != "nu_svc":
        return primal(task, f, quad, b)
    margins = sorted(
        (arb(y) * (v + b) for y, v in zip(task.y, f, strict=True)), key=lambda a: a.mid()
    )
    least = arb(0)
    for rho in margins:
        if rho > 0:
            least = arb.min(least, primal(task, [v / rho for v in f], quad / rho**2, b / rho))
    return least
