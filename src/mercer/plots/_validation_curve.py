"""`ValidationCurveDisplay`: scores of a search along one parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.model_selection._plan import split_pipeline
from mercer.plots import style
from mercer.plots._base import Display, number
from mercer.plots._search_results import (
    default_grid,
    find,
    letter,
    metric_of,
    own_values,
    results_of,
    words_of,
)

__all__ = ["ValidationCurveDisplay"]


@dataclass(kw_only=True, eq=False, repr=False)
class ValidationCurveDisplay(Display):
    """Scores along C, γ or another number of a search: means over the folds, and their spread.

    At each value the other parameters are those of the best candidate there. The band is one
    standard deviation of the folds either way. Where the search has training scores
    (``return_train_score=True``) they are dashed: both low is under-fitting, a wide gap between
    them over-fitting.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVCCV
    >>> from mercer.plots import ValidationCurveDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1]).fit(X, y)
    >>> ValidationCurveDisplay.from_estimator(search, param="C").values.tolist()
    [0.1, 1.0, 10.0]
    """

    figsize = (6.4, 4.4)

    param: str
    values: np.ndarray
    mean: np.ndarray  #: of the best candidate at each value
    spread: np.ndarray  #: standard deviation over the folds
    train: np.ndarray | None = None  #: mean training score of the same candidates
    score_name: str = "score"
    own: float | None = None  #: the value of a fitted model

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, Any],
        *,
        param: str = "C",
        score_name: str = "score",
        title: str = "",
        caveat: str = "",
        own: float | None = None,
        ax: Any = None,
        **options: Any,
    ) -> ValidationCurveDisplay:
        """Draw ``cv_results_``.

        Parameters
        ----------
        results : dict
            ``cv_results_`` of a search.
        param : str
            Its name, without the steps of a pipeline.
        score_name, title, caveat : str
        own : float, optional
            A value that is marked.
        ax, **options
            Matplotlib axes; of ``plot``: legend.
        """
        params = list(results["params"])
        name = find(params, param)
        mean = np.asarray(results["mean_test_score"], np.float64)
        at = np.array([each.get(name, np.nan) for each in params], np.float64)
        values = np.unique(at[np.isfinite(at) & np.isfinite(mean)])
        if values.size == 0:
            raise ValueError(f"The search has no finished candidate with a number as {param}.")
        best = [int(np.nanargmax(np.where(at == value, mean, np.nan))) for value in values]
        train = results.get("mean_train_score")
        display = cls(
            param=letter(name),
            values=values,
            mean=mean[best],
            spread=np.asarray(results["std_test_score"])[best],
            train=None if train is None else np.asarray(train)[best],
            score_name=score_name,
            own=own,
            title=title,
            caveat=caveat,
        )
        return display.plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        param: str = "C",
        values: Any = None,
        max_rows: int = 2000,
        ax: Any = None,
        **options: Any,
    ) -> ValidationCurveDisplay:
        """Draw a fitted search; any other estimator is searched along ``param`` first.

        Parameters
        ----------
        estimator : SVCCV or a relative, GridSearchCV, or an estimator with C
            Alone or (not a search) at the end of a Pipeline.
        X, y
            Where the estimator is no search.
        param : str
        values : array-like, optional
            Of the parameter, for an estimator that is no search.
        max_rows : int
            Rows that are then searched on at most.
        ax, **options
            Matplotlib axes; of ``plot``: legend.
        """
        grid: Mapping[str, Any] = {param: values}
        if values is None and not hasattr(estimator, "cv_results_") and X is not None:
            grid = {param: default_grid(estimator, X, y, 13).get(param)}
            if grid[param] is None:
                last = split_pipeline(estimator)[1]
                has = param in last.get_params(deep=False)
                what = f"values= of {param} are needed" if has else f"has no {param}"
                raise ValueError(f"{type(last).__name__}: {what}.")
        results, caveat = results_of(estimator, X, y, grid, max_rows)
        own = None if hasattr(estimator, "cv_results_") else own_values(estimator).get(param)
        name = {"score_name": metric_of(estimator), "title": words_of(estimator)}
        return cls.from_results(
            results, param=param, caveat=caveat, own=own, ax=ax, **name, **options
        )

    def _words(self) -> list[str]:
        best = int(np.argmax(self.mean))
        return [
            f"{self.title}: {self.score_name} on held-out rows along {self.param}",
            f"best {number(self.mean[best])} at {self.param} = {number(self.values[best])}",
        ]

    def _draw(self, axes: list[Any], *, legend: bool | str = "best") -> None:
        ax, best = axes[0], int(np.argmax(self.mean))
        line = {"color": style.BLUE, "marker": "o", "markersize": 4, "zorder": 3}
        ax.plot(self.values, self.mean, label="held-out rows (mean of the folds)", **line)
        band = {"color": style.tint(style.BLUE, 0.25), "linewidth": 0, "zorder": 1}
        top = np.minimum(self.mean + self.spread, max(1.0, self.mean.max()))  # accuracy and R²
        ends = self.mean - self.spread, top
        ax.fill_between(self.values, *ends, label="± one standard deviation", **band)
        if self.train is not None:
            dash = {"color": style.VERMILION, "linestyle": "--", "marker": "s", "markersize": 3.5}
            ax.plot(self.values, self.train, label="training rows", zorder=2, **dash)
        label = f"best: {self.param} = {number(self.values[best])}"
        ax.axvline(self.values[best], color=style.INK, linewidth=1, linestyle=":", label=label)
        if self.own is not None:
            label = f"of the model: {number(self.own)}"
            ax.axvline(self.own, color=style.GREEN, linewidth=1.4, linestyle="-.", label=label)
        if (self.values > 0).all() and self.values[-1] > 10 * self.values[0]:
            ax.set_xscale("log")
        seen = self.mean if self.train is None else np.concatenate([self.mean, self.train])
        low = max(float(np.min(seen)), float(np.max(seen)) - 5)  # R² has no least value
        high = float(np.max(np.concatenate([seen, ends[1]])))
        ax.set_ylim(low - 0.06 * (high - low or 1), high + 0.06 * (high - low or 1))
        ax.set(xlabel=self.param, ylabel=self.score_name)
        ax.grid(True, axis="y")
        self._legend(ax, legend)
