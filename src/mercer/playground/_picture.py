"""From a state to all that is shown of it: `draw` is a pure function, the page only paints.

The plane is cut where f crosses 0 and ±1; of several classes each has the region in which it beats
all others. A curve is drawn with its tube. Where KKT leaves b open, the band is all that the
boundary may be.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._multiclass import pairs
from mercer.certificates._certificate import BOUND, FREE
from mercer.playground._catalogue import LABELS, MACHINES
from mercer.playground._contours import Grid, Rings
from mercer.playground._explain import Facts, Why, why
from mercer.playground._export import export
from mercer.playground._facts import measure
from mercer.playground._fit import Fit, Trace, fit, rows_and_targets
from mercer.playground._state import EXTENT, State
from mercer.playground._steps import Box, can_step, walk

__all__ = ["Curve", "Picture", "Region", "draw"]

# Points of a curve.
CURVE_POINTS = 401
_GRID = Grid()
# Machines whose f = ±1 means something: the margin, or odds of e to 1.
_HAS_EDGES = ("svc", "pegasos", "logistic")


@dataclass(frozen=True, eq=False)
class Region:
    """A part of the plane: the class it goes to (−1: none), how surely, and its polygons."""

    label: int
    is_sure: bool
    polygons: list[Rings]


@dataclass(frozen=True, eq=False)
class Curve:
    """A regression: f along x, the half width of its tube, and how far b may move it."""

    x: np.ndarray
    f: np.ndarray
    epsilon: float = 0.0
    shift: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Picture:
    """All numbers and words of a picture.

    Attributes
    ----------
    state : State
        What is drawn; its step is at most what there is.
    why : Why
    facts : Facts
    code : str
        The exported program.
    rows : tuple of (name, value)
        The certificate in words.
    labels : int array
        Class of each point as drawn: its own, or its cluster.
    alpha, group, notes
        Of each point; notes are shown when it is pointed at.
    regions, boundary, edges, band
        Of the plane: polygons, lines f = 0, lines f = ±1, where the boundary may be.
    curve : Curve or None
    trace : Trace
    box : Box or None
    active : tuple of int
        Points of the last step, or of a proof.
    meeting : pair of float or None
        The point in both convex hulls, where it lies in the plane.
    no_steps : str or None
        Why there is no step mode.
    seconds : float
    """

    state: State
    why: Why
    facts: Facts
    code: str = ""
    rows: tuple[tuple[str, str], ...] = ()
    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    alpha: np.ndarray = field(default_factory=lambda: np.zeros(0))
    group: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    notes: tuple[str, ...] = ()
    regions: list[Region] = field(default_factory=list)
    boundary: list[np.ndarray] = field(default_factory=list)
    edges: list[np.ndarray] = field(default_factory=list)
    band: list[Rings] = field(default_factory=list)
    curve: Curve | None = None
    trace: Trace = field(default_factory=Trace)
    box: Box | None = None
    active: tuple[int, ...] = ()
    meeting: tuple[float, float] | None = None
    no_steps: str | None = None
    seconds: float = 0.0


def draw(state: State) -> Picture:
    """The picture of a state.

    Examples
    --------
    >>> from mercer.playground import State, draw
    >>> picture = draw(State(points=((0.0, 1.0, 1), (0.0, -1.0, 0)), kernel="linear", C=0.25))
    >>> picture.why.key, picture.facts.b_low, picture.facts.b_high
    ('all-at-C', -0.5, 0.5)
    """
    began = time.perf_counter()
    facts = measure(state, None)
    told = why(facts)
    if told.key in ("empty", "one-class-only", "too-few"):
        return _points_only(state, told, facts)
    try:
        return _draw(state, began)
    except ValueError as refused:  # of the estimators: names, ranges and a remedy
        return _points_only(state, Why("refused", str(refused)), facts)


def _points_only(state: State, told: Why, facts: Facts) -> Picture:
    n = len(state.points)
    return Picture(
        state.with_(), told, facts, labels=state.labels, alpha=np.zeros(n),
        group=np.zeros(n, int), notes=tuple(_names(state, state.labels)),
        no_steps="There is nothing to step yet.",
    )  # fmt: skip


def _draw(state: State, began: float) -> Picture:
    refusal = can_step(state)
    box: Box | None = None
    active: tuple[int, ...] = ()
    if state.step is None or refusal is not None:
        state = state.with_()
        found = fit(state)
        facts = measure(state, found)
    else:
        way = walk(state)
        way.frame(state.step + 1)  # to know whether this is the last
        step = min(state.step, len(way.frames) - 1)
        state = state.with_(step=step)
        found, frame = way.fit(step), way.frame(step)
        box, active = frame.box, frame.active
        is_over = way.is_over and step == len(way.frames) - 1
        facts = measure(state, found, frame, is_over)
    if found.proof is not None:
        active = tuple(np.flatnonzero(found.proof).tolist())
    labels = found.model.labels_ if state.machine == "kmeans" else state.labels
    return Picture(
        state, why(facts), facts, export(state.with_()), _certificate(state, found, facts), labels,
        found.alpha, found.group, _notes(state, found, labels), trace=found.trace, box=box,
        active=active, meeting=_meeting(state, found), no_steps=refusal,
        **_shapes(state, found, facts), seconds=time.perf_counter() - began,
    )  # fmt: skip


# ------------------------------------------------------------------ shapes


def _shapes(state: State, found: Fit, facts: Facts) -> dict[str, Any]:
    if found.decide is None:
        return {"edges": _hulls(state, found)}
    if MACHINES[state.machine].kind == "curve":
        return {"curve": _curve(state, found, facts)}
    values = np.asarray(found.decide(_GRID.rows), dtype=np.float64)
    if values.ndim == 1:
        return _halves(state, values, found, facts)
    return _shares(state, values)


def _curve(state: State, found: Fit, facts: Facts) -> Curve:
    assert found.decide is not None
    x = np.linspace(-EXTENT, EXTENT, CURVE_POINTS)
    f = np.asarray(found.decide(x[:, np.newaxis]), dtype=np.float64)
    shift = (facts.b_low - found.b, facts.b_high - found.b) if facts.has_band else (0.0, 0.0)
    return Curve(x, f, state.epsilon if state.machine == "svr" else 0.0, shift)


def _halves(state: State, values: np.ndarray, found: Fit, facts: Facts) -> dict[str, Any]:
    """Two sides of f = 0, each with the part beyond its edge."""
    low, high = (-1, 1) if state.machine == "oneclass" else _two_classes(state)
    has_edges = state.machine in _HAS_EDGES
    cuts = [-np.inf, -1.0, 0.0, 1.0, np.inf] if has_edges else [-np.inf, 0.0, np.inf]
    sides = [(low, True), (low, False), (high, False), (high, True)] if has_edges else \
            [(low, False), (high, False)]  # fmt: skip
    regions = [
        Region(label, is_sure, _GRID.regions(values, cuts[k], cuts[k + 1]))
        for k, (label, is_sure) in enumerate(sides)
    ]
    band: list[Rings] = []
    if facts.has_band:
        band = _GRID.regions(values, found.b - facts.b_high, found.b - facts.b_low)
    edges = [line for cut in (-1.0, 1.0) for line in _GRID.lines(values, cut)] if has_edges else []
    return {
        "regions": regions, "boundary": _GRID.lines(values, 0.0), "edges": edges, "band": band,
    }  # fmt: skip


def _two_classes(state: State) -> tuple[int, int]:
    present = np.unique(state.labels)
    return int(present[0]), int(present[-1])


def _shares(state: State, values: np.ndarray) -> dict[str, Any]:
    """Regions in which a class beats all the others."""
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


def _hulls(state: State, found: Fit) -> list[np.ndarray]:
    """Outlines of the points of a proof, by class; in the plane for the linear kernel only."""
    if found.proof is None or state.kernel != "linear":
        return []
    outlines = []
    for side in (found.proof > 0, found.proof < 0):
        corners = state.X[side]
        turn = corners - corners.mean(axis=0)
        corners = corners[np.argsort(np.arctan2(turn[:, 1], turn[:, 0]))]
        outlines.append(np.vstack([corners, corners[:1]]))
    return outlines


def _meeting(state: State, found: Fit) -> tuple[float, float] | None:
    """Where the hulls meet: in the plane itself only for the linear kernel."""
    if found.proof is None or state.kernel != "linear":
        return None
    x, y = np.maximum(found.proof, 0.0) @ state.X
    return float(x), float(y)


# ------------------------------------------------------------------ words


def _names(state: State, labels: np.ndarray) -> list[str]:
    kind = MACHINES[state.machine].kind
    if kind == "clusters":
        return [f"point {i + 1}: cluster {c + 1}" for i, c in enumerate(labels)]
    if kind != "classes":
        return [f"point {i + 1}" for i in range(labels.size)]
    return [f"point {i + 1}, class {LABELS[c]}" for i, c in enumerate(labels)]


def _notes(state: State, found: Fit, labels: np.ndarray) -> tuple[str, ...]:
    """What is known of each point."""
    names = _names(state, labels)
    if state.machine == "kmeans" or found.decide is None:
        weights = found.proof if found.proof is not None else np.zeros(labels.size)
        return tuple(
            f"{name}; weight {weight:.3g} in the proof" if weight else name
            for name, weight in zip(names, weights, strict=True)
        )
    X, y = rows_and_targets(state)
    values = np.asarray(found.decide(X))
    what = {"perceptron": "mistakes", "ridge": "|c|"}.get(state.machine, "α")
    words = {BOUND: " (at its bound)", FREE: " (free)"} if facts_have_groups(state) else {}
    notes = []
    for i, name in enumerate(names):
        alpha = "near the edge" if np.isnan(found.alpha[i]) else f"{found.alpha[i]:.4g}"
        text = f"{name}: {what} = {alpha}{words.get(int(found.group[i]), '')}"
        if values.ndim == 1:
            text += f", f = {values[i]:.3g}".replace("-", "−")
            if MACHINES[state.machine].kind == "curve":
                text += f", y − f = {y[i] - values[i]:.3g}".replace("-", "−")
        notes.append(text)
    return tuple(notes)


def facts_have_groups(state: State) -> bool:
    """Whether its coefficients live in a box."""
    return state.machine in ("svc", "svr", "oneclass")


def _certificate(state: State, found: Fit, facts: Facts) -> tuple[tuple[str, str], ...]:
    proof = found.certificate
    rows: list[tuple[str, str]] = []
    if found.decide is None:
        rows = [("status", "not separable, proved"), ("points in the proof", str(facts.n_proof))]
    elif state.machine == "perceptron":
        rows = [
            ("mistakes", f"{facts.n_steps:,.0f}"),
            ("points on the wrong side", str(facts.n_wrong)),
        ]
        if np.isfinite(facts.bound_on_steps):
            rows.append(("Novikoff's bound", f"{facts.bound_on_steps:,.4g}"))
    elif state.machine == "kmeans":
        rows = [
            ("objective", f"{found.model.inertia_:.6g}"), ("iterations", str(found.model.n_iter_)),
        ]  # fmt: skip
    elif proof is not None:
        rows = [
            ("status", "on its way" if state.step is not None else str(proof.status)),
            ("primal", f"{proof.primal:.6g}"),
            ("dual", f"{proof.dual:.6g}"),
            ("gap", f"{proof.gap:.2g}"),
            ("relative gap", f"{proof.relative_gap:.2g}"),
        ]
        if hasattr(proof, "kkt_violation"):
            rows.append(("KKT violation", f"{proof.kkt_violation:.2g}"))
        if facts_have_groups(state) or state.machine == "pegasos":
            rows.append(("margin 2/‖w‖", f"{proof.margin:.4g}"))
        if facts_have_groups(state) and not proof.tasks:
            rows.append(("b", f"{found.b:.3g} in [{facts.b_low:.3g}, {facts.b_high:.3g}]"))
    else:
        rows = [("relative gap", f"{facts.gap:.3g}"), ("b", f"{found.b:.4g}")]
    return tuple((name, value.replace("-", "−")) for name, value in rows)
