"""SMO on the whole kernel matrix, for some hundred points (Platt 1998; Fan, Chen and Lin 2005).

    minimise ½ βᵀKβ − targetᵀβ   subject to   lower ≤ β ≤ upper,  Σβ fixed within each group

The kernel matrix is float64. Pair steps come in slices; after each, f = Kβ is recomputed with a
bound on its error, and the limits are checked. Where many small violations leave a large gap, pair
steps go on with a smaller tolerance (`SMOSettings.reduced_tol`). Where they make slow progress
(large C, ill-conditioned K), Newton steps on the free variables are made in between
(`newton_on_free`).

Reads the problem and the Gram; changes its own β and f.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mercer._result import Result, Status
from mercer.certificates._box_qp import certify
from mercer.certificates._certificate import Certificate
from mercer.gram import BlockedGram
from mercer.problems._dual_qp import BoxQP
from mercer.problems._kkt import intercepts, restore_sums
from mercer.solvers._solution import make_result, snapshot, upper_diagonal
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.separability._hull import HardMarginWatch
from mercer.solvers.smo._free_variable_newton import newton_on_free
from mercer.solvers.smo._pair_update import LANE, PairFlags, gap_estimate, solve_pairs
from mercer.solvers.smo._settings import SMOSettings
from mercer.solvers.smo._working_set import align_to_lanes, pad_to_lanes

__all__ = ["DenseSMO", "is_one_to_one"]

# Exponents of the powers of two that K may be divided by.
SCALES = -200, 400


def is_one_to_one(problem: BoxQP) -> bool:
    """Whether each point is one variable, all in one group: K of the points is K of these."""
    return problem.row is None and problem.n_groups == 1


class DenseSMO:
    """One run on one problem; parameters as `DecompositionSMO`'s."""

    def __init__(
        self,
        problem: BoxQP,
        gram: BlockedGram,
        stopping: Stopping,
        tol: float,
        max_steps: float,
        start: np.ndarray,
        gap_tol: float | None = None,
        settings: SMOSettings | None = None,
    ):
        self.settings = settings or SMOSettings()
        self.max_idle_slices = self.settings.max_idle_slices
        self.gap_tol, self.inner_tol = gap_tol, tol
        self.problem, self.gram, self.stopping = problem, gram, stopping
        self.tol, self.max_steps = tol, max_steps
        self.beta = start.copy()
        self.f, self.f_error = np.zeros(gram.n), np.zeros(gram.n)
        self.watch = HardMarginWatch(problem, gram)
        self.is_hard_margin = not self.watch.is_idle
        self.steps = self.rounds = self.flags = 0
        self.certificate_seconds = 0.0
        self.scale, self.newton_after = 1.0, self.settings.steps_per_slice
        self.is_inner_solved = False
        self.dual, self.least, self.idle = -np.inf, np.inf, 0
        # Of the ends of slices the one whose dual value is certain to be largest.
        self.best, self.best_dual = self.beta, -np.inf
        self.last_better, self.last_dual, self.least_gap = (0, 0), -np.inf, np.inf
        self.kkt: Any = None  # of `intercepts`
        self.status: Status | None = None

    def run(self) -> Status:
        """Slices of pair steps; returns why it stopped."""
        p, m = self.problem, self.beta.size
        group = np.zeros(m, np.int8) if p.group is None else p.group
        stopped = self.stopping.stopped
        if stopped is not None and not self.beta.any():
            return stopped  # of many tasks those after the limit cost nothing
        ws, real, split = align_to_lanes(np.arange(m), group, p.n_groups)
        self._bind(ws)
        if self.beta.any():
            self._sum_f()
        self.best, self.best_dual = self.beta.copy(), self._certain_dual()
        # The duals of a hard margin that does not exist grow until their products overflow: such
        # values are no gain, and the fit ends as stalled.
        with np.errstate(over="ignore", invalid="ignore"):
            while self.status is None:
                self._slice(ws, real, split)
                self._decide()
        return self.status

    def _slice(self, ws: np.ndarray, real: np.ndarray, split: int) -> None:
        """Pair steps until tol or the end of the slice; then f is recomputed."""
        p = self.problem
        # With K/s, sβ and bounds times s it is the same problem: s is a power of two.
        beta, lower, upper = (self.scale * v[ws] for v in (self.beta, p.lower, p.upper))
        grad = ((self.f if p.row is None else self.f[p.row]) - p.target)[ws]
        pad_to_lanes(real, beta, grad, lower, upper, p.n_groups)
        is_going_on = True
        while is_going_on:
            most = int(min(self.max_steps - self.steps, self._steps_per_slice()))
            steps, left, flags = self._pairs(beta, grad, lower, upper, split, self.inner_tol, most)
            self.is_inner_solved = left <= self.inner_tol
            self.steps += steps
            self.flags |= flags
            is_going_on = self.is_inner_solved and self._tighten(
                ws, (beta, grad, lower, upper), split
            )
        at = ws[real]
        self.beta[at] = np.clip(beta[real] / self.scale, p.lower[at], p.upper[at])
        self.rounds += 1
        began = time.perf_counter()
        self._sum_f()
        self.certificate_seconds += time.perf_counter() - began

    def _tighten(self, ws: np.ndarray, box: tuple[np.ndarray, ...], split: int) -> bool:
        """Whether many small violations leave a large gap: then pair steps get a smaller tol."""
        p, before, gap = self.problem, self.inner_tol, np.inf
        if self.gap_tol is not None:
            return False
        if not p.is_hard:  # else the gap is infinite where a constraint is violated
            beta, grad, lower, upper = box
            D = None if p.diag is None else p.at_variables(p.diag)[ws] / self.scale
            lanes = split * LANE, p.n_groups > 0
            gap = gap_estimate(beta, grad, p.target[ws], lower, upper, D, *lanes)
        self.inner_tol = self.settings.reduced_tol(before, self.tol, gap)
        return self.inner_tol < before

    def _steps_per_slice(self) -> float:
        s = self.settings
        if self.stopping.callback is None:
            return s.steps_per_slice
        return min(s.steps_per_slice, s.first_steps * s.slice_growth ** min(self.rounds, 40))

    def _bind(self, ws: np.ndarray) -> None:
        """K of the variables in the order ``ws``; ``points`` is K of the points (with padding)."""
        p, n = self.problem, self.gram.n
        is_simple = is_one_to_one(p)
        K = self.gram.matrix(-(-n // LANE) * LANE if is_simple else None, lasting=False)
        self.points = K
        if not is_simple:
            row = ws if p.row is None else p.row[ws]
            K = K.take(row, axis=1, mode="clip").take(row, axis=0, mode="clip")
            if p.n_groups == 0:
                K[-1] = 0
                K[:, -1] = 0
        largest = float(np.abs(K.diagonal()).max(initial=0.0))
        # Without bounds the length of a step tells whether it is unbounded: that needs one scale.
        most = 1.0 if self.is_hard_margin else self.settings.max_scale
        if largest > 0 and not 1 / most <= largest <= most:
            # β times the scale must not lose digits as a subnormal number.
            self.scale = float(2.0 ** np.clip(np.round(np.log2(largest)), *SCALES))
            K = K / self.scale
        self.K = K

    def _pairs(
        self,
        beta: np.ndarray,
        grad: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        split: int,
        tol: float,
        most: int,
    ) -> tuple[int, float, int]:
        """At most ``most`` pair steps: how many, the violation left, flags."""
        return solve_pairs(self.K, beta, grad, lower, upper, split, tol, most)

    def _sum_f(self) -> None:
        """f = Kβ, recomputed, with a bound on its error, and the KKT conditions of that.

        A hard margin may need a very large β: sums over the support vectors alone.
        """
        if self.status is None:  # else β are the weights of a proof
            restore_sums(self.problem, self.beta)
        coef = self.beta if self.problem.row is None else self._coefficients()
        support = np.flatnonzero(coef) if self.is_hard_margin else None
        self.f, self.f_error = self.gram.bounded_product(self.points, coef, support)
        self.kkt = intercepts(self.problem, self.beta, self.f, self.f_error)

    def _decide(self) -> None:
        """Stop if solved, or if a limit says so."""
        violation = self.kkt[2]
        if self.stopping.callback is not None:
            effort = self.stopping.seconds, self.rounds, self.steps
            state = partial(snapshot, self.problem, self.beta, self.f)
            now = Progress(*effort, violation, self.tol, state=state, result=self._result_now)
            self.stopping.report(now)
        if self._is_solved(violation):
            self.status = Status.SOLVED
            return
        proof = self.watch(self.beta, self.f)
        if self.flags & PairFlags.UNBOUNDED or proof is not None:
            self.status = Status.NOT_SEPARABLE
            if proof is not None:
                self.beta = proof.weights
                self._sum_f()
        elif self.steps >= self.max_steps:
            self.status = Status.ITERATION_LIMIT
        else:
            self.status = self.stopping.stopped
        if self.status is None:
            self._go_on(violation)

    def _result_now(self) -> Result:
        """The result of a stop at this moment, for a callback."""
        other = copy(self)
        other.beta = self.beta.copy()
        limits = self.tol, self.stopping.began, self.gap_tol
        return make_result(self.problem, self.gram, other, Status.STOPPED, *limits)

    def _is_solved(self, violation: float) -> bool:
        if self.gap_tol is None:
            return violation <= self.tol
        return self._certificate().relative_gap <= self.gap_tol

    def _certificate(self) -> Certificate:
        (problem, result), *_ = snapshot(self.problem, self.beta, self.f)
        result = replace(result, f_error=self.f_error, diag=upper_diagonal(self.gram))
        return certify(problem, result)

    def _go_on(self, violation: float) -> None:
        """A Newton step where pair steps were slow; the limit of float64 where nothing helps."""
        s = self.settings
        # Pair steps were many, or have reached their own tolerance.
        is_slow = self.steps >= self.newton_after or self.is_inner_solved
        if self.is_inner_solved:
            self.inner_tol *= s.tighten_factor
        if is_slow:
            self.newton_after = self.steps + s.steps_per_slice
        if is_slow and newton_on_free(self.problem, self._matrix, self.beta, self.f, s):
            self._sum_f()
        dual, certificate = self._dual(), self._certificate()
        gap = certificate.relative_gap
        rose = dual - self.last_dual > 0.1 * abs(dual)
        if violation < 0.9 * self.least or gap < 0.9 * self.least_gap or rose:
            self.last_better, self.last_dual = (self.steps, self.rounds), dual
            self.least_gap = min(gap, self.least_gap)
        # A dual value near zero may rise for ever by what is nothing beside the gap.
        size = max(abs(dual), certificate.gap if np.isfinite(certificate.gap) else 0.0)
        better = violation < 0.9 * self.least or dual - self.dual > s.least_dual_gain * size
        certain = self._certain_dual()
        if certain > self.best_dual:
            self.best, self.best_dual = self.beta.copy(), certain
        self.least, self.dual = min(self.least, violation), max(self.dual, dual)
        self.idle = 0 if better else self.idle + 1
        steps, slices = self.steps - self.last_better[0], self.rounds - self.last_better[1]
        is_slow = steps > s.max_steps_without_gain or slices > s.max_slices_without_gain
        if self.idle >= self.max_idle_slices or is_slow:
            self._return_to_the_best()
            self.status = Status.STALLED

    def _return_to_the_best(self) -> None:
        """The best β, where the last one has left the range in which its gap can be bounded."""
        if np.isfinite(self._certificate().gap):
            return
        last, self.beta = self.beta, self.best.copy()
        self._sum_f()
        if not np.isfinite(self._certificate().gap):
            self.beta = last
            self._sum_f()

    def _matrix(self, rows: np.ndarray) -> np.ndarray:
        """K of all points with some, shape (n, len(rows))."""
        return self.points[: self.gram.n, rows]

    def _dual(self) -> float:
        return float(self.problem.target @ self.beta) - 0.5 * float(self._coefficients() @ self.f)

    def _certain_dual(self) -> float:
        """A lower bound of the dual value, by the error of f."""
        return self._dual() - 0.5 * float(np.abs(self._coefficients()) @ self.f_error)

    def _coefficients(self) -> np.ndarray:
        """The coefficient of each point: β summed over its variables."""
        row = self.problem.row
        return self.beta if row is None else np.bincount(row, self.beta, minlength=self.gram.n)

    @property
    def met_negative_curvature(self) -> bool:
        return bool(self.flags & PairFlags.MET_NEGATIVE_CURVATURE)
