"""The options of LIBSVM's svm-train, in the words of `mercer train`.

With any of them, what is left out has svm-train's default too: a C-SVC, γ = 1 / number of columns,
and data that are not scaled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mercer.cli._errors import Misused, option

__all__ = ["KERNELS", "MACHINES", "join_weights", "translate"]

MACHINES = ("svc", "nusvc", "oneclass", "svr", "nusvr")
KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
# The option of mercer that each letter stands for, and what it makes of the value.
MEANING: dict[str, tuple[str, Any]] = {
    "s": ("machine", MACHINES.__getitem__),
    "t": ("kernel", KERNELS.__getitem__),
    "d": ("degree", int),
    "g": ("gamma", str),
    "r": ("coef0", float),
    "c": ("C", float),
    "n": ("nu", float),
    "p": ("epsilon", float),
    "m": ("cache_size", float),
    "e": ("tol", float),
    "h": ("shrinking", bool),
    "b": ("probability", bool),
    "w": ("class_weight", list),
    "v": ("cv", int),
}
DEFAULTS = {"machine": "svc", "scale": "none"}
_WEIGHT = re.compile(r"-w([-+]?\d+(?:\.\d*)?)$")


def join_weights(arguments: Sequence[str]) -> list[str]:
    """``-w1 5`` is one option with two values: make it ``-w 1=5``."""
    joined, rest = [], list(arguments)
    while rest:
        argument = rest.pop(0)
        weight = _WEIGHT.match(argument)
        joined += ["-w", f"{weight[1]}={rest.pop(0)}"] if weight and rest else [argument]
    return joined


def translate(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with svm-train's letters, where they are given, put into mercer's words.

    ``only_validate`` is added: -v makes no model.
    """
    words = {name: value for name, value in options.items() if name not in MEANING}
    given = {
        letter: options[letter] for letter in MEANING if options.get(letter) not in (None, [], ())
    }
    for letter, value in given.items():
        name, convert = MEANING[letter]
        if words.get(name) not in (None, [], ()):
            raise Misused(f"-{letter} and {option(name)} say the same thing: give one of them")
        words[name] = convert(value)
    if given:
        words |= {name: value for name, value in DEFAULTS.items() if words.get(name) is None}
        if words.get("gamma") is None and words["machine"] in MACHINES:
            words["gamma"] = "auto"
    words["only_validate"] = "v" in given
    return words
