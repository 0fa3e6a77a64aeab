"""C: a fitted model as one C99 header that needs nothing but <math.h>."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import mercer
from mercer.data import Schema
from mercer.data._files import writing
from mercer.export._c_kernels import HELPERS, kernel_expression
from mercer.export._flow import Flow, flow_of

__all__ = ["to_c"]

C_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def to_c(
    model: Any,
    path: str | os.PathLike | None = None,
    *,
    name: str = "model",
    dtype: str = "double",
    schema: Schema | None = None,
) -> str:
    """A fitted model as a C header, for programs without Python and for microcontrollers.

    The header has no dependency but ``math.h``, allocates nothing and keeps its tables in read-only
    memory. With ``name="model"``:

    ``model_decision_values(x, values)``
        Writes ``model_VALUES`` numbers for a row x of ``model_COLUMNS`` numbers.
    ``model_predict(x)``
        The number of the class of a row (its label is ``model_labels[number]``), or the prediction
        of a regression. `KernelPCA` has ``model_decision_values`` alone: its features.

    Parameters
    ----------
    model : estimator or Pipeline
        As for `to_onnx`.
    path : str or path, optional
        Where to write it, whole or not at all.
    name : str, default="model"
        What the names in the header begin with.
    dtype : {"double", "float"}, default="double"
        With float, values have the rounding of float: rows near the boundary may change sides.
    schema : Schema, optional
        Of a file that the command line wrote: its scaling comes first.

    Returns
    -------
    text : str

    Examples
    --------
    >>> from mercer import LinearSVC
    >>> from mercer.export import to_c
    >>> model = LinearSVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> "static inline int spam_predict(const double *row)" in to_c(model, name="spam")
    True
    """
    if not C_NAME.fullmatch(name):
        raise ValueError(f"name must be a name in C (letters, digits, _), got {name!r}.")
    if dtype not in ("double", "float"):
        raise ValueError(f"dtype must be 'double' or 'float', got {dtype!r}.")
    text = _Header(flow_of(model, schema), name, dtype).build()
    if path is not None:
        with writing(path) as file:
            file.write(text.encode())
    return text


class _Header:
    def __init__(self, flow: Flow, name: str, dtype: str):
        self.flow, self.name, self.dtype = flow, name, dtype
        self.is_float = dtype == "float"

    def number(self, value: float) -> str:
        text = f"{np.float32(value) if self.is_float else value:.{9 if self.is_float else 17}g}"
        if not np.isfinite(float(text)):
            raise ValueError(f"The model has a number that {self.dtype} cannot hold: {value!r}.")
        if not set(text) & set(".e"):
            text += ".0"
        return text + ("f" if self.is_float else "")

    def table(
        self, label: str, values: Iterable[Any], kind: str, show: Callable[[Any], str]
    ) -> str:
        shown = [show(value) for value in values] or ["0"]  # C has no arrays without elements
        lines = [", ".join(shown[i : i + 8]) for i in range(0, len(shown), 8)]
        body = ",\n    ".join(lines)
        return f"static const {kind} @_{label}[] = {{\n    {body}\n}};"

    def real_table(self, label: str, values: np.ndarray) -> str:
        return self.table(label, values.ravel().tolist(), self.dtype, self.number)

    def in_type(self, function: str) -> str:
        """A function with the type of the header and what <math.h> has for it."""
        suffix = "f" if self.is_float else ""
        function = re.sub(
            r"\b(EXP|TANH|SQRT|FABS)\(", lambda word: f"{word[1].lower()}{suffix}(", function
        )
        return re.sub(r"\bREAL\b", self.dtype, function)

    def build(self) -> str:
        flow = self.flow
        # Labels are texts of the user, in which nothing is replaced.
        body = "\n\n".join([*self._tables(), *map(self.in_type, self._functions())])
        n_values = len(flow.b)
        text = (
            f"/* {flow.name}, written by Mercer {mercer.__version__}. A row is @_COLUMNS numbers,\n"
            "   @_decision_values(row, values) writes @_VALUES numbers. */\n"
            "#ifndef @_H\n#define @_H\n\n#include <math.h>\n\n"
            f"#define @_COLUMNS {flow.d}\n#define @_VALUES {n_values}\n\n{body}\n\n#endif\n"
        )
        return text.replace("@", self.name)

    def _tables(self) -> list[str]:
        flow = self.flow
        made = [
            self.real_table("factor", flow.factor),
            self.real_table("shift", flow.shift),
            self.real_table("vectors", flow.vectors),
            self.real_table("b", flow.b),
        ]
        if flow.coef is not None:
            made.append(f"#define @_VECTORS {len(flow.vectors)}")
            made.append(self.real_table("coef", flow.coef))
        if flow.classes is not None:
            labels = [str(label) for label in flow.classes.tolist()]
            made.append(f"#define @_CLASSES {len(labels)}")
            made.append(self.table("labels", labels, "char *const", _quoted))
        if flow.rule == "argmax":
            made.append(self._order())
        if flow.rule == "votes":
            for label, values in zip(("first", "second"), flow.winners(), strict=True):
                made.append(self.table(label, values.tolist(), "int", str))
            made.append(self._order())
        return made

    def _order(self) -> str:
        """The order in which the classes are compared: of equal ones the first is predicted."""
        assert self.flow.classes is not None
        order = np.arange(self.flow.classes.size) if self.flow.order is None else self.flow.order
        return self.table("order", order.tolist(), "int", str)

    def _functions(self) -> list[str]:
        flow = self.flow
        if flow.kernel is None:
            kernel, needed = [], ["dot"]
        else:
            expression = kernel_expression(flow.kernel, self.number)
            needed = [helper for helper in HELPERS if f"@_{helper}(" in expression]
            unused = "" if needed else "    (void)x;\n    (void)z;\n"
            kernel = [
                "static inline REAL @_kernel(const REAL *x, const REAL *z) {\n"
                f"{unused}    return {expression};\n}}"
            ]
        helpers = [HELPERS[helper] for helper in needed]
        return [*helpers, *kernel, LINEAR if flow.kernel is None else EXPANSION, *self._predict()]

    def _predict(self) -> list[str]:
        flow = self.flow
        if flow.rule == "values":
            return [VALUE] if flow.b.size == 1 and flow.name != "KernelPCA" else []
        if flow.rule == "cut":
            operator = ">=" if flow.includes_cut else ">"
            return [CUT.replace("> LIMIT", f"{operator} {self.number(flow.cut)}")]
        if flow.rule == "argmax":
            return [ARGMAX]
        return [VOTES_BY_SCORE if flow.ties_by_score else VOTES]


def _quoted(text: str) -> str:
    """A string of C, of ASCII: other bytes of UTF-8 are octal escapes."""
    shown = ""
    for byte in text.encode():
        plain = 32 <= byte < 127 and chr(byte) not in '"\\?@'
        shown += chr(byte) if plain else f"\\{byte:03o}"
    return f'"{shown}"'


SCALE = """    REAL x[@_COLUMNS];
    int c, i;
    for (c = 0; c < @_COLUMNS; c++) x[c] = @_factor[c] * row[c] + @_shift[c];
