"""Models of LIBSVM: against its decision rule written out, in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.persistence import FileError, is_libsvm, read_libsvm, write_libsvm
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 3)) * (rng.random((80, 3)) < 0.7)
    CLASSES = np.digitize(X[:, 0] + 0.3 * rng.normal(size=80), [-0.5, 0.2, 0.8])
    NEW = rng.normal(size=(40, 3))
    return read_only(X, CLASSES, NEW)


X, CLASSES, NEW = _data()
MACHINES = {
    "svc": (mercer.SVC(gamma=0.7), CLASSES > 1),
    "svc of four": (mercer.SVC(gamma=0.7, C=3), CLASSES),
    # With a smaller nu the optimum has rho = 0, and the direction of w is arbitrary.
    "nu-svc": (mercer.NuSVC(nu=0.4, kernel="poly", degree=2, gamma=0.5, coef0=1.0), CLASSES > 1),
    "linear": (mercer.SVC(kernel="linear"), CLASSES),
    "svr": (mercer.SVR(gamma=0.7), X[:, 0] ** 2),
    "nu-svr": (mercer.NuSVR(kernel="linear", C=2.0), X[:, 1] - X[:, 0]),
    "one-class": (mercer.OneClassSVM(gamma=0.2, nu=0.3), None),
}


def kernel(header, u, v):
    degree, gamma, coef0 = (float(header.get(k, ["0"])[0]) for k in ("degree", "gamma", "coef0"))
    return {
        "linear": lambda: u @ v,
        "polynomial": lambda: (gamma * (u @ v) + coef0) ** degree,
        "rbf": lambda: np.exp(-gamma * ((u - v) ** 2).sum()),
    }[header["kernel_type"][0]]()


def svm_predict(text, rows):
    """LIBSVM's rule, from the text of a model alone: votes, or the value, or its sign."""
    head, body = text.split("SV\n")
    header = {line.split()[0]: line.split()[1:] for line in head.splitlines()}
    kind, k = header["svm_type"][0], int(header["nr_class"][0])
    is_classifier = kind in ("c_svc", "nu_svc")
    width = k - 1 if is_classifier else 1
    lines = [line.split() for line in body.splitlines()]
    coef = np.array([[float(word) for word in line[:width]] for line in lines])
    vectors = np.zeros((len(lines), rows.shape[1]))
    for vector, line in zip(vectors, lines, strict=True):
        for word in line[width:]:
            index, value = word.split(":")
            vector[int(index) - 1] = float(value)
    rho = [float(word) for word in header["rho"]]
    out = []
    for row in rows:
        values = np.array([kernel(header, row, vector) for vector in vectors])
        if not is_classifier:
            f = coef[:, 0] @ values - rho[0]
            out.append(f if "svr" in kind else np.sign(f))
            continue
        stops = np.cumsum([0, *(int(word) for word in header["nr_sv"])])
        votes, t = np.zeros(k), 0
        for i in range(k):
            for j in range(i + 1, k):
                mine, other = slice(*stops[i : i + 2]), slice(*stops[j : j + 2])
                f = coef[mine, j - 1] @ values[mine] + coef[other, i] @ values[other] - rho[t]
                votes[i if f > 0 else j] += 1
                t += 1
        out.append(int(header["label"][np.argmax(votes)]))
    return np.array(out)


