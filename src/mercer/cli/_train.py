"""``mercer train``: read, choose the estimator, fit, save, report."""

from __future__ import annotations

import inspect
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError

from mercer._result import Status
from mercer.cli._certificate import certificate_of, describe_certificate, is_unfinished
from mercer.cli._commands import train_by_dask
from mercer.cli._errors import CommandError, ExitCode, UsageError, in_options, option, print_error
from mercer.cli._kernel import make_kernel
from mercer.cli._libsvm import translate_svm_train_options
from mercer.cli._output import Reporter, count, describe, read, refuse_output, stem, table
from mercer.cli._progress import ProgressBar
from mercer.cli._scores import (
    baseline,
    cross_validate,
    describe_constant,
    describe_scores,
    hold_out,
    read_test,
    refuse_folds,
    score,
)
from mercer.cli._verify import check, refuse
from mercer.data import Schema, Table
from mercer.estimators._registry import cli_names
from mercer.exceptions import ConvergenceWarning
from mercer.persistence import open_model, save
from mercer.plots._write import SUFFIXES
from mercer.verification._verify import check_verifiable

__all__ = ["as_gamma", "output_of", "run"]

# The options that are parameters of estimators.
PARAMETERS = (
    *("kernel", "gamma", "degree", "coef0"),
    *("C", "nu", "epsilon", "alpha", "class_weight", "probability"),
    *("tol", "solver", "shrinking", "max_iter", "time_limit", "cache_size", "n_jobs"),
)


def run(**given: Any) -> int:
    options = translate_svm_train_options(given)
    path = output_of(options)
    options["kernel_object"] = make_kernel(options)
    reporter = Reporter(options["json"], options["quiet"])
    if options["dask"] or options["scheduler"] or options["checkpoint"]:
        return train_by_dask(options, path, reporter)
    began = time.perf_counter()
    data = read(options | {"task": task_of(options["machine"], options["task"])})
    name, why = _estimator(options["machine"], data, given["machine"])
    model = build(name, parameters_of(options, data.schema))
    if options["verify"]:
        _refuse_unverifiable(name, model)
    n, d = data.X.shape[0], data.schema.n_features
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
    if options["cv"] is not None:
        refuse_folds(options["cv"], data)
    if options["only_validate"]:
        reporter.quiet = False  # its score is all that -v gives, as svm-train's with -q
        cross_validate(model, data, options["cv"], reporter)
        reporter.end()
        return ExitCode.OK
    test = read_test(options["test"], data.schema)
    seconds = fit(model, data, reporter.quiet)
    data = _tell_columns(model, data, reporter)
    save(model, path, schema=data.schema)
    reporter.write(**seconds)
    report(model, n, path, seconds, reporter, options["full"])
    _check_bounds(model, data)
    if options["cv"] is not None:
        cross_validate(model, data, options["cv"], reporter)
    if test is not None:
        numbers = score(test.y, model.predict(test.X), test.schema.task)
        base = baseline(data.y, test.y, test.schema.task)
        text = table({"test": f"{test.name} ({describe_constant(base)})"})
        text += f"\n{describe_scores(numbers, test.X.shape[0])}"
        reporter.write(text, test={"data": test.name, **numbers, "baseline": base})
    elif not is_unfinished(model) and not (options["quiet"] and not options["json"]):
        hold_out(model, data, seconds["seconds_fitting"], reporter)
    broken: list[str] = []
    if options["verify"]:  # of the model as it was written, not of the one in memory
        broken = check(path, open_model(path).model, data, reporter, options["full"])
    if options["plot"] is not None:
        _draw(model, path, data, options["plot"], reporter)
    reporter.end()
    refuse(path, broken)
    return ExitCode.STOPPED if is_unfinished(model) else ExitCode.OK


