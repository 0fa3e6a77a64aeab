"""Linked views of the figures: a row that is chosen in one of them is marked in all."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

from mercer import SVC
from tests.companion.figures import ROOT, SIGNS, TWELVE, fresh, needs_browser, node, used

THIRTEEN, Y = np.vstack([TWELVE, [[4, 4]]]), np.append(SIGNS, -1)
SMO = next(i for i, (name, _) in enumerate(used()) if name == "smo")
SOFT = next(i for i, (name, options) in enumerate(used()) if name == "plane" and "extra" in options)

# What each view of a figure marks: places of rows, counted from 0.
MARKED = """
    const figure = document.querySelectorAll(".mercer-figure")[arguments[0]];
    const lit = (list) => [...list].flatMap((e, i) => (e.classList.contains("mf-lit") ? [i] : []));
    const n = figure.querySelectorAll(".mf-point").length;
    const frames = [...figure.querySelectorAll(".mf-frame")].map((e) =>
        e.getAttribute("visibility") === "visible" ? e : null);
    const at = (e, side) => (e === null ? [] : [Math.round(e.getAttribute(side) / (240 / n))]);
    return {
        plane: lit(figure.querySelectorAll(".mf-point")),
        bars: lit(figure.querySelectorAll(".mf-bars rect")),
        rows: [...at(frames[0], "y"), ...at(frames[1], "y")].sort((a, b) => a - b),
        column: at(frames[2], "x"),
        words: figure.querySelector(".mf-read").textContent,
    };
