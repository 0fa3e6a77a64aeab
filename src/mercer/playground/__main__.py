"""``python -m mercer.playground [--port PORT] [--no-browser] [QUERY]``: the playground."""

from __future__ import annotations

import argparse

from mercer.playground import serve


def main() -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser("python -m mercer.playground", description="The playground.")
    parser.add_argument("query", nargs="?", default="", help="a state, as in a shared link")
    parser.add_argument("--port", type=int, default=0, help="by default a free one")
    parser.add_argument("--no-browser", action="store_true", help="only serve")
    given = parser.parse_args()
    serve(given.port, open_browser=not given.no_browser, query=given.query)


if __name__ == "__main__":
    main()
