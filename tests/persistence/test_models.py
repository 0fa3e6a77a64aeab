"""A model that was saved and loaded is the same model, and no other file is taken for one."""

from __future__ import annotations

import inspect
import json
import os
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, clone

import mercer
from mercer.data import Column, Schema
from mercer.exceptions import FileError, NoFileError
from mercer.kernels import (
    RBF,
    Constant,
    Laplacian,
    Linear,
    OnColumns,
    Polynomial,
    Spectrum,
)
from mercer.kernels._registry import KERNELS
from mercer.persistence import ModelFile, open_model
from mercer.persistence import _container as container
from mercer.persistence import _model_file as models
from mercer.persistence._registry import ESTIMATORS, WRAPPERS, find, objects
from mercer.solvers._platt import Platt
from tests.read_only import read_only

# scikit-learn 1.9 no longer likes probability=True
pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter")
REGRESSORS = {"SVR", "NuSVR", "LinearSVR", "KernelRidge", "PegasosRegressor"}
REGRESSORS |= {"SVRCV", "KernelRidgeCV", "LinearSVRCV"}
METHODS = ("predict", "decision_function", "predict_proba", "transform", "score_samples")
LABELS = np.repeat(["one", "three", "two"], 12)


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(36, 3)) + np.repeat(np.arange(3.0), 12)[:, None]
    TARGETS = X[:, 0] + 0.1 * rng.normal(size=36)
    return read_only(X, TARGETS)


X, TARGETS = _data()
X.flags.writeable = TARGETS.flags.writeable = LABELS.flags.writeable = False
KINDS = {
    "float64": X,
    "float32": X.astype(np.float32),
    "integers": np.rint(3 * X).astype(np.int64),
    "CSR": sp.csr_matrix(np.where(abs(X) > 0.5, X, 0.0)),
    "CSR float32": sp.csr_matrix(np.where(abs(X) > 0.5, X, 0.0).astype(np.float32)),
}


def fitted(name: str, rows=X, **parameters):
    cls = find(name, ESTIMATORS)
    known = cls().get_params()
    chosen = {"probability": True, "random_state": 0, "n_neighbors": 20, "max_iter": 50}
    chosen |= {"Cs": 2, "gammas": 2, "nus": 2, "cv": 2}  # of searches
    if "Pegasos" not in name:
        chosen.pop("max_iter")
    used = {key: value for key, value in chosen.items() if key in known}
    return cls(**{**used, **parameters}).fit(rows, targets_of(name))


def targets_of(name: str):
    if name == "OneClassSVMCV":
        return np.where(LABELS == "one", -1, 1)
    return TARGETS if name in REGRESSORS else LABELS


def values(model, rows) -> dict:
    # A copy: of the very array that the model keeps, against itself, BLAS computes one half.
    rows = rows.copy()
    found = {method: getattr(model, method)(rows) for method in METHODS if hasattr(model, method)}
    return {name: X.toarray() if sp.issparse(X) else X for name, X in found.items()}


def there_and_back(model, folder, **options):
    path = folder / "model.safetensors"
    mercer.save(model, path)
    return mercer.load(path, **options)


def public_estimators() -> set[str]:
    """All estimators of the public packages, so that none is left out."""
    found = set()
    for room in (mercer, *(getattr(mercer, n) for n in mercer.__all__)):
        if inspect.ismodule(room):
            for name in getattr(room, "__all__", ()):
                thing = getattr(room, name)
                if inspect.isclass(thing) and issubclass(thing, BaseEstimator):
                    found.add(name)
    return found


# They hold another estimator, of any library: `save` refuses them in a sentence.
AROUND_OTHERS = {
    "GridSearchCV",
    "ConformalClassifier",
    "ConformalOutlierDetector",
    "ConformalRegressor",
}


@pytest.mark.parametrize("name", sorted(AROUND_OTHERS - {"GridSearchCV"}))
def test_estimators_around_others_are_refused_by_name(name, tmp_path):
    inner = mercer.OneClassSVM() if "Outlier" in name else mercer.LinearSVC()
    inner = mercer.LinearSVR() if "Regressor" in name else inner
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    model = getattr(mercer.conformal, name)(inner).fit(X, y)
    with pytest.raises(TypeError, match=f"got {name}. mercer.save knows SVC"):
        mercer.save(model, tmp_path / "model.mercer")


def test_all_public_estimators_and_kernels_are_listed():
    assert public_estimators() - AROUND_OTHERS == set(ESTIMATORS) | set(WRAPPERS)
    kernels = {
        name
        for name in mercer.kernels.__all__
        if inspect.isclass(getattr(mercer.kernels, name))
        and issubclass(getattr(mercer.kernels, name), mercer.kernels.Kernel)
    }
    assert kernels - {"Kernel"} == set(KERNELS)
    for name in objects():
        assert find(name, objects()).__name__ == name


