"""The slides of a lecture: 90 minutes, figures and pages that exist, nothing from elsewhere."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
TEXT = (DOCS / "slides" / "lecture.html").read_text("utf-8")


def test_the_lecture_takes_ninety_minutes():
    assert sum(map(int, re.findall(r'data-minutes="(\d+)"', TEXT))) == 90


def test_everything_named_exists(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import stills

    for name in re.findall(r'(?:src|href)="([^"]+)"', TEXT):
        kind, _, rest = name.partition("/")
        if kind == "_images":
            assert rest.removeprefix("still-").removesuffix(".svg") in stills.STILLS
        elif kind == "companion":
            assert (DOCS / "companion" / rest).with_suffix(".md").exists()
        else:
            assert kind == "_static"
            assert (DOCS / name).exists()
    for options in re.findall(r'data-options="([^"]*)"', TEXT):
        json.loads(html.unescape(options))


def test_stills_of_the_slides_are_copied_by_a_page_of_the_companion():
    pages = "".join(page.read_text("utf-8") for page in (DOCS / "companion").glob("*.md"))
    for name in re.findall(r"_images/still-([\w-]+)\.svg", TEXT):
        assert f":still: {name}\n" in pages


def test_nothing_comes_from_elsewhere():
    whole = TEXT + (DOCS / "_static" / "slides.js").read_text("utf-8")
    assert re.findall(r"https?:|//\w", re.sub(r"^\s*//.*| // .*$", "", whole, flags=re.M)) == []
