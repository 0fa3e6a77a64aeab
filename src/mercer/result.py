"""What a solver hands back: a status whose value is the sentence shown, and the frozen answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

__all__ = ["LinearResult", "Result", "Status"]


class Status(Enum):
    """Why a solver stopped. The value is the sentence shown to the user."""

    SOLVED = "solved"
    ALMOST_SOLVED = "almost solved"
    ITERATION_LIMIT = "iteration limit"
    TIME_LIMIT = "time limit"
    STOPPED = "stopped by the user"
    STALLED = "stalled"
    NOT_PSD = "kernel not PSD"
    NOT_SEPARABLE = "not separable"

    @property
    def is_solved(self) -> bool:
        return self in (Status.SOLVED, Status.ALMOST_SOLVED)

    def __str__(self) -> str:
        return self.value


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
        Estimated largest error of ``f`` against the float64 kernel.
    b : float64 array
        The multiplier of each group's equality constraint: the intercepts.
    b_interval : float64 array, shape (n_groups, 2)
        The b of each group that the KKT conditions allow; the ends cross by the violation.
    violation : float
        LIBSVM's: the largest violating pair within a group.
    status : Status
    iterations : int
        Steps, each solver's own: pair updates of "smo".
    rounds : int
    seconds : float
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
