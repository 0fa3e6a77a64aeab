"""How the columns of a file become the rows of a model: learned from a file, applied to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._columns import Raw, Words
from mercer.data._dates import PARTS, part_names, split_days, to_days
from mercer.exceptions import FileError

__all__ = [
    "SAMPLES",
    "Column",
    "PartialTarget",
    "Schema",
    "apply",
    "as_labels",
    "assemble",
    "known_target",
    "left_out_note",
    "width",
]

# What the samples of a file are: rows of numbers (or texts), and those of kernels on structures.
SAMPLES = (None, "table", "series", "sets")


@dataclass(frozen=True)
class Column:
    """A column of a file.

    Attributes
    ----------
    name : str
    categories : tuple of str, optional
        Of a column of words: each becomes a feature of zeros and ones. None: numbers.
    fill : float or str, optional
        What stands for a missing value (of a date: its days); None: missing values are refused.
    parts : tuple of {"day", "season", "hour"}, optional
        Of a column of dates: days since 1970-01-01; sine and cosine of the day of the year; of the
        time of day.
    order : {"ymd", "dmy", "mdy", "time"}, optional
        In which dates are written; "time": times of day without a date.
    """

    name: str
    categories: tuple[str, ...] | None = None
    fill: float | str | None = None
    parts: tuple[str, ...] | None = None
    order: str | None = None

    @property
    def feature_names(self) -> list[str]:
        """Of the columns of X that it becomes."""
        if self.parts is not None:
            return [f"{self.name}: {part}" for part in part_names(self.parts)]
        if self.categories is None:
            return [self.name]
        return [f"{self.name}={category}" for category in self.categories]

    @property
    def is_valid(self) -> bool:
        """Whether its fields are of their types."""
        return (
            isinstance(self.name, str)
            and (self.categories is None or _are_texts(self.categories))
            and isinstance(self.fill, (str, float, int, np.number, type(None)))
            and (self.parts is None or (_are_texts(self.parts) and set(self.parts) <= set(PARTS)))
            and self.order in (None, "ymd", "dmy", "mdy", "time")
        )


@dataclass(frozen=True, eq=False)
class Schema:
    """How new data are brought into the form that a model was trained on.

    Made by `read_table`, kept in the model's file by `mercer.save`, and applied to other files by
    ``read_table(…, schema=schema)``.

    Attributes
    ----------
    columns : tuple of Column, optional
        The columns of the file without the target; None where they have no names (svmlight,
        arrays).
    n_features : int
        Columns of X.
    sparse : bool
        Whether X is CSR.
    target : str, optional
        The name of the target's column.
    task : {"classification", "regression"}, optional
        What the target is; None without target.
    labels : tuple, optional
        The classes, sorted; None for regression.
    zero_based : bool
        Whether indices of svmlight files begin with 0.
    scaling : {"standard", "minmax", "maxabs"}, optional
    shift, factor : float64 array of shape (n_features,), optional
        Of the scaling: rows are (X − shift) · factor; no shift for sparse rows.
    decimal : {".", ","}
        In numbers of text files.
    na : tuple of str
        Words that stand for missing values besides the usual ones.
    text : str, optional
        The column whose texts are the samples, of a kernel on sequences or sets.
    samples : {"table", "series", "sets"}, optional
        What a kernel on structures compares: rows with words, numbers and missing values as they
        are; rows of numbers in time, which end where only missing values follow; the words of
        ``text``. None: rows of numbers, or texts.
    held_out : int64 array, optional
        Rows of the training file (of those that have a target) that the model was not fitted to,
        ascending.

    Examples
    --------
    >>> schema = Schema((Column("age"), Column("colour", ("blue", "red"))), n_features=3)
    >>> schema.feature_names
    ['age', 'colour=blue', 'colour=red']
    """

    columns: tuple[Column, ...] | None
    n_features: int
    sparse: bool = False
    target: str | None = None
    task: str | None = None
    labels: tuple[Any, ...] | None = None
    zero_based: bool = False
    scaling: str | None = None
    shift: np.ndarray | None = None
    factor: np.ndarray | None = None
    decimal: str = "."
    na: tuple[str, ...] = ()
    text: str | None = None
    samples: str | None = None
    held_out: np.ndarray | None = None

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of X, such as ``colour=red``; None where columns have no names."""
        if self.columns is None:
            return None
        if self.samples is not None:
            return [column.name for column in self.columns]
        return [name for column in self.columns for name in column.feature_names]

    @property
    def is_kernel_matrix(self) -> bool:
        """Whether svmlight lines are LIBSVM's of a precomputed kernel: 0:i 1:k(x, x₁) …

        Others begin with 1, or are sparse rows.
        """
        return self.zero_based and not self.sparse and self.columns is None

    def check(self, n_features: int) -> None:
        """Raise a ValueError if it does not make rows of ``n_features`` columns."""
        n, columns = self.n_features, self.columns
        if type(n) is not int or n < 0 or n != n_features:
            raise ValueError(f"the schema has {n!r} columns, but the model takes others")
        if columns is not None:
            fits = isinstance(columns, tuple) and all(
                isinstance(c, Column) and c.is_valid for c in columns
            )
            if not fits or len(self.feature_names or ()) != n:
                raise ValueError("the columns of the schema do not fit the model")
        for part in (self.shift, self.factor):
            if part is not None and not (
                isinstance(part, np.ndarray)
                and part.dtype == np.float64
                and part.shape == (n,)
                and np.isfinite(part).all()
            ):
                raise ValueError("the scaling of the schema does not fit the model")
        if self.shift is not None and (self.sparse or self.factor is None):
            raise ValueError("the scaling of the schema contradicts itself")
        held = self.held_out
        if held is not None and not (
            isinstance(held, np.ndarray)
            and held.dtype == np.int64
            and held.ndim == 1
            and (np.diff(held, prepend=-1) > 0).all()
        ):
            raise ValueError("the held-out rows of the schema are not ascending numbers")
        for name, kind in (
            ("sparse", bool),
            ("zero_based", bool),
            ("target", (str, type(None))),
            ("text", (str, type(None))),
            ("scaling", (str, type(None))),
            ("labels", (tuple, type(None))),
        ):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} of the schema cannot be {getattr(self, name)!r}")
        if self.task not in (None, "classification", "regression"):
            raise ValueError(f"the schema has the task {self.task!r}")
        if self.samples not in SAMPLES:
            raise ValueError(f"the schema has the samples {self.samples!r}")
        if self.decimal not in (".", ",") or not _are_texts(self.na):
            raise ValueError("the notation of numbers of the schema is unknown")

    def scale(self, X: Any) -> Any:
        """The rows scaled as those of the training were; the array given may be changed."""
        if self.factor is None:
            return X
        if sp.issparse(X):
            X.data *= self.factor.astype(X.dtype)[X.indices]
            return X
        if self.shift is not None:
            X -= self.shift.astype(X.dtype)
        X *= self.factor.astype(X.dtype)
        return X

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON values, to be shown."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.columns is not None:
            values["columns"] = [asdict(column) for column in self.columns]
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in values.items()
        }


