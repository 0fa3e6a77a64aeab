"""Sections ``tables`` and ``mkl`` of ``python -m benchmarks kernels``.

**tables.** 5 × 5-fold cross-validation on tables as they are, in CSV files under ``tables/`` of the
data folder. `TableKernel.from_frame` of the training rows against imputation (median, most
frequent), one-hot columns, standardised numbers and an RBF kernel. Both are tuned on four γ and the
same C by 3-fold searches inside the training rows: SVC with squared slack, whose values rank rows
better than those of the hinge, by AUC; SVR on standardised targets by R².

**mkl.** The kernels of SimpleMKL (Rakotomamonjy et al. 2008): RBF of ten widths and polynomials of
degree 1 to 3, on all columns and on each one, for 70 % of the rows, standardised; C = 100. MKLpy,
where it is installed, is given the kernel matrices, whose time counts.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.data import MissingData, load
from mercer.kernels import RBF, Kernel, OnColumns, Polynomial, TableKernel

__all__ = ["mkl", "simple_kernels", "tables"]

Row = list[str]
TABLES = {"credit_data": "Status", "ames": "Sale_Price", "TitanicSurvival": "survived"}


# ---------------------------------------------------------------------- tables


def tables(options: argparse.Namespace) -> list[Row]:
    """Means over all folds, and in how many of them the first is better."""
    out = []
    for name, target in TABLES.items():
        X, y = _read(name, target)
        start = time.perf_counter()
        scores = _scores(X, y, 5 if options.folds is None else options.folds)
        seconds = time.perf_counter() - start
        ours, theirs = scores["TableKernel"], scores["baseline"]
        what = "AUC" if y.dtype.kind in "iu" else "R²"
        better = f"{np.count_nonzero(ours >= theirs)} of {ours.size}"
        means = [f"{values.mean():.4f}" for values in (ours, theirs)]
        out.append([f"{name}, {len(y):,} rows, {X.shape[1]} columns", what, *means, better,
                    f"{seconds:.0f}"])  # fmt: skip
    return out


def _read(name: str, target: str) -> tuple[Any, np.ndarray]:
    path = Path(os.environ.get("MERCER_DATA", "")) / "tables" / f"{name}.csv"
    if not path.exists():
        raise MissingData(f"{name}: there is no tables/{name}.csv in the folder of MERCER_DATA.")
    X = importlib.import_module("pandas").read_csv(path).drop(columns="rownames")
    X = X[X[target].notna()]
    y = X.pop(target)
    if y.dtype.kind in "if":
        return X, y.to_numpy(np.float64)
    return X, (y == y.iloc[0]).to_numpy().astype(int)


def _scores(X: Any, y: np.ndarray, repetitions: int) -> dict[str, np.ndarray]:
    selection = importlib.import_module("sklearn.model_selection")
    is_class = y.dtype.kind in "iu"
    folds = selection.StratifiedKFold if is_class else selection.KFold
    found: dict[str, list[float]] = {"TableKernel": [], "baseline": []}
    for seed in range(repetitions):
        for train, test in folds(5, shuffle=True, random_state=seed).split(X, y):
            inner = folds(3, shuffle=True, random_state=0)
            parts = X.iloc[train], y[train], X.iloc[test], y[test]
            for who, scores in found.items():
                scores.append(_score(who, *parts, inner))
    return {who: np.array(values) for who, values in found.items()}


def _score(who: str, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray, inner: Any) -> float:
    metrics = importlib.import_module("sklearn.metrics")
    kernels: Sequence[Kernel]
    if who == "TableKernel":
        kernels = [TableKernel.from_frame(X, gamma=gamma) for gamma in (0.5, 1, 2, 4)]
    else:
        encoder = _encoder(X).fit(X)
        X, X_test = encoder.transform(X), encoder.transform(X_test)
        unit = 1 / (X.shape[1] * X.var())
        kernels = [RBF(gamma * unit) for gamma in (0.05, 0.1, 0.3, 1)]
    if y.dtype.kind in "iu":
        model, Cs, scoring = mercer.SVC(loss="squared_hinge"), [0.1, 0.3, 1, 3, 10], "roc_auc"
        mean, scale = 0.0, 1.0
    else:
        model, Cs, scoring = mercer.SVR(epsilon=0.1), [1, 3, 10, 30], "r2"
        mean, scale = y.mean(), y.std()
        y = (y - mean) / scale
    search = mercer.model_selection.GridSearchCV(
        model, {"kernel": kernels, "C": Cs}, scoring=scoring, cv=inner
    ).fit(X, y)
    if scoring == "roc_auc":
        return float(metrics.roc_auc_score(y_test, search.decision_function(X_test)))
    return float(metrics.r2_score(y_test, search.predict(X_test) * scale + mean))


def _encoder(X: Any) -> Any:
    compose, impute, pipeline, preprocessing = (
        importlib.import_module(f"sklearn.{name}")
        for name in ("compose", "impute", "pipeline", "preprocessing")
    )
    numbers = list(X.select_dtypes("number").columns)
    others = [column for column in X.columns if column not in numbers]
    of_numbers = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler()
    )
    of_others = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="most_frequent"),
        preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    return compose.ColumnTransformer(
        [("numbers", of_numbers, numbers), ("others", of_others, others)]
    )


# ---------------------------------------------------------------------- multiple kernel learning


def simple_kernels(d: int) -> list[OnColumns]:
    """13 kernels on all columns, and on each one."""
    each: list[Kernel] = [RBF(sigma=float(sigma)) for sigma in 2.0 ** np.arange(-3, 7)]
    each += [Polynomial(degree=degree, gamma=1.0, coef0=1.0) for degree in (1, 2, 3)]
    return [OnColumns(k) for k in each] + [OnColumns(k, c) for c in range(d) for k in each]


def mkl(options: argparse.Namespace) -> list[Row]:
    """Seconds, objective and certified gap; MKLpy on the same matrices where it is installed."""
    out = []
    for name in options.mkl_sets.split(","):
        data = load(name)
        X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X)
        rows = np.random.default_rng(0).permutation(len(data.y))[: int(0.7 * len(data.y))]
        if options.mkl_rows is not None:
            rows = rows[: options.mkl_rows]
        X, y = X[rows], data.y[rows]
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        kernels, machine = simple_kernels(X.shape[1]), mercer.SVC(C=100)
        seconds = np.inf
        for _ in range(options.repeat):
            model = mercer.MKL(kernels, machine).fit(X, y)
            seconds = min(seconds, model.fit_seconds_)
        task = f"{name}, {len(y):,} rows, {len(kernels)} kernels"
        stated = model.certificate_
        chosen = f"{np.count_nonzero(model.weights_)}"
        out.append([task, "MKL", f"{seconds:.2f}", f"{stated.primal:.4g}",
                    f"{stated.relative_gap:.1e}", chosen])  # fmt: skip
        out += _peers(task, kernels, X, y, machine, options.mkl_matrix_gb)
    return out


def _peers(
    task: str, kernels: Sequence[Kernel], X: np.ndarray, y: np.ndarray, machine: Any, most_gb: float
) -> list[Row]:
    """MKLpy's EasyMKL and MEMO, and `MKL` at the objective that each of them reached.

    The margin that MEMO maximises for K + I/(2C) is √(2/J), J the objective with squared slack: the
    same problem. EasyMKL has another criterion. Weights of both, scaled to sum 1, are feasible:
    their objective is that of an SVC on the weighted matrix. `MKL` is then stopped at the same
    relative gap, so that its objective is not above.
    """
    try:
        for module in ("algorithms", "callbacks", "scheduler"):  # their time does not count
            importlib.import_module(f"MKLpy.{module}")
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return []
    size = 8 * len(kernels) * len(y) ** 2 / 1e9
    if size > most_gb:
        return [[task, f"MKLpy: its matrices take {size:.0f} GB", "", "", "", ""]]
    start = time.perf_counter()
    matrices = [K / np.diag(K).mean() for K in (kernel(X) for kernel in kernels)]
    reading = time.perf_counter() - start
    out = []
    for name, loss in (("EasyMKL", "hinge"), ("MEMO", "squared_hinge")):
        svc = mercer.SVC(C=machine.C, loss=loss)
        exact = mercer.MKL(kernels, svc).fit(X, y)
        least = exact.certificate_
        ridge = np.eye(len(y)) / (2 * machine.C) if name == "MEMO" else 0.0
        given = [torch.tensor(K + ridge) for K in matrices]
        start = time.perf_counter()
        found = _mklpy(name, given, torch.tensor(y))
        seconds = reading + time.perf_counter() - start
        del given
        weights = np.asarray(found.tolist(), dtype=float)
        weights /= weights.sum()
        K = sum(w * matrix for w, matrix in zip(weights, matrices, strict=True))
        J = svc.set_params(kernel="precomputed").fit(K, y).certificate_.primal
        gap = (J - least.dual) / J
        own = mercer.MKL(kernels, svc, gap_tol=gap).fit(X, y)
        rows = [("", exact), (f", at the gap of {name}", own)]
        out.append([task, f"MKLpy, {name}, {loss}", f"{seconds:.2f}", f"{J:.4g}", f"{gap:.1e}",
                    f"{np.count_nonzero(weights > 1e-6)}"])  # fmt: skip
        out += [
            [task, f"MKL, {loss}{what}",
             f"{model.fit_seconds_:.2f} ({seconds / model.fit_seconds_:.0f}×)",
             f"{model.certificate_.primal:.4g}", f"{model.certificate_.relative_gap:.1e}",
             f"{np.count_nonzero(model.weights_)}"]
            for what, model in rows
        ]  # fmt: skip
    return out


def _mklpy(name: str, given: list[Any], y: Any, most_seconds: float = 60.0) -> Any:
    """Weights of one of MKLpy's algorithms, after ``most_seconds`` of steps at most.

    MEMO with a learning rate of 1, halved at each step that is worse: with its default, .01, a
    hundred steps leave the weights nearly equal.
    """
    algorithms: Any = importlib.import_module("MKLpy.algorithms")
    if name == "EasyMKL":
        return algorithms.EasyMKL().fit(given, y).solution.weights
    callbacks: Any = importlib.import_module("MKLpy.callbacks")
    scheduler: Any = importlib.import_module("MKLpy.scheduler")

    class Limit(callbacks.Callback):
        def on_train_begin(self) -> None:
            self.start = time.perf_counter()

        def on_step_end(self, step: int) -> None:
            late = time.perf_counter() - self.start > most_seconds
            self.model.convergence = self.model.convergence or late

    halving = scheduler.ReduceOnWorsening()
    memo = algorithms.MEMO(learning_rate=1.0, callbacks=[Limit()], scheduler=halving)
    with contextlib.redirect_stdout(io.StringIO()):  # it prints
        return memo.fit(given, y).solution.weights
