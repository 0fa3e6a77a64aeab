"""Whether what a model file holds is a model: checked before anything is computed with it.

Compiled code believes the shapes and indices that it is given, and a checksum shows damage, not
intent. So every array is compared with the others: number of dimensions, shapes, types, ranges of
indices, finite numbers. At last the model is asked for the values of one row, so that whatever
cannot be computed with is found here and not later.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._expansion import Expansion
from mercer._result import Status
from mercer.certificates._certificate import Certificate
from mercer.certificates._residuals import EigenCertificate, RidgeCertificate
from mercer.data._schema import Column, Schema
from mercer.kernels import Callable, Kernel, Linear

__all__ = ["check_before", "check_schema", "check_text_size", "try_model"]

# Types that rows of numbers have.
ROW_TYPES = frozenset(("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8"))
# The attributes of which each dimension has a name; the same name is the same number everywhere in
# a model: k classes, s support vectors, d columns, n training rows, t tasks, c components, p pairs.
SHAPES: dict[str, tuple[tuple, ...]] = {
    "classes_": (("k",),),
    "class_weight_": (("k",),),
    "support_": (("s",),),
    "_support_rows": (("s",),),
    "support_vectors_": (("s", "d"), ("s",), (0, 0)),
    "intercept_": (("t",),),
    "offset_": (("t",),),
    "coef_": (("t", "d"), ("d",)),
    "_probA": (("p",),),
    "_probB": (("p",),),
    "X_fit_": (("n", "d"), ("n",)),
    "eigenvectors_": (("n", "c"),),
    "eigenvalues_": (("c",),),
    "_rows": (("n", "d"),),
    "embedding_": (("n", "c"),),
    "center_norms_": (("c",),),
    "labels_": (("n",),),
    "_codes": (("n",),),
}
# Arrays of numbers of rows, columns, classes: whole and not negative.
COUNTS = frozenset(
    ("support_", "_support_rows", "_n_support", "n_support_", "landmarks_", "labels_", "_codes")
)
_KERNEL_MACHINE = ("kernel_", "expansion_", "intercept_", "_n_support")
_LINEAR_MACHINE = ("n_features_in_", "coef_", "intercept_")
# What a fitted estimator has in any case.
NEEDED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("SVC", "NuSVC"), (*_KERNEL_MACHINE, "classes_", "class_weight_")),
    **dict.fromkeys(("SVR", "NuSVR", "OneClassSVM"), _KERNEL_MACHINE),
    **dict.fromkeys(("LinearSVC", "LogisticRegression"), (*_LINEAR_MACHINE, "classes_",
                                                          "class_weight_")),
    "LinearSVR": _LINEAR_MACHINE,
    "KernelRidge": ("kernel_", "expansion_", "X_fit_", "dual_coef_", "alpha_", "certificate_"),
    "KernelPCA": ("kernel_", "expansion_", "X_fit_", "eigenvectors_", "eigenvalues_",
                  "certificate_"),
    "KernelLogisticRegression": ("kernel_", "expansion_", "classes_", "class_weight_", "support_",
                                 "dual_coef_", "intercept_"),
    **dict.fromkeys(("PegasosClassifier", "PegasosRegressor"), ("lam_", "kernel_", "intercept_")),
}  # fmt: skip
# Arrays that predictions are computed from.
FINITE = frozenset(SHAPES) | {"dual_coef_"}
MOST_THREADS = 4096
LARGEST_POWER = 10_000
# Columns of the row that a model is tried on.
MOST_TRIED = 10_000_000
# Characters of an array of texts.
MOST_CHARACTERS = 1 << 26
METHODS = ("decision_function", "predict", "predict_proba", "transform", "score_samples")


def check_text_size(items: list[str]) -> None:
    """NumPy gives every text the room of the longest one."""
    if len(items) * max(map(len, items), default=0) > MOST_CHARACTERS:
        raise ValueError("an array of texts is too large")


def check_before(cls: type, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Refuse fitted attributes of ``cls`` that do not fit each other; raises a ValueError."""
    n_jobs: Any = parameters.get("n_jobs")
    is_number = isinstance(n_jobs, (int, np.integer))
    if n_jobs is not None and not (is_number and 0 < abs(int(n_jobs)) <= MOST_THREADS):
        raise ValueError(f"n_jobs={n_jobs!r} is no number of threads")
    for kernel in (parameters.get("kernel"), state.get("kernel_")):
        if isinstance(kernel, Kernel):
            _check_kernel(kernel)
    for name in NEEDED.get(cls.__name__, ()):
        if name not in state:
            raise ValueError(f"it has no {name}")
    sizes = _sizes(state)
    for name, value in state.items():
        _check_numbers(name, value)
        if isinstance(value, Expansion):
            _check_expansion(value, state)
    _check_classes(state)
    _check_certificates(state)
    _check_counts(state, sizes)
    _check_kept_steps(state, sizes)


