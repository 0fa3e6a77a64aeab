"""`BoundaryDisplay`: decision regions, margins and support vectors of a classifier or a region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt, gaussian_filter

from mercer.estimators._dual_view import KKTGroup
from mercer.plots import style
from mercer.plots._base import Display, halo, number, shortened
from mercer.plots._fitted import FittedView, groups_from_margin, max_over_tasks
from mercer.plots._projection import make_plane

__all__ = ["BoundaryDisplay"]

Interval = tuple[float, float]


@dataclass(kw_only=True, eq=False, repr=False)
class BoundaryDisplay(Display):
    """Decision regions, margins and support vectors.

    The boundary f = 0 and the edges f = ±1 cut the plane into slabs. Points are drawn by class
    (colour and marker) and by KKT group (filling and edge); a disc below a support vector has an
    area in proportion to its α. Where every b of an interval is optimal, the boundaries of both its
    ends and the band between them are drawn.

    Use `from_estimator`; the constructor takes the numbers.

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

    figsize = (8.0, 5.6)
    legend_is_below = True
    # Area of the disc of the largest α, and of all discs together, in points².
    largest_area, total_area = 320.0, 12_000.0
    most_stretch = 4.0  # ratio of the axes' ranges from which they have scales of their own
    probability_levels = (0.05, 0.25, 0.5, 0.75, 0.95)

    xx0: np.ndarray  #: the grid, shape (r, r)
    xx1: np.ndarray
    values: np.ndarray  #: f there; of more than two classes, and of clusters, their number
    points: np.ndarray  #: shape (n, 2)
    codes: np.ndarray  #: the class of each point
    classes: Sequence[str]  #: their names
    groups: np.ndarray  #: 0, 1, 2: the first, second and third of group_names
    group_names: Sequence[str]
    alpha: np.ndarray | None = None
    band: Interval | None = None  #: f where the boundary is for the ends of ``bias``
    bias: Interval | None = None  #: the interval of optimal b
    has_margin: bool = True  #: whether f = ±1 are edges
    one_scale: bool = False  #: of both axes: edges are perpendicular to a linear f's w
    values_are_classes: bool = False
    probabilities: np.ndarray | None = None  #: of the second class on the grid, for contours
    labels: Sequence[str] = ("", "")
    discs_: Any = field(default=None, init=False)  #: the areas of α, a PathCollection

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
        """Draw a fitted classifier, one-class estimator or clustering.

        Parameters
        ----------
        estimator : fitted estimator of Mercer, or a Pipeline that ends in one
        X, y, sample_weight
            What it was fitted on. On other samples groups follow from the margins, not from α.
        features : two names or numbers of columns, optional
            Draw these, all others at their median. By default the only two, or the first two
            principal components.
        probabilities : bool
            Add contours of ``predict_proba`` of the second class.
        grid_resolution : int
        ax, **options
            Matplotlib axes; of ``plot``: fill, margins, areas, band, legend (all True), point_size.
        """
        view = FittedView(estimator, X, y, sample_weight)
        if view.codes is None:
            remedy = "TubeDisplay draws it." if view.is_regressor else "Draw a classifier."
            view.refuse("has no classes and so no boundary", remedy)
        view.require_coordinates("BoundaryDisplay")
        plane = make_plane(view, features)
        ticks = [plane.ticks(axis, grid_resolution) for axis in (0, 1)]
        spans = [float(np.ptp(each)) for each in ticks]
        one_scale = view.is_linear and max(spans) <= cls.most_stretch * min(spans)
        if one_scale:
            ticks = [_widened(each, 0.62 * max(spans)) for each in ticks]
        xx0, xx1 = np.meshgrid(*ticks)
        places = np.column_stack([xx0.ravel(), xx1.ravel()])
        values = plane.values(view, places).reshape(xx0.shape)
        groups, alpha = _groups_without_duals(view), None
        if view.tasks:
            groups, alpha = max_over_tasks(view.tasks, view.n)
        bias, band = _bias_band(view)
        probability = None
        if probabilities:
            probability = plane.values(view, places, _probability_of_second(view))
            probability = probability.reshape(xx0.shape)
        display = cls(
            xx0=xx0,
            xx1=xx1,
            values=values,
            points=plane.points,
            codes=view.codes,
            classes=view.classes,
            groups=groups,
            group_names=_group_names(view),
            alpha=alpha,
            band=band,
            bias=bias,
            has_margin=view.has_margin,
            one_scale=one_scale,
            values_are_classes=not view.has_values,
            probabilities=probability,
            labels=plane.labels,
            title=view.title,
            caveat=plane.caveat,
            certificate=view.certificate,
        )
        return display.plot(ax, **options)

    def _words(self) -> list[str]:
        per_class = np.bincount(self.codes, minlength=len(self.classes))
        per_group = np.bincount(self.groups, minlength=3)
        counts = [f"{name}: {n} points" for name, n in zip(self.classes, per_class, strict=True)]
        groups = [
            f"{name} ({n})" for name, n in zip(self.group_names, per_group, strict=True) if name
        ]
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
        ax, codes = axes[0], self._shown_codes()
        names = dict(zip(KKTGroup, self.group_names, strict=True))
        classes = dict(enumerate(self.classes, start=int(len(self.classes) == 1)))
        self._scatter_groups(ax, self.points, self.groups, codes, names, classes, size=point_size)
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
        ax.set(xlim=(self.xx0.min(), self.xx0.max()), ylim=(self.xx1.min(), self.xx1.max()))
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1])
        if self.one_scale:
            ax.set_aspect("equal")
        self._legend(ax, legend, ncols=self._legend_columns(len(self.classes)))

    def _shown_codes(self) -> np.ndarray:
        """One class alone has the colour of its inside, that of class 1."""
        return self.codes if len(self.classes) > 1 else np.ones_like(self.codes)

    def _draw_slabs(self, ax: Any, fill: bool, margins: bool) -> None:
        grid = self.xx0, self.xx1, self.values
        low, high = self._colours()
        if fill:
            levels = [-1, 0, 1] if margins else [0]
            tints = [(low, 0.26), (low, 0.1), (high, 0.1), (high, 0.26)]
            tints = tints if margins else [(low, 0.16), (high, 0.16)]
            shades = [style.tint(*each) for each in tints]
            ax.contourf(*grid, levels=[-np.inf, *levels, np.inf], colors=shades, zorder=0)
        self._draw_levels(ax, [0], colors=style.INK, linewidths=2.0)
        self._legend_line(ax, "f = 0: the boundary", color=style.INK, linewidth=2.0)
        if margins:
            self._draw_levels(ax, [-1, 1], colors=style.INK, linewidths=1.1, linestyles="--")
            dashed = {"color": style.INK, "linewidth": 1.1, "linestyle": "--"}
            self._legend_line(ax, "f = ±1: the margins", **dashed)

    def _draw_levels(self, ax: Any, levels: Sequence[float], **line: Any) -> None:
        """Lines f = level; matplotlib warns of levels that f does not reach."""
        reached = [level for level in levels if self.values.min() < level < self.values.max()]
        if reached:
            ax.contour(self.xx0, self.xx1, self.values, levels=reached, zorder=2, **line)

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
        low, high = map(number, self.bias)
        label = f"the boundary for every\noptimal b: {low} to {high}"
        face = style.tint(style.ORANGE, 0.35)
        ax.fill([], [], facecolor=face, edgecolor=style.ORANGE, linestyle="-.", label=label)

    def _draw_regions(self, ax: Any, fill: bool) -> None:
        k = len(self.classes)
        if fill:
            from matplotlib.colors import ListedColormap

            shades = ListedColormap([style.tint(style.class_colour(c), 0.22) for c in range(k)])
            colours = {"cmap": shades, "vmin": -0.5, "vmax": k - 0.5}
            grid = self.xx0, self.xx1, self.values
            ax.pcolormesh(*grid, shading="nearest", rasterized=True, zorder=0, **colours)
        for c in range(k):
            inside = gaussian_filter((self.values == c).astype(float), 1.5)  # less of the stairs
            if inside.min() < 0.5 < inside.max():
                line = {"colors": style.INK, "linewidths": 1.2}
                ax.contour(self.xx0, self.xx1, inside, levels=[0.5], zorder=2, **line)
        if k > len(style.CLASSES) / 2:  # tints of more colours are too close
            self._name_regions(ax)
        self._legend_line(ax, "where the decision changes", color=style.INK, linewidth=1.2)

    def _name_regions(self, ax: Any) -> None:
        """The name of each class where its region is widest, of the widest ones first.

        A name that has no room between the others' and the axes' edges is left to the legend.
        """
        r = len(self.values)
        taken: list[tuple[int, int, int]] = []
        # Half the size of a letter on the grid; the axes are some 60 % as wide as the figure.
        letter = 0.5 * style.SETTINGS.letter * r / (0.6 * self.figure_.get_figwidth())
        line = 1.2 * style.SETTINGS.letter * r / (0.8 * self.figure_.get_figheight())
        widest = []
        for c, name in enumerate(shortened(self.classes)):
            depth = distance_transform_edt(np.pad(self.values == c, 1))[1:-1, 1:-1]
            i, j = divmod(int(depth.argmax()), depth.shape[1])
            widest.append((float(depth[i, j]), i, j, name))
        for depth, i, j, name in sorted(widest, reverse=True):
            half = int(letter * len(name)) + 1
            j, c = max(half, min(j, r - 1 - half)), self.values[i, j]
            has_room = (
                2 * half < r
                and self.values[i, j] == c
                and all(abs(i - k) > line or abs(j - m) > half + other for k, m, other in taken)
            )
            if depth > 3 and has_room:
                taken.append((i, j, half))
                font = {"ha": "center", "va": "center", "weight": "bold", "path_effects": halo()}
                ax.text(self.xx0[i, j], self.xx1[i, j], name, color=style.INK, zorder=9, **font)

    def _draw_probabilities(self, ax: Any) -> None:
        grid = self.xx0, self.xx1, self.probabilities
        dotted = {"colors": style.GREY, "linewidths": 0.9, "linestyles": ":"}
        lines = ax.contour(*grid, levels=self.probability_levels, zorder=2, **dotted)
        for name in ax.clabel(lines, fontsize=8, fmt=lambda p: f"{p:.0%}", zorder=3):
            name.set_path_effects(halo())  # that of 50 % may stand on the boundary
        dotted = {"color": style.GREY, "linewidth": 0.9, "linestyle": ":"}
        self._legend_line(ax, f"probability of {self.classes[1]}", **dotted)

    def _draw_areas(self, ax: Any) -> None:
        assert self.alpha is not None
        used = np.flatnonzero(self.alpha)
        relative = self.alpha[used] / self.alpha.max()
        largest = min(self.largest_area, self.total_area / relative.sum())
        colours = [style.class_colour(c) for c in self._shown_codes()[used]]
        disc = {"s": largest * relative, "c": colours, "alpha": 0.22, "linewidths": 0}
        self.discs_ = ax.scatter(*self.points[used].T, zorder=3, **disc)
        self._legend_point(ax, "area of a disc: α", s=90, c=style.GREY, alpha=0.3, linewidths=0)


