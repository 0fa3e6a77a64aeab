"""What is fitted: a data set, its preparation, and the parameters all peers are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.data import DataSet, load

__all__ = ["CASES", "Case", "Prepared", "default_parameters", "prepare"]

TOL = 1e-3
COVTYPE_TRAIN, COVTYPE_TEST = 50_000, 20_000


@dataclass(frozen=True)
class Case:
    """One problem. ``gamma=None`` stands for ``"scale"``."""

    name: str
    data: str
    task: str  # "svc" or "svr"
    C: float
    gamma: float | None
    epsilon: float = 0.1
    tol: float = TOL
    headline: bool = True  # counts in the geometric mean
    n_train: int | None = None  # covtype: rows of the training part; the next 20,000 are the test
    unit_columns: bool = False  # covtype: columns scaled to [0, 1] instead of standardised

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A case with its arrays, and γ as a number."""

    case: Case
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    gamma: float


_ALL = [
    Case("a9a", "a9a", "svc", C=1, gamma=0.05),
    Case("a9a-hard", "a9a", "svc", C=100, gamma=0.5),
    Case("ijcnn1", "ijcnn1", "svc", C=32, gamma=2),
    Case("w8a", "w8a", "svc", C=8, gamma=0.05),
    Case("covtype", "covtype", "svc", C=10, gamma=0.5),
    Case("letter", "letter", "svc", C=10, gamma=0.1),
    Case("mnist", "mnist", "svc", C=10, gamma=0.02),
    Case("cadata", "cadata", "svr", C=10, gamma=0.2),
    Case("usps", "usps", "svc", C=10, gamma=0.01, headline=False),
    Case("satimage", "satimage", "svc", C=10, gamma=4, headline=False),
    Case("spambase", "spambase", "svc", C=10, gamma=0.02, headline=False),
    Case("kin40k", "kin40k", "svr", C=10, gamma=0.2, headline=False),
    Case("cpusmall", "cpusmall", "svr", C=10, gamma=0.5, headline=False),
]
CASES = {case.name: case for case in _ALL}


def default_parameters(case: Case) -> Case:
    """The same data with the estimators' default parameters."""
    return replace(case, C=1.0, gamma=None, epsilon=0.1)


def prepare(case: Case) -> Prepared:
    """Load, split, scale: the arrays of a case in float64."""
    data = load(case.data)
    steps: dict[str, Callable[[DataSet], DataSet]] = {
        "cadata": _split_and_standardise,
        "covtype": partial(_covtype, n_train=case.n_train, unit_columns=case.unit_columns),
        "cpusmall": _split_and_standardise_target,
        "kin40k": _split_and_standardise,
        "mnist": _bytes_to_unit,
        "satimage": _bytes_to_unit,
        "spambase": _split_and_standardise_columns,
    }
    if case.data in steps:
        data = steps[case.data](data)
    assert data.y_test is not None
    gamma = _scale_gamma(data.X) if case.gamma is None else float(case.gamma)
    return Prepared(case, data.X, data.y, data.X_test, data.y_test, gamma)


def _split(data: DataSet, n_train: int | None = None, n_test: int | None = None) -> DataSet:
    """Random rows, seeded: 80 % against 20 % unless told."""
    order = np.random.default_rng(0).permutation(len(data.y))
    n_train = n_train or int(0.8 * len(order))
    train, test = order[:n_train], order[n_train:][:n_test]
    return DataSet(data.X[train], data.y[train], data.X[test], data.y[test])


def _standardise(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean, std = train.mean(axis=0), train.std(axis=0)
    std = np.where(std > 0, std, 1.0)
    return (train - mean) / std, (test - mean) / std


def _columns(data: DataSet) -> DataSet:
    X, X_test = _standardise(data.X, data.X_test)
    return DataSet(X, data.y, X_test, data.y_test)


def _target(data: DataSet) -> DataSet:
    assert data.y_test is not None
    y, y_test = _standardise(data.y, data.y_test)
    return DataSet(data.X, y, data.X_test, y_test)


def _split_and_standardise_columns(data: DataSet) -> DataSet:
    return _columns(_split(data))


def _split_and_standardise_target(data: DataSet) -> DataSet:
    return _target(_split(data))


def _split_and_standardise(data: DataSet) -> DataSet:
    return _target(_columns(_split(data)))


def _covtype(data: DataSet, n_train: int | None, unit_columns: bool) -> DataSet:
    """Class 2 against the rest."""
    binary = DataSet(data.X, np.where(data.y == 2, 1, -1))
    split = _split(binary, n_train or COVTYPE_TRAIN, COVTYPE_TEST)
    if not unit_columns:
        return _columns(split)
    low, high = split.X.min(axis=0), split.X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return DataSet((split.X - low) / width, split.y, (split.X_test - low) / width, split.y_test)


def _bytes_to_unit(data: DataSet) -> DataSet:
    return DataSet(data.X / 255, data.y, data.X_test / 255, data.y_test)


def _scale_gamma(X: Any) -> float:
    """1 / (d · variance of all entries), scikit-learn's ``gamma="scale"``."""
    variance = X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var()
    return 1.0 / (X.shape[1] * float(variance))
