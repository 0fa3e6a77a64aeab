"""The three figures of the page, painted from a `Picture`: the plane, the trace, the box of a pair.

Colours and markers are those of `mercer.style`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d
from bokeh.plotting import figure

from mercer import style
from mercer.app.catalogue import MACHINES
from mercer.app.contours import Rings
from mercer.app.machines import Trace
from mercer.app.picture import Picture
from mercer.app.state import EXTENT
from mercer.app.steps import Box
from mercer.certificate import BOUND, FREE, ZERO

__all__ = ["BoxFigure", "Plane", "TraceFigure"]

# Bokeh's names for the markers of `mercer.style`.
MARKERS = {"o": "circle", "s": "square", "^": "triangle", "D": "diamond",
           "v": "inverted_triangle", "P": "plus"}  # fmt: skip
GROUP_NAMES = {ZERO: "zero", FREE: "free", BOUND: "bound"}
# Pixels for a point² of matplotlib's area, and the largest disc of α.
PIXELS = 1.75
LARGEST_DISC = 34.0
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def _blank(**options: Any) -> Any:
    """A figure without a toolbar, in the style of the page."""
    plot = figure(
        tools="", toolbar_location=None, outline_line_color="#C9CDD3", background_fill_color="#FFFFFF",
        border_fill_color="#FFFFFF", min_border=6, **options,
    )  # fmt: skip
    plot.axis.axis_line_color = "#8A9099"
    plot.axis.major_tick_line_color = "#8A9099"
    plot.axis.minor_tick_line_color = None
    plot.axis.major_label_text_font = FONT
    plot.axis.major_label_text_color = style.GREY
    plot.axis.major_label_text_font_size = "11px"
    plot.axis.axis_label_text_font = FONT
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_font_size = "12px"
    plot.axis.axis_label_text_color = style.INK
    plot.grid.grid_line_color = None
    return plot


def _polygons(parts: list[Rings]) -> tuple[list, list]:
    """The nested lists of Bokeh: polygon, outline and holes, corners."""
    xs = [[[ring[:, 0].tolist() for ring in rings]] for rings in parts]
    ys = [[[ring[:, 1].tolist() for ring in rings]] for rings in parts]
    return xs, ys


class Plane:
    """Points, regions, boundary, margins and band; or a curve with its tube."""

    def __init__(self) -> None:
        ends = {"x_range": Range1d(-EXTENT, EXTENT), "y_range": Range1d(-EXTENT, EXTENT)}
        self.plot = plot = _blank(
            name="plane", sizing_mode="stretch_both", x_axis_label="x₁", y_axis_label="x₂", **ends
        )
        self.regions = self._source("xs", "ys", "colour")
        plot.multi_polygons("xs", "ys", source=self.regions, fill_color="colour", line_color=None)
        self.tube = self._source("x", "low", "high")
        plot.varea("x", "low", "high", source=self.tube, fill_color=style.tint(style.SKY, 0.3))
        self.shift = self._source("x", "low", "high")
        plot.varea("x", "low", "high", source=self.shift, fill_color=style.ORANGE, fill_alpha=0.3)
        self.band = self._source("xs", "ys")
        plot.multi_polygons("xs", "ys", source=self.band, fill_color=style.ORANGE, fill_alpha=0.3,
                            line_color=style.ORANGE, line_width=1.5, line_dash="dashdot",
                            hatch_pattern="right_diagonal_line", hatch_color=style.ORANGE,
                            hatch_alpha=0.35, hatch_scale=9)  # fmt: skip
        self.edges = self._source("xs", "ys")
        plot.multi_line("xs", "ys", source=self.edges, line_color=style.INK, line_width=1.3,
                        line_dash=[6, 5])  # fmt: skip
        self.boundary = self._source("xs", "ys")
        plot.multi_line("xs", "ys", source=self.boundary, line_color=style.INK, line_width=2.4)
        self.discs = self._source("x", "y", "size", "colour")
        plot.scatter("x", "y", source=self.discs, size="size", fill_color="colour", fill_alpha=0.24,
                     line_color=None)  # fmt: skip
        self.marks = self._source("x", "y", "size", "colour", "width")
        plot.scatter("x", "y", source=self.marks, size="size", fill_color=None, line_color="colour",
                     line_width="width")  # fmt: skip
        self.points = self._source("x", "y", "size", "fill", "line", "width", "marker", "note")
        shown = plot.scatter("x", "y", source=self.points, size="size", marker="marker",
                             fill_color="fill", line_color="line", line_width="width")  # fmt: skip
        self.extra = self._source("x", "y", "marker", "colour")
        plot.scatter("x", "y", source=self.extra, size=19, marker="marker", fill_color="colour",
                     line_color=style.INK, line_width=1.8)  # fmt: skip
        plot.add_tools(HoverTool(renderers=[shown], tooltips="@note", attachment="vertical"))

    @staticmethod
    def _source(*columns: str) -> ColumnDataSource:
        return ColumnDataSource({column: [] for column in columns})

    @property
    def reach(self) -> float:
        """How near a click must be to a point, in units of the plane: a finger's breadth."""
        width = self.plot.inner_width or 500
        return 13 * 2 * EXTENT / width

    def paint(self, picture: Picture, selected: int | None, cursor: Any) -> None:
        state = picture.state
        is_curve = MACHINES[state.machine].kind == "curve"
        self.plot.xaxis.axis_label = "x" if is_curve else "x₁"
        self.plot.yaxis.axis_label = "y" if is_curve else "x₂"
        self._paint_regions(picture)
        self._paint_curve(picture)
        self._paint_points(picture)
        self._paint_marks(picture, selected, cursor)

    def _paint_regions(self, picture: Picture) -> None:
        xs, ys, colours = [], [], []
        for region in picture.regions:
            x, y = _polygons(region.polygons)
            share = 0.3 if region.is_sure else 0.13 if picture.edges else 0.2
            hue = style.GREY if region.label < 0 else style.class_colour(region.label)
            xs, ys = xs + x, ys + y
            colours += [style.tint(hue, share)] * len(x)
        self.regions.data = {"xs": xs, "ys": ys, "colour": colours}
        x, y = _polygons(picture.band)
        self.band.data = {"xs": x, "ys": y}
        for source, lines in ((self.edges, picture.edges), (self.boundary, picture.boundary)):
            source.data = {"xs": [line[:, 0] for line in lines], "ys": [line[:, 1] for line in lines]}

    def _paint_curve(self, picture: Picture) -> None:
        empty = np.zeros(0)
        x, low, high, shift_low, shift_high = empty, empty, empty, empty, empty
        if picture.curve is not None:
            curve = picture.curve
            x, low, high = curve.x, curve.f - curve.epsilon, curve.f + curve.epsilon
            shift_low, shift_high = curve.f + curve.shift[0], curve.f + curve.shift[1]
            self.boundary.data = {"xs": [x], "ys": [curve.f]}
            self.edges.data = {"xs": [x, x], "ys": [low, high]} if curve.epsilon else \
                              {"xs": [], "ys": []}  # fmt: skip
        self.tube.data = {"x": x, "low": low, "high": high}
        self.shift.data = {"x": x, "low": shift_low, "high": shift_high}

    def _paint_points(self, picture: Picture) -> None:
        state = picture.state
        X = state.X
        kind = MACHINES[state.machine].kind
        codes = picture.labels if kind in ("classes", "clusters") else np.zeros(len(X), int)
        codes = codes + (1 if kind in ("curve", "region") else 0)  # blue: there is one class
        hues = [style.class_colour(int(code)) for code in codes]
        has_groups = kind != "clusters" and picture.facts.n_support > 0
        looks = [style.GROUPS[GROUP_NAMES[int(g)]] if has_groups else style.GROUPS["free"]
                 for g in picture.group]  # fmt: skip
        if state.machine in ("logistic", "ridge"):  # all pull: nobody stands out
            looks = [{**style.GROUPS["free"], "width": 0.8, "size": 30.0}] * len(X)
        self.points.data = {
            "x": X[:, 0],
            "y": X[:, 1],
            "size": [PIXELS * look["size"] ** 0.5 for look in looks],
            "fill": [style.tint(hue, look["fill"]) for hue, look in zip(hues, looks, strict=True)],
            "line": [hue if look["edge"] == "class" else look["edge"] or hue
                     for hue, look in zip(hues, looks, strict=True)],
            "width": [PIXELS * look["width"] * 0.9 for look in looks],
            "marker": [MARKERS[style.class_marker(int(code))] for code in codes],
            "note": list(picture.notes),
        }  # fmt: skip
        self._paint_discs(picture, X, hues)

    def _paint_discs(self, picture: Picture, X: np.ndarray, hues: list[str]) -> None:
        """The area of a disc is α."""
        alpha = np.nan_to_num(picture.alpha)
        used = np.flatnonzero(alpha > 0)
        size = np.zeros(0)
        if used.size:
            share = alpha[used] / alpha.max()
            crowd = min(1.0, (60.0 / share.sum()) ** 0.5)
            size = LARGEST_DISC * crowd * np.sqrt(share)
        self.discs.data = {"x": X[used, 0], "y": X[used, 1], "size": size,
                           "colour": [hues[i] for i in used]}  # fmt: skip

    def _paint_marks(self, picture: Picture, selected: int | None, cursor: Any) -> None:
        """Rings around points of the last step or of a proof, and around the selected one."""
        X = picture.state.X
        ringed = [(i, 21.0, style.PINK, 2.6) for i in picture.active]
        if selected is not None and selected < len(X):
            ringed.append((selected, 27.0, style.INK, 2.0))
        rows = [i for i, *_ in ringed]
        self.marks.data = {
            "x": X[rows, 0], "y": X[rows, 1], "size": [size for _, size, _, _ in ringed],
            "colour": [colour for _, _, colour, _ in ringed],
            "width": [width for *_, width in ringed],
        }  # fmt: skip
        extra = [(*picture.meeting, "star", style.ORANGE)] if picture.meeting else []
        extra += [(*cursor, "cross", style.INK)] if cursor else []
        columns = zip(*extra, strict=True) if extra else [[]] * 4
        self.extra.data = {
            name: list(column)
            for name, column in zip(("x", "y", "marker", "colour"), columns, strict=True)
        }


