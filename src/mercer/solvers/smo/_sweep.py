"""One pass over the points that are in no sample yet, when a time limit leaves no time for more.

A dual value near the optimum needs duals of most rows; the model of a sample has a primal value
near it much sooner. So f of the settled sample is brought up to date at all points, and then the
other points are taken in random blocks: f at a block is updated, and its points are solved with all
other duals fixed (a pass of block coordinate ascent). Each kernel value between two blocks is
computed once. With Δ the change of a block and f₀, f there before and after it,

    (β + Δ)ᵀK(β + Δ) = βᵀKβ + Δᵀ(f₀ + f),

so that the dual value is known although f is out of date at the blocks before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer.gram._machine import pieces
from mercer.solvers._solution import diagonal_bound
from mercer.solvers.smo._early_stop import QuadraticForm, dual_bound
from mercer.solvers.smo._gradient import Settled
from mercer.solvers.smo._working_set import set_difference

if TYPE_CHECKING:
    from mercer.solvers.smo._decomposition import DecompositionSMO

__all__ = ["is_short_of_time", "sweep"]


def is_short_of_time(run: DecompositionSMO, seen: np.ndarray, stage_seconds: float) -> bool:
    """Whether the next sample leaves no time for a sweep, and one after this sample is of use.

    ``stage_seconds`` is what the last sample took.
    """
    has_bound = run.gram.is_psd is True and not run.problem.is_hard
    if run.stopping.time_limit is None or run.active.all_rows is not None or not has_bound:
        return False
    if seen.size < run.settings.sweep_part * run.n:
        return False
    growth, remaining = run.settings.sample_growth, run.stopping.remaining
    support = int(np.count_nonzero(run.beta))
    if growth * seen.size >= run.n:  # all points, and to a smaller tolerance
        needed = growth**2 * stage_seconds
    else:
        needed = growth * stage_seconds + _seconds(run, growth * seen.size, growth * support)
    if needed < remaining or run.gradient.seconds_for(run.n * support) > remaining:
        return False
    return _excess(run, seen) <= run.settings.sweep_excess


def _excess(run: DecompositionSMO, seen: np.ndarray) -> float:
    """What other points add to the primal value of the sample's model, relative to it, about.

    Their mean loss in place of that of the points of the sample, from some of either.
    """
    problem, rng = run.problem, np.random.default_rng(2)
    coef, f = run.gradient.coefficients(run.beta), np.zeros(run.n)
    others, count = set_difference(np.arange(run.n), seen, run.n), run.settings.least_block
    groups = [np.sort(rng.permutation(points)[:count]) for points in (seen, others)]
    rows = np.flatnonzero(coef)
    run.gram.accumulate(f, np.concatenate(groups), rows, coef[rows], np.float32)
    v = problem.target - problem.at_variables(f)
    is_in = [np.isin(run.row, points) for points in groups]
    b = 0.0
    if problem.n_groups:
        free = is_in[0] & (run.beta > problem.lower) & (run.beta < problem.upper)
        b = float(np.median(v[free])) if free.any() else float(run.subproblem(groups[0]).b[0])
    losses = problem.losses(v - b)
    norm = float(coef[groups[0]] @ f[groups[0]]) * seen.size / groups[0].size
    values = [
        norm / 2 + run.n * float(losses[here].sum()) / points.size
        for here, points in zip(is_in, groups, strict=True)
    ]
    return values[1] / max(values[0], 1e-300) - 1


def _seconds(run: DecompositionSMO, seen: int, support: int) -> float:
    """How long a pass takes after a sample of some points with some support vectors, about."""
    left = run.n - seen
    values = run.n * support + left**2 * support / (2 * max(seen, 1))
    return run.settings.sweep_overhead * run.gradient.seconds_for(int(values))


def sweep(run: DecompositionSMO, seen: np.ndarray) -> None:
    """Solve the other points in random blocks, one after the other; sets ``run.lower``.

    f is out of date at all points but the last block's when it ends.
    """
    run.reserve = 0.0
    run.gradient.update(run.beta)
    run.settled = Settled(run.beta.copy(), run.gradient.copy())
    if run.must_stop():
        return
    run.model = run.settled
    form = QuadraticForm.of(run.gradient, run.beta)
    rest = np.random.default_rng(1).permutation(set_difference(np.arange(run.n), seen, run.n))
    size = max(run.settings.least_block, -(-rest.size // run.settings.blocks_of_sweep))
    run.gradient.deactivate(np.arange(run.n), run.beta)
    for part in pieces(rest.size, size):
        form = _solve_block(run, np.sort(rest[part]), form)
        if run.status is not None:
            return


def _solve_block(run: DecompositionSMO, block: np.ndarray, form: QuadraticForm) -> QuadraticForm:
    """Solve the points of a block, and bound the dual value from below."""
    gradient = run.gradient
    may_wait = np.ones(run.n, bool)
    may_wait[block] = False
    gradient.update(run.beta, may_wait)
    if run.must_stop():
        return form
    before, f, error = run.beta.copy(), gradient.f[block], gradient.error[block]
    violation, score = run.scores(run.subproblem(block))
    rows = run.active.activate(None, score, run.beta)
    run.solve_active(rows, run.settings.sample_tol * violation)
    change = gradient.coefficients(run.beta - before)[block]
    # f is up to date where it changed: at the active ones.
    form = form.moved(change, f + gradient.f[block], error + gradient.error[block])
    diag = diagonal_bound(run.problem, run.gram, run.beta)
    run.lower = max(run.lower, dual_bound(run.problem, gradient, diag, form, run.beta))
    gradient.deactivate(gradient.up_to_date(), run.beta)
    return form
