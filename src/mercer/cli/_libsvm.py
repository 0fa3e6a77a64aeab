"""What LIBSVM's own programs read and write: precomputed kernels, the output of svm-predict."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.cli._errors import CommandError
from mercer.data import Table
from mercer.data._files import replacing

__all__ = ["kernel_matrix", "write_as_svm_predict"]


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
    predicted. The order of the classes is that of the labels in a model of LIBSVM.
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
        predicted = classes[order][np.argmax(p, axis=1)]
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
