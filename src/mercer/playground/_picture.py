"""From a state to all that is shown of it: `draw` is a pure function, the page only renders.

The plane is cut where f crosses 0 and ±1; of several classes each has the region in which its value
is the largest. A curve is drawn with its tube. Where b is not unique, the band has the boundaries
of all optimal b.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from mercer._multiclass import pairs
from mercer.playground._catalogue import ESTIMATORS
from mercer.playground._explain import Explanation, Situation, explain, measure
from mercer.playground._fit import Fit, ProgressCurve, fit
from mercer.playground._held_out import CrossValidation, validate
from mercer.playground._linked import Lift, LinkedViews, link
from mercer.playground._state import LIMITS, State
from mercer.playground._steps import Box, can_step, step_history
from mercer.playground._words import certificate_rows, export, names_of_points, notes

__all__ = ["Curve", "Grid", "Picture", "Region", "draw", "outline"]

# A polygon: its outline, then its holes, each an array of corners (m, 2).
Rings = list[np.ndarray]


class Grid:
    """The plane of the picture as rows, and where values there cross their levels."""

    def __init__(self, across: int = 121):  # islands of γ = 100 are still some points across
        self.ticks = np.linspace(-LIMITS.extent, LIMITS.extent, across)
        self.rows = np.stack(np.meshgrid(self.ticks, self.ticks), axis=-1).reshape(-1, 2)

    def lines(self, values: np.ndarray, level: float) -> list[np.ndarray]:
        """Where the values are ``level``: arrays of corners (m, 2)."""
        return self._contours(values).lines(level)

    def regions(self, values: np.ndarray, low: float, high: float) -> list[Rings]:
        """Where the values are between two levels, either of which may be infinite."""
        low = max(low, float(values.min()) - 1.0)
        high = min(high, float(values.max()) + 1.0)
        if not low < high:
            return []
        corners, offsets = self._contours(values).filled(low, high)
        return [
            [part[start:stop] for start, stop in pairwise(ends)]
            for part, ends in zip(corners, offsets, strict=True)
        ]

    def _contours(self, values: np.ndarray) -> Any:
        from contourpy import FillType, LineType, contour_generator

        square = values.reshape(self.ticks.size, self.ticks.size)
        return contour_generator(
            self.ticks,
            self.ticks,
            square,
            line_type=LineType.Separate,
            fill_type=FillType.OuterOffset,
        )


_GRID = Grid()


@dataclass(frozen=True, eq=False)
class Region:
    """A part of the plane: its class (−1: none), whether beyond the margin, and its polygons."""

    label: int
    is_beyond_margin: bool
    polygons: list[Rings]


@dataclass(frozen=True, eq=False)
class Curve:
    """A regression: f along x, the half width of its tube, and the interval of optimal b less b."""

    x: np.ndarray
    f: np.ndarray
    epsilon: float = 0.0
    shift: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Picture:
    """All numbers and words of a picture."""

    state: State  #: what is drawn; its step is at most what there is
    explanation: Explanation
    situation: Situation
    code: str = ""  #: the exported program
    rows: tuple[tuple[str, str], ...] = ()  #: the certificate, as it is shown: names and values
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  #: class or cluster
    alpha: np.ndarray = field(default_factory=lambda: np.zeros(0))
    group: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  #: KKTGroup of each point
    notes: tuple[str, ...] = ()  #: tooltips of the points
    regions: list[Region] = field(default_factory=list)
    boundary: list[np.ndarray] = field(default_factory=list)  #: lines f = 0
    edges: list[np.ndarray] = field(default_factory=list)  #: lines f = ±1
    band: list[Rings] = field(default_factory=list)  #: boundaries of all optimal b
    curve: Curve | None = None
    progress: ProgressCurve = field(default_factory=ProgressCurve)
    box: Box | None = None
    active: tuple[int, ...] = ()  #: points of the last step, or of a proof
    meeting: tuple[float, float] | None = None  #: in both convex hulls, where it is in the plane
    no_steps: str | None = None  #: why there is no step mode
    held_out: CrossValidation | None = None  #: cross-validation, where the state asks for it
    linked: LinkedViews | None = None  #: rows of the kernel matrix, with α and dual value
    lift: Lift | None = None  #: f over the plane, where there is one f
    seconds: float = 0.0  #: of the estimator's fit; 0 where there was none, as in step mode

    @property
    def shown(self) -> np.ndarray:
        """The class whose colour each point has: a curve and one class alone are of one colour."""
        has_classes = ESTIMATORS[self.state.machine].kind in ("classes", "clusters")
        return self.labels if has_classes else np.ones(len(self.state.points), int)

    @property
    def why(self) -> Explanation:
        """`explanation`, by its name in version 0.1."""
        return self.explanation

    @property
    def facts(self) -> Situation:
        """`situation`, by its name in version 0.1."""
        return self.situation


def draw(state: State) -> Picture:
    """The picture of a state.

    Examples
    --------
    >>> from mercer.playground import State, draw
    >>> picture = draw(State(points=((0.0, 1.0, 1), (0.0, -1.0, 0)), kernel="linear", C=0.25))
    >>> picture.explanation.key, picture.situation.b_low, picture.situation.b_high
    ('all-at-C', -0.5, 0.5)
    """
    situation = measure(state, None)
    explanation = explain(situation)
    if explanation.key in ("empty", "one-class-only", "too-few"):
        return outline(state, explanation, situation)
    try:
        return _draw(state)
    except ValueError as refused:  # of the estimators: names, ranges and a remedy
        return outline(state, Explanation("refused", str(refused)), situation)


def outline(state: State, explanation: Explanation, situation: Situation) -> Picture:
    """The points alone, without a model."""
    n = len(state.points)
    return Picture(
        state.with_(),
        explanation,
        situation,
        labels=state.labels,
        alpha=np.zeros(n),
        group=np.zeros(n, int),
        notes=tuple(names_of_points(state, state.labels)),
        no_steps="There is nothing to step yet.",
    )


def _draw(state: State) -> Picture:
    refusal = can_step(state)
    box: Box | None = None
    active: tuple[int, ...] = ()
    if state.step is None or refusal is not None:
        state = state.with_()
        found = fit(state)
        situation = measure(state, found)
    else:
        history = step_history(state)
        history.step(state.step + 1)  # to know whether this is the last
        number = min(state.step, len(history.steps) - 1)
        state = state.with_(step=number)
        found, step = history.fit(number), history.step(number)
        box, active = step.box, step.active
        is_over = history.is_over and number == len(history.steps) - 1
        situation = measure(state, found, step, is_over)
    if found.proof is not None:
        active = tuple(np.flatnonzero(found.proof).tolist())
    labels = found.model.labels_ if state.machine == "kmeans" else state.labels
    return Picture(
        state,
        explain(situation),
        situation,
        export(state.with_()),
        certificate_rows(state, found, situation),
        labels,
        found.alpha,
        found.group,
        notes(state, found, labels),
        progress=found.progress,
        box=box,
        active=active,
        meeting=_meeting(state, found),
        no_steps=refusal,
        held_out=validate(state),
        linked=link(state, found),
        **_shapes(state, found, situation),
        seconds=found.seconds,
    )


# ------------------------------------------------------------------ shapes


def _shapes(state: State, found: Fit, situation: Situation) -> dict[str, Any]:
    if found.decide is None:
        return _hulls(state, found)
    if ESTIMATORS[state.machine].kind == "curve":
        return {"curve": _curve(state, found, situation)}
    values = np.asarray(found.decide(_GRID.rows), dtype=np.float64)
    if values.ndim == 1:
        return _halves(state, values, found, situation)
    return _winners(state, values)


def _curve(state: State, found: Fit, situation: Situation) -> Curve:
    assert found.decide is not None
    x = np.linspace(-LIMITS.extent, LIMITS.extent, 401)
    f = np.asarray(found.decide(x[:, np.newaxis]), dtype=np.float64)
    shift = (0.0, 0.0)
    if situation.has_band:
        shift = situation.b_low - found.b, situation.b_high - found.b
    return Curve(x, f, state.epsilon if state.machine == "svr" else 0.0, shift)


def _halves(state: State, values: np.ndarray, found: Fit, situation: Situation) -> dict[str, Any]:
    """Two sides of f = 0, each with the part beyond its edge."""
    low, high = (-1, 1) if state.machine == "oneclass" else _two_classes(state)
    has_edges = ESTIMATORS[state.machine].has_edges
    cuts, sides = [-np.inf, 0.0, np.inf], [(low, False), (high, False)]
    if has_edges:
        cuts = [-np.inf, -1.0, 0.0, 1.0, np.inf]
        sides = [(low, True), *sides, (high, True)]
    regions = [
        Region(label, is_beyond, _GRID.regions(values, *ends))
        for (label, is_beyond), ends in zip(sides, pairwise(cuts), strict=True)
    ]
    band: list[Rings] = []
    if situation.has_band:
        band = _GRID.regions(values, found.b - situation.b_high, found.b - situation.b_low)
    edges = [line for cut in (-1.0, 1.0) for line in _GRID.lines(values, cut)] if has_edges else []
    boundary = _GRID.lines(values, 0.0)
    shapes = {"regions": regions, "boundary": boundary, "edges": edges, "band": band}
    if situation.is_indefinite:  # no feature space
        return shapes
    return {**shapes, "lift": _lift(state, values, found, (low, high), has_edges)}


def _lift(
    state: State, values: np.ndarray, found: Fit, sides: tuple[int, int], has_edges: bool
) -> Lift:
    """f over a quarter of the grid's lines in both directions."""
    assert found.decide is not None
    f = values.reshape(_GRID.ticks.size, _GRID.ticks.size)[::4, ::4]
    at_points = np.asarray(found.decide(state.X), dtype=np.float64)
    return Lift(f, at_points, sides, 1.0 if has_edges else None)


