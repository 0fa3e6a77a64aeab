"""What a solver hands back: a status whose value is the sentence shown, and the frozen answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

__all__ = ["Halted", "LinearResult", "Result", "Status", "WarmStartState"]


class Halted(Exception):
    """Raised within a solver, and caught by it, where a fit has to stop between two passes."""


class Status(Enum):
    """Why a solver stopped. The value is the sentence shown to the user.

    Of several tasks the status of the largest ``severity`` is shown: they are in that order.
    ``is_solved``: the tolerance was reached, and the solution is optimal to it.

    Whether a fit is solved follows from its final certificate (`certificate.final_status`); what a
    solver reports is why it stopped.
    """

    SOLVED = "solved"
    SOLVED_IF_PSD = "solved if the kernel is positive semidefinite (no negative curvature found)"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped by the user"
    STALLED = "limit of float64: rounding prevents further progress"
    NOT_REACHED = "not optimal to tol"
    DEGENERATE = (
        "rho = 0: the direction of w is arbitrary (nu is too small to separate the classes)"
    )
    NOT_PSD = "kernel not positive semidefinite: a stationary point"
    NOT_SEPARABLE = "not separable"

    def __init__(self, sentence: str):
        self.severity = len(type(self).__members__)
        self.is_solved = sentence.startswith("solved")

    def __str__(self) -> str:
        return self.value

    def __reduce__(self) -> tuple[type[Status], tuple[str]]:
        return Status, (self.value,)


def final_status(stopped: Status, measure: float, tol: float, is_psd: bool = True) -> Status:
    """Whether a fit is solved, from its certificate alone; else what stopped it.

    ``measure`` is an upper bound of what ``tol`` speaks of: the KKT violation, the relative gap, or
    a residual. Where the kernel is not known to be positive semidefinite (``is_psd``) a fit is
    solved on that condition. A solver that stopped because it believed to be done, and is not, met
    the limit of float64.
    """
    if stopped in (Status.NOT_PSD, Status.NOT_SEPARABLE, Status.DEGENERATE):
        return stopped
    if measure <= tol:
        return Status.SOLVED if is_psd else Status.SOLVED_IF_PSD
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
    lower : float
        A lower bound of the optimal value that does not come from ``beta``.
    norm_error : float
        A bound on how far ‖w‖² of the stored model is from βᵀf, beyond the errors of f.
    """

    beta: np.ndarray
    f: np.ndarray
    f_error: float | np.ndarray
    b: np.ndarray
    violation: float
    status: Status
    iterations: int
    rounds: int
    seconds: float
    diag: np.ndarray | None = None
    certificate_seconds: float = 0.0
    psd_delta: float | None = 0.0
    reached: np.ndarray | None = None
    lower: float = -math.inf
    norm_error: float = 0.0

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
class WarmStartState:
    """Warm-start state of a linear fit, reused by the next fit on the same data with another C.

    Attributes
    ----------
    delta_w, delta_b, delta_g : float64 array, float, float64 array
        The model and its scores minus those of the previous C.
    delta_beta : float64 array
        The duals minus those of the previous C.
    C_ratio : float
        C of this fit divided by the previous one; 0 where there was none.
    signed_sums, signed_totals : float64 arrays, shapes (2, d) and (2,), of smooth losses
        Xᵀβ and Σ|β| over the positive and the negative entries of β = −L'(g).
    gram : float64 array or None
        XᵀDX where it was computed last, scaled to the present C.
    steps, curvature_pairs : float64 arrays, shape (m, d+1)
        The steps (w, b) since then, and the changes of −Σ β (x, 1) along them, scaled likewise.
    """

    delta_w: np.ndarray | None = None
    delta_b: float = 0.0
    delta_g: np.ndarray | None = None
    delta_beta: np.ndarray | None = None
    C_ratio: float = 0.0
    signed_sums: np.ndarray | None = None
    signed_totals: np.ndarray | None = None
    gram: np.ndarray | None = None
    steps: np.ndarray | None = None
    curvature_pairs: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class LinearResult:
    """The solution of a `LinearPrimal` as a solver found it.

    Attributes
    ----------
    w, b : float64 array, float
        The model; of Crammer and Singer's problem, a row of w and an entry of b for each class.
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
        How often the gap of all rows was evaluated.
    seconds : float
    warm_start : WarmStartState or None
        For a fit with another C.
    is_gradient_dual : bool
        Whether β = −L'(g), scaled to be feasible: then it follows from the scores.
    direct : bool
        Whether ``g`` and ``w_beta`` are products with the rows, not sums of updates.
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
    status: Status = Status.SOLVED
    iterations: int = 0
    rounds: int = 0
    seconds: float = 0.0
    warm_start: WarmStartState | None = None
    is_gradient_dual: bool = False
    direct: bool = False
    bounded: bool = False

    def meets(self, tol: float) -> bool:
        """Whether the relative gap is at most ``tol``."""
        return bool(self.gap <= tol * self.primal and math.isfinite(self.gap))

    @property
    def relative_gap(self) -> float:
        """The gap divided by the primal value, as far as the solver knows them."""
        return self.gap / self.primal if self.primal > 0 else float(self.gap > 0)

    @property
    def finite_gap(self) -> float:
        """The gap, infinite where numbers overflowed: the key by which solutions are compared."""
        return self.gap if math.isfinite(self.primal) and self.gap >= 0 else math.inf

    def with_effort_of(self, *runs: LinearResult) -> LinearResult:
        """This solution with the iterations, rounds and seconds of several runs."""
        return replace(
            self,
            iterations=sum(run.iterations for run in runs),
            rounds=sum(run.rounds for run in runs),
            seconds=sum(run.seconds for run in runs),
        )
