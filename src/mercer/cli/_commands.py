"""The short commands: ``mercer doctor``, ``mercer play`` and ``mercer demo``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli._errors import CommandError, print_error
from mercer.cli._output import Reporter, describe, read
from mercer.cli._train import as_gamma
from mercer.data import Column, Schema, Table, write_table

__all__ = ["demo", "doctor", "play"]

DEMO_COLUMNS = ["worst perimeter", "worst smoothness"]
DEMO = (
    "mercer train {0}/tumours.csv --target diagnosis --gamma 0.5 --test {0}/tumours-new.csv"
    " -o {0}/tumours.mercer",
    "mercer verify {0}/tumours.mercer {0}/tumours.csv",
    "mercer plot boundary {0}/tumours.mercer {0}/tumours.csv -o {0}/tumours.png",
)


def doctor(kernel: str | None, C: float | None, gamma: str | None, json: bool, **how: Any) -> None:
    """``mercer doctor``: problems of the data, before a fit."""
    from mercer import diagnostics

    data = read(how)
    parameters = {"kernel": kernel, "C": C, "gamma": as_gamma(gamma)}
    given = {name: value for name, value in parameters.items() if value is not None}
    names = data.schema.feature_names
    report = diagnostics.doctor(data.X, data.y, feature_names=names, **given)
    reporter = Reporter(json)
    is_default = data.schema.scaling and not how["scale"]
    hint = ", as train does; --scale none checks the columns as they are" if is_default else ""
    reporter.write(
        f"{describe(data)}{hint}\n{report}",
        command="doctor",
        data=data.name,
        subject=report.subject,
        healthy=report.is_healthy,
        findings=report.findings,
        estimate=report.estimate,
    )
    reporter.end()
    errors = [finding for finding in report.findings if finding.severity == "error"]
    if errors:
        raise CommandError(f"{data.name}: a fit would fail: {errors[0]!r}")


def play(data: str | None, port: int, browser: bool) -> None:
    """``mercer play``: the playground."""
    from mercer.playground import serve

    query = "" if data is None else _query(data)
    try:
        serve(port, open_browser=browser, query=query)
    except OSError as error:
        raise CommandError(f"--port {port}: {error.strerror or error}") from error


def _query(data: str) -> str:
    """What the page opens with: a link from its question mark on, or a small CSV file."""
    from mercer.playground import State, StateError
    from mercer.playground._upload import read_csv

    try:
        if data.startswith("?"):  # a link's own state
            return State.from_query(data[1:]).to_query()
        found, note = read_csv(Path(data).read_text(encoding="utf-8-sig"))
        query = State(**found).to_query()
    except (StateError, UnicodeDecodeError) as error:
        raise CommandError(f"{data}: {error}") from error
    print_error(f"{data}: {note}")
    return query


def demo(output: str, quiet: bool) -> int:
    """``mercer demo``: write bundled data, then run three commands on them."""
    from mercer.cli import main

    _write_data(Path(output))
    for command in DEMO:
        words = shlex.split(command.format(shlex.quote(output)))
        if not quiet:
            print(f"$ {shlex.join(words)}", flush=True)
        code = main([*words[1:], *(["--quiet"] if quiet else [])])
        if code:
            return code
        if not quiet:
            print(flush=True)
    return 0


def _write_data(folder: Path) -> None:
    """Two measurements of tumours in two files: to train on, and to predict."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    folder.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer()
    X = data.data[:, [list(data.feature_names).index(name) for name in DEMO_COLUMNS]]
    y = np.asarray(data.target_names)[data.target]
    schema = Schema(
        columns=tuple(Column(name) for name in DEMO_COLUMNS),
        n_features=len(DEMO_COLUMNS),
        target="diagnosis",
        task="classification",
        labels=tuple(sorted(set(y.tolist()))),
    )
    X_train, X_new, y_train, y_new = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    for name, rows, labels in (("tumours", X_train, y_train), ("tumours-new", X_new, y_new)):
        path = folder / f"{name}.csv"
        write_table(path, Table(rows, labels, schema, str(path), "csv"))
