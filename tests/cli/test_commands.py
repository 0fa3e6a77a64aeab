"""What the commands do, in this process."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import mercer as package
from mercer.cli._options import EstimatorName, KernelName, PlotKind, solver_names
from mercer.cli._verify import broken_claims
from mercer.data import read_table
from mercer.estimators._registry import cli_names
from mercer.kernels._registry import KernelNames
from mercer.persistence import open_model
from mercer.plots import KINDS as ALL_KINDS
from mercer.solvers._registry import NAMES


def columns(text):
    rows = list(csv.DictReader(io.StringIO(text)))
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.fixture
def tube(tmp_path):
    """A regression in svmlight's format, and its numbers."""
    rng = np.random.default_rng(0)
    X = sp.random(60, 4, density=0.6, random_state=0, format="csr")
    y = np.asarray(X @ [1.0, -2.0, 0.5, 3.0]) + 0.1 * rng.normal(size=60)
    dump_svmlight_file(X, y, str(tmp_path / "tube.svm"), zero_based=False)
    return tmp_path / "tube.svm", X, y


def test_names_are_those_of_the_package():
    known = set(KernelNames()) - {"polynomial"}
    assert {kernel.value for kernel in KernelName} == known
    assert set(solver_names()) == {"auto", *NAMES, "cholesky", "cg", "eigen"}
    assert {kind.value for kind in PlotKind} == set(ALL_KINDS)
    assert {name.value for name in EstimatorName} == set(cli_names())
    for entry in cli_names().values():
        assert entry.class_name in package.__all__


# ---------------------------------------------------------------- train


def test_train_is_the_estimator_on_scaled_columns(here, mercer):
    code, out, err = mercer("train", "demo/tumours.csv", "--target", "diagnosis", "-C", "2")
    assert (code, err) == (0, "")
    assert "svc: the target 'diagnosis' has 2 labels" in out
    assert re.search(r"^certificate +solved: within \S+ % of the optimum$", out, re.MULTILINE)
    table = read_table("demo/tumours.csv", target="diagnosis")
    X = StandardScaler().fit_transform(table.X)
    expected = package.SVC(C=2.0).fit(X, table.y)
    model = package.load("tumours.mercer")
    assert_allclose(model.certificate_.primal, expected.certificate_.primal, rtol=1e-6)
    assert model.callback is None


def test_train_chooses_by_the_target_and_says_so(here, mercer, tube):
    assert "svr: the target is a number" in mercer("train", tube[0])[1]
    assert isinstance(package.load("tube.mercer"), package.SVR)
    words = "train demo/tumours.csv --target none --drop diagnosis"
    assert "oneclass: there is no target" in mercer(*words.split())[1]


def test_a_certificate_of_another_kind_is_shown_too(mercer, tube, tmp_path):
    words = "--machine ridge --kernel rbf --solver cg --gamma 0.5 --full"
    code, out, _ = mercer("train", tube[0], tmp_path / "m", *words.split())
    assert code == 0
    assert re.search(r"residual +\d", out)
    assert mercer("inspect", tmp_path / "m", "--full")[1].count("residual") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-s 3 -t 0 -c 5 -p 0.2", package.SVR(kernel="linear", C=5, epsilon=0.2)),
        ("-s 4 -n 0.3 -g 0.5", package.NuSVR(nu=0.3, gamma=0.5)),
        ("-s 3 -t 1 -d 2 -r 1", package.SVR(kernel="poly", degree=2, coef0=1, gamma="auto")),
        ("-s 2 -n 0.2", package.OneClassSVM(nu=0.2, gamma="auto")),
        ("--machine ridge --alpha 0.1 --kernel rbf", package.KernelRidge(0.1, kernel="rbf")),
        ("--machine linear-svr -C 3", package.LinearSVR(C=3)),
    ],
)
def test_letters_and_words_give_the_estimator(words, expected, mercer, tube, tmp_path):
    path, X, y = tube
    code, _, err = mercer("train", path, tmp_path / "m", "-q", "--tol", "1e-8", *words.split())
    assert (code, err) == (0, "")
    model = package.load(tmp_path / "m")
    assert type(model) is type(expected)
    expected.set_params(tol=1e-8).fit(X, y)
    # A one-class SVM's f is zero on its border, where signs are rounding.
    method = "decision_function" if hasattr(expected, "decision_function") else "predict"
    assert_allclose(getattr(model, method)(X), getattr(expected, method)(X), atol=1e-6)


