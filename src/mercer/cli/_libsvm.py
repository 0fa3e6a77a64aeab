"""What LIBSVM's programs take and write: options of svm-train, output of svm-predict, kernels."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.cli._errors import CommandError, UsageError, option, print_error
from mercer.cli._options import KERNEL_TYPES, SVM_TYPES
from mercer.data import Table
from mercer.data._files import replacing
from mercer.estimators._registry import cli_names

__all__ = ["kernel_matrix", "translate_svm_train_options", "write_as_svm_predict"]

# The option of mercer that each letter stands for, and the conversion of its value.
SVM_TRAIN_OPTIONS: dict[str, tuple[str, Any]] = {
    "s": ("machine", SVM_TYPES.__getitem__),
    "t": ("kernel", KERNEL_TYPES.__getitem__),
    "d": ("degree", int),
    "g": ("gamma", lambda gamma: "auto" if gamma == 0 else str(gamma)),
    "r": ("coef0", float),
    "c": ("C", float),
    "n": ("nu", float),
    "p": ("epsilon", float),
    "m": ("cache_size", float),
    "e": ("tol", float),
    "h": ("shrinking", bool),
    "b": ("probability", bool),
    "w": ("class_weight", list),
    "v": ("cv", int),
}
SVM_TRAIN_DEFAULTS = {"machine": "svc", "scale": "none"}


def kernel_matrix(rows: Table) -> Table:
    """The kernel matrix of svmlight lines: dense, without the numbers of the rows.

    LIBSVM's lines are ``label 0:i 1:k(xᵢ, x₁) 2:k(xᵢ, x₂) …``; i is the number of the row.
    """
    X = rows.X.toarray()
    if rows.schema.zero_based:
        numbers, X = X[:, 0], X[:, 1:]
        wrong = np.flatnonzero(numbers != 1 + np.arange(len(numbers)))
        if wrong.size:
            raise CommandError(
                f"{rows.name}: row {wrong[0] + 1} begins with 0:{numbers[wrong[0]]:g}, but 0:i "
                f"must be the number of the row, 0:{wrong[0] + 1}"
            )
    schema = replace(rows.schema, n_features=X.shape[1], sparse=False)
    return replace(rows, X=X, schema=schema)


def write_as_svm_predict(path: str, model: Any, X: Any, probabilities: bool) -> np.ndarray:
    """Write labels line by line as svm-predict does; what it predicts.

    With probabilities of classes, a line names the labels, and the most probable class is
    predicted (as LIBLINEAR's predict does where both are ½). The order of the classes is that of
    the labels in a model of LIBSVM.
    """
    classes = getattr(model, "classes_", None)
    lines: list[str] = []
    if probabilities and classes is not None:
        if not hasattr(model, "predict_proba"):
            raise CommandError(
                f"a {type(model).__name__} without probabilities cannot be used with -b 1; train "
                "it with -b 1"
            )
        order = getattr(model, "_vote_order", np.arange(classes.size))
        p = model.predict_proba(X)[:, order]
        is_svm = hasattr(model, "decision_function_shape")
        # LIBLINEAR's predict goes by the decision values: of two labels at ½ it takes the second.
        predicted = classes[order][np.argmax(p, axis=1)] if is_svm else model.predict(X)
        lines.append(" ".join(["labels", *map(str, classes[order].tolist())]))
        values = (" ".join(f"{number:.17g}" for number in row) for row in p)
        lines += [f"{label} {row}" for label, row in zip(predicted.tolist(), values, strict=True)]
    else:
        predicted = model.predict(X)
        is_float = predicted.dtype.kind == "f"
        lines += [f"{y:.17g}" if is_float else str(y) for y in predicted.tolist()]
    text = "".join(f"{line}\n" for line in lines)
    if path == "-":
        sys.stdout.write(text)
    else:
        with replacing(path) as file:
            file.write(text.encode())
    return predicted


def translate_svm_train_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of svm-train, where they are given, as those of ``mercer train``.

    With any of them, what is left out has svm-train's default too: a C-SVC, γ = 1 / number of
    columns, and data that are not scaled. Letters that do not matter for a type, such as -n of a
    C-SVC, are left out, as svm-train does. ``only_validate`` is added: -v makes no model.
    """
    words = {name: value for name, value in options.items() if name not in SVM_TRAIN_OPTIONS}
    given = {
        letter: options[letter]
        for letter in SVM_TRAIN_OPTIONS
        if options.get(letter) not in (None, [], ())
    }
    for letter, value in given.items():
        name, convert = SVM_TRAIN_OPTIONS[letter]
        if words.get(name) not in (None, [], ()):
            raise UsageError(f"-{letter} and {option(name)} are the same option: give one of them")
        words[name] = convert(value)
    if given:
        words |= {
            name: value for name, value in SVM_TRAIN_DEFAULTS.items() if words.get(name) is None
        }
        if words.get("gamma") is None and words["machine"] in SVM_TYPES.values():
            words["gamma"] = "auto"
        _leave_out_unused(words, given)
    words["only_validate"] = "v" in given
    return words


def _leave_out_unused(words: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Leave out what letters of svm-train say and its type has no use for."""
    entry = cli_names().get(words["machine"])
    if entry is None or entry.libsvm_code is None:
        return
    taken = inspect.signature(entry.load()).parameters
    for letter in given:
        name = SVM_TRAIN_OPTIONS[letter][0]
        if letter not in "stv" and name not in taken:
            words[name] = None
    if given.get("b") and "probability" not in taken:
        print_error(f"note: -b 1 has no effect: {entry.cli_name} has no probabilities here")
