"""A `Picture` as columns for the figures: positions, sizes and colours.

Colours and markers are those of `mercer.plots.style`. Nothing here needs Bokeh: the columns
travel to the page in one message, which fills the sources of the figures' glyphs (`_figures`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.estimators._dual_view import KKTGroup
from mercer.playground._catalogue import ESTIMATORS
from mercer.playground._fit import ProgressCurve
from mercer.playground._picture import Picture, Rings
from mercer.playground._render_map import held_out_columns, map_axes
from mercer.playground._state import LIMITS, AxisColumn
from mercer.playground._steps import Box
from mercer.plots import style

__all__ = ["Columns", "axes", "columns"]

# Columns of one glyph's source.
Columns = dict[str, list]

# Bokeh's names for the markers of `mercer.plots.style`.
MARKERS = {
    "o": "circle",
    "s": "square",
    "^": "triangle",
    "D": "diamond",
    "v": "inverted_triangle",
    "P": "plus",
}


@dataclass(frozen=True)
class _Sizes:
    """Sizes in pixels."""

    scale: float = 1.75  # pixels for a point of matplotlib
    disc: float = 34.0  # diameter of the disc of the largest α
    discs: float = 60.0  # number of discs of that size; more are drawn smaller
    active: float = 21.0  # diameters of rings: around the points of a step, the selected one
    selected: float = 27.0


_SIZES = _Sizes()


def columns(picture: Picture, selected: int | None, cursor: Any) -> dict[str, Columns]:
    """The columns of every source, by the source's name."""
    return {
        **_regions(picture),
        **_curve(picture),
        **_points(picture),
        **_marks(picture, selected, cursor),
        "trace": _trace(picture.progress, picture.state.step is not None),
        **held_out_columns(picture.held_out, picture.state),
        **_box(picture.box),
    }


def axes(picture: Picture) -> dict[str, dict[str, Any]]:
    """Range, ticks and name of the axes that change."""
    names = "xy" if ESTIMATORS[picture.state.machine].kind == "curve" else ("x₁", "x₂")
    columns = picture.state.columns or [AxisColumn(name, 0.0, 1.0) for name in names]
    found = {f"plane-{axis}": _units(each) for axis, each in zip("xy", columns, strict=True)}
    curve = picture.progress
    if curve.steps.size:
        x, y, log_x = _trace_values(curve, picture.state.step is not None)
        found["trace-x"] = _axis(x, log_x, curve.unit, whole=True)
        found["trace-y"] = _axis(y, curve.is_log, curve.measure, whole=not curve.is_log)
    found |= map_axes(picture.held_out)
    if picture.box is not None:
        found |= _box_axes(picture.box)
    return found


def _units(column: AxisColumn, most: int = 8) -> dict[str, Any]:
    """Ticks of the plane at round values of a column."""
    low, high = (column.middle + side * column.unit * LIMITS.extent for side in (-1, 1))
    step = 10.0 ** np.floor(np.log10((high - low) / most))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= most)
    values = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)
    ticks = (values - column.middle) / column.unit
    texts = [f"{value:.6g}".replace("-", "−") for value in values + 0.0]
    ends = {"start": -LIMITS.extent, "end": LIMITS.extent}
    return {**ends, "ticks": ticks.tolist(), "texts": texts, "name": column.name}


def _box_axes(box: Box) -> dict[str, dict[str, Any]]:
    """Around the part of the line inside of the box; of a large one not all is seen."""
    found = {}
    (x0, x1), (y0, y1) = _window(box)
    for letter, point, bound, start, end in (
        ("x", box.i, box.bound_i, x0, x1),
        ("y", box.j, box.bound_j, y0, y1),
    ):
        corners = (box.line[0][letter == "y"], box.line[1][letter == "y"])
        inside = max(corners) if bound > end else bound
        found[f"box-{letter}"] = {
            "start": start,
            "end": end,
            "ticks": [0.0, inside],
            "texts": ["0", f"{inside:.3g}"],
            "name": f"α of point {point + 1}" + (f"  (C = {bound:.3g})" if bound > end else ""),
        }
    return found


def _window(box: Box) -> tuple[tuple[float, float], tuple[float, float]]:
    """What is shown of the plane of a pair, in both directions."""
    reach = max(*box.line[0], *box.line[1])
    sides = [min(bound, 2.0 * reach) for bound in (box.bound_i, box.bound_j)]
    room = 0.42 * max(sides)  # around the box
    return (-room, sides[0] + room), (-room, sides[1] + room)


