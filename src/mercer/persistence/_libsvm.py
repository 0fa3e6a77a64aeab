"""Models in LIBSVM's own text format, read and written.

A file is a header of names and values, a line ``SV``, and a line for each support vector: its
coefficients, then ``index:value``. LIBSVM's decision value of a pair of labels is Σ c k(x, ·) − ρ,
positive for the label that comes first in the file; here b = −ρ, classes are sorted, and of two the
second is the positive one. Where a pair turns round, so do the signs of its coefficients and of b,
and its sigmoid 1 / (1 + exp(A f + B)) keeps A and has −B.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._expansion import Expansion
from mercer._multiclass import block_outputs, pairs
from mercer.data._files import as_file_errors, writing
from mercer.data._schema import Schema
from mercer.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.estimators._registry import ESTIMATORS
from mercer.exceptions import FileError
from mercer.kernels._registry import KERNELS, kernel_entry
from mercer.kernels._samples import Samples
from mercer.persistence._text_header import begins_with, read_header, require_keys
from mercer.persistence._validity import check_before, try_model

__all__ = ["is_libsvm", "read_libsvm", "with_columns", "write_libsvm"]

# Entries of the registries by LIBSVM's names.
SVM_TYPES = {entry.libsvm_name: entry for entry in ESTIMATORS.values() if entry.libsvm_name}
KERNEL_TYPES = {entry.libsvm_name: entry for entry in KERNELS.values() if entry.libsvm_name}
# Columns of a model: LIBSVM numbers them by 32-bit integers.
LARGEST_INDEX = np.iinfo(np.int32).max
# What models of regression and of one class have for svm-predict -b 1: the scale of the errors,
# marks of the density. Nothing is computed with them here; they are written as they were read.
ONLY_KEPT = {"probA": "_probA", "prob_density_marks": "_density_marks"}
NUMBERS = {"degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "probB", "nr_sv"}
NUMBERS |= ONLY_KEPT.keys()


def is_libsvm(path: str | os.PathLike) -> bool:
    """Whether a file begins like one of LIBSVM's models."""
    return begins_with(path, b"svm_type ")


def read_libsvm(path: str | os.PathLike, n_features: int | None = None) -> tuple[Any, Schema]:
    """The model of a file of LIBSVM's, and how svmlight files become its rows.

    Such a file has neither C nor ν nor the rows of the training set, so there is no certificate.

    Parameters
    ----------
    path : path
    n_features : int, optional
        Columns of the rows to predict (of a precomputed kernel: training rows). The file does not
        say; by default it is the largest index of a support vector.

    Returns
    -------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Of classes with equal votes it predicts the one that comes first in the file, as
        svm-predict.
    schema : Schema

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.persistence import read_libsvm
    >>> text = "svm_type epsilon_svr\\nkernel_type linear\\nnr_class 2\\nrho -3\\nSV\\n2 1:5\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "line.model"
    ...     _ = file.write_text(text)
    ...     model, schema = read_libsvm(file)
    >>> model.predict([[0.5]])
    array([8.])
    """
    name = os.fspath(path)
    with as_file_errors(name, "cannot be read as a model of LIBSVM"):
        with open(path, encoding="utf-8") as file:
            lines = enumerate(file, start=1)
            header = _header(name, lines)
            coef, vectors = _read_vectors(name, lines, header)
        if n_features is not None:
            vectors = with_width(vectors, n_features)
        return _fitted(header, coef, vectors)


def _fitted(header: dict[str, Any], coef: np.ndarray, vectors: Any) -> tuple[Any, Schema]:
    model = _make_model(header)
    width = vectors.shape[1]
    classes = None
    if isinstance(model, (SVC, NuSVC)):
        classes, coef, b, vectors = _sort_classes(model, header, coef, vectors)
    else:
        b = -np.asarray(header["rho"][:1], np.float64)
        model._n_support = np.array([vectors.shape[0]], dtype=np.int32)
        for key in ONLY_KEPT:
            if header.get(key):
                setattr(model, ONLY_KEPT[key], np.array(header[key]))
    if isinstance(model, OneClassSVM):
        model.offset_ = -b
    blocks = None if classes is None else block_outputs(model._n_support)
    model.intercept_, model.dual_coef_ = b, sp.csr_matrix(coef)
    model.support_vectors_, model.n_features_in_, columns = vectors, width, None
    if model.kernel == "precomputed":  # each vector is a one in the column of its training row
        columns, model.support_vectors_ = vectors.indices, np.empty((0, 0))
        model.support_ = columns.astype(np.int32)
        model.dual_coef_ = coef
    support = Samples(model.support_vectors_)
    model.expansion_ = Expansion(model.kernel_, support, coef, b, blocks, columns)
    parameters = model.get_params(deep=False)
    state = {name: value for name, value in vars(model).items() if name not in parameters}
    check_before(type(model), parameters, state)
    try_model(model)
    task = "regression" if isinstance(model, (SVR, NuSVR)) else "classification"
    return model, Schema(
        columns=None,
        n_features=width,
        sparse=model.kernel != "precomputed",
        zero_based=model.kernel == "precomputed",  # lines begin with 0:i
        task=None if isinstance(model, OneClassSVM) else task,
        labels=None if classes is None else tuple(classes.tolist()),
    )


