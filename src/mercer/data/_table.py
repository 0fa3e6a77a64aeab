"""`read_table`: rows and targets out of a file, whatever its format and compression."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.data._arrays import read_npy, read_npz
from mercer.data._columns import Options, Raw
from mercer.data._csv import read_cells, read_csv
from mercer.data._files import Source, as_file_errors, open_source
from mercer.data._learn import count_missing, find_id_columns, learn
from mercer.data._parquet import pyarrow_parquet, read_parquet
from mercer.data._roles import find_column
from mercer.data._samples import read_samples, read_texts
from mercer.data._schema import SAMPLES, PartialTarget, Schema, apply, left_out_note
from mercer.data._svmlight import SvmlightReader
from mercer.exceptions import FileError

__all__ = ["FORMATS", "Table", "read_columns", "read_table"]

TASKS = ("classification", "regression")
SCALINGS = ("standard", "minmax", "maxabs", "auto")
FILLS = ("median", "mean", "zero")
# There is one way to match a text: with two for each number, lines could take 2ⁿ steps.
_NUMBER = rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_SVMLIGHT = re.compile(rb"\s*%b(\s+(qid:\S+|\d+:%b)(?=\s|$))+\s*(#.*)?" % (_NUMBER, _NUMBER))
# How files that are not data begin, and what to say of them.
_OTHERS = {
    b"{": "looks like JSON, which is not read; write the table as CSV",
    b"[": "looks like JSON, which is not read; write the table as CSV",
    b"<": "looks like a web page or XML, which is not read; write the table as CSV",
    b"@relation": "is an ARFF file, which is not read; write the table as CSV",
    b"\x80": "looks like a pickle, which is never loaded; write the table as CSV or Parquet",
    b"%PDF": "is a PDF file; write the table as CSV",
    b"\x89HDF": "is an HDF5 file, which is not read; write the table as Parquet or .npz",
    b"ARROW1": "is an Arrow (Feather) file, which is not read; write the table as Parquet",
    b"\xff\xfe": "is UTF-16 text; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "is UTF-16 text; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook, which is not read; write the sheet as CSV",
}


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file.

    Attributes
    ----------
    X : float64 or float32 array, or CSR, of shape (n, schema.n_features)
        Of texts, series and sets: an array of objects of shape (n,); of ``samples="table"``: the
        columns, of which slices and arrays of row numbers take rows.
    y : array of shape (n,), or None
        Classification: labels (texts or integers); regression: float64. None where rows read by the
        schema of a model lack their target; `with_target` has the others.
    schema : Schema
    name : str
        Where it comes from: the path, or ``"-"``.
    format : str
        ``"svmlight"``, ``"csv"``, ``"parquet"``, ``"npy"`` or ``"npz"``.
    notes : tuple of str
        What the reader should know, such as categories that the model has not seen.
    n_missing : dict of str to int
        Missing values that were filled in, by column.
    id_columns : tuple of str
        Columns that number or name the rows, and tell nothing about new ones.
    """

    X: Any
    y: np.ndarray | None
    schema: Schema
    name: str
    format: str
    notes: tuple[str, ...] = ()
    n_missing: Mapping[str, int] = field(default_factory=dict)
    id_columns: tuple[str, ...] = ()
    _partial: PartialTarget | None = None

    @property
    def rows_with_target(self) -> np.ndarray | slice:
        """The rows that have a target, as an index; without any, all."""
        return slice(None) if self._partial is None else self._partial.rows

    def with_target(self) -> Table:
        """The rows that have a target, as a fit on the file uses them; itself if all or none have.

        A note tells how many are left out.
        """
        known = self._partial
        if known is None:
            return self
        notes = (*self.notes, left_out_note(self.X.shape[0] - known.rows.size))
        return replace(self, X=self.X[known.rows], y=known.values, notes=notes, _partial=None)

    def as_fitted(self) -> Table:
        """The rows that the model of the schema was fitted to, if this is its training file.

        They have a target, and were not held out; notes tell how many are left out.
        """
        table, held = self.with_target(), self.schema.held_out
        n = table.X.shape[0]
        if held is None or table.y is None or held.size == 0 or held[-1] >= n:
            return table
        rows = np.delete(np.arange(n), held)
        note = (
            f"the model was fitted to {rows.size:,} of {n:,} rows; the {held.size:,} that the "
            "search held out are left out"
        )
        return replace(table, X=table.X[rows], y=table.y[rows], notes=(*table.notes, note))


