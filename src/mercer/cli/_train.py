"""``mercer train``: read, choose, fit, save, report."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

from mercer.cli._errors import OK, STOPPED, Failed, Misused, complain
from mercer.cli._estimators import MACHINES, build, choose
from mercer.cli._fitting import certificate_of, fit, is_unfinished, shown
from mercer.cli._output import Voice, score, table
from mercer.cli._reading import describe, read, stem
from mercer.cli._svm_train_options import translate
from mercer.cli._verify import check, refuse
from mercer.data import Schema, Table, read_table
from mercer.persistence import open_model, save
from mercer.plots._write import SUFFIXES
from mercer.verification._verify import check_verifiable

__all__ = ["as_gamma", "run"]

# The options that are parameters of estimators.
PARAMETERS = (
    "kernel", "C", "gamma", "degree", "coef0", "nu", "epsilon", "alpha", "class_weight",
    "probability", "tol", "solver", "shrinking", "max_iter", "time_limit", "cache_size", "n_jobs",
)  # fmt: skip


def run(**given: Any) -> int:
    options = translate(given)
    path = _output(options)
    voice = Voice(options["json"], options["quiet"])
    began = time.perf_counter()
    data = read(options | {"task": _task(options["machine"], options["task"])})
    name, why = _machine(options["machine"], data)
    model = build(name, _parameters(options, data.schema))
    if options["verify"]:
        _refuse_unverifiable(name, model)
    n, d = data.X.shape
    voice.say(
        table({"data": describe(data), "machine": f"{name}: {why}"}),
        command="train", data=data.name, rows=n, columns=d, scaling=data.schema.scaling,
        machine=name, why=why, seconds_reading=time.perf_counter() - began,
    )  # fmt: skip
    if options["only_validate"]:
        _validate(model, data, options["cv"], voice)
        voice.end()
        return OK
    test = _read_test(options["test"], data.schema)
    fit(model, data, voice.quiet)
    save(model, path, schema=data.schema)
    _report(model, path, voice)
    if options["cv"] is not None:
        _validate(model, data, options["cv"], voice)
    if test is not None:
        text, numbers = score(test.y, model.predict(test.X), test.schema.task)
        voice.say(f"{table({'test': test.name})}\n{text}", test={"data": test.name, **numbers})
    broken = _verify(model, path, data, voice) if options["verify"] else []
    if options["plot"] is not None:
        _draw(model, path, data, options["plot"], voice)
    voice.end()
    refuse(path, broken)
    return STOPPED if is_unfinished(model) else OK


def _refuse_unverifiable(name: str, model: Any) -> None:
    """Say before a long fit, not after it, that there is nothing to verify."""
    try:
        check_verifiable(model)
    except TypeError as error:
        raise Misused(f"--verify is not for --machine {name}: {error}") from error


def _verify(model: Any, path: str, data: Table, voice: Voice) -> list[str]:
    """The certificate of --verify: of the model as it was written, not of the one in memory."""
    return check(path, open_model(path).model, data, voice)


def _draw(model: Any, path: str, data: Table, picture: str, voice: Voice) -> None:
    """The picture of --plot: regions and margins, or the tube of a regression."""
    from mercer.cli._plot import draw

    kind = "tube" if data.schema.task == "regression" else "boundary"
    draw(kind, path, model, data.schema, data.X, data.y, picture)
    voice.say(table({"picture": picture}), picture=picture)


def _output(options: dict[str, Any]) -> str:
    """Where the model goes: --output, or svm-train's second file, or the data's name."""
    output, second = options["output"], options["model"]
    if output is not None and second is not None:
        raise Misused(f"the model's file is given twice: --output {output} and {second}")
    path = output or second or stem(options["data"]) + ".mercer"
    _refuse_output(path, options["data"])
    picture = options["plot"]
    if picture is not None:
        _refuse_output(picture, options["data"])
        if not picture.lower().endswith(SUFFIXES):
            raise Misused(f"--plot {picture} must end in one of {', '.join(SUFFIXES)}")
    return path


def _refuse_output(path: str, data: str) -> None:
    """Say before a long fit, not after it, that what comes of it cannot be written."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise Failed(f"{path}: there is no folder {folder}")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise Failed(f"{path}: nothing can be written there")
    if Path(path).exists() and data != "-" and Path(path).samefile(data):
        raise Misused(f"{path}: it would take the place of the data")


