"""The quick part of `tests.dropin.run`, and what the run itself relies on."""

from __future__ import annotations

from pathlib import Path

from tests.dropin import run
from tests.dropin.swap import ABOUT_THE_CLASSES, names_that_use


def test_of_the_classes_themselves():
    """scikit-learn's tests of these classes pass, but for the deviations that are listed."""
    files = run.files_about_the_classes()
    assert len(files) == len(ABOUT_THE_CLASSES)
    comparison = run.compare(files)
    assert comparison.passed > 200
    assert comparison.holds, str(comparison)


def _swapped_tests(folder: Path) -> Path:
    path = folder / "sklearn" / "test_swapped.py"
    path.parent.mkdir()
    path.write_text(
        "from sklearn.kernel_ridge import KernelRidge\n"
        "from sklearn.svm import SVC\n"
        "from sklearn import svm\n"
        "def helper(): return SVC\n"
        "def test_is_mercers(): assert helper().__module__.startswith('mercer.')\n"
        "def test_is_sklearns(): assert svm.SVC.__module__.startswith('sklearn.')\n"
        "def test_unrelated(): assert False\n"
    )
    return path


def test_classes_are_swapped_and_new_and_gone_deviations_are_found(tmp_path, monkeypatch):
    """Unrelated tests are left out; what fails with Mercer's classes is run with the others."""
    path = _swapped_tests(tmp_path)
    assert names_that_use(path) >= {"helper", "test_is_mercers", "test_is_sklearns"}
    listed = {"sklearn/test_swapped.py::test_is_mercers": "wrongly listed"}
    monkeypatch.setattr(run, "SITE", tmp_path)
    monkeypatch.setattr(run, "DEVIATIONS", listed)
    comparison = run.compare([path])
    assert comparison.passed == 1
    assert list(comparison.new) == ["sklearn/test_swapped.py::test_is_sklearns"]
    assert comparison.gone == list(listed)
    assert not comparison.holds
