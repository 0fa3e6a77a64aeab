"""The looping pictures show what their captions say; they can be stopped. Pages by keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mercer import SVC
from tests.companion.figures import SIGNS, TWELVE
from tests.playground.browser import missing, opened

matplotlib = pytest.importorskip("matplotlib")
ROOT = Path(__file__).parent.parent.parent
STATIC = ROOT / "docs" / "_static"
PAGES = sorted((ROOT / "docs" / "companion").glob("*.md"))


@pytest.fixture
def motions(monkeypatch):
    pytest.importorskip("sphinx")
    pytest.importorskip("PIL")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    import motion

    return motion.MOTIONS


def titles(frames) -> list[str]:
    return [figure.axes[0].get_title(loc="left") or figure.axes[0].get_title() for figure in frames]


def widths(frames) -> np.ndarray:
    return np.array([float(re.search(r"width (\d+\.\d+)", text)[1]) for text in titles(frames)])


def test_pages_show_all_of_them(motions):
    found = [re.findall(r"^```\{motion\} (\S+)$", p.read_text("utf-8"), re.M) for p in PAGES]
    assert sorted(name for names in found for name in names) == sorted(motions)


def test_the_outlier_swings_the_boundary(motions):
    """First it changes nothing; at the end the strip is less than half as wide."""
    width = widths(motions["outlier"]())
    assert width[0] == width[1] == pytest.approx(2**0.5, abs=0.01)
    assert (np.diff(width) <= 0).all()
    assert width[-1] < width[0] / 2


def test_the_strip_widens_as_C_falls(motions):
    width = widths(motions["c-sweep"]())
    assert (np.diff(width) >= 0).all()
    assert width[-1] > 2 * width[0]


def test_more_rows_are_ringed_as_bound_as_C_falls(motions):
    """The rings of the last layer: of four rows at C = 1, of twelve at the end."""
    rings = [figure.axes[0].collections[-1] for figure in motions["c-sweep"]()]
    counts = [len(ring.get_offsets()) for ring in rings]
    assert (counts[0], counts[-1]) == (4, 12)
    assert (np.diff(counts) >= 0).all()
    points = np.vstack([TWELVE, [4, 4]])
    model = SVC(kernel="linear", C=1.0, tol=1e-8).fit(points, np.append(SIGNS, -1))
    bound = points[model.support_[np.abs(model.dual_coef_[0]) == 1.0]]
    assert sorted(map(tuple, rings[0].get_offsets())) == sorted(map(tuple, bound))


def test_k_means_ends_in_the_two_rings(motions):
    """The first frame has rows of either ring in both clusters; the last two are the same."""
    frames = [
        [np.array(part.get_offsets()) for part in figure.axes[0].collections]
        for figure in motions["clusters"]()
    ]

    def radii(rows: np.ndarray) -> set[int]:
        return set(np.hypot(*rows.T).round().astype(int).tolist())

    assert [radii(rows) for rows in frames[0]] == [{1, 4}, {1, 4}]
    assert sorted(min(radii(rows)) for rows in frames[-1]) == [1, 4]
    assert all(len(radii(rows)) == 1 for rows in frames[-1])
    for last, before in zip(frames[-1], frames[-2], strict=True):
        np.testing.assert_array_equal(last, before)


def test_coordinate_ascent_moves_along_one_axis_at_a_time(motions):
    *_, last = motions["ascent"]()
    (path,) = last.axes[0].get_lines()
    steps = np.diff(path.get_xydata(), axis=0)
    assert ((steps != 0).sum(axis=1) == 1).all()
    assert np.abs(path.get_xydata()[-1]).max() < 1e-3  # the top is at 0


def test_pegasos_ends_near_the_maximal_margin(motions):
    """The solid line of the last frame has about the slope −1 of the exact one."""
    *_, last = motions["pegasos"]()
    (levels,) = (part for part in last.axes[0].collections if hasattr(part, "levels"))
    x, y = levels.get_paths()[1].vertices.T
    assert np.polyfit(x, y, 1)[0] == pytest.approx(-1, abs=0.25)


PICTURE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Motion</title>
<link rel="stylesheet" href="{css}"><body><article><figure class="picture">
<img class="motion" alt="" src="data:,"><img class="motion-still" alt="" src="data:,">
<figcaption>caption</figcaption></figure></article><script src="{script}"></script>"""


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_reader_can_stop_it_or_ask_for_none(tmp_path):
    page = tmp_path / "page.html"
    text = PICTURE.format(
        css=(STATIC / "mercer.css").as_uri(), script=(STATIC / "reader.js").as_uri()
    )
    page.write_text(text, encoding="utf-8")
    shown = (
        "return [...document.images].filter((i) => getComputedStyle(i).display !== 'none')"
        ".map((i) => i.className)"
    )
    with opened(tmp_path / "profile") as browser:
        browser.driver.get(page.as_uri())
        button = browser.find("button.motion-stop")
        for pressed, expected in ((False, "motion"), (True, "motion-still"), (True, "motion")):
            if pressed:
                button.click()
            assert browser.run(shown) == [expected]
        asked = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", asked)
        assert browser.run(shown) == ["motion-still"]
        assert not button.is_displayed()


WIDE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Wide</title>
<style>pre, .table-wrapper {{ overflow-x: auto; width: 100px; }}</style><body><article>
<pre>short</pre><pre>{letters}</pre><div class="table-wrapper"><table><td>short</table></div>
<div class="table-wrapper"><table><td>{letters}</table></div></article>
<script src="{script}"></script>"""


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_wide_programs_and_tables_can_be_scrolled_by_keys(tmp_path):
    page = tmp_path / "page.html"
    script = (STATIC / "reader.js").as_uri()
    page.write_text(WIDE.format(letters=80 * "x", script=script), encoding="utf-8")
    with opened(tmp_path / "profile") as browser:
        browser.driver.get(page.as_uri())
        reached = (
            "return [...document.querySelectorAll('pre, .table-wrapper')].map((e) => e.tabIndex)"
        )
        assert browser.run(reached) == [-1, 0, -1, 0]
