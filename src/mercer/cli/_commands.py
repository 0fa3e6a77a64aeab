"""Short commands: ``mercer play``, ``mercer warmup``, ``mercer demo``, and ``train --dask``."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer import verify
from mercer.cli._errors import CommandError, ExitCode, UsageError, option, print_error
from mercer.data import Column, Schema, Table, write_table
from mercer.estimators._registry import cli_names

__all__ = ["demo", "play", "train_by_dask", "warmup"]

# Options of ``mercer train`` that need the rows in memory.
NOT_BY_DASK = ("cv", "test", "verify", "plot", "missing", "categorical", "text", "n_jobs", "na")

DEMO_COLUMNS = ["worst perimeter", "worst smoothness"]
DEMO = (
    "mercer train {0}/tumours.csv --target diagnosis --gamma 0.5 --test {0}/tumours-new.csv"
    " -o {0}/tumours.mercer",
    "mercer verify {0}/tumours.mercer {0}/tumours.csv",
    "mercer plot boundary {0}/tumours.mercer {0}/tumours.csv -o {0}/tumours.png",
)


def warmup(machines: list[str] | None, quiet: bool) -> int:
    """``mercer warmup``: fit and check problems of every kind, to compile all that they use."""
    from mercer._numba import Compilation

    names, total = machines or list(cli_names()), 0.0
    for name in names:
        if name not in cli_names():
            raise UsageError(f"there is no machine {name!r}; there are {', '.join(cli_names())}")

    def tell(*words: str, end: str = "\n") -> None:
        if not quiet:
            print(*words, end=end, flush=True)

    tell("compiling, once on a computer: a minute or two; Ctrl-C keeps what is done")
    for done, name in enumerate(names):
        tell(f"{name:<18}", end="")
        try:
            with Compilation() as compilation, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _compile(cli_names()[name])
        except KeyboardInterrupt:
            tell()
            print_error(f"stopped by Ctrl-C; {done} of {len(names)} are compiled")
            return ExitCode.STOPPED
        total += compilation.seconds
        tell(f"{compilation.seconds:6.1f} s")
    tell(f"compiled in {total:.3g} s; later fits on this computer load it")
    return ExitCode.OK


def _compile(entry: Any) -> None:
    """Fit, predict and verify small and larger, dense and sparse problems of an estimator."""
    # rows, classes and storage: small and larger problems have other solvers
    problems = ((80, 2, False), (90, 3, False), (80, 2, True), (2500, 2, False))
    rng = np.random.default_rng(0)
    for n, n_classes, is_sparse in problems:
        X = rng.normal(size=(n, 4))
        y: Any = X[:, 0] + rng.normal(size=n)
        if entry.task == "classification":
            y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
        rows = sp.csr_matrix(X * (X > 0)) if is_sparse else X
        model = entry.load()()
        known = model.get_params()
        if "time_limit" in known:
            model.set_params(time_limit=5.0)
        if "probability" in known and n <= 100 and not is_sparse:
            entry.load()(probability=True, random_state=0).fit(rows, y).predict_proba(rows)
        model.fit(rows, y).predict(rows)
        if entry.verify and n <= 100:
            verify(model, rows, y)


def play(data: str | None, port: int, browser: bool) -> None:
    """``mercer play``: the playground."""
    from mercer.playground import serve

    query = "" if data is None else _query(data)
    try:
        serve(port, open_browser=browser, query=query)
    except OSError as error:
        raise CommandError(f"--port {port}: {error.strerror or error}") from error


def _query(data: str) -> str:
    """What the page opens with: a link, whole or from its question mark on, or a small CSV file."""
    from mercer.playground import State, StateError
    from mercer.playground._upload import read_csv

    try:
        if data.startswith(("?", "http://", "https://")):
            return State.from_query(data.partition("?")[2]).to_query()
        found, note = read_csv(Path(data).read_text(encoding="utf-8-sig"))
        query = State(**found).to_query()
    except (StateError, UnicodeDecodeError) as error:
        raise CommandError(f"{data}: {error}") from error
    print_error(f"{data}: {note}")
    return query


def demo(output: str, quiet: bool) -> int:
    """``mercer demo``: write bundled data, then run three commands on them."""
    from mercer.cli import main

    _write_data(Path(output))
    for command in DEMO:
        words = shlex.split(command.format(shlex.quote(output)))
        if not quiet:
            print(f"$ {shlex.join(words)}", flush=True)
        code = main([*words[1:], *(["--quiet"] if quiet else [])])
        if code:
            return code
        if not quiet:
            print(flush=True)
    return 0


def _write_data(folder: Path) -> None:
    """Two measurements of tumours in two files: to train on, and to predict."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    folder.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer()
    X = data.data[:, [list(data.feature_names).index(name) for name in DEMO_COLUMNS]]
    y = np.asarray(data.target_names)[data.target]
    schema = Schema(
        columns=tuple(Column(name) for name in DEMO_COLUMNS),
        n_features=len(DEMO_COLUMNS),
        target="diagnosis",
        task="classification",
        labels=tuple(sorted(set(y.tolist()))),
    )
    X_train, X_new, y_train, y_new = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    for name, rows, labels in (("tumours", X_train, y_train), ("tumours-new", X_new, y_new)):
        path = folder / f"{name}.csv"
        write_table(path, Table(rows, labels, schema, str(path), "csv"))


