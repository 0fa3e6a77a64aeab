"""`AnytimeDisplay`: certified gap and held-out score against the time limit of a fit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer.certificates._anytime import AnytimeTrace
from mercer.certificates._certificate import Certificate
from mercer.exceptions import silent_thread
from mercer.plots import style
from mercer.plots._base import Display, number
from mercer.plots._search_results import metric_of, words_of

__all__ = ["AnytimeDisplay"]


@dataclass(kw_only=True, eq=False, repr=False)
class AnytimeDisplay(Display):
    """What a fit has reached when a time limit ends it: its certified gap, its held-out score.

    Each point is a fit of its own, with that ``time_limit``; the last one has none. So the gaps are
    those of the models that a user would get, and drawing takes several fits.

    Examples
    --------
    >>> import mercer
    >>> from sklearn.datasets import make_moons
    >>> from mercer.plots import AnytimeDisplay
    >>> X, y = make_moons(300, noise=0.3, random_state=0)
    >>> display = AnytimeDisplay.from_estimator(
    ...     mercer.SVC(), X, y, limits=[0.01], validation=(X, y)
    ... )
    >>> len(display.seconds), len(display.scores)
    (2, 2)
    """

    figsize = (6.4, 5.4)

    limits: np.ndarray  #: seconds; infinite for the last fit
    seconds: np.ndarray  #: that each fit took
    gaps: np.ndarray  #: certified, relative
    scores: np.ndarray | None = None  #: on the validation rows
    score_name: str = "score"
    xlabel: str = "time limit in seconds; the last fit has none"

    def __post_init__(self) -> None:
        self.panels = 1 if self.scores is None else 2

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
        limits: Sequence[float] | None = None,
        sample_weight: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> AnytimeDisplay:
        """Fit copies of an estimator with growing time limits; the estimator itself is not fitted.

        Parameters
        ----------
        estimator : estimator of Mercer with ``time_limit`` and a certificate, fitted or not
            Alone, or at the end of a Pipeline, whose other steps are fitted once and not timed.
        X, y, sample_weight
            As for ``fit``.
        validation : (X, y), optional
            Rows on which every model is scored.
        limits : sequence of float, optional
            Seconds. By default tenths of the time of a fit without a limit.
        ax, **options
            Matplotlib axes, with ``validation`` a pair; of ``plot``: legend.
        """
        X, validation, model = _last_step(clone(estimator), X, y, validation)
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        seconds, whole = _fit(model.set_params(time_limit=None), X, y, weight)
        if limits is None:
            limits = [tenths * seconds / 10 for tenths in range(1, 10)]
        fits = [
            _fit(clone(model).set_params(time_limit=float(limit)), X, y, weight) for limit in limits
        ]
        fits.append((seconds, whole))
        scores = None
        if validation is not None:
            scores = np.array([each.score(*validation) for _, each in fits])
        return cls(
            limits=np.array([*limits, np.inf], np.float64),
            seconds=np.array([each for each, _ in fits]),
            gaps=np.array([each.certificate_.relative_gap for _, each in fits]),
            scores=scores,
            score_name=metric_of(whole),
            title=words_of(whole, True),
            certificate=whole.certificate_,
        ).plot(ax, **options)

    @classmethod
    def from_trace(cls, trace: AnytimeTrace, ax: Any = None, **options: Any) -> AnytimeDisplay:
        """The best model so far of one fit whose callback was ``trace``, at each of its moments.

        Parameters
        ----------
        trace : AnytimeTrace
        ax, **options
            As for `from_estimator`.
        """
        if not trace.moments:
            raise ValueError("The trace has no moments: fit an estimator with callback=trace.")
        best, seconds = trace.best_so_far(), np.array([each.seconds for each in trace.moments])
        return cls(
            limits=seconds,
            seconds=seconds,
            gaps=np.array([each.gap for each in best]),
            scores=None if trace.validation is None else np.array([each.score for each in best]),
            score_name=metric_of(trace.best),
            title=words_of(trace.best, True),
            certificate=trace.best.certificate_,
            xlabel="seconds of the fit",
        ).plot(ax, **options)

    def _words(self) -> list[str]:
        first = f"after {number(self.seconds[0])} s at most {number(100 * self.gaps[0])} %"
        return [
            f"Certified relative gap of {self.title} by the seconds of the fit",
            f"{first}, after {number(self.seconds[-1])} s {number(100 * self.gaps[-1])} %",
        ]

    def _draw(self, axes: list[Any], *, legend: bool | str = "best") -> None:
        below = axes[-1]
        at = np.where(np.isfinite(self.limits), self.limits, self.seconds)
        order = np.argsort(at, kind="stable")
        known = order[np.isfinite(self.gaps[order]) & (self.gaps[order] > 0)]
        line = {"color": style.BLUE, "marker": "o", "markersize": 4}
        below.plot(at[known], self.gaps[known], label="certified gap", **line)
        below.set_yscale("log")
        below.set(xlabel=self.xlabel, ylabel="relative gap")
        below.grid(True, axis="y")
        self._legend(below, legend)
        if self.scores is not None and len(axes) > 1:
            line = {"color": style.VERMILION, "marker": "s", "markersize": 4}
            axes[0].plot(at[order], self.scores[order], label="validation rows", **line)
            axes[0].set_ylabel(self.score_name)
            axes[0].tick_params(labelbottom=False)
            axes[0].sharex(below)
            axes[0].grid(True, axis="y")
            self._legend(axes[0], legend)


def _last_step(model: Any, X: Any, y: Any, validation: Any) -> tuple[Any, Any, Any]:
    """The rows as the last step of a Pipeline sees them, and that step."""
    if isinstance(model, Pipeline):
        if len(model) > 1:
            before = model[:-1].fit(X, y)
            X = before.transform(X)
            if validation is not None:
                validation = before.transform(validation[0]), validation[1]
        model = model[-1]
    if "time_limit" not in model.get_params():
        raise ValueError(
            f"{type(model).__name__} has no parameter time_limit, so its fit cannot be stopped. "
            "Draw an estimator that has one, such as SVC, SVR or LinearSVC."
        )
    return X, validation, model


def _fit(model: Any, X: Any, y: Any, weight: dict[str, Any]) -> tuple[float, Any]:
    """Seconds of a fit, and the model; that it was stopped is what is drawn."""
    began = time.perf_counter()
    with silent_thread():
        model.fit(X, y, **weight)
    seconds = time.perf_counter() - began
    if not isinstance(getattr(model, "certificate_", None), Certificate):
        raise ValueError(
            f"{type(model).__name__} has no certificate with a duality gap: there is nothing to "
            "draw. Draw an SVM or a logistic model."
        )
    return seconds, model
