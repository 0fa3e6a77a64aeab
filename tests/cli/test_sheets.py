"""Sheets as programs of other languages write them; messages about files that cannot be used."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest

from mercer.data import read_table
from mercer.persistence import open_model


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def german(path, n=120):
    """A sheet as German programs write it, and its prices."""
    rng = np.random.default_rng(5)
    area = rng.gamma(3, 40, n).round(2)
    price = (1e6 + 25_000 * area + rng.normal(0, 1e4, n)).round(2)
    swap = str.maketrans(",.", ".,")
    lines = ["Nr;Datum;Fläche;Bemerkung;Preis"]
    for i in range(n):
        note = '"sehr\nschön"' if i % 9 == 3 else "gut"
        when = pd.Timestamp("2024-02-01 08:15") + pd.Timedelta(hours=31 * i)
        size, cost = (f"{value:,.2f}".translate(swap) for value in (area[i], price[i]))
        lines.append(f"A-{i};{when:%d.%m.%Y %H:%M};{size};{note};{cost}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return price


def test_the_command_of_doctor_trains_on_a_german_sheet(folder, mercer):
    price = german(folder / "haus.csv")
    code, out, err = mercer("doctor", "haus.csv", "--target", "Preis")
    assert (code, err) == (0, "")
    code, out, err = mercer(*shlex.split(out.splitlines()[-1])[1:], "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["held_out"]["r2"] > 0.9
    schema = open_model("haus.mercer").schema
    assert (read_table("haus.csv", schema=schema).y == price).all()


def test_doctor_tells_what_it_found_before_it_gives_up(folder, mercer):
    rows = "".join(f"n{i},{i / 4},?!,'{i}'\n" for i in range(200))
    (folder / "bad.csv").write_text("name,a,price,b\n" + rows)
    code, out, err = mercer("doctor", "bad.csv", "--target", "price", "--task", "regression")
    assert code == 1
    assert "--drop name" in out
    assert err.count("\n") == 1
    code, out, err = mercer("doctor", "nofile.csv", "--json")
    assert (code, out) == (1, "")


def test_a_label_without_letters_can_be_seen(folder, mercer):
    pytest.importorskip("pyarrow")
    labels = ["a", "b"] * 50 + [""]
    pd.DataFrame({"x": np.arange(101) % 7, "y": labels}).to_parquet("d.parquet")
    assert "('': 1)" in mercer("doctor", "d.parquet")[1]


def test_names_that_come_twice_are_counted(folder, mercer):
    (folder / "d.csv").write_text("a,b,a,y\n1,2,3,0\n2,3,4,1\n")
    _, _, err = mercer("train", "d.csv")
    assert "two columns are named 'a' (the columns 1 and 3); rename one." in err


def test_doctor_reports_names_that_come_twice_with_the_rest(folder, mercer):
    """And its command trains a model that predicts the same file, of which one column is left."""
    rows = "".join(
        f"{i},{i % 7},{'' if i == 3 else i / 9},{i % 5},{i % 2},{i % 2}\n" for i in range(60)
    )
    (folder / "d.csv").write_text("id,a,b,a,y,y\n" + rows)
    code, out, _ = mercer("doctor", "d.csv")
    assert code == 0
    assert "error: Two columns are named 'a' (the columns 2 and 4) (line 1)" in out
    assert "error: Two columns are named 'y' (the columns 5 and 6) (line 1)" in out
    assert "Missing values: 1 (b 1)" in out
    assert "--drop id" in out
    command = shlex.split(out.splitlines()[-1])
    assert mercer(*command[1:], "-q")[0] == 0
    code, out, _ = mercer("predict", "d.mercer", "d.csv")
    assert code == 0
    assert len(out.splitlines()) >= 61
    # A file in which the name is not repeated is another one, and so is the reverse.
    (folder / "other.csv").write_text("id,a,b,c,y,z\n" + rows)
    assert "lacks 'a (column 2)'" in mercer("predict", "d.mercer", "other.csv")[2]
    drop = ("--target", "y", "--missing", "median", "--drop", "z", "--drop", "id", "-q")
    assert mercer("train", "other.csv", *drop)[0] == 0
    assert "two columns are named 'a'" in mercer("predict", "other.mercer", "d.csv")[2]


def test_german_dates_beside_german_numbers(folder, mercer):
    """27.05.2023 has points in it, and is no number with signs between thousands."""
    rng = np.random.default_rng(2)
    area = rng.gamma(3, 40, 150).round(2)
    german = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in 9e3 * area]
    day = [f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.2023" for i in range(150)]
    lines = [f"{day[i]};{german[i]};{str(area[i]).replace('.', ',')}" for i in range(150)]
    (folder / "d.csv").write_text("Kaufdatum;Preis;Fläche\n" + "\n".join(lines) + "\n")
    code, out, _ = mercer("doctor", "d.csv", "--target", "Preis")
    assert code == 0
    assert "Dates (Kaufdatum)" in out
    assert "--decimal ," in out
    read = read_table("d.csv", target="Preis", decimal=",")
    np.testing.assert_allclose(read.y, 9e3 * area, atol=0.005)
    assert read.schema.feature_names[-1] == "Fläche"
    np.testing.assert_array_equal(read.X[:, -1], area)


def test_comments_before_the_names(folder, mercer):
    rows = "".join(f"{i},{i * i % 7},{i % 2}\n" for i in range(40))
    comments = "# exported by a tool, version 3\n#\n# units: mm\n"
    texts = {"plain": "a,b,y\n", "comments": comments + "a,b,y\n", "names": comments + "#a,b,y\n"}
    found = {}
    for name, head in texts.items():
        (folder / f"{name}.csv").write_text(head + rows)
        found[name] = read_table(f"{name}.csv", target="y")
        np.testing.assert_array_equal(found[name].X, found["plain"].X)
        np.testing.assert_array_equal(found[name].y, found["plain"].y)
    assert found["comments"].schema.feature_names == ["a", "b"]
    assert found["names"].schema.feature_names == ["#a", "b"]
    (folder / "bad.csv").write_text(comments + "a,b,y\n" + rows + "1,x,0\n")
    assert "bad.csv:45: column 'b' holds finite numbers" in mercer("train", "bad.csv")[2]
    bare = read_table_of(folder, comments + rows)
    np.testing.assert_array_equal(bare.X, found["plain"].X)


def read_table_of(folder, text):
    (folder / "bare.csv").write_text(text)
    return read_table("bare.csv", target=-1)


def test_numbers_with_signs_are_no_categories(folder, mercer):
    """40 percentages in 300 rows: fewer than there may be categories."""
    lines = "".join(f"{i % 40}%,{i % 10} kg,{i % 7},{i % 2}\n" for i in range(300))
    (folder / "d.csv").write_text("rate,size,a,y\n" + lines)
    _, _, err = mercer("train", "d.csv")
    assert "column 'rate' holds numbers with signs or units (such as '0%')" in err
    assert "--drop rate, or give --categorical rate" in err
    assert mercer("train", "d.csv", "--categorical", "rate", "-q")[0] == 0
    assert "--drop rate" in mercer("doctor", "d.csv")[1]


def test_a_score_that_is_left_out_says_why(folder, mercer):
    (folder / "d.csv").write_text("a,y\n" + "".join(f"{i % 7},{i > 0:d}\n" for i in range(50)))
    (folder / "few.csv").write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(12)))
    assert "held out       not scored: one class has too few rows" in mercer("train", "d.csv")[1]
    assert "held out       not scored: 12 rows are too few" in mercer("train", "few.csv")[1]


def test_a_regression_has_no_reliability(folder, mercer):
    pytest.importorskip("matplotlib")
    pd.DataFrame({"a": range(40), "y": np.arange(40) / 7}).to_csv("d.csv", index=False)
    assert mercer("train", "d.csv", "-q")[0] == 0
    code, _, err = mercer("plot", "reliability", "d.mercer", "d.csv")
    assert code == 1
    assert "is no classifier" in err
    assert "--probability" not in err
    _, _, err = mercer("plot", "weights", "d.mercer", "d.csv")
    assert "--kernel linear or --machine linear-svr" in err


def test_what_is_said_of_the_wrong_order_and_machine(folder, mercer):
    pd.DataFrame({"a": range(40), "y": [0, 1] * 20}).to_csv("d.csv", index=False)
    assert mercer("train", "d.csv", "-q")[0] == 0
    for command in (["verify"], ["plot", "gap"]):
        code, _, err = mercer(*command, "d.csv", "d.mercer")
        assert code == 2
        assert "the model comes before the data: d.mercer d.csv" in err
    code, _, err = mercer("train", "d.csv", "--machine", "perceptron", "--verify")
    assert code == 2
    assert err.strip().endswith("--machine perceptron, which has no certificate")
