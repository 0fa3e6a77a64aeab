"""LIBSVM's files and options on the command line; against its programs where they are installed."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import dump_svmlight_file

import mercer
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(120, 3))
    y = np.digitize(X[:, 0] + 0.4 * rng.normal(size=120), [-0.6, 0.0, 0.6])
    return read_only(X, y)


X, CLASSES = _data()
LABELS = np.array([7, -2, 3, 0])[CLASSES]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """svmlight files of rows (train, new) and of their kernel values (kernel, kernel.new)."""
    monkeypatch.chdir(tmp_path)
    for name, rows in (("train", slice(0, 80)), ("new", slice(80, 120))):
        dump_svmlight_file(X[rows], LABELS[rows], name, zero_based=False)
    for name, rows in (("kernel", slice(0, 80)), ("kernel.new", slice(80, 120))):
        _write_kernel(tmp_path / name, X[rows] @ X[:80].T, LABELS[rows])
    return tmp_path


def _write_kernel(path, K, y):
    lines = [
        f"{label} 0:{i} " + " ".join(f"{j}:{value:.17g}" for j, value in enumerate(row, 1))
        for i, (label, row) in enumerate(zip(y, K, strict=True), 1)
    ]
    path.write_text("\n".join(lines) + "\n")


def _program(*words):
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    subprocess.run(words, check=True, capture_output=True)


# ---------------------------------------------------------------------- precomputed kernels


def test_a_precomputed_kernel_in_the_format_of_libsvm(mercer, files):
    assert mercer("train", "-t", 4, "-c", 2, "kernel", "k.mercer", "-q")[0] == 0
    assert mercer("train", "-t", 0, "-c", 2, "train", "l.mercer", "-q")[0] == 0
    found = [
        mercer("predict", "-b", 0, model, data, "-q")[1]
        for model, data in (("k.mercer", "kernel.new"), ("l.mercer", "new"))
    ]
    assert found[0] == found[1]
    assert len(found[0].split()) == 40


def test_numbers_of_rows_must_be_theirs(mercer, files):
    text = (files / "kernel").read_text().replace(" 0:2 ", " 0:3 ", 1)
    (files / "kernel").write_text(text)
    code, _, error = mercer("train", "-t", 4, "kernel", "k.mercer", "-q")
    assert code == 1
    assert "row 2 begins with 0:3" in error


def test_rows_of_features_are_no_kernel_values(mercer, files):
    assert mercer("train", "-t", 4, "kernel", "k.mercer", "-q")[0] == 0
    code, _, error = mercer("predict", "-b", 0, "new", "k.mercer", "out")
    assert code == 1
    assert "new: has rows of features, but the model takes kernel values" in error


def test_precomputed_models_go_to_libsvm_and_back(mercer, files):
    assert mercer("train", "-t", 4, "kernel", "k.mercer", "-q")[0] == 0
    assert mercer("convert", "k.mercer", "k.model", "-q")[0] == 0
    assert mercer("convert", "k.model", "again.mercer", "-q")[0] == 0
    found = [
        mercer("predict", "-b", 0, model, "kernel.new", "-q")[1]
        for model in ("k.mercer", "again.mercer")
    ]
    assert found[0] == found[1]


# ---------------------------------------------------------------------- options


@pytest.mark.parametrize(
    "options",
    [
        "-s 0 -n 0.5", "-s 1 -n 0.4 -c 5", "-s 2 -n 0.2 -c 5 -w1 3", "-s 3 -b 0 -n 0.1",
        "-s 4 -p 0.1", "-s 0 -p 3 -t 0 -d 4 -r 2", "-s 3 -w1 5",
    ],
)  # fmt: skip
def test_options_that_do_not_matter_for_a_type_are_taken(options, mercer, files):
    code, _, error = mercer("train", *options.split(), "train", "m.mercer", "-q")
    assert (code, error) == (0, "")


def test_an_option_in_words_is_still_refused(mercer, files):
    code, _, error = mercer("train", "-s", 3, "--nu", 0.5, "train", "m.mercer", "-q")
    assert code == 2
    assert "--nu" in error


def test_classes_are_no_score_of_a_one_class_machine(mercer, files):
    """It predicts ±1, which no other label is."""
    code, out, _ = mercer("train", "-s", 2, "train", "m.mercer")
    assert code == 0
    assert "held out" not in out
    assert "held out" in mercer("train", "-s", 0, "train", "m.mercer")[1]


def test_gamma_zero_is_one_over_the_columns(mercer, files):
    assert mercer("train", "-g", 0, "train", "m.mercer", "-q")[0] == 0
    assert_allclose(mercer_load("m.mercer").kernel_.gamma, 1 / 3)


def mercer_load(path):
    return mercer.load(path)


# ---------------------------------------------------------------------- predictions


def test_output_as_svm_predict_writes_it(mercer, files):
    assert mercer("train", "-b", 1, "train", "m.mercer", "-q")[0] == 0
    model = mercer_load("m.mercer")
    _, labels, _ = mercer("predict", "-b", 0, "m.mercer", "new", "-q")
    assert_array_equal([int(line) for line in labels.splitlines()], model.predict(_sparse("new")))
    _, text, _ = mercer("predict", "-b", 1, "m.mercer", "new", "-q")
    head, *lines = text.splitlines()
    assert head == "labels -2 0 3 7"
    rows = np.array([line.split() for line in lines], float)
    p = model.predict_proba(_sparse("new"))
    assert_allclose(rows[:, 1:], p)
    assert_array_equal(rows[:, 0], model.classes_[p.argmax(axis=1)])


def _sparse(name):
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(name, n_features=3)[0]


def test_probabilities_need_a_model_that_has_them(mercer, files):
    assert mercer("train", "-c", 1, "train", "m.mercer", "-q")[0] == 0
    code, _, error = mercer("predict", "-b", 1, "m.mercer", "new", "-q")
    assert code == 1
    assert "train it with -b 1" in error


def test_indices_that_no_support_vector_has_are_taken(mercer, files):
    """The model of f(x) = x₁ on rows of two and three columns: others do not matter to it."""
    (files / "line.model").write_text(
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\n"
        "SV\n0.5 1:1\n-0.5 1:-1\n"
    )
    (files / "rows").write_text("1 1:1\n-1 1:-1\n1 1:5 2:1\n-1 1:-2 3:100\n")
    assert mercer("convert", "line.model", "line.mercer", "-q")[0] == 0
    assert mercer("predict", "-b", 0, "line.mercer", "rows", "-q")[1].split() == ["1", "-1"] * 2


def test_columns_without_support_vectors_count_in_distances(mercer, files):
    """k(x, z) = exp(−γ‖x − z‖²) with all columns of x: an RBF value beside ρ = 0.5."""
    (files / "ball.model").write_text(
        "svm_type one_class\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 1\nrho 0.5\nSV\n1 1:1\n"
    )
    (files / "rows").write_text("1 1:1\n1 1:1 2:0.5\n1 1:1 2:1\n")  # exp of 0, −1/4, −1
    assert mercer("convert", "ball.model", "ball.mercer", "-q")[0] == 0
    _, text, _ = mercer("predict", "-b", 0, "ball.mercer", "rows", "-q")
    assert text.split() == ["1", "1", "-1"]


@pytest.mark.parametrize("command", [("predict",), ("verify",), ("plot", "boundary")])
def test_a_model_of_libsvm_is_recognised(command, mercer, files):
    (files / "old.model").write_text("svm_type c_svc\n")
    code, _, error = mercer(*command, "old.model", "train")
    assert code == 1
    assert "mercer convert" in error


# ---------------------------------------------------------------------- the programs themselves


KERNELS = ["-t 0", "-t 1 -d 2 -g 0.3 -r 1", "-t 2", "-t 3 -g 0.1 -r 0.2"]


def _targets(svm_type):
    """Labels for a type of LIBSVM: four classes, two of them, or numbers."""
    return X[:, 0] + X[:, 1] ** 2 if svm_type in (3, 4) else LABELS


@pytest.mark.filterwarnings("ignore:The sigmoid", "ignore:.*negative curvature")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("svm_type", [0, 1, 2, 3, 4])
def test_svm_predict_and_mercer_agree_on_models_of_both(svm_type, kernel, mercer, files):
    """Five types, four kernels: every line equal, of LIBSVM's model and of ours."""
    for name, rows in (("train", slice(0, 80)), ("new", slice(80, 120))):
        dump_svmlight_file(X[rows], _targets(svm_type)[rows], name, zero_based=False)
    options = f"-s {svm_type} {kernel} -n 0.2 -c 3".split()
    _program("svm-train", "-q", *options, "train", "old.model")
    assert mercer("convert", "old.model", "m.mercer", "-q")[0] == 0
    code = mercer("train", *options, "train", "our.mercer", "-q")[0]
    assert code in (0, 3)  # of kernels in which nu has w = 0 as its solution
    assert mercer("convert", "our.mercer", "our.model", "-q")[0] == 0
    for model, again in (("old.model", "m.mercer"), ("our.model", "our.mercer")):
        _program("svm-predict", "new", model, "theirs")
        assert mercer("predict", "-b", 0, again, "new", "ours", "-q")[0] == 0
        assert_allclose(np.loadtxt("ours"), np.loadtxt("theirs"), rtol=1e-12)


