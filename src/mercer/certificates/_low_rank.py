"""Certificates of low-rank models: their own gap, and their distance from the exact optimum.

A low-rank model minimises the exact problem's objective over w = F̃ᵀu in the span of some features.
Its own gap is that of the linear problem on the features F = φ(X): with v = Fᵀβ, f = F w and
r = target − f − b,

    P − D = ½‖w − v‖² + Σ gap terms(β, r) + b (sum − Σβ)

**Distance to the exact optimum.** With landmarks z the model f = Σ aₗ k(zₗ, ·) + b lies in the
kernel's own feature space, with ‖w‖² = aᵀK_mm a. Its exact objective P is an upper bound of the
exact optimum P*, and the exact dual value D(β) = targetᵀβ − ½ βᵀ(K + D)β of any feasible β is a
lower one, if K is positive semidefinite:

    P − P* ≤ P − D(β)

The β of the low-rank problem loses ½ βᵀ(K − FFᵀ)β, the residual of the approximation; that of the
problem with diag(K − FFᵀ) added to the diagonal loses less, and is the one that is used.

Every quantity is bounded with its rounding, as in `_box_qp`. Fourier features and sketches are no
functions of the kernel's feature space: no P, and no distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._precision import EPS
from mercer._result import Result, Status, final_status
from mercer.certificates._box_qp import _bias_intervals, _bounds, _drift_cost, _sum_rounding
from mercer.certificates._box_qp import kkt_groups as groups_of
from mercer.certificates._certificate import ROUNDING, Certificate
from mercer.problems import BoxQP

__all__ = ["FeatureModel", "certify_features", "exact_dual", "exact_primal"]


@dataclass(frozen=True, eq=False)
class FeatureModel:
    """A linear model on features beside the duals it belongs to.

    Attributes
    ----------
    result : Result
        β, b, f = F w at the points with its error; ``diag`` bounds ‖φ(x)‖².
    w : float64 array
    v, v_error : float64 arrays
        Fᵀβ, and a bound of the error of each entry.
    """

    result: Result
    w: np.ndarray
    v: np.ndarray
    v_error: np.ndarray

    @property
    def norm(self) -> tuple[float, float]:
        """‖w‖² and its rounding."""
        square = float(self.w @ self.w)
        return square, (self.w.size + 4) * EPS * square

    @property
    def apart(self) -> float:
        """A bound of ‖w − v‖."""
        off = np.abs(self.w - self.v) + self.v_error + 2 * EPS * (np.abs(self.w) + np.abs(self.v))
        return float(np.linalg.norm(off)) * ROUNDING.norms


def certify_features(problem: BoxQP, model: FeatureModel, tol: float, name: str) -> Certificate:
    """The certificate of the linear problem on the features; solved if its relative gap is tol."""
    result = model.result
    n, beta = result.f.shape[0], result.beta
    f, error = _at_variables(problem, result)
    values = _bounds(problem, result, f, error, model.norm, model.apart)
    slack = 0.0 if problem.diag is None else problem.at_variables(problem.diag) * beta
    low, high = _bias_intervals(problem, beta, problem.target - f - slack)
    violation = max(0.0, float((low - high).max())) + 2 * float(np.max(error, initial=0.0))
    if problem.group is None:  # b = 0 is no choice
        violation = max(0.0, float(low.max()), float(-high.min())) + float(error.max(initial=0.0))
    interval = (float(np.min([low, high])), float(np.max([low, high])))
    at_points = (problem.at_points(v, n) for v in (beta, problem.lower, problem.upper))
    n_zero, _, n_bound = np.bincount(groups_of(*at_points), minlength=3)
    status = final_status(result.status, values.relative_gap, tol)
    return Certificate.of(
        values.primal,
        values.dual,
        values.gap,
        np.sqrt(model.norm[0]),
        (n_zero, n_bound, n),
        relative_gap=values.relative_gap,
        kkt_violation=violation,
        bias_interval=interval if problem.group is not None else (0.0, 0.0),
        name=name,
        result=replace(result, status=status),
        unit="epochs",
    )


def exact_primal(problem: BoxQP, result: Result, norm: tuple[float, float]) -> float:
    """An upper bound of the model's objective in the true feature space, with ‖w‖² of it."""
    return _bounds(problem, result, *_at_variables(problem, result), norm).primal


def exact_dual(
    problem: BoxQP, beta: np.ndarray, gram: Any, stop: Callable[[], bool]
) -> float | None:
    """A lower bound of the dual value of β with the exact kernel; None once ``stop()``.

    Only kernel values among the points with β ≠ 0 take part. Where Σβ = 0 (or free) tβ is feasible
    for 0 ≤ t ≤ 1, too, and D(tβ) = t targetᵀβ − ½ t² βᵀ(K + D)β is taken at its largest.
    """
    n = gram.n
    coef = problem.at_points(beta, n)
    support = np.flatnonzero(coef)
    f, error = np.zeros(n), np.zeros(n)
    if support.size:
        f[support], error[support] = gram.bounded_sums(coef, support, np.float64, stop)
    if stop():
        return None
    square = float(coef @ f)
    square_error = float(np.abs(coef) @ error) * ROUNDING.margin
    square_error += _sum_rounding(n) * float(np.abs(coef) @ np.abs(f))
    gain, size = problem.target * beta, np.abs(problem.target * beta)
    if problem.diag is not None:
        square += float(problem.at_variables(problem.diag) @ beta**2)
        square_error += _sum_rounding(beta.size) * abs(square)
    least = float(gain.sum()) - _sum_rounding(n) * float(size.sum())
    most = square + square_error
    value = least - most / 2
    is_known = np.isin(np.arange(n), support)
    at = problem.at_variables(f)
    r = problem.target - at
    if not problem.start.any() and least < most > 0:  # tβ is feasible, too
        value = max(least, 0.0) ** 2 / (2 * most) * (1 - 8 * EPS)
        r = np.abs(problem.target) + np.abs(at)
    r = np.where(problem.at_variables(is_known), r, np.inf)
    answer = _answer(beta, gram.diag() * ROUNDING.diagonal)
    value -= _drift_cost(problem, answer, r, problem.at_variables(error))
    return value - ROUNDING.units * EPS * (abs(value) + abs(square))


def _at_variables(problem: BoxQP, result: Result) -> tuple[np.ndarray, np.ndarray]:
    error = np.broadcast_to(result.f_error, result.f.shape)
    return problem.at_variables(result.f), problem.at_variables(error)


def _answer(beta: np.ndarray, diag: np.ndarray) -> Result:
    empty = np.empty(0)
    return Result(beta, empty, 0.0, empty, np.inf, Status.NOT_REACHED, 0, 0, 0.0, diag=diag)
