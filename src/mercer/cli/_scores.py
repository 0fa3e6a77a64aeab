"""Scores of predictions: svm-predict's lines, and what says more than they do; held-out rows,
folds and test files of ``mercer train``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_outlier_detector
from sklearn.metrics import (
    confusion_matrix,
    mean_absolute_error,
    r2_score,
    recall_score,
    root_mean_squared_error,
)

from mercer.cli._errors import CommandError, UsageError, print_error
from mercer.cli._output import Reporter, count, table
from mercer.data import Schema, Table, read_table

__all__ = [
    "SETTINGS",
    "baseline",
    "cross_validate",
    "describe_constant",
    "describe_scores",
    "held_out_rows",
    "hold_out",
    "is_scored",
    "read_test",
    "refuse_folds",
    "score",
]

SCALERS = {"standard": "StandardScaler", "minmax": "MinMaxScaler", "maxabs": "MaxAbsScaler"}


@dataclass(frozen=True)
class ScoreSettings:
    """What is computed and shown.

    Attributes
    ----------
    held_out : fraction of the rows that a trained model is tested on, by a fit of the others
    max_rows : rows that this second fit uses at most, so that it takes less time than the first
    search_part : of the time limit of a search; the rest is for a fit of all rows after it
    min_rows : with fewer rows nothing is held out
    shown_classes : classes up to which the confusion matrix is printed
    """

    held_out: float = 0.2
    max_rows: int = 5000
    search_part: float = 0.8
    min_rows: int = 20
    shown_classes: int = 8


SETTINGS = ScoreSettings()


def score(y: Any, predicted: Any, task: str | None) -> dict[str, Any]:
    """The scores of predictions, by name."""
    y, predicted = np.asarray(y), np.asarray(predicted)
    if task == "classification":
        labels = np.union1d(y, predicted)
        present = np.unique(y)
        recall = recall_score(y, predicted, labels=present, average=None, zero_division=0)
        return {
            "accuracy": float(np.mean(predicted == y)),
            "balanced_accuracy": float(np.mean(recall)),
            "recall": {str(label): float(r) for label, r in zip(present, recall, strict=True)},
            "labels": labels.tolist(),
            "confusion": confusion_matrix(y, predicted, labels=labels).tolist(),
        }
    y, predicted = y.astype(np.float64), predicted.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        squared = float(np.corrcoef(y, predicted)[0, 1] ** 2) if y.size > 1 else float("nan")
    return {
        "mean_squared_error": float(np.mean((y - predicted) ** 2)),
        "squared_correlation": squared,
        "rmse": float(root_mean_squared_error(y, predicted)),
        "mae": float(mean_absolute_error(y, predicted)),
        "r2": float(r2_score(y, predicted)) if y.size > 1 else float("nan"),
    }


def baseline(y_train: Any, y: Any, task: str | None) -> dict[str, Any]:
    """The scores of the best constant: the most frequent class, or the mean."""
    if task == "classification":
        labels, counts = np.unique(y_train, return_counts=True)
        constant = labels[np.argmax(counts)]
    else:
        constant = np.mean(y_train)
    return score(y, np.full(len(y), constant), task) | {"constant": constant}


def describe_constant(found: dict[str, Any]) -> str:
    """What `baseline` scores, in a few words."""
    if "accuracy" in found:
        return f"always {str(found['constant'])!r}: {100 * found['accuracy']:.3g} %"
    return f"the mean of the others: RMSE {found['rmse']:.4g}"


def describe_scores(found: dict[str, Any], n: int, prefix: str = "") -> str:
    """Lines of text: first those of svm-predict."""
    if "accuracy" in found:
        right = round(found["accuracy"] * n)
        line = f"{prefix}Accuracy = {100 * found['accuracy']:.6g}% ({right}/{n}) (classification)"
        return "\n".join([line, *_confusion_lines(found)])
    return (
        f"{prefix}Mean squared error = {found['mean_squared_error']:.6g} (regression)\n"
        f"{prefix}Squared correlation coefficient = {found['squared_correlation']:.6g} "
        f"(regression)\n"
        f"{prefix}RMSE = {found['rmse']:.6g}, MAE = {found['mae']:.6g}, R² = {found['r2']:.6g}"
    )


def _confusion_lines(found: dict[str, Any]) -> list[str]:
    """Rows of true classes, columns of predicted ones; of many classes the lowest recalls alone."""
    labels, recall = [str(label) for label in found["labels"]], found["recall"]
    if len(labels) > SETTINGS.shown_classes:
        worst = sorted(recall, key=recall.__getitem__)[: SETTINGS.shown_classes]
        return ["lowest recalls: " + ", ".join(f"{label} {recall[label]:.3f}" for label in worst)]
    width = max(len("true class"), *map(len, labels))
    sizes = [max(len(label), 6) for label in labels]
    names = "  ".join(f"{label:>{size}}" for label, size in zip(labels, sizes, strict=True))
    lines = [f"{'true class':<{width}}  {names}  recall"]
    for label, counts in zip(labels, found["confusion"], strict=True):
        if label in recall:
            cells = "  ".join(f"{k:>{size},}" for k, size in zip(counts, sizes, strict=True))
            lines.append(f"{label:<{width}}  {cells}  {recall[label]:6.3f}")
    return lines


def is_scored(fitted: Any, y: np.ndarray) -> bool:
    """A one-class SVM predicts ±1; other targets cannot be compared with that."""
    return not is_outlier_detector(fitted) or set(y.tolist()) <= {-1, 1}


def hold_out(model: Any, data: Table, seconds: float, reporter: Reporter) -> None:
    """Score a fit of most rows on the others, beside the best constant."""
    n, y, task = data.X.shape[0], data.y, data.schema.task
    if y is None or not is_scored(model, y):
        return
    rows = np.random.default_rng(0).permutation(n)[: SETTINGS.max_rows]
    parts = held_out_rows(y, task, rows, int(SETTINGS.held_out * rows.size))
    if parts is None:
        is_small = rows.size < SETTINGS.min_rows
        why = f"{count(n, 'rows')} are too few" if is_small else "one class has too few rows"
        reporter.write(table({"held out": f"not scored: {why}"}))
        return
    rest, held = parts
    X_rest, X_held = data.X[rest], data.X[held]
    if getattr(model, "kernel", "") == "precomputed":  # kernel values between rows
        X_rest, X_held = X_rest[:, rest], X_held[:, rest]
    other = _with_scaling(clone(model), data.schema)
    # The limit of the first fit, if it has one: what is scored is a model that was stopped as well.
    limit = {
        name: max(seconds, 1.0) if given is None else given
        for name, given in other.get_params().items()
        if name.endswith("time_limit")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            predicted = other.set_params(**limit).fit(X_rest, y[rest]).predict(X_held)
        except (ValueError, KeyboardInterrupt) as error:  # such as ν infeasible for fewer rows
            why = str(error).partition(";")[0] or "stopped by Ctrl-C"
            reporter.write(table({"held out": f"not scored: {why}"}))
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
    text = describe_scores(numbers, len(predicted), "Cross Validation ")
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