@pytest.mark.parametrize("svm_type", [0, 1])
@pytest.mark.parametrize("k", [2, 4])
def test_probabilities_are_those_that_svm_predict_prints(k, svm_type, mercer, files):
    y = LABELS if k == 4 else np.where(LABELS > 1, 1, -1)
    for name, rows in (("train", slice(0, 80)), ("new", slice(80, 120))):
        dump_svmlight_file(X[rows], y[rows], name, zero_based=False)
    options = f"-s {svm_type} -n 0.2 -b 1".split()
    _program("svm-train", "-q", *options, "train", "old.model")
    assert mercer("train", *options, "train", "our.mercer", "-q")[0] == 0
    assert mercer("convert", "our.mercer", "our.model", "-q")[0] == 0
    for model in ("old.model", "our.model"):
        _program("svm-predict", "-b", "1", "new", model, "theirs")
        assert mercer("convert", model, "m.mercer", "-q")[0] == 0
        assert mercer("predict", "-b", 1, "m.mercer", "new", "ours", "-q")[0] == 0
        theirs, ours = ((files / name).read_text().splitlines() for name in ("theirs", "ours"))
        assert ours.pop(0) == theirs.pop(0)
        printed = [" ".join(f"{float(word):g}" for word in line.split()) for line in ours]
        assert printed == [" ".join(f"{float(w):g}" for w in line.split()) for line in theirs]


