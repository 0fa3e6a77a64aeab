"""Kernel ridge regression: all α of a kernel and a split from one kernel matrix.

With D = diag(√s) of the sample weights, (D K D + αI) z = D y and c = D z. Few α are factorised one
by one (n³/3 each); for many, or where a matrix is singular, D K D = V Λ Vᵀ serves all of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from scipy import linalg

from mercer._precision import EPS
from mercer._threads import Workers
from mercer.estimators._parameters import resolve_kernel
from mercer.estimators._ridge import KernelRidge
from mercer.estimators._validation import check_training, dense_if_small
from mercer.gram import BlockedGram
from mercer.gram._kernel_matrices import KernelMatrices
from mercer.kernels._binding import bind_samples
from mercer.model_selection._ledger import Cell
from mercer.model_selection._plan import Chain, Fold, Search, View, chains, middle_out, views

__all__ = ["can_share_ridge", "search_ridge"]


@dataclass(frozen=True)
class RidgeSearchSettings:
    """Constants.

    Attributes
    ----------
    most_factorised : int
        From more α than this on an eigendecomposition takes less time than their Cholesky factors.
    """

    most_factorised: int = 20


SETTINGS = RidgeSearchSettings()


def can_share_ridge(estimator: Any) -> bool:
    """Whether this is a ridge regression with a number as α."""
    is_ridge = type(estimator) is KernelRidge and estimator.solver == "auto"
    is_ridge = is_ridge and estimator.approximation is None
    has_limits = is_ridge and (estimator.time_limit is not None or estimator.callback is not None)
    return is_ridge and np.ndim(estimator.alpha) == 0 and not has_limits


def search_ridge(search: Search) -> None:
    """Score all candidates on all splits."""
    with Workers(search.n_threads) as workers:
        for view in views(search):
            _search_view(search, view, workers)


def _search_view(search: Search, view: View, workers: Workers) -> None:
    found = chains(search, "alpha")
    data = check_training(found[0].estimator, view.X, view.y, None, several_targets=True)
    X = dense_if_small(data.X)
    Y = np.asarray(data.y, np.float64).reshape(data.n, -1)
    for chain in middle_out(found):
        folds = [f for f in view.folds if not search.ledger.is_known(chain.candidates, f.split)]
        if not folds or search.stopping.stopped is not None:
            continue
        kernel, _ = resolve_kernel(chain.estimator, X, None)
        gram = BlockedGram(kernel, bind_samples(kernel, X), workers)
        with KernelMatrices(data.n, 8 * data.n**2, 1) as matrices:
            K = matrices.acquire(0, gram, 1)
            assert K is not None

            def one(fold: Fold, chain: Chain = chain, K: np.ndarray = K) -> None:
                if search.stopping.stopped is None:
                    cells = _score_fold(search, view, chain, fold, K, Y)
                    is_going_on = lambda _: search.stopping.stopped is None  # noqa: E731
                    search.ledger.record(list(takewhile(is_going_on, cells)))

            workers.map(one, folds)


def _score_fold(
    search: Search, view: View, chain: Chain, fold: Fold, K: np.ndarray, Y: np.ndarray
) -> Iterator[Cell]:
    train, test = fold.train, fold.test
    root = np.ones(train.size) if view.weight is None else np.sqrt(view.weight[train])
    began = time.perf_counter()
    A = K[np.ix_(train, train)] * root[:, None] * root
    solutions = _solutions(A, root[:, None] * Y[train], [float(a) for a in chain.values])
    for candidate, z in zip(chain.candidates, solutions, strict=True):
        c = root[:, None] * z
        held = K[np.ix_(test, train)] @ c
        fitted = time.perf_counter()
        score = search.scoring.of_values(chain.estimator, held, fold.rows_test)
        train_score = np.nan
        if search.ledger.has_train_scores:
            own = K[np.ix_(train, train)] @ c
            train_score = search.scoring.of_values(chain.estimator, own, fold.rows_train)
        ended = time.perf_counter()
        yield Cell(candidate, fold.split, score, train_score, fitted - began, ended - fitted)
        began = time.perf_counter()


def _solutions(A: np.ndarray, B: np.ndarray, alphas: list[float]) -> Iterator[np.ndarray]:
    """z of (A + αI) z = B, for each α."""
    spectrum: Any = None
    for alpha in alphas:
        if spectrum is None and len(alphas) <= SETTINGS.most_factorised:
            shifted = A.copy()
            shifted[np.diag_indices(len(A))] += alpha
            try:
                factor = linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
                yield linalg.cho_solve(factor, B, check_finite=False)
                continue
            except linalg.LinAlgError:
                pass
        if spectrum is None:
            values, V = linalg.eigh(A, check_finite=False)
            spectrum = values, V, V.T @ B
        values, V, rotated = spectrum
        total = values + alpha
        least = len(A) * EPS * np.abs(values).max(initial=0.0)
        inverse = np.where(np.abs(total) > least, 1 / np.where(total == 0, 1.0, total), 0.0)
        yield V @ (inverse[:, None] * rotated)
