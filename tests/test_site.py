"""The documentation site holds together: all names, all pages, nothing of one machine."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

import mercer

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("**/*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def _documented() -> set[str]:
    """Names in the tables of the reference, each with its module."""
    found, module, in_table = set(), "mercer", False
    for line in (DOCS / "api" / "index.rst").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split("::")[1].strip()
        in_table = line.startswith(".. autosummary::") or (in_table and line[:3] in ("", "   "))
        if in_table and re.fullmatch(r"   \w+", line):
            found.add(f"{module}.{line.strip()}")
    return found


def _public() -> set[str]:
    """Names that the package and its public subpackages export, by the module a user imports."""
    top = {name: getattr(mercer, name) for name in mercer.__all__}
    subpackages = [module for module in top.values() if isinstance(module, ModuleType)]
    own = {f"mercer.{name}" for name, value in top.items() if not isinstance(value, ModuleType)}
    inner = {
        f"{package.__name__}.{name}"
        for package in subpackages
        for name in package.__all__
        if getattr(package, name) is not top.get(name)  # not the same under another name
    }
    return own | inner


def test_every_public_name_is_in_the_reference_and_nothing_else():
    assert _documented() == _public()


def test_the_reference_names_what_exists():
    for name in _documented():
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_every_page_is_in_a_table_of_contents():
    reached = {DOCS / "index.md"}
    for page in PAGES:
        for block in re.findall(
            r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL
        ):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            reached |= {found for entry in entries for found in page.parent.glob(f"{entry}.md")}
    assert [str(page.relative_to(DOCS)) for page in PAGES if page not in reached] == []


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *PAGES, *EXAMPLES, DOCS / "conf.py", DOCS / "api" / "index.rst"],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_pages_name_no_place_of_one_machine(page):
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.])/(?:tmp|work|root|home|opt|Users)/\S*|file://\S*", text) == []


def cells(example: Path) -> list[str]:
    """The code cells of an example's notebook: the gallery cuts the program at its # %% lines."""
    return re.split(r"^# %%.*$", example.read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_the_gallery_runs_as_notebooks_do(example, monkeypatch):
    """Cell by cell, top to bottom, in one namespace; on data that every machine has."""
    monkeypatch.delenv("MERCER_DATA", raising=False)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    namespace = {"__name__": "__main__"}
    for number, cell in enumerate(cells(example), 1):
        exec(compile(cell, f"{example.name}, cell {number}", "exec", dont_inherit=True), namespace)
    figures = matplotlib.pyplot.get_fignums()
    matplotlib.pyplot.close("all")
    assert figures, "draws nothing"


def statements(parts: list[str]) -> list[str]:
    """Statements of all cells without the program's docstring, which is text in a notebook."""
    nodes = [node for part in parts for node in ast.parse(part).body]
    return [
        ast.unparse(node)
        for node in nodes
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_the_notebook_has_the_cells_that_run(example):
    """What the site offers for download is what the test above runs, title and text in between."""
    pytest.importorskip("sphinx_gallery")
    from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
    from sphinx_gallery.notebook import jupyter_notebook
    from sphinx_gallery.py_source_parser import split_code_and_text_blocks

    blocks = split_code_and_text_blocks(str(example))[1]
    found = jupyter_notebook(blocks, DEFAULT_GALLERY_CONF, str(example.parent))["cells"]
    text = ["".join(cell["source"]) for cell in found if cell["cell_type"] == "markdown"]
    code = ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]
    assert text[0].lstrip().startswith("# ")
    assert statements(code) == statements(cells(example))
    assert len(code) == len([cell for cell in cells(example) if statements([cell])])


STORIES = ("12_sms_spam", "13_splice_junctions", "16_digits", "17_news", "20_mixed_table")


@pytest.mark.parametrize("story", STORIES)
def test_a_story_goes_from_raw_data_to_a_decision(story):
    """Certificate, error on rows kept aside, mistakes, a table of decisions, and a conclusion."""
    text = (ROOT / "examples" / f"plot_{story}.py").read_text(encoding="utf-8")
    words = re.sub(r"\s+#?\s*", " ", text)
    for needed in (
        r"certificate_",
        r"test|later",
        r"[Mm]istake",
        r"decision",
        r"\*\*What to conclude",
    ):
        assert re.search(needed, words), needed
    assert f"../gallery/plot_{story}>" in (DOCS / "companion" / "index.md").read_text("utf-8")


def test_the_gallery_is_large_enough():
    assert len(EXAMPLES) >= 8
    for example in EXAMPLES:
        title, line = example.read_text(encoding="utf-8").splitlines()[1:3]
        assert line == "=" * len(title), f"{example.name}: no title in its first lines"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_into_the_playground_are_states(page):
    from mercer.playground import State

    for query in re.findall(r'[`"]\?(\w+=[^`"]*)[`"]', page.read_text(encoding="utf-8")):
        state = State.from_query(query)
        assert set(query.split("&")) >= set(state.to_query().split("&")) - {""}, query


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_files_named_in_pages_exist(page):
    """Paths such as `gram/_blocked.py`, relative to the package or to the repository."""
    named = re.findall(r"`((?:\w+/)*\w+\.py|tests/\w+)`", page.read_text(encoding="utf-8"))
    places = (ROOT / "src" / "mercer", ROOT / "src", ROOT)
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
