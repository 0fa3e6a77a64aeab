"""``mercer predict``: predictions as CSV, and their scores if the data have targets."""

from __future__ import annotations

import os
import sys
from typing import Any

from mercer.cli._errors import CommandError, UsageError
from mercer.cli._libsvm import write_as_svm_predict
from mercer.cli._output import Reporter, count, open_model_and_data
from mercer.cli._scores import describe_scores, is_scored, score
from mercer.data import Table, write_predictions
from mercer.data._table import read_columns
from mercer.persistence import is_liblinear, is_libsvm
from mercer.persistence._container import holds_tensors

__all__ = ["run"]


def run(
    model: str,
    data: str,
    out: str | None,
    output: str | None,
    decision: bool,
    proba: bool,
    keep: list[str] | None,
    format: str | None,
    decimal: str | None,
    json: bool,
    quiet: bool,
    b: int | None,
) -> None:
    if out is not None and output is not None:
        raise UsageError(f"the output is given twice: --output {output} and {out}")
    if decision and proba:
        raise UsageError("--decision and --proba exclude each other: give one of them")
    if _is_model(data) and not _is_model(model):  # the order of svm-predict
        model, data = data, model
    found, table = open_model_and_data(model, data, format, decimal, may_be_wider=True)
    kept = read_columns(data, keep, table.format) if keep else {}
    if b is not None:
        if decision or proba or json or keep:
            raise UsageError(
                "-b writes as svm-predict does: leave out --decision, --proba, --keep, --json"
            )
        predicted = write_as_svm_predict(output or out or "-", found.model, table.X, bool(b))
    else:
        predicted = found.model.predict(table.X)
    more: dict[str, Any] = {"classes": getattr(found.model, "classes_", None)}
    if decision:
        more["decision"] = _values(found.model, "decision_function", table.X, model, "decision")
    if proba:
        more["probabilities"] = _values(found.model, "predict_proba", table.X, model, "proba")
    path = output or out or "-"
    reporter = Reporter(json, quiet or json)
    reporter.write(command="predict", model=model, data=table.name, rows=table.X.shape[0])
    if b is not None:
        pass  # written above
    elif json and path == "-":
        reporter.write(predictions=predicted, **more, **({"keep": kept} if kept else {}))
    else:
        write_predictions(path, predicted, keep=kept, **more)
        reporter.write(output=path)
    _score(found.model, table, predicted, reporter, sys.stderr if path == "-" else sys.stdout)
    reporter.end()


def _is_model(path: str) -> bool:
    """Of Mercer or, which is refused with a remedy, of LIBSVM or LIBLINEAR."""
    return holds_tensors(path) or (os.path.isfile(path) and (is_libsvm(path) or is_liblinear(path)))


def _score(fitted: Any, table: Table, predicted: Any, reporter: Reporter, stream: Any) -> None:
    """Score the rows that have a target."""
    rows = table.rows_with_target
    y = table.with_target().y
    if y is None or not is_scored(fitted, y):
        return
    numbers = score(y, predicted[rows], table.schema.task)
    reporter.write("", rows_scored=len(y), **numbers)
    if not reporter.quiet:
        if len(y) < len(predicted):
            print(f"scored: the {count(len(y), 'rows')} that have a target", file=stream)
        print(describe_scores(numbers, len(y)), file=stream)


def _values(fitted: Any, method: str, X: Any, name: str, option: str) -> Any:
    if not hasattr(fitted, method):
        remedy = "; train it with --probability" if hasattr(fitted, "probability") else ""
        what = f"{name}: a {type(fitted).__name__} has no {method}, which --{option} needs{remedy}"
        raise CommandError(what)
    return getattr(fitted, method)(X)
