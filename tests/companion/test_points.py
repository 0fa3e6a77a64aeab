"""All that the lecture notes say is found in the companion; ten questions have their answers."""

from __future__ import annotations

import html
import itertools
import re
from functools import cache
from pathlib import Path

import pytest

from tests.companion.points import FIGURES, POINTS, QUESTIONS, SLIPS

ROOT = Path(__file__).parent.parent.parent
BUILT = ROOT / "out" / "docs" / "companion"
PAGES = sorted((ROOT / "docs" / "companion").glob("*.md"))
BEFORE_THE_PROGRAM = {"index", "slips", "glossary", "references", "before"}


def written(page: str) -> str:
    return (ROOT / "docs" / "companion" / f"{page}.md").read_text("utf-8")


def built(page: str) -> str:
    """The article of a page of the site, or nothing if the site is not built or older."""
    file = BUILT / f"{page}.html"
    source = ROOT / "docs" / "companion" / f"{page}.md"
    if not file.exists() or file.stat().st_mtime < source.stat().st_mtime:
        return ""
    whole = file.read_text("utf-8")
    return whole[whole.index("<article") : whole.index("</article>")]


def words_of(text: str) -> str:
    """Words in one line, without emphasis, links, tags and the marks around formulas."""
    text = re.sub(r"\[([^\]]+)\]\([^)\s]+\.(?:md|html)[^)]*\)", r"\1", text)
    text = re.sub(r"[*`$]|\\[()]", "", text).replace("’", "'")
    return re.sub(r"\s+", " ", text)


@cache
def texts(page: str) -> tuple[str, ...]:
    """The words of a page as written, and as built if the site is."""
    found = [words_of(written(page))]
    if article := built(page):
        found.append(words_of(html.unescape(re.sub(r"<[^>]+>", "", article))))
    return tuple(found)


def captions(page: str) -> tuple[list[str], ...]:
    """The captions of all pictures of a page, as written, and as built if the site is."""
    source = written(page)
    titles = re.findall(r"^```\{picture\} (.+)$", source, re.MULTILINE)
    bodies = re.findall(
        r"^```\{(?:interactive|motion)\} .+\n(?::.*\n)*([^`]+)```$", source, re.MULTILINE
    )
    found = [[words_of(text) for text in titles + bodies]]
    if article := built(page):
        marked = re.findall(r"<figcaption>(.*?)</figcaption>", article, re.DOTALL)
        bare = (html.unescape(re.sub(r"<[^>]+>", "", text)) for text in marked)
        found.append([words_of(text).strip() for text in bare])
    return tuple(found)


def test_the_table_is_complete():
    assert sorted(POINTS) == list(range(1, 117))


@pytest.mark.parametrize("number", sorted(POINTS))
def test_every_point_of_the_notes_is_in_its_page(number):
    page, *sentences = POINTS[number]
    for text in texts(page):
        assert [words for words in sentences if words not in text] == []


@pytest.mark.parametrize("number", sorted(POINTS))
def test_the_words_of_a_point_stand_nowhere_else(number):
    """Else the test above would still pass after their sentence is deleted."""
    page, *sentences = POINTS[number]
    text = texts(page)[0]
    assert sentences
    assert [words for words in sentences if text.count(words) > 1] == []
    assert [words for words in sentences if text.startswith(f"# {words}")] == []


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_every_picture_of_the_notes_has_a_counterpart(number):
    page, caption = FIGURES[number]
    for found in captions(page):
        assert len([text for text in found if text.startswith(caption)]) == 1


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
    missing_text = {41}
    assert set(range(1, SLIPS + 1)) - computed == missing_text


def test_one_thread_goes_through_all_pages():
    """Every page says which comes next: the one after it in the table of contents."""
    (block,) = re.findall(r"```\{toctree\}\n:hidden:\n(.*?)```", written("index"), re.DOTALL)
    order = block.split()
    assert {page.stem for page in PAGES} == {"index", "slips", *order}
    for page, following in itertools.pairwise(order):
        if page != "references":  # the glossary is no page to read next
            said = re.search(r"\*\*Next:\*\*\s+\[[^\]]+\]\(([\w-]+)\.md\)", written(page))
            assert said is not None, page
            assert said.group(1) == following


THREAD = {"index", "slips", "references", "glossary"}


@pytest.mark.parametrize("page", [p.stem for p in PAGES if p.stem not in THREAD])
def test_the_twelve_points_go_through_all_pages(page):
    assert "twelve points" in texts(page)[0]


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


@pytest.mark.parametrize("page", [p.stem for p in PAGES])
def test_no_formula_within_a_line_is_wider_than_a_phone(page):
    """Such a formula does not wrap: at 375 px those of 28 signs and more leave the page."""
    text = re.sub(r"```.*?```|\$\$.*?\$\$", "", written(page), flags=re.DOTALL)
    marks = r"\\(?:text|norm|abs|[bB]ig[lr]|t?frac|mathcal|operatorname|sqrt)|[{}_^\s]|\\[^a-zA-Z]"
    for formula in re.findall(r"\$([^$]+)\$", text):
        signs = re.sub(r"\\[a-zA-Z]+", "x", re.sub(marks, "", formula))
        assert len(signs) < 28, formula


@pytest.mark.parametrize("page", [p.stem for p in PAGES])
def test_no_example_is_wider_than_a_line_of_code(page):
    """What is shown: 100 letters after the prompt, as ruff allows."""
    text = re.sub(
        r"^```\{picture\}(?:(?!^```).)*?:hide:.*?^```", "", written(page), flags=re.M | re.S
    )
    assert [
        line for line in re.findall(r"^(?:>>>|\.\.\.) (.*)$", text, re.M) if len(line) > 100
    ] == []
