"""Hard margin on data that cannot be separated: the proof, which holds in exact arithmetic.

A variable with an infinite bound asks for a side of its row: sᵢ (f(xᵢ) + b − targetᵢ) ≥ 0 with
s = +1 (upper = ∞) or −1 (lower = −∞). By Farkas' lemma no f of a finite-dimensional space of
functions meets all of that if and only if there are weights u ≥ 0 with

    Σ uᵢ sᵢ g(xᵢ) = 0 for every g of the space, for g = 1 with an intercept,   Σ uᵢ sᵢ targetᵢ > 0.

For classes (target = s = y) these weights, normalised, are a point in the convex hulls of both. In
float64 a distance of zero proves nothing: rows that are separated by a column 1e-8 of the others
have it, too. So the equations are checked exactly:

* **equal rows** that ask for opposite sides are a proof for every kernel, since f is a function of
  the row (for a precomputed matrix: equal rows of the matrix, where f = Kβ);
* **polynomial kernels** (Linear, Polynomial, Constant, AllSubsets; sums, products, multiples and
  powers of them) have the functions spanned by finitely many monomials, and a precomputed matrix
  those spanned by its columns. The weights are found in float64 and shown exactly (`_farkas`);
* **other kernels** have no proof beyond equal rows. (The RBF kernel separates any distinct rows.)

That nothing is found proves nothing: the solver goes on. `HardMarginWatch` does this for a solver,
between its rounds. `separates` is the opposite proof, for a hyperplane.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from mercer._precision import EPS
from mercer._threads import single_threaded_blas
from mercer.kernels import Callable, Kernel, Precomputed
from mercer.solvers.separability._farkas import LIMITS, FarkasFeatures, find_weights
from mercer.solvers.separability._rational import Monomials, monomials

__all__ = [
    "HardMarginWatch",
    "HullProof",
    "has_hard_margin",
    "hull_distance_sq",
    "prove_inseparable",
    "separates",
]


@dataclass(frozen=True, eq=False)
class HullProof:
    """Weights that show that no function of the kernel has every row on its side."""

    # The signed weights uᵢsᵢ of the variables, rounded. For classes: positive over one class and
    # negative over the other, summing to 1 and −1 (without intercept: absolute values sum to 1).
    weights: np.ndarray
    # What the proof rests on: "equal rows", "exact weights" (a rational solution of the equations
    # was computed) or "enclosed weights" (that there is one near the weights was shown).
    how: str


class HardMarginWatch:
    """Called between rounds with (β, f): a proof as soon as there is one, else None.

    Without an infinite bound there is nothing to watch, and a call costs nothing.
    """

    def __init__(self, problem: Any, gram: Any):
        self.problem, self.gram = problem, gram
        self.is_idle = not has_hard_margin(problem)
        self.is_first = True
        self.level = np.inf

    def __call__(self, beta: np.ndarray, f: np.ndarray) -> HullProof | None:
        if self.is_idle:
            return None
        if self.is_first:
            self.is_first = False
            return self._first_try()
        distance_sq = hull_distance_sq(beta, self.problem.at_variables(f))
        if distance_sq > self.level:
            return None
        self.level = LIMITS.next_try * distance_sq
        return prove_inseparable(self.problem, self.gram, beta, equal_rows=False)

    def _first_try(self) -> HullProof | None:
        """Equal rows; with few variables, a proof of any kind."""
        if self.problem.n_variables <= LIMITS.few_variables or not _has_features(self.gram.kernel):
            self.is_idle = True
            return prove_inseparable(self.problem, self.gram)
        self.level = LIMITS.first_try * float(np.abs(self.gram.diag()).max())
        return _equal_rows(self.problem, self.gram)


def hull_distance_sq(beta: np.ndarray, f: np.ndarray) -> float:
    """Squared distance of the two points of the hulls that β, normalised, picks (f = Kβ)."""
    half_sum = np.abs(beta).sum() / 2
    return float(beta @ f) / half_sum**2 if half_sum > 0 else np.inf


def prove_inseparable(
    problem: Any, gram: Any, beta: np.ndarray | None = None, *, equal_rows: bool = True
) -> HullProof | None:
    """A proof that a hard margin (regression: all residuals within ε) is impossible, or None.

    Only variables with β ≠ 0 may have a weight (default: all). ``equal_rows``: whether to compare
    all rows for equal ones, too.
    """
    if beta is not None and not beta[_sides(problem) != 0].all():
        return _prove(problem, gram, beta, equal_rows)
    if problem not in _OF_ALL:  # a solver that watches its problem has asked before
        _OF_ALL[problem] = _prove(problem, gram, None, equal_rows)
    return _OF_ALL[problem]


_OF_ALL: WeakKeyDictionary[Any, HullProof | None] = WeakKeyDictionary()


def _prove(problem: Any, gram: Any, beta: np.ndarray | None, equal_rows: bool) -> HullProof | None:
    proof = _equal_rows(problem, gram) if equal_rows else None
    if proof is not None or not _has_features(gram.kernel):
        return proof
    side = _sides(problem)
    chosen = np.flatnonzero(side if beta is None else side * beta)
    if chosen.size > LIMITS.most_points:
        size = np.ones(side.size) if beta is None else np.abs(beta)
        chosen = np.sort(chosen[np.argsort(-size[chosen], kind="stable")[: LIMITS.most_points]])
    if chosen.size == 0:
        return None
    features = _features(problem, gram, chosen)
    if features is None:
        return None
    with single_threaded_blas():
        found = find_weights(features, side[chosen], problem.target[chosen])
    return None if found is None else _proof(problem, chosen[found[0]], *found[1:])


def separates(X: Any, y: np.ndarray, w: np.ndarray, b: float = 0.0) -> bool:
    """Whether yᵢ (w·xᵢ + b) > 0 for every row of an array or sparse matrix, in exact arithmetic."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    y, w = np.asarray(y, dtype=np.float64), np.asarray(w, dtype=np.float64)
    if not (np.isfinite(w).all() and np.isfinite(b)):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        value = X @ w + b
        doubt = (np.abs(X) @ np.abs(w) + abs(b)) * ((X.shape[1] + 4) * EPS) + 1e-300
        clear = y * value > np.abs(y) * doubt
    exact = [Fraction(c) for c in w.tolist()]

    def value_at(i: Any) -> Fraction:
        products = (Fraction(x) * c for x, c in zip(X[i].tolist(), exact, strict=True))
        return sum(products, Fraction(float(b)))

    return all(y[i] * _sign(value_at(i)) > 0 for i in np.flatnonzero(~clear))


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)


