"""How the playground looks in Chromium: themes, phones, long names, and the pictures of the docs.

``MERCER_SCREENSHOTS=docs/images pytest tests/playground/test_browser_looks.py`` keeps them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from mercer.playground import State
from tests.playground.browser import ROOT, Browser, missing

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

EMPTY = "data=" + State(points=()).to_query().partition("=")[2]


def _contrast(page: Browser, selector: str) -> float:
    """Of an element's text and the nearest background that is not transparent (WCAG 2)."""
    ink, paper = page.run(
        "let e = document.querySelector(arguments[0]); const ink = getComputedStyle(e).color;"
        "while (getComputedStyle(e).backgroundColor === 'rgba(0, 0, 0, 0)') e = e.parentElement;"
        "return [ink, getComputedStyle(e).backgroundColor].map((c) => c.match(/[0-9.]+/g)"
        ".slice(0, 3).map((v) => v / 255))",
        selector,
    )
    light = [
        sum(
            weight * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
            for weight, c in zip((0.2126, 0.7152, 0.0722), colour, strict=True)
        )
        for colour in (ink, paper)
    ]
    return (max(light) + 0.05) / (min(light) + 0.05)


def _emulate(page: Browser, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(page: Browser, address: str, scheme: str, tmp_path: Path):
    _emulate(page, scheme)
    try:
        page.open(f"{address}?data=separable&kernel=linear")
        assert (page.picture("body")[2, 2].mean() < 0.3) == (scheme == "dark")
        assert (page.picture()[2, 2].mean() < 0.3) == (scheme == "dark")
        paper = page.picture(".picture")[8, 8]  # the figure has no frame of its own
        np.testing.assert_allclose(page.picture()[2, 2], paper, atol=1 / 255)
        left, right = page.hue(-3.5, -3.5), page.hue(3.5, 3.5)
        assert left[0] > left[2]  # vermilion and blue in both
        assert right[2] > right[0]
        for selector in ("#why-text", "#rows td", "#step-hint", "#legend", "select", "#share",
                         "#help-C", "#redo", "h1 em"):  # fmt: skip
            assert _contrast(page, selector) >= 4.5, selector
        if scheme == "dark":
            page.driver.save_screenshot(str(_folder(tmp_path) / "play-dark.png"))
    finally:
        _emulate(page, "light")


@pytest.mark.parametrize("theme", ["light", "dark", "auto"])
def test_pictures_in_the_docs_follow_the_theme(chromium: Browser, tmp_path: Path, theme: str):
    """White paper is dark in the dark theme, by choice or by the system's; hues are kept."""
    css = (ROOT / "docs" / "_static" / "mercer.css").read_text(encoding="utf-8")
    image = (ROOT / "docs" / "images" / "plots" / "boundary-moons.png").as_uri()
    html = f"<style>{css}</style><body data-theme={theme}><div class=content><img src='{image}'>"
    (tmp_path / "page.html").write_text(html, encoding="utf-8")
    _emulate(chromium, "dark")
    try:
        chromium.driver.get((tmp_path / "page.html").as_uri())
        chromium.until(lambda: chromium.run("return document.images[0].complete"))
        pixels = chromium.picture("img")
    finally:
        _emulate(chromium, "light")
    assert (pixels[2, 2].mean() < 0.3) == (theme != "light")
    strong = pixels[pixels.max(axis=2) - pixels.min(axis=2) > 0.4]
    is_warm, is_cold = strong[:, 0] > strong[:, 2] + 0.3, strong[:, 2] > strong[:, 0] + 0.3
    assert min(is_warm.sum(), is_cold.sum()) > 50  # vermilion and blue points


def _folder(otherwise: Path) -> Path:
    return Path(os.environ.get("MERCER_SCREENSHOTS", otherwise))


@pytest.mark.parametrize(("width", "height"), [(390, 844), (375, 667)])
def test_phone(page: Browser, address: str, tmp_path: Path, width: int, height: int):
    driver = page.driver
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {
            "width": width,
            "height": height,
            "deviceScaleFactor": 1,
            "mobile": True,
        },
    )
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        page.open(f"{address}?{EMPTY}")
        wide = page.run("return [document.documentElement.scrollWidth, innerWidth]")
        assert wide == [width, width]  # nothing to scroll sideways
        plane = page.find("#plane").rect
        assert plane["width"] > width - 50
        assert plane["y"] + plane["height"] < height  # the plane is on the first screen
        for label, place in enumerate(((-1.5, 1.0), (1.5, -1.0))):
            page.click(f"[data-tool='{label}']")
            x, y = page.pixel(*place)
            for kind in ("touchStart", "touchEnd"):
                points = [{"x": x, "y": y}] if kind == "touchStart" else []
                driver.execute_cdp_cmd(
                    "Input.dispatchTouchEvent", {"type": kind, "touchPoints": points}
                )
            page.settle()
        assert page.count == 2
        page.open(f"{address}?data=xor")
        # With the picture on the screen its sliders are too, below it.
        page.run("document.querySelector('.picture').scrollIntoView()")
        plane, slider = page.find("#plane"), page.find("#parameter-gamma")
        ends = page.run(
            "return [...arguments].map((e) => {const box = e.getBoundingClientRect();"
            " return [box.top, box.bottom]})",
            plane,
            slider,
        )
        assert 0 <= ends[0][0] < ends[0][1] <= ends[1][0] < ends[1][1] <= height
        driver.save_screenshot(
            str((_folder(tmp_path) if width == 390 else tmp_path) / "play-phone.png")
        )
        small = page.run(
            "return [...document.querySelectorAll('button, select')].filter((e) =>"
            " e.offsetHeight && e.offsetHeight < 30).length"
        )
        assert small == 0  # large enough for a finger
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


