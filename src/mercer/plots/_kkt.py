"""`KKTDisplay`: every row's margin against its α, on the staircase that optimality prescribes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators._dual_view import KKTGroup, Loss, TaskDuals
from mercer.plots import style
from mercer.plots._base import Display
from mercer.plots._fitted import FittedView

__all__ = ["KKTDisplay"]

_NAMES = {KKTGroup.ZERO: "α = 0", KKTGroup.FREE: "0 < α < bound", KKTGroup.BOUND: "α = bound"}


@dataclass(kw_only=True, eq=False, repr=False)
class KKTDisplay(Display):
    """The KKT conditions as a picture: margin y f against α over its bound.

    At the optimum every sample lies on a staircase: α = 0 beyond the margin, α at its bound within
    it, and anything between only on the edge y f = 1. The distance of a point from the staircase is
    its KKT violation. Of a regression the steps are at the residuals ±ε, of one class at f = 0.

    Examples
    --------
    >>> import mercer
    >>> from mercer.plots import KKTDisplay
    >>> X, y = [[0.0, 1.0], [0.0, -1.0], [1.0, 3.0]], [1, -1, 1]
    >>> display = KKTDisplay.from_estimator(mercer.SVC(kernel="linear").fit(X, y), X, y)
    >>> display.place.round(6).tolist(), display.share.round(6).tolist()
    ([1.0, 1.0, 3.0], [0.5, 0.5, 0.0])
    """

    figsize = (6.8, 4.6)
    legend_is_below = True

    place: np.ndarray  #: margin (or residual, or f) of every coefficient
    share: np.ndarray  #: α (or β) over its bound, or over the largest without one
    groups: np.ndarray  #: 0, 1, 2: zero, free, at the bound
    codes: np.ndarray  #: the class of each row
    classes: Sequence[str] = ()
    edges: Sequence[float] = (1.0,)  #: where the staircase rises
    labels: Sequence[str] = ("y f", "α / bound")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> KKTDisplay:
        """Draw the duals of a fitted estimator.

        Parameters
        ----------
        estimator : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC (hinge) or LinearSVR, or
            a Pipeline that ends in one
        X, y, sample_weight
            What it was fitted on.
        ax, **options
            Matplotlib axes; of ``plot``: legend.
        """
        view = FittedView(estimator, X, y, sample_weight)
        tasks = view.tasks
        if not tasks:
            view.refuse(
                "has no duals in a box on these rows",
                "Draw SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC(loss='hinge') or LinearSVR, "
                "on the X and y of its fit.",
            )
        rows = np.concatenate([task.rows for task in tasks])
        codes = view.codes[rows] if view.is_classifier else np.ones(rows.size, np.intp)
        display = cls(
            place=np.concatenate([task.position for task in tasks]),
            share=np.concatenate([_relative(task) for task in tasks]),
            groups=np.concatenate([task.kkt_group for task in tasks]),
            codes=codes,
            classes=view.classes if view.is_classifier else (),
            edges=tasks[0].edges,
            labels=_labels(tasks[0]),
            title=view.title,
            certificate=view.certificate,
        )
        return display.plot(ax, **options)

    def _words(self) -> list[str]:
        counts = [f"{(self.groups == g).sum()} {name}" for g, name in _NAMES.items()]
        return [f"KKT conditions of {self.title}: margins against duals", *counts]

    def _draw(self, axes: list[Any], *, legend: bool | str = True) -> None:
        ax = axes[0]
        low, high = float(self.place.min()), float(self.place.max())
        pad = 0.06 * (high - low) or 1.0
        low, high = min(low, *self.edges) - pad, max(high, *self.edges) + pad
        wide = {"color": style.tint(style.ORANGE, 0.55), "linewidth": 7, "zorder": 1}
        wide |= {"solid_joinstyle": "miter", "label": "where optimal rows lie"}
        ax.plot(*self._steps(low, high), **wide)
        points = np.column_stack([self.place, self.share])
        classes = dict(enumerate(self.classes))
        self._scatter_groups(ax, points, self.groups, self.codes, _NAMES, classes)
        ax.axvline(0, color=style.PALE, linewidth=1, zorder=0)
        bottom = -1.08 if len(self.edges) == 2 else -0.08
        ax.set(xlim=(low, high), ylim=(bottom, 1.08), xlabel=self.labels[0], ylabel=self.labels[1])
        self._legend(ax, legend)

    def _steps(self, low: float, high: float) -> tuple[list[float], list[float]]:
        """Of classes α falls from its bound to 0 at the edge; of a regression β rises, twice."""
        if len(self.edges) == 1:
            edge = self.edges[0]
            return [low, edge, edge, high], [1, 1, 0, 0]
        first, second = self.edges
        return [low, first, first, second, second, high], [-1, -1, 0, 0, 1, 1]


def _relative(task: TaskDuals) -> np.ndarray:
    """α (of a regression β) over its bound, or over the largest α where there is no bound."""
    value = task.beta if task.loss.is_of_residual else task.alpha
    largest = float(task.alpha.max()) or 1.0
    return value / np.where(np.isfinite(task.bound), task.bound, largest)


def _labels(task: TaskDuals) -> tuple[str, str]:
    over = "bound" if np.isfinite(task.bound).all() else "the largest"
    if task.loss.is_of_residual:
        return "residual y − f", f"β / {over}"
    return "f" if task.loss is Loss.ONE_CLASS else "margin y f", f"α / {over}"
