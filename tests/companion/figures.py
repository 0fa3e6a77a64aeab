"""The figures of the companion for their tests: the scripts, and a page that has all figures."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.playground.browser import missing

ROOT = Path(__file__).parent.parent.parent
FIGURES = ROOT / "docs" / "_static" / "figures"
PAGES = sorted((ROOT / "docs" / "companion").glob("*.md"))
SCRIPTS = ("svm", "draw", "rows", "plane", "smo", "dual", "lift", "lines", "formula", "start")
TWELVE = np.array(
    [
        [2, 4],
        [4, 2],
        [5, 3],
        [4, 5],
        [6, 4],
        [5, 6],
        [2, 2],
        [1, 1],
        [0, 3],
        [3, 0],
        [1, -1],
        [-1, 1.0],
    ]
)
SIGNS = np.repeat([1, -1], 6)
needs_browser = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def used() -> list[tuple[str, str]]:
    """Name and options of every figure in the pages."""
    block = re.compile(r"```\{interactive\} (\w+)\n:still: \S+\n(?::options: (.*)\n)?")
    return sorted({found for page in PAGES for found in block.findall(page.read_text("utf-8"))})


def node(program: str) -> object:
    """What a program prints as JSON, with the solver as S."""
    whole = f"const S = require({json.dumps(str(FIGURES / 'svm.js'))});\n{program}"
    done = subprocess.run(["node", "-e", whole], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def whole_page() -> str:
    """All figures in one page, as the site has them."""
    figures = "".join(
        f'<figure class="mercer-figure" data-figure="{name}"'
        f' data-options="{html.escape(options or "{}")}"></figure>'
        for name, options in used()
    )
    scripts = "".join(f'<script src="{(FIGURES / name).as_uri()}.js"></script>' for name in SCRIPTS)
    head = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Figures</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<link rel="stylesheet" href="{(FIGURES / "figures.css").as_uri()}">'
    )
    return f"{head}<body>{figures}{scripts}"


def fresh(driver, page, width=1000):
    """The page, loaded again, at a width."""
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get_log("browser")  # what a test before this one has left there
    driver.get(page)
    return driver.execute_script
