"""A pytest plugin: Mercer's classes under the names of scikit-learn's, wherever these are defined.

``pytest -p tests.dropin.swap --outcomes FILE`` runs any tests so; one JSON line is written for each
test. With ``--own-classes`` nothing is replaced: a test that fails then too says nothing of Mercer.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import pytest

#: Where scikit-learn defines each class that Mercer has under the same name.
REPLACED = {
    "sklearn.svm": ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"),
    "sklearn.kernel_ridge": ("KernelRidge",),
    "sklearn.decomposition": ("KernelPCA",),
}
NAMES = tuple(name for names in REPLACED.values() for name in names)
# Files of which every test counts, and one that runs over all estimators by their names.
ABOUT_THE_CLASSES = (
    *("svm/tests/test_svm.py", "svm/tests/test_sparse.py", "svm/tests/test_bounds.py"),
    *("tests/test_kernel_ridge.py", "decomposition/tests/test_kernel_pca.py"),
)
OVER_ALL_ESTIMATORS = ("sklearn/tests/test_common.py",)


def swap() -> None:
    """Replace the classes in every module of scikit-learn that has them."""
    import mercer

    for home, names in REPLACED.items():
        for name in names:
            original, ours = getattr(import_module(home), name), getattr(mercer, name)
            for module in list(sys.modules.values()):
                is_theirs = getattr(module, "__name__", "").split(".")[0] == "sklearn"
                if is_theirs and vars(module).get(name) is original:
                    setattr(module, name, ours)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outcomes", type=Path, help="JSON lines: test, outcome, what it says")
    parser.addoption("--own-classes", action="store_true", help="replace nothing")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thread_unsafe: of scikit-learn's own configuration")
    if not config.getoption("--own-classes"):
        swap()
    config.pluginmanager.register(Outcomes(config.getoption("--outcomes")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    related = [item for item in items if _is_related(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in related])
    items[:] = related


def _is_related(item: pytest.Item) -> bool:
    """Whether a test is of a file about the classes, or refers to one of them."""
    path, *names = _name(item).split("::")
    if path.endswith(OVER_ALL_ESTIMATORS):
        return any(f"{name}(" in names[-1] for name in NAMES)
    test = names[0].partition("[")[0]
    return path.endswith(ABOUT_THE_CLASSES) or test in names_that_use(item.path)


@lru_cache
def names_that_use(path: Path) -> set[str]:
    """Functions and classes of a file that name a replaced class, directly or by what they name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    mentions: dict[str, set[str]] = {}
    for statement in tree.body:
        words = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        words |= {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}  # fixtures
        defined = {getattr(statement, "name", "")}
        if isinstance(statement, ast.Assign):
            defined = {t.id for t in statement.targets if isinstance(t, ast.Name)}
        for name in defined:
            mentions.setdefault(name, set()).update(words - defined)
    found = {*NAMES, "svm"}
    while more := {name for name, words in mentions.items() if words & found} - found:
        found |= more
    return found


def _name(item: pytest.Item) -> str:
    """The test by its path from the folder sklearn on, wherever that is."""
    path = item.path.as_posix()
    return path[path.rfind("/sklearn/") + 1 :] + "::" + item.nodeid.partition("::")[2]


class Outcomes:
    """Writes a line for each test that ran, passed or failed."""

    def __init__(self, path: Path | None):
        self.path = path

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report = yield
        told = report.when == "call" or report.outcome != "passed"
        if self.path is not None and told:
            crash = getattr(report.longrepr, "reprcrash", None)
            line = {
                "test": _name(item),
                "outcome": "xfailed" if hasattr(report, "wasxfail") else report.outcome,
                "says": crash.message if crash else "",
            }
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return report
