"""Cases, the store of runs, and the report."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.cases import CASES, default_parameters, prepare
from benchmarks.data import MissingData, load
from benchmarks.peers import PEERS, expand_names
from benchmarks.report import geometric_mean, markdown, replace_section, summary, table
from benchmarks.runs import Store, machine


def _run(case: str, peer: str, seconds: float, **more) -> dict:
    return {
        "case": case,
        "peer": peer,
        "parameters": CASES[case].as_dict(),
        "cache_mb": 4000,
        "shape": [1000, 10],
        "first_fit_seconds": 2 * seconds,
        "fit_seconds": seconds,
        "others_cores": 0.0,
        "predict_seconds": seconds / 10,
        "kkt_violation": 9e-4,
        "relative_gap": 1e-5,
        "dual": 12.5,
        "test_score": 0.9,
        "n_sv": 100,
        "peak_mb": 50.0,
        "version": "1",
        **more,
    }


def _floors(seconds: float) -> dict:
    return {"floor_float32_seconds": seconds, "floor_float64_seconds": 2 * seconds}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    return tmp_path


def test_dense_set_is_split_and_standardised(folder):
    rng = np.random.default_rng(0)
    np.savez(folder / "cadata.npz", X=rng.normal(3, 2, size=(500, 4)), y=rng.normal(7, 3, size=500))
    data = prepare(CASES["cadata"])
    assert (len(data.y), len(data.y_test)) == (400, 100)
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1)
    assert data.y.std() == pytest.approx(1)


def test_sparse_set_and_default_gamma(folder):
    parts = {"data": [1.0, 2.0, 3.0], "indices": [0, 1, 1], "indptr": [0, 2, 3], "shape": [2, 2]}
    test_parts = {f"test_{name}": value for name, value in parts.items()}
    np.savez(folder / "a9a.npz", **parts, y=[1, -1], **test_parts, y_test=[1, -1])
    data = prepare(default_parameters(CASES["a9a"]))
    dense = np.array([[1.0, 2.0], [0.0, 3.0]])
    np.testing.assert_array_equal(data.X.toarray(), dense)
    assert data.gamma == pytest.approx(1 / (2 * dense.var()))


def test_missing_data_says_where_it_looked(folder):
    with pytest.raises(MissingData, match=r"kin40k: no file kin40k\.npz in MERCER_DATA"):
        load("kin40k")


def test_sklearnex_is_two_peers():
    assert expand_names("sklearn,sklearnex") == ["sklearn", "sklearnex", "sklearnex-float32"]
    with pytest.raises(ValueError, match="unknown peers libsvm"):
        expand_names("libsvm")


def test_a_peer_that_is_not_installed_is_reported():
    absent = replace(PEERS["thundersvm"], package="no_such_package")
    assert absent.missing() == "not installed (pip install thundersvm-cpu)"
    assert PEERS["sklearn"].missing() is None


def test_geometric_mean():
    assert geometric_mean([2, 8]) == pytest.approx(4)
    assert math.isnan(geometric_mean([]))


def test_table_is_aligned():
    lines = table(["case", "s"], [["a", "1.25"], ["longer", "3"]]).splitlines()
    assert len({len(line) for line in lines}) == 1


def test_store_keeps_good_runs_only(tmp_path):
    path = tmp_path / "runs.json"
    store = Store(str(path), reuse=True)
    store.add(_run("a9a", "sklearn", 3.0))
    store.add({"case": "a9a", "peer": "thundersvm", "failed": "No module named 'thundersvm'"})
    again = Store(str(path), reuse=True)
    assert again.find("a9a", "sklearn")["fit_seconds"] == 3.0
    assert again.find("a9a", "thundersvm") is None
    again.add(_run("a9a", "sklearn", 2.0, others_cores=0.9))
    assert Store(str(path), reuse=True, quiet=0.5).find("a9a", "sklearn") is None
    assert len(json.loads(path.read_text(encoding="utf-8"))["runs"]) == 2
    assert Store(str(path), reuse=False).find("a9a", "sklearn") is None


def test_ratios_and_failures_are_reported():
    runs = [
        _run("a9a", "mercer", 1.0, **_floors(0.25)),
        _run("a9a", "sklearn", 2.0),
        _run("letter", "mercer", 1.0, **_floors(0.5)),
        _run("letter", "sklearn", 8.0),
        {
            "case": "letter",
            "peer": "thundersvm",
            "failed": "not finished after 900 s",
            "parameters": CASES["letter"].as_dict(),
            "cache_mb": 4000,
        },
    ]
    for text in (summary(runs), markdown(runs, machine())):
        mean = next(line for line in text.splitlines() if line.startswith("| geometric mean"))
        assert "4.0×" in mean
        assert "thundersvm on letter: not finished after 900 s" in text
        assert "–" in text


def test_disturbed_runs_enter_no_ratio():
    runs = [
        _run("a9a", "mercer", 1.0, **_floors(0.25)),
        _run("a9a", "sklearn", 3.0),
        _run("letter", "mercer", 1.0, **_floors(0.5)),
        _run("letter", "sklearn", 80.0, others_cores=1.0),
    ]
    lines = summary(runs).splitlines()
    assert "80.0*" in next(line for line in lines if line.startswith("| letter"))
    assert "3.0× of 1" in next(line for line in lines if line.startswith("| geometric mean"))


def test_unknown_case_is_a_usage_error(capsys):
    assert main(["kernel", "--cases", "nope"]) == 2
    assert "unknown cases nope" in capsys.readouterr().err


def test_a_section_of_a_page_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n## One\n\nold\n\n## Two\n\nkept\n", encoding="utf-8")
    replace_section(page, "One", "new")
    assert page.read_text(encoding="utf-8") == "# Page\n\n## One\n\nnew\n\n## Two\n\nkept\n"
    with pytest.raises(ValueError, match="0 sections 'Three'"):
        replace_section(page, "Three", "")
