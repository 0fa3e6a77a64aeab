"""Who fits: how each library's estimator is built and its solution read.

Peers are imported in the worker's process only.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.cases import Prepared

__all__ = [
    "EARLIER",
    "EARLIER_FOLDER",
    "PEERS",
    "Peer",
    "Solution",
    "expand_names",
    "missing_earlier",
    "read_solution",
]

# The peer that is another version of Mercer, imported from the folder that the variable names.
EARLIER, EARLIER_FOLDER = "mercer-earlier", "MERCER_EARLIER"


def missing_earlier() -> str | None:
    """Why the other version cannot run, if its folder is not named or holds no package."""
    folder = os.environ.get(EARLIER_FOLDER)
    if folder is None:
        return f"not found (set {EARLIER_FOLDER} to the src folder of the other version)"
    if not os.path.exists(os.path.join(folder, "mercer", "__init__.py")):
        return f"not found ({EARLIER_FOLDER}={folder} has no folder mercer)"
    return None


@dataclass(frozen=True)
class Peer:
    """A library: where its estimators live and what they cannot be told.

    Attributes
    ----------
    dtype : numpy type
        Of the data it is given.
    intercept_sign : int
        −1 where ``intercept_`` is LIBSVM's rho.
    scale_is_default : bool
        Whether ``gamma="scale"`` is understood; otherwise its value is passed.
    has_one_thread : bool
        It is then given its processor time where that is less than the clock's: what it would take
        on a machine without other work.
    """

    name: str
    module: str
    package: str
    distribution: str
    dtype: Any = np.float64
    intercept_sign: int = 1
    scale_is_default: bool = True
    has_one_thread: bool = False
    check: Callable[[Any], str | None] | None = None

    def missing(self) -> str | None:
        """Why it cannot run here, if it is not installed."""
        if self.name == EARLIER:
            return missing_earlier()
        if importlib.util.find_spec(self.package) is None:
            return f"not installed (pip install {self.distribution})"
        return None

    def load(self) -> dict[str, Any]:
        """The estimator classes by task."""
        module = importlib.import_module(self.module)
        return {"svc": module.SVC, "svr": module.SVR}

    def build(self, classes: dict[str, Any], data: Prepared, cache_mb: float | None) -> Any:
        """An estimator with the case's parameters; ``cache_mb=None`` keeps the default."""
        case = data.case
        use_default = case.gamma is None and self.scale_is_default
        parameters: dict[str, Any] = {
            "kernel": "rbf",
            "C": float(case.C),
            "gamma": "scale" if use_default else data.gamma,
            "tol": case.tol,
        }
        if case.task == "svr":
            parameters["epsilon"] = case.epsilon
        if cache_mb is not None:
            parameters["cache_size"] = cache_mb
        return classes[case.task](**parameters)


def _not_accelerated(model: Any) -> str | None:
    """scikit-learn-intelex falls back to scikit-learn without a word: say so."""
    accelerated = hasattr(model, "_onedal_estimator")
    return None if accelerated else "fell back to scikit-learn"


_INTELEX = "scikit-learn-intelex"
_ALL = [
    Peer("mercer", "mercer", "mercer", "mercer"),
    Peer(EARLIER, "mercer", "mercer", "mercer"),
    Peer("sklearn", "sklearn.svm", "sklearn", "scikit-learn", has_one_thread=True),
    Peer("sklearnex", "sklearnex.svm", "sklearnex", _INTELEX, check=_not_accelerated),
    Peer(
        "sklearnex-float32",
        "sklearnex.svm",
        "sklearnex",
        _INTELEX,
        dtype=np.float32,
        check=_not_accelerated,
    ),
    Peer(
        "thundersvm",
        "thundersvm",
        "thundersvm",
        "thundersvm-cpu",
        intercept_sign=-1,
        scale_is_default=False,
    ),
]
PEERS = {peer.name: peer for peer in _ALL}


def expand_names(names: str) -> list[str]:
    """``sklearnex`` stands for both of its precisions; order kept, no name twice."""
    wanted: list[str] = []
    for name in filter(None, names.split(",")):
        wanted += ["sklearnex", "sklearnex-float32"] if name == "sklearnex" else [name]
    unknown = sorted(set(wanted) - set(PEERS))
    if unknown:
        raise ValueError(f"unknown peers {', '.join(unknown)}; known: {', '.join(PEERS)}.")
    return list(dict.fromkeys(wanted))


@dataclass(frozen=True, eq=False)
class Solution:
    """What the judge gets: signed duals of the support vectors, intercepts, predictions."""

    support: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray
    predictions: np.ndarray

    def save(self, path: str) -> None:
        np.savez(path, **vars(self))

    @staticmethod
    def read(path: str) -> Solution:
        with np.load(path) as parts:
            return Solution(**{name: parts[name] for name in parts.files})


def read_solution(peer: Peer, model: Any, predictions: np.ndarray) -> Solution:
    """The fitted attributes, as float64 arrays (``dual_coef_`` is sparse where the data are)."""
    coef = model.dual_coef_
    coef = coef.toarray() if sp.issparse(coef) else coef
    return Solution(
        support=np.asarray(model.support_),
        dual_coef=np.atleast_2d(np.asarray(coef, dtype=np.float64)),
        intercept=peer.intercept_sign
        * np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)),
        predictions=np.asarray(predictions),
    )
