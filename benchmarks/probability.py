"""``python -m benchmarks probability``: probabilities, coverage, and leave-one-out.

*scores*: `SVC(probability="platt")` against scikit-learn's ``CalibratedClassifierCV`` around the
same `SVC`, on subsets of 20 data sets: time, disagreements with ``predict``, log-loss and Brier
score on rows that neither has seen, mean over splits.
*coverage*: conformal sets, CV+ and the jackknife+ at level 90 % on real data sets, mean over random
splits.
*loo*: `leave_one_out` of 1,000 rows against a cold ``SVC().fit`` of an earlier version
(``MERCER_EARLIER``).

Times are those of the processors, which other work on the machine disturbs less; *loo* has those of
the clock, too, since its problems are solved on all threads.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import load
from benchmarks.peers import EARLIER, PEERS
from benchmarks.report import table
from benchmarks.runs import process

__all__ = ["add_command", "measure"]

# Sets of the folder, of scikit-learn, and two-class versions of sets with several classes.
SCORED = (
    "diabetes", "heart", "spambase", "svmguide1", "a9a", "ijcnn1", "w8a", "covtype", "letter",
    "mnist", "satimage", "usps", "iris", "wine", "breast_cancer", "digits", "covtype-two",
    "letter-two", "mnist-two", "satimage-two",
)  # fmt: skip
FEWEST = 5  # training rows of a class: CalibratedClassifierCV needs one for each fold
SETS = ("diabetes", "spambase", "svmguide1", "satimage", "a9a", "covtype-two")
CURVES = ("abalone", "cpusmall", "cadata", "kin40k", "diabetes-progression", "friedman")
TEST_ROWS = 2000
LEVEL = 0.9
LOO_ROWS = 1000


def add_command(commands: Any) -> None:
    parser = commands.add_parser("probability", help="probabilities, coverage and leave-one-out")
    parser.add_argument("--parts", default="scores,coverage,loo", help="of scores, coverage, loo")
    parser.add_argument("--rows", type=int, default=500, help="training rows of the scores (500)")
    parser.add_argument("--repeat", type=int, default=4, help="splits of the scores (4)")
    parser.add_argument("--splits", type=int, default=50, help="splits of the coverage (50)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    warnings.simplefilter("ignore")
    parts = {"scores": _scores, "coverage": _coverage, "loo": _loo}
    for part in options.parts.split(","):
        if part not in parts:
            raise ValueError(f"unknown part {part!r}; known: {', '.join(parts)}.")
        parts[part](options)
    return 0


def data_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Dense rows and targets; "-two" halves the classes by their numbers."""
    import sklearn.datasets as own

    name, two, _ = name.partition("-two")
    if name == "friedman":
        return own.make_friedman1(4000, noise=1.0, random_state=0)
    if name == "diabetes-progression":
        return own.load_diabetes(return_X_y=True)
    if hasattr(own, f"load_{name}") and name != "diabetes":
        X, y = getattr(own, f"load_{name}")(return_X_y=True)
    else:
        data = load(name)
        some = np.random.default_rng(0).permutation(len(data.y))[:20_000]
        X, y = data.X[some], data.y[some]
        X = X.toarray() if hasattr(X, "toarray") else X
    if two:
        y = np.unique(y, return_inverse=True)[1] % 2
    return np.asarray(X, np.float64), y


