"""Block SMO on nested working sets: the production solver for more than some hundred points.

    all n points  ⊃  columns in play  ⊃  working set of some hundred variables  ⊃  a pair

A *pair* step is analytic (`_pairs`). A *working set* is solved by pairs on a small dense block of
K; what changed is then carried to all *columns in play* with float32 rows from a `RowCache`. When
these are solved, what changed is carried to the points out of play by tiles that are summed and
forgotten; points that have come to violate join, and so on until none do. So most work touches few
columns, and the row store may be as small as the user likes. (Where a kernel value is costly and
there is room, all columns stay in play and no value is computed twice.)

Before all points are looked at, growing random samples of them are solved loosely: they find most
support vectors at a fraction of the cost.

f = Kβ is updated in float32 steps, with a bound on its error (`values`). Where that is too large
for the certificate at the end, f is recomputed in float64 and the solver goes on: what is left to
change is then so small that float32 steps do no harm (iterative refinement).
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np

from mercer._result import Status
from mercer.gram import BlockedGram, RowCache
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._solution import relative_gap, restore_sums, so_far
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.separability._hull import HardMarginWatch
from mercer.solvers.smo._gradient import FIRST_PACE, Values
from mercer.solvers.smo._pair_update import LANE, MET_NEGATIVE_CURVATURE, UNBOUNDED, solve_pairs
from mercer.solvers.smo._selection import choose
from mercer.solvers.smo._shrinking import InPlay
from mercer.solvers.smo._working_set import Part, growing_samples, lay_out, pad, without

__all__ = ["NestedSMO"]

# Variables in a working set, at most this share of those in play; half is kept for the next. Not a
# power of two: the rows of its block would fall on the same lines of the cache.
WORKING_SET = 992
WORKING_SHARE = 0.25
FEWEST_WORKING = 256
# A working set is solved to this share of the violation in play, not more exactly.
WORKING_TOL = 0.1
# Pair steps on one working set before the rest has its say.
STEPS_PER_VARIABLE = 20
# The first random sample, smaller where f at all points of its answer would not be quick to have,
# and the share of the violation that is left of each.
FIRST_SAMPLE = 2048
SAMPLE_TOL = 0.1
# Columns in play are solved to this share of the violation outside, and in the end of tol.
PLAY_TOL = 0.1
LAST_TOL = 0.6
# Many small violations can leave a gap larger than tol lets one expect: with more than this share
# of the primal value the solver goes on with a smaller tol, but not below a share of it.
SMALL_GAP = 3e-4
FINEST = 0.2
# A point out of play is not looked at again while it was satisfied by more than this share of the
# violations that were left since.
REACH = 0.5
# With gap_tol: the first tolerance of the violation.
FIRST_TOL = 0.3
# f is exact enough if its error is at most ERROR_OF_TOL · tol, and if what it adds to the primal
# value and the gap is at most ERROR_OF_GAP of the gap.
ERROR_OF_TOL = 0.1
# Stands for an infinite error of f, in sums with zero weights.
UNKNOWN = 1e300
ERROR_OF_GAP = 0.05
# Seconds that may still be spent on f at all points when the fit has to stop.
QUICK = 0.3
# Working sets without progress, beyond as many as all variables make, after which f is summed
# afresh: float32 rows may not go further.
STUCK = 150
# Rounds over all points without progress after which the solver gives up.
PATIENCE = 8


class NestedSMO:
    """One run on one problem: the state is β, and f = Kβ at the points (`Values`).

    Parameters
    ----------
    problem : BoxQP
    gram : BlockedGram
    stopping : Stopping
    tol, max_steps, cache_bytes : the solver's settings
    start : float64 array
        Where to begin.
    shrinking : bool
        Whether points may become inactive.
    gap_tol : float or None
        Stop at this certified relative gap instead of at ``tol``.
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
    ):
        self.gap_tol = gap_tol
        self.problem = problem
        self.gram = gram
        self.stopping = stopping
        self.tol = tol
        self.max_steps = max_steps
        side = WORKING_SET + 2 * LANE
        self.blocks = [np.empty(side * side, np.float32) for _ in range(2)]
        self.n = gram.n
        m = problem.n_variables
        self.row = np.arange(m) if problem.row is None else problem.row
        self.group = np.zeros(m, np.int8) if problem.group is None else problem.group
        self.beta = start.copy()
        self.values = Values(problem, gram, lambda: stopping.stopped is not None)
        self.score = np.zeros(self.n)  # by how much points violate, as of when they were looked at
        self.watch = HardMarginWatch(problem, gram)
        self.in_play = InPlay(gram, self.values, cache_bytes, WORKING_SET, shrinking)
        # The last β with f at all points and its error.
        self.settled: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
        self.stages: list[np.ndarray] = []  # β before each sample
        self.reached: np.ndarray | None = None  # the last β, where the answer is an earlier one
        self.certificate_seconds = 0.0
        self.steps = 0
        self.rounds = 0
        self.flags = 0
        self.is_stuck = False
        self.status: Status | None = None

    # ---- the driver -------------------------------------------------------------------------

    def run(self) -> Status:
        """Samples, then all points; returns why it stopped."""
        seen = np.zeros(0, np.int64)
        smallest = min(FIRST_SAMPLE, max(int(QUICK / (2 * FIRST_PACE * self.n)), LANE))
        samples = growing_samples(self.n, self.n if self.beta.any() else smallest)
        for sample in samples:
            new = without(sample, seen, self.n)
            self.in_play.see(new, self.beta, self.problem)
            seen = sample
            if not self._must_stop():
                solve = self._solve_sample if sample.size < self.n else self._solve_all
                solve()
            if self.status is not None:
                break
        assert self.status is not None
        if self.status in (Status.TIME_LIMIT, Status.STOPPED):
            self._close()
        elif self.status is not Status.SOLVED:
            self.values.complete(self.beta)
            self.values.recompute(self.beta, self._relevant()[0])
        self._restore_sums()
        return self.status

    def _solve_sample(self) -> None:
        """The points seen so far, loosely; those out of play are not looked at again for now."""
        self.stages.append(self.beta.copy())
        violation, score = self._scores(self._part(self.values.up_to_date()))
        self._play(self.in_play.join(None, score, self.beta), SAMPLE_TOL * violation)
        if self.stopping.time_limit is not None and not self._is_quick():
            self._settle()

    def _settle(self) -> None:
        """f of a sample's answer at all points: a model to fall back on when the time is up."""
        found = self.values.caught_up(self.beta, self.values.is_stopped)
        if found is not None:
            self.settled = self.beta.copy(), *found

    def _solve_all(self) -> None:
        store = None
        best, waited, goal, tol = np.inf, 0, 0.0, self.tol
        if self.gap_tol is not None:
            tol = max(tol, FIRST_TOL)
        while True:
            if self._must_stop():
                return
            if self.is_stuck:
                self.values.complete(self.beta)
                self.values.recompute(self.beta, np.arange(self.n))
            violation, score = self._scores(self._part(self.values.up_to_date()))
            if self.values.is_complete and self.stopping.time_limit is not None:
                self.settled = self.beta.copy(), self.values.f.copy(), self.values.error
            if violation <= tol:
                if not self.values.is_complete:
                    self._catch_up(0.0)  # now look at those who waited
                    continue
                gap = self._part(np.arange(self.n)).relative_gap()
                if self.gap_tol is not None:
                    if not self._is_exact():
                        continue
                    gap = self._certified_gap()
                    if gap <= self.gap_tol:
                        self.status = Status.SOLVED
                    tol *= min(max(self.gap_tol / max(gap, 1e-300), 0.1), 0.7)
                elif gap > SMALL_GAP and tol > FINEST * self.tol:
                    tol = max(tol * min(0.5, SMALL_GAP / gap), FINEST * self.tol)
                elif self._is_exact():
                    self.status = Status.SOLVED
                else:
                    continue  # f is another one now
            elif violation < 0.99 * best:
                best, waited = violation, 0
            else:
                waited += 1
                if waited > PATIENCE:
                    self.status = Status.STALLED if violation > self.tol else Status.SOLVED
            if self.status is not None:
                return
            quiet = violation <= 1.5 * goal  # nothing new came from outside
            store = self.in_play.join(store, score, self.beta)
            goal = LAST_TOL * tol if quiet else max(PLAY_TOL * violation, LAST_TOL * tol)
            store = self._descend(store, violation, goal)
            self._catch_up(violation)

    def _catch_up(self, violation: float) -> None:
        """f at points out of play that may have come to violate since the last look at them."""
        may_wait = self.score < -REACH * violation if violation > self.tol else None
        if may_wait is not None:
            self.score[may_wait] += REACH * violation
        self.values.catch_up(self.beta, may_wait)

    def _descend(self, store: RowCache, violation: float, goal: float) -> RowCache:
        """Solve the columns in play to ``goal``; those that stay far from violating leave.

        Returns the store that is left: all of them lie in the same memory.
        """
        while True:
            step = max(goal, PLAY_TOL * violation)
            self._play(store, step)
            if step <= goal or self.is_stuck or self.status is not None:
                return store
            violation, score = self._scores(self._part(store.columns))
            store = self.in_play.leave(store, score, self.beta)

    def _must_stop(self) -> bool:
        """Ask the limits; sets the status."""
        if self.flags & UNBOUNDED:
            self.status = Status.NOT_SEPARABLE
        elif self.steps >= self.max_steps:
            self.status = Status.ITERATION_LIMIT
        else:
            self.status = self.stopping.stopped
        return self.status is not None

    # ---- points in play ---------------------------------------------------------------------

    def _part(self, columns: np.ndarray) -> Part:
        """The variables of some points."""
        values = self.values
        return Part.of(
            self.problem, self.row, self.group, columns, self.beta, values.f, values.sums
        )

    def _scores(self, part: Part) -> tuple[float, np.ndarray]:
        """The violation, and by how much each point violates (−∞: not among these)."""
        violation, score = part.scores()
        by_point = np.full(self.n, -np.inf)
        by_point[part.columns] = score
        self.score[part.columns] = score
        return violation, by_point

    def _play(self, store: RowCache, tol: float) -> None:
        """Working sets among the store's columns until their violation is at most ``tol``."""
        part = self._part(store.columns)
        n_variables = part.variables.size
        share = int(WORKING_SHARE * n_variables) // LANE * LANE
        size = min(WORKING_SET, max(FEWEST_WORKING, share))
        recent, known = np.zeros(0, np.int64), np.zeros((0, 0), np.float32)
        best, best_round = np.inf, self.rounds
        patience = STUCK + n_variables // size
        while True:
            violation, v, top, bottom = part.violation()
            if violation < 0.99 * best:
                best, best_round = violation, self.rounds
            self.is_stuck = self.rounds - best_round > patience
            if violation <= tol or self.is_stuck or self._must_stop():
                break
            self._tell(violation, part)
            taken = np.zeros(n_variables, bool)
            taken[recent] = True
            fresh = choose(
                v, part.beta, part.lower, part.upper, part.group, part.n_groups,
                top, bottom, taken, size - recent.size,
            )  # fmt: skip
            chosen = np.concatenate([recent, fresh])
            ws, real, split = lay_out(chosen, part.group, part.n_groups)
            K = self._block(store, part.row[ws], known)
            changed, delta = self._work(
                part, K, ws, real, split, v, max(WORKING_TOL * violation, 0.3 * tol)
            )
            if changed.size == 0:
                break
            store.add_to(part.f, part.sums, changed, delta)
            self.values.count(part.columns[changed], delta)
            self._watch(part)
            begin, recent = recent.size, fresh[: size // 2]
            if part.n_groups < 2:  # then ``ws`` has the order of ``chosen``
                known = K[begin : begin + recent.size, begin : begin + recent.size]
            self.rounds += 1
        self._keep(part)

    def _keep(self, part: Part) -> None:
        self.beta[part.variables] = part.beta
        self.values.f[part.columns], self.values.sums[part.columns] = part.f, part.sums

    def _watch(self, part: Part) -> None:
        """Stop as soon as a hard margin is proved impossible."""
        if self.watch.is_idle:
            return
        self._keep(part)
        proof = self.watch(self.beta, self.values.f)
        if proof is not None:
            part.beta = proof.weights[part.variables]
            self.flags |= UNBOUNDED

    def _work(
        self,
        part: Part,
        K: np.ndarray,
        ws: np.ndarray,
        real: np.ndarray,
        split: int,
        v: np.ndarray,
        tol: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve one working set by pairs; the points whose coefficient changed, and by how much."""
        if part.n_groups == 0:
            K[-1] = 0
            K[:, -1] = 0
        beta, grad, lower, upper = part.beta[ws], -v[ws], part.lower[ws], part.upper[ws]
        pad(real, beta, grad, lower, upper, part.n_groups)
        max_steps = int(min(STEPS_PER_VARIABLE * ws.size, self.max_steps - self.steps))
        steps, _, flags = solve_pairs(K, beta, grad, lower, upper, split, tol, max_steps)
        self.steps += steps
        self.flags |= flags
        ws, beta = ws[real], beta[real]
        delta = beta - part.beta[ws]
        moved = delta != 0
        part.beta[ws] = beta
        points, delta = part.row[ws[moved]], delta[moved]
        if self.problem.row is not None:
            points, back = np.unique(points, return_inverse=True)
            delta = np.bincount(back, weights=delta, minlength=points.size)
        return points, delta

    def _block(self, store: RowCache, columns: np.ndarray, known: np.ndarray) -> np.ndarray:
        """K of the working set, whose first part is known."""
        m, first = columns.size, known.shape[0]
        self.blocks.reverse()  # ``known`` lies in the other one
        K = self.blocks[0][: m * m].reshape(m, m)
        K[:first, :first] = known
        store.square(columns, K, first)
        return K

    # ---- the end ----------------------------------------------------------------------------

    def _relevant(self) -> tuple[np.ndarray, bool]:
        """Samples whose error of f is part of the certificate, and whether it is small there.

        These are the support vectors and the points whose term of the gap can be above zero. Their
        error is small if it is against tol, and if what it adds to primal value and gap is against
        the gap.
        """
        part = self._part(np.arange(self.n))
        error = np.minimum(self.values.error, UNKNOWN)
        gap, more = part.gap(error)
        involved = self.problem.at_points(np.abs(self.beta), self.n) > 0
        relevant = np.flatnonzero(involved | (more > 0))
        width = np.minimum(part.upper - part.lower, np.abs(part.beta).max(initial=1.0))
        doubt = np.bincount(part.row, weights=width, minlength=self.n) * error
        is_small = (
            float(error[relevant].max(initial=0.0)) <= ERROR_OF_TOL * self.tol
            and float(doubt[relevant].sum()) <= ERROR_OF_GAP * gap
        )
        return relevant, is_small

    def _is_exact(self) -> bool:
        """Whether f is exact where it matters; if not, it is recomputed there in float64."""
        began = time.perf_counter()
        relevant, is_small = self._relevant()
        inexact = relevant[~self.values.is_fresh[relevant]]
        is_exact = is_small or inexact.size == 0
        if not is_exact:
            self.values.recompute(self.beta, inexact)
        self.certificate_seconds += time.perf_counter() - began
        return is_exact

    def _certified_gap(self) -> float:
        (problem, snapshot), *_ = so_far(self.problem, self.beta, self.values.f)
        diag = np.abs(self.gram.diag()) * (1 + 1e-6)
        return relative_gap(problem, replace(snapshot, f_error=self.values.error, diag=diag))

    def _restore_sums(self) -> None:
        """Move the rounding of Σβ onto one variable of each group."""
        for k, change in restore_sums(self.problem, self.beta).items():
            point = np.array([self.row[k]])
            self.values.count(point, np.array([change]))
            everyone = np.arange(self.n)
            f, sums = self.values.f, self.values.sums
            self.gram.accumulate(f, everyone, point, np.array([change]), np.float32, bound=sums)

    def _close(self) -> None:
        """After a stop: f at all points, of the last β for which that is known or quick."""
        if not self._is_quick():
            self.reached = self.beta
            self.values.discard()
            if self.settled is not None:
                self.beta, f, error = self.settled
                everyone = np.arange(self.n)
                self.values.set(everyone, f, np.zeros(self.n, np.float32))
                self.values.restore(everyone, f, error)
            while self.stages and not self._is_quick():
                self.beta = self.stages.pop()
        latest = time.perf_counter() + 2 * QUICK
        self.values.complete(self.beta, lambda: time.perf_counter() > latest)
        relevant, _ = self._relevant()
        if self.values.seconds_to_recompute(self.beta, relevant) <= QUICK:
            self.values.recompute(self.beta, relevant, lambda: time.perf_counter() > latest)

    def _is_quick(self) -> bool:
        """Whether f at all points is, for the present β."""
        return self.values.seconds_behind(self.beta) <= QUICK

    def _tell(self, violation: float, part: Part) -> None:
        if self.stopping.callback is not None:
            effort = self.stopping.seconds, self.rounds, self.steps
            state = partial(self._state, part)
            self.stopping.report(Progress(*effort, violation, self.tol, state=state))

    def _state(self, part: Part) -> list:
        beta = self.beta.copy()
        beta[part.variables] = part.beta
        coef = self.problem.at_points(beta, self.n)
        return so_far(self.problem, beta, self.gram.bounded_sums(coef, np.arange(self.n))[0])

    @property
    def f(self) -> np.ndarray:
        return self.values.f

    @property
    def f_error(self) -> np.ndarray:
        return self.values.error

    @property
    def met_negative_curvature(self) -> bool:
        return bool(self.flags & MET_NEGATIVE_CURVATURE)
