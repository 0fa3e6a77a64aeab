"""Pictures by name, and files: whole, self-contained, or refused."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_moons

import mercer
from mercer.exceptions import FileError
from mercer.plots import KINDS, draw, write_figure

X, y = make_moons(60, noise=0.2, random_state=0)


@pytest.fixture(scope="module")
def linear():
    return mercer.SVC(kernel="linear").fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_and_written(kind, tmp_path, linear):
    machines = {"tube": mercer.SVR(), "path": mercer.LinearSVC(loss="hinge")}
    machines["landscape"] = mercer.SVC()  # its kernel has a γ
    machines["reliability"] = mercer.KernelLogisticRegression()
    model = machines.get(kind, linear)
    if kind in machines:
        model = model.fit(X, y)
    display = draw(kind, model, X, y, sample_weight=np.ones(y.size))
    assert plt.get_fignums() == []  # pyplot knows nothing of it
    for suffix in (".png", ".svg", ".html"):
        path = tmp_path / f"{kind}{suffix}"
        write_figure(display, path)
        assert path.stat().st_size > 2000
    assert KINDS[kind].summary
    assert display.description.endswith(".")


def test_a_page_needs_nothing_else(tmp_path, linear):
    path = tmp_path / "model.html"
    write_figure(draw("boundary", linear, X, y), path, title="Moons <1>")
    page = path.read_text(encoding="utf-8")
    assert "<title>Moons &lt;1&gt;</title>" in page
    assert "Moons <1>" not in page
    urls = set(re.findall(r"(?:src|href)=\"(?!#)([^\"]+)", page))
    assert not {url for url in urls if url.startswith(("http", "//"))}
    for label, value in linear.certificate_.rows():
        assert label in page
        assert value in page
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    root = ET.fromstring(svg)
    assert root.attrib["role"] == "img"
    described = root.find("{http://www.w3.org/2000/svg}desc").text
    assert "60" in described or "30 points" in described


def test_equal_pictures_are_equal_files(tmp_path, linear):
    for name in ("a.svg", "b.svg"):
        write_figure(draw("boundary", linear, X, y), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_plain_figures_are_written_too(tmp_path):
    figure, ax = plt.subplots()
    ax.plot([0, 1])
    write_figure(figure, tmp_path / "plain.html", title="Line", alt="A line")
    assert "A line" in (tmp_path / "plain.html").read_text(encoding="utf-8")


def test_other_endings_are_refused_and_nothing_is_written(tmp_path, linear):
    with pytest.raises(ValueError, match=r"must end in \.png, \.svg, \.pdf, \.html"):
        write_figure(draw("weights", linear, X, y), tmp_path / "model.bmp")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, linear):
    path = tmp_path / "model.png"
    path.write_bytes(b"old")
    display = draw("weights", linear, X, y)
    monkeypatch.setattr("os.replace", lambda *args: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(FileError, match=r"model\.png: cannot be written: disk"):
        write_figure(display, path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["model.png"]


def test_unknown_kinds_are_named(linear):
    with pytest.raises(ValueError, match="kind must be one of boundary, tube"):
        draw("banana", linear, X, y)
