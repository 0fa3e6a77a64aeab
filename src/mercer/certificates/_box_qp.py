"""Certificates of box QPs: primal and dual value, gap and violation, from (problem, result) alone.

With f = Kβ at the data points, b the multipliers and r = target − f[row] − b[group]:

the primal value is a sum of losses, and P − D a sum of non-negative terms that vanish at the
optimum (`mercer.problems._dual_qp`). P and D agree in most of their digits, so their difference is
not taken.

**Rounding.** f is off by up to δ = `Result.f_error` at each point. Each loss and each term of the
gap is convex in r, so its largest value over r ± δ is at one of the two ends. ``primal`` is an
upper bound of the model's value, ``dual`` a lower bound of the optimum, and ``gap`` their
difference. Samples well beyond the margin, and points at their bound well within it, have a term of
zero, so the gap feels δ less than the values do. Where f is not a float64 sum at all support
vectors and δ leaves much of the values open (`RoundingSettings.open_values`), ``gap`` is the sum of
the terms, and primal − dual exceeds it by what is open.

**Feasibility.** The sums of β are computed without rounding. What is left of Σβ = sum is moved, in
thought, onto the variable where that costs least; the cost is part of the gap (`_drift_cost`), and
so is what it adds to ‖w‖² of a model fitted on centred rows (`Result.norm_error`): its dual value,
at sums that are kept, is that of the rows as they are.

**Infinite bounds** leave no room for r on the wrong side. There w and b are multiplied by the
smallest s ≥ 0 with no r on the wrong side, and P = ½ s²‖w‖² (plus the terms of finite bounds).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer._precision import EPS
from mercer._result import Result
from mercer.certificates._certificate import BOUND, FREE, ROUNDING, ZERO, Certificate, relative
from mercer.problems import BoxQP
from mercer.problems._kkt import movable

__all__ = ["LATER_DUAL", "certify", "kkt_groups", "multipliers"]

# The note of a certificate with `Result.lower`.
LATER_DUAL = (
    "the dual value is that of a later iterate, which is not stored: from the model alone a larger "
    "gap is found"
)


def certify(problem: BoxQP, result: Result, name: str = "") -> Certificate:
    """The certificate of a solver's answer, in the scale of the fitted model.

    Values beyond the range of float64 are infinite, and so is a gap that contains one.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _certify(problem, result, name)


def _certify(problem: BoxQP, result: Result, name: str) -> Certificate:
    n = result.f.shape[0]
    beta = _net(problem, result.beta)
    f = problem.at_variables(result.f)
    b_low, b_high = _bias_intervals(problem, beta, problem.target - f)
    f_error = np.asarray(result.f_error)
    f_error = problem.at_variables(f_error if f_error.ndim else np.full(n, f_error))
    if problem.diag is not None:  # f of the solver is Kβ + Dβ
        slack = problem.at_variables(problem.diag * problem.at_points(beta, n))
        f, f_error = f - slack, f_error + EPS * (np.abs(f) + 2 * np.abs(slack))
    result = replace(result, beta=beta, b=_feasible_multipliers(problem, result.b))
    model_scale, interval = _model_scale(problem, result.b), (0.0, 0.0)
    if model_scale != 1.0 and result.diag is not None:
        f_error = f_error + _publishing_error(problem, beta, result.b, result.diag)
    values = _bounds(problem, result, f, f_error).with_dual(result.lower)
    if problem.group is not None:
        low, high = (float(b.sum()) / b.size * model_scale for b in (b_low, b_high))
        interval = min(low, high), max(low, high)
    coef, *box = (problem.at_points(v, n) for v in (beta, problem.lower, problem.upper))
    n_zero = n - np.count_nonzero(coef)
    n_bound = np.count_nonzero(_at_bound(coef, *box) & (coef != 0))
    return Certificate.of(
        values.primal,
        values.dual,
        values.gap,
        np.sqrt(max(0.0, float(beta @ f))) * abs(model_scale),
        (n_zero, n_bound, n),
        relative_gap=values.relative_gap,
        kkt_violation=float(result.violation),
        bias_interval=interval,
        certificate_seconds=float(result.certificate_seconds),
        name=name,
        note=LATER_DUAL if values.is_apart else "",
        result=result,
    )


