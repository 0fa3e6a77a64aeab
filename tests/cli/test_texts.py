"""Columns of texts on the command line and in `read_table`."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import mercer as package
from mercer.data import read_table
from mercer.exceptions import FileError
from mercer.kernels import GappedKmer, Normalize, Spectrum
from mercer.persistence import open_model

WORDS = {"spam": "win free cash, call now!", "ham": "see you at “home”\nok none"}


@pytest.fixture
def file(tmp_path):
    """Messages with quotes, commas, line breaks, words for missing values, and an empty one."""
    rng = np.random.default_rng(0)
    rows = [("kind", "number", "message")]
    for i in range(80):
        kind = "spam" if rng.random() < 0.5 else "ham"
        text = " ".join(rng.choice(WORDS[kind].split(" "), 5))
        rows.append((kind, i, "" if i == 7 else "none" if i == 8 else text))
    path = tmp_path / "texts.csv"
    with open(path, "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(rows)
    return path, [row[2] for row in rows[1:]], [row[0] for row in rows[1:]]


def test_texts_are_read_as_they_are_written(file):
    path, texts, labels = file
    found = read_table(path, target="kind", text="message")
    assert found.X.tolist() == texts
    assert found.y.tolist() == labels
    assert found.schema.text == "message"
    assert found.schema.labels == ("ham", "spam")
    again = read_table(path, schema=found.schema)
    assert again.X.tolist() == texts
    assert again.y.tolist() == labels
    assert read_table(path, target="kind", text=True, drop=["number"]).X.tolist() == texts


def test_the_column_of_texts_must_be_told(file, tmp_path):
    path, *_ = file
    with pytest.raises(FileError, match=r"2 columns besides the target \('number', 'message'\)"):
        read_table(path, target="kind", text=True)
    with pytest.raises(FileError, match="did you mean 'message'"):
        read_table(path, target="kind", text="mesage")
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:2\n-1 2:3\n", encoding="utf-8")
    with pytest.raises(FileError, match="needs a file with names"):
        read_table(rows, text=True)


def test_rows_without_a_target_are_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("y,text\n1.5,a\n,b\n2.5,c\n3.25,d\n", encoding="utf-8")
    found = read_table(path, text=True)
    assert found.X.tolist() == ["a", "c", "d"]
    assert found.y.tolist() == [1.5, 2.5, 3.25]
    assert found.schema.task == "regression"
    assert "1 row without a target" in found.notes[0]


def test_parquet(file, tmp_path):
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    _, texts, labels = file
    table = pa.table({"kind": labels, "message": texts})
    parquet.write_table(table, tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", target="kind", text=True)
    assert found.X.tolist() == texts
    assert found.y.tolist() == labels


def test_train_predict_verify(file, mercer, tmp_path):
    path, texts, labels = file
    model = tmp_path / "m.mercer"
    words = ["--target", "kind", "--text", "message", "-C", 10, "-o", model, "--cv", 3]
    kernel = ["--kernel", "spectrum", "--kernel-parameter", "k=2,3", "--normalize"]
    code, out, err = mercer("train", path, *words, *kernel, "--verify")
    assert (code, err) == (0, "")
    assert "80 texts of the column 'message'" in out
    found = open_model(model)
    assert found.model.kernel_ == Normalize(Spectrum((2, 3)))
    expected = package.SVC(kernel=Normalize(Spectrum((2, 3))), C=10).fit(texts, labels)
    np.testing.assert_array_equal(
        found.model.decision_function(texts), expected.decision_function(texts)
    )
    code, out, _ = mercer("predict", model, path)
    rows = list(csv.DictReader(out.splitlines()))
    assert code == 0
    assert [next(iter(row.values())) for row in rows] == expected.predict(texts).tolist()
    code, out, _ = mercer("verify", model, path)
    assert code == 0
    assert "holds" in out


def test_every_kernel_on_texts_has_a_name(file, mercer, tmp_path):
    path, *_ = file
    words = ["--target", "kind", "--text", "message", "-o", tmp_path / "m.mercer", "--quiet"]
    code, _, err = mercer(
        "train", path, *words, "--kernel", "gapped_kmer", "--kernel-parameter", "g=5",
        "--kernel-parameter", "m=2",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert open_model(tmp_path / "m.mercer").model.kernel_ == GappedKmer(5, 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kernel", "rbf", "--text", "message"], "needs a kernel on texts"),
        (["--kernel", "rbf", "--normalize"], "--normalize is for kernels on texts"),
        (["--kernel", "rbf", "--kernel-parameter", "k=2"], "see --gamma and --degree"),
        (["--kernel", "spectrum", "--kernel-parameter", "q=2"], "with one of k"),
        (["--kernel", "spectrum", "--kernel-parameter", "k=x"], "'x' is no number"),
        (["--kernel", "spectrum", "--kernel-parameter", "k=0"], "k must be an integer"),
        (["--kernel", "spectrum"], "name the --text column"),
    ],
)
def test_wrong_options_are_one_line(file, mercer, words, message, tmp_path):
    path, *_ = file
    base = ["train", path, "--target", "kind", "-o", tmp_path / "m.mercer"]
    if words[1] == "spectrum" and len(words) > 2:
        base += ["--text", "message"]
    if words[1] == "rbf" and "--text" not in words:
        base += ["--drop", "message"]
    code, _, err = mercer(*base, *words)
    assert code != 0
    assert err.count("\n") == 1
    assert message in err


def test_a_quoted_empty_cell_is_a_text_and_an_empty_line_is_none(tmp_path, file):
    schema = read_table(file[0], target="kind", text="message").schema
    new = tmp_path / "new.csv"
    new.write_text('message\nab\n\n   \n""\n"c\n\nd"\n', encoding="utf-8")
    assert read_table(new, schema=schema).X.tolist() == ["ab", "", "c\n\nd"]
