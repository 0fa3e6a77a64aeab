"""The figures of the companion: their solver against Mercer, and each of them in Chromium."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from mercer import SVC, KernelLogisticRegression
from mercer.duality import Program
from tests.companion.figures import (
    FIGURES,
    PAGES,
    ROOT,
    SCRIPTS,
    SIGNS,
    TWELVE,
    fresh,
    needs_browser,
    node,
    used,
)
from tests.playground.browser import Browser, axe_missing

CLOSE = 1e-6
REACTION_MS = 100


def problems() -> list[tuple[np.ndarray, np.ndarray, float, str, float]]:
    """The twelve points and random ones, hard and soft, straight and Gaussian."""
    rng = np.random.default_rng(0)
    found = [(TWELVE, SIGNS, C, "linear", 1.0) for C in (np.inf, 2.0, 0.5, 0.1)]
    found += [(TWELVE, SIGNS, C, "rbf", 0.1) for C in (np.inf, 10.0, 0.3)]
    for _ in range(5):
        X = rng.normal(size=(15, 2))
        y = np.where(X[:, 0] + rng.normal(size=15) > 0, 1, -1)
        found += [(X, y, 1.0, "linear", 1.0), (X, y, 5.0, "rbf", 0.7)]
    return found


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_solver_agrees_with_mercer():
    cases = problems()
    data = [[X.tolist(), y.tolist(), 1e300 if np.inf == C else C, k, g] for X, y, C, k, g in cases]
    answers = node(f"""
        const found = {json.dumps(data)}.map(([X, y, C, k, g]) => {{
          const m = S.fit(X, y, C > 1e299 ? Infinity : C, S.kernel(k, g));
          const f = X.map((p) => m.decide(p) - m.b);
          return {{ ...m, f, K: 0, alpha: 0, beta: 0 }};
        }});
        console.log(JSON.stringify(found));""")
    for (X, y, C, kernel, gamma), got in zip(cases, answers, strict=True):
        model = SVC(kernel=kernel, gamma=gamma, C=C, tol=1e-11).fit(X, y)
        low, high = model.certificate_.bias_interval
        assert got["solved"]
        assert [got["low"], got["high"]] == pytest.approx([low, high], abs=CLOSE)
        assert got["dual"] == pytest.approx(model.certificate_.dual, abs=CLOSE)
        assert got["primal"] == pytest.approx(model.certificate_.primal, abs=CLOSE * len(y))
        f = model.decision_function(X) - model.intercept_[0]
        np.testing.assert_allclose(got["f"], f, atol=CLOSE)
        if kernel == "linear":
            np.testing.assert_allclose(got["w"], model.coef_[0], atol=CLOSE)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_pair_steps_lift_the_dual_and_keep_the_sum():
    steps = node(f"""
        const s = S.start({TWELVE.tolist()}, {SIGNS.tolist()}, 1, S.kernel("linear")), seen = [];
        for (let pair; seen.length < 500 && (pair = S.select(s, 1e-8)); ) {{
          S.move(s, pair);
          const total = s.beta.reduce((a, b) => a + b, 0);
          seen.push([S.describe(s).dual, total, Math.min(...s.beta), Math.max(...s.beta)]);
        }}
        console.log(JSON.stringify(seen));""")
    dual, total, low, high = np.array(steps).T
    assert (np.diff(dual) > -1e-12).all()
    assert np.abs(total).max() < 1e-9
    assert low.min() >= -1
    assert high.max() <= 1
    assert dual[-1] == pytest.approx(1.0, abs=CLOSE)  # the worked number of the twelve points


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_logistic_regression_and_the_dual_function_agree_with_mercer():
    found = node(f"""console.log(JSON.stringify({{
        fit: S.logistic({TWELVE.tolist()}, {SIGNS.tolist()}, 0.5),
        q: [0.5, 1, 2].map((a) => [S.dualFunction(a, false, 2), S.dualFunction(a, true, 2)]),
    }}));""")
    model = KernelLogisticRegression(kernel="linear", C=0.5, tol=1e-10).fit(TWELVE, SIGNS)
    assert [*found["fit"]["w"], found["fit"]["b"]] == pytest.approx(
        [*model.coef_[0], model.intercept_[0]], abs=1e-5
    )
    square = [(-2, 2), (-2, 2)]
    programs = [
        Program(lambda a, b: a**2 + b**2, square, inequalities=[lambda a, b: 1 - b]),
        Program(
            lambda a, b: a**2 + b**2,
            square,
            inequalities=[lambda a, b: 1 - b + a**2 - a**4 / 2],
        ),
    ]
    for alpha, both in zip((0.5, 1.0, 2.0), found["q"], strict=True):
        assert both == pytest.approx([p.dual([alpha]) for p in programs], abs=CLOSE)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_formulas_are_parsed_and_their_eigenvalues_are_right():
    formulas = {
        "dot": TWELVE @ TWELVE.T,
        "(1 + dot)^2 / 4 - 0.5": (1 + TWELVE @ TWELVE.T) ** 2 / 4 - 0.5,
        "exp(-.1*dist2)": np.exp(-0.1 * ((TWELVE[:, None] - TWELVE) ** 2).sum(-1)),
        "tanh(1+dot)": np.tanh(1 + TWELVE @ TWELVE.T),
        "min(x1, z1) + -2^2": np.minimum.outer(TWELVE[:, 0], TWELVE[:, 0]) - 4,
    }
    wrong = ["", "dot +", "alert(1)", "dot dot", "exp(1, 2)", "(dot", "x1.constructor", "1; dot"]
    found = node(f"""
        const F = require({json.dumps(str(FIGURES / "formula.js"))}), X = {TWELVE.tolist()};
        const answers = {json.dumps(list(formulas))}.map((text) => F.verdict(text, X));
        const refused = {json.dumps(wrong)}.map((text) => {{
          try {{ F.parse(text); }} catch (problem) {{ return problem.message.length > 5; }}
          return false;
        }});
        console.log(JSON.stringify({{ answers, refused }}));""")
    for K, got in zip(formulas.values(), found["answers"], strict=True):
        np.testing.assert_allclose(got["K"], K, rtol=1e-12)
        np.testing.assert_allclose(got["values"], np.linalg.eigvalsh(K), atol=1e-9 * abs(K).max())
        assert got["words"].startswith("Not a kernel") == (np.linalg.eigvalsh(K)[0] < -1e-6)
    assert all(found["refused"])


def test_every_figure_has_a_script_and_a_still(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    import stills

    scripts = "".join((FIGURES / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    for name, options in used():
        assert re.search(rf"(?:MercerFigures|F)\.{name} = function", scripts), name
        json.loads(options or "{}")
    asked = {
        still
        for page in PAGES
        for still in re.findall(r"^:still: (\S+)$", page.read_text("utf-8"), re.MULTILINE)
    }
    assert asked == set(stills.STILLS)


@pytest.mark.parametrize("path", sorted(FIGURES.iterdir()), ids=lambda path: path.name)
def test_no_figure_asks_for_anything_outside_the_page(path):
    text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert (
        re.findall(
            r"https?:|fetch\(|XMLHttpRequest|import\(|@import|eval\(|url\((?!#)",
            text.replace("url(#${", "url(#"),
        )
        == []
    )


@needs_browser
def test_every_figure_starts_and_fits_a_phone(driver, page):
    run = fresh(driver, page, width=375)
    assert run("return MercerStarted.length") == len(used())
    assert run("return document.documentElement.scrollWidth") <= 375
    assert run(
        "return performance.getEntriesByType('resource').every((e) => e.name.startsWith('file:'))"
    )
    assert [line for line in driver.get_log("browser") if line["level"] == "SEVERE"] == []


@pytest.mark.skipif(axe_missing() is not None, reason=str(axe_missing()))
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 375])
def test_no_figure_violates_a_rule_of_accessibility(driver, page, theme, width):
    run = fresh(driver, page, width)
    assert run("return MercerStarted.length") == len(used())
    colours = (
        Path(pytest.importorskip("furo").__file__).parent / "theme/furo/static/styles/furo.css"
    )
    driver.execute_async_script(
        "document.body.dataset.theme = arguments[0];"
        "const sheet = document.createElement('link'); sheet.rel = 'stylesheet';"
        "sheet.href = arguments[1]; sheet.onload = arguments[2]; document.head.append(sheet)",
        theme,
        colours.as_uri(),
    )
    paper = run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(paper) < 200) == (theme == "dark")
    assert Browser(driver).violations() == []


@needs_browser
@pytest.mark.serial
def test_every_control_changes_its_figure_at_once(driver, page):
    slow = fresh(driver, page)(
        """
        const found = [];
        for (const figure of document.querySelectorAll(".mercer-figure")) {
          for (const control of figure.querySelectorAll("input[type=range], button, select")) {
            if (control.closest("[hidden]")) continue;
            const buttons = [...figure.querySelectorAll("button")];
            const step = buttons.find((button) => button.textContent === "Step");
            for (let i = 0; step && i < 5; i++) step.click(); // away from the start
            let least = Infinity, changed = false;
            const live = figure.querySelector(".mf-live"), before = live.innerHTML;
            for (let turn = 0; turn < 3; turn++) {
              const start = performance.now();
              if (control.tagName === "INPUT") {
                const range = control.max - control.min;
                control.value = Number(control.min) + (0.3 + 0.2 * turn) * range;
                control.dispatchEvent(new Event("input"));
              } else if (control.tagName === "SELECT") {
                control.selectedIndex = 1 - control.selectedIndex;
                control.dispatchEvent(new Event("change"));
              } else control.click();
              least = Math.min(least, performance.now() - start);
              changed = changed || before !== live.innerHTML;
            }
            found.push([figure.dataset.figure, control.textContent || control.id, least, changed]);
          }
        }
        return found;"""
    )
    assert len(slow) > 2 * len(used())
    assert [row for row in slow if row[2] >= REACTION_MS] == []
    assert [row for row in slow if not row[3]] == []
    assert [line for line in driver.get_log("browser") if line["level"] == "SEVERE"] == []


@needs_browser
@pytest.mark.parametrize("width", [1000, 375])
def test_a_hand_drags_points_and_turns_the_lift(driver, page, width):
    """The row under the pointer follows it, and the machine is Mercer's for the new place."""
    from selenium.webdriver.common.action_chains import ActionChains

    run = fresh(driver, page, width)
    at = next(i for i, (name, options) in enumerate(used()) if name == "plane" and "inf" in options)
    figure = f"document.querySelectorAll('.mercer-figure')[{at}]"
    point = run(f"return {figure}.querySelectorAll('.mf-point')[6]")
    run("arguments[0].scrollIntoView({block: 'center'})", point)
    ActionChains(driver).click_and_hold(point).move_by_offset(-20, -10).release().perform()
    said = run(f"return {figure}.querySelector('.mf-read').textContent")
    place = re.search(r"Row 7 at \((−?[\d.]+), (−?[\d.]+)\)", said)
    assert place is not None, said
    moved = run(f"return MercerStarted[{at}].points[6].slice(0, 2)")
    assert moved[0] < 1.9
    assert moved[1] > 2.05
    assert [float(v.replace("−", "-")) for v in place.groups()] == pytest.approx(moved, abs=0.051)
    X = TWELVE.copy()
    X[6] = moved
    model = SVC(kernel="linear", C=np.inf, tol=1e-10).fit(X, SIGNS)
    (w1, w2), (b,) = model.coef_[0], model.intercept_
    assert f"w = ({w1:.2f}, {w2:.2f}), b = {b:.2f}".replace("-", "−") in said

    lift = run("return document.querySelector('[data-figure=lift] .mf-turn')")
    marks = "return [...arguments[0].querySelectorAll('.mf-a')].map((e) => e.outerHTML).join()"
    run("arguments[0].scrollIntoView({block: 'center'})", lift)
    before = run(marks, lift)
    ActionChains(driver).click_and_hold(lift).move_by_offset(40, 10).release().perform()
    assert run(marks, lift) != before


