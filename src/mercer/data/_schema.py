"""How the columns of a file become the rows of a model: learned from a file, applied to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.data._columns import Options, Raw, Words
from mercer.exceptions import FileError

__all__ = ["Column", "Schema", "apply", "learn"]


@dataclass(frozen=True)
class Column:
    """A column of a file.

    Attributes
    ----------
    name : str
    categories : tuple of str, optional
        Of a column of words: each becomes a feature of zeros and ones. None: numbers.
    fill : float or str, optional
        What stands for a missing value; None: missing values are refused.
    """

    name: str
    categories: tuple[str, ...] | None = None
    fill: float | str | None = None


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

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of X, such as ``colour=red``; None where columns have no names."""
        if self.columns is None:
            return None
        return [
            name
            for column in self.columns
            for name in (
                [column.name]
                if column.categories is None
                else [f"{column.name}={category}" for category in column.categories]
            )
        ]

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
                isinstance(c, Column)
                and isinstance(c.name, str)
                and (c.categories is None or _are_texts(c.categories))
                and isinstance(c.fill, (str, float, int, np.number, type(None)))
                for c in columns
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
        for name, kind in (
            ("sparse", bool),
            ("zero_based", bool),
            ("target", (str, type(None))),
            ("scaling", (str, type(None))),
            ("labels", (tuple, type(None))),
        ):
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} of the schema cannot be {getattr(self, name)!r}")
        if self.task not in (None, "classification", "regression"):
            raise ValueError(f"the schema has the task {self.task!r}")

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
        return {
            "columns": None
            if self.columns is None
            else [
                {"name": c.name, "categories": c.categories and list(c.categories), "fill": c.fill}
                for c in self.columns
            ],
            "n_features": self.n_features,
            "sparse": self.sparse,
            "target": self.target,
            "task": self.task,
            "labels": self.labels and list(self.labels),
            "zero_based": self.zero_based,
            "scaling": self.scaling,
            "shift": None if self.shift is None else self.shift.tolist(),
            "factor": None if self.factor is None else self.factor.tolist(),
        }


@dataclass(frozen=True)
class GuessSettings:
    """When words are categories, and integers are classes.

    Attributes
    ----------
    categories, few_categories : int
        A column with more different words than ``categories``, or than both ``few_categories`` and
        a quarter of the rows, holds names rather than categories.
    few_classes, classes, rows_per_class : int
        Different integers of a target are classes if there are at most ``few_classes``, or at most
        ``classes`` with ``rows_per_class`` rows each, and if each occurs twice on average.
    """

    categories: int = 1000
    few_categories: int = 50
    few_classes: int = 20
    classes: int = 1000
    rows_per_class: int = 50


GUESS = GuessSettings()


def _are_texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) for value in values)


def learn(name: str, raw: Raw, options: Options) -> tuple[Any, Any, Schema]:
    """X, y and the schema that the file itself gives."""
    columns = None if raw.names is None else _learn_columns(name, raw, options)
    y, task = _learn_target(name, raw.y, options.task)
    schema = Schema(
        columns,
        n_features=raw.X.shape[1] if columns is None else sum(_width(c) for c in columns),
        sparse=sp.issparse(raw.X),
        target=raw.target,
        task=task,
        labels=tuple(np.unique(y).tolist()) if task == "classification" else None,
        zero_based=raw.zero_based,
    )
    X, _ = _assemble(name, raw, schema)
    scale = options.scale
    if scale == "auto":
        scale = None if schema.sparse else "standard"
    if scale is not None:
        schema = replace(schema, **_learn_scaling(name, X, scale))
    return schema.scale(X), y, schema


def apply(
    name: str, raw: Raw, schema: Schema, may_be_wider: bool = False
) -> tuple[Any, Any, list[str]]:
    """X and y as the schema's model takes them, and what is worth telling."""
    X, notes = _assemble(name, raw, schema)
    if schema.sparse != sp.issparse(X):
        X = sp.csr_matrix(X) if schema.sparse else X.toarray()
    is_wider = may_be_wider and X.shape[1] > schema.n_features and schema.scaling is None
    if X.shape[1] != schema.n_features and not is_wider:
        raise FileError(
            name,
            None,
            f"has {X.shape[1]} features, but the model was trained on {schema.n_features}.",
        )
    y = raw.y
    if isinstance(y, Words):
        y = None if -1 in y.codes else np.array(y.words)[y.codes]
    elif y is not None and np.isnan(y).any():
        y = None
    elif y is not None and schema.task == "classification":
        y = _labels(y)
    return schema.scale(X), y, notes