PICTURES = {
    "moons": ("", "soft-margin"),
    "step": ("data=overlapping&C=0.5&step=33", "step-clipped"),
    "band": (
        "data="
        + State(
            points=(
                (-1.2, 1.0, 1),
                (1.0, -1.0, 0),
                (-3.0, 3.0, 1),
                (-3.5, 2.4, 1),
                (-2.4, 3.4, 1),
                (3.0, -3.2, 0),
                (3.4, -2.5, 0),
                (2.3, -3.3, 0),
            )
        )
        .to_query()
        .partition("=")[2]
        + "&kernel=linear&C=0.13",
        "no-free",
    ),
    "impossible": ("data=overlapping&kernel=linear&C=inf", "not-separable"),
    "three": ("data=three&kernel=rbf&gamma=0.3", "several"),
    "regression": ("machine=svr&data=sine&C=10.0", "curve"),
    "held-out": ("data=overlapping&C=1000.0&gamma=30.0&folds=5", "margin-empty"),
    "oneclass": ("machine=oneclass&data=rings&nu=0.1&gamma=1.0", "region"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_the_docs(browser: Browser, address: str, name: str, tmp_path: Path):
    query, situation = PICTURES[name]
    browser.open(f"{address}?{query}")
    assert browser.situation == situation
    picture = _folder(tmp_path) / f"play-{name}.png"
    browser.driver.save_screenshot(str(picture))
    assert picture.stat().st_size > 20_000
    assert browser.picture().std() > 0.05  # not blank


def test_long_names_of_classes_stay_in_their_panel(page: Browser, address: str):
    names = ("Rhododendron-ferrugineum", "Rhododendron-hirsutum")
    page.open(f"{address}?data=separable&" + "&".join(f"class={name}" for name in names))
    inside = page.run(
        "const panel = document.querySelector('.draw').getBoundingClientRect();"
        "return [...document.querySelectorAll('.tool')].map((e) => e.getBoundingClientRect())"
        ".map((r) => r.width > 20 && r.left >= panel.left && r.right <= panel.right)"
    )
    assert inside == [True] * 5
    assert names[0] in page.run("return document.querySelector('.tool').title")
