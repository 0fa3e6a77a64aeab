"""``mercer doctor``: everything that is wrong with a file, and the command that trains on it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from mercer import diagnostics
from mercer.cli._errors import CommandError, UsageError, in_options, option
from mercer.cli._output import Reporter, describe, read
from mercer.cli._train import as_gamma
from mercer.data import Table
from mercer.diagnostics import Finding
from mercer.diagnostics._report import sorted_by_severity
from mercer.exceptions import FileError
from mercer.kernels._registry import KERNELS_BY_NAME

__all__ = ["of_file", "run", "typed_line"]

READING = ("target", "scale", "missing", "header", "categorical", "drop", "decimal", "na", "task")
PARAMETERS = ("kernel", "C", "gamma", "epsilon", "tol", "class_weight")
REPEATED = ("categorical", "drop", "na")


def run(json: bool, **given: Any) -> None:
    options = {name: value for name, value in given.items() if value is not None}
    if "kernel" in options and KERNELS_BY_NAME[options["kernel"]].sample_type != "vectors":
        raise UsageError(
            f"doctor checks rows of numbers: leave --kernel {options['kernel']} out; mercer train "
            "checks the samples of that kernel itself"
        )
    findings: list[Finding] = []
    try:
        data = _read(given, options, findings)
    except (FileError, CommandError):  # what was found before it is worth knowing, too
        Reporter(json).write("\n".join([given["data"], *map(_indented, findings)] * bool(findings)))
        raise
    findings += _notes(data, options)
    parameters = {name: options[name] for name in PARAMETERS if name in options}
    if "gamma" in parameters:
        parameters["gamma"] = as_gamma(str(parameters["gamma"]))
    names = data.schema.feature_names
    if data.y is None:
        parameters.pop("epsilon", None)
    if data.X.shape[0] < 2:
        raise CommandError(f"{data.name}: has one row; a fit needs two at least.")
    report = diagnostics.doctor(data.X, data.y, feature_names=names, **parameters)
    checked = [of_file(finding, data) for finding in report.findings]
    for finding in checked:
        _apply(finding.options, options)
    findings = list(sorted_by_severity([*findings, *checked]))
    errors = [finding for finding in checked if finding.severity == "error"]
    words = _command(data, options)
    lines = [describe(data), *map(_indented, findings)]
    lines += [] if findings else ["  nothing found"]
    lines += [str(report.estimate)] if report.estimate else []
    lines += [] if errors else ["to train:", f"  {words}"]
    reporter = Reporter(json)
    reporter.write(
        "\n".join(lines),
        command="doctor",
        data=data.name,
        subject=report.subject,
        healthy=all(finding.severity == "note" for finding in findings),
        findings=findings,
        estimate=report.estimate,
        train=None if errors else words,
    )
    reporter.end()
    if errors:
        raise CommandError(f"{data.name}: a fit would fail: {typed_line(errors[0])}")


def _indented(finding: Finding) -> str:
    return f"  {typed_line(finding)}"


def _read(
    given: dict[str, Any], options: dict[str, Any], findings: list[Finding], most: int = 40
) -> Table:
    """The data, after every repair that the errors of the reader name.

    ``options`` gets the repairs, ``findings`` what they repair. A file that needs more than
    ``most`` of them is of another kind.
    """
    for _ in range(most):
        try:
            data = read({**given, **options}, notes=False)
        except FileError as error:
            repair = tuple(error.remedy.items())
            if not repair:
                raise
            _apply(repair, options)
            if "missing" not in error.remedy:
                what = error.message.split(";")[0]
                where = "" if error.line is None else f"line {error.line}"
                findings.append(Finding("error", what[:1].upper() + what[1:], where, "", repair))
            continue
        if not data.id_columns:
            return data
        repair = tuple(("drop", name) for name in data.id_columns)
        _apply(repair, options)
        what = "Columns that number the rows, and tell nothing about new ones"
        findings.append(Finding("warning", what, ", ".join(data.id_columns), "", repair))
    raise CommandError(f"{given['data']}: more than {most} faults; is it a table?")


def _notes(data: Table, options: dict[str, Any]) -> list[Finding]:
    """Missing values, what the reader noted, and dates."""
    findings = []
    if data.n_missing:
        counts = ", ".join(f"{name} {count:,}" for name, count in data.n_missing.items())
        fill = (("missing", options["missing"]),)
        total = sum(data.n_missing.values())
        findings.append(Finding("warning", f"Missing values: {total:,}", counts, "", fill))
    findings += [
        Finding("note", note[:1].upper() + note[1:], "", "check that this is meant.")
        for note in data.notes
    ]
    for column in data.schema.columns or ():
        if column.parts is not None:
            parts = ", ".join(column.parts)
            remedy = f"they become numbers: {parts}; --drop {shlex.quote(column.name)} if not."
            findings.append(Finding("note", "Dates", column.name, remedy))
    return findings


def of_file(finding: Finding, data: Table) -> Finding:
    """A finding about columns of X, whose options name columns of the file.

    A column of the file is dropped if all columns that it becomes are to be.
    """
    dropped = {value for name, value in finding.options if name == "drop"}
    if not dropped:
        return finding
    whole = [c.name for c in data.schema.columns or () if dropped.issuperset(c.feature_names)]
    others = [pair for pair in finding.options if pair[0] != "drop"]
    return replace(finding, options=(*others, *(("drop", name) for name in whole)))


def _apply(repair: Any, options: dict[str, Any]) -> None:
    """Add options to those of the command."""
    for name, value in repair:
        options[name] = [*options.get(name, ()), value] if name in REPEATED else value


def typed_line(finding: Finding) -> str:
    """A finding with its remedy on the command line."""
    typed = finding.command or in_options(finding.remedy)
    if finding.options:
        typed = " ".join(_words(dict([pair])) for pair in finding.options)
    return " ".join(f"{finding.severity}: {finding.with_remedy(typed)}".split())


def _command(data: Table, options: dict[str, Any]) -> str:
    used = {name: options[name] for name in (*READING, *PARAMETERS) if name in options}
    return f"mercer train {shlex.quote(data.name)} {_words(used)}".strip()


def _words(options: dict[str, Any]) -> str:
    """Options as they are typed."""
    words = []
    for name, value in options.items():
        if name == "header":
            words.append("--header" if value else "--no-header")
            continue
        for item in value if isinstance(value, (list, tuple)) else [value]:
            text = f"{item:g}" if isinstance(item, float) else str(item)
            words.append(f"{option(name)} {shlex.quote(text)}")
    return " ".join(words)