def _widened(ticks: np.ndarray, least: float) -> np.ndarray:
    """Over a span of at least ``least``: a wider picture than its data, rather than a strip."""
    middle, half = (ticks[0] + ticks[-1]) / 2, max(float(np.ptp(ticks)), least) / 2
    return np.linspace(middle - half, middle + half, ticks.size)


def _groups_without_duals(view: FittedView) -> np.ndarray:
    """Groups from y f against its edge; without an edge, right (ZERO) or wrong (BOUND)."""
    values = view.values
    if view.is_one_class:
        return groups_from_margin(values)
    if not view.is_classifier:
        return np.zeros(view.n, dtype=np.int8)
    if len(view.classes) > 2:
        return _right_or_wrong(values == view.codes)
    signed = np.where(view.codes == 1, values, -values)
    if view.has_margin:
        return groups_from_margin(signed - 1)
    return _right_or_wrong(signed > 0)


def _right_or_wrong(is_right: np.ndarray) -> np.ndarray:
    return np.where(is_right, KKTGroup.ZERO, KKTGroup.BOUND).astype(np.int8)


def _group_names(view: FittedView) -> tuple[str, str, str]:
    C = view.model.get_params(deep=False).get("C", np.nan)
    top = "C" if all((task.bound == C).all() for task in view.tasks) else "its bound"
    if view.tasks and view.is_one_class:
        return "α = 0: inside", "0 < α < 1: on the boundary", "α = 1: outside"
    if len(view.tasks) > 1:
        return "α = 0 in every task", "free in a task, at no bound", f"α = {top} in a task"
    if view.tasks:
        return (
            "α = 0: beyond the margin",
            f"0 < α < {top}: on the margin",
            f"α = {top}: within it, or wrong",
        )
    if view.is_one_class:
        return "f > 0: inside", "f = 0: on the boundary", "f < 0: outside"
    if view.has_margin and len(view.classes) == 2:
        return (
            "y f > 1: beyond the margin",
            "y f = 1: on the margin",
            "y f < 1: within it, or wrong",
        )
    if view.is_classifier:
        return "classified right", "", "misclassified"
    return "points", "", ""


def _bias_band(view: FittedView) -> tuple[Interval | None, Interval | None]:
    """The bias interval and the values of f at its boundaries, where it is more than rounding."""
    certificate = view.certificate
    if certificate is None or not view.has_values:
        return None, None
    low, high = certificate.bias_interval
    b = float(np.ravel(view.model.intercept_)[0])
    if not (np.isfinite([low, high]).all() and high - low > 2 * certificate.kkt_violation + 1e-9):
        return None, None
    return (low, high), (b - high, b - low)


def _probability_of_second(view: FittedView) -> Any:
    if len(view.classes) != 2 or not callable(getattr(view.model, "predict_proba", None)):
        view.refuse(
            "has no probabilities of two classes",
            "Draw LogisticRegression, KernelLogisticRegression or SVC(probability=True).",
        )

    def probability(rows: Any, is_transformed: bool) -> np.ndarray:
        model = view.model if is_transformed else view.estimator
        return model.predict_proba(rows)[:, 1]

    return probability
