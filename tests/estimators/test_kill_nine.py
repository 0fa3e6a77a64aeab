"""A stream killed at random moments and started again ends at the model of a run left in peace."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

# Raised by hand now and then: MERCER_KILLS=50. The checkpoint knows nothing of the kind of stream.
KILLS = int(os.environ.get("MERCER_KILLS", "3"))
ROWS = 20_000
KILLED = """
import sys
import numpy as np
from mercer import PegasosClassifier
from mercer.data import Npy, Parquet, Svmlight

kind, folder, checkpoint = sys.argv[1:]
stream = {
    "npy": lambda: Npy(f"{folder}/X.npy", f"{folder}/y.npy", batch_rows=500),
    "parquet": lambda: Parquet(f"{folder}/rows.parquet", target="y", batch_rows=500),
    "svmlight": lambda: Svmlight(f"{folder}/rows.svm", n_features=5, batch_rows=500),
}[kind]()
model = PegasosClassifier(lam=1e-4, random_state=0, project=True)
print("begins", flush=True)
model.fit_stream(stream, classes=[0, 1], passes=3, holdout=11, checkpoint=checkpoint,
                 checkpoint_every=0)
np.save(checkpoint + ".model.npy", np.append(model.coef_, model.intercept_))
"""


def write_npy(folder, X, y):
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)


def write_parquet(folder, X, y):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})
    pq.write_table(table, folder / "rows.parquet", row_group_size=7_000)


def write_svmlight(folder, X, y):
    dump_svmlight_file(X, y, str(folder / "rows.svm"), zero_based=False)


@pytest.mark.parametrize(
    ("write", "kills"), [(write_npy, KILLS), (write_parquet, 1), (write_svmlight, 1)]
)
def test_kill_nine_at_random_moments(tmp_path, write, kills, monkeypatch):
    """The checkpoint is readable after each, and the model is that of a run left in peace."""
    draw = np.random.default_rng(1)
    X = draw.normal(size=(ROWS, 5))
    write(tmp_path, X, (X.sum(axis=1) > 0).astype(int))
    killed, in_peace = str(tmp_path / "killed.npz"), str(tmp_path / "peace.npz")
    kind = write.__name__.removeprefix("write_")
    command = [sys.executable, "-c", KILLED, kind, str(tmp_path)]
    for delay in draw.uniform(0.0, 0.25, kills):
        process = subprocess.Popen([*command, killed], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(delay)
        process.kill()
        process.wait()
        process.stdout.close()
        if os.path.exists(killed):
            with np.load(killed, allow_pickle=False) as file:
                assert {"head", "sums", "u", "total"} <= {*file.files}
                assert all(np.isfinite(file[name]).all() for name in ("u", "total"))
    subprocess.run([*command, killed], check=True, stdout=subprocess.DEVNULL)
    monkeypatch.setattr(sys, "argv", ["-c", *command[3:], in_peace])
    exec(KILLED, {})
    assert_array_equal(np.load(killed + ".model.npy"), np.load(in_peace + ".model.npy"))
