"""Figures that answer: a still picture, which a script replaces in the browser.

    ```{interactive} plane
    :still: plane-hard
    :options: {"C": "inf"}
    What is seen, and how to operate it.
    ```

The argument names a figure of ``_static/figures``, ``:still:`` a function of ``stills.py`` that
draws the picture for print and for browsers without JavaScript; ``:options:`` is JSON.
Scripts and style are loaded by pages that have such a figure only.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any
from zlib import crc32

import stills
from docutils import nodes
from docutils.parsers.rst import directives
from live import FOLDER, house_style, is_current
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

SCRIPTS = ("svm", "draw", "rows", "plane", "smo", "dual", "lift", "lines", "formula", "start")


class Interactive(SphinxDirective):
    """A figure of ``_static/figures`` with its still picture and caption."""

    has_content = True
    required_arguments = 1
    option_spec = {"still": directives.unchanged_required, "options": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        name, options = self.arguments[0], self.options.get("options", "{}")
        json.loads(options)
        still = self.options["still"]
        path = Path(FOLDER, f"still-{still}.svg")
        target = self.env.srcdir / path
        if not is_current(target):
            target.parent.mkdir(exist_ok=True)
            house_style()
            figure = stills.STILLS[still]()
            figure.savefig(target, bbox_inches="tight", metadata={"Date": None})
            figure.clear()
        words, messages = self.parse_inline(" ".join(self.content))
        alt = nodes.paragraph("", "", *words).astext()
        data = f'data-figure="{escape(name)}" data-options="{escape(options)}"'
        return [
            nodes.raw("", f'<figure class="mercer-figure" {data}>', format="html"),
            nodes.image(uri=f"/{path.as_posix()}", alt=alt),
            nodes.raw("", "<figcaption>", format="html"),
            nodes.paragraph("", "", *words, *messages),
            nodes.raw("", "</figcaption></figure>", format="html"),
        ]


def load_scripts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Scripts and style, on pages with a figure."""
    if doctree is None or not any(
        "mercer-figure" in node.astext() for node in doctree.findall(nodes.raw)
    ):
        return
    app.add_css_file("figures/figures.css")
    for name in SCRIPTS:
        app.add_js_file(f"figures/{name}.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("interactive", Interactive)
    app.connect("html-page-context", load_scripts)
    # Pages of an older build name its scripts: they are read again if these are others.
    return {"parallel_read_safe": True, "env_version": crc32(" ".join(SCRIPTS).encode())}
