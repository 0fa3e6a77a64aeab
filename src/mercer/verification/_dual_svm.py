"""What `mercer.verify` finds: value, gap and violation of a kernel machine, as bounds.

With f = Kβ, g = f + b, α = |β|, the box 0 ≤ α ≤ s and a₊ = max(0, a), every formulation has
variables with a signed distance a from the edge of its loss, and

    C-SVC      P = ½βᵀf + Σ s a₊                     a = 1 − y g
    ν-SVC      P = ½ρ²βᵀf + ρ Σ s a₊ − ν ρ Σs        the same; ρ = ν Σs / Σα, α and b times ρ
    ε-SVR      P = ½βᵀf + Σ s a₊                     a = y − g − ε and g − y − ε
    ν-SVR      P = ½βᵀf + Σ s a₊ + ν ε Σs            the same; ε the best for these residuals
    one-class  P = ½βᵀf + Σ s a₊ + b ν Σs            a = −g

β' = β + δ is a feasible dual point: β within its box and with the sums that it must have. Then

    P − D(β') = Σ (s − α') a₊ + α' (−a)₊  +  ½ δᵀKδ        (ν-SVR: + ε (ν Σs − Σα'))

f is known to within e (`mercer.kernels._reference`), so each term is taken at the worse end of a ±
e: an upper bound of the gap; at the better end it is a lower bound. δ is the drift of the sums
(computed without rounding) moved onto the variables with the smallest |a|: it adds |δ| (|a| + e).

Without a bound (C = ∞), β and b are scaled by the smallest t that makes all rows feasible, in the
worst case over e, and P − D = ½ (t − 1)² βᵀf + Σ α (t y g − 1).

    logistic   P = ½βᵀf + Σ s log(1 + exp(−y g))    gap = ½(β − β̃)ᵀK(β − β̃),  β̃ = y s σ(−y g)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.special import expit

from mercer._result import Status
from mercer.certificates._certificate import Certificate, relative, summarise
from mercer.kernels._reference import UNKNOWN, Sums
from mercer.verification._formulations import EPS, SUMMED, Posed, Task, formulation

__all__ = ["Task", "VerifiedCertificate", "find", "find_logistic", "total"]

# α is at its bound up to the rounding of C · class weight · sample weight, and of ρ.
_AT_BOUND = 1 - 1e-12
# A bound or a sum is broken if it is off by more than this, relatively.
_BROKEN = 1e-8
# Rows are computed again in double-double if rounding has more than this part of the gap or of tol,
_FRACTION = 0.02
# or more than this part of the objective,
_OF_PRIMAL = 1e-11
# and at most so many kernel values.
_MOST_VALUES = 20_000_000
# What tol may be exceeded by, relatively.
_TOL_ROUNDING = 1e-6


@dataclass(frozen=True, repr=False)
class VerifiedCertificate(Certificate):
    """A certificate with the lower bounds of what was found.

    ``primal`` and ``gap`` are upper bounds, ``dual`` is a lower one, ``kkt_violation`` is the best
    estimate. ``primal − dual`` exceeds ``gap`` by what rounding leaves open of both.

    Attributes
    ----------
    primal_low, gap_low : float
        The objective of the model, and its distance from the dual value of its coefficients, are
        not below these.
    violation_low, violation_high : float
        The violation lies between them.
    precision : str
        How the sums over support vectors were computed.
    """

    primal_low: float = -np.inf
    gap_low: float = 0.0
    violation_low: float = 0.0
    violation_high: float = np.inf
    precision: str = "float64"

    def rows(self) -> list[tuple[str, str]]:
        """What is shown of it: labels and values."""
        return [*super().rows(), ("computed in", self.precision)]


# Numbers that overflow are infinite: then so is the gap.
_quietly = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True, eq=False)
class _Values:
    """Bounds of P, P − D and the violation, and each row's part in what is open of them."""

    primal: tuple[float, float]
    gap: tuple[float, float]
    violation: tuple[float, float, float]
    interval: tuple[float, float]
    open: np.ndarray


