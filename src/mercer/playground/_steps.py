"""Step mode: the iterates of a solver, one after the other, by the solvers' own steps.

SVC, SVR and one-class take the pairs of `mercer.solvers._platt`, the perceptron the mistakes that
its fit recorded, Pegasos the examples of `mercer.solvers.pegasos`. A `StepHistory` keeps all
iterates, so that a step back costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

import mercer
from mercer._expansion import Expansion
from mercer._precision import EPS
from mercer._result import Result, Status
from mercer._threads import Workers
from mercer.certificates._box_qp import certify, kkt_groups
from mercer.certificates._certificate import relative
from mercer.estimators._dual_view import KKTGroup
from mercer.gram import BlockedGram
from mercer.kernels import Precomputed
from mercer.kernels._samples import Samples
from mercer.playground._catalogue import ESTIMATORS
from mercer.playground._fit import (
    Fit,
    ProgressCurve,
    kernel_matrix,
    kernel_of,
    quiet,
    recipe,
    rows_and_targets,
)
from mercer.playground._state import LIMITS, State
from mercer.problems import BoxQP, one_class, svc, svr
from mercer.problems._kkt import intercepts
from mercer.solvers._platt import PairStep, Platt
from mercer.solvers.pegasos._rows import KernelRows
from mercer.solvers.pegasos._state import LossInterval, PegasosState
from mercer.solvers.pegasos._subgradient import DualBound, single_steps

__all__ = ["Box", "Step", "StepHistory", "can_step", "step_history"]


Pair = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A pair step in the plane of its two multipliers α = |β|; pairs are (α_i, α_j)."""

    i: int  # data points; [low, high] = [L, H] belongs to α_j
    j: int
    bound_i: float
    bound_j: float
    low: float
    high: float
    before: Pair
    after: Pair
    unclipped: Pair  # the optimum on the line without the box
    line: tuple[Pair, Pair]  # ends of the part of the constraint line inside of the box

    @property
    def is_clipped(self) -> bool:
        return abs(self.unclipped[1] - self.after[1]) > 1e-9 * max(1.0, abs(self.after[1]))


@dataclass(frozen=True, eq=False)
class Step:
    """The iterate after some steps."""

    beta: np.ndarray  # a coefficient for each data point
    b: float
    active: tuple[int, ...]  # the points that the last step moved or visited
    gap: float  # relative gap, or of the perceptron the number of points on the wrong side
    group: np.ndarray
    box: Box | None = None
    pull: float = 0.0  # sign of the subgradient of the last example: 0 if it was beyond the margin
    certificate: Any = None


def can_step(state: State) -> str | None:
    """Why there is no step mode here, or None."""
    option = ESTIMATORS[state.machine]
    if not option.step:
        return "Step mode is for SVC, SVR, one-class, perceptron and Pegasos."
    if option.kind == "classes" and np.unique(state.labels).size != 2:
        return "Step mode is for two classes: keep two of them."
    if state.machine == "svc" and np.isinf(state.C):
        return "Step mode draws the box [0, C]²: choose a finite C."
    return None


class StepHistory:
    """The iterates of a state's solver from its start, computed as they are needed."""

    def __init__(self, state: State):
        self.steps: list[Step] = []
        self.is_over = False
        self.kernel, (self.X, _) = kernel_of(state), rows_and_targets(state)
        self._iterates = _ITERATES[state.machine](state)
        self.measure = "wrong points" if state.machine == "perceptron" else "relative gap"

    def step(self, number: int) -> Step:
        """The iterate after ``number`` steps, or the last one there is."""
        while len(self.steps) <= number and not self.is_over:
            with quiet():
                following = next(self._iterates, None)
            if following is None or len(self.steps) > LIMITS.steps:
                self.is_over = True
            else:
                self.steps.append(following)
        return self.steps[min(number, len(self.steps) - 1)]

    def fit(self, number: int) -> Fit:
        """The iterate in the form of a finished fit, so that it is drawn the same way."""
        step = self.step(number)
        expansion = Expansion(self.kernel, Samples(self.X), step.beta, np.array([step.b]))
        gaps = np.array([each.gap for each in self.steps[: number + 1]])
        is_log = self.measure == "relative gap"
        progress = ProgressCurve(np.arange(gaps.size), gaps, "steps", self.measure, is_log)

        def decide(rows: np.ndarray) -> np.ndarray:
            return expansion.exact(rows)[:, 0]

        alpha = np.abs(step.beta)
        beta = None if step.certificate is None else step.beta
        return Fit(decide, alpha, step.group, step.b, step.certificate, progress, beta=beta)


@lru_cache(maxsize=4)
def _history(state: State) -> StepHistory:
    return StepHistory(state)


def step_history(state: State) -> StepHistory:
    """The history that a state's step belongs to."""
    return _history(state.with_(step=None))


# ------------------------------------------------------------------ SMO


def _signs(state: State) -> np.ndarray:
    """Labels ±1: the second class is positive, as in the estimators."""
    return np.where(state.labels == state.labels.max(), 1.0, -1.0)


