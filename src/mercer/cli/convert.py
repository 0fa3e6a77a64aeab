"""``mercer convert``: data in another format, models of LIBSVM and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mercer.cli.guard import Misused, complain
from mercer.cli.output import Voice, table
from mercer.cli.reading import describe, open_both, read
from mercer.io import (
    is_libsvm,
    open_model,
    read_libsvm,
    save,
    write_libsvm,
    write_table,
)

__all__ = ["run"]

# What a model decides, if the data are read for it.
CHOICES = ("target", "scale", "missing", "drop", "task")


def run(
    source: str, destination: str, like: str | None, to: str | None, quiet: bool, **how: Any
) -> None:
    voice = Voice(quiet=quiet)
    given = [f"--{name}" for name in CHOICES if how[name]]
    if is_libsvm(source):
        _refuse(given, like, "a model")
        model, schema = read_libsvm(source)
        save(model, destination, schema=schema)
        voice.say(table({"model": f"{destination}: {model}"}))
    elif to == "libsvm" or Path(destination).suffix == ".model":
        _refuse(given, like, "a model")
        _export(source, destination)
        voice.say(table({"model": f"{destination}, for svm-predict"}))
    else:
        if like is not None and given:
            raise Misused(f"--like has the model's own choices: leave {given[0]} out")
        if like is not None:
            _, rows = open_both(like, source, how["format"])
        else:
            rows = read({**how, "data": source, "scale": how["scale"] or "none"})
        write_table(destination, rows, format=to)
        voice.say(table({"data": describe(rows), "written": destination}))


def _refuse(given: list[str], like: str | None, what: str) -> None:
    if given or like is not None:
        raise Misused(f"{(given or ['--like'])[0]} is for data, and the source is {what}")


def _export(source: str, destination: str) -> None:
    found = open_model(source)
    write_libsvm(found.model, destination)
    if found.schema is not None and found.schema.scaling is not None:
        complain(
            f"note: the model takes scaled rows: mercer convert DATA rows.svm --like {source} "
            "makes them for svm-predict"
        )
