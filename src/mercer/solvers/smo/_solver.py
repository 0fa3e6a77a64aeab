"""Sequential minimal optimisation: settings, and the way from a problem to a `Result`.

A small problem is solved on its whole kernel matrix (`direct`), a larger one on nested working sets
(`nested`). Both move pairs of signed duals (`_pairs`) and stop at LIBSVM's measure: the largest
violating pair within a group is at most ``tol``, under f = Kβ summed in float64.

References: Platt 1998; Joachims 1999 (working sets, shrinking); Keerthi et al., Neural Computation
13, 2001 (maximal violating pair); Fan, Chen and Lin, JMLR 6, 2005 (second-order choice).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mercer._result import Result, Status
from mercer._threads import single_threaded_blas
from mercer.gram import BlockedGram
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._solution import answer
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo._class_pair import ClassPairSMO
from mercer.solvers.smo._decomposition import NestedSMO
from mercer.solvers.smo._dense import MOST_SCALE, DirectSMO, is_one_to_one

__all__ = ["SMO"]

# Up to so many variables the whole matrix is the working set.
DIRECT_VARIABLES = 1536


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
        Whether points that stay far from violating become inactive.
    gap_tol : float or None
        Stop at this certified relative gap instead of at ``tol``.
    """

    name: ClassVar[str] = "smo"
    tol: float = 1e-3
    max_iter: int = -1
    cache_bytes: int = 200 << 20
    shrinking: bool = True
    gap_tol: float | None = None

    def refuses(self, problem: BoxQP, gram: BlockedGram) -> None:
        """What it cannot do: nothing."""

    def solve(
        self, problem: BoxQP, gram: BlockedGram, stopping: Stopping, start: np.ndarray | None = None
    ) -> Result:
        """Solve from ``start``, a feasible β, or else from the problem's own."""
        began = time.perf_counter()
        max_steps = np.inf if self.max_iter < 0 else self.max_iter
        beta = problem.start if start is None else start
        run: DirectSMO | NestedSMO
        with single_threaded_blas():
            if problem.n_variables <= DIRECT_VARIABLES:
                run, status = self._solve_direct(problem, gram, stopping, max_steps, beta)
            else:
                run = NestedSMO(
                    problem,
                    gram,
                    stopping,
                    self.tol,
                    max_steps,
                    self.cache_bytes,
                    beta,
                    self.shrinking,
                    self.gap_tol,
                )
                status = run.run()
            result = answer(problem, gram, run, status, self.tol, began, self.gap_tol)
        return replace(result, reached=run.reached) if isinstance(run, NestedSMO) else result

    def _solve_direct(
        self,
        problem: BoxQP,
        gram: BlockedGram,
        stopping: Stopping,
        max_steps: float,
        beta: np.ndarray,
    ) -> tuple[DirectSMO | NestedSMO, Status]:
        """On float32 blocks that class pairs share, and on a float64 matrix where these end."""
        settings = stopping, self.tol, max_steps
        run: DirectSMO
        if gram.parts and is_one_to_one(problem) and gram.diag().max(initial=0.0) <= MOST_SCALE:
            run = ClassPairSMO(problem, gram, *settings, beta, self.gap_tol)
            status = run.run()
            if status is not Status.STALLED:
                return run, status
            first, run = run, DirectSMO(problem, gram, *settings, run.beta, self.gap_tol)
            run.steps, run.rounds = first.steps, first.rounds
            return run, run.run()
        run = DirectSMO(problem, gram, *settings, beta, self.gap_tol)
        return run, run.run()
