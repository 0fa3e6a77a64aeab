"""What is said of a picture: tooltips, the rows of its certificate, and the same as a program."""

from __future__ import annotations

import re

import numpy as np

from mercer.certificates._certificate import Certificate
from mercer.estimators._dual_view import KKTGroup
from mercer.kernels import Kernel
from mercer.playground._catalogue import ESTIMATORS
from mercer.playground._explain import Situation
from mercer.playground._fit import Fit, recipe, rows_and_targets
from mercer.playground._state import State

__all__ = ["certificate_rows", "export", "names_of_points", "notes"]


def export(state: State) -> str:
    """A program that fits the state's estimator and prints its certificate.

    Examples
    --------
    >>> from mercer.playground import State
    >>> from mercer.playground._words import export
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
    if option.kind == "classes" and state.classes:
        y = np.array(state.class_names)[y]
    takes_y = option.kind in ("classes", "curve")
    shown = ", ".join(f"{key}={_literal(value)}" for key, value in arguments.items())
    lines = ["import numpy as np", f"from mercer import {name}"]
    if isinstance(kernel := arguments["kernel"], Kernel):
        classes = sorted(set(re.findall(r"[A-Z]\w+(?=\()", repr(kernel))))
        lines.append(f"from mercer.kernels import {', '.join(classes)}")
    lines.append("")
    for axis, column in zip("xy", state.columns, strict=False):
        lines.append(f"# {axis} is ({column.name} - {column.middle:.6g}) / {column.unit:.6g}")
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
    return "np.inf" if isinstance(value, float) and np.isinf(value) else repr(value)


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


def names_of_points(state: State, labels: np.ndarray) -> list[str]:
    kind = ESTIMATORS[state.machine].kind
    if kind == "clusters":
        return [f"point {i + 1}: cluster {c + 1}" for i, c in enumerate(labels)]
    if kind != "classes":
        return [f"point {i + 1}" for i in range(labels.size)]
    return [f"point {i + 1}, class {state.class_names[c]}" for i, c in enumerate(labels)]


def notes(state: State, found: Fit, labels: np.ndarray) -> tuple[str, ...]:
    """What is known of each point."""
    names = names_of_points(state, labels)
    if state.machine == "kmeans" or found.decide is None:
        weights = found.proof if found.proof is not None else np.zeros(labels.size)
        return tuple(
            f"{name}; weight {weight:.3g} in the proof" if weight else name
            for name, weight in zip(names, weights, strict=True)
        )
    X, y = rows_and_targets(state)
    values = np.asarray(found.decide(X))
    what = ESTIMATORS[state.machine].coefficient
    words: dict[int, str] = {}
    if ESTIMATORS[state.machine].has_box:
        words = {KKTGroup.BOUND: " (at its bound)", KKTGroup.FREE: " (free)"}
    found_notes = []
    for i, name in enumerate(names):
        alpha = "near the edge" if np.isnan(found.alpha[i]) else f"{found.alpha[i]:.4g}"
        text = f"{name}: {what} = {alpha}{words.get(int(found.group[i]), '')}"
        if values.ndim == 1:
            text += f", f = {values[i]:.3g}".replace("-", "−")
            if ESTIMATORS[state.machine].kind == "curve":
                text += f", y − f = {y[i] - values[i]:.3g}".replace("-", "−")
        found_notes.append(text)
    return tuple(found_notes)


def certificate_rows(state: State, found: Fit, situation: Situation) -> tuple[tuple[str, str], ...]:
    """Names and values of what is certified."""
    if found.decide is None:
        proof = ("points in the proof", str(situation.n_proof))
        rows = [("status", "not separable, proved"), proof]
    elif state.machine == "perceptron":
        rows = [
            ("mistakes", f"{situation.n_steps:,.0f}"),
            ("points on the wrong side", str(situation.n_wrong)),
        ]
        if np.isfinite(situation.bound_on_steps):
            rows.append(("Novikoff's bound", f"{situation.bound_on_steps:,.4g}"))
    elif state.machine == "kmeans":
        model = found.model
        rows = [("objective", f"{model.inertia_:.6g}"), ("iterations", str(model.n_iter_))]
    elif found.certificate is not None:
        rows = _gap_rows(state, found, situation)
    else:
        rows = [("relative gap", f"{situation.gap:.3g}"), ("b", f"{found.b:.4g}")]
    return tuple((name, value.replace("-", "−")) for name, value in rows)


def _gap_rows(state: State, found: Fit, situation: Situation) -> list[tuple[str, str]]:
    certificate = found.certificate
    rows = [
        ("status", "not finished" if state.step is not None else str(certificate.status)),
        ("primal", f"{certificate.primal:.6g}"),
        ("dual", f"{certificate.dual:.6g}"),
        ("gap", f"{certificate.gap:.2g}"),
        ("relative gap", f"{certificate.relative_gap:.2g}"),
    ]
    has_box = ESTIMATORS[state.machine].has_box
    if isinstance(certificate, Certificate):
        rows.append(("KKT violation", f"{certificate.kkt_violation:.2g}"))
    if situation.has_margin:
        rows.append(("margin 2/‖w‖", f"{certificate.margin:.4g}"))
    if has_box and not certificate.tasks:
        interval = f"[{situation.b_low:.3g}, {situation.b_high:.3g}]"
        rows.append(("b", f"{found.b:.3g}" + (f" in {interval}" if situation.has_band else "")))
        if situation.is_violated:
            rows.append(("no b is optimal", f"violated for all in {interval}"))
    return rows
