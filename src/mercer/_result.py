"""What a solver hands back: a status whose value is the sentence shown, and the frozen answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

__all__ = ["Halted", "LinearResult", "Result", "Status"]


class Halted(Exception):
    """Raised within a solver, and caught by it, where a fit has to stop between two passes."""


class Status(Enum):
    """Why a solver stopped. The value is the sentence shown to the user.

    Whether a fit is solved follows from its final certificate (`certificate.final_status`); what a
    solver reports is why it stopped.
    """

    SOLVED = "solved"
    SOLVED_IF_PSD = "solved if the kernel is positive semidefinite (no negative curvature found)"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped by the user"
    STALLED = "limit of float64: rounding prevents further progress"
    DEGENERATE = (
        "rho = 0: the direction of w is arbitrary (nu is too small to separate the classes)"
    )
    NOT_PSD = "kernel not positive semidefinite: a stationary point"
    NOT_SEPARABLE = "not separable"

    @property
    def is_solved(self) -> bool:
        """Whether the tolerance was reached, and the solution is optimal to it."""
        return self is Status.SOLVED or self is Status.SOLVED_IF_PSD

    @property
    def severity(self) -> int:
        """How bad it is: of several tasks the largest is shown."""
        return _SEVERITY[self]

    def __str__(self) -> str:
        return self.value


_SEVERITY = {
    Status.SOLVED: 0,
    Status.SOLVED_IF_PSD: 1,
    Status.ITERATION_LIMIT: 2,
    Status.TIME_LIMIT: 3,
    Status.STOPPED: 4,
    Status.STALLED: 5,
    Status.DEGENERATE: 6,
    Status.NOT_PSD: 7,
    Status.NOT_SEPARABLE: 8,
}


def final_status(stopped: Status, measure: float, tol: float) -> Status:
    """Whether a fit is solved, from its certificate alone; else what stopped it.

    ``measure`` is an upper bound of what ``tol`` speaks of: the KKT violation, or the relative gap.
    A solver that stopped because it believed to be done, and is not, met the limit of float64.
    """
    if stopped in (Status.NOT_PSD, Status.NOT_SEPARABLE):
        return stopped
    if measure <= tol:
        return Status.SOLVED
    return Status.STALLED if stopped.is_solved else stopped


@dataclass(frozen=True, eq=False)
class Result:
    """The answer of a solver to a `BoxQP`.

    Attributes
    ----------
    beta : float64 array
        One signed dual per variable.
    f : float64 array
        K β at the data points (no intercept).
    f_error : float or float64 array
        A bound on the error of ``f`` against the kernel in exact arithmetic, for each point.
    b : float64 array
        The multiplier of each group's equality constraint: the intercepts.
    b_interval : float64 array, shape (n_groups, 2)
        The b of each group that the KKT conditions allow; the ends cross by the violation.
    violation : float
        LIBSVM's: the largest violating pair within a group, at most, with f within its error.
    status : Status
    iterations : int
        Steps, each solver's own: pair updates of "smo".
    rounds : int
    seconds : float
    certificate_seconds : float
        Of ``seconds``, those that f with its bound took, beyond the updates of the solver.
    diag : float64 array or None
        A bound on k(x, x) at the points. None: not known (the snapshots of a running solver).
    psd_delta : float or None
        K + psd_delta · I was shown to be positive semidefinite; None: not shown.
    reached : float64 array or None
        Where a stopped solver had come to, if f of that was not known and the answer is an earlier
        one: a warm start goes on from there.
    """

    beta: np.ndarray
    f: np.ndarray
    f_error: float | np.ndarray
    b: np.ndarray
    b_interval: np.ndarray
    violation: float
    status: Status
    iterations: int
    rounds: int
    seconds: float
    diag: np.ndarray | None = None
    certificate_seconds: float = 0.0
    psd_delta: float | None = 0.0
    reached: np.ndarray | None = None

    @property
    def furthest(self) -> np.ndarray:
        """The β to go on from."""
        return self.beta if self.reached is None else self.reached

    def after(self, first: Result) -> Result:
        """This answer, found by going on from the first, with the effort of both."""
        return replace(
            self,
            iterations=first.iterations + self.iterations,
            rounds=first.rounds + self.rounds,
            seconds=first.seconds + self.seconds,
            certificate_seconds=first.certificate_seconds + self.certificate_seconds,
        )


@dataclass(frozen=True, eq=False)
class Wake:
    """What a fit leaves for the next prices, as far as its method needs it.

    Attributes
    ----------
    step_w, step_b, step_g : float64 array, float, float64 array
        How the model and its scores differ from those of the prices before.
    step_beta : float64 array
        How the duals do.
    growth : float
        The ratio of its prices to those before; 0 where there were none.
    sums, totals : float64 arrays, shapes (2, d) and (2,), of smooth losses
        Xᵀβ and Σ|β| of the model's own duals above and below zero.
    gram : float64 array or None
        XᵀDX where it was needed last, in the proportion of the present prices.
    steps, bends : float64 arrays, shape (m, d+1)
        Steps since then, and how they changed −Σ β (x, 1), in that proportion.
    """

    step_w: np.ndarray | None = None
    step_b: float = 0.0
    step_g: np.ndarray | None = None
    step_beta: np.ndarray | None = None
    growth: float = 0.0
    sums: np.ndarray | None = None
    totals: np.ndarray | None = None
    gram: np.ndarray | None = None
    steps: np.ndarray | None = None
    bends: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class LinearResult:
    """The answer of a solver to a `LinearPrimal`.

    Attributes
    ----------
    w, b : float64 array, float
        The model; of all classes at once, a row of w and an entry of b for each.
    beta : float64 array
        One signed dual per row (and class), feasible.
    g, w_beta : float64 arrays
        X w + b and Xᵀβ.
    primal, gap : float
        The value of the model, and how far it can be from optimal.
    status : Status
    iterations : int
        Newton steps, or epochs of coordinate descent.
    rounds : int
        Passes over all rows that checked the gap.
    seconds : float
    wake : Wake or None
        For fits to other prices.
    own : bool
        Whether β follows from g, as that of smooth losses can.
    bounded : bool
        Whether ``primal`` and ``gap`` are upper bounds, rounding included, and ``primal − gap`` is
        at most the optimal value.
    """

    w: np.ndarray
    b: Any
    beta: np.ndarray
    g: np.ndarray
    w_beta: np.ndarray
    primal: float
    gap: float
    status: Status
    iterations: int
    rounds: int
    seconds: float
    wake: Wake | None = None
    own: bool = False
    bounded: bool = False
