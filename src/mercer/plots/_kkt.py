"""`KKTDisplay`: every row's margin against its α, on the staircase that optimality prescribes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.certificates._certificate import BOUND, FREE, ZERO
from mercer.plots import _style as style
from mercer.plots._base import Display, marker_options
from mercer.plots._fitted import Machine, Reading

__all__ = ["KKTDisplay"]

_NAMES = {ZERO: "α = 0", FREE: "0 < α < bound", BOUND: "α = bound"}


class KKTDisplay(Display):
    """The KKT conditions as a picture: margin y f against α, as a share of its bound.

    At the optimum every row lies on a staircase: α = 0 beyond the margin, α at its bound within it,
    and anything between only on the edge y f = 1. How far a point is off the staircase is how much
    it violates. Of a regression the steps are at the residuals ±ε, of one class at f = 0.

    Parameters
    ----------
    place, share : ndarrays
        Margin (or residual, or f) of every coefficient, and α (or β) over its bound; over the
        largest where there is no bound.
    groups : int array
        0, 1, 2: zero, free, at the bound.
    codes : int array
        The class of each row.
    classes : names of the classes
    edges : where the staircase rises
    labels, title : texts

    Attributes
    ----------
    ax_, figure_

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

    def __init__(
        self,
        *,
        place: np.ndarray,
        share: np.ndarray,
        groups: np.ndarray,
        codes: np.ndarray,
        classes: Sequence[str] = (),
        edges: Sequence[float] = (1.0,),
        labels: Sequence[str] = ("y f", "α / bound"),
        title: str = "",
    ):
        self.place, self.share, self.groups, self.codes = place, share, groups, codes
        self.classes, self.edges = list(classes), tuple(edges)
        self.labels, self.title = tuple(labels), title

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
        """Draw the duals of a fitted machine.

        Parameters
        ----------
        estimator : fitted SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC (hinge) or LinearSVR, or
            a Pipeline that ends in one
        X, y, sample_weight
            What it was fitted on.
        ax : matplotlib axes, optional
        **options
            Of ``plot``: legend.

        Returns
        -------
        KKTDisplay
        """
        machine = Machine(estimator, X, y, sample_weight)
        tasks = machine.readings
        if not tasks:
            machine.refuse(
                "has no duals in a box on these rows",
                "Draw SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC(loss='hinge') or LinearSVR, "
                "on the X and y of its fit.",
            )
        rows = np.concatenate([task.rows for task in tasks])
        codes = machine.codes[rows] if machine.is_classifier else np.ones(rows.size, np.intp)
        edges, labels = _staircase(machine, tasks[0])
        display = cls(
            place=np.concatenate([_place(machine, task) for task in tasks]),
            share=np.concatenate([_share(machine, task) for task in tasks]),
            groups=np.concatenate([task.groups for task in tasks]),
            codes=codes, classes=machine.classes if machine.is_classifier else (),
            edges=edges, labels=labels, title=machine.title,
        )  # fmt: skip
        display.certificate = machine.certificate
        return display.plot(ax, **options)

    def _words(self) -> list[str]:
        counts = [f"{(self.groups == g).sum()} {name}" for g, name in _NAMES.items()]
        return [f"KKT conditions of {self.title}: margins against duals", *counts]

    def _draw(self, axes: list[Any], *, legend: bool | str = True) -> None:
        ax = axes[0]
        low, high = float(self.place.min()), float(self.place.max())
        pad = 0.06 * (high - low) or 1.0
        low, high = min(low, *self.edges) - pad, max(high, *self.edges) + pad
        ax.plot(*self._steps(low, high), color=style.tint(style.ORANGE, 0.55), linewidth=7,
                solid_joinstyle="miter", zorder=1, label="where the optimum must be")  # fmt: skip
        for c in np.unique(self.codes):
            mine = self.codes == c
            for group in _NAMES:
                rows = mine & (self.groups == group)
                ax.scatter(self.place[rows], self.share[rows], zorder=3 + group,
                           marker=style.class_marker(c),
                           **marker_options(group, style.class_colour(c)))  # fmt: skip
            if self.classes:
                ax.scatter([], [], s=34, c=style.class_colour(c), marker=style.class_marker(c),
                           label=self.classes[c])  # fmt: skip
        for group, name in _NAMES.items():
            count = int((self.groups == group).sum())
            ax.scatter([], [], label=f"{name} ({count})", **marker_options(group, style.GREY))
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


def _place(machine: Machine, task: Reading) -> np.ndarray:
    if machine.is_regressor:
        return task.target - task.g
    return task.g if machine.is_one_class else task.target * task.g


def _share(machine: Machine, task: Reading) -> np.ndarray:
    value = task.beta if machine.is_regressor else task.alpha
    bound = np.maximum(task.upper, -task.lower)
    largest = float(task.alpha.max()) or 1.0
    return value / np.where(np.isfinite(bound), bound, largest)


def _staircase(machine: Machine, task: Reading) -> tuple[tuple[float, ...], tuple[str, str]]:
    bounded = np.isfinite(task.upper).all() and np.isfinite(task.lower).all()
    over = "bound" if bounded else "the largest"
    if machine.is_regressor:
        return (-task.epsilon, task.epsilon), ("residual y − f", f"β / {over}")
    if machine.is_one_class:
        return (0.0,), ("f", f"α / {over}")
    return (1.0,), ("margin y f", f"α / {over}")
