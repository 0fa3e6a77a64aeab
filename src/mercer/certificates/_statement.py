"""What all certificates share: a verdict, equality, JSON, and how they are shown."""

from __future__ import annotations

import math
from dataclasses import fields
from html import escape
from typing import Any

from mercer._result import Status

__all__ = ["Statement", "counted", "distance_said", "percent"]

# A distance from the exact optimum above this fraction of the primal value says nothing.
LARGEST_DISTANCE = 0.2


def counted(n: int, nouns: str) -> str:
    """1 step, 1,000 steps, 1 product with K."""
    if n == 1:
        first, *rest = nouns.split(" ")
        nouns = " ".join([first.removesuffix("s"), *rest])
    return f"{n:,} {nouns}"


def percent(ratio: float) -> str:
    """A ratio in percent, rounded up to two digits: it stays a bound."""
    value = max(100 * ratio, 1e-4)
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{float(f'{math.ceil(round(value / digit, 6)) * digit:.2g}'):g} %"


def distance_said(distance: float | None, primal: float, note: str) -> str:
    """How far a low-rank model is from the exact one; without a distance, the reason."""
    if distance is None:
        return note
    share = distance / abs(primal) if primal else math.inf
    if not share <= LARGEST_DISTANCE:
        return (
            f"no information: the bound is {100 * share:.3g} % of the primal value. Take the exact "
            "solver, or more components"
        )
    return f"at most {distance:.4g} below: {100 * share:.2g} % of the primal value"


class Statement:
    """A frozen dataclass with a ``status`` and a ``note``, and rows of labels and values."""

    status: Status
    note: str

    @property
    def holds(self) -> bool:
        """Whether the model is proved to be optimal to its tolerance; also ``bool(certificate)``.

        Of a kernel that is not known to be positive semidefinite, on that condition.
        """
        return self.status.is_solved

    def __bool__(self) -> bool:
        return self.holds

    def __eq__(self, other: object) -> bool:
        """NaN, which stands for what is not known, equals itself."""
        if type(other) is not type(self):
            return NotImplemented
        return all(_same(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash((type(self), self.status))

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON values, and ``holds``.

        Numbers that JSON does not have are the texts "inf", "-inf" and "nan", which ``float``
        reads.
        """
        values = {f.name: _json(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]
        return {"holds": self.holds, **values}

    def rows(self) -> list[tuple[str, str]]:
        """What is shown of it: labels and values."""
        raise NotImplementedError

    def _title(self) -> str:
        return f"{type(self).__name__}: {self.status}"

    def _lines(self) -> list[str]:
        notes = [("note", self.note)] if self.note else []
        return [self._title(), *(f"  {label:<14} {text}" for label, text in [*self.rows(), *notes])]

    def _task_lines(self) -> list[str]:
        return []

    def __repr__(self) -> str:
        return "\n".join([*self._lines(), *self._task_lines()])

    def _repr_html_(self) -> str:
        """For notebooks."""
        notes = [("note", self.note)] if self.note else []
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(label)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for label, text in [*self.rows(), *notes]
        )
        tasks = "\n".join(self._task_lines())
        title = f"<caption style='text-align:left'><b>{escape(self._title())}</b></caption>"
        return f"<table>{title}{rows}</table>" + (f"<pre>{escape(tasks)}</pre>" if tasks else "")


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b) or (a != a and b != b)


def _json(value: Any) -> Any:
    if isinstance(value, Statement):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_json(item) for item in value]
    if isinstance(value, Status):
        return value.value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    return value.item() if hasattr(value, "item") else value