def fit(model: Any, data: Any, quiet: bool = False) -> dict[str, float]:
    """Fit with a progress bar; after Ctrl-C the model so far is kept, if there is one.

    The seconds of fitting, and those of compiling, which a later process does not need.
    """
    has_callback = "callback" in model.get_params()
    bar = ProgressBar(model, quiet)
    if bar.shown and not hasattr(data.X, "npartitions"):
        bar.estimate = _estimate(model, data)
    began, interrupt = time.perf_counter(), ""
    with bar, warnings.catch_warnings(record=True) as caught:
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
        except KeyboardInterrupt as error:
            if not (hasattr(model, "expansion_") or hasattr(model, "coef_")):
                raise
            interrupt = str(error)
        finally:
            if has_callback:
                model.set_params(callback=None)
    for warning in caught:
        if not issubclass(warning.category, ConvergenceWarning):  # `report` has it in other words
            print_error(in_options(str(warning.message)))
    if interrupt:  # of several tasks it tells how many are not trained
        print_error(interrupt)
    compiling = bar.compilation.seconds
    elapsed = time.perf_counter() - began
    return {"seconds_fitting": max(elapsed - compiling, 0.0), "seconds_compiling": compiling}


def _tell_columns(model: Any, data: Table, reporter: Reporter) -> Table:
    """Print the kernel of each column of a table; the schema keeps the columns that it compares."""
    if data.schema.samples != "table":
        return data
    kernel = model.kernel_
    reporter.write(f"{kernel}", kernel=repr(kernel), columns=dict(kernel.why))
    used = {name for name, _ in kernel.columns}
    columns = tuple(column for column in data.schema.columns or () if column.name in used)
    return replace(data, schema=replace(data.schema, columns=columns, n_features=len(columns)))


def _estimate(model: Any, data: Table) -> tuple[float, float] | None:
    """Between which times a long fit probably takes, from the fit of a sample."""
    from mercer.diagnostics._doctor import estimate_time
    from mercer.diagnostics._settings import Thresholds

    settings = Thresholds()
    if data.X.shape[0] < 10 * settings.sample_rows:
        return None
    return estimate_time(model, data.X, data.y, settings)


def _target_task(name: str) -> str | None:
    """The task of the target that an estimator needs; None if it needs no target."""
    task = cli_names()[name].task
    return None if task == "outliers" else task


def _default_estimator(schema: Schema) -> tuple[str, str]:
    """The first estimator of the registry for a table's target, and why."""
    what = f"the target {schema.target!r}" if schema.target else "the target"
    why = {
        "classification": f"{what} has {count(len(schema.labels or ()), 'labels')}",
        "regression": f"{what} is a number",
        None: "there is no target",
    }[schema.task]
    return next(name for name in cli_names() if _target_task(name) == schema.task), why


def build(name: str, parameters: dict[str, Any], cls: Any = None) -> Any:
    """The estimator with the parameters that were given; one it does not have is refused."""
    entries = cli_names()
    given = {key: value for key, value in parameters.items() if value is not None}
    cls = cls or entries[name].load()
    for key in given:
        if key not in inspect.signature(cls).parameters:
            others = [
                other
                for other, entry in entries.items()
                if key in inspect.signature(entry.load()).parameters
            ]
            what = f"--machine {name} has no {option(key)}; it is an option of {', '.join(others)}"
            raise UsageError(what)
    if "intercept_scaling" in inspect.signature(cls).parameters:  # not LIBLINEAR's problem
        given["intercept_scaling"] = None
    return cls(**given)


def _refuse_unverifiable(name: str, model: Any) -> None:
    """Refuse before a long fit, not after it, what cannot be verified."""
    try:
        check_verifiable(model)
    except TypeError as error:
        what = f"--verify cannot be combined with --machine {name}, which has no certificate"
        raise UsageError(what) from error


def _draw(model: Any, path: str, data: Table, picture: str, reporter: Reporter) -> None:
    """The figure of --plot: regions and margins, or the ε-insensitive tube of a regression."""
    from mercer.cli._plot import draw

    kind = "tube" if data.schema.task == "regression" else "boundary"
    draw(kind, path, model, data.schema, data.X, data.y, picture)
    reporter.write(table({"figure": picture}), picture=picture)


def output_of(options: dict[str, Any]) -> str:
    """Where the model goes: --output, or svm-train's second file, or the data's name."""
    output, second = options["output"], options["model"]
    if output is not None and second is not None:
        raise UsageError(f"the model's file is given twice: --output {output} and {second}")
    if second is not None and second.lower() in ("true", "false", "yes", "no", "0", "1"):
        raise UsageError(
            f"options such as --verify take no value; for a model called {second} give -o {second}"
        )
    path = output or second or stem(options["data"]) + ".mercer"
    refuse_output(path, options["data"])
    picture = options["plot"]
    if picture is not None:
        refuse_output(picture, options["data"])
        if not picture.lower().endswith(SUFFIXES):
            raise UsageError(f"--plot {picture} must end in one of {', '.join(SUFFIXES)}")
        import mercer.plots._boundary  # noqa: F401 (an error now rather than after the fit)
    return path