def write_libsvm(model: Any, path: str | os.PathLike) -> None:
    """Write an SVC, NuSVC, SVR, NuSVR or OneClassSVM as LIBSVM does.

    Labels that are no integers are written as their number in ``classes_``. Linear models have a
    format of their own: `write_liblinear`.
    """
    svm = ESTIMATORS.get(type(model).__name__)
    fitted = getattr(model, "kernel_", None)
    kernel = None if fitted is None else kernel_entry(fitted)
    if not (svm and svm.libsvm_name and kernel and kernel.libsvm_name):
        remedy = (
            "; linear models have LIBLINEAR's: write_liblinear" if hasattr(model, "coef_") else ""
        )
        raise FileError(
            os.fspath(path),
            None,
            "LIBSVM's format has SVC, NuSVC, SVR, NuSVR and OneClassSVM with linear, poly, rbf, "
            f"sigmoid or precomputed kernels, not {type(model).__name__}"
            + (f" with {fitted!r}" if fitted is not None else "")
            + remedy,
        )
    is_low_rank = hasattr(model, "duals_")
    if is_low_rank and (len(model.intercept_) > 1 or not len(model.support_)):
        reason = (
            f"a model with approximation={model.approximation!r} can be written in LIBSVM's format "
            "only if it has landmarks and one task; use mercer.save"
        )
        raise FileError(os.fspath(path), None, reason)
    header = {"svm_type": svm.libsvm_name, "kernel_type": kernel.libsvm_name}
    header |= {key: f"{getattr(model.kernel_, key):.17g}" for key in kernel.parameters}
    two = len(getattr(model, "classes_", ())) == 2
    sign = -1.0 if two else 1.0
    lines = _class_lines(model, -sign * model.intercept_)
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    vectors, first = sp.csr_matrix(model.support_vectors_), 1
    if kernel.libsvm_name == "precomputed":  # 0:i, the number of a training row from 1 on
        rows = model.expansion_.columns + 1.0
        shape, first = (rows.size, 1), 0
        vectors = sp.csr_matrix((rows, np.zeros(rows.size, int), np.arange(rows.size + 1)), shape)
    coef = sign * coef
    if hasattr(model, "_vote_order") and not np.all(np.diff(model._vote_order) > 0):
        coef, vectors = _in_order_of_labels(model._vote_order.tolist(), lines, coef, vectors)
    header |= {key: _join(value) for key, value in lines.items()}
    with writing(path) as file:
        for key, value in header.items():
            file.write(f"{key} {value}\n".encode())
        file.write(b"SV\n")
        for numbers, row in zip(coef.T, vectors, strict=True):
            entries = zip(row.indices + first, row.data, strict=True)
            words = [f"{number:.17g}" for number in numbers]
            words += [f"{index}:{value:.17g}" for index, value in entries]
            file.write((" ".join(words) + "\n").encode())


def _in_order_of_labels(
    rank: list[int], lines: dict[str, np.ndarray], coef: np.ndarray, vectors: Any
) -> tuple[np.ndarray, Any]:
    """Classes in the order of the file that was read (`_sort_classes`): ties of votes follow it."""
    k, full = len(rank), np.zeros_like(coef)
    members = np.split(np.arange(coef.shape[1]), np.cumsum(lines["nr_sv"])[:-1])
    number = {pair: t for t, pair in enumerate(pairs(k))}
    tasks = np.array([number[min(rank[i], rank[j]), max(rank[i], rank[j])] for i, j in pairs(k)])
    signs = np.array([1.0 if rank[i] < rank[j] else -1.0 for i, j in pairs(k)])
    for (first, second), sign in zip(pairs(k), signs, strict=True):
        i, j = rank[first], rank[second]
        full[second - 1, members[i]] = sign * coef[j - (j > i), members[i]]
        full[first, members[j]] = sign * coef[i - (i > j), members[j]]
    for key in lines.keys() & {"rho", "probA", "probB"}:
        lines[key] = lines[key][tasks] * (1.0 if key == "probA" else signs)
    lines["label"], lines["nr_sv"] = lines["label"][rank], lines["nr_sv"][rank]
    columns = np.concatenate([members[c] for c in rank])
    return full[:, columns], vectors[columns]


