"""``mercer train``: read, choose the estimator, fit, save, report."""

from __future__ import annotations

import inspect
import os
import time
import warnings
from pathlib import Path
from typing import Any

from sklearn.utils._param_validation import InvalidParameterError

from mercer.cli._errors import CommandError, ExitCode, UsageError, option, print_error
from mercer.cli._options import translate_svm_train_options
from mercer.cli._output import (
    Reporter,
    certificate_of,
    describe,
    describe_certificate,
    is_unfinished,
    read,
    score,
    stem,
    table,
)
from mercer.cli._progress import ProgressBar
from mercer.cli._verify import check, refuse
from mercer.data import Schema, Table, read_table
from mercer.estimators._registry import cli_names
from mercer.persistence import open_model, save
from mercer.plots._write import SUFFIXES
from mercer.verification._verify import check_verifiable

__all__ = ["as_gamma", "run"]

# The options that are parameters of estimators.
PARAMETERS = (
    *("kernel", "gamma", "degree", "coef0"),
    *("C", "nu", "epsilon", "alpha", "class_weight", "probability"),
    *("tol", "solver", "shrinking", "max_iter", "time_limit", "cache_size", "n_jobs"),
)
SCALERS = {"standard": "StandardScaler", "minmax": "MinMaxScaler", "maxabs": "MaxAbsScaler"}


def run(**given: Any) -> int:
    options = translate_svm_train_options(given)
    path = _output(options)
    reporter = Reporter(options["json"], options["quiet"])
    began = time.perf_counter()
    data = read(options | {"task": _task(options["machine"], options["task"])})
    name, why = _estimator(options["machine"], data)
    model = _build(name, _parameters(options, data.schema))
    if options["verify"]:
        _refuse_unverifiable(name, model)
    n, d = data.X.shape
    reporter.write(
        table({"data": describe(data), "machine": f"{name}: {why}"}),
        command="train",
        data=data.name,
        rows=n,
        columns=d,
        scaling=data.schema.scaling,
        machine=name,
        why=why,
        seconds_reading=time.perf_counter() - began,
    )
    if options["only_validate"]:
        _cross_validate(model, data, options["cv"], reporter)
        reporter.end()
        return ExitCode.OK
    test = _read_test(options["test"], data.schema)
    fit(model, data, reporter.quiet)
    save(model, path, schema=data.schema)
    _report(model, path, reporter)
    if options["cv"] is not None:
        _cross_validate(model, data, options["cv"], reporter)
    if test is not None:
        text, numbers = score(test.y, model.predict(test.X), test.schema.task)
        reporter.write(f"{table({'test': test.name})}\n{text}", test={"data": test.name, **numbers})
    broken = _verify(model, path, data, reporter) if options["verify"] else []
    if options["plot"] is not None:
        _draw(model, path, data, options["plot"], reporter)
    reporter.end()
    refuse(path, broken)
    return ExitCode.STOPPED if is_unfinished(model) else ExitCode.OK


def fit(model: Any, data: Table, quiet: bool = False) -> None:
    """Fit with a progress bar; after Ctrl-C the model so far is kept, if there is one."""
    has_callback = "callback" in model.get_params()
    with ProgressBar(model, quiet) as bar, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=FutureWarning)
        if bar.shown and has_callback:
            model.set_params(callback=bar)
        try:
            model.fit(data.X, data.y)
        except InvalidParameterError:
            raise
        except ValueError as error:
            raise CommandError(f"{data.name}: {error}") from error
        except KeyboardInterrupt:
            if not (hasattr(model, "expansion_") or hasattr(model, "coef_")):
                raise
        finally:
            if has_callback:
                model.set_params(callback=None)
    for warning in caught:
        print_error(warning.message)


def _target_task(name: str) -> str | None:
    """The task of the target that an estimator needs; None if it needs no target."""
    task = cli_names()[name].task
    return None if task == "outliers" else task


def _default_estimator(schema: Schema) -> tuple[str, str]:
    """The first estimator of the registry for a table's target, and why."""
    what = f"the target {schema.target!r}" if schema.target else "the target"
    why = {
        "classification": f"{what} has {len(schema.labels or ())} labels",
        "regression": f"{what} is a number",
        None: "there is no target",
    }[schema.task]
    return next(name for name in cli_names() if _target_task(name) == schema.task), why


def _build(name: str, parameters: dict[str, Any]) -> Any:
    """The estimator with the parameters that were given; one it does not have is refused."""
    entries = cli_names()
    given = {key: value for key, value in parameters.items() if value is not None}
    cls = entries[name].load()
    for key in given:
        if key not in inspect.signature(cls).parameters:
            others = [
                other
                for other, entry in entries.items()
                if key in inspect.signature(entry.load()).parameters
            ]
            raise UsageError(
                f"--machine {name} has no {option(key)}; it is an option of {', '.join(others)}"
            )
    return cls(**given)


