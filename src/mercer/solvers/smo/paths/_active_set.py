"""Solutions without one point, predicted by an active-set method from the solution of all points.

At a solution the free variables F have r = target − (K + D)β − b = 0; the others B are at bounds.
With S the matrix of the free variables, bordered by the constraint on Σβ (and a small ridge),

    S = [K_FF + D  1; 1ᵀ  0],   Z = S⁻¹ [K_FB; 1ᵀ],   Q = K_BB + D − [K_BF  1] Z,

a change δ of β_B and residuals μ of F change β_F by −Zδ + (S⁻¹)_FF μ and r_B by −Qδ − Zᵀμ. One
matrix has all of these numbers (a principal pivot transform of K + D), so that a problem whose
active set differs by a few variables takes a small linear system. As in decremental learning
(Cauwenberghs and Poggio, NIPS 13, 2001), but several variables change sides at a time: block
principal pivoting (Júdice and Pires, Computers & Operations Research 21, 1994).

What is found is a start: the caller's solver verifies it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._numba import compiled
from mercer.problems._dual_qp import BoxQP
from mercer.solvers.smo.paths._matrix_rounds import add_columns

__all__ = ["ActiveSet"]


@dataclass(frozen=True)
class ActiveSetSettings:
    """When the search for an active set is given up, and what counts as an error."""

    # Differences of the active set from the last one, and its changes.
    most_changes: int = 48
    most_rounds: int = 40
    # Changes of all wrong variables that have not made them fewer.
    max_idle_changes: int = 2
    # Of tol: residuals that count as those of a wrong bound; and errors by the ridge of S.
    wrong_side: float = 0.4
    ridge: float = 1e-3


SETTINGS = ActiveSetSettings()


@compiled(inner=True)
def _solve(A, u, n):
    """u ← A⁻¹u by elimination with pivoting, of the first n rows; whether A is regular."""
    for c in range(n):
        best = c
        for a in range(c + 1, n):
            if abs(A[a, c]) > abs(A[best, c]):
                best = a
        if not abs(A[best, c]) > 0.0:
            return False
        for k in range(n):
            A[c, k], A[best, k] = A[best, k], A[c, k]
        u[c], u[best] = u[best], u[c]
        for a in range(c + 1, n):
            factor = A[a, c] / A[c, c]
            for k in range(c + 1, n):
                A[a, k] -= factor * A[c, k]
            u[a] -= factor * u[c]
    for c in range(n - 1, -1, -1):
        for k in range(c + 1, n):
            u[c] -= A[c, k] * u[k]
        u[c] /= A[c, c]
    return True


@compiled(inner=True)
def _side(kind, is_free, beta, lower, upper, value, goal, slack):
    """The kind of a variable, and its goal, that its value asks for: the same if it is right.

    Kinds: as in the last solution (0); with β or r at the goal (1); with β changed by the goal (2).
    """
    if kind == 0:  # value is β of a free variable, else r; and it is wrong
        bound = upper if value > upper else lower
        return 1, bound if is_free else 0.0
    if is_free:  # value is −r, at a bound
        is_wrong = value > slack if goal == upper else value < -slack
        return (0, 0.0) if is_wrong else (1, goal)
    if kind == 1:  # value is the change of β, which is free now
        if beta + value > upper:
            return (0, 0.0) if beta == upper else (2, upper - beta)
        if beta + value < lower:
            return (0, 0.0) if beta == lower else (2, lower - beta)
        return 1, 0.0
    is_wrong = (value > slack and goal < upper - beta) or (value < -slack and goal > lower - beta)
    return (1, 0.0) if is_wrong else (2, goal)  # value is r, at the other bound


@compiled(inner=True)
def _values(T, whole, is_free, kind, goal, changed, n, A, u, w):
    """What the changed variables make of all: whether the system has a solution.

    ``w`` has β of the free variables, r of the others; of those at their goal the unknown, −r or
    the change of β. ``u`` is scratch memory.
    """
    for a in range(n):
        i = changed[a]
        u[a] = goal[i] if kind[i] == 2 else whole[i] - goal[i]
        for c in range(n):
            A[a, c] = T[i, changed[c]] if kind[i] == 1 else np.float64(a == c)
    if not _solve(A, u, n):
        return False
    for i in range(w.size):
        w[i] = whole[i]
    for a in range(n):
        u[a] = -u[a]
    add_columns(T, changed, u, n, None, w)
    for a in range(n):
        if kind[changed[a]] == 1:
            w[changed[a]] = -u[a]
    return True


@compiled(inner=True)
def _wrong(kind, is_free, beta, lower, upper, least, most, w, goal, slack, changed, n, wrong):
    """The variables on a wrong side, the one with the largest number first; −1: too many."""
    count = 0
    for i in range(beta.size):
        if (w[i] < least[i] or w[i] > most[i]) and kind[i] == 0:
            if count == wrong.size:
                return -1
            wrong[count] = i
            count += 1
    for a in range(1, n):
        i = changed[a]
        new, _ = _side(kind[i], is_free[i], beta[i], lower[i], upper[i], w[i], goal[i], slack)
        if new != kind[i]:
            if count == wrong.size:
                return -1
            wrong[count] = i
            count += 1
    for k in range(1, count):
        if wrong[k] > wrong[0]:
            wrong[0], wrong[k] = wrong[k], wrong[0]
    return count


@compiled(inner=True)
def _changed(kind, p, changed):
    """List the point p and all variables of another kind than 0; how many, or −1: too many."""
    count = 1
    changed[0] = p
    for i in range(kind.size):
        if kind[i] != 0 and i != p:
            if count == changed.size:
                return -1
            changed[count] = i
            count += 1
    return count


@compiled
def _predict(
    T, whole, is_free, beta, lower, upper, least, most, points, slack, limits, starts, w, goal,
    kind, changed, wrong, A, u,
):  # fmt: skip
    """The solution without each of ``points``, into ``starts`` where it is found.

    ``whole`` has β of free variables and r of the others, which are right between ``least`` and
    ``most``; ``limits`` are rounds, and those without
    progress. Block principal pivoting: all wrong variables change sides, but where that has not
    made them fewer for some rounds only the one with the largest number does.
    """
    for s in range(points.size):
        p, n, fewest, patience = points[s], 1, beta.size + 1, limits[1]
        for i in range(beta.size):
            kind[i], goal[i] = 0, 0.0
        changed[0] = p
        kind[p], goal[p] = (1, 0.0) if is_free[p] else (2, -beta[p])
        for _ in range(limits[0]):
            if n < 0 or not _values(T, whole, is_free, kind, goal, changed, n, A, u, w):
                break
            n_wrong = _wrong(
                kind, is_free, beta, lower, upper, least, most, w, goal, slack, changed, n, wrong
            )
            if n_wrong == 0:
                for i in range(beta.size):
                    starts[s, i] = w[i] if is_free[i] and kind[i] == 0 else beta[i]
                for a in range(n):
                    i = changed[a]
                    change = goal[i] if kind[i] == 2 else w[i]
                    starts[s, i] = goal[i] if is_free[i] else beta[i] + change
                starts[s, p] = 0.0
            if n_wrong <= 0:
                break
            patience = limits[1] if n_wrong < fewest else patience - 1
            fewest = min(fewest, n_wrong)
            for k in range(n_wrong if patience >= 0 else 1):
                i = wrong[k]
                kind[i], goal[i] = _side(
                    kind[i], is_free[i], beta[i], lower[i], upper[i], w[i], goal[i], slack
                )
            n = _changed(kind, p, changed)


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """A solution of a problem whose variables are its points, and what its active set determines.

    Attributes
    ----------
    T : float64 array of shape (n, n)
        −S⁻¹ of the free variables, Q of the others, and Z between them.
    whole : float64 array
        β of the free variables, where r is zero, and r of the others.
    is_free : bool array
    """

    problem: BoxQP
    beta: np.ndarray
    T: np.ndarray
    whole: np.ndarray
    is_free: np.ndarray
    tol: float

    @classmethod
    def of(
        cls, problem: BoxQP, K: np.ndarray, beta: np.ndarray, f: np.ndarray, tol: float
    ) -> ActiveSet | None:
        """None for other problems, and where no variable is free.

        Parameters
        ----------
        problem : BoxQP
        K : float64 array of shape (n, n)
        beta, f : float64 arrays
            The solution, and Kβ.
        tol : float
        """
        if problem.row is not None or problem.n_groups > 1 or problem.start.any():
            return None
        is_free = (beta > problem.lower) & (beta < problem.upper)
        free, n = np.flatnonzero(is_free), beta.size
        if free.size == 0:
            return None
        D = np.zeros(n) if problem.diag is None else problem.diag
        G = np.ones((free.size + problem.n_groups, n))
        G[: free.size] = K[free]
        G[np.arange(free.size), free] += D[free]
        S = np.zeros((len(G), len(G)))
        S[: free.size] = G[:, free].T
        S[free.size :, : free.size] = 1.0
        largest = np.abs(beta).max()
        S[np.arange(free.size), np.arange(free.size)] += SETTINGS.ridge * tol / largest
        try:
            inverse = np.linalg.inv(S)
        except np.linalg.LinAlgError:
            return None
        v = problem.target - f - D * beta
        right = np.zeros(len(G))
        right[: free.size] = v[free]
        change = inverse @ right  # the rest of r of the free variables becomes zero
        whole = v - change @ G
        whole[free] = beta[free] + change[: free.size]
        Z = inverse @ G
        T = G.T @ Z
        np.subtract(K, T, out=T)
        T[np.arange(n), np.arange(n)] += D
        T[free], T[:, free] = Z[: free.size], Z[: free.size].T
        T[np.ix_(free, free)] = -inverse[: free.size, : free.size]
        return cls(problem, beta, T, whole, is_free, tol) if np.isfinite(T).all() else None

    def without(self, points: np.ndarray) -> np.ndarray:
        """β without each of some points, one row for each: of those not found the last β."""
        n, problem = self.beta.size, self.problem
        starts, side = np.tile(self.beta, (points.size, 1)), SETTINGS.most_changes
        slack = SETTINGS.wrong_side * self.tol
        least = np.where(self.beta > problem.lower, -slack, -np.inf)
        most = np.where(self.beta < problem.upper, slack, np.inf)
        least[self.is_free] = problem.lower[self.is_free]
        most[self.is_free] = problem.upper[self.is_free]
        limits = np.array([SETTINGS.most_rounds, SETTINGS.max_idle_changes])
        _predict(
            self.T, self.whole, self.is_free, self.beta, problem.lower, problem.upper, least,
            most, points, slack, limits, starts, *np.empty((2, n)),
            np.empty(n, np.int8), *np.empty((2, side), np.int64), np.empty((side, side)),
            np.empty(side),
        )  # fmt: skip
        return starts
