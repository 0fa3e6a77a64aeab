"""The commands. The signature of each is its options, which ``run`` of its module gets by name.

The examples in the help texts use the files that ``mercer demo`` writes, and the tests run them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from enum import Enum
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer

from mercer.cli import _options as o
from mercer.cli._errors import ExitCode, escape_unencodable, print_error, run_command

__all__ = ["app", "start"]

app = typer.Typer(
    name="mercer",
    help="Support vector machines and kernel methods with certificates.",
    epilog="$ mercer demo  runs an example, and writes the files that the other examples use.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def start(arguments: Sequence[str] | None) -> int:
    """Parse and run; usage errors of typer become one line too."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["train"]:
        words = o.join_weights(words)
    usage_error: Any = typer.BadParameter.__base__
    escape_unencodable()
    try:
        command = typer.main.get_command(app)
        _hide_types_of_flags(command)
        return command.main(words, prog_name="mercer", standalone_mode=False) or 0
    except usage_error as error:
        place = " ".join(["mercer", *words[:1]]) if error.ctx and error.ctx.parent else "mercer"
        message = error.format_message().rstrip(".").replace("Value error, ", "")
        message = _with_value(error, message, words)
        print_error(f"{message}{_meant(error, message)} (see {place} --help)")
        return int(ExitCode.USAGE)
    except typer.Abort:
        return int(ExitCode.ERROR)


def _hide_types_of_flags(command: Any) -> None:
    """Those that typer adds itself: a flag takes no <bool>."""
    for each in [command, *command.commands.values()]:
        help_option = each.get_help_option(typer.Context(each))
        for option in [*each.params, help_option]:
            if getattr(option, "is_flag", False):
                option.metavar = ""


def _with_value(error: Any, message: str, words: Sequence[str]) -> str:
    """A number that cannot be taken, with what was typed: --cv must be a valid integer, got 'x'."""
    _, is_number, allowed = message.partition("Input should be ")
    names = tuple(getattr(getattr(error, "param", None), "opts", ()))
    if not is_number or not names:
        return message
    told = f"{names[0]} must be {allowed.partition(',')[0]}"
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word in names:
            return f"{told}, got {after!r}"
        if word.startswith(names):
            value = word[len(names[0]) :]  # of -C=1 the parser takes "=1"
            return f"{told}, got {value.removeprefix('=' if names[0][:2] == '--' else '')!r}"
    return told


