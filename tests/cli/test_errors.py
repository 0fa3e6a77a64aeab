"""Exit codes, and one line for every error."""

from __future__ import annotations

import warnings

import pytest

from mercer.cli._errors import CommandError, UsageError, in_options, run_command
from mercer.exceptions import FileError


def fail(error):
    def run():
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("-c and -C"), 2, "-c and -C"),
        (CommandError("does not hold"), 1, "does not hold"),
        (FileError("data.csv", 7, "got 'x',\nneeds a number"), 1, "data.csv:7: got 'x', needs a"),
        (ValueError("first\n\n  second"), 1, "first second"),
        (PermissionError(13, "Permission denied", "m.mercer"), 1, "m.mercer: permission denied"),
        (MemoryError(), 1, "out of memory: try a smaller --cache-size"),
        (ImportError("No module named 'bokeh'", name="bokeh"), 1, "pip install bokeh"),
        (ImportError('give pip install "mercer[plots]"'), 1, 'give pip install "mercer[plots]"'),
        (KeyboardInterrupt(), 1, "stopped by Ctrl-C"),
        (KeyError("x"), 1, "internal error"),
        (
            ValueError("The 'C' parameter of SVC must be in the range (0, inf]. Got -1 instead."),
            2,
            "-C must be in the range (0, inf], got -1",
        ),
        (
            ValueError("The 'cache_size' parameter of SVC must be a float. Got 'a' instead."),
            2,
            "--cache-size must be a float, got 'a'",
        ),
    ],
)  # fmt: skip
def test_errors_are_one_line_with_an_exit_code(capsys, error, code, line):
    assert run_command(fail(error)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mercer: ")
    assert err.count("\n") == 1
    assert line in err


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        ("leave it out with drop=['a b'].", "leave it out with --drop 'a b'."),
        ("use scale='maxabs'", "use --scale maxabs"),
        ("give target= a name", "give --target a name"),
        ("got 1 class (np.str_('x')), np.int64(3) rows", "got 1 class ('x'), 3 rows"),
        ("one class use OneClassSVM.", "one class use mercer train --machine oneclass."),
        ("both (the error's .weights; proved)", "both (proved)"),
        ("must be a str among {'scale', 'auto'} or a float", "must be scale, auto or a float"),
        ("violation 8 (tol=1e-3), max_iter=3", "violation 8 (tol=1e-3), max_iter=3"),
    ],
)
def test_remedies_are_options(python, typed):
    assert in_options(python) == typed


def test_a_traceback_is_there_for_who_asks(monkeypatch):
    monkeypatch.setenv("MERCER_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run_command(fail(KeyError("x")))


def test_codes_of_commands_go_through(capsys):
    assert run_command(lambda: None) == 0
    assert run_command(lambda: 3) == 3
    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("always::UserWarning")
def test_warnings_are_one_line(capsys):
    run_command(lambda: warnings.warn("mind\nthe gap", UserWarning, stacklevel=1))
    assert capsys.readouterr().err == "mercer: mind the gap\n"


def test_no_target_in_the_words_of_the_command_line():
    assert in_options("where there is none, target=False.") == "where there is none, --target none."
