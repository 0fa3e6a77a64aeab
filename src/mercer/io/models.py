"""`save` and `load`: a fitted estimator in one file that executes nothing when it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mercer.io.schema import Schema

__all__ = ["ModelFile", "load", "open_model", "save"]


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What is in a file: the model, how data are brought into its form, and the header.

    Attributes
    ----------
    model : estimator
    schema : Schema or None
    header : dict
        ``format``, ``version``, ``mercer`` (the version that wrote it), ``class``, ``parameters``, …
    """

    model: Any
    schema: Schema | None
    header: dict[str, Any]


def save(model: Any, path: str | os.PathLike, *, schema: Schema | None = None) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of Mercer.
    path : path
    schema : Schema, optional
        How data files are brought into the form of the training data; `read_table` takes it.
    """
    raise NotImplementedError


def load(path: str | os.PathLike, *, callables: Mapping[str, Callable] | None = None) -> Any:
    """The fitted model of a file. Nothing in the file is executed.

    Parameters
    ----------
    path : path
    callables : dict of name to function, optional
        Functions are never in a file, only their names: a model with a kernel function needs it
        again here.
    """
    return open_model(path, callables=callables).model


def open_model(
    path: str | os.PathLike, *, callables: Mapping[str, Callable] | None = None
) -> ModelFile:
    """The model of a file together with its schema and header."""
    raise NotImplementedError
