"""Models of LIBLINEAR: against its decision rule written out, in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.persistence import FileError, is_liblinear, read_liblinear, write_liblinear
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(90, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), [-0.5, 0.5])
    return read_only(X, y, np.vstack([X[::-1] + 1, [0, 0, 0]]))


X, CLASSES, NEW = _data()
MODELS = {
    "two": (mercer.LinearSVC(), CLASSES > 1),
    "two, hinge": (mercer.LinearSVC(loss="hinge"), CLASSES > 1),
    "three": (mercer.LinearSVC(), CLASSES),
    "L1 penalty": (mercer.LinearSVC(penalty="l1"), CLASSES),
    "crammer-singer": (mercer.LinearSVC(loss="hinge", multi_class="crammer_singer"), CLASSES),
    "crammer-singer of two": (
        mercer.LinearSVC(loss="hinge", multi_class="crammer_singer"),
        CLASSES > 0,
    ),
    "logistic": (mercer.LogisticRegression(), CLASSES > 0),
    "svr": (mercer.LinearSVR(), X[:, 0] - X[:, 1]),
    "svr, squared": (mercer.LinearSVR(loss="squared_epsilon_insensitive"), X[:, 0] + 3),
    "no intercept": (mercer.LinearSVC(fit_intercept=False), CLASSES > 0),
    "no intercept, three": (mercer.LinearSVC(fit_intercept=False), CLASSES),
    "no intercept, logistic": (mercer.LogisticRegression(fit_intercept=False), CLASSES > 0),
}


def predict(text, rows):
    """LIBLINEAR's rule, from the text of a model alone."""
    head, body = text.split("\nw\n")
    header = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    w = np.array([line.split() for line in body.splitlines()], float)
    bias = float(header["bias"][0])
    if bias >= 0:
        rows = np.column_stack([rows, np.full(len(rows), bias)])
    assert w.shape[0] == rows.shape[1] == int(header["nr_feature"][0]) + (bias >= 0)
    values = rows @ w
    if "label" not in header:
        return values[:, 0]
    labels = np.array(header["label"], int)
    if labels.size == 2:
        return np.where(values[:, 0] > 0, *labels)
    return labels[values.argmax(axis=1)]


@pytest.mark.parametrize("name", MODELS)
def test_written_and_read_again(name, tmp_path):
    model, y = MODELS[name]
    write_liblinear(model.fit(X, y), tmp_path / "m")
    assert is_liblinear(tmp_path / "m")
    text = (tmp_path / "m").read_text()
    assert_allclose(predict(text, NEW), model.predict(NEW), rtol=1e-9)
    again, schema = read_liblinear(tmp_path / "m")
    assert type(again) is type(model)
    assert (schema.n_features, schema.sparse) == (3, True)
    assert_allclose(again.predict(NEW), model.predict(NEW), rtol=1e-9)
    if again.__class__ is not mercer.LinearSVR:
        assert_allclose(again.decision_function(NEW), model.decision_function(NEW), rtol=1e-9)
    mercer.save(again, tmp_path / "m.mercer", schema=schema)
    assert_allclose(mercer.load(tmp_path / "m.mercer").predict(NEW), again.predict(NEW))


@pytest.mark.parametrize("bias", [-1, 1, 5])
@pytest.mark.parametrize("labels", ["7 -2 3", "-2 3 7", "1 -1", "-1 1"])
@pytest.mark.parametrize("solver", ["L2R_LR", "L2R_L2LOSS_SVC"])
def test_labels_in_any_order(solver, bias, labels, tmp_path):
    k = len(labels.split())
    rng = np.random.default_rng(k)
    W = rng.normal(size=(3 + (bias >= 0), 1 if k == 2 else k))
    lines = "\n".join(" ".join(f"{value:.17g}" for value in row) for row in W)
    header = f"solver_type {solver}\nnr_class {k}\nlabel {labels}\nnr_feature 3\nbias {bias}"
    text = f"{header}\nw\n{lines}\n"
    (tmp_path / "m").write_text(text)
    model, schema = read_liblinear(tmp_path / "m")
    assert schema.labels == tuple(sorted(map(int, labels.split())))
    assert model.predict(NEW).tolist() == predict(text, NEW).tolist()  # the last row is a tie
    mercer.save(model, tmp_path / "m.mercer")
    write_liblinear(model, tmp_path / "again")
    for again in (mercer.load(tmp_path / "m.mercer"), read_liblinear(tmp_path / "again")[0]):
        assert again.predict(NEW).tolist() == model.predict(NEW).tolist()
    y = np.asarray(schema.labels)[CLASSES % k]
    fresh = type(model)(**model.get_params()).fit(X, y)
    zero = np.zeros((1, 3))
    assert model.fit(X, y).predict(zero) == fresh.predict(zero)  # no longer the file's order


GOOD = "solver_type L2R_L2LOSS_SVC\nnr_class 2\nlabel 1 0\nnr_feature 2\nbias -1\nw\n1\n2\n"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("L2R_L2LOSS_SVC", "ONECLASS_SVM", ":1: solver_type must be one of L2R_LR"),
        ("nr_class 2", "nr_class two", ":2: nr_class must be whole numbers"),
        ("bias -1\n", "", "there is no bias"),
        ("label 1 0\n", "", "there is no label"),
        ("label 1 0", "label 1 1", "the labels 1 1 are not 2 classes"),
        ("bias", "bios", ":5: no line of a model"),
        ("w\n1\n2\n", "", "ends before the line w"),
        ("\n2\n", "\nx\n", ":8: no weights"),
        ("\n2\n", "\n2 3\n", ":8: has 2 weights, expected 1"),
        ("\n2\n", "\n", "has 1 lines of weights, its header says 2"),
    ],
)
def test_wrong_files_say_where(old, new, says, tmp_path):
    path = tmp_path / "m"
    path.write_text(GOOD)
    read_liblinear(path)
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(FileError, match=r"^[^\n]*$") as error:
        read_liblinear(path)
    assert says in str(error.value)


def test_kernel_machines_have_another_format(tmp_path):
    with pytest.raises(FileError, match="not SVC; kernel machines have LIBSVM's"):
        write_liblinear(mercer.SVC(kernel="linear").fit(X, CLASSES), tmp_path / "m")
