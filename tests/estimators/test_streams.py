"""`fit_stream` is `partial_fit` in sequence; killed and started again it ends at the same model."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVR, PegasosClassifier, PegasosRegressor
from mercer._result import Status
from mercer.exceptions import ConvergenceWarning
from mercer.kernels import RBF, Constant
from mercer.solvers.pegasos._rows import DenseRows, KernelRows
from mercer.solvers.pegasos._state import LossInterval, PegasosState
from mercer.solvers.pegasos._subgradient import DualBound
from tests.read_only import read_only

ORDER = "examples are drawn at random: repeated rows make another order than weighted ones"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": ORDER,
    "check_sample_weight_equivalence_on_sparse_data": ORDER,
}


@pytest.mark.filterwarnings("default")
@parametrize_with_checks(
    [PegasosRegressor(max_iter=50), PegasosRegressor(kernel="rbf", max_iter=50)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_check_estimator(estimator, check):
    check(estimator)


N, LAM = 1200, 1e-2


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    value = X @ [1.0, -2.0, 0.5, 0.0] + rng.normal(size=N)
    return read_only(X, value)


X, value = _data()
label = np.where(value > 0, "yes", "no")
third = np.array(["low", "middle", "high"])[np.digitize(value, [-1.0, 1.0])]
WITH_ONES = np.column_stack([X, np.ones(N)])
CASES = {
    "two classes": (PegasosClassifier, label),
    "three classes": (PegasosClassifier, third),
    "regression": (PegasosRegressor, value),
}
cases = pytest.mark.parametrize(("cls", "y"), CASES.values(), ids=CASES)


def batches(y, size=100, rows=X):
    return [(rows[i : i + size], y[i : i + size]) for i in range(0, N, size)]


def classes_of(cls, y):
    return {"classes": np.unique(y)} if cls is PegasosClassifier else {}


def same_state(one, other):
    for mine, theirs in zip(one._states, other._states, strict=True):
        assert mine.t == theirs.t
        assert_array_equal(mine.u, theirs.u)
        assert_array_equal(mine.total, theirs.total)
    assert one._rng.bit_generator.state == other._rng.bit_generator.state
    assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse", "kernel"])
def test_the_bound_of_the_regressor_holds(kind, fit_intercept, epsilon):
    C, n = 0.2, 300
    settings = {"C": C, "epsilon": epsilon, "fit_intercept": fit_intercept}
    model = PegasosRegressor(random_state=0, tol=0.03, **settings)
    kernel = RBF(0.3) if kind == "kernel" else "linear"
    model.set_params(kernel=kernel).fit(sp.csr_matrix(X[:n]) if kind == "sparse" else X[:n],
                                        value[:n])  # fmt: skip
    exact = SVR(kernel=kernel, C=C, epsilon=epsilon, fit_intercept=False, tol=1e-8)
    if kind == "kernel":
        exact.set_params(kernel=kernel + Constant(1.0) if fit_intercept else kernel)
        best = exact.fit(X[:n], value[:n]).certificate_
    else:
        best = exact.fit((WITH_ONES if fit_intercept else X)[:n], value[:n]).certificate_
    found = model.certificate_
    assert found.status is Status.SOLVED
    assert found.dual <= best.primal
    assert best.dual <= found.primal
    assert found.relative_gap <= 0.03 * 1.001
    f = model.predict(sp.csr_matrix(X[:n]) if kind == "sparse" else X[:n])
    if kind != "kernel":
        slack = np.maximum(0, np.abs(value[:n] - f) - epsilon)
        size = (model.coef_**2).sum() + (model.intercept_**2).sum()
        assert found.primal == pytest.approx(size / 2 + C * slack.sum(), rel=1e-10)


def test_sweeps_over_tubes_reach_the_optimum():
    """Coordinate ascent alone, on dense rows and on the kernel matrix, against an exact solver."""
    n, C = 60, 0.3
    best = SVR(kernel="linear", C=C, epsilon=0.4, fit_intercept=False, tol=1e-9)
    optimum = best.fit(X[:n], value[:n]).certificate_.primal
    for rows in (DenseRows(X[:n], False), KernelRows(X[:n] @ X[:n].T)):
        bound = DualBound(rows, LossInterval.epsilon_insensitive(value[:n], 0.4), np.full(n, C))
        bound.improve(np.random.default_rng(0), 3000)
        assert bound.dual == pytest.approx(optimum, rel=1e-6)


@cases
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_stream_is_partial_fit_in_sequence(cls, y, kind):
    some = batches(y, rows=kind(X))
    stream = cls(lam=LAM, random_state=0).fit_stream(some, passes=2)
    parts = cls(lam=LAM, random_state=0)
    for rows, targets in some * 2:
        parts.partial_fit(rows, targets, **classes_of(cls, y))
    same_state(stream, parts)
    assert stream.n_iter_ == 2
    parts.partial_fit(*some[0])
    stream.partial_fit(*some[0])  # goes on
    same_state(stream, parts)


@pytest.mark.parametrize("average", [True, False])
def test_without_shuffling_it_is_one_pass_in_order(average):
    model = PegasosClassifier(lam=LAM, average=average, batch_size=4)
    model.fit_stream(batches(label), shuffle=False)
    rows, state = DenseRows(X, True), PegasosState(LAM, 5, 4)
    state.reset_signs(N)
    rows.run(
        LossInterval.hinge(np.where(label == "yes", 1.0, -1.0)), np.ones(N), np.arange(N), state
    )
    assert_allclose(np.append(model.coef_, model.intercept_), state.coef(average), rtol=1e-10)


def test_weights_of_a_stream(rng):
    weight = rng.uniform(0, 2, N) * (np.arange(N) % 3 > 0)
    some = [(X[i : i + 100], value[i : i + 100], weight[i : i + 100]) for i in range(0, N, 100)]
    stream = PegasosRegressor(lam=LAM, random_state=0).fit_stream(some)
    parts = PegasosRegressor(lam=LAM, random_state=0)
    for batch in some:
        parts.partial_fit(*batch)
    same_state(stream, parts)


@cases
def test_held_out_rows_are_scored_and_never_learned_from(cls, y):
    """Other targets in the held out rows leave the model as it is; the estimate is a fresh one."""
    seen, k = [], 7
    held = np.arange(N) % k == k - 1
    other = np.where(held, np.roll(y, 1), y)
    one = cls(lam=LAM, random_state=0).fit_stream(
        batches(y), holdout=k, callback=seen.append, passes=2, **classes_of(cls, y)
    )
    two = cls(lam=LAM, random_state=0).fit_stream(batches(other), holdout=k, passes=2)
    same_state(one, two)
    assert one.t_ == 2 * (N - held.sum())
    assert len(seen) == 24
    assert [p.held_out for p in one.stream_] == [held.sum()] * 2
    # The last estimate by hand: each batch's rows by the model before it.
    model, hits, error = cls(lam=LAM, random_state=0), 0, 0.0
    model.fit_stream([(a[~h], b[~h]) for (a, b), h in
                      zip(batches(y), held.reshape(-1, 100), strict=True)],
                     **classes_of(cls, y))  # fmt: skip
    for (rows, targets), h in zip(batches(y), held.reshape(-1, 100), strict=True):
        found = model.predict(rows[h])
        hits += np.sum(found == targets[h])
        error += np.sum((found - targets[h]) ** 2) if cls is PegasosRegressor else 0
        model.partial_fit(rows[~h], targets[~h])
    expected = hits / held.sum()
    if cls is PegasosRegressor:
        expected = 1 - error / np.sum((value[held] - value[held].mean()) ** 2)
    assert one.stream_[-1].score == pytest.approx(expected, rel=1e-12)
    assert seen[-1].score == one.stream_[-1].score


@cases
def test_certify_in_one_pass(cls, y):
    """The optimum lies between dual and primal, and the gap shrinks as the model gets better."""
    some = batches(y)
    gaps = []
    for passes in (1, 60):
        model = cls(lam=LAM, random_state=0).fit_stream(some, passes=passes)
        found = model.certify(some)
        C = 1 / (N * LAM)
        tasks = found.tasks or (found,)
        targets = [value] if cls is PegasosRegressor else [
            np.where(y == c, 1, -1) for c in (model.classes_ if len(tasks) > 1 else ["yes"])
        ]  # fmt: skip
        machine = SVR if cls is PegasosRegressor else SVC
        for task, target, w, b in zip(tasks, targets, model.coef_, model.intercept_, strict=True):
            exact = machine(kernel="linear", C=C, fit_intercept=False, tol=1e-8)
            best = exact.fit(WITH_ONES, target).certificate_
            assert task.dual <= best.primal
            assert best.dual <= task.primal
            f = X @ w + b
            loss = np.abs(target - f) - 0.1 if machine is SVR else 1 - target * f
            primal = (w @ w + b * b) / 2 + C * np.maximum(0, loss).sum()
            assert task.primal == pytest.approx(primal, rel=1e-10)
            assert task.n_zero + task.n_support == N
        gaps.append(found.relative_gap)
        assert model.certificate_ is found
    assert gaps[1] < gaps[0]
    assert gaps[1] < 0.1
    sparse = model.certify(batches(y, rows=sp.csr_matrix(X)))
    assert sparse.primal == pytest.approx(found.primal, rel=1e-10)
    # Its rows are not told apart by columns: another bound, which holds as well.
    assert sparse.dual <= best.primal if len(tasks) == 1 else sparse.dual <= found.primal
    assert sparse.relative_gap < 0.1


def test_a_good_model_is_certified_at_a_small_lam():
    """Where all that is lost is lost by the bound: it must not be more than a percent."""
    model = PegasosRegressor(lam=1e-4, epsilon=0.1, random_state=0)
    exact = SVR(kernel="linear", C=1 / (N * 1e-4), fit_intercept=False, tol=1e-6).fit(
        WITH_ONES, value
    )
    model.fit_stream(batches(value))
    w = exact.coef_[0]
    model.coef_, model.intercept_ = w[np.newaxis, :-1], w[-1:]
    found = model.certify(batches(value))
    assert found.primal == pytest.approx(exact.certificate_.primal, rel=1e-6)
    assert found.dual <= exact.certificate_.primal
    assert found.relative_gap < 0.01


# ---------------------------------------------------------------------- stopping and going on


@cases
@pytest.mark.parametrize("stop", [1, 5, 12, 13, 20])
def test_a_stopped_run_goes_on_where_it_was(cls, y, stop, tmp_path):
    some, path = batches(y), tmp_path / "run.npz"
    whole = cls(lam=LAM, random_state=3).fit_stream(some, passes=2, holdout=9)
    calls = []

    def enough(progress):
        calls.append(progress)
        return len(calls) == stop

    with pytest.warns(ConvergenceWarning, match="stopped by the user"):
        cls(lam=LAM, random_state=3).fit_stream(
            some, passes=2, holdout=9, checkpoint=path, callback=enough
        )
    resumed = cls(lam=LAM, random_state=3)
    resumed.fit_stream(some, passes=2, holdout=9, checkpoint=path, callback=calls.append)
    same_state(resumed, whole)
    assert len(calls) == 24  # nothing twice
    assert [p.loss for p in resumed.stream_] == [p.loss for p in whole.stream_]
    again = cls(lam=LAM, random_state=3)  # finished: there is nothing left to do
    again.fit_stream(some, passes=2, holdout=9, checkpoint=path, callback=calls.append)
    same_state(again, whole)
    assert len(calls) == 24
    more = again.fit_stream(some, passes=3, holdout=9, checkpoint=path)
    same_state(more, cls(lam=LAM, random_state=3).fit_stream(some, passes=3, holdout=9))


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    PegasosRegressor(lam=LAM, random_state=0).fit_stream(batches(value), checkpoint=path)
    changes = {"lam": 0.5, "epsilon": 0.3, "batch_size": 2, "random_state": 1}
    for name, changed in changes.items():
        model = PegasosRegressor(**({"lam": LAM, "random_state": 0} | {name: changed}))
        with pytest.raises(ValueError, match=f"another run: {name} was"):
            model.fit_stream(batches(value), checkpoint=path)
    model = PegasosRegressor(lam=LAM, random_state=0)
    with pytest.raises(ValueError, match="holdout was None and is now 5"):
        model.fit_stream(batches(value), checkpoint=path, holdout=5)
    with pytest.raises(ValueError, match="first batch was"):
        model.fit_stream(batches(-value), checkpoint=path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="cannot be read"):
        model.fit_stream(batches(value), checkpoint=path)


def test_limits_keep_the_model_so_far(tmp_path):
    def endless():
        while True:
            yield X[:100], value[:100]

    with pytest.warns(ConvergenceWarning, match="time limit"):
        PegasosRegressor(lam=LAM, time_limit=0.1).fit_stream(endless)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = PegasosRegressor(lam=LAM, time_limit=0.0).fit_stream(endless)
    assert model.t_ >= 100  # one batch at least

    def silent():
        yield X[:100], value[:100]
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        time.sleep(30)  # Ctrl-C ends it

    model = PegasosRegressor(lam=LAM)
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(silent)
    assert model.t_ == 100


@pytest.mark.parametrize(
    ("every", "saves"), [((250, "rows"), 4), ((2, "batches"), 6), ((1, "batches"), 11), (1e9, 1)]
)
def test_checkpoints_after_so_many_rows_or_batches(every, saves, tmp_path, monkeypatch):
    """Ten batches of 100 rows in two passes of five, and one checkpoint at the end."""
    from mercer.data import Checkpoint

    saved, save = [], Checkpoint.save
    monkeypatch.setattr(
        Checkpoint, "save", lambda self, *args: (saved.append(1), save(self, *args))
    )
    pieces = batches(label)[:5]
    model = PegasosClassifier(lam=LAM, random_state=0)
    model.fit_stream(lambda: iter(pieces), classes=["no", "yes"], passes=2,
                     checkpoint=tmp_path / "run.npz", checkpoint_every=every)  # fmt: skip
    assert len(saved) == saves


def test_errors():
    model = PegasosClassifier(lam=LAM)
    wrong = [-1.0, (0, "rows"), (5, "minutes"), (2.5, "rows"), None]
    changes = [{"checkpoint_every": every} for every in wrong]
    for change in ({"passes": 0}, {"holdout": 1}, *changes):
        with pytest.raises(ValueError, match=next(iter(change))):
            model.fit_stream(batches(label), **change)
    with pytest.raises(ValueError, match="an iterator gives its batches once"):
        model.fit_stream(iter(batches(label)), passes=2)
    with pytest.raises(ValueError, match="classes must be given"):
        model.fit_stream(iter(batches(label)))
    with pytest.raises(ValueError, match="no rows"):
        model.fit_stream([], classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"batch 1: Input X contains NaN"):
        model.fit_stream([(X, label), (X * np.nan, label)])
    with pytest.raises(ValueError, match=r"batch 1: X has 2 features, but .* expecting 4"):
        model.fit_stream([(X, label), (X[:, :2], label)])
    with pytest.raises(ValueError, match=r"batch 1: y has labels that are not in classes: \['hm'"):
        model.fit_stream([(X, label), (X[:1], ["hm"])], classes=["no", "yes"])
    with pytest.raises(ValueError, match="Scale the columns"):
        model.fit_stream([(X * 1e305, label)])
    with pytest.raises(ValueError, match="classes are for classifiers"):
        PegasosRegressor(lam=LAM).fit_stream(batches(value), classes=[1, 2])
    with pytest.raises(AttributeError, match="fit_stream"):
        PegasosClassifier().fit_stream(batches(label))
    with pytest.raises(ValueError, match="certify is for linear models"):
        PegasosRegressor(kernel="rbf", tol=0.5).fit(X[:50], value[:50]).certify(batches(value))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("of", [bool, np.int8, np.int64, np.float32, str], ids=lambda t: t.__name__)
def test_parquet_is_the_same_rows_in_memory(of, kind, tmp_path):
    """Columns of any type of label, read by several threads, held out rows and all."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    from mercer.data import Parquet

    rows, y = X.astype(kind), (label == "yes").astype(of)
    table = pa.table({f"x{j}": rows[:, j] for j in range(4)} | {"label": y})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=170)
    one = PegasosClassifier(lam=LAM, random_state=0).fit_stream(
        Parquet(tmp_path / "rows.parquet", target="label", batch_rows=100), holdout=7, passes=2
    )
    two = PegasosClassifier(lam=LAM, random_state=0).fit_stream(
        batches(y, rows=rows), holdout=7, passes=2
    )
    same_state(one, two)
    assert one.stream_[-1].score == two.stream_[-1].score


