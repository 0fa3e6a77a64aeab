"""Kernel SVMs recomputed: objective, gap and violation as bounds.

With f = Kβ, g = f + b, α = |β|, the bounds 0 ≤ α ≤ s and a₊ = max(0, a), every formulation has
variables with a signed distance a from the edge of its loss (`_losses`; squared slack: a₊²), and

    C-SVC      P = ½βᵀf + Σ s a₊                     a = 1 − y g
    ν-SVC      P = ½ρ²βᵀf + ρ Σ s a₊ − ν ρ Σs        the same; ρ = ν Σs / Σα, α and b times ρ
    ε-SVR      P = ½βᵀf + Σ s a₊                     a = y − g − ε and g − y − ε
    ν-SVR      P = ½βᵀf + Σ s a₊ + ν ε Σs            the same; ε the best for these residuals
    one-class  P = ½βᵀf + Σ s a₊ + b ν Σs            a = −g

β' = β + δ is a feasible dual point: β within its box and with the sums that it must have. Then

    P − D(β') = Σ (s − α') a₊ + α' (−a)₊  +  ½ δᵀKδ        (ν-SVR: + ε (ν Σs − Σα'))

f is known to within e (`mercer.kernels._reference`): each term at the worse end of a ± e gives an
upper bound of the gap, at the better end a lower one. δ is the drift of the sums (computed without
rounding) moved onto the variables with the smallest |a|: it adds |δ| (|a| + e).

Without a bound (C = ∞), β and b are scaled by the smallest t that makes all rows feasible for any
error e: P − D = ½ (t − 1)² βᵀf + Σ α (t y g − 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mercer._precision import EPS
from mercer._result import Status
from mercer.certificates._certificate import Certificate, relative, summarise
from mercer.kernels._reference import SETTINGS as REFERENCE
from mercer.kernels._reference import Sums
from mercer.verification._formulations import Formulation, ModelTask, Posed
from mercer.verification._rounding import SETTINGS, total

__all__ = [
    "VerifiedCertificate",
    "overflow_is_infinite",
    "recompute_svm",
    "refined",
    "total_certificate",
]


@dataclass(frozen=True, eq=False, repr=False)
class VerifiedCertificate(Certificate):
    """A certificate with lower bounds as well.

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
overflow_is_infinite = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True, eq=False)
class Recomputed:
    """Bounds of P, P − D and the violation, and how much of them each row leaves open."""

    primal: tuple[float, float]
    gap: tuple[float, float]
    violation: tuple[float, float, float]
    interval: tuple[float, float]
    open: np.ndarray


@overflow_is_infinite
def recompute_svm(model: Any, formulation: Formulation, task: ModelTask) -> VerifiedCertificate:
    """The certificate of one task; rows for which rounding matters are computed again."""
    params = model.get_params()
    posed = formulation(params, task)
    values = _evaluate(model, params, task, posed)
    rows = _uncertain(task, values)
    sums = task.refine(rows) if rows.size else None
    if sums is not None:
        task = refined(task, rows, sums)
        posed = formulation(params, task)
        values = _evaluate(model, params, task, posed)
    return _certify(model, task, posed, values)


def total_certificate(found: Sequence[VerifiedCertificate]) -> VerifiedCertificate:
    """One certificate over several tasks."""
    if len(found) == 1:
        return found[0]
    whole = summarise(found)
    return VerifiedCertificate(
        **{field.name: getattr(whole, field.name) for field in fields(whole) if field.init},
        primal_low=sum(task.primal_low for task in found),
        gap_low=sum(task.gap_low for task in found),
        violation_low=max(task.violation_low for task in found),
        violation_high=max(task.violation_high for task in found),
        precision=max((task.precision for task in found), key=len),
    )


def refined(task: ModelTask, rows: np.ndarray, sums: Sums) -> ModelTask:
    """The task with f of some rows as computed again, where that is more precise."""
    better = sums.error < task.f.error[rows]
    rows, count = rows[better], int(np.count_nonzero(better))
    if not count:
        return task
    new = Sums(*(part.copy() for part in task.f))
    for part, values in zip(new, sums, strict=True):
        part[rows] = values[better]
    how = f"float64, and double-double for {count:,} of {len(task.y):,} rows"
    return replace(task, f=new, refined=how)