def _class_lines(model: Any, rho: np.ndarray) -> dict[str, np.ndarray]:
    """The header's lines about classes and support vectors."""
    classes = getattr(model, "classes_", None)
    lines = {
        "nr_class": np.array([2 if classes is None else classes.size]),
        "total_sv": np.array([model.n_support_.sum()]),
        "rho": rho,
    }
    if classes is None:
        kept = {key: getattr(model, name, None) for key, name in ONLY_KEPT.items()}
        lines |= {key: value for key, value in kept.items() if value is not None}
    else:
        whole = classes.dtype.kind in "iuf" and (classes == np.round(classes)).all()
        lines["label"] = classes.astype(int) if whole else np.arange(classes.size)
        for key, value in (("probA", model._probA), ("probB", model._probB)):
            if value.size:
                lines[key] = value
        lines["nr_sv"] = model.n_support_
    return lines


def with_width(vectors: Any, n_features: int) -> Any:
    """CSR rows with more columns."""
    if n_features < vectors.shape[1]:
        raise ValueError(
            f"n_features={n_features} is too small: a support vector has {vectors.shape[1]}"
        )
    parts = vectors.data, vectors.indices, vectors.indptr
    return sp.csr_matrix(parts, shape=(vectors.shape[0], n_features))


def with_columns(model: Any, n_features: int) -> Any:
    """The model for rows of more columns, in which its vectors or weights are zero.

    svm-predict takes rows with indices that no training row had; so does ``mercer predict``.
    """
    wider = copy.copy(model)
    wider.n_features_in_ = n_features
    old = getattr(model, "expansion_", None)
    if old is not None and old.columns is None:
        wider.support_vectors_ = with_width(sp.csr_matrix(old.support.X), n_features)
        wider.expansion_ = Expansion(
            old.kernel, Samples(wider.support_vectors_), old.coef, old.b, old.blocks
        )
    elif old is None:
        more = [(0, 0)] * (model.coef_.ndim - 1) + [(0, n_features - model.coef_.shape[-1])]
        wider.coef_ = np.pad(model.coef_, more)
    return wider


def _join(numbers: np.ndarray) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)


def _header(name: str, lines: Iterator[tuple[int, str]]) -> dict[str, Any]:
    words = {"svm_type": list(SVM_TYPES), "kernel_type": list(KERNEL_TYPES)}
    header, number = read_header(name, lines, "LIBSVM", "SV", words, NUMBERS)
    needed = ["svm_type", "kernel_type", "nr_class", "rho"]
    if header.get("svm_type") in ("c_svc", "nu_svc"):
        needed += ["label", "nr_sv"]
    needed += KERNEL_TYPES[header["kernel_type"]].parameters if "kernel_type" in header else ()
    require_keys(name, number, header, needed)
    return header


def _read_vectors(
    name: str, lines: Iterator[tuple[int, str]], header: dict[str, Any]
) -> tuple[np.ndarray, Any]:
    """Coefficients, one row per other class, and support vectors as CSR.

    Of a precomputed kernel, ``0:i`` becomes a one in column i − 1.
    """
    n_coef = int(header["nr_class"][0]) - 1 if "label" in header else 1
    is_precomputed = header["kernel_type"] == "precomputed"
    coef, data, indices, indptr = [], [], [], [0]
    for number, line in lines:
        words = line.split()
        try:
            coef.append([float(word) for word in words[:n_coef]])
            if "_" in line or not line.isascii():
                raise ValueError
            for word in words[n_coef:]:
                index, _, value = word.partition(":")
                if is_precomputed:
                    index, value = (str(int(float(value))), "1") if index == "0" else ("", "")
                indices.append(int(index) - 1)
                data.append(float(value))
        except ValueError:
            raise FileError(name, number, f"no support vector: {line[:60]!r}") from None
        own = indices[indptr[-1] :]
        rises = all(before < index for before, index in pairwise([-1, *own]))
        if len(coef[-1]) < n_coef or not rises or max(own, default=0) >= LARGEST_INDEX:
            raise FileError(name, number, f"no support vector: {line[:60]!r}")
        indptr.append(len(data))
        if is_precomputed and indptr[-1] - indptr[-2] != 1:
            raise FileError(name, number, f"no support vector: {line[:60]!r}")
    for key in ("total_sv", "nr_sv"):
        total = sum(header.get(key, [len(coef)]))
        if total != len(coef):
            raise FileError(
                name, None, f"has {len(coef)} support vectors, but {key} says {total:g}"
            )
    width = max(indices, default=0) + 1
    vectors = sp.csr_matrix((data, indices, indptr), shape=(len(coef), width), dtype=np.float64)
    return np.array(coef).reshape(-1, n_coef).T, vectors


