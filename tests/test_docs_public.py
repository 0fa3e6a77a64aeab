"""Nothing that the documentation shows needs a private module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PRIVATE = re.compile(r"(?:import|from)\s+mercer[\w.]*\._|mercer[\w.]*\._\w|import _\w")
# Pages about the package's inside, and the extension of the site.
INSIDE = {"docs/design.md", "docs/reference/linear.md"}
FILES = [
    path
    for path in sorted(
        [*ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.py"), ROOT / "README.md"]
    )
    if str(path.relative_to(ROOT)) not in INSIDE
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_modules(path):
    assert PRIVATE.findall(path.read_text(encoding="utf-8")) == []


def test_solvers_are_found_by_their_classes():
    import mercer.solvers

    assert mercer.solvers.Platt.__name__ == "Platt"
    with pytest.raises(AttributeError, match="no attribute 'Unknown'"):
        _ = mercer.solvers.Unknown
