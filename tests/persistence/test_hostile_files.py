"""Files that were made to do harm: each is refused in a line, without much time or memory."""

from __future__ import annotations

import functools
import json
import operator
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import mercer
from mercer.exceptions import FileError
from mercer.kernels import RBF, Diffusion, Graph, WeisfeilerLehman
from mercer.persistence import _container as container
from mercer.persistence import read_liblinear, read_libsvm

X = np.random.default_rng(5).normal(size=(30, 3)).round(2)
Y = np.arange(30) % 2


def change(path, where, value):
    """Put a value into the header of a model file, with a checksum that fits."""
    metadata, tensors = container.read_tensors(path)
    header = json.loads(metadata["mercer"])
    place = header
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    container.write_tensors(path, {"mercer": json.dumps(header)}, tensors)


def test_an_array_of_a_million_sides_is_refused_at_once(tmp_path):
    """Their product has 60 million bits, and takes hours."""
    entry = {"dtype": "F64", "shape": [10**18] * 1_000_000, "data_offsets": [0, 0]}
    table = json.dumps({"x": entry}).encode()
    (tmp_path / "m").write_bytes(len(table).to_bytes(8, "little") + table)
    with pytest.raises(FileError, match=r"^[^\n]{0,500}$"):
        mercer.load(tmp_path / "m")


@pytest.mark.parametrize("place", [625, 10**8, -1])
def test_a_random_generator_beyond_its_state(place, tmp_path):
    """NumPy takes any place, and reads memory that is not its own."""
    path = tmp_path / "m"
    mercer.save(mercer.SVC(random_state=np.random.RandomState(0)).fit(X, Y), path)
    state = json.loads(container.read_tensors(path)[0]["mercer"])["parameters"]["random_state"]
    parts = dict(map(tuple, state["random"]["dict"]))["state"]["dict"]
    inner = next(i for i, (name, _) in enumerate(parts) if name == "pos")
    outer = [name for name, _ in state["random"]["dict"]].index("state")
    where = ("parameters", "random_state", "random", "dict", outer, 1, "dict", inner, 1)
    change(path, where, place)
    with pytest.raises(FileError, match="beyond the end of its state"):
        mercer.load(path)


@pytest.mark.parametrize("version", [0, -3, True, 2.0, "2", None])
def test_versions_that_were_never_written(version, tmp_path):
    mercer.save(mercer.SVC().fit(X, Y), tmp_path / "m")
    change(tmp_path / "m", ("version",), version)
    with pytest.raises(FileError, match="not a model of Mercer"):
        mercer.load(tmp_path / "m")


def test_columns_that_a_line_of_libsvm_states(tmp_path):
    """20,000,000 columns in a file of a hundred bytes: nothing is made for each of them."""
    text = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\n"
    path = tmp_path / "wide.model"
    path.write_text(text + "nr_sv 1 1\nSV\n1 20000000:3\n-1 1:5\n")
    tracemalloc.start()
    try:
        model, _ = read_libsvm(path)
        W = model.coef_
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert sp.issparse(W)
    assert W.shape == (1, 20_000_000)
    np.testing.assert_array_equal(W.indices, [0, 19_999_999])
    np.testing.assert_array_equal(W.data, [-5.0, 3.0])  # Σ c z; class 1 is the positive one


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("state", "_max_degree"), 10**9, "do not fit their degree"),
        (("state", "_n_out_full"), 2**31, "do not fit their degree"),
        (("state", "n_features_in_"), 10**12, "too many"),
        (("parameters", "degree"), 10**9, "too large"),
        (("parameters", "degree"), {"tuple": [2, 10**9]}, "too large"),
        (("parameters", "degree"), -1, "too large"),
    ],
)
def test_polynomials_that_a_pipeline_states(place, value, said, tmp_path):
    """A degree of 10⁹ is as many passes over the columns."""
    path = tmp_path / "m"
    mercer.save(make_pipeline(PolynomialFeatures(2), mercer.LinearSVC()).fit(X[:, :1], Y), path)
    mercer.load(path)
    change(path, ("steps", 0, 1, *place), value)
    with pytest.raises(FileError, match=said):
        mercer.load(path)


def test_polynomials_of_many_columns(tmp_path):
    path = tmp_path / "m"
    mercer.save(make_pipeline(PolynomialFeatures(2), mercer.LinearSVC()).fit(X, Y), path)
    change(path, ("steps", 0, 1, "parameters", "degree"), 1000)
    many = PolynomialFeatures(1000).fit(X)  # 1.7e8 columns
    for name in ("_max_degree", "_n_out_full", "n_output_features_"):
        change(path, ("steps", 0, 1, "state", name), getattr(many, name))
    with pytest.raises(FileError, match="too many polynomials"):
        mercer.load(path)


