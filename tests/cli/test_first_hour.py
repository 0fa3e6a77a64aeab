"""What someone new to it meets: messy files, words for certificates, scores, messages, progress."""

from __future__ import annotations

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, mean_absolute_error, r2_score, recall_score
from sklearn.model_selection import train_test_split

import mercer as package
from mercer._numba import Compilation
from mercer.cli._app import app
from mercer.cli._certificate import headline, percent
from mercer.cli._options import EstimatorName
from mercer.data import read_table
from mercer.estimators._registry import cli_names


def messy(n=300):
    """A table with everything that tables have."""
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2023-01-01 00:30") + pd.to_timedelta(29 * np.arange(n), unit="h")
    size = rng.normal(size=n).round(3)
    table = pd.DataFrame({
        "id": [f"c{i:05d}" for i in range(n)],
        "when": when.strftime("%Y-%m-%d %H:%M:%S"),
        "size": size.astype(object),
        "colour": rng.choice(["red", "blue", "gr:een"], n),
        "const": 1,
        "label": np.where(size + np.sin(2 * np.pi * when.hour / 24) > 0, "yes", "no"),
    })  # fmt: skip
    season = np.sin(2 * np.pi * np.arange(n) * 29 / 24 / 365)
    table["price"] = (3e5 + 1e5 * season + 5e4 * size).round(2)
    table.loc[[3, 50, 70], "size"] = np.nan
    table.loc[17, "size"] = "n.d."
    return table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = messy()
    table.to_csv("messy.csv")  # with pandas' index
    numbers = table.assign(size=pd.to_numeric(table["size"], errors="coerce"))
    numbers.to_csv("german.csv", index=False, sep=";", decimal=",")
    return tmp_path


# ------------------------------------------------------------------ doctor


def test_doctor_reports_everything_and_its_command_trains(folder, mercer):
    code, out, err = mercer("doctor", "messy.csv", "--target", "label")
    assert (code, err) == (0, "")
    for words in (
        "Column 'size' holds finite numbers, but here 'n.d.' (line 19): --na n.d.",
        "Column 'id' has 300 different words in 300 rows",
        "(column_0): --drop column_0",
        "Missing values: 4 (size 4): --missing median",
        "Dates (when): they become numbers: day, season, hour",
        "Constant columns: 1 (const): --drop const",
    ):
        assert words in out
    command = out.splitlines()[-1].strip()
    code, out, err = mercer(*shlex.split(command)[1:])
    assert (code, err) == (0, "")
    model = package.load("messy.mercer")
    schema = read_table_as_trained("messy.mercer")
    assert {column.name for column in schema.columns} == {"when", "size", "colour", "price"}
    assert model.score(*rows_of("messy.csv", schema)) > 0.8


def read_table_as_trained(path):
    return package.persistence.open_model(path).schema


def rows_of(path, schema):
    table = read_table(path, schema=schema)
    return table.X, table.y


def test_doctor_fits_epsilon_and_C_to_the_targets(folder, mercer):
    _, out, _ = mercer("doctor", "german.csv", "--target", "price", "--json")
    found = json.loads(out)
    words = shlex.split(found["train"])
    assert words[words.index("--decimal") + 1] == ","
    sd = messy()["price"].std()
    assert float(words[words.index("-C") + 1]) == pytest.approx(sd, rel=3)
    assert float(words[words.index("--epsilon") + 1]) == pytest.approx(sd / 10, rel=0.3)
    _, before, _ = mercer("train", "german.csv", "--target", "price", "--drop", "id", "--json",
                          "--missing", "median", "--decimal", ",")  # fmt: skip
    _, after, _ = mercer(*words[1:], "--json")
    r2 = [json.loads(text)["held_out"]["r2"] for text in (before, after)]
    assert r2[0] < 0.3 < r2[1]


def test_no_python_in_the_words_of_doctor(tmp_path, mercer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1, 1e5, 1]
    X[:, 2] = X[:, 0]
    y = (X[:, 0] > 1.9).astype(int)
    X[200:], y[200:] = X[:100], y[:100]
    table = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    table.to_csv(tmp_path / "d.csv", index=False)
    _, out, _ = mercer("doctor", tmp_path / "d.csv", "--scale", "none", "-C", "1e9")
    assert "--scale standard" in out
    assert "--class-weight balanced" in out
    for word in ("Scaler", "sklearn", "scipy", "sample_weight", '="', "Threshold", "X."):
        assert word not in out


# ------------------------------------------------------------------ train


def test_doctor_names_a_file_of_one_row(tmp_path, mercer):
    (tmp_path / "one.csv").write_text("a,b,target\n1,2,3\n")
    code, _, err = mercer("doctor", tmp_path / "one.csv")
    assert code == 1
    assert "one.csv: has one row" in err


