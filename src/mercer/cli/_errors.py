"""Exit codes, and every error as one line on stderr.

====  ==================================================================
0     success
1     an error: a file that cannot be read, data that cannot be fitted,
      a certificate that does not hold
2     an invalid command line
3     stopped before the tolerance: the model is written, its gap stated
====  ==================================================================

``MERCER_TRACEBACK=1`` in the environment shows the traceback of an error.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable
from enum import IntEnum
from typing import Any

__all__ = [
    "CommandError",
    "ExitCode",
    "UsageError",
    "escape_unencodable",
    "in_options",
    "option",
    "print_error",
    "run_command",
    "silence_stdout",
]

_READING = "target|task|scale|missing|header|categorical|drop|format|decimal|na|keep|text"
_REMEDY = re.compile(rf"\b({_READING})=(?:\[?'([^']*)'\]?)?")
# What only Python has, and what stands for it here.
_PYTHON = {
    r"np\.(?:str_|int64|float64)\(([^()]*)\)": r"\1",
    r"the error's \.weights; ": "",
    r"\buse OneClassSVM\b": "use mercer train --machine oneclass",
    r"\bkernel='spectrum'": "--kernel spectrum",
    r"a str among \{'(\w+)', '(\w+)'\}": r"\1, \2",
}


class ExitCode(IntEnum):
    OK = 0
    ERROR = 1
    USAGE = 2
    STOPPED = 3


class CommandError(Exception):
    """The command failed; the message is the line shown."""

    exit_code = ExitCode.ERROR


class UsageError(CommandError):
    """Options that cannot be combined, or a value out of its range."""

    exit_code = ExitCode.USAGE


def print_error(message: object) -> None:
    """One line on stderr."""
    print(f"mercer: {' '.join(str(message).split())}", file=sys.stderr, flush=True)


def _print_warning(message: Warning | str, *where: Any) -> None:
    """A warning in one line, without the place in the code that it comes from."""
    print_error(message)


def escape_unencodable() -> None:
    """Write characters that the encoding of a terminal or pipe lacks as escapes: \\u03b3."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """Redirect stdout to /dev/null after a broken pipe, so that the shutdown does not raise."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run_command(run: Callable[[], int | None]) -> int:
    """The exit code of a command; every error becomes one line on stderr."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning  # type: ignore[assignment]
            code = run()
        sys.stdout.flush()
        return int(code or ExitCode.OK)
    except BrokenPipeError:
        silence_stdout()
        return int(ExitCode.OK)
    except KeyboardInterrupt:
        print_error("stopped by Ctrl-C before there was a model to keep")
        return int(ExitCode.ERROR)
    except Exception as error:
        if os.environ.get("MERCER_TRACEBACK"):
            raise
        code, message = _explain(error)
        print_error(message)
        return int(code)


def in_options(message: str) -> str:
    """A message with Python's arguments, such as ``drop=['name']``, as options; no other Python."""
    message = message.replace("target=False", "target='none'")
    for pattern, plain in _PYTHON.items():
        message = re.sub(pattern, plain, message)
    return _REMEDY.sub(
        lambda found: option(found[1]) + (f" {shlex.quote(found[2])}" if found[2] else ""), message
    )


def _explain(error: Exception) -> tuple[int, str]:
    """The exit code and the line shown for an error."""
    message = in_options(str(error))
    if isinstance(error, CommandError):
        return error.exit_code, message
    parameter = re.match(r"The '(\w+)' parameter of \w+ (must be .*) Got (.*) instead\.", message)
    if parameter:
        name, allowed, got = parameter.groups()
        return ExitCode.USAGE, f"{option(name)} {allowed.rstrip('.')}, got {got}"
    if isinstance(error, ImportError):
        return ExitCode.ERROR, _missing(error)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return ExitCode.ERROR, f"{error.filename}: {error.strerror.lower()}"
    if isinstance(error, MemoryError):
        return ExitCode.ERROR, f"out of memory: {message or 'try a smaller --cache-size'}"
    if isinstance(error, (ValueError, TypeError, OSError, ArithmeticError)):
        return ExitCode.ERROR, message
    return ExitCode.ERROR, (
        f"{type(error).__name__}: {message} "
        "(internal error; set MERCER_TRACEBACK=1 to see the traceback)"
    )


def option(name: str) -> str:
    """A parameter's option on the command line."""
    return "-C" if name == "C" else "--" + name.replace("_", "-")


def _missing(error: ImportError) -> str:
    """A package that is not installed, with the command that installs it."""
    message = str(error)
    return message if "pip install" in message else f"{message}; pip install {error.name}"