def _refuse_unverifiable(name: str, model: Any) -> None:
    """Refuse before a long fit, not after it, what cannot be verified."""
    try:
        check_verifiable(model)
    except TypeError as error:
        raise UsageError(f"--verify cannot be combined with --machine {name}: {error}") from error


def _verify(model: Any, path: str, data: Table, reporter: Reporter) -> list[str]:
    """The certificate of --verify: of the model as it was written, not of the one in memory."""
    return check(path, open_model(path).model, data, reporter)


def _draw(model: Any, path: str, data: Table, picture: str, reporter: Reporter) -> None:
    """The figure of --plot: regions and margins, or the ε-insensitive tube of a regression."""
    from mercer.cli._plot import draw

    kind = "tube" if data.schema.task == "regression" else "boundary"
    draw(kind, path, model, data.schema, data.X, data.y, picture)
    reporter.write(table({"figure": picture}), picture=picture)


def _output(options: dict[str, Any]) -> str:
    """Where the model goes: --output, or svm-train's second file, or the data's name."""
    output, second = options["output"], options["model"]
    if output is not None and second is not None:
        raise UsageError(f"the model's file is given twice: --output {output} and {second}")
    path = output or second or stem(options["data"]) + ".mercer"
    _refuse_output(path, options["data"])
    picture = options["plot"]
    if picture is not None:
        _refuse_output(picture, options["data"])
        if not picture.lower().endswith(SUFFIXES):
            raise UsageError(f"--plot {picture} must end in one of {', '.join(SUFFIXES)}")
    return path


def _refuse_output(path: str, data: str) -> None:
    """Refuse before a long fit, not after it, a file that cannot be written."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise CommandError(f"{path}: there is no folder {folder}")
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise CommandError(f"{path}: nothing can be written there")
    if Path(path).exists() and data != "-" and Path(path).samefile(data):
        raise UsageError(f"{path}: the output would overwrite the data")


def _task(machine: str | None, task: str | None) -> str | None:
    """The task of the target that the estimator requires."""
    wanted = None if machine is None else _target_task(machine)
    if wanted is not None and task is not None and wanted != task:
        raise UsageError(f"--machine {machine} is for {wanted}, which --task {task} contradicts")
    return wanted or task


def _estimator(asked: str | None, data: Table) -> tuple[str, str]:
    """The estimator's name, and why it was chosen."""
    if asked is None:
        return _default_estimator(data.schema)
    if _target_task(asked) is not None and data.y is None:
        raise CommandError(
            f"{data.name}: --machine {asked} needs a target, and there is none; see --target"
        )
    return asked, "given by --machine"


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
        raise UsageError(f"--gamma must be a number, scale or auto, got {word!r}") from None


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
            raise UsageError(
                f"--class-weight {word}: no such label; give LABEL=FACTOR with one of "
                f"{', '.join(list(labels)[:8]) or 'the labels of a classification'}"
            )
        try:
            weights[labels[label]] = float(factor)
        except ValueError:
            raise UsageError(f"--class-weight {word}: {factor!r} is no number") from None
        if not weights[labels[label]] > 0:
            raise UsageError(f"--class-weight {word}: the factor must be positive")
    return weights


def _report(model: Any, path: str, reporter: Reporter) -> None:
    certificate = certificate_of(model)
    found = {"certificate": certificate, "solved": not is_unfinished(model), "model": path}
    reporter.write(f"{describe_certificate(model)}\n{table({'model': path})}", **found)
    if is_unfinished(model):
        print_error(
            f"stopped before the tolerance ({certificate.status}); the model so far is in {path}, "
            f"its relative gap is {certificate.relative_gap:.3g}"
        )


def _cross_validate(model: Any, data: Table, folds: int, reporter: Reporter) -> None:
    """Predict every row by a model of the other folds.

    The columns are scaled by each training fold alone. ``data.X`` are scaled by all rows, but an
    affine map of the columns does not change what a scaler makes of them.
    """
    from sklearn import preprocessing
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline

    if data.y is None:
        raise CommandError(f"{data.name}: cross-validation needs a target, and there is none")
    kind = StratifiedKFold if data.schema.task == "classification" else KFold
    model = clone(model)
    if data.schema.scaling is not None:
        model = make_pipeline(getattr(preprocessing, SCALERS[data.schema.scaling])(), model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = cross_val_predict(
            model, data.X, data.y, cv=kind(folds, shuffle=True, random_state=0)
        )
    text, numbers = score(data.y, predicted, data.schema.task, "Cross Validation ")
    reporter.write(text, cv={"folds": folds, **numbers})


def _read_test(source: str | None, schema: Schema) -> Table | None:
    """The data of --test, before the fit: they may be wrong."""
    if source is None:
        return None
    test = read_table(source, schema=schema)
    if test.y is None:
        raise CommandError(f"{test.name}: --test needs the targets, and there are none")
    return test
