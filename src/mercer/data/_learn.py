"""The `Schema` of a file that a model is trained on: what its columns hold, and their scales."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._precision import TINY
from mercer.data._columns import Options, Raw, Words
from mercer.data._dates import find_order, to_days
from mercer.data._schema import Column, Schema, as_labels, assemble, left_out_note, width
from mercer.exceptions import FileError

__all__ = ["count_missing", "find_id_columns", "learn", "learn_target", "leave_out_untargeted"]


@dataclass(frozen=True)
class GuessSettings:
    """When words are categories, and integers are classes.

    Attributes
    ----------
    categories, few_categories : int
        A column with more different words than ``categories``, or than both ``few_categories`` and
        a quarter of the rows, holds names rather than categories.
    numbers : int
        A column with more different words, all of them numbers with signs or units, is no column of
        categories.
    few_classes, classes, rows_per_class : int
        Different integers of a target are classes if there are at most ``few_classes``, or at most
        ``classes`` with ``rows_per_class`` rows each, and if each occurs twice on average.
    """

    categories: int = 1000
    few_categories: int = 50
    numbers: int = 20
    few_classes: int = 20
    classes: int = 1000
    rows_per_class: int = 50


GUESS = GuessSettings()
# A number with a sign or a unit: 45%, $1,200, 3.5 kg.
_WITH_SIGNS = re.compile(r"[^\w\s]?\s?[+-]?\d[\d.,' ]*\s?([^\w\s]|[^\W\d]{1,3})?")


@dataclass(frozen=True)
class IdSettings:
    """When a column names the rows rather than describes them.

    Attributes
    ----------
    rows : int
        A column of at least this length that rises by one from row to row counts them.
    index, name : pattern
        Names of the index columns of other programs, and of columns of identifiers.
    distinct : float
        Ratio of different values to rows from which on a column called an id is one.
    """

    rows: int = 20
    index: re.Pattern[str] = re.compile(r"Unnamed: \d+|column_0|rownames|index", re.IGNORECASE)
    name: re.Pattern[str] = re.compile(r"(^|[_ .-])(id|ID|Id|uuid|key)$|[a-z]I[dD]$")
    distinct: float = 0.9


IDS = IdSettings()


def learn(name: str, raw: Raw, options: Options) -> tuple[Any, Any, Schema, list[str]]:
    """X, y, the schema that the file itself gives, and what is worth telling."""
    notes = leave_out_untargeted(raw)
    columns = None if raw.names is None else _learn_columns(name, raw, options, notes)
    y, task = learn_target(name, raw, options.task)
    schema = Schema(
        columns,
        n_features=raw.X.shape[1] if columns is None else sum(width(c) for c in columns),
        sparse=sp.issparse(raw.X),
        target=raw.target,
        task=task,
        labels=tuple(np.unique(y).tolist()) if task == "classification" else None,
        zero_based=raw.zero_based,
        decimal=options.decimal or ".",
        na=options.na,
    )
    X, _ = assemble(name, raw, schema)
    scale = options.scale
    if scale == "auto":
        scale = None if schema.sparse else "standard"
    if scale is not None:
        schema = replace(schema, **_learn_scaling(name, X, scale))
    return schema.scale(X), y, schema, notes


def leave_out_untargeted(raw: Raw) -> list[str]:
    """Remove the rows without a target, which a reader has let pass."""
    if raw.y is None:
        return []
    has_words = isinstance(raw.y, Words)
    kept = raw.y.codes >= 0 if has_words else ~np.isnan(raw.y)
    if kept.all():
        return []
    raw.X = raw.X[kept]
    for words in [*raw.words.values(), *([raw.y] if has_words else [])]:
        words.take(kept)
    raw.y = raw.y if has_words else raw.y[kept]
    return [left_out_note(int(np.count_nonzero(~kept)))]


def _learn_columns(name: str, raw: Raw, options: Options, notes: list[str]) -> tuple[Column, ...]:
    assert raw.names is not None
    columns, place = [], 0
    for k, column in enumerate(raw.names):
        if k in raw.words:
            words = raw.words[k]
            order, is_certain = find_order(words.words)
            if order and column not in raw.categorical:
                columns.append(_learn_dates(column, words, order, options.missing))
                if not is_certain:
                    read = {"dmy": "day/month", "mdy": "month/day"}[order]
                    notes.append(f"column {column!r}: {words.words[0]!r} is read as {read}")
            else:
                is_given = column in raw.categorical
                columns.append(_learn_words(name, column, words, options.missing, is_given))
            continue
        fill = None
        if options.missing is not None:
            fill = _learn_fill(name, column, raw.X[:, place], options.missing)
        columns.append(Column(column, None, fill))
        place += 1
    return tuple(columns)


def _learn_dates(column: str, words: Words, order: str, missing: str | None) -> Column:
    days = to_days(words.words, order)
    parts: tuple[str, ...] = () if order == "time" else ("day",)
    if order != "time" and np.unique(np.floor(days)).size > 1:
        parts += ("season",)
    if order == "time" or np.unique(days % 1).size > 1:
        parts += ("hour",)
    fill = None
    if missing is not None:
        counts = np.bincount(words.codes[words.codes >= 0], minlength=days.size)
        present = np.repeat(days, counts)
        fill = float(np.mean(present) if missing == "mean" else np.median(present))
    return Column(column, None, fill, parts, order)


def _learn_words(
    name: str, column: str, words: Words, missing: str | None, is_given: bool
) -> Column:
    """A column of categories, ``is_given`` as such or taken for one."""
    n, count = len(words.codes), len(words.words)
    are_numbers = all(_WITH_SIGNS.fullmatch(word) for word in words.words)
    too_many = count > GUESS.categories or count > max(GUESS.few_categories, n / 4)
    if too_many or (are_numbers and count > GUESS.numbers and not is_given):
        what = (
            f"column {column!r} has {count} different words in {n} rows (such as "
            f"{words.words[0]!r}), too many for categories; leave it out with drop=[{column!r}]"
        )
        if sum(" " in word for word in words.words) > count / 2:
            what += f", or learn from its texts: text={column!r} with kernel='spectrum'"
        if are_numbers:
            what = (
                f"column {column!r} holds numbers with signs or units (such as "
                f"{words.words[0]!r}), to be written without signs and units; else "
                f"leave it out with drop=[{column!r}]"
            )
            what += "" if too_many else f", or give categorical=[{column!r}]"
        raise FileError(name, None, f"{what}.", drop=column)
    if count == 0:
        what = f"column {column!r} has no values; leave it out with drop=[{column!r}]."
        raise FileError(name, None, what, drop=column)
    fill = None
    if missing is not None:
        counts = np.bincount(words.codes[words.codes >= 0], minlength=count)
        fill = min(word for word, c in zip(words.words, counts, strict=True) if c == counts.max())
    return Column(column, tuple(sorted(words.words)), fill)


def _learn_fill(name: str, column: str, values: np.ndarray, how: str) -> float:
    if how == "zero":
        return 0.0
    present = values[~np.isnan(values)]
    if present.size == 0:
        what = f"column {column!r} has no values; leave it out with drop=[{column!r}]."
        raise FileError(name, None, what, drop=column)
    return float(np.median(present) if how == "median" else present.mean())


def learn_target(name: str, raw: Raw, task: str | None) -> tuple[Any, str | None]:
    """Labels, or float64 targets, and which of them."""
    y = raw.y
    if y is None:
        return None, None
    if isinstance(y, Words):
        if task == "regression":
            what = (
                f"the target holds words such as {y.words[0]!r}, which cannot be "
                "the numbers of a regression."
            )
            raise FileError(name, None, what)
        count, n = len(y.words), len(y.codes)
        if count > max(GUESS.few_classes, n / 2):
            what = (
                f"the target {raw.target!r} has {count} different words in {n} rows (such as "
                f"{y.words[0]!r}), too many for classes; give another target= column"
            )
            if all(_WITH_SIGNS.fullmatch(word) for word in y.words):
                what += ", or write its numbers without signs and units"
            what += "."
            raise FileError(name, None, what)
        return np.array(y.words)[y.codes], "classification"
    if task is None:
        task = "classification" if _is_few_integers(y) else "regression"
    return (as_labels(y) if task == "classification" else y), task


def _is_few_integers(y: np.ndarray) -> bool:
    if not (y == np.rint(y)).all():
        return False
    count, n = np.unique(y).size, y.size
    few = min(max(GUESS.few_classes, n / GUESS.rows_per_class), GUESS.classes, n / 2)
    return count <= max(2, few)


def _learn_scaling(name: str, X: Any, how: str) -> dict[str, Any]:
    if how == "maxabs":
        size = abs(X).max(axis=0)
        size = size.toarray().ravel() if sp.issparse(size) else size
        return {"scaling": how, "factor": _inverse(np.asarray(size, dtype=np.float64))}
    if sp.issparse(X):
        raise FileError(
            name, None, f"scale={how!r} would fill the zeros of sparse rows; use scale='maxabs'."
        )
    if how == "standard":
        shift, size = _mean_and_deviation(X)
    else:
        shift = X.min(axis=0).astype(np.float64)
        with np.errstate(over="ignore"):
            size = X.max(axis=0).astype(np.float64) - shift
    if not np.isfinite(size).all():
        column = int(np.argmin(np.isfinite(size)))
        what = f"column {column} of the features has a range beyond float64; divide it by a number."
        raise FileError(name, None, what)
    return {"scaling": how, "shift": shift, "factor": _inverse(size)}


def _mean_and_deviation(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each column in float64, also where sums or squares would overflow or vanish."""
    exponent = np.frexp(np.abs(X).max(axis=0))[1]
    limit = np.finfo(np.float64).maxexp // 4
    power = np.where(np.abs(exponent) > limit, exponent, 0)
    if power.any():
        X = np.ldexp(X, -power)
    mean, deviation = (np.asarray(f(X, axis=0, dtype=np.float64)) for f in (np.mean, np.std))
    return np.ldexp(mean, power), np.ldexp(deviation, power)