def test_class_weights_in_both_spellings(tmp_path, mercer):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 2)), np.where(rng.random(50) < 0.3, 1, -1)
    dump_svmlight_file(X, y, str(tmp_path / "d.svm"), zero_based=False)
    for name, words in (("a", "-w1 5 -w-1 2"), ("b", "--class-weight 1=5 --class-weight -1=2")):
        more = "-g 0.5 -c 1" if name == "a" else "--gamma 0.5 -C 1 --scale none"
        code, _, err = mercer("train", tmp_path / "d.svm", tmp_path / name, "-q",
                              *words.split(), *more.split())  # fmt: skip
        assert (code, err) == (0, "")
    first, second = (package.load(tmp_path / name) for name in "ab")
    assert first.class_weight_.tolist() == [2, 5]
    assert_allclose(first.dual_coef_.toarray(), second.dual_coef_.toarray())


def test_cross_validation_prints_what_svm_train_prints(here, mercer, tube):
    code, out, _ = mercer("train", "-v", "5", "demo/tumours.csv", "--target", "diagnosis")
    assert code == 0
    assert "Cross Validation Accuracy = 9" in out
    assert not (here / "tumours.mercer").exists()
    _, out, _ = mercer("train", "-s", "3", "-v", "3", tube[0])
    assert "Cross Validation Mean squared error = " in out
    assert "Cross Validation Squared correlation coefficient = " in out
    code, out, _ = mercer(
        "train", "demo/tumours.csv", "--target", "diagnosis", "--cv", "3", "--json"
    )
    found = json.loads(out)
    assert found["cv"]["folds"] == 3
    assert found["cv"]["accuracy"] > 0.9
    assert (here / "tumours.mercer").exists()


def test_cross_validation_scales_within_the_folds(mercer, tmp_path):
    """A row far away sets the range of its column in the folds that it is trained on, only."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1, 0)
    X[7] = 1e3, -1e3
    np.savetxt(tmp_path / "far.csv", np.c_[X, y], delimiter=",", header="a,b,y", comments="")
    words = f"train {tmp_path / 'far.csv'} --target y --scale minmax --gamma 1 --cv 3 --json"
    code, out, _ = mercer(*words.split(), "-o", tmp_path / "m.mercer")
    assert code == 0
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    model = package.SVC(gamma=1)
    inside = cross_val_predict(make_pipeline(MinMaxScaler(), model), X, y, cv=folds)
    before = cross_val_predict(model, MinMaxScaler().fit_transform(X), y, cv=folds)
    accuracy = json.loads(out)["cv"]["accuracy"]
    assert accuracy == np.mean(inside == y)
    assert accuracy != np.mean(before == y)


def test_json_is_one_object(here, mercer):
    words = "train demo/tumours.csv --target diagnosis --test demo/tumours-new.csv --json"
    code, out, err = mercer(*words.split())
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["machine"] == "svc"
    assert found["rows"] == 398
    assert found["columns"] == 2
    assert found["scaling"] == "standard"
    assert found["solved"] is True
    certificate = found["certificate"]
    assert certificate["status"] == "solved"
    assert certificate["gap"] == pytest.approx(certificate["primal"] - certificate["dual"])
    assert found["test"]["accuracy"] > 0.9


def test_quiet_says_nothing(here, mercer):
    assert mercer("train", "demo/tumours.csv", "--target", "diagnosis", "-q") == (0, "", "")


def test_standard_input_is_data(here, mercer, monkeypatch):
    data = (here / "demo" / "tumours.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    code, _, err = mercer("train", "-", "--target", "diagnosis")
    assert (code, err) == (0, "")
    assert (here / "model.mercer").exists()


@pytest.fixture
def hard(tmp_path):
    """Labels by chance and a large C: a fit that takes long."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1200, 8)), rng.integers(0, 2, 1200)
    np.savez(tmp_path / "hard.npz", X=X, y=y)
    return tmp_path / "hard.npz"


def test_a_time_limit_keeps_the_model_and_states_its_gap(hard, mercer, tmp_path):
    words = "--time-limit 0.01 -C 1e6 --tol 1e-9 --gamma 0.01"
    code, out, err = mercer("train", hard, tmp_path / "m", *words.split())
    assert code == 3
    assert f"the model so far is in {tmp_path / 'm'}, its relative gap is" in err
    assert package.load(tmp_path / "m").certificate_.status is package.Status.TIME_LIMIT
    assert re.search(r"^certificate +time limit: within \S+ % of the optimum$", out, re.MULTILINE)


def test_ctrl_c_keeps_the_model_so_far(hard, mercer, tmp_path):
    timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
    timer.start()
    words = "-C 1e6 --tol 1e-9 --gamma 0.01 --json"
    code, out, err = mercer("train", hard, tmp_path / "m", *words.split())
    timer.cancel()
    assert code == 3
    assert "stopped by the user" in err
    assert json.loads(out)["solved"] is False
    assert package.load(tmp_path / "m").certificate_.status is package.Status.STOPPED


# ---------------------------------------------------------------- predict


