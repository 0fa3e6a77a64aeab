"""The losses of the benchmark of probabilities against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from benchmarks.probability import losses, split


@pytest.mark.parametrize("classes", [2, 4])
def test_losses(classes):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(classes), 50)
    names = np.arange(classes) * 2 + 1
    y = names[np.r_[np.arange(classes), rng.integers(classes, size=50 - classes)]]
    found = losses(p, y, names)
    assert found[0] == pytest.approx(log_loss(y, p, labels=names))
    if classes == 2:
        assert found[1] == pytest.approx(brier_score_loss(y, p[:, 1], pos_label=3))
    else:
        assert found[1] == pytest.approx(((p - (y[:, None] == names)) ** 2).sum(axis=1).mean())


def test_test_rows_are_others_and_scaled_by_the_training_rows():
    X = np.arange(400.0)[:, None] ** 2
    y = np.arange(400) % 2
    A, B, a, b = split(X, y, 100, 0)
    assert (len(A), len(B)) == (100, 300)
    assert A.mean() == pytest.approx(0.0)
    assert A.std() == pytest.approx(1.0)
    assert not set(A[:, 0]) & set(B[:, 0])
    assert a.mean() == b.mean() == 0.5