def test_what_is_wrong_in_parquet_is_told_with_its_rows(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    from mercer.data import Parquet

    for bad in (np.nan, np.inf):
        wrong = X.copy()
        wrong[777, 3] = bad
        table = pa.table({f"x{j}": wrong[:, j] for j in range(4)} | {"label": label})
        pq.write_table(table, tmp_path / "rows.parquet")
        model = PegasosClassifier(lam=LAM)
        with pytest.raises(ValueError, match="rows 700 to 799: Input X contains"):
            model.fit_stream(Parquet(tmp_path / "rows.parquet", target="label", batch_rows=100))


def test_columns_of_parquet_are_named(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({f"x{j}": X[:, j] for j in range(4)} | {"label": label})
    pq.write_table(table, tmp_path / "rows.parquet")
    from mercer.data import Parquet

    model = PegasosClassifier(lam=LAM, random_state=0)
    model.fit_stream(Parquet(tmp_path / "rows.parquet", target="label", batch_rows=100))
    assert model.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
    assert_array_equal(model.classes_, ["no", "yes"])
    same_state(model, PegasosClassifier(lam=LAM, random_state=0).fit_stream(batches(label)))


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, "needs lam"),
        ({"lam": 0.1, "kernel": "rbf"}, "kernel='rbf' keeps rows"),
        ({"lam": 0.1, "n_steps": 5}, "n_steps=5"),
    ],
)
@pytest.mark.parametrize("method", ["fit_stream", "partial_fit"])
def test_why_there_is_no_stream(parameters, reason, method):
    model = PegasosClassifier(**parameters)
    assert not hasattr(model, method)
    with pytest.raises(AttributeError, match=f"{method} of PegasosClassifier .*{reason}"):
        getattr(model, method)


def test_a_callback_sees_the_gap_and_stops():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    seen = []
    kept = PegasosClassifier(tol=1e-9, max_iter=64, callback=seen.append, random_state=0)
    with pytest.warns(ConvergenceWarning):
        kept.fit(X, y)
    assert [progress.rounds for progress in seen] == [2, 4, 8, 16, 32, 64]
    assert seen[-1].iterations == kept.t_ == 64 * 200
    primal, dual = kept.certificate_.primal, kept.certificate_.dual
    np.testing.assert_allclose(seen[-1].violation, (primal - dual) / primal, rtol=1e-3)
    stopped = PegasosClassifier(tol=1e-9, callback=lambda progress: progress.rounds >= 4).fit(X, y)
    assert stopped.n_iter_ == 4
    assert stopped.certificate_.status is Status.STOPPED
