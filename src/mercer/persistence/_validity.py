"""Whether what a model file holds is a model: checked before anything is computed with it.

Compiled code relies on the shapes and indices that it is given, and a checksum shows damage, not
intent. `_model_arrays` says what the arrays of a fitted model are. At last the model computes the
values of one row, so that whatever fails for any row fails here and not later.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._expansion import Expansion
from mercer._result import Status
from mercer.certificates._certificate import Certificate
from mercer.certificates._residuals import EigenCertificate, RidgeCertificate
from mercer.estimators.mkl._joint_gap import JointCertificate
from mercer.gram._machine import memory_bytes
from mercer.kernels import Callable, Graph, Kernel, Linear, Precomputed
from mercer.kernels.tables._table import Table
from mercer.persistence._model_arrays import ATTRIBUTES, PARTS, REQUIRED, SHARED, Array

__all__ = ["LIMITS", "check_before", "check_text_size", "try_model"]

CERTIFICATES = (Certificate, RidgeCertificate, EigenCertificate, JointCertificate)


@dataclass(frozen=True)
class FileLimits:
    """What a file may ask for; ``nesting`` is what is written."""

    threads: int = 4096  # n_jobs
    nesting: int = 160  # objects within objects, such as kernels: Python's stack has 1,000 calls
    power: int = 10_000  # integer parameters of kernels, such as a degree
    tried_columns: int = 10_000_000  # of the row of zeros on which a model is tried
    polynomial_columns: int = 1_000_000  # that PolynomialFeatures makes, one after the other
    graph_nodes: int = 1_000_000  # of all graphs, but for nodes of edges: nothing else holds them
    tried_work: float = 1e7  # operations of a value between objects, about, on which one is tried
    step_work: float = 1e5  # of a step of those that a parameter of a kernel counts, at the least
    text_characters: int = 1 << 26  # of an array, where each text takes the space of the longest
    memory_ratio: float = 0.25  # of the computer's memory, for the weights of a linear kernel


LIMITS = FileLimits()


def check_text_size(items: list[str]) -> None:
    if len(items) * max(map(len, items), default=0) > LIMITS.text_characters:
        raise ValueError("an array of texts is too large")


def check_before(cls: type, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Refuse fitted attributes of ``cls`` that do not fit each other; raises a ValueError."""
    n_jobs: Any = parameters.get("n_jobs")
    is_number = isinstance(n_jobs, (int, np.integer))
    if n_jobs is not None and not (is_number and 0 < abs(int(n_jobs)) <= LIMITS.threads):
        raise ValueError(f"n_jobs={n_jobs!r} is no number of threads")
    for kernel in (parameters.get("kernel"), state.get("kernel_")):
        if isinstance(kernel, Kernel):
            _check_kernel(kernel)
    if cls.__name__ == "PolynomialFeatures":
        _check_polynomials(cls, parameters, state)
    for name in REQUIRED.get(cls.__name__, ()):
        if name not in state:
            raise ValueError(f"it has no {name}")
    sizes = _known_sizes(state)
    for name, array in ATTRIBUTES.items():
        if name in state and not _is_scalar_intercept(name, state):
            array.check(name, state[name], sizes)
    for part in _parts(list(state.values())):
        _check_part(part, state, sizes)
    _check_classes(state)
    if cls.__name__ == "MKL" and type(state["estimator_"]).__name__ not in ("SVC", "SVR"):
        raise ValueError("estimator_ is neither an SVC nor an SVR")
    _check_certificates(state)
    _check_relations(state, sizes)


