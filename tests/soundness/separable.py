"""Whether a hyperplane separates two classes, decided in rational arithmetic.

By Gordan's theorem either some (w, b) has y (w·φ(x) + b) > 0 for all rows, or there are u ≥ 0 with
Σ u = 1 and Σ u y (φ(x), 1) = 0: a point in both convex hulls. The latter is a linear feasibility
problem in standard form, decided by the first phase of the simplex method with Bland's rule.
Features must be finitely many: those of the linear and of polynomial kernels are written out; a
kernel whose matrices of distinct rows are positive definite separates unless two rows of different
classes agree.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

from flint import fmpq

from tests.soundness.exact import Rows, rational

__all__ = ["is_separable"]

MOST_FEATURES = 21


def is_separable(
    kernel: Any, X: Rows, rows: list[int], y: list[int], has_bias: bool
) -> bool | None:
    """True or False; None where it cannot be decided here."""
    name = type(kernel).__name__
    if name in ("RBF", "Laplacian") and kernel.gamma > 0:
        seen: dict[tuple, int] = {}
        return all(
            seen.setdefault(tuple(X.integers[i]), sign) == sign
            for i, sign in zip(rows, y, strict=True)
        )
    features = _features(kernel, name, X, rows)
    if features is None or len(features[0]) > MOST_FEATURES:
        return None
    columns = [
        [sign * v for v in (*row, *([fmpq(1)] if has_bias else []))]
        for row, sign in zip(features, y, strict=True)
    ]
    return not _has_combination(columns)


def _features(kernel: Any, name: str, X: Rows, rows: list[int]) -> list[list[fmpq]] | None:
    """Rows in the feature space of a linear or polynomial kernel, up to scales of the columns."""
    unit = fmpq(2) ** X.exponent
    points = [[unit * v for v in X.integers[i]] for i in rows]
    if name == "Linear":
        return points
    if name != "Polynomial" or kernel.coef0 < 0 or kernel.gamma <= 0 or kernel.degree < 1:
        return None
    degrees = [kernel.degree] if kernel.coef0 == 0 else range(kernel.degree + 1)
    terms = [c for k in degrees for c in combinations_with_replacement(range(X.d), k)]
    out = []
    for point in points:
        values = []
        for term in terms:
            value = rational(1)
            for k in term:
                value *= point[k]
            values.append(value)
        out.append(values)
    return out


def _has_combination(columns: list[list[fmpq]]) -> bool:
    """Whether u ≥ 0, Σ u = 1, Σ u·column = 0 can be had."""
    n, m = len(columns), len(columns[0]) + 1
    # One row per feature and one for Σ u = 1; the artificial variables are the first basis.
    table = [[columns[j][k] for j in range(n)] + [fmpq(0)] for k in range(m - 1)]
    table.append([fmpq(1)] * (n + 1))
    basis = [-1] * m
    cost = [-sum((row[j] for row in table), fmpq(0)) for j in range(n + 1)]
    while True:
        entering = next((j for j in range(n) if cost[j] < 0), None)
        if entering is None:
            return cost[n] == 0
        leaving, least = None, None
        for k in range(m):
            if table[k][entering] > 0:
                ratio = table[k][n] / table[k][entering]
                if least is None or (ratio, basis[k]) < (least, basis[leaving]):
                    leaving, least = k, ratio
        if leaving is None:  # cannot be: the cost is bounded below
            return False
        pivot = table[leaving][entering]
        table[leaving] = [v / pivot for v in table[leaving]]
        for k in range(m):
            if k != leaving and table[k][entering]:
                factor = table[k][entering]
                table[k] = [a - factor * b for a, b in zip(table[k], table[leaving], strict=True)]
        factor = cost[entering]
        cost = [a - factor * b for a, b in zip(cost, table[leaving], strict=True)]
        basis[leaving] = entering