def _inverse(size: np.ndarray) -> np.ndarray:
    """1 / size; constant columns stay as they are."""
    smallest = TINY  # of which the inverse is finite
    return np.divide(1.0, size, out=np.ones_like(size), where=size >= smallest)


def count_missing(raw: Raw) -> dict[str, int]:
    """Missing values of the features, by column."""
    counts = {}
    numbers = iter([] if raw.names is None else np.isnan(raw.X).sum(axis=0))
    for k, name in enumerate(raw.names or ()):
        counts[name] = int((raw.words[k].codes < 0).sum() if k in raw.words else next(numbers))
    return {name: count for name, count in counts.items() if count}


def find_id_columns(raw: Raw) -> tuple[str, ...]:
    """Columns of numbers that count the rows, or are called an id and differ in most rows."""
    found, place = [], 0
    for k, name in enumerate(raw.names or ()):
        if k in raw.words:
            continue
        values = raw.X[:, place]
        place += 1
        with np.errstate(over="ignore"):
            steps = np.diff(values)
        counts = values.size >= IDS.rows and (steps == 1).all()
        is_index = IDS.index.fullmatch(name) is not None and (steps == 1).all()
        distinct = IDS.name.search(name) and np.unique(values).size >= IDS.distinct * values.size
        if counts or is_index or (distinct and (values == np.rint(values)).all()):
            found.append(name)
    return tuple(found)
