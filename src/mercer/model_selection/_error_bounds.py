"""Ranges of C that cannot be better, for linear two-class models: no fit is made within them.

Let (w, b) minimise ½‖w‖² + C Σ sᵢ ℓ(yᵢ(w·xᵢ + b)) at C₀, and (w', b') at C = tC₀. Subgradients of
the loss are monotone, −w/C₀ and −w'/C are two of them, and those along b are zero, so

    ⟨w'/t − w, w' − w⟩ ≤ 0:    w' is in the ball with the diameter [w, tw]

(Shibagaki, Suzuki, Karasuyama and Takeuchi, ICML 2015, for b = 0). Balls of t between are inside
that of t. A model with the duality gap g is within r = √(2g) of w, as the objective is strongly
convex in w; all balls are enlarged by this (Ndiaye, Le, Fercoq, Salmon and Takeuchi, ICML 2019).

The ball bounds w'·x for every row. b' minimises Σ sᵢ ℓ(yᵢ(fᵢ + b)) over b at fᵢ = w'·xᵢ, and its
derivative along b grows with every fᵢ: the smallest b' belongs to the largest fᵢ, the largest to
the smallest. Held-out rows whose interval has the wrong sign are errors at every C between C₀ and
tC₀; their number bounds the validation error from below. A penalised intercept (as LIBLINEAR's) is
the weight of a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_array

from mercer.estimators._path import path
from mercer.estimators.linear import LinearSVC, LogisticRegression
from mercer.model_selection._driver import check_folds, make_folds

__all__ = ["CRanges", "ranges_of_C"]


@dataclass(frozen=True)
class BoundSettings:
    """Constants.

    Attributes
    ----------
    steps : halvings of the logarithm of t
    intercept_steps : halvings of the interval that contains b
    widest : the largest factor on C that is tried
    least_width : ranges by a smaller factor are not reported
    rounding : relative error of a decision value, generously
    """

    steps: int = 14
    intercept_steps: int = 60
    widest: float = 1e6
    least_width: float = 1.05
    rounding: float = 1e-12


SETTINGS = BoundSettings()


@dataclass(frozen=True, repr=False)
class CRanges:
    """Validation errors at some C, and ranges of C that cannot be better by more than ε.

    Attributes
    ----------
    Cs, errors : ndarray
        Error rates over all folds at the C that were fitted.
    best_C, best_error : float
    epsilon : float
    ranges : list of (float, float)
        At every C within one of them the validation error is at least ``best_error − epsilon``.
        Narrow ranges around a fitted C that say nothing more are left out.
    """

    Cs: np.ndarray
    errors: np.ndarray
    best_C: float
    best_error: float
    epsilon: float
    ranges: list[tuple[float, float]]

    @property
    def covered(self) -> float:
        """The fraction of the interval of ``Cs``, in logarithms, that is within the ranges."""
        low, high = np.log(self.Cs[[0, -1]])
        if high == low:
            return 1.0
        parts = [(max(np.log(a), low), min(np.log(b), high)) for a, b in self.ranges]
        return float(sum(max(b - a, 0.0) for a, b in parts) / (high - low))

    def __repr__(self) -> str:
        best = f"error {self.best_error:.4g} at C = {self.best_C:.4g}"
        if not self.ranges:
            return f"{best}; the bounds say nothing about C between those that were fitted"
        listed = ", ".join(f"{a:.3g} to {b:.3g}" for a, b in self.ranges)
        return (
            f"{best}; no C in these ranges has one below {self.best_error - self.epsilon:.4g}: "
            f"{listed} ({self.covered:.0%} of the searched interval)"
        )


def ranges_of_C(
    estimator: Any, X: Any, y: Any, *, Cs: Any, cv: Any = 5, epsilon: float = 0.0
) -> CRanges:
    """Ranges of C whose validation error cannot be below that of the best C by more than ε.

    Fits a path along C on each fold, and bounds from each solution and its duality gap what any C
    around it can do to the held-out rows. The bounds are rigorous. They say much for small C, where
    w hardly moves, and little at large C: where rows are between the solutions' signs, nothing is
    claimed.

    Parameters
    ----------
    estimator : LinearSVC or LogisticRegression
        With ``penalty="l2"``, for two classes; its tol decides how tight the bounds are.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    Cs : array-like
        The values that are fitted.
    cv : int, splitter or iterable, default=5
        As in scikit-learn.
    epsilon : float, default=0.0
        An improvement of the error rate that does not matter.

    Returns
    -------
    CRanges

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from mercer import LinearSVC
    >>> from mercer.model_selection import ranges_of_C
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = ranges_of_C(LinearSVC(), scale(X), y, Cs=np.logspace(-6, -4, 9), epsilon=0.02)
    >>> found.covered > 0.1
    True
    """
    _refuse(estimator)
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    y = np.asarray(y)
    classes = np.unique(y)
    if classes.size != 2:
        raise ValueError(f"ranges_of_C takes two classes, got {classes.size}.")
    folds = make_folds(cv, X, y, estimator)
    check_folds(folds, y, None, estimator)
    signs = np.where(y == classes[1], 1.0, -1.0)
    parts = [_Fold(estimator, X, y, signs, *fold, Cs) for fold in folds]
    n = sum(part.held.size for part in parts)
    values = parts[0].Cs
    errors = np.array([sum(part.errors(k) for part in parts) for k in range(values.size)]) / n
    best = int(np.argmin(errors))
    needed = int(np.ceil((errors[best] - epsilon) * n - 1e-9))
    found = []
    for k, C in enumerate(values.tolist()):

        def holds(t: float, k: int = k) -> bool:
            return sum(part.sure_errors(k, t) for part in parts) >= needed

        if holds(1.0):
            found.append((C / _reach(holds, -1), C * _reach(holds, 1)))
    joined = _joined(found)
    wide = [(a, b) for a, b in joined if b >= SETTINGS.least_width * a]
    return CRanges(values, errors, float(values[best]), float(errors[best]), epsilon, wide)


def _refuse(estimator: Any) -> None:
    if not isinstance(estimator, (LinearSVC, LogisticRegression)):
        raise TypeError(
            f"ranges_of_C takes LinearSVC or LogisticRegression, got {type(estimator).__name__}."
        )
    if getattr(estimator, "penalty", "l2") != "l2":
        raise ValueError(f"ranges_of_C needs penalty='l2', got {estimator.penalty!r}.")
    if estimator.class_weight is not None:
        raise ValueError("ranges_of_C needs class_weight=None.")


def _reach(holds: Any, direction: int) -> float:
    """The largest factor t ≥ 1 (up or down) for which the claim holds, from below."""
    low, high = 0.0, np.log(SETTINGS.widest)
    if holds(np.exp(direction * high)):
        return SETTINGS.widest
    for _ in range(SETTINGS.steps):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(np.exp(direction * middle)) else (low, middle)
    return float(np.exp(low))


def _joined(ranges: list[tuple[float, float]]) -> list[tuple[float, float]]:
    out: list[tuple[float, float]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], high)
        else:
            out.append((low, high))
    return out


class _Fold:
    """The models of a path on one split, and bounds of decision values around each of them."""

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: np.ndarray,
        signs: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
        Cs: Any,
    ):
        self.rows, self.held = _safe_indexing(X, train), test
        self.test = self.held_rows = _safe_indexing(X, test)
        self.signs = signs[train]
        self.test_signs = signs[test]
        model = clone(estimator)
        found = path(self.rows, y[train], Cs=Cs, estimator=model)
        self.Cs, self.models, self.has_b = found.Cs, found.models, bool(model.fit_intercept)
        self.weights = [model.coef_.ravel() for model in found.models]
        scale = model.intercept_scaling if self.has_b else None
        if scale is not None:  # b²/(2s²) is penalised: (w, b/s) with the rows (x, s)
            self.has_b = False
            self.rows, self.test = (_with_column(X, scale) for X in (self.rows, self.test))
            self.weights = [
                np.append(model.coef_, model.intercept_ / scale) for model in found.models
            ]
        self.radii = [np.sqrt(2 * max(c.gap, 0.0)) for c in found.certificates]
        self.norms = _norms(self.rows), _norms(self.test)
        self.loss = "logistic"
        if isinstance(model, LinearSVC):
            self.loss = model.loss

    def errors(self, k: int) -> int:
        """Held-out rows that model number k classifies wrongly."""
        values = self.models[k].decision_function(self.held_rows)
        return int(np.count_nonzero((values > 0) != (self.test_signs > 0)))

    def sure_errors(self, k: int, t: float) -> int:
        """Held-out rows that every C between C_k and tC_k classifies wrongly."""
        w, r = self.weights[k], self.radii[k]
        size = float(np.linalg.norm(w))
        radius = abs(1 - t) / 2 * (size + r) + (1 + t) / 2 * r
        radius += SETTINGS.rounding * (1 + t) * size
        centre = (1 + t) / 2 * w
        low_b, high_b = self._intercepts(centre, radius)
        middle = _product(self.test, centre)
        half = radius * self.norms[1]
        is_below = middle + half + high_b < 0
        is_above = middle - half + low_b > 0
        wrong = np.where(self.test_signs > 0, is_below, is_above)
        return int(np.count_nonzero(wrong))

    def _intercepts(self, centre: np.ndarray, radius: float) -> tuple[float, float]:
        """All minimisers b for some w in the ball are between these."""
        if not self.has_b:
            return 0.0, 0.0
        f, half = _product(self.rows, centre), radius * self.norms[0]
        ends = self._minimisers(f + half)[0], self._minimisers(f - half)[1]
        slack = SETTINGS.rounding * (1 + max(map(abs, ends)))
        return ends[0] - slack, ends[1] + slack

    def _minimisers(self, f: np.ndarray) -> tuple[float, float]:
        """Bounds below and above the minimisers of Σ ℓ(yᵢ(fᵢ + b)) over b, by bisection."""
        far = float(np.abs(f).max()) + 2 + 2 * np.log(f.size + 1)
        out = []
        for side in (1, -1):  # the last b with a slope below zero, the first with one above
            low, high = -far, far
            for _ in range(SETTINGS.intercept_steps):
                middle = (low + high) / 2
                slope, error = self._slope(f + middle)
                low, high = (middle, high) if slope < -side * error else (low, middle)
            out.append(low if side == 1 else high)
        return out[0], out[1]

    def _slope(self, g: np.ndarray) -> tuple[float, float]:
        """The derivative of Σ ℓ(yᵢgᵢ) along b, and a bound of its rounding."""
        margin = self.signs * g
        if self.loss == "hinge":
            slopes = np.where(margin < 1, -1.0, 0.0)
        elif self.loss == "squared_hinge":
            slopes = -2 * np.maximum(1 - margin, 0)
        else:
            slopes = -1 / (1 + np.exp(np.minimum(margin, 700)))
        return float(self.signs @ slopes), SETTINGS.rounding * float(np.abs(slopes).sum())


def _with_column(X: Any, value: float) -> Any:
    column = np.full((X.shape[0], 1), value)
    return sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])


def _norms(X: Any) -> np.ndarray:
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.sqrt(np.asarray(squares).ravel()) * (1 + 1e-12)


def _product(X: Any, w: np.ndarray) -> np.ndarray:
    return np.asarray(X @ w).ravel()
