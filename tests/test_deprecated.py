"""Old import paths work, warn with what to use, and give the very objects of the new places."""

from __future__ import annotations

import importlib
import sys
import warnings

import pytest

import mercer  # noqa: F401  (installs the finder)
from mercer._deprecated import MOVED

OPTIONAL = ("bokeh", "matplotlib", "pyarrow")


def home(path):
    try:
        return importlib.import_module(f"mercer.{path}")
    except ImportError as error:
        if error.name in OPTIONAL:
            pytest.skip(f"{error.name} is not installed")
        raise


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_warns_and_gives_the_new_objects(old):
    homes = [home(new) for new in MOVED[old]]
    name = f"mercer.{old}"
    with warnings.catch_warnings():  # of its package, which may have moved as well
        warnings.simplefilter("ignore")
        importlib.import_module(name.rpartition(".")[0])
    before = sys.modules.pop(name, None)
    try:
        with pytest.warns(DeprecationWarning, match=f"{name} has moved; (use|its public names)"):
            module = importlib.import_module(name)
        for public in module.__all__:
            expected = next(getattr(new, public) for new in homes if hasattr(new, public))
            assert getattr(module, public) is expected
    finally:
        sys.modules.pop(name, None)
        if before is not None:
            sys.modules[name] = before


def test_the_warning_names_the_line_that_imports():
    sys.modules.pop("mercer.tuning", None)
    with pytest.warns(DeprecationWarning, match=r"use mercer\.automl") as found:
        import mercer.tuning  # noqa: F401
    assert found[0].filename == __file__


def test_what_was_never_there_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mercer.never_there")
