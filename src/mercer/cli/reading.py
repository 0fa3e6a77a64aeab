"""Data as the options say, and data as a model wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer.cli.guard import Misused
from mercer.io import ModelFile, Table, read_table

__all__ = ["describe", "open_with_data", "read", "read_like", "stem"]

SCALED = {
    "standard": "scaled to mean 0 and variance 1",
    "minmax": "scaled to [0, 1]",
    "maxabs": "scaled to at most 1 in size",
    None: "not scaled",
}


def read(options: dict[str, Any]) -> Table:
    """The data of a command that chooses how they are read."""
    target = options["target"]
    scale = options["scale"]
    return read_table(
        options["data"],
        target=_column(target),
        format=options["format"],
        task=options["task"],
        scale=None if scale == "none" else scale,
        missing=options["missing"],
    )


def read_like(source: str, found: ModelFile, format: str | None, name: str) -> Table:
    """Data in the form that a model was trained on."""
    if found.schema is None:
        raise Misused(
            f"{name}: the model was saved without a schema, so files cannot be read for it"
        )
    return read_table(source, schema=found.schema, format=format)


def _column(target: str | None) -> str | int | bool | None:
    if target is None or target == "":
        return None
    if target.lower() == "none":
        return False
    return int(target) if target.lstrip("-").isdigit() else target


def describe(table: Table) -> str:
    """Where data come from, how many there are, and how they are scaled."""
    n, d = table.X.shape
    return f"{table.name} ({table.format}): {n:,} × {d:,}, {SCALED[table.schema.scaling]}"


def stem(source: str) -> str:
    """A file's name without folder and suffixes."""
    return "model" if source == "-" else Path(source).name.split(".")[0] or "model"
