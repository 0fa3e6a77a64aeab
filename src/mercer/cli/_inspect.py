"""``mercer inspect``: the contents of a model file."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.cli._certificate import certificate_of, describe_certificate, last_step
from mercer.cli._output import SCALED, Reporter, table
from mercer.data import Schema
from mercer.persistence import open_model

__all__ = ["run"]


def run(model: str, top: int, full: bool, json: bool) -> None:
    found = open_model(model)
    fitted, schema = last_step(found.model), found.schema
    weights = _weights(fitted, schema, top)
    reporter = Reporter(json)
    rows = {
        "model": f"{model}: {found.header['class']}, written by mercer {found.header['mercer']}",
        "parameters": _parameters(found.model),
        **({"kernel": repr(fitted.kernel_)} if hasattr(fitted, "kernel_") else {}),
        **_support(fitted),
        **_columns(schema),
    }
    reporter.write(
        table(rows),
        command="inspect",
        model=model,
        header=found.header,
        certificate=certificate_of(fitted),
        kernel=rows.get("kernel"),
        schema=None if schema is None else schema.as_dict(),
        n_support=getattr(fitted, "n_support_", None),
        weights=weights,
    )
    reporter.write(table({"certificate": describe_certificate(fitted, full)}))
    if weights:
        reporter.write("largest weights\n" + table({k: f"{w:+.6g}" for k, w in weights.items()}))
    reporter.end()


def _parameters(model: Any) -> str:
    """Those that are not the defaults, as in the estimator's repr."""
    text = " ".join(repr(model).split())
    return text[text.index("(") + 1 : -1] or "all at their defaults"


def _support(model: Any) -> dict[str, str]:
    counts = getattr(model, "n_support_", None)
    if counts is None:
        return {}
    classes = getattr(model, "classes_", None)
    text = f"{int(np.sum(counts)):,}"
    if classes is not None:
        each = [f"{n:,} of {c}" for c, n in zip(classes, counts, strict=True)]
        text += ": " + _listed(each)
    return {"support": text}


def _listed(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")


def _columns(schema: Schema | None) -> dict[str, str]:
    if schema is None:
        return {}
    names = schema.feature_names or []
    listed = ": " + _listed(names) if names else ""
    rows = {"columns": f"{schema.n_features:,}{listed}; {SCALED[schema.scaling]}"}
    if schema.task is not None:
        labels = _listed([str(label) for label in schema.labels or ()])
        rows["target"] = f"{schema.target or 'the target'}: {labels or 'a number'}"
    return rows


def _weights(model: Any, schema: Schema | None, top: int) -> dict[str, float]:
    """The largest weights of a linear model; of several tasks, Σ|w|."""
    try:
        coef = model.coef_
    except AttributeError:
        return {}
    coef = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef))
    size = np.abs(coef).sum(axis=0)
    order = np.argsort(-size, kind="stable")[:top]
    names = (schema.feature_names if schema else None) or [f"column {j}" for j in range(size.size)]
    value = coef[0] if coef.shape[0] == 1 else size
    return {names[j]: float(value[j]) for j in order if size[j] > 0}