@pytest.mark.filterwarnings("ignore")  # about fits on 36 rows
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_same_model_comes_back(name, kind, tmp_path):
    rows = KINDS[kind]
    model = fitted(name, rows)
    again = there_and_back(model, tmp_path)
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    expected = values(model, rows)
    assert expected
    for method, found in values(again, rows).items():
        assert found.dtype == expected[method].dtype
        assert_array_equal(found, expected[method], err_msg=method)
    assert getattr(again, "certificate_", None) == getattr(model, "certificate_", None)
    public = {key for key in vars(model) if key.endswith("_")}
    assert public == {key for key in vars(again) if key.endswith("_")}
    mercer.save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model.safetensors").read_bytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_model_can_be_fitted_again(name, tmp_path):
    model = fitted(name)
    again = there_and_back(model, tmp_path)
    y = targets_of(name)
    for method, found in values(clone(again).fit(X, y), X).items():
        assert_array_equal(found, values(model, X)[method])
    again.fit(X[::2], y[::2])
    assert again.n_features_in_ == 3


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(0.5) + 3 * Linear(),
        Polynomial(2, 0.5, 1.0) * Laplacian(0.1) + Constant(2.0),
        (RBF(0.25) + Linear()) ** 2,
        "poly",
        "laplacian",
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["SVC", "SVR", "KernelRidge", "KernelPCA", "Nystroem"])
def test_kernels_come_back(name, kernel, tmp_path):
    model = fitted(name, kernel=kernel)
    again = there_and_back(model, tmp_path)
    assert again.kernel == kernel
    assert again.kernel_ == model.kernel_
    for method, found in values(again, X).items():
        assert_array_equal(found, values(model, X)[method])


@pytest.mark.parametrize("name", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM",
                                  "KernelLogisticRegression"])  # fmt: skip
def test_a_loaded_model_is_verified(name, tmp_path):
    model = fitted(name)
    y = targets_of(name)
    again = there_and_back(model, tmp_path)
    there, here = (replace(mercer.verify(m, X, y), seconds=0) for m in (model, again))
    assert [replace(t, seconds=0) for t in there.tasks] == [
        replace(t, seconds=0) for t in here.tasks
    ]
    assert replace(there, tasks=()) == replace(here, tasks=())


def test_precomputed_kernels(tmp_path):
    K = X @ X.T
    model = mercer.SVC(kernel="precomputed").fit(K, LABELS)
    assert_array_equal(there_and_back(model, tmp_path).predict(K), model.predict(K))


@pytest.mark.parametrize("name", ["SVC", "LinearSVC"])
def test_a_warm_start_goes_on_from_the_file(name, tmp_path):
    model = fitted(name, warm_start=True, tol=1e-6)
    again = there_and_back(model, tmp_path).fit(X, LABELS)
    assert np.sum(again.n_iter_) < np.sum(model.n_iter_)


def test_partial_fit_goes_on_from_the_file(tmp_path):
    model = mercer.PegasosClassifier(lam=0.1, random_state=3)
    model.partial_fit(X, LABELS, classes=np.unique(LABELS))
    again = there_and_back(model, tmp_path)
    for m in (model, again):
        m.partial_fit(X[::-1], LABELS[::-1])
    assert_array_equal(again.coef_, model.coef_)


@pytest.mark.filterwarnings("ignore")
def test_a_descent_of_another_size_is_refused(tmp_path):
    mercer.save(fitted("PegasosClassifier"), tmp_path / "m")
    rewritten(tmp_path / "m", lambda header, tensors: tensors.update(
        {name: array[:2] for name, array in tensors.items() if name.endswith(".u")}
    ))  # fmt: skip
    with pytest.raises(FileError, match="parts of the descent do not fit"):
        mercer.load(tmp_path / "m")


def test_names_of_features_come_back(tmp_path):
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    again = there_and_back(fitted("SVC", frame), tmp_path)
    assert list(again.feature_names_in_) == ["p", "q", "r"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["q", "p", "r"]])


def test_a_random_state_goes_on(tmp_path):
    model = mercer.KernelKMeans(3, random_state=np.random.RandomState(5)).fit(X)
    again = there_and_back(model, tmp_path)
    assert again.random_state.randint(1 << 30) == model.random_state.randint(1 << 30)


def test_solver_objects_and_class_weights(tmp_path):
    model = fitted("SVC", class_weight={"one": 2.0, "two": np.float32(0.5)}, solver=Platt())
    again = there_and_back(model, tmp_path)
    assert again.solver == model.solver
    assert again.class_weight == model.class_weight
    assert type(again.class_weight["two"]) is np.float32


def my_kernel(A, B):
    return A @ B.T + 1


