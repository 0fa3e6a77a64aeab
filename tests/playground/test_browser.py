"""The playground in Chromium: real clicks and keys, and what is then on the screen."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from mercer.playground import State
from mercer.playground._presets import preset
from tests.playground.browser import Browser, missing

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

EMPTY = "data=" + State(points=()).to_query().partition("=")[2]


def test_draw_two_classes(page: Browser, address: str):
    page.click("#clear")
    assert page.situation == "empty"
    assert "click into the plane" in page.text("#why-text")
    page.mouse((-2.0, 0.0))
    assert page.situation == "one-class-only"
    page.click("[data-tool='1']")
    page.mouse((2.0, 0.0))
    assert page.count == 2
    state = State.from_query(page.driver.current_url.partition("?")[2])
    assert [label for *_, label in state.points] == [0, 1]
    assert np.allclose(state.X, [[-2, 0], [2, 0]], atol=0.02)
    left, right = page.hue(-2.0, 2.0), page.hue(2.0, 2.0)
    assert left[0] > left[2]  # vermilion where class A was drawn, blue where B was
    assert right[2] > right[0]


def test_slow_presses_are_clicks_too(page: Browser):
    page.mouse((3.0, 3.0), hold_seconds=0.7)
    assert page.count == 81


def test_drag_moves_a_point_and_undo_brings_it_back(page: Browser):
    x, y, _ = preset("moons")[0]
    before = page.picture()
    page.mouse((x, y), (x - 0.1, y + 0.2), (0.0, 3.0))
    assert page.count == 80
    state = State.from_query(page.driver.current_url.partition("?")[2])
    assert np.allclose(state.points[0][:2], (0.0, 3.0), atol=0.02)
    assert not np.array_equal(page.picture(), before)
    page.click("#undo")
    assert page.driver.current_url.endswith("/")
    page.mouse((3.9, -3.9), press=False)  # away from all points
    assert np.abs(page.picture() - before).mean() < 1e-3


def test_erase_and_delete(page: Browser):
    x, y, _ = preset("moons")[5]
    page.click("[data-tool='4']")
    page.mouse((x, y))
    assert page.count == 79
    page.click("[data-tool='0']")
    x, y, _ = preset("moons")[40]
    page.mouse((x, y))  # selects
    page.keys("\ue017")
    assert page.count == 78
    page.keys("z", "z")
    assert page.count == 80


def test_kernel_and_slider_change_the_picture(page: Browser):
    curved, rows = page.picture(), page.text("#rows")
    page.choose("#kernel", "linear")
    assert page.text("#formula") == "x·z"
    assert page.text("#rows") != rows
    assert page.situation == "errors"
    assert np.abs(page.picture() - curved).mean() > 0.01
    before = page.text("#value-C")
    page.keys("\ue014", "\ue014", at="#parameter-C")
    assert float(page.text("#value-C")) > float(before)
    assert "C=" in page.driver.current_url
    page.click("#hard-C")
    assert page.situation == "not-separable"
    assert page.text("#value-C") == "∞"


def test_a_kernel_is_typed(page: Browser):
    assert not page.find("#written").is_displayed()
    page.choose("#kernel", "formula")
    assert page.find("#written").get_attribute("value") == State().formula
    assert page.text("#understood") == "= RBF(gamma=0.5) + 0.1 * Linear()"
    page.run("document.querySelector('#written').select()")
    page.keys("(1 + x.z)^2", "\ue007", at="#written")  # letters are not keys of the page here
    assert page.count == 80
    assert page.text("#understood") == "= Polynomial(degree=2, gamma=1.0, coef0=1.0)"
    assert page.run("return document.querySelector('#parameter-gamma')") is None  # no γ in it
    state = State.from_query(page.driver.current_url.partition("?")[2])
    assert (state.kernel, state.formula) == ("formula", "(1 + x.z)^2")
    before = page.picture()
    page.run("document.querySelector('#written').select()")
    page.keys("rbf - linear", "\ue007", at="#written")
    assert "a difference of kernels need not be one" in page.text("#understood")
    assert page.find("#written").get_attribute("aria-invalid") == "true"
    assert page.find("#written").get_attribute("value") == "rbf - linear"
    assert np.array_equal(page.picture(), before)  # the last picture is kept
    page.run("document.querySelector('#written').select()")
    page.keys("rbf + linear", "\ue007", at="#written")
    assert page.find("#written").get_attribute("aria-invalid") == "false"
    assert page.find("#parameter-gamma").is_displayed()


def test_step_mode_draws_the_box(page: Browser):
    assert not page.find("#box-panel").is_displayed()
    page.keys("s")
    assert page.situation == "step-start"
    page.keys("s")
    assert page.situation in ("step-inside", "step-clipped")
    assert page.find("#box-panel").is_displayed()
    box = page.picture("#box")
    page.keys("s", "s", "s")
    assert page.text("#step-count") == "after 4"
    assert np.abs(page.picture("#box") - box).mean() > 1e-3
    page.keys("b")
    assert page.text("#step-count") == "after 3"
    page.keys("r")
    page.until(lambda: page.situation == "step-over")
    page.until(lambda: page.text("#run") == "Run")  # it stopped by itself
    page.click("#finish")
    assert page.situation == "soft-margin"


@pytest.mark.parametrize(
    "query",
    [
        "data=overlapping&kernel=laplacian&C=3.0&gamma=1.5",
        "data=xor&step=7",
        "machine=svr&data=sine",
        State(points=((0.0, 1.0, 1), (0.0, -1.0, 0)), kernel="linear", C=0.25).to_query(),
    ],
)
def test_a_shared_link_opens_the_same_picture(browser: Browser, address: str, query: str):
    browser.open(f"{address}?{query}")
    browser.mouse((3.95, -3.95), press=False)
    link, words, pixels = browser.driver.current_url, browser.words, browser.picture()
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    try:
        browser.open(link)
        browser.mouse((3.95, -3.95), press=False)
        assert browser.driver.current_url == link
        assert browser.words == words
        assert np.array_equal(browser.picture(), pixels)
    finally:
        browser.driver.close()
        browser.driver.switch_to.window(first)


def test_exported_code_is_that_of_the_picture(page: Browser, capsys):
    page.choose("#preset", "xor")
    made: dict = {"__name__": "exported"}
    exec(page.text("#code"), made)
    assert made["model"].score(made["X"], made["y"]) == 1.0
    query = "[...document.querySelectorAll('#rows td')].map((cell) => cell.textContent)"
    cells = page.run(f"return {query}")
    shown = dict(zip(cells[::2], cells[1::2], strict=True))
    assert float(shown["primal"]) == pytest.approx(made["model"].certificate_.primal, rel=1e-5)
    page.find(".code details summary").click()
    page.watch("#copy")
    page.find("#copy").click()
    page.until(lambda: "Copied" in page.watched)
    assert page.driver.execute_async_script(
        "const done = arguments[0]; navigator.clipboard.readText().then(done, () => done(null))"
    ) in (page.text("#code"), None)


def test_a_button_pressed_twice_gets_its_name_back(page: Browser):
    """The second press comes while the button says "Copied" instead of its name."""
    name = page.text("#share")
    page.watch("#share")
    page.run(
        "const button = document.querySelector('#share'); const again = new MutationObserver(() =>"
        " { again.disconnect(); button.click(); }); again.observe(button, {childList: true});"
        "button.click()"
    )
    page.until(lambda: page.watched.count(name) == 2)
    assert page.watched[0] == "Copied"
    assert page.text("#share") == name


def test_a_file_is_read(page: Browser, tmp_path: Path):
    good = tmp_path / "trees.csv"
    good.write_text("width,height,kind\n1,1,oak\n2,1,oak\n1,2,elm\n2,2,elm\n")
    page.find("#file").send_keys(str(good))
    page.until(lambda: page.count == 4)
    assert "classes elm, oak" in page.text("#message")
    assert [page.text(f"[data-tool='{k}'] span") for k in (0, 1, 2)] == ["elm", "oak", "C"]
    assert page.run(AXIS_NAMES) == ["width", "height"]
    bad = tmp_path / "bad.csv"
    bad.write_text("1,2\n3,high\n")
    page.find("#file").send_keys(str(bad))
    page.until(lambda: "ine 2 of the file" in page.text("#message"))
    assert "error" in page.find("#message").get_attribute("class")
    assert page.count == 4


AXIS_NAMES = (
    "const plane = Bokeh.documents[0].get_model_by_name('plane');"
    "return [plane.below[0].axis_label, plane.left[0].axis_label]"
)


def test_a_busy_sign_until_the_picture_is_that_of_the_settings(page: Browser):
    page.run(
        "window.seen = []; new MutationObserver(() => window.seen.push(document.body.className))"
        ".observe(document.body, {attributes: true, attributeFilter: ['class']})"
    )
    assert page.run("return document.body.className") == ""
    page.choose("#kernel", "laplacian")
    assert page.watched[0] == "busy"
    assert page.watched[-1] == ""
    page.run("document.body.classList.add('busy')")  # an answer that takes long
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    page.until(lambda: page.run(style, "#busy", "visibility") == "visible")
    page.until(lambda: float(page.run(style, "#plane", "opacity")) < 0.5)
    assert "Computing" in page.text("#busy")


def test_all_by_keyboard(page: Browser):
    page.click("#clear")
    right, down, enter = "\ue014", "\ue015", "\ue007"
    page.keys("1", right, right, right, enter, at="#plane")
    page.keys("2", down, down, enter, at="#plane")
    state = State.from_query(page.driver.current_url.partition("?")[2])
    assert state.points == ((0.4, 0.0, 0), (0.4, -0.4, 1))
    page.keys("z")
    assert page.count == 1
    page.keys("y")
    assert page.count == 2
    page.keys("\ue017")
    assert page.count == 1
    unnamed = page.run(
        "return [...document.querySelectorAll('button, select, input, [tabindex=\"0\"]')]"
        ".filter((e) => !(e.labels?.length || e.textContent.trim() || e.ariaLabel))"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    assert [html for html in unnamed if "bk-" not in html] == []


WORDS_THAT_BEGIN = (
    "const texts = []; const walk = (root) => { for (const e of root.querySelectorAll('*')) {"
    " if (e.shadowRoot) walk(e.shadowRoot); if (!e.children.length) texts.push(e.textContent);"
    "} }; walk(document); return texts.filter((t) => t.startsWith(arguments[0]))"
)


def test_alpha_is_told_on_hover(page: Browser):
    x, y, _ = preset("moons")[0]
    page.mouse((x, y), press=False)
    told: list[str] = []

    def is_told() -> bool:
        told[:] = page.run(WORDS_THAT_BEGIN, "point 1,")
        return bool(told)

    page.until(is_told)
    assert "α = " in told[0]
    assert "f = " in told[0]


POINTED = (
    "const sources = Bokeh.documents[0].get_model_by_name('plane').renderers.map((r) =>"
    " r.data_source.data); const ring = sources.find((d) => 'x' in d && Object.keys(d).length === 2"
    " && !('xs' in d)); return [[...ring.x], [...ring.y]]"
)
VIEWS = """return ['bars', 'parts', 'matrix', 'lifted'].map(
  (id) => document.getElementById(id).toDataURL())"""


def test_a_row_is_highlighted_in_all_views(page: Browser):
    from selenium.webdriver.common.action_chains import ActionChains

    x, y, _ = preset("moons")[7]
    before = page.run(VIEWS)
    page.mouse((x, y), press=False)  # from the plane
    page.until(lambda: "point 8," in page.text("#row-note"))
    assert page.run("return window.linked.pointedAt()") == 7
    assert page.run(POINTED) == [[x], [y]]
    assert all(now != old for now, old in zip(page.run(VIEWS), before, strict=True))
    page.mouse((3.9, -3.9), press=False)
    page.until(lambda: page.run(POINTED) == [[], []])
    page.until(lambda: page.run(VIEWS) == before)
    matrix = page.find("#matrix")  # from the matrix: the entry, and the point of its row
    ActionChains(page.driver).move_to_element_with_offset(matrix, 30, -40).perform()
    page.until(lambda: page.text("#row-note").startswith("k(x"))
    number = page.run("return window.linked.pointedAt()")
    assert page.run(POINTED) == [[c] for c in State().points[number][:2]]
    ActionChains(page.driver).move_to_element_with_offset(matrix, 30, 36).perform()
    page.until(lambda: page.run("return window.linked.pointedAt()") != number)
    pair = re.findall("x([₀-₉]+)", page.text("#row-note"))
    near = [State().points[int("".join(str("₀₁₂₃₄₅₆₇₈₉".index(c)) for c in n)) - 1] for n in pair]
    value = math.exp(-0.5 * sum((near[0][c] - near[1][c]) ** 2 for c in (0, 1)))
    assert f"= {value:.3g};" in page.text("#row-note")
    page.keys("\ue010", "\ue012", at="#row")  # by keyboard: the last row but one
    rows = sorted(range(80), key=lambda i: State().points[i][2])

    def is_pointed_at() -> bool:
        return page.run("return window.linked.pointedAt()") == rows[-2]

    page.until(is_pointed_at)
    assert f"point {rows[-2] + 1}," in page.find("#row").get_attribute("aria-valuetext")
    page.choose("#kernel", "linear")  # the row stays the same in the next picture
    page.until(is_pointed_at)
    flat = page.run(VIEWS)[-1]
    page.keys("\ue012", at="#lifted")  # the lift is turned by keys
    page.until(lambda: page.run(VIEWS)[-1] != flat)


def test_points_are_held_out_and_the_map_is_clicked(browser: Browser, address: str):
    from selenium.webdriver.common.action_chains import ActionChains

    browser.open(f"{address}?data=overlapping&C=1000.0&gamma=30.0")
    assert browser.text("#errors") == ""
    browser.click("#hold")
    assert "folds=5" in browser.driver.current_url
    assert "held-out error" in browser.text("#errors")
    assert "Over-fitting" in browser.text("#verdict")
    place = browser.find("#map")
    ActionChains(browser.driver).move_to_element_with_offset(place, 20, 20).perform()
    browser.until(lambda: bool(browser.run(WORDS_THAT_BEGIN, "C = ")))
    (told,) = browser.run(WORDS_THAT_BEGIN, "C = ")
    ActionChains(browser.driver).click().perform()
    browser.settle()
    state = State.from_query(browser.driver.current_url.partition("?")[2])
    assert told.startswith(f"C = {state.C:.3g}, γ = {state.gamma:.3g}: held-out error")
    browser.click("#hold")
    assert browser.text("#errors") == ""


def test_a_broken_link_says_so(browser: Browser, address: str):
    browser.open(f"{address}?C=abc")
    assert "C must be a number, got 'abc'" in browser.text("#message")
    assert browser.count == 80
