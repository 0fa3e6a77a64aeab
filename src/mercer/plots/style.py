"""The style of every picture: colours, markers, sizes, fonts; public as ``mercer.plots.style``.

The first six colours are Okabe and Ito's, in an order in which the first ones differ most; the
others were chosen to be far from all before them for every kind of colour vision. Nothing is
encoded by colour alone: classes also have a marker, KKT groups a filling and an edge, lines a dash.
Nothing here imports matplotlib before something is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "BLUE",
    "CLASSES",
    "GREEN",
    "GREY",
    "GROUPS",
    "INK",
    "MARKERS",
    "ORANGE",
    "PALE",
    "PINK",
    "RC",
    "SETTINGS",
    "SKY",
    "VERMILION",
    "MarkerStyle",
    "Settings",
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

#: Of class 0, 1, 2, …: the positive of two classes is blue.
CLASSES = (
    *(VERMILION, BLUE, GREEN, PINK, ORANGE, SKY),
    *("#402000", "#8000E0", "#002080", "#802060", "#E0C080", "#E00040"),
)
#: matplotlib's names; as many as are distinct at the size of a point.
MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True)
class MarkerStyle:
    """How points of a KKT group are drawn.

    Attributes
    ----------
    size : float
        Area in points².
    fill : float
        Fraction of the class's colour in the filling; the rest is white.
    edge : str or None
        A colour, "class" for that of the class, or none.
    width : float
        Of the edge, in points.
    """

    size: float
    fill: float
    edge: str | None = None
    width: float = 0.0


@dataclass(frozen=True)
class Settings:
    """Sizes of what is drawn, in points where nothing else is said.

    Attributes
    ----------
    zero, free, bound : MarkerStyle
        Of points by KKT group.
    figsize : (float, float)
        Of a figure, in inches.
    screen_dpi, file_dpi : int
        Dots per inch in a window, and of PNG files.
    text, title, tick, small : float
        Font sizes: labels, titles, ticks, legends.
    frame, line, grid : float
        Widths of axes, curves and grid lines.
    uncrowded : int
        Points up to this number are drawn in their full size, more of them smaller.
    smallest : float
        Area of a point in the largest crowd, as a fraction of its full size.
    most_lines : int
        Curves (or tasks) up to this number are drawn and named one by one, more as a bundle.
    most_entries : int
        Classes up to this number stand below each other in a legend, more in two columns.
    """

    zero: MarkerStyle = MarkerStyle(15.0, 0.55)
    free: MarkerStyle = MarkerStyle(46.0, 1.0, INK, 1.5)
    bound: MarkerStyle = MarkerStyle(26.0, 0.0, "class", 1.4)
    figsize: tuple[float, float] = (6.4, 4.8)
    screen_dpi: int = 110
    file_dpi: int = 150
    text: float = 10
    title: float = 11
    tick: float = 9
    small: float = 8.5
    frame: float = 0.8
    line: float = 1.8
    grid: float = 0.7
    uncrowded: int = 400
    smallest: float = 0.12
    most_lines: int = 8
    most_entries: int = 8

    def crowd(self, n: int) -> float:
        """The factor on the area of a point where there are n of them."""
        return max(self.smallest, min(1.0, self.uncrowded / max(n, 1)))

    @property
    def rc(self) -> dict[str, Any]:
        """The settings of matplotlib."""
        frame = "#555555"
        ticks = {"color": frame, "labelcolor": INK, "labelsize": self.tick}
        return {f"{axis}tick.{key}": value for axis in "xy" for key, value in ticks.items()} | {
            "figure.figsize": self.figsize,
            "figure.dpi": self.screen_dpi,
            "figure.facecolor": "white",
            "savefig.dpi": self.file_dpi,
            "savefig.facecolor": "white",
            "axes.facecolor": "white",
            "axes.edgecolor": frame,
            "axes.linewidth": self.frame,
            "axes.labelcolor": INK,
            "axes.labelsize": self.text,
            "axes.titlesize": self.title,
            "axes.titlelocation": "left",
            "axes.titlepad": 0.8 * self.text,
            "axes.titlecolor": INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "axes.unicode_minus": True,
            "grid.color": "#E6E6E6",
            "grid.linewidth": self.grid,
            "font.family": ["DejaVu Sans"],  # comes with matplotlib and has the Greek letters
            "font.size": self.text,
            "legend.fontsize": self.small,
            "legend.frameon": True,
            "legend.framealpha": 0.92,
            "legend.edgecolor": "#CCCCCC",
            "legend.borderpad": 0.6,
            "legend.labelspacing": 0.45,
            "lines.linewidth": self.line,
            "image.cmap": "cividis",
            "svg.fonttype": "none",
            "svg.hashsalt": "mercer",  # equal pictures are equal files
        }


SETTINGS = Settings()
RC = SETTINGS.rc
GROUPS = {name: getattr(SETTINGS, name) for name in ("zero", "free", "bound")}


def class_colour(code: int) -> str:
    """The colour of class number ``code``; after twelve they begin again, with other markers."""
    return CLASSES[code % len(CLASSES)]


def class_marker(code: int) -> str:
    """The marker of class number ``code``: no two of the first 72 have both in common."""
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


def own_axes(figsize: tuple[float, float] = SETTINGS.figsize, panels: int = 1) -> Any:
    """As `axes`, of a figure that pyplot does not know and no window shows."""
    pyplot()
    from matplotlib.figure import Figure

    return Figure(figsize=figsize, layout="constrained").subplots(panels)


def axes(figsize: tuple[float, float] = SETTINGS.figsize, panels: int = 1) -> Any:
    """Axes of a new figure: one, or several below each other."""
    return pyplot().subplots(panels, figsize=figsize, layout="constrained")[1]