def test_train_warns_of_row_numbers(folder, mercer):
    words = "train messy.csv --target label --drop id --na n.d. --missing median -q"
    code, out, err = mercer(*words.split())
    assert (code, out) == (0, "")
    assert "'column_0' numbers the rows; leave it out with --drop column_0" in err


def test_the_held_out_score_is_beside_the_baseline(here, mercer):
    _, out, _ = mercer("train", "demo/tumours.csv", "--target", "diagnosis", "--json")
    found = json.loads(out)["held_out"]
    table = read_table("demo/tumours.csv", target="diagnosis")
    assert found["rows"] + found["training_rows"] == len(table.y)
    share = np.mean(table.y == "benign")
    assert found["baseline"]["constant"] == "benign"
    assert found["baseline"]["accuracy"] == pytest.approx(share, abs=0.01)  # stratified
    assert found["accuracy"] > 0.85
    rows = np.random.default_rng(0).permutation(len(table.y))
    rest, held = train_test_split(
        rows, test_size=found["rows"], random_state=0, stratify=table.y[rows]
    )
    mean, sd = table.X[rest].mean(axis=0), table.X[rest].std(axis=0)
    model = package.SVC().fit((table.X[rest] - mean) / sd, table.y[rest])
    assert found["accuracy"] == model.score((table.X[held] - mean) / sd, table.y[held])
    out = mercer("train", "demo/tumours.csv", "--target", "diagnosis")[1]
    assert re.search(r"held out +accuracy \S+ % on 79 rows .*always 'benign': \S+ %", out)


@pytest.mark.parametrize("limit", ["--time-limit 1e-9", "--max-iter 1"])
def test_a_fit_that_met_its_limit_is_scored_by_one_with_the_same_limit(here, mercer, limit):
    words = f"train demo/tumours.csv --target diagnosis --json {limit}".split()
    code, out, _ = mercer(*words)
    found = json.loads(out)
    assert (code, found["solved"]) == (3, False)
    assert found["held_out"]["baseline"]["constant"] == "benign"
    assert found["held_out"]["training_rows"] == 319


def test_a_precomputed_kernel_is_scored_on_rows_that_its_columns_lack(tmp_path, mercer):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    K, y = rows @ rows.T + np.eye(60), np.where(rows[:, 0] > 0, 1, -1)
    lines = [
        f"{y[i]} 0:{i + 1} " + " ".join(f"{j + 1}:{K[i, j]:.17g}" for j in range(60))
        for i in range(60)
    ]
    (tmp_path / "kernel").write_text("\n".join(lines) + "\n")
    out = mercer("train", "-t", 4, tmp_path / "kernel", tmp_path / "model", "--json")[1]
    found = json.loads(out)["held_out"]
    order = np.random.default_rng(0).permutation(60)
    rest, held = train_test_split(order, test_size=12, random_state=0, stratify=y[order])
    fitted = package.SVC(kernel="precomputed").fit(K[np.ix_(rest, rest)], y[rest])
    assert found["accuracy"] == fitted.score(K[np.ix_(held, rest)], y[held])


def test_numbers_for_a_classifier_are_told_in_options(tmp_path, mercer):
    (tmp_path / "d.csv").write_text("a,b\n" + "".join(f"{i},{i / 7}\n" for i in range(30)))
    err = mercer("train", tmp_path / "d.csv", "--target", "b", "--machine", "svc")[2]
    assert err.endswith("--machine svr predicts numbers\n")


def test_a_regression_at_the_bound_is_told(folder, mercer):
    words = "train german.csv --target price --drop id --missing median --decimal , -q"
    _, _, err = mercer(*words.split())
    assert re.search(r"300 of 300 rows are at the bound: C=1 .*try -C \S+ --epsilon", err)
    _, _, err = mercer(*words.split(), "-C", "1e6", "--epsilon", "1000")
    assert err == ""


def test_flags_take_no_value(here, mercer):
    code, _, err = mercer("train", "demo/tumours.csv", "--verify", "true")
    assert code == 2
    assert "--verify take no value" in err
    assert not (here / "true").exists()


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("--C 3", "did you mean -C?"),
        ("--kernal rbf", "did you mean --kernel?"),
        ("--target diagnosys", "did you mean 'diagnosis'?"),
        ("--target diagnosis --drop 'worst perimiter'", "did you mean 'worst perimeter'?"),
    ],
)
def test_the_word_that_was_meant(words, meant, here, mercer):
    code, _, err = mercer("train", "demo/tumours.csv", *shlex.split(words))
    assert code in (1, 2)
    assert meant in err


def test_drop_of_the_target_is_refused(here, mercer):
    words = "train demo/tumours.csv --target diagnosis --drop diagnosis"
    code, _, err = mercer(*words.split())
    assert code == 1
    assert "--drop diagnosis contradicts" in err