@_quietly
def find(model: Any, task: Task) -> VerifiedCertificate:
    """The certificate of one task; rows that rounding matters for are computed again."""
    params = model.get_params()
    pose = formulation(model, params)
    posed = pose(params, task)
    values = _evaluate(model, params, task, posed)
    rows = _uncertain(task, values)
    if rows.size:
        sums = task.refine(rows)
        if sums is not None:
            task = _refined(task, rows, sums)
            posed = pose(params, task)
            values = _evaluate(model, params, task, posed)
    return _certificate(model, params, task, posed, values)


def total(found: Sequence[VerifiedCertificate]) -> VerifiedCertificate:
    """One certificate over several tasks."""
    if len(found) == 1:
        return found[0]
    whole = summarise(found)
    precision = max((task.precision for task in found), key=len)
    return VerifiedCertificate(
        **{field.name: getattr(whole, field.name) for field in fields(whole) if field.init},
        primal_low=sum(task.primal_low for task in found),
        gap_low=sum(task.gap_low for task in found),
        violation_low=max(task.violation_low for task in found),
        violation_high=max(task.violation_high for task in found),
        precision=precision,
    )


def _refined(task: Task, rows: np.ndarray, sums: Sums) -> Task:
    better = sums.error < task.f.error[rows]
    rows, count = rows[better], int(np.count_nonzero(better))
    if not count:
        return task
    new = Sums(*(part.copy() for part in task.f))
    for part, values in zip(new, sums, strict=True):
        part[rows] = values[better]
    return replace(
        task, f=new, precision=f"float64, and double-double for {count:,} of {len(task.y):,} rows"
    )


