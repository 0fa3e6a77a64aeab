"""What every Display shares: axes in the style of `style`, titles, caveats, legends."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._result import Status
from mercer.certificates._certificate import Certificate
from mercer.certificates._statement import percent
from mercer.estimators._dual_view import KKTGroup
from mercer.plots import style

__all__ = ["APART", "Display", "halo", "marker_options", "number", "shortened"]

# In the place of axes: a new figure that pyplot does not know.
APART = object()
# A legend outside the axes.
NARROW = {"handlelength": 1.5, "handletextpad": 0.5, "columnspacing": 1.4, "frameon": False}


def marker_options(
    group: int, colour: str, size: float = 1.0, *, is_plain: bool = False
) -> dict[str, Any]:
    """How points of a KKT group are drawn, as arguments of ``scatter``; ``size`` is of the area.

    ``is_plain``: the group ZERO is that of ordinary points, not of points without a part in f.
    """
    is_plain = is_plain and group == KKTGroup.ZERO
    marker = style.SETTINGS.plain if is_plain else style.GROUPS[KKTGroup(group).name.lower()]
    return {
        "s": marker.size * size,
        "facecolors": style.tint(colour, marker.fill),
        "edgecolors": colour if marker.edge == "class" else marker.edge or "none",
        "linewidths": marker.width * size**0.25,
    }


def halo(width: float = 3.0) -> list[Any]:
    """A white outline, for lines and letters on top of many points."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


def number(value: float) -> str:
    """Three digits, with a minus sign instead of a hyphen."""
    return f"{value:.3g}".replace("-", "−")


def shortened(names: Sequence[str], most: int = style.SETTINGS.longest_name) -> list[str]:
    """Names of at most ``most`` letters, cut in the middle; whole where two would become equal."""
    end = most // 3
    cut = [
        name if len(name) <= most else f"{name[: most - end - 1].rstrip()}…{name[-end:].lstrip()}"
        for name in names
    ]
    return [
        short if cut.count(short) == 1 else name for short, name in zip(cut, names, strict=True)
    ]


