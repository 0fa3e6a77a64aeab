"""Multinomial logistic regression: softmax over all classes in one problem.

    Lᵢ(g) = Cᵢ (log Σ_r exp g_r − g_yᵢ),        Lᵢ*(−β) = Cᵢ Σ_r a_r log a_r

with the duals of `_class_simplex`, a = [r = y] − β/C here scaled to sum to one. The term of the gap
is a relative entropy: with p = softmax(g),

    Lᵢ(g) + Lᵢ*(−β) + β·g = Cᵢ KL(a ‖ p) = Cᵢ Σ_r φ(a_r, p_r),    φ(a, p) = a log(a/p) − a + p ≥ 0

and zero for the gradient dual β = C ([r = y] − p). Where the intercepts are free the dual needs
Σᵢ β_ir = 0: the gradient dual at g + δ has it, δ being the best constants for these scores.

**Rounding.** With scores in g ± e the term grows by at most Σ_r |p_r − a_r| e_r + ½ max e², as the
Hessian of log Σ exp is the covariance diag(p) − ppᵀ, and the variance of numbers in ± e is at most
e². The loss changes by at most 2 (1 − p_y) max e + ½ max e².

Reference: Böhning, Annals of the Institute of Statistical Mathematics 44, 1992; for the dual Yu,
Huang and Lin, Machine Learning 85, 2011 (maximum entropy).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mercer._precision import UNIT
from mercer.problems._class_simplex import SimplexDuals
from mercer.problems._regularized_loss import NO_PENALTY

__all__ = ["Multinomial", "softmax"]


@dataclass(frozen=True)
class InterceptSettings:
    """Newton's method for the best intercepts."""

    max_steps: int = 100
    # The sum of the absolute gradients, as a fraction of ΣC, that is rounding; and the factor by
    # which it falls in a Newton step where rounding does not prevent it.
    reduction: float = 1e-15
    least_progress: float = 0.5
    # A step that changes an intercept by more is replaced by one of iterative scaling.
    newton_radius: float = 1.0
    # Largest change of an intercept in one step.
    max_change: float = 50.0
    # Rows in one pass: their scores stay in the cache.
    block_rows: int = 4096


SETTINGS = InterceptSettings()


def softmax(g: np.ndarray) -> np.ndarray:
    """exp g / Σ exp g of each row."""
    p = g - g.max(axis=1, keepdims=True)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return p


def _blocks(n: int) -> Iterator[slice]:
    step = SETTINGS.block_rows
    return (slice(first, min(first + step, n)) for first in range(0, n, step))


