"""``mercer train --dask``: the model of the same file in memory."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import mercer
from mercer.cli import main

pytest.importorskip("dask")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def file(rows, tmp_path):
    X, y = rows
    frame = pd.DataFrame(3 * X + 1, columns=list("abcde")).assign(label=np.where(y > 0, "p", "n"))
    path = tmp_path / "big.parquet"
    frame.to_parquet(path, row_group_size=100)
    return path


def test_train_by_dask(client, file, tmp_path, capsys):
    output = tmp_path / "model"
    given = ["train", str(file), "--target", "label", "--tol", "1e-6", "-o", str(output)]
    assert main([*given, "--dask", "--checkpoint", str(tmp_path / "run")]) == 0
    assert "solved" in capsys.readouterr().out
    assert main([*given[:-1], str(tmp_path / "other"), "--machine", "linear-svc"]) == 0
    model, other = mercer.load(output), mercer.load(tmp_path / "other")
    assert type(model) is mercer.LinearSVC
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-5)
    assert np.allclose(model.coef_, other.coef_, atol=1e-2)
    capsys.readouterr()
    assert main(["predict", str(output), str(file), "-o", str(tmp_path / "found.csv")]) == 0
    found = pd.read_csv(tmp_path / "found.csv").iloc[:, 0]
    assert np.mean(found == pd.read_parquet(file)["label"]) > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cv", "3"], "--cv cannot be combined with --dask"),
        (["--machine", "nusvc"], "--machine nusvc is not fitted by --dask"),
        (["--target", "nothing"], "nothing"),
    ],
)
def test_wrong_options(client, options, message, file, capsys):
    assert main(["train", str(file), "--target", "label", "--dask", *options]) != 0
    text = capsys.readouterr().err
    assert message in text
    assert "Traceback" not in text


@pytest.mark.serial
def test_an_error_on_a_worker_is_one_line(file):
    """Of the local cluster's processes nothing else is seen."""
    given = ["train", str(file), "--target", "label", "--dask", "--machine", "svr", "-o", "model"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "mercer.cli", *given],
        capture_output=True, text=True, timeout=300, env=environment, cwd=file.parent,
    )  # fmt: skip
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "y must hold numbers in chunk" in done.stderr
