"""What the search of `mercer.autofit` has found: scores of candidates, and measured times."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.automl._families import Family

__all__ = ["AutofitProgress", "Candidates", "Costs", "Trial"]


@dataclass(frozen=True)
class AutofitProgress:
    """What a callback is told.

    Attributes
    ----------
    seconds, seconds_left : float
        Since the beginning, and until the time limit at most.
    step : str
        What is being done.
    best_score : float
        Of cross-validation so far; NaN before there is one.
    best : str
        The family of candidates that has it.
    """

    seconds: float
    seconds_left: float
    step: str
    best_score: float
    best: str


@dataclass(eq=False)
class Trial:
    """A candidate on a number of rows: a score for each fold, of one or several cross-validations.

    Attributes
    ----------
    family : Family
    params : dict
    rows : int
    scores : list of float
    seconds : float
        Of its fits.
    """

    family: Family
    params: dict[str, Any]
    rows: int
    scores: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return float(np.std(self.scores, ddof=1) / np.sqrt(len(self.scores)))


def is_better(one: Trial, other: Trial, folds: int) -> bool:
    """Whether the mean difference of the scores on the same folds is above its standard error.

    Folds share training rows: the error is that of Nadeau and Bengio (Machine Learning 52, 2003).
    """
    gain = np.subtract(one.scores, other.scores)
    variance = (1 / gain.size + 1 / max(folds - 1, 1)) * np.var(gain, ddof=1)
    return bool(gain.mean() > np.sqrt(variance))


Candidates = list[tuple[Family, list[dict[str, Any]]]]


class Costs:
    """Seconds that were measured at numbers of rows, and what they predict for others."""

    def __init__(self, power: float):
        self.power = power
        self.seen: dict[int, list[tuple[int, float]]] = {}

    def add(self, family: Family, rows: int, seconds: float) -> None:
        points = self.seen.setdefault(id(family), [])
        points[:] = [point for point in points if point[0] != rows] + [(rows, seconds)]

    def predict(self, family: Family, rows: int) -> float:
        """By the power between the last two measurements; infinite without any."""
        points = self.seen.get(id(family), [])
        if not points:
            return np.inf
        m, seconds = points[-1]
        power = self.power if family.has_kernel else 1.0
        if len(points) > 1 and points[-2][0] < m:
            ratio = seconds / max(points[-2][1], 1e-9)
            power = float(np.clip(np.log(max(ratio, 1e-9)) / np.log(m / points[-2][0]), 1.0, 3.0))
        return seconds * (rows / m) ** power
