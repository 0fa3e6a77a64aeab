"""A real browser for the tests: Chromium without a window, driven through chromedriver."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--font-render-hinting=none",
)
# From npm, into a folder that is not part of the repository: `make axe`.
AXE = ROOT / "out" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
# A busy machine may stand still for a while.
SECONDS = 120.0


def missing() -> str | None:
    """Why there is no browser here, or None."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    if not any(map(shutil.which, NAMES)):
        return "Chromium is not installed"
    return None if shutil.which("chromedriver") else "chromedriver is not installed"


def axe_missing() -> str | None:
    """Why pages cannot be checked by axe-core here, or None."""
    return missing() or (None if AXE.exists() else "axe-core is not installed (make axe)")


@contextmanager
def served(may_complain: bool = False) -> Iterator[str]:
    """The playground in a process of its own; gives its address, and ends without complaints."""
    command = [sys.executable, "-m", "mercer.playground", "--no-browser"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "default"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stderr is not None
        try:
            place = re.search(r"http://\S+", server.stderr.readline())
            assert place is not None
            yield place.group()
        finally:
            server.terminate()
            said = server.stderr.read()
    assert may_complain or not re.search("ERROR|Traceback", said), said


@contextmanager
def opened(profile: Path, width: int = 1400, height: int = 1000) -> Iterator[Browser]:
    """A browser with an empty profile."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, NAMES)))
    for switch in (*SWITCHES, f"--window-size={width},{height}", f"--user-data-dir={profile}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(SECONDS)
    driver.set_page_load_timeout(SECONDS)
    # Asked for by a busy page more than five seconds after the click, the clipboard is refused.
    allowed = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    driver.execute_cdp_cmd("Browser.grantPermissions", allowed)
    try:
        yield Browser(driver)
    finally:
        driver.quit()


class Browser:
    """The page as its user sees it: what it says, where its points are, its buttons and keys."""

    def __init__(self, driver: Any):
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)
        self.until(lambda: self.run("return document.body.dataset.ready") == "yes")
        self.settle()

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def until(self, condition: Any) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, "the page did not come to rest"
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait for the answer to all that was sent, and for its painting."""
        self.until(lambda: not self.run("return window.playground.isBusy()"))
        self.driver.execute_async_script(
            "const done = arguments[0]; const idle = () => Bokeh.documents[0].is_idle ?"
            " requestAnimationFrame(() => requestAnimationFrame(done)) : setTimeout(idle, 10);"
            "idle()"
        )

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def watch(self, selector: str) -> None:
        """Keep every text that an element has from now on, however short it is shown."""
        self.run(
            "const element = document.querySelector(arguments[0]); window.seen = [];"
            "new MutationObserver(() => window.seen.push(element.textContent))"
            ".observe(element, {childList: true, characterData: true, subtree: true})",
            selector,
        )

    @property
    def watched(self) -> list[str]:
        """The texts since `watch`."""
        return self.run("return window.seen")

    @property
    def situation(self) -> str:
        return self.run("return document.getElementById('why').dataset.key")

    @property
    def count(self) -> int:
        return int(self.text("#count").split()[0])

    @property
    def words(self) -> dict[str, str]:
        """All that the page says of the present picture."""
        return {
            name: self.text(f"#{name}")
            for name in ("why-text", "rows", "legend", "code", "step-count", "parameters")
        }

    def click(self, selector: str) -> None:
        self.find(selector).click()
        self.settle()

    def choose(self, selector: str, value: str) -> None:
        from selenium.webdriver.support.ui import Select

        Select(self.find(selector)).select_by_value(value)
        self.settle()

    def keys(self, *keys: str, at: str | None = None) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        if at is not None:
            self.run("document.querySelector(arguments[0]).focus()", at)
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()
            self.settle()

    # ------------------------------------------------------------------ the plane

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """Where a place of the plane is in the window."""
        return tuple(
            self.run(
                "const plane = Bokeh.documents[0].get_model_by_name('plane');"
                "const view = Bokeh.index.get_by_id(plane.id);"
                "const area = view.canvas_view.events_el.getBoundingClientRect();"
                "return [area.left + view.frame.x_scale.compute(arguments[0]),"
                "        area.top + view.frame.y_scale.compute(arguments[1])]",
                x,
                y,
            )
        )

    def mouse(
        self, *places: tuple[float, float], press: bool = True, hold_seconds: float = 0.0
    ) -> None:
        """Press at the first place of the plane, go on to the others, release."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder

        self.run("document.getElementById('plane').scrollIntoView({block: 'nearest'})")
        chain = ActionBuilder(self.driver, duration=30)
        for k, place in enumerate(places):
            chain.pointer_action.move_to_location(*map(round, self.pixel(*place)))
            if press and k == 0:
                chain.pointer_action.pointer_down().pause(hold_seconds)
        if press:
            chain.pointer_action.pointer_up()
        chain.perform()
        self.settle()

    def picture(self, selector: str = "#plane") -> np.ndarray:
        """The pixels of a part of the page, as floats from 0 to 1."""
        import matplotlib.image

        png = io.BytesIO(self.find(selector).screenshot_as_png)
        return matplotlib.image.imread(png, format="png")[:, :, :3]

    def hue(self, x: float, y: float) -> np.ndarray:
        """The colour at a place of the plane."""
        left, top = self.run(
            "const box = document.getElementById('plane').getBoundingClientRect();"
            "return [box.left, box.top]"
        )
        column, row = self.pixel(x, y)
        return self.picture()[round(row - top), round(column - left)]

    def violations(self) -> list[str]:
        """Rules of WCAG 2.2, levels A and AA, that the page violates, and where (axe-core)."""
        self.run(AXE.read_text(encoding="utf-8"))
        return self.driver.execute_async_script(
            "const done = arguments[1]; axe.run(document, {runOnly: arguments[0]}).then((found) =>"
            " done(found.violations.flatMap((rule) => rule.nodes.map((node) =>"
            " `${rule.id}: ${node.html.slice(0, 120)} (${node.failureSummary})`))))",
            ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
        )

    def complaints(self) -> list[str]:
        """Warnings and errors of the console since the last call."""
        return [
            entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"
        ]
