"""Errors and warnings of the package.

    ValueError
    ├── NotSeparableError      hard margin asked for, but the classes' convex hulls meet
    └── FileError              a file that cannot be read or written: one line, with its place
        └── NoFileError        (a FileNotFoundError too) there is none of this name
    UserWarning
    ├── ConvergenceWarning     (scikit-learn's) a fit stopped before its tolerance
    ├── InterruptWarning       Ctrl-C ended a fit, and the model so far was returned
    └── WarmStartWarning       a warm start could not go on from the last fit and began anew

Bad parameters raise scikit-learn's ``InvalidParameterError`` (a ValueError), bad data a ValueError
or a TypeError, methods before ``fit`` scikit-learn's ``NotFittedError``.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning, NotFittedError

__all__ = [
    "ConvergenceWarning",
    "FileError",
    "InterruptWarning",
    "NoFileError",
    "NotFittedError",
    "NotSeparableError",
    "WarmStartWarning",
    "warn_user",
]


class NotSeparableError(ValueError):
    """No hyperplane separates the classes: a point lies in the convex hulls of both.

    Attributes
    ----------
    weights : float64 array, one entry per row given to ``fit``
        The proof. Positive entries sum to 1 over rows of one class, negative ones to −1 over rows
        of the other, and Σ weights φ(x) = 0: both convex combinations are the same point.
    """

    def __init__(self, message: str, weights: np.ndarray):
        super().__init__(message)
        self.weights = weights

    def __reduce__(self) -> tuple:
        return type(self), (self.args[0], self.weights)


class FileError(ValueError):
    """What is wrong with a file, in one line: ``file:line: what, got, remedy``.

    Attributes
    ----------
    path : str
        The file as it was named; ``"-"`` is standard input or output.
    line : int or None
        The line, counted from 1, of files that have lines.
    remedy : dict
        Arguments of `mercer.data.read_table` with which it would not be raised, such as
        ``{"missing": "median"}``; empty if there are none.
    """

    def __init__(self, path: str, line: int | None, message: str, **remedy: Any):
        place = "standard input" if path == "-" else path
        one_line = " ".join(message.split())
        super().__init__(f"{place}: {one_line}" if line is None else f"{place}:{line}: {one_line}")
        self.path, self.line, self.message, self.remedy = path, line, message, remedy

    def __reduce__(self) -> tuple:
        return type(self), (self.path, self.line, self.message), {"remedy": self.remedy}


class NoFileError(FileError, FileNotFoundError):
    """There is no file of this name."""


class InterruptWarning(UserWarning):
    """Ctrl-C ended a fit with ``on_interrupt="return"``: its model is the one reached so far."""


class WarmStartWarning(UserWarning):
    """A warm start began anew, and why."""


_thread = threading.local()


@contextmanager
def silent_thread() -> Iterator[None]:
    """`warn_user` says nothing in this thread.

    ``warnings.catch_warnings`` changes the filters of all threads: where two of them leave it in
    another order than they entered it, the filters of one stay.
    """
    before = getattr(_thread, "is_silent", False)
    _thread.is_silent = True
    try:
        yield
    finally:
        _thread.is_silent = before


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that led here, past this package and scikit-learn."""
    if getattr(_thread, "is_silent", False):
        return
    level, frame = 2, sys._getframe(1)
    ours = ("mercer", "sklearn")
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in ours:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
