"""What `mercer.autofit` tells about its search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.automl._trials import Trial
from mercer.data._column_statistics import Finding
from mercer.plots import LandscapeDisplay, ValidationCurveDisplay

__all__ = ["AutofitReport"]


@dataclass(frozen=True, eq=False, repr=False)
class AutofitReport:
    """The search in numbers; print it.

    Attributes
    ----------
    data : str
        What the data are.
    findings : tuple of Finding
        Of `mercer.doctor`, on the rows after scaling.
    trials : list of Trial
        Every candidate on every number of rows, with its scores.
    best : Trial or None
        The one that was chosen; None if the time did not suffice for a comparison.
    score, error : float
        Mean score of its cross-validation, and its standard error. It is the best of many, so it
        is a little optimistic.
    baseline : float
        The score of the best constant.
    metric : str
    rows : int
        Rows that the model was fitted to.
    seconds, seconds_fitting, time_limit : float
        Of all of it, of the last fit, and what was allowed.
    has_probabilities : bool
        Of an SVM they are fitted to the decision values of held-out rows.
    notes : tuple of str
    code : str
        Python code that makes the same model.
    """

    data: str
    findings: tuple[Finding, ...]
    trials: list[Trial]
    best: Trial | None
    score: float
    error: float
    baseline: float
    metric: str
    rows: int
    seconds: float
    seconds_fitting: float
    time_limit: float
    has_probabilities: bool
    notes: tuple[str, ...]
    code: str

    def table(self) -> list[tuple[str, str, float, int, float]]:
        """The best candidate of each family: family, parameters, score, rows, seconds."""
        best: dict[int, Trial] = {}
        for trial in self.trials:
            if not np.isfinite(trial.mean):
                continue
            known = best.get(id(trial.family))
            if known is None or (trial.rows, len(trial.scores), trial.mean) > (
                known.rows,
                len(known.scores),
                known.mean,
            ):
                best[id(trial.family)] = trial
        if self.best is not None:
            best[id(self.best.family)] = self.best
        found = sorted(best.values(), key=lambda trial: (-trial.rows, -trial.mean))
        return [
            (
                trial.family.name,
                words_of(trial.params),
                trial.mean,
                trial.rows,
                sum(t.seconds for t in self.trials if t.family is trial.family),
            )
            for trial in found
        ]

    def __repr__(self) -> str:
        lines = [self.data, *(f"  {finding!r}" for finding in self.findings)]
        rows = self.table()
        if rows:
            width = max(len(row[0]) for row in rows)
            longest = max(len(row[1]) for row in rows)
            head = f"{'candidates':<{width}}  {'best':<{longest}}  {self.metric:>10}  {'rows':>7}"
            lines += ["", head]
            lines += [f"{a:<{width}}  {b:<{longest}}  {c:10.4f}  {m:7,}" for a, b, c, m, _ in rows]
        count = len({(id(t.family), words_of(t.params)) for t in self.trials})
        lines += ["", f"{count:,} candidates in {self.seconds:.1f} s (limit {self.time_limit:g} s)"]
        if self.best is not None:
            lines.append(
                f"chosen: {self.best.family.name}, {words_of(self.best.params)}: {self.metric} "
                f"{self.score:.4f} ± {self.error:.4f} by cross-validation; "
                f"the best constant has {self.baseline:.4f}"
            )
        lines.append(f"fitted to {self.rows:,} rows")
        lines[-1] += ", with probabilities" if self.has_probabilities else ""
        return "\n".join([*lines, *self.notes])

    def landscape(self, **options: Any) -> LandscapeDisplay:
        """The scores of the first grid of the chosen family over C and γ, and what was chosen."""
        best = self._with_best()
        rows = min(trial.rows for trial in self.trials if trial.family is best.family)
        if "gamma" not in best.params:
            raise ValueError(f"{best.family.name} has no γ: validation_curve() draws it along C.")
        return LandscapeDisplay.from_results(
            self._results(rows),
            score_name=self.metric,
            best=best.params,
            title=f"{best.family.name}, {rows:,} rows",
            **options,
        )

    def validation_curve(self, param: str = "C", **options: Any) -> ValidationCurveDisplay:
        """The scores of the first grid of the chosen family along one parameter."""
        best = self._with_best()
        rows = min(trial.rows for trial in self.trials if trial.family is best.family)
        return ValidationCurveDisplay.from_results(
            self._results(rows),
            param=param,
            score_name=self.metric,
            title=f"{best.family.name}, {rows:,} rows",
            **options,
        )

    def _with_best(self) -> Trial:
        if self.best is None:
            raise ValueError("No candidates were compared: raise time_limit.")
        return self.best

    def _results(self, rows: int) -> dict[str, Any]:
        """``cv_results_`` of the grid of the chosen family on a number of rows."""
        family = self._with_best().family
        grid = {name: set(values) for name, values in family.grid.items() if name != "kernel"}
        trials = [
            t
            for t in self.trials
            if t.family is family
            and t.rows == rows
            and all(t.params[name] in values for name, values in grid.items())
        ]
        folds = min(len(t.scores) for t in trials)
        scores = np.array([t.scores[:folds] for t in trials])
        return {
            "params": [t.params for t in trials],
            "mean_test_score": scores.mean(axis=1),
            "std_test_score": scores.std(axis=1),
            "mean_fit_time": np.array([t.seconds / len(t.scores) for t in trials]),
        }


def words_of(params: dict[str, Any]) -> str:
    """Parameters in a few words."""
    return ", ".join(
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value!r}"
        for name, value in params.items()
    )
