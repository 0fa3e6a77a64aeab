"""The command ``mercer``: train, check and show models from the shell.

===============  ===================================================================
_app.py          commands, their options, their help with examples
_options.py      types, names and help of the options; those of LIBSVM's svm-train
_errors.py       exit codes, and errors as one line on stderr
_output.py       reading data; results as text or as one JSON object
_certificate.py  certificates in words
_scores.py       scores of predictions; held-out rows, folds, test files
_progress.py     the progress bar of a fit, and the time of compiling
_train.py …      one module per command: its ``run`` takes the options by name
_commands.py     the short commands: play, warmup, demo
===============  ===================================================================

Until a command runs, only typer and the registries of names are imported, so that help and
completion are fast.
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
