"""`save` and `load`: a fitted estimator in one file that executes nothing when it is read.

A file is a safetensors file (`_container`) whose metadata have, under ``mercer``, this JSON:

==============  ===================================================================
format          ``"mercer-model"``
version         of this layout; a file of a newer one is refused
mercer          the version of the package that wrote it
class           the estimator's, one of `_registry.ESTIMATORS`, or ``"Pipeline"``
parameters      those of its constructor, kernels as trees of names and parameters
state           the fitted attributes (`_state`); the best model of a search as a model
steps           of a pipeline: name, class, parameters and state of each step
schema          how data files become its rows, or null
==============  ===================================================================
"""

from __future__ import annotations

import json
import os
import warnings
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._linear_function import FromCoefficients
from mercer.data._schema import Schema
from mercer.exceptions import FileError
from mercer.persistence._container import read_tensors, write_tensors
from mercer.persistence._liblinear import is_liblinear
from mercer.persistence._libsvm import is_libsvm
from mercer.persistence._registry import (
    EARLIER_PARAMETERS,
    ESTIMATORS,
    TRANSFORMERS,
    WARM_START,
    WRAPPERS,
    UnknownObjectError,
    find,
    is_warm_start,
    name_of,
)
from mercer.persistence._state import Decoder, Encoder
from mercer.persistence._validity import check_before, try_model

__all__ = ["VERSION", "ModelFile", "load", "open_model", "save"]

