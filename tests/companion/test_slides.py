"""The slides of a lecture: 90 minutes, what they name exists, each fits its screen."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

from mercer import SVC, check_kernel
from mercer.kernels import Polynomial

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
TEXT = (DOCS / "slides" / "lecture.html").read_text("utf-8")


def test_the_lecture_takes_ninety_minutes():
    assert sum(map(int, re.findall(r'data-minutes="(\d+)"', TEXT))) == 90


def test_everything_named_exists(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import stills

    for name in re.findall(r'(?:src|href)="([^"]+)"', TEXT):
        kind, _, rest = name.partition("/")
        if kind == "_images":
            assert rest.removeprefix("still-").removesuffix(".svg") in stills.STILLS
        elif kind == "companion":
            assert (DOCS / "companion" / rest).with_suffix(".md").exists()
        elif kind == "gallery":
            assert (ROOT / "examples" / rest).with_suffix(".py").exists()
        else:
            assert kind == "_static"
            assert (DOCS / name).exists()
    for options in re.findall(r'data-options="([^"]*)"', TEXT):
        json.loads(html.unescape(options))


def test_numbers_of_the_slides_are_right():
    X = np.reshape(
        [2, 4, 4, 2, 5, 3, 4, 5, 6, 4, 5, 6, 2, 2, 1, 1, 0, 3, 3, 0, 1, -1, -1, 1.0], (12, 2)
    )
    hard = SVC(kernel="linear", C=np.inf, tol=1e-10).fit(X, np.repeat([1, -1], 6))
    assert "w = (1, 1), b = −5, width √2; α = ½, ½, 1" in TEXT
    found = [*hard.coef_[0], *hard.intercept_, hard.certificate_.margin]
    assert found == pytest.approx([1, 1, -5, 2**0.5])
    assert sorted(np.abs(hard.dual_coef_[0])) == pytest.approx([0.5, 0.5, 1])
    assert "(5, 3) and the line" in TEXT
    assert "3/√2 = 2.12" in TEXT
    assert np.abs(X @ [1, 1] - 5)[2] / 2**0.5 == pytest.approx(2.12, abs=0.005)
    cubic = Polynomial(degree=3, coef0=1)
    assert f"{cubic.n_features_out(100):,} features, or {100 + 2} multiplications" in TEXT
    worst = check_kernel(lambda A, B: np.tanh(1 + A @ B.T), np.array([[1.0], [2.0]]))
    assert f"x = 1, 2: eigenvalue {worst.min_eigenvalue:.3f}".replace("-", "−") in TEXT
    measured = (DOCS / "companion" / "generalisation.md").read_text("utf-8")
    assert "the margin bound says 0.87, measured 0.028 ± 0.014" in TEXT
    assert re.search(r"^C = 0.1: .* bound 0.87, measured 0.028", measured, re.MULTILINE)
    assert "0.028 ± 0.014" in measured
    for C, v, width in ((100, 1, 2), (0.5, 1, 2), (0.25, 0.5, 4), (0.1, 0.2, 10)):
        two = SVC(kernel="linear", C=C, tol=1e-10).fit([[0, 1], [0, -1]], [1, -1])
        assert [two.coef_[0, 1], two.certificate_.margin] == pytest.approx([v, width])
    shown = re.findall(r"<tr><th>(?:C|v|width)</th>(.*?)</tr>", TEXT)
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in shown]
    assert rows == [["100", "½", "¼", "0.1"], ["1", "1", "½", "0.2"], ["2", "2", "4", "10"]]
    for C, w, low, high in ((0.5, 1, 0, 0), (0.25, 0.5, -0.5, 0.5)):
        two = SVC(kernel="linear", C=C, tol=1e-10).fit([[0, 1], [0, -1]], [1, -1])
        assert [two.coef_[0, 1], *two.certificate_.bias_interval] == pytest.approx([w, low, high])
        assert np.abs(two.dual_coef_[0]).tolist() == [C, C]


def test_stills_of_the_slides_are_copied_by_a_page_of_the_companion():
    pages = "".join(page.read_text("utf-8") for page in (DOCS / "companion").glob("*.md"))
    for name in re.findall(r"_images/still-([\w-]+)\.svg", TEXT):
        assert f":still: {name}\n" in pages


def test_nothing_comes_from_elsewhere():
    whole = TEXT + (DOCS / "_static" / "slides.js").read_text("utf-8")
    assert re.findall(r"https?:|//\w", re.sub(r"^\s*//.*| // .*$", "", whole, flags=re.M)) == []
