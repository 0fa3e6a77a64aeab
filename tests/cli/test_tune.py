"""``mercer tune``: a model for ``mercer predict``, its held-out score, errors in one line."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer.data import read_table
from mercer.persistence import open_model, save


def tune(mercer, *words):
    return mercer("tune", "demo/tumours.csv", "--target", "diagnosis", "--time-limit", "4", *words)


def test_tune_writes_a_model_that_predict_takes(here, mercer):
    # Long enough for a few candidates on a busy computer: a picture needs them.
    limit = ["--time-limit", "12"]
    code, out, err = tune(mercer, "-o", "tuned.mercer", "--plot", "landscape.png", *limit)
    assert (code, err) == (0, "")
    assert "that the search has not seen (always" in out
    assert "Accuracy = " in out
    assert (here / "landscape.png").read_bytes()[1:4] == b"PNG"
    script = out[out.index("The same model in Python:") :].split("\n", 2)[2]
    script = script[: script.index("model.fit(X, y)")] + "model.fit(X, y)"
    found = open_model("tuned.mercer")
    data = read_table("demo/tumours.csv", schema=found.schema)
    scope = {}
    exec(script, scope)
    np.testing.assert_array_equal(scope["model"].predict(data.X), found.model.predict(data.X))
    code, out, err = mercer("predict", "tuned.mercer", "demo/tumours-new.csv", "-o", "p.csv")
    assert code == 0
    assert float(out.split("Accuracy = ")[1].split("%")[0]) > 80
    # A linear machine may be the best, and probabilities take time.
    has_probabilities = hasattr(found.model, "predict_proba")
    code, _, err = mercer("predict", "tuned.mercer", "demo/tumours-new.csv", "--proba")
    assert (code == 0, "has no predict_proba" in err) == (has_probabilities, not has_probabilities)
    assert mercer("inspect", "tuned.mercer")[0] == 0


def test_the_code_reads_the_file_as_the_command_did(tmp_path, mercer, monkeypatch):
    """Words, missing values and a column that is left out: the code alone makes the model."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, home = rng.normal(size=90), rng.choice(["rent", "own", "other"], 90)
    columns = {"id": np.arange(90), "größe": x, "home": home, "good": x > 0.2 * (home == "own")}
    frame = pd.DataFrame(columns)
    frame.loc[[3, 50], "größe"] = np.nan
    frame.to_csv("d.csv", index=False)
    options = ["--target", "good", "--drop", "id", "--missing", "median", "--time-limit", "4"]
    code, out, _ = mercer("tune", "d.csv", *options, "--json", "-o", "d.mercer")
    assert code == 0
    found, scope = json.loads(out), {}
    exec(found["code"], scope)
    model = open_model("d.mercer")
    data = read_table("d.csv", schema=model.schema)
    np.testing.assert_array_equal(scope["X"], data.X)
    if found["rows_fitted"] == 90:  # there was time for a fit to all rows
        given = scope["model"].predict(scope["X"])
        np.testing.assert_array_equal(given, model.model.predict(data.X))


def test_a_tuned_model_is_verified_on_the_rows_it_was_fitted_to(here, mercer):
    """With a test file these are all of the data, whatever the time allowed."""
    code, _, _ = tune(mercer, "--test", "demo/tumours-new.csv", "-o", "tuned.mercer")
    assert code == 0
    code, out, _ = mercer("verify", "tuned.mercer", "demo/tumours.csv")
    assert code == 0
    assert "holds" in out


@pytest.mark.parametrize("limit", ["1", "8"])
def test_a_tuned_model_is_verified_whether_or_not_it_was_fitted_to_all_rows(here, mercer, limit):
    """Within a second there is no time for the second fit, within eight there may be."""
    code, out, _ = tune(mercer, "--json", "-o", "tuned.mercer", "--time-limit", limit)
    assert code in (0, 3)
    fitted = json.loads(out)["rows_fitted"]
    n = len(pd.read_csv("demo/tumours.csv"))
    code, out, err = mercer("verify", "tuned.mercer", "demo/tumours.csv")
    assert code == 0
    assert "verdict        holds" in out
    assert f"{fitted:,} rows" in out
    assert ("held out are left out" in err) == (fitted < n)