# ---------------------------------------------------------------------- the constraints


def has_hard_margin(problem: Any) -> bool:
    """Whether some slack has an infinite cost."""
    return problem.is_hard and bool(_sides(problem).any())


def _sides(problem: Any) -> np.ndarray:
    """+1 and −1 for variables with an infinite bound, 0 for others."""
    return np.isposinf(problem.upper).astype(np.float64) - np.isneginf(problem.lower)


def _has_features(kernel: Kernel) -> bool:
    return isinstance(kernel, Precomputed) or monomials(kernel, 1, LIMITS.most_features) is not None


def _points_of(problem: Any, variables: np.ndarray) -> np.ndarray:
    return variables if problem.row is None else problem.row[variables]


def _proof(problem: Any, variables: np.ndarray, v: np.ndarray, how: str) -> HullProof:
    """Signed weights of some variables as those of all, normalised."""
    total = float(np.abs(v).sum()) / (1 if problem.group is None else 2)
    weights = np.zeros(problem.n_variables)
    weights[variables] = v / total
    return HullProof(weights, how)


# ---------------------------------------------------------------------- equal rows


def _equal_rows(problem: Any, gram: Any) -> HullProof | None:
    """Two equal rows of which one must be above and one below the same value."""
    side, key = _sides(problem), _keys(gram)
    point = _points_of(problem, np.arange(side.size)).tolist()
    highest: dict[Any, int] = {}  # the variable that asks for the largest value of a row
    for v in np.flatnonzero(side > 0).tolist():
        first = highest.setdefault(key(point[v]), v)
        if problem.target[v] > problem.target[first]:
            highest[key(point[v])] = v
    for v in np.flatnonzero(side < 0).tolist():
        other = highest.get(key(point[v]))
        if other is not None and _exceeds(problem.target, other, v):
            return _proof(problem, np.array([other, v]), np.array([1.0, -1.0]), "equal rows")
    return None


def _exceeds(target: np.ndarray, i: int, j: int) -> bool:
    """target_i > target_j, also before these were rounded."""
    a, b = float(target[i]), float(target[j])
    return a - b > 4 * EPS * (abs(a) + abs(b))


def _keys(gram: Any) -> Any:
    """A function from a point to what its row is equal by."""
    X, index = gram.points.X, gram.original(np.arange(gram.n))
    if gram.points.are_objects:
        return lambda i: _object_key(X[index[i]])
    if sp.issparse(X):
        X = X.tocsr()

        def sparse_key(i: int) -> bytes:
            span = slice(X.indptr[index[i]], X.indptr[index[i] + 1])
            values, columns = X.data[span], X.indices[span]
            kept = values != 0
            return values[kept].tobytes() + columns[kept].tobytes()

        return sparse_key
    if isinstance(gram.kernel, Precomputed):
        whole = gram.index is None
        return lambda i: (X[i] if whole else X[index[i], index] + 0).tobytes()
    if isinstance(gram.kernel, Callable):  # a function may tell −0 from 0
        return lambda i: X[index[i]].tobytes()
    return lambda i: (X[index[i]] + 0).tobytes()


def _object_key(item: Any) -> Any:
    """Objects are equal for every function if they are one, or equal strings or bytes."""
    return (type(item), item) if type(item) in (str, bytes) else id(item)


# ---------------------------------------------------------------------- polynomial kernels


def _features(problem: Any, gram: Any, variables: np.ndarray) -> FarkasFeatures | None:
    """The features of some variables' rows; None if there are none, or too many."""
    rows = _numbers(gram, _points_of(problem, variables))
    if rows is None:
        return None
    d = rows.shape[1]
    found: Monomials | None = None
    if not isinstance(gram.kernel, Precomputed):
        found = monomials(gram.kernel, d, LIMITS.most_features)
    elif d <= LIMITS.most_features:
        found = frozenset((column,) for column in range(d))
    if found is None or len(found) * rows.shape[0] > LIMITS.most_entries:
        return None
    return FarkasFeatures.of(rows, found, problem.group is not None)


def _numbers(gram: Any, points: np.ndarray) -> np.ndarray | None:
    """The rows as given; of a precomputed matrix its rows. Columns of zeros are left out."""
    X, index = gram.points.X, gram.original(points)
    if sp.issparse(X):
        X = X.tocsr()[index]
        X = X[:, np.unique(X.indices)]
        return X.toarray() if X.shape[0] * X.shape[1] <= LIMITS.most_entries else None
    if isinstance(gram.kernel, Precomputed):
        columns = gram.original(np.arange(gram.n))
        return X[np.ix_(index, columns)] if index.size * gram.n <= LIMITS.most_entries else None
    return X[index] if index.size * X.shape[1] <= LIMITS.most_entries else None
