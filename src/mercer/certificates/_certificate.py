"""`Certificate`: what is proved about a fitted model, and the summary over several tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from mercer._precision import TINY
from mercer._result import Status
from mercer.certificates._statement import Statement, counted, distance_said
from mercer.problems._kkt import AT_BOUND

__all__ = [
    "BOUND",
    "FREE",
    "ROUNDING",
    "ZERO",
    "Certificate",
    "KKTGroup",
    "RoundingSettings",
    "relative",
    "summarise",
]


@dataclass(frozen=True)
class RoundingSettings:
    """What certificates add for the rounding of their own sums."""

    # Units of rounding in the stated gap; `mercer.verify` allows itself ten, so that a gap of
    # rounding alone is found between half as large and as large as stated.
    units: int = 16
    # Factor on bounds on the error of f, for sums of another order round otherwise.
    margin: float = 1.001
    # Factor that covers the rounding of k(x, x).
    diagonal: float = 1 + 1e-6
    # Factor on norms of n numbers and products of bounds, which are rounded, too.
    norms: float = 1 + 1e-9
    # A published coefficient is at its bound from this fraction of it on: it is the bound up to the
    # rounding of a factor or two.
    at_bound: float = 1 - AT_BOUND
    # The gap is primal − dual where rounding leaves at most this fraction of the primal value open,
    # else the sum of its terms.
    open_values: float = 1e-6


ROUNDING = RoundingSettings()


class KKTGroup(IntEnum):
    """Where a coefficient is: zero, strictly inside its box, or at a bound other than zero."""

    ZERO = 0
    FREE = 1
    BOUND = 2


ZERO, FREE, BOUND = KKTGroup


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Statement):
    """What is proved about a fitted model.

    It is true (``bool(certificate)``, ``.holds``) if the model is optimal to its tolerance, and
    ``to_dict()`` gives its numbers as JSON values.

    Attributes
    ----------
    primal, dual : float
        The optimal value lies between them. ``primal`` is the objective of the model.
    gap : float
        How far the objective can be from optimal, rounding included: ``primal − dual``. After an
        early stop, where the values are known to few digits, it is bounded more closely, and
        ``primal − dual`` exceeds it.
    relative_gap : float
        ``gap / max(|primal|, |dual|)``; the largest ratio where the values are open.
    kkt_violation : float
        LIBSVM's measure, to be compared with ``tol``: the largest violating pair.
    bias_interval : (float, float)
        Every intercept in it is optimal for these coefficients, up to ``kkt_violation``.
        In the summary of several tasks, one pair for each.
    margin : float
        Full width 2/‖w‖ between the two edges f = ±1. The smallest one in a summary.
    n_zero, n_free, n_bound : int
        Data points with β = 0, strictly inside the box, and at a bound other than zero.
    status : Status
        Why the solver stopped; the worst one in a summary.
    iterations, rounds : int
    seconds : float
    certificate_seconds : float
        Of these, for f in float64 with its bound and for the checks of the solution.
    tasks : tuple of Certificate
        For several classes, one for each binary task; otherwise empty.
    name : str
        The task, such as ``"setosa / virginica"``.
    unit : str
        What ``iterations`` counts.
    note : str
        What ``mercer.verify`` was given, if not one of Mercer's estimators; after an early stop,
        that the dual value is not that of the model's own coefficients.
    distance_to_exact : float or None
        Of a low-rank model (``approximation``): the exact problem's optimal value is at most this
        much below the model's objective in the true feature space, ``exact_primal``. None where
        nothing can be said; ``distance_note`` is the reason.
    exact_primal : float
    distance_note : str
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    bias_interval: tuple
    margin: float
    n_zero: int
    n_free: int
    n_bound: int
    status: Status
    iterations: int = 0
    rounds: int = 0
    seconds: float = 0.0
    tasks: tuple[Certificate, ...] = field(default=(), repr=False)
    name: str = ""
    unit: str = field(default="steps", repr=False)
    certificate_seconds: float = field(default=0.0, repr=False)
    note: str = ""
    distance_to_exact: float | None = field(default=None, repr=False)
    exact_primal: float = field(default=np.nan, repr=False)
    distance_note: str = field(default="", repr=False)

    @classmethod
    def of(
        cls, primal: float, dual: float, gap: float, norm: float, counts: tuple, **rest: Any
    ) -> Any:
        """With the margin of ‖w‖ and ``counts``: n_zero, n_bound and the number of data points.

        ``result`` among the rest is what status and effort are taken from.
        """
        n_zero, n_bound, n = (int(count) for count in counts)
        if (result := rest.pop("result", None)) is not None:
            effort = ("status", "iterations", "rounds", "seconds")
            rest = {name: getattr(result, name) for name in effort} | rest
        if "relative_gap" not in rest:
            rest["relative_gap"] = relative(gap, primal)
        margin = float(2 / norm) if norm > TINY else np.inf
        n_free = n - n_zero - n_bound
        return cls(
            primal, dual, gap, margin=margin, n_zero=n_zero, n_free=n_free, n_bound=n_bound, **rest
        )

    @property
    def n_support(self) -> int:
        """Data points with β ≠ 0."""
        return self.n_free + self.n_bound

    def rows(self) -> list[tuple[str, str]]:
        """What is shown of it: labels and values."""
        n = self.n_zero + self.n_support
        total, worst, least = "", "", ""
        if self.tasks:
            total, worst = f", the sum over {len(self.tasks)} tasks", ", the largest of a task"
            least = ", the smallest of a task"
        rows = [
            ("primal", f"{self.primal:.10g}{total}"),
            ("dual", f"{self.dual:.10g}{total}"),
            ("gap", f"{self.gap:.3g}{total}"),
            ("relative gap", f"{self.relative_gap:.3g}{worst}"),
            ("KKT violation", f"{self.kkt_violation:.3g}{worst}"),
            ("margin 2/‖w‖", f"{self.margin:.6g}{least}"),
        ]
        if not self.tasks:
            low, high = self.bias_interval
            if not np.isnan(low):  # several intercepts have none in common
                rows.append(("bias interval", f"[{low:.6g}, {high:.6g}]"))
        steps, rounds = counted(self.iterations, self.unit), counted(self.rounds, "rounds")
        distance = self.distance_to_exact, self.exact_primal, self.distance_note
        if said := distance_said(*distance):
            rows.append(("exact optimum", said))
        rows += [
            (
                "coefficients",
                f"{n:,}: {self.n_zero:,} zero, {self.n_free:,} free, {self.n_bound:,} at the bound",
            ),
            ("effort", f"{steps}, {rounds}, {self.seconds:.3g} s"),
        ]
        return rows

    @property
    def relative_distance(self) -> float:
        """``distance_to_exact / |exact_primal|``; NaN where nothing is known."""
        if self.distance_to_exact is None or not abs(self.exact_primal) > 0:
            return np.nan
        return self.distance_to_exact / abs(self.exact_primal)

    def _title(self) -> str:
        what = f"{len(self.tasks)} tasks" if self.tasks else self.name
        title = f"Certificate: {self.status}; relative gap {self.relative_gap:.2g}"
        return title + (f"   ({what})" if what else "")

    def _task_lines(self, most: int = 12) -> list[str]:
        if not self.tasks:
            return []
        shown = list(self.tasks)
        if len(shown) > most:
            shown = sorted(shown, key=lambda task: -task.relative_gap)[:most]
        width = max(4, *(len(task.name) for task in shown))
        lines = [f"  {'task':<{width}}  relative gap  violation   support  status"]
        lines += [
            f"  {task.name:<{width}}  {task.relative_gap:>12.3g}  {task.kkt_violation:>9.3g}  "
            f"{task.n_support:>8,}  {task.status}"
            for task in shown
        ]
        if len(self.tasks) > most:
            lines.append(f"  the {most} largest relative gaps of {len(self.tasks)}; all in .tasks")
        return lines