def _meant(error: Any, message: str) -> str:
    """The option or value that a word of the command line is likely to stand for."""
    choice = re.search(r"'([^']*)' is not one of (.*)", message)
    if choice:
        near = get_close_matches(choice[1], re.findall(r"'([^']*)'", choice[2]), 1)
        return f"; did you mean {near[0]}?" if near else ""
    wrong = getattr(error, "option_name", None)
    if wrong is None or error.ctx is None:
        return ""
    names = [name for parameter in error.ctx.command.params for name in parameter.opts]
    known = [name for name in names if name[0] == "-"]
    same = [name for name in known if name.lstrip("-").lower() == wrong.lstrip("-").lower()]
    near = same or get_close_matches(wrong, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def command(*examples: str, module: str = "", **settings: Any) -> Callable[[Callable], Callable]:
    """A command whose help ends with these examples, and whose module is imported to run it.

    It is ``run`` of the module of its name, or the function of its name in ``module``.
    """

    def register(signature: Callable) -> Callable:
        name = signature.__name__

        @wraps(signature)
        def run(**given: Any) -> None:
            options = {k: v.value if isinstance(v, Enum) else v for k, v in given.items()}

            def work() -> int | None:
                home = import_module(f"mercer.cli.{module or '_' + name}")
                return getattr(home, name if module else "run")(**options)

            raise typer.Exit(run_command(work))

        epilog = "\n\n".join(["Examples:", *(f"$ {example}" for example in examples)])
        return app.command(name, epilog=epilog, **settings)(run)

    return register


def _version(wanted: bool) -> None:
    if wanted:
        from mercer import __version__

        print(f"mercer {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def mercer(
    context: typer.Context,
    version: Annotated[
        bool, o.flag("Print the version.", "--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


@command(
    "mercer train demo/tumours.csv --target diagnosis --verify --plot tumours.png",
    "mercer train demo/tumours.csv --target diagnosis --machine linear-svc -C 0.1 -o small.mercer",
    "mercer train -s 0 -t 2 -c 10 -g 0.5 -v 5 demo/tumours.csv --target diagnosis",
    context_settings={"help_option_names": ["--help"]},  # -h is svm-train's
)
def train(
    data: o.Data,
    model: o.ModelOut = None,
    output: o.TrainOutput = None,
    target: o.Target = None,
    scale: o.Scale = None,
    missing: o.Missing = None,
    header: o.Header = None,
    categorical: o.Categorical = None,
    drop: o.Drop = None,
    decimal: o.Decimal = None,
    na: o.Na = None,
    task: o.Task = None,
    format: o.Format = None,
    machine: o.Estimator = None,
    kernel: o.Kernel = None,
    kernel_parameter: o.KernelParameter = None,
    normalize: o.Normalized = False,
    text: o.Text = None,
    C: o.C = None,
    gamma: o.Gamma = None,
    degree: o.Degree = None,
    coef0: o.Coef0 = None,
    nu: o.Nu = None,
    epsilon: o.Epsilon = None,
    alpha: o.Alpha = None,
    class_weight: o.ClassWeight = None,
    probability: o.Probability = None,
    tol: o.Tol = None,
    solver: o.Solver = None,
    shrinking: o.Shrinking = None,
    max_iter: o.MaxIter = None,
    time_limit: o.TimeLimit = None,
    cache_size: o.CacheSize = None,
    n_jobs: o.Jobs = None,
    dask: o.Dask = False,
    scheduler: o.Scheduler = None,
    checkpoint: o.CheckpointFile = None,
    cv: o.Folds = None,
    test: o.Test = None,
    verify: o.Verify = False,
    plot: o.PlotToo = None,
    full: o.Full = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
    s: o.S = None,
    t: o.T = None,
    d: o.D = None,
    g: o.G = None,
    r: o.R = None,
    c: o.CLetter = None,
    n: o.N = None,
    p: o.P = None,
    m: o.M = None,
    e: o.E = None,
    h: o.H = None,
    b: o.B = None,
    w: o.W = None,
    v: o.V = None,
) -> None:
    """Train a model on a file, and write it with its certificate."""


@command(
    "mercer tune demo/tumours.csv --target diagnosis --time-limit 5 -o tuned.mercer",
    "mercer tune demo/tumours.csv --target diagnosis --time-limit 5 --plot landscape.png -q",
)
def tune(
    data: o.Data,
    output: o.TrainOutput = None,
    target: o.Target = None,
    scale: o.TuneScale = None,
    missing: o.Missing = None,
    header: o.Header = None,
    categorical: o.Categorical = None,
    drop: o.Drop = None,
    decimal: o.Decimal = None,
    na: o.Na = None,
    task: o.Task = None,
    format: o.Format = None,
    text: o.Text = None,
    time_limit: o.SearchLimit = 60.0,
    n_jobs: o.Jobs = None,
    test: o.Test = None,
    plot: o.SearchPlot = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Search scaling, kernel and parameters within a time limit; write the best model."""


@command(
    "mercer predict demo/tumours.mercer demo/tumours-new.csv -o predictions.csv",
    "mercer predict demo/tumours.mercer demo/tumours-new.csv --decision | head",
)
def predict(
    model: o.Model,
    data: o.Data,
    out: o.PredictionsOut = None,
    output: o.PredictOutput = None,
    decision: o.Decision = False,
    proba: o.Proba = False,
    b: o.PredictB = None,
    keep: o.Keep = None,
    format: o.Format = None,
    decimal: o.Decimal = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Predict the rows of a file, and score it if it has targets."""


@command("mercer verify demo/tumours.mercer demo/tumours.csv")
def verify(
    model: o.Model,
    data: o.Data,
    format: o.Format = None,
    decimal: o.Decimal = None,
    full: o.Full = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Recompute a certificate from the model and its training data."""


@command("mercer inspect demo/tumours.mercer", "mercer inspect demo/tumours.csv")
def inspect(file: o.AnyFile, top: o.Top = 10, full: o.Full = False, json: o.Json = False) -> None:
    """Show what is in a file: a model, a checkpoint, or data."""


@command(
    "mercer convert demo/tumours.csv tumours.svm --target diagnosis",
    "mercer convert demo/tumours.mercer tumours.model",
)
def convert(
    source: o.Source,
    destination: o.Destination,
    target: o.Target = None,
    scale: o.Scale = None,
    missing: o.Missing = None,
    header: o.Header = None,
    categorical: o.Categorical = None,
    drop: o.Drop = None,
    decimal: o.Decimal = None,
    na: o.Na = None,
    task: o.Task = None,
    format: o.Format = None,
    like: o.Like = None,
    to: o.To = None,
    quiet: o.Quiet = False,
) -> None:
    """Convert data between formats, models from LIBSVM's and back."""


@command(
    "mercer export demo/tumours.mercer --onnx -o tumours.onnx",
    "mercer export demo/tumours.mercer --c -o tumours.h",
    module="_convert",
)
def export(
    model: o.Model,
    onnx: Annotated[bool, o.flag("An ONNX graph in float64.", "--onnx")] = False,
    c: Annotated[bool, o.flag("A C99 header without dependencies.", "--c")] = False,
    single: Annotated[bool, o.flag("C: float instead of double.", "--float")] = False,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="C: what its names begin with.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")
    ] = None,
    quiet: o.Quiet = False,
) -> None:
    """Write a model for programs without Mercer: an ONNX graph, or C."""


@command("mercer doctor demo/tumours.csv --target diagnosis -C 1000")
def doctor(
    data: o.Data,
    target: o.Target = None,
    scale: o.Scale = None,
    missing: o.Missing = None,
    header: o.Header = None,
    categorical: o.Categorical = None,
    drop: o.Drop = None,
    decimal: o.Decimal = None,
    na: o.Na = None,
    task: o.Task = None,
    format: o.Format = None,
    kernel: o.Kernel = None,
    C: o.C = None,
    gamma: o.Gamma = None,
    epsilon: o.Epsilon = None,
    json: o.Json = False,
) -> None:
    """Check data before a fit, estimate its time, and say how to train."""


@command("mercer plot boundary demo/tumours.mercer demo/tumours.csv -o boundary.svg")
def plot(
    kind: o.Kind,
    model: o.Model,
    data: o.DataIfAny = None,
    output: o.PlotOutput = None,
    feature: o.Feature = None,
    format: o.Format = None,
    quiet: o.Quiet = False,
) -> None:
    """Draw a model."""


@command("mercer play --no-browser --port 5006", module="_commands")
def play(data: o.DataIfAny = None, port: o.Port = 0, browser: o.Browser = True) -> None:
    """Open the playground: draw points, watch models being fitted."""


@command("mercer warmup linear-svc", "mercer warmup linear-svc ridge -q", module="_commands")
def warmup(machines: o.Machines = None, quiet: o.Quiet = False) -> None:
    """Compile now, once on a computer, so that no fit has to wait for it."""


@command("mercer demo", module="_commands")
def demo(output: o.Folder = "demo", quiet: o.Quiet = False) -> None:
    """Train on bundled data, print the certificate, check it, draw it."""