def _check_polynomials(cls: type, parameters: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """The columns that are made are as many as the parameters say, and not too many."""
    degree, d = parameters["degree"], state["n_features_in_"]
    ends = degree if isinstance(degree, tuple) else (degree,)
    if not all(_is_size(end) and end <= LIMITS.power for end in ends):
        raise ValueError(f"degree={degree!s:.40} of polynomials is none, or too large")
    if not _is_size(d) or d > LIMITS.polynomial_columns:
        raise ValueError(f"polynomials of {d!s:.40} columns are too many")
    counted = vars(cls(**parameters).fit(np.zeros((1, d))))
    if any(counted[name] != state[name] for name in counted.keys() & state.keys()):
        raise ValueError("the polynomials do not fit their degree")
    if max(value for value in counted.values() if _is_size(value)) > LIMITS.polynomial_columns:
        raise ValueError("there are too many polynomials")


def _known_sizes(state: Mapping[str, Any]) -> dict[str, int]:
    """Dimensions that a file states as numbers."""
    sizes: dict[str, int] = {}
    d, shape, last = (state.get(name) for name in ("n_features_in_", "shape_fit_", "_last"))
    if d is not None:
        if type(d) is not int or d < 0:
            raise ValueError(f"n_features_in_={d!r} is no number of columns")
        sizes["d"] = d
    if shape is not None:
        if not (isinstance(shape, tuple) and shape and all(_is_size(size) for size in shape)):
            raise ValueError("shape_fit_ is no shape")
        sizes["r"] = shape[0]
    if last is not None:
        sizes["N"], columns = last.shape
        if not _is_size(sizes["N"]) or columns != d:
            raise ValueError("the last solutions do not fit the model")
    return sizes


def _is_size(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_scalar_intercept(name: str, state: Mapping[str, Any]) -> bool:
    return name == "intercept_" and "expansion_" not in state and bool(np.isscalar(state[name]))


def _parts(values: list[Any]) -> Iterator[Any]:
    """The objects of `PARTS` in a fitted state, also those in lists and in other objects."""
    while values:
        value = values.pop()
        name = type(value).__name__
        if name in PARTS:
            yield value
        elif isinstance(value, (list, tuple)):
            values += value
        elif hasattr(type(value), "__dataclass_fields__"):
            values += [getattr(value, field.name) for field in fields(value)]


def _check_part(part: Any, state: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    name = type(part).__name__
    own = {dim: sizes[dim] for dim in SHARED if dim in sizes}
    if name == "Expansion":
        own.pop("t", None)
    elif name == "Duals":
        if not all(_is_size(size) for size in part.sizes):
            raise ValueError("the duals have no sizes")
        own["V"] = sum(part.sizes)
    elif name == "PegasosState":
        own["q"] = state["coef_"].shape[1] + 1 if "coef_" in state else part.size
        if part.size != own["q"]:
            raise ValueError("the parts of the descent do not fit each other")
    try:
        for field, array in PARTS[name].items():
            array.check(field, getattr(part, field), own)
    except ValueError as error:
        raise ValueError(f"parts of {name} do not fit each other ({error})") from error
    if name == "Expansion":
        _check_expansion(part, state)
    if name == "StepMaps":
        ends = part.starts
        rises = ends.size > 1 and ends[0] == 0 and ends[-1] == part.knots.size
        if not rises or (np.diff(ends) <= 0).any() or ends.size - 1 != own.get("t", ends.size - 1):
            raise ValueError("parts of StepMaps do not fit each other")
    if name == "LinearResult":
        columns = part.beta.shape[1:]
        fits = np.shape(part.b) == columns and part.w.shape[:-1] == columns
        if not fits or not np.isfinite(part.b).all():
            raise ValueError("parts of LinearResult do not fit each other")


def _check_kernel(kernel: Kernel) -> None:
    for part in kernel.get_params(deep=True).values():
        if isinstance(part, int) and part > LIMITS.power:
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
    """Compiled code relies on what the constructor assumes."""
    coef, b, support, columns = expansion.coef, expansion.b, expansion.support, expansion.columns
    if np.shape(state.get("intercept_", b)) != b.shape:
        raise ValueError("intercept_ and the expansion do not fit each other")
    if not isinstance(expansion.kernel, Kernel):
        raise ValueError("the expansion holds something else than a kernel")
    _check_kernel(expansion.kernel)
    if support.origin is not None:
        Array("d", "float64").check("the origin", support.origin, {"d": support.d})
    n, outputs = expansion.n_support, b.size
    blocks = all(
        _is_size(start)
        and _is_size(stop)
        and start <= stop <= n
        and _is_index(which, outputs)
        and len(which) == coef.shape[0] == len(np.unique(which))
        for start, stop, which in expansion.blocks
    )
    d = state.get("n_features_in_")
    if columns is not None:
        known = d if type(d) is int else 1 << 40
        end = known if isinstance(expansion.kernel, Precomputed) else support.n
        fits = _is_index(columns, end) and len(columns) == n
    else:
        fits = support.n == n
    if not (blocks and fits and 0 < coef.shape[0] <= outputs):
        raise ValueError("the parts of the expansion do not fit each other")
    if not isinstance(expansion.kernel, Precomputed) and not support.are_objects:
        _check_rows(support.X, d)
    weights = 8 * outputs * support.d
    if isinstance(expansion.kernel, Linear) and weights > LIMITS.memory_ratio * memory_bytes():
        raise ValueError(f"the weights of {support.d:,} columns need {weights / 1e9:.1f} GB")


def _check_rows(X: Any, d: Any) -> None:
    """Rows of numbers, dense or CSR, of a type that kernels take."""
    values = X.data if sp.issparse(X) else X
    types = ("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8")
    if values.dtype.str[1:] not in types or not values.dtype.isnative:
        raise ValueError(f"support vectors cannot be of the type {values.dtype}")
    if X.ndim != 2 or (d is not None and X.shape[1] != d):
        raise ValueError(f"the support vectors have shape {X.shape}, but rows have {d} columns")
    if not np.isfinite(values).all():
        raise ValueError("the support vectors hold NaN or infinity")


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


def _check_certificates(state: Mapping[str, Any]) -> None:
    """What is stated about the model: numbers, and one certificate for each task."""
    for name in ("certificate_", "_proof"):
        if name not in state:
            continue
        stated = state[name]
        if not isinstance(stated, CERTIFICATES):
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
        "float": (float, int, np.floating, np.integer),
        "int": (int, np.integer),
        "str": str,
        "Status": Status,
        "tuple": tuple,
        "Certificate": Certificate,
    }
    for field in fields(stated):
        value, kind = getattr(stated, field.name), str(field.type).split("[")[0]
        if not isinstance(value, kinds.get(kind, object)) or isinstance(value, bool):
            raise ValueError(f"{field.name} of a certificate cannot be {str(value)[:40]!r}")
    repr(stated)


def _check_relations(state: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Numbers of rows, support vectors and updates, against each other."""
    expansion, support = state.get("expansion_"), state.get("support_")
    if support is not None:
        if isinstance(expansion, Expansion) and len(support) != expansion.n_support:
            raise ValueError("support_ and the expansion do not fit each other")
        counts = state.get("_n_support")
        if counts is not None and counts.sum() != len(support):
            raise ValueError("_n_support and support_ do not fit each other")
    classes = state.get("classes_")
    for name in ("_n_support", "n_support_"):
        if classes is not None and name in state and len(state[name]) != len(classes):
            raise ValueError(f"{name} and classes_ do not fit each other")
    if "_duals" in state and "_support_rows" not in state:
        raise ValueError("the duals are of no rows")
    k = state.get("_k", 1)
    if "_k" in state and not (_is_size(k) and 0 < k < sizes.get("n", 0)):
        raise ValueError("the number of neighbours does not fit the rows")
    last = state.get("_last")
    if last is not None:
        if len(last.models) != len(last.C):
            raise ValueError("the last solutions do not fit their C")
        for cost in last.C:
            Array("N", "float64").check("C of the last solutions", cost, dict(sizes))
    steps, survival = state.get("_steps", []), state.get("survival_", [])
    if len(steps) != len(survival):
        raise ValueError("the updates do not fit each other")
    for (slots, signs), counts in zip(steps, survival, strict=True):  # of a perceptron
        own = {"s": sizes.get("s", 0)}
        Array("u", "count", below="s").check("an update", slots, own)
        Array("u", "float64").check("signs of updates", signs, own)
        Array("u", "count").check("survival_", counts, own)


def _holds_objects(expansion: Expansion) -> bool:
    return expansion.support.are_objects and expansion.support.n > 0


def _work(expansion: Any) -> float:
    """About the operations of a value of an object: products of sizes, for each step of a kernel.

    Values of large objects take more time than the size of a file suggests; those of graphs may
    need a matrix of all nodes and its eigenvalues.
    """
    parts = expansion.kernel.get_params(deep=True).values()
    rows = expansion.support.X
    items = [] if isinstance(rows, Table) else list(rows)
    sizes = [1, *map(_size, items)]
    graphs = [item for item in (*parts, *items) if isinstance(item, Graph)]
    of_graphs = max((float(graph.n) ** 3 for graph in graphs), default=0.0)
    steps = max((part for part in parts if isinstance(part, int)), default=1)
    return of_graphs + steps * max(float(sum(sizes)) * max(sizes), LIMITS.step_work)


def _size(item: Any) -> int:
    if isinstance(item, Graph):
        return int(item.n) + len(item.edges)
    return max(len(item), 1) if isinstance(item, (str, bytes, list, tuple, np.ndarray)) else 1


def try_model(model: Any) -> None:
    """Compute the values of a row of zeros (of objects: the first one that the model holds).

    What fails there would fail for any row. Objects whose values take long are not tried.
    """
    d = getattr(model, "n_features_in_", None)
    expansion = getattr(getattr(model, "best_estimator_", model), "expansion_", None)
    rows: Any = expansion.support.X if isinstance(expansion, Expansion) else None
    holds_objects = isinstance(expansion, Expansion) and _holds_objects(expansion)
    kernels = getattr(model, "kernel_", None), getattr(expansion, "kernel", None)
    if (d is None and not holds_objects) or any(map(_has_function, kernels)):
        return
    if d is not None and d > LIMITS.tried_columns:
        return
    if holds_objects and _work(expansion) > LIMITS.tried_work:
        return
    is_sparse = sp.issparse(rows) or sp.issparse(getattr(model, "_rows", None))
    row: Any = rows[:1] if holds_objects else np.zeros((1, d or 0))
    row = sp.csr_matrix(row) if is_sparse else row
    methods = ("decision_function", "predict", "predict_proba", "transform", "score_samples")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in methods:
            if hasattr(model, method):
                found = getattr(model, method)(row)
                if np.shape(found)[:1] != (1,):
                    raise ValueError(f"{method} of one row gives an array of {np.shape(found)}")