def _short(values: Any) -> list:
    """To a thousandth of the plane's unit: a quarter of a pixel."""
    return np.round(np.asarray(values, dtype=np.float64), 3).tolist()


# ------------------------------------------------------------------ the plane


def _polygons(parts: list[Rings]) -> tuple[list, list]:
    """The nested lists of Bokeh: polygon, outline and holes, corners."""
    xs = [[[_short(ring[:, 0]) for ring in rings]] for rings in parts]
    ys = [[[_short(ring[:, 1]) for ring in rings]] for rings in parts]
    return xs, ys


def _lines(lines: list[np.ndarray]) -> Columns:
    return {
        "xs": [_short(line[:, 0]) for line in lines],
        "ys": [_short(line[:, 1]) for line in lines],
    }


def _regions(picture: Picture) -> dict[str, Columns]:
    xs: list = []
    ys: list = []
    hues: list[str] = []
    for region in picture.regions:
        x, y = _polygons(region.polygons)
        fraction = 0.3 if region.is_beyond_margin else 0.13 if picture.edges else 0.2
        hue = style.GREY if region.label < 0 else style.class_colour(region.label)
        xs, ys = xs + x, ys + y
        hues += [style.tint(hue, fraction)] * len(x)
    band = _polygons(picture.band)
    return {
        "regions": {"xs": xs, "ys": ys, "colour": hues},
        "band": {"xs": band[0], "ys": band[1]},
        "edges": _lines(picture.edges),
        "boundary": _lines(picture.boundary),
    }


def _curve(picture: Picture) -> dict[str, Columns]:
    empty: Columns = {"x": [], "low": [], "high": []}
    curve = picture.curve
    if curve is None:
        return {"tube": empty, "shift": empty}
    x = _short(curve.x)
    low, high = _short(curve.f - curve.epsilon), _short(curve.f + curve.epsilon)
    ends = _short(curve.f + curve.shift[0]), _short(curve.f + curve.shift[1])
    has_tube, has_shift = curve.epsilon > 0, curve.shift != (0.0, 0.0)
    return {
        "boundary": {"xs": [x], "ys": [_short(curve.f)]},
        "edges": {"xs": [x, x], "ys": [low, high]} if has_tube else {"xs": [], "ys": []},
        "tube": {"x": x, "low": low, "high": high} if has_tube else empty,
        "shift": {"x": x, "low": ends[0], "high": ends[1]} if has_shift else empty,
    }


def _points(picture: Picture) -> dict[str, Columns]:
    state, X = picture.state, picture.state.X
    kind = ESTIMATORS[state.machine].kind
    hues = [style.class_colour(int(code)) for code in picture.shown]
    has_groups = kind != "clusters" and picture.situation.n_support > 0
    groups = picture.group if has_groups else [KKTGroup.FREE] * len(X)
    looks = [style.GROUPS[KKTGroup(g).name.lower()] for g in groups]
    if state.machine in ("logistic", "ridge"):  # every point has a coefficient: all are drawn alike
        looks = [replace(style.GROUPS["free"], width=0.8, size=30.0)] * len(X)
    return {
        "points": {
            **dict(zip("xy", X.T.tolist(), strict=True)),
            "size": [_SIZES.scale * look.size**0.5 for look in looks],
            "fill": [style.tint(hue, look.fill) for hue, look in zip(hues, looks, strict=True)],
            "line": [
                hue if look.edge in ("class", None) else look.edge
                for hue, look in zip(hues, looks, strict=True)
            ],
            "width": [0.9 * _SIZES.scale * look.width for look in looks],
            "marker": [MARKERS[style.class_marker(int(code))] for code in picture.shown],
            "note": list(picture.notes),
        },
        "discs": _discs(picture, X, hues),
    }


def _discs(picture: Picture, X: np.ndarray, hues: list[str]) -> Columns:
    """The area of a disc is proportional to α; many discs are smaller."""
    alpha = np.nan_to_num(picture.alpha)
    used = np.flatnonzero(alpha > 0)
    size = np.zeros(0)
    if used.size:
        relative = alpha[used] / alpha.max()
        size = _SIZES.disc * np.sqrt(relative * min(1.0, _SIZES.discs / relative.sum()))
    x, y = X[used].T.tolist()
    return {"x": x, "y": y, "size": _short(size), "colour": [hues[i] for i in used]}


