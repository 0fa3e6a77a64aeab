"""The sections "Parameters" and "Returns" of scikit-learn's methods, which are the same everywhere.

A method with a docstring of its own sections keeps it.
"""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["document_methods"]

_NEW_ROWS = """\
X : {array-like, sparse matrix} of shape (n_samples, n_features)
    For a precomputed kernel, the kernel values against the training rows."""
_ARGUMENTS = {
    "X": """\
X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
    Training rows; for a precomputed kernel, the kernel matrix.""",
    "y": "y : array-like of shape (n_samples,)",
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


def document_methods(cls: type) -> None:
    """Complete the docstrings of the methods of a class and of its bases in this package."""
    for base in cls.__mro__:
        for name in _RETURNS if base.__module__.startswith("mercer.") else ():
            method = vars(base).get(name)
            text = inspect.getdoc(method) if inspect.isfunction(method) else None
            if text is not None and "\nReturns\n" not in text:
                method.__doc__ = f"{text}\n\n{_sections(method)}"  # type: ignore[union-attr]


def _sections(method: Any) -> str:
    name, given = method.__name__, inspect.signature(method).parameters
    texts = {**_ARGUMENTS, "X": _ARGUMENTS["X"] if name.startswith("fit") else _NEW_ROWS}
    if "y" in given and given["y"].default is None:
        texts["y"] = "y : Ignored"
    arguments = "\n".join(texts[argument] for argument in given if argument in texts)
    sections = {"Parameters": arguments, "Returns": _RETURNS[name]}
    return "\n\n".join(f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items())