@dataclass(kw_only=True, eq=False, repr=False)
class Display:
    """A picture as numbers; ``plot`` draws them. After it, ``ax_`` and ``figure_`` are set."""

    panels = 1
    legend_is_below = False  # the axes, where it fits into a few rows; else beside them
    figsize = style.SETTINGS.figsize
    longest_label = 56  # letters beside an axis

    title: str = ""
    caveat: str = ""
    certificate: Certificate | None = None  # of the model drawn, where it is known
    axes_: list[Any] = field(default_factory=list, init=False)
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)
    legend_points_: float = field(default=0.0, init=False)  # taken by a legend below the axes

    @property
    def description(self) -> str:
        """The picture in words, for those who cannot see it."""
        return ". ".join(part for part in (*self._words(), self.caveat.rstrip(".")) if part) + "."

    def _words(self) -> list[str]:
        return [self.title or type(self).__name__]

    def plot(self, ax: Any = None, *, title: str | None = None, **options: Any) -> Any:
        """Draw on these axes, or on those of a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of a display with several panels also a sequence of as many; one alone gets the last.
        title : str, optional
            Instead of the display's own.
        **options
            See ``from_estimator``.

        Returns
        -------
        display : the object itself, with ``ax_`` and ``figure_``
        """
        self.title = self.title if title is None else title
        with style.context():
            if ax is None:
                ax = style.axes(self.figsize, self.panels)
            elif ax is APART:
                ax = style.own_axes(self.figsize, self.panels)
            self.axes_ = list(ax) if isinstance(ax, (Sequence, np.ndarray)) else [ax]
            self.ax_ = self.axes_[0]
            self.figure_ = self.ax_.figure
            self._draw(self.axes_, **options)
            for each in self.axes_:  # a common factor beside the certificate, not below it
                each.yaxis.get_offset_text().set(horizontalalignment="right", x=-0.01)
                labels = shortened([each.get_xlabel(), each.get_ylabel()], self.longest_label)
                each.set(xlabel=labels[0], ylabel=labels[1])
            if self.title and not self.ax_.get_title(loc="left"):
                self.ax_.set_title(self._title_lines())
                self._write_certificate()
            if self.caveat:
                self._write_caveat()
        return self

    def _draw(self, axes: list[Any], *args: Any, **options: Any) -> None:
        raise NotImplementedError

    def _title_lines(self, letters_per_inch: float = 12.0, margin: float = 0.8) -> str:
        """The title, between its parts in two lines if the figure is too narrow for one."""
        longest = int(letters_per_inch * (self.figure_.get_figwidth() - margin))
        if len(self.title) <= longest:
            return self.title
        parts = self.title.split(" · ")
        split = next(k for k in range(1, len(parts) + 1) if len(" · ".join(parts[:k])) > longest)
        split = max(split - 1, 1)
        return "\n".join(filter(None, (" · ".join(parts[:split]), " · ".join(parts[split:]))))

    def _write_certificate(self) -> None:
        """Status and gap of the model, below the title."""
        proof = self.certificate
        if proof is None or not np.isfinite(proof.relative_gap):
            return
        text = str(proof.status)
        if proof.status not in (Status.NOT_PSD, Status.DEGENERATE, Status.NOT_SEPARABLE):
            text += f": objective within {percent(proof.relative_gap)} of the optimum"
        text += " in every task" if proof.tasks else ""
        self.ax_.set_title(f"{self._title_lines()}\n")
        font = {"fontsize": style.SETTINGS.small, "color": style.GREY, "va": "bottom"}
        place = {"xycoords": "axes fraction", "textcoords": "offset points"}
        self.ax_.annotate(text, (0, 1), (0, 6), annotation_clip=False, **place, **font)

    def _write_caveat(self, letters_per_inch: float = 15.5) -> None:
        """Below the axis, in lines no longer than it is."""
        ax = self.axes_[-1]
        width = self.figure_.get_figwidth() * ax.get_position().width
        text = textwrap.fill(self.caveat, max(30, int(width * letters_per_inch)))
        below = -self._below(ax) - self.legend_points_
        font = {
            "fontsize": style.SETTINGS.small,
            "color": style.GREY,
            "style": "italic",
            "va": "top",
        }
        place = {"xycoords": "axes fraction", "textcoords": "offset points"}
        ax.annotate(text, (0, 0), (0, below), annotation_clip=False, **place, **font)

    def _scatter_groups(
        self,
        ax: Any,
        points: np.ndarray,
        groups: np.ndarray,
        codes: np.ndarray,
        names: Mapping[KKTGroup, str],
        classes: Mapping[int, str] | None = None,
        *,
        size: float = 1.0,
    ) -> None:
        """Points by class (colour and marker) and KKT group (filling), smaller if there are many.

        ``classes`` and ``names`` are what the legend calls classes and groups.
        """
        crowd, is_crowd = style.SETTINGS.crowd(len(points)), len(points) > style.SETTINGS.uncrowded
        is_plain = not names.get(KKTGroup.FREE)
        for group in KKTGroup:
            for c in np.unique(codes):
                rows = (groups == group) & (codes == c)
                if rows.any():
                    colour = style.class_colour(c)
                    options = marker_options(group, colour, size * crowd, is_plain=is_plain)
                    options |= {"marker": style.class_marker(c) if classes else "o"}
                    ax.scatter(*points[rows].T, zorder=4 + group, rasterized=is_crowd, **options)
        classes = classes or {}
        columns = self._legend_columns(len(classes))
        most = style.SETTINGS.longest_name // columns
        for c, name in zip(classes, shortened([*classes.values()], most), strict=True):
            colour, marker = style.class_colour(c), style.class_marker(c)
            self._legend_point(ax, name, s=34, c=colour, marker=marker)
        for group, name in names.items():
            if name:
                look = marker_options(group, style.GREY, is_plain=is_plain)
                self._legend_point(ax, f"{name} ({(groups == group).sum():,})", **look)

    @staticmethod
    def _legend_columns(classes: int) -> int:
        """Columns of a legend, by the number of classes in it."""
        return 1 + (classes > style.SETTINGS.most_entries)

    @staticmethod
    def _legend_line(ax: Any, label: str, **line: Any) -> None:
        """An entry of the legend that is a line."""
        ax.plot([], [], label=label, **line)

    @staticmethod
    def _legend_point(ax: Any, label: str, **marker: Any) -> None:
        """An entry of the legend that is a point."""
        ax.scatter([], [], label=label, **marker)

    def _legend(self, ax: Any, where: bool | str, **options: Any) -> None:
        """``True``: outside the axes, so that no point is hidden; else matplotlib's location.

        ``options`` are of a legend beside the axes, where one below them has no room.
        """
        self.legend_points_ = 0.0
        if where is True:
            self.legend_points_ = self._legend_below(ax) if self.legend_is_below else 0.0
            if not self.legend_points_:
                place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
                ax.legend(**{**place, **NARROW, **options})
        elif where:
            ax.legend(loc=where, **options)

    def _legend_below(self, ax: Any) -> float:
        """Put the legend below the axes; the points that it takes, or 0 without room for it."""
        from matplotlib.transforms import ScaledTranslation

        settings, figure = style.SETTINGS, ax.figure
        entries = len(ax.get_legend_handles_labels()[1])
        room = ax.get_window_extent().width
        if figure.axes == [ax]:  # alone, the axes will take all but what stands beside the y axis
            beside = ax.yaxis.get_tightbbox()
            taken = (beside.width if beside else 0.0) + settings.beside_y / 72 * figure.dpi
            room = figure.bbox.width - taken
        shift = ScaledTranslation(0, -self._below(ax) / 72, figure.dpi_scale_trans)
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 0.0}
        place |= {"bbox_transform": ax.transAxes + shift, **NARROW}
        for rows in range(1, settings.most_rows + 1) if entries else ():
            legend = ax.legend(ncols=-(-entries // rows), **place)
            box = legend.get_window_extent()
            if box.width <= room:
                return float(box.height / figure.dpi * 72) + settings.below_legend
            legend.remove()
        return 0.0

    @staticmethod
    def _below(ax: Any) -> float:
        """Points from the axes to what stands below its label."""
        return 36.0 if ax.get_xlabel() else 24.0
