"""The style of every picture: colours, markers, sizes, fonts; public as ``mercer.plots.style``.

The first six colours are Okabe and Ito's, in an order in which the first ones differ most; the
others were chosen to be far from all before them for every kind of colour vision. Nothing is
encoded by colour alone: classes also have a marker, KKT groups a filling and an edge, lines a dash.
Nothing here imports matplotlib before something is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

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
    """How points of a KKT group are drawn."""

    size: float  # area in points²
    fill: float  # fraction of the class's colour in the filling; the rest is white
    edge: str | None = None  # a colour, "class" for that of the class, or none
    width: float = 0.0  # of the edge, in points


@dataclass(frozen=True)
class Settings:
    """Sizes of what is drawn, in points where nothing else is said."""

    zero: MarkerStyle = MarkerStyle(15.0, 0.55)
    free: MarkerStyle = MarkerStyle(46.0, 1.0, INK, 1.5)
    bound: MarkerStyle = MarkerStyle(26.0, 0.0, "class", 1.4)
    plain: MarkerStyle = MarkerStyle(30.0, 0.85)  # of models in which every point has a part
    figsize: tuple[float, float] = (6.4, 4.8)  # inches
    small: float = 8.5  # font size of notes
    uncrowded: int = 400  # points up to this number have their full size, more are smaller
    smallest: float = 0.12  # area of a point in the largest crowd, as a fraction of its full size
    most_lines: int = 8  # curves up to this number are named one by one, more are a bundle
    most_entries: int = 14  # classes up to this number have one column of a legend, more have two
    most_rows: int = 3  # of a legend below the axes; one that needs more stands beside them
    below_legend: float = 5.0  # space between a legend below the axes and what stands below it
    beside_y: float = 25.0  # space at the sides of axes, beside their names and numbers
    letter: float = 0.1  # inches: the mean width of a bold letter, and the height of a small one
    longest_name: int = (
        28  # letters of a class's or column's name; longer ones are cut in the middle
    )

    def room(self, longest: int) -> float:
        """Inches that a figure gets for names beside an axis of which the longest is this long."""
        return 0.9 * self.letter * max(0, longest - 12)

    def crowd(self, n: int) -> float:
        """The factor on the area of a point where there are n of them."""
        return max(self.smallest, min(1.0, self.uncrowded / max(n, 1)))


SETTINGS = Settings()
#: matplotlib's style sheet: ``plt.style.use(SHEET)``.
SHEET = str(files("mercer.plots").joinpath("assets", "mercer.mplstyle"))
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
    return pyplot().rc_context(fname=SHEET)


def own_axes(figsize: tuple[float, float] = SETTINGS.figsize, panels: int = 1) -> Any:
    """As `axes`, of a figure that pyplot does not know and no window shows."""
    pyplot()
    from matplotlib.figure import Figure

    return Figure(figsize=figsize, layout="constrained").subplots(panels)


def axes(figsize: tuple[float, float] = SETTINGS.figsize, panels: int = 1) -> Any:
    """Axes of a new figure: one, or several below each other."""
    return pyplot().subplots(panels, figsize=figsize, layout="constrained")[1]