def _task(machine: str | None, task: str | None) -> str | None:
    """What the target has to be for the machine that was asked for."""
    wanted = None if machine is None else MACHINES[machine].task
    if wanted is not None and task is not None and wanted != task:
        raise Misused(f"--machine {machine} is for {wanted}, which --task {task} contradicts")
    return wanted or task


def _machine(asked: str | None, data: Table) -> tuple[str, str]:
    """The machine, and why."""
    if asked is None:
        return choose(data.schema)
    if MACHINES[asked].task is not None and data.y is None:
        raise Failed(
            f"{data.name}: --machine {asked} needs a target, and there is none; see --target"
        )
    return asked, "asked for"


def _parameters(options: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The estimator's parameters that were given, words turned into numbers."""
    parameters = {name: options[name] for name in PARAMETERS}
    parameters["gamma"] = as_gamma(options["gamma"])
    parameters["class_weight"] = _class_weight(options["class_weight"], schema)
    return parameters


def as_gamma(word: str | None) -> float | str | None:
    """γ as an estimator takes it."""
    if word is None or word in ("scale", "auto"):
        return word
    try:
        return float(word)
    except ValueError:
        raise Misused(f"--gamma must be a number, scale or auto, got {word!r}") from None


def _class_weight(words: list[str] | None, schema: Schema) -> dict[Any, float] | str | None:
    if not words:
        return None
    if words == ["balanced"]:
        return "balanced"
    labels = {str(label): label for label in schema.labels or ()}
    weights = {}
    for word in words:
        label, _, factor = word.rpartition("=")
        label = label if label in labels else label.lstrip("+")
        if label not in labels:
            raise Misused(
                f"--class-weight {word}: no such label; give LABEL=FACTOR with one of "
                f"{', '.join(list(labels)[:8]) or 'the labels of a classification'}"
            )
        try:
            weights[labels[label]] = float(factor)
        except ValueError:
            raise Misused(f"--class-weight {word}: {factor!r} is no number") from None
        if not weights[labels[label]] > 0:
            raise Misused(f"--class-weight {word}: the factor must be positive")
    return weights


def _report(model: Any, path: str, voice: Voice) -> None:
    certificate = certificate_of(model)
    found = {"certificate": certificate, "solved": not is_unfinished(model), "model": path}
    voice.say(f"{shown(model)}\n{table({'model': path})}", **found)
    if is_unfinished(model):
        complain(
            f"stopped before the tolerance ({certificate.status}); the model so far is in {path}, "
            f"its relative gap is {certificate.relative_gap:.3g}"
        )


def _validate(model: Any, data: Table, folds: int, voice: Voice) -> None:
    """Predict every row by a model of the other folds."""
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

    if data.y is None:
        raise Failed(f"{data.name}: cross-validation needs a target, and there is none")
    kind = StratifiedKFold if data.schema.task == "classification" else KFold
    cut = kind(folds, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = cross_val_predict(clone(model), data.X, data.y, cv=cut)
    text, numbers = score(data.y, predicted, data.schema.task, "Cross Validation ")
    voice.say(text, cv={"folds": folds, **numbers})


def _read_test(source: str | None, schema: Schema) -> Table | None:
    """The data of --test, before the fit: they may be wrong."""
    if source is None:
        return None
    test = read_table(source, schema=schema)
    if test.y is None:
        raise Failed(f"{test.name}: --test needs the targets, and there are none")
    return test
