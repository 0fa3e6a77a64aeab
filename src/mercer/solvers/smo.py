"""Sequential minimal optimisation: settings, and the way from a problem to a `Result`.

A small problem is solved on its whole kernel matrix (`direct`), a larger one on nested working sets
(`nested`). Both move pairs of signed duals (`_pairs`) and stop at LIBSVM's measure: the largest
violating pair within a group is at most ``tol``, under f = Kβ summed in float64.

References: Platt 1998; Joachims 1999 (working sets, shrinking); Keerthi et al., Neural Computation
13, 2001 (maximal violating pair); Fan, Chen and Lin, JMLR 6, 2005 (second-order choice).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from mercer._threads import single_threaded_blas
from mercer.gram import Gram
from mercer.problems.boxqp import BoxQP
from mercer.result import Result, Status
from mercer.solvers._scan import extremes
from mercer.solvers.control import Control
from mercer.solvers.direct import DirectSMO
from mercer.solvers.nested import NestedSMO

__all__ = ["SMO"]

# Up to so many variables the whole matrix is the working set.
DIRECT_VARIABLES = 1536
# Where no progress is left, a violation of up to so many times tol is almost a solution.
ALMOST = 10
# A value this large stands for "no such variable".
_ABSENT = 1e299


@dataclass(frozen=True)
class SMO:
    """The production solver of every `BoxQP`.

    Parameters
    ----------
    tol : float
        Largest violating pair at which to stop.
    max_iter : int
        Limit on pair updates; −1 for none.
    cache_bytes : int
        Budget for kernel rows.
    shrinking : bool
        Whether points that stay far from violating leave play; if not, all stay in it.
    """

    tol: float = 1e-3
    max_iter: int = -1
    cache_bytes: int = 200 << 20
    shrinking: bool = True

    def solve(
        self, problem: BoxQP, gram: Gram, control: Control, start: np.ndarray | None = None
    ) -> Result:
        """Solve from ``start``, a feasible β, or else from the problem's own."""
        began = time.perf_counter()
        max_steps = np.inf if self.max_iter < 0 else self.max_iter
        beta = problem.start if start is None else start
        run: DirectSMO | NestedSMO
        with single_threaded_blas():
            if problem.n_variables <= DIRECT_VARIABLES:
                run = DirectSMO(problem, gram, control, self.tol, max_steps, beta)
            else:
                run = NestedSMO(
                    problem,
                    gram,
                    control,
                    self.tol,
                    max_steps,
                    self.cache_bytes,
                    beta,
                    self.shrinking,
                )
            status = run.run()
        b, interval, violation = intercepts(problem, run.beta, run.f)
        if run.met_negative_curvature:
            status = Status.NOT_PSD
        elif status is Status.STALLED and violation <= ALMOST * self.tol:
            status = Status.ALMOST_SOLVED
        return Result(
            beta=run.beta,
            f=run.f,
            f_error=run.f_error,
            b=b,
            b_interval=interval,
            violation=violation,
            status=status,
            iterations=run.steps,
            rounds=run.rounds,
            seconds=time.perf_counter() - began,
        )


def intercepts(
    problem: BoxQP, beta: np.ndarray, f: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """The multiplier of each group, the interval KKT leaves it, and the largest violation.

    On free variables target − f equals b: their mean, where there are any; else the middle of the
    interval between the largest that may rise and the smallest that may fall.
    """
    m = problem.n_variables
    row = np.arange(m) if problem.row is None else problem.row
    group = np.zeros(m, np.int8) if problem.group is None else problem.group
    v = np.empty(m)
    top, bottom = extremes(
        f, row, problem.target, beta, problem.lower, problem.upper, group, problem.n_groups, v
    )
    violation = max(float((top - bottom).max()), 0.0)
    b = np.zeros(problem.n_groups)
    interval = np.empty((problem.n_groups, 2))
    free = (beta > problem.lower) & (beta < problem.upper)
    for g in range(problem.n_groups):
        free_v = v[free if problem.n_groups == 1 else free & (group == g)]
        low = top[g] if top[g] > -_ABSENT else -np.inf
        high = bottom[g] if bottom[g] < _ABSENT else np.inf
        interval[g] = low, high
        ends = [end for end in (low, high) if np.isfinite(end)]
        if free_v.size:
            b[g] = free_v.mean()
        elif ends:
            b[g] = sum(ends) / len(ends)
    return b, interval, violation
