"""Sequential minimal optimisation: parameters in, `Result` out.

    minimise ½ βᵀKβ − targetᵀβ   subject to   lower ≤ β ≤ upper,  Σβ fixed within each group

A small problem is solved on its whole kernel matrix (`DenseSMO`), a larger one by decomposition
(`DecompositionSMO`). Both move pairs of signed duals (`_pair_update`) and stop at LIBSVM's
criterion: the KKT violation of the largest violating pair within a group is at most ``tol``, with
f = Kβ in float64.

References: Platt 1998; Joachims 1999 (working sets, shrinking); Keerthi et al., Neural Computation
13, 2001 (maximal violating pair); Fan, Chen and Lin, JMLR 6, 2005 (second-order choice).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mercer._result import Result, Status
from mercer._threads import single_threaded_blas
from mercer.gram import BlockedGram
from mercer.problems._dual_qp import BoxQP
from mercer.solvers._solution import make_result
from mercer.solvers._stopping import Stopping
from mercer.solvers.smo._class_pair import ClassPairSMO
from mercer.solvers.smo._decomposition import DecompositionSMO
from mercer.solvers.smo._dense import DenseSMO, is_one_to_one
from mercer.solvers.smo._early_stop import result_of
from mercer.solvers.smo._settings import SMOSettings

__all__ = ["SMO"]


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
        Whether points far from violating the KKT conditions become inactive.
    gap_tol : float or None
        Stop at this certified relative gap instead of at ``tol``.
    settings : SMOSettings
        Sizes, inner tolerances and limits.
    """

    name: ClassVar[str] = "smo"
    tol: float = 1e-3
    max_iter: int = -1
    cache_bytes: int = 200 << 20
    shrinking: bool = True
    gap_tol: float | None = None
    settings: SMOSettings = field(default=SMOSettings(), repr=False)

    def refuses(self, problem: BoxQP, gram: BlockedGram) -> None:
        """What it cannot do: nothing."""

    def solve(
        self, problem: BoxQP, gram: BlockedGram, stopping: Stopping, start: np.ndarray | None = None
    ) -> Result:
        """Solve from ``start``, a feasible β, or else from the problem's own.

        An estimator holds BLAS to one thread for the whole fit (`single_threaded_blas`).
        """
        began = time.perf_counter()
        max_steps = np.inf if self.max_iter < 0 else self.max_iter
        beta = problem.start if start is None else start
        if beta.size <= self.settings.dense_variables or self._needs_float64(problem, gram):
            dense, status = self._solve_dense(problem, gram, stopping, max_steps, beta)
            return make_result(problem, gram, dense, status, self.tol, began, self.gap_tol)
        with single_threaded_blas():
            # Of squared slack float32 rows may lose 1/(2C): steps must not lead beyond all bounds.
            boxed = problem.within_reach()
            if not ((beta >= boxed.lower) & (beta <= boxed.upper)).all():
                boxed = problem
            limits = stopping, self.tol, max_steps, self.cache_bytes
            how = beta, self.shrinking, self.gap_tol, self.settings
            run = DecompositionSMO(boxed, gram, *limits, *how)
            status, run.problem = run.run(), problem
            return result_of(run, status, began)

    def _needs_float64(self, problem: BoxQP, gram: BlockedGram) -> bool:
        """Whether float32 rows lose 1/(2C) of squared slack, and a float64 matrix has room."""
        if problem.diag is None or 8 * problem.n_variables**2 > self.cache_bytes:
            return False
        largest = float(gram.diag().max(initial=0.0))
        return float(problem.diag.min()) < float(np.finfo(np.float32).eps) * largest

    def _solve_dense(
        self,
        problem: BoxQP,
        gram: BlockedGram,
        stopping: Stopping,
        max_steps: float,
        beta: np.ndarray,
    ) -> tuple[DenseSMO, Status]:
        """On float32 blocks that class pairs share; if that stalls, on a float64 matrix.

        A hard margin needs float64: float32 cannot tell nearly parallel rows from equal ones. So
        does squared slack, whose diagonal of 1/(2C) float32 may lose beside K.
        """
        limits, last = (stopping, self.tol, max_steps), (self.gap_tol, self.settings)
        is_pair = bool(gram.parts) and is_one_to_one(problem) and problem.is_finite
        if not is_pair or gram.diag().max(initial=0.0) > self.settings.max_scale:
            run = DenseSMO(problem, gram, *limits, beta, *last)
            return run, run.run()
        first = ClassPairSMO(problem, gram, *limits, beta, *last)
        status = first.run()
        if status is not Status.STALLED:
            return first, status
        run = DenseSMO(problem, gram, *limits, first.beta, *last)
        run.steps, run.rounds = first.steps, first.rounds
        return run, run.run()