@dataclass(frozen=True, eq=False)
class Multinomial(SimplexDuals):
    """Pure data, as in `SimplexDuals`."""

    def take(self, rows: np.ndarray, factor: float = 1.0) -> Multinomial:
        """The losses of some rows, their C times a factor."""
        return replace(self, codes=self.codes[rows], C=self.C[rows] * factor)

    def gradient_duals(self, g: np.ndarray, shift: np.ndarray | None = None) -> np.ndarray:
        """β = −L'(g + shift); a row's β sum to zero.

        Classes without weight have no duals: their free intercepts have no finite optimum.
        """
        beta, ignored = np.empty_like(g), self._class_totals() <= self.n * NO_PENALTY
        for s in _blocks(self.n):
            p = softmax(g[s] if shift is None else g[s] + shift)
            p *= -self.C[s, np.newaxis]
            if ignored.any():
                p[:, ignored] = 0.0
                p[ignored[self.codes[s]]] = 0.0
            rows, own = np.arange(len(p)), self.codes[s]
            p[rows, own] = 0.0
            p[rows, own] = -p.sum(axis=1)
            beta[s] = p
        return beta

    def _class_totals(self) -> np.ndarray:
        """The sum of C over the rows of each class."""
        return np.bincount(self.codes, self.C, minlength=self.n_classes)

    def loss(self, g: np.ndarray) -> float:
        """Σ L(g)."""
        return sum(float(self.C[s] @ _losses(g[s], self.codes[s])[0]) for s in _blocks(self.n))

    def directional_derivatives(
        self, g: np.ndarray, h: np.ndarray, t: float
    ) -> tuple[float, float]:
        """First and second derivative of Σ L(g + t h) in t."""
        first = second = 0.0
        for s in _blocks(self.n):
            here, C = h[s], self.C[s]
            p = softmax(g[s] + t * here)
            p *= here
            mean = p.sum(axis=1)
            p *= here
            first += float(C @ (mean - here[np.arange(len(here)), self.codes[s]]))
            second += float(C @ np.maximum(p.sum(axis=1) - mean * mean, 0.0))
        return first, second

    def best_intercepts(self, g: np.ndarray) -> np.ndarray:
        """The constants δ, of sum zero, with the least Σ L(g + δ).

        Newton's method; where its step is long, iterative scaling, which always descends: the
        sums of C p over the rows become those of the classes.
        """
        k, C, wanted = self.n_classes, self.C, self._class_totals()
        best = delta = np.zeros(k)
        least, is_newton = np.inf, False
        for _ in range(SETTINGS.max_steps):
            sums, second = np.zeros(k), np.zeros((k, k))
            for s in _blocks(self.n):
                p = softmax(g[s] + delta)
                weighted = C[s, np.newaxis] * p
                sums += weighted.sum(axis=0)
                second += weighted.T @ p
            grad = sums - wanted
            size = float(np.abs(grad).sum())
            is_slow = is_newton and not size < SETTINGS.least_progress * least
            if size < least:
                best, least = delta, size
            if is_slow or not size > SETTINGS.reduction * float(wanted.sum()):
                break
            # The curvature along (1, …, 1) is zero: any multiple of 11ᵀ may be added.
            hessian = np.diag(sums) - second + float(wanted.sum()) / k**2
            step = -np.linalg.lstsq(hessian, grad, rcond=None)[0]
            is_newton = bool(np.abs(step).max() <= SETTINGS.newton_radius)
            if not is_newton:
                with np.errstate(divide="ignore"):
                    step = np.log(np.maximum(wanted, 1e-300)) - np.log(sums)
                step = np.clip(step, -SETTINGS.max_change, SETTINGS.max_change)
                least = np.inf  # the gradient may grow at first
            after = delta + step
            after -= after.mean()
            if np.array_equal(after, delta):
                break
            delta = after
        return best

    def loss_and_gap(self, beta: np.ndarray, g: np.ndarray) -> tuple[float, float]:
        """Σ L(g), and Σ C KL(a ‖ p)."""
        _, loss, gap = self._sum_terms(beta, g, None)
        return loss, gap

    def gap_terms(
        self, beta: np.ndarray, g: np.ndarray, error: np.ndarray
    ) -> tuple[float, float, float]:
        """Smallest and largest Σ L, and the largest sum of the gap's terms, over g ± error."""
        if not (np.isfinite(g).all() and np.isfinite(error).all()):
            return 0.0, np.inf, np.inf
        least, most, gap = self._sum_terms(beta, g, error)
        # The entropies with C off by three units; duals are taken (1 − 3u) times as large.
        return least, most, gap + 4 * UNIT * math.log(self.n_classes) * float(self.C.sum())

    def _sum_terms(
        self, beta: np.ndarray, g: np.ndarray, error: np.ndarray | None
    ) -> tuple[float, float, float]:
        least = most = gap = 0.0
        for s in _blocks(self.n):
            C, unit = self.C[s], 0.0 if error is None else UNIT
            value, p, log_p, z = _losses(g[s], self.codes[s])
            a = self._weights(beta[s], s)
            # Relative error of p; of its logarithm, absolute.
            eta = unit * (np.abs(z) + (2 * self.n_classes + 12))
            term = _relative_entropy(a, p, log_p, eta, unit)
            wide, lost = 0.0, 0.0
            if error is not None:
                e = error[s] * (1 + 8 * UNIT) + np.where(error[s] > 0, 8 * UNIT * np.abs(g[s]), 0.0)
                top = e.max(axis=1)
                wide = ((np.abs(a - p) + eta * p + 4 * UNIT * a) * e).sum(axis=1) + top * top / 2
                wrong = -np.expm1(-value)
                units = (self.n_classes + 16) * UNIT
                lost = 2.02 * wrong * top + top * top / 2 + units * (value + wrong) + 1e-307
            least += float(C @ np.maximum(value - lost, 0.0))
            most += float(C @ (value + lost))
            gap += float(C @ (term + wide))
        return least, most, gap

    def _weights(self, beta: np.ndarray, s: slice) -> np.ndarray:
        """a = [r = y] − β/C of some rows, to a few units relatively."""
        rows, own, C = np.arange(len(beta)), self.codes[s], self.C[s]
        a = -beta / C[:, np.newaxis]
        a[rows, own] = (C - beta[rows, own]) / C
        return np.maximum(a, 0.0)

    def _absorbing_cost(self, row: int, g: np.ndarray, error: np.ndarray, moved: float) -> float:
        """Entropies of weights that change by s in total: at most 2s (|log s| + |log p| + …)."""
        if moved == 0:
            return 0.0
        C = float(self.C[row])
        spread = float(np.ptp(g)) + 2 * float(error.max())
        size = 1 + abs(math.log(moved / C)) + 3 * math.log(self.n_classes) + spread
        return 2.02 * moved * size


def _losses(
    g: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """log Σ exp g − g_y to a few units relatively; p, log p, and g minus its largest entry."""
    rows = np.arange(len(g))
    z = g - g.max(axis=1, keepdims=True)
    p = np.exp(z)
    own, z_own = p[rows, codes], z[rows, codes]
    p[rows, codes] = 0.0
    others = p.sum(axis=1)
    p[rows, codes] = own
    total = others + own
    log_total = np.log(total)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        value = np.where(z_own == 0, np.log1p(others), log_total - z_own)
    p /= total[:, np.newaxis]
    return value, p, z - log_total[:, np.newaxis], z


def _relative_entropy(
    a: np.ndarray, p: np.ndarray, log_p: np.ndarray, eta: np.ndarray, unit: float
) -> np.ndarray:
    """Σ_r φ(a, p) of each row, at most: p is off by η relatively, a by a few units.

    With t = a/p − 1, (1 + t) log(1 + t) − t is at most t²/2 for t ≥ 0 and t²/2 (1 + |t|) for t < 0.
    """
    off = np.abs(a - p) + eta * p + 4 * unit * a
    log_a = np.log(np.where(a > 0, a, 1.0))
    direct = np.maximum(a * (log_a - log_p) - a + p, 0.0)
    direct += 8 * unit * (a * (np.abs(log_a) + np.abs(log_p) + 2) + p) + eta * (a + p)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = off / p
        near = off * ratio * (0.5 * (1 + ratio + 2 * eta))
    terms = np.where(off < 1e-3 * p, np.minimum(near, direct), direct)
    return terms.sum(axis=1) + (1e-307 if unit else 0.0)
