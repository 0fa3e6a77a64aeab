"""A kernel function as the user wrote it: form, parameters, source, and the names it uses."""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["FORMS", "Definition", "define"]

# Arguments of each form before the parameters.
FORMS = {
    "vectors": ("x", "z"),
    "dot": ("x·z", "‖x‖²", "‖z‖²"),
    "matrices": ("X", "Z"),
    "features": ("X",),
    "sparse features": ("X",),
    "objects": ("x", "z"),
}
_KINDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, eq=False)
class Definition:
    """A kernel function.

    Attributes
    ----------
    function : function
    form : one of FORMS
    parameters : dict of str to number
        Names and default values.
    is_psd : bool or None
        What the user says.
    """

    function: Any
    form: str
    parameters: dict[str, Any] = field(default_factory=dict)
    is_psd: bool | None = None

    @property
    def name(self) -> str:
        return self.function.__name__

    def try_on(self, x: np.ndarray, z: np.ndarray, **parameters: Any) -> None:
        """Call it as Python for one pair of rows; a ValueError names an index beyond these."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                self.function(x, z, **parameters)
        except IndexError as error:
            raise ValueError(
                f"The kernel function {self.name}() fails on rows of {x.size} columns: {error}."
            ) from error
        except Exception:  # the tiles tell
            return

    @property
    def path(self) -> str:
        """Module and name, by which files name it."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    @cached_property
    def source(self) -> str | None:
        """Without decorators; None where it cannot be read (a function typed into a prompt)."""
        try:
            text = textwrap.dedent(inspect.getsource(self.function))
            tree = ast.parse(text).body[0]
        except (OSError, TypeError, SyntaxError, IndexError):
            return None
        if not isinstance(tree, ast.FunctionDef):
            return None  # a lambda
        tree.decorator_list = []
        return ast.unparse(tree)

    @property
    def tree(self) -> ast.FunctionDef | None:
        """Parsed anew: it may be changed."""
        parsed = None if self.source is None else ast.parse(self.source).body[0]
        return parsed if isinstance(parsed, ast.FunctionDef) else None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the source (of the bytecode where there is none)."""
        text = self.source or _bytecode(self.function.__code__)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def captured(self) -> str | None:
        """SHA-256 of what the function uses besides its arguments; None where that is not known."""
        state = self.state()
        if state is None:
            return None
        if self.source is None:  # its bytecode has no names
            state = f"{sorted(_names_in(self.function.__code__))};{state}"
        return hashlib.sha256(state.encode()).hexdigest()

    @property
    def identity(self) -> Hashable:
        """What two definitions of one kernel agree in: those of one source that use other values
        (functions made by a function) are not equal.
        """
        used = id(self.function) if self.captured is None else self.captured
        return self.path, self.digest, self.form, used

    @cached_property
    def names(self) -> dict[str, Any]:
        """Global names and those of enclosing functions."""
        found = dict(self.function.__globals__)
        closure = self.function.__closure__ or ()
        free = self.function.__code__.co_freevars
        for name, cell in zip(free, closure, strict=True):
            try:
                found[name] = cell.cell_contents
            except ValueError:  # not yet assigned
                continue
        return found

    @property
    def used(self) -> list[str]:
        """The names of `names` that the function uses."""
        return sorted(_names_in(self.function.__code__) & set(self.names))

    def state(self) -> str | None:
        """What compiled code depends on besides the source, as a text; None if that is not known.

        Numbers and texts among the names that the function uses are compiled in as constants, and
        so are functions that it calls.
        """
        parts = []
        for name in self.used:
            value = self.names[name]
            if isinstance(value, ModuleType):
                parts.append(f"{name}={value.__name__}")
            elif isinstance(value, (bool, int, float, complex, str, tuple, np.generic)):
                parts.append(f"{name}={value!r}")
            elif isinstance(value, FunctionType) and value.__module__.split(".")[0] == "numpy":
                parts.append(f"{name}={value.__qualname__}")
            elif not isinstance(value, (np.ufunc, type)) and not inspect.isbuiltin(value):
                return None
        return ";".join(parts)


def _names_in(code: CodeType) -> set[str]:
    """Names of a code and of the comprehensions and functions in it."""
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return {*code.co_names, *code.co_freevars}.union(*map(_names_in, inner))


def _bytecode(code: CodeType) -> str:
    """Instructions and constants, the same in every process."""
    constants = tuple(
        _bytecode(each)
        if isinstance(each, CodeType)
        else sorted(map(repr, each))
        if isinstance(each, frozenset)
        else each
        for each in code.co_consts
    )
    return f"{code.co_code!r} {constants!r}"


def define(function: Any, of: str | None, psd: bool | None) -> Definition:
    """The definition of a function; a ValueError or TypeError says what it must be."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"mercer.kernel takes a function, got {type(function).__name__}.")
    signature = inspect.signature(function).parameters.values()
    what = f"mercer.kernel: {function.__name__}({', '.join(map(str, signature))})"
    if any(parameter.kind not in (*_KINDS, parameter.KEYWORD_ONLY) for parameter in signature):
        raise ValueError(f"{what} must not have *arguments or **keywords.")
    samples = [p.name for p in signature if p.default is p.empty]
    parameters = {p.name: p.default for p in signature if p.default is not p.empty}
    form = of or _form_of(samples)
    if form not in FORMS:
        raise ValueError(f"{what}: of must be one of {', '.join(FORMS)}, got {of!r}.")
    if len(samples) != len(FORMS[form]):
        raise ValueError(
            f"{what}: of={form!r} needs {len(FORMS[form])} arguments without a default, got "
            f"{len(samples)}; parameters of the kernel have one."
        )
    return Definition(function, form, parameters, True if len(FORMS[form]) == 1 else psd)


def _form_of(samples: list[str]) -> str:
    """By the names of the arguments: (x), (X, Z), (dot, xx, zz), or two vectors."""
    if len(samples) == 1:
        return "features"
    if len(samples) == 3:
        return "dot"
    return "matrices" if samples == [name.upper() for name in samples] else "vectors"
