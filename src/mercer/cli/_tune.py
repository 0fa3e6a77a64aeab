"""``mercer tune``: `mercer.autofit` on a file, with a held-out score."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.automl import AutofitReport, autofit
from mercer.cli._certificate import certificate_of, describe_certificate, is_unfinished
from mercer.cli._doctor import of_file, typed_line
from mercer.cli._errors import CommandError, ExitCode, in_options, print_error
from mercer.cli._output import Reporter, count, describe, read, reading, table
from mercer.cli._progress import TimeBar
from mercer.cli._scores import (
    SETTINGS,
    baseline,
    describe_constant,
    describe_scores,
    held_out_rows,
    read_test,
    score,
)
from mercer.cli._train import output_of
from mercer.data import Table
from mercer.exceptions import InterruptWarning
from mercer.persistence import save
from mercer.plots import write_figure
from mercer.plots._base import APART

__all__ = ["run"]


def run(**given: Any) -> int:
    options = {"model": None, "kernel": None, **given}
    path = output_of(options)
    if options["text"] is not None:
        options["kernel"] = "spectrum"
    reporter = Reporter(options["json"], options["quiet"])
    options["scale"] = options["scale"] or "none"
    data = read(options)
    if data.y is None:
        raise CommandError(f"{data.name}: tune needs a target, and there is none; see --target")
    test = read_test(options["test"], data.schema)
    reporter.write(table({"data": describe(data)}), command="tune", data=data.name)
    began = time.perf_counter()
    model, is_interrupted = _search(data, test, options, reporter)
    report = model.report_
    rows = len(data.y)
    if test is None and model.held is not None:
        left = options["time_limit"] - (time.perf_counter() - began)
        part = model
        if not is_interrupted and left > 2 * model.last_seconds:
            model = _refit(model, data, left)
        rows -= len(part.held) if model is part else 0
    held_out = None if rows == len(data.y) else model.held
    save(model, path, schema=replace(data.schema, held_out=held_out))
    certificate, of = describe_certificate(model, False), f"fitted to all {count(rows, 'rows')}"
    if rows < len(data.y):
        of = (
            f"fitted to {rows:,} of {count(len(data.y), 'rows')}: a fit of all of them needs a "
            "larger --time-limit"
        )
    code = _with_data(report.code, options)
    if rows < len(data.y):
        code += f"# {path} was fitted to {rows:,} of these {len(data.y):,} rows\n"
    reporter.write(
        table({"certificate": certificate, "model": f"{path}, {of}"}),
        certificate=certificate_of(model),
        model=path,
        seconds=time.perf_counter() - began,
        code=code,
        rows_fitted=rows,
    )
    reporter.write(f"\nThe same model in Python:\n\n{code}".rstrip())
    if options["plot"] is not None:
        _draw(report, options["plot"], reporter)
    reporter.end()
    return ExitCode.STOPPED if is_interrupted or is_unfinished(model) else ExitCode.OK


def _with_data(code: str, options: dict[str, Any]) -> str:
    """The code of a model after that which reads X and y; of standard input, without it."""
    if options["data"] == "-":
        return code
    given = {name: value for name, value in reading(options).items() if value not in (None, ())}
    words = [options["data"], *(f"{name}={_literal(value)}" for name, value in given.items())]
    words[0] = _literal(words[0])
    imports, _, rest = code.partition("\n\n")
    lines = sorted([*imports.splitlines(), "from mercer.data import read_table"])
    call = f"table = read_table({', '.join(words)})"
    return "\n".join([*lines, "", call, "X, y = table.X, table.y", rest])


def _literal(value: Any) -> str:
    is_plain = isinstance(value, (str, list, tuple))  # of words: JSON is Python
    return json.dumps(value, ensure_ascii=False) if is_plain else repr(value)


def _search(
    data: Table, test: Table | None, options: dict[str, Any], reporter: Reporter
) -> tuple[Any, bool]:
    """The model of most rows, its report and its score on the others; whether Ctrl-C ended it.

    The model gets ``held``, the rows that it has not seen, and the seconds of its last fit.
    """
    n, task, limit = len(data.y), data.schema.task, options["time_limit"]  # type: ignore[arg-type]
    most = min(int(SETTINGS.held_out * n), SETTINGS.max_rows)
    parts = None if test is not None else held_out_rows(data.y, task, np.arange(n), most)
    rest, held = (np.arange(n), None) if parts is None else parts
    if held is not None:
        rest, held = np.sort(rest), np.sort(held)  # a fit has its rows in the order of the file
    part = limit if held is None else SETTINGS.search_part * limit
    caught: list[Any]
    with TimeBar(part, reporter.quiet) as bar, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=FutureWarning)
        try:
            given = {"n_jobs": options["n_jobs"], "feature_names": data.schema.feature_names}
            some = data.X[rest], data.y[rest]  # type: ignore[index]
            model = autofit(*some, time_limit=part, task=task, callback=bar, verbose=False, **given)
        except ValueError as error:
            raise CommandError(f"{data.name}: {error}") from error
    for warning in caught:
        print_error(in_options(str(warning.message)))
    model.held, model.last_seconds = held, model.report_.seconds_fitting
    _tell(model.report_, data, reporter)
    if test is not None:
        _score(model, test.X, test.y, data.y, task, test.name, reporter)
    elif held is not None:
        y: Any = data.y
        _score(model, data.X[held], y[held], y[rest], task, "held out", reporter)
    return model, any(issubclass(each.category, InterruptWarning) for each in caught)


def _tell(report: AutofitReport, data: Table, reporter: Reporter) -> None:
    text = "\n".join(repr(report).splitlines()[1:]).strip("\n")
    for finding in report.findings:
        text = text.replace(repr(finding), typed_line(of_file(finding, data)))
    rows = [
        {"candidates": name, "best": params, "score": mean, "rows": rows, "seconds": seconds}
        for name, params, mean, rows, seconds in report.table()
    ]
    names = "findings", "score", "error", "metric", "rows"
    found = {name: getattr(report, name) for name in names}
    reporter.write(text, **found, table=rows, probabilities=report.has_probabilities)


def _score(
    model: Any, X: Any, y: Any, y_train: Any, task: str | None, name: str, reporter: Reporter
) -> None:
    """The score on rows that the search has not seen, beside the best constant."""
    numbers, base = score(y, model.predict(X), task), baseline(y_train, y, task)
    text = f"{count(len(y), 'rows')} that the search has not seen ({describe_constant(base)})"
    text = table({name: text}) + f"\n{describe_scores(numbers, len(y))}"
    reporter.write(text, held_out={"rows": len(y), **numbers, "baseline": base})


def _refit(model: Any, data: Table, limit: float) -> Any:
    """The same parameters on all rows; if that is not solved in time, the model of most rows."""
    whole = clone(model)
    last = whole.steps[-1][1].set_params(time_limit=limit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            whole.fit(data.X, data.y)
        except KeyboardInterrupt:
            return model
    last.set_params(time_limit=None)
    return model if is_unfinished(last) else whole


def _draw(report: AutofitReport, path: str, reporter: Reporter) -> None:
    """The landscape over C and γ, or the curve along C of a model without γ."""
    if report.best is None:
        print_error(f"--plot {path}: no candidates were compared; raise --time-limit")
        return
    has_gamma = "gamma" in report.best.params
    display = report.landscape(ax=APART) if has_gamma else report.validation_curve(ax=APART)
    write_figure(display, path)
    reporter.write(table({"figure": path}), picture=path)
