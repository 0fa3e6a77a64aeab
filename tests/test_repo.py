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
# docs/design.md: a room may import the rooms before it.
ROOMS = [
    "style",
    "columns",
    "kernels",
    "gram",
    "psd",
    "problems",
    "result",
    "streams",
    "residuals",
    "certificate",
    "solvers",
    "expansion",
    "multiclass",
    "calibration",
    "estimators",
    "hyperplane",
    "embeddings",
    "duality",
    "diagnosis",
    "io",
    "plots",
    "app",
    "cli",
]


def test_versions_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    newest = re.search(
        r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert project["version"] == mercer.__version__ == newest.group(1)


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mercer."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "mercer":
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            names = [name.name.split(".") for name in node.names]
            found |= {parts[1] for parts in names if parts[0] == "mercer" and len(parts) > 1}
    return found


def test_imports_point_left():
    backwards = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in PACKAGE.rglob("*.py")
        if (room := _room(path)) in ROOMS
        for other in _imported_rooms(path) & set(ROOMS)
        if ROOMS.index(other) > ROOMS.index(room)
    ]
    assert backwards == []


@pytest.mark.parametrize(
    "page",
    [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    generated = ("gallery/",)  # by `make docs`
    local = [t for t in targets if "://" not in t and not t.startswith(generated)]
    missing = [target for target in local if not (page.parent / target).exists()]
    assert missing == []


def test_readme_examples_run(capsys):
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL
    )
    exec("\n".join(blocks), {})
    assert capsys.readouterr().out.count("Certificate: solved") == 2
