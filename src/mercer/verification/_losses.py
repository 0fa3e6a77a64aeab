"""The losses of `mercer.verify` and their Fenchel gaps, each written once.

Every loss is a sum over *edges*: of a row with the score g, an edge has a sign, a position and the
distance a = sign · (edge − g) by which g is on the wrong side of it. With C the weight of the loss,
a dual variable 0 ≤ α (β = sign · α) and (·)₊ = max(0, ·):

    hinge           L = C a₊              L + L*(−β) + βg = (C − α) a₊ + α (−a)₊
    squared hinge   L = C a₊²             (α − 2C a₊)² / (4C) + α (−a)₊
    logistic        L = C log(1 + exp a)  C (log(1 + exp a) + p log p + (1 − p) log(1 − p) − p a),
                                          p = α / C

A classifier has one edge per row (sign y at y; of the logistic loss at 0), a regression two (sign 1
at y − ε, sign −1 at y + ε: the ε-insensitive loss). All are convex in a: over a ± e the largest
value is at one of the ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from mercer._precision import UNIT
from mercer.verification._rounding import SETTINGS

__all__ = ["HINGE", "LOGISTIC", "SQUARED_HINGE", "EdgeLoss", "Edges", "edges", "kkt_violation"]


class EdgeLoss:
    """A loss of edges: value, Fenchel gap and the dual variable that closes it."""

    def value(self, C: np.ndarray, a: np.ndarray) -> np.ndarray:
        """L of each edge, increasing in a."""
        raise NotImplementedError

    def gap_terms(self, C: np.ndarray, alpha: np.ndarray, a: np.ndarray) -> np.ndarray:
        """L + L*(−β) + βg ≥ 0 of each edge, with the rounding of its own arithmetic added."""
        raise NotImplementedError

    def dual(self, C: np.ndarray, a: np.ndarray) -> np.ndarray:
        """α = L'(a), of smooth losses."""
        raise NotImplementedError


class _Hinge(EdgeLoss):
    def value(self, C: np.ndarray, a: np.ndarray) -> np.ndarray:
        return C * np.maximum(a, 0)

    def gap_terms(self, C: np.ndarray, alpha: np.ndarray, a: np.ndarray) -> np.ndarray:
        terms = np.maximum(C - alpha, 0) * np.maximum(a, 0) + alpha * np.maximum(-a, 0)
        return terms * (1 + 8 * UNIT)


class _SquaredHinge(EdgeLoss):
    def value(self, C: np.ndarray, a: np.ndarray) -> np.ndarray:
        return C * np.maximum(a, 0) ** 2

    def gap_terms(self, C: np.ndarray, alpha: np.ndarray, a: np.ndarray) -> np.ndarray:
        closing = self.dual(C, a)
        off = np.abs(alpha - closing) + 20 * UNIT * (alpha + closing)
        terms = off**2 / (4 * C) + alpha * np.maximum(-a, 0)
        return terms * (1 + 8 * UNIT)

    def dual(self, C: np.ndarray, a: np.ndarray) -> np.ndarray:
        return 2 * C * np.maximum(a, 0)


class _Logistic(EdgeLoss):
    def value(self, C: np.ndarray, a: np.ndarray) -> np.ndarray:
        return C * np.logaddexp(0.0, a)

    def gap_terms(self, C: np.ndarray, alpha: np.ndarray, a: np.ndarray) -> np.ndarray:
        p = np.minimum(alpha / C, 1.0)
        parts = np.logaddexp(0.0, a), xlogy(p, p), xlog1py(1 - p, -p), -p * a
        size = sum(np.abs(part) for part in parts) + 40 * p
        direct = np.maximum(sum(parts), 0) + 20 * UNIT * size + 1e-307
        # KL(p ‖ q) with q = L'(a)/C near p: at most the second-order term times 1 + |p/q − 1|.
        q, rest = expit(a), expit(-a)
        off = np.abs(p - q) + 12 * UNIT * (p + q)
        least = np.maximum(np.minimum(q, rest), 1e-300)
        factor = (1 + off / least + 32 * UNIT) / 2
        second = off * (off / np.maximum(q, 1e-300) + off / np.maximum(rest, 1e-300)) * factor
        return C * np.where(off < least / 1000, np.minimum(second + 1e-307, direct), direct)

    def dual(self, C: np.ndarray, a: np.ndarray) -> np.ndarray:
        return C * expit(a)


HINGE, SQUARED_HINGE, LOGISTIC = _Hinge(), _SquaredHinge(), _Logistic()


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of one task: their row, sign, position with a bound of its rounding, and C."""

    row: np.ndarray
    sign: np.ndarray
    edge: np.ndarray
    error: np.ndarray
    C: np.ndarray

    def distances(self, g: np.ndarray) -> np.ndarray:
        """a of scores g of the rows."""
        return self.sign * (self.edge - g[self.row])

    def alpha(self, beta: np.ndarray) -> np.ndarray:
        """The part of β of each row that belongs to each edge."""
        return np.maximum(self.sign * beta[self.row], 0.0)

    def beta(self, alpha: np.ndarray, n: int) -> np.ndarray:
        return np.bincount(self.row, self.sign * alpha, n)


def edges(model: Any, y: np.ndarray, C: np.ndarray, task: int, loss: EdgeLoss = HINGE) -> Edges:
    """The edges of an estimator's task; y are class numbers or targets, C one number per row."""
    n = y.size
    if not hasattr(model, "classes_"):
        epsilon = float(model.epsilon)
        error = (1.01 * UNIT * (np.abs(y) + epsilon)) if epsilon else np.zeros(n)
        row, sign = np.tile(np.arange(n), 2), np.repeat([1.0, -1.0], n)
        return Edges(row, sign, y[row] - sign * epsilon, error[row], C[row])
    sign = np.where(y == (1 if len(model.classes_) == 2 else task), 1.0, -1.0)
    row = np.arange(n) if loss is LOGISTIC else np.flatnonzero(SETTINGS.smallest_C < C)
    edge = np.zeros(n) if loss is LOGISTIC else sign
    return Edges(row, sign[row], edge[row], np.zeros(row.size), C[row])


def kkt_violation(alpha: np.ndarray, C: np.ndarray, a: np.ndarray) -> float:
    """The largest |a| of an edge whose α would have to change, of a hinge loss without bias."""
    rises = np.max(a[alpha < C * SETTINGS.at_bound], initial=0.0)
    falls = np.max(-a[alpha > 0], initial=0.0)
    return float(max(rises, falls))
