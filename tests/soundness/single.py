"""One problem as a record for the journal; the oracle's own errors are failures, too."""

from __future__ import annotations

import importlib
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from flint import ctx

import mercer
from tests.soundness.check import check
from tests.soundness.exact import PRECISION
from tests.soundness.generator import is_linear, kind_of, problem

__all__ = ["record", "warm_up"]


def record(seed: int, on_fitted: Callable[[], Any] = lambda: None) -> dict[str, Any]:
    """seed, kind, seconds and failures of one problem."""
    began = time.perf_counter()
    failures: list[tuple[str, str]] = []
    try:
        if is_linear(seed):
            failures = _linear(seed)
        else:
            ctx.prec = PRECISION
            found = check(problem(seed), on_fitted)
            failures = [(failure.kind, failure.message) for failure in found]
    except Exception:
        failures = [("oracle", traceback.format_exc(limit=-3))]
    seconds = time.perf_counter() - began
    return {"seed": seed, "kind": kind_of(seed), "seconds": seconds, "failures": failures}


def _linear(seed: int) -> list[tuple[str, str]]:
    """The linear machines' own check raises AssertionErrors; the first fit may have to compile."""
    hard_problems = importlib.import_module("tests.linear.hard_problems")
    with suppress(AssertionError):
        hard_problems.check(seed)
        return []
    try:
        hard_problems.check(seed)
    except AssertionError as error:
        return [("linear", str(error))]
    return []


def warm_up() -> None:
    """Compile what the estimators need, so that no time limit is charged for it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y, codes = np.sin(X[:, 0]), np.arange(40) % 3
    machines = [
        mercer.SVC, mercer.NuSVC, mercer.SVR, mercer.NuSVR, mercer.OneClassSVM, mercer.KernelRidge,
        mercer.KernelLogisticRegression, mercer.KernelPCA, mercer.KernelKMeans,
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for machine in machines:
            for kernel in ("rbf", "linear", "poly", "laplacian"):
                for rows in (X, X.astype(np.float32)):
                    for target in (codes, codes > 0) if "SVC" in machine.__name__ else (y,):
                        labels = codes if machine is mercer.KernelLogisticRegression else target
                        with suppress(ValueError):
                            machine(kernel=kernel).fit(rows, labels)
        mercer.SVC(C=np.inf).fit(X, codes > 0)
        mercer.SVC(time_limit=0.2).fit(X, codes)
        mercer.SVC(fit_intercept=False).fit(X, codes)
        big = rng.normal(size=(1700, 3))
        for kernel in ("rbf", "linear"):
            for rows in (big, big.astype(np.float32)):
                mercer.SVC(kernel=kernel, time_limit=2.0, C=0.1).fit(rows, big[:, 0] > 0)
        mercer.SVR(time_limit=2.0, C=0.1).fit(big[:900], big[:900, 0])
        mercer.OneClassSVM(time_limit=2.0, nu=0.1).fit(big)