"""

LINEAR = (
    "static inline void @_decision_values(const REAL *row, REAL *values) {\n"
    + SCALE
    + """    for (i = 0; i < @_VALUES; i++)
        values[i] = @_b[i] + @_dot(x, @_vectors + i * @_COLUMNS);
}"""
)

EXPANSION = (
    "static inline void @_decision_values(const REAL *row, REAL *values) {\n"
    + SCALE
    + """    for (i = 0; i < @_VALUES; i++) values[i] = @_b[i];
    for (c = 0; c < @_VECTORS; c++) {
        const REAL k = @_kernel(x, @_vectors + (long)c * @_COLUMNS);
        for (i = 0; i < @_VALUES; i++) values[i] += @_coef[(long)i * @_VECTORS + c] * k;
    }
}"""
)

VALUE = """static inline REAL @_predict(const REAL *row) {
    REAL value;
    @_decision_values(row, &value);
    return value;
}"""

CUT = """static inline int @_predict(const REAL *row) {
    REAL value;
    @_decision_values(row, &value);
    return value > LIMIT;
}"""

ARGMAX = """static inline int @_predict(const REAL *row) {
    REAL values[@_VALUES];
    int i, best = @_order[0];
    @_decision_values(row, values);
    for (i = 1; i < @_VALUES; i++)
        if (values[@_order[i]] > values[best]) best = @_order[i];
    return best;
}"""

VOTES = """static inline int @_predict(const REAL *row) {
    REAL values[@_VALUES];
    int votes[@_CLASSES] = {0};
    int i, best;
    @_decision_values(row, values);
    for (i = 0; i < @_VALUES; i++) votes[values[i] > 0 ? @_first[i] : @_second[i]]++;
    best = @_order[0];
    for (i = 1; i < @_CLASSES; i++)
        if (votes[@_order[i]] > votes[best]) best = @_order[i];
    return best;
}"""

VOTES_BY_SCORE = """static inline int @_predict(const REAL *row) {
    REAL values[@_VALUES], scores[@_CLASSES] = {0};
    int votes[@_CLASSES] = {0};
    int i, best;
    @_decision_values(row, values);
    for (i = 0; i < @_VALUES; i++) {
        votes[values[i] >= 0 ? @_first[i] : @_second[i]]++;
        scores[@_first[i]] += values[i];
        scores[@_second[i]] -= values[i];
    }
    for (i = 0; i < @_CLASSES; i++)
        scores[i] = (REAL)votes[i] + scores[i] / (3 * (FABS(scores[i]) + 1));
    best = @_order[0];
    for (i = 1; i < @_CLASSES; i++)
        if (scores[@_order[i]] > scores[best]) best = @_order[i];
    return best;
}"""
