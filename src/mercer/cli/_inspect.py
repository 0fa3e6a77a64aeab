"""``mercer inspect``: the contents of a file: a model, a checkpoint, or data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.cli._certificate import certificate_of, describe_certificate, last_step
from mercer.cli._output import SCALED, Reporter, count, table
from mercer.data import Checkpoint, Schema, read_table
from mercer.data import Table as DataTable
from mercer.data._files import open_source
from mercer.exceptions import FileError
from mercer.persistence import (
    ModelFile,
    is_liblinear,
    is_libsvm,
    open_model,
    read_liblinear,
    read_libsvm,
)

__all__ = ["run"]


# How a model file begins after the length of its table.
SAFETENSORS = b'{"'


def run(file: str, top: int, full: bool, json: bool) -> None:
    reporter = Reporter(json)
    kind = _kind(file)
    if kind in _FOREIGN:
        read_model, program = _FOREIGN[kind]
        model, schema = read_model(file)
        header = {"class": type(model).__name__, "program": program}
        _show_model(reporter, file, ModelFile(model, schema, header), top, full)
    elif kind == "model":
        _show_model(reporter, file, open_model(file), top, full)
    elif kind == "checkpoint":
        _show_checkpoint(reporter, file)
    else:
        _show_data(reporter, file)
    reporter.end()


_FOREIGN: dict[str, tuple[Any, str]] = {
    "libsvm": (read_libsvm, "LIBSVM"),
    "liblinear": (read_liblinear, "LIBLINEAR"),
}


def _kind(file: str) -> str:
    """What a file is, by its content."""
    if is_libsvm(file):
        return "libsvm"
    if is_liblinear(file):
        return "liblinear"
    if file == "-":
        return "data"
    with open_source(file) as opened:
        head = opened.head
    if head[8:10] == SAFETENSORS:
        return "model"
    if head.startswith(b"PK") and Checkpoint.is_one(file):
        return "checkpoint"
    return "data"


def _show_model(reporter: Reporter, model: str, found: ModelFile, top: int, full: bool) -> None:
    fitted, schema = last_step(found.model), found.schema
    weights = _weights(fitted, schema, top)
    program = found.header.get("program") or f"mercer {found.header['mercer']}"
    rows = {
        "model": f"{model}: {found.header['class']}, written by {program}",
        "parameters": _parameters(found.model),
        **({"kernel": repr(fitted.kernel_)} if hasattr(fitted, "kernel_") else {}),
        **_support(fitted),
        **_columns(schema),
    }
    reporter.write(
        table(rows),
        command="inspect",
        model=model,
        header=found.header,
        certificate=certificate_of(fitted),
        kernel=rows.get("kernel"),
        schema=None if schema is None else schema.as_dict(),
        n_support=getattr(fitted, "n_support_", None),
        weights=weights,
    )
    stated = (
        f"none: {program}'s files have neither the parameters of the fit nor its rows"
        if "program" in found.header
        else describe_certificate(fitted, full)
    )
    reporter.write(table({"certificate": stated}))
    if weights:
        reporter.write("largest weights\n" + table({k: f"{w:+.6g}" for k, w in weights.items()}))


def _show_checkpoint(reporter: Reporter, file: str) -> None:
    """Of which run it is, how far that is, and how to go on."""
    head, arrays = Checkpoint.read(file)
    of, values = head["fingerprint"], head["values"]
    kind = "a fit" if "estimator" in of else "a stream"
    go_on = "fit with checkpoint=" if "estimator" in of else "fit_stream with checkpoint="
    rows = {
        "checkpoint": f"{file}: of {kind}, format {head['version']}",
        **{name: str(value) for name, value in sorted(of.items())},
        **{name: str(value) for name, value in values.items() if np.isscalar(value)},
        "arrays": ", ".join(f"{name} {array.shape}" for name, array in sorted(arrays.items())),
        "to go on": f"call {go_on}{file!r} with the same data and parameters",
    }
    reporter.write(table(rows), command="inspect", checkpoint=file, **head)


def _show_data(reporter: Reporter, file: str) -> None:
    """Format, rows, columns and target of a table."""
    found = _read_data(file)
    y, schema = found.y, found.schema
    n, d = found.X.shape[0], schema.n_features
    rows = {
        "data": f"{file}: {found.format}, {count(n, 'rows')}, {count(d, 'columns')}",
        **_columns(schema),
    }
    if y is None:
        rows["target"] = "none is named as one; mercer train takes --target"
    if any(found.n_missing.values()):
        rows["missing"] = ", ".join(f"{c}: {k:,}" for c, k in found.n_missing.items() if k)
    if found.notes:
        rows["notes"] = "; ".join(found.notes)
    if sp.issparse(found.X):
        rows["nonzero"] = f"{found.X.nnz:,}, {found.X.nnz / max(n * d, 1):.2%} of the entries"
    reporter.write(
        table(rows),
        command="inspect",
        data=file,
        format=found.format,
        shape=[n, d],
        schema=schema.as_dict(),
        n_missing=dict(found.n_missing),
    )


def _read_data(file: str) -> DataTable:
    """The table, if no column is called a target without one; else the error."""
    tries: list[dict[str, Any]] = [{"missing": "median"}, {}]  # not all formats can have gaps
    for options in [*tries, *({"target": False, **each} for each in tries)]:
        try:
            return _read_repaired(file, options)
        except FileError as error:
            last = error
    raise last


def _read_repaired(file: str, options: dict[str, Any], most: int = 40) -> DataTable:
    """The table after the repairs that the errors of the reader name, which become notes."""
    notes: list[str] = []
    for _ in range(most):
        try:
            found = read_table(file, **options)
        except FileError as error:
            if not error.remedy:
                raise
            for name, value in error.remedy.items():
                repeated = name in ("drop", "na", "categorical")
                options = {**options, name: [*options.get(name, ()), value] if repeated else value}
            notes.append(error.message.split(";")[0])
        else:
            return replace(found, notes=(*notes, *found.notes))
    raise FileError(file, None, f"has more than {most} faults; is it a table?")


def _parameters(model: Any) -> str:
    """Those that are not the defaults, as in the estimator's repr."""
    text = " ".join(repr(model).split())
    return text[text.index("(") + 1 : -1] or "all at their defaults"


