"""Results as text for people, or as one JSON object for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from mercer.cli._errors import hush

__all__ = ["Voice", "plain", "score", "table"]


def plain(value: Any) -> Any:
    """Any result as JSON's values; numbers that JSON does not have are null."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else repr(value)


def table(rows: Mapping[str, Any]) -> str:
    """Two columns: what, and how much."""
    return "\n".join(f"{label:<14} {value}" for label, value in rows.items())


class Voice:
    """What a command says on stdout: lines, or (``--json``) one object at the end, or nothing."""

    def __init__(self, as_json: bool = False, quiet: bool = False):
        self.as_json, self.quiet = as_json, quiet
        self.found: dict[str, Any] = {}

    def say(self, text: str = "", /, **found: Any) -> None:
        """A line for people; the same as names and values for machines."""
        self.found |= found
        if text and not self.as_json and not self.quiet:
            try:
                print(text, flush=True)  # before a long fit, also into a pipe
            except BrokenPipeError:  # the work is done all the same
                hush()

    def end(self) -> None:
        if self.as_json:
            print(json.dumps(plain(self.found), ensure_ascii=False, allow_nan=False))


def score(
    y: Any, predicted: Any, task: str | None, prefix: str = ""
) -> tuple[str, dict[str, float]]:
    """What svm-predict prints about predictions, as lines and as numbers."""
    if task == "classification":
        right = int(np.count_nonzero(np.asarray(predicted) == np.asarray(y)))
        accuracy = right / len(y)
        line = f"{prefix}Accuracy = {100 * accuracy:.6g}%"
        return f"{line} ({right}/{len(y)}) (classification)", {"accuracy": accuracy}
    y, predicted = np.asarray(y, np.float64), np.asarray(predicted, np.float64)
    error = float(np.mean((y - predicted) ** 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        squared = float(np.corrcoef(y, predicted)[0, 1] ** 2)
    return (
        f"{prefix}Mean squared error = {error:.6g} (regression)\n"
        f"{prefix}Squared correlation coefficient = {squared:.6g} (regression)",
        {"mean_squared_error": error, "squared_correlation": squared},
    )
