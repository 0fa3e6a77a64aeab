"""Whether rows can be separated, decided in rational arithmetic: the simplex method on fractions.

Written for tests only, by the textbook (phase 1 with Bland's rule), and shares no code with the
package: feasible are weights u ≥ 0 with Σ uᵢyᵢ(xᵢ, 1) = 0 and Σ u = 1, or a hyperplane separates.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def is_separable(X: np.ndarray, y: np.ndarray, *, fit_intercept: bool = True) -> bool:
    """Whether some w (and b) have yᵢ(w·xᵢ + b) > 0 for every row, in exact arithmetic."""
    rows = [[Fraction(v) for v in row] for row in np.asarray(X).tolist()]
    sides = [int(v) for v in y]
    columns = [[*row, Fraction(1)] if fit_intercept else row for row in rows]
    A = [[s * column[k] for s, column in zip(sides, columns, strict=True)]
         for k in range(len(columns[0]))]  # fmt: skip
    A.append([Fraction(1)] * len(rows))
    return not is_feasible(A, [Fraction(0)] * (len(A) - 1) + [Fraction(1)])


def is_feasible(A: list[list[Fraction]], b: list[Fraction]) -> bool:
    """Whether A u = b has a solution u ≥ 0 (b ≥ 0)."""
    m, n = len(A), len(A[0])
    # Rows are scaled (the same equations), so that the artificial variables are of a size.
    table = []
    for row, rhs in zip(A, b, strict=True):
        largest = max((abs(v) for v in row), default=Fraction(0)) or Fraction(1)
        table.append([v / largest for v in row] + [rhs / largest])
    basis = list(range(n, n + m))
    cost = [-sum(row[j] for row in table) for j in range(n + 1)]
    while True:
        entering = next((j for j in range(n) if cost[j] < 0), None)
        if entering is None:
            return cost[n] == 0
        ratios = [
            (row[n] / row[entering], basis[i], i)
            for i, row in enumerate(table)
            if row[entering] > 0
        ]
        leaving = min(ratios)[2]
        pivot = table[leaving][entering]
        table[leaving] = [v / pivot for v in table[leaving]]
        for i, row in enumerate(table):
            if i != leaving and row[entering]:
                factor = row[entering]
                table[i] = [v - factor * p for v, p in zip(row, table[leaving], strict=True)]
        factor = cost[entering]
        cost = [v - factor * p for v, p in zip(cost, table[leaving], strict=True)]
        basis[leaving] = entering
