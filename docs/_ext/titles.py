"""Links that show a file's name, as on a code host, show its title on the site."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

NAMED = re.compile(r"\[[\w/.-]+\.md\]\(([\w/.-]+\.md)\)")


def show_titles(app: Sphinx, name: str, source: list[str]) -> None:
    """``[solvers.md](solvers.md)`` becomes ``[](solvers.md)``, which takes the page's title."""
    source[0] = NAMED.sub(r"[](\1)", source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", show_titles)
    return {"parallel_read_safe": True}
