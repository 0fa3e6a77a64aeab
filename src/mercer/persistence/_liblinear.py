"""Models in LIBLINEAR's own text format, read and written.

A file is a header of names and values, a line ``w``, and a line for each feature with its weight in
each task; ``bias`` B ≥ 0 adds a last line, and the intercept is B times its weights. Of two labels
the first one is where w·x + b > 0; with more there is a task for each, in the order of the labels.
Here classes are sorted, and of two the second is the positive one; ``_vote_order`` keeps the order
of the file, which decides ties: rows of zeros in a model without intercept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.data._files import as_file_errors, writing
from mercer.data._schema import Schema
from mercer.estimators import LinearSVC, LinearSVR, LogisticRegression
from mercer.exceptions import FileError
from mercer.persistence._text_header import as_numbers, begins_with, read_header, require_keys
from mercer.persistence._validity import check_before, try_model

__all__ = ["is_liblinear", "read_liblinear", "write_liblinear"]

# LIBLINEAR's names of problems: class and parameters here. The first of each pair is written.
SOLVER_TYPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "L2R_LR": (LogisticRegression, {"multi_class": "ovr"}),
    "L2R_LR_DUAL": (LogisticRegression, {"multi_class": "ovr"}),
    "L1R_LR": (LogisticRegression, {"multi_class": "ovr"}),
    "L2R_L2LOSS_SVC": (LinearSVC, {"loss": "squared_hinge"}),
    "L2R_L2LOSS_SVC_DUAL": (LinearSVC, {"loss": "squared_hinge"}),
    "L1R_L2LOSS_SVC": (LinearSVC, {"loss": "squared_hinge", "penalty": "l1"}),
    "L2R_L1LOSS_SVC_DUAL": (LinearSVC, {"loss": "hinge"}),
    "MCSVM_CS": (LinearSVC, {"multi_class": "crammer_singer"}),
    "L2R_L2LOSS_SVR": (LinearSVR, {"loss": "squared_epsilon_insensitive"}),
    "L2R_L2LOSS_SVR_DUAL": (LinearSVR, {"loss": "squared_epsilon_insensitive"}),
    "L2R_L1LOSS_SVR_DUAL": (LinearSVR, {"loss": "epsilon_insensitive"}),
}
NUMBERS = ("nr_class", "nr_feature", "bias", "label")


def is_liblinear(path: str | os.PathLike) -> bool:
    """Whether a file begins like one of LIBLINEAR's models."""
    return begins_with(path, b"solver_type ")


def read_liblinear(path: str | os.PathLike) -> tuple[Any, Schema]:
    """The model of a file of LIBLINEAR's, and how svmlight files become its rows.

    Such a file has neither C nor the rows of the training set, so there is no certificate.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.persistence import read_liblinear
    >>> text = "solver_type L2R_LR\\nnr_class 2\\nlabel 1 -1\\nnr_feature 1\\nbias -1\\nw\\n2\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "line.model"
    ...     _ = file.write_text(text)
    ...     model, schema = read_liblinear(file)
    >>> model.predict([[0.5], [-3]])
    array([ 1, -1])
    """
    name = os.fspath(path)
    with as_file_errors(name, "cannot be read as a model of LIBLINEAR"):
        with open(path, encoding="utf-8") as file:
            lines = enumerate(file, start=1)
            header = _read_header(name, lines)
            weights = _read_weights(name, lines, header)
        return _fitted(header, weights)


def _read_header(name: str, lines: Iterator[tuple[int, str]]) -> dict[str, Any]:
    """Names and values until the line w."""
    words = {"solver_type": SOLVER_TYPES}
    header, number = read_header(name, lines, "LIBLINEAR", "w", words, NUMBERS)
    needed = ["solver_type", "nr_class", "nr_feature", "bias"]
    if "solver_type" in header and SOLVER_TYPES[header["solver_type"]][0] is not LinearSVR:
        needed.append("label")
    require_keys(name, number, header, needed)
    if "label" in needed and len(set(header["label"])) != header["nr_class"][0]:
        labels = " ".join(f"{label:g}" for label in header["label"])
        raise FileError(
            name, None, f"the labels {labels} are not {header['nr_class'][0]:g} classes"
        )
    return header


def _read_weights(
    name: str, lines: Iterator[tuple[int, str]], header: dict[str, Any]
) -> np.ndarray:
    """The weights of each feature, shape (nr_feature, tasks); with a bias one row more."""
    k = int(header["nr_class"][0])
    several = "label" in header and (k > 2 or header["solver_type"] == "MCSVM_CS")
    tasks = k if several else 1
    rows: list[list[float]] = []
    for number, line in lines:
        try:
            rows.append(as_numbers(line.split()))
        except ValueError:
            raise FileError(name, number, f"no weights: {line[:60]!r}") from None
        if len(rows[-1]) != tasks:
            raise FileError(name, number, f"has {len(rows[-1])} weights, expected {tasks}")
    expected = int(header["nr_feature"][0]) + (header["bias"][0] >= 0)
    if len(rows) != expected:
        raise FileError(name, None, f"has {len(rows)} lines of weights, its header says {expected}")
    return np.array(rows).reshape(expected, tasks)


