"""What goes wrong around a fit: the last model stays usable, files stay whole, nothing crashes."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mercer
from mercer.embeddings import EmpiricalKernelMap, LaplacianEigenmaps, Nystroem
from mercer.exceptions import FileError, NotSeparableError
from mercer.export import to_c, to_onnx
from mercer.persistence import write_liblinear, write_libsvm
from tests.read_only import read_only

resource = pytest.importorskip("resource")
SOURCES = Path(mercer.__file__).parent


def _data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3))
    return read_only(X, np.digitize(X[:, 0], [-0.4, 0.4]))


X, Y = _data()
MODELS = [
    mercer.SVC(), mercer.SVC(probability="platt"), mercer.NuSVC(nu=0.2), mercer.SVR(),
    mercer.NuSVR(), mercer.OneClassSVM(), mercer.LinearSVC(), mercer.LinearSVR(),
    mercer.LogisticRegression(), mercer.KernelLogisticRegression(), mercer.KernelRidge(),
    mercer.KernelPCA(2), mercer.KernelKMeans(2, random_state=0), EmpiricalKernelMap(3),
    mercer.KernelPerceptron(gamma=30.0, random_state=0), Nystroem(n_components=4, random_state=0),
    mercer.PegasosClassifier(tol=0.5, random_state=0), LaplacianEigenmaps(n_neighbors=40),
    mercer.SVCCV(Cs=2, gammas=2, cv=2), mercer.LinearSVCCV(Cs=2, cv=2),
]  # fmt: skip


def values(model):
    ask = "predict" if hasattr(model, "predict") else "transform"
    return getattr(model, ask)(X)


def state(model):
    return {key: id(value) for key, value in vars(model).items()}


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_fit_that_fails_leaves_the_last_model(model):
    """Other columns, other classes, and a NaN: refused, and nothing of it is kept."""
    model.fit(X, Y)
    before, attributes = values(model), state(model)
    bad = np.full((20, 2), np.nan)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(bad, np.arange(20) % 2)
    assert state(model) == attributes
    assert_array_equal(values(model), before)


def test_a_kernel_that_returns_nan_in_the_middle_of_a_fit():
    calls, most = [], [np.inf]

    def kernel(A, B):
        calls.append(1)
        K = np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))
        return K if len(calls) <= most[0] else np.full_like(K, np.nan)

    model = mercer.SVC(kernel=kernel).fit(X[:40], Y[:40])
    before = model.decision_function(X)
    calls.clear()
    most[0] = 2  # values of the first calls are numbers
    with pytest.raises(ValueError, match="returned NaN"):
        model.fit(np.vstack([X + 0.01 * k for k in range(15)]), np.tile(Y, 15))
    assert len(calls) > 2
    most[0] = np.inf
    assert_array_equal(model.decision_function(X), before)


def test_a_hard_margin_that_is_impossible_leaves_the_last_model():
    for model in (mercer.SVC(kernel="linear"), mercer.LinearSVC()):
        model.fit(X, Y > 0)
        before = model.predict(X)
        model.set_params(C=np.inf)
        with pytest.raises(NotSeparableError):
            model.fit(np.vstack([X[:1], X[:1]]), [0, 1])
        assert_array_equal(model.predict(X), before)


@contextmanager
def full_disk(size=1000):
    """No file may grow beyond ``size`` bytes: writes fail as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "m"
    model = mercer.SVC().fit(X, Y)
    mercer.save(model, path)
    content = path.read_bytes()
    with full_disk(), pytest.raises(FileError, match="cannot be written"):
        mercer.save(mercer.SVC(C=3).fit(X, Y), path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


WRITERS = {
    "C": (to_c, mercer.SVC()),
    "ONNX": (to_onnx, mercer.SVC()),
    "LIBSVM": (write_libsvm, mercer.SVC()),
    "LIBLINEAR": (write_liblinear, mercer.LinearSVC()),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_what_was_exported_before(name, tmp_path):
    if name == "ONNX":
        pytest.importorskip("onnx")
    (write, model), path = WRITERS[name], tmp_path / "m"
    path.write_text("of before")
    model.fit(X, Y)
    with full_disk(20), pytest.raises(FileError, match="m: cannot be written"):
        write(model, path)
    assert path.read_text() == "of before"
    assert list(tmp_path.iterdir()) == [path]


def test_exports_go_to_pipes():
    """What is no file cannot be replaced: it is written to."""
    read, write = os.pipe()
    try:
        to_c(mercer.LinearSVC().fit(X, Y), f"/dev/fd/{write}")
    finally:
        os.close(write)
    with open(read, encoding="utf-8") as file:
        assert file.read().endswith("#endif\n")


def test_a_full_disk_does_not_end_a_fit_with_checkpoints(tmp_path):
    """The first checkpoint is small and is written; later ones fail, and the fit goes on."""
    from dataclasses import replace

    model = mercer.SVC(C=50.0, checkpoint=tmp_path / "c")
    model._fit_settings = replace(model._fit_settings, checkpoint_seconds=0.0)
    rows, y = np.vstack([X + 0.01 * k for k in range(6)]), np.tile(Y > 0, 6)
    with full_disk(2500), pytest.warns(UserWarning, match="could not be written"):
        model.fit(rows, y)
    assert model.certificate_.status.is_solved
    assert list(tmp_path.iterdir()) == []


CHILD = """
import multiprocessing, os, sys, threading
import numpy as np, mercer

X = np.random.default_rng(0).normal(size=(600, 5)); y = X[:, 0] > 0

def fit(C):
    model = mercer.SVC(C=C, n_jobs=2).fit(X, y)
    return model.predict(X).sum().item(), model.certificate_.status.is_solved

if __name__ == "__main__":
    model = mercer.SVC(n_jobs=2).fit(X, y)
    expected = fit(2.0)
    found = [None] * 3
    def work(i):
        found[i] = fit(2.0)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    [t.start() for t in threads]; [t.join() for t in threads]
    assert found == [expected] * 3, found
    for how in ("fork", "spawn"):
        with multiprocessing.get_context(how).Pool(1) as pool:
            assert pool.apply(fit, (2.0,)) == expected, how
            assert pool.apply(model.predict, (X,)).tolist() == model.predict(X).tolist(), how
    print("all equal")
"""


@pytest.mark.serial
def test_fork_after_a_fit_spawn_and_threads(tmp_path):
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "all equal\n", done.stderr[-2000:]


LITTLE_MEMORY = """
import resource, numpy as np, mercer
X = np.random.default_rng(0).normal(size=(6000, 4)); y = X[:, 0] > 0
mercer.KernelRidge(kernel="rbf", solver="cholesky").fit(X[:50], y[:50] * 1.0)
mercer.SVC().fit(X[:50], y[:50])
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (120 << 20),) * 2)
try:
    mercer.KernelRidge(kernel="rbf", solver="cholesky").fit(X, y * 1.0)
    print("fitted")
except MemoryError as error:
    print("refused", len(str(error)) > 20)
model = mercer.SVC(cache_size=20, n_jobs=1).fit(X[:1500], y[:1500])
print(model.certificate_.status.is_solved)
"""


LITTLE_FOR_KERNEL_VALUES = """
import resource, numpy as np, mercer
X = np.random.default_rng(0).normal(size=(5000, 6)); y = X[:, 0] > 0
model = mercer.SVC(n_jobs=1).fit(X[:100], y[:100])
before = model.decision_function(X[:50])
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (40 << 20),) * 2)
try:
    model.fit(X, X[:, 0] + np.random.default_rng(1).normal(size=5000) > 0)
    print("fitted")
except MemoryError as error:
    print("cache_size" in str(error), (model.decision_function(X[:50]) == before).all())
"""


@pytest.mark.serial
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_memory_for_kernel_values_that_cannot_be_had_is_a_memory_error():
    """These pages come from mmap, whose own error is an OSError."""
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_FOR_KERNEL_VALUES],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.split() == ["True", "True"], done.stderr[-2000:]


@pytest.mark.serial
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_little_memory_is_an_error_and_not_the_end():
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True, timeout=300
    )
    assert done.stdout.split() == ["refused", "True", "True"], done.stderr[-2000:]


def test_durations_come_from_monotonic_clocks():
    """A jump of the clock (time.time, datetime.now) can neither end a fit nor keep it going."""
    wall = {"time", "time_ns", "now", "utcnow", "today"}
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = getattr(node.func.value, "id", "")
                is_wall = node.func.attr in wall and owner in ("time", "datetime", "date")
                assert not is_wall, f"{path}:{node.lineno}"
