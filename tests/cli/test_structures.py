"""Tables of mixed columns, time series and sets on the command line and in `read_table`."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

import mercer as package
from mercer.data import read_table
from mercer.exceptions import FileError
from mercer.kernels import GlobalAlignment, Jaccard, TableKernel
from mercer.persistence import open_model
from mercer.plots import KernelMatrixDisplay


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(rows)
    return path


def complete(path):
    """The rows with a target alone, which a fit has kept."""
    lines = path.read_text(encoding="utf-8").splitlines()
    out = path.with_name("complete.csv")
    out.write_text("\n".join(line for line in lines if line[-1] != ","), encoding="utf-8")
    return out


@pytest.fixture
def customers(tmp_path):
    """Numbers, categories, dates and missing values; names that tell nothing; no target in one."""
    rng = np.random.default_rng(0)
    rows = [("name", "age", "home", "since", "good")]
    for i in range(80):
        age, home = rng.integers(20, 70), rng.choice(["rent", "own", "ünter"])
        good = "yes" if (age > 40) == (home == "own") else "no"
        since = f"20{rng.integers(10, 20)}-03-{rng.integers(10, 28)}"
        cells = [f"n{i}", age, home, since]
        cells = ["" if j and rng.random() < 0.1 else cell for j, cell in enumerate(cells)]
        rows.append((*cells, "" if i == 5 else good))
    return write(tmp_path / "customers.csv", rows)


def test_tables_are_read_as_they_are(customers):
    found = read_table(customers, target="good", samples="table")
    every = list(csv.DictReader(customers.read_text(encoding="utf-8").splitlines()))
    rows = [row for row in every if row["good"]]
    assert found.X.names == ("name", "age", "home", "since")
    assert found.y.tolist() == [row["good"] for row in rows]
    age, home, since = (found.X.column(name, "") for name in ("age", "home", "since"))
    assert home.tolist() == [row["home"] or None for row in rows]
    expected = np.array([float(row["age"] or "nan") for row in rows])
    np.testing.assert_array_equal(age, expected)
    days = [np.datetime64(row["since"] or "NaT") for row in rows]
    epoch = np.datetime64("1970-01-01")
    days = [np.nan if np.isnat(day) else (day - epoch).astype(float) for day in days]
    np.testing.assert_array_equal(since, days)
    assert "1 row without a target" in found.notes[0]
    assert found.n_missing["age"] == sum(row["age"] == "" for row in every)


def test_train_predict_verify_a_table(customers, mercer, tmp_path):
    model = tmp_path / "m.mercer"
    words = ["--target", "good", "--kernel", "table", "--kernel-parameter", "gamma=2", "-C", 5]
    code, out, err = mercer("train", customers, *words, "-o", model, "--verify", "--cv", 3)
    assert code == 0
    assert err.count("\n") == 1  # the row without a target
    assert "values missing" in out
    assert "left out" in out  # the names
    data = read_table(customers, target="good", samples="table")
    kernel = TableKernel.from_frame(data.X, gamma=2)
    found = open_model(model)
    assert found.model.kernel_ == kernel
    assert found.schema.feature_names == ["age", "home", "since"]
    expected = package.SVC(kernel=kernel, C=5).fit(data.X, data.y)
    np.testing.assert_array_equal(
        found.model.decision_function(data.X), expected.decision_function(data.X)
    )
    new = write(
        tmp_path / "new.csv",
        [("since", "home", "age"), ("2015-03-12", "castle", 30), ("", "", ""), ("x", "own", 50)],
    )
    code, out, err = mercer("predict", model, new)
    assert code == 0
    assert "'castle' not seen in training" in err
    assert "'x' is no date, and counts as missing" in err
    table = {"age": [30, None, 50], "home": ["castle", None, "own"], "since": [None, None, None]}
    table["since"][0] = (np.datetime64("2015-03-12") - np.datetime64("1970-01-01")).astype(float)
    assert out.split()[1:] == expected.predict(table).tolist()
    code, out, _ = mercer("verify", model, complete(customers))
    assert code == 0
    assert "holds" in out


def test_figures_of_a_table(customers, mercer, tmp_path):
    pytest.importorskip("matplotlib")
    model = tmp_path / "m.mercer"
    assert mercer("train", customers, "--target", "good", "--kernel", "table", "-o", model)[0] == 0
    code, _, err = mercer("plot", "kernel", model, customers, "-o", tmp_path / "k.png")
    assert (code, err.count("\n")) == (0, 1)
    assert "1 row without a target is left out" in err
    assert (tmp_path / "k.png").stat().st_size > 1000
    found = open_model(model)
    data = read_table(customers, schema=found.schema)
    display = KernelMatrixDisplay.from_estimator(found.model, data.X)
    np.testing.assert_allclose(display.K, found.model.kernel_(data.X))
    assert len(display.title) < 100  # however many columns the kernel names
    code, _, err = mercer("plot", "boundary", model, complete(customers), "-o", tmp_path / "b.png")
    assert code == 1
    assert "objects without coordinates" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gamma", 3], "--kernel table has --kernel-parameter"),
        (["--scale", "standard"], "--scale is not for --kernel table"),
        (["--missing", "median"], "--missing is not for --kernel table"),
        (["--normalize"], "--normalize is for kernels on texts"),
        (["--kernel-parameter", "columns=3"], "one of gamma, interaction, mean_gamma"),
        (["--kernel-parameter", "interaction=3"], "interaction must be at most 1"),
    ],
)
def test_wrong_options_of_tables(customers, mercer, words, message, tmp_path):
    base = ["train", customers, "--target", "good", "--kernel", "table"]
    code, _, err = mercer(*base, *words, "-o", tmp_path / "m")
    assert code == 2
    assert err.count("\n") == 1
    assert message in err


def test_bad_tables_name_the_place(customers, mercer, tmp_path):
    model = tmp_path / "m.mercer"
    assert mercer("train", customers, "--target", "good", "--kernel", "table", "-o", model)[0] == 0
    few = write(tmp_path / "few.csv", [("age", "home"), (30, "own")])
    code, _, err = mercer("predict", model, few)
    assert code == 1
    assert "lacks 'since'" in err
    rows = [("age", "home", "since"), (30, "own", ""), ("old", "own", "")]
    code, _, err = mercer("predict", model, write(tmp_path / "bad.csv", rows))
    assert code == 1
    assert "bad.csv:3" in err or "line 3" in err
    assert "'old'" in err
    code, _, err = mercer("doctor", customers, "--target", "good", "--kernel", "table")
    assert code == 2
    assert "leave --kernel table out" in err
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:2\n-1 2:3\n", encoding="utf-8")
    with pytest.raises(FileError, match="needs a file with names"):
        read_table(rows, samples="table")
    for wrong in ({"samples": "tables"}, {"samples": "table", "scale": "standard"}):
        with pytest.raises(ValueError, match="samples"):
            read_table(customers, target="good", **wrong)


def test_series_of_different_lengths(mercer, tmp_path):
    """As the UCR archive writes them: the class, then the steps, NaN after the end."""
    rng = np.random.default_rng(1)
    rows, series, y = [], [], []
    for i in range(24):
        steps = np.sin((1 + i % 2) * np.arange(rng.integers(8, 13)) / 2) + rng.normal(0, 0.1)
        series.append(steps.round(4))
        y.append(1 + i % 2)
        rows.append([y[-1], *series[-1], *["NaN"] * (12 - len(steps))])
    path, model = write(tmp_path / "s.csv", rows), tmp_path / "m.mercer"
    words = ["--no-header", "--target", 0, "--kernel", "global_alignment", "-o", model]
    code, out, err = mercer("train", path, *words, "--kernel-parameter", "sigma=2", "--verify")
    assert (code, err) == (0, "")
    assert "24 series of 8 to 12 steps" in out
    expected = package.SVC(kernel=GlobalAlignment(2)).fit(series, y)
    found = open_model(model)
    np.testing.assert_array_equal(
        found.model.decision_function(series), expected.decision_function(series)
    )
    code, out, _ = mercer("predict", model, path)
    assert code == 0
    assert [int(word) for word in out.split()[1:]] == expected.predict(series).tolist()
    rows[3][4] = "NaN"  # a gap
    code, _, err = mercer("predict", model, write(tmp_path / "gap.csv", rows))
    assert code == 1
    assert "row 3" in err
    assert "Traceback" not in err


def test_sets_of_words(mercer, tmp_path):
    baskets = ["milk, bread", "milk;eggs bread", "eggs, bread", "beer|chips", "beer", "chips beer,"]
    y = ["home"] * 3 + ["party"] * 3
    path = write(tmp_path / "s.csv", [("kind", "basket"), *zip(y, baskets, strict=True)])
    model = tmp_path / "m.mercer"
    words = ["--target", "kind", "--kernel", "jaccard", "-o", model]
    code, out, err = mercer("train", path, *words, "--verify")
    assert (code, err) == (0, "")
    assert "6 sets of the column 'basket'" in out
    sets = [{"milk", "bread"}, {"milk", "eggs", "bread"}, {"eggs", "bread"}]
    sets += [{"beer", "chips"}, {"beer"}, {"chips", "beer"}]
    assert open_model(model).model.kernel_ == Jaccard()
    expected = package.SVC(kernel=Jaccard()).fit(sets, y)
    np.testing.assert_array_equal(
        open_model(model).model.decision_function(sets), expected.decision_function(sets)
    )
    assert mercer("predict", model, path)[1].split()[1:] == expected.predict(sets).tolist()


def test_texts_without_a_kernel_on_them_name_one(mercer, tmp_path):
    words = ["cash", "prize", "lunch", "home"]
    texts = [f"{words[i % 4]} {words[i // 4 % 4]} {i}" for i in range(96)]
    rows = [("text", "class"), *((text, "ab"["home" in text]) for text in texts)]
    path, model = write(tmp_path / "t.csv", rows), tmp_path / "m.mercer"
    code, _, err = mercer("train", path, "-o", model)
    assert code == 1
    assert "or learn from its texts: --text text with --kernel spectrum" in err
    code, out, err = mercer("train", path, "--text", "text", "--kernel", "spectrum", "-o", model)
    assert (code, err) == (0, "")
    assert "96 texts of the column 'text'" in out
    assert re.search(r"^columns +'text', of texts$", mercer("inspect", model)[1], re.MULTILINE)
