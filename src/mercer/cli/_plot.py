"""``mercer plot``: a figure of a model."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer.cli._errors import CommandError, UsageError
from mercer.cli._output import Reporter, open_model_and_data, table
from mercer.data import Schema
from mercer.persistence import open_model
from mercer.plots import KINDS, write_figure

__all__ = ["draw", "run"]

SCALED = {"standard": " (standardised)", None: ""}


def run(
    kind: str,
    model: str,
    data: str | None,
    output: str | None,
    feature: list[str] | None,
    format: str | None,
    quiet: bool,
) -> None:
    known = inspect.signature(KINDS[kind].display.from_estimator).parameters
    if data is not None:
        found, rows = open_model_and_data(model, data, format)
        X, y = rows.X, rows.y
    elif known["X"].default is inspect.Parameter.empty:
        raise UsageError(f"plot {kind} needs DATA, the rows that {model} was trained on")
    else:
        found, X, y = open_model(model), None, None
    options = _along(kind, feature or [], known, found.schema)
    path = output or f"{kind}.png"
    draw(kind, model, found.model, found.schema, X, y, path, **options)
    Reporter(quiet=quiet).write(table({"figure": path}))


def draw(
    kind: str,
    name: str,
    model: Any,
    schema: Schema | None,
    X: Any,
    y: Any,
    path: str,
    **options: Any,
) -> None:
    """Write the figure of a model."""
    model, X = _in_file_units(kind, model, schema, X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        try:
            display = KINDS[kind].draw(model, X, y, **options)
        except (TypeError, ValueError) as error:
            raise CommandError(f"{name}: {error}") from error
        write_figure(display, path)


def _in_file_units(kind: str, model: Any, schema: Schema | None, X: Any) -> tuple[Any, Any]:
    """The model and its samples as the displays read them: names, and units of the file.

    Along its columns a scaled model is drawn as a Pipeline that scales first; weights stay those of
    the scaled columns, whose names say so.
    """
    if schema is None:
        return model, X
    if schema.target is not None:
        model.target_name = schema.target
    names = schema.feature_names
    if names is None:
        return model, X
    shift, factor = schema.shift, schema.factor
    if kind not in ("boundary", "tube") or shift is None or factor is None:
        names = [name + SCALED.get(schema.scaling, " (scaled)") for name in names]
        model.feature_names_in_ = np.array(names, dtype=object)
        return model, X
    scaling = FunctionTransformer(lambda rows: (np.asarray(rows) - shift) * factor)
    scaling.feature_names_in_ = np.array(names, dtype=object)
    size = np.divide(1.0, factor, out=np.zeros_like(factor), where=factor != 0)
    return Pipeline([("scaling", scaling), ("model", model)]), X * size + shift


def _along(
    kind: str, feature: Sequence[str], known: Mapping[str, Any], schema: Schema | None
) -> dict[str, Any]:
    """--feature as the display takes it: numbers of one column or two."""
    if not feature:
        return {}
    names = (schema.feature_names if schema is not None else None) or []
    columns = []
    for name in feature:
        if name not in names and not name.isdigit():
            raise UsageError(
                f"--feature {name}: there is no such column among {', '.join(names[:12])}"
            )
        columns.append(names.index(name) if name in names else int(name))
    if "features" in known:
        return {"features": columns}
    if "feature" in known and len(columns) == 1:
        return {"feature": columns[0]}
    raise UsageError(f"--feature {feature[-1]} is not an option of plot {kind}")