def test_rows_that_were_held_out_are_left_out(here, mercer):
    found = open_model("demo/tumours.mercer")
    data = read_table("demo/tumours.csv", schema=found.schema)
    held = np.arange(3, len(data.y), 5)
    part = clone(found.model).fit(np.delete(data.X, held, 0), np.delete(data.y, held))
    save(part, "part.mercer", schema=replace(found.schema, held_out=held))
    code, out, err = mercer("verify", "part.mercer", "demo/tumours.csv")
    assert (code, err.count("\n")) == (0, 1)
    assert "verdict        holds" in out
    n = len(data.y)
    assert f"fitted to {n - len(held)} of {n} rows; the {len(held)} that the search held" in err
    whole = mercer("predict", "part.mercer", "demo/tumours.csv", "-o", "p.csv")
    assert whole[0] == 0
    assert len(pd.read_csv("p.csv")) == n
    save(part, "other.mercer", schema=found.schema)
    assert mercer("verify", "other.mercer", "demo/tumours.csv")[0] == 1
    save(part, "wrong.mercer", schema=replace(found.schema, held_out=held[::-1]))
    code, _, err = mercer("verify", "wrong.mercer", "demo/tumours.csv")
    assert code == 1
    assert "ascending" in err


def test_json_has_the_numbers(here, mercer):
    code, out, _ = tune(mercer, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["held_out"]["accuracy"] > found["held_out"]["baseline"]["accuracy"]
    assert found["table"][0]["rows"] > 0
    assert "make_pipeline" in found["code"]
    assert found["seconds"] < 60
    assert (here / "tumours.mercer").exists()


def test_a_file_to_test_on(here, mercer):
    code, out, _ = tune(mercer, "--test", "demo/tumours-new.csv", "-o", "t.mercer")
    assert code == 0
    assert "demo/tumours-new.csv" in out
    quiet = tune(mercer, "-q")
    assert quiet == (0, "", "")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["nothing.csv"], "nothing.csv"),
        (["demo/tumours.csv", "--target", "none"], "needs a target"),
        (["demo/tumours.csv", "--target", "diagnosis", "--time-limit", "0"], "time-limit"),
        (["demo/tumours.csv", "--target", "diagnosis", "-o", "no/x.mercer"], "no folder"),
        (["demo/tumours.csv", "--target", "diagnosis", "--plot", "x.gif"], "must end in"),
        (["demo/tumours.csv", "--target", "diagnosis", "--test", "demo/tumours.mercer"], "tumours"),
    ],
)
def test_errors_are_one_line(here, mercer, words, part):
    code, out, err = mercer("tune", *words)
    assert code in (1, 2)
    assert out == ""
    assert err.count("\n") == 1
    assert part in err


@pytest.mark.parametrize("kind", ["validation", "landscape", "learning", "support"])
def test_models_without_targets_have_no_such_plots(here, mercer, kind):
    train = ["train", "demo/tumours.csv", "--target", "diagnosis", "--machine", "oneclass"]
    assert mercer(*train, "-o", "one.mercer")[0] == 0
    code, out, err = mercer("plot", kind, "one.mercer", "demo/tumours.csv", "-o", "x.png")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("mercer: one.mercer: oneclass has no ")


@pytest.mark.parametrize("kind", ["validation", "landscape", "learning", "support"])
def test_plots_of_searches(here, mercer, kind):
    where = f"{kind}.png"
    code, _, err = mercer("plot", kind, "demo/tumours.mercer", "demo/tumours.csv", "-o", where)
    assert (code, err) == (0, "")
    assert (here / where).read_bytes()[1:4] == b"PNG"


def test_findings_are_told_in_options(tmp_path, mercer):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 2)).round(4)
    table = {"höhe": X[:, 0], "b": X[:, 1], "fest": 7, "firm": "ACME", "label": X[:, 0] > 0}
    pd.DataFrame(table).to_csv(tmp_path / "d.csv", index=False)
    words = ["tune", tmp_path / "d.csv", "--time-limit", "2", "-o", tmp_path / "m"]
    code, out, _ = mercer(*words)
    assert code in (0, 3)
    assert "  note: Constant columns: 2 (fest, firm=ACME): --drop fest --drop firm\n" in out
