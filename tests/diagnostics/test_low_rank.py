"""`doctor` on low rank: from the residual diagonal of a sample."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import SVC
from mercer.diagnostics._doctor import examine
from mercer.diagnostics._low_rank import sample_residual
from mercer.diagnostics._settings import Thresholds
from mercer.kernels import RBF, Linear
from mercer.kernels._samples import Samples

X = np.random.default_rng(0).normal(size=(600, 3))
Y = X[:, 0] > 0


def test_the_residual_is_that_of_the_projection():
    """k(x, x) − k_m(x)ᵀ K_mm⁻¹ k_m(x), by the naive formula."""
    k = RBF(0.5)
    K = k(X[:30])
    cross = k(X[30:80], X[:30])
    expected = 1 - np.einsum("ij,jk,ik->i", cross, np.linalg.inv(K), cross).mean()
    assert sample_residual(k, Samples(X), 30, 50) == pytest.approx(expected, abs=1e-6)
    assert sample_residual(Linear(), Samples(X), 3, 50) == pytest.approx(0.0, abs=1e-9)


def findings(settings: Thresholds = Thresholds(), **params) -> str:  # noqa: B008 (frozen)
    report = examine(X, Y, SVC(), params=params, settings=settings)
    return " | ".join(f"{f.what} {f.remedy}" for f in report.findings)


def test_few_rows_and_narrow_kernels_have_better_choices():
    low = {"approximation": "nystroem", "n_components": 20}
    said = findings(gamma=0.1, **low)
    assert "600 rows are few for an approximation" in said
    assert "too coarse" not in said
    assert "The approximation is too coarse" in findings(gamma=20.0, **low)


def test_many_rows_are_told_whether_low_rank_can_work():
    large = Thresholds(low_rank_rows=500, low_rank_components=100)
    assert "Low rank can work" in findings(large, gamma=0.05)
    assert "Low rank would not work" in findings(large, gamma=20.0)
    assert "Low rank" not in findings(gamma=0.05)