def _marks(picture: Picture, selected: int | None, cursor: Any) -> dict[str, Columns]:
    """Rings around points of the last step or of a proof, and around the selected one."""
    X = picture.state.X
    rings = [(*X[i].tolist(), _SIZES.active, style.PINK, 2.6) for i in picture.active]
    if selected is not None and selected < len(X):
        rings.append((*X[selected].tolist(), _SIZES.selected, style.INK, 2.0))
    extra = [(*picture.meeting, "star", style.ORANGE)] if picture.meeting else []
    extra += [(*cursor, "cross", style.INK)] if cursor else []
    return {
        "marks": _table(rings, "x", "y", "size", "colour", "width"),
        "extra": _table(extra, "x", "y", "marker", "colour"),
        "similar": {"x": [], "y": [], "alpha": []},  # filled by the page, as the next one
        "pointed": {"x": [], "y": []},
    }


def _table(rows: list[tuple], *names: str) -> Columns:
    """Rows as columns."""
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


# ------------------------------------------------------------------ the trace


def _trace_values(curve: ProgressCurve, in_steps: bool) -> tuple[np.ndarray, np.ndarray, bool]:
    """As they are drawn: exponents of ten, where the scale is logarithmic."""
    log_x = not in_steps and curve.is_log and curve.steps[-1] > 20
    x = np.log10(np.maximum(curve.steps, 1)) if log_x else curve.steps.astype(float)
    y = np.log10(np.maximum(curve.values, 1e-16)) if curve.is_log else curve.values.astype(float)
    return x, y, log_x


def _trace(curve: ProgressCurve, in_steps: bool) -> Columns:
    if curve.steps.size == 0:
        return {"x": [], "y": [], "note": []}
    x, y, _ = _trace_values(curve, in_steps)
    pairs = zip(curve.steps, curve.values, strict=True)
    notes = [f"{curve.measure} {value:.3g} after {step:,.0f} {curve.unit}" for step, value in pairs]
    return {"x": x.tolist(), "y": y.tolist(), "note": notes}


def _axis(values: np.ndarray, is_log: bool, name: str, whole: bool) -> dict[str, Any]:
    low, high = float(values.min()), float(values.max())
    if is_log:
        low, high = float(np.floor(low)), float(max(np.ceil(high), np.floor(low) + 1))
        ticks = np.arange(low, high + 0.5, max(1, (high - low) // 4))
        raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
        texts = [f"10{str(int(tick)).translate(raised)}" for tick in ticks]
    else:
        low, high = min(low, 0.0), max(high, low + 1.0)
        ticks = np.linspace(low, high, 5)
        ticks = np.unique(np.round(ticks)) if whole else ticks[::2]
        texts = [f"{tick:,.4g}" for tick in ticks]
    pad = 0.06 * (high - low)
    ends = {"start": low - pad, "end": high + pad}
    return {**ends, "ticks": ticks.tolist(), "texts": texts, "name": name}


# ------------------------------------------------------------------ the box of a pair


def _box(box: Box | None) -> dict[str, Columns]:
    if box is None:  # the same columns, empty
        first, last = (0.0, 0.0), (1.0, 1.0)
        some = _box(Box(0, 1, 1.0, 1.0, 0.0, 1.0, first, last, last, (first, last)))
        return {name: {column: [] for column in each} for name, each in some.items()}
    (x0, y0), (x1, y1) = box.line
    slope = (y1 - y0) / (x1 - x0)
    left, right = _window(box)[0]
    ends = [left, right]
    return {
        "box": {"right": [box.bound_i], "top": [box.bound_j]},
        "line-all": {"x": ends, "y": [y0 + slope * (end - x0) for end in ends]},
        "line": {"x": [x0, x1], "y": [y0, y1]},
        "levels": {"xs": [[0.0, right]] * 2, "ys": [[box.low] * 2, [box.high] * 2]},
        "names": {"x": [right] * 2, "y": [box.low, box.high], "text": ["L", "H"]},
        "places": _places(box, slope),
    }


def _places(box: Box, slope: float) -> Columns:
    """Before, without the box, after. An optimum beyond the figure is shown at its edge."""
    (x0, y0), up = box.before, box.unclipped[1] > box.before[1]
    right = up == (slope > 0)
    (x_low, x_high), (y_low, y_high) = _window(box)
    rooms = (x_high - x0 if right else x0 - x_low, y_high - y0 if up else y0 - y_low)
    # On the line both coordinates change as much.
    far = min(abs(box.unclipped[1] - y0), 0.95 * min(rooms))
    optimum = x0 + (far if right else -far), y0 + (far if up else -far)
    rows = [
        (*box.before, "circle", 12.0, "#FFFFFF", style.INK),
        (*optimum, "x", 12.0, style.PINK, style.PINK),
        (*box.after, "circle", 12.0, style.PINK, style.INK),
    ]
    return _table(rows, "x", "y", "marker", "size", "fill", "line")
