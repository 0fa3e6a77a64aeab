"""The state of the playground: a frozen value that checks itself, and the link that carries it.

A link is a query that can be read and written by hand, ``?data=moons&machine=svc&kernel=rbf&C=10``;
what equals the default is left out. Points that are no preset travel packed: two 16-bit
coordinates in thousandths and a byte for the class, deflated, in URL-safe base64.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np

from mercer.playground._catalogue import ESTIMATORS, KERNELS, LABELS, PARAMETERS
from mercer.playground._presets import PRESETS, Point, as_points, preset

__all__ = ["EXTENT", "MOST_POINTS", "MOST_STEPS", "State", "StateError"]

MOST_POINTS = 1000
MOST_STEPS = 5000
# The picture shows −EXTENT to EXTENT in both directions; points may lie within ±FARTHEST.
EXTENT = 4.0
FARTHEST = 20.0
_PACKED = np.dtype([("x", "<i2"), ("y", "<i2"), ("label", "u1")])


class StateError(ValueError):
    """A link or an input that is no state; the message says what, and what is allowed."""


@dataclass(frozen=True)
class State:
    """All that a picture depends on.

    Attributes
    ----------
    points : tuple of (x, y, class)
        Coordinates in thousandths; classes 0 to 3.
    machine, kernel : str
        Keys of `ESTIMATORS` and `KERNELS`.
    C, epsilon, nu, alpha, gamma, coef0 : float
    clusters, degree : int
        As `PARAMETERS` describes them. C may be infinite for the SVC.
    step : int or None
        Number of steps taken in step mode; None is the finished fit.

    Examples
    --------
    >>> from mercer.playground import State
    >>> state = State(kernel="linear", C=10.0)
    >>> state.to_query()
    'kernel=linear&C=10.0'
    >>> State.from_query(state.to_query()) == state
    True
    """

    points: tuple[Point, ...] = preset("moons")
    machine: str = "svc"
    kernel: str = "rbf"
    C: float = 1.0
    epsilon: float = 0.2
    nu: float = 0.2
    alpha: float = 0.1
    clusters: int = 3
    gamma: float = 0.5
    degree: int = 3
    coef0: float = 1.0
    step: int | None = None

    def __post_init__(self) -> None:
        _check_choice("machine", self.machine, ESTIMATORS)
        _check_choice("kernel", self.kernel, KERNELS)
        for name, parameter in PARAMETERS.items():
            _check_number(name, getattr(self, name), parameter)
        if math.isinf(self.C) and ESTIMATORS[self.machine].needs_finite_C:
            raise StateError(
                f"C=inf is the hard margin of the svc; {self.machine} needs a finite C."
            )
        if self.step is not None and not 0 <= self.step <= MOST_STEPS:
            raise StateError(f"step must be a number from 0 to {MOST_STEPS}, got {self.step!r}.")
        if len(self.points) > MOST_POINTS:
            raise StateError(f"at most {MOST_POINTS} points fit here, got {len(self.points)}.")
        for x, y, label in self.points:
            if not (abs(x) <= FARTHEST and abs(y) <= FARTHEST and 0 <= label < len(LABELS)):
                raise StateError(
                    f"a point must lie within ±{FARTHEST:g} and have a class below {len(LABELS)}, "
                    f"got {(x, y, label)!r}."
                )

    # ------------------------------------------------------------------ what it is made of

    @property
    def X(self) -> np.ndarray:
        return np.array([point[:2] for point in self.points], dtype=np.float64).reshape(-1, 2)

    @property
    def labels(self) -> np.ndarray:
        return np.array([point[2] for point in self.points], dtype=np.intp)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters of this estimator and kernel."""
        return ESTIMATORS[self.machine].parameters + KERNELS[self.kernel].parameters

    @property
    def preset(self) -> str | None:
        """The name of the preset that its points are, if any."""
        return next((name for name in PRESETS if preset(name) == self.points), None)

    # ------------------------------------------------------------------ changes

    def with_(self, **changes: Any) -> State:
        """Another state; step mode ends where the problem changes."""
        return replace(self, **{"step": None, **changes})

    def with_machine(self, machine: str) -> State:
        """Another estimator, and a preset that suits it where the points are a preset."""
        _check_choice("machine", machine, ESTIMATORS)
        is_curve = ESTIMATORS[machine].kind == "curve"
        changes: dict[str, Any] = {"machine": machine}
        if self.preset is not None and is_curve != (self.preset == "sine"):
            changes["points"] = preset("sine" if is_curve else "moons")
        if ESTIMATORS[machine].needs_finite_C and math.isinf(self.C):
            changes["C"] = PARAMETERS["C"].high
        return self.with_(**changes)

    def add(self, x: float, y: float, label: int) -> State:
        """One more point."""
        return self.with_(points=self.points + as_points(np.array([[x, y]]), np.array([label])))

    def move(self, index: int, x: float, y: float) -> State:
        """The point of this number elsewhere, inside of the picture."""
        place = np.clip([[x, y]], -EXTENT, EXTENT)
        moved = as_points(place, np.array([self.points[index][2]]))
        return self.with_(points=self.points[:index] + moved + self.points[index + 1 :])

    def delete(self, index: int) -> State:
        """Without the point of this number."""
        return self.with_(points=self.points[:index] + self.points[index + 1 :])

    # ------------------------------------------------------------------ the link

    def to_query(self) -> str:
        """The part of a link after its question mark."""
        default = asdict(State())
        pairs = []
        if self.points != default["points"]:
            pairs.append(("data", self.preset or _pack(self.points)))
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name != "points" and value != default[each.name]:
                pairs.append((each.name, str(value)))
        return urlencode(pairs)

    @classmethod
    def from_query(cls, query: str) -> State:
        """The state of a link; a `StateError` says what is wrong with it."""
        values: dict[str, Any] = {}
        names = {each.name for each in fields(cls)} - {"points"}
        for name, text in parse_qsl(query, keep_blank_values=True):
            if name == "data":
                values["points"] = preset(text) if text in PRESETS else _unpack(text)
            elif name in ("machine", "kernel"):
                values[name] = text
            elif name in names:
                whole = name == "step" or PARAMETERS[name].is_whole
                values[name] = _number(name, text, int if whole else float)
            else:
                raise StateError(
                    f"the link has an unknown part {name!r}; known are {sorted(names | {'data'})}."
                )
        return cls(**values)