def task_of(machine: str | None, task: str | None) -> str | None:
    """The task of the target that the estimator requires."""
    wanted = None if machine is None else _target_task(machine)
    if wanted is not None and task is not None and wanted != task:
        raise UsageError(f"--machine {machine} is for {wanted}, which --task {task} contradicts")
    return wanted or task


def _estimator(asked: str | None, data: Table, by_name: str | None) -> tuple[str, str]:
    """The estimator's name, and why: ``asked`` by its name, or as svm-train does."""
    if asked is None:
        return _default_estimator(data.schema)
    if _target_task(asked) is not None and data.y is None:
        what = f"{data.name}: --machine {asked} needs a target, and there is none; see --target"
        raise CommandError(what)
    return asked, "as svm-train's -s" if by_name is None else "given by --machine"


def parameters_of(options: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The estimator's parameters that were given, words turned into numbers."""
    parameters = {name: options[name] for name in PARAMETERS}
    parameters["kernel"] = options["kernel_object"]
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
                f"--class-weight {word} (-w{label} {factor}): no such label; give LABEL=FACTOR "
                f"with one of {', '.join(list(labels)[:8]) or 'the labels of a classification'}"
            )
        try:
            weights[labels[label]] = float(factor)
        except ValueError:
            raise UsageError(f"--class-weight {word}: {factor!r} is no number") from None
        if not weights[labels[label]] > 0:
            raise UsageError(f"--class-weight {word}: the factor must be positive")
    return weights


def report(
    model: Any, n: int, path: str, seconds: dict[str, float], reporter: Reporter, full: bool
) -> None:
    certificate = certificate_of(model)
    found = {"certificate": certificate, "solved": not is_unfinished(model), "model": path}
    rows = {"certificate": describe_certificate(model, full), "model": path}
    if hasattr(model, "n_support_"):
        rows["support"] = f"{int(np.sum(model.n_support_)):,} of {count(n, 'rows')}"
    rows["time"] = f"{seconds['seconds_fitting']:.3g} s"
    if seconds["seconds_compiling"] > 0:
        rows["time"] += f", and {seconds['seconds_compiling']:.3g} s to compile, once"
    reporter.write(table(rows), **found)
    if is_unfinished(model):
        levers = {Status.TIME_LIMIT: "--time-limit", Status.ITERATION_LIMIT: "--max-iter"}
        lever = levers.get(certificate.status)
        more = "a smaller -C, scaled columns or a larger --tol would help"
        if certificate.status is Status.STOPPED:
            more = "train again to finish it"
        print_error(
            f"stopped before the tolerance ({certificate.status}); the model so far is in {path}, "
            f"its relative gap is {certificate.relative_gap:.3g}; "
            + (f"raise {lever}" if lever else more)
        )


def _check_bounds(model: Any, data: Table) -> None:
    """Warn of a regression whose C and ε do not fit y: nearly all rows at the bound, or none."""
    certificate, n = certificate_of(model), data.X.shape[0]
    n_bound, n_support = getattr(certificate, "n_bound", 0), getattr(certificate, "n_support", n)
    if data.schema.task != "regression" or not hasattr(model, "epsilon"):
        return
    sd = float(np.std(np.asarray(data.y)))
    if n_support == 0 and sd > 0 and not is_unfinished(model):
        tol = f" --tol {sd / 1000:.1g}" if model.tol > sd / 100 else ""
        print_error(
            f"{data.name}: the model is a constant: epsilon={model.epsilon:g} or tol={model.tol:g} "
            f"is large for targets of deviation {sd:.3g}; try {_fitting(sd)}{tol}"
        )
    elif n_bound > 0.9 * n and sd > model.C:
        print_error(
            f"{data.name}: {n_bound:,} of {count(n, 'rows')} are at the bound: C={model.C:g} is "
            f"small for targets of deviation {sd:.3g}; try {_fitting(sd)}"
        )


def _fitting(deviation: float) -> str:
    """C and ε for targets of this deviation, in few digits."""
    C, epsilon = float(f"{deviation:.2g}"), float(f"{deviation / 10:.1g}")
    return f"-C {C:.15g} --epsilon {epsilon:.15g}"
