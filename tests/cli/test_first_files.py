"""Files as people have them, from the doctor to the picture: targets that are missing, and more."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score

import mercer as package
from mercer.data import read_table


def visits(n=240):
    """Classes by two columns of numbers; some rows have no target, and words of their own."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 2)).round(3)
    table = pd.DataFrame(X, columns=["größe", "b"])
    table["site"] = rng.choice(["n", "s"], n)
    table["firm"] = "ACME"
    table["result"] = np.where(X[:, 0] + X[:, 1] ** 2 > 0.6, "good", "bad")
    table.loc[5::40, "result"] = None
    table.loc[5, "site"] = "elsewhere"
    return table


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits().to_csv("visits.csv", index=False)
    return tmp_path / "visits.csv"


TRAIN = "train visits.csv --target result --missing median -q"


def test_verify_plot_and_test_leave_out_what_train_does(file, mercer):
    assert mercer(*TRAIN.split())[0] == 0
    known = visits().dropna()
    code, out, err = mercer("verify", "visits.mercer", "visits.csv")
    assert (code, "verdict        holds" in out) == (0, True)
    assert f"{240 - len(known)} rows without a target are left out" in err
    assert mercer("plot", "kkt", "visits.mercer", "visits.csv", "-o", "kkt.png")[0] == 0
    code, out, _ = mercer(*TRAIN.split()[:-1], "--test", "visits.csv", "--json")
    assert sum(map(sum, json.loads(out)["test"]["confusion"])) == len(known)


def test_a_word_that_only_rows_without_a_target_have_is_no_category(file, mercer):
    mercer(*TRAIN.split())
    schema = package.persistence.open_model("visits.mercer").schema
    assert {c.name: c.categories for c in schema.columns}["site"] == ("n", "s")


def test_predictions_are_scored_where_there_is_a_target(file, mercer):
    mercer(*TRAIN.split())
    code, out, _ = mercer("predict", "visits.mercer", "visits.csv", "--json")
    found, truth = json.loads(out), visits()["result"]
    known = truth.notna().to_numpy()
    assert (code, len(found["predictions"])) == (0, len(truth))
    predicted = np.array(found["predictions"])[known]
    assert found["rows_scored"] == known.sum()
    assert found["accuracy"] == accuracy_score(truth[known], predicted)
    out = mercer("predict", "visits.mercer", "visits.csv", "-o", "p.csv")[1]
    assert f"the {known.sum()} rows that have a target" in out


def test_rows_with_a_target_in_python(file):
    schema = read_table(file, target="result", missing="median").schema
    table = read_table(file, schema=schema)
    assert table.y is None
    part = table.with_target()
    known = visits()["result"].notna().to_numpy()
    assert part.y.tolist() == visits()["result"][known].tolist()
    np.testing.assert_array_equal(part.X, table.X[known])
    assert part.with_target() is part


def test_no_targets_at_all(file, mercer):
    mercer(*TRAIN.split())
    visits().assign(result=None, site="n").to_csv("new.csv", index=False)
    code, out, err = mercer("predict", "visits.mercer", "new.csv")
    assert (code, err, len(out.splitlines())) == (0, "", 241)
    code, _, err = mercer("verify", "visits.mercer", "new.csv")
    assert code == 1
    assert err.count("\n") == 1


def test_doctor_drops_columns_of_the_file(file, mercer):
    out = mercer("doctor", "visits.csv", "--target", "result")[1]
    assert "(firm=ACME): --drop firm\n" in out
    command = shlex.split(out.splitlines()[-1])
    assert command[command.index("--drop") + 1] == "firm"
    assert mercer(*command[1:])[0] == 0


def test_a_constant_regression_is_told(tmp_path, mercer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    table = pd.DataFrame(X, columns=["a", "b"]).assign(price=1e-6 * X[:, 0])
    table.to_csv(tmp_path / "d.csv", index=False)
    words = ["train", tmp_path / "d.csv", "--target", "price", "-o", tmp_path / "m", "-q"]
    _, _, err = mercer(*words)
    assert "the model is a constant" in err
    option = shlex.split(err.partition("try ")[2])
    _, _, err = mercer(*words, *option)
    assert err == ""
    assert package.load(tmp_path / "m").n_support_.sum() > 0
    out = mercer("doctor", tmp_path / "d.csv", "--target", "price")[1]
    code, out, err = mercer(*shlex.split(out.splitlines()[-1])[1:], "-o", tmp_path / "m", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["held_out"]["r2"] > 0.5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rate,y\n" + "".join(f"{i}%,{i % 2}\n" for i in range(99)), "without signs and units"),
        ("a;y\n" + "".join(f"1.{i:03d},50;{i % 2}\n" for i in range(99)), "--decimal ,"),
        ("a,b,y\n" + "".join(f'.5,"1,{i:03d}",{i % 2}\n' for i in range(99)), "thousands' signs"),
    ],
)
def test_numbers_with_signs_are_named(text, words, tmp_path, mercer):
    (tmp_path / "d.csv").write_text(text)
    code, _, err = mercer("train", tmp_path / "d.csv")
    assert code == 1
    assert words in err


