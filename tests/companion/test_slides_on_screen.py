"""The slides in Chromium: one scale on every screen, each slide whole, turned by keys."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.companion.figures import ROOT, needs_browser
from tests.playground.browser import axe_missing, opened

LECTURE = ROOT / "docs" / "slides" / "lecture.html"
SCREENS = ((1280, 720), (1920, 1080), (1024, 768))
# What lies below the bar of buttons or right of the screen, of a slide.
HIDDEN = """
    const bar = document.querySelector("nav").getBoundingClientRect().top;
    const hidden = (r) => r.width && (r.bottom > bar + 1 || r.right > innerWidth + 1);
    return [...document.querySelectorAll("section.now *")].filter((e) => !e.ownerSVGElement)
        .filter((e) => hidden(e.getBoundingClientRect())).length;
"""


@pytest.fixture(scope="module")
def lecture(tmp_path_factory):
    """The page beside its scripts, as the site has it; stills are blank."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs" / "_static", folder / "_static")
    (folder / "_images").mkdir()
    for name in re.findall(r"_images/([\w-]+\.svg)", LECTURE.read_text("utf-8")):
        (folder / "_images" / name).write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    return shutil.copy(LECTURE, folder)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("profile"), width=1280, height=800) as browser:
        yield browser


def shown(browser, lecture, width, height, theme="light"):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = [{"name": "prefers-color-scheme", "value": theme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    browser.driver.get_log("browser")
    browser.driver.get("about:blank")
    browser.driver.get(f"file://{lecture}")
    return browser.run("return document.querySelectorAll('section').length")


@needs_browser
@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_every_slide_is_whole_on_its_screen(browser, lecture, width, height):
    count = shown(browser, lecture, width, height)
    for number in range(1, count + 1):
        assert browser.run("return document.getElementById('place').textContent").startswith(
            f"{number} of {count}"
        )
        browser.run(  # the most that a figure says
            "const smo = document.querySelector('section.now [data-figure=smo]');"
            "smo?.querySelector('button').click(); smo?.querySelector('.mf-point').focus()"
        )
        assert browser.run(HIDDEN) == 0, number
        browser.run("document.activeElement.blur(); document.getElementById('next').click()")
    assert browser.complaints() == []


@needs_browser
def test_all_slides_have_one_scale(browser, lecture):
    """Letters and figures are a share of the screen, and the same on all slides."""
    sizes = {}
    for width, height in SCREENS[:2]:
        count = shown(browser, lecture, width, height)
        for number in range(count):
            found = browser.run(
                "const all = (s) => [...document.querySelectorAll('section.now ' + s)];"
                "const letters = (e) => parseFloat(getComputedStyle(e).fontSize);"
                "const words = ':is(p, li, td, th):not(.formula, .small, .page, .mf-live *)';"
                "return [all('h2').map(letters), all(words).map(letters),"
                " all('.mf-views > svg:first-child').map((e) => e.getBoundingClientRect().width)]"
            )
            for kind, values in enumerate(found):
                sizes.setdefault((width, kind), set()).update(round(v / width, 3) for v in values)
            browser.run("document.getElementById('next').click()")
            assert number < count
    for kind in range(3):
        assert len(sizes[1280, kind]) == 1, kind
        assert sizes[1280, kind] == sizes[1920, kind]


@needs_browser
def test_keys_turn_the_slides_and_leave_a_figure_its_own(browser, lecture):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    count = shown(browser, lecture, 1280, 720)

    def press(*keys):
        for key in keys:
            ActionChains(browser.driver).send_keys(key).perform()
        return int(browser.run("return location.hash").removeprefix("#"))

    assert press(Keys.ARROW_RIGHT) == 2
    assert press(Keys.PAGE_DOWN, " ") == 4
    assert press(Keys.ARROW_LEFT, Keys.PAGE_UP) == 2
    slider = "document.querySelector('section.now input[type=range]')"
    before = browser.run(f"{slider}.focus(); return {slider}.value")
    assert press(Keys.ARROW_RIGHT) == 2
    assert browser.run(f"return {slider}.value") != before
    browser.run("document.activeElement.blur()")
    assert press(*[Keys.ARROW_RIGHT] * (count + 3)) == count
    assert browser.complaints() == []


@needs_browser
def test_a_phone_scrolls_down_only(browser, lecture):
    for _ in range(shown(browser, lecture, 375, 700)):
        assert browser.run("return document.documentElement.scrollWidth") <= 375
        assert browser.run("return parseFloat(getComputedStyle(document.body).fontSize)") >= 16
        browser.run("document.getElementById('next').click()")


@pytest.mark.skipif(axe_missing() is not None, reason=str(axe_missing()))
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_slide_violates_a_rule_of_accessibility(browser, lecture, theme):
    for _ in range(shown(browser, lecture, 1280, 720, theme)):
        assert browser.violations() == []
        browser.run("document.getElementById('next').click()")
