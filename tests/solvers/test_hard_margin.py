"""Hard margins on nearly parallel rows, against the exact optimum in rational arithmetic.

With directions within eps of each other, ‖w‖ grows as 1/eps and β as 1/eps²; no pair step is
unbounded for all that, whatever the scale of the rows.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from mercer import SVC
from mercer._result import Status


def rows(n, d, eps, scale, cones, seed):
    """Directions within about eps of one line, labels by a hyperplane along that line."""
    rng = np.random.default_rng(seed)
    directions = np.zeros((n, d))
    directions[:, 0] = 1.0
    directions[:, 1:] = eps * rng.normal(size=(n, d - 1))
    directions[:, 1] += 0.2 * eps * np.sign(directions[:, 1])
    signs = rng.choice([-1.0, 1.0], n) if cones == "two" else np.ones(n)
    X = scale * rng.uniform(0.5, 2.0, (n, 1)) * signs[:, np.newaxis] * directions
    y = np.sign(X[:, 1])
    y[:2] = 1, -1
    X[:2, 1] = np.abs(X[:2, 1]) * y[:2]
    return X, y


def solve_exactly(A, right):
    """The solution of a small system of Fractions, or None."""
    m = len(A)
    rows = [[*A[i], right[i]] for i in range(m)]
    for k in range(m):
        pivot = next((i for i in range(k, m) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(m):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[k][m] / rows[k][k] for k in range(m)]


def optimum(X, y):
    """½‖w‖² of the w of least norm with yᵢ w·xᵢ ≥ 1: the active set that satisfies KKT."""
    Z = [[Fraction(float(v)) * int(label) for v in x] for x, label in zip(X, y, strict=True)]

    def dot(a, b):
        return sum(s * t for s, t in zip(a, b, strict=True))

    for size in range(1, X.shape[1] + 1):
        for active in combinations(range(len(Z)), size):
            G = [[dot(Z[i], Z[j]) for j in active] for i in active]
            a = solve_exactly(G, [Fraction(1)] * size)
            if a is None or min(a) < 0:
                continue
            w = [sum(a[k] * Z[i][c] for k, i in enumerate(active)) for c in range(X.shape[1])]
            if all(dot(z, w) >= 1 for z in Z):
                return dot(w, w) / 2
    raise AssertionError("not separable")


@pytest.mark.parametrize("cones", ["one", "two"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("n", "d", "eps"), [(40, 2, 1e-1), (40, 2, 1e-3), (20, 3, 1e-3)])
def test_nearly_parallel_rows(n, d, eps, scale, cones):
    for seed in range(3):
        X, y = rows(n, d, eps, scale, cones, seed)
        model = SVC(kernel="linear", C=np.inf, fit_intercept=False).fit(X, y)
        stated, best = model.certificate_, optimum(X, y)
        assert stated.status is Status.SOLVED
        assert Fraction(stated.dual) <= best * (1 + Fraction(1, 10**9))
        assert Fraction(stated.primal) >= best * (1 - Fraction(1, 10**9))
        assert stated.primal == pytest.approx(float(best), rel=1e-2)
        assert (y * model.decision_function(X)).min() > 0.99