def _are_texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) for value in values)


def apply(
    name: str, raw: Raw, schema: Schema, may_be_wider: bool = False
) -> tuple[Any, Any, list[str]]:
    """X and y as the schema's model takes them, and what is worth telling."""
    X, notes = assemble(name, raw, schema)
    if schema.sparse != sp.issparse(X):
        X = sp.csr_matrix(X) if schema.sparse else X.toarray()
    is_wider = may_be_wider and X.shape[1] > schema.n_features and schema.scaling is None
    if X.shape[1] != schema.n_features and not is_wider:
        what = f"has {X.shape[1]} features, but the model was trained on {schema.n_features}."
        raise FileError(name, None, what)
    return schema.scale(X), known_target(raw.y, schema), notes


@dataclass(frozen=True, eq=False)
class PartialTarget:
    """The targets of some rows: the numbers of these rows, and their targets."""

    rows: np.ndarray
    values: np.ndarray


def known_target(y: Any, schema: Schema) -> np.ndarray | PartialTarget | None:
    """The target of new data; None where no row has one."""
    if y is None:
        return None
    is_words = isinstance(y, Words)
    rows = np.flatnonzero(y.codes >= 0 if is_words else ~np.isnan(y))
    if rows.size == 0:
        return None
    values = np.array(y.words)[y.codes[rows]] if is_words else y[rows]
    if not is_words and schema.task == "classification":
        values = as_labels(values)
    n = len(y.codes) if is_words else len(y)
    return values if rows.size == n else PartialTarget(rows, values)


