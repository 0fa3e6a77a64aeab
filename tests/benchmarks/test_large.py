"""The chart and the tables of large data keep runs of several machines apart."""

from __future__ import annotations

import pytest

from benchmarks import large


def _run(n, seconds, processor):
    figures = dict.fromkeys(("relative_gap", "kkt_violation", "peak_mb", "test_score"), 0.5)
    case = {"case": f"covtype-{n}", "peer": "mercer", "n_sv": 9, "fit_seconds": seconds}
    return case | figures | {"processor": processor}


RUNS = [_run(561_012, 400.0, "two"), _run(25_000, 4.0, "one"), _run(50_000, 9.0, "one")]


def test_a_table_for_each_machine_and_no_line_between_them(monkeypatch, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    page = large._page(RUNS)
    first, _, second = page.partition("On another machine:")
    assert page.startswith("# Performance: large data\n\nAll 561,012 training rows")
    assert [f"| {n} " in first for n in (25000, 50000, 561012)] == [True, True, False]
    assert "| 561012 " in second
    drawn = {}
    monkeypatch.setattr(large, "CHART", tmp_path / "chart.png")
    monkeypatch.setattr(pyplot, "close", lambda figure: drawn.update(axes=figure.axes[0]))
    large._draw(RUNS)
    lines = [line.get_xdata().tolist() for line in drawn["axes"].lines]
    assert lines == [[25_000, 50_000], [561_012]]
    monkeypatch.undo()
    pyplot.close("all")
