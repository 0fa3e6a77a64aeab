"""`checkpoint=`: a fit that was ended goes on, to the optimum that it would have reached."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.data import Checkpoint
from mercer.exceptions import ConvergenceWarning, FileError
from mercer.kernels import Graph, Jaccard, Spectrum, TableKernel, WeisfeilerLehman
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(400, 4))
    y = np.digitize(X[:, 0] + rng.normal(size=400), [-0.5, 0.5])
    return read_only(X, y, X[:, 0] + np.sin(3 * X[:, 1]))


X, Y, T = _data()
MODELS = {
    "SVC": (mercer.SVC(C=30.0, tol=1e-3), Y == 1),
    "SVC several": (mercer.SVC(C=30.0, tol=1e-3), Y),
    "NuSVC": (mercer.NuSVC(nu=0.4, tol=1e-3), Y == 1),
    "SVR": (mercer.SVR(C=30.0, tol=1e-3), T),
    "NuSVR": (mercer.NuSVR(C=10.0, tol=1e-3), T),
    "OneClassSVM": (mercer.OneClassSVM(tol=1e-5), None),
    "squared": (mercer.SVC(C=10.0, loss="squared_hinge"), Y == 1),
    "other solver": (
        mercer.SVC(C=1.0, solver="coordinate-ascent", fit_intercept=False),
        Y == 1,
    ),
}


class Halted(Exception):
    """Stands for the end of a process."""


def halting(after):
    """A callback that raises at its call number ``after``."""
    calls = []

    def callback(progress):
        calls.append(progress)
        if len(calls) >= after:
            raise Halted

    return callback


def always(model):
    """Every report is written, not one every few seconds."""
    model._fit_settings = replace(model._fit_settings, checkpoint_seconds=0.0)
    return model


def halted(name, path, after=4):
    model, y = MODELS[name]
    fresh = always(mercer.__dict__[type(model).__name__](**model.get_params()))
    fresh.set_params(checkpoint=path, callback=halting(after))
    with pytest.raises(Halted):
        fresh.fit(X, y)
    return y


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_goes_on_to_the_same_optimum(name, tmp_path):
    path = tmp_path / "fit.npz"
    y = halted(name, path)
    arrays, _ = Checkpoint(path, Checkpoint.read(path)[0]["fingerprint"]).load()
    assert any(beta.any() for beta in arrays.values())
    model = MODELS[name][0]
    whole = mercer.__dict__[type(model).__name__](**model.get_params()).fit(X, y)
    again = always(mercer.__dict__[type(model).__name__](**model.get_params()))
    again.set_params(checkpoint=path).fit(X, y)
    assert again.certificate_.status.is_solved
    one, other = again.certificate_, whole.certificate_
    # Both optima lie between dual and primal value of either fit.
    slack = 1e-9 * abs(one.primal)
    assert one.dual <= other.primal + slack
    assert other.dual <= one.primal + slack
    assert not path.exists()


def test_a_resumed_fit_begins_where_the_other_was(tmp_path):
    path = tmp_path / "fit.npz"
    halted("SVR", path, after=8)
    model = MODELS["SVR"][0]
    duals = []
    for place in (None, path):
        short = mercer.SVR(**model.get_params()).set_params(checkpoint=place, max_iter=1)
        with pytest.warns(ConvergenceWarning):
            duals.append(short.fit(X, T).certificate_.dual)
    # No step lowers the dual value, which is 0 at the start.
    assert duals[1] > 2 * duals[0] >= 0


def test_another_problem_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "fit.npz"
    halted("SVC", path)
    model, y = MODELS["SVC"]
    for change, X_now, y_now, what in (
        ({"C": 5.0}, X, y, "C was '30.0' and is now '5.0'"),
        ({"kernel": "linear"}, X, y, "kernel was"),
        ({}, X + 1e-9, y, "data was"),
        ({}, X, ~y, "targets and weights was"),
        ({}, X[:-1], y[:-1], r"rows was \[400, 4\] and is now \[399, 4\]"),
    ):
        changed = mercer.SVC(**model.get_params()).set_params(checkpoint=path, **change)
        with pytest.raises(FileError, match=what):
            changed.fit(X_now, y_now)
    assert path.exists()
    solver = mercer.SVC(**model.get_params()).set_params(checkpoint=path, tol=1e-2, n_jobs=1)
    solver.fit(X, y)  # limits and tolerances may differ


def test_a_time_limit_leaves_the_file(tmp_path):
    path = tmp_path / "fit.npz"
    model, y = MODELS["SVC"]
    with pytest.warns(ConvergenceWarning):
        mercer.SVC(**model.get_params()).set_params(checkpoint=path, time_limit=0.0).fit(X, y)
    assert Checkpoint.is_one(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"not a checkpoint"])
def test_a_damaged_file_is_refused(content, tmp_path):
    path = tmp_path / "fit.npz"
    path.write_bytes(content)
    with pytest.raises(FileError, match="delete it to begin anew"):
        mercer.SVC(checkpoint=path).fit(X, Y)
    assert path.read_bytes() == content


def test_a_beta_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "fit.npz"
    halted("SVC", path)
    head, arrays = Checkpoint.read(path)
    for bad in (np.full(400, np.nan), np.ones(3), np.ones(400)):
        Checkpoint(path, head["fingerprint"]).save({"beta0": bad}, head["values"])
        with pytest.raises(FileError, match="β of task 0"):
            mercer.SVC(**MODELS["SVC"][0].get_params()).set_params(checkpoint=path).fit(X, Y == 1)
    assert arrays["beta0"].shape == (400,)


def test_sparse_rows_and_texts(tmp_path):
    S = sp.csr_matrix(np.where(X > 0, X, 0))
    words = np.array(["ab" * (1 + i % 3) + "c" * (i % 5) for i in range(60)], dtype=object)
    for rows, y, kernel in ((S, Y == 1, "rbf"), (words, np.arange(60) % 2, Spectrum(2))):
        path = tmp_path / "fit.npz"
        fresh = always(mercer.SVC(C=10.0, kernel=kernel, checkpoint=path, callback=halting(1)))
        with pytest.raises(Halted):
            fresh.fit(rows, y)
        model = mercer.SVC(C=10.0, kernel=kernel, checkpoint=path).fit(rows, y)
        assert model.certificate_.status.is_solved


def test_the_path_is_not_part_of_a_saved_model(tmp_path):
    model = mercer.SVC(checkpoint=tmp_path / "c").fit(X, Y)
    mercer.save(model, tmp_path / "m")
    assert mercer.load(tmp_path / "m").checkpoint is None


def test_folders_that_do_not_exist_are_refused_before_the_fit(tmp_path):
    with pytest.raises(ValueError, match="there is no folder"):
        mercer.SVC(checkpoint=tmp_path / "no" / "c").fit(X, Y)


CHILD = """
import sys, numpy as np, mercer
from dataclasses import replace
rng = np.random.default_rng(1)
X = rng.normal(size=(1000, 10)); y = X[:, 0] + rng.normal(size=1000) > 0
model = mercer.SVC(C=1e3, gamma=0.05, tol=1e-5, checkpoint=sys.argv[1])
model._fit_settings = replace(model._fit_settings, checkpoint_seconds=0.0)
model.fit(X, y)
print("ended", flush=True)
"""


def has_begun(path):
    _, arrays = Checkpoint.read(path)
    return "beta0" in arrays and arrays["beta0"].any()


@pytest.mark.serial
def test_kill_9_leaves_a_checkpoint_that_goes_on(tmp_path):
    path = tmp_path / "fit.npz"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE)
    try:
        latest = time.monotonic() + 120
        while time.monotonic() < latest and child.poll() is None:
            if path.exists() and has_begun(path):
                break
            time.sleep(0.01)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        out, _ = child.communicate()
    assert b"ended" not in out
    head, arrays = Checkpoint.read(path)
    assert arrays["beta0"].any()
    assert head["fingerprint"]["C"] == "1000.0"
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 10))
    y = X[:, 0] + rng.normal(size=1000) > 0
    model = mercer.SVC(C=1e3, gamma=0.05, tol=0.1, checkpoint=path).fit(X, y)
    assert model.certificate_.status.is_solved


def _tables():
    rng = np.random.default_rng(3)
    columns = {"a": rng.normal(size=60), "b": rng.choice(["x", "y"], size=60).tolist()}
    return columns, TableKernel()


def _sets():
    rng = np.random.default_rng(3)
    return [{f"word{i}" for i in rng.integers(0, 30, size=6)} for _ in range(60)], Jaccard()


def _graphs():
    rng = np.random.default_rng(3)
    pairs = rng.integers(0, 5, size=(60, 6, 2)).tolist()
    labels = [["one", "two", "one", "two", "three"]] * 60
    made = zip(pairs, labels, strict=True)
    return [Graph(5, edges, names) for edges, names in made], WeisfeilerLehman()


@pytest.mark.parametrize("samples", [_tables, _sets, _graphs])
def test_samples_of_every_kind_go_on_in_another_process(samples, tmp_path):
    """Their digest is that of their values, not of objects that are shared or hashed otherwise."""
    path, (rows, kernel), y = tmp_path / "fit.npz", samples(), np.arange(60) % 2
    fresh = always(mercer.SVC(C=10.0, kernel=kernel, checkpoint=path, callback=halting(1)))
    with pytest.raises(Halted):
        fresh.fit(rows, y)
    other = pickle.loads(pickle.dumps(rows))  # equal values in other objects
    model = mercer.SVC(C=10.0, kernel=kernel, checkpoint=path).fit(other, y)
    assert model.certificate_.status.is_solved