@needs_browser
def test_each_line_is_one_part_of_its_path(driver, page):
    """Dashes begin anew with every part: a line in many short parts would look solid."""
    run = fresh(driver, page)
    drawn = run(
        "return [...document.querySelectorAll('[data-figure=plane] .mf-boundary,"
        " [data-figure=plane] .mf-edge')].map((e) => e.getAttribute('d').split('M').length - 1)"
    )
    assert len(drawn) == 3 * sum(name == "plane" for name, _ in used())
    assert min(drawn) >= 1
    assert max(drawn) <= 4  # a Gaussian machine may have several


@needs_browser
def test_a_button_gives_a_row_the_other_label(driver, page):
    """For hands without the key F: bring two labels together, and both α grow."""
    run = fresh(driver, page)
    at = next(i for i, (name, options) in enumerate(used()) if name == "plane" and "0.3" in options)
    figure = f"document.querySelectorAll('.mercer-figure')[{at}]"
    heights = f"return [...{figure}.querySelectorAll('.mf-strip')[0].querySelectorAll('rect')]"
    before = run(heights + ".map((r) => Number(r.getAttribute('height')))")
    run(f"{figure}.querySelectorAll('.mf-point')[1].focus()")
    button = (
        f"[...{figure}.querySelectorAll('button')].find((b) => b.textContent.includes('row 2'))"
    )
    run(f"{button}.click()")
    after = run(heights + ".map((r) => Number(r.getAttribute('height')))")
    assert after[0] > before[0]
    assert after[1] > before[1]
    X, y = np.array([[2, 3], [4, 3], [0, 0], [5, 0.0]]), [1, -1, -1, -1]
    model = SVC(kernel="rbf", gamma=0.3, C=2.0, tol=1e-10).fit(X, y)
    said = run(f"return {figure}.querySelector('.mf-read').textContent")
    assert f"Dual {model.certificate_.dual:.3f}" in said


