"""`write_figure`: a picture as PNG, SVG, PDF or a page that needs nothing else."""

from __future__ import annotations

import html
import io
import os
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from mercer.certificates._certificate import Certificate
from mercer.data._files import writing
from mercer.plots import style

__all__ = ["SUFFIXES", "write_figure"]

SUFFIXES = (".png", ".svg", ".pdf", ".html")

_PAGE = files("mercer.plots").joinpath("assets", "page.html")


def write_figure(
    figure: Any,
    path: str | os.PathLike,
    *,
    title: str = "",
    alt: str = "",
    certificate: Certificate | None = None,
    dpi: float | None = None,
) -> None:
    """Write a picture in the format of its file name's ending.

    The file is written beside its place and renamed, so that it is whole at every moment.

    Parameters
    ----------
    figure : Display or matplotlib Figure
    path : str or path that ends in .png, .svg, .pdf or .html
        HTML is one page with the picture as inline SVG, its description and the certificate.
    title, alt : str
        Title and description; by default those of the Display.
    certificate : Certificate, optional
        By default that of the Display.
    dpi : float, optional
        Of PNG; 150 by default.

    Examples
    --------
    >>> import mercer, pathlib, tempfile
    >>> from mercer.plots import draw, write_figure
    >>> X, y = [[0.0, 1.0], [0.0, -1.0]], [1, -1]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.html"
    >>> write_figure(draw("boundary", mercer.SVC().fit(X, y), X, y), path)
    >>> "relative" in path.read_text(encoding="utf-8")
    True
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(
            f"{os.fspath(path)!r} must end in {', '.join(SUFFIXES)}; the ending is the format."
        )
    title = title or getattr(figure, "title", "") or "Mercer"
    alt = alt or getattr(figure, "description", title)
    certificate = certificate or getattr(figure, "certificate", None)
    figure = getattr(figure, "figure_", figure)
    with style.context():
        if suffix == ".html":
            content = _page(_svg(figure, title, alt), title, alt, certificate).encode()
        elif suffix == ".svg":
            content = _svg(figure, title, alt).encode()
        elif suffix == ".pdf":  # without the date: the same figure gives the same bytes
            about = {"Title": title, "Subject": alt, "CreationDate": None}
            content = _render(figure, "pdf", metadata=about)
        else:
            words = {"Title": title, "Description": alt}
            content = _render(figure, "png", dpi=dpi, metadata=words)
    with writing(path) as file:
        file.write(content)


def _render(figure: Any, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, **options)
    return buffer.getvalue()


def _svg(figure: Any, title: str, alt: str) -> str:
    """SVG with a title and a description for screen readers."""
    text = _render(figure, "svg", metadata={"Date": None, "Title": title}).decode()
    text = text[text.index("<svg") :]
    names = '<svg role="img" aria-labelledby="mercer-title mercer-description"'
    text = text.replace("<svg", names, 1)
    inner = (
        f'<title id="mercer-title">{html.escape(title)}</title>\n'
        f'<desc id="mercer-description">{html.escape(alt)}</desc>\n'
    )
    return re.sub(r"(<svg[^>]*>\n?)", lambda opening: opening[0] + inner, text, count=1)


def _page(svg: str, title: str, alt: str, certificate: Certificate | None) -> str:
    table = ""
    if certificate is not None:
        rows = "\n".join(
            f"<tr><th scope='row'>{html.escape(label)}</th><td>{html.escape(value)}</td></tr>"
            for label, value in certificate.rows()
        )
        table = f"<table>\n<caption>Certificate: {certificate.status}</caption>\n{rows}\n</table>"
    page = Template(_PAGE.read_text(encoding="utf-8"))
    return page.substitute(title=html.escape(title), alt=html.escape(alt), svg=svg, table=table)