def _fitted(header: dict[str, Any], weights: np.ndarray) -> tuple[Any, Schema]:
    cls, parameters = SOLVER_TYPES[header["solver_type"]]
    model = cls(**parameters)
    d, bias = int(header["nr_feature"][0]), header["bias"][0]
    coef = np.ascontiguousarray(weights[:d].T)
    b = bias * weights[d] if bias >= 0 else np.zeros(weights.shape[1])
    labels = None
    if cls is LinearSVR:
        coef = coef[0]
    else:
        found = np.array(header["label"]).astype(int)
        order = np.argsort(found)
        labels = model.classes_ = found[order]
        model._vote_order = np.argsort(order)
        model.class_weight_ = np.ones(found.size)
        if weights.shape[1] > 1:
            coef, b = coef[order], b[order]
            if found.size == 2:  # Crammer and Singer's two, as one
                coef, b = coef[1:] - coef[:1], b[1:] - b[:1]
        elif found[0] == labels[0]:  # the first label of the file is where the value is positive
            coef, b = -coef, -b
    model.coef_, model.intercept_, model.n_features_in_ = coef, b, d
    fitted_parameters = model.get_params(deep=False)
    state = {name: value for name, value in vars(model).items() if name not in fitted_parameters}
    check_before(cls, fitted_parameters, state)
    try_model(model)
    return model, Schema(
        columns=None,
        n_features=d,
        sparse=True,
        task="regression" if labels is None else "classification",
        labels=None if labels is None else tuple(labels.tolist()),
    )


def write_liblinear(model: Any, path: str | os.PathLike) -> None:
    """Write a LinearSVC, LinearSVR or LogisticRegression as LIBLINEAR does.

    The intercept is the weight of a feature that is 1 (``bias 1``). Labels that are no integers are
    written as their number in ``classes_``.
    """
    solver = _solver_type(model)
    if solver is None and isinstance(model, LogisticRegression):
        raise FileError(
            os.fspath(path),
            None,
            "LIBLINEAR has no softmax over several classes: fit LogisticRegression with "
            'multi_class="ovr"',
        )
    if solver is None:
        raise FileError(
            os.fspath(path),
            None,
            "LIBLINEAR's format has LinearSVC, LinearSVR and LogisticRegression, not "
            f"{type(model).__name__}; kernel machines have LIBSVM's: write_libsvm",
        )
    coef = np.atleast_2d(np.asarray(_dense(model.coef_), np.float64))
    b = np.broadcast_to(np.asarray(model.intercept_, np.float64), coef.shape[:1])
    header = {"solver_type": solver, "nr_class": "2"}
    classes = getattr(model, "classes_", None)
    if classes is not None:
        whole = classes.dtype.kind in "iuf" and (classes == np.round(classes)).all()
        labels = classes.astype(int) if whole else np.arange(classes.size)
        order = _order_of_labels(model)
        labels = labels[order]
        if classes.size > 2:
            coef, b = coef[order], b[order]
        elif order[0] == 0:  # the first label is where the value is positive
            coef, b = -coef, -b
        header |= {"nr_class": str(classes.size), "label": " ".join(map(str, labels.tolist()))}
        if solver == "MCSVM_CS" and classes.size == 2:  # there two tasks
            coef, b = np.vstack([coef, -coef]) / 2, np.concatenate([b, -b]) / 2
    header |= {"nr_feature": str(coef.shape[1]), "bias": "1"}
    with writing(path) as file:
        for key, value in header.items():
            file.write(f"{key} {value}\n".encode())
        file.write(b"w\n")
        for weights in np.column_stack([coef, b]).T:
            file.write((" ".join(f"{weight:.17g}" for weight in weights) + "\n").encode())


def _order_of_labels(model: Any) -> np.ndarray:
    """The order of the classes for which LIBLINEAR predicts ties as the model does.

    Of two labels it predicts the last, of more the first. A tie of `LogisticRegression` is its
    second class.
    """
    order = np.arange(model.classes_.size)
    if order.size == 2 and not isinstance(model, LogisticRegression):
        order = order[::-1]
    return getattr(model, "_vote_order", order)


def _solver_type(model: Any) -> str | None:
    """LIBLINEAR's name of a model's problem."""
    for name, (cls, parameters) in SOLVER_TYPES.items():
        asked = parameters
        if cls is LinearSVC and "multi_class" not in parameters:
            asked = {"multi_class": "ovr", "penalty": "l2", **parameters}
        has = model.get_params(deep=False) if isinstance(model, cls) else None
        if cls is LogisticRegression and has is not None and model.classes_.size == 2:
            has["multi_class"] = "ovr"  # the same problem
        if has is not None and all(has[key] == value for key, value in asked.items()):
            return name
    return None


def _dense(coef: Any) -> Any:
    return coef.toarray() if hasattr(coef, "toarray") else coef
