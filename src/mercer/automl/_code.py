"""A pipeline as Python code that makes it again."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from mercer.kernels import Kernel

__all__ = ["code_of"]


def code_of(model: Pipeline, about: str = "", more: str = "") -> str:
    """Imports, the pipeline and its fit to X and y; ``about`` and ``more`` are comments."""
    imports: dict[str, set[str]] = {}
    steps = [step for _, step in model.steps]
    text = _expression(model, imports)
    if len(text) > 88:
        inner = "\n".join(f"    {_expression(step, imports)}," for step in steps)
        text = f"make_pipeline(\n{inner}\n)"
    lines = [f"from {name} import {', '.join(sorted(imports[name]))}" for name in sorted(imports)]
    lines += [
        "",
        *(f"# {line}" for line in about.splitlines()),
        f"model = {text}",
        "model.fit(X, y)",
    ]
    return "\n".join([*lines, *(f"# {line}" for line in more.splitlines())]) + "\n"


def _expression(value: Any, imports: dict[str, set[str]]) -> str:
    """An estimator, a kernel or a plain value; ``imports`` gets the names that it needs."""
    if isinstance(value, Pipeline):
        imports.setdefault("sklearn.pipeline", set()).add("make_pipeline")
        return f"make_pipeline({', '.join(_expression(step, imports) for _, step in value.steps)})"
    if isinstance(value, (BaseEstimator, Kernel)):
        cls = type(value)
        imports.setdefault(_public_module(cls), set()).add(cls.__name__)
        defaults = inspect.signature(cls).parameters
        given = value.get_params(deep=False)
        given = given if isinstance(value, BaseEstimator) else _fields(value)
        changed = [
            f"{name}={_expression(item, imports)}"
            for name, item in given.items()
            if not _is_default(item, defaults[name].default)
        ]
        return f"{cls.__name__}({', '.join(changed)})"
    if isinstance(value, tuple):
        inner = ", ".join(_expression(item, imports) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return f"[{', '.join(_expression(item, imports) for item in value)}]"
    return repr(value.item() if isinstance(value, np.generic) else value).replace("'", '"')


def _fields(kernel: Kernel) -> dict[str, Any]:
    names = inspect.signature(type(kernel)).parameters
    return {name: getattr(kernel, name) for name in names}


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(np.all(value == default)))


def _public_module(cls: type) -> str:
    """The module that users import a class from: the path up to the first private part."""
    import mercer

    if cls.__module__.startswith("mercer."):
        for home in (mercer, mercer.kernels):
            if cls.__name__ in home.__all__:
                return home.__name__
    public = []
    for part in cls.__module__.split("."):
        if part.startswith("_"):
            break
        public.append(part)
    return ".".join(public)
