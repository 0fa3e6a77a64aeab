"""Examples in the documentation and in docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page for page in (ROOT / "docs").glob("*.md") if ">>> " in page.read_text(encoding="utf-8")
)
MODULES = sorted(
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for path in (ROOT / "src" / "mercer").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page):
    found = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0


def test_the_picture_of_duality(tmp_path):
    picture = tmp_path / "duality.png"
    command = [sys.executable, str(ROOT / "examples" / "duality.py"), "--out", str(picture)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "p* = 1, d* = 1, α* = 2" in done.stdout
    assert "p* = 1, d* = 0.75, α* = 1" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
