"""``mercer convert`` and ``export``: data in another format, models for other programs and back."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli._errors import UsageError, print_error
from mercer.cli._output import Reporter, describe, open_model_and_data, read, table
from mercer.data import Table, write_table
from mercer.persistence import (
    is_liblinear,
    is_libsvm,
    open_model,
    read_liblinear,
    read_libsvm,
    save,
    write_liblinear,
    write_libsvm,
)
from mercer.persistence._container import holds_tensors

__all__ = ["export", "run"]

# Names of files of svmlight's format, whose labels are numbers.
SVMLIGHT = (".svm", ".libsvm", ".svmlight", ".txt")
# Options that --like decides.
CHOICES = ("target", "scale", "missing", "categorical", "drop", "task")


def run(
    source: str, destination: str, like: str | None, to: str | None, quiet: bool, **how: Any
) -> None:
    reporter = Reporter(quiet=quiet)
    given = [f"--{name}" for name in CHOICES if how[name]]
    if is_libsvm(source) or is_liblinear(source):
        _refuse(given, like, "a model")
        model, schema = read_libsvm(source) if is_libsvm(source) else read_liblinear(source)
        save(model, destination, schema=schema)
        reporter.write(table({"model": f"{destination}: {model}"}))
    elif to in ("libsvm", "liblinear") or Path(destination).suffix == ".model":
        _refuse(given, like, "a model")
        program = _export(source, destination, to)
        reporter.write(table({"model": f"{destination}, for {program}"}))
    elif holds_tensors(source):
        raise UsageError(
            f"{source} is a model: for LIBSVM or LIBLINEAR give --to libsvm or --to liblinear, or "
            "a file that ends in .model"
        )
    else:
        if like is not None and given:
            raise UsageError(f"{given[0]} cannot be combined with --like, whose model decides it")
        if like is not None:
            _, rows = open_model_and_data(like, source, how["format"])
        else:
            rows = read({**how, "data": source, "scale": how["scale"] or "none"})
        if to == "svmlight" or (to is None and Path(destination).suffix in SVMLIGHT):
            rows = _numbered(rows)
        write_table(destination, rows, format=to)
        reporter.write(table({"data": describe(rows), "written": destination}))


def _numbered(rows: Table) -> Table:
    """Labels that are words as numbers, in the order of models exported for LIBSVM."""
    if rows.y is None or rows.y.dtype.kind in "fiub":
        return rows
    labels, codes = np.unique(rows.y, return_inverse=True)
    meaning = ", ".join(f"{k} is {label}" for k, label in enumerate(labels.tolist()))
    print_error(f"note: svmlight's labels are numbers: {meaning}")
    return replace(rows, y=codes)


def _refuse(given: list[str], like: str | None, what: str) -> None:
    if given or like is not None:
        raise UsageError(f"{(given or ['--like'])[0]} is for data, but the source is {what}")


def _export(source: str, destination: str, to: str | None) -> str:
    """Write a model in the format of LIBSVM, or of LIBLINEAR; the program that reads it."""
    found = open_model(source)
    is_linear = to == "liblinear" or (to is None and not hasattr(found.model, "kernel_"))
    program = "LIBLINEAR's predict" if is_linear else "svm-predict"
    (write_liblinear if is_linear else write_libsvm)(found.model, destination)
    if found.schema is not None and found.schema.scaling is not None:
        print_error(
            f"note: the model takes scaled rows; mercer convert DATA rows.svm --like {source} "
            f"writes them for {program}"
        )
    return program


def export(
    model: str,
    onnx: bool,
    c: bool,
    single: bool,
    name: str | None,
    output: str | None,
    quiet: bool,
) -> None:
    from mercer.export import to_c, to_onnx

    if onnx == c:
        raise UsageError("give --onnx or --c, one of them")
    if onnx and (single or name is not None):
        raise UsageError(f"{'--float' if single else '--name'} is for --c")
    if not c and find_spec("onnx") is None:
        raise UsageError("--onnx needs the package onnx: pip install 'mercer[onnx]'")
    found = open_model(model)
    destination = Path(output) if output else Path(model).with_suffix(".onnx" if onnx else ".h")
    try:
        if onnx:
            to_onnx(found.model, destination, schema=found.schema)
        else:
            name = name or re.sub(r"\W", "_", f"_{destination.stem}").lstrip("_") or "model"
            dtype = "float" if single else "double"
            to_c(found.model, destination, name=name, dtype=dtype, schema=found.schema)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{model}: {error}") from None
    columns = None if found.schema is None else found.schema.feature_names
    shown = {"model": f"{destination}: {type(found.model).__name__}"}
    if columns is not None:
        shown["a row is"] = ", ".join(columns[:20]) + (", …" if len(columns) > 20 else "")
    Reporter(quiet=quiet).write(table(shown))
