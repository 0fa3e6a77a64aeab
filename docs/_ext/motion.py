"""Short looping pictures, drawn from code while the site is built.

    ```{motion} c-sweep
    What is seen.
    ```

The argument names a function of this file that gives one drawing for each frame. The last frame
stands in print and for readers who ask for reduced motion.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from live import FOLDER, house_style, is_current
from matplotlib.figure import Figure
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from stills import BLUE, DARK, GREEN, GREY, ORANGE, SIGNS, TWELVE, _levels, _plane, _points

from mercer import SVC, KernelKMeans
from mercer.duality import coordinate_ascent
from mercer.kernels import RBF

DPI, LAST_MS, COLOURS = 80, 2200, 96
FRAME_MS, LONGEST_FRAME_MS, ALL_MS = 220, 900, 4400
LARGEST_BYTES = 1_000_000
logger = logging.getLogger(__name__)
MOTIONS: dict[str, Callable[[], Iterator[Figure]]] = {}


def motion(function: Callable[[], Iterator[Figure]]) -> Callable[[], Iterator[Figure]]:
    MOTIONS[function.__name__.replace("_", "-")] = function
    return function


def _fitted(X: np.ndarray, y: np.ndarray, title: str, C: float) -> Figure:
    figure, ax = _plane()
    model = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    _levels(ax, model.decision_function)
    _points(ax, X, y)
    is_bound = np.abs(model.dual_coef_[0]) == C
    for rows, colour, width in ((~is_bound, DARK, 1.2), (is_bound, GREEN, 2.4)):
        ring = {"facecolors": "none", "edgecolors": colour, "linewidths": width}
        ax.scatter(*X[model.support_[rows]].T, s=130, zorder=4, **ring)
    ax.set_title(f"{title}, width {model.certificate_.margin:.2f}")
    return figure


@motion
def c_sweep() -> Iterator[Figure]:
    X, y = np.vstack([TWELVE, [[4, 4]]]), np.append(SIGNS, -1)
    for C in np.logspace(0, -2, 20):
        yield _fitted(X, y, f"C = {C:.3g}", C)


@motion
def outlier() -> Iterator[Figure]:
    y = np.append(SIGNS, -1)
    for height in np.linspace(-1.5, 1.0, 20):
        X = np.vstack([TWELVE, [[5, height]]])
        place = f"(5, {height:.1f})".replace("-", "−")
        yield _fitted(X, y, f"hard margin, a row at {place}", np.inf)


@motion
def pegasos() -> Iterator[Figure]:
    rng, w, lam = np.random.default_rng(0), np.zeros(2), 1 / 12
    rows = TWELVE - 2.5
    for t in range(1, 101):
        i = rng.integers(12)
        inside = SIGNS[i] * (w @ rows[i]) < 1
        w = (1 - 1 / t) * w + inside * SIGNS[i] * rows[i] / (lam * t)
        if t <= 12 or t % 8 == 4:
            figure, ax = _plane(limits=(-4.2, 4.2))
            _levels(ax, lambda places, w=w: places @ w)
            _points(ax, rows, SIGNS)
            ax.scatter(*rows[i], s=160, facecolors="none", edgecolors=BLUE if inside else GREY)
            ax.set_title(f"step {t}: {'a row within its margin' if inside else 'w only shrinks'}")
            yield figure


@motion
def ascent() -> Iterator[Figure]:
    Q, grid = np.array([[4, 1], [1, 2]]), np.linspace(-1.2, 1.2, 120)
    places = np.stack(np.meshgrid(grid, grid), axis=-1)
    values = -np.einsum("...i,ij,...j", places, Q, places) / 2
    path = coordinate_ascent(Q, start=[1, -1], steps=8)
    for steps in range(len(path)):
        figure, ax = _plane(limits=(-1.2, 1.2))
        ax.contour(grid, grid, values, 14, colors=BLUE, linewidths=0.8, linestyles="-")
        ax.plot(*path[: steps + 1].T, "o-", color=ORANGE, markersize=6)
        ax.set(xlabel="α₁", ylabel="α₂", title=f"coordinate ascent, step {steps}")
        yield figure


@motion
def clusters() -> Iterator[Figure]:
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.c_[np.cos(angle), np.sin(angle)]
    X, K = np.r_[ring, 4 * ring], RBF(1.0)(np.r_[ring, 4 * ring])
    end = KernelKMeans(2, kernel=RBF(1.0), random_state=0).fit_predict(X)
    labels = end.copy()
    rng = np.random.default_rng(3)
    labels[rng.random(80) < 0.3] ^= 1  # a start near enough to end in the two rings
    for turn in range(4):
        figure, ax = _plane(limits=(-4.8, 4.8))
        _points(ax, X, np.where(labels == 0, 1, -1))
        ax.set_title(f"k-means in feature space, round {turn}")
        yield figure
        distance = []
        for c in (0, 1):
            inside = labels == c
            distance.append(K[np.ix_(inside, inside)].mean() - 2 * K[:, inside].mean(axis=1))
        labels = np.argmin(distance, axis=0)


def _frame(figure: Figure) -> Image.Image:
    data = io.BytesIO()
    figure.savefig(data, dpi=DPI, format="png", facecolor="white")
    figure.clear()
    return Image.open(data).convert("RGB").quantize(COLOURS)


class Motion(SphinxDirective):
    """A looping picture, and its last frame."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        moving, still = (Path(FOLDER, f"motion-{name}{end}.png") for end in ("", "-still"))
        if not is_current(self.env.srcdir / moving):
            house_style()
            (self.env.srcdir / moving).parent.mkdir(exist_ok=True)
            frames = [_frame(figure) for figure in MOTIONS[name]()]
            frames[-1].save(self.env.srcdir / still)
            each = min(LONGEST_FRAME_MS, max(FRAME_MS, ALL_MS // len(frames)))
            times = [each] * (len(frames) - 1) + [LAST_MS]
            frames[0].save(
                self.env.srcdir / moving,
                save_all=True,
                append_images=frames[1:],
                duration=times,
                loop=0,
            )
            if (self.env.srcdir / moving).stat().st_size > LARGEST_BYTES:
                logger.warning("%s: more than a megabyte", name, location=self.get_location())
        words, messages = self.parse_inline(" ".join(self.content))
        alt = nodes.paragraph("", "", *words).astext()
        figure = nodes.figure("", classes=["picture"])
        for path, kind in ((moving, "motion"), (still, "motion-still")):
            figure += nodes.image(uri=f"/{path.as_posix()}", alt=alt, classes=[kind])
        figure += [nodes.caption("", "", *words), *messages]
        return [figure]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("motion", Motion)
    return {"parallel_read_safe": True}
