"""From a state to all that is shown of it: `draw` is a pure function, the page only renders.

The plane is cut where f crosses 0 and ±1; of several classes each has the region in which its value
is the largest. A curve is drawn with its tube. Where b is not unique, the band has the boundaries
of all optimal b.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from mercer._multiclass import pairs
from mercer.certificates._certificate import Certificate
from mercer.estimators._dual_view import KKTGroup
from mercer.playground._catalogue import ESTIMATORS, LABELS
from mercer.playground._contours import Grid, Rings
from mercer.playground._explain import Explanation, explain
from mercer.playground._export import export
from mercer.playground._fit import Fit, ProgressCurve, fit, rows_and_targets
from mercer.playground._situation import Situation, measure
from mercer.playground._state import EXTENT, State
from mercer.playground._steps import Box, can_step, step_history

__all__ = ["Curve", "Picture", "Region", "draw"]

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
    """All numbers and words of a picture.

    Attributes
    ----------
    state : State
        What is drawn; its step is at most what there is.
    explanation : Explanation
    situation : Situation
    code : str
        The exported program.
    rows : tuple of (name, value)
        The certificate, as it is shown.
    labels : int array
        Class of each point as drawn: its own, or its cluster.
    alpha, group, notes
        Of each point; notes are the tooltips.
    regions, boundary, edges, band
        Of the plane: polygons, lines f = 0, lines f = ±1, boundaries of all optimal b.
    curve : Curve or None
    progress : ProgressCurve
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
    explanation: Explanation
    situation: Situation
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
    progress: ProgressCurve = field(default_factory=ProgressCurve)
    box: Box | None = None
    active: tuple[int, ...] = ()
    meeting: tuple[float, float] | None = None
    no_steps: str | None = None
    seconds: float = 0.0

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
    began = time.perf_counter()
    situation = measure(state, None)
    explanation = explain(situation)
    if explanation.key in ("empty", "one-class-only", "too-few"):
        return _points_only(state, explanation, situation)
    try:
        return _draw(state, began)
    except ValueError as refused:  # of the estimators: names, ranges and a remedy
        return _points_only(state, Explanation("refused", str(refused)), situation)


def _points_only(state: State, explanation: Explanation, situation: Situation) -> Picture:
    n = len(state.points)
    return Picture(
        state.with_(),
        explanation,
        situation,
        labels=state.labels,
        alpha=np.zeros(n),
        group=np.zeros(n, int),
        notes=tuple(_names(state, state.labels)),
        no_steps="There is nothing to step yet.",
    )


def _draw(state: State, began: float) -> Picture:
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
        _certificate_rows(state, found, situation),
        labels,
        found.alpha,
        found.group,
        _notes(state, found, labels),
        progress=found.progress,
        box=box,
        active=active,
        meeting=_meeting(state, found),
        no_steps=refusal,
        **_shapes(state, found, situation),
        seconds=time.perf_counter() - began,
    )


# ------------------------------------------------------------------ shapes


def _shapes(state: State, found: Fit, situation: Situation) -> dict[str, Any]:
    if found.decide is None:
        return {"edges": _hulls(state, found)}
    if ESTIMATORS[state.machine].kind == "curve":
        return {"curve": _curve(state, found, situation)}
    values = np.asarray(found.decide(_GRID.rows), dtype=np.float64)
    if values.ndim == 1:
        return _halves(state, values, found, situation)
    return _winners(state, values)


def _curve(state: State, found: Fit, situation: Situation) -> Curve:
    assert found.decide is not None
    x = np.linspace(-EXTENT, EXTENT, 401)
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
    return {"regions": regions, "boundary": boundary, "edges": edges, "band": band}


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
    kind = ESTIMATORS[state.machine].kind
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
    words: dict[int, str] = {}
    if ESTIMATORS[state.machine].has_box:
        words = {KKTGroup.BOUND: " (at its bound)", KKTGroup.FREE: " (free)"}
    notes = []
    for i, name in enumerate(names):
        alpha = "near the edge" if np.isnan(found.alpha[i]) else f"{found.alpha[i]:.4g}"
        text = f"{name}: {what} = {alpha}{words.get(int(found.group[i]), '')}"
        if values.ndim == 1:
            text += f", f = {values[i]:.3g}".replace("-", "−")
            if ESTIMATORS[state.machine].kind == "curve":
                text += f", y − f = {y[i] - values[i]:.3g}".replace("-", "−")
        notes.append(text)
    return tuple(notes)


def _certificate_rows(
    state: State, found: Fit, situation: Situation
) -> tuple[tuple[str, str], ...]:
    """Names and values of what is certified."""
    if found.decide is None:
        proof = ("points in the proof", str(situation.n_proof))
        rows = [("status", "not separable, proved"), proof]
    elif state.machine == "perceptron":
        rows = [
            ("mistakes", f"{situation.n_steps:,.0f}"),
            ("points on the wrong side", str(situation.n_wrong)),
        ]
        if np.isfinite(situation.bound_on_steps):
            rows.append(("Novikoff's bound", f"{situation.bound_on_steps:,.4g}"))
    elif state.machine == "kmeans":
        model = found.model
        rows = [("objective", f"{model.inertia_:.6g}"), ("iterations", str(model.n_iter_))]
    elif found.certificate is not None:
        rows = _gap_rows(state, found, situation)
    else:
        rows = [("relative gap", f"{situation.gap:.3g}"), ("b", f"{found.b:.4g}")]
    return tuple((name, value.replace("-", "−")) for name, value in rows)


def _gap_rows(state: State, found: Fit, situation: Situation) -> list[tuple[str, str]]:
    certificate = found.certificate
    rows = [
        ("status", "not finished" if state.step is not None else str(certificate.status)),
        ("primal", f"{certificate.primal:.6g}"),
        ("dual", f"{certificate.dual:.6g}"),
        ("gap", f"{certificate.gap:.2g}"),
        ("relative gap", f"{certificate.relative_gap:.2g}"),
    ]
    has_box = ESTIMATORS[state.machine].has_box
    if isinstance(certificate, Certificate):
        rows.append(("KKT violation", f"{certificate.kkt_violation:.2g}"))
    if has_box or state.machine == "pegasos":
        rows.append(("margin 2/‖w‖", f"{certificate.margin:.4g}"))
    if has_box and not certificate.tasks:
        interval = f" in [{situation.b_low:.3g}, {situation.b_high:.3g}]"
        is_crossed = state.step is not None and situation.is_crossed
        rows.append(("b", f"{found.b:.3g}" + ("" if is_crossed else interval)))
    return rows