def lengths(A, B):
    return np.array([[min(len(a), len(b)) for b in B] for a in A], dtype=float)


def test_kernel_functions_are_asked_for_again(tmp_path):
    model = mercer.SVC(kernel=my_kernel, callback=print).fit(X, LABELS)
    path = tmp_path / "model"
    mercer.save(model, path)
    with pytest.raises(FileError, match=r"model: .* function 'my_kernel'.* callables="):
        mercer.load(path)
    again = mercer.load(path, callables={"my_kernel": my_kernel})
    assert again.callback is None
    assert_array_equal(again.predict(X), model.predict(X))


def test_kernels_on_words(tmp_path):
    words = np.array(["a", "abc", "ab", "abcdef", "b", "bcdefg"], dtype=object)
    model = mercer.SVC(kernel=lengths).fit(words, [0, 0, 0, 1, 0, 1])
    again = there_and_back(model, tmp_path, callables={"lengths": lengths})
    assert_array_equal(again.decision_function(words), model.decision_function(words))


@pytest.mark.parametrize("search", [mercer.SVCCV(Cs=2, cv=2), mercer.SVRCV(Cs=2, cv=2)])
def test_searches_over_kernels_on_columns_come_back(search, tmp_path):
    """Their rows are no rows of numbers: a row of zeros cannot be tried."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=20), "text": ["a b", "b c"] * 10})
    kernel = OnColumns(RBF(1.0), "x") + OnColumns(Spectrum(1), "text")
    model = clone(search).set_params(kernel=kernel).fit(frame, rng.permutation([0.0, 1.0] * 10))
    mercer.save(model, tmp_path / "m.mercer")
    found = mercer.load(tmp_path / "m.mercer")
    assert_array_equal(found.predict(frame), model.predict(frame))


def test_the_schema_comes_with_the_model(tmp_path):
    schema = Schema(
        (Column("size", None, 0.5), Column("colour", ("blue", "red"), "red")), 3, target="kind",
        task="classification", labels=("a", "b"), scaling="standard", shift=np.arange(3.0),
        factor=np.ones(3),
    )  # fmt: skip
    model = fitted("SVC")
    mercer.save(model, tmp_path / "m", schema=schema)
    file = open_model(tmp_path / "m")
    assert isinstance(file, ModelFile)
    assert file.schema.as_dict() == schema.as_dict()
    json.dumps(file.schema.as_dict())
    assert file.header["class"] == "SVC"
    assert file.header["mercer"] == mercer.__version__
    assert file.header["parameters"]["C"] == 1.0


def test_the_formats_own_library_reads_the_file(tmp_path):
    safetensors = pytest.importorskip("safetensors")
    model = fitted("SVC")
    mercer.save(model, tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m", "np") as file:
        assert json.loads(file.metadata()["mercer"])["class"] == "SVC"
        assert_array_equal(file.get_tensor("support_vectors_"), model.support_vectors_)
        names = set(file.keys())
    assert names == set(container.read_tensors(tmp_path / "m")[1])


# ------------------------------------------------------------------ what is refused


def test_only_fitted_models_of_mercer_are_saved(tmp_path):
    from sklearn.svm import SVC

    class Mine(mercer.SVC):
        pass

    with pytest.raises(TypeError, match="must be an estimator of Mercer, got SVC"):
        mercer.save(SVC().fit(X, LABELS), tmp_path / "m")
    with pytest.raises(TypeError, match="got Mine"):
        mercer.save(Mine().fit(X, LABELS), tmp_path / "m")
    with pytest.raises(mercer.exceptions.NotFittedError):
        mercer.save(mercer.SVC(), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_things_that_cannot_be_kept_are_named(tmp_path):
    model = fitted("SVC")
    model.class_weight = {"one": object()}
    with pytest.raises(FileError, match=r"SVC cannot be saved: class_weight\['one'\] is of type"):
        mercer.save(model, tmp_path / "m")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m"
    mercer.save(fitted("SVC"), path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "no space")))
    with pytest.raises(FileError, match="cannot be written: no space"):
        mercer.save(fitted("SVR"), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(NoFileError, match=r"nothing: there is no such file\.$") as caught:
        mercer.load(tmp_path / "nothing")
    assert isinstance(caught.value, FileNotFoundError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(FileError, match="cannot be read"):
        mercer.load(tmp_path)
    with pytest.raises(FileError, match="cannot be written"):
        mercer.save(fitted("SVC"), tmp_path / "none" / "m")


def rewritten(path, change) -> None:
    """The file with another header, and a checksum that fits."""
    metadata, tensors = container.read_tensors(path)
    header = json.loads(metadata["mercer"])
    change(header, tensors)
    container.write_tensors(path, {"mercer": json.dumps(header)}, tensors)


def test_newer_versions_are_refused(tmp_path):
    mercer.save(fitted("SVC"), tmp_path / "m")
    rewritten(tmp_path / "m", lambda header, _: header.update(version=models.VERSION + 1))
    with pytest.raises(
        FileError, match=rf"version {models.VERSION + 1} of the format .* upgrade Mercer"
    ):
        mercer.load(tmp_path / "m")


def _set(*keys, to):
    def change(header, tensors):
        place = header
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return change


EXPANSION = ("state", "expansion_", "of")
WRONG_HEADERS = {
    "class from elsewhere": _set("class", to="os.system"),
    "no class": _set("class", to=None),
    "unknown parameter": _set("parameters", "command", to="rm"),
    "attribute of the class": _set("state", "predict", to=1),
    "dunder": _set("state", "__class__", to="int"),
    "object from elsewhere": _set("state", "kernel_", to={"object": "Popen", "of": {}}),
    "object of other parts": _set("state", "kernel_", "of", to={"x": 1}),
    "kernel out of range": _set("state", "kernel_", "of", "gamma", to=-1.0),
    "unknown kind": _set("state", "kernel_", to={"pickle": "gASV"}),
    "array that is not there": _set("state", "intercept_", to={"array": "none"}),
    "other array in its place": _set(*EXPANSION, "coef", to={"array": "intercept_"}),
    "blocks out of range": _set(*EXPANSION, "blocks", to=[{"tuple": [0, 999, [0]]}]),
    "outputs out of range": _set(*EXPANSION, "blocks", to=[{"tuple": [0, 1, [99]]}]),
    "status": _set("state", "_proof", "of", "status", to={"status": "FINE"}),
    "state is a list": _set("state", to=[]),
    "shape": _set("state", "classes_", "shape", to=[7, 7]),
    "sparse": _set(
        "state", "dual_coef_",
        to={"sparse": "csr_matrix", "shape": [1, 2],
            "of": {part: {"array": "intercept_"} for part in ("data", "indices", "indptr")}},
    ),
    "function": _set("parameters", "kernel", to={"function": "eval"}),
    "schema": _set("schema", to=3),
    "deep": _set("schema", to=json.loads("[" * 500 + "]" * 500)),
    "scalar": _set("parameters", "C", to={"scalar": ["V8", 1]}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_HEADERS)
def test_headers_that_lie_are_refused(name, tmp_path):
    path = tmp_path / "model"
    mercer.save(fitted("SVC"), path)
    rewritten(path, WRONG_HEADERS[name])
    with pytest.raises(FileError, match=r"^[^\n]*model: [^\n]+\.$"):
        mercer.load(path)


def test_damage_anywhere_is_told(tmp_path):
    path = tmp_path / "model"
    mercer.save(fitted("SVC"), path)
    whole = path.read_bytes()
    head = 8 + int.from_bytes(whole[:8], "little")
    rng = np.random.default_rng(1)
    places = [*range(12), *rng.integers(8, head, 150), *rng.integers(head, len(whole), 50)]
    damaged = [whole[:size] for size in (*range(20), *rng.integers(0, len(whole), 60))]
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(changed))
    damaged += [whole + b"x", whole[8:], b"\xff" * 8 + whole[8:], whole.replace(b"F64", b"F32")]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(FileError, match=r"^[^\n]*model: [^\n]+\.$"):
            mercer.load(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"1 1:0.5\n", b"a,b\n1,2\n", pickle.dumps({"a": 1}), b"PK\x03\x04" + b"\0" * 40,
     (2).to_bytes(8, "little") + b"{}", (40).to_bytes(8, "little") + b'{"' + b"[" * 38],
)  # fmt: skip
def test_foreign_files_are_told(content, tmp_path):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(FileError, match="model: "):
        mercer.load(tmp_path / "model")


def test_other_safetensors_files_are_told(tmp_path):
    container.write_tensors(tmp_path / "model", {"a": "b"}, {"x": np.arange(3.0)})
    with pytest.raises(FileError, match="is a safetensors file, but not a model of Mercer"):
        mercer.load(tmp_path / "model")
    table = b'{"x":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}'
    (tmp_path / "model").write_bytes(len(table).to_bytes(8, "little") + table + b"\0" * 8)
    with pytest.raises(FileError, match="it has no checksum"):
        mercer.load(tmp_path / "model")


def test_a_small_file_cannot_ask_for_much_memory(tmp_path):
    table = json.dumps(
        {"x": {"dtype": "F64", "shape": [1 << 60], "data_offsets": [0, 1 << 63]}}
    ).encode()
    (tmp_path / "model").write_bytes(len(table).to_bytes(8, "little") + table)
    with pytest.raises(FileError, match="do not fill the file"):
        mercer.load(tmp_path / "model")