def left_out_note(count: int) -> str:
    """What is told about rows without a target."""
    what = "1 row without a target is" if count == 1 else f"{count:,} rows without a target are"
    return f"{what} left out"


def as_labels(y: np.ndarray) -> np.ndarray:
    """Numbers as labels: integers where they are."""
    whole = y.astype(np.int64) if np.abs(y).max(initial=0) < 2**53 else y
    return whole if (whole == y).all() else y


def assemble(name: str, raw: Raw, schema: Schema) -> tuple[Any, list[str]]:
    """The columns side by side, words as zeros and ones, missing values filled."""
    columns = schema.columns
    if columns is None or raw.names is None:
        for column in columns or ():
            kind = "categories" if column.categories else "dates"
            if column.categories or column.parts:
                what = (
                    f"holds numbers alone, but the model was trained with the {kind} of "
                    f"{column.name!r}; give a file with names, such as CSV."
                )
                raise FileError(name, None, what)
        return raw.X, []
    _fill(raw.X, [column for k, column in enumerate(columns) if k not in raw.words])
    if not raw.words:
        return raw.X, []
    X, notes = np.zeros((len(raw.X), sum(width(c) for c in columns)), raw.X.dtype), []
    place = at = 0
    for k, column in enumerate(columns):
        if k in raw.words:
            turn = _one_hot if column.parts is None else _date_parts
            notes += turn(raw.words[k], column, X[:, at : at + width(column)])
        else:
            X[:, at] = raw.X[:, place]
            place += 1
        at += width(column)
    return X, notes


def _fill(X: Any, columns: Sequence[Column]) -> None:
    for j, column in enumerate(columns):
        if column.fill is not None:
            values = X[:, j]
            values[np.isnan(values)] = column.fill


def _one_hot(words: Words, column: Column, out: np.ndarray) -> list[str]:
    """Ones in the columns of the categories; words that are none of them have none."""
    assert column.categories is not None
    numbers = {word: i for i, word in enumerate(column.categories)}
    filled = -1 if column.fill is None else numbers[str(column.fill)]
    of_code = np.array([*(numbers.get(word, -2) for word in words.words), filled])
    codes = of_code[words.codes]  # −1, missing, is the last
    rows = np.flatnonzero(codes >= 0)
    out[rows, codes[rows]] = 1.0
    unknown = [word for word in words.words if word not in numbers]
    if not unknown:
        return []
    count = int((codes == -2).sum())
    shown = ", ".join(map(repr, unknown[:3])) + (", …" if len(unknown) > 3 else "")
    have = "1 row has" if count == 1 else f"{count:,} rows have"
    return [
        f"column {column.name!r}: {have} categories that the model has not seen "
        f"({shown}); they count as none of the known ones"
    ]


def _date_parts(words: Words, column: Column, out: np.ndarray) -> list[str]:
    """The parts of dates; words that are none count as missing."""
    assert column.parts is not None
    days = to_days(words.words, str(column.order))
    wrong = [word for word, day in zip(words.words, days, strict=True) if np.isnan(day)]
    fill = np.nan if column.fill is None else float(column.fill)
    if wrong and column.fill is None:
        raise ValueError(f"column {column.name!r} holds dates, but also {wrong[0]!r}; correct it")
    days = np.where(np.isnan(days), fill, days)
    out[:] = split_days(np.append(days, fill), column.parts)[
        words.codes
    ]  # −1, missing, is the last
    return [no_dates_note(column.name, wrong)] if wrong else []


def no_dates_note(name: str, wrong: Sequence[str]) -> str:
    """What is told about words in a column of dates."""
    shown = ", ".join(map(repr, wrong[:3])) + (", …" if len(wrong) > 3 else "")
    what = "is no date, and counts" if len(wrong) == 1 else "are no dates, and count"
    return f"column {name!r}: {shown} {what} as missing"


def width(column: Column) -> int:
    return len(column.feature_names)