def _sizes(state: Mapping[str, Any]) -> dict[str, int]:
    """The number that each name of a dimension stands for."""
    d = state.get("n_features_in_")
    sizes: dict[str, int] = {}
    if d is not None:
        if type(d) is not int or d < 0:
            raise ValueError(f"n_features_in_={d!r} is no number of columns")
        sizes["d"] = d
    for name, forms in SHAPES.items():
        if name not in state:
            continue
        shape = getattr(state[name], "shape", None)
        if shape is None:
            if name == "intercept_" and "expansion_" not in state and np.isscalar(state[name]):
                continue
            raise ValueError(f"{name} is no array")
        if shape == (0, 0) and (0, 0) in forms:
            continue
        for form in forms:
            if len(form) == len(shape) and all(
                isinstance(key, str) and sizes.get(key, size) == size
                for key, size in zip(form, shape, strict=True)
            ):
                sizes.update(zip(form, shape, strict=True))
                break
        else:
            raise ValueError(f"{name} of shape {shape} does not fit the other arrays")
    return sizes


def _check_numbers(name: str, value: Any) -> None:
    """Finite floats, and whole numbers where they count."""
    if name == "dual_coef_" and not hasattr(value, "shape"):
        raise ValueError("dual_coef_ is no array")
    if sp.issparse(value):
        value = value.data
    if not isinstance(value, np.ndarray):
        return
    if name in COUNTS:
        if value.dtype.kind != "i" or value.ndim != 1 or np.min(value, initial=0) < 0:
            raise ValueError(f"{name} must hold whole numbers that are not negative")
    elif name not in FINITE or name == "classes_" or value.dtype == object:
        return
    elif value.dtype.kind not in "fiu" or not np.isfinite(value).all():
        raise ValueError(f"{name} holds something else than finite numbers")
    if name == "coef_" and value.dtype.kind != "f":
        raise ValueError("coef_ must hold floats")


def _check_kernel(kernel: Kernel) -> None:
    for part in kernel.get_params(deep=True).values():
        if isinstance(part, int) and part > LARGEST_POWER:
            raise ValueError(f"the power {part} of a kernel is too large")


def _has_function(kernel: Any) -> bool:
    if not isinstance(kernel, Kernel):
        return False
    parts = kernel.get_params(deep=True).values()
    return isinstance(kernel, Callable) or any(isinstance(part, Callable) for part in parts)


def _is_index(array: Any, end: int) -> bool:
    """Whether an array is one of whole numbers from 0 to below ``end``."""
    return (
        isinstance(array, np.ndarray)
        and array.ndim == 1
        and array.dtype.kind in "iu"
        and (array.size == 0 or (array.min() >= 0 and array.max() < end))
    )


def _check_expansion(expansion: Expansion, state: Mapping[str, Any]) -> None:
    """Compiled code relies on what a constructor takes for granted."""
    coef, b, support, columns = expansion.coef, expansion.b, expansion.support, expansion.columns
    intercept = state.get("intercept_", b)
    if np.shape(intercept) != b.shape:
        raise ValueError("intercept_ and the expansion do not fit each other")
    floats = [coef, b] + ([] if support.origin is None else [support.origin])
    if not isinstance(expansion.kernel, Kernel) or not all(
        isinstance(a, np.ndarray) and a.dtype == np.float64 and np.isfinite(a).all() for a in floats
    ):
        raise ValueError("the expansion holds something else than a kernel and finite numbers")
    _check_kernel(expansion.kernel)
    n, outputs = expansion.n_support, b.size
    blocks = all(
        type(start) is int and type(stop) is int and 0 <= start <= stop <= n
        and _is_index(which, outputs) and len(which) == coef.shape[0] == len(np.unique(which))
        for start, stop, which in expansion.blocks
    )  # fmt: skip
    d = state.get("n_features_in_")
    if columns is not None:
        held = _is_index(columns, d if type(d) is int else 1 << 40) and len(columns) == n
    else:
        held = support.n == n
    if not (blocks and held and coef.ndim == 2 and b.ndim == 1 and 0 < coef.shape[0] <= outputs):
        raise ValueError("the parts of the expansion do not fit each other")
    if columns is None and not support.are_objects:
        _check_rows(support.X, d)
    if support.origin is not None and support.origin.shape != (support.d,):
        raise ValueError("the origin and the support vectors do not fit each other")
    weights = 8 * outputs * support.d
    if isinstance(expansion.kernel, Linear) and weights > _memory() // 4:
        raise ValueError(f"the weights of {support.d:,} columns need {weights / 1e9:.1f} GB")


