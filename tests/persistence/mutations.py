"""Model files whose content was changed and whose checksum fits: one change at a time."""

from __future__ import annotations

import copy
import json
import warnings
from contextlib import suppress

import numpy as np

import mercer
from mercer.exceptions import FileError
from mercer.persistence import _container as container

VALUES = (
    None, True, -1, 0, 1, 7, 2**31, 2**42, 2**70, 1e308, -0.5, "", "x", [], {}, [0], [[]],
    {"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"tuple": [2**42, 3]}, {"dict": []},
    {"items": ["a", "b"], "shape": [2], "kind": "U"}, {"items": [1], "shape": [2**40], "kind": "O"},
    {"status": "SOLVED"}, {"function": "f"}, {"scalar": ["<f8", 1.0]}, {"object": "RBF", "of": {}},
    {"object": "RBF", "of": {"gamma": 1.0}}, {"object": "Polynomial", "of": {"degree": 2**40,
     "gamma": 1.0, "coef0": 1.0}}, {"object": "Constant", "of": {"value": 1e300}},
)  # fmt: skip


def places(node, path=()):
    """All places in a JSON tree."""
    if path:
        yield path
    inner = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in inner:
        yield from places(value, (*path, key))


def put(tree, path, value):
    for key in path[:-1]:
        tree = tree[key]
    tree[path[-1]] = value


def remove(tree, path):
    for key in path[:-1]:
        tree = tree[key]
    del tree[path[-1]]


def change_header(rng, header, names):
    """Another value, another array, or nothing, at one place."""
    every = [path for path in places(header) if path[0] in ("class", "parameters", "state")]
    path = every[rng.integers(len(every))]
    what = rng.integers(8)
    if what == 0:
        remove(header, path)
    elif what == 1 and names:
        put(header, path, {"array": names[rng.integers(len(names))]})
    elif what == 2:
        other = every[rng.integers(len(every))]
        node = header
        for key in other:
            node = node[key]
        put(header, path, copy.deepcopy(node))
    else:
        put(header, path, copy.deepcopy(VALUES[rng.integers(len(VALUES))]))


def change_array(rng, array):
    """Another shape, type or content."""
    what = rng.integers(12)
    flat = array.reshape(-1).copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if what == 0:
            return flat[: len(flat) // 2]
        if what == 1:
            return np.concatenate([array, array])
        if what == 2:
            return array.T if array.ndim == 2 else array[:, None] if array.ndim else array[None]
        if what == 3:
            return np.zeros((0, *array.shape[1:]), array.dtype)
        if what == 4:
            types = (np.float32, np.float16, np.int64, np.int8, np.uint64, np.bool_, np.float64)
            return array.astype(types[rng.integers(len(types))])
        if what == 5:
            return array.reshape(1, *array.shape, 1)
        if what == 6:
            return np.zeros((0, 2**50), array.dtype)
        if flat.size:
            bad = (np.nan, np.inf, -1, 2**31, 2**62, 1e300, -(2**40))
            value = bad[rng.integers(len(bad))]
            if array.dtype.kind in "iu":
                info = np.iinfo(array.dtype)
                value = int(np.clip(value if np.isfinite(value) else -1, float(info.min), 2**62))
                value = max(min(value, info.max), info.min)
            where = rng.integers(flat.size) if what < 10 else slice(None)
            flat[where] = value
    return flat.reshape(array.shape)


def mutant(rng, source, path):
    """Write the file ``source`` (metadata and arrays) to ``path`` with one or two changes."""
    metadata, tensors = source
    header, tensors = json.loads(metadata["mercer"]), dict(tensors)
    for _ in range(1 + (rng.random() < 0.2)):
        names = list(tensors)
        if names and rng.random() < 0.5:
            name = names[rng.integers(len(names))]
            tensors[name] = change_array(rng, tensors[name])
        else:
            change_header(rng, header, names)
    container.write_tensors(path, {"mercer": json.dumps(header)}, tensors)


def use(path, rows, y):
    """Load and use a file: a FileError, or a model that works or says what is wrong with rows."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = mercer.load(path)
        except FileError:
            return False
        repr(model)
        for method in (
            "predict",
            "decision_function",
            "predict_proba",
            "transform",
            "score_samples",
        ):
            if hasattr(model, method):
                with suppress(ValueError):
                    getattr(model, method)(rows)
        for attribute in ("certificate_", "dual_coef_", "n_support_", "coef_", "intercept_"):
            getattr(model, attribute, None)
        _go_on(model, rows, y)
        return True


def _go_on(model, rows, y):
    """What begins with a loaded model: a check, more steps, a warm start."""
    with suppress(ValueError, TypeError):
        mercer.verify(model, rows, y)
    limits = {"max_iter": 5, "time_limit": 0.5, "warm_start": True}
    known = model.get_params()
    model.set_params(**{name: value for name, value in limits.items() if name in known})
    for method in ("partial_fit", "fit"):
        if hasattr(model, method):
            with suppress(ValueError, TypeError):
                getattr(model, method)(rows, y)
