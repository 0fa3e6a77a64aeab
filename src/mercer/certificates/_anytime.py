"""`AnytimeTrace`: a callback that keeps the best model so far, its gap and its held-out score."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

__all__ = ["VALIDATION_SETTLED", "AnytimeTrace", "Moment"]

VALIDATION_SETTLED = "validation settled"


@dataclass(frozen=True)
class Moment:
    """A model of a fit: when it was there, its certified relative gap, its held-out score."""

    seconds: float  #: without those of recording
    gap: float
    score: float | None


def _better(best: Moment, now: Moment) -> Moment:
    return now if now.gap <= best.gap else best


class AnytimeTrace:
    """A callback that keeps the best model so far, its certified gap and its held-out score.

    From time to time it takes the model that a stop at this moment would leave (`Progress.model`),
    as long as that takes no more than a ``share`` of the time of the fit.

    Parameters
    ----------
    validation : (X, y), optional
        Rows on which every model is scored (accuracy, or R²).
    stop_when : {"validation settled"}, optional
        Stop the fit once the held-out scores of at least three different models in the second half
        of the time so far lie ``within`` of each other. This is an estimate: nothing is proved by
        it, later models may score better or worse, and the certificate of the model says how far
        from the optimum it may be.
    within : float, default=0.005
        Width of the interval in which the scores have to be.
    share : float, default=0.2
        Seconds of recording for each second of the fit.
    free_seconds : float, default=0.3
        A shorter fit is recorded as if it took as long.
    callback : callable, optional
        Called as well; a true value stops the fit.

    Attributes
    ----------
    moments : list of Moment
        In order of time, one for each different model.
    best : estimator
        The model with the smallest certified gap so far.
    has_settled : bool
        Whether ``stop_when`` stopped the fit.

    Examples
    --------
    >>> import mercer
    >>> from sklearn.datasets import make_moons
    >>> from mercer.plots import AnytimeTrace
    >>> X, y = make_moons(300, noise=0.3, random_state=0)
    >>> trace = AnytimeTrace(make_moons(100, noise=0.3, random_state=1))
    >>> model = mercer.SVC(callback=trace).fit(X, y)
    >>> trace.moments[0].gap > trace.moments[-1].gap >= 0
    True
    >>> trace.best.certificate_.relative_gap == trace.moments[-1].gap
    True
    """

    def __init__(
        self,
        validation: tuple[Any, Any] | None = None,
        *,
        stop_when: str | None = None,
        within: float = 0.005,
        share: float = 0.2,
        free_seconds: float = 0.3,
        callback: Callable[[Any], object] | None = None,
    ):
        if stop_when not in (None, VALIDATION_SETTLED):
            raise ValueError(f"stop_when must be None or {VALIDATION_SETTLED!r}, got {stop_when!r}")
        if stop_when is not None and validation is None:
            raise ValueError(f"stop_when={stop_when!r} needs validation=(X, y)")
        self.validation, self.stop_when, self.within = validation, stop_when, within
        self.share, self.free_seconds, self.callback = share, free_seconds, callback
        self.moments: list[Moment] = []
        self.best: Any = None
        self.has_settled = False
        self._last: Any = None
        self._seconds = 0.0

    def __call__(self, progress: Any) -> object:
        began = time.perf_counter()
        seconds = max(progress.seconds - self._seconds, 0.0)
        if progress.model is None:
            raise ValueError(
                "AnytimeTrace needs a fit that can tell its model so far: a kernel SVM of one task "
                "(two classes, regression, one class) with the solver 'smo'"
            )
        if self._seconds <= self.share * max(seconds, self.free_seconds):
            self._record(seconds, progress.model())
        self._seconds += time.perf_counter() - began
        asked = self.callback(progress) if self.callback is not None else None
        return asked or self.has_settled

    def finish(self, model: Any, seconds: float | None = None) -> AnytimeTrace:
        """Add the model that the fit returned, after the seconds that its certificate states."""
        spent = model.certificate_.seconds if seconds is None else seconds
        last = self.moments[-1].seconds if self.moments else 0.0
        self._record(max(last, spent - self._seconds), model)
        return self

    def best_so_far(self) -> list[Moment]:
        """For each moment the one with the smallest gap until then."""
        return list(accumulate(self.moments, _better))

    def _record(self, seconds: float, model: Any) -> None:
        values = model.support_, model.dual_coef_
        if self._last is not None and all(map(np.array_equal, self._last, values)):
            return
        self._last = values
        gap = float(model.certificate_.relative_gap)
        score = None if self.validation is None else float(model.score(*self.validation))
        self.moments.append(Moment(seconds, gap, score))
        if self.best is None or gap <= self.best.certificate_.relative_gap:
            self.best = model
        self.has_settled = self.stop_when is not None and self._is_settled()

    def _is_settled(self) -> bool:
        now = self.moments[-1].seconds
        scores = [each.score for each in self.moments if each.seconds >= now / 2]
        known = [score for score in scores if score is not None]
        return 3 <= len(known) < len(self.moments) and max(known) - min(known) <= self.within