def read_table(
    source: str | os.PathLike,
    *,
    target: str | int | bool | None = None,
    schema: Schema | None = None,
    format: str | None = None,
    task: str | None = None,
    scale: str | None = None,
    missing: str | None = None,
    header: bool | None = None,
    categorical: str | int | Sequence[str | int] = (),
    drop: str | int | Sequence[str | int] = (),
    decimal: str | None = None,
    na: str | Sequence[str] = (),
    may_be_wider: bool = False,
    text: str | int | bool | None = None,
    samples: str | None = None,
) -> Table:
    """Read rows and targets; format and compression are recognised by the content.

    Parameters
    ----------
    source : path or "-"
        A file, also compressed (gzip, bzip2, xz, zstd), or standard input.
    target : str, int or False, optional
        The target's column by name or number (from 0; −1 is the last). False: there is none. By
        default the column named target, label, class, y or outcome; without one, the error lists
        the columns. Lines of svmlight files begin with it; in ``.npz`` files it is the array ``y``.
    schema : Schema, optional
        Of a trained model: the data are brought into that form, and the target may be absent.
        Options that a schema decides (those from ``task`` on, but ``header`` and ``decimal``) are
        refused.
    format : {"svmlight", "csv", "parquet", "npy", "npz"}, optional
    task : {"classification", "regression"}, optional
        What the target is, where the guess (words, or few different integers, are classes) is
        wrong.
    scale : {"standard", "minmax", "maxabs", "auto"}, optional
        Scale the features to mean 0 and variance 1, to [0, 1], or to at most 1 in size (the only
        one for sparse rows); the schema keeps how. "auto" is "standard", and for sparse rows none.
    missing : {"median", "mean", "zero"}, optional
        What stands for missing numbers and dates; for missing words the most frequent one does, and
        rows without a target are left out. By default missing values are refused.
    header : bool, optional
        Whether a CSV file begins with names; by default, whether its first line looks like it.
    categorical : str, int or sequence of them, optional
        Columns of numbers or dates that are to be taken for words. (Columns of words are found.)
    drop : str, int or sequence of them, optional
        Columns to leave out.
    decimal : {".", ","}, optional
        Of numbers in CSV files; by default a point, or as in the schema.
    na : str or sequence of str, optional
        Words of CSV files that stand for missing values, besides NA, NaN, null, none and ``?``.

    may_be_wider : bool, default=False
        With a schema of svmlight rows: indices beyond those of the training are read, too, and X
        may have more columns than ``schema.n_features``.
    text : str, int or True, optional
        The column whose texts are the samples, for kernels on sequences (True: the only one besides
        the target); X is then an array of texts. CSV and Parquet.
    samples : {"table", "series", "sets"}, optional
        For kernels on structures, from CSV and Parquet. "table": X has the columns as they are,
        words and missing values included. "series": each row is a time series, which ends where
        only missing values follow. "sets": the words of the ``text`` column, between blanks, commas
        or semicolons.

    Returns
    -------
    Table

    Raises
    ------
    FileError
        (a ValueError) One line: the file, the line if it has lines, what is wrong, and a remedy.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.data import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "flowers.csv"
    ...     _ = file.write_text(
    ...         "size,colour,class\\n1.5,red,rose\\n0.5,blue,violet\\n2,red,rose\\n"
    ...     )
    ...     table = read_table(file)
    >>> table.schema.feature_names
    ['size', 'colour=blue', 'colour=red']
    >>> table.X
    array([[1.5, 0. , 1. ],
           [0.5, 1. , 0. ],
           [2. , 0. , 1. ]])
    >>> table.y
    array(['rose', 'violet', 'rose'], dtype='<U6')
    """
    options = Options(
        target,
        task,
        scale,
        missing,
        header,
        _one_or_more(categorical),
        _one_or_more(drop),
        decimal,
        _one_or_more(na),
        may_be_wider,
        text,
        samples,
    )
    _check(options, schema, format)
    with open_source(source) as opened:
        found = format or _recognise(opened)
        _refuse_options(opened.name, found, options)
        name = opened.name
        if text is not None or (schema is not None and schema.text is not None):
            with as_file_errors(name, f"cannot be read as {found}"):
                X, y, schema, notes = read_texts(opened, found, options, schema)
            return _table(X, y, schema, name, found, notes)
        with as_file_errors(name, f"cannot be read as {found}"):
            raw = _READERS[found](opened, options, schema)
    with as_file_errors(name, f"cannot be used as {found}"):
        if (options if schema is None else schema).samples is not None:
            n_missing, id_columns = count_missing(raw), find_id_columns(raw)
            X, y, schema, notes = read_samples(name, raw, options, schema)
            return _table(X, y, schema, name, found, notes, n_missing, id_columns)
        if schema is not None:
            X, y, notes = apply(name, raw, schema, may_be_wider)
            return _table(X, y, schema, name, found, notes)
        n_missing, id_columns = count_missing(raw), find_id_columns(raw)
        X, y, schema, notes = learn(name, raw, options)
        return Table(X, y, schema, name, found, tuple(notes), n_missing, id_columns)


