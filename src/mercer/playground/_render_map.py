"""Held-out points and the map of errors as columns for the figures (see `_render`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.playground._held_out import CrossValidation, ErrorMap
from mercer.playground._state import State
from mercer.plots import style

__all__ = ["held_out_columns", "map_axes"]

Columns = dict[str, list]


def held_out_columns(found: CrossValidation | None, state: State) -> dict[str, Columns]:
    """Crosses on points that are wrong when held out, or lines to their predictions; the map."""
    wrong: Columns = {"x": [], "y": []}
    lines: Columns = {"xs": [], "ys": []}
    if found is not None and not found.refusal:
        x, y = state.X.T
        if found.is_regression:
            ends = zip(y.tolist(), found.predicted.tolist(), strict=True)
            lines = {"xs": [[at, at] for at in x.tolist()], "ys": [list(pair) for pair in ends]}
        else:
            wrong = {"x": x[found.wrong].tolist(), "y": y[found.wrong].tolist()}
    return {"wrong": wrong, "held-out": lines, **_map(found, state)}


def _map(found: CrossValidation | None, state: State) -> dict[str, Columns]:
    cells: Columns = {name: [] for name in ("x", "y", "width", "height", "colour", "note")}
    marks: Columns = {name: [] for name in ("x", "y", "marker", "size", "fill", "line")}
    if found is None or found.map is None:
        return {"map": cells, "map-marks": marks}
    errors = found.map
    x, y, width, height = _places(errors)
    shades = _shades(errors.error)
    rows, columns = (part.ravel().tolist() for part in np.indices(errors.error.shape))
    n = len(rows)
    cells = {
        "x": [x[c] for c in columns],
        "y": [y[r] for r in rows],
        "width": [width] * n,
        "height": [height] * n,
        "colour": [shades[r][c] for r, c in zip(rows, columns, strict=True)],
        "note": [found.note(r, c) for r, c in zip(rows, columns, strict=True)],
    }
    r, c = errors.best
    here_x = np.clip(np.log10(state.C), x[0] - 0.5 * width, x[-1] + 0.5 * width)  # or at the edge
    here_y = float(np.log10(state.gamma)) if errors.gammas.size > 1 else y[0]
    places = [
        (x[c], y[r], "star", 14.0, style.ORANGE, style.INK),
        (float(here_x), here_y, "circle_x", 17.0, "#FFFFFF", style.PINK),
    ]
    names = ("x", "y", "marker", "size", "fill", "line")
    marks = {name: [place[k] for place in places] for k, name in enumerate(names)}
    return {"map": cells, "map-marks": marks}


def _places(errors: ErrorMap) -> tuple[list[float], list[float], float, float]:
    """Middles of the cells in powers of ten, and their sides."""
    x = np.log10(errors.Cs)
    y = np.log10(errors.gammas) if errors.gammas.size > 1 else np.zeros(1)
    height = float(y[1] - y[0]) if y.size > 1 else 1.0
    return x.tolist(), y.tolist(), float(x[1] - x[0]), height


def _shades(error: np.ndarray) -> list[list[str]]:
    """The darker, the larger the error; what was not computed is grey."""
    low, high = np.nanmin(error), np.nanmax(error)
    relative = (error - low) / max(high - low, 1e-12)
    return [
        [
            style.PALE if np.isnan(each) else style.tint(style.BLUE, 0.06 + 0.86 * each)
            for each in row
        ]
        for row in relative
    ]


def map_axes(found: CrossValidation | None) -> dict[str, dict[str, Any]]:
    """Powers of ten."""
    if found is None or found.map is None:
        return {}
    x, y, width, height = _places(found.map)
    has_gamma = len(y) > 1
    axes = {}
    for name, title, values, side in (("x", "C", x, width), ("y", "γ", y, height)):
        ticks = np.arange(np.ceil(values[0] - 1e-9), np.floor(values[-1] + 1e-9) + 0.5)
        texts = [f"{10.0**tick:g}" for tick in ticks]
        if name == "y" and not has_gamma:
            ticks, texts, title = np.zeros(0), [], " "
        axes[f"map-{name}"] = {
            "start": values[0] - 0.5 * side,
            "end": values[-1] + 0.5 * side,
            "ticks": ticks.tolist(),
            "texts": texts,
            "name": title,
        }
    return axes
