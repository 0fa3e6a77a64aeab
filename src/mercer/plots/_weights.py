"""`WeightsDisplay` and `PathDisplay`: the weights of linear models, and along C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from mercer.data._column_statistics import survey, uneven
from mercer.estimators._path import Path, path
from mercer.estimators.linear import LinearSVC, LinearSVR, LogisticRegression
from mercer.plots import style
from mercer.plots._base import Display, shortened
from mercer.plots._fitted import title_of

__all__ = ["PathDisplay", "WeightsDisplay"]


def weights_of(estimator: Any) -> np.ndarray:
    """The weights of a fitted linear model, one row per task."""
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    coef = getattr(model, "coef_", None)
    if coef is None:
        others = "LinearSVR" if is_regressor(model) else "LinearSVC or LogisticRegression"
        raise ValueError(
            f"{type(model).__name__} has no weights of features (coef_): only fitted estimators "
            f"with the linear kernel have. Use kernel='linear' or {others}."
        )
    return np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef))


def names_of(estimator: Any, X: Any, d: int, names: Any = None) -> list[str]:
    """Names of the features: given, the model's, the data's, or numbers."""
    if names is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):
            names = None
        if names is not None and hasattr(X, "columns") and len(X.columns) == len(names):
            names = None if list(names) == [f"x{i}" for i in range(d)] else names
    if names is None:
        names = getattr(X, "columns", getattr(estimator, "feature_names_in_", None))
    if names is None or len(names) != d:
        names = [f"feature {i}" for i in range(d)]
    return [str(name) for name in names]


@dataclass(kw_only=True, eq=False, repr=False)
class WeightsDisplay(Display):
    """The features with the largest weights of a linear model, largest first.

    Bars to the right speak for the class (or for a larger target), bars to the left against it.
    Weights are comparable only between columns of one scale; given X, the picture says when they
    are not.

    Examples
    --------
    >>> import mercer
    >>> from mercer.plots import WeightsDisplay
    >>> model = mercer.LinearSVC().fit([[0.0, 1.0], [0.0, -1.0]], [1, -1])
    >>> display = WeightsDisplay.from_estimator(model, names=["width", "height"])
    >>> [display.names[i] for i in display.order]
    ['height', 'width']
    """

    longest_name = 50  # letters; those of scaled columns end in "(standardised)"

    weights: np.ndarray  #: shape (tasks, features)
    names: Sequence[str]  #: of the features
    tasks: Sequence[str] = ("",)  #: their names; one is left unnamed
    top: int = 20  #: number of features that are drawn

    def __post_init__(self) -> None:
        self.order = np.argsort(-np.abs(self.weights).max(axis=0), kind="stable")
        entries = len(self.tasks) if len(self.tasks) <= len(style.CLASSES) else 1  # of the legend
        rows = max(0.26 * min(self.top, self.weights.shape[1]), 0.21 * entries)
        longest = max(map(len, shortened(self.names, self.longest_name)))
        self.figsize = (7.2 + style.SETTINGS.room(longest), 1.5 + rows)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        names: Any = None,
        top: int = 20,
        ax: Any = None,
        **options: Any,
    ) -> WeightsDisplay:
        """Draw the weights of a fitted linear model.

        Parameters
        ----------
        estimator : fitted estimator with the linear kernel, or a Pipeline that ends in one
        X : rows, optional
            For the names of its columns and a check of their scales.
        y : Ignored
        names : names of the features, optional
        top : int
            Number of features that are drawn.
        ax, **options
            Matplotlib axes; of ``plot``: legend.
        """
        weights = weights_of(estimator)
        names = names_of(estimator, X, weights.shape[1], names)
        model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        proof = getattr(model, "certificate_", None)
        tasks = [task.name for task in proof.tasks] if proof is not None and proof.tasks else [""]
        if len(tasks) != len(weights):
            tasks = [""] if len(weights) == 1 else [f"task {t}" for t in range(len(weights))]
        if tasks == [""] and len(getattr(model, "classes_", ())) == 2:
            tasks = [f"for {model.classes_[1]}"]
        hidden = f"The {top} largest of {weights.shape[1]:,} features." * (weights.shape[1] > top)
        caveat = " ".join(part for part in (hidden, _scales(estimator, X, names)) if part)
        texts: dict[str, Any] = {"title": title_of(model), "caveat": caveat, "certificate": proof}
        return cls(weights=weights, names=names, tasks=tasks, top=top, **texts).plot(ax, **options)

    def _words(self) -> list[str]:
        largest = ", ".join(self.names[i] for i in self.order[:5])
        return [f"Weights of {self.title}", f"Largest: {largest}"]

    def _draw(self, axes: list[Any], *, legend: bool | str = True) -> None:
        ax, shown = axes[0], self.order[: self.top]
        places = np.arange(shown.size)
        if len(self.weights) == 1:
            w = self.weights[0, shown]
            colours = [style.BLUE if value >= 0 else style.VERMILION for value in w]
            ax.barh(places, w, color=colours, height=0.72, zorder=2)
        else:
            is_bundle = len(self.tasks) > len(style.CLASSES)
            for t, name in enumerate(shortened(self.tasks)):
                dots = {"marker": style.class_marker(t), "color": style.class_colour(t)}
                if is_bundle:  # not to be told apart: one look for all
                    dots = {"marker": "o", "color": style.GREY}
                    name = f"each of {len(self.tasks)} tasks" if t == 0 else ""
                line = {"linestyle": "none", "markersize": 3 if is_bundle else 6, "alpha": 0.9}
                ax.plot(self.weights[t, shown], places, label=name, zorder=3, **dots, **line)
            ends = self.weights[:, shown].min(axis=0), self.weights[:, shown].max(axis=0)
            ax.hlines(places, *ends, color=style.PALE, linewidth=2, zorder=1)
            self._legend(ax, legend)
        ax.axvline(0, color=style.INK, linewidth=0.8, zorder=2)
        ax.set_yticks(places, shortened([self.names[i] for i in shown], self.longest_name))
        ax.set_ylim(shown.size - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(True, axis="x")
        one = self.tasks[0] if len(self.weights) == 1 else ""
        ax.set_xlabel(f"weight {one}".strip())


def _scales(estimator: Any, X: Any, names: list[str]) -> str:
    """What uneven columns do to the comparison, if X shows any."""
    if X is None or getattr(X, "ndim", 2) != 2:
        return ""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        X = estimator[:-1].transform(X)
    found = uneven(survey(X if sp.issparse(X) else np.asarray(X, dtype=np.float64)), names)
    return "" if found is None else "Columns differ in scale, so weights do not compare."


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay(Display):
    """Weights and support vectors of a linear model along C.

    A small C keeps all weights small and every row a support vector; as C grows, single
    samples get more influence.

    Examples
    --------
    >>> import mercer
    >>> from mercer.plots import PathDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> PathDisplay.from_path(mercer.path(X, y, Cs=[0.01, 1.0])).support
    [4, 4]
    """

    figsize = (7.4, 5.4)
    panels = 2

    Cs: np.ndarray
    weights: np.ndarray  #: shape (len(Cs), features)
    support: Sequence[int]  #: rows with a dual other than zero, for each C
    names: Sequence[str]  #: of the features
    top: int = 6  #: number of features that have a colour and a name

    @classmethod
    def from_path(
        cls, found: Path, *, names: Any = None, top: int = 6, ax: Any = None, **options: Any
    ) -> PathDisplay:
        """Draw what `mercer.path` found.

        Parameters
        ----------
        found : Path
        names : names of the features, optional
        top : int
        ax : matplotlib axes or a pair of them, optional
        **options
            Of ``plot``: legend.
        """
        weights = [weights_of(model) for model in found.models]
        if len(weights[0]) > 1:
            raise ValueError(
                f"{type(found.models[0]).__name__} has {len(weights[0])} tasks; the path of one is "
                "drawn. Give two classes."
            )
        names = names_of(found.models[0], None, weights[0].shape[1], names)
        display = cls(
            Cs=found.Cs,
            weights=np.concatenate(weights),
            support=found.support,
            names=names,
            top=top,
            title=type(found.models[0]).__name__,
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
        sample_weight: Any = None,
        names: Any = None,
        top: int = 6,
        ax: Any = None,
        **options: Any,
    ) -> PathDisplay:
        """Fit a linear estimator along C and draw it.

        Parameters
        ----------
        estimator : LinearSVC, LinearSVR or LogisticRegression, or a Pipeline that ends in one
            Its own C does not matter.
        X, y, sample_weight
            As for ``fit``.
        Cs : array-like, default 25 from 1e-4 to 1e2
        names, top, ax, **options
            As in `from_path`.
        """
        model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        if not isinstance(model, (LinearSVC, LinearSVR, LogisticRegression)):
            raise ValueError(
                f"{type(model).__name__} has no path along C: LinearSVC, LinearSVR and "
                "LogisticRegression have."
            )
        d = np.shape(X)[1]
        names = names if names is not None else names_of(estimator, X, d)
        if isinstance(estimator, Pipeline) and len(estimator) > 1:
            X = estimator[:-1].transform(X)
        Cs = np.logspace(-4, 2, 25) if Cs is None else Cs
        found = path(X, y, Cs=Cs, estimator=model, sample_weight=sample_weight)
        return cls.from_path(found, names=names, top=top, ax=ax, **options)

    def _draw(self, axes: list[Any], *, legend: bool | str = True) -> None:
        ax, last = axes[0], np.abs(self.weights).max(axis=0)
        order = np.argsort(-last, kind="stable")
        for i in order[self.top :]:
            ax.plot(self.Cs, self.weights[:, i], color=style.PALE, linewidth=1.0, zorder=1)
        names = shortened([self.names[i] for i in order[: self.top]])
        for place, (i, name) in enumerate(zip(order, names, strict=False)):
            line = {"color": style.class_colour(place + 1), "zorder": 2, "markersize": 3.5}
            line |= {"marker": style.class_marker(place + 1), "label": name}
            ax.plot(self.Cs, self.weights[:, i], **line)
        rest = order.size - self.top
        if rest > 0:
            self._legend_line(ax, f"{rest} others", color=style.PALE, linewidth=1.0)
        ax.axhline(0, color=style.INK, linewidth=0.8)
        ax.set(xscale="log", ylabel="weight")
        self._legend(ax, legend)
        below = axes[-1]
        if below is not ax:
            below.plot(self.Cs, self.support, color=style.INK, marker="o", markersize=3.5)
            below.set(xscale="log", ylabel="support vectors", ylim=(0, None))
            ax.tick_params(labelbottom=False)
            ax.sharex(below)
        below.set_xlabel("C")