def _check_rows(X: Any, d: Any) -> None:
    """Rows of numbers, dense or CSR, of a type that kernels take."""
    values = X.data if sp.issparse(X) else X
    if values.dtype.str[1:] not in ROW_TYPES or not values.dtype.isnative:
        raise ValueError(f"support vectors cannot be of the type {values.dtype}")
    if X.ndim != 2 or (d is not None and X.shape[1] != d):
        raise ValueError(f"the support vectors have shape {X.shape}, but rows have {d} columns")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("the support vectors hold NaN or infinity")


def _memory() -> int:
    """Bytes of this machine's memory."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 34


def _check_classes(state: Mapping[str, Any]) -> None:
    classes, expansion = state.get("classes_"), state.get("expansion_")
    if classes is None:
        return
    k = len(classes)
    if k < 2 or not all(type(a) is type(b) and a < b for a, b in pairwise(classes)):
        raise ValueError("classes_ must be two or more labels in their order")
    if isinstance(expansion, Expansion):
        allowed = {1} if k == 2 else {k, k * (k - 1) // 2}
        if expansion.b.size not in allowed:
            raise ValueError(f"{expansion.b.size} decision values do not fit {k} classes")
    if "_codes" in state and np.max(state["_codes"], initial=0) >= k:
        raise ValueError("the numbers of the classes go beyond the classes")


def _check_certificates(state: Mapping[str, Any]) -> None:
    """What is stated about the model: numbers, and one certificate for each task."""
    for name in ("certificate_", "_proof"):
        if name not in state:
            continue
        stated = state[name]
        if not isinstance(stated, (Certificate, RidgeCertificate, EigenCertificate)):
            raise ValueError(f"{name} is no certificate")
        _check_fields(stated)
        tasks = getattr(stated, "tasks", ())
        if tasks and len(tasks) != np.size(state.get("intercept_", tasks)):
            raise ValueError("the certificates do not fit the tasks")
        for task in tasks:
            if not isinstance(task, Certificate) or task.tasks:
                raise ValueError("the certificate of a task is something else")
            _check_fields(task)


def _check_fields(stated: Any) -> None:
    """Every field is of the kind that its class declares."""
    kinds: dict[str, Any] = {
        "float": (float, int, np.floating, np.integer), "int": (int, np.integer), "str": str,
        "Status": Status, "tuple": tuple,
    }  # fmt: skip
    for field in fields(stated):
        value, kind = getattr(stated, field.name), str(field.type).split("[")[0]
        if not isinstance(value, kinds.get(kind, object)) or isinstance(value, bool):
            raise ValueError(f"{field.name} of a certificate cannot be {str(value)[:40]!r}")
    repr(stated)


def _check_counts(state: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Numbers of rows and support vectors, against each other."""
    shape = state.get("shape_fit_")
    if shape is not None and not (
        isinstance(shape, tuple) and shape and all(type(v) is int and v >= 0 for v in shape)
    ):
        raise ValueError("shape_fit_ is no shape")
    expansion = state.get("expansion_")
    support = state.get("support_")
    if isinstance(support, np.ndarray):
        if isinstance(expansion, Expansion) and len(support) != expansion.n_support:
            raise ValueError("support_ and the expansion do not fit each other")
        for rows in (support, state.get("_support_rows", support)):
            if shape is not None and np.max(rows, initial=-1) >= shape[0]:
                raise ValueError("support_ goes beyond the training rows")
        counts = state.get("_n_support")
        if counts is not None and counts.sum() != len(support):
            raise ValueError("_n_support and support_ do not fit each other")
    if "_duals" in state and "_support_rows" not in state:
        raise ValueError("the duals are of no rows")
    if "_k" in state and (type(state["_k"]) is not int or not 0 < state["_k"] < sizes.get("n", 0)):
        raise ValueError("the number of neighbours does not fit the rows")