@pytest.mark.parametrize("name", MACHINES)
def test_written_models_predict_the_same_there(name, tmp_path):
    model, y = MACHINES[name]
    model.fit(X, y)
    write_libsvm(model, tmp_path / "m")
    assert is_libsvm(tmp_path / "m")
    assert_allclose(
        svm_predict((tmp_path / "m").read_text(encoding="utf-8"), NEW),
        model.predict(NEW),
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", MACHINES)
def test_read_models_predict_as_there(name, tmp_path):
    model, y = MACHINES[name]
    write_libsvm(model.fit(X, y), tmp_path / "m")
    text = (tmp_path / "m").read_text(encoding="utf-8")
    if y is not None and "label" in text:  # LIBSVM's labels come in the order of the data
        labels = "label 7 -2 3 0" if "label 0 1 2 3" in text else "label 7 -2"
        text = text.replace("label 0 1 2 3", labels).replace("label 0 1", labels)
        (tmp_path / "m").write_text(text)
    again, schema = read_libsvm(tmp_path / "m")
    assert type(again) is type(model)
    assert schema.n_features == 3
    assert_allclose(again.predict(NEW), svm_predict(text, NEW), rtol=1e-9)
    mercer.save(again, tmp_path / "m.mercer", schema=schema)
    loaded = mercer.load(tmp_path / "m.mercer")
    assert_allclose(loaded.predict(NEW), again.predict(NEW))


def test_two_points_by_hand(tmp_path):
    """±1 on a line: f(x) = x, positive for the label 1 whichever comes first in the file."""
    head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\n"
    for labels, body in (("1 -1", "0.5 1:1\n-0.5 1:-1\n"), ("-1 1", "0.5 1:-1\n-0.5 1:1\n")):
        (tmp_path / "m").write_text(f"{head}label {labels}\nnr_sv 1 1\nSV\n{body}")
        model, schema = read_libsvm(tmp_path / "m")
        assert schema.labels == (-1, 1)
        assert_allclose(model.decision_function([[2.0], [-3.0]]), [2.0, -3.0])
        assert model.predict([[2.0], [-3.0]]).tolist() == [1, -1]


@pytest.mark.parametrize("labels", ["1 -1", "-1 1"])
def test_two_labels_keep_their_order(labels, tmp_path):
    """f = 0 is predicted as the second label of the file; probabilities come in its order."""
    head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\n"
    head += f"label {labels}\nprobA -2\nprobB 1\nnr_sv 1 1\n"
    text = f"{head}SV\n0.5 1:1\n-0.5 1:-1\n"
    (tmp_path / "m").write_text(text)
    rows = np.array([[0.0], [2.0], [-3.0]])
    model, _ = read_libsvm(tmp_path / "m")
    mercer.save(model, tmp_path / "m.mercer")
    for each in (model, mercer.load(tmp_path / "m.mercer")):
        assert each.predict(rows).tolist() == svm_predict(text, rows).tolist()
        write_libsvm(each, tmp_path / "again")
        assert (tmp_path / "again").read_text() == text
        again, _ = read_libsvm(tmp_path / "again")
        assert again.predict(rows).tolist() == model.predict(rows).tolist()
        assert again.predict_proba(rows).tolist() == model.predict_proba(rows).tolist()
    model.set_params(probability="deprecated").fit([[-1.0], [1.0]], [-1, 1])
    fresh = mercer.SVC(kernel="linear").fit([[-1.0], [1.0]], [-1, 1])
    assert model.predict(rows).tolist() == fresh.predict(rows).tolist()  # its order is forgotten


@pytest.mark.parametrize(
    ("kind", "line"), [("nu_svr", "probA 0.25"), ("one_class", "prob_density_marks 1 2 3")]
)
def test_what_is_only_for_svm_predict_is_kept(kind, line, tmp_path):
    head = f"svm_type {kind}\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 1\n{line}\n"
    (tmp_path / "m").write_text(f"{head}SV\n2 1:5\n")
    model, _ = read_libsvm(tmp_path / "m")
    mercer.save(model, tmp_path / "m.mercer")
    write_libsvm(mercer.load(tmp_path / "m.mercer"), tmp_path / "again")
    assert line in (tmp_path / "again").read_text().splitlines()
    write_libsvm(model.fit([[0.0], [1.0], [5.0]], [0.0, 1.0, 5.0]), tmp_path / "fitted")
    assert line.split()[0] not in (tmp_path / "fitted").read_text()


def test_sigmoids_turn_round_with_their_pair(tmp_path):
    head = (
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nprobA -2\nprobB 0.5\n"
    )
    (tmp_path / "m").write_text(f"{head}label 1 -1\nnr_sv 1 1\nSV\n0.5 1:1\n-0.5 1:-1\n")
    model, _ = read_libsvm(tmp_path / "m")
    first = 1 / (1 + np.exp(-2 * 3.0 + 0.5))  # of the label 1 at f = 3
    assert_allclose(model.predict_proba([[3.0]]), [[1 - first, first]])


GOOD = (
    "svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 1\nrho 0\nlabel 1 0\n"
    "nr_sv 1 0\nSV\n1 1:1\n"
)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("c_svc", "d_svc", ":1: svm_type must be one of c_svc"),
        ("rbf", "laplacian", ":2: kernel_type must be one of linear"),
        ("kernel_type rbf\ngamma 1", "kernel_type precomputed", ":9: no support vector"),
        ("gamma 1", "gamma one", ":3: gamma must be numbers"),
        ("gamma 1\n", "", "there is no gamma"),
        ("label 1 0\n", "", "there is no label"),
        ("rho 0", "rot 0", ":6: no line of a model"),
        ("SV\n", "", "no line of a model"),
        ("SV\n1 1:1\n", "", "ends before the line SV"),
        ("1 1:1\n", "1 1:x\n", ":10: no support vector"),
        ("1 1:1\n", "1 0:1\n", ":10: no support vector"),
        ("1 1:1\n", "1 -7:1 1:1\n", ":10: no support vector"),
        ("1 1:1\n", "\n", ":10: no support vector"),
        ("1 1:1\n", "1 1:1\n1 1:2\n", "has 2 support vectors, but total_sv says 1"),
        ("total_sv 1", "total_sv 3", "has 1 support vectors, but total_sv says 3"),
        ("nr_sv 1 0", "nr_sv 1 1", "has 1 support vectors, but nr_sv says 2"),
    ],
)
def test_wrong_files_say_where(old, new, says, tmp_path):
    path = tmp_path / "m"
    path.write_text(GOOD)
    read_libsvm(path)
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(FileError, match=r"^[^\n]*$") as error:
        read_libsvm(path)
    assert says in str(error.value)
    assert str(path) in str(error.value)


