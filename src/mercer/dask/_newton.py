"""The driver of the distributed Newton method: one task, from the sums that the workers return.

    minimise over w, b   P = ½‖w‖² + ½ κ b² + Σ Lᵢ(xᵢ·w + b)

Each round evaluates one point: gradient, XᵀDX, derivatives along the step at a grid of step
lengths, and the terms of the certificate. A step of length 1 is tried first; if it does not reach
half of the decrease that the grid shows to be possible, the next round tries the length at which
the derivative vanishes. The ε-insensitive loss has the proximal duals of
`mercer.solvers.linear._proximal_newton`; when a smooth problem is solved, its duals become β₀, the
width ω falls, and the step is the one after which the free duals satisfy the new equations: no
round is needed for new centers.

Where the intercept is free (κ = 0) Σβ must be zero. The factors that make it so follow from the
sums of a round, so that the certificate of a point is computed in the next round. What rounding
leaves of Σβ is absorbed by one dual, in the proof alone (`mercer.solvers.linear._bounded_gap`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from mercer._precision import UNIT
from mercer._result import LinearResult, Status
from mercer.dask._linear_round import (
    LINE_GRID,
    TREE_ADDITIONS,
    Center,
    Certify,
    Extreme,
    Reply,
    Request,
    Terms,
)
from mercer.problems._losses import EPSILON_INSENSITIVE
from mercer.problems._regularized_loss import Bounds, LinearPrimal, bounds_of_sums
from mercer.solvers.linear._bounded_gap import SETTINGS as PRECISION
from mercer.solvers.linear._newton_equations import factor_newton_equations
from mercer.solvers.linear._smooth_newton import NewtonSettings, intercept_gap

__all__ = ["Certified", "DistributedNewton", "RoundSettings", "TaskShape"]


@dataclass(frozen=True)
class RoundSettings:
    """When steps are accepted, and when a fit makes no more progress."""

    # A step is accepted from this fraction of the decrease on that is possible along it.
    accepted_decrease: float = 0.5
    # Rounds without a smaller gap after which a fit has stalled.
    stalled_rounds: int = 25
    # The relative ridge of Newton's equations, whose matrix is computed in float64.
    ridge: float = 1e-13


SETTINGS, NEWTON = RoundSettings(), NewtonSettings()


@dataclass(frozen=True)
class TaskShape:
    """What the driver knows of a task: the loss, κ, rows and columns, the relative gap asked."""

    kind: int
    intercept_penalty: float | None
    n: int
    d: int
    tol: float
    max_iter: int = -1
    name: str = ""


@dataclass(frozen=True, eq=False)
class Certified:
    """A model and the bounds of its value and gap; its duals are those of ``certify``."""

    certify: Certify
    n_centers: int
    primal: float
    gap: float
    violation: float
    counts: tuple[int, int, int]

    def result(self, status: Status, steps: int, rounds: int, seconds: float) -> LinearResult:
        none = np.zeros(0)
        return LinearResult(
            self.certify.w, self.certify.b, none, none, none, self.primal, self.gap, status,
            steps, rounds, seconds, bounded=True,
        )  # fmt: skip


# Plain values of `DistributedNewton` that a checkpoint has.
_SAVED = (
    "b",
    "width",
    "step_b",
    "t",
    "pending_centers",
    "precision",
    "steps",
    "rounds",
    "rounds_since_best",
)


@dataclass(eq=False)
class DistributedNewton:
    """One task: `request` is asked of all chunks, and `receive` takes the sum of the replies."""

    shape: TaskShape
    w: np.ndarray
    b: float
    width: float = 0.0
    step_w: np.ndarray | None = None
    step_b: float = 0.0
    t: float = 1.0
    centers: list[Center] = field(default_factory=list)
    pending: Certify | None = None
    pending_centers: int = 0
    best: Certified | None = None
    status: Status | None = None
    precision: int = 0
    steps: int = 0
    rounds: int = 0
    rounds_since_best: int = 0

    @classmethod
    def start(cls, shape: TaskShape, w: np.ndarray, b: float, spread: float) -> DistributedNewton:
        """From a model whose scores have this standard deviation."""
        if shape.kind != EPSILON_INSENSITIVE:
            return cls(shape, w, b)
        width = NEWTON.warm_width * min(spread or 1.0, 1.0)
        return cls(shape, w, b, width, centers=[Center(w, b, width, 0.5)])

    @classmethod
    def constant(cls, shape: TaskShape, b: float) -> DistributedNewton:
        """At w = 0 with an intercept that fits every row; such scores are exact."""
        return cls(shape, np.zeros(shape.d), b, NEWTON.warm_width, precision=1)

    @property
    def is_interval(self) -> bool:
        return self.shape.kind == EPSILON_INSENSITIVE

    def request(self) -> Request:
        """What the next round asks of every chunk."""
        w, b = self._trial()
        certify = self.pending
        if self.shape.intercept_penalty != 0:
            certify = Certify(w, b, self.width, None, self.precision)
        step = self.step_w, self.step_b, self.t
        return Request(0, w, b, self.width, *step, certify)

    def _trial(self) -> tuple[np.ndarray, float]:
        if self.step_w is None:
            return self.w, self.b
        return self.w + self.t * self.step_w, self.b + self.t * self.step_b

    def receive(self, reply: Reply) -> None:
        """Certify, accept or shorten the step, and set the next one."""
        self.rounds += 1
        self.rounds_since_best += 1
        w, b = self._trial()
        if self.shape.intercept_penalty != 0:
            certify = Certify(w, b, self.width, None, self.precision)
            self._certify(certify, len(self.centers), reply.terms)
        elif self.pending is not None:
            self._certify(self.pending, self.pending_centers, reply.terms)
            self.pending = None
        if self._is_finished() or not self._is_accepted(reply):
            return
        self.w, self.b = w, b
        if self.shape.intercept_penalty == 0:
            self.pending = Certify(w, b, self.width, self._repair(reply), self.precision)
            self.pending_centers = len(self.centers)
        try:
            self._next_step(reply)
        except LinAlgError:
            self.status = Status.STALLED if self.pending is None else None
            self.step_w, self.rounds_since_best = None, SETTINGS.stalled_rounds

    def _is_finished(self) -> bool:
        best = self.best
        if best is not None and best.gap <= self.shape.tol * best.primal:
            self.status = Status.SOLVED
        elif 0 <= self.shape.max_iter <= self.steps and best is not None:
            self.status = Status.ITERATION_LIMIT
        elif self.rounds_since_best > SETTINGS.stalled_rounds and best is not None:
            self.status = Status.STALLED
        return self.status is not None

    # ------------------------------------------------------------------ steps

    def _is_accepted(self, reply: Reply) -> bool:
        """Whether the step falls far enough; if not, sets its next length."""
        if self.step_w is None:
            return True
        penalty, step_b = self.shape.intercept_penalty or 0.0, self.step_b
        lengths = self.t * LINE_GRID
        linear = float(self.w @ self.step_w) + penalty * self.b * step_b
        square = float(self.step_w @ self.step_w) + penalty * step_b * step_b
        slopes = linear + lengths * square + reply.slopes
        if not slopes[0] < 0:  # no descent: the point itself is evaluated, with its own XᵀDX
            self.step_w, self.t = None, 1.0
            return False
        mean = (slopes[1:] + slopes[:-1]) / 2
        decrease = np.append(0.0, np.cumsum(np.diff(lengths) * mean))
        best = float(decrease.min())
        if slopes[-1] <= 0 or decrease[-1] <= SETTINGS.accepted_decrease * best:
            return True
        k = int(np.argmax(slopes > 0))  # the derivative is zero between k − 1 and k
        part = slopes[k - 1] / (slopes[k - 1] - slopes[k])
        self.t = float(lengths[k - 1] + part * (lengths[k] - lengths[k - 1]))
        return False

    def _next_step(self, reply: Reply) -> None:
        """Newton's step at the accepted point; of a solved smooth problem, to the next one."""
        penalty = self.shape.intercept_penalty
        total = float(reply.signed_totals[0] - reply.signed_totals[1])
        grad_w = self.w - reply.signed_sums.sum(axis=0)
        grad_b = 0.0 if penalty is None else penalty * self.b - total
        gram, right_w, right_b = reply.gram, -grad_w, -grad_b
        if self.is_interval:
            smooth_gap = float(grad_w @ grad_w) / 2 + intercept_gap(penalty, grad_b)
            if smooth_gap <= reply.loss_gap:
                self.centers.append(Center(self.w, self.b, self.width))
                old = self.width
                self.width = max(old / NEWTON.width_reduction, NEWTON.min_width)
                if not reply.used:
                    self.step_w = None
                    return
                factor = old / self.width
                gram = factor * gram
                right_w = right_w + factor * reply.pull[:-1]
                right_b = right_b + factor * float(reply.pull[-1])
        extra_b = 0.0 if reply.used or penalty else abs(grad_b) or 1.0
        solve = factor_newton_equations(gram, penalty, extra_b, SETTINGS.ridge)
        self.step_w, self.step_b = solve(right_w, right_b)
        self.t = 1.0
        self.steps += 1

    def _repair(self, reply: Reply) -> tuple:
        """What makes Σβ zero, as `LinearPrimal.feasible` does."""
        more, less = (float(total) for total in reply.signed_totals)
        excess = more - less
        if self.is_interval and excess != 0:
            room = float(reply.capacity[0 if excess > 0 else 1])
            if room > abs(excess):
                return ("restore", excess, excess / room)
        if more == less:
            return ("scale", 1.0, 1.0)
        return ("scale", less / more, 1.0) if more > less else ("scale", 1.0, more / less)

    # ------------------------------------------------------------------ certificates

    def _certify(self, certify: Certify, n_centers: int, terms: Terms | None) -> None:
        """Bounds of a model; keep the best one, and ask for more digits where rounding matters."""
        assert terms is not None
        primal, gap, plain = bounds_of_terms(self.shape, certify, terms)
        allowed = (
            PRECISION.gap_fraction * plain + PRECISION.target_fraction * self.shape.tol * primal
        )
        if not gap - plain <= allowed and self.precision < 2:
            self.precision += 1
        gap = min(gap, primal)  # no loss is negative: β = 0 has the dual value 0
        if not np.isfinite(primal):
            primal = gap = np.inf
        if self.best is None or gap < self.best.gap:
            counts = tuple(int(count) for count in terms.counts)
            violation = float(terms.largest[2])
            self.best = Certified(certify, n_centers, primal, gap, violation, counts)  # type: ignore[arg-type]
            self.rounds_since_best = 0

    # ------------------------------------------------------------------ checkpoints

    def save(self, name: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and plain values from which `load` continues."""
        arrays = {f"{name}.w": self.w}
        values: dict[str, Any] = {}
        if self.step_w is not None:
            arrays[f"{name}.step_w"] = self.step_w
        if self.centers:
            arrays[f"{name}.centers"] = np.stack([center.w for center in self.centers])
            values["centers"] = [[c.b, c.width, c.factor] for c in self.centers]
        for key in _SAVED:
            values[key] = getattr(self, key)
        values["status"] = None if self.status is None else self.status.name
        certified = None if self.best is None else self.best.certify
        for key, certify in (("pending", self.pending), ("best", certified)):
            if certify is not None:
                arrays[f"{name}.{key}"] = certify.w
                rest = [certify.b, certify.width, certify.repair, certify.precision]
                values[key] = rest
        if self.best is not None:
            best = self.best
            values["best_values"] = [
                best.n_centers,
                best.primal,
                best.gap,
                best.violation,
                best.counts,
            ]
        return arrays, values

    @classmethod
    def load(
        cls, shape: TaskShape, name: str, arrays: dict[str, np.ndarray], values: dict[str, Any]
    ) -> DistributedNewton:
        """Where `save` was."""
        task = cls(shape, arrays[f"{name}.w"], **{key: values[key] for key in _SAVED})
        task.step_w = arrays.get(f"{name}.step_w")
        if "centers" in values:
            points = zip(arrays[f"{name}.centers"], values["centers"], strict=True)
            task.centers = [Center(w, *rest) for w, rest in points]
        task.status = None if values["status"] is None else Status[values["status"]]

        def certify(key: str) -> Certify:
            b, width, repair, precision = values[key]
            repair = None if repair is None else tuple(repair)
            return Certify(arrays[f"{name}.{key}"], b, width, repair, precision)

        if "pending" in values:
            task.pending = certify("pending")
        if "best" in values:
            n_centers, primal, gap, violation, counts = values["best_values"]
            counts = (counts[0], counts[1], counts[2])
            task.best = Certified(certify("best"), n_centers, primal, gap, violation, counts)
        return task


def bounds_of_terms(shape: TaskShape, certify: Certify, terms: Terms) -> tuple[float, float, float]:
    """Upper bounds of value and gap, and the gap without rounding errors."""
    penalty, w, b = shape.intercept_penalty, certify.w, certify.b
    total, error, size = (float(value) for value in terms.total)
    error += TREE_ADDITIONS * UNIT * size
    norm, additions = float(terms.largest[0]), float(terms.largest[1])
    left = 0.0
    if penalty == 0:
        total, left = 0.0, 1.01 * (abs(total) + error)
        error = left
    off: Any
    if terms.w_beta_error.ndim == 0:
        long = (additions + TREE_ADDITIONS + 12) * UNIT * float(terms.w_beta_error)
        off = float(1.01 * (long + 2 * left * norm + PRECISION.underflow))
    else:
        off = terms.w_beta_error + 2.02 * left * norm
    losses = (float(terms.losses[0]), float(terms.losses[1]), float(terms.losses[2]))
    sums = bounds_of_sums(losses, w, b, (terms.w_beta, off), (total, error), penalty)
    bounds = Bounds.of(*sums, shape.n + 256 * TREE_ADDITIONS, shape.d)
    gap = bounds.gap
    if left > 0:
        if min(terms.up.beta, -terms.down.beta) < left:
            gap = bounds.primal  # no dual can absorb it: β = 0
        else:
            gap += sum(_absorbing_cost(shape.kind, row, left) for row in (terms.up, terms.down))
    apart = w - terms.w_beta
    plain = float(terms.plain[1] + apart @ apart / 2)
    if penalty:
        plain += penalty * (b - total / penalty) ** 2 / 2
    return bounds.primal, gap, plain


def _absorbing_cost(kind: int, row: Extreme, left: float) -> float:
    """By how much the term of a row grows at most if its dual absorbs ``left``."""
    low, high, C, off = (np.array([v]) for v in (row.low, row.high, row.C, row.interval_error))
    one = LinearPrimal(kind, low, high, C, 0.0, off)
    at = np.array([row.g]), np.array([row.error])
    return one._absorbing_cost(np.array([row.beta]), at, (0.0, left), (0,))
