"""Files and options that are wrong: one line on stderr that names them, exit code 1 or 2."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

CSV = "a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,9,y\n"
SVM = "1 1:1 2:2\n-1 1:3 2:1\n1 1:1 2:3\n-1 1:4 2:0.5\n"

FILES = {
    "good.csv": CSV,
    "good.svm": SVM,
    "empty.csv": "",
    "header.csv": "a,b,label\n",
    "ragged.csv": "a,b,label\n1,2,x\n3,y\n5,6,x\n",
    "missing.csv": "a,b,label\n1,2,x\n3,,y\n5,6,x\n",
    "nan.svm": "1 1:1 2:nan\n-1 1:3\n",
    "infinite.csv": "a,b,label\n" + "1,2,x\n3,4,y\n" * 20 + "3,inf,y\n",
    "no-label.csv": "a,b,label\n1,2,x\n3,4,\n5,6,x\n",
    "one-class.csv": "a,b,label\n1,2,x\n3,4,x\n5,6,x\n",
    "untitled.csv": "a,b,c\n1,2,x\n3,4,y\n",
    "twice.csv": "a,a,label\n1,2,x\n3,4,y\n",
    "prices.csv": "size,price\n1.5,2\n3,4.5\n",
    "lacking.csv": "a,c,label\n1,2,x\n3,4,y\n",
    "word.csv": "a,b,label\n1,2,x\nmany,4,y\n",
    "other.csv": "a,b,label\n1,2,x\n3,5,y\n5,6,x\n7,8,y\n",
    "stranger.csv": "a,b,label\n1,2,z\n3,4,y\n",
    "latin.csv": "größe,b,label\n1,2,x\n3,4,y\n".encode("latin-1"),
    "noise.csv": bytes(range(256)) * 4,
    "value.svm": "1 1:1 2:2\n-1 1:x\n",
    "label.svm": "1 1:1\none 1:2\n",
    "index.svm": "1 1:1\n-1 -3:2\n",
    "order.svm": "1 2:1 1:1\n-1 1:2\n",
    "cut.csv.gz": gzip.compress(CSV.encode() * 50)[:60],
    "bad.npy": b"\x93NUMPY\x01\x00 nothing",
    "bad.npz": b"PK\x03\x04 nothing",
    "bad.parquet": b"PAR1 nothing PAR1",
    "bad.mercer": b"\x20\x00\x00\x00\x00\x00\x00\x00{not json",
    "bad.model": "svm_type c_svc\nkernel_type magic\n",
}

TRAIN = "train good.csv "

# name: (command line, exit code, what the line must name)
CASES = {
    "no such file": ("train nowhere.csv", 1, "nowhere.csv"),
    "a folder": ("train folder", 1, "folder"),
    "an empty file": ("train empty.csv", 1, "empty.csv"),
    "a header only": ("train header.csv", 1, "header.csv"),
    "a short line": ("train ragged.csv", 1, "ragged.csv:3"),
    "a missing value": ("train missing.csv", 1, "missing.csv:3"),
    "an infinite value": ("train infinite.csv", 1, "infinite.csv:42"),
    "a missing label": ("train no-label.csv", 1, "no-label.csv:3"),
    "one class": ("train one-class.csv", 1, "one-class.csv"),
    "no known target": ("train untitled.csv", 1, "untitled.csv"),
    "names that repeat": ("train twice.csv", 1, "twice.csv"),
    "another encoding": ("train latin.csv", 1, "latin.csv"),
    "noise": ("train noise.csv", 1, "noise.csv"),
    "a cut archive": ("train cut.csv.gz", 1, "cut.csv.gz"),
    "NaN in svmlight": ("train nan.svm", 1, "nan.svm"),
    "a value that is no number": ("train value.svm", 1, "value.svm:2"),
    "a label that is no number": ("train label.svm", 1, "label.svm:2"),
    "a negative index": ("train index.svm", 1, "index.svm:2"),
    "a broken .npy": ("train bad.npy", 1, "bad.npy"),
    "pickled objects": ("train objects.npy", 1, "objects.npy"),
    "a broken .npz": ("train bad.npz", 1, "bad.npz"),
    "a broken Parquet": ("train bad.parquet", 1, "bad.parquet"),
    "the wrong format asked for": ("train good.csv --format svmlight", 1, "good.csv:1"),
    "a folder that is not there": (TRAIN + "-o nowhere/m.mercer", 1, "nowhere"),
    "a folder as the model": (TRAIN + "-o folder", 1, "folder"),
    "the data as the model": (TRAIN + "good.csv", 2, "good.csv"),
    "a target that is not there": (TRAIN + "--target colour", 1, "colour"),
    "a column number too large": (TRAIN + "--target 9", 1, "9"),
    "words as a regression": (TRAIN + "--machine svr", 1, "good.csv"),
    "more folds than rows": (TRAIN + "-v 50", 2, "50"),
    "test data that do not fit": (TRAIN + "--test lacking.csv", 1, "lacking.csv"),
    "a hard margin that cannot be": ("train hard.csv -C inf --kernel linear", 1, "C=inf"),
    "no such command": ("tarin good.csv", 2, "tarin"),
    "no data": ("train", 2, "DATA"),
    "no such option": (TRAIN + "--sigma 3", 2, "--sigma"),
    "no such machine": (TRAIN + "--machine svx", 2, "svx"),
    "no such kernel": (TRAIN + "--kernel rfb", 2, "rfb"),
    "no such scaling": (TRAIN + "--scale log", 2, "log"),
    "C is no number": (TRAIN + "-C much", 2, "-C must be a valid number, got 'much'"),
    "C with a sign of equality": (TRAIN + "-C=2", 2, "got '=2'"),
    "a degree that is no integer": (TRAIN + "--degree=2.5", 2, "integer, got '2.5'"),
    "C is negative": (TRAIN + "-C -1", 2, "-C"),
    "gamma is no number": (TRAIN + "--gamma wide", 2, "--gamma"),
    "tol is zero": (TRAIN + "--tol 0", 2, "--tol"),
    "nu is too large": (TRAIN + "--machine nusvc --nu 2", 2, "--nu"),
    "nu does not go with svc": (TRAIN + "--nu 0.5", 2, "--nu"),
    "no kernel for linear machines": (TRAIN + "--machine linear-svc --kernel rbf", 2, "--kernel"),
    "one fold": (TRAIN + "--cv 1", 2, "--cv must be greater than or equal to 2, got '1'"),
    "svm type 7": (TRAIN + "-s 7", 2, "-s"),
    "-c and -C": (TRAIN + "-c 1 -C 1", 2, "-C"),
    "-t and --kernel": (TRAIN + "-t 2 --kernel rbf", 2, "--kernel"),
    "a weight without factor": (TRAIN + "-w1", 2, "-w"),
    "a weight of no class": (TRAIN + "--class-weight z=2", 2, "z=2"),
    "a weight of no class, as svm-train's": (TRAIN + "-w7 2", 2, "-w7 2"),
    "a weight that is no number": (TRAIN + "--class-weight x=big", 2, "x=big"),
    "two outputs": (TRAIN + "m.mercer -o n.mercer", 2, "n.mercer"),
    "a model that is none": ("predict good.csv good.csv", 1, "good.csv"),
    "a model that is broken": ("predict bad.mercer good.csv", 1, "bad.mercer"),
    "a model that is not there": ("inspect nothing.mercer", 1, "nothing.mercer"),
    "columns that the model lacks": ("predict m.mercer lacking.csv", 1, "lacking.csv"),
    "columns of other names alone": ("predict m.mercer prices.csv", 1, "lacks 'a', 'b'"),
    "a word for a number": ("predict m.mercer word.csv", 1, "word.csv:3"),
    "probabilities that are not there": ("predict m.mercer good.csv --proba", 1, "m.mercer"),
    "two kinds of values": ("predict m.mercer good.csv --proba --decision", 2, "--proba"),
    "other data than those of the fit": ("verify m.mercer other.csv", 1, "other.csv"),
    "a label of no class": ("verify m.mercer stranger.csv", 1, "stranger.csv"),
    "a certificate that nobody has": ("verify perceptron.mercer good.csv", 1, "perceptron.mercer"),
    "a machine without certificate": (TRAIN + "--machine perceptron --verify", 2, "--verify"),
    "LIBSVM's model, broken": ("convert bad.model m2.mercer", 1, "bad.model:2"),
    "a format that is not known": ("convert good.csv good.xlsx", 1, "good.xlsx"),
    "a model to nowhere": ("convert good.csv good.model", 1, "good.csv"),
    "an empty file for the doctor": ("doctor empty.csv", 1, "empty.csv"),
    "one class to train": ("train one-class.csv -q", 1, "use mercer train --machine oneclass"),
    "one class to tune": ("tune one-class.csv", 1, "use mercer train --machine oneclass"),
    "a fit that would fail": ("doctor one-class.csv", 1, "one-class.csv"),
    "a picture of no known kind": (TRAIN + "--plot x.gif", 2, "x.gif"),
    "a picture to nowhere": (TRAIN + "--plot nowhere/x.png", 1, "nowhere/x.png"),
    "no such picture": ("plot portrait m.mercer good.csv", 2, "portrait"),
    "no such kind of file": ("plot boundary m.mercer good.csv -o b.bmp", 2, "b.bmp"),
    "a machine that cannot be compiled": ("warmup svx", 2, "svx"),
    "a port that is none": ("play --port 99999", 2, "--port"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from mercer.cli import main

    folder = tmp_path_factory.mktemp("malformed")
    for name, content in FILES.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    (folder / "folder").mkdir()
    (folder / "hard.csv").write_text("a,b,label\n0,0,x\n1,1,x\n0,1,y\n1,0,y\n")
    np.save(folder / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    for name, more in (("m", []), ("perceptron", ["--machine", "perceptron"])):
        model = str(folder / f"{name}.mercer")
        assert main(["train", str(folder / "good.csv"), "-o", model, "-q", *more]) == 0
    return folder


def test_there_are_forty_and_more():
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", CASES)
def test_one_line_that_names_it(case, folder, mercer, monkeypatch):
    command, expected, name = CASES[case]
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    code, _, err = mercer(*command.split())
    assert err.startswith("mercer: ")
    assert err.count("\n") == 1, err
    assert code == expected, err
    assert name in err
    assert "Traceback" not in err
    assert "internal error" not in err
    assert sorted(folder.iterdir()) == before  # nothing half-written is left
