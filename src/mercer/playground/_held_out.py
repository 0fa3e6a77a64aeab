"""Held-out points: each is predicted by a fit that has not seen it (cross-validation).

`validate` compares these predictions with those of the fit itself, at the state's parameters and,
by the shared search of `mercer.model_selection`, at all C and γ of a map. An error is the fraction
of wrong classes, or the root of the mean squared residual of a regression; the mean over the folds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

import mercer
from mercer.exceptions import NotSeparableError
from mercer.playground._catalogue import ESTIMATORS, FORMULA
from mercer.playground._fit import kernel_of, quiet, recipe, rows_and_targets
from mercer.playground._state import PARAMETERS, State

__all__ = ["CrossValidation", "ErrorMap", "validate"]

_SEARCHES = {"svc": mercer.SVCCV, "svr": mercer.SVRCV}


@dataclass(frozen=True)
class _Settings:
    """Of the map."""

    Cs: tuple[float, float] = (1e-2, 1e3)  # as the default of `SVCCV`
    n_C: int = 11  # two values for each power of ten
    n_gamma: int = 13  # three, in the range of the slider
    seconds: float = 8.0  # cells that are not reached by then stay empty
    standard_errors: float = 2.0  # what counts as a difference of two errors


_SETTINGS = _Settings()


@dataclass(frozen=True, eq=False)
class ErrorMap:
    """Errors of a grid, shape (n_gamma, n_C); NaN where there was no time. No γ: one row."""

    Cs: np.ndarray
    gammas: np.ndarray
    error: np.ndarray
    spread: np.ndarray  # standard error of the mean over the folds
    train_error: np.ndarray

    @property
    def best(self) -> tuple[int, int]:
        """The cell with the least error; of several the one nearest to the middle of all."""
        least = np.argwhere(self.error <= np.nanmin(self.error) * (1 + 1e-9))
        row, column = least[np.argmin(((least - least.mean(axis=0)) ** 2).sum(axis=1))]
        return int(row), int(column)

    def name(self, row: int, column: int) -> str:
        """C and γ of a cell."""
        gamma = f", γ = {self.gammas[row]:.3g}" if self.gammas.size > 1 else ""
        return f"C = {self.Cs[column]:.3g}{gamma}"

    def nearest(self, C: float, gamma: float) -> tuple[int, int]:
        """The cell that a place belongs to."""
        column = int(np.argmin(np.abs(np.log(self.Cs / C)))) if np.isfinite(C) else len(self.Cs) - 1
        row = int(np.argmin(np.abs(np.log(self.gammas / gamma)))) if self.gammas.size > 1 else 0
        return row, column


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What cross-validation says of a state; where it cannot be done, ``refusal`` says why."""

    refusal: str = ""
    is_regression: bool = False
    n_folds: int = 0
    predicted: np.ndarray = field(default_factory=lambda: np.zeros(0))  # class, or value
    wrong: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    error: float = np.nan
    spread: float = np.nan
    train_error: float = np.nan
    map: ErrorMap | None = None

    @property
    def verdict(self) -> str:
        """Whether the fit is too rigid or too flexible, as far as the folds can tell."""
        if self.map is None:
            return ""
        row, column = self.map.best
        least = self.map.error[row, column]
        doubt = _SETTINGS.standard_errors * np.hypot(self.spread, self.map.spread[row, column])
        is_best = self.error - least <= doubt
        gap = self.error - self.train_error
        if gap > _SETTINGS.standard_errors * self.spread and gap > 0.5 * self.error:
            if is_best:
                return (
                    "The points of the fit are predicted better than held-out ones, but no setting "
                    "of the map has a clearly smaller held-out error."
                )
            return (
                "Over-fitting: the points of the fit are predicted much better than held-out ones. "
                "A smaller C or γ makes f smoother."
            )
        if is_best:
            return "No setting of the map has a clearly smaller held-out error than this one."
        return (
            "Under-fitting: f misses its own points nearly as often as held-out ones, and other "
            "settings miss fewer. A larger C or γ makes f more flexible."
        )

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The errors as they are shown: names and values."""
        if self.refusal:
            return []
        text = _residual if self.is_regression else _percent
        rows = [
            ("training error", text(self.train_error)),
            ("held-out error", f"{text(self.error)} ± {text(self.spread)}"),
        ]
        if not self.is_regression:
            rows.append(("wrong when held out", f"{self.wrong.sum()} of {self.wrong.size} points"))
        if self.map is not None:
            row, column = self.map.best
            least = text(self.map.error[row, column])
            rows.append(("least of the map", f"{least} at {self.map.name(row, column)}"))
        return rows

    def note(self, row: int, column: int) -> str:
        """What is told of a cell of the map."""
        errors, text = self.map, _residual if self.is_regression else _percent
        assert errors is not None
        place = errors.name(row, column)
        if np.isnan(errors.error[row, column]):
            return f"{place}: not computed"
        held, own = errors.error[row, column], errors.train_error[row, column]
        spread = errors.spread[row, column]
        return f"{place}: held-out error {text(held)} ± {text(spread)}, training {text(own)}"


def _percent(error: float) -> str:
    return f"{100 * error:.1f} %"


def _residual(error: float) -> str:
    return f"{error:.3g}"


def validate(state: State, seconds: float | None = _SETTINGS.seconds) -> CrossValidation | None:
    """Predictions of held-out points, and the map; None if the state does not ask for them.

    ``seconds`` is the time limit of the map.

    Examples
    --------
    >>> from mercer.playground import State
    >>> from mercer.playground._held_out import validate
    >>> found = validate(State(kernel="linear", folds=5))
    >>> found.map.error.shape, bool(found.wrong.mean() == found.error)
    ((1, 11), True)
    """
    if not state.folds:
        return None
    refusal = _refusal(state)
    if refusal:
        return CrossValidation(refusal)
    name, arguments = recipe(state)
    X, y = rows_and_targets(state)
    is_regression = ESTIMATORS[state.machine].kind == "curve"
    splits = _splits(state)
    predicted = np.zeros(y.size, y.dtype)
    test, train = [], []
    try:
        with quiet():
            for rows, held in splits:
                model = getattr(mercer, name)(**arguments).fit(X[rows], y[rows])
                predicted[held] = model.predict(X[held])
                test.append(_error(y[held], predicted[held], is_regression))
                train.append(_error(y[rows], model.predict(X[rows]), is_regression))
    except NotSeparableError:
        return CrossValidation(
            "Without some of the points there is no hard margin: choose a finite C."
        )
    wrong = np.zeros(y.size, bool) if is_regression else predicted != y
    own = {
        name: getattr(state, name) for name in ("points", "machine", "kernel", "formula", "folds")
    }
    more = {name: getattr(state, name) for name in ("epsilon", "degree", "coef0")}
    found = _error_map(State(**own, **more), seconds)
    return CrossValidation(
        "",
        is_regression,
        len(splits),
        predicted,
        wrong,
        float(np.mean(test)),
        float(np.std(test, ddof=1) / np.sqrt(len(test))),
        float(np.mean(train)),
        found,
    )


def _refusal(state: State) -> str:
    if state.machine not in _SEARCHES:
        return "Held-out points are for SVC and SVR."
    if state.machine == "svr":
        few = len(state.points) < 2 * state.folds
        return f"Held-out points need at least {2 * state.folds} points." if few else ""
    if np.unique(state.labels, return_counts=True)[1].min() < 2:
        return "Held-out points need at least 2 points of every class."
    return ""


def _splits(state: State) -> list[tuple[np.ndarray, np.ndarray]]:
    """As many folds as asked for, or as the smallest class has points."""
    X, y = rows_and_targets(state)
    if state.machine == "svr":
        return list(KFold(state.folds, shuffle=True, random_state=0).split(X))
    folds = min(state.folds, int(np.unique(y, return_counts=True)[1].min()))
    return list(StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y))


def _error(y: np.ndarray, predicted: np.ndarray, is_regression: bool) -> float:
    if is_regression:
        return float(np.sqrt(np.mean((y - predicted) ** 2)))
    return float(np.mean(y != predicted))


@lru_cache(maxsize=8)
def _error_map(state: State, seconds: float | None) -> ErrorMap | None:
    """The map of the points of a state, whatever its C and γ; None if there was no time for any."""
    X, y = rows_and_targets(state)
    gamma = PARAMETERS["gamma"]
    has_gamma = "gamma" in state.kernel_parameters
    Cs = np.geomspace(*_SETTINGS.Cs, _SETTINGS.n_C)
    gammas = np.geomspace(gamma.low, gamma.high, _SETTINGS.n_gamma if has_gamma else 1)
    options: dict[str, Any] = {"Cs": Cs, "cv": _splits(state)}
    kernels: list[Any] = []
    if state.kernel == FORMULA:  # γ is inside of the kernel: one kernel for each γ
        kernels = [kernel_of(state.with_(gamma=float(each))) for each in gammas]
        options["kernel"] = kernels
    else:
        options |= {"kernel": state.kernel, "gammas": gammas}
        options |= {"degree": state.degree, "coef0": state.coef0}
    if state.machine == "svr":
        options |= {"epsilons": state.epsilon, "scoring": "neg_root_mean_squared_error"}
    search = _SEARCHES[state.machine](refit=False, return_train_score=True, **options)
    with quiet():  # the time limit begins when all code is loaded
        least = {"Cs": Cs[:1], "gammas": gammas[:1], "kernel": kernels[:1] or state.kernel}
        clone(search).set_params(**least).fit(X, y)
        search.set_params(time_limit=seconds).fit(X, y)
    found = search.cv_results_
    gamma_of = [kernels.index(p["kernel"]) for p in found["params"] if p.get("kernel") in kernels]
    rows = np.array(gamma_of, float) if gamma_of else _column(found, "gamma")
    order = np.lexsort([_column(found, "C"), rows])
    sign, offset = (-1.0, 0.0) if state.machine == "svr" else (-1.0, 1.0)
    folds = len(options["cv"])

    if np.isnan(found["mean_test_score"]).all():
        return None

    def cells(values: np.ndarray) -> np.ndarray:
        return np.asarray(values, float)[order].reshape(gammas.size, Cs.size)

    return ErrorMap(
        Cs,
        gammas,
        offset + sign * cells(found["mean_test_score"]),
        cells(found["std_test_score"]) / np.sqrt(folds - 1),
        offset + sign * cells(found["mean_train_score"]),
    )


def _column(found: dict[str, Any], name: str) -> np.ndarray:
    values = found.get(f"param_{name}")
    return np.zeros(len(found["params"])) if values is None else np.asarray(values, float)
