"""Whether "solved" may be said of a kernel that is not positive semidefinite by construction.

With K + δI positive semidefinite the gap holds up to ½ δ ‖β* − β‖², which
`mercer.certificates` adds. With a vector of negative curvature the solution is a stationary point.
Where neither was shown, the status says on what it depends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mercer._multiclass import PosedTasks
from mercer._result import Result, Status, final_status
from mercer.gram import BlockedGram
from mercer.gram._psd import PSDBound, psd_bound
from mercer.gram._psd_bound import SETTINGS
from mercer.solvers import Stopping

__all__ = ["judge_definiteness"]


def judge_definiteness(posed: PosedTasks, results: Sequence[Result], tol: float) -> list[Result]:
    """The results with their status and `Result.psd_delta`."""
    if posed.gram.kernel.is_psd is True:
        return list(results)
    whole = _bound(posed.gram, posed.stopping)
    judged = []
    for t, result in enumerate(results):
        bound = whole
        if whole.delta is None and posed.tasks[t].rows is not None:
            bound = _bound(posed.gram_of(t), posed.stopping)
        judged.append(_judged(result, bound, tol))
    return judged


def _bound(gram: BlockedGram, stopping: Stopping) -> PSDBound:
    is_function = not gram.kernel._has_formula and gram.points.are_objects
    most = SETTINGS.factored_rows_of_function if is_function else SETTINGS.factored_rows
    is_quick = gram.n <= SETTINGS.quick_rows
    return psd_bound(
        gram, max_rows=most, stop=lambda: not is_quick and stopping.stopped is not None
    )


def _judged(result: Result, bound: PSDBound, tol: float) -> Result:
    if bound.witness is not None:
        return replace(result, status=Status.NOT_PSD, psd_delta=None)
    status: Status = result.status
    if bound.delta is None:
        status = Status.SOLVED_IF_PSD if status is Status.SOLVED else status
        return replace(result, status=status, psd_delta=None)
    if status is Status.NOT_PSD:  # the curvature that the solver met is rounding that δ covers
        status = final_status(Status.STALLED, result.violation, tol)
    return replace(result, status=status, psd_delta=bound.delta)
