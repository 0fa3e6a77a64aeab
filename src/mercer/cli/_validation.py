"""Scores of ``mercer train`` beside its model: on held-out rows, by folds, on another file."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.cli._errors import CommandError, UsageError, print_error
from mercer.cli._output import Reporter, count, table
from mercer.cli._scores import SETTINGS, baseline, describe_constant, describe_scores, score
from mercer.data import Schema, Table, read_table

__all__ = ["cross_validate", "held_out_rows", "hold_out", "read_test", "refuse_folds"]

SCALERS = {"standard": "StandardScaler", "minmax": "MinMaxScaler", "maxabs": "MaxAbsScaler"}


def hold_out(model: Any, data: Table, seconds: float, reporter: Reporter) -> None:
    """Score a fit of most rows on the others, beside the best constant."""
    n, y, task = data.X.shape[0], data.y, data.schema.task
    if y is None or getattr(model, "kernel", "") == "precomputed":
        return
    rows = np.random.default_rng(0).permutation(n)[: SETTINGS.max_rows]
    parts = held_out_rows(y, task, rows, int(SETTINGS.held_out * rows.size))
    if parts is None:
        return
    rest, held = parts
    other = _with_scaling(clone(model), data.schema)
    limit = {name: max(seconds, 1.0) for name in other.get_params() if name.endswith("time_limit")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            predicted = other.set_params(**limit).fit(data.X[rest], y[rest]).predict(data.X[held])
        except (ValueError, KeyboardInterrupt):  # such as a ν that is infeasible for fewer rows
            return
    numbers, base = score(y[held], predicted, task), baseline(y[rest], y[held], task)
    if task == "classification":
        text = f"accuracy {100 * numbers['accuracy']:.3g} %"
    else:
        text = f"R² {numbers['r2']:.3g}, RMSE {numbers['rmse']:.4g}"
    text += f" on {count(held.size, 'rows')} by a fit of {rest.size:,} others "
    text += f"({describe_constant(base)})"
    found = {"rows": held.size, "training_rows": rest.size, **numbers, "baseline": base}
    reporter.write(table({"held out": text}), held_out=found)


def held_out_rows(
    y: Any, task: str | None, rows: np.ndarray, few: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Most of the rows, and a ``few`` that are held out; None if there are too few of them."""
    from sklearn.model_selection import train_test_split

    if rows.size < SETTINGS.min_rows:
        return None
    is_class = task == "classification"
    stratify = y[rows] if is_class and np.unique(y[rows], return_counts=True)[1].min() > 1 else None
    if stratify is not None and np.unique(stratify).size > few:
        stratify = None
    rest, held = train_test_split(rows, test_size=few, random_state=0, stratify=stratify)
    return None if is_class and np.unique(y[rest]).size < 2 else (rest, held)


def _with_scaling(model: Any, schema: Schema) -> Any:
    """The model after the scaling of the schema, learned from the rows that it is fitted to.

    Rows that are already scaled by all rows will do: an affine map of the columns does not change
    what a scaler makes of them.
    """
    from sklearn import preprocessing
    from sklearn.pipeline import make_pipeline

    if schema.scaling is None:
        return model
    return make_pipeline(getattr(preprocessing, SCALERS[schema.scaling])(), model)


def refuse_folds(folds: int, data: Table) -> None:
    """Refuse before the fit a cross-validation that is not possible after it."""
    if data.y is None:
        raise CommandError(f"{data.name}: cross-validation needs a target, and there is none")
    most, of = len(data.y), "rows"
    if data.schema.task == "classification":
        most, of = int(np.unique(data.y, return_counts=True)[1].max()), "rows of a class"
    if folds > most:
        raise UsageError(f"--cv {folds}: {data.name} has at most {count(most, of)}")


def cross_validate(model: Any, data: Table, folds: int, reporter: Reporter) -> None:
    """Predict every row by a model of the other folds, whose rows alone scale the columns."""
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

    kind = StratifiedKFold if data.schema.task == "classification" else KFold
    model = _with_scaling(clone(model), data.schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = cross_val_predict(
            model, data.X, data.y, cv=kind(folds, shuffle=True, random_state=0)
        )
    numbers = score(data.y, predicted, data.schema.task)
    text = describe_scores(numbers, len(data.y), "Cross Validation ")
    reporter.write(text, cv={"folds": folds, **numbers})


def read_test(source: str | None, schema: Schema) -> Table | None:
    """The data of --test, before the fit: they may be wrong."""
    if source is None:
        return None
    test = read_table(source, schema=schema).with_target()
    for note in test.notes:
        print_error(f"{test.name}: {note}")
    if test.y is None:
        raise CommandError(f"{test.name}: --test needs the targets, and there are none")
    return test
