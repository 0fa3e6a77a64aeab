"""The style of every picture: colours, markers, sizes, fonts; for plots, playground and docs.

The colours are Okabe and Ito's, distinct for colour-blind readers too, in an order in which the
first ones differ most. Nothing is encoded by colour alone: classes also have a marker, KKT groups a
filling and an edge, lines a dash. Nothing here imports matplotlib; `context` does, when entered.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BLUE",
    "CLASSES",
    "FIGSIZE",
    "GREEN",
    "GREY",
    "GROUPS",
    "INK",
    "MARKERS",
    "ORANGE",
    "PALE",
    "PINK",
    "RC",
    "SKY",
    "VERMILION",
    "axes",
    "class_colour",
    "class_marker",
    "context",
    "own_axes",
    "pyplot",
    "tint",
]

BLUE, VERMILION, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, INK, GREY, PALE = "#E69F00", "#56B4E9", "#222222", "#6B6B6B", "#D9D9D9"

# Of class 0, 1, 2, …: the positive of two classes is blue.
CLASSES = (VERMILION, BLUE, GREEN, PINK, ORANGE, SKY)
# matplotlib's names; as many as are distinct at the size of a point.
MARKERS = ("o", "s", "^", "D", "v", "P")

# How points of a KKT group are drawn: area in points², fraction of colour in the filling, edge.
GROUPS: dict[str, dict[str, Any]] = {
    "zero": {"size": 15.0, "fill": 0.55, "edge": None, "width": 0.0},
    "free": {"size": 46.0, "fill": 1.0, "edge": INK, "width": 1.5},
    "bound": {"size": 26.0, "fill": 0.0, "edge": "class", "width": 1.4},
}

FIGSIZE = (6.4, 4.8)

RC: dict[str, Any] = {
    "figure.figsize": FIGSIZE,
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "savefig.dpi": 150,
    "savefig.facecolor": "white",
    "axes.facecolor": "white",
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.8,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.7,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib and has the Greek letters
    "font.size": 10,
    "legend.fontsize": 8.5,
    "legend.frameon": True,
    "legend.framealpha": 0.92,
    "legend.edgecolor": "#CCCCCC",
    "legend.borderpad": 0.6,
    "legend.labelspacing": 0.45,
    "lines.linewidth": 1.8,
    "image.cmap": "cividis",
    "svg.fonttype": "none",
    "svg.hashsalt": "mercer",  # equal pictures are equal files
}


def class_colour(code: int) -> str:
    """The colour of class number ``code``; after six they begin again, with other markers."""
    return CLASSES[code % len(CLASSES)]


def class_marker(code: int) -> str:
    """The marker of class number ``code``: no two of the first 36 have both in common."""
    return MARKERS[(code + code // len(CLASSES)) % len(MARKERS)]


def tint(colour: str, fraction: float) -> str:
    """A colour thinned with white: opaque, so that it is the same whatever lies below it."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 + fraction * (value - 255)):02X}" for value in channels)


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that names the install command."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError('Drawing needs matplotlib: pip install "mercer[plots]"') from missing
    return plt


def context() -> Any:
    """A context in which matplotlib draws in this style; the user's settings come back after."""
    return pyplot().rc_context(RC)


def own_axes(figsize: tuple[float, float] = FIGSIZE, panels: int = 1) -> Any:
    """As `axes`, of a figure that pyplot does not know and no window shows."""
    pyplot()
    from matplotlib.figure import Figure

    return Figure(figsize=figsize, layout="constrained").subplots(panels)


def axes(figsize: tuple[float, float] = FIGSIZE, panels: int = 1) -> Any:
    """Axes of a new figure: one, or several below each other."""
    return pyplot().subplots(panels, figsize=figsize, layout="constrained")[1]