def test_predictions_are_the_models(here, mercer):
    code, out, err = mercer("predict", "demo/tumours.mercer", "demo/tumours-new.csv", "--decision")
    assert code == 0
    model = open_model("demo/tumours.mercer")
    table = read_table("demo/tumours-new.csv", schema=model.schema)
    found = columns(out)
    assert found["prediction"] == model.model.predict(table.X).tolist()
    assert_allclose(np.array(found["decision"], float), model.model.decision_function(table.X))
    right = np.count_nonzero(np.array(found["prediction"]) == table.y)
    assert f"({right}/{len(table.y)}) (classification)" in err


def test_predictions_go_to_a_file(here, mercer):
    for words in (["-o", "p.csv"], ["q.csv"]):
        code, out, err = mercer("predict", "demo/tumours.mercer", "demo/tumours-new.csv", *words)
        assert (code, err) == (0, "")
        assert out.startswith("Accuracy = 9")
    assert (here / "p.csv").read_text(encoding="utf-8") == (here / "q.csv").read_text(
        encoding="utf-8"
    )


def test_probabilities(here, mercer):
    words = "train demo/tumours.csv --target diagnosis --machine logistic -q -o l.mercer"
    assert mercer(*words.split())[0] == 0
    _, out, _ = mercer("predict", "l.mercer", "demo/tumours-new.csv", "--proba", "--json")
    found = json.loads(out)
    assert found["classes"] == ["benign", "malignant"]
    p = np.array(found["probabilities"])
    assert_allclose(p.sum(axis=1), 1)
    assert [found["classes"][k] for k in p.argmax(axis=1)] == found["predictions"]
    assert found["accuracy"] > 0.9


def test_a_regression_is_scored_as_svm_predict_does(mercer, tube, tmp_path):
    path, X, y = tube
    mercer("train", path, tmp_path / "m", "-q")
    _, out, _ = mercer("predict", tmp_path / "m", path, tmp_path / "p.csv")
    error = np.mean((package.load(tmp_path / "m").predict(X) - y) ** 2)
    assert f"Mean squared error = {error:.6g} (regression)" in out


# ---------------------------------------------------------------- verify, inspect


def test_verify_holds_for_a_fit_and_not_for_a_forgery(here, mercer):
    code, out, err = mercer("verify", "demo/tumours.mercer", "demo/tumours.csv")
    assert (code, err) == (0, "")
    assert "holds" in out
    opened = open_model("demo/tumours.mercer")
    opened.model.dual_coef_ *= 0.9  # still within its bounds, but no longer optimal
    package.save(opened.model, "forged.mercer", schema=opened.schema)
    code, out, err = mercer("verify", "forged.mercer", "demo/tumours.csv", "--json")
    assert code == 1
    assert "the certificate does not hold" in err
    assert json.loads(out)["holds"] is False


def test_a_model_stopped_early_is_held_to_what_it_states(hard, mercer, tmp_path):
    words = "--time-limit 0.01 -C 1e6 --tol 1e-9 --gamma 0.01 -q"
    mercer("train", hard, tmp_path / "m", *words.split())
    assert mercer("verify", tmp_path / "m", hard)[0] == 0