def _net(problem: BoxQP, beta: np.ndarray) -> np.ndarray:
    """ε-SVR: cancel the two variables of a point against each other, as the model's sum does.

    The dual value can only rise, by 2ε times what is cancelled.
    """
    if problem.row is None or problem.n_groups == 2:
        return beta
    net = problem.at_points(beta, beta.shape[0] // 2)[problem.row]
    return np.clip(net, problem.lower, problem.upper)


def multipliers(problem: BoxQP, b: np.ndarray, e: np.ndarray) -> np.ndarray:
    """The multiplier of each group.

    ν-SVR: the model keeps the intercept b only, so the half width ε of its tube is the best one for
    it: the weighted ν-quantile of |y − f − b|.
    """
    if problem.row is not None and problem.n_groups == 2:
        n = e.shape[0] // 2
        middle, total = float(np.mean(b)), problem.group_sums[0] * 2
        residual = np.abs(e[:n] - middle)
        order = np.argsort(-residual)
        outside = np.cumsum(problem.upper[:n][order])
        epsilon = residual[order[min(int(np.searchsorted(outside, total)), n - 1)]]
        return np.array([middle + epsilon, middle - epsilon])
    return b


@dataclass(frozen=True)
class _Values:
    """Bounds of the values: the model's from both sides, the optimal one from below, the gap."""

    primal: float
    primal_low: float
    dual: float
    gap: float
    is_apart: bool = False  # the dual value is not that of the model's β

    def with_dual(self, lower: float) -> _Values:
        """With a lower bound of the optimal value from elsewhere, if that leaves a smaller gap."""
        gap = self.primal - lower
        if not gap * (1 + 2 * EPS) < self.gap:
            return self
        return replace(self, dual=lower, gap=gap * (1 + 2 * EPS), is_apart=True)

    @property
    def relative_gap(self) -> float:
        """The largest that the gap can be, relative to the two values it lies between."""
        low, high = self.primal_low, self.primal
        if not np.isfinite([low, high, self.gap]).all():
            return np.inf if self.gap > 0 else 0.0
        # gap / max(|P|, |P − gap|) is largest for the P closest to gap / 2.
        return relative(self.gap, float(np.clip(self.gap / 2, low, high)))


UNKNOWN = _Values(np.inf, -np.inf, -np.inf, np.inf)


def _bounds(
    problem: BoxQP,
    result: Result,
    f: np.ndarray,
    f_error: np.ndarray,
    norm: tuple[float, float] | None = None,
    apart: float = 0.0,
) -> _Values:
    """Bounds of the model's primal value, of the optimal value and of their difference.

    What cannot be computed in the range of float64 is not bounded.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = _computed_bounds(problem, result, f, f_error, norm, apart)
    known = not np.isnan([found.primal, found.primal_low, found.dual, found.gap]).any()
    return found if known else UNKNOWN


def _computed_bounds(
    problem: BoxQP,
    result: Result,
    f: np.ndarray,
    f_error: np.ndarray,
    norm: tuple[float, float] | None,
    apart: float,
) -> _Values:
    """The bounds, or NaN where infinities of both signs meet.

    ``norm`` is ‖w‖² with a bound of its error where w is kept beside β, and ``apart`` a bound of
    ‖w − Σ βᵢ φ(xᵢ)‖.
    """
    beta, target = result.beta, problem.target
    b_group = multipliers(problem, result.b, target - f)
    b = np.zeros(1) if problem.group is None else b_group[problem.group]
    delta = f_error + 2 * EPS * (np.abs(target) + np.abs(f) + np.abs(b))
    if not np.isfinite(delta).all():  # f is not known at some points
        return UNKNOWN
    of_sums = float(b_group @ problem.group_sums) if problem.n_groups else 0.0
    sizes = float(np.abs(b_group) @ np.abs(problem.group_sums)) if problem.n_groups else 0.0
    quad, size = float(beta @ f), float(np.abs(beta) @ np.abs(f))
    quad_error = float(np.abs(beta) @ delta) * ROUNDING.margin + _sum_rounding(beta.size) * size
    quad_error += result.norm_error
    if norm is not None:
        quad, quad_error = norm
    if problem.is_hard:
        primal, dual = _hard_margin_bounds(problem, result, f, delta, quad, quad_error)
        gap = primal - dual if np.isfinite(primal) else np.inf
        return _Values(primal, primal, dual, gap)
    r = target - f - b
    loss = problem.losses(r)
    least, worst = problem.loss_range(r, delta)
    rounding = _sum_rounding(beta.size) * (worst.sum() + sizes) + EPS * sizes * ROUNDING.units
    middle = quad / 2 + loss.sum() + of_sums
    primal = quad / 2 + worst.sum() + of_sums + quad_error / 2 + rounding
    low = quad / 2 + least.sum() + of_sums - quad_error / 2 - rounding
    if problem.diag is not None:  # the gap is that of K + D
        slack = problem.at_variables(problem.diag) * beta
        r, delta = r - slack, delta + 2 * EPS * (np.abs(r) + np.abs(slack))
    gap = float(problem.gap_terms(beta, r, delta).sum()) * (1 + _sum_rounding(beta.size))
    gap += (apart**2 + result.norm_error) / 2 * ROUNDING.margin + _indefinite_cost(problem, result)
    if apart and result.diag is not None:
        delta = delta + apart * np.sqrt(problem.at_variables(result.diag))
    gap += _drift_cost(problem, result, r, delta)
    if (beta < problem.lower).any() or (beta > problem.upper).any():  # no dual point
        gap = np.inf
    units = ROUNDING.units * EPS * (abs(middle) + abs(middle - gap))
    if not np.isfinite(primal):
        return UNKNOWN
    primal, low, dual = float(primal + units), float(low - units), float(low - gap - units)
    if primal - low <= ROUNDING.open_values * abs(primal) or not np.isfinite(gap):
        return _Values(primal, low, dual, primal - dual)
    return _Values(primal, low, dual, float(gap + 2 * units))


def _sum_rounding(n: int) -> float:
    """Relative rounding of a sum of n numbers, pairwise in blocks of 128 (NumPy's and BLAS's)."""
    return EPS * (128 + 2 * np.log2(max(n, 2)))


def _drift_cost(problem: BoxQP, result: Result, r: np.ndarray, delta: np.ndarray) -> float:
    """What the rounding of Σβ costs, moved onto the variable k where that is least.

    D(β + d e_k) = D(β) + d (target_k − f_k) − ½ d² K_kk, and P − D has the term b d: together
    at most |d| |r_k| + ½ d² K_kk.
    """
    cost = 0.0
    for g, drift in enumerate(problem.drift(result.beta)):
        if drift == 0:
            continue
        if result.diag is None:  # a snapshot
            cost += abs(float(result.b[g]) * drift)
            continue
        room = problem.upper - result.beta if drift > 0 else result.beta - problem.lower
        able = (problem.group == g) & (room >= abs(drift))
        each = abs(drift) * (np.abs(r) + delta) + drift**2 * problem.at_variables(result.diag) / 2
        cost += float(each[able].min(initial=np.inf))
    return cost * ROUNDING.margin


def _indefinite_cost(problem: BoxQP, result: Result) -> float:
    """½ δ max ‖c* − c‖² where only K + δI is known to be positive semidefinite.

    c are the coefficients of the points: those of regression are sums of two variables each.
    """
    if not result.psd_delta:
        return 0.0
    if problem.diag is not None:  # nothing, where K + D is positive semidefinite
        return 0.0 if result.psd_delta <= problem.diag.min() else np.inf
    n = result.f.shape[0]
    c, low, high = (problem.at_points(v, n) for v in (result.beta, problem.lower, problem.upper))
    far = np.maximum(c - low, high - c)
    return float(result.psd_delta * (far @ far) / 2) * ROUNDING.margin


def _hard_margin_bounds(
    problem: BoxQP,
    result: Result,
    f: np.ndarray,
    delta: np.ndarray,
    quad: float,
    quad_error: float,
) -> tuple[float, float]:
    """With infinite bounds: w and b are multiplied by the smallest feasible factor s."""
    beta, lower, upper, target = result.beta, problem.lower, problem.upper, problem.target
    b_group = result.b
    b = np.zeros(1) if problem.group is None else b_group[problem.group]
    dual = float(target @ beta - quad / 2)
    dual -= quad_error / 2 + _sum_rounding(beta.size) * float(np.abs(target) @ np.abs(beta))
    dual -= _drift_cost(problem, result, target - f, delta)
    if result.psd_delta:  # no bound on how far β may be
        return np.inf, -np.inf
    s = _smallest_feasible_scale(problem, f + b, delta)
    if not np.isfinite(s):
        return np.inf, dual
    r = target - s * (f + b)
    finite = np.where(r > 0, upper, -lower)
    wrong = np.where(np.isfinite(finite), finite, 0.0)  # where infinite, r is on the right side
    primal = s * s * (quad + quad_error) / 2 + wrong @ (np.abs(r) + s * delta)
    primal += s * (b_group @ problem.group_sums) if problem.n_groups else 0.0
    primal += ROUNDING.units * EPS * (abs(primal) + abs(dual))
    return float(primal), float(min(dual, primal))


def _smallest_feasible_scale(problem: BoxQP, g: np.ndarray, delta: np.ndarray) -> float:
    """The smallest s ≥ 0 with target ≤ s·g where upper is infinite and target ≥ s·g where lower is.

    Infinite where there is none; g is taken δ on its worse side.
    """
    above, below = np.isinf(problem.upper), np.isinf(problem.lower)
    need = np.concatenate([problem.target[above], -problem.target[below]])
    have = np.concatenate([(g - delta)[above], -(g + delta)[below]])
    if np.any((have <= 0) & (need > 0)):
        return np.inf
    rising, falling = have > 0, have < 0
    s = max(0.0, float(np.max(need[rising] / have[rising], initial=0.0))) * (1 + 4 * EPS)
    most = float(np.min(need[falling] / have[falling], initial=np.inf))
    return s if s <= most else np.inf


def _bias_intervals(
    problem: BoxQP, beta: np.ndarray, e: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Per group: β < upper asks for b ≥ e, β > lower for b ≤ e, with e = target − f."""
    rise, fall = movable(problem, beta)
    if problem.group is None or problem.n_groups == 1:
        low, high = e[rise].max(initial=-np.inf), e[fall].min(initial=np.inf)
        return np.array([low]), np.array([high])
    low, high = (np.full(problem.n_groups, end) for end in (-np.inf, np.inf))
    np.maximum.at(low, problem.group[rise], e[rise])
    np.minimum.at(high, problem.group[fall], e[fall])
    return low, high


def _model_scale(problem: BoxQP, b: np.ndarray) -> float:
    """ν-SVC publishes β and b divided by ρ, half the difference of its multipliers."""
    if problem.row is None and problem.n_groups == 2 and b[1] > b[0]:
        return float(2 / (b[1] - b[0]))
    return 1.0


def _feasible_multipliers(problem: BoxQP, b: np.ndarray) -> np.ndarray:
    """The multipliers of ν-SVC with ρ ≥ 0, which its primal problem asks for.

    An iterate far from the optimum may have ρ < 0; its model is published as it is, with no scale.
    """
    if problem.row is None and problem.n_groups == 2 and b[1] < b[0]:
        return np.full(2, np.mean(b))
    return b


def _publishing_error(
    problem: BoxQP, beta: np.ndarray, b: np.ndarray, diag: np.ndarray
) -> np.ndarray:
    """A bound on how far the published model, β and b times the scale and rounded, moves f + b.

    Each coefficient is off by at most 4 EPS |β| by the conversion to the model and back, and
    |Kᵢⱼ| ≤ √(Kᵢᵢ Kⱼⱼ). A multiplier is the mean of both ± ρ, each of which is rounded: where one of
    them is large, both lose its last digits.
    """
    size = np.sqrt(problem.at_variables(diag))
    return 4 * EPS * (size * float(np.abs(beta) @ size) + float(np.abs(b).sum()))


def kkt_groups(coef: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """`ZERO`, `FREE` or `BOUND` for the coefficient of every point in its box."""
    at_bound = _at_bound(coef, lower, upper)
    return np.where(coef == 0, ZERO, np.where(at_bound, BOUND, FREE)).astype(np.int8)


def _at_bound(coef: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Whether a coefficient is at an end of its box, up to rounding."""
    return (coef <= ROUNDING.at_bound * lower) | (coef >= ROUNDING.at_bound * upper)