def _support(model: Any) -> dict[str, str]:
    counts = getattr(model, "n_support_", None)
    if counts is None:
        return {}
    classes = getattr(model, "classes_", None)
    text = f"{int(np.sum(counts)):,}"
    if classes is not None:
        each = [f"{n:,} of {c}" for c, n in zip(classes, counts, strict=True)]
        text += ": " + _listed(each)
    return {"support": text}


def _listed(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")


def _columns(schema: Schema | None) -> dict[str, str]:
    if schema is None:
        return {}
    names = schema.feature_names or []
    listed = ": " + _listed(names) if names else ""
    rows = {"columns": f"{schema.n_features:,}{listed}; {SCALED[schema.scaling]}"}
    if schema.text is not None:
        rows = {"columns": f"{schema.text!r}, of {schema.samples or 'texts'}"}
    if schema.task is not None:
        labels = _listed([str(label) for label in schema.labels or ()])
        rows["target"] = f"{schema.target or 'the target'}: {labels or 'a number'}"
    return rows


def _weights(model: Any, schema: Schema | None, top: int) -> dict[str, float]:
    """The largest weights of a linear model; of several tasks, Σ|w|."""
    try:
        coef = model.coef_
    except AttributeError:
        return {}
    # Of a model file of a few bytes there may be a billion columns, nearly all without a weight.
    if sp.issparse(coef):
        at = np.unique(coef.indices)
        used = coef[:, at].toarray()
    else:
        used = np.atleast_2d(np.asarray(coef))
        at = np.arange(used.shape[1])
    size = np.abs(used).sum(axis=0)
    value = used[0] if used.shape[0] == 1 else size
    names = schema.feature_names if schema else None
    return {
        names[at[j]] if names else f"column {at[j]}": float(value[j])
        for j in np.argsort(-size, kind="stable")[:top]
        if size[j] > 0
    }
