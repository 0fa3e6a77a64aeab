"""The five machines as optimisation problems over exact numbers, read off published attributes.

With f = Kβ, g = f + b and bounds s (C, or 1, times the sample weight):

    C-SVC      P = ½‖w‖² + Σ s (1 − y g)₊                 D = Σ|β| − ½βᵀKβ
    hard       P = ½‖w‖² / (min y g)²                     the same
    ν-SVC      P = min over t ≥ 0 of ½t²‖w‖² − t (νΣs − Σ s (1 − y g)₊)      D = −½βᵀKβ
    ε-SVR      P = ½‖w‖² + Σ s (|y − g| − ε)₊             D = yᵀβ − ε Σ|β| − ½βᵀKβ
    ν-SVR      P = the same plus ε νΣs, for the best ε     D = yᵀβ − ½βᵀKβ,  Σ|β| ≤ νΣs
    one-class  P = ½‖w‖² + Σ s (−g)₊ + b νΣs              D = −½βᵀKβ

With squared slacks the losses of C-SVC and ε-SVR are s (·)₊², no dual has an upper bound, and D has
−Σ β²/(4s) more.

A published ν-SVC model is its solution divided by ρ: only its direction counts, so P is that of the
best multiple t. Every value is a ball that holds the exact one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import arb, fmpq

from tests.soundness.exact import rational

__all__ = ["Task", "dual", "feasible", "primal", "read_tasks", "violation"]

INF = arb.pos_inf()
# A published coefficient is at its bound up to the rounding of a factor or two.
AT_BOUND = fmpq(10**12 - 1, 10**12)


@dataclass(frozen=True)
class Task:
    """One box-constrained problem and the model that was found for it.

    Attributes
    ----------
    kind : {"svc", "nu_svc", "svr", "nu_svr", "one_class"}
    rows : list of int
        Rows of X with a positive weight.
    y : list of fmpq
        Labels ±1, or targets; zeros for one-class.
    s : list of fmpq or None
        Bounds of |β|; None is infinite.
    beta : list of fmpq
    b : fmpq
    epsilon, nu_sum : fmpq
        ε of ε-SVR; ν Σs of the others.
    has_bias : bool
    squared : bool
        Whether slacks are squared; s is then their cost, and no bound.
    """

    kind: str
    rows: list[int]
    y: list[fmpq]
    s: list[Any]
    beta: list[fmpq]
    b: fmpq
    epsilon: fmpq
    nu_sum: fmpq
    has_bias: bool
    squared: bool = False

    @property
    def is_hard(self) -> bool:
        return any(bound is None for bound in self.s)

    @property
    def box(self) -> tuple[list[Any], list[Any]]:
        """Lower and upper bounds; None is infinite."""
        low, high = [], []
        bounds = [None] * len(self.s) if self.squared else self.s
        for y, s in zip(self.y, bounds, strict=True):
            if self.kind in ("svr", "nu_svr"):
                low.append(None if s is None else -s)
                high.append(s)
            elif self.kind == "one_class" or y > 0:
                low.append(fmpq(0))
                high.append(s)
            else:
                low.append(None if s is None else -s)
                high.append(fmpq(0))
        return low, high

    @property
    def diag(self) -> list[fmpq]:
        """1/(2s), which squared slacks add to the diagonal of K; else zeros."""
        return [1 / (2 * s) if self.squared else fmpq(0) for s in self.s]


# ---------------------------------------------------------------------- reading a model


def read_tasks(model: Any, y: Any, weight: np.ndarray | None, n: int) -> list[Task]:
    """The tasks of a fitted machine, in the order of its certificate."""
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    full = np.zeros((coef.shape[0], n))
    full[:, model.support_] = coef
    weight = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64)
    params = model.get_params(deep=False)
    name = type(model).__name__
    if name in ("SVC", "NuSVC"):
        return [
            _classes(params, name, weight, rows, sign, beta, b)
            for rows, sign, beta, b in _pairs(model, np.asarray(y), weight, full)
        ]
    rows = np.flatnonzero(weight > 0)
    kind = {"SVR": "svr", "NuSVR": "nu_svr", "OneClassSVM": "one_class"}[name]
    s = [rational(v) for v in params.get("C", 1.0) * weight[rows]]
    targets = [0] * len(rows) if kind == "one_class" else np.asarray(y)[rows].tolist()
    return [
        Task(
            kind, rows.tolist(), [rational(v) for v in targets], s,
            [rational(v) for v in full[0, rows]], rational(model.intercept_[0]),
            rational(params.get("epsilon", 0.0)), rational(params.get("nu", 0.0)) * sum(s, fmpq(0)),
            params["fit_intercept"], _is_squared(params),
        )
    ]  # fmt: skip


def _classes(
    params: dict, name: str, weight: np.ndarray, rows: np.ndarray, sign: np.ndarray,
    beta: np.ndarray, b: float,
) -> Task:  # fmt: skip
    bounds = params.get("C", 1.0) * weight[rows]
    s = [None if np.isinf(v) else rational(v) for v in bounds]
    nu_sum = fmpq(0) if name == "SVC" else rational(params["nu"]) * sum(s, fmpq(0))
    return Task(
        "svc" if name == "SVC" else "nu_svc", rows.tolist(), [fmpq(int(v)) for v in sign], s,
        [rational(v) for v in beta], rational(b), fmpq(0), nu_sum, params["fit_intercept"],
        _is_squared(params),
    )  # fmt: skip


def _is_squared(params: dict) -> bool:
    return str(params.get("loss", "")).startswith("squared") and params["C"] != np.inf


def _pairs(
    model: Any, y: np.ndarray, weight: np.ndarray, full: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
    """(rows, signs, β, b) of each pair of classes, in LIBSVM's layout.

    The coefficients of class c against class o are row o, or row o − 1 if o > c. Of two classes the
    second is the positive one, of more the first.
    """
    k = len(model.classes_)
    pairs = [(1, 0)] if k == 2 else [(i, j) for i in range(k) for j in range(i + 1, k)]
    for t, (i, j) in enumerate(pairs):
        first, second = (np.flatnonzero((y == model.classes_[c]) & (weight > 0)) for c in (i, j))
        beta = np.concatenate([full[j - (j > i), first], full[i - (i > j), second]])
        sign = np.repeat([1, -1], [len(first), len(second)])
        yield np.concatenate([first, second]), sign, beta, float(model.intercept_[t])


# ---------------------------------------------------------------------- values


def _plus(value: arb) -> arb:
    """max(0, value)."""
    return arb.max(value, arb(0))


def _plus_squared(value: arb) -> arb:
    return _plus(value) ** 2


def total(values: Any) -> arb:
    return sum(values, arb(0))


def primal(task: Task, f: list[arb], quad: arb, b: Any = None) -> arb:
    """P of the model w = Σ βφ (f = Kβ, quad = ‖w‖²) with its own intercept, or with ``b``."""
    b = arb(task.b) if b is None else b
    g = [v + b for v in f]
    if task.kind == "one_class":
        loss = total(arb(s) * _plus(-v) for s, v in zip(task.s, g, strict=True))
        return quad / 2 + loss + b * arb(task.nu_sum)
    loss_of = _plus_squared if task.squared else _plus
    if task.kind in ("svr", "nu_svr"):
        return quad / 2 + _tube(task, [abs(arb(y) - v) for y, v in zip(task.y, g, strict=True)])
    margins = [arb(y) * v for y, v in zip(task.y, g, strict=True)]
    if task.is_hard:
        least = margins[0]
        for margin in margins:
            least = arb.min(least, margin)
        return quad / 2 / least**2 if least > 0 else INF
    loss = total(arb(s) * loss_of(1 - m) for s, m in zip(task.s, margins, strict=True))
    if task.kind == "svc":
        return quad / 2 + loss
    surplus = arb(task.nu_sum) - loss
    return -(surplus**2) / (2 * quad) if surplus > 0 and quad > 0 else arb(0)


def _tube(task: Task, distance: list[arb]) -> arb:
    """The loss outside the tube, with the best half width for ν-SVR."""
    epsilon = arb(task.epsilon)
    if task.kind == "nu_svr":
        order = sorted(range(len(distance)), key=lambda i: distance[i].mid(), reverse=True)
        outside = fmpq(0)
        for i in order:
            outside += task.s[i]
            epsilon = distance[i]
            if outside >= task.nu_sum:
                break
    loss_of = _plus_squared if task.squared else _plus
    loss = total(arb(s) * loss_of(v - epsilon) for s, v in zip(task.s, distance, strict=True))
    return loss + (arb(task.nu_sum) * epsilon if task.kind == "nu_svr" else 0)


def dual(task: Task, beta: list[fmpq], quad: arb) -> arb:
    """D of a feasible β with quad = βᵀKβ."""
    quad = quad + arb(sum((d * v * v for d, v in zip(task.diag, beta, strict=True)), fmpq(0)))
    if task.kind == "svc":
        return arb(sum((abs(v) for v in beta), fmpq(0))) - quad / 2
    if task.kind in ("nu_svc", "one_class"):
        return -quad / 2
    gain = sum((y * v for y, v in zip(task.y, beta, strict=True)), fmpq(0))
    if task.kind == "svr":
        gain -= task.epsilon * sum((abs(v) for v in beta), fmpq(0))
    return arb(gain) - quad / 2


# ---------------------------------------------------------------------- exactly feasible duals


def feasible(task: Task, beta: list[fmpq] | None = None) -> list[fmpq] | None:
    """β clipped into its box, its sums repaired without rounding; None if the sums cannot be had.

    Of ν-SVC the published β is first multiplied by νΣs / Σ|β|.
    """
    beta = list(task.beta if beta is None else beta)
    low, high = task.box
    if task.kind == "nu_svc":
        size = sum((abs(v) for v in beta), fmpq(0))
        if size > 0:
            beta = [v * task.nu_sum / size for v in beta]
    beta = [_clip(*each) for each in zip(beta, low, high, strict=True)]
    everything = range(len(beta))
    if task.kind == "nu_svc":
        for sign in (1, -1):
            side = [i for i in everything if task.y[i] * sign > 0]
            if not _repair(beta, low, high, side, sign * task.nu_sum / 2):
                return None
        return beta
    if not task.has_bias:
        return beta
    wanted = task.nu_sum if task.kind == "one_class" else fmpq(0)
    if not _repair(beta, low, high, everything, wanted):
        return None
    if task.kind == "nu_svr":
        size = sum((abs(v) for v in beta), fmpq(0))
        if size > task.nu_sum:
            beta = [v * task.nu_sum / size for v in beta]
    return beta


def _clip(value: fmpq, low: Any, high: Any) -> fmpq:
    if low is not None and value < low:
        return low
    return high if high is not None and value > high else value


def _repair(beta: list[fmpq], low: list, high: list, side: Any, wanted: fmpq) -> bool:
    """Move the drift of the sum onto variables with slack: free ones first, larger first."""
    lacking = wanted - sum((beta[i] for i in side), fmpq(0))
    if not lacking:
        return True
    ends = high if lacking > 0 else low

    def room(i: int) -> tuple[bool, float]:
        is_free = beta[i] not in (low[i], high[i])
        return is_free, float("inf") if ends[i] is None else abs(float(_float(ends[i] - beta[i])))

    for i in sorted(side, key=room, reverse=True):
        limit = ends[i]
        move = lacking
        if limit is not None and abs(limit - beta[i]) < abs(lacking):
            move = limit - beta[i]
        beta[i] += move
        lacking -= move
        if not lacking:
            return True
    return False


def _float(value: fmpq) -> float:
    return float(arb(value).mid())


# ---------------------------------------------------------------------- optimality conditions


def violation(task: Task, f: list[arb]) -> arb:
    """LIBSVM's largest violating pair of the published model; for ν-SVC in the scale of ν.

    β < upper asks for b ≥ e, β > lower for b ≤ e, with e = target − f − diag β; the result is the
    most by which two such conditions contradict each other (without b: by which one is broken).
    """
    low_high = []
    size = sum((abs(v) for v in task.beta), fmpq(0))
    factor = task.nu_sum / size if task.kind == "nu_svc" and size > 0 else fmpq(1)
    for beta, lower, upper, target, group in _edges(task):
        e = [
            arb(t - d * x) - v * arb(factor)
            for t, d, x, v in zip(target, task.diag, beta, f, strict=True)
        ]
        rise, fall = [], []
        for i in group:
            value = beta[i] * factor
            if upper[i] is None or value < upper[i] - (1 - AT_BOUND) * abs(upper[i]):
                rise.append(e[i])
            if lower[i] is None or value > lower[i] + (1 - AT_BOUND) * abs(lower[i]):
                fall.append(e[i])
        low_high.append((rise, fall))
    if task.kind == "svr":
        low_high = [([v for r, _ in low_high for v in r], [v for _, h in low_high for v in h])]
    worst = arb(0)
    for rise, fall in low_high:
        if not task.has_bias:
            worst = _largest([worst, *rise, *(-v for v in fall)])
        elif rise and fall:
            worst = _largest([worst, _largest(rise) - -_largest([-v for v in fall])])
    return worst


def _largest(values: list[arb]) -> arb:
    most = values[0]
    for value in values[1:]:
        most = arb.max(most, value)
    return most


def _edges(task: Task) -> Iterator[tuple[list, list, list, list, Any]]:
    """(β, lower, upper, target, members) of each set of variables; of regression, the two edges."""
    everything = range(len(task.beta))
    low, high = task.box
    zero = [fmpq(0)] * len(task.beta)
    if task.kind in ("svr", "nu_svr"):
        above, below = ([v if v * sign > 0 else fmpq(0) for v in task.beta] for sign in (1, -1))
        yield above, zero, high, [v - task.epsilon for v in task.y], everything
        yield below, low, zero, [v + task.epsilon for v in task.y], everything
    elif task.kind == "nu_svc":
        for sign in (1, -1):
            side = [i for i in everything if task.y[i] * sign > 0]
            yield task.beta, low, high, zero, side
    else:
        yield task.beta, low, high, task.y if task.kind == "svc" else zero, everything
