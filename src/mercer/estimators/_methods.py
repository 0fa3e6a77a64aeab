"""Methods of estimators: the sections of their docstrings, those that depend on parameters, and
what scikit-learn asks of an estimator around another one.

"Parameters" and "Returns" of scikit-learn's methods are the same everywhere. A docstring with
one of the two keeps it, and is given the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from functools import update_wrapper
from types import MethodType
from typing import Any

import numpy as np

__all__ = ["Unless", "WrapsEstimator", "document_methods", "unless"]

_ROWS = "X : {array-like, sparse matrix} of shape (n_samples, n_features)"
_NEW_ROWS = f"""\
{_ROWS}
    For a precomputed kernel, the kernel values against the training rows."""
_ARGUMENTS = {
    "X": """\
X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
    Training rows; for a precomputed kernel, the kernel matrix.""",
    "y": """\
y : array-like of shape (n_samples,)
    Class labels, or target values for regression.""",
    "sample_weight": """\
sample_weight : array-like of shape (n_samples,), optional
    Weight 2 is the same as the row twice, weight 0 (or less) as the row left out.""",
}
_RETURNS = {
    "fit": "self : object\n    The fitted estimator.",
    "fit_transform": "T : ndarray of shape (n_samples, n_components)",
    "transform": "T : ndarray of shape (n_samples, n_components)",
    "predict": "y : ndarray of shape (n_samples,)",
    "decision_function": """\
values : ndarray of shape (n_samples,) or (n_samples, n_classes)
    With two classes positive for ``classes_[1]``; with more, one value per class.""",
    "predict_proba": "p : ndarray of shape (n_samples, n_classes)",
}
# Two return something else, and have the same arguments.
_NAMES = (*_RETURNS, "distance", "predict_proba_interval")


class Unless:
    """A method that an estimator has unless there is a reason against it.

    As scikit-learn's ``available_if``, but the AttributeError gives the reason.
    """

    def __init__(self, method: Callable, reason: Callable[[Any], str]):
        self.method, self.reason = method, reason
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is None:
            return self.method
        reason = self.reason(estimator)
        if reason:
            raise AttributeError(f"{self.method.__name__} of {type(estimator).__name__} {reason}")
        return MethodType(self.method, estimator)


def unless(reason: Callable[[Any], str]) -> Callable[[Callable], Any]:
    """Decorate a method; ``reason`` of an estimator is empty where it has the method."""
    return lambda method: Unless(method, reason)


def document_methods(cls: type) -> None:
    """Complete the docstrings of the methods of a class and of its bases in this package."""
    for base in cls.__mro__:
        for name in _NAMES if base.__module__.startswith("mercer.") else ():
            method = vars(base).get(name)
            method = getattr(method, "fn", method)  # of scikit-learn's `available_if`
            text = inspect.getdoc(method) if inspect.isfunction(method) else None
            if text is None:
                continue
            sections = _sections(method, "kernel" in {f.name for f in fields(cls)})
            parts = {
                title: f"{title}\n{'-' * len(title)}\n{own}" for title, own in sections.items()
            }
            summary, mark, own = text.partition("\n\nReturns\n")
            if "\nParameters\n" not in summary:
                summary += f"\n\n{parts['Parameters']}"
            method.__doc__ = summary + (mark + own or f"\n\n{parts['Returns']}")


def _sections(method: Any, has_kernel: bool) -> dict[str, str]:
    name, given = method.__name__, inspect.signature(method).parameters
    rows = _ARGUMENTS["X"] if name.startswith("fit") else _NEW_ROWS
    texts = {**_ARGUMENTS, "X": rows if has_kernel else _ROWS}
    if "y" in given and given["y"].default is None:
        texts["y"] = "y : Ignored"
    arguments = "\n".join(texts[argument] for argument in given if argument in texts)
    return {"Parameters": arguments, "Returns": _RETURNS.get(name, "")}


class WrapsEstimator:
    """The columns of the fitted ``estimator_``, and the rows that the given one takes."""

    @property
    def n_features_in_(self) -> int:
        """Of the fitted estimator."""
        return self.estimator_.n_features_in_  # type: ignore[attr-defined]

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Of the fitted estimator."""
        return self.estimator_.feature_names_in_  # type: ignore[attr-defined]

    def _wrapped(self) -> Any:
        return self.estimator  # type: ignore[attr-defined]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags = self._wrapped().__sklearn_tags__().input_tags
        return tags
