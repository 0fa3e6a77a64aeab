"""Going on from the last fit: its duals, if they still are a feasible start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._result import Result
from mercer.exceptions import WarmStartWarning, warn_user
from mercer.problems import BoxQP

__all__ = ["Duals", "feasible", "warm_starts"]


@dataclass(frozen=True, eq=False)
class Duals:
    """The signed duals of all tasks, one after the other, zeros left out."""

    sizes: list[int]
    index: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, results: Sequence[Result]) -> Duals:
        """The β to go on from, of each result."""
        betas = [r.beta if r.reached is None else r.reached for r in results]
        whole = np.concatenate(betas)
        index = np.flatnonzero(whole)
        return cls([beta.size for beta in betas], index, whole[index])

    def of_tasks(self) -> list[np.ndarray]:
        whole = np.zeros(sum(self.sizes))
        whole[self.index] = self.values
        return np.split(whole, np.cumsum(self.sizes)[:-1])


def warm_starts(estimator: Any, X: Any, problems: Sequence[BoxQP]) -> list[np.ndarray | None]:
    """A start for each task from the last fit, where ``warm_start`` asks for it.

    Data are taken for the same if they have the same shape and the same support vectors: a start
    that is feasible and zero on all other rows is sound whatever those are.
    """
    anew: list[np.ndarray | None] = [None] * len(problems)
    if not estimator.warm_start or not hasattr(estimator, "_duals"):
        return anew
    if not _same_support(estimator, X, problems):
        reason = "the data are not those of the last fit"
    else:
        last = estimator._duals.of_tasks()
        starts = [feasible(p, beta) for p, beta in zip(problems, last, strict=True)]
        if all(start is not None for start in starts):
            return starts
        reason = "its coefficients do not meet the constraints of this one (labels or nu changed)"
    warn_user(f"warm_start=True, but {reason}: the fit starts anew.", WarmStartWarning)
    return anew


def _same_support(estimator: Any, X: Any, problems: Sequence[BoxQP]) -> bool:
    if [problem.n_variables for problem in problems] != estimator._duals.sizes:
        return False
    expansion = estimator.expansion_
    if expansion.columns is not None:  # a precomputed kernel: there are no rows to compare
        return True
    then = expansion.support.X
    if sp.issparse(then) != sp.issparse(X) or then.shape[1:] != X.shape[1:]:
        return False
    rows = estimator._support_rows
    if np.max(rows, initial=-1) >= X.shape[0]:  # a file may say so
        return False
    now = X[rows]
    return (then != now).nnz == 0 if sp.issparse(then) else np.array_equal(then, now)


def feasible(problem: BoxQP, beta: np.ndarray) -> np.ndarray | None:
    """β shrunk into the box if it sticks out (C became smaller), if its sums stay right."""
    up, down = beta > 0, beta < 0
    scale = min(
        1.0,
        float(np.min(problem.upper[up] / beta[up], initial=1.0)),
        float(np.min(problem.lower[down] / beta[down], initial=1.0)),
    )
    if scale <= 0:
        return None
    beta = np.clip(beta * scale, problem.lower, problem.upper)
    if problem.group is not None:
        sums = np.bincount(problem.group, weights=beta, minlength=problem.n_groups)
        if np.abs(sums - problem.group_sums).max() > 1e-9 * np.abs(beta).sum():
            return None
    return beta