"""


def point_at(run, driver, figure, selector, across, down):
    """The mouse at a place of an element, in parts of its width and height."""
    from selenium.webdriver.common.action_chains import ActionChains

    node = run(
        "const e = document.querySelectorAll('.mercer-figure')[arguments[0]].querySelector("
        "arguments[1]); e.scrollIntoView({block: 'center'}); return e",
        figure,
        selector,
    )
    size = run("const r = arguments[0].getBoundingClientRect(); return [r.width, r.height]", node)
    away = [round((part - 0.5) * whole) for part, whole in zip((across, down), size, strict=True)]
    ActionChains(driver).move_to_element_with_offset(node, *away).perform()


def press(run, text, count=1):
    run(
        "const figure = document.querySelectorAll('.mercer-figure')[arguments[0]];"
        "const button = [...figure.querySelectorAll('button')].find("
        "(b) => b.textContent === arguments[1]);"
        "for (let i = 0; i < arguments[2]; i++) button.click()",
        SMO,
        text,
        count,
    )


def alone(row):
    return {"plane": [row], "bars": [row], "rows": [row]}


def views(found):
    return {name: found[name] for name in ("plane", "bars", "rows")}


@needs_browser
@pytest.mark.parametrize("figure", [SMO, SOFT], ids=["smo", "plane"])
def test_a_row_pointed_at_in_any_view_is_marked_in_all(driver, page, figure):
    run = fresh(driver, page)
    n = len(THIRTEEN)
    point_at(run, driver, figure, ".mf-bars", 2.5 / n, 0.5)
    assert views(run(MARKED, figure)) == alone(2)
    point_at(run, driver, figure, ".mf-square", 4.5 / n, 9.5 / n)
    found = run(MARKED, figure)
    assert views(found) == alone(9)
    assert found["column"] == [4]
    assert f"k(row 10, row 5) = {THIRTEEN[9] @ THIRTEEN[4]:.3f}" in found["words"]
    point_at(run, driver, figure, ".mf-point:nth-of-type(8)", 0.5, 0.5)
    found = run(MARKED, figure)
    assert views(found) == alone(7)
    assert found["column"] == []
    run(
        "document.querySelectorAll('.mercer-figure')[arguments[0]]"
        ".querySelectorAll('.mf-point')[11].focus()",
        figure,
    )
    point_at(run, driver, figure, ".mf-read", 0.9, 0.9)  # away from all views: the focus counts
    assert views(run(MARKED, figure)) == alone(11)


@needs_browser
def test_a_step_marks_its_pair_and_the_curve_gives_it_back(driver, page):
    run = fresh(driver, page)
    press(run, "Step", 9)
    taken = run(f"return MercerStarted[{SMO}].solver.taken()")
    pair = sorted([taken[-1]["i"], taken[-1]["j"]])
    found = run(MARKED, SMO)
    assert views(found) == {"plane": pair, "bars": pair, "rows": pair}
    assert f"Step 9: rows {taken[-1]['i'] + 1} and {taken[-1]['j'] + 1}" in found["words"]

    dots = (
        f"return document.querySelectorAll('.mercer-figure')[{SMO}]"
        ".querySelector('.mf-dots').getAttribute('d').split('M').length - 1"
    )
    for row in {step["i"] for step in taken}:
        point_at(run, driver, SMO, ".mf-bars", (row + 0.5) / len(THIRTEEN), 0.5)
        assert run(dots) == sum(row in (step["i"], step["j"]) for step in taken)

    # The fourth step of the curve: as many pixels from the left as its place on the axis.
    longest = run(f"return MercerStarted[{SMO}].solver.longest")
    left, right, width = run(
        f"const box = document.querySelectorAll('.mercer-figure')[{SMO}].querySelector("
        "'.mf-under .mf-panel'), axis = box.querySelector('.mf-axis path').getAttribute('d');"
        "const [, from, to] = axis.match(/^M([\\d.]+).*H([\\d.]+)$/); return [from, to, 240]"
    )
    across = (float(left) + 4 / longest * (float(right) - float(left))) / width
    point_at(run, driver, SMO, ".mf-under .mf-panel", across, 0.5)
    pair = sorted([taken[3]["i"], taken[3]["j"]])
    assert views(run(MARKED, SMO)) == {"plane": pair, "bars": pair, "rows": pair}


@needs_browser
def test_what_the_rows_say_sums_to_the_dual_value(driver, page):
    run = fresh(driver, page)
    press(run, "To the end")
    model = SVC(kernel="linear", C=1.0, tol=1e-10).fit(THIRTEEN, Y)
    alpha, total = np.zeros(13), 0.0
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    for row in range(13):
        point_at(run, driver, SMO, ".mf-bars", (row + 0.5) / 13, 0.5)
        said = run(MARKED, SMO)["words"].replace("−", "-")
        place = re.search(
            rf"Row {row + 1} at .*: α = ([\d.]+), y f = ([-\d.]+), .* = ([-\d.]+)\.", said
        )
        found = [float(value) for value in place.groups()]
        f = Y[row] * model.decision_function(THIRTEEN[[row]])[0]
        assert found[:2] == pytest.approx([alpha[row], f], abs=6e-4)
        total += found[2]
    assert total == pytest.approx(model.certificate_.dual, abs=13 * 5e-4)


@needs_browser
def test_a_bar_stays_marked_while_its_point_is_dragged(driver, page):
    from selenium.webdriver.common.action_chains import ActionChains

    run = fresh(driver, page)
    mark = run(
        f"const e = document.querySelectorAll('.mercer-figure')[{SOFT}]"
        ".querySelectorAll('.mf-point')[12]; e.scrollIntoView({block: 'center'}); return e"
    )
    ActionChains(driver).click_and_hold(mark).move_by_offset(8, -8).release().perform()
    assert views(run(MARKED, SOFT)) == alone(12)


@needs_browser
def test_back_takes_a_step_back_and_the_other_rule_has_other_steps(driver, page):
    run = fresh(driver, page)
    state = f"return MercerStarted[{SMO}].solver.taken().map((s) => [s.i, s.j, s.dual])"
    press(run, "Step", 7)
    seven = run(state)
    press(run, "Step")
    press(run, "Back")
    assert run(state) == seven
    run(
        f"const s = document.querySelectorAll('.mercer-figure')[{SMO}].querySelector('select');"
        "s.selectedIndex = 1; s.dispatchEvent(new Event('change'))"
    )
    assert len(run(state)) == 7
    assert run(state) != seven
    press(run, "To the end")
    assert "done" in run(MARKED, SMO)["words"]
    press(run, "Start again")
    assert run(state) == []


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_steps_that_the_page_names():
    """Each rule on the rows of the figure and on the twelve points, to the same optimum."""
    sets = [[X.tolist(), y.tolist()] for X, y in ((THIRTEEN, Y), (TWELVE, SIGNS))]
    found = node(f"""
        const count = (X, y, byGain) => {{
          const s = S.start(X, y, 1, S.kernel("linear"));
          let steps = 0;
          for (let pair; steps < 1000 && (pair = S.select(s, 1e-6, byGain)); steps++) {{
            S.move(s, pair);
          }}
          return [steps, S.describe(s).dual];
        }};
        const both = ([X, y]) => [count(X, y, false), count(X, y, true)];
        console.log(JSON.stringify({json.dumps(sets)}.map(both)));""")
    text = (ROOT / "docs" / "companion" / "smo.md").read_text("utf-8")
    (violating, gain), (plain_violating, plain_gain) = found
    words = (
        f"the maximal violating pair takes {violating[0]} steps, the second order {gain[0]};"
        f" on the twelve points alone {plain_violating[0]} and {plain_gain[0]}."
    )
    assert words in text
    for (X, y), both in zip(((THIRTEEN, Y), (TWELVE, SIGNS)), found, strict=True):
        best = SVC(kernel="linear", C=1.0, tol=1e-10).fit(X, y).certificate_.dual
        assert [dual for _, dual in both] == pytest.approx([best, best], abs=1e-6)


@needs_browser
def test_every_view_is_walked_through_by_keys(driver, page):
    """Bars by row, the matrix by row and column, the curve by step: marked as if pointed at."""
    from selenium.webdriver.common.keys import Keys

    run = fresh(driver, page)
    press(run, "Step", 5)
    taken = run(f"return MercerStarted[{SMO}].solver.taken()")

    def walk(selector, *keys):
        view = run(
            f"return document.querySelectorAll('.mercer-figure')[{SMO}]"
            ".querySelector(arguments[0])",
            selector,
        )
        run("arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus()", view)
        for key in keys:
            view.send_keys(key)
        return run(MARKED, SMO)

    right, down = Keys.ARROW_RIGHT, Keys.ARROW_DOWN
    assert views(walk(".mf-bars", right, right, Keys.ARROW_LEFT, Keys.ARROW_UP)) == alone(2)
    found = walk(".mf-square", *3 * [down], *12 * [right], right)  # the last one has no room
    assert views(found) == alone(3)
    assert found["column"] == [12]
    assert f"k(row 4, row 13) = {THIRTEEN[3] @ THIRTEEN[12]:.3f}" in found["words"]
    pair = sorted([taken[1]["i"], taken[1]["j"]])
    found = views(walk(".mf-under .mf-panel", right))
    assert found == {"plane": pair, "bars": pair, "rows": pair}
    run("document.activeElement.blur()")
    pair = sorted([taken[-1]["i"], taken[-1]["j"]])  # without a choice: the pair of the last step
    assert views(run(MARKED, SMO)) == {"plane": pair, "bars": pair, "rows": pair}