@pytest.mark.parametrize("limit", ["0.02", "0.2"])
def test_an_early_stop_with_verify_is_an_early_stop(mercer, tmp_path, limit):
    """The stated numbers are bounds: nothing that rounding does makes them false."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(3000, 6))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.8 * rng.normal(size=3000), [0.0, 1.2])
    path = tmp_path / "wide.csv"
    np.savetxt(path, np.c_[X, y], delimiter=",", header="a,b,c,d,e,f,y", comments="")
    words = ["--target", "y", "--machine", "svc", "-C", "10000", "--time-limit", limit, "-q"]
    assert mercer("train", path, *words, "-o", tmp_path / "m", "--verify")[0] == 3
    assert mercer("verify", tmp_path / "m", path)[0] == 0


def test_claims_are_broken_one_by_one():
    X = np.random.default_rng(4).normal(size=(40, 2))
    y = X[:, 0] + X[:, 1] ** 2 > 0.5
    model = package.SVC(C=3, tol=0.05).fit(X, y)
    stated, found = model.certificate_, package.verify(model, X, y)
    from dataclasses import replace

    assert broken_claims(stated, found, model.tol) == []
    assert "gap" in broken_claims(stated, replace(found, gap_low=1.0), model.tol)[0]
    assert "objective" in broken_claims(stated, replace(found, primal_low=1e3), model.tol)[0]
    refuted = replace(found, kkt_violation=0.1, status=package.Status.NOT_REACHED)
    assert "KKT violation is 0.1" in broken_claims(stated, refuted, model.tol)[0]
    # what rounding leaves open breaks nothing
    wide = replace(found, gap=1.0, primal=1e3, violation_high=1.0, status=package.Status.STALLED)
    assert broken_claims(stated, wide, model.tol) == []
    # numbers of the certificate that contradict the model, or each other
    for forged in (
        replace(stated, primal=stated.primal * 0.99),
        replace(stated, gap=0.0, relative_gap=0.0),
        replace(stated, primal=stated.primal + 5, dual=stated.dual + 5),
        replace(stated, relative_gap=stated.relative_gap / 2),
    ):
        assert broken_claims(forged, found, model.tol), forged
    assert broken_claims(None, found, model.tol) == []
    assert broken_claims(None, replace(found, kkt_violation=1.0), model.tol) != []


def test_inspect_shows_what_is_there(here, mercer):
    code, out, _ = mercer("inspect", "demo/tumours.mercer")
    assert code == 0
    for words in ("SVC", "RBF(gamma=0.5)", "worst perimeter", "solved: within", "benign"):
        assert words in out
    model = package.load("demo/tumours.mercer")
    found = json.loads(mercer("inspect", "demo/tumours.mercer", "--json")[1])
    assert found["n_support"] == model.n_support_.tolist()
    assert found["certificate"]["primal"] == model.certificate_.primal


def test_inspect_lists_the_weightiest_features(here, mercer):
    words = "train demo/tumours.csv --target diagnosis --machine linear-svc -q -o l.mercer"
    mercer(*words.split())
    coef = package.load("l.mercer").coef_[0]
    found = json.loads(mercer("inspect", "l.mercer", "--json", "--top", "1")[1])
    names = ["worst perimeter", "worst smoothness"]
    best = int(np.argmax(np.abs(coef)))
    assert found["weights"] == {names[best]: coef[best]}


# ---------------------------------------------------------------- convert, doctor


@pytest.mark.parametrize("suffix", ["svm", "npz", "parquet", "csv"])
def test_data_there_and_back(here, mercer, suffix):
    code, _, err = mercer("convert", "demo/tumours.csv", f"t.{suffix}", "--target", "diagnosis")
    assert code == 0, err
    before = read_table("demo/tumours.csv", target="diagnosis")
    named = suffix in ("csv", "parquet")
    after = read_table(f"t.{suffix}", target="diagnosis" if named else None)
    X = after.X.toarray() if sp.issparse(after.X) else after.X
    assert_allclose(X, before.X, rtol=1e-12)
    same = after.y[:, None] == after.y
    assert (same == (before.y[:, None] == before.y)).all()


def test_models_to_libsvm_and_back(here, mercer):
    code, _, err = mercer("convert", "demo/tumours.mercer", "t.model")
    assert code == 0
    assert "--like demo/tumours.mercer" in err  # it takes scaled rows
    assert mercer("convert", "t.model", "back.mercer", "-q")[0] == 0
    words = "convert demo/tumours-new.csv new.svm --like demo/tumours.mercer"
    assert mercer(*words.split())[0] == 0
    mercer("predict", "back.mercer", "new.svm", "-o", "p.csv", "--decision")
    mercer("predict", "demo/tumours.mercer", "demo/tumours-new.csv", "-o", "q.csv", "--decision")
    ours, theirs = (
        columns((here / name).read_text(encoding="utf-8"))["decision"]
        for name in ("q.csv", "p.csv")
    )
    assert_allclose(np.array(ours, float), np.array(theirs, float), rtol=1e-9)


def test_doctor_says_what_it_finds(here, mercer):
    code, out, _ = mercer("doctor", "demo/tumours.csv", "--target", "diagnosis", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["estimate"]["seconds"][0] <= found["estimate"]["seconds"][1]
    code, out, _ = mercer("doctor", "demo/tumours.csv", "--target", "diagnosis", "--scale", "none")
    assert "time of an exact fit on all 398 rows" in out


# ---------------------------------------------------------------- plot


@pytest.mark.parametrize("suffix", ["png", "svg", "html"])
def test_plot_writes_by_the_suffix(here, mercer, suffix):
    words = ["plot", "boundary", "demo/tumours.mercer", "demo/tumours.csv"]
    code, out, err = mercer(*words, "-o", f"b.{suffix}")
    assert (code, err) == (0, "")
    assert f"b.{suffix}" in out
    start = (here / f"b.{suffix}").read_bytes()[:400].lower()
    assert {"png": b"\x89png", "svg": b"<svg", "html": b"<html"}[suffix] in start


def test_inspect_says_that_a_model_is_compressed(here, mercer):
    package.save(package.load("demo/tumours.mercer").compress(5), "small.mercer")
    code, out, _ = mercer("inspect", "small.mercer")
    assert code == 0
    assert "compressed from" in out
    assert "to 5 vectors" in out