@pytest.mark.parametrize("header", ["größe;ziel\n", ""])
def test_a_spreadsheet_names_its_delimiter(header, tmp_path):
    rows = "".join(f"{i},5;{'ja' if i % 2 else 'nein'}\n" for i in range(30))
    path = tmp_path / "d.csv"
    path.write_text(f"sep=;\n{header}{rows}", encoding="utf-8-sig")
    table = read_table(path, target=-1, decimal=",")
    assert table.X.ravel().tolist() == [i + 0.5 for i in range(30)]
    assert set(table.y) == {"ja", "nein"}
    path.write_text(f"sep=;\n{header}{rows}1,x;ja\n")  # read cell by cell: the line is the file's
    with pytest.raises(ValueError, match=rf"d\.csv:{32 + bool(header)}: "):
        read_table(path, target=-1, decimal=",")


def test_inspect_needs_no_target_and_no_repair(file, mercer):
    table = visits()
    table["id"] = [f"c{i}" for i in range(len(table))]
    table["b"] = table["b"].astype(object)
    table.loc[9, "b"] = "n.d."
    table.to_csv("visits.csv", index=False)
    code, out, err = mercer("inspect", "visits.csv")
    assert (code, err) == (0, "")
    assert "240 rows" in out
    assert "but here 'n.d.'" in out
    assert "column 'id' has 240 different words" in out


# ------------------------------------------------------------------ options


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("train visits.csv --kernel rbff", "'dtw'; did you mean rbf?"),
        ("train visits.csv --target result --missing median --cv 1000", "--cv 1000: visits.csv"),
        ("plot boundry visits.mercer visits.csv", "did you mean boundary?"),
        ("plot boundary visits.mercer visits.csv --kind kkt", "No such option: --kind (see"),
        ("plot boundary visits.mercer visits.csv --feature grösse", "did you mean 'größe'?"),
        ("plot boundary visits.mercer visits.csv --feature 99", "there are 5 columns"),
        ("plot boundary visits.mercer visits.csv -o x.bmp", "must end in one of"),
        ("warmup svcc", "there is no machine 'svcc'"),
    ],
)
def test_wrong_values_are_refused_before_the_work(words, part, file, mercer):
    mercer(*TRAIN.split())
    code, _, err = mercer(*shlex.split(words))
    assert code == 2
    assert part in err
    assert "Value error" not in err


@pytest.mark.parametrize("kind", ["tube", "weights", "path", "reliability"])
def test_advice_of_pictures_is_typed(kind, file, mercer):
    mercer(*TRAIN.split())
    code, _, err = mercer("plot", kind, "visits.mercer", "visits.csv")
    assert code == 1
    advice = err.splitlines()[-1].partition("visits.mercer: ")[2]
    for python in ("Display", "='", "SVC", "LogisticRegression", "coef_"):
        assert python not in advice


def test_pictures_of_a_tuned_model(file, mercer):
    words = "tune visits.csv --target result --missing median --time-limit 4 --json"
    code, out, _ = mercer(*words.split())
    assert code == 0
    found = json.loads(out)
    model = package.load("visits.mercer")
    assert found["rows_fitted"] == model.steps[-1][1].shape_fit_[0]
    for kind in ("boundary", "kernel", "reliability"):
        words = f"plot {kind} visits.mercer visits.csv -o {kind}.png"
        assert mercer(*words.split())[0] == 0


def test_warmup_can_be_stopped(monkeypatch, mercer):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.KernelRidge.fit", interrupt)
    code, out, err = mercer("warmup", "ridge")
    assert code == 3
    assert "ridge" in out
    assert "0 of 1 are compiled" in err


def test_an_interrupted_fit_tells_how_many_tasks_are_left(file, monkeypatch, mercer):
    fit = package.SVC.fit

    def interrupted(self, X, y):
        fit(self, X, y)
        raise KeyboardInterrupt("Ctrl-C ended the fit; 2 of 3 tasks were fitted to samples only")

    monkeypatch.setattr("mercer.SVC.fit", interrupted)
    _, _, err = mercer(*TRAIN.split())
    assert "2 of 3 tasks" in err
    assert (file.parent / "visits.mercer").exists()
