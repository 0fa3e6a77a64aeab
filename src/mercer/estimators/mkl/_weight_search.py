"""Weights d of kernels K_k, learned together with a support vector machine.

    minimise over d ≥ 0, ‖d‖_p ≤ 1   J(d) = max over β   targetᵀβ − ½ Σ_k d_k βᵀK_kβ

over the feasible β of a `BoxQP` (of several tasks: the sum of their values). J is convex. With β
the solution for d and q_k = βᵀK_kβ, ∂J/∂d_k = −½ q_k, and for every feasible β

    targetᵀβ − ½ ‖q‖_p*  ≤  min J  ≤  J(d),      ‖q‖_1* = max_k q_k,   1/p + 1/p* = 1,

so that the joint gap is that of the machine with Σ d_k K_k, and ½ (‖q‖_p* − d·q).

**Sum 1 (p = 1).** Newton's method (Chapelle and Rakotomamonjy 2008): while the same β_F stay
between their bounds, K_FF dβ_F + 1 db = −Σ_k (K_kβ)_F dd_k with 1ᵀdβ_F = 0, hence
∂²J/∂d_k∂d_l = (K_kβ)_Fᵀ M (K_lβ)_F, M the inverse of K_FF on vectors of sum 0. The quadratic model
is minimised over the simplex, and a search along the step uses that J is convex.

J has kinks where β is not unique, as with kernels of few features. Every β gives a cut,
J(d) ≥ targetᵀβ − ½ d·q(β); where a Newton step does not lower J, the next weights come from all
cuts, and the β of the lower bound is the mean that the multipliers of the cuts give.

**ℓp norm (p > 1).** Fixed-point steps d_k ∝ (d_k² q_k)^(1/(p+1)) (Kloft et al. 2011, theorem 4).

Each machine starts from the β of the one before. Nothing here is rounded rigorously: the
certificate is made of the final model (`_joint_gap`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg as la
from scipy.optimize import linprog

from mercer.estimators.mkl._point import Machine, Point, WeightSearchSettings
from mercer.gram import BlockedGram
from mercer.gram._distinct import DistinctGrams
from mercer.kernels import Precomputed
from mercer.kernels._samples import Samples
from mercer.problems import BoxQP
from mercer.solvers import Stopping
from mercer.solvers.smo import SMO
from mercer.solvers.smo.paths._matrix_path import (
    MatrixPath,
    PathSettings,
    Workspace,
    fits_matrix_path,
)

__all__ = ["WeightSearch"]


@dataclass
class WeightSearch:
    """The search for the weights.

    Parameters
    ----------
    grams : DistinctGrams
    scales : array
        What each kernel is divided by.
    machines : sequence of Machine
    p : float
    gap_tol : float
        Relative gap of the joint problem at which to stop.
    tol : float
        KKT violation to which machines are solved first; it falls where their gaps are too large.
    stopping : Stopping
    max_iter : int
    memory : float64 array of shape (n, n)
        For the sum of the matrices.
    """

    grams: DistinctGrams
    scales: np.ndarray
    machines: Sequence[Machine]
    p: float
    gap_tol: float
    tol: float
    stopping: Stopping
    max_iter: int
    memory: np.ndarray
    callback: Callable[[int, Point], None] | None = None
    settings: WeightSearchSettings = field(default_factory=WeightSearchSettings)

    def __post_init__(self) -> None:
        largest = max(machine.problem.n_variables for machine in self.machines)
        self._workspace = Workspace(largest, PathSettings())
        self.iterations = self.n_machines = 0
        self.lower, self.best_betas = -np.inf, [machine.problem.start for machine in self.machines]
        self._cuts: list[Point] = []
        self._failed: Point | None = None
        self._is_inverse = True  # Newton steps are for 1/J, until one of them is too long

    def run(self, d: np.ndarray | None = None) -> tuple[Point, list[np.ndarray]]:
        """The weights of the least J that was found, and the β of the best lower bound.

        From equal weights, or from ``d``.
        """
        equal = np.full(len(self.grams), len(self.grams) ** (-1 / self.p))
        best = point = self._solved(equal if d is None else d, None)
        self._bound(best.betas, best.dual(self.p))
        while (
            best.primal - self.lower > self.gap_tol * abs(best.primal)
            and self.iterations < self.max_iter
            and self.stopping.stopped is None
        ):
            self.iterations += 1
            is_norm, was_inverse = self.p > 1, self._is_inverse
            point = self._fixed_point(point) if is_norm else self._newton_or_cut(point, best)
            self._bound(point.betas, point.dual(self.p))
            if point.primal < best.primal:
                best = point
            if was_inverse and not self._is_inverse:
                # A weight of 0 too early leaves β undetermined where kernels have few features.
                point = self._solved(equal, None)
            if self.callback is not None:
                self.callback(self.iterations, best)
        return best, self.best_betas

    def _bound(self, betas: list[np.ndarray], lower: float) -> None:
        """Keep a lower bound of the optimum if it is the largest."""
        if lower > self.lower:
            self.lower, self.best_betas = lower, betas

    # ------------------------------------------------------------------ cutting planes

    def _newton_or_cut(self, point: Point, best: Point) -> Point:
        """A Newton step; where that does not lower J, the weights that the cuts ask for."""
        cut = self._lowest_of_cuts()
        if point is not self._failed:
            following = self._newton(point)
            if following is not point:
                return following
            self._failed = point
        d = best.d + self.settings.cut_step * (cut - best.d)
        following = self._solved(self._on_simplex(d), best.betas)
        if following.value >= best.value:
            self._failed = following
        return following

    def _lowest_of_cuts(self) -> np.ndarray:
        """The minimiser of max over all machines so far of their values at d, a linear program.

        Its value is a lower bound, that of the β whose weights are the multipliers: q_k is convex.
        """
        m, n_cuts = len(self.grams), len(self._cuts)
        values = np.array([cut.value + 0.5 * float(cut.d @ cut.q) for cut in self._cuts])
        scale = float(np.abs(values).max()) or 1.0
        A = np.column_stack(
            [-0.5 * np.array([cut.q for cut in self._cuts]) / scale, -np.ones(n_cuts)]
        )
        found = linprog(
            np.r_[np.zeros(m), 1.0],
            A_ub=A,
            b_ub=-values / scale,
            A_eq=np.r_[np.ones(m), 0.0][None],
            b_eq=[1.0],
            bounds=[(0, None)] * m + [(None, None)],
        )
        if found.status != 0:
            return self._cuts[-1].d
        weights = np.maximum(-found.ineqlin.marginals, 0.0)
        weights /= weights.sum() or 1.0
        lower = float(weights @ values) - 0.5 * float(
            np.max(sum(w * cut.q for w, cut in zip(weights, self._cuts, strict=True)))
        )
        if lower > self.lower:
            parts = zip(*(cut.betas for cut in self._cuts), strict=True)
            mixed = [sum(w * b for w, b in zip(weights, part, strict=True)) for part in parts]
            self._bound(mixed, lower)
        return np.maximum(found.x[:m], 0.0)

    # ------------------------------------------------------------------ machines

    def _solved(self, d: np.ndarray, starts: list[np.ndarray] | None) -> Point:
        """The machines for weights d."""
        self.grams.combined(d / self.scales, self.memory, self.stopping.is_stopped)
        if self.stopping.is_stopped():  # the matrix may not be whole
            return self._unsolved(d)
        betas, coefs, machine_gap, linear = [], [], 0.0, 0.0
        share = self.settings.machine_gap * self.gap_tol
        for i, machine in enumerate(self.machines):
            start = None if starts is None else starts[i]
            beta, value, gap = self._machine(machine, start, share)
            betas.append(beta)
            machine_gap += gap
            linear += value
            coef = np.zeros(self.grams.n)
            coef[machine.rows] = machine.problem.at_points(beta, machine.rows.size)
            coefs.append(coef)
        sums = [self.grams.sums(coef, self.stopping.is_stopped) for coef in coefs]
        if self.stopping.is_stopped():
            return self._unsolved(d, betas)  # the sums may not be whole
        q = np.zeros(len(self.grams))
        for coef, each in zip(coefs, sums, strict=True):
            q += [g.form(coef, s) for g, s in zip(self.grams.members, each, strict=True)]
        q /= self.scales
        point = Point(d, betas, linear - 0.5 * float(d @ q), machine_gap, q, sums)
        if self.p == 1:
            self._cuts.append(replace(point, sums=[]))
        return point

    def _unsolved(self, d: np.ndarray, betas: list[np.ndarray] | None = None) -> Point:
        """Weights whose machines are not known, or whose values are not: nothing is lower."""
        betas = betas or [machine.problem.start for machine in self.machines]
        zero = [np.zeros(member.n_distinct) for member in self.grams.members]
        q = np.zeros(len(self.grams))
        return Point(d, betas, 0.0, np.inf, q, [zero for _ in betas])

    def _machine(
        self, machine: Machine, start: np.ndarray | None, share: float
    ) -> tuple[np.ndarray, float, float]:
        """β, targetᵀβ − ½βᵀDβ and the gap of a machine, solved until the gap is small enough."""
        problem = machine.problem
        if not fits_matrix_path(problem):
            raise ValueError("MKL needs a finite C, and SVC or SVR.")
        beta, value, gap = problem.start, 0.0, np.inf
        for _ in range(self.settings.most_tightened):
            self.n_machines += 1
            path = MatrixPath(self.memory, machine.rows, self.tol, self._workspace)
            point = path.solve(problem, self.stopping, 1.0, start)
            start = beta = point.beta
            f = problem.at_variables(point.values[machine.rows])
            slack = np.zeros_like(beta)
            if problem.diag is not None:
                slack = problem.at_variables(problem.diag) * beta
            gap = float(problem.gap_terms(beta, problem.target - f - slack).sum())
            value = float(problem.target @ beta - 0.5 * beta @ slack)
            dual = value - 0.5 * float(beta @ (f - point.b))
            if gap <= share * max(abs(dual), 1e-300) or self.stopping.stopped is not None:
                break
            self.tol *= self.settings.tighten
        return beta, value, gap

    # ------------------------------------------------------------------ sum 1

    def _newton(self, point: Point) -> Point:
        """The best point along a Newton step."""
        step = self._step(point)
        slope = -0.5 * float(point.q @ step)
        if not slope < 0:
            step = self._multiplied(point) - point.d
            slope = -0.5 * float(point.q @ step)
            if not slope < 0:  # nothing that float64 can tell from zero
                return point
        t, found = 1.0, point
        for _ in range(self.settings.most_trials):
            found = self._solved(self._on_simplex(point.d + t * step), point.betas)
            slope_there = -0.5 * float(found.q @ step)
            is_lower = found.value <= point.value + self.settings.sufficient * t * slope
            if is_lower or self.stopping.stopped is not None or slope_there <= 0:
                return found
            self._is_inverse = False
            t *= min(max(slope / (slope - slope_there), 0.05), 0.7)
        return found if found.value < point.value else point

    def _on_simplex(self, d: np.ndarray) -> np.ndarray:
        d = np.where(d > self.settings.negligible * d.max(), d, 0.0)
        return d / d.sum()

    def _multiplied(self, point: Point) -> np.ndarray:
        """A step of the fixed-point iteration for p = 1, which never increases J."""
        d = point.d * np.sqrt(np.maximum(point.q, 0.0))
        return d / d.sum()

    def _step(self, point: Point) -> np.ndarray:
        """d' − d for the minimiser d' of the quadratic model on the simplex."""
        used = point.d > 0
        worse = np.where(used, -np.inf, point.q)
        entering = np.argsort(-worse, kind="stable")[: self.settings.entering]
        used[entering[worse[entering] > float(point.d @ point.q)]] = True
        which = np.flatnonzero(used)
        H = np.zeros((which.size, which.size))
        for machine, beta, sums in zip(self.machines, point.betas, point.sums, strict=True):
            part = self._curvature(machine, beta, sums, which)
            if part is None:
                return self._multiplied(point) - point.d
            H += part
        step = np.zeros_like(point.d)
        gradient = -0.5 * point.q[which]
        if self._is_inverse:
            H = self._curvature_of_inverse(H, gradient, point.value)
        step[which] = self._minimiser(H, gradient, point.d[which]) - point.d[which]
        return step

    def _curvature_of_inverse(self, H: np.ndarray, gradient: np.ndarray, J: float) -> np.ndarray:
        """J² times the second derivatives of −1/J, or as near to them as is positive semidefinite.

        Without active bounds J(td) = J(d)/t: 1/J is linear along d and concave. A Newton step for J
        itself lowers such a function by a third only. The diagonal is raised in proportion to the
        relative gap (Levenberg 1944): the gradient is not in the range of H where kernels are many.
        """
        behind = (J - self.lower) / abs(J) if J else 0.0
        size = self.settings.damping * min(1.0, behind) * np.trace(H) / len(H)
        if not (J > 0 and size > 0):
            return H
        H = H + size * np.eye(len(H))
        try:
            factor = la.cho_factor(H, check_finite=False)
        except la.LinAlgError:
            return H
        most = float(gradient @ la.cho_solve(factor, gradient, check_finite=False))
        return H - min(2 / J, 1 / most) * np.outer(gradient, gradient) if most > 0 else H

    def _curvature(
        self, machine: Machine, beta: np.ndarray, sums: list[np.ndarray], which: np.ndarray
    ) -> np.ndarray | None:
        """(K_kβ)_Fᵀ M (K_lβ)_F of some kernels; None where there are too many free variables."""
        problem = machine.problem
        free = np.flatnonzero((beta > problem.lower) & (beta < problem.upper))
        points = free if problem.row is None else problem.row[free]
        if free.size > self.settings.most_free:
            return None
        G = np.empty((free.size, which.size))
        rows = machine.rows[points]
        for column, k in enumerate(which):
            G[:, column] = sums[k][self.grams.members[k].index[rows]] / self.scales[k]
        if free.size == 0:
            return np.zeros((which.size, which.size))
        K = self.memory[np.ix_(rows, rows)]
        if problem.diag is not None:
            K[np.diag_indices_from(K)] += problem.diag[points]
        K[np.diag_indices_from(K)] += self.settings.ridge * np.trace(K) / free.size
        try:
            factor = la.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        except la.LinAlgError:
            return None
        right = np.column_stack([G, np.ones(free.size)])
        solved = la.cho_solve(factor, right, check_finite=False)
        H = G.T @ solved[:, :-1]
        if problem.n_groups == 1:
            of_ones = G.T @ solved[:, -1]
            H -= np.outer(of_ones, of_ones) / max(float(solved[:, -1].sum()), 1e-300)
        return H

    def _minimiser(self, H: np.ndarray, gradient: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Of gradient·(d' − d) + ½ (d' − d)ᵀH(d' − d) over the simplex: a `BoxQP`."""
        scale = float(np.abs(gradient).max(initial=0.0)) or 1.0
        H = (H + H.T) / (2 * scale)
        H[np.diag_indices_from(H)] += self.settings.ridge * (np.trace(H) / len(H) + 1)
        problem = BoxQP(
            target=H @ d - gradient / scale,
            lower=np.zeros(d.size),
            upper=np.ones(d.size),
            start=d,
            group=np.zeros(d.size, np.int8),
        )
        gram = BlockedGram(Precomputed(), Samples(H))
        solver = SMO(tol=self.settings.step_tol)
        return np.clip(solver.solve(problem, gram, self.stopping).beta, 0.0, 1.0)

    # ------------------------------------------------------------------ ℓp norm

    def _fixed_point(self, point: Point) -> Point:
        d = (point.d**2 * np.maximum(point.q, 0.0)) ** (1 / (self.p + 1))
        largest = float(d.max()) or 1.0
        d = d / (largest * float(((d / largest) ** self.p).sum()) ** (1 / self.p))
        return self._solved(d, point.betas)
