"""Sphinx configuration: `make docs` builds the site into out/docs, without the network."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import mercer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "Mercer"
author = "the Mercer authors"
version = release = mercer.__version__
project_copyright = "the Mercer authors, BSD 3-Clause licence"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "live",
    "interactive",
    "motion",
    "members",
    "titles",
]
exclude_patterns = ["_ext", "_templates", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]

# Markdown: LaTeX between dollars, ::: for directives, anchors of headings as GitHub makes them.
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# The whole of MathJax with its fonts in one file, served from the site itself.
MATHJAX = "tex-svg.js"
html_static_path = [
    "_static",
    str(Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax" / MATHJAX),
]
mathjax_path = MATHJAX
mathjax3_config = {
    "tex": {
        "macros": {
            "norm": [r"\lVert #1 \rVert", 1],
            "abs": [r"\lvert #1 \rvert", 1],
            "inner": [r"\langle #1, #2 \rangle", 2],
            "R": r"\mathbb{R}",
            "T": r"^{\mathsf T}",
            "half": r"\tfrac12",
            "sign": r"\operatorname{sign}",
        }
    }
}

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(demo|duality)\.py",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
    "reference_url": {"mercer": None},
    "image_srcset": ["2x"],
    "abort_on_example_error": True,
    "plot_gallery": not os.environ.get("MERCER_DOCS_WITHOUT_RUNS"),
    "capture_repr": (),
    "show_signature": False,
    "reset_modules": ("matplotlib", "live.house_style"),
    "within_subsection_order": "FileNameSortKey",
}

html_extra_path = ["slides"]
html_theme = "furo"
html_title = "Mercer"
html_css_files = ["mercer.css"]
html_js_files = ["reader.js"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0072B2",
        "color-brand-content": "#0072B2",
    },
    "dark_css_variables": {
        "color-brand-primary": "#56B4E9",
        "color-brand-content": "#56B4E9",
    },
}
copybutton_prompt_text = ">>> |\\.\\.\\. "
copybutton_prompt_is_regexp = True


def _collapse_navigation(app, pagename, templatename, context, doctree):
    """Only the branch of the page in its side bar, and of the reference no names: they are 26 kB.

    Its captions get the level that a heading must have (WCAG 4.1.2).
    """
    toctree = context.get("toctree")
    if toctree is None:
        return

    def collapsed(**options):
        depth = {"maxdepth": 1} if pagename.startswith("api/") else {}
        found = toctree(**{**options, "collapse": True, **depth})
        return found.replace('role="heading"', 'role="heading" aria-level="2"')

    context["toctree"] = collapsed


def setup(app):
    app.connect("html-page-context", _collapse_navigation, priority=400)  # before the theme's, 500