def _check_kept_steps(state: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """What fits go on from: the duals, Pegasos' sums, a perceptron's updates."""
    duals = state.get("_duals")
    if duals is not None:
        if not all(type(size) is int and size >= 0 for size in duals.sizes):
            raise ValueError("the duals have no sizes")
        if not _is_index(duals.index, sum(duals.sizes)) or not _is_floats(
            duals.values, duals.index.shape
        ):
            raise ValueError("the duals do not fit each other")
    for step in state.get("_states", []):  # Pegasos
        size = state["coef_"].shape[1] + 1 if "coef_" in state else step.size
        fits = step.size == size and all(_is_floats(a, (size,)) for a in (step.u, step.total))
        if not fits or not _is_floats(step.sign_sums, step.sign_sums.shape[:1]):
            raise ValueError("the parts of the descent do not fit each other")
    if state.get("_last") is not None:
        _check_last(state["_last"], sizes)
    steps, survival = state.get("_steps", []), state.get("survival_", [])
    if len(steps) != len(survival):
        raise ValueError("the updates do not fit each other")
    for (slots, signs), counts in zip(steps, survival, strict=True):
        if not (
            _is_index(slots, sizes.get("s", 0))
            and _is_floats(signs, slots.shape)
            and _is_index(counts, 1 << 62)
            and counts.shape == slots.shape
        ):
            raise ValueError("the updates do not fit each other")


def _check_last(last: Any, sizes: Mapping[str, int]) -> None:
    """The warm start of a linear model: solutions for n rows of d columns."""
    n, d = last.shape
    if type(n) is not int or d != sizes.get("d") or len(last.models) != len(last.C):
        raise ValueError("the last solutions do not fit the model")
    for model, C in zip(last.models, last.C, strict=True):
        for one in (model.solution, model.bounded):
            end = one.beta.shape[1:]  # a column for each class, of all classes at once
            fits = _is_floats(one.beta, (n, *end)) and _is_floats(one.g, (n, *end))
            fits = fits and all(_is_floats(w, (*end, d)) for w in (one.w, one.w_beta))
            if not fits or np.shape(one.b) != end or not np.isfinite(one.b).all():
                raise ValueError("the last solutions do not fit each other")
        if not _is_floats(C, (n,)):
            raise ValueError("the C of the last solutions do not fit")


def _is_floats(array: Any, shape: tuple) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.dtype == np.float64
        and array.shape == shape
        and bool(np.isfinite(array).all())
    )


def check_schema(schema: Schema, model: Any) -> None:
    """A schema must make rows that the model takes."""
    n = schema.n_features
    columns = schema.columns
    if type(n) is not int or n < 0 or n != getattr(model, "n_features_in_", n):
        raise ValueError(f"the schema has {n!r} columns, but the model takes others")
    if columns is not None:
        names = isinstance(columns, tuple) and all(
            isinstance(c, Column)
            and isinstance(c.name, str)
            and (c.categories is None or _are_texts(c.categories))
            and isinstance(c.fill, (str, float, int, np.number, type(None)))
            for c in columns
        )
        if not names or len(schema.feature_names or ()) != n:
            raise ValueError("the columns of the schema do not fit the model")
    for part in (schema.shift, schema.factor):
        if part is not None and not _is_floats(part, (n,)):
            raise ValueError("the scaling of the schema does not fit the model")
    if schema.shift is not None and (schema.sparse or schema.factor is None):
        raise ValueError("the scaling of the schema contradicts itself")
    for value, kind in (
        (schema.sparse, bool), (schema.zero_based, bool), (schema.target, (str, type(None))),
        (schema.scaling, (str, type(None))), (schema.labels, (tuple, type(None))),
    ):  # fmt: skip
        if not isinstance(value, kind):
            raise ValueError(f"the schema has {value!r} in a wrong place")
    if schema.task not in (None, "classification", "regression"):
        raise ValueError(f"the schema has the task {schema.task!r}")


def _are_texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) for value in values)


def try_model(model: Any) -> None:
    """Ask for the values of a row of zeros; what fails there would fail for any row."""
    d = getattr(model, "n_features_in_", None)
    expansion = getattr(model, "expansion_", None)
    if d is None or d > MOST_TRIED or _has_function(getattr(model, "kernel_", None)):
        return
    rows = expansion.support.X if isinstance(expansion, Expansion) else None
    is_sparse = sp.issparse(rows) or sp.issparse(getattr(model, "_rows", None))
    row: Any = sp.csr_matrix((1, d)) if is_sparse else np.zeros((1, d))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in METHODS:
            if hasattr(model, method):
                found = getattr(model, method)(row)
                if np.shape(found)[:1] != (1,):
                    raise ValueError(f"{method} of one row gives an array of {np.shape(found)}")
