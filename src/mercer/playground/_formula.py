"""A kernel as a formula: ``(1 + x·z)^2``, ``exp(−γ‖x − z‖²) + 0.1 x·z``, ``rbf(2) * cosine``.

    sum      =  ["-"] product { ("+" | "-") product }
    product  =  power { ["*" | "·"] power | "/" power }
    power    =  atom [ ("^" | "**") atom | "²" | "³" | … ]
    atom     =  number | γ | degree | c0 | x·z | ‖x − z‖² | ‖x − z‖₁ | "(" sum ")"
             |  exp(sum) | tanh(sum) | name | name(value, name=value, …)

A name is that of a kernel of the playground; parameters that are not given are those of the
sliders. ``dot`` and ``dist2`` are x·z and ‖x − z‖², as in the companion's figure of kernels. The
text is never evaluated as code: every part becomes a number, a x·z + c, a multiple of a
distance, or a kernel. What need not be a kernel (a difference, a distance alone) is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mercer.exceptions import silent_thread
from mercer.kernels import (
    RBF,
    Constant,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from mercer.playground._catalogue import KERNELS

__all__ = ["MAX_LETTERS", "FormulaError", "parse_kernel"]

MAX_LETTERS = 200
MAX_DEPTH = 12  # of parentheses
MAX_POWER = 20

_SYMBOLS = {
    "γ": "gamma",
    "gamma": "gamma",
    "degree": "degree",
    "c0": "coef0",
    "c₀": "coef0",
    "coef0": "coef0",
}
_DIFFERENCE = r"(?:‖|\|\|?)\s*x\s*-\s*z\s*(?:‖|\|\|?)"
_TOKENS = re.compile(
    rf"""\s*(?:
    (?P<squared>{_DIFFERENCE}\s*(?:\^\s*2|\*\*\s*2|²))
  | (?P<absolute>{_DIFFERENCE}\s*(?:_1|₁))
  | (?P<distance>{_DIFFERENCE})
  | (?P<product>x\s*[·⋅.*]\s*z(?![a-z])|[<⟨]\s*x\s*,\s*z\s*[>⟩])
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)
  | (?P<name>[a-zγ][a-z0-9_₀]*)
  | (?P<power>\^|\*\*)
  | (?P<raised>[²³⁴⁵⁶⁷⁸⁹])
  | (?P<sign>[-+*·⋅/(),=])
    )""",
    re.VERBOSE,
)
_STARTS = ("squared", "absolute", "distance", "product", "number", "name")  # of an atom


class FormulaError(ValueError):
    """A text that is no kernel; the message says what is allowed."""


@dataclass(frozen=True)
class _Affine:
    """a x·z + c."""

    a: float
    c: float


@dataclass(frozen=True)
class _Distance:
    """factor ‖x − z‖², or with ``norm`` 1 factor ‖x − z‖₁."""

    norm: int
    factor: float


_VARIABLES: dict[str, _Affine | _Distance] = {"dot": _Affine(1.0, 0.0), "dist2": _Distance(2, 1.0)}
_Value = float | _Affine | _Distance | Kernel


def parse_kernel(text: str, values: Mapping[str, float]) -> tuple[Kernel, frozenset[str]]:
    """The kernel of a formula, and which of the ``values`` (gamma, degree, coef0) it uses.

    Examples
    --------
    >>> from mercer.playground._formula import parse_kernel
    >>> kernel, used = parse_kernel("exp(-γ |x - z|²) + 0.5 x·z", {"gamma": 2.0})
    >>> kernel, sorted(used)
    (RBF(gamma=2.0) + 0.5 * Linear(), ['gamma'])
    >>> parse_kernel("(1 + x·z)^2", {})[0]
    Polynomial(degree=2, gamma=1.0, coef0=1.0)
    """
    if len(text) > MAX_LETTERS:
        raise FormulaError(f"a formula has at most {MAX_LETTERS} letters, got {len(text)}.")
    parser = _Parser(_tokens(text), values)
    found = parser.sum()
    if parser.kind != "end":
        raise FormulaError(f"{parser.text!r} is not expected there in the formula.")
    if isinstance(found, float):
        raise FormulaError("the formula does not depend on x and z: use x·z or ‖x − z‖².")
    return _as_kernel(found), frozenset(parser.used)


def _tokens(text: str) -> list[tuple[str, str]]:
    text = text.replace("−", "-").lower().strip()
    tokens, place = [], 0
    while place < len(text):
        match = _TOKENS.match(text, place)
        if match is None:
            raise FormulaError(f"{text[place:].strip()[:12]!r} is not understood in the formula.")
        kind = match.lastgroup or ""
        tokens.append((kind, match[kind]))
        place = match.end()
    return [*tokens, ("end", "the end")]


@dataclass
class _Parser:
    """By recursive descent, one method for each line of the grammar."""

    tokens: list[tuple[str, str]]
    values: Mapping[str, float]
    used: set[str] = field(default_factory=set)
    place: int = 0
    depth: int = 0

    @property
    def kind(self) -> str:
        return self.tokens[self.place][0]

    @property
    def text(self) -> str:
        return self.tokens[self.place][1]

    def take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1][1]

    def expect(self, sign: str) -> None:
        if self.kind != "sign" or self.text != sign:
            raise FormulaError(f"{sign!r} is expected before {self.text!r} in the formula.")
        self.take()

    def is_sign(self, signs: str) -> bool:
        return self.kind == "sign" and self.text in signs

    def sum(self) -> _Value:
        sign = -1.0 if self.is_sign("-") and self.take() else 1.0
        found = _multiply(sign, self.product())
        while self.is_sign("+-"):
            sign = -1.0 if self.take() == "-" else 1.0
            found = _add(found, _multiply(sign, self.product()))
        return found

    def product(self) -> _Value:
        found = self.power()
        while self.is_sign("*·⋅/(") or self.kind in _STARTS:
            if self.is_sign("/"):
                self.take()
                divisor = self.power()
                if not isinstance(divisor, float) or divisor == 0:
                    raise FormulaError("in a formula only numbers other than 0 divide.")
                found = _multiply(1.0 / divisor, found)
                continue
            if self.is_sign("*·⋅"):
                self.take()
            found = _multiply(found, self.power())
        return found

    def power(self) -> _Value:
        base = self.atom()
        if self.kind == "raised":
            return _raise(base, float("²³⁴⁵⁶⁷⁸⁹".index(self.take()) + 2))
        if self.kind == "power":
            self.take()
            return _raise(base, self.atom())
        return base

    def atom(self) -> _Value:
        kind = self.kind
        if kind == "number":
            return _finite(float(self.take()))
        if kind == "product":
            self.take()
            return _Affine(1.0, 0.0)
        if kind in ("squared", "absolute"):
            self.take()
            return _Distance(2 if kind == "squared" else 1, 1.0)
        if kind == "distance":
            raise FormulaError("write ‖x − z‖² or ‖x − z‖₁ (|x-z|^2, |x-z|_1) for a distance.")
        if kind == "name":
            return self.named(self.take())
        if not self.is_sign("("):
            raise FormulaError(f"something is missing before {self.text!r} in the formula.")
        return self.parenthesis()

    def parenthesis(self) -> _Value:
        self.expect("(")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormulaError(f"a formula has at most {MAX_DEPTH} nested parentheses.")
        found = self.sum()
        self.depth -= 1
        self.expect(")")
        return found

    def named(self, name: str) -> _Value:
        if name in _SYMBOLS:
            return self.value_of(_SYMBOLS[name])
        if name in _VARIABLES:
            return _VARIABLES[name]
        if name == "exp":
            return _exp(self.parenthesis())
        if name == "tanh":
            return _tanh(self.parenthesis())
        if name in KERNELS:
            return self.kernel(name)
        known = ", ".join([*KERNELS, "exp", "tanh", "γ", "degree", "c0", "x·z", "‖x − z‖²"])
        raise FormulaError(f"{name!r} is not known in a formula; known are {known}.")

    def value_of(self, parameter: str) -> float:
        self.used.add(parameter)
        return float(self.values[parameter])

    def kernel(self, name: str) -> Kernel:
        """A kernel by name; parameters without a name are in the order of its class."""
        entry, given = KERNELS[name], {}
        if self.is_sign("("):
            self.take()
            free = list(entry.parameters)
            while not self.is_sign(")"):
                key = free[0] if free else ""
                if self.kind == "name" and self.tokens[self.place + 1] == ("sign", "="):
                    key = _SYMBOLS.get(self.text, self.text)
                    self.place += 2
                if key not in free:
                    takes = ", ".join(entry.parameters) or "no parameters"
                    raise FormulaError(f"{name} takes {takes} in a formula, each once.")
                free.remove(key)
                given[key] = self.number(f"{key} of {name}")
                if not self.is_sign(")"):
                    self.expect(",")
            self.take()
        for key in entry.parameters:
            if key not in given:
                given[key] = self.value_of(key)
        if "degree" in given:
            given["degree"] = _whole(given["degree"], "degree")
        return _checked(entry.make, given)

    def number(self, what: str) -> float:
        found = self.sum()
        if not isinstance(found, float):
            raise FormulaError(f"{what} must be a number.")
        return found


# ------------------------------------------------------------------ arithmetic


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise FormulaError("a number of the formula is too large.")
    return value


def _number(function: Callable[..., float], *values: float) -> float:
    try:
        return function(*values)
    except OverflowError:
        raise FormulaError("a number of the formula is too large.") from None


def _whole(value: _Value, what: str) -> int:
    if not isinstance(value, float) or not value.is_integer() or not 1 <= value <= MAX_POWER:
        raise FormulaError(f"a {what} in a formula is a whole number from 1 to {MAX_POWER}.")
    return int(value)


def _checked(make: Any, parameters: dict[str, Any]) -> Kernel:
    """A kernel, whose own checks may refuse; that one is indefinite, the page says itself."""
    try:
        with silent_thread():
            kernel: Kernel = make(**parameters)
    except ValueError as error:
        raise FormulaError(str(error)) from error
    return kernel


def _as_kernel(value: _Value) -> Kernel:
    if isinstance(value, Kernel):
        return value
    if isinstance(value, _Distance):
        raise FormulaError("a distance alone is no kernel: exp(−γ ‖x − z‖²) is one.")
    if isinstance(value, float):
        return _checked(Constant, {"value": value})
    if value.a <= 0:
        raise FormulaError("the factor of x·z must be positive.")
    if value.c < 0:  # not positive semidefinite, as the polynomial kernel says of itself
        return _checked(Polynomial, {"degree": 1, "gamma": value.a, "coef0": value.c})
    linear: Kernel = Linear() if value.a == 1 else value.a * Linear()
    return linear + value.c if value.c else linear


def _add(left: _Value, right: _Value) -> _Value:
    if isinstance(left, float) and isinstance(right, float):
        return _finite(left + right)
    affine = [
        _Affine(0.0, part) if isinstance(part, float) else part
        for part in (left, right)
        if isinstance(part, float | _Affine)
    ]
    if len(affine) == 2:
        return _Affine(affine[0].a + affine[1].a, affine[0].c + affine[1].c)
    return _as_kernel(left) + _as_kernel(right)


def _multiply(left: _Value, right: _Value) -> _Value:
    if isinstance(right, float):
        left, right = right, left
    if not isinstance(left, float):
        return _as_kernel(left) * _as_kernel(right)
    if isinstance(right, float):
        return _finite(left * right)
    if isinstance(right, _Affine):
        return _Affine(_finite(left * right.a), _finite(left * right.c))
    if isinstance(right, _Distance):
        return _Distance(right.norm, _finite(left * right.factor))
    if left <= 0:
        raise FormulaError(
            "a kernel times a number is a kernel for positive numbers only; "
            "a difference of kernels need not be one."
        )
    return right if left == 1 else left * right


def _raise(base: _Value, exponent: _Value) -> _Value:
    power = _whole(exponent, "power")
    if isinstance(base, float):
        return _number(math.pow, base, power)
    if isinstance(base, _Affine):
        return _checked(Polynomial, {"degree": power, "gamma": base.a, "coef0": base.c})
    return _as_kernel(base) ** power


def _exp(value: _Value) -> _Value:
    if isinstance(value, float):
        return _number(math.exp, value)
    if not isinstance(value, _Distance) or value.factor > 0:
        raise FormulaError("exp(…) takes −γ ‖x − z‖² or −γ ‖x − z‖₁ with a positive γ.")
    kind = RBF if value.norm == 2 else Laplacian
    return _checked(kind, {"gamma": -value.factor})


def _tanh(value: _Value) -> _Value:
    if isinstance(value, float):
        return math.tanh(value)
    if not isinstance(value, _Affine):
        raise FormulaError("tanh(…) takes a x·z + c.")
    return _checked(Sigmoid, {"gamma": value.a, "coef0": value.c})
