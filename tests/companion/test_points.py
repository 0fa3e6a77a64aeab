"""All that the lecture notes say is found in the companion; ten questions have their answers."""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path

import pytest

from tests.companion.points import POINTS, QUESTIONS, SLIPS

ROOT = Path(__file__).parent.parent.parent
BUILT = ROOT / "out" / "docs" / "companion"
PAGES = sorted((ROOT / "docs" / "companion").glob("*.md"))
BEFORE_THE_PROGRAM = {"index", "slips", "glossary", "references", "before"}


@cache
def texts(page: str) -> tuple[str, ...]:
    """A page as written, and as built if the site is: words without markup, in one line."""
    written = re.sub(r"[*`]", "", (ROOT / "docs" / "companion" / f"{page}.md").read_text("utf-8"))
    found = [written]
    if (BUILT / f"{page}.html").exists():
        whole = (BUILT / f"{page}.html").read_text("utf-8")
        body = whole[whole.index("<article") : whole.index("</article>")]
        found.append(html.unescape(re.sub(r"<[^>]+>", "", body)).replace("’", "'"))
    return tuple(re.sub(r"\s+", " ", text) for text in found)


def test_the_table_is_complete():
    assert sorted(POINTS) == list(range(1, 117))


@pytest.mark.parametrize("number", sorted(POINTS))
def test_every_point_of_the_notes_is_in_its_page(number):
    page, words = POINTS[number]
    assert [i for i, text in enumerate(texts(page)) if words not in text] == []


@pytest.mark.parametrize(("question", "page", "answer"), QUESTIONS, ids=[q[0] for q in QUESTIONS])
def test_every_question_has_its_answer(question, page, answer):
    assert page in ("margin", "duality", "smo")
    assert [i for i, text in enumerate(texts(page)) if answer not in text] == []


def test_ten_questions():
    assert len(QUESTIONS) == 10


def test_every_slip_has_its_place_and_a_computation():
    text = (ROOT / "docs" / "companion" / "slips.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| ([A-E] [^|]+) \|", text, flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, SLIPS + 1))
    code = "\n".join(re.findall(r"^(?:>>>|\.\.\.) .*?#(.*)$", text, flags=re.MULTILINE))
    computed = {
        int(n)
        for line in re.findall(r"^ ([\d and,]+?)(?::|$)", code, re.MULTILINE)
        for n in re.findall(r"\d+", line)
    }
    words_only, elsewhere = {5, 41, 43, 49}, {18}
    assert set(range(1, SLIPS + 1)) - computed == words_only | elsewhere


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_states_what_it_teaches(page):
    text = page.read_text("utf-8")
    if page.stem in BEFORE_THE_PROGRAM - {"before"}:
        return
    assert "**After this page you can**" in text
    assert page.stem == "before" or re.search(r"\*\*It\s+needs\*\*", text)
    grades = re.findall(r"^\*\*\d+\.\*\* (\(\w+\))?", text, flags=re.MULTILINE)
    assert len(grades) >= 2
    assert set(grades) <= {"(easy)", "(middle)", "(hard)"}
    assert text.count(":::{dropdown} Answer") == len(grades)