def train_by_dask(options: dict[str, Any], path: str, reporter: Any) -> int:
    """Read, fit and save by a Dask cluster; linear unless a machine is named."""
    from mercer.cli._certificate import certificate_of, is_unfinished
    from mercer.cli._output import count, table
    from mercer.cli._train import build, fit, parameters_of, report, task_of
    from mercer.dask._files import read_lazily
    from mercer.persistence import save

    _refuse_for_dask(options)
    data = read_lazily(options, task_of(options["machine"], options["task"]))
    default = {"classification": "linear-svc", "regression": "linear-svr"}
    name = options["machine"] or default.get(data.schema.task or "", "oneclass")
    model = build(name, parameters_of(options, data.schema), _dask_class(name))
    model.set_params(scheduler=options["scheduler"])
    if options["checkpoint"] is not None:
        if "checkpoint" not in model.get_params():
            raise UsageError(f"--machine {name} has no --checkpoint; linear machines have")
        model.set_params(checkpoint=options["checkpoint"])
    rows = {"data": f"{data.name}: {count(data.schema.n_features, 'columns')}", "machine": name}
    reporter.write(table(rows), command="train", data=data.name, machine=name, dask=True)
    seconds = fit(model, data, reporter.quiet)
    model.__dict__.pop("feature_names_in_", None)  # the schema has them
    save(model, path, schema=data.schema)
    reporter.write(**seconds)
    certificate = certificate_of(model)
    n = certificate.n_zero + certificate.n_support
    report(model, n, path, seconds, reporter, options["full"])
    reporter.end()
    return int(ExitCode.STOPPED if is_unfinished(model) else ExitCode.OK)


def _refuse_for_dask(options: dict[str, Any]) -> None:
    """Refuse what needs the rows in memory."""
    for name in NOT_BY_DASK:
        if options.get(name) not in (None, False, [], ()):
            raise UsageError(f"{option(name)} cannot be combined with --dask")
    if options["only_validate"]:
        raise UsageError("-v cannot be combined with --dask")


def _dask_class(name: str) -> Any:
    """The class of `mercer.dask` for a machine of the command line."""
    import mercer.dask
    from mercer.dask._files import MACHINES

    if name not in MACHINES:
        known = ", ".join(MACHINES)
        raise UsageError(f"--machine {name} is not fitted by --dask; there are {known}")
    return getattr(mercer.dask, MACHINES[name])
