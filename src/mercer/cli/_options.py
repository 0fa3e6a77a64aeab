"""The options of the commands: their types, names and help, and what the shell completes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from mercer.cli._estimators import KERNELS, MACHINES

SCALES = ("standard", "minmax", "maxabs", "none")
FORMATS = ("svmlight", "csv", "parquet", "npy", "npz")
MODELS = ("mercer", "libsvm")
FILLS = ("median", "mean", "zero")
TASKS = ("classification", "regression")
# Those of `mercer.plots`, which would take too long to import for a help text.
KINDS = ("boundary", "tube", "kkt", "gap", "kernel", "spectrum", "loss", "weights", "path")
# Those of `mercer.solvers`, likewise; the last three are ridge's.
SOLVERS = (
    "auto", "smo", "platt", "qp", "qp-primal", "projected-gradient",
    "projected-gradient-plain", "coordinate-ascent", "pegasos", "cholesky", "cg", "eigen",
)  # fmt: skip

DATA = "svmlight, CSV, Parquet, .npy or .npz, also compressed; - is standard input."
MACHINE = "The machine"
RUN = "The run"
SVM_TRAIN = "As in LIBSVM's svm-train (with any of these, the rest has its defaults)"


def among(names: Iterable[str]) -> dict[str, Any]:
    """Settings of an option that is one of some names: checked, and completed by the shell."""
    names = list(names)

    def check(value: str | None) -> str | None:
        if value is not None and value not in names:
            raise typer.BadParameter(f"{value!r} is none of {', '.join(names)}")
        return value

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return {"callback": check, "autocompletion": complete}


def _machine(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=MACHINE, **more)


def _run(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=RUN, **more)


def _letter(name: str, help: str, **more: Any) -> Any:
    return typer.Option(f"-{name}", help=help, rich_help_panel=SVM_TRAIN, **more)


def _named(what: str, names: Iterable[str], **more: Any) -> Any:
    settings: dict[str, Any] = {"metavar": "NAME", "help": f"{what}: {', '.join(names)}."}
    return typer.Option(**settings | among(names) | more)


# Files
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA)]
DataIfAny = Annotated[str | None, typer.Argument(metavar="DATA", help=DATA)]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="What train wrote.")]
Source = Annotated[str, typer.Argument(metavar="SOURCE", help=f"A model, or data: {DATA}")]
Destination = Annotated[
    str, typer.Argument(metavar="DEST", help="The name says the format: .csv, .svm, .npz, .model …")
]
Kind = Annotated[str, typer.Argument(metavar="KIND", help=", ".join(KINDS) + ".", **among(KINDS))]
ModelOut = Annotated[str | None, typer.Argument(metavar="MODEL", help="As --output.")]
PredictionsOut = Annotated[str | None, typer.Argument(metavar="OUT", help="As --output.")]
TrainOutput = Annotated[
    str | None, typer.Option("--output", "-o", help="The model; by default DATA's name, .mercer.")
]
PredictOutput = Annotated[
    str | None, typer.Option("--output", "-o", help="CSV; by default standard output.")
]
PlotOutput = Annotated[
    str | None, typer.Option("--output", "-o", help="A .png, .svg or .html; by default KIND.png.")
]
Folder = Annotated[str, typer.Option("--output", "-o", help="The folder it is written to.")]

# How data are read
Target = Annotated[
    str | None,
    typer.Option(help="The target's column by name or number (from 0); none if there is none."),
]
Scale = Annotated[str | None, _named("Scaling (dense data: standard)", SCALES)]
Missing = Annotated[str | None, _named("What fills missing numbers", FILLS)]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether CSV begins with names.")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Numbers that stand for words; again for more."),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; again for more.")
]
Task = Annotated[str | None, _named("What the target is", TASKS)]
Format = Annotated[str | None, _named("Of the data, if the guess is wrong", FORMATS)]
To = Annotated[
    str | None,
    _named("Format of DEST, if its name does not say it", (*FORMATS[:3], "npz", *MODELS)),
]

Like = Annotated[
    str | None, typer.Option(metavar="MODEL", help="Read the data as this model takes them.")
]

# The machine
MachineName = Annotated[
    str | None,
    _named("By default the target decides", MACHINES, rich_help_panel=MACHINE),
]
Kernel = Annotated[str | None, _named("The kernel", KERNELS, rich_help_panel=MACHINE)]
Cost = Annotated[float | None, _machine("Price of an error.", "-C")]
Gamma = Annotated[str | None, _machine("γ of the kernel: a number, scale, or auto (1 / columns).")]
Degree = Annotated[int | None, _machine("Of poly.")]
Coef0 = Annotated[float | None, _machine("Of poly and sigmoid.")]
Nu = Annotated[float | None, _machine("ν: bound on the share of errors.")]
Epsilon = Annotated[float | None, _machine("Half width of a regression's tube.")]
Alpha = Annotated[float | None, _machine("Penalty of ridge.")]
ClassWeight = Annotated[
    list[str] | None,
    _machine("Factor of C for a class (once for each), or balanced.", metavar="LABEL=FACTOR"),
]
Probability = Annotated[
    bool | None, _machine("Fit probabilities too.", "--probability/--no-probability")
]

# The run
Tol = Annotated[float | None, _run("When the fit is good enough.")]
Solver = Annotated[str | None, _named("The method", SOLVERS, rich_help_panel=RUN)]
Shrinking = Annotated[
    bool | None, _run("Leave rows far from violating alone.", "--shrinking/--no-shrinking")
]
MaxIter = Annotated[int | None, _run("Steps of the solver at the most.")]
TimeLimit = Annotated[float | None, _run("Seconds of the fit at the most.")]
CacheSize = Annotated[float | None, _run("MB for kernel values.")]
Jobs = Annotated[int | None, _run("Threads; they do not change the model.")]
Folds = Annotated[int | None, _run("Cross-validate in so many folds too.", min=2)]
Test = Annotated[str | None, _run("Data to score the model on.", metavar="DATA")]
Verify = Annotated[
    bool, typer.Option("--verify", help="Recompute the certificate of the model that was written.")
]
PlotToo = Annotated[
    str | None,
    _run("Draw what was learned: boundary, or tube of a regression.", metavar="PICTURE"),
]

# svm-train's letters
S = Annotated[
    int | None, _letter("s", "0 C-SVC 1 ν-SVC 2 one-class 3 ε-SVR 4 ν-SVR.", min=0, max=4)
]
T = Annotated[
    int | None, _letter("t", "0 linear 1 poly 2 rbf 3 sigmoid 4 precomputed.", min=0, max=4)
]
D = Annotated[int | None, _letter("d", "Degree of poly.")]
G = Annotated[float | None, _letter("g", "γ.")]
R = Annotated[float | None, _letter("r", "coef0.")]
CLetter = Annotated[float | None, _letter("c", "C.")]
N = Annotated[float | None, _letter("n", "ν.")]
P = Annotated[float | None, _letter("p", "ε of a regression.")]
M = Annotated[float | None, _letter("m", "Cache in MB.")]
E = Annotated[float | None, _letter("e", "Tolerance.")]
H = Annotated[int | None, _letter("h", "Shrinking, 0 or 1.", min=0, max=1)]
B = Annotated[int | None, _letter("b", "Probabilities, 0 or 1.", min=0, max=1)]
W = Annotated[
    list[str] | None, _letter("w", "-w1 5: five times C for class 1.", metavar="LABEL FACTOR")
]
V = Annotated[int | None, _letter("v", "Cross-validate in so many folds; no model.", min=2)]

# What a command says
Json = Annotated[bool, typer.Option("--json", help="Say it as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]
Decision = Annotated[bool, typer.Option("--decision", help="Decision values too.")]
Proba = Annotated[bool, typer.Option("--proba", help="Probabilities of the classes too.")]
Top = Annotated[int, typer.Option(help="How many of the weightiest features.", min=0)]

Feature = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Draw along this column; again for a second one."),
]

# The playground
Port = Annotated[int, typer.Option(help="0: any that is free.", min=0, max=65535)]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")]
