"""Examples in the documentation and in docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib
import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("**/*.md"))
MODULES = sorted(
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for path in (ROOT / "src" / "mercer").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")], ids=_name
)
def test_pages(page, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    from page import Page

    complaints = Page(page).run_rest()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    assert complaints == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")],
    ids=_name,
)
def test_programs_in_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {}
    for block in re.findall(r"```python\n(?!>>>)(.*?)```", text, flags=re.DOTALL):
        exec(block, namespace)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted > 0
    assert found.failed == 0


def test_the_picture_of_duality(tmp_path, monkeypatch, capsys):
    picture = tmp_path / "duality.png"
    monkeypatch.setattr(sys, "argv", ["duality.py", "--out", str(picture)])
    runpy.run_path(str(ROOT / "examples" / "duality.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "p* = 1, d* = 1, α* = 2" in printed
    assert "p* = 1, d* = 0.75, α* = 1" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
