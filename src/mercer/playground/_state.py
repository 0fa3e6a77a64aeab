"""The state of the playground: a frozen value that checks itself, and the link that carries it.

A link is a query that can be read and written by hand, ``?data=moons&machine=svc&kernel=rbf&C=10``;
what equals the default is left out. Points that are no preset travel packed: two 16-bit
coordinates in thousandths and a byte for the class, deflated, in URL-safe base64. Columns of a file
are ``x=name|middle|unit`` and ``y=…``, its classes ``class=…`` in their order.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import numpy as np

from mercer.kernels import Kernel
from mercer.playground._catalogue import ESTIMATORS, FORMULA, KERNELS, LABELS, ParameterOption
from mercer.playground._formula import MAX_LETTERS, FormulaError, parse_kernel
from mercer.playground._presets import PRESETS, Point, as_points, preset

__all__ = ["LIMITS", "PARAMETERS", "AxisColumn", "State", "StateError"]

_PACKED = np.dtype([("x", "<i2"), ("y", "<i2"), ("label", "u1")])


@dataclass(frozen=True)
class _Limits:
    """What a state may hold."""

    points: int = 1000
    steps: int = 5000  # of step mode
    folds: int = 20  # of cross-validation
    extent: float = 4.0  # the picture shows −extent to extent in both directions
    farthest: float = 20.0  # points may lie within ±farthest
    name: int = 40  # letters of the name of a column or a class


LIMITS = _Limits()


class StateError(ValueError):
    """A link or an input that is no state; the message says what, and what is allowed."""


class AxisColumn(NamedTuple):
    """A column of a file: its values are middle + unit · coordinate."""

    name: str
    middle: float
    unit: float


def _slider(default: float, *option: Any, **more: Any) -> Any:
    """A field with a slider."""
    return field(default=default, metadata={"slider": ParameterOption(*option, **more)})


@dataclass(frozen=True)
class State:
    """All that a picture depends on; the numbers are as `PARAMETERS` describes them.

    Examples
    --------
    >>> from mercer.playground import State
    >>> state = State(kernel="linear", C=10.0)
    >>> state.to_query()
    'kernel=linear&C=10.0'
    >>> State.from_query(state.to_query()) == state
    True
    """

    points: tuple[Point, ...] = preset("moons")  #: (x, y, class), in thousandths; classes 0 to 3
    machine: str = "svc"  #: a key of `ESTIMATORS`
    kernel: str = "rbf"  #: a key of `KERNELS`, or `FORMULA`
    formula: str = "exp(−γ ‖x − z‖²) + 0.1 x·z"  #: the kernel where it is written by the user
    C: float = _slider(
        *(1.0, "C", "cost of an error: a small C allows errors, a large one avoids them"),
        *(1e-3, 1e4, 0.05),
        is_log=True,
        may_be_infinite=True,
    )
    epsilon: float = _slider(
        0.2, "ε", "half width of the tube in which errors cost nothing", 0.0, 2.0, 0.01
    )
    nu: float = _slider(0.2, "ν", "largest fraction of points outside the region", 0.01, 1, 0.01)
    alpha: float = _slider(
        0.1, "α", "regularisation: a large α gives a smooth curve", 1e-4, 1e2, 0.05, is_log=True
    )
    clusters: int = _slider(3, "clusters", "how many centres", 1, 8, 1, is_whole=True)
    gamma: float = _slider(
        0.5, "γ", "inverse width of the kernel: a large γ is local", 1e-2, 1e2, 0.05, is_log=True
    )
    degree: int = _slider(3, "degree", "of the polynomial", 1, 8, 1, is_whole=True)
    coef0: float = _slider(1.0, "c₀", "constant inside the kernel", -2.0, 2.0, 0.05)
    step: int | None = None  #: steps taken in step mode; None is the finished fit
    folds: int = 0  #: of cross-validation, which predicts held-out points; 0: none
    columns: tuple[AxisColumn, ...] = ()  #: of x and y: names and units of the axes
    classes: tuple[str, ...] = ()  #: names of the first classes, where they are not A, B, C, D

    def __post_init__(self) -> None:
        _check_choice("machine", self.machine, ESTIMATORS)
        _check_choice("kernel", self.kernel, (*KERNELS, FORMULA))
        for name, parameter in PARAMETERS.items():
            _check_number(name, getattr(self, name), parameter)
        if len(self.formula) > MAX_LETTERS:
            raise StateError(f"a formula has at most {MAX_LETTERS} letters.")
        if self.kernel == FORMULA:
            try:
                self.written_kernel()
            except FormulaError as error:
                raise StateError(str(error)) from error
        if math.isinf(self.C) and ESTIMATORS[self.machine].needs_finite_C:
            raise StateError(
                f"C=inf is the hard margin of the svc; {self.machine} needs a finite C."
            )
        if self.step is not None and not 0 <= self.step <= LIMITS.steps:
            raise StateError(f"step must be a number from 0 to {LIMITS.steps}, got {self.step!r}.")
        if self.folds != 0 and not 2 <= self.folds <= LIMITS.folds:
            raise StateError(f"folds must be 0 or from 2 to {LIMITS.folds}, got {self.folds!r}.")
        if len(self.points) > LIMITS.points:
            raise StateError(f"at most {LIMITS.points} points fit here, got {len(self.points)}.")
        far = LIMITS.farthest
        for x, y, label in self.points:
            if not (abs(x) <= far and abs(y) <= far and 0 <= label < len(LABELS)):
                raise StateError(
                    f"a point must lie within ±{far:g} and have a class below {len(LABELS)}, "
                    f"got {(x, y, label)!r}."
                )
        if len(self.columns) not in (0, 2) or len(self.classes) > len(LABELS):
            raise StateError(f"x and y name both columns, class at most {len(LABELS)} classes.")
        for name in (*(column.name for column in self.columns), *self.classes):
            if not 0 < len(name) <= LIMITS.name:
                raise StateError(f"a name must have 1 to {LIMITS.name} letters, got {name[:50]!r}.")
        if not all(math.isfinite(c.middle) and 0 < c.unit < math.inf for c in self.columns):
            raise StateError(f"a column has a finite middle and a unit, got {self.columns!r}.")

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
        return ESTIMATORS[self.machine].parameters + self.kernel_parameters

    @property
    def kernel_parameters(self) -> tuple[str, ...]:
        if self.kernel != FORMULA:
            return KERNELS[self.kernel].parameters
        return tuple(sorted(self.written_kernel()[1], reverse=True))

    def written_kernel(self) -> tuple[Kernel, frozenset[str]]:
        """The kernel of the formula, and the parameters that it uses."""
        values = {name: getattr(self, name) for name in ("gamma", "degree", "coef0")}
        return parse_kernel(self.formula, values)

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.classes + LABELS[len(self.classes) :]

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
            changes |= self.preset_changes("sine" if is_curve else "moons")
        if ESTIMATORS[machine].needs_finite_C and math.isinf(self.C):
            changes["C"] = PARAMETERS["C"].high
        return self.with_(**changes)

    @staticmethod
    def preset_changes(name: str) -> dict[str, Any]:
        """What another preset changes: points, and no names of columns and classes."""
        return {"points": preset(name) if name else (), "columns": (), "classes": ()}

    def add(self, x: float, y: float, label: int) -> State:
        """One more point."""
        return self.with_(points=self.points + as_points(np.array([[x, y]]), np.array([label])))

    def move(self, index: int, x: float, y: float) -> State:
        """The point of this number elsewhere, inside of the picture."""
        place = np.clip([[x, y]], -LIMITS.extent, LIMITS.extent)
        moved = as_points(place, np.array([self.points[index][2]]))
        return self.with_(points=self.points[:index] + moved + self.points[index + 1 :])

    def delete(self, index: int) -> State:
        """Without the point of this number."""
        return self.with_(points=self.points[:index] + self.points[index + 1 :])

    # ------------------------------------------------------------------ the link

    def to_query(self) -> str:
        """The part of a link after its question mark."""
        default, pairs = State(), []
        if self.points != default.points:
            pairs.append(("data", self.preset or _pack(self.points)))
        for name in _SINGLE:
            if (value := getattr(self, name)) != getattr(default, name):
                pairs.append((name, str(value)))
        for name, column in zip("xy", self.columns, strict=False):
            pairs.append((name, "|".join(map(str, column))))
        return urlencode([*pairs, *(("class", name) for name in self.classes)])

    @classmethod
    def from_query(cls, query: str) -> State:
        """The state of a link; a `StateError` says what is wrong with it."""
        values: dict[str, Any] = {}
        columns, classes = {}, []
        for name, text in parse_qsl(query, keep_blank_values=True):
            if name == "data":
                values["points"] = preset(text) if text in PRESETS else _unpack(text)
            elif name in ("x", "y"):
                columns[name] = _column(name, text)
            elif name == "class":
                classes.append(text)
            elif name in ("machine", "kernel", "formula"):
                values[name] = text
            elif name in _SINGLE:
                whole = name in ("step", "folds") or PARAMETERS[name].is_whole
                values[name] = _number(name, text, int if whole else float)
            else:
                known = sorted([*_SINGLE, "data", "x", "y", "class"])
                raise StateError(f"the link has an unknown part {name!r}; known are {known}.")
        named = tuple(columns[name] for name in sorted(columns))
        return cls(**values, columns=named, classes=tuple(classes))


#: The sliders, by the names of their fields.
PARAMETERS: dict[str, ParameterOption] = {
    each.name: each.metadata["slider"] for each in fields(State) if each.metadata
}
_SINGLE = (
    "machine",
    "kernel",
    "formula",
    *PARAMETERS,
    "step",
    "folds",
)  # fields that are one part of a link


def _check_choice(name: str, value: str, allowed: Collection[str]) -> None:
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


def _column(name: str, text: str) -> AxisColumn:
    words, _, numbers = text.rpartition("|")
    words, _, middle = words.rpartition("|")
    return AxisColumn(words, _number(name, middle, float), _number(name, numbers, float))


def _pack(points: tuple[Point, ...]) -> str:
    rows = np.zeros(len(points), _PACKED)
    for i, (x, y, label) in enumerate(points):
        rows[i] = round(1000 * x), round(1000 * y), label
    return base64.urlsafe_b64encode(zlib.compress(rows.tobytes(), 9)).decode().rstrip("=")


def _unpack(text: str) -> tuple[Point, ...]:
    most = (LIMITS.points + 1) * _PACKED.itemsize  # a limit on what is decompressed
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
