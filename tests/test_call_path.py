"""A fit passes through the packages in turn, and seldom goes back to one that it has left."""

import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer, make_blobs, make_classification, make_moons

import mercer
from mercer import SVC, LinearSVC

PACKAGE = Path(mercer.__file__).parent
DATA = {
    "classification": make_classification(300, random_state=0),
    "moons": make_moons(300, noise=0.3, random_state=0),
    "blobs": make_blobs(300, centers=2, random_state=0),
    "cancer": tuple(part[:300] for part in load_breast_cancer(return_X_y=True)),
}


def crossings(call) -> int:
    """How often a call in one package or root module is followed by one in another."""
    found, last = [], None

    def profile(frame, event, _):
        nonlocal last
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(PACKAGE)):
            package = Path(path).relative_to(PACKAGE).parts[0]
            if last not in (None, package):
                found.append((last, package))
            last = package

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return len(found)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize(("model", "most"), [(SVC(), 30), (LinearSVC(loss="hinge"), 60)])
def test_a_second_fit_crosses_few_borders(model, most, data):
    X, y = DATA[data]
    model.fit(X, y)  # imports and compiles
    assert 10 < crossings(lambda: model.fit(X, y)) <= most