def _table(
    X: Any,
    y: Any,
    schema: Schema,
    name: str,
    format: str,
    notes: Sequence[str],
    n_missing: Mapping[str, int] | None = None,
    id_columns: tuple[str, ...] = (),
) -> Table:
    partial = y if isinstance(y, PartialTarget) else None
    y = y if partial is None else None
    found = tuple(notes), n_missing or {}, id_columns
    return Table(X, y, schema, name, format, *found, _partial=partial)


def read_columns(source: str | os.PathLike, names: Sequence[str], format: str) -> dict[str, list]:
    """Columns of a file of names as they are written in it."""
    with open_source(source) as opened:
        name = opened.name
        if name == "-" or format not in ("csv", "parquet"):
            raise FileError(name, None, "keep= is for files with names, CSV and Parquet.")
        if format == "parquet":
            found = pyarrow_parquet().ParquetFile(opened.path or opened.seekable_copy()).read()
            chosen = [find_column(name, found.column_names, column, "keep") for column in names]
            return {found.column_names[j]: found.column(j).to_pylist() for j in chosen}
        return read_cells(opened, names)


def _one_or_more(given: Any) -> tuple:
    """A name or number alone stands for a list of one: its letters are no names."""
    return (given,) if isinstance(given, str | int) else tuple(given)


def _check(options: Options, schema: Schema | None, format: str | None) -> None:
    for name, value, allowed in (
        ("format", format, tuple(FORMATS)),
        ("task", options.task, TASKS),
        ("scale", options.scale, SCALINGS),
        ("missing", options.missing, FILLS),
        ("decimal", options.decimal, (".", ",")),
    ):
        if value is not None and value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}.")
    if options.target is True:
        raise ValueError("target must be a name, a number or False, got True.")
    if schema is not None:
        for name in ("task", "scale", "missing", "categorical", "drop", "na"):
            if getattr(options, name):
                raise ValueError(f"{name} cannot be given together with schema, which decides it.")
    if options.samples not in SAMPLES:
        known = ", ".join(str(each) for each in SAMPLES[1:])
        raise ValueError(f"samples must be one of {known}, got {options.samples!r}.")
    if options.samples is not None and (options.scale or options.missing):
        given = "scale" if options.scale else "missing"
        raise ValueError(
            f"{given} cannot be given together with samples={options.samples!r}: the kernel takes "
            "the values as they are."
        )