def test_what_the_format_has_no_place_for(tmp_path):
    for model in (mercer.SVC(kernel="laplacian"), mercer.KernelLogisticRegression()):
        with pytest.raises(FileError, match="LIBSVM's format has"):
            write_libsvm(model.fit(X, CLASSES > 1), tmp_path / "m")
    assert not is_libsvm(tmp_path / "m")


def test_more_columns_than_support_vectors_have(tmp_path):
    (tmp_path / "m").write_text(GOOD)
    model, schema = read_libsvm(tmp_path / "m", n_features=3)
    assert (model.n_features_in_, schema.n_features) == (3, 3)
    values = model.decision_function([[1.0, 0, 0], [1, 0, 2]])
    assert_allclose(np.abs(values), [1, np.exp(-4)])
    (tmp_path / "m").write_text(GOOD.replace("1 1:1\n", "1 5:1\n"))
    with pytest.raises(FileError, match="n_features=3 is too small"):
        read_libsvm(tmp_path / "m", n_features=3)


def test_of_equal_votes_the_first_label_of_the_file_wins(tmp_path):
    """Without support vectors, ρ decides: 7 beats 3, 3 beats 5, 5 beats 7: a vote for each."""
    text = (
        "svm_type c_svc\nkernel_type linear\nnr_class 3\ntotal_sv 3\nrho -1 1 -1\nlabel 7 3 5\n"
        "nr_sv 1 1 1\nSV\n0 0 1:1\n0 0 1:1\n0 0 1:1\n"
    )
    (tmp_path / "m").write_text(text)
    model, schema = read_libsvm(tmp_path / "m")
    assert svm_predict(text, np.ones((1, 1))).tolist() == [7]
    assert model.predict([[1.0]]).tolist() == [7]
    mercer.save(model, tmp_path / "m.mercer", schema=schema)
    assert mercer.load(tmp_path / "m.mercer").predict([[1.0]]).tolist() == [7]


@pytest.mark.parametrize("model", [mercer.LinearSVC(), mercer.LinearSVR()])
def test_linear_models_have_another_format(model, tmp_path):
    with pytest.raises(FileError, match=r"not Linear.*LIBLINEAR's: write_liblinear"):
        write_libsvm(model.fit(X, CLASSES), tmp_path / "m")


def test_classes_are_written_in_the_order_of_the_file_they_were_read_from(tmp_path):
    """Ties of votes follow that order in svm-predict: the file comes back number by number."""
    rng, labels, counts = np.random.default_rng(5), [7, -2, 11, 0], [2, 1, 3, 2]
    numbers = {"rho": 6, "label": labels, "probA": 6, "probB": 6, "nr_sv": counts}
    header = [["svm_type", "c_svc"], ["kernel_type", "rbf"], ["gamma", "0.5"], ["nr_class", "4"]]
    header.append(["total_sv", str(sum(counts))])
    for key, value in numbers.items():
        values = value if isinstance(value, list) else rng.normal(size=value).tolist()
        header.append([key, *(f"{v:.17g}" for v in values)])
    rows = [[*(f"{v:.17g}" for v in rng.normal(size=3)), f"1:{i + 1}", "2:1"] for i in range(8)]
    words = [*header, ["SV"], *rows]
    (tmp_path / "a.model").write_text("".join(" ".join(line) + "\n" for line in words))
    model, _ = read_libsvm(tmp_path / "a.model")
    write_libsvm(model, tmp_path / "b.model")
    found = [line.split() for line in (tmp_path / "b.model").read_text().splitlines()]
    assert found == words