def split(X: np.ndarray, y: np.ndarray, rows: int, seed: int) -> tuple[np.ndarray, ...]:
    """Training and test rows at random, scaled by the first; stratified where y are classes."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    rows = min(rows, int(0.6 * len(y)))
    counts = np.unique(y, return_counts=True)[1]
    labels = y if counts.min() > 1 and counts.size < 50 else None
    test = min(TEST_ROWS, len(y) - rows)
    A, B, a, b = train_test_split(
        X, y, train_size=rows, test_size=test, random_state=seed, stratify=labels
    )
    scaler = StandardScaler().fit(A)
    return scaler.transform(A), scaler.transform(B), a, b


def common_classes(A: np.ndarray, B: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[Any, ...]:
    """The split without the classes of which there are fewer than `FEWEST` training rows."""
    classes, counts = np.unique(a, return_counts=True)
    kept = classes[counts >= FEWEST]
    train, test = np.isin(a, kept), np.isin(b, kept)
    return A[train], B[test], a[train], b[test]


def _timed(model: Any, X: np.ndarray, y: np.ndarray, times: int = 3) -> float:
    """Seconds of the processors, the least of some fits."""
    return least(lambda: model.fit(X, y), times)[0]


def least(run: Callable[[], Any], times: int) -> tuple[float, float]:
    """The least seconds of the processors, and of the clock, of some runs."""
    found = []
    for _ in range(times):
        before = time.process_time(), time.perf_counter()
        run()
        found.append((time.process_time() - before[0], time.perf_counter() - before[1]))
    used, clock = zip(*found, strict=True)
    return min(used), min(clock)


# ---------------------------------------------------------------------- probabilities


def _scores(options: argparse.Namespace) -> None:
    from sklearn.calibration import CalibratedClassifierCV

    from mercer import SVC

    rows, no_worse, factors = [], [0, 0], []
    for name in SCORED:
        X, y = data_of(name)
        found: list[list[float]] = []
        disagree, spent = 0, np.zeros(3)
        for seed in range(options.repeat):
            A, B, a, b = common_classes(*split(X, y, options.rows, seed))
            plain, own = SVC(), SVC(probability="platt", random_state=0)
            other = CalibratedClassifierCV(SVC(), cv=5, ensemble=False)
            spent += [_timed(model, A, a) for model in (plain, own, other)]
            p = own.predict_proba(B)
            disagree += int((own.classes_[p.argmax(axis=1)] != own.predict(B)).sum())
            found.append(
                [*losses(p, b, own.classes_), *losses(other.predict_proba(B), b, own.classes_)]
            )
        mean = np.mean(found, axis=0)
        better = [mean[k] <= mean[k + 2] * (1 + 1e-9) for k in (0, 1)]
        no_worse = [count + is_better for count, is_better in zip(no_worse, better, strict=True)]
        factors.append(spent[1] / spent[0])
        rows.append([
            name, str(len(a)), str(len(np.unique(y))), f"{1e3 * spent[0] / options.repeat:.1f}",
            f"{spent[1] / spent[0]:.2f}×", f"{spent[2] / spent[0]:.2f}×", str(disagree),
            f"{mean[0]:.4f}", f"{mean[2]:.4f}", f"{mean[1]:.4f}", f"{mean[3]:.4f}",
        ])  # fmt: skip
    head = ["set", "rows", "classes", "fit ms", "with probabilities", "CalibratedClassifierCV",
            "disagreements", "log-loss", "its", "Brier", "its"]  # fmt: skip
    print(table(head, rows))
    print(
        f"no worse than CalibratedClassifierCV: log-loss on {no_worse[0]}, Brier score on "
        f"{no_worse[1]} of {len(SCORED)} sets; fit with probabilities over fit: median "
        f"{np.median(factors):.2f}, largest {max(factors):.2f}\n",
        flush=True,
    )


def losses(p: np.ndarray, y: np.ndarray, classes: np.ndarray) -> tuple[float, float]:
    """Mean log-loss and Brier score (sum over the classes; of two, of one)."""
    code = np.searchsorted(classes, y)
    hit = np.zeros(p.shape)
    hit[np.arange(len(y)), code] = 1.0
    brier = ((p - hit) ** 2).sum(axis=1).mean() / (2 if p.shape[1] == 2 else 1)
    return float(-np.log(np.maximum(p[hit > 0], 1e-15)).mean()), float(brier)


# ---------------------------------------------------------------------- coverage


def _coverage(options: argparse.Namespace) -> None:
    from mercer import SVC, SVR
    from mercer.conformal import ConformalClassifier, ConformalRegressor

    rows = []
    for name in SETS:
        X, y = data_of(name)
        found = []
        for seed in range(options.splits):
            A, B, a, b = split(X, y, 200, seed)
            model = ConformalClassifier(SVC(), random_state=seed).fit(A, a)
            code = np.searchsorted(model.classes_, b)
            at = np.arange(len(b)), code
            is_in = model.predict_set(B, LEVEL)
            full = model.predict_set(B, LEVEL, allow_empty=False)
            found.append([is_in[at].mean(), full[at].mean(), is_in.sum(axis=1).mean()])
        mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(options.splits)
        rows.append([name, "200", f"{100 * mean[0]:.2f} ± {100 * error[0]:.2f} %",
                     f"{100 * mean[1]:.2f} %", f"{mean[2]:.2f}"])  # fmt: skip
    print(table(["set", "rows", "sets", "non-empty sets", "classes in a set"], rows))
    rows = []
    for name in CURVES:
        X, y = data_of(name)
        y = y / np.std(y)
        found = []
        for seed in range(options.splits):
            A, B, a, b = split(X, y, 200, seed)
            C, D = A[:60], a[:60]
            inside = []
            for model in (
                ConformalRegressor(SVR(), cv=10).fit(A, a),
                ConformalRegressor(SVR(), cv="loo").fit(C, D),
            ):
                low, high = model.predict_interval(B, LEVEL)
                inside.append(((low <= b) & (b <= high)).mean())
            found.append(inside)
        mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(options.splits)
        texts = [f"{100 * m:.2f} ± {100 * e:.2f} %" for m, e in zip(mean, error, strict=True)]
        rows.append([name, *texts])
    print(table(["set", "CV+, 200 rows", "jackknife+, 60 rows"], rows))
    print(f"level {LEVEL:.0%}, {options.splits} splits each; ± is a standard error\n", flush=True)


# ---------------------------------------------------------------------- leave-one-out


def _loo(options: argparse.Namespace) -> None:
    rows = []
    for name in ("covtype-two", "a9a", "spambase", "mnist-two"):
        seconds: dict[str, Any] = {}
        for who in ("mercer", EARLIER):
            missing = PEERS[who].missing()
            with tempfile.TemporaryDirectory(prefix="mercer-bench-") as folder:
                spec = {"do": "probability", "peer": who, "case": name}
                found = {"failed": missing} if missing else process(spec, folder, 300)
            seconds[who] = found
        failed = [each["failed"] for each in seconds.values() if "failed" in each]
        if failed:
            rows.append([name, failed[0], *[""] * 6])
            continue
        mine, other = seconds["mercer"], seconds[EARLIER]
        rows.append([
            name, f"{mine['loo']:.3f}", str(mine["n_solved"]), f"{mine['error']:.3f}",
            f"{other['fit']:.4f}", f"{mine['loo'] / other['fit']:.1f}×",
            f"{mine['loo_clock'] / other['fit_clock']:.1f}×", f"{mine['fit']:.4f}",
        ])  # fmt: skip
    head = ["set, 1,000 rows", "leave-one-out s", "problems", "error", "fit of the earlier s",
            "ratio", "ratio by the clock", "fit s"]  # fmt: skip
    print(table(head, rows))


def measure(spec: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own: seconds of a fit, and of leave-one-out where there is one."""
    import mercer

    warnings.simplefilter("ignore")
    A, _, a, _ = split(*data_of(spec["case"]), LOO_ROWS, 0)
    mercer.SVC().fit(A[:100], a[:100])  # loads code
    model = mercer.SVC()
    outcome: dict[str, Any] = dict(
        zip(("fit", "fit_clock"), least(lambda: model.fit(A, a), 5), strict=True)
    )
    if spec["peer"] == "mercer":
        from mercer.model_selection import leave_one_out

        leave_one_out(mercer.SVC(), A[:100], a[:100])
        found = leave_one_out(model, A, a)
        used, clock = least(lambda: leave_one_out(model, A, a), 5)
        outcome |= {"loo": used, "loo_clock": clock, "n_solved": found.n_solved,
                    "error": found.error}  # fmt: skip
    return outcome
