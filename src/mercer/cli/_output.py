"""Data as the options say or a model requires; results as text or as one JSON object."""

from __future__ import annotations

import json
import math
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli._errors import CommandError, UsageError, print_error, silence_stdout
from mercer.cli._kernel import samples_of, takes_texts
from mercer.cli._libsvm import kernel_matrix
from mercer.data import Table, read_table
from mercer.persistence import ModelFile, open_model
from mercer.persistence._container import holds_tensors
from mercer.persistence._libsvm import with_columns

__all__ = [
    "SCALED",
    "Reporter",
    "count",
    "describe",
    "open_model_and_data",
    "plain",
    "read",
    "reading",
    "refuse_output",
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
    width = max([14, *map(len, rows)])
    return "\n".join(f"{label:<{width}} {value}" for label, value in rows.items())


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


def count(number: int, unit: str) -> str:
    """1 round, 2 rounds: ``unit`` is the plural."""
    return f"{number:,} {unit.removesuffix('s') if number == 1 else unit}"


SCALED = {
    "standard": "scaled to mean 0 and variance 1",
    "minmax": "scaled to [0, 1]",
    "maxabs": "scaled to at most 1 in size",
    None: "not scaled",
}


def read(options: dict[str, Any], notes: bool = True) -> Table:
    """Data read by the options of a command; by default dense rows are scaled."""
    table = read_table(options["data"], **reading(options))
    if options.get("kernel") == "precomputed" and table.schema.sparse:
        table = kernel_matrix(table)
    return _with_notes(table) if notes else table


def reading(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a command as those of `read_table`."""
    scale = options["scale"] or "auto"
    is_kernel_matrix = options.get("kernel") == "precomputed"
    text = options.get("text")
    if takes_texts(options.get("kernel")):
        text = True if text is None else text
    elif text is not None:
        raise UsageError(f"--text {text} needs a kernel on texts, such as --kernel spectrum")
    samples = samples_of(options.get("kernel"))
    if samples is not None:
        for name in ("scale", "missing"):
            if options[name] not in (None, "none"):
                raise UsageError(
                    f"--{name} is not for --kernel {options['kernel']}, which takes the values as "
                    "they are"
                )
    if scale == "none" or is_kernel_matrix or text is not None or samples is not None:
        scale = None
    return {
        "target": False if (options["target"] or "").lower() == "none" else options["target"],
        "format": options["format"],
        "task": options["task"],
        "scale": scale,
        "missing": options["missing"],
        "header": options["header"],
        "categorical": options["categorical"] or (),
        "drop": options["drop"] or (),
        "decimal": options["decimal"],
        "na": options["na"] or (),
        "text": text,
        "samples": samples,
    }


def open_model_and_data(
    model: str,
    data: str,
    format: str | None,
    decimal: str | None = None,
    may_be_wider: bool = False,
    as_fitted: bool = False,
) -> tuple[ModelFile, Table]:
    """A model, and data in the form that it was trained on.

    Rows may have indices that no training row had if ``may_be_wider``; the model is then one for
    such rows. With ``as_fitted`` rows are left out that the fit did not use: those without a
    target, and those that ``mercer tune`` held out.
    """
    if holds_tensors(data) and not holds_tensors(model):
        raise UsageError(f"the model comes before the data: {data} {model}")
    found = open_model(model)
    if found.schema is None:
        raise CommandError(
            f"{model}: the model has no schema, so files cannot be turned into its rows; save it "
            "with one (mercer train does)"
        )
    how: dict[str, Any] = {"format": format, "decimal": decimal, "may_be_wider": may_be_wider}
    rows = read_table(data, schema=found.schema, **how)
    rows = rows.as_fitted() if as_fitted else rows
    if rows.X.ndim == 2 and rows.X.shape[1] > found.schema.n_features:
        found = replace(found, model=with_columns(found.model, rows.X.shape[1]))
    return found, _with_notes(rows)


def _with_notes(table: Table) -> Table:
    """The table; its notes are printed to stderr."""
    for note in table.notes:
        print_error(f"{table.name}: {note}")
    for column in table.id_columns:
        print_error(
            f"{table.name}: column {column!r} numbers the rows; leave it out with "
            f"--drop {shlex.quote(column)}"
        )
    return table


def describe(table: Table) -> str:
    """Where data come from, how many there are, and how they are scaled."""
    schema = table.schema
    if schema.text is not None:
        what = "texts" if schema.samples is None else schema.samples
        return f"{table.name}: {count(len(table.X), what)} of the column {schema.text!r}"
    if schema.samples == "series":
        lengths = sorted({len(series) for series in table.X})
        spread = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
        return f"{table.name}: {len(table.X):,} series of {spread} steps"
    if schema.samples == "table":
        missing = sum(table.n_missing.values())
        return (
            f"{table.name}: {count(len(table.X), 'rows')}, {count(schema.n_features, 'columns')} "
            f"as they are" + (f", {missing:,} values missing" if missing else "")
        )
    n, d = table.X.shape
    scaled = SCALED[schema.scaling]
    return f"{table.name}: {count(n, 'rows')}, {count(d, 'columns')}, {scaled}"


def refuse_output(path: str, data: str = "-") -> None:
    """Refuse before a long fit, not after it, a file that cannot be written."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise CommandError(f"{path}: there is no folder {folder}")
    try:
        if Path(path).is_dir():
            raise IsADirectoryError
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise CommandError(f"{path}: nothing can be written there") from error
    if Path(path).exists() and data != "-" and Path(path).samefile(data):
        raise UsageError(f"{path}: the output would overwrite the data")


def stem(source: str) -> str:
    """A file's name without folder and suffixes."""
    return "model" if source == "-" else Path(source).name.split(".")[0] or "model"
