"""`ReliabilityDisplay`: how often what is predicted with probability p is true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from mercer.estimators._dual_view import HasDualView, is_fitted_on
from mercer.plots import style
from mercer.plots._base import Display, number
from mercer.plots._search_results import words_of

__all__ = ["ReliabilityDisplay"]

LEVEL = 0.95  # of the intervals of the frequencies
SMALLEST = 1e-15  # probabilities below count as this in the logarithm


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Observed frequencies against predicted probabilities, in bins of equally many rows.

    Of two classes the event is that a row is of ``classes_[1]``; of several, that the most probable
    class is right. Calibrated probabilities lie on the diagonal up to chance: bars are 95 %
    intervals (Clopper and Pearson 1934) of a bin's frequency. Below it probabilities are too high.
    The lower panel is the distribution of the predicted probabilities. Use rows that the model was
    not fitted to.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from mercer import SVC
    >>> from mercer.plots import ReliabilityDisplay
    >>> X, y = make_moons(600, noise=0.4, random_state=0)
    >>> model = SVC(probability="platt", random_state=0).fit(X[:300], y[:300])
    >>> display = ReliabilityDisplay.from_estimator(model, X[300:], y[300:], n_bins=5)
    >>> display.counts.tolist()
    [60, 60, 60, 60, 60]
    """

    panels = 2
    figsize = (5.6, 6.4)

    predicted: np.ndarray  #: mean probability of each bin
    observed: np.ndarray  #: fraction of its rows for which the event was true
    low: np.ndarray  #: ends of the interval of the fraction
    high: np.ndarray
    counts: np.ndarray  #: rows of each bin
    probabilities: np.ndarray  #: of all rows, of the event
    event: str = "the positive class"
    brier: float = np.nan  #: mean squared difference of probability and event
    log_loss: float = np.nan
    calibration_error: float = np.nan  #: mean absolute difference of both, by rows

    @classmethod
    def from_predictions(
        cls,
        is_true: Any,
        probabilities: Any,
        *,
        n_bins: int = 10,
        event: str = "the positive class",
        title: str = "",
        caveat: str = "",
        ax: Any = None,
        **options: Any,
    ) -> ReliabilityDisplay:
        """Draw probabilities of an event, and whether it was true.

        Parameters
        ----------
        is_true : array-like of bool
        probabilities : array-like
            Between 0 and 1.
        n_bins : int
            Bins at most; equal probabilities are never in two of them.
        event, title, caveat : str
        ax, **options
            A pair of matplotlib axes; of ``plot``: legend.
        """
        p = np.asarray(probabilities, np.float64)
        happened = np.asarray(is_true).astype(bool)
        if p.ndim != 1 or p.shape != happened.shape or p.size == 0:
            raise ValueError(
                "is_true and probabilities must be one value for each row; got the shapes "
                f"{happened.shape} and {p.shape}."
            )
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError(f"probabilities must be from 0 to 1, got {p.min():g} to {p.max():g}.")
        if not n_bins >= 1:
            raise ValueError(f"n_bins must be at least 1, got {n_bins}.")
        groups = _bins(p, n_bins)
        counts = np.bincount(groups)
        hits = np.bincount(groups, happened)
        predicted, observed = np.bincount(groups, p) / counts, hits / counts
        tail = 0.5 * (1 - LEVEL)
        low = np.where(hits > 0, beta.ppf(tail, hits, counts - hits + 1), 0.0)
        high = np.where(hits < counts, beta.ppf(1 - tail, hits + 1, counts - hits), 1.0)
        given = np.clip(np.where(happened, p, 1 - p), SMALLEST, 1.0)
        display = cls(
            predicted=predicted,
            observed=observed,
            low=low,
            high=high,
            counts=counts,
            probabilities=p,
            event=event,
            brier=float(np.mean((p - happened) ** 2)),
            log_loss=float(-np.mean(np.log(given))),
            calibration_error=float(np.average(np.abs(observed - predicted), weights=counts)),
            title=title,
            caveat=caveat,
        )
        return display.plot(ax, **options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = 10, ax: Any = None, **options: Any
    ) -> ReliabilityDisplay:
        """Draw the probabilities of a fitted classifier on rows that it was not fitted to.

        Parameters
        ----------
        estimator : a classifier with ``predict_proba``, or a Pipeline that ends in one
        X, y
        n_bins : int
        ax, **options
            As in `from_predictions`.
        """
        if not is_classifier(estimator):
            raise ValueError(f"{words_of(estimator)} is no classifier and has no probabilities.")
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{words_of(estimator)} has no probabilities: fit it with probability='platt', or "
                "take KernelLogisticRegression."
            )
        p, y = estimator.predict_proba(X), np.asarray(y)
        classes = np.asarray(estimator.classes_)
        unknown = np.setdiff1d(y, classes)
        if unknown.size:
            raise ValueError(f"y has the class {unknown[0]}, which the model has not seen.")
        if classes.size == 2:
            own = {"event": f"class {classes[1]}", "title": words_of(estimator)}
            found, happened = p[:, 1], y == classes[1]
        else:
            own = {"event": "the most probable class", "title": words_of(estimator)}
            found, happened = p.max(axis=1), y == classes[p.argmax(axis=1)]
        if _has_seen(estimator, X):
            own["caveat"] = "These are the rows of the fit: on others it may be less reliable."
        return cls.from_predictions(happened, found, n_bins=n_bins, ax=ax, **{**own, **options})

    def _words(self) -> list[str]:
        outside = int(((self.predicted < self.low) | (self.predicted > self.high)).sum())
        return [
            f"{self.title}: observed frequency of {self.event} against its probability",
            f"mean distance from the diagonal {number(self.calibration_error)}, Brier score "
            f"{number(self.brier)}, log loss {number(self.log_loss)}",
            f"{outside} of {self.counts.size} bins are off the diagonal by more than chance",
        ]

    def _draw(self, axes: list[Any], *, legend: bool | str = "upper left") -> None:
        ax = axes[0]
        ax.plot([0, 1], [0, 1], color=style.GREY, linewidth=1, linestyle=":", label="calibrated")
        ends = np.abs([self.observed - self.low, self.high - self.observed])
        bars = {"fmt": "o-", "color": style.BLUE, "markersize": 5, "capsize": 2.5, "linewidth": 1.2}
        label = f"observed, {100 * LEVEL:.0f} % intervals"
        ax.errorbar(self.predicted, self.observed, yerr=ends, label=label, zorder=3, **bars)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.03, 1.03), ylabel=f"frequency of {self.event}")
        ax.grid(True)
        scores = (
            f"Brier score {number(self.brier)}\nlog loss {number(self.log_loss)}\n"
            f"calibration error {number(self.calibration_error)}"
        )
        font = {"fontsize": style.SETTINGS.small, "color": style.INK, "ha": "right", "va": "bottom"}
        ax.text(0.98, 0.03, scores, transform=ax.transAxes, **font)
        below = axes[-1]
        if below is not ax:
            fill = {"color": style.tint(style.BLUE, 0.45), "edgecolor": style.BLUE}
            below.hist(self.probabilities, bins=np.linspace(0, 1, 21), **fill)
            below.set(xlim=(-0.02, 1.02), ylabel="rows")
            ax.tick_params(labelbottom=False)
            ax.get_gridspec().set_height_ratios([3, 1])
        below.set_xlabel(f"predicted probability of {self.event}")
        self._legend(ax, legend)


def _has_seen(estimator: Any, X: Any) -> bool:
    """Whether these are the rows that a kernel SVM was fitted to."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(model, "support_") or not isinstance(model, HasDualView):
        return False
    if model is not estimator and len(estimator) > 1:
        X = estimator[:-1].transform(X)
    return is_fitted_on(model, X)


def _bins(p: np.ndarray, n_bins: int) -> np.ndarray:
    """The bin of each row: equally many rows, equal probabilities together; none is empty."""
    _, group, counts = np.unique(p, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts
    wanted = np.minimum((middle * n_bins / p.size).astype(int), n_bins - 1)
    return np.unique(wanted, return_inverse=True)[1][group]
