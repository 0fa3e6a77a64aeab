"""SMO with decomposition and shrinking, for more than some hundred points.

    minimise ½ βᵀKβ − targetᵀβ   subject to   lower ≤ β ≤ upper,  Σβ fixed within each group

The sets are nested (Osuna, Freund and Girosi 1997; Joachims 1999):

    all n points  ⊃  active points  ⊃  working set of some hundred variables  ⊃  a pair

A *pair* step is analytic (`_pair_update`). A *working set* is solved by pair steps on a dense block
of K; f = Kβ is then updated at all *active points* with float32 rows from a `RowCache`. When these
are solved, f is updated at inactive points (`LazyGradient`), those that have come to violate are
activated, and so on until there are none. So most work touches few columns of K, and the row cache
may be as small as the user likes. (Where kernel values are costly and the cache is large enough,
all columns stay active and no value is computed twice.)

Before that, growing random samples of the points are solved to low accuracy: they find most support
vectors at a fraction of the cost.

f is updated with float32 values and a bound on its error. Where that is too large for the
certificate, f is recomputed in float64 and the solver goes on (iterative refinement): the changes
that remain are so small that float32 suffices for them.

Reads the problem and the Gram; changes its own β and f.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np

from mercer._result import Result, Status
from mercer.gram import BlockedGram, RowCache
from mercer.problems._dual_qp import BoxQP
from mercer.problems._kkt import intercepts, restore_sums
from mercer.solvers._solution import relative_gap, snapshot, upper_diagonal
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.separability._hull import HardMarginWatch
from mercer.solvers.smo._block_update import BlockUpdate, block_buffers
from mercer.solvers.smo._early_stop import finish_early, result_now
from mercer.solvers.smo._gradient import LazyGradient, Settled
from mercer.solvers.smo._pair_update import LANE, PairFlags
from mercer.solvers.smo._settings import SMOSettings
from mercer.solvers.smo._shrinking import ActiveSet
from mercer.solvers.smo._sweep import is_short_of_time, sweep
from mercer.solvers.smo._working_set import Subproblem, growing_samples, set_difference

__all__ = ["DecompositionSMO"]

# Replaces an infinite error of f in sums with zero weights.
_LARGE_ERROR = 1e300
# A violation counts as progress if it is below this factor times the smallest before.
_PROGRESS = 0.99


class DecompositionSMO:
    """One run on one problem: the state is β, and f = Kβ at the points (`LazyGradient`).

    Parameters
    ----------
    problem : BoxQP
    gram : BlockedGram
    stopping : Stopping
    tol, max_steps, cache_bytes : as in `SMO`
    start : float64 array
        The first β, feasible.
    shrinking : bool
        Whether points may become inactive.
    gap_tol : float or None
        Stop at this certified relative gap instead of at ``tol``.
    settings : SMOSettings
    """

    def __init__(
        self,
        problem: BoxQP,
        gram: BlockedGram,
        stopping: Stopping,
        tol: float,
        max_steps: float,
        cache_bytes: int,
        start: np.ndarray,
        shrinking: bool = True,
        gap_tol: float | None = None,
        settings: SMOSettings | None = None,
    ):
        self.settings = settings = settings or SMOSettings()
        self.problem, self.gram, self.stopping = problem, gram, stopping
        self.tol, self.gap_tol, self.max_steps = tol, gap_tol, max_steps
        self.buffers = block_buffers(settings)
        self.n, m = gram.n, start.size
        self.row = np.arange(m) if problem.row is None else problem.row
        self.group = np.zeros(m, np.int8) if problem.group is None else problem.group
        self.beta = start.copy()
        self.gradient = LazyGradient(problem, gram, stopping.is_stopped, settings)
        self.score = np.zeros(self.n)  # of each point when it was last up to date
        self.watch = HardMarginWatch(problem, gram)
        self.active = ActiveSet(gram, self.gradient, cache_bytes, shrinking, settings)
        # For an early stop: the last settled β, seconds for its f at all points, β before a sweep.
        self.settled: Settled | None = None
        self.reserve = 0.0
        self.model: Settled | None = None
        self.b: np.ndarray | None = None  # intercepts of the solution, where they are chosen
        self.sample_starts: list[np.ndarray] = []  # β before each sample
        self.reached: np.ndarray | None = None  # the last β, where the solution is an earlier one
        self.lower = -np.inf  # of the optimum: from β that are not kept
        self.certificate_seconds = 0.0
        self.steps = self.rounds = self.flags = 0
        self.is_stuck = False
        self.status: Status | None = None

    # ---- the driver -------------------------------------------------------------------------

    def run(self) -> Status:
        """Samples, then all points; returns why it stopped."""
        s = self.settings
        seen = np.zeros(0, np.int64)
        # Smaller where reconstructing f from the first sample would exceed its time budget.
        affordable = int(s.reconstruction_seconds / (2 * s.seconds_per_value * self.n))
        smallest = self.n if self.beta.any() else min(s.first_sample, max(affordable, LANE))
        began = self.stopping.seconds
        for sample in growing_samples(self.n, smallest, s.sample_growth):
            now = self.stopping.seconds
            if seen.size and is_short_of_time(self, seen, now - began):
                sweep(self, seen)
                seen, sample = seen[:0], np.arange(self.n)
            began = now
            self.active.add_points(set_difference(sample, seen, self.n), self.beta)
            seen = sample
            if not self.must_stop():
                solve = self._solve_sample if sample.size < self.n else self._solve_all
                solve()
            if self.status is not None:
                break
        assert self.status is not None
        if self.status in (Status.TIME_LIMIT, Status.STOPPED):
            finish_early(self)
        elif self.status is not Status.SOLVED:
            self.gradient.reconstruct(self.beta)
            self.gradient.recompute(self.beta, self.relevant()[1])
        self.restore()
        return self.status

    def _solve_sample(self) -> None:
        """Solve the points seen so far to low accuracy; inactive ones are not re-checked."""
        self.sample_starts.append(self.beta.copy())
        violation, score = self.scores(self.subproblem(self.gradient.up_to_date()))
        rows = self.active.activate(None, score, self.beta)
        self.solve_active(rows, self.settings.sample_tol * violation)
        if self.status is None:
            self.settled = Settled(self.beta.copy(), self.gradient.copy())
        self._keep_time(self.gradient.seconds_for(self.n * np.count_nonzero(self.beta)))

    def _keep_time(self, needed: float) -> None:
        """Keep time for f of the present β at all points, should the limit come before the next."""
        if self.stopping.time_limit is not None:
            most = self.settings.reserved_fraction * self.stopping.time_limit
            self.reserve = min(max(needed - self.settings.reconstruction_seconds, 0.0), most)

    def _solve_all(self) -> None:
        s = self.settings
        rows = None
        best, waited, goal, tol = np.inf, 0, 0.0, self.tol
        if self.gap_tol is not None:
            tol = max(tol, s.first_gap_tol)
        while not self.must_stop():
            if self.is_stuck:
                self.gradient.reconstruct(self.beta)
                self.gradient.recompute(self.beta, np.arange(self.n))
            violation, score = self.scores(self.subproblem(self.gradient.up_to_date()))
            self.settled = Settled(self.beta.copy(), self.gradient.copy())
            self._keep_time(self.gradient.seconds_to_reconstruct(self.beta))
            if violation <= tol:
                if not self.gradient.is_complete:
                    self._update_inactive(0.0)
                    continue
                lowered = self._next_tol(tol)
                if lowered is None:
                    continue  # f was recomputed
                tol = lowered
            elif violation < _PROGRESS * best:
                best, waited = violation, 0
            else:
                waited += 1
                if waited > s.max_idle_rounds:
                    self.status = Status.STALLED if violation > self.tol else Status.SOLVED
            if self.status is not None:
                return
            is_quiet = violation <= 1.5 * goal  # no inactive point has come to violate by more
            rows = self.active.activate(rows, score, self.beta)
            goal = s.final_active_tol * tol
            goal = goal if is_quiet else max(s.active_tol * violation, goal)
            rows = self._solve_and_shrink(rows, violation, goal)
            self._update_inactive(violation)

    def _next_tol(self, tol: float) -> float | None:
        """All points are solved to tol: the tolerance to go on with, or the status "solved".

        None if f had to be recomputed before that can be decided.
        """
        s = self.settings
        least = s.least_tol_factor * self.tol
        if self.gap_tol is None and tol > least:
            gap = self.subproblem(np.arange(self.n)).relative_gap()
            reduced = s.reduced_tol(tol, self.tol, gap)
            if reduced < tol:  # many small violations
                return reduced
        if not self._is_exact():
            return None
        if self.gap_tol is None:
            _, _, violation = intercepts(self.problem, self.beta, self.f, self.f_error)
            if violation <= self.tol or tol <= least:
                self.status = Status.SOLVED
            return max(tol * min(0.9, self.tol / max(violation, 1e-300)), least)
        gap = self._certified_gap()
        if gap <= self.gap_tol:
            self.status = Status.SOLVED
        return tol * min(max(self.gap_tol / max(gap, 1e-300), 0.1), 0.7)

    def _update_inactive(self, violation: float) -> None:
        """Update f at inactive points, except where the KKT slack is still large enough."""
        may_wait = None
        if violation > self.tol:
            reach = self.settings.recheck_factor * violation
            may_wait = self.score < -reach
            self.score[may_wait] += reach
        self.gradient.update(self.beta, may_wait)

    def _solve_and_shrink(self, rows: RowCache, violation: float, goal: float) -> RowCache:
        """Solve the active points to ``goal`` in several stages, and shrink after each.

        Returns the row cache that is left: all of them use the same memory.
        """
        while True:
            tol = max(goal, self.settings.active_tol * violation)
            self.solve_active(rows, tol)
            if tol <= goal or self.is_stuck or self.status is not None:
                return rows
            violation, score = self.scores(self.subproblem(rows.columns))
            rows = self.active.shrink(rows, score, self.beta)

    def must_stop(self) -> bool:
        """Check the limits; sets the status."""
        if self.flags & PairFlags.UNBOUNDED:
            self.status = Status.NOT_SEPARABLE
        elif self.steps >= self.max_steps:
            self.status = Status.ITERATION_LIMIT
        else:
            self.status = self.stopping.stopped
            if self.status is None and self.stopping.remaining < self.reserve:
                self.status = Status.TIME_LIMIT
        return self.status is not None

    # ---- active points ----------------------------------------------------------------------

    def subproblem(self, columns: np.ndarray) -> Subproblem:
        """The variables of some points."""
        f, sums = self.gradient.f, self.gradient.sums
        return Subproblem.of(self.problem, self.row, self.group, columns, self.beta, f, sums)

    def scores(self, sub: Subproblem) -> tuple[float, np.ndarray]:
        """The violation, and the score of each point (−∞: not among these)."""
        violation, score = sub.scores()
        by_point = np.full(self.n, -np.inf)
        by_point[sub.columns] = score
        self.score[sub.columns] = score
        return violation, by_point

    def solve_active(self, rows: RowCache, tol: float) -> None:
        """Working sets among the cache's columns until their violation is at most ``tol``."""
        s = self.settings
        sub = self.subproblem(rows.columns)
        update = BlockUpdate(sub, rows, self.buffers, self.problem.row is not None, s)
        best, best_round = np.inf, self.rounds
        patience = s.max_idle_working_sets + sub.variables.size // update.size
        while True:
            violation, v, top, bottom = sub.violation()
            if violation < _PROGRESS * best:
                best, best_round = violation, self.rounds
            self.is_stuck = self.rounds - best_round > patience
            if violation <= tol or self.is_stuck or self.must_stop():
                break
            self._report(violation, sub)
            inner_tol = max(s.working_set_tol * violation, s.least_working_set_tol * tol)
            changed, delta = update(v, top, bottom, inner_tol, self.max_steps - self.steps)
            self.steps += update.steps
            self.flags |= update.flags
            if changed.size == 0:
                break
            rows.add_to(sub.f, sub.sums, changed, delta)
            self.gradient.record_change(sub.columns[changed], delta)
            self._check_separability(sub)
            self.rounds += 1
        self._write_back(sub)

    def _write_back(self, sub: Subproblem) -> None:
        self.beta[sub.variables] = sub.beta
        self.gradient.f[sub.columns], self.gradient.sums[sub.columns] = sub.f, sub.sums

    def _check_separability(self, sub: Subproblem) -> None:
        """Stop as soon as a hard margin is proved impossible."""
        if self.watch.is_idle:
            return
        self._write_back(sub)
        proof = self.watch(self.beta, self.gradient.f)
        if proof is not None:
            sub.beta = proof.weights[sub.variables]
            self.flags |= PairFlags.UNBOUNDED

    # ---- the end ----------------------------------------------------------------------------

    def relevant(self) -> tuple[np.ndarray, np.ndarray, bool]:
        """Points whose error of f is part of the gap, or of the certificate; whether it is small.

        Of the gap it is part at the points whose term can be above zero; of the values of the
        certificate also at all support vectors. The error is small if it is against tol, and if
        what it adds to primal value and gap is against the gap.
        """
        s = self.settings
        sub = self.subproblem(np.arange(self.n))
        error = np.minimum(self.gradient.error, _LARGE_ERROR)
        gap, more = sub.gap(error)
        is_support = self.gradient.coefficients(np.abs(self.beta)) > 0
        relevant = np.flatnonzero(is_support | (more > 0))
        width = np.minimum(sub.upper - sub.lower, np.abs(sub.beta).max(initial=1.0))
        of_gap = np.bincount(sub.row, weights=width, minlength=self.n) * error
        is_small = (
            float(error[relevant].max(initial=0.0)) <= s.error_of_tol * self.tol
            and float(of_gap[relevant].sum()) <= s.error_of_gap * gap
        )
        return np.flatnonzero(more > 0), relevant, is_small

    def _is_exact(self) -> bool:
        """Whether f is accurate where it matters; if not, it is recomputed there in float64."""
        began = time.perf_counter()
        near, relevant, is_small = self.relevant()
        is_fresh = self.gradient.is_fresh
        is_exact = is_small or bool(is_fresh[relevant].all())
        if not is_exact:
            seconds = self.gradient.seconds_to_recompute(self.beta, relevant)
            if self.stopping.remaining < 2 * seconds:  # a stop may come first: the gap before all
                self.gradient.recompute(self.beta, near[~is_fresh[near]])
            self.gradient.recompute(self.beta, relevant[~is_fresh[relevant]])
        self.certificate_seconds += time.perf_counter() - began
        return is_exact

    def _certified_gap(self) -> float:
        (problem, result), *_ = snapshot(self.problem, self.beta, self.gradient.f)
        diag = upper_diagonal(self.gram)
        return relative_gap(problem, replace(result, f_error=self.gradient.error, diag=diag))

    def restore(self) -> None:
        """Move the rounding of Σβ onto one variable of each group."""
        for k, change in restore_sums(self.problem, self.beta).items():
            point, by = np.array([self.row[k]]), np.array([change])
            self.gradient.record_change(point, by)
            f, sums = self.gradient.f, self.gradient.sums
            self.gram.accumulate(f, np.arange(self.n), point, by, np.float32, bound=sums)

    def is_reconstruction_quick(self) -> bool:
        """Whether f of the present β at all points is within its time budget."""
        seconds = self.gradient.seconds_to_reconstruct(self.beta)
        return seconds <= self.settings.reconstruction_seconds + self.reserve

    def _report(self, violation: float, sub: Subproblem) -> None:
        if self.stopping.callback is not None:
            effort = self.stopping.seconds, self.rounds, self.steps
            state = partial(self._snapshot, sub)
            beta, result = partial(self._beta_now, sub), partial(self._result_now, sub)
            now = Progress(*effort, violation, self.tol, state=state, beta=beta, result=result)
            self.stopping.report(now)

    def _result_now(self, sub: Subproblem) -> Result:
        self._write_back(sub)
        return result_now(self)

    def _beta_now(self, sub: Subproblem) -> np.ndarray:
        beta = self.beta.copy()
        beta[sub.variables] = sub.beta
        return beta

    def _snapshot(self, sub: Subproblem) -> list:
        beta = self._beta_now(sub)
        coef = self.gradient.coefficients(beta)
        f, _ = self.gram.bounded_sums(coef, np.arange(self.n))
        return snapshot(self.problem, beta, f)

    @property
    def f(self) -> np.ndarray:
        return self.gradient.f

    @property
    def f_error(self) -> np.ndarray:
        return self.gradient.error

    @property
    def met_negative_curvature(self) -> bool:
        return bool(self.flags & PairFlags.MET_NEGATIVE_CURVATURE)
