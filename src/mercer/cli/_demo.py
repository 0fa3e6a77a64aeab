"""``mercer demo``: bundled data, and then what anybody could type."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from mercer.data import Column, Schema, Table, write_table

__all__ = ["run"]

COLUMNS = ["worst perimeter", "worst smoothness"]
COMMANDS = (
    "mercer train {0}/tumours.csv --target diagnosis --gamma 0.5 --test {0}/tumours-new.csv"
    " -o {0}/tumours.mercer",
    "mercer verify {0}/tumours.mercer {0}/tumours.csv",
    "mercer plot boundary {0}/tumours.mercer {0}/tumours.csv -o {0}/tumours.png",
)


def run(output: str, quiet: bool) -> int:
    from mercer.cli import main

    _write_data(Path(output))
    for command in COMMANDS:
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
    folder.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer()
    X = data.data[:, [list(data.feature_names).index(name) for name in COLUMNS]]
    y = np.asarray(data.target_names)[data.target]
    schema = Schema(
        columns=tuple(Column(name) for name in COLUMNS),
        n_features=len(COLUMNS),
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
