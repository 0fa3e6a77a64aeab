"""The judge: how good a solution is, in float64, from the solution and the data alone.

For every class pair, with signed duals β (0 ≤ βᵢtᵢ ≤ C), targets t = ±1 and f = Kβ:

    D = tᵀβ − ½ βᵀf        P = ½ βᵀf + C Σ max(0, 1 − t(f + b))
    violation = max {tᵢ − fᵢ : βᵢ may rise} − min {tᵢ − fᵢ : βᵢ may fall}

and for ε-regression (|βᵢ| ≤ C) the same with the two ends y ∓ ε of the tube as targets. These are
LIBSVM's stopping quantities, recomputed. No code is shared with any of the libraries judged.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from benchmarks.cases import Prepared
from benchmarks.peers import Solution

__all__ = ["judge"]

# Coefficients may come as float32 (relative spacing 1.2e-7): this close to a bound is at it.
AT_BOUND = 1e-6
TILE_ELEMENTS = 4_000_000


@dataclass(frozen=True)
class _Parts:
    """The judgement of one binary (or regression) problem."""

    primal: float
    dual: float
    violation: float
    sum_residual: float
    n_bound: int


def judge(data: Prepared, solution: Solution) -> dict[str, Any]:
    """Objectives, gap, violation and held-out score of a solution."""
    parts = _judge_svr(data, solution) if data.case.task == "svr" else _judge_svc(data, solution)
    primal, dual = sum(p.primal for p in parts), sum(p.dual for p in parts)
    return {
        "primal": primal,
        "dual": dual,
        "relative_gap": (primal - dual) / max(abs(primal), abs(dual)),
        "kkt_violation": max(p.violation for p in parts),
        "sum_residual": max(p.sum_residual for p in parts),
        "n_sv": len(solution.support),
        "n_bound": sum(p.n_bound for p in parts),
        "n_problems": len(parts),
        "test_score": _held_out(data, solution.predictions),
    }


def _held_out(data: Prepared, predictions: np.ndarray) -> float:
    """Accuracy, or R² for regression."""
    y = data.y_test
    if data.case.task == "svc":
        return float(np.mean(predictions == y))
    return float(1 - np.sum((y - predictions) ** 2) / np.sum((y - y.mean()) ** 2))


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)


def _expand(X: np.ndarray, Z: np.ndarray, coef: np.ndarray, gamma: float) -> np.ndarray:
    """K(X, Z) @ coef for the RBF kernel, a tile of rows at a time."""
    Z_norms = np.einsum("ij,ij->i", Z, Z)
    step = max(1, TILE_ELEMENTS // max(1, len(Z)))
    out = np.empty((len(X), coef.shape[1]))

    def tile(start: int) -> None:
        rows = X[start : start + step]
        squares = rows @ (-2.0 * Z.T)
        squares += np.einsum("ij,ij->i", rows, rows)[:, None]
        squares += Z_norms
        np.maximum(squares, 0.0, out=squares)
        squares *= -gamma
        out[start : start + step] = np.exp(squares, out=squares) @ coef

    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        list(pool.map(tile, range(0, len(X), step)))
    return out


def _judge_svc(data: Prepared, solution: Solution) -> list[_Parts]:
    """One problem per pair of classes.

    ``dual_coef`` has LIBSVM's layout: in the pair (i, j), i < j, support vectors of class i have
    their coefficient in row j − 1 and those of class j in row i. Libraries differ in the order of
    the classes and in which of a pair is positive; both are read off the solution.
    """
    X, y, sup = _dense(data.X), data.y, solution.support
    y_sup = y[sup]
    classes = list(dict.fromkeys(y_sup.tolist()))
    if set(classes) != set(np.unique(y).tolist()):
        raise ValueError(f"the solution has support vectors of classes {classes} only.")
    rows = [np.flatnonzero(y == c) for c in classes]
    of_class = [np.flatnonzero(y_sup == c) for c in classes]
    f_of = _pairwise_values(X, data.gamma, solution, rows, of_class)
    parts = []
    for p, (i, j) in enumerate(combinations(range(len(classes)), 2)):
        beta = np.zeros(len(y))
        beta[sup[of_class[i]]] = solution.dual_coef[j - 1, of_class[i]]
        beta[sup[of_class[j]]] = solution.dual_coef[i, of_class[j]]
        both = np.concatenate([rows[i], rows[j]])
        target = np.repeat([1.0, -1.0], [len(rows[i]), len(rows[j])])
        sign = 1.0 if beta[rows[i]].sum() >= 0 else -1.0
        f = np.concatenate([f_of[i, j], f_of[j, i]])
        parts.append(
            _parts_svc(
                sign * beta[both], sign * f, target, sign * solution.intercept[p], data.case.C
            )
        )
    return parts


def _pairwise_values(
    X: np.ndarray,
    gamma: float,
    solution: Solution,
    rows: list[np.ndarray],
    of_class: list[np.ndarray],
) -> dict[tuple[int, int], np.ndarray]:
    """f of the pair {i, j} at the rows of class i, for all i ≠ j; each kernel element once."""
    Z = X[solution.support]
    values = {}
    for i in range(len(rows)):
        others = [j for j in range(len(rows)) if j != i]
        coef = np.zeros((len(Z), len(others)))
        for column, j in enumerate(others):
            coef[of_class[i], column] = solution.dual_coef[j - (i < j), of_class[i]]
            coef[of_class[j], column] = solution.dual_coef[i - (j < i), of_class[j]]
        f = _expand(X[rows[i]], Z, coef, gamma)
        values.update({(i, j): f[:, column] for column, j in enumerate(others)})
    return values


def _parts_svc(beta: np.ndarray, f: np.ndarray, target: np.ndarray, b: float, C: float) -> _Parts:
    alpha = beta * target
    slack = np.maximum(0.0, 1.0 - target * (f + b))
    quadratic = 0.5 * float(beta @ f)
    above, below = alpha > AT_BOUND * C, alpha < (1 - AT_BOUND) * C
    may_rise = np.where(target > 0, below, above)
    may_fall = np.where(target > 0, above, below)
    return _Parts(
        primal=quadratic + C * float(slack.sum()),
        dual=float(alpha.sum()) - quadratic,
        violation=_violation((target - f)[may_rise], (target - f)[may_fall]),
        sum_residual=abs(float(beta.sum())),
        n_bound=int(np.count_nonzero(~below)),
    )


def _judge_svr(data: Prepared, solution: Solution) -> list[_Parts]:
    X, y, C, epsilon = _dense(data.X), data.y, data.case.C, data.case.epsilon
    coef = solution.dual_coef.T
    f = _expand(X, X[solution.support], coef, data.gamma)[:, 0]
    beta = np.zeros(len(y))
    beta[solution.support] = coef[:, 0]
    outside = np.maximum(0.0, np.abs(y - f - solution.intercept[0]) - epsilon)
    quadratic = 0.5 * float(beta @ f)
    # The two variables of a row: β⁺ in [0, C] with target y − ε, β⁻ in [−C, 0] with target y + ε.
    upper_end, lower_end = y + epsilon - f, y - epsilon - f
    tiny, almost = AT_BOUND * C, (1 - AT_BOUND) * C
    rise = np.concatenate([lower_end[beta < almost], upper_end[beta < -tiny]])
    fall = np.concatenate([lower_end[beta > tiny], upper_end[beta > -almost]])
    return [
        _Parts(
            primal=quadratic + C * float(outside.sum()),
            dual=float(y @ beta) - epsilon * float(np.abs(beta).sum()) - quadratic,
            violation=_violation(rise, fall),
            sum_residual=abs(float(beta.sum())),
            n_bound=int(np.count_nonzero(np.abs(beta) >= almost)),
        )
    ]


def _violation(rise: np.ndarray, fall: np.ndarray) -> float:
    if len(rise) == 0 or len(fall) == 0:
        return 0.0
    return max(0.0, float(rise.max() - fall.min()))