def _two_classes(state: State) -> tuple[int, int]:
    present = np.unique(state.labels)
    return int(present[0]), int(present[-1])


def _winners(state: State, values: np.ndarray) -> dict[str, Any]:
    """Regions in which the value of a class is the largest."""
    lead = _leads(state, values)
    names = range(lead.shape[1]) if state.machine == "kmeans" else np.unique(state.labels).tolist()
    regions = [
        Region(label, False, _GRID.regions(lead[:, k], 0.0, np.inf))
        for k, label in enumerate(names)
    ]
    return {
        "regions": regions,
        "boundary": [line for each in lead.T for line in _GRID.lines(each, 0.0)],
    }


def _leads(state: State, values: np.ndarray) -> np.ndarray:
    """By how much each class is ahead of its best rival, shape (n, classes)."""
    if state.machine != "svc":
        k = values.shape[1]
        rivals = [np.delete(values, c, axis=1).max(axis=1, initial=-np.inf) for c in range(k)]
        return np.clip(values - np.column_stack(rivals), -1e6, 1e6)
    k = np.unique(state.labels).size
    lead = np.full((values.shape[0], k), np.inf)
    for task, (i, j) in enumerate(pairs(k)):
        lead[:, i] = np.minimum(lead[:, i], values[:, task])
        lead[:, j] = np.minimum(lead[:, j], -values[:, task])
    return lead


