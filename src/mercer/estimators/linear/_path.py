"""`path`: linear models along C, each fit started from the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.certificates._certificate import Certificate
from mercer.estimators.linear._classes import LinearSVC

__all__ = ["Path", "path"]


@dataclass(frozen=True, eq=False)
class Path:
    """Fitted models for several C.

    Attributes
    ----------
    Cs : ndarray
        In increasing order.
    models : list of estimators
    certificates : list of Certificate
    support : list of int
        How many rows have a dual other than zero.
    """

    Cs: np.ndarray
    models: list[Any]
    certificates: list[Certificate]
    support: list[int]


def path(X: Any, y: Any, *, Cs: Any, estimator: Any = None, sample_weight: Any = None) -> Path:
    """Fit a linear model for every C, in increasing order, each from the model before it.

    Parameters
    ----------
    X, y, sample_weight
        As for ``fit``.
    Cs : array-like of positive numbers
    estimator : LinearSVC, LinearSVR or LogisticRegression, optional
        Its other parameters are kept. Default: ``LinearSVC(loss="hinge")``.

    Returns
    -------
    Path

    Examples
    --------
    >>> import mercer
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> len(mercer.path(X, y, Cs=[0.1, 1.0, 10.0]).models)
    3
    """
    Cs = np.sort(np.asarray(Cs, dtype=np.float64).ravel())
    if Cs.size == 0 or not (Cs > 0).all() or not np.isfinite(Cs).all():
        raise ValueError(f"Cs must be positive finite numbers, at least one, got {Cs!r}.")
    template = LinearSVC(loss="hinge") if estimator is None else estimator
    models = clone(template)._fit_path(X, y, sample_weight, Cs.tolist())
    certificates = [model.certificate_ for model in models]
    return Path(Cs, models, certificates, [c.n_support for c in certificates])
