"""The picture as a Python program: the same points, the same estimator, the same model."""

from __future__ import annotations

from mercer.playground._catalogue import ESTIMATORS
from mercer.playground._fit import recipe, rows_and_targets
from mercer.playground._state import State

__all__ = ["export"]


def export(state: State) -> str:
    """A program that fits the state's estimator and prints its certificate.

    Examples
    --------
    >>> from mercer.playground import State
    >>> from mercer.playground._export import export
    >>> state = State(points=((0.0, 1.0, 1), (0.0, -1.0, 0)), kernel="linear")
    >>> print(export(state))
    import numpy as np
    from mercer import SVC
    <BLANKLINE>
    X = np.array([[0.0, 1.0], [0.0, -1.0]])
    y = np.array([1, 0])
    <BLANKLINE>
    model = SVC(kernel='linear', C=1.0, max_iter=50000).fit(X, y)
    print(model.decision_function(X))
    print(model.certificate_)
    <BLANKLINE>
    """
    name, arguments = recipe(state)
    option = ESTIMATORS[state.machine]
    X, y = rows_and_targets(state)
    takes_y = option.kind in ("classes", "curve")
    shown = ", ".join(f"{key}={_literal(value)}" for key, value in arguments.items())
    lines = ["import numpy as np", f"from mercer import {name}", ""]
    lines.append(f"X = np.array({_wrap(X.tolist())})")
    if takes_y:
        lines.append(f"y = np.array({_wrap(y.tolist())})")
    lines += ["", f"model = {name}({shown}).fit(X{', y' if takes_y else ''})"]
    ask = {"curve": "predict", "clusters": "predict"}.get(option.kind, "decision_function")
    lines.append(f"print(model.{ask}(X))")
    if state.machine == "perceptron":
        lines.append("print(model.mistakes_, model.mistake_bound_)")
    elif state.machine == "kmeans":
        lines.append("print(model.inertia_)")
    else:
        lines.append("print(model.certificate_)")
    return "\n".join(lines) + "\n"


def _literal(value: object) -> str:
    return "np.inf" if value == float("inf") else repr(value)


def _wrap(values: list, width: int = 92) -> str:
    """A list as source, in lines of about ``width`` characters."""
    lines, line = [], ""
    for text in map(repr, values):
        if line and len(line) + len(text) > width:
            lines.append(line)
            line = ""
        line += ("" if not line else " ") + text + ","
    if not lines:
        return f"[{line.rstrip(',')}]"
    return "[\n    " + "\n    ".join([*lines, line]) + "\n]"