def summarise(tasks: Sequence[Certificate]) -> Certificate:
    """One certificate over several tasks: sums of values and counts, the worst of the rest."""
    if len(tasks) == 1:
        return tasks[0]

    distances = [task.distance_to_exact for task in tasks]
    known = [distance for distance in distances if distance is not None]
    sums = "primal dual gap n_zero n_free n_bound iterations rounds seconds certificate_seconds"
    return Certificate(
        **{name: sum(getattr(task, name) for task in tasks) for name in sums.split()},
        relative_gap=max(task.relative_gap for task in tasks),
        kkt_violation=max(task.kkt_violation for task in tasks),
        bias_interval=tuple(task.bias_interval for task in tasks),
        margin=min(task.margin for task in tasks),
        status=max((task.status for task in tasks), key=lambda status: status.severity),
        tasks=tuple(tasks),
        unit=tasks[0].unit,
        note=next((task.note for task in tasks if task.note), ""),
        distance_to_exact=sum(known) if len(known) == len(tasks) else None,
        exact_primal=sum(task.exact_primal for task in tasks),
        distance_note=next((task.distance_note for task in tasks if task.distance_note), ""),
    )


def relative(gap: float, primal: float) -> float:
    """The gap against the larger of the two values it lies between."""
    if gap == 0:
        return 0.0
    scale = max(abs(primal), abs(primal - gap))
    return float(gap / scale) if np.isfinite(scale) else np.inf