def _make_model(header: dict[str, Any]) -> Any:
    """The estimator with the kernel's parameters, which are all that a file has."""
    kernel = KERNEL_TYPES[header["kernel_type"]]
    parameters = {key: header[key][0] for key in kernel.parameters}
    if "degree" in parameters:
        parameters["degree"] = int(parameters["degree"])
    model: Any = SVM_TYPES[header["svm_type"]].load()(kernel=kernel.names[0], **parameters)
    gamma = parameters.get("gamma", 0.0)
    model._gamma = gamma
    model.kernel_ = kernel.make(gamma=gamma, degree=model.degree, coef0=model.coef0)
    model.fit_status_ = 0
    return model


def _sort_classes(
    model: Any, header: dict[str, Any], coef: np.ndarray, vectors: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
    """Classes in sorted order, and coefficients, intercepts and vectors as they ask for."""
    labels = np.array(header["label"]).astype(int)
    k = labels.size
    n_pairs = k * (k - 1) // 2
    for key, length in (("nr_class", 1), ("nr_sv", k), ("rho", n_pairs)):
        if len(header[key]) != length:
            raise ValueError(f"{key} has {len(header[key])} numbers for {k} labels")
    for key in ("probA", "probB"):
        if len(header.get(key, ())) not in (0, n_pairs):
            raise ValueError(f"{key} has {len(header[key])} numbers for {k} labels")
    if int(header["nr_class"][0]) != k or len(np.unique(labels)) != k:
        raise ValueError(f"the labels {header['label']} are not {header['nr_class'][0]:g} classes")
    order = np.argsort(labels)
    rank = np.argsort(order)
    counts = np.array(header["nr_sv"]).astype(int)
    members = np.split(np.arange(coef.shape[1]), np.cumsum(counts)[:-1])
    full = np.zeros_like(coef)
    for c, columns in enumerate(members):  # of the file's class c, against each other one
        others = np.delete(np.arange(k), c)
        rows = rank[others] - (rank[others] > rank[c])
        turned = (rank[others] > rank[c]) != (others > c)
        signs = np.where(turned != (k == 2), -1.0, 1.0)
        full[np.ix_(rows, columns)] = signs[:, np.newaxis] * coef[:, columns]
    # The file's pairs, and the places of these in the order of the sorted classes.
    first, second = (rank[ends] for ends in np.triu_indices(k, 1))
    low, high = np.minimum(first, second), np.maximum(first, second)
    tasks = low * (2 * k - low - 3) // 2 + high - 1
    is_turned = (first > second) != (k == 2)
    b, sigmoids = np.zeros(n_pairs), {}
    b[tasks] = np.where(is_turned, 1.0, -1.0) * header["rho"]
    for key in ("probA", "probB"):
        values = np.array(header.get(key, ()))
        sigmoids[key] = np.zeros(values.size)
        if values.size:
            turned = (first > second) & (key == "probB")
            sigmoids[key][tasks] = np.where(turned, -values, values)
    columns = np.concatenate([members[c] for c in order])
    model.classes_, model.class_weight_ = labels[order], np.ones(k)
    model._probA, model._probB = sigmoids["probA"], sigmoids["probB"]
    if model._probA.size:
        model.probability, model._couples_as_libsvm = True, "several classes"
    model._n_support = counts[order].astype(np.int32)
    if k == 2 or not np.array_equal(order, np.arange(k)):
        model._vote_order = rank
    return model.classes_, full[:, columns], b, vectors[columns]