HEAD = "svm_type c_svc\nkernel_type rbf\ngamma 1\nnr_class 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\nSV\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("label 1 -1", "label 1.5 -1"),
        ("nr_class 2", "nr_class 2.25"),
        ("nr_sv 1 1", "nr_sv 1.5 .5"),
        ("gamma 1", "gamma 1_0"),
        ("gamma 1", "gamma ١"),
        ("0.5 1:1 2:4", "0.5 1:1_0"),
        ("0.5 1:1 2:4", "0.5 ١:1"),
        ("0.5 1:1 2:4", "0.5 2:4 1:1"),
        ("0.5 1:1 2:4", "0.5 1:4 1:1"),
        ("0.5 1:1 2:4", "0.5 0:1"),
    ],
)
def test_what_libsvms_own_programs_read_otherwise(old, new, tmp_path):
    """fscanf of %d ends at the point, and its sums over indices that do not rise are others."""
    text = HEAD + "0.5 1:1 2:4\n-0.5 1:3\n"
    path = tmp_path / "m.model"
    path.write_text(text)
    read_libsvm(path)
    path.write_text(text.replace(old, new))
    with pytest.raises(FileError, match=r"numbers, got|no support vector"):
        read_libsvm(path)


@pytest.mark.parametrize("word", ["label 1 2.5", "nr_feature 1.5", "bias 1_0", "nr_class 2.5"])
def test_what_liblinears_own_programs_read_otherwise(word, tmp_path):
    lines = ["solver_type L2R_LR", "nr_class 2", "label 1 2", "nr_feature 1", "bias -1", "w", "2"]
    path = tmp_path / "m.model"
    path.write_text("\n".join(lines) + "\n")
    read_liblinear(path)
    changed = [word if line.split()[0] == word.split()[0] else line for line in lines]
    path.write_text("\n".join(changed) + "\n")
    with pytest.raises(FileError, match="numbers, got"):
        read_liblinear(path)


def test_many_classes_without_support_vectors(tmp_path):
    """600 classes have 179,700 pairs in half a megabyte: 860 MB to count their votes by dense
    matrices, and 4 GB for 1,000 classes."""
    k, path = 600, tmp_path / "m.model"
    head = f"svm_type c_svc\nkernel_type linear\nnr_class {k}\nlabel {' '.join(map(str, range(k)))}"
    rho = "0 " * (k * (k - 1) // 2 - 1) + "1"  # the last pair: f = −1, its second class wins
    path.write_text(f"{head}\nnr_sv {'0 ' * k}\nrho {rho}\nSV\n")
    tracemalloc.start()
    try:
        model, _ = read_libsvm(path)
        label = model.predict(sp.csr_matrix((1, 1)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000
    assert label == k - 1  # f = 0 is a win of the second class: the last class wins all its pairs


RING = Graph(6, [[i, (i + 1) % 6] for i in range(6)])


@pytest.mark.parametrize("n", [2_000_000, 10**12, 2**62])
def test_nodes_that_nothing_but_a_number_holds(n, tmp_path):
    path = tmp_path / "m"
    kernel = WeisfeilerLehman(depth=1)
    mercer.save(mercer.SVC(kernel=kernel).fit([RING, Graph(2, [[0, 1]])] * 3, [0, 1] * 3), path)
    metadata, tensors = container.read_tensors(path)
    name = next(name for name in tensors if name.endswith(".n"))
    tensors[name] = np.array([n, *tensors[name][1:]])
    container.write_tensors(path, {"mercer": metadata["mercer"]}, tensors)
    with pytest.raises(FileError, match="nodes without edges"):
        mercer.load(path)


def test_values_of_large_objects_are_not_tried(tmp_path):
    """A kernel on 3,000 nodes, of which six have edges: its matrix takes seconds, its file 5 kB."""
    path = tmp_path / "m"
    model = mercer.SVC(kernel=Diffusion(RING)).fit(list(range(6)), [0, 0, 0, 1, 1, 1])
    mercer.save(model, path)
    for place in (("state", "kernel_"), ("state", "expansion_", "of", "kernel")):
        change(path, (*place, "of", "graph", "of", "n"), 3000)
    loaded = mercer.load(path)
    assert loaded.kernel_.graph.n == 3000
    for graph in (loaded.kernel_.graph, loaded.expansion_.kernel.graph):
        assert "laplacian_spectrum" not in vars(graph)


def test_what_is_saved_can_be_loaded_however_deep_it_is(tmp_path):
    """A sum of 280 kernels one after the other ended in a RecursionError when it was saved."""

    def sum_of(n):
        return functools.reduce(operator.add, (RBF(0.01 * (i + 1)) for i in range(n)))

    def deeper(calls):
        return mercer.load(tmp_path / "m") if calls == 0 else deeper(calls - 1)

    model = mercer.SVC(kernel=sum_of(155)).fit(X, Y)
    mercer.save(model, tmp_path / "m")
    again = deeper(60)  # the caller has a stack of its own
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(FileError, match=r"kernel_? is nested more than 160 deep; add many"):
        mercer.save(mercer.SVC(kernel=sum_of(280)).fit(X, Y), tmp_path / "m")
