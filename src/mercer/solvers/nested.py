"""Block SMO on nested working sets: the production solver for more than some hundred points.

    all n points  ⊃  columns in play  ⊃  working set of some hundred variables  ⊃  a pair

A *pair* step is analytic (`_pairs`). A *working set* is solved by pairs on a small dense block of K;
what changed is then carried to all columns in play with float32 rows from a `RowStore`. When these
are solved, what changed is carried to the points out of play by tiles that are summed and forgotten,
in the precision the tolerance needs; points that have come to violate join, and so on until none do.
So most work touches few columns, each kernel value outside is computed about once, and the row store
may be as small as the user likes.

Before all points are looked at, growing random samples of them are solved loosely: they find most
support vectors at a fraction of the cost.

f = Kβ at points in play is carried in float32 steps and marked stale. Before the answer is given it
is compared with float64 sums at some of them and, where the difference matters, summed afresh.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mercer.gram import Gram, RowStore
from mercer.problems.boxqp import BoxQP
from mercer.result import Status
from mercer.solvers._pairs import LANE, MET_NEGATIVE_CURVATURE, UNBOUNDED, solve_pairs
from mercer.solvers._scan import choose, extremes
from mercer.solvers.control import Control, Progress

__all__ = ["NestedSMO"]

# Variables in a working set, at most this share of those in play; half is kept for the next.
WORKING_SET = 1024
WORKING_SHARE = 0.125
# A working set is solved to this share of the violation in play, not more exactly.
WORKING_TOL = 0.1
# Pair steps on one working set before the rest has its say.
STEPS_PER_VARIABLE = 20
# The first random sample, by how much samples grow, and the share of the violation they are left at.
FIRST_SAMPLE = 2048
SAMPLE_GROWTH = 2
SAMPLE_TOL = 0.1
# Columns in play are solved to this share of the violation outside, and in the end of tol.
PLAY_TOL = 0.1
LAST_TOL = 0.8
# So many points close to violating join too, as a share of those that do or are free.
NEAR = 0.3
# A store of which less than this share is still wanted is built anew.
COMPACT = 0.6
# The columns of a new store may grow by this factor before it is built anew.
ROOM = 1.25
# f is compared with float64 at so many points; an error above this share of tol is mended.
CHECKED = 256
ERROR_SHARE = 0.1
# Rounds over all points without progress after which the solver gives up.
PATIENCE = 8


class NestedSMO:
    """One run on one problem: the state is β, and f = Kβ at the points.

    Parameters
    ----------
    problem : BoxQP
    gram : Gram
    control : Control
    tol, max_steps, cache_bytes : the solver's settings
    start : float64 array
        Where to begin.
    """

    def __init__(
        self,
        problem: BoxQP,
        gram: Gram,
        control: Control,
        tol: float,
        max_steps: float,
        cache_bytes: int,
        start: np.ndarray,
    ):
        self.problem = problem
        self.gram = gram
        self.control = control
        self.tol = tol
        self.max_steps = max_steps
        self.cache_bytes = cache_bytes
        self.memory = self.gram.memory(cache_bytes)
        self.n = gram.n
        m = problem.n_variables
        self.row = np.arange(m) if problem.row is None else problem.row
        self.group = np.zeros(m, np.int8) if problem.group is None else problem.group
        self.beta = start.copy()
        self.f = np.zeros(self.n)
        self.stale = np.zeros(self.n, bool)
        self.f_error = 0.0
        self.steps = 0
        self.rounds = 0
        self.flags = 0
        self.status: Status | None = None
        self.dtype = self._precision()

    # ---- the driver -------------------------------------------------------------------------

    def run(self) -> Status:
        """Samples, then all points; returns why it stopped."""
        seen = np.zeros(0, np.int64)
        for sample in self._samples():
            self._add_to_f(np.setdiff1d(sample, seen), self.beta)
            seen = sample
            if sample.size < self.n:
                self._solve_sample(sample)
        if self.status is None:
            self._solve_all()
        self._settle_f()
        assert self.status is not None
        return self.status

    def _samples(self) -> Iterator[np.ndarray]:
        """Growing sets of points, the last with all of them."""
        if not self.beta.any():
            order = np.random.default_rng(0).permutation(self.n)
            size = self.n
            sizes = []
            while size > FIRST_SAMPLE * SAMPLE_GROWTH:
                size //= SAMPLE_GROWTH
                sizes.append(size)
            for size in reversed(sizes):
                yield np.sort(order[:size])
        yield np.arange(self.n)

    def _solve_sample(self, sample: np.ndarray) -> None:
        if self.status is None:
            self._play(self._store(sample, sample.size), SAMPLE_TOL * self._violation()[0])

    def _solve_all(self) -> None:
        store = None
        best, waited, play_tol = np.inf, 0, 0.0
        while True:
            violation, v, top, bottom = self._violation()
            if violation <= self.tol and self._f_is_right():
                self.status = Status.SOLVED
            elif violation < 0.99 * best:
                best, waited = violation, 0
            else:
                waited += 1
                if waited > PATIENCE:
                    self.status = Status.STALLED
            if self.status is not None or self._must_stop():
                return
            if violation <= self.tol:
                continue
            store = self._choose_play(store, v, top, bottom, violation)
            before = self.beta.copy()
            quiet = violation <= 1.5 * play_tol  # nothing new came from outside
            play_tol = LAST_TOL * self.tol if quiet else max(PLAY_TOL * violation, LAST_TOL * self.tol)
            self._play(store, play_tol)
            outside = np.ones(self.n, bool)
            outside[store.columns] = False
            self._add_to_f(np.flatnonzero(outside), self.beta - before)

    def _must_stop(self) -> bool:
        """Ask the limits; sets the status."""
        if self.flags & UNBOUNDED:
            self.status = Status.NOT_SEPARABLE
        elif self.steps >= self.max_steps:
            self.status = Status.ITERATION_LIMIT
        else:
            self.status = self.control.stopped
        return self.status is not None

    # ---- points in play ---------------------------------------------------------------------

    def _choose_play(
        self,
        store: RowStore | None,
        v: np.ndarray,
        top: np.ndarray,
        bottom: np.ndarray,
        violation: float,
    ) -> RowStore:
        """Free variables, violators and those near it join the columns in play."""
        p, beta = self.problem, self.beta
        rises, falls = beta < p.upper, beta > p.lower
        free = rises & falls
        level = self._levels(v, free, top, bottom)[self.group]
        score = np.where(rises, v - level, -np.inf)
        np.maximum(score, np.where(falls, level - v, -np.inf), out=score)
        count = np.count_nonzero(free | (score > 0))
        most = max(4 * FIRST_SAMPLE, int(np.sqrt(self.cache_bytes)))
        if (1 + NEAR) * count <= most:
            score[free] = np.inf
        count = min(int((1 + NEAR) * count) + WORKING_SET, most, score.size)
        wanted = np.argpartition(-score, count - 1)[:count]
        points = np.unique(self.row[wanted])
        if store is not None and points.size > COMPACT * store.n:
            new = np.setdiff1d(points, store.columns)
            if store.n + new.size <= min(store.room, most):
                if new.size:
                    store.extend(new)
                return store
        return self._store(points, min(int(ROOM * points.size), self.n))

    def _levels(
        self, v: np.ndarray, free: np.ndarray, top: np.ndarray, bottom: np.ndarray
    ) -> np.ndarray:
        """Where v of free variables lies in each group: an estimate of b."""
        levels = (top + bottom) / 2
        for g in range(self.problem.n_groups):
            members = v[free & (self.group == g)]
            if members.size:
                levels[g] = np.median(members)
        return levels

    def _store(self, columns: np.ndarray, room: int) -> RowStore:
        return RowStore(self.gram, columns, room, self.memory)

    def _play(self, store: RowStore, tol: float) -> None:
        """Working sets among the store's columns until their violation is at most ``tol``."""
        p = self.problem
        where = np.full(self.n, -1)
        where[store.columns] = np.arange(store.n)
        variables = np.flatnonzero(where[self.row] >= 0)
        row = where[self.row[variables]]
        target, lower, upper = p.target[variables], p.lower[variables], p.upper[variables]
        group = self.group[variables]
        beta, f = self.beta[variables], self.f[store.columns]
        v = np.empty(variables.size)
        size = min(WORKING_SET, max(256, int(WORKING_SHARE * variables.size) // LANE * LANE))
        recent = np.zeros(0, np.int64)
        while True:
            top, bottom = extremes(f, row, target, beta, lower, upper, group, p.n_groups, v)
            violation = float((top - bottom).max())
            if violation <= tol or self._must_stop():
                break
            self._tell(violation)
            taken = np.zeros(variables.size, bool)
            taken[recent] = True
            fresh = choose(
                v, beta, lower, upper, group, p.n_groups, top, bottom, taken,
                size - recent.size,
            )  # fmt: skip
            chosen = np.concatenate([recent, fresh])
            changed, delta = self._work(
                store, chosen, row, v, beta, lower, upper, group,
                max(WORKING_TOL * violation, 0.3 * tol),
            )  # fmt: skip
            if changed.size == 0:
                break
            store.add_to(f, changed, delta)
            recent = fresh[: size // 2]
            self.rounds += 1
        self.beta[variables] = beta
        self.f[store.columns] = f
        self.stale[store.columns] = True

    def _work(
        self,
        store: RowStore,
        chosen: np.ndarray,
        row: np.ndarray,
        v: np.ndarray,
        beta: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        group: np.ndarray,
        tol: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve one working set by pairs; the points whose coefficient changed, and by how much."""
        ws, real, split = lay_out(chosen, group, self.problem.n_groups)
        K = self._block(store, row[ws])
        if self.problem.n_groups == 0:
            K[-1] = 0
            K[:, -1] = 0
        b, grad, lo, hi = beta[ws], -v[ws], lower[ws], upper[ws]
        pad(real, b, grad, lo, hi, self.problem.n_groups)
        max_steps = min(STEPS_PER_VARIABLE * ws.size, self.max_steps - self.steps)
        steps, _, flags = solve_pairs(K, b, grad, lo, hi, split, tol, int(max_steps))
        self.steps += steps
        self.flags |= flags
        ws, b = ws[real], b[real]
        delta = b - beta[ws]
        moved = delta != 0
        beta[ws] = b
        points, delta = row[ws[moved]], delta[moved]
        if self.problem.row is not None:
            points, back = np.unique(points, return_inverse=True)
            delta = np.bincount(back, weights=delta, minlength=points.size)
        return points, delta

    def _block(self, store: RowStore, columns: np.ndarray) -> np.ndarray:
        """K of the working set."""
        block = self.gram.block(store.columns[columns], np.float32)
        K = np.empty((columns.size, columns.size), np.float32)
        half = columns.size // 2

        def part(rows: slice) -> None:
            self.gram.kernel.tile(block[rows], block, K[rows])

        self.gram.workers.map(part, [slice(0, half), slice(half, columns.size)])
        return K

    # ---- f = K beta -------------------------------------------------------------------------

    def _violation(self) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        p = self.problem
        v = np.empty(p.n_variables)
        top, bottom = extremes(
            self.f, self.row, p.target, self.beta, p.lower, p.upper, self.group, p.n_groups, v
        )
        return float((top - bottom).max()), v, top, bottom

    def _add_to_f(self, at: np.ndarray, change: np.ndarray) -> None:
        """f[at] += K[at, :] change, in the precision this problem needs."""
        coef = self.problem.at_points(change, self.n)
        rows = np.flatnonzero(coef)
        self.gram.accumulate(self.f, at, rows, coef[rows], self.dtype)

    def _precision(self) -> type:
        """float32 for the tiles outside play if a sample of the kernel says that it is enough."""
        p = self.problem
        rng = np.random.default_rng(0)
        some = rng.choice(self.n, min(self.n, 512), replace=False)
        exact = np.empty((64, some.size))
        quick = np.empty((64, some.size), np.float32)
        a, b = self.gram.block(some[:64], np.float64), self.gram.block(some, np.float64)
        self.gram.kernel.tile(a, b, exact)
        a, b = self.gram.block(some[:64], np.float32), self.gram.block(some, np.float32)
        self.gram.kernel.tile(a, b, quick)
        bound = np.minimum(np.abs(p.lower) + np.abs(p.upper), 1e6)
        expected = np.sqrt(np.mean((exact - quick) ** 2) * np.sum(bound**2))
        return np.float32 if expected < ERROR_SHARE * self.tol else np.float64

    def _f_is_right(self) -> bool:
        """Whether stale values agree with float64 sums at some points; else sum all afresh."""
        stale = np.flatnonzero(self.stale) if self.dtype is np.float64 else np.arange(self.n)
        some = stale[:: max(1, stale.size // CHECKED)]
        exact = self._exact_f(some)
        error = float(np.abs(exact - self.f[some]).max(initial=0.0))
        self.f_error = 2 * error
        if error <= ERROR_SHARE * self.tol:
            return True
        self._refresh()
        return self._violation()[0] <= self.tol

    def _exact_f(self, at: np.ndarray) -> np.ndarray:
        out = np.zeros(self.n)
        coef = self.problem.at_points(self.beta, self.n)
        rows = np.flatnonzero(coef)
        self.gram.accumulate(out, at, rows, coef[rows], np.float64)
        return out[at]

    def _refresh(self) -> None:
        """f in float64 at all stale points."""
        stale = np.flatnonzero(self.stale) if self.dtype is np.float64 else np.arange(self.n)
        self.dtype = np.float64
        self.f[stale] = self._exact_f(stale)
        self.stale[:] = False
        self.f_error = 0.0

    def _settle_f(self) -> None:
        """After an early stop: f at every point, consistent with β."""
        if self.status is not Status.SOLVED:
            self.stale[:] = True
            self._refresh()

    def _tell(self, violation: float) -> None:
        if self.control.callback is not None:
            self.control.report(
                Progress(self.control.seconds, self.rounds, self.steps, violation, self.tol)
            )

    @property
    def met_negative_curvature(self) -> bool:
        return bool(self.flags & MET_NEGATIVE_CURVATURE)


def lay_out(chosen: np.ndarray, group: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Variables in whole lanes, one group after the other.

    Returns the variables (padding repeats the first), which of them are real, and the lane at which
    the second group starts. Without groups the last one is the partner of all: see `pad`.
    """
    parts = [chosen] if n_groups < 2 else [chosen[group[chosen] == g] for g in range(2)]
    extra = 1 if n_groups == 0 else 0
    lanes = [-(-(part.size + extra) // LANE) for part in parts]
    ws = np.full(sum(lanes) * LANE, chosen[0])
    real = np.zeros(ws.size, bool)
    begin = 0
    for part, count in zip(parts, lanes, strict=True):
        ws[begin : begin + part.size] = part
        real[begin : begin + part.size] = True
        begin += count * LANE
    return ws, real, lanes[0]


def pad(
    real: np.ndarray,
    beta: np.ndarray,
    grad: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    n_groups: int,
) -> None:
    """Padding cannot move; without groups the last variable may move at no cost.

    A pair step against a variable with a zero kernel row, zero gradient and no bounds is a
    coordinate step: so the model without intercept needs no solver of its own.
    """
    for array in (beta, grad, lower, upper):
        array[~real] = 0.0
    if n_groups == 0:
        lower[-1], upper[-1] = -np.inf, np.inf