def _check_choice(name: str, value: str, allowed: dict) -> None:
    if value not in allowed:
        raise StateError(f"{name} must be one of {', '.join(allowed)}; got {value!r}.")


def _check_number(name: str, value: float, parameter: Any) -> None:
    if parameter.may_be_infinite and value == math.inf:
        return
    if not parameter.low <= value <= parameter.high:
        raise StateError(
            f"{name} must be from {parameter.low:g} to {parameter.high:g}"
            f"{' or inf' if parameter.may_be_infinite else ''}, got {value!r}."
        )


def _number(name: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise StateError(
            f"{name} must be a{' whole' if kind is int else ''} number, got {text[:40]!r}."
        ) from None


def _pack(points: tuple[Point, ...]) -> str:
    rows = np.zeros(len(points), _PACKED)
    for i, (x, y, label) in enumerate(points):
        rows[i] = round(1000 * x), round(1000 * y), label
    return base64.urlsafe_b64encode(zlib.compress(rows.tobytes(), 9)).decode().rstrip("=")


def _unpack(text: str) -> tuple[Point, ...]:
    most = (MOST_POINTS + 1) * _PACKED.itemsize  # a limit on what is decompressed
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        inflater = zlib.decompressobj()
        flat = inflater.decompress(raw, most)
        if not inflater.eof and len(flat) < most:
            raise ValueError("the end is missing")
        rows = np.frombuffer(flat, _PACKED)
    except (binascii.Error, zlib.error, ValueError):
        raise StateError(
            f"data must be {', '.join(PRESETS)}, or points as a shared link packs them; got "
            f"{text[:24]!r}. Was the link cut off?"
        ) from None
    return as_points(np.c_[rows["x"], rows["y"]] / 1000.0, rows["label"])
