"""``mercer play``: the playground."""

from __future__ import annotations

from pathlib import Path

from mercer.cli._errors import Failed, complain
from mercer.playground import State, StateError, serve
from mercer.playground._upload import points_of_csv

__all__ = ["run"]


def run(data: str | None, port: int, browser: bool) -> None:
    query = "" if data is None else _query(data)
    try:
        serve(port, open_browser=browser, query=query)
    except OSError as error:
        raise Failed(f"--port {port}: {error.strerror or error}") from error


def _query(data: str) -> str:
    """The points of a small CSV file as the state that the page opens with."""
    try:
        points, note = points_of_csv(Path(data).read_text(encoding="utf-8-sig"))
        query = State(points=points).to_query()
    except (StateError, UnicodeDecodeError) as error:
        raise Failed(f"{data}: {error}") from error
    complain(f"{data}: {note}")
    return query
