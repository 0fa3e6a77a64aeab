"""`autofit`: a fitted pipeline for data, within a time limit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline, make_pipeline

from mercer._numba import Compilation
from mercer.automl._code import code_of
from mercer.automl._look import Look, look, stratified_order
from mercer.automl._report import AutofitReport
from mercer.automl._search import TimedSearch
from mercer.automl._settings import AutofitSettings
from mercer.automl._trials import AutofitProgress
from mercer.data._column_statistics import Finding
from mercer.diagnostics._doctor import examine
from mercer.diagnostics._settings import Thresholds
from mercer.exceptions import InterruptWarning, warn_user

__all__ = ["autofit"]


def autofit(
    X: Any,
    y: Any,
    *,
    time_limit: float = 60.0,
    task: str | None = None,
    sample_type: str | None = None,
    feature_names: Sequence[str] | None = None,
    scoring: Any = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    callback: Callable[[AutofitProgress], object] | None = None,
    verbose: bool = True,
) -> Pipeline:
    """Look at data, search kernels and their parameters within a time limit, and fit the best.

    Columns are scaled in each of the ways that suit them, kernels for their kinds (numbers,
    categories, texts) and linear models are compared by cross-validation, on some of the rows
    first, and on more while the time allows. The best is fitted to all rows, with probabilities if
    there is time for them. The report has a table, pictures and the code that makes the same model
    without the search.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features), or texts
        Columns of a DataFrame that are no numbers are categories. Missing numbers are filled in by
        the median. A list, array or column of str is compared by kernels on sequences.
    y : array-like of shape (n_samples,)
        Class labels or targets.
    time_limit : float, default=60.0
        Seconds for all of it. Compiling, which happens once on a computer, is not part of it.
    task : {"classification", "regression"}, optional
        By default numbers of more than 50 different values are targets of a regression.
    sample_type : {"sequences", "sets", "graphs", "series"}, optional
        Of samples that are no rows of numbers or categories, nor texts: kernels on such samples are
        compared, with their usual parameters.
    feature_names : sequence of str, optional
        What columns are called in findings; by default as in a DataFrame, or by number.
    scoring : str or callable, optional
        As in scikit-learn; accuracy or R² by default.
    random_state : int, RandomState or Generator, default=0
        For the order in which rows join the search.
    n_jobs : int, optional
        Threads. None: as many as BLAS would use; −1: all cores.
    callback : callable, optional
        Called with an `AutofitProgress`; a true value ends the search, and the best so far is
        returned.
    verbose : bool, default=True
        Print the progress, the report and the code.

    Returns
    -------
    model : Pipeline
        Fitted; ``model.report_`` is an `AutofitReport`. After Ctrl-C it is the best so far, with a
        warning (`InterruptWarning`).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import mercer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = mercer.autofit(X, y, time_limit=10, verbose=False)
    >>> model.report_.score > 0.95
    True
    >>> "make_pipeline" in model.report_.code
    True
    """
    if not time_limit > 0:
        raise ValueError(f"time_limit must be a positive number of seconds, got {time_limit!r}.")
    tell = _Lines(time_limit, verbose, callback)
    with Compilation() as compilation:
        search = TimedSearch(AutofitSettings(), time_limit, scoring, n_jobs, tell, compilation)
        return run(search, X, y, task, sample_type, random_state, feature_names)


def run(
    search: TimedSearch,
    X: Any,
    y: Any,
    task: str | None = None,
    sample_type: str | None = None,
    random_state: Any = 0,
    feature_names: Sequence[str] | None = None,
) -> Pipeline:
    """`autofit` with the settings of a search."""
    settings = search.settings
    found = look(X, y, task, settings, sample_type)
    is_class = found.task == "classification"
    rng = np.random.default_rng(random_state)
    search.look = found
    search.order = stratified_order(found.y, is_class, settings.folds, rng)
    notes: list[str] = []
    findings: tuple[Finding, ...] = ()
    try:
        names = getattr(X, "columns", None) if feature_names is None else feature_names
        findings = _examined(found, search.order, settings, names)
        search.run()
        search.fit_best()
    except KeyboardInterrupt:
        if search.model is None:
            raise
        notes.append("ended by Ctrl-C: the model is the best so far")
        warn_user(
            f"Ctrl-C ended autofit after {search.seconds:.3g} s; the model is the best so far.",
            InterruptWarning,
        )
    model = search.model
    assert model is not None
    model.report_ = _report(search, findings, notes)
    end = getattr(search.tell, "end", None)
    if end is not None:
        end(model.report_)
    return model


def _examined(
    found: Look, order: np.ndarray, settings: AutofitSettings, names: Any
) -> tuple[Finding, ...]:
    """What the doctor finds in the rows as they are after the usual scaling."""
    if found.is_structured:
        return ()
    steps = found.preparations[0]
    width = max(getattr(found.X, "shape", (0, 1))[1], 1)
    some = np.sort(order[: max(settings.doctor_entries // width, settings.early_rows)])
    X, y = found.take(some)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X = make_pipeline(*map(clone, steps), None).fit_transform(X) if steps else X
    quick = Thresholds(sample_rows=settings.early_rows // 2, sample_seconds=0.05)
    is_named = names is not None and len(names) == X.shape[1]  # categories become several columns
    report = examine(X, y, None, [str(name) for name in names] if is_named else None, 0, {}, quick)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    if errors:
        raise ValueError(f"{errors[0]}")
    searched = {"C", "gamma", "epsilon"}
    return tuple(f for f in report.findings if not searched & {name for name, _ in f.options})


def _report(search: TimedSearch, findings: tuple[Finding, ...], notes: list[str]) -> AutofitReport:
    found, model, chosen = search.look, search.model, search.fitted
    assert model is not None
    assert chosen is not None
    best = search.best()
    is_class = found.task == "classification"
    if search.model_rows < found.n:
        notes.append(
            f"fitted to {search.model_rows:,} of {found.n:,} rows: the time did not suffice for all"
        )
    elif not search.is_solved:
        gap = model.steps[-1][1].certificate_.relative_gap
        notes.append(f"the last fit was stopped by the time limit, at a relative gap of {gap:.2g}")
    if best is None:
        notes.append("the time did not suffice for a comparison; raise time_limit")
    metric = search.scoring if isinstance(search.scoring, str) else "score"
    if search.scoring is None:
        metric = "accuracy" if is_class else "R²"
    constant = DummyClassifier() if is_class else DummyRegressor()
    constant.fit(np.zeros((found.n, 1)), found.y)
    try:
        baseline = float(
            check_scoring(constant, scoring=search.scoring)(
                constant, np.zeros((found.n, 1)), found.y
            )
        )
    except (ValueError, TypeError, AttributeError):
        baseline = np.nan
    about = ""
    if best is not None:
        about = f"chosen by cross-validation on {best.rows:,} rows: {metric} {best.mean:.4f}"
    more = "" if search.model_rows == found.n and search.is_solved else "\n".join(notes)
    return AutofitReport(
        data=found.words,
        findings=findings,
        trials=list(search.trials.values()),
        best=best,
        score=np.nan if best is None else best.mean,
        error=np.nan if best is None else best.error,
        baseline=baseline,
        metric=metric,
        rows=search.model_rows,
        seconds=search.seconds,
        seconds_fitting=search.last_seconds,
        time_limit=search.time_limit,
        has_probabilities=hasattr(model, "predict_proba"),
        notes=tuple(notes),
        code=code_of(model, about, more),
    )


class _Lines:
    """Progress as lines of text, about one a second, and the report at the end."""

    def __init__(self, limit: float, verbose: bool, inner: Any = None, every: float = 1.0):
        self.limit, self.verbose, self.inner, self.every = limit, verbose, inner, every
        self.last, self.step = -np.inf, ""

    def __call__(self, progress: AutofitProgress) -> object:
        if self.verbose and progress.seconds - self.last >= self.every:
            self.last = progress.seconds
            best = f"; best {progress.best_score:.4f}" if progress.best else ""
            print(
                f"[autofit] {progress.seconds:.0f} of {self.limit:g} s, "
                f"{progress.seconds_left:.0f} s left: {progress.step}{best}",
                flush=True,
            )
        return None if self.inner is None else self.inner(progress)

    def end(self, report: AutofitReport) -> None:
        """Print the report and the code."""
        if self.verbose:
            print(f"{report!r}\n\n{report.code}")
