"""The command ``mercer``: machines trained, checked and shown without a line of Python.

==============  ===================================================================
app.py          what may be typed: commands, options, their help with examples
guard.py        exit codes, and errors as one line on stderr
letters.py      the options of LIBSVM's svm-train
machines.py     machines and kernels by name; the choice by the target
progress.py     the bar of a fit
output.py       results as text or as one JSON object
train.py …      what each command does: its ``run`` takes the options by name
==============  ===================================================================

Until a command runs nothing is imported but typer, so that help and completion answer at once.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default the process's own, and return its exit code.

    Examples
    --------
    >>> from mercer.cli import main
    >>> main(["--version"])
    mercer 0.1.0
    0
    """
    from mercer.cli._app import start

    return start(arguments)
