"""The examples of one Markdown page, run in order in one namespace, as in a terminal."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any


class Page:
    """The ``>>>`` examples of a page and how far they have run."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.rest = _examples(path.read_text(encoding="utf-8"))
        self.namespace: dict[str, Any] = {"__name__": "__main__"}

    def run_through(self, block: str) -> list[str]:
        """Run all examples up to the last one of a block; return what went wrong."""
        own = [example.source for example in _examples(block)]
        sources = [example.source for example in self.rest]
        starts = range(len(sources) - len(own) + 1)
        first = next(i for i in starts if sources[i : i + len(own)] == own)
        return self._run(first + len(own))

    def run_rest(self) -> list[str]:
        """Run all examples that are left; return what went wrong."""
        return self._run(len(self.rest))

    def _run(self, count: int) -> list[str]:
        now, self.rest = self.rest[:count], self.rest[count:]
        test = doctest.DocTest(now, {}, self.name, None, 0, None)
        test.globs = self.namespace  # DocTest would copy it; the next block goes on from here
        complaints: list[str] = []
        doctest.DocTestRunner(verbose=False).run(test, out=complaints.append, clear_globs=False)
        return complaints


def _examples(text: str) -> list[doctest.Example]:
    """The examples of a text; a fence after one is not part of its output."""
    return doctest.DocTestParser().get_examples(re.sub(r"^(```|:::).*$", "", text, flags=re.M))