class TraceFigure:
    """How the gap (or another measure) fell."""

    def __init__(self) -> None:
        self.plot = _blank(
            name="trace", sizing_mode="stretch_both", x_range=Range1d(0, 1), y_range=Range1d(0, 1)
        )
        self.source = ColumnDataSource({"x": [], "y": [], "note": []})
        self.plot.ygrid.grid_line_color = "#E6E6E6"
        self.plot.line("x", "y", source=self.source, line_color=style.BLUE, line_width=2)
        dots = self.plot.scatter("x", "y", source=self.source, size=5, color=style.BLUE)
        self.plot.add_tools(HoverTool(renderers=[dots], tooltips="@note", mode="vline"))

    def paint(self, trace: Trace, in_steps: bool) -> None:
        if trace.steps.size == 0:
            self.source.data = {"x": [], "y": [], "note": []}
            return
        log_x = not in_steps and trace.is_log and trace.steps[-1] > 20
        x = np.log10(np.maximum(trace.steps, 1)) if log_x else trace.steps.astype(float)
        y = np.log10(np.maximum(trace.values, 1e-16)) if trace.is_log else trace.values.astype(float)
        self.source.data = {
            "x": x, "y": y,
            "note": [f"{value:.3g} after {step:,.0f}"
                     for step, value in zip(trace.steps, trace.values, strict=True)],
        }  # fmt: skip
        self._axis(self.plot.xaxis, self.plot.x_range, x, log_x, trace.unit, from_zero=False)
        self._axis(self.plot.yaxis, self.plot.y_range, y, trace.is_log, trace.measure,
                   from_zero=not trace.is_log)  # fmt: skip

    @staticmethod
    def _axis(
        axis: Any, ends: Range1d, values: np.ndarray, is_log: bool, name: str, from_zero: bool
    ) -> None:
        low, high = float(values.min()), float(values.max())
        low = 0.0 if from_zero else low
        if is_log:
            low, high = np.floor(low), max(np.ceil(high), np.floor(low) + 1)
            every = max(1, int((high - low) // 4))
            ticks = np.arange(low, high + 0.5, every)
            texts = {float(t): f"10{_raised(int(t))}" for t in ticks}
        else:
            high = high if high > low else low + 1.0
            ticks = np.unique(np.round(np.linspace(low, high, 5), 0 if high - low >= 8 else 2))
            texts = {float(t): f"{t:,.4g}" for t in ticks}
        pad = 0.06 * (high - low)
        ends.start, ends.end = low - pad, high + pad
        axis.ticker = FixedTicker(ticks=ticks.tolist())
        axis.major_label_overrides = texts
        axis.axis_label = name


def _raised(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


class BoxFigure:
    """A pair step of SMO: the box, the line that Σ αy leaves, and where the step went."""

    def __init__(self) -> None:
        self.plot = plot = _blank(
            name="box", sizing_mode="stretch_both", x_range=Range1d(0, 1), y_range=Range1d(0, 1)
        )
        sources = {name: ColumnDataSource(data) for name, data in _EMPTY.items()}
        self.sources = sources
        plot.quad(left=0, bottom=0, right="right", top="top", source=sources["box"],
                  fill_color=style.tint(style.SKY, 0.2), line_color=style.BLUE, line_width=1.6)  # fmt: skip
        plot.line("x", "y", source=sources["whole"], line_color=style.GREY, line_dash="dotted",
                  line_width=1.5)  # fmt: skip
        plot.line("x", "y", source=sources["line"], line_color=style.INK, line_width=2.6)
        plot.multi_line("xs", "ys", source=sources["levels"], line_color=style.ORANGE, line_width=1.5,
                        line_dash="dashed")  # fmt: skip
        plot.text("x", "y", "text", source=sources["names"], text_font=value(FONT), text_font_size="12px",
                  text_color=style.INK, text_baseline="middle", x_offset=5)  # fmt: skip
        plot.scatter("x", "y", source=sources["places"], marker="marker", size="size",
                     fill_color="fill", line_color="line", line_width=2)  # fmt: skip

    def paint(self, box: Box | None) -> None:
        if box is None:
            for name, data in _EMPTY.items():
                self.sources[name].data = data
            return
        wide, tall = box.bound_i, box.bound_j
        room = 0.42 * max(wide, tall)
        x_ends, y_ends = (-room, wide + room), (-room, tall + room)
        self.plot.x_range.start, self.plot.x_range.end = x_ends
        self.plot.y_range.start, self.plot.y_range.end = y_ends
        self.plot.xaxis.axis_label = f"α of point {box.i + 1}"
        self.plot.yaxis.axis_label = f"α of point {box.j + 1}"
        for axis, bound in ((self.plot.xaxis, wide), (self.plot.yaxis, tall)):
            axis.ticker = FixedTicker(ticks=[0.0, bound])
            axis.major_label_overrides = {0.0: "0", float(bound): f"{bound:.3g}"}
        (x0, y0), (x1, y1) = box.line
        slope = (y1 - y0) / (x1 - x0)
        reach = np.array(x_ends)
        self.sources["box"].data = {"right": [wide], "top": [tall]}
        self.sources["whole"].data = {"x": reach, "y": y0 + slope * (reach - x0)}
        self.sources["line"].data = {"x": [x0, x1], "y": [y0, y1]}
        self.sources["levels"].data = {"xs": [[0, wide]] * 2, "ys": [[box.low] * 2, [box.high] * 2]}
        self.sources["names"].data = {"x": [wide, wide], "y": [box.low, box.high],
                                      "text": ["L", "H"]}  # fmt: skip
        self._paint_places(box, slope, x_ends, y_ends)

    def _paint_places(self, box: Box, slope: float, x_ends: tuple, y_ends: tuple) -> None:
        """Before, without the box, after. An optimum beyond the figure is shown at its edge."""
        x, y = box.unclipped
        sign = 1.0 if y > box.before[1] else -1.0
        far = 0.96
        rooms = [abs(far * end - now) for end, now in
                 ((y_ends[1] if sign > 0 else y_ends[0], box.before[1]),
                  (x_ends[1] if sign * slope > 0 else x_ends[0], box.before[0]))]  # fmt: skip
        if not abs(y - box.before[1]) <= min(rooms):
            x = box.before[0] + sign * slope * min(rooms)
            y = box.before[1] + sign * min(rooms)
        self.sources["places"].data = {
            "x": [box.before[0], x, box.after[0]], "y": [box.before[1], y, box.after[1]],
            "marker": ["circle", "x", "circle"], "size": [11, 12, 11],
            "fill": ["#FFFFFF", style.PINK, style.PINK], "line": [style.INK, style.PINK, style.INK],
        }  # fmt: skip


_EMPTY: dict[str, dict[str, list]] = {
    "box": {"right": [], "top": []},
    "whole": {"x": [], "y": []},
    "line": {"x": [], "y": []},
    "levels": {"xs": [], "ys": []},
    "names": {"x": [], "y": [], "text": []},
    "places": {"x": [], "y": [], "marker": [], "size": [], "fill": [], "line": []},
}