def _learn_columns(name: str, raw: Raw, options: Options) -> tuple[Column, ...]:
    assert raw.names is not None
    columns, place = [], 0
    for k, column in enumerate(raw.names):
        if k in raw.words:
            columns.append(_learn_words(name, column, raw.words[k], options.missing))
            continue
        fill = None
        if options.missing is not None:
            fill = _learn_fill(name, column, raw.X[:, place], options.missing)
        columns.append(Column(column, None, fill))
        place += 1
    return tuple(columns)


def _learn_words(name: str, column: str, words: Words, missing: str | None) -> Column:
    n, count = len(words.codes), len(words.words)
    if count > GUESS.categories or count > max(GUESS.few_categories, n / 4):
        raise FileError(
            name,
            None,
            f"column {column!r} has {count} different words in {n} rows, too many for "
            f"categories; leave it out with drop=[{column!r}].",
        )
    if count == 0:
        raise FileError(name, None, f"column {column!r} has no values; drop it.")
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
        raise FileError(name, None, f"column {column!r} has no values; leave it out with drop=.")
    return float(np.median(present) if how == "median" else present.mean())


def _learn_target(name: str, y: Any, task: str | None) -> tuple[Any, str | None]:
    """Labels, or float64 targets, and which of them."""
    if y is None:
        return None, None
    if isinstance(y, Words):
        if task == "regression":
            raise FileError(
                name,
                None,
                f"the target holds words such as {y.words[0]!r}, which cannot be "
                "the numbers of a regression.",
            )
        return np.array(y.words)[y.codes], "classification"
    if task is None:
        task = "classification" if _is_few_integers(y) else "regression"
    return (_labels(y) if task == "classification" else y), task


def _is_few_integers(y: np.ndarray) -> bool:
    if not (y == np.rint(y)).all():
        return False
    count, n = np.unique(y).size, y.size
    few = min(max(GUESS.few_classes, n / GUESS.rows_per_class), GUESS.classes, n / 2)
    return count <= max(2, few)


def _labels(y: np.ndarray) -> np.ndarray:
    """Numbers as labels: integers where they are."""
    whole = y.astype(np.int64) if np.abs(y).max(initial=0) < 2**53 else y
    return whole if (whole == y).all() else y


def _assemble(name: str, raw: Raw, schema: Schema) -> tuple[Any, list[str]]:
    """The columns side by side, words as zeros and ones, missing values filled."""
    columns = schema.columns
    if columns is None or raw.names is None:
        if columns is not None and any(c.categories for c in columns):
            words = [c.name for c in columns if c.categories]
            raise FileError(
                name,
                None,
                f"holds numbers alone, but the model was trained with the categories "
                f"of {', '.join(map(repr, words))}; give a file with names, such as CSV.",
            )
        return raw.X, []
    _fill(raw.X, [column for k, column in enumerate(columns) if k not in raw.words])
    if not raw.words:
        return raw.X, []
    X, notes = np.zeros((len(raw.X), sum(_width(c) for c in columns)), raw.X.dtype), []
    place = at = 0
    for k, column in enumerate(columns):
        if k in raw.words:
            notes += _one_hot(raw.words[k], column, X[:, at : at + _width(column)])
        else:
            X[:, at] = raw.X[:, place]
            place += 1
        at += _width(column)
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
    return [
        f"column {column.name!r}: {count} rows have categories that the model has not seen "
        f"({shown}); they count as none of the known ones"
    ]


def _width(column: Column) -> int:
    return 1 if column.categories is None else len(column.categories)


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
        shift, size = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    else:
        shift = X.min(axis=0).astype(np.float64)
        size = X.max(axis=0).astype(np.float64) - shift
    return {"scaling": how, "shift": shift, "factor": _inverse(size)}


def _inverse(size: np.ndarray) -> np.ndarray:
    """1 / size; constant columns stay as they are."""
    return np.divide(1.0, size, out=np.ones_like(size), where=size > 0)
