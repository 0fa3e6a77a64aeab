"""`Trace`: a callback that records the certificates of the iterates of a fit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.certificates._box_qp import certify
from mercer.certificates._certificate import Certificate
from mercer.certificates._duality_gap import certify_linear, certify_logistic, certify_multinomial
from mercer.problems import BoxQP
from mercer.problems._multinomial import Multinomial
from mercer.problems._regularized_loss import LinearPrimal

__all__ = ["Trace", "TracePoint"]


@dataclass(frozen=True)
class TracePoint:
    """Primal and dual value of a task during a fit; ``seconds`` without those of recording."""

    task: int
    seconds: float
    iterations: int
    primal: float
    dual: float
    gap: float
    relative_gap: float


class Trace:
    """A callback that records primal and dual value during a fit.

    At each report it computes the certificate of the iterate, as long as that takes no more than a
    ``share`` of the time of the fit (or of ``free_seconds``). Other reports, and those of solvers
    that have no duals before their end, are kept as ``violation`` only.

    Parameters
    ----------
    callback : callable, optional
        Called as well; a true value stops the fit.
    share : float, default=1.0
        Seconds of recording for each second of the fit.
    free_seconds : float, default=0.3
        A shorter fit is recorded as if it took as long.

    Attributes
    ----------
    points : list of TracePoint
        In order of time.
    violation : list of (seconds, iterations, violation)
        All reports.
    tol : float
        The tolerance of the fit.
    tol_is_of_gap : bool
        Whether that is a relative gap, or a violation.

    Examples
    --------
    >>> import numpy as np, mercer
    >>> from mercer.plots import Trace
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> trace = Trace()
    >>> model = mercer.SVC(callback=trace).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> trace.points[0].gap > trace.points[-1].gap >= 0
    True
    """

    def __init__(
        self,
        callback: Callable[[Any], object] | None = None,
        share: float = 1.0,
        free_seconds: float = 0.3,
    ):
        self.callback, self.share, self.free_seconds = callback, share, free_seconds
        self.points: list[TracePoint] = []
        self.violation: list[tuple[float, int, float]] = []
        self.tol = np.nan
        self.tol_is_of_gap = False
        self._problems: list[Any] = []  # kept, so that no other can have the same identity
        self._seconds = 0.0

    def __call__(self, progress: Any) -> object:
        began = time.perf_counter()
        seconds = max(progress.seconds - self._seconds, 0.0)
        self.tol = progress.tol
        self.violation.append((seconds, progress.iterations, progress.violation))
        state = getattr(progress, "state", None)
        if state is not None and self._seconds <= self.share * max(seconds, self.free_seconds):
            for problem, result in state():
                task = progress.task if progress.n_tasks > 1 else self._number(problem)
                self._record(task, seconds, progress.iterations, _certify(problem, result))
                self.tol_is_of_gap = not isinstance(problem, BoxQP)
        self._seconds += time.perf_counter() - began
        return self.callback(progress) if self.callback is not None else None

    def _number(self, problem: Any) -> int:
        """The number of a task that is solved jointly with others: its place in the report."""
        for number, known in enumerate(self._problems):
            if known is problem:
                return number
        self._problems.append(problem)
        return len(self._problems) - 1

    def _record(self, task: int, seconds: float, iterations: int, proof: Certificate) -> None:
        values = proof.primal, proof.dual, proof.gap, proof.relative_gap
        self.points.append(TracePoint(task, seconds, iterations, *values))

    def finish(self, certificate: Certificate) -> None:
        """Add the values of the final certificate."""
        proofs = certificate.tasks or (certificate,)
        for task, proof in enumerate(proofs):
            mine = [point for point in self.points if point.task == task]
            last = mine[-1].seconds if mine else 0.0
            seconds = max(last, proof.seconds - self._seconds if len(proofs) == 1 else last)
            self._record(task, seconds, proof.iterations, proof)


def _certify(problem: Any, result: Any) -> Certificate:
    if isinstance(problem, BoxQP):
        return certify(problem, result)
    if isinstance(problem, LinearPrimal):
        return certify_linear(problem, result)
    if isinstance(problem, Multinomial):
        return certify_multinomial(problem, result)
    return certify_logistic(problem, result)