def _hulls(state: State, found: Fit) -> dict[str, Any]:
    """Convex hulls of the classes, what they share, and outlines of the points of a proof.

    In the plane itself they are those of the linear kernel only.
    """
    if found.proof is None or state.kernel != "linear":
        return {}
    outlines, regions, outside = [], [], []
    for label, side in zip(_two_classes(state), (found.proof < 0, found.proof > 0), strict=True):
        corners = state.X[side]
        turn = corners - corners.mean(axis=0)
        corners = corners[np.argsort(np.arctan2(turn[:, 1], turn[:, 0]))]
        outlines.append(np.vstack([corners, corners[:1]]))
        with suppress(QhullError):  # points on one line have no area
            sides = ConvexHull(state.X[state.labels == label]).equations
            outside.append((_GRID.rows @ sides[:, :2].T + sides[:, 2]).max(axis=1))
            regions.append(Region(label, False, _GRID.regions(outside[-1], -np.inf, 0.0)))
    if len(outside) > 1:
        shared = np.maximum(*outside)
        regions.append(Region(-1, True, _GRID.regions(shared, -np.inf, 0.0)))
    return {"edges": outlines, "regions": regions}


def _meeting(state: State, found: Fit) -> tuple[float, float] | None:
    """Where the hulls meet: in the plane itself only for the linear kernel."""
    if found.proof is None or state.kernel != "linear":
        return None
    x, y = np.maximum(found.proof, 0.0) @ state.X
    return float(x), float(y)