def _refuse_options(name: str, format: str, options: Options) -> None:
    """Options that would be ignored."""
    for option in ("header", "decimal", "na"):
        if getattr(options, option) not in (None, ()) and format != "csv":
            raise FileError(name, None, f"{option}= is for CSV files.")
    if options.samples is not None and format not in ("csv", "parquet"):
        what = f"is {format}; samples={options.samples!r} needs a file with names, CSV or Parquet."
        raise FileError(name, None, what)
    for option in ("missing", "categorical", "drop"):
        if getattr(options, option) and format not in ("csv", "parquet"):
            raise FileError(name, None, f"{option}= is for files with names, CSV and Parquet.")


def _recognise(source: Source) -> str:
    """The format, by the first bytes."""
    head = source.head
    if not head.strip():
        raise FileError(source.name, None, "is empty.")
    for magic, format in ((b"PAR1", "parquet"), (b"\x93NUMPY", "npy"), (b"PK\x03\x04", "npz")):
        if head.startswith(magic) and b"xl/" not in head and b"[Content_Types]" not in head:
            return format
    if b'{"__metadata__"' in head[:32]:
        raise FileError(source.name, None, "is a model file, not a table of data.")
    if head.startswith(b"PK"):
        what = "is an Excel workbook, which is not read; write the sheet as CSV."
        raise FileError(source.name, None, what)
    for magic, what in _OTHERS.items():
        if head.lstrip().lower().startswith(magic.lower()):
            raise FileError(source.name, None, f"{what}.")
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    lines = lines[:-1] if len(lines) > 1 and len(head) > 1000 else lines
    full = [line for line in lines[:50] if line.split(b"#")[0].strip()]
    if not full:
        raise FileError(source.name, None, "has no rows, only comments.")
    pairs = [bool(_SVMLIGHT.fullmatch(line)) for line in full]
    return "svmlight" if 2 * sum(pairs) >= len(full) and pairs[0] else "csv"


def _read_svmlight(source: Source, options: Options, schema: Schema | None) -> Raw:
    if options.target not in (None, False):
        what = (
            "in svmlight files the target is the first number of a line; "
            f"target={options.target!r} is not possible."
        )
        raise FileError(source.name, None, what)
    if schema is None:
        reader = SvmlightReader(source, None)
    else:
        trained = schema.n_features if schema.columns is None else len(schema.columns)
        trained += schema.is_kernel_matrix  # and the number of the row
        wider = options.may_be_wider and schema.columns is None and schema.scaling is None
        reader = SvmlightReader(source, schema.zero_based, None if wider else trained)
    try:
        X, y = reader.read()
    except FileError as error:
        if error.line is None:
            raise
        what = f"{error.message.rstrip('.')}; format='csv' if it is not svmlight."
        raise FileError(error.path, error.line, what) from error
    if schema is not None and X.shape[1] < trained:
        if schema.is_kernel_matrix and not X[:, 0].nnz:
            what = (
                "has rows of features, but the model takes kernel values with its "
                f"{trained - 1:,} training rows: label 0:i 1:k(x, x₁) 2:k(x, x₂) …"
            )
            raise FileError(source.name, None, what)
        X.resize(X.shape[0], trained)
    if schema is not None and schema.is_kernel_matrix:
        X = X[:, 1:].toarray()
    if X.shape[0] == 0:
        raise FileError(source.name, None, "has no rows.")
    return Raw(X, None if options.target is False else y, None, zero_based=bool(reader.zero_based))


_READERS: dict[str, Callable[[Source, Options, Schema | None], Raw]] = {
    "svmlight": _read_svmlight,
    "csv": read_csv,
    "parquet": read_parquet,
    "npy": read_npy,
    "npz": read_npz,
}
FORMATS = tuple(_READERS)
