"""`LandscapeDisplay`: scores over C and γ, and the time of each cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.model_selection._plan import split_pipeline
from mercer.plots import style
from mercer.plots._base import Display, number
from mercer.plots._search_results import default_grid, find, metric_of, results_of, words_of

__all__ = ["LandscapeDisplay"]


@dataclass(kw_only=True, eq=False, repr=False)
class LandscapeDisplay(Display):
    """Scores over C and γ, and the time that each cell took.

    Of several candidates in a cell (other kernels, ε) the best is shown. Cells that were not
    searched are hatched.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVCCV
    >>> from mercer.plots import LandscapeDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> search = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1]).fit(X, y)
    >>> LandscapeDisplay.from_estimator(search).scores.shape
    (3, 2)
    """

    figsize = (6.6, 8.2)
    panels = 2
    most_numbers = 150  # cells up to this number have their scores written in them

    Cs: np.ndarray
    gammas: np.ndarray
    scores: np.ndarray  #: shape (len(Cs), len(gammas)), NaN where nothing was searched
    seconds: np.ndarray  #: of the fit of a cell on one fold, in the mean
    best: tuple[float, float]  #: C and γ
    score_name: str = "score"

    @classmethod
    def from_results(
        cls,
        results: Mapping[str, Any],
        *,
        score_name: str = "score",
        best: Mapping[str, float] | None = None,
        title: str = "",
        caveat: str = "",
        ax: Any = None,
        **options: Any,
    ) -> LandscapeDisplay:
        """Draw ``cv_results_``.

        Parameters
        ----------
        results : dict
            ``cv_results_`` of a search over C and γ.
        score_name, title, caveat : str
        best : dict, optional
            With C and gamma: what is marked; by default the best candidate.
        ax, **options
            A pair of matplotlib axes; of ``plot``: numbers.
        """
        params = list(results["params"])
        names = find(params, "C"), find(params, "gamma")
        mean = np.asarray(results["mean_test_score"], np.float64)
        seconds = np.asarray(results["mean_fit_time"], np.float64)
        at = np.array([[each.get(name, np.nan) for name in names] for each in params], np.float64)
        used = np.isfinite(at).all(axis=1) & np.isfinite(mean)
        if not used.any():
            raise ValueError("The search has no finished candidate with numbers as C and gamma.")
        Cs, gammas = np.unique(at[used, 0]), np.unique(at[used, 1])
        scores, times = np.full((2, Cs.size, gammas.size), np.nan)
        for i in np.flatnonzero(used):
            cell = int(np.searchsorted(Cs, at[i, 0])), int(np.searchsorted(gammas, at[i, 1]))
            if not scores[cell] >= mean[i]:
                scores[cell], times[cell] = mean[i], seconds[i]
        chosen = np.unravel_index(int(np.nanargmax(scores)), scores.shape)
        place = (float(Cs[chosen[0]]), float(gammas[chosen[1]]))
        if best is not None:
            place = float(best["C"]), float(best["gamma"])
        name = "best" if best is None else "chosen"
        mark = f"□ {name}: C = {number(place[0])}, γ = {number(place[1])}. {caveat}".strip()
        display = cls(
            Cs=Cs,
            gammas=gammas,
            scores=scores,
            seconds=times,
            best=place,
            score_name=score_name,
            title=title,
            caveat=mark,
        )
        return display.plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        Cs: Any = None,
        gammas: Any = None,
        max_rows: int = 2000,
        ax: Any = None,
        **options: Any,
    ) -> LandscapeDisplay:
        """Draw a fitted search; any other estimator is searched over C and γ first.

        Parameters
        ----------
        estimator : SVCCV or a relative, GridSearchCV, or an estimator with C and gamma
            Alone or (not a search) at the end of a Pipeline.
        X, y
            Where the estimator is no search.
        Cs, gammas : array-like, optional
            Of an estimator that is no search: ten of each by default.
        max_rows : int
            Rows that are then searched on at most.
        ax, **options
            A pair of matplotlib axes; of ``plot``: numbers.
        """
        grid: dict[str, Any] = {}
        is_search = hasattr(estimator, "cv_results_")
        if not is_search and X is not None:
            grid = default_grid(estimator, X, y, 10)
            if "gamma" not in grid:
                raise ValueError(
                    f"{type(split_pipeline(estimator)[1]).__name__} has no γ here: a validation "
                    "curve along C draws it (ValidationCurveDisplay)."
                )
            if "C" not in grid:
                raise ValueError(f"{type(split_pipeline(estimator)[1]).__name__} has no C.")
            grid |= {name: v for name, v in (("C", Cs), ("gamma", gammas)) if v is not None}
        results, caveat = results_of(estimator, X, y, grid, max_rows)
        name: Any = {"score_name": metric_of(estimator), "title": words_of(estimator)}
        return cls.from_results(results, caveat=caveat, ax=ax, **name, **options)

    def _words(self) -> list[str]:
        return [f"{self.title}: {self.score_name} over C and γ, and the seconds of each cell"]

    def _draw(self, axes: list[Any], *, numbers: bool = True) -> None:
        from matplotlib.colors import LogNorm, Normalize

        top = float(np.nanmax(self.scores))
        middle, least = float(np.nanmedian(self.scores)), float(np.nanmin(self.scores))
        floor = max(least, top - 3 * (top - middle)) if top > middle else least
        bar = {"extend": "min"} if floor > least else {}
        span = Normalize(floor, top if top > floor else floor + 1e-9)
        self._panel(axes[0], self.scores, span, self.score_name, numbers, bar)
        if len(axes) > 1:
            shown = np.maximum(self.seconds, 1e-6)
            low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
            scale = LogNorm(low, max(high, low * 1.01))
            self._panel(axes[1], shown, scale, "seconds of a fit on one fold", numbers, {})
            axes[0].set_xlabel("")
        place = self._place(self.best[1], self.gammas), self._place(self.best[0], self.Cs)
        for ax in axes:
            for colour, width in ((style.INK, 3.4), ("white", 1.6)):  # around the cell's number
                frame = {"marker": "s", "s": 480, "facecolors": "none", "zorder": 5}
                ax.scatter(*place, edgecolors=colour, linewidths=width, **frame)

    @staticmethod
    def _place(value: float, values: np.ndarray) -> float:
        """Where a value is between the numbers of the cells, in logarithms."""
        return float(np.interp(np.log(value), np.log(values), np.arange(values.size)))

    def _panel(
        self, ax: Any, cells: np.ndarray, norm: Any, label: str, numbers: bool, bar: dict[str, Any]
    ) -> None:
        ax.set_facecolor(style.PALE)
        image = ax.imshow(
            cells, origin="lower", aspect="auto", norm=norm, cmap="cividis", interpolation="nearest"
        )
        drawn = self.figure_.colorbar(image, ax=ax, pad=0.02, **bar)
        drawn.outline.set_visible(False)
        drawn.set_label(label)
        for axis, values in ((ax.xaxis, self.gammas), (ax.yaxis, self.Cs)):
            step = int(np.ceil(values.size / 12))
            axis.set_ticks(range(0, values.size, step), [_tick(v) for v in values[::step]])
        ax.tick_params(axis="x", labelrotation=35 if self.gammas.size > 6 else 0, length=0)
        ax.tick_params(axis="y", length=0)
        ax.set(xlabel="γ", ylabel="C")
        ax.spines[:].set_visible(False)
        if not numbers or cells.size > self.most_numbers or self.gammas.size > 12:
            return
        for (i, j), value in np.ndenumerate(cells):
            if np.isfinite(value):
                colour = "white" if norm(value) < 0.55 else style.INK
                font = {"ha": "center", "va": "center", "fontsize": 6.5, "color": colour}
                ax.text(j, i, _cell_number(value).replace("-", "−"), **font)


def _tick(value: float) -> str:
    """Two digits, without exponents of ten near one."""
    return f"{value:.0f}" if 10 <= value < 1e5 else f"{value:.2g}"


def _cell_number(value: float) -> str:
    """At most four characters, or five with a sign."""
    if abs(value) < 0.0995:
        return f"{value:.0e}".replace("e-0", "e-") if 0 < abs(value) < 0.005 else f"{value:.2f}"
    if abs(value) < 1:
        return f"{value:.3f}"[1:] if value > 0 else f"{value:.2f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"
