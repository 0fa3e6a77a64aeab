"""The command line in this process, and the files of ``mercer demo``, made once."""

from __future__ import annotations

import shutil

import pytest

from mercer.cli import main


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """A folder in which ``mercer demo`` has run."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("demo")
    assert main(["demo", "-o", str(folder / "demo"), "--quiet"]) == 0
    return folder


@pytest.fixture
def here(demo, tmp_path, monkeypatch):
    """A working folder of the test's own with the files of the demo."""
    shutil.copytree(demo / "demo", tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def mercer(capsys):
    """``mercer(*words)``: exit code, stdout, stderr."""

    def run(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run
