"""What the benchmark of linear models counts."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.linear_fits import _products
from benchmarks.linear_report import summary
from mercer import LinearSVC
from mercer.solvers.linear._design_matrix import LocalMatrix


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_products_are_rows_with_a_curvature(shift):
    """Squared hinge within its margin: every Newton step takes all rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + shift
    y = np.where(rng.random(200) < 0.5, 1, -1)
    model = LinearSVC(C=1e-9).fit(X, y)  # no score leaves its side of the margin
    before = LocalMatrix.weighted_gram
    assert _products(model, X, y) == model.n_iter_
    assert LocalMatrix.weighted_gram is before


def test_products_are_reported():
    run = {
        "what": "fit",
        "case": "a9a",
        "loss": "hinge",
        "peer": "mercer",
        "tol": 1e-3,
        "seconds": 1.0,
        "relative_gap": 1e-4,
        "products": 0.847,
    }
    assert "0.85" in summary([run], (1e-3,), 600.0)


def test_lower_bounds_are_marked_in_ratio_and_mean():
    run = {"what": "fit", "case": "a9a", "loss": "hinge", "tol": 1e-3}
    mine = run | {"peer": "mercer", "seconds": 1.0, "relative_gap": 1e-4}
    theirs = run | {"peer": "liblinear", "failed": "not finished after 600 s"}
    text = summary([mine, theirs], (1e-3,), 600.0)
    assert "≥600 (≥600.00×)" in text
    assert "≥600.00× of 1" in text