def test_svm_predict_reads_precomputed_models(mercer, files):
    assert mercer("train", "-t", 4, "kernel", "k.mercer", "-q")[0] == 0
    assert mercer("convert", "k.mercer", "k.model", "-q")[0] == 0
    _program("svm-predict", "kernel.new", "k.model", "theirs")
    assert mercer("predict", "-b", 0, "k.mercer", "kernel.new", "ours", "-q")[0] == 0
    assert (files / "ours").read_text() == (files / "theirs").read_text()


@pytest.mark.parametrize("solver", [0, 6, 7])
@pytest.mark.parametrize("k", [2, 4])
def test_liblinears_probabilities_and_labels(k, solver, mercer, files):
    """Also of a row of zeros without a bias, whose labels are equally probable."""
    y = LABELS if k == 4 else np.where(LABELS > 1, 1, -1)
    dump_svmlight_file(X[:80], y[:80], "train", zero_based=False)
    dump_svmlight_file(np.vstack([X[80:], np.zeros(3)]), [*y[80:], y[0]], "new", zero_based=False)
    _program("liblinear-train", "-q", "-s", str(solver), "train", "old.model")
    assert mercer("convert", "old.model", "m.mercer", "-q")[0] == 0
    assert mercer("convert", "m.mercer", "back.model", "-q")[0] == 0
    assert mercer("predict", "-b", 1, "m.mercer", "new", "ours", "-q")[0] == 0
    for model in ("old.model", "back.model"):
        _program("liblinear-predict", "-b", "1", "new", model, "theirs")
        theirs, ours = ((files / name).read_text().splitlines() for name in ("theirs", "ours"))
        assert ours.pop(0) == theirs.pop(0)
        printed = [" ".join(f"{float(word):g}" for word in line.split()) for line in ours]
        assert printed == [" ".join(f"{float(w):g}" for w in line.split()) for line in theirs]


@pytest.mark.parametrize("solver", [0, 1, 2, 3, 4, 5, 6, 7, 11, 12, 13])
def test_liblinear_agrees_on_its_own_model_and_on_ours(solver, mercer, files):
    _program("liblinear-train", "-q", "-s", str(solver), "-B", "1", "train", "old.model")
    _program("liblinear-predict", "new", "old.model", "theirs")
    assert mercer("convert", "old.model", "m.mercer", "-q")[0] == 0
    assert mercer("predict", "-b", 0, "m.mercer", "new", "ours", "-q")[0] == 0
    assert mercer("convert", "m.mercer", "back.model", "-q")[0] == 0
    _program("liblinear-predict", "new", "back.model", "back")
    theirs, ours, back = (np.loadtxt(name) for name in ("theirs", "ours", "back"))
    assert_allclose(ours, theirs, rtol=1e-5)  # which has six digits of numbers
    assert_allclose(back, theirs, rtol=1e-5)
