"""Data as the options say or a model requires; results as text or as one JSON object."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from mercer.certificates._certificate import Certificate
from mercer.cli._errors import CommandError, print_error, silence_stdout
from mercer.cli._libsvm import kernel_matrix
from mercer.data import Table, read_table
from mercer.persistence import ModelFile, open_model
from mercer.persistence._libsvm import with_columns

__all__ = [
    "SCALED",
    "Reporter",
    "certificate_of",
    "describe",
    "describe_certificate",
    "is_unfinished",
    "open_model_and_data",
    "plain",
    "read",
    "score",
    "stem",
    "table",
]


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


class Reporter:
    """Writes results to stdout: lines, or (``--json``) one object at the end, or nothing."""

    def __init__(self, as_json: bool = False, quiet: bool = False):
        self.as_json, self.quiet = as_json, quiet
        self.found: dict[str, Any] = {}

    def write(self, text: str = "", /, **found: Any) -> None:
        """Lines of text; the same as names and values for ``--json``."""
        self.found |= found
        if text and not self.as_json and not self.quiet:
            try:
                print(text, flush=True)  # before a long fit, also into a pipe
            except BrokenPipeError:  # the command continues
                silence_stdout()

    def end(self) -> None:
        """Print the JSON object, if that is what is written."""
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


def certificate_of(model: Any) -> Any:
    """The certificate of a model, or None."""
    return getattr(model, "certificate_", None)


def is_unfinished(model: Any) -> bool:
    """Whether the fit stopped before its tolerance."""
    if hasattr(model, "fit_status_"):
        return bool(model.fit_status_)
    certificate = certificate_of(model)
    return certificate is not None and not certificate.status.is_solved


def describe_certificate(model: Any) -> str:
    """The certificate of a model, as lines."""
    certificate = certificate_of(model)
    if certificate is None:
        return f"{type(model).__name__} minimises no objective, so there is no certificate."
    if isinstance(certificate, Certificate):
        return repr(certificate)
    return "Certificate\n" + table({f"  {name}": v for name, v in plain(certificate).items()})


SCALED = {
    "standard": "scaled to mean 0 and variance 1",
    "minmax": "scaled to [0, 1]",
    "maxabs": "scaled to at most 1 in size",
    None: "not scaled",
}


def read(options: dict[str, Any]) -> Table:
    """Data read by the options of a command; by default dense rows are scaled."""
    scale = options["scale"] or "auto"
    is_kernel_matrix = options.get("kernel") == "precomputed"
    if scale == "none" or is_kernel_matrix:
        scale = None
    rows = _with_notes(
        read_table(
            options["data"],
            target=_target(options["target"]),
            format=options["format"],
            task=options["task"],
            scale=scale,
            missing=options["missing"],
            header=options["header"],
            categorical=[_column(name) for name in options["categorical"] or ()],
            drop=[_column(name) for name in options["drop"] or ()],
        )
    )
    return kernel_matrix(rows) if is_kernel_matrix and rows.schema.sparse else rows


def open_model_and_data(
    model: str, data: str, format: str | None, may_be_wider: bool = False
) -> tuple[ModelFile, Table]:
    """A model, and data in the form that it was trained on.

    Rows may have indices that no training row had if ``may_be_wider``; the model is then one for
    such rows.
    """
    found = open_model(model)
    if found.schema is None:
        raise CommandError(
            f"{model}: the model has no schema, so files cannot be turned into its rows; save it "
            "with one (mercer train does)"
        )
    rows = read_table(data, schema=found.schema, format=format, may_be_wider=may_be_wider)
    if rows.X.shape[1] > found.schema.n_features:
        found = replace(found, model=with_columns(found.model, rows.X.shape[1]))
    return found, _with_notes(rows)


def _with_notes(table: Table) -> Table:
    """The table; its notes are printed to stderr."""
    for note in table.notes:
        print_error(f"{table.name}: {note}")
    return table


def _target(name: str | None) -> str | int | bool | None:
    if name is None or name.lower() == "none":
        return None if name is None else False
    return _column(name)


def _column(name: str) -> str | int:
    return int(name) if name.lstrip("-").isdigit() else name


def describe(table: Table) -> str:
    """Where data come from, how many there are, and how they are scaled."""
    n, d = table.X.shape
    return f"{table.name}: {n:,} rows, {d:,} columns, {SCALED[table.schema.scaling]}"


def stem(source: str) -> str:
    """A file's name without folder and suffixes."""
    return "model" if source == "-" else Path(source).name.split(".")[0] or "model"
