"""Document members written in this package; what scikit-learn hands down has its own docs."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def is_foreign(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Skip what comes from another package; leave all else to autodoc."""
    home = getattr(getattr(obj, "fget", None) or obj, "__module__", None)
    return True if home and what == "class" and not home.startswith("mercer") else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", is_foreign)
    return {"parallel_read_safe": True}
