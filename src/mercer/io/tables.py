"""`read_table`: rows and targets out of a file, whatever its format and compression."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.io.schema import Schema

__all__ = ["Table", "read_table"]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file.

    Attributes
    ----------
    X : float64 or float32 array, or CSR, of shape (n, schema.n_features)
    y : array of shape (n,), or None
        Classification: labels (strings or integers); regression: float64.
    schema : Schema
    name : str
        Where it comes from, for messages: the path, or "standard input".
    format : str
        ``"svmlight"``, ``"csv"``, ``"parquet"``, ``"npy"`` or ``"npz"``.
    """

    X: Any
    y: np.ndarray | None
    schema: Schema
    name: str
    format: str


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
) -> Table:
    """Read rows and targets; the format is recognised by the content.

    Parameters
    ----------
    source : path or "-"
        A file, also compressed (gzip, bzip2, zstd), or standard input.
    target : str, int or False, optional
        The target's column by name or number (from 0; −1 is the last). False: there is none. By
        default the column named target, label, class or y (of a table without header, none is
        guessed: the error lists the columns).
    schema : Schema, optional
        Of a trained model: the data are brought into that form, the target may be absent, and the
        other options must not be given.
    format : {"svmlight", "csv", "parquet", "npy", "npz"}, optional
    task : {"classification", "regression"}, optional
        What the target is, where the guess (words or few different integers are classes) is wrong.
    scale : {"standard", "minmax", "maxabs"}, optional
        Scale the columns; the schema keeps how.
    missing : {"median", "mean", "zero"}, optional
        What stands for missing numbers (for missing words: the most frequent one). By default
        they are refused.
    header : bool, optional
        Whether a CSV file begins with names; by default, whether its first line has a word where
        the second has a number.

    Returns
    -------
    Table
    """
    raise NotImplementedError
