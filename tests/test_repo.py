"""The repository holds together: versions, imports that point left, links."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "mercer"
# docs/design.md: a package may import those before it. Every package and root module is listed.
ORDER = [
    "__init__",
    "_deprecated",
    "exceptions",
    "_precision",
    "_numba",
    "_threads",
    "kernels",
    "gram",
    "features",
    "problems",
    "_result",
    "data",
    "certificates",
    "solvers",
    "_expansion",
    "_linear_function",
    "_multiclass",
    "calibration",
    "estimators",
    "model_selection",
    "conformal",
    "verification",
    "embeddings",
    "persistence",
    "export",
    "diagnostics",
    "plots",
    "automl",
    "duality",
    "dask",
    "playground",
    "cli",
]


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    newest = re.search(
        r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), flags=re.M)
    assert project["version"] == mercer.__version__ == newest.group(1) == cited.group(1)


def _package(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


# Import statements alone: to parse whole files takes seconds.
IMPORT = re.compile(r"^ *((?:from|import) +mercer[^(\n]*(?:\([^)]*\))?)", flags=re.MULTILINE)


def _imports(path: Path) -> set[str]:
    """Packages and root modules that a file imports, also within functions."""
    found = set()
    for statement in IMPORT.findall(path.read_text(encoding="utf-8")):
        node = ast.parse(statement).body[0]
        if isinstance(node, ast.ImportFrom) and node.module.startswith("mercer."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom):
            found |= {name.name for name in node.names}
        else:
            names = [name.name.split(".") for name in node.names]
            found |= {parts[1] for parts in names if parts[0] == "mercer" and len(parts) > 1}
    return found


def test_every_package_has_a_place_in_the_import_order():
    assert {_package(path) for path in PACKAGE.rglob("*.py")} == set(ORDER)


def test_no_generator_is_shared_by_the_tests_of_a_module():
    """What a test draws would depend on those before it; conftest.py has one for each test."""
    made = re.compile(r"^\w+ = (?:np\.random\.\w+|random\.Random)\([^()]*\)$", flags=re.M)
    found = {
        str(path.relative_to(ROOT)): made.findall(re.sub(r'""".*?"""', "", text, flags=re.S))
        for path in (ROOT / "tests").rglob("*.py")
        if "random." in (text := path.read_text(encoding="utf-8"))
    }
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_imports_point_left():
    backwards = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in PACKAGE.rglob("*.py")
        if (package := _package(path)) != "__init__"
        for other in _imports(path) & set(ORDER)
        if ORDER.index(other) > ORDER.index(package)
    ]
    assert backwards == []


TABLES = [
    path
    for path in sorted(PACKAGE.rglob("__init__.py"))
    if "\n====" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", TABLES, ids=lambda path: str(path.parent.relative_to(PACKAGE)))
def test_the_table_of_a_package_has_its_modules(path):
    """Commands of the command line have one line for all of them."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    named = set(re.findall(r"\w+\.py", docstring))
    modules = {module.name for module in path.parent.glob("*.py")} - {path.name, "__main__.py"}
    assert named <= modules
    assert modules <= named or path.parent.name == "cli"


@pytest.mark.parametrize(
    "page",
    [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    generated = ("gallery/", "../gallery/")  # by `make docs`
    local = [t for t in targets if "://" not in t and not t.startswith(generated)]
    missing = [target for target in local if not (page.parent / target).exists()]
    assert missing == []


def test_readme_examples_run(capsys):
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL
    )
    exec("\n".join(blocks), {})
    assert capsys.readouterr().out.count("Certificate: solved") == 2
