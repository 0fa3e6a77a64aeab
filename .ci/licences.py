"""Licences of what Mercer depends on: each must be on the list, or the exit status is 1.

    python .ci/licences.py [extra …]

Reads the metadata of the installed distributions that pyproject.toml names, and of what these need.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution

# Licences that a BSD-licensed library may depend on: permissive ones, and weak copyleft of whole
# libraries that are only imported.
ALLOWED = re.compile(
    r"MIT|BSD|Apache|PSF|Python Software Foundation|ISC|HPND|MPL|Mozilla|Zlib|0BSD|Unlicense"
    r"|LGPL|CNRI|CC0|public domain",
    re.IGNORECASE,
)


def licence_of(name: str) -> str:
    """The licence expression, the classifiers, or the first line of the licence field."""
    data = distribution(name).metadata
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in data.get_all("Classifier") or ()
        if line.startswith("License ::")
    ]
    field = data.get("License-Expression") or ", ".join(classifiers) or data.get("License") or ""
    return field.strip().splitlines()[0] if field.strip() else "unknown"


def is_allowed(licence: str) -> bool:
    """Whether each of the licences that hold together is on the list."""
    return all(map(ALLOWED.search, re.split(r"\bAND\b", licence)))


def needed(start: str, extras: set[str]) -> set[str]:
    """Distributions that ``start`` needs with these extras, and those that they need."""
    found: set[str] = set()
    waiting = [(start, extras)]
    while waiting:
        name, asked = waiting.pop()
        try:
            requirements = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        for line in requirements:
            head, _, marker = line.partition(";")
            extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
            if extra is not None and extra.group(1) not in asked:
                continue
            match = re.match(r"([\w.-]+)(?:\[([\w, -]+)\])?", head.strip())
            if match is None:
                continue
            inner = match.group(1).lower().replace("_", "-")
            more = set(re.split(r"[, ]+", match.group(2))) if match.group(2) else set()
            if inner not in found or more:
                found.add(inner)
                waiting.append((inner, more if inner != start else asked | more))
    return found - {start}


def main() -> int:
    extras = set(sys.argv[1:]) or {"all"}
    refused = 0
    for name in sorted(needed("mercer", extras)):
        try:
            licence = licence_of(name)
        except PackageNotFoundError:
            continue  # needed elsewhere: another system or Python
        is_listed = is_allowed(licence)
        refused += not is_listed
        print(f"{'' if is_listed else 'NOT ON THE LIST: '}{name}: {licence:.60}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
