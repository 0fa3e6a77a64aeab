"""``mercer play``: the playground."""

from __future__ import annotations

from mercer.app import serve

__all__ = ["run"]


def run(data: str | None, port: int, browser: bool) -> None:
    serve(port=port, open_browser=browser)
