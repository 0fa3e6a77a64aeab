"""The options of the commands: their types, names and help; those of LIBSVM's svm-train too.

Options with a fixed set of values are enumerations, from which typer takes validation, help and
completion. The names of estimators and kernels are those of the registries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Annotated, Any

import typer

from mercer.estimators._registry import ESTIMATORS, cli_names
from mercer.kernels._registry import KERNELS


def _choice(title: str, names: Iterable[str]) -> Any:
    return Enum(title, {name: name for name in names})


EstimatorName = _choice("EstimatorName", cli_names())
# Of samples that files hold: rows of numbers or of mixed columns, texts, series, and sets of words.
_IN_FILES = ("vectors", "sequences", "tables", "series", "sets")
KernelName = _choice(
    "KernelName",
    (e.names[0] for e in KERNELS.values() if e.names and e.sample_type in _IN_FILES),
)
ScaleName = StrEnum("ScaleName", ("standard", "minmax", "maxabs", "none"))
FormatName = StrEnum("FormatName", ("svmlight", "csv", "parquet", "npy", "npz"))
OutputFormat = StrEnum(
    "OutputFormat", ("svmlight", "csv", "parquet", "npz", "mercer", "libsvm", "liblinear")
)
FillName = StrEnum("FillName", ("median", "mean", "zero"))
DecimalSign = _choice("DecimalSign", ".,")
TaskName = StrEnum("TaskName", ("classification", "regression"))
# Those of `mercer.plots`, which would take too long to import for a help text.
PlotKind = StrEnum(
    "PlotKind",
    "boundary tube kkt gap anytime kernel spectrum loss weights path reliability validation "
    "landscape learning support",
)

# Values of -s and -t of svm-train.
SVM_TYPES = {e.libsvm_code: e.cli_name for e in ESTIMATORS.values() if e.libsvm_code is not None}
KERNEL_TYPES = {e.libsvm_code: e.names[0] for e in KERNELS.values() if e.libsvm_code is not None}

DATA = "svmlight, CSV, Parquet, .npy or .npz, also compressed; - is standard input."
MODEL_PANEL, FIT_PANEL = "Model", "Fit"
SVM_TRAIN_PANEL = "As in LIBSVM's svm-train (with any of these, the rest has its defaults)"


def _named(choice: Any, help: str, *names: str, **more: Any) -> Any:
    """An option whose help lists its values."""
    values = ", ".join(member.value for member in choice)
    return typer.Option(*names, help=f"{help}: {values}.", metavar="NAME", **more)


def flag(help: str, *names: str, **more: Any) -> Any:
    """An option without a value."""
    return typer.Option(*names, help=help, metavar="", **more)


def solver_names(incomplete: str = "") -> list[str]:
    """Completion of --solver; the estimator itself checks the name."""
    from mercer.estimators import SVC, KernelRidge

    options = [
        name
        for cls in (SVC, KernelRidge)
        for name in cls._parameter_constraints["solver"][0].options
    ]
    return sorted({name for name in options if name.startswith(incomplete)})


def _model(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=MODEL_PANEL, **more)


def _fit(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=FIT_PANEL, **more)


def _letter(name: str, help: str, **more: Any) -> Any:
    return typer.Option(f"-{name}", help=help, rich_help_panel=SVM_TRAIN_PANEL, **more)


def _code(name: str, values: Mapping[int, str]) -> Any:
    meaning = ", ".join(f"{code} {values[code]}" for code in sorted(values))
    return _letter(name, f"{meaning}.", min=0, max=max(values))


# Files
Data = Annotated[str, typer.Argument(metavar="DATA", help=DATA)]
DataIfAny = Annotated[str | None, typer.Argument(metavar="DATA", help=DATA)]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="What train wrote.")]
AnyFile = Annotated[
    str, typer.Argument(metavar="FILE", help="A model (also LIBSVM's), a checkpoint, or data.")
]
Source = Annotated[str, typer.Argument(metavar="SOURCE", help=f"A model, or data: {DATA}")]
Destination = Annotated[
    str, typer.Argument(metavar="DEST", help="The name says the format: .csv, .svm, .npz, .model …")
]
Kind = Annotated[
    PlotKind,
    typer.Argument(metavar="KIND", help=", ".join(kind.value for kind in PlotKind) + "."),
]
ModelOut = Annotated[str | None, typer.Argument(metavar="MODEL", help="As --output.")]
PredictionsOut = Annotated[str | None, typer.Argument(metavar="OUT", help="As --output.")]
TrainOutput = Annotated[
    str | None,
    typer.Option("--output", "-o", help="The model.", show_default="DATA's name, .mercer"),
]
PredictOutput = Annotated[
    str | None, typer.Option("--output", "-o", help="CSV.", show_default="standard output")
]
PlotOutput = Annotated[
    str | None,
    typer.Option("--output", "-o", help="A .png, .svg, .pdf or .html.", show_default="KIND.png"),
]
Machines = Annotated[
    list[str] | None,
    typer.Argument(metavar="MACHINE", help="As train's --machine.", show_default="all"),
]
Folder = Annotated[str, typer.Option("--output", "-o", help="The folder it is written to.")]

# How data are read
Target = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The target's column by name or number (from 0); none if there is none.",
        show_default="target, label, class, y or outcome",
    ),
]
Text = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column of texts, for kernels on texts.",
        show_default="the only one besides the target",
    ),
]
Scale = Annotated[
    ScaleName | None, _named(ScaleName, "Scaling", show_default="standard; sparse data: none")
]
Missing = Annotated[
    FillName | None, _named(FillName, "Value for missing values", show_default="they are refused")
]
Header = Annotated[
    bool | None,
    flag("Whether CSV begins with names.", "--header/--no-header", show_default="as it looks"),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Numbers or dates as categories; again for more."),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; again for more.")
]
Decimal = Annotated[
    DecimalSign | None,  # type: ignore[valid-type]
    typer.Option(metavar="SIGN", help="Of numbers in CSV: . or ,", show_default="."),
]
Na = Annotated[
    list[str] | None,
    typer.Option(metavar="WORD", help="Also stands for a missing value in CSV; again for more."),
]
Task = Annotated[TaskName | None, _named(TaskName, "Kind of target", show_default="as it looks")]
Format = Annotated[
    FormatName | None, _named(FormatName, "Format of the data", show_default="as it looks")
]
To = Annotated[
    OutputFormat | None, _named(OutputFormat, "Format of DEST", show_default="by its suffix")
]
Like = Annotated[
    str | None, typer.Option(metavar="MODEL", help="Read the data as this model takes them.")
]

# The model
Estimator = Annotated[
    EstimatorName | None,  # type: ignore[valid-type]
    _named(
        EstimatorName,
        "Estimator",
        "--machine",
        show_default="svc, svr or oneclass, as the target is",
        rich_help_panel=MODEL_PANEL,
    ),
]
Kernel = Annotated[
    KernelName | None,  # type: ignore[valid-type]
    _named(
        KernelName,
        "Kernel",
        "--kernel",
        show_default="rbf; ridge: linear",
        rich_help_panel=MODEL_PANEL,
    ),
]
C = Annotated[
    float | None,
    _model("Penalty on the slack variables. Larger: less regularisation.", "-C", show_default="1"),
]
Gamma = Annotated[
    str | None,
    _model(
        "γ of the kernel: a number, scale, or auto (1 / columns).",
        show_default="scale",
        metavar="GAMMA",
    ),
]
KernelParameter = Annotated[
    list[str] | None,
    _model("Of kernels on texts, tables, …, such as k=4; several times.", metavar="NAME=VALUE"),
]
Normalized = Annotated[bool, flag("k(x, z) / √(k(x, x) k(z, z)), on texts.", "--normalize")]
Degree = Annotated[int | None, _model("Of poly.", show_default="3")]
Coef0 = Annotated[float | None, _model("Of poly and sigmoid.", show_default="0")]
Nu = Annotated[
    float | None, _model("ν: bound on the fraction of margin errors.", show_default="0.5")
]
Epsilon = Annotated[
    float | None, _model("ε: half width of the ε-insensitive tube.", show_default="0.1")
]
Alpha = Annotated[float | None, _model("Penalty of ridge.", show_default="1")]
ClassWeight = Annotated[
    list[str] | None,
    _model("Factor of C for a class (once for each), or balanced.", metavar="LABEL=FACTOR"),
]
Probability = Annotated[
    bool | None,
    _model(
        "Fit probabilities too.", "--probability/--no-probability", show_default="no", metavar=""
    ),
]

# The fit
Tol = Annotated[
    float | None,
    _fit("Tolerance of the stopping criterion.", show_default="0.001, of linear models 0.0001"),
]
Solver = Annotated[
    str | None,
    _fit(
        "Algorithm, such as smo, qp, platt or (ridge) cholesky and cg.",
        show_default="auto",
        metavar="NAME",
        autocompletion=solver_names,
    ),
]
Shrinking = Annotated[
    bool | None,
    _fit(
        "Shrink the set of active rows.",
        "--shrinking/--no-shrinking",
        show_default="yes",
        metavar="",
    ),
]
MaxIter = Annotated[
    int | None, _fit("Maximum number of iterations of the solver.", show_default="no limit")
]
TimeLimit = Annotated[
    float | None, _fit("Maximum duration of the fit in seconds.", show_default="no limit")
]
CacheSize = Annotated[
    float | None, _fit("Cache for kernel values in MB.", show_default="by the memory here")
]
Jobs = Annotated[
    int | None, _fit("Threads; they do not change the model.", show_default="all processors")
]
Dask = Annotated[bool, flag("Fit by a Dask cluster, chunk by chunk.", "--dask")]
Scheduler = Annotated[str | None, _fit("Address of a Dask scheduler.", metavar="tcp://HOST:PORT")]
CheckpointFile = Annotated[str | None, _fit("With --dask: state of the fit.", metavar="FILE")]
Folds = Annotated[int | None, _fit("Number of folds: also cross-validate.", min=2)]
Test = Annotated[str | None, _fit("Data to score the model on.", metavar="DATA")]
Verify = Annotated[
    bool, flag("Recompute the certificate of the model that was written.", "--verify")
]
PlotToo = Annotated[
    str | None,
    _fit("Also draw the boundary, or the tube of a regression.", metavar="FILE"),
]

SearchLimit = Annotated[float, _fit("Seconds for the search and the last fit.", min=0.1)]
SearchPlot = Annotated[str | None, _fit("Draw the scores over C and γ.", metavar="FILE")]
TuneScale = Annotated[ScaleName | None, _named(ScaleName, "Scaling", show_default="searched")]

# Options of svm-train
S = Annotated[int | None, _code("s", SVM_TYPES)]
T = Annotated[int | None, _code("t", KERNEL_TYPES)]
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
V = Annotated[int | None, _letter("v", "Number of folds: cross-validate, write no model.", min=2)]

# What is printed
Full = Annotated[bool, flag("All numbers of the certificate.", "--full")]
Json = Annotated[bool, flag("Print one JSON object.", "--json")]
Quiet = Annotated[bool, flag("Print errors only.", "--quiet", "-q")]
Decision = Annotated[bool, flag("Decision values too.", "--decision")]
Proba = Annotated[bool, flag("Probabilities of the classes too.", "--proba")]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Copy this column of DATA, such as an id; again for more."),
]
PredictB = Annotated[
    int | None,
    typer.Option(
        "-b", min=0, max=1, help="As svm-predict: labels without a header; 1: probabilities too."
    ),
]
Top = Annotated[int, typer.Option(help="Number of features with the largest weights.", min=0)]
Feature = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Draw along this column; again for a second one."),
]
# The playground
Port = Annotated[int, typer.Option(help="0: any that is free.", min=0, max=65535)]
Browser = Annotated[bool, flag("Open the page.", "--browser/--no-browser")]


# Command lines of svm-train

_WEIGHT = re.compile(r"-w([-+]?\d+(?:\.\d*)?)$")


def join_weights(arguments: Sequence[str]) -> list[str]:
    """``-w1 5`` is one option with two values: make it ``-w 1=5``."""
    joined, rest = [], list(arguments)
    while rest:
        argument = rest.pop(0)
        weight = _WEIGHT.match(argument)
        joined += ["-w", f"{weight[1]}={rest.pop(0)}"] if weight and rest else [argument]
    return joined
