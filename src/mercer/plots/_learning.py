"""`LearningCurveDisplay`: scores by the number of rows; `SupportDisplay`: support along C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import learning_curve
from sklearn.utils.validation import _num_samples

from mercer.estimators._path import Path, path
from mercer.model_selection._plan import split_pipeline
from mercer.plots import style
from mercer.plots._base import Display, number
from mercer.plots._search_results import (
    default_grid,
    metric_of,
    own_values,
    refuse_without_score,
    sample,
    splits,
    without_probabilities,
    words_of,
)

__all__ = ["LearningCurveDisplay", "SupportDisplay"]


@dataclass(kw_only=True, eq=False, repr=False)
class LearningCurveDisplay(Display):
    """Scores of an estimator that is fitted to more and more rows, on training and held-out rows.

    If the held-out score still rises at the right end, more rows will help; if both curves have
    met, another kernel or other columns may.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.plots import LearningCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> LearningCurveDisplay.from_estimator(SVC(), X, y, sizes=[30, 120]).rows.tolist()
    [30, 120]
    """

    figsize = (6.4, 4.4)

    rows: np.ndarray
    test: np.ndarray  #: shape (len(rows), folds)
    train: np.ndarray
    score_name: str = "score"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sizes: Any = None,
        max_rows: int = 5000,
        ax: Any = None,
        **options: Any,
    ) -> LearningCurveDisplay:
        """Fit to growing numbers of rows, and draw the scores.

        Parameters
        ----------
        estimator : estimator
            Alone, or a Pipeline.
        X, y
        sizes : array-like of int, optional
            Numbers of training rows; eight by default.
        max_rows : int
            Rows that are used at most.
        ax, **options
            Matplotlib axes; of ``plot``: legend.
        """
        refuse_without_score(estimator)
        X, y, caveat = sample(X, y, max_rows)
        folds = splits(estimator)
        most = min(len(train) for train, _ in folds.split(np.zeros(_num_samples(X)), y))
        if sizes is None:
            least = max(10, 4 * np.unique(y).size) if is_classifier(estimator) else 10
            sizes = np.unique(np.geomspace(min(least, most), most, 8).astype(int))
        rows, train, test = learning_curve(
            without_probabilities(estimator),
            X,
            y,
            train_sizes=np.asarray(sizes),
            cv=folds,
            shuffle=True,
            random_state=0,
            error_score="raise",
        )[:3]
        words: Any = {"score_name": metric_of(estimator), "title": words_of(estimator, True)}
        return cls(rows=rows, test=test, train=train, caveat=caveat, **words).plot(ax, **options)

    def _words(self) -> list[str]:
        ends = [number(float(each[-1].mean())) for each in (self.test, self.train)]
        return [
            f"{self.title}: {self.score_name} by number of training rows",
            f"with {self.rows[-1]:,} rows {ends[0]} on held-out and {ends[1]} on training rows",
        ]

    def _draw(self, axes: list[Any], *, legend: bool | str = "best") -> None:
        ax = axes[0]
        looks = (
            ("training rows", self.train, style.VERMILION, "s", "--"),
            ("held-out rows", self.test, style.BLUE, "o", "-"),
        )
        for label, scores, colour, marker, dash in looks:
            mean, spread = scores.mean(axis=1), scores.std(axis=1)
            line = {"color": colour, "marker": marker, "markersize": 4, "linestyle": dash}
            ax.plot(self.rows, mean, label=label, zorder=3, **line)
            band = {"color": style.tint(colour, 0.22), "linewidth": 0, "zorder": 1, "alpha": 0.7}
            top = np.minimum(mean + spread, max(1.0, mean.max()))  # of accuracy and R²
            ax.fill_between(self.rows, mean - spread, top, **band)
        band = {"color": style.PALE, "linewidth": 6}
        self._legend_line(ax, "± one standard deviation of the folds", **band)
        if self.rows[-1] > 20 * self.rows[0]:
            ax.set_xscale("log")
        ax.set(xlabel="training rows", ylabel=self.score_name)
        ax.grid(True, axis="y")
        self._legend(ax, legend)


@dataclass(kw_only=True, eq=False, repr=False)
class SupportDisplay(Display):
    """Support vectors and the margin 2/‖w‖ along C, of any machine that has a path (`mercer.path`).

    At a small C nearly every row is a support vector at its bound, and the margin is wide. As C
    grows, fewer rows are, and the margin shrinks.

    Examples
    --------
    >>> import mercer
    >>> from mercer.plots import SupportDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> SupportDisplay.from_path(mercer.path(X, y, Cs=[0.01, 1.0])).support.tolist()
    [4, 4]
    """

    figsize = (6.4, 5.6)
    panels = 2

    values: np.ndarray  #: of C (or γ)
    support: np.ndarray
    bound: np.ndarray  #: support vectors at their bound
    margins: np.ndarray  #: of several tasks the smallest
    n: int  #: data points of all tasks
    n_tasks: int = 1  #: over which the numbers are summed
    param: str = "C"
    own: float | None = None  #: the value of a fitted model
    is_regression: bool = False  #: whose 2/‖w‖ is no margin

    @classmethod
    def from_path(
        cls,
        found: Path,
        *,
        title: str = "",
        caveat: str = "",
        own: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> SupportDisplay:
        """Draw what `mercer.path` found.

        Parameters
        ----------
        found : Path
        title, caveat : str
        own : float, optional
            A value that is marked.
        ax, **options
            A pair of matplotlib axes; of ``plot``: legend.
        """
        proofs = found.certificates
        along_C = found.gammas is None
        display = cls(
            values=found.Cs if found.gammas is None else found.gammas,
            support=np.array([proof.n_support for proof in proofs]),
            bound=np.array([proof.n_bound for proof in proofs]),
            margins=np.array([proof.margin for proof in proofs]),
            n=max(proof.n_zero + proof.n_support for proof in proofs),
            n_tasks=max(len(proof.tasks) or 1 for proof in proofs),
            param="C" if along_C else "γ",
            own=own,
            is_regression=is_regressor(found.models[0]),
            title=title or type(found.models[0]).__name__,
            caveat=caveat,
        )
        return display.plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        Cs: Any = None,
        max_rows: int = 5000,
        ax: Any = None,
        **options: Any,
    ) -> SupportDisplay:
        """Fit an estimator along C and draw it.

        Parameters
        ----------
        estimator : SVC, SVR, NuSVR, LinearSVC, LinearSVR or LogisticRegression, or a Pipeline
        X, y
        Cs : array-like, optional
            By default 15 from 1e-2 to 1e3 (times the deviation of the targets).
        max_rows : int
            Rows that are used at most.
        ax, **options
            As in `from_path`.
        """
        own = own_values(estimator).get("C")
        before, last, _ = split_pipeline(estimator)
        if own is None:
            raise ValueError(f"{type(last).__name__} has no C.")
        X, y, caveat = sample(X, y, max_rows)
        if before is not None:
            X = clone(before).fit_transform(X, y)
        if Cs is None:
            Cs = default_grid(last, None, y, 15)["C"]
        found = path(X, y, Cs=Cs, estimator=without_probabilities(last))
        words = {"title": words_of(estimator), "caveat": caveat}
        return cls.from_path(found, own=own, ax=ax, **words, **options)

    def _words(self) -> list[str]:
        ends = [number(float(margin)) for margin in self.margins[[0, -1]]]
        many = f"{self.support[0]:,} to {self.support[-1]:,} of {self.n:,}"
        many += f" (sums over {self.n_tasks} tasks)" if self.n_tasks > 1 else ""
        return [
            f"{self.title}: support vectors and margin along {self.param}",
            f"{many}, margin {ends[0]} to {ends[1]}",
        ]

    def _draw(self, axes: list[Any], *, legend: bool | str = "best") -> None:
        ax = axes[0]
        points = {"marker": "o", "markersize": 4, "zorder": 3}
        ax.plot(self.values, self.support, color=style.BLUE, label="support vectors", **points)
        bound = {"color": style.VERMILION, "linestyle": "--", "label": "at the bound"}
        ax.plot(self.values, self.bound, **bound, **(points | {"marker": "s"}))
        several = f" rows of {self.n_tasks} tasks" if self.n_tasks > 1 else " rows"
        label = f"all {self.n:,}{several}"
        ax.axhline(self.n, color=style.GREY, linewidth=1, linestyle=":", label=label)
        ax.set(xscale="log", ylabel="number", ylim=(0, 1.05 * self.n))
        ax.grid(True, axis="y")
        below = axes[-1]
        if below is not ax:
            line = {"color": style.INK, "marker": "o", "markersize": 4}
            finite = np.isfinite(self.margins) & (self.margins > 0)
            below.plot(self.values[finite], self.margins[finite], **line)
            below.set(
                xscale="log", yscale="log", ylabel=f"{'' if self.is_regression else 'margin '}2/‖w‖"
            )
            below.grid(True, axis="y")
            ax.tick_params(labelbottom=False)
            ax.sharex(below)
        if self.own is not None:
            mark = {"color": style.GREEN, "linewidth": 1.4, "linestyle": "-."}
            for each in axes:
                each.axvline(self.own, label=f"model: {self.param} = {number(self.own)}", **mark)
        below.set_xlabel(self.param)
        self._legend(ax, legend)
