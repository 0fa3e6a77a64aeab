"""Exit codes, and every error as one line on stderr.

====  ==================================================================
0     done
1     an error: a file that cannot be read, data that cannot be fitted,
      a claim of a model that does not hold
2     a command line that means nothing
3     stopped before the tolerance: the model is written, its gap stated
====  ==================================================================

``MERCER_TRACEBACK=1`` in the environment shows where an error comes from.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable
from typing import Any

__all__ = [
    "ERROR", "OK", "STOPPED", "USAGE", "Failed", "Misused", "complain", "guarded", "hush",
    "in_options", "option", "write_any_text",
]  # fmt: skip

OK, ERROR, USAGE, STOPPED = range(4)
_READING = "target|task|scale|missing|header|categorical|drop|format"
_REMEDY = re.compile(rf"\b({_READING})=(?:\[?'([^']*)'\]?)?")


class Misused(Exception):
    """Options that do not go together, or a value out of its range."""


class Failed(Exception):
    """What the command was asked to find out came out badly."""


def complain(message: object) -> None:
    """One line on stderr."""
    print(f"mercer: {' '.join(str(message).split())}", file=sys.stderr, flush=True)


def _complain_of(message: Warning | str, *where: Any) -> None:
    """A warning in one line, without the place in the code that it comes from."""
    complain(message)


def write_any_text() -> None:
    """Letters that the encoding of a terminal or pipe lacks are written as escapes: \\u03b3."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def hush() -> None:
    """The reader of stdout, such as head, has seen enough: nobody minds the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def guarded(run: Callable[[], int | None]) -> int:
    """The exit code of a command."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _complain_of  # type: ignore[assignment]
            code = run()
        sys.stdout.flush()
        return OK if code is None else code
    except BrokenPipeError:
        hush()
        return OK
    except KeyboardInterrupt:
        complain("stopped by Ctrl-C before there was anything to keep")
        return ERROR
    except Exception as error:
        if os.environ.get("MERCER_TRACEBACK"):
            raise
        code, message = _explain(error)
        complain(message)
        return code


def in_options(message: str) -> str:
    """A remedy in the words of Python, such as ``drop=['name']``, in those of the command line."""
    return _REMEDY.sub(
        lambda found: option(found[1]) + (f" {shlex.quote(found[2])}" if found[2] else ""),
        message.replace("target=False", "target='none'"),
    )


def _explain(error: Exception) -> tuple[int, str]:
    """The exit code and the line that say what went wrong."""
    message = in_options(str(error))
    if isinstance(error, Misused):
        return USAGE, message
    parameter = re.match(r"The '(\w+)' parameter of \w+ (must be .*) Got (.*) instead\.", message)
    if parameter:
        name, allowed, got = parameter.groups()
        return USAGE, f"{option(name)} {allowed.rstrip('.')}, got {got}"
    if isinstance(error, ImportError):
        return ERROR, _missing(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return ERROR, f"{error.filename}: {error.strerror.lower()}"
    if isinstance(error, MemoryError):
        return ERROR, f"out of memory: {message or 'try a smaller --cache-size'}"
    if isinstance(error, (Failed, ValueError, TypeError, OSError, ArithmeticError)):
        return ERROR, message
    return ERROR, (
        f"{type(error).__name__}: {message} (a fault of mercer's: MERCER_TRACEBACK=1 shows where)"
    )


def option(name: str) -> str:
    """How a parameter is called on the command line."""
    return "-C" if name == "C" else "--" + name.replace("_", "-")


def _missing(error: ImportError) -> str:
    """A package that is not installed; errors of the rooms name the command themselves."""
    message = str(error)
    return message if "pip install" in message else f"{message}; pip install {error.name}"