def _problem(state: State) -> BoxQP:
    if state.machine == "svc":
        return svc(_signs(state), state.C)
    if state.machine == "svr":
        return svr(rows_and_targets(state)[1], state.C, state.epsilon)
    return one_class(state.nu, np.ones(len(state.points)))


def _pairs(state: State) -> Iterator[Step]:
    problem, K = _problem(state), kernel_matrix(state)
    gram = BlockedGram(Precomputed(), Samples(K), Workers(1))
    beta = problem.start.copy()
    yield _pair_step(problem, K, beta, None)
    for step in Platt().steps(problem, gram):
        beta[[step.i, step.j]] = step.after
        yield _pair_step(problem, K, beta, step)


def _pair_step(problem: BoxQP, K: np.ndarray, beta: np.ndarray, step: PairStep | None) -> Step:
    n = K.shape[0]
    coef = problem.at_points(beta, n)
    f = K @ coef
    b, _, violation = intercepts(problem, beta, f)
    if step is not None:
        b = np.array([step.b])
    result = Result(beta.copy(), f, 0.0, b, violation, Status.STOPPED, 0, 0, 0.0)
    certificate = certify(problem, result)
    lower, upper = (problem.at_points(v, n) for v in (problem.lower, problem.upper))
    group = kkt_groups(coef, lower, upper)
    active: tuple[int, ...] = ()
    if step is not None:
        row = np.arange(n) if problem.row is None else problem.row
        active = (int(row[step.i]), int(row[step.j]))
    gap = min(certificate.relative_gap, 1.0)
    box = None if step is None else _box(problem, step, active)
    return Step(coef.copy(), float(b[0]), active, gap, group, box, certificate=certificate)


def _box(problem: BoxQP, step: PairStep, active: tuple[int, ...]) -> Box:
    """The pair's box in α. β_i + β_j stays: the line has slope −1 for equal signs, else +1."""
    bound = np.maximum(np.abs(problem.lower), np.abs(problem.upper))
    total = sum(step.before)

    def at(beta_j: float) -> tuple[float, float]:
        sign_i, sign_j = (1.0 if problem.upper[k] > 0 else -1.0 for k in (step.i, step.j))
        return sign_i * (total - beta_j) + 0.0, sign_j * beta_j + 0.0  # no −0.0

    low, high = (end + 0.0 for end in step.alpha_interval)
    before, after, unclipped = at(step.before[1]), at(step.after[1]), at(step.unclipped)
    i, j = active
    bound_i, bound_j, line = (
        float(bound[step.i]),
        float(bound[step.j]),
        (at(step.low), at(step.high)),
    )
    return Box(i, j, bound_i, bound_j, low, high, before, after, unclipped, line)


# ------------------------------------------------------------------ perceptron and Pegasos


def _mistakes(state: State) -> Iterator[Step]:
    """The mistakes that the fit made, in order."""
    name, arguments = recipe(state)
    model = getattr(mercer, name)(**arguments).fit(*rows_and_targets(state))
    y, K = _signs(state), kernel_matrix(state)
    beta, f, b = np.zeros(y.size), np.zeros(y.size), 0.0
    yield _mistake_step(y, beta, f, b, ())
    for i in model.updates_[0].tolist():
        beta[i] += y[i]
        f += y[i] * K[i]
        b += y[i]
        yield _mistake_step(y, beta, f, b, (i,))


def _mistake_step(y: np.ndarray, beta: np.ndarray, f: np.ndarray, b: float, active: tuple) -> Step:
    wrong = int((y * (f + b) <= 0).sum())
    return Step(
        beta.copy(), b, active, float(wrong), np.where(beta != 0, KKTGroup.FREE, KKTGroup.ZERO)
    )


def _examples(state: State) -> Iterator[Step]:
    """Pegasos: the iterate w, not the average that the estimator returns."""
    y, K = _signs(state), kernel_matrix(state) + 1.0
    n = y.size
    rows, interval = KernelRows(K), LossInterval.hinge(y)
    pegasos = PegasosState(1 / (state.C * n), n)
    best = DualBound(rows, interval, np.full(n, state.C))
    yield Step(np.zeros(n), 0.0, (), 1.0, np.full(n, KKTGroup.ZERO))
    rng = np.random.default_rng(0)
    for i, pull in single_steps(rows, pegasos, interval, np.ones(n), rng):
        beta = pegasos.coef(average=False)
        visits = -(-pegasos.t // n)
        best.propose(np.clip(pegasos.sign_sums / visits, -1.0, 1.0))
        primal = best.primal(beta)
        gap = min(relative(max(primal - best.dual, EPS * primal), primal), 1.0)
        group = np.where(beta != 0, KKTGroup.FREE, KKTGroup.ZERO)
        yield Step(beta, float(beta.sum()), (i,), gap, group, pull=pull)


_ITERATES: dict[str, Callable[[State], Iterator[Step]]] = {
    "svc": _pairs,
    "svr": _pairs,
    "oneclass": _pairs,
    "perceptron": _mistakes,
    "pegasos": _examples,
}