def test_a_stop_names_the_option(tmp_path, mercer):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", X=rng.normal(size=(900, 8)), y=rng.integers(0, 2, 900))
    for words, lever in (("--time-limit 0", "raise --time-limit"), ("--max-iter 3", "--max-iter")):
        code, _, err = mercer("train", tmp_path / "d.npz", tmp_path / "m", *words.split(), "-q")
        assert code == 3
        assert err.count("\n") == 1
        assert lever in err
        assert "warm_start" not in err


# ------------------------------------------------------------------ certificates


def test_one_line_first_and_the_numbers_on_request(here, mercer):
    words = ["train", "demo/tumours.csv", "--target", "diagnosis", "--verify"]
    _, short, _ = mercer(*words)
    _, full, _ = mercer(*words, "--full")
    assert "primal" not in short
    assert full.count("  primal ") == 2  # stated and recomputed
    assert full.count("  margin 2/‖w‖") == 2
    assert re.search(r"^recomputed +in \S+, solved: within", short, re.MULTILINE)
    assert re.search(r"^verdict +holds: ", short, re.MULTILINE)
    assert "1 rounds" not in full


def test_no_margin_of_a_regression(folder, mercer):
    words = "train german.csv --target price --drop id --missing median --decimal , --full"
    assert "margin" not in mercer(*words.split())[1]


def test_sums_and_the_worst_task_are_told_apart(folder, mercer):
    words = "train german.csv --target colour --drop id --missing median --decimal , --full"
    out = mercer(*words.split())[1]
    model = package.load("german.mercer")
    assert f"{model.certificate_.gap:.3g}, the sum over 3 tasks" in out
    assert f"{model.certificate_.relative_gap:.3g}, the largest of a task" in out
    assert "each of 3 tasks is within" in out


def test_words_of_a_certificate():
    X = np.random.default_rng(4).normal(size=(60, 2))
    model = package.SVC(C=1, tol=0.5).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.5)
    found = model.certificate_
    assert found.relative_gap > 1e-3
    text = headline(found, model.tol)
    assert f"within {percent(found.relative_gap)} of the optimum (the fit ends when" in text
    assert "--tol" in text
    for ratio in (3.14159e-5, 0.0351, 0.5, 1e-12, 9.99e-3):
        shown = float(percent(ratio).removesuffix(" %")) / 100
        assert shown >= ratio * (1 - 1e-9)  # a bound stays one
        assert shown <= max(1.1 * ratio, 1e-6)


