"""Data as the options say, and data as a model wants them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer.cli._errors import Failed, complain
from mercer.data import Table, read_table
from mercer.persistence import ModelFile, open_model

__all__ = ["describe", "open_both", "read", "stem"]

SCALED = {
    "standard": "scaled to mean 0 and variance 1",
    "minmax": "scaled to [0, 1]",
    "maxabs": "scaled to at most 1 in size",
    None: "not scaled",
}


def read(options: dict[str, Any]) -> Table:
    """The data of a command that chooses how they are read; unless told, dense rows are scaled."""
    scale = options["scale"] or "auto"
    if scale == "none" or options.get("kernel") == "precomputed":
        scale = None
    return _told(
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


def open_both(model: str, data: str, format: str | None) -> tuple[ModelFile, Table]:
    """A model, and data in the form that it was trained on."""
    found = open_model(model)
    if found.schema is None:
        raise Failed(
            f"{model}: the model does not say how files become its rows; save it with a schema "
            "(mercer train does)"
        )
    return found, _told(read_table(data, schema=found.schema, format=format))


def _told(table: Table) -> Table:
    """The table, after its notes went to the user."""
    for note in table.notes:
        complain(f"{table.name}: {note}")
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