@needs_browser
def test_the_best_slope_is_the_best_of_all_not_of_the_slider(driver, page):
    """a = 2.5: d* = 1 − (1 − 1/(a² − 2))², at α* = 2/(a² − 2), between two places of the slider."""
    run = fresh(driver, page)
    figure = "document.querySelector('[data-figure=dual]')"
    press = f"[...{figure}.querySelectorAll('button')].find((b) => b.textContent === arguments[0])"
    run(f"{press}.click()", "Bend the constraint")
    run(
        f"const size = {figure}.querySelectorAll('input')[1]; size.value = 2.5;"
        "size.dispatchEvent(new Event('input'))"
    )
    run(f"{press}.click()", "Best slope")
    best = 1 - (1 - 1 / (2.5**2 - 2)) ** 2
    said = run(f"return {figure}.querySelector('.mf-read').textContent")
    assert float(re.search(r"q\(α\) = (\d\.\d+)", said)[1]) == pytest.approx(best, abs=0.003)
    assert f"α = {2 / (2.5**2 - 2):.2f}" in said


@needs_browser
def test_without_a_boundary_there_are_no_support_vectors(driver, page):
    """A negative row among the positive: at C = ∞ the dual has no optimum, and no α is shown."""
    run = fresh(driver, page)
    at = next(i for i, (name, options) in enumerate(used()) if name == "plane" and "inf" in options)
    figure = f"document.querySelectorAll('.mercer-figure')[{at}]"
    run(f"const p = MercerStarted[{at}]; p.points[6][0] = p.points[6][1] = 4.5; p.draw()")
    assert "No boundary" in run(f"return {figure}.querySelector('.mf-read').textContent")
    assert "none" in run(f"return {figure}.querySelector('.mf-title').textContent")
    assert run(f"return {figure}.querySelectorAll('.mf-point.mf-zero').length") == 12
    assert run(f"return {figure}.querySelector('.mf-boundary').getAttribute('d')") == ""


@needs_browser
def test_keys_move_a_point_and_the_machine_follows(driver, page):
    from selenium.webdriver.common.keys import Keys

    run = fresh(driver, page)
    at = next(i for i, (name, options) in enumerate(used()) if name == "plane" and "inf" in options)
    figure = f"document.querySelectorAll('.mercer-figure')[{at}]"
    read = f"return {figure}.querySelector('.mf-read').textContent"
    assert "w = (1.00, 1.00), b = −5.00, width 1.41" in run(read)
    point = run(f"return {figure}.querySelectorAll('.mf-point')[6]")
    run("arguments[0].focus()", point)
    point.send_keys(Keys.ARROW_UP)  # (2, 2) goes to (2, 2.1)
    X = TWELVE.copy()
    X[6, 1] = 2.1
    model = SVC(kernel="linear", C=np.inf, tol=1e-10).fit(X, SIGNS)
    w1, w2 = model.coef_[0]
    assert f"w = ({w1:.2f}, {w2:.2f})" in run(read)
    assert "Row 7 at (2.0, 2.1)" in run(read)
    assert (
        run(f"return {figure}.querySelector('.mf-frame').getAttribute('visibility')") == "visible"
    )
