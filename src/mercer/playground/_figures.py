"""The figures of the page: plane, trace, box of a pair, map of errors. `_render` fills them.

Their sources are filled by the page itself and not sent back (``syncable=False``): a picture is one
message.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d
from bokeh.plotting import figure

from mercer.playground._picture import Picture
from mercer.playground._render import columns
from mercer.playground._state import LIMITS
from mercer.plots import style

__all__ = ["Figures"]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
FAINT = "#8A9099"


class Figures:
    """The figures plane, trace, box and map, and what changes in them.

    ``sources`` and ``axes`` (each axis with its range) are named as in `_render`.
    """

    def __init__(self, picture: Picture):
        self.sources = {
            name: ColumnDataSource({column: [] for column in each}, syncable=False)
            for name, each in columns(picture, None, None).items()
        }
        self.plane = _blank(
            "plane", *(Range1d(start=-LIMITS.extent, end=LIMITS.extent) for _ in "xy")
        )
        self.trace = _blank("trace", *_free_ranges())
        self.box = _blank("box", *_free_ranges())
        self.map = _blank("map", *_free_ranges())
        self._fill_plane()
        self._fill_trace()
        self._fill_box()
        self._fill_map()
        self.axes: dict[str, list] = {}
        for name in ("plane", "trace", "box", "map"):
            plot = getattr(self, name)
            self.axes[f"{name}-x"] = [plot.xaxis[0], plot.x_range]
            self.axes[f"{name}-y"] = [plot.yaxis[0], plot.y_range]
            for axis in plot.axis:
                axis.ticker = FixedTicker(ticks=[0.0], syncable=False)

    def _fill_plane(self) -> None:
        plot, sources = self.plane, self.sources
        areas, lines = (
            partial(plot.multi_polygons, "xs", "ys"),
            partial(plot.multi_line, "xs", "ys"),
        )
        points, strip = partial(plot.scatter, "x", "y"), partial(plot.varea, "x", "low", "high")
        areas(source=sources["regions"], fill_color="colour", **_line("colour", 0.5))
        strip(source=sources["tube"], fill_color=style.tint(style.SKY, 0.3))
        strip(source=sources["shift"], fill_color=style.ORANGE, fill_alpha=0.35)
        hatch = {"pattern": "right_diagonal_line", "color": style.ORANGE, "alpha": 0.35, "scale": 9}
        band = {"fill_color": style.ORANGE, "fill_alpha": 0.3, **_prefixed("hatch", hatch)}
        areas(source=sources["band"], **band, **_line(style.ORANGE, 1.5, "dashdot"))
        lines(source=sources["edges"], **_line(style.INK, 1.3, [6, 5]))
        lines(source=sources["boundary"], **_line(style.INK, 2.4))
        disc = {"size": "size", "fill_color": "colour", "fill_alpha": 0.24, "line_color": None}
        points(source=sources["discs"], **disc)
        near = {"size": 22, "fill_color": style.ORANGE, "fill_alpha": "alpha", "line_color": None}
        points(source=sources["similar"], **near)
        points(source=sources["pointed"], size=25, fill_color=None, **_line(style.INK, 2.4))
        points(source=sources["marks"], size="size", fill_color=None, **_line("colour", "width"))
        marker: dict[str, Any] = {"marker": "marker", "size": "size", "fill_color": "fill"}
        shown = points(source=sources["points"], **marker, **_line("line", "width"))
        marker = {"marker": "marker", "size": 19, "fill_color": None}
        points(source=sources["extra"], **marker, **_line("colour", 2.4))
        lines(source=sources["held-out"], **_line(style.PINK, 1.6, "dotted"))
        points(source=sources["wrong"], marker="x", size=13, **_line(style.PINK, 2.6))
        plot.add_tools(HoverTool(renderers=[shown], tooltips="@note", attachment="vertical"))

    def _fill_trace(self) -> None:
        plot, source = self.trace, self.sources["trace"]
        plot.ygrid.grid_line_color = "#E6E6E6"
        plot.line("x", "y", source=source, **_line(style.BLUE, 2))
        dots = plot.scatter("x", "y", source=source, size=5, color=style.BLUE)
        plot.add_tools(HoverTool(renderers=[dots], tooltips="@note", mode="vline"))

    def _fill_box(self) -> None:
        plot, sources = self.box, self.sources
        box = {"left": 0, "bottom": 0, "right": "right", "top": "top"}
        fill = style.tint(style.SKY, 0.2)
        plot.quad(source=sources["box"], fill_color=fill, **box, **_line(style.BLUE, 1.6))
        plot.line("x", "y", source=sources["line-all"], **_line(style.GREY, 1.5, "dotted"))
        plot.line("x", "y", source=sources["line"], **_line(style.INK, 2.6))
        plot.multi_line("xs", "ys", source=sources["levels"], **_line(style.ORANGE, 1.5, "dashed"))
        font = {"font": value(FONT), "font_size": "12px", "color": style.INK}
        font |= {"baseline": "bottom", "align": "right"}
        names = sources["names"]
        plot.text("x", "y", "text", source=names, x_offset=-3, **_prefixed("text", font))
        marker = {"marker": "marker", "size": "size", "fill_color": "fill"}
        plot.scatter("x", "y", source=sources["places"], **marker, **_line("line", 2))

    def _fill_map(self) -> None:
        plot, sources = self.map, self.sources
        cells = plot.rect(
            "x", "y", "width", "height", source=sources["map"], fill_color="colour", line_color=None
        )
        marker = {"marker": "marker", "size": "size", "fill_color": "fill"}
        plot.scatter("x", "y", source=sources["map-marks"], **marker, **_line("line", 2.2))
        plot.add_tools(HoverTool(renderers=[cells], tooltips="@note"))


def _prefixed(prefix: str, options: dict[str, Any]) -> dict[str, Any]:
    return {f"{prefix}_{name}": value for name, value in options.items()}


def _line(colour: str, width: float | str, dash: Any = "solid") -> dict[str, Any]:
    """Options of a glyph's line; colour and width may be names of columns."""
    return _prefixed("line", {"color": colour, "width": width, "dash": dash})


def _free_ranges() -> tuple[Range1d, Range1d]:
    return Range1d(start=0, end=1, syncable=False), Range1d(start=0, end=1, syncable=False)


def _blank(name: str, x_range: Range1d, y_range: Range1d) -> Any:
    """A figure without a toolbar, in the style of the page."""
    plot = figure(name=name, x_range=x_range, y_range=y_range, tools="", toolbar_location=None)
    plot.sizing_mode, plot.min_border = "stretch_both", 6
    plot.outline_line_color = "#C9CDD3"
    plot.background_fill_color = plot.border_fill_color = "#FFFFFF"
    for axis in plot.axis:
        axis.syncable = False
        axis.axis_line_color = axis.major_tick_line_color = FAINT
        axis.minor_tick_line_color = None
        axis.major_label_text_font = axis.axis_label_text_font = FONT
        axis.major_label_text_color = style.GREY
        axis.major_label_text_font_size = "11px"
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = "12px"
        axis.axis_label_text_color = style.INK
        axis.axis_label = " "  # space for the labels
    plot.grid.grid_line_color = None
    return plot
