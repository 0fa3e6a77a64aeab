"""A page's doctests run while it is built, and pictures come out of them.

    ```{picture} What is seen.
    :alt: for readers who cannot see it
    >>> fig, ax = plt.subplots()
    ```

All ``>>>`` examples of a page above a picture, and those in it, run in one namespace; output
that differs from the page's is a warning. The figure that they leave open is the picture.
``:hide:`` shows it without its code.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import directives
from page import Page
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from mercer.plots import style

mpl.use("Agg")

# For a check of the pages alone, without their examples, which the tests run.
STAND_IN = Path("images", "layers.svg")
FOLDER = "live"  # below the sources, where images must be; not under version control
logger = logging.getLogger(__name__)


def house_style(*_: Any) -> None:
    """The style of all pictures; letters as shapes, since readers may not have the font."""
    mpl.rc_file(style.SHEET, use_default_template=False)
    mpl.rcParams["svg.fonttype"] = "path"


def is_current(picture: Path) -> bool:
    """Whether a picture is newer than all code of the extensions, which draws it."""
    code = max(file.stat().st_mtime for file in Path(__file__).parent.glob("*.py"))
    return picture.exists() and picture.stat().st_mtime > code


class Picture(SphinxDirective):
    """The figure that the examples up to here have drawn."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {"alt": directives.unchanged, "hide": directives.flag}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        if os.environ.get("MERCER_DOCS_WITHOUT_RUNS"):
            return [*self._code(), self._figure(STAND_IN)]
        import matplotlib.pyplot as plt

        state = self.env.temp_data
        page = state.setdefault("live page", None) or Page(
            Path(self.env.doc2path(self.env.docname))
        )
        number = state.setdefault("live number", 0) + 1
        state.update({"live page": page, "live number": number})
        plt.close("all")
        house_style()
        for complaint in page.run_through("\n".join(self.content)):
            logger.warning("example differs:\n%s", complaint, location=self.get_location())
        path = Path(FOLDER, f"{self.env.docname.replace('/', '-')}-{number}.svg")
        (self.env.srcdir / path).parent.mkdir(exist_ok=True)
        plt.gcf().savefig(self.env.srcdir / path, bbox_inches="tight", metadata={"Date": None})
        plt.close("all")
        return [*self._code(), self._figure(path)]

    def _code(self) -> list[nodes.Node]:
        if "hide" in self.options:
            return []
        text = "\n".join(self.content)
        return [nodes.literal_block(text, text, language="pycon")]

    def _figure(self, path: Path) -> nodes.figure:
        image = nodes.image(uri=f"/{path.as_posix()}", alt=self.options.get("alt", ""))
        figure = nodes.figure("", image, classes=["picture"])
        if self.arguments:
            words, messages = self.parse_inline(self.arguments[0])
            figure += [nodes.caption("", "", *words), *messages]
        return figure


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True}
