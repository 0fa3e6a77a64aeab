"""Functions of two vectors as functions of x·z, ‖x‖² and ‖z‖², where these are all they need.

Dot products of all pairs of a tile are a matrix product, or the product of sparse rows; a function
of two vectors would pass over their columns for every pair. A body of assignments and a return is
read expression by expression: a vector is a x + b z, and a product of two vectors, element by
element, is a quadratic form in x and z whose sum is p ‖x‖² + q x·z + r ‖z‖².

    np.exp(-gamma * np.sum((x - z) ** 2))   becomes   exp(-gamma * max(xx - 2 dot + zz, 0))

Whatever is not of that kind is left alone, and the function is compiled as it is.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["DotForm", "dot_form", "with_fast_exp"]

Vector = tuple[float, float]
Quadratic = tuple[float, float, float]
# Names that the rewritten body uses; a user's own names cannot be these.
DOT, XX, ZZ, EXP, LARGER = "_dot", "_xx", "_zz", "_exp", "_larger"
_EXPONENTIALS = (np.exp, math.exp)
_SUMS = (np.sum, sum)
_DOTS = (np.dot, np.vdot, np.inner)
# ‖x − z‖² up to a factor.
_DISTANCE: Quadratic = (1.0, -2.0, 1.0)


@dataclass(frozen=True)
class DotForm:
    """A rewritten function.

    Attributes
    ----------
    source : str
        Of ``value(_dot, _xx, _zz, …)`` with the parameters of the function.
    is_shift_invariant : bool
        Whether it depends on ‖x − z‖ alone.
    """

    source: str
    is_shift_invariant: bool


def dot_form(tree: ast.FunctionDef, names: Mapping[str, Any]) -> DotForm | None:
    """The function as one of x·z, ‖x‖² and ‖z‖²; None if it is not seen to be one.

    ``names`` are the globals of the function.
    """
    first, second = (argument.arg for argument in tree.args.args[:2])
    reader = _Reader(names, {first: (1.0, 0.0), second: (0.0, 1.0)})
    body: list[ast.stmt] = []
    for statement in _without_docstring(tree.body):
        if isinstance(statement, ast.Assign):
            if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
                return None
            if reader.define(statement.targets[0].id, statement.value):
                continue
        elif not isinstance(statement, ast.Return) or statement.value is None:
            return None
        body.append(reader.visit(statement))
        if _names_read(body[-1]) & set(reader.known):  # a vector that is used in another way
            return None
        if isinstance(statement, ast.Assign):
            reader.known.pop(statement.targets[0].id, None)  # type: ignore[attr-defined]
    if not body or not reader.used:
        return None
    parameters = [argument.arg for argument in tree.args.args[2:]]
    is_distance = all(_is_multiple(form, _DISTANCE) for form in reader.used)
    return DotForm(_function([DOT, XX, ZZ, *parameters], body), is_distance)


def with_fast_exp(tree: ast.FunctionDef, names: Mapping[str, Any], *, of_scalars: bool) -> str:
    """The source of ``value`` with the same arguments and body, exp being that of `_compile`.

    That of NumPy only where all arguments are numbers: it is applied to arrays, too.
    """
    reader = _Reader(names, {}, _EXPONENTIALS if of_scalars else (math.exp,))
    body = [reader.visit(statement) for statement in _without_docstring(tree.body)]
    return _function([argument.arg for argument in tree.args.args], body)


def _function(arguments: list[str], body: list[ast.stmt]) -> str:
    head = f"def value({', '.join(arguments)}):\n"
    text = "\n".join(ast.unparse(ast.fix_missing_locations(statement)) for statement in body)
    return head + "\n".join(f"    {line}" for line in text.splitlines()) + "\n"


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_text and isinstance(first.value.value, str) else body  # type: ignore[attr-defined]


def _names_read(node: ast.AST) -> set[str]:
    names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _is_multiple(form: Quadratic, of: Quadratic) -> bool:
    return all(form[i] * of[j] == form[j] * of[i] for i in range(3) for j in range(i))


class _Reader(ast.NodeTransformer):
    """Reads vectors and quadratic forms, and replaces scalars made of them."""

    def __init__(
        self,
        names: Mapping[str, Any],
        vectors: dict[str, Vector],
        exponentials: tuple = _EXPONENTIALS,
    ):
        self.names, self.exponentials = names, exponentials
        self.known: dict[str, Any] = dict(vectors)  # name → Vector (2 numbers) or Quadratic (3)
        self.used: list[Quadratic] = []

    def define(self, name: str, value: ast.expr) -> bool:
        """Whether a name stands for a vector or an elementwise product of vectors."""
        found = self._read(value)
        if found is not None:
            self.known[name] = found
        return found is not None

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr):
            scalar = self._scalar(node)
            if scalar is not None:
                return scalar
        return super().visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node = self.generic_visit(node)  # type: ignore[assignment]
        if _is_one(self._object(node.func), self.exponentials) and len(node.args) == 1:
            node.func = ast.Name(EXP, ast.Load())
        return node

    # ------------------------------------------------------------------ scalars

    def _scalar(self, node: ast.expr) -> ast.expr | None:
        """A sum over columns as an expression of the three numbers."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return self._sum(self._product(self._read(node.left), self._read(node.right)))
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        called, arguments = self._object(node.func), node.args
        if isinstance(node.func, ast.Attribute) and called is None:
            inner = self._read(node.func.value)
            if node.func.attr == "sum" and not arguments:
                return self._sum(inner)
            if node.func.attr == "dot" and len(arguments) == 1:
                return self._sum(self._product(inner, self._read(arguments[0])))
            return None
        if _is_one(called, _SUMS) and len(arguments) == 1:
            return self._sum(self._read(arguments[0]))
        if _is_one(called, _DOTS) and len(arguments) == 2:
            return self._sum(self._product(*map(self._read, arguments)))
        if called is np.linalg.norm and len(arguments) == 1:
            vector = self._read(arguments[0])
            square = self._sum(self._product(vector, vector))
            return None if square is None else ast.BinOp(square, ast.Pow(), ast.Constant(0.5))
        return None

    def _sum(self, form: Any) -> ast.expr | None:
        if form is None or len(form) != 3:
            return None
        p, q, r = form
        self.used.append(form)
        terms = [f"{c!r} * {name}" for c, name in ((p, XX), (q, DOT), (r, ZZ)) if c]
        text = " + ".join(terms) or "0.0"
        if len(terms) > 1 and min(p, r) >= 0 and q * q <= 4 * p * r:  # not negative, but for
            text = f"{LARGER}({text}, 0.0)"  # rounding
        return ast.parse(text, mode="eval").body

    # ------------------------------------------------------------------ vectors

    def _read(self, node: ast.expr) -> Any:
        """A vector, or an elementwise product of two, by its coefficients; None for others."""
        match node:
            case ast.Name():
                return self.known.get(node.id)
            case ast.UnaryOp(op=ast.USub()):
                return _scaled(self._read(node.operand), -1.0)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                left, right = self._read(node.left), self._read(node.right)
                if left is None or right is None or len(left) != len(right):
                    return None
                sign = 1.0 if isinstance(node.op, ast.Add) else -1.0
                return tuple(a + sign * b for a, b in zip(left, right, strict=True))
            case ast.BinOp(op=ast.Mult()):
                left, right = self._read(node.left), self._read(node.right)
                if left is None or right is None:
                    factor = _number(node.left) if left is None else _number(node.right)
                    return _scaled(right if left is None else left, factor)
                return self._product(left, right)
            case ast.BinOp(op=ast.Div()):
                divisor = _number(node.right)
                return _scaled(self._read(node.left), 1 / divisor) if divisor else None
            case ast.BinOp(op=ast.Pow()) if _number(node.right) == 2:
                base = self._read(node.left)
                return self._product(base, base)
            case ast.Call(args=[argument], keywords=[]) if self._object(node.func) is np.square:
                base = self._read(argument)
                return self._product(base, base)
        return None

    @staticmethod
    def _product(left: Any, right: Any) -> Quadratic | None:
        if left is None or right is None or len(left) != 2 or len(right) != 2:
            return None
        (a, b), (c, d) = left, right
        return a * c, a * d + b * c, b * d

    def _object(self, node: ast.expr) -> Any:
        """What a name or an attribute of a module stands for; None if that is not known."""
        if isinstance(node, ast.Name):
            builtin = sum if node.id == "sum" else None
            return None if node.id in self.known else self.names.get(node.id, builtin)
        if isinstance(node, ast.Attribute):
            owner = self._object(node.value)
            is_module = type(owner).__name__ == "module"
            return getattr(owner, node.attr, None) if is_module else None
        return None


def _is_one(thing: Any, of: tuple) -> bool:
    return any(thing is each for each in of)  # == of arrays is an array


def _number(node: ast.expr) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return float(node.value) if is_number else None  # type: ignore[attr-defined]


def _scaled(form: Any, factor: float | None) -> Any:
    return None if form is None or factor is None else tuple(factor * c for c in form)