def _uncertain(task: Task, values: _Values) -> np.ndarray:
    """The rows to compute again: those that have most of what is open, until little is left."""
    part = values.open
    if not part.sum() > 1:
        return np.zeros(0, dtype=np.intp)
    order = np.argsort(-part, kind="stable")
    needed = int(np.searchsorted(-np.cumsum(part[order][::-1])[::-1], -0.5))
    most = max(1, _MOST_VALUES // max(task.n_support, 1))
    return np.sort(order[: min(max(needed, 1), most)])


def _evaluate(model: Any, params: dict, task: Task, posed: Posed) -> _Values:
    quad, quad_error = task.squared_norm()
    squared = (max(quad - quad_error, 0.0) if quad >= 0 else quad - quad_error, quad + quad_error)
    box = np.clip(posed.alpha, 0.0, posed.s)
    moved, spread = _repair(task, posed, np.abs(posed.alpha - box))
    if np.isinf(posed.s).any():
        primal, gap, part = _unbounded(task, posed, squared, moved, spread)
    else:
        primal, gap, part = _bounded(task, posed, box, squared, moved, spread)
    if posed.off > _BROKEN:
        gap = (np.inf, np.inf)
    elif not gap[1] < UNKNOWN * 1e-50:
        gap = (gap[0], np.inf)
    violation, interval, extreme = _violation(model, params, task, posed)
    part = part + extreme
    # The error of f enters βᵀf, too.
    size = np.abs(task.beta) * task.f.error * posed.scale * posed.scale
    part += size / _allowed(primal[0], gap)
    return _Values(primal, gap, violation, interval, np.nan_to_num(part, nan=0.0, posinf=1e300))


def _allowed(primal: float, gap: tuple[float, float]) -> float:
    """What rounding may leave open of P and of the gap."""
    return max(_FRACTION * gap[0], _OF_PRIMAL * abs(primal), 1e-300)


def _bounded(
    task: Task, posed: Posed, box: np.ndarray, squared: tuple[float, float], moved: float,
    spread: float,
) -> tuple[tuple[float, float], tuple[float, float], np.ndarray]:  # fmt: skip
    """Bounds of P and of the gap where all bounds are finite, and the open part of each row."""
    a, e, s, scale = posed.a, posed.error, posed.s, posed.scale

    def terms(a: np.ndarray) -> np.ndarray:
        return (s - box) * np.maximum(a, 0) + box * np.maximum(-a, 0)

    worse = np.maximum(terms(a - e), terms(a + e))
    better = terms(np.sign(a) * np.maximum(np.abs(a) - e, 0))
    high, low = (scale * math.fsum(part) for part in (worse, better))
    loss_high = scale * math.fsum(s * np.maximum(a + e, 0))
    loss_low = scale * math.fsum(s * np.maximum(a - e, 0))
    rounding = 4 * EPS * loss_high
    gap_high = (high + posed.unpaid) * (1 + SUMMED) + moved + spread * spread / 2
    gap_low = (low + posed.unpaid) * (1 - SUMMED) - moved - posed.excess - rounding
    norms = [scale * scale * part / 2 for part in squared]
    size = SUMMED * (abs(norms[1]) + loss_high) + 4 * EPS * abs(posed.rest)
    primal = (
        math.fsum([norms[0], loss_low, posed.rest, -size, -posed.excess]),
        math.fsum([norms[1], loss_high, posed.rest, size]),
    )
    gap = (max(0.0, gap_low), gap_high + rounding)
    part = scale * (worse - better + _FRACTION * s * (np.maximum(a + e, 0) - np.maximum(a - e, 0)))
    part = np.bincount(posed.row, part, len(task.y))
    return primal, gap, part / _allowed(primal[1], gap)


def _unbounded(
    task: Task, posed: Posed, squared: tuple[float, float], moved: float, spread: float
) -> tuple[tuple[float, float], tuple[float, float], np.ndarray]:
    """The same for C = ∞: the model is scaled until every row is feasible."""
    g, error = task.residuals(np.zeros(len(task.y)))
    g, error = -posed.sign * g[posed.row], error[posed.row]
    need = posed.sign * posed.target
    t_low, t_high = (_smallest_scale(need, g + error), _smallest_scale(need, g - error))
    if not np.isfinite(t_high):
        if not np.isfinite(t_low):
            return (np.inf, np.inf), (np.inf, np.inf), np.zeros(len(task.y))
        low = t_low * t_low * squared[0] / 2 * (1 - SUMMED)
        return (low, np.inf), (0.0, np.inf), 2.0 * (task.f.error > 0)
    primal = (
        t_low * t_low * squared[0] / 2 * (1 - SUMMED),
        t_high * t_high * squared[1] / 2 * (1 + SUMMED),
    )
    alpha = np.maximum(posed.alpha, 0.0)
    slack = alpha * np.maximum(t_high * (g + error) - need, 0.0)
    least = alpha * np.maximum(t_low * (g - error) - need, 0.0)
    size = np.sqrt(max(squared[1], 0.0))
    drift = math.fsum(amount for amount, *_ in posed.moves)
    moved = t_high * moved + abs(t_high - 1) * drift * float(np.abs(need).max(initial=0.0))
    away = max(abs(t_high - 1), abs(t_low - 1)) * size + spread
    near = max(0.0, t_low - 1) * np.sqrt(max(squared[0], 0.0))
    gap = (
        max(0.0, (math.fsum(least) + near * near / 2) * (1 - SUMMED) - moved),
        (math.fsum(slack) + away * away / 2) * (1 + SUMMED) + moved,
    )
    tight = (g - error) * t_high < 2 * np.maximum(need, 0) + error * t_high
    part = alpha * error * t_high + tight * error * squared[1] * t_high * t_high * t_high
    part = np.bincount(posed.row, part, len(task.y))
    return primal, gap, part / _allowed(primal[1], gap)


def _smallest_scale(need: np.ndarray, have: np.ndarray) -> float:
    """The smallest t ≥ 0 with t · have ≥ need for every variable; infinite if there is none."""
    if np.any((have <= 0) & (need > 0)):
        return np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        least = float(np.max((need / have)[have > 0], initial=0.0)) * (1 + EPS)
        most = float(np.min((need / have)[have < 0], initial=np.inf))
    return least if least <= most else np.inf


def _repair(task: Task, posed: Posed, clipped: np.ndarray) -> tuple[float, float]:
    """What moving α into its box and its sums to their values adds: Σ|δ|(|a| + e) and Σ|δ|√k.

    Terms are computed for α within the box, so clipping costs no more than its part of √(δᵀKδ).
    """
    cost, moved, spread = (np.abs(posed.a) + posed.error) * posed.scale, 0.0, 0.0
    if np.any(clipped):
        which = np.flatnonzero(clipped)
        spread += float(clipped[which] @ np.sqrt(task.diag(posed.row[which])))
    for amount, variables, room in posed.moves:
        if amount <= 0:
            continue
        order = variables[np.argsort(cost[variables], kind="stable")]
        until = np.cumsum(room[order])
        last = int(np.searchsorted(until, amount))
        if last >= len(order):
            return np.inf, np.inf
        take = room[order[: last + 1]].copy()
        take[-1] = min(take[-1], amount - (until[last - 1] if last else 0.0)) * (1 + 4 * EPS)
        used = order[: last + 1]
        moved += float(take @ cost[used])
        spread += float(take @ np.sqrt(task.diag(posed.row[used])))
    return moved * (1 + SUMMED), spread * (1 + SUMMED)


def _violation(
    model: Any, params: dict, task: Task, posed: Posed
) -> tuple[tuple[float, float, float], tuple[float, float], np.ndarray]:
    """The largest violating pair (low, estimate, high), the bias interval, and rows to refine."""
    below = posed.alpha < posed.s * _AT_BOUND
    above = posed.alpha > 0
    rise = np.where(posed.sign > 0, below, above)
    fall = np.where(posed.sign > 0, above, below)
    z, e, has_bias = posed.sign * posed.a, posed.error, params.get("fit_intercept", True)
    found, ends, marked = np.zeros(3), [], np.zeros(len(z), dtype=bool)
    for group in posed.groups:
        up, down = group[rise[group]], group[fall[group]]
        low = [float(np.max(z[up] + k * e[up], initial=-np.inf)) for k in (-1, 0, 1)]
        high = [float(np.min(z[down] - k * e[down], initial=np.inf)) for k in (-1, 0, 1)]
        ends.append((low[1], high[1]))
        pair = [
            lower - upper if has_bias else max(lower, -upper)
            for lower, upper in zip(low, high, strict=True)
        ]
        size = sum(abs(end) for end in (low[2], high[2]) if math.isfinite(end))
        rounding = 8 * EPS * np.array([-1, 0, 1]) * size
        if np.all(np.isfinite(pair)):
            found = np.maximum(found, (np.array(pair) + rounding) * posed.scale)
        if (pair[2] - pair[0]) * posed.scale > _FRACTION * model.tol:
            marked[up[z[up] + e[up] >= low[0]]] = True
            marked[down[z[down] - e[down] <= high[0]]] = True
    part = np.bincount(posed.row, marked * e * posed.scale, len(task.y)) / (_FRACTION * model.tol)
    mean = task.b + np.mean(ends, axis=0) if has_bias else np.zeros(2)
    return (*found.tolist(),), (float(min(mean)), float(max(mean))), part  # type: ignore[return-value]


def _certificate(
    model: Any, params: dict, task: Task, posed: Posed, values: _Values
) -> VerifiedCertificate:
    (primal_low, primal), (gap_low, gap) = values.primal, values.gap
    quad, quad_error = task.squared_norm()
    row_alpha = np.bincount(posed.row, np.abs(posed.alpha), len(task.y))
    row_bound = np.zeros(len(task.y))
    row_bound[posed.row] = posed.s
    zero = row_alpha == 0
    at_bound = ~zero & (row_alpha >= row_bound * _AT_BOUND)
    finite = np.isfinite(gap) and np.isfinite(primal_low)
    low, violation, high = values.violation
    return VerifiedCertificate(
        primal=primal,
        dual=_less(primal_low, gap) if finite else -np.inf,
        gap=gap,
        relative_gap=relative(gap, primal),
        kkt_violation=violation,
        bias_interval=values.interval,
        margin=float(2 / np.sqrt(quad)) if quad > 0 else np.inf,
        n_zero=int(zero.sum()),
        n_free=int((~zero & ~at_bound).sum()),
        n_bound=int(at_bound.sum()),
        status=_status(model, params, values, quad + quad_error),
        name=task.name,
        primal_low=primal_low,
        gap_low=gap_low,
        violation_low=low,
        violation_high=high,
        precision=task.precision,
    )


def _less(primal: float, gap: float) -> float:
    """primal − gap, rounded downwards."""
    return float(np.nextafter(primal - gap, -np.inf)) if gap else primal


def _status(model: Any, params: dict, values: _Values, quad_high: float) -> Status:
    """By the violation found; what kept a model from its tolerance only the fit can know."""
    if quad_high < 0:
        return Status.NOT_PSD
    solved = values.violation[2] <= model.tol * (1 + _TOL_ROUNDING)
    # ν-SVC: only P < 0 shows that ρ > 0 at the optimum.
    if "nu" in params and hasattr(model, "classes_") and solved and not values.primal[1] < 0:
        return Status.DEGENERATE
    if np.isfinite(values.gap[1]) and solved:
        return Status.SOLVED
    stated = getattr(getattr(model, "certificate_", None), "status", Status.SOLVED)
    return Status.STALLED if stated.is_solved else stated


@_quietly
def find_logistic(
    model: Any, task: Task, image: Callable[[np.ndarray], Sums]
) -> VerifiedCertificate:
    """The certificate of one logistic task; ``image`` multiplies a vector with K."""
    y, beta, b = task.y, task.beta, task.b
    v, error = task.residuals(np.zeros(len(y)))
    g, s = -v, model.C * task.weight
    asked = y * s * expit(-y * g)
    wrong = s * (error / 4 + 4 * EPS)  # of β̃: the slope of σ is at most ¼
    quad, quad_error = task.squared_norm()
    loss = [math.fsum(s * np.logaddexp(0.0, -y * g + k * error)) for k in (-1, 1)]
    away = asked - beta
    product = image(away)
    squared = max(float(away @ product.high), 0.0)
    open_part = float(np.abs(away) @ product.error)
    root = float(wrong @ np.sqrt(task.diag(np.arange(len(y))))) if np.any(wrong) else 0.0
    norms = [max(0.0, np.sqrt(max(0.0, squared + k * open_part)) + k * root) for k in (-1, 1)]
    drift = abs(b * math.fsum(asked)) if model.fit_intercept else 0.0
    drift_error = abs(b) * float(wrong.sum()) if model.fit_intercept else 0.0
    primal_low = ((quad - quad_error) / 2 + loss[0]) * (1 - SUMMED)
    primal = ((quad + quad_error) / 2 + loss[1]) * (1 + SUMMED)
    gap = (norms[1] * norms[1] / 2 + drift + drift_error) * (1 + SUMMED)
    gap_low = max(0.0, (norms[0] * norms[0] / 2 + drift - drift_error) * (1 - SUMMED))
    relative_gap, n_zero = relative(gap, primal), int(np.count_nonzero(beta == 0))
    return VerifiedCertificate(
        primal=primal, dual=primal_low - gap, gap=gap, relative_gap=relative_gap,
        kkt_violation=float(np.sqrt(squared)), bias_interval=(b, b),
        margin=2 / quad**0.5 if quad > 0 else np.inf,
        n_zero=n_zero, n_free=beta.size - n_zero, n_bound=0,
        status=Status.SOLVED if relative_gap <= model.tol * 1.01 else Status.STALLED,
        name=task.name, unit="products with K", primal_low=primal_low, gap_low=gap_low,
        violation_low=norms[0], violation_high=norms[1], precision=task.precision,
    )  # fmt: skip
