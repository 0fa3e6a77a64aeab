"""`BoundaryDisplay`: what a classifier or a region decides, where, and because of which points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from mercer.certificates._certificate import BOUND, FREE, ZERO
from mercer.plots import _style as style
from mercer.plots._base import Display, marker_options
from mercer.plots._fitted import Machine, by_edge, merged
from mercer.plots._projection import make_plane

__all__ = ["BoundaryDisplay"]

# Area of the largest α, and of all of them together, in points².
LARGEST_AREA, ALL_AREAS = 420.0, 26_000.0
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)


class BoundaryDisplay(Display):
    """Decision regions, margins and support vectors.

    The boundary f = 0 and the edges f = ±1 cut the plane into slabs. Points are drawn by class
    (colour and marker) and by KKT group (filling and edge); a disc below a support vector has an
    area in proportion to its α. Where every b of an interval is optimal, the boundaries of both its
    ends and the band between them are drawn.

    Use `from_estimator`; the constructor takes the numbers.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (r, r)
        The grid.
    values : ndarray of shape (r, r)
        f of two classes or of a region; of more classes, and of clusters, their number.
    points : ndarray of shape (n, 2)
    codes : int array of shape (n,)
        The class of each point.
    classes : names of the classes
    groups : int array of shape (n,)
        0, 1, 2: the first, second and third of ``group_names``.
    group_names : three names
    alpha : ndarray of shape (n,), optional
    band : (low, high), optional
        Values of f at which the boundary would be for the ends of the bias interval.
    bias : (low, high), optional
        The interval itself.
    has_margin : bool
        Whether f = ±1 are edges.
    values_are_classes : bool
    probabilities : ndarray of shape (r, r), optional
        Of the second class, for contours.
    labels, title, caveat : texts

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    discs_ : PathCollection or None
        The areas of α.

    Examples
    --------
    >>> import mercer
    >>> from mercer.plots import BoundaryDisplay
    >>> X, y = [[0.0, 1.0], [0.0, -1.0], [1.0, 3.0]], [1, -1, 1]
    >>> model = mercer.SVC(kernel="linear").fit(X, y)
    >>> display = BoundaryDisplay.from_estimator(model, X, y)
    >>> display.groups.tolist()
    [1, 1, 0]
    """

    figsize = (8.4, 4.9)

    def __init__(
        self,
        *,
        xx0: np.ndarray,
        xx1: np.ndarray,
        values: np.ndarray,
        points: np.ndarray,
        codes: np.ndarray,
        classes: Sequence[str],
        groups: np.ndarray,
        group_names: Sequence[str],
        alpha: np.ndarray | None = None,
        band: tuple[float, float] | None = None,
        bias: tuple[float, float] | None = None,
        has_margin: bool = True,
        values_are_classes: bool = False,
        probabilities: np.ndarray | None = None,
        labels: Sequence[str] = ("", ""),
        title: str = "",
        caveat: str = "",
    ):
        self.xx0, self.xx1, self.values = xx0, xx1, values
        self.points, self.codes, self.classes = points, codes, list(classes)
        self.groups, self.group_names, self.alpha = groups, tuple(group_names), alpha
        self.band, self.bias, self.has_margin = band, bias, has_margin
        self.values_are_classes, self.probabilities = values_are_classes, probabilities
        self.labels, self.title, self.caveat = tuple(labels), title, caveat
        self.discs_: Any = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        features: Any = None,
        probabilities: bool = False,
        grid_resolution: int = 240,
        ax: Any = None,
        **options: Any,
    ) -> BoundaryDisplay:
        """Draw a fitted classifier, one-class machine or clustering.

        Parameters
        ----------
        estimator : fitted estimator of Mercer, or a Pipeline that ends in one
        X, y, sample_weight
            What it was fitted on. On other rows groups are told by their margins, not by α.
        features : two names or numbers of columns, optional
            Draw these, all others at their median. By default the only two, or the first two
            principal components.
        probabilities : bool
            Add contours of ``predict_proba`` of the second class.
        grid_resolution : int
        ax : matplotlib axes, optional
        **options
            Of ``plot``: fill, margins, areas, band, legend (all True), point_size (1.0).

        Returns
        -------
        BoundaryDisplay
        """
        machine = Machine(estimator, X, y, sample_weight)
        if machine.codes is None:
            remedy = "TubeDisplay draws it." if machine.is_regressor else "Draw a classifier."
            machine.refuse("has no classes and so no boundary", remedy)
        machine.require_coordinates("BoundaryDisplay")
        plane = make_plane(machine, features)
        xx0, xx1 = np.meshgrid(plane.ticks(0, grid_resolution), plane.ticks(1, grid_resolution))
        places = np.column_stack([xx0.ravel(), xx1.ravel()])
        values = plane.values(machine, places).reshape(xx0.shape)
        groups, alpha = merged(machine, _by_margin)
        bias, band = _bias_band(machine)
        chances = None
        if probabilities:
            chances = plane.values(machine, places, _chances(machine)).reshape(xx0.shape)
        display = cls(
            xx0=xx0, xx1=xx1, values=values, points=plane.points, codes=machine.codes,
            classes=machine.classes, groups=groups, group_names=_group_names(machine),
            alpha=alpha, band=band, bias=bias, has_margin=machine.has_margin,
            values_are_classes=not machine.has_values, probabilities=chances,
            labels=plane.labels, title=machine.title, caveat=plane.caveat,
        )  # fmt: skip
        display.certificate = machine.certificate
        return display.plot(ax, **options)

    def _words(self) -> list[str]:
        counts = [f"{name}: {(self.codes == c).sum()} points"
                  for c, name in enumerate(self.classes)]  # fmt: skip
        groups = [f"{name} ({(self.groups == g).sum()})"
                  for g, name in enumerate(self.group_names) if name]  # fmt: skip
        return [f"Decision boundary of {self.title}", *counts, "Of them " + ", ".join(groups)]

    # ------------------------------------------------------------------ drawing

    def _draw(
        self,
        axes: list[Any],
        *,
        fill: bool = True,
        margins: bool = True,
        areas: bool = True,
        band: bool = True,
        legend: bool | str = True,
        point_size: float = 1.0,
    ) -> None:
        ax = axes[0]
        self._draw_points(ax, point_size)
        if areas and self.alpha is not None and self.alpha.any():
            self._draw_areas(ax)
        if self.values_are_classes:
            self._draw_regions(ax, fill)
        else:
            self._draw_slabs(ax, fill, margins and self.has_margin)
            if band and self.band is not None:
                self._draw_band(ax)
        if self.probabilities is not None:
            self._draw_probabilities(ax)
        ax.set(xlim=(self.xx0.min(), self.xx0.max()), ylim=(self.xx1.min(), self.xx1.max()),
               xlabel=self.labels[0], ylabel=self.labels[1])  # fmt: skip
        self._legend(ax, legend)

    def _draw_slabs(self, ax: Any, fill: bool, margins: bool) -> None:
        grid = self.xx0, self.xx1, self.values
        low, high = self._colours()
        if fill:
            levels = [-1, 0, 1] if margins else [0]
            shades = [style.tint(low, 0.26), style.tint(low, 0.1), style.tint(high, 0.1),
                      style.tint(high, 0.26)] if margins else [style.tint(low, 0.16),
                                                               style.tint(high, 0.16)]  # fmt: skip
            ax.contourf(*grid, levels=[-np.inf, *levels, np.inf], colors=shades, zorder=0)
        self._draw_levels(ax, [0], colors=style.INK, linewidths=2.0)
        ax.plot([], [], color=style.INK, linewidth=2.0, label="f = 0: the boundary")
        if margins:
            self._draw_levels(ax, [-1, 1], colors=style.INK, linewidths=1.1, linestyles="--")
            ax.plot([], [], color=style.INK, linewidth=1.1, linestyle="--",
                    label="f = ±1: the margins")  # fmt: skip

    def _draw_levels(self, ax: Any, levels: Sequence[float], **look: Any) -> None:
        """Lines f = level; matplotlib warns of levels that f does not reach."""
        reached = [level for level in levels if self.values.min() < level < self.values.max()]
        if reached:
            ax.contour(self.xx0, self.xx1, self.values, levels=reached, zorder=2, **look)

    def _colours(self) -> tuple[str, str]:
        """Of f < 0 and f > 0; outside of a region is grey."""
        if len(self.classes) == 1:
            return style.GREY, style.class_colour(1)
        return style.class_colour(0), style.class_colour(1)

    def _draw_band(self, ax: Any) -> None:
        """Where the boundary may be: both ends of the bias interval, and between them."""
        assert self.band is not None
        assert self.bias is not None
        grid = self.xx0, self.xx1, self.values
        ax.contourf(*grid, levels=self.band, colors=[style.ORANGE], alpha=0.28, zorder=1)
        self._draw_levels(ax, self.band, colors=style.ORANGE, linewidths=1.4, linestyles="-.")
        low, high = self.bias
        ax.fill([], [], facecolor=style.tint(style.ORANGE, 0.35), edgecolor=style.ORANGE,
                linestyle="-.", label=f"boundaries of every\noptimal b in [{low:.3g}, {high:.3g}]",
                )  # fmt: skip

    def _draw_regions(self, ax: Any, fill: bool) -> None:
        k = len(self.classes)
        if fill:
            from matplotlib.colors import ListedColormap

            shades = [style.tint(style.class_colour(c), 0.22) for c in range(k)]
            ax.pcolormesh(self.xx0, self.xx1, self.values, cmap=ListedColormap(shades), vmin=-0.5,
                          vmax=k - 0.5, shading="nearest", rasterized=True, zorder=0)  # fmt: skip
        for c in range(k):
            inside = gaussian_filter((self.values == c).astype(float), 1.5)  # less of the stairs
            if inside.min() < 0.5 < inside.max():
                ax.contour(self.xx0, self.xx1, inside, levels=[0.5], colors=style.INK,
                           linewidths=1.2, zorder=2)  # fmt: skip
        ax.plot([], [], color=style.INK, linewidth=1.2, label="where the decision changes")

    def _draw_probabilities(self, ax: Any) -> None:
        lines = ax.contour(
            self.xx0, self.xx1, self.probabilities, levels=PROBABILITIES, colors=style.GREY,
            linewidths=0.9, linestyles=":", zorder=2,
        )  # fmt: skip
        ax.clabel(lines, fontsize=8, fmt=lambda p: f"{p:.0%}")
        ax.plot([], [], color=style.GREY, linewidth=0.9, linestyle=":",
                label=f"probability of {self.classes[1]}")  # fmt: skip

    def _draw_areas(self, ax: Any) -> None:
        assert self.alpha is not None
        used = np.flatnonzero(self.alpha)
        share = self.alpha[used] / self.alpha.max()
        largest = min(LARGEST_AREA, ALL_AREAS / share.sum())
        colours = [style.class_colour(self._shown(c)) for c in self.codes[used]]
        self.discs_ = ax.scatter(*self.points[used].T, s=largest * share, c=colours, alpha=0.22,
                                 linewidths=0, zorder=3)  # fmt: skip
        ax.scatter([], [], s=90, c=style.GREY, alpha=0.3, linewidths=0, label="area of a disc: α")

    def _shown(self, code: int) -> int:
        """One class alone has the colour of its inside."""
        return 1 if len(self.classes) == 1 else code

    def _draw_points(self, ax: Any, size: float) -> None:
        for group in (ZERO, FREE, BOUND):
            for c in range(len(self.classes)):
                rows = (self.groups == group) & (self.codes == c)
                if rows.any():
                    look = marker_options(group, style.class_colour(self._shown(c)), size)
                    ax.scatter(*self.points[rows].T, marker=style.class_marker(self._shown(c)),
                               zorder=4 + group, **look)  # fmt: skip
        for c, name in enumerate(self.classes):
            colour, marker = style.class_colour(self._shown(c)), style.class_marker(self._shown(c))
            ax.scatter([], [], s=34, c=colour, marker=marker, label=name)
        for group in (ZERO, FREE, BOUND):
            count = int((self.groups == group).sum())
            if self.group_names[group]:
                ax.scatter([], [], marker="o", label=f"{self.group_names[group]} ({count})",
                           **marker_options(group, style.GREY))  # fmt: skip


def _by_margin(machine: Machine) -> np.ndarray:
    """Groups without duals: by y f against its edge; else by right and wrong."""
    values = machine.values
    if machine.is_one_class:
        return by_edge(values)
    if not machine.is_classifier:
        return np.zeros(machine.n, dtype=np.int8)
    if len(machine.classes) > 2:
        return np.where(values == machine.codes, ZERO, BOUND).astype(np.int8)
    signed = np.where(machine.codes == 1, values, -values)
    if machine.has_margin:
        return by_edge(signed - 1)
    return np.where(signed > 0, ZERO, BOUND).astype(np.int8)


def _group_names(machine: Machine) -> tuple[str, str, str]:
    bounds = [np.maximum(task.upper, -task.lower) for task in machine.readings]
    C = getattr(machine.model, "C", np.nan)
    top = "C" if all((bound == C).all() for bound in bounds) else "its bound"
    if machine.readings and machine.is_one_class:
        return "α = 0: inside", "0 < α < 1: on the boundary", "α = 1: outside"
    if len(machine.readings) > 1:
        return "α = 0 in every task", "free in a task, at no bound", f"α = {top} in a task"
    if machine.readings:
        return (
            "α = 0: beyond the margin",
            f"0 < α < {top}: on the margin",
            f"α = {top}: within it, or wrong",
        )
    if machine.is_one_class:
        return "f > 0: inside", "f = 0: on the boundary", "f < 0: outside"
    if machine.has_margin and len(machine.classes) == 2:
        return (
            "y f > 1: beyond the margin",
            "y f = 1: on the margin",
            "y f < 1: within it, or wrong",
        )
    if machine.is_classifier:
        return "classified right", "", "misclassified"
    return "points", "", ""


def _bias_band(
    machine: Machine,
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """The bias interval and the values of f at its boundaries, where it is more than rounding."""
    proof = machine.certificate
    if proof is None or not machine.has_values:
        return None, None
    low, high = proof.bias_interval
    b = float(np.ravel(machine.model.intercept_)[0])
    if not (np.isfinite([low, high]).all() and high - low > 2 * proof.kkt_violation + 1e-9):
        return None, None
    return (low, high), (b - high, b - low)


def _chances(machine: Machine) -> Any:
    if not hasattr(machine.model, "predict_proba") or len(machine.classes) != 2:
        machine.refuse(
            "has no probabilities of two classes",
            "Draw LogisticRegression, KernelLogisticRegression or SVC(probability=True).",
        )

    def decide(rows: Any, seen: bool) -> np.ndarray:
        return (machine.model if seen else machine.estimator).predict_proba(rows)[:, 1]

    return decide
