"""What a fit tells the user: progress lines, the convergence warning, the error with a proof."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._multiclass import PosedTasks, Task
from mercer._result import Result, Status
from mercer.certificates._statement import counted
from mercer.data._column_statistics import survey, uneven
from mercer.estimators._validation import Data
from mercer.exceptions import ConvergenceWarning, NotSeparableError, warn_user
from mercer.solvers import Progress
from mercer.solvers.separability._hull import HullProof, prove_inseparable

__all__ = [
    "ProgressLines",
    "is_converged",
    "prove_not_separable",
    "raise_not_separable",
    "warn_linear_not_converged",
    "warn_not_converged",
    "warn_stopped_early",
]

# From here on a smaller C is the likelier remedy.
LARGE_C = 1e4


class ProgressLines:
    """A callback that prints, about once a second, and passes on to the user's own."""

    def __init__(self, name: str, callback: Any, words: tuple[str, str]):
        self.name, self.callback, self.last = name, callback, time.perf_counter()
        self.unit, self.measure = words

    def __call__(self, progress: Progress) -> Any:
        now = time.perf_counter()
        if now - self.last >= 1.0:
            self.last = now
            print(
                f"[{self.name}] {progress.seconds:.1f} s: {progress.iterations:,} {self.unit}, "
                f"{self.measure} {progress.violation:.3g} (tol {progress.tol:.3g})"
            )
        return self.callback(progress) if self.callback is not None else None


def is_converged(result: Result, tol: float) -> bool:
    """An indefinite kernel may still reach the tolerance: a stationary point, as LIBSVM's."""
    return result.status.is_solved or (
        result.status is Status.NOT_PSD and result.violation <= tol * 1.05
    )


def warn_not_converged(estimator: Any, data: Data, results: Sequence[Result]) -> None:
    """Say what was reached against what was asked, and the lever most likely to help."""
    tol = estimator.tol
    open_ends = [r for r in results if not is_converged(r, tol)]
    worst = max(open_ends, key=lambda r: r.violation)
    status = worst.status
    if status is Status.STOPPED:  # the user asked for it
        return
    name = estimator.solver_.name
    opening = f"{name} stopped early ({status})."
    if status is Status.ITERATION_LIMIT:
        # scikit-learn's sentence, which programs and tests look for.
        opening = (
            f"Solver terminated early (max_iter={estimator.max_iter}).  Consider pre-processing "
            "your data with StandardScaler or MinMaxScaler."
        )
    which = f"{len(open_ends)} of {len(results)} tasks; the worst: " if len(results) > 1 else ""
    rounds, steps = counted(worst.rounds, "rounds"), counted(worst.iterations, "steps")
    warn_user(
        f"{opening} {which}{name}, {rounds}, {steps}, "
        f"{worst.seconds:.3g} s; violation {worst.violation:.3g} (tol={tol:g}), relative gap "
        f"{estimator.certificate_.relative_gap:.3g}. {_lever(estimator, data, status)}",
        ConvergenceWarning,
    )


def warn_linear_not_converged(estimator: Any) -> None:
    """The warning of linear models, unless the user stopped the fit."""
    certificate = estimator.certificate_
    status = certificate.status
    if status is Status.STOPPED:
        return
    is_penalised = getattr(estimator, "intercept_scaling", None) is not None
    remedy = {
        Status.ITERATION_LIMIT: f"Raise max_iter={estimator.max_iter} (-1: no limit).",
        Status.TIME_LIMIT: f"Raise time_limit={estimator.time_limit}.",
    }.get(status, "Scale the columns (StandardScaler), or raise tol.")
    if status is Status.STALLED and is_penalised:
        remedy = (
            "Scale the columns (StandardScaler), or set intercept_scaling=None: a free intercept "
            "makes up for the means of the columns."
        )
    if status is Status.ITERATION_LIMIT and is_penalised:
        remedy += (
            " If the means of the columns are far from 0, scale them (StandardScaler) or set "
            "intercept_scaling=None instead."
        )
    if status is Status.STALLED and estimator.coef_.dtype == np.float32:
        remedy = "Give X as float64: coefficients in float32 are rounded too far for this tol."
    opening = ""
    if status is Status.ITERATION_LIMIT and hasattr(estimator, "loss"):
        # As scikit-learn's warning begins, by which programs and tests filter it.
        opening = "Liblinear failed to converge, increase the number of iterations. "
    warn_user(
        f"{opening}{type(estimator).__name__} failed to converge ({status}): "
        f"{estimator.solver_.reason}; {certificate.iterations:,} iterations, "
        f"{certificate.seconds:.3g} s, relative gap {certificate.relative_gap:.3g} "
        f"(tol={estimator.tol:g}). {remedy}",
        ConvergenceWarning,
    )


def warn_stopped_early(
    solver: str, status: Status, effort: str, reached: str, remedy: str, *, by_user: bool = False
) -> None:
    """The warning of solvers that solve no box QP.

    If the user stopped the fit there is none, unless ``by_user``.
    """
    if by_user or status is not Status.STOPPED:
        warn_user(
            f"{solver} stopped early ({status}) after {effort}; {reached}. {remedy}",
            ConvergenceWarning,
        )


def _lever(estimator: Any, data: Data, status: Status) -> str:
    uneven = _uneven_columns(estimator, data.X)
    if uneven:
        return uneven
    if status is Status.DEGENERATE:
        return "The model is arbitrary: raise nu, or use another kernel."
    if status is Status.NOT_PSD:
        return "The kernel is not positive semi-definite on these data: use one that is."
    if getattr(estimator, "C", 0.0) >= LARGE_C:
        return f"C={estimator.C:g} is very large: a smaller C is the most likely help."
    if status is Status.TIME_LIMIT:
        return (
            f"Raise time_limit={estimator.time_limit}, or set warm_start=True and fit again to "
            "go on from here."
        )
    if status is Status.ITERATION_LIMIT:
        return (
            f"Raise max_iter={estimator.max_iter} (-1: no limit), or set warm_start=True and fit "
            "again to go on from here."
        )
    return f"No further progress in float64: tol={estimator.tol:g} may be too small for these data."


def _uneven_columns(estimator: Any, X: Any) -> str:
    """Names of columns whose scale is far from the others', or nothing."""
    if X.ndim != 2 or estimator.__sklearn_tags__().input_tags.pairwise:
        return ""
    found = uneven(survey(X), getattr(estimator, "feature_names_in_", None))
    return "" if found is None else str(found)


def prove_not_separable(posed: PosedTasks, t: int, result: Result) -> HullProof | None:
    """An exact proof that no function of the kernel has every row of a task on its side, if found.

    First among the rows of the answer, which a solver may have replaced by a proof's.
    """
    problem, part = posed.problems[t], posed.gram_of(t)
    proof = prove_inseparable(problem, part, result.beta)
    return prove_inseparable(problem, part) if proof is None else proof


def raise_not_separable(data: Data, task: Task, proof: HullProof, names: tuple[str, str]) -> None:
    """Raise the error that carries the proof: a point in the convex hulls of both classes."""
    rows = np.arange(data.n) if task.rows is None else task.rows
    weights = np.zeros(data.shape[0])
    weights[data.original(rows)] = proof.weights
    raise NotSeparableError(
        f"C=inf asks for a hard margin, but classes {names[0]} and {names[1]} cannot be separated "
        f"by this kernel: {np.count_nonzero(weights)} rows have weights under which one point lies "
        f"in the convex hulls of both (the error's .weights; proved in exact arithmetic: "
        f"{proof.how}). Use a finite C or another kernel.",
        weights,
    )
