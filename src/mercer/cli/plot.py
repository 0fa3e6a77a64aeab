"""``mercer plot``: what a machine learned, as a picture."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

from mercer.cli.fitting import certificate_of
from mercer.cli.guard import Failed, Misused
from mercer.cli.output import Voice, table
from mercer.cli.reading import open_both
from mercer.io import open_model
from mercer.plots import KINDS, write_figure

__all__ = ["run"]


def run(
    kind: str, model: str, data: str | None, output: str | None, feature: list[str] | None,
    format: str | None, quiet: bool,
) -> None:  # fmt: skip
    known = inspect.signature(KINDS[kind].display.from_estimator).parameters
    options = _along(kind, feature, known)
    if data is not None:
        found, rows = open_both(model, data, format)
        X, y = rows.X, rows.y
    elif known["X"].default is inspect.Parameter.empty:
        raise Misused(f"plot {kind} needs DATA, the rows that {model} was trained on")
    else:
        found, X, y = open_model(model), None, None
    names = found.schema.feature_names if found.schema is not None else None
    if names is not None:  # where the displays look for names
        found.model.feature_names_in_ = np.array(names, dtype=object)
    path = output or f"{kind}.png"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        try:
            display = KINDS[kind].draw(found.model, X, y, **options)
        except (TypeError, ValueError) as error:
            raise Failed(f"{model}: {error}") from error
    write_figure(display.figure_, path, title=f"{kind}: {model}", certificate=_proof(found.model))
    Voice(quiet=quiet).say(table({"picture": path}))


def _along(kind: str, feature: list[str] | None, known: Any) -> dict[str, Any]:
    """--feature as the display takes it: one column or two, by name or number."""
    if not feature:
        return {}
    columns = [int(name) if name.isdigit() else name for name in feature]
    if "features" in known:
        return {"features": columns}
    if "feature" in known:
        return {"feature": columns[0] if len(columns) == 1 else columns}
    raise Misused(f"--feature does not go with {kind}")


def _proof(model: Any) -> Any:
    from mercer.certificate import Certificate

    certificate = certificate_of(model)
    return certificate if isinstance(certificate, Certificate) else None
