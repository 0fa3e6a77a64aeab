"""The search of `mercer.autofit`: rounds on more and more rows, within a time limit.

1. A model with usual parameters is fitted to few rows: from now on there is one to return.
2. The first round searches whole grids on some rows: the usual kernel after each preparation of the
   columns, then the other kernels and linear models after the best preparation.
3. Each later round has the candidates that were about as good as the best, and their neighbours,
   on more rows. Its time is predicted from those before it; what does not fit is left out.
4. On the last number of rows half steps around the best are tried, and what is then about as good
   as the best is cross-validated again with other folds.
5. The best is fitted to all rows, with probabilities if their time is left.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from mercer._numba import Compilation
from mercer.automl._families import Family, families, key_of
from mercer.automl._look import Look
from mercer.automl._settings import AutofitSettings
from mercer.automl._trials import AutofitProgress, Candidates, Costs, Trial
from mercer.estimators import SVC
from mercer.exceptions import ConvergenceWarning
from mercer.model_selection._driver import evaluate
from mercer.model_selection._scoring import Scoring
from mercer.solvers import Stopping

__all__ = ["TimedSearch"]


class TimedSearch:
    """The state of the search.

    Attributes
    ----------
    look : Look
        The data.
    order : ndarray
        The rows in the order in which they join the search.
    trials : dict
        Trials by family, parameters and rows.
    model : Pipeline or None
        The best that is fitted so far.
    fitted : Trial or None
        Whose parameters it has.
    model_rows : int
        Rows that it was fitted to.
    is_solved : bool
        Whether its fit ended within its time.
    last_seconds : float
        Of the last fit.
    """

    look: Look
    order: np.ndarray

    def __init__(
        self,
        settings: AutofitSettings,
        time_limit: float,
        scoring: Any = None,
        n_jobs: int | None = None,
        tell: Callable[[AutofitProgress], object] = lambda progress: None,
        compilation: Compilation | None = None,
    ):
        self.settings = settings
        self.time_limit, self.scoring, self.n_jobs, self.tell = time_limit, scoring, n_jobs, tell
        self.began, self.compilation = time.perf_counter(), compilation
        self.trials: dict[tuple, Trial] = {}
        self.rows, self.is_stopped = 0, False
        self._rows: Any = None
        self.round_costs, self.fit_costs = Costs(settings.round_power), Costs(settings.fit_power)
        self.model: Pipeline | None = None
        self.fitted: Trial | None = None
        self.model_rows, self.is_solved, self.last_seconds = 0, False, 0.0

    # ------------------------------------------------------------------ time

    @property
    def seconds(self) -> float:
        """Since the beginning, without the time in which code was compiled."""
        return time.perf_counter() - self.began - self._compiling

    @property
    def _compiling(self) -> float:
        return 0.0 if self.compilation is None else self.compilation.seconds

    @property
    def remaining(self) -> float:
        return max(self.time_limit - self.seconds, 0.0)

    @property
    def for_search(self) -> float:
        """Seconds until the last fit has to begin."""
        return max(self.remaining - self._reserve(), 0.0)

    def _reserve(self) -> float:
        """What the last fit needs, by the fits so far."""
        settings, best = self.settings, self.best()
        most = settings.final_fraction * self.time_limit
        if best is None:
            return most
        needed = settings.safety * self.fit_costs.predict(best.family, self.look.n)
        with_proba = settings.calibration_cost * needed
        if self._may_calibrate(best.family) and with_proba < most / 2:
            needed = with_proba
        return min(needed, most) + self._margin()

    def _margin(self) -> float:
        return max(self.settings.least_margin, self.settings.margin * self.time_limit)

    def _report(self, step: str) -> None:
        best = self.best()
        score, name = (np.nan, "") if best is None else (best.mean, best.family.name)
        progress = AutofitProgress(self.seconds, self.remaining, step, score, name)
        self.is_stopped = bool(self.tell(progress)) or self.is_stopped

    # ------------------------------------------------------------------ rounds

    def run(self) -> None:
        """All steps but the last fit."""
        settings, n = self.settings, self.look.n
        most = min(settings.most_rows, n)
        rows = most if most <= 1.5 * settings.first_rows else settings.first_rows
        self._first_round(rows)
        while self.rows and self.rows < most and not self.is_stopped:
            rows = int(min(settings.growth * self.rows, most))
            found, rows = self._affordable(self._carried(2.0, neighbours=1.0), rows)
            before = self.rows
            if found:
                self._round(found, rows, 0)
            if self.rows == before:
                break
        for repeat in range(settings.repeats if self.rows else 0):
            found = [] if repeat else self._half_steps()
            for candidates, seed in ((found, 0), (self._carried(1.0), repeat + 1)):
                chosen, rows = self._affordable(candidates, self.rows)
                if chosen and rows == self.rows and not self.is_stopped:
                    self._round(chosen, rows, seed)

    def _first_round(self, rows: int) -> None:
        look, settings = self.look, self.settings
        X, y = look.take(self.order[:rows])
        waiting: list[Family] = []
        others: list[Family] = []
        for steps in look.preparations:
            kernels, linear = families(look, X, y, steps, settings)
            waiting.append(kernels[0])
            others += [*kernels[1:], *linear]
        first = waiting[0]
        self._load_code([family for family in (*waiting, *others) if family.steps is first.steps])
        self._fit_early(first)
        until = self.seconds + settings.first_fraction * self.remaining
        coarse = first.coarse()
        self._evaluate(first, coarse, rows, 0, until - self.seconds)
        for number, family in enumerate(waiting):
            left = len(waiting) - number + 2
            known = {key_of(params) for params in coarse} if family is first else set()
            rest = [params for params in family.candidates() if key_of(params) not in known]
            self._evaluate(family, rest, rows, 0, (until - self.seconds) / left * 2)
        best = self.best()
        chosen = first if best is None else best.family
        others = [family for family in others if family.steps is chosen.steps]
        for number, family in enumerate(others):
            share = (until - self.seconds) / (len(others) - number)
            self._evaluate(family, family.candidates(), rows, 0, share)
        self._fit_current()

    def _load_code(self, some: Sequence[Family]) -> None:
        """A candidate of each family on few rows: what has to be compiled is compiled now."""
        for family in some:
            X, y = self._prepared(family, min(self.settings.code_rows, self.look.n))
            scoring = Scoring(self.scoring, family.estimator, X, y, None)
            folds, first = self._folds(y, 0)[:1], family.candidates()[:1]
            with Stopping(max(self.remaining, self.settings.early_seconds)) as stopping:
                evaluate(
                    family.estimator, first, X, y, folds, scoring, stopping, n_jobs=self.n_jobs
                )

    def _round(self, found: Candidates, rows: int, seed: int) -> None:
        """Evaluate candidates, and fit the best."""
        for family, candidates in found:
            self._evaluate(family, candidates, rows, seed, self.for_search)
        self._fit_current()

    def _evaluate(
        self, family: Family, candidates: list[dict], rows: int, seed: int, seconds: float
    ) -> None:
        """Cross-validate candidates within some seconds."""
        if seconds <= 0 or self.is_stopped or not candidates:
            return
        self._report(f"{len(candidates)} candidates of {family.name}, {rows:,} rows")
        began = self.seconds
        X, y = self._prepared(family, rows)
        folds = self._folds(y, seed)
        scoring = Scoring(self.scoring, family.estimator, X, y, None)
        with Stopping(seconds, lambda progress: self._asked(family, rows)) as stopping:
            given = candidates, X, y, folds, scoring, stopping
            ledger = evaluate(family.estimator, *given, n_jobs=self.n_jobs, polish=False)
        done = np.flatnonzero(ledger.is_done.all(axis=1))
        for number in done.tolist():
            key = id(family), key_of(candidates[number]), rows
            trial = self.trials.setdefault(key, Trial(family, candidates[number], rows))
            trial.scores += ledger.score[number].tolist()
            trial.seconds += float(ledger.fit_seconds[number].sum())
        if done.size:
            self.rows = max(self.rows, rows)
            self.round_costs.add(family, rows, (self.seconds - began) / done.size)

    def _prepared(self, family: Family, rows: int) -> tuple[Any, np.ndarray]:
        """The first rows as the last step takes them: without labels, so once for all folds."""
        key = id(family.steps), rows
        if self._rows is None or self._rows[0] != key:
            X, y = self.look.take(self.order[:rows])
            if family.steps:
                X = make_pipeline(*map(clone, family.steps)).fit_transform(X)
            self._rows = key, X, y
        return self._rows[1:]

    def _asked(self, family: Family, rows: int) -> bool:
        self._report(f"{family.name}, {rows:,} rows")
        return self.is_stopped

    def _folds(self, y: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Stratified where every class has a row for each fold."""
        folds = min(self.settings.folds, y.shape[0])
        kind: Any = KFold
        if self.look.task == "classification":
            least = int(np.unique(y, return_counts=True)[1].min())
            kind = StratifiedKFold if least >= 2 else KFold
            folds = min(folds, least) if least >= 2 else folds
        return list(kind(folds, shuffle=True, random_state=seed).split(np.zeros(y.shape[0]), y))

    # ------------------------------------------------------------------ candidates

    def _at(self, rows: int) -> list[Trial]:
        return [trial for trial in self.trials.values() if trial.rows == rows]

    def best(self) -> Trial | None:
        """The best mean of those with the most scores on the most rows; of ties the smallest C."""
        here = [trial for trial in self._at(self.rows) if np.isfinite(trial.mean)]
        if not here:
            return None
        most = max(len(trial.scores) for trial in here)
        here = [trial for trial in here if len(trial.scores) == most]
        top = max(trial.mean for trial in here)
        ties = [trial for trial in here if trial.mean >= top - 1e-12 * max(abs(top), 1.0)]
        return min(ties, key=lambda trial: (trial.params["C"], trial.params.get("gamma", 0.0)))

    def _carried(self, errors: float, neighbours: float = 0.0) -> Candidates:
        """Candidates within some standard errors of the best, and neighbours of each family's best.

        Without neighbours only those that have as many scores as the best.
        """
        best, settings = self.best(), self.settings
        if best is None:
            return []
        floor = best.mean - errors * best.error
        out: Candidates = []
        by_family: dict[int, list[Trial]] = {}
        for trial in self._at(self.rows):
            if trial.mean >= floor and (neighbours or len(trial.scores) == len(best.scores)):
                by_family.setdefault(id(trial.family), []).append(trial)
        for trials in sorted(by_family.values(), key=lambda each: -max(t.mean for t in each)):
            trials.sort(key=lambda trial: -trial.mean)
            family, chosen = trials[0].family, [trial.params for trial in trials]
            chosen = chosen[: settings.most_candidates]
            if neighbours:
                chosen += family.neighbours(trials[0].params, neighbours)
            out.append((family, _without_repeats(chosen)))
        return out if neighbours or sum(len(c) for _, c in out) > 1 else []

    def _half_steps(self) -> Candidates:
        """Half steps around the best."""
        best = self.best()
        if best is None:
            return []
        return [(best.family, list(best.family.neighbours(best.params, 0.5)))]

    def _affordable(self, found: Candidates, rows: int) -> tuple[Candidates, int]:
        """What fits into the time: of each family its best candidates; else on fewer rows."""
        settings, is_larger = self.settings, rows > self.rows
        left = self.for_search / settings.safety
        while found and left > 0:
            chosen: Candidates = []
            rest = left
            for number, (family, candidates) in enumerate(found):
                share = rest / (len(found) - number)
                cost = max(self.round_costs.predict(family, rows), 1e-6)
                many = min(int(share / cost), len(candidates))
                if many >= min(settings.fewest_candidates, len(candidates)):
                    chosen.append((family, candidates[:many]))
                    rest -= many * cost
            if chosen and chosen[0][0] is found[0][0]:  # the best family is among them
                return chosen, rows
            rows = int(rows / 1.5)
            if not is_larger or rows < 1.2 * self.rows:
                break
        return [], rows

    # ------------------------------------------------------------------ fits

    def _fit_early(self, family: Family) -> None:
        """Usual parameters on few rows: the first model that can be returned."""
        settings = self.settings
        middle = {name: values[len(values) // 2] for name, values in family.grid.items()}
        rows = min(settings.early_rows, self.look.n)
        trial = Trial(family, middle, rows, [np.nan])
        self._fit(trial, rows, max(self.remaining, settings.early_seconds))
        self._report("first model")

    def _fit_current(self) -> None:
        """Fit the best so far to the rows of its round: a model to return, and a measured time."""
        best = self.best()
        if best is None or self.is_stopped or best is self.fitted:
            return
        predicted = self.fit_costs.predict(best.family, best.rows)
        if np.isfinite(predicted) and predicted > 0.5 * self.for_search:
            return
        self._fit(best, best.rows, self.remaining)

    def _fit(self, trial: Trial, rows: int, limit: float, **more: Any) -> None:
        """Fit within some seconds, and keep the model."""
        began, compiling, look = self.seconds, self._compiling, self.look
        X, y = look.take(self.order[:rows]) if rows < look.n else (look.X, look.y)
        model = trial.family.pipeline(**trial.params, **more)
        last = model.steps[-1][1]
        if len(model.steps) > 1:
            X = model[:-1].fit_transform(X, y)
        for _ in range(2):
            left = max(limit - (self.seconds - began), 0.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                last.set_params(time_limit=left, n_jobs=self.n_jobs).fit(X, y)
            is_solved = bool(last.certificate_.status.is_solved)
            if is_solved or self._compiling == compiling:
                break  # else compiling took the time of the fit
        last.set_params(time_limit=None, n_jobs=None)
        self.last_seconds = self.seconds - began
        if not more:
            self.fit_costs.add(trial.family, rows, self.last_seconds)
        self.model, self.fitted, self.model_rows = model, trial, rows
        self.is_solved = is_solved

    def _may_calibrate(self, family: Family) -> bool:
        return self.look.task == "classification" and isinstance(family.estimator, SVC)

    def fit_best(self) -> None:
        """Fit the best to all rows, with probabilities if there is time for them."""
        best, settings, n = self.best() or self.fitted, self.settings, self.look.n
        assert best is not None
        limit = self.remaining - self._margin()
        predicted = settings.safety * self.fit_costs.predict(best.family, n)
        more: dict[str, Any] = {}
        if self._may_calibrate(best.family) and settings.calibration_cost * predicted <= limit:
            more = {"probability": "platt", "random_state": 0}
        is_there = best is self.fitted and self.model_rows == n and self.is_solved
        if limit > 0 and not (is_there and not more):
            self._report(f"fit of {best.family.name} to {n:,} rows")
            before = self.model, self.fitted, self.model_rows, self.is_solved
            self._fit(best, n, limit, **more)
            if (
                not self.is_solved
                and before[3]
                and self._score(self.model) < self._score(before[0])
            ):
                self.model, self.fitted, self.model_rows, self.is_solved = before

    def _score(self, model: Any) -> float:
        """On the last rows of the order, which models of fewer rows have not seen."""
        X, y = self.look.take(self.order[-self.settings.check_rows :])
        return float(check_scoring(model, scoring=self.scoring)(model, X, y))


def _without_repeats(candidates: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({key_of(params): params for params in candidates}.values())