def _uncertain(task: ModelTask, values: Recomputed) -> np.ndarray:
    """The rows to compute again: those that leave most open, until the rest leaves little."""
    part = values.open
    if not part.sum() > 1:
        return np.zeros(0, dtype=np.intp)
    order = np.argsort(-part, kind="stable")
    needed = int(np.searchsorted(-np.cumsum(part[order][::-1])[::-1], -0.5))
    most = max(1, SETTINGS.precise_values // max(int(np.count_nonzero(task.beta)), 1))
    return np.sort(order[: min(max(needed, 1), most)])


def _evaluate(model: Any, params: dict, task: ModelTask, posed: Posed) -> Recomputed:
    quad, quad_error = task.squared_norm()
    squared = (max(quad - quad_error, 0.0) if quad >= 0 else quad - quad_error, quad + quad_error)
    box = np.clip(posed.alpha, 0.0, posed.s)
    moved, spread = _repair(task, posed, np.abs(posed.alpha - box))
    if posed.C is None and np.isinf(posed.s).any():
        primal, gap, part = _unbounded(task, posed, squared, moved, spread)
    else:
        primal, gap, part = _bounded(task, posed, box, squared, moved, spread)
    primal = (-np.inf, np.inf) if np.isnan(primal).any() else primal  # infinities of both signs
    if posed.off > SETTINGS.infeasible:
        gap = (np.inf, np.inf)
    elif not gap[1] < REFERENCE.unknown * 1e-50:
        gap = (gap[0], np.inf)
    violation, interval, extreme = _violation(model, params, task, posed)
    part = part + extreme
    # The error of f enters βᵀf, too.
    size = np.abs(task.beta) * task.f.error * posed.scale * posed.scale
    part += size / _allowed(primal[0], gap)
    return Recomputed(primal, gap, violation, interval, np.nan_to_num(part, nan=0.0, posinf=1e300))


def _allowed(primal: float, gap: tuple[float, float]) -> float:
    """What rounding may leave open of P and of the gap."""
    return max(SETTINGS.open_gap * gap[0], SETTINGS.open_primal * abs(primal), 1e-300)


def _bounded(
    task: ModelTask,
    posed: Posed,
    box: np.ndarray,
    squared: tuple[float, float],
    moved: float,
    spread: float,
) -> tuple[tuple[float, float], tuple[float, float], np.ndarray]:
    """Bounds of P and of the gap where all bounds are finite, and the open part of each row."""
    a, e, scale, loss = posed.a, posed.error, posed.scale, posed.loss
    C = posed.s if posed.C is None else posed.C
    losses = loss.value(C, a - e), loss.value(C, a + e)
    worse = np.maximum(*(loss.gap_terms(C, box, end) for end in (a - e, a + e)))
    better = loss.gap_terms(C, box, np.clip(box * posed.diag, a - e, a + e))
    high, low = (scale * total(part) for part in (worse, better))
    loss_low, loss_high = (scale * total(loss) for loss in losses)
    rounding = 4 * EPS * loss_high
    gap_high = (high + posed.unpaid) * (1 + SETTINGS.summed) + moved + spread * spread / 2
    gap_low = (low + posed.unpaid) * (1 - SETTINGS.summed) - moved - posed.excess - rounding
    norms = [scale * scale * part / 2 for part in squared]
    size = SETTINGS.summed * (abs(norms[1]) + loss_high) + 4 * EPS * abs(posed.rest)
    primal = (
        total([norms[0], loss_low, posed.rest, -size, -posed.excess]),
        total([norms[1], loss_high, posed.rest, size]),
    )
    gap = (max(0.0, gap_low), gap_high + rounding)
    part = scale * (worse - better + SETTINGS.open_gap * (losses[1] - losses[0]))
    part = np.bincount(posed.row, part, len(task.y))
    return primal, gap, part / _allowed(primal[1], gap)


def _unbounded(
    task: ModelTask, posed: Posed, squared: tuple[float, float], moved: float, spread: float
) -> tuple[tuple[float, float], tuple[float, float], np.ndarray]:
    """The same for C = ∞: the model is scaled until every row is feasible."""
    g, error = task.residuals(np.zeros(len(task.y)))
    g, error = -posed.sign * g[posed.row], error[posed.row]
    need = posed.sign * posed.target
    t_low, t_high = (_smallest_scale(need, g + error), _smallest_scale(need, g - error))
    if not np.isfinite(t_high):
        if not np.isfinite(t_low):
            return (np.inf, np.inf), (np.inf, np.inf), np.zeros(len(task.y))
        low = t_low * t_low * squared[0] / 2 * (1 - SETTINGS.summed)
        return (low, np.inf), (0.0, np.inf), 2.0 * (task.f.error > 0)
    primal = (
        t_low * t_low * squared[0] / 2 * (1 - SETTINGS.summed),
        t_high * t_high * squared[1] / 2 * (1 + SETTINGS.summed),
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
        max(0.0, (total(least) + near * near / 2) * (1 - SETTINGS.summed) - moved),
        (total(slack) + away * away / 2) * (1 + SETTINGS.summed) + moved,
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


def _repair(task: ModelTask, posed: Posed, clipped: np.ndarray) -> tuple[float, float]:
    """What moving α into its box and its sums to their values adds: Σ|δ|(|a| + e) and Σ|δ|√k.

    Terms are computed for α within the box, so clipping costs no more than its part of √(δᵀKδ).
    """
    slack = posed.diag * posed.alpha
    cost = (np.abs(posed.a - slack) + posed.error + 2 * EPS * np.abs(slack)) * posed.scale
    moved = spread = 0.0
    if (which := np.flatnonzero(clipped)).size:
        spread += float(clipped[which] @ np.sqrt(task.diag(posed.row[which]) + posed.diag[which]))
    for amount, variables, available in posed.moves:
        if amount <= 0:
            continue
        order = variables[np.argsort(cost[variables], kind="stable")]
        used, take = order, available[order]
        if np.isfinite(amount):
            until = np.cumsum(take)
            last = int(np.searchsorted(until, amount))
            if last >= len(order):
                return np.inf, np.inf
            used, take = used[: last + 1], take[: last + 1]
            take[-1] = min(take[-1], amount - (until[last - 1] if last else 0.0)) * (1 + 4 * EPS)
        moved += float(take @ cost[used])
        spread += float(take @ np.sqrt(task.diag(posed.row[used]) + posed.diag[used]))
    return moved * (1 + SETTINGS.summed), spread * (1 + SETTINGS.summed)


def _violation(
    model: Any, params: dict, task: ModelTask, posed: Posed
) -> tuple[tuple[float, float, float], tuple[float, float], np.ndarray]:
    """The largest violating pair (low, estimate, high), the bias interval, and rows to refine."""
    below = posed.alpha < posed.s * SETTINGS.at_bound
    above = posed.alpha > 0
    rise = np.where(posed.sign > 0, below, above)
    fall = np.where(posed.sign > 0, above, below)
    slack, has_bias = posed.diag * posed.alpha, params.get("fit_intercept", True)
    z, e = posed.sign * (posed.a - slack), posed.error + 2 * EPS * np.abs(slack)
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
        if (pair[2] - pair[0]) * posed.scale > SETTINGS.open_gap * model.tol:
            marked[up[z[up] + e[up] >= low[0]]] = True
            marked[down[z[down] - e[down] <= high[0]]] = True
    part = np.bincount(posed.row, marked * e * posed.scale, len(task.y)) / (
        SETTINGS.open_gap * model.tol
    )
    mean = task.b + np.mean(ends, axis=0) if has_bias else np.zeros(2)
    return (*found.tolist(),), (float(min(mean)), float(max(mean))), part  # type: ignore[return-value]


def _certify(model: Any, task: ModelTask, posed: Posed, values: Recomputed) -> VerifiedCertificate:
    (primal_low, primal), (gap_low, gap) = values.primal, values.gap
    quad, quad_error = task.squared_norm()
    row_alpha = np.bincount(posed.row, np.abs(posed.alpha), len(task.y))
    row_bound = np.zeros(len(task.y))
    row_bound[posed.row] = posed.s
    zero = row_alpha == 0
    at_bound = ~zero & (row_alpha >= row_bound * SETTINGS.at_bound)
    dual = -np.inf
    if np.isfinite(gap) and np.isfinite(primal_low):
        dual = float(np.nextafter(primal_low - gap, -np.inf)) if gap else primal_low
    low, violation, high = values.violation
    return VerifiedCertificate.of(
        primal,
        dual,
        gap,
        np.sqrt(max(quad, 0.0)),
        (zero.sum(), at_bound.sum(), len(task.y)),
        kkt_violation=violation,
        bias_interval=values.interval,
        status=_status(model, posed, values, quad + quad_error),
        name=task.name,
        primal_low=primal_low,
        gap_low=gap_low,
        violation_low=low,
        violation_high=high,
        precision=task.precision,
    )


def _status(model: Any, posed: Posed, values: Recomputed, quad_high: float) -> Status:
    """By the violation or, with gap_tol, the gap; why a model missed it only the fit can know.

    Of one that is said to be solved: the limit of float64, where rounding leaves that open.
    """
    if quad_high < 0:
        return Status.NOT_PSD
    ends, tol = (values.violation[0], values.violation[2]), model.tol
    if (gap_tol := getattr(model, "gap_tol", None)) is not None:
        low, high = (relative(gap, values.primal[1]) for gap in values.gap)
        ends, tol = (low, high), gap_tol * (1 + SETTINGS.gap_tol_slack)
    is_solved = ends[1] <= tol * (1 + SETTINGS.tol_slack)
    if posed.must_be_negative and is_solved and not values.primal[1] < 0:
        return Status.DEGENERATE
    if np.isfinite(values.gap[1]) and is_solved:
        return Status.SOLVED
    stated = getattr(getattr(model, "certificate_", None), "status", Status.SOLVED)
    if not stated.is_solved:
        return stated
    is_open = not is_solved and ends[0] <= tol
    return Status.STALLED if is_open else Status.NOT_REACHED
