"""``mercer plot``: a figure of a model."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from mercer.cli._errors import CommandError, UsageError
from mercer.cli._output import Reporter, count, open_model_and_data, refuse_output, table
from mercer.data import Schema
from mercer.estimators._registry import cli_names
from mercer.exceptions import ConvergenceWarning
from mercer.persistence import open_model
from mercer.plots import KINDS, write_figure
from mercer.plots._write import SUFFIXES

__all__ = ["draw", "run"]

# Advice of the displays, and what stands for it on the command line.
ADVICE = {
    r"fit it with probability='platt', or take KernelLogisticRegression": (
        "train it with --machine svc --probability, or --machine kernel-logistic"
    ),
    r"kernel='linear' or ": "--kernel linear or --machine ",
    r"kernel='linear'": "--kernel linear",
    r"LinearSVC\(loss='hinge'\) or ": "or ",
    r" \(coef_\)": "",
    r", on the X and y of its fit": ", with the file that it was trained on",
}
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
        found, rows = open_model_and_data(model, data, format, as_fitted=True)
        X, y = rows.X, rows.y
    elif known["X"].default is inspect.Parameter.empty:
        raise UsageError(f"plot {kind} needs DATA, the rows that {model} was trained on")
    else:
        found, X, y = open_model(model), None, None
    options = _along(kind, feature or [], known, found.schema)
    path = output or f"{kind}.png"
    refuse_output(path)
    if not path.lower().endswith(SUFFIXES):
        raise UsageError(f"--output {path} must end in one of {', '.join(SUFFIXES)}")
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
        for category in (ConvergenceWarning, FutureWarning):  # of fits for the picture
            warnings.simplefilter("ignore", category)
        try:
            display = KINDS[kind].draw(model, X, y, **options)
        except (TypeError, ValueError) as error:
            raise CommandError(f"{name}: {_in_commands(str(error))}") from error
        write_figure(display, path)


def _in_commands(message: str) -> str:
    """A display's advice with the commands and options that stand for it here."""
    for kind, entry in KINDS.items():
        message = re.sub(rf"\b{entry.display.__name__}\b(\.\w+)?", f"mercer plot {kind}", message)
    for pattern, typed in ADVICE.items():
        message = re.sub(pattern, typed, message)
    for machine, found in cli_names().items():
        message = re.sub(rf"\b{found.path.partition(':')[2]}\b", machine, message)
    return message


def _in_file_units(kind: str, model: Any, schema: Schema | None, X: Any) -> tuple[Any, Any]:
    """The model and its samples as the displays read them: names, and units of the file.

    Along its columns a scaled model is drawn as a Pipeline that scales first; weights stay those of
    the scaled columns, whose names say so.
    """
    if schema is None:
        return model, X
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    if schema.target is not None:
        steps[-1][1].target_name = schema.target
    names = schema.feature_names
    if names is None:
        return model, X
    shift, factor = schema.shift, schema.factor
    if kind not in ("boundary", "tube") or shift is None or factor is None:
        names = [name + SCALED.get(schema.scaling, " (scaled)") for name in names]
        steps[0][1].feature_names_in_ = np.array(names, dtype=object)  # a Pipeline has its first's
        return model, X
    scaling = FunctionTransformer(lambda rows: (np.asarray(rows) - shift) * factor)
    scaling.feature_names_in_ = np.array(names, dtype=object)
    size = np.divide(1.0, factor, out=np.zeros_like(factor), where=factor != 0)
    return Pipeline([("file scaling", scaling), *steps]), X * size + shift


def _along(
    kind: str, feature: Sequence[str], known: Mapping[str, Any], schema: Schema | None
) -> dict[str, Any]:
    """--feature as the display takes it: numbers of one column or two."""
    if not feature:
        return {}
    names = (schema.feature_names if schema is not None else None) or []
    found_columns = schema.n_features if schema is not None else 0
    columns = []
    for name in feature:
        if name not in names and not name.isdigit():
            near = get_close_matches(name, names, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
            what = f"--feature {name}: there is no such column among {shown}{meant}"
            raise UsageError(what)
        if name not in names and found_columns and int(name) >= found_columns:
            raise UsageError(f"--feature {name}: there are {count(found_columns, 'columns')}")
        columns.append(names.index(name) if name in names else int(name))
    if "features" in known:
        return {"features": columns}
    if "feature" in known and len(columns) == 1:
        return {"feature": columns[0]}
    raise UsageError(f"--feature {feature[-1]} is not an option of plot {kind}")
