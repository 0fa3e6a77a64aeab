"""The three figures of the page: the plane, the trace, the box of a pair. `paint` fills them.

Their sources are filled by the page itself and not sent back (``syncable=False``): a picture is one
message.
"""

from __future__ import annotations

from typing import Any

from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d
from bokeh.plotting import figure

from mercer.playground._picture import Picture
from mercer.playground._render import columns
from mercer.playground._state import EXTENT
from mercer.plots import _style as style

__all__ = ["Figures"]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
FAINT = "#8A9099"


class Figures:
    """The figures, and the models of theirs that change, by name.

    Attributes
    ----------
    plane, trace, box : figure
    sources : dict of ColumnDataSource
        As `paint.columns` names them.
    axes : dict of [axis, range]
        As `paint.axes` names them.
    """

    def __init__(self, picture: Picture):
        self.sources = {
            name: ColumnDataSource({column: [] for column in each}, syncable=False)
            for name, each in columns(picture, None, None).items()
        }
        self.plane = _blank("plane", *(Range1d(start=-EXTENT, end=EXTENT) for _ in "xy"))
        self.trace = _blank("trace", *_free_ranges())
        self.box = _blank("box", *_free_ranges())
        self._fill_plane()
        self._fill_trace()
        self._fill_box()
        self.axes: dict[str, list] = {}
        for name in ("plane", "trace", "box"):
            plot = getattr(self, name)
            self.axes[f"{name}-x"] = [plot.xaxis[0], plot.x_range]
            self.axes[f"{name}-y"] = [plot.yaxis[0], plot.y_range]
            if name != "plane":
                for axis, _ in (self.axes[f"{name}-x"], self.axes[f"{name}-y"]):
                    axis.ticker = FixedTicker(ticks=[0.0], syncable=False)

    def _fill_plane(self) -> None:
        plot, sources = self.plane, self.sources
        plot.multi_polygons("xs", "ys", source=sources["regions"], fill_color="colour",
                            line_color="colour", line_width=0.5)  # fmt: skip
        plot.varea(
            "x", "low", "high", source=sources["tube"], fill_color=style.tint(style.SKY, 0.3)
        )
        plot.varea("x", "low", "high", source=sources["shift"], fill_color=style.ORANGE,
                   fill_alpha=0.35)  # fmt: skip
        plot.multi_polygons("xs", "ys", source=sources["band"], fill_color=style.ORANGE,
                            fill_alpha=0.3, line_color=style.ORANGE, line_width=1.5,
                            line_dash="dashdot", hatch_pattern="right_diagonal_line",
                            hatch_color=style.ORANGE, hatch_alpha=0.35, hatch_scale=9)  # fmt: skip
        plot.multi_line("xs", "ys", source=sources["edges"], line_color=style.INK, line_width=1.3,
                        line_dash=[6, 5])  # fmt: skip
        plot.multi_line("xs", "ys", source=sources["boundary"], line_color=style.INK,
                        line_width=2.4)  # fmt: skip
        plot.scatter("x", "y", source=sources["discs"], size="size", fill_color="colour",
                     fill_alpha=0.24, line_color=None)  # fmt: skip
        plot.scatter("x", "y", source=sources["marks"], size="size", fill_color=None,
                     line_color="colour", line_width="width")  # fmt: skip
        points = plot.scatter("x", "y", source=sources["points"], size="size", marker="marker",
                              fill_color="fill", line_color="line", line_width="width")  # fmt: skip
        plot.scatter("x", "y", source=sources["extra"], size=19, marker="marker",
                     fill_color="colour", line_color=style.INK, line_width=1.8)  # fmt: skip
        plot.add_tools(HoverTool(renderers=[points], tooltips="@note", attachment="vertical"))

    def _fill_trace(self) -> None:
        plot, source = self.trace, self.sources["trace"]
        plot.ygrid.grid_line_color = "#E6E6E6"
        plot.line("x", "y", source=source, line_color=style.BLUE, line_width=2)
        dots = plot.scatter("x", "y", source=source, size=5, color=style.BLUE)
        plot.add_tools(HoverTool(renderers=[dots], tooltips="@note", mode="vline"))

    def _fill_box(self) -> None:
        plot, sources = self.box, self.sources
        plot.quad(left=0, bottom=0, right="right", top="top", source=sources["box"],
                  fill_color=style.tint(style.SKY, 0.2), line_color=style.BLUE,
                  line_width=1.6)  # fmt: skip
        plot.line("x", "y", source=sources["line-all"], line_color=style.GREY, line_dash="dotted",
                  line_width=1.5)  # fmt: skip
        plot.line("x", "y", source=sources["line"], line_color=style.INK, line_width=2.6)
        plot.multi_line("xs", "ys", source=sources["levels"], line_color=style.ORANGE,
                        line_width=1.5, line_dash="dashed")  # fmt: skip
        plot.text("x", "y", "text", source=sources["names"], text_font=value(FONT),
                  text_font_size="12px", text_color=style.INK, text_baseline="bottom",
                  text_align="right", x_offset=-3)  # fmt: skip
        plot.scatter("x", "y", source=sources["places"], marker="marker", size="size",
                     fill_color="fill", line_color="line", line_width=2)  # fmt: skip


def _free_ranges() -> tuple[Range1d, Range1d]:
    return Range1d(start=0, end=1, syncable=False), Range1d(start=0, end=1, syncable=False)


def _blank(name: str, x_range: Range1d, y_range: Range1d) -> Any:
    """A figure without a toolbar, in the style of the page."""
    plot = figure(
        name=name, x_range=x_range, y_range=y_range, sizing_mode="stretch_both", tools="",
        toolbar_location=None, outline_line_color="#C9CDD3", background_fill_color="#FFFFFF",
        border_fill_color="#FFFFFF", min_border=6,
    )  # fmt: skip
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
        axis.axis_label = " "  # room for what comes
    plot.grid.grid_line_color = None
    return plot