def test_of_a_kernel_that_is_none_no_distance_from_the_optimum_is_stated():
    """Weak duality needs convexity: two local optima of one problem differ by more than the gap."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    K = np.tanh(X @ X.T - 1)
    assert np.linalg.eigvalsh(K)[0] < -0.1
    model = package.SVC(kernel="precomputed", C=10).fit(K, X[:, 0] > 0)
    assert model.certificate_.status is package.Status.NOT_PSD
    assert "within" not in headline(model.certificate_)


def test_compiling_is_not_the_time_of_the_fit():
    import numba

    told = []
    with Compilation(told.append) as compilation:
        numba.njit(lambda x: x + 1)(2)
    assert told == [True, False]
    assert compilation.seconds > 0
    with Compilation(told.append) as compilation:
        np.ones(3).sum()
    assert compilation.seconds == 0
    numba.njit(lambda x: x + 2)(2)
    assert len(told) == 2  # nobody listens any more


def test_warmup_compiles_what_later_fits_use(mercer):
    code, out, _ = mercer("warmup", "perceptron")
    assert code == 0
    assert re.search(r"^perceptron +\d+\.\d s$", out, re.MULTILINE)
    with Compilation() as compilation:
        X = np.random.default_rng(1).normal(size=(50, 3))
        package.KernelPerceptron().fit(X, X[:, 0] > 0).predict(X)
    assert compilation.seconds == 0


def test_the_seconds_of_train_are_those_of_fitting(here, mercer):
    _, out, _ = mercer("train", "demo/tumours.csv", "--target", "diagnosis", "--json")
    found = json.loads(out)
    assert found["seconds_fitting"] >= 0
    assert found["seconds_compiling"] >= 0


# ------------------------------------------------------------------ predict


def test_an_id_is_kept_beside_the_prediction(folder, mercer):
    words = "train messy.csv --target label --drop id --drop column_0 --na n.d. --missing median -q"
    assert mercer(*words.split())[0] == 0
    words = "predict messy.mercer messy.csv --keep id --keep when -o p.csv"
    assert mercer(*words.split())[0] == 0
    written = pd.read_csv("p.csv")
    assert list(written) == ["id", "when", "prediction"]
    assert (written[["id", "when"]] == messy()[["id", "when"]]).all(axis=None)
    code, _, err = mercer("predict", "messy.mercer", "messy.csv", "--keep", "idd")
    assert code == 1
    assert "did you mean 'id'" in err


def test_scores_are_those_of_scikit_learn(folder, here, mercer):
    words = "predict demo/tumours.mercer demo/tumours-new.csv --json"
    found = json.loads(mercer(*words.split())[1])
    y = read_table("demo/tumours-new.csv", target="diagnosis").y
    predicted = np.array(found["predictions"])
    assert found["confusion"] == confusion_matrix(y, predicted).tolist()
    assert list(found["recall"].values()) == pytest.approx(
        recall_score(y, predicted, average=None).tolist()
    )
    _, out, _ = mercer(*words.split()[:-1], "-o", "p.csv")
    assert re.search(r"^benign +\d+ +\d+ +0\.\d{3}$", out, re.MULTILINE)


def test_scores_of_a_regression(tmp_path, mercer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    table = pd.DataFrame(X, columns=["a", "b"]).assign(y=X[:, 0] + 0.1 * rng.normal(size=80))
    table.to_csv(tmp_path / "d.csv", index=False)
    mercer("train", tmp_path / "d.csv", "-o", tmp_path / "m", "-q")
    _, out, _ = mercer("predict", tmp_path / "m", tmp_path / "d.csv", "--json")
    found = json.loads(out)
    assert found["mae"] == pytest.approx(mean_absolute_error(table.y, found["predictions"]))
    assert found["r2"] == pytest.approx(r2_score(table.y, found["predictions"]))
    assert found["rmse"] == pytest.approx(np.sqrt(found["mean_squared_error"]))
    _, out, _ = mercer("predict", tmp_path / "m", tmp_path / "d.csv", "-o", tmp_path / "p.csv")
    assert f"R² = {found['r2']:.6g}" in out


def test_a_pdf(here, mercer):
    words = "plot boundary demo/tumours.mercer demo/tumours.csv -o b.pdf"
    assert mercer(*words.split())[0] == 0
    assert (here / "b.pdf").read_bytes().startswith(b"%PDF")


# ------------------------------------------------------------------ help


def test_help_shows_defaults_that_are_true_and_no_bool(mercer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    out = mercer("train", "--help")[1]
    assert "<bool>" not in out
    assert "<bool>" not in mercer("--help")[1]
    assert "<bool>" not in mercer("export", "--help")[1]
    (train,) = [command for command in app.registered_commands if command.name == "train"]
    shown = dict(re.findall(r"(?:^|│ +)(?:--)?(-?\w[\w-]*).*?\[default: \(([^)]*)\)\]", out, re.M))
    names = {"-C": "C", "degree": "degree", "coef0": "coef0", "nu": "nu", "epsilon": "epsilon"}
    for option, name in {**names, "alpha": "alpha", "gamma": "gamma"}.items():
        true = [
            entry.load()().get_params().get(name)
            for entry in cli_names().values()
            if entry.path.partition(":")[2] in ("SVC", "NuSVC", "SVR", "KernelRidge")
        ]
        values = {value for value in true if value is not None}
        assert shown[option] in {f"{v:g}" if isinstance(v, float | int) else v for v in values}
    assert train.name == "train"
    assert {name.value for name in EstimatorName} >= {"svc"}


def test_pictures_of_a_model_with_probabilities_say_nothing_of_python(folder, mercer):
    pytest.importorskip("matplotlib")
    pd.DataFrame({"a": range(20), "label": [0, 1] * 10}).to_csv("two.csv", index=False)
    assert mercer("train", "two.csv", "--probability", "-q")[0] == 0
    code, _, err = mercer("plot", "gap", "two.mercer", "two.csv", "-o", "gap.png")
    assert (code, err) == (0, "")


def test_suggested_numbers_are_as_one_types_them(folder, mercer):
    wide = pd.DataFrame({"a": range(40), "price": [(7 * i % 40) * 2e4 for i in range(40)]})
    wide.to_csv("wide.csv", index=False)
    code, _, err = mercer("train", "wide.csv", "--target", "price")
    assert code == 0
    deviation = wide["price"].std(ddof=0)
    typed = re.search(r"try -C (\d+) --epsilon (\d+)", err)
    assert float(typed[1]) == pytest.approx(deviation, rel=0.05)
    assert float(typed[2]) == pytest.approx(deviation / 10, rel=0.5)


def test_doctor_does_not_take_numbers_with_units_for_words(folder, mercer):
    lines = [f"{i}%,{i * 37 % 11},{i % 2}" for i in range(99)]
    (folder / "rates.csv").write_text("\n".join(["rate,a,label", *lines]) + "\n")
    code, out, _ = mercer("doctor", "rates.csv")
    assert code == 0
    assert "Column 'rate' holds numbers with signs or units (such as '0%'), to be written" in out
