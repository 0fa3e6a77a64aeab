"""Predictions and tables written to files, whole or not at all."""

from __future__ import annotations

import os
from typing import Any

from mercer.io.tables import Table

__all__ = ["write_predictions", "write_table"]


def write_predictions(
    path: str | os.PathLike,
    predictions: Any,
    *,
    decision: Any = None,
    probabilities: Any = None,
    classes: Any = None,
) -> None:
    """Write predictions as CSV with a header, to a file or (``"-"``) to standard output.

    Parameters
    ----------
    path : path or "-"
        A name that ends in ``.gz``, ``.bz2`` or ``.zst`` is compressed.
    predictions : array of shape (n,)
        The column ``prediction``.
    decision : array of shape (n,) or (n, k), optional
        Decision values: the column ``decision``, or one ``decision:CLASS`` for each class (pairs of
        classes are numbered).
    probabilities : array of shape (n, k), optional
        Columns ``probability:CLASS``.
    classes : sequence of k labels, optional
    """
    raise NotImplementedError


def write_table(path: str | os.PathLike, table: Table, *, format: str | None = None) -> None:
    """Write the rows and targets of a table in another format, by default by the name's suffix.

    Parameters
    ----------
    path : path or "-"
        ``.svm``, ``.libsvm``, ``.svmlight`` or ``.txt``: svmlight; ``.csv``, ``.tsv``, ``.npz``,
        ``.parquet``; after it ``.gz``, ``.bz2`` or ``.zst``.
    table : Table
    format : {"svmlight", "csv", "npz", "parquet"}, optional
    """
    raise NotImplementedError
