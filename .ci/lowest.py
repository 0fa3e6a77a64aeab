"""Print the oldest supported versions as pip constraints: `numpy>=1.26` becomes `numpy==1.26.*`.

The dependencies and the extras that the numerical tests need are read from pyproject.toml.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = ("qp", "tables")

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
wanted = project["dependencies"] + [
    line for extra in EXTRAS for line in project["optional-dependencies"].get(extra, [])
]
for line in wanted:
    name, version = re.fullmatch(r"([\w.-]+)>=([\d.]+)", line.split(";")[0].strip()).groups()
    print(f"{name}=={version}.*")