FORMAT = "mercer-model"
_STEPS: Mapping[str, Any] = ChainMap(TRANSFORMERS, ESTIMATORS)
# 2: names of classes and of their fields changed since 0.1, which wrote 1; both are read.
VERSION = 2


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What is in a file: the model, how data are brought into its form, and the header.

    Attributes
    ----------
    model : estimator
    schema : Schema or None
    header : dict of JSON values
        ``format``, ``version``, ``mercer`` (the version that wrote it), ``class`` and
        ``parameters``.
    """

    model: Any
    schema: Schema | None
    header: dict[str, Any]


def save(model: Any, path: str | os.PathLike, *, schema: Schema | None = None) -> None:
    """Write a fitted model to a file, whole or not at all.

    The file is in the safetensors format: arrays, and JSON for all the rest. The same model gives
    the same bytes. Functions (a kernel function, a callback) are not kept: a callback is left out,
    a kernel function (or an object that is called as one, by the name of its class) must be given
    to `load` again.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of Mercer, or a ``Pipeline`` of one after scalers and decompositions
        of scikit-learn (StandardScaler, MinMaxScaler, PCA and the like).
    path : path
    schema : Schema, optional
        How data files are brought into the form of the training data; `mercer.data.read_table`
        makes it and takes it.

    Examples
    --------
    >>> import mercer, pathlib, tempfile
    >>> X, y = [[0.0, 1.0], [0.0, -1.0]], ["up", "down"]
    >>> model = mercer.SVC(kernel=mercer.kernels.RBF(gamma=0.5)).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.safetensors"
    ...     mercer.save(model, file)
    ...     again = mercer.load(file)
    >>> again.predict([[0.0, 2.0]])
    array(['up'], dtype='<U4')
    >>> again.certificate_ == model.certificate_
    True
    """
    check_is_fitted(model)
    encode = Encoder()
    from mercer import __version__

    try:
        header = {
            "format": FORMAT,
            "version": VERSION,
            "mercer": __version__,
            **_describe(model, encode),
            "schema": encode(schema, "schema"),
        }
    except ValueError as error:
        what = type(model).__name__
        raise FileError(str(path), None, f"{what} cannot be saved: {error}.") from error
    write_tensors(path, {"mercer": json.dumps(header, allow_nan=False)}, encode.tensors)


def _is_pipeline(model: Any) -> bool:
    return type(model).__name__ == "Pipeline" and hasattr(model, "steps")


def _describe(model: Any, encode: Encoder, where: str = "") -> dict[str, Any]:
    """Class, parameters and state of an estimator; of a pipeline, those of its steps."""
    model = _without_dask(model)
    if _is_pipeline(model):
        steps = [
            [
                name,
                step if isinstance(step, str) else _describe_one(step, encode, f"{where}{name}."),
            ]
            for name, step in _flat_steps(model)
        ]
        return {"class": "Pipeline", "parameters": {}, "state": {}, "steps": steps}
    return _describe_one(model, encode, where, ESTIMATORS | WRAPPERS)


def _without_dask(model: Any) -> Any:
    return model.to_local() if hasattr(model, "to_local") else model


def _flat_steps(pipeline: Any) -> list[tuple[str, Any]]:
    """The steps by name; those of an estimator of mercer.dask that is a pipeline without Dask."""
    found: list[tuple[str, Any]] = []
    for name, given in pipeline.steps:
        step = _without_dask(given)
        inner = step.steps if step is not given and _is_pipeline(step) else None
        found += [(name, step)] if inner is None else [(f"{name}-{own}", s) for own, s in inner]
    return found


def _describe_one(
    model: Any, encode: Encoder, where: str, among: Mapping[str, Any] = _STEPS
) -> dict[str, Any]:
    name = name_of(model, among)
    if name is None:
        raise TypeError(
            f"model must be an estimator of Mercer, got {type(model).__name__}. mercer.save knows "
            f"{', '.join(among)}, and pipelines of them after {', '.join(TRANSFORMERS)}. For "
            "pipelines with other steps use skops.io.dump or joblib.dump."
        )
    parameters = model.get_params(deep=False)
    fitted = {key: value for key, value in model.__getstate__().items() if key not in parameters}
    fitted.pop("_sklearn_version", None)
    for key in ("callback", "checkpoint", "resume"):
        if key in parameters:
            parameters[key] = None
    if hasattr(parameters.get("cv"), "split") or np.iterable(parameters.get("cv")):
        parameters["cv"] = model.n_splits_  # splitters are not kept
    state = {
        # of a search, the best model
        key: {"model": _describe(value, encode, f"{where}{key}.")}
        if _is_pipeline(value) or name_of(value, ESTIMATORS)
        else encode(value, where + key)
        for key, value in fitted.items()
    }
    return {
        "class": name,
        "parameters": {
            key: _describe_parameter(value, encode, where + key)
            for key, value in parameters.items()
        },
        "state": state,
    }


def _describe_parameter(value: Any, encode: Encoder, where: str) -> Any:
    """A parameter; of an estimator (which is not fitted) its class and parameters."""
    name = name_of(value, ESTIMATORS)
    if name is None:
        return encode(value, where)
    parameters = value.get_params(deep=False) | {"callback": None}
    inner = {key: encode(each, f"{where}.{key}") for key, each in parameters.items()}
    return {"estimator": {"class": name, "parameters": inner}}


def load(path: str | os.PathLike, *, callables: Mapping[str, Callable] | None = None) -> Any:
    """The fitted model of a file, equal bit for bit to the one saved. Nothing is executed.

    Parameters
    ----------
    path : path
    callables : dict of name to function, optional
        Functions are never in a file, only their names: a model with a kernel function needs it
        again here.

    Returns
    -------
    estimator
        It predicts, can be verified, cloned, fitted again and started warm as the one saved.

    Raises
    ------
    FileError
        (a ValueError) The file is damaged, of another kind, or of a newer version.
    """
    return open_model(path, callables=callables).model


def open_model(
    path: str | os.PathLike, *, callables: Mapping[str, Callable] | None = None
) -> ModelFile:
    """The model of a file together with its schema and header; as `load`."""
    name = str(path)
    if is_libsvm(path) or is_liblinear(path):
        raise FileError(
            name,
            None,
            "is a model of LIBSVM or LIBLINEAR: mercer convert OLD NEW.mercer makes a model of "
            "Mercer of it (in Python read_libsvm and read_liblinear of mercer.persistence).",
        )
    metadata, tensors = read_tensors(path)
    try:
        header = json.loads(metadata["mercer"])
        version = header["version"]
        is_model = header["format"] == FORMAT and type(version) is int and version > 0
    except Exception:
        is_model = False
    if not is_model:
        raise FileError(name, None, "is a safetensors file, but not a model of Mercer.")
    if header["version"] > VERSION:
        raise FileError(
            name,
            None,
            f"has version {header['version']} of the format (written by Mercer "
            f"{header.get('mercer')}), but this Mercer reads up to {VERSION}: upgrade Mercer.",
        )
    decode = Decoder(tensors, callables or {})
    try:
        model = _build(header, decode)
        schema = decode(header["schema"])
        if not isinstance(schema, Schema | None):
            raise ValueError("the schema is something else")
        if schema is not None:
            schema.check(getattr(model, "n_features_in_", schema.n_features))
    except Exception as error:  # whatever a file can bring about is a fault of the file
        what = error if type(error) is ValueError else f"{type(error).__name__} {error}"
        raise FileError(name, None, f"cannot be read: {str(what).rstrip('.')}.") from error
    left_out = ("state", "schema", "steps")
    return ModelFile(model, schema, {k: v for k, v in header.items() if k not in left_out})


def _decode_state(nodes: Mapping[str, Any], decode: Decoder) -> dict[str, Any]:
    """The fitted attributes, without warm-start states of a kind that this version lacks."""
    state = {}
    for name, node in nodes.items():
        try:
            is_model = isinstance(node, dict) and list(node) == ["model"]
            value = _build(node["model"], decode) if is_model else decode(node)
        except UnknownObjectError:
            if name in WARM_START:
                continue
            raise
        if name not in WARM_START or is_warm_start(name, value):
            state[name] = value
    return state


def _build(header: Mapping[str, Any], decode: Decoder) -> Any:
    if header["class"] != "Pipeline":
        model = _build_one(header, decode, ESTIMATORS | WRAPPERS)
    else:
        from sklearn.pipeline import Pipeline

        names = [name for name, _ in header["steps"]]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("the steps of the pipeline have no names")
        built = (
            step if step == "passthrough" else _build_one(step, decode, _STEPS)
            for _, step in header["steps"]
        )
        model = Pipeline(list(zip(names, built, strict=True)))
        model._validate_steps()
    check_is_fitted(model)
    try_model(model)
    return model


def _parameter(node: Any, decode: Decoder) -> Any:
    """A parameter; see `_describe_parameter`."""
    if not (isinstance(node, dict) and list(node) == ["estimator"]):
        return decode(node)
    inner = node["estimator"]
    given = {name: decode(value) for name, value in inner["parameters"].items()}
    return find(inner["class"], ESTIMATORS)(**given)


def _build_one(header: Mapping[str, Any], decode: Decoder, among: Mapping[str, Any]) -> Any:
    cls = find(header["class"], among)
    given = {name: _parameter(value, decode) for name, value in header["parameters"].items()}
    parameters = {**EARLIER_PARAMETERS.get(header["class"], {}), **given}
    state = _decode_state(header["state"], decode)
    for name in state:
        is_taken = not isinstance(getattr(cls, name, FromCoefficients()), FromCoefficients)
        if not name.isidentifier() or is_taken or name.startswith("__"):
            raise ValueError(f"{name!r} is no fitted attribute of {cls.__name__}")
    check_before(cls, parameters, state)
    model = cls(**parameters)
    with warnings.catch_warnings():  # about parameters that are deprecated
        warnings.simplefilter("ignore")
        model._validate_params()
    if header["class"] in TRANSFORMERS:  # whose __setstate__ compares versions of pickles
        vars(model).update(state)
    else:
        model.__setstate__({**vars(model), **state})
    check_is_fitted(model)
    return model
