"""The judge of the tuning benchmark against definitions."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from benchmarks import tuning
from mercer import SVC
from mercer.problems import svc
from mercer.problems._kkt import intercepts


def test_the_violation_is_the_problems():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    beta = np.where(y > 0, 1.0, -1.0) * 0.3
    beta[y > 0] *= (y < 0).sum() / (y > 0).sum()
    expected = intercepts(svc(y, 1.0), beta, K @ beta)[2]
    assert tuning._violation(beta, K @ beta, y, 1.0) == pytest.approx(expected)
    assert tuning._violation(beta, K @ beta, y, 0.2) == np.inf  # beyond the bound


def test_every_cell_of_a_search_is_judged():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    search = tuning._kept()(Cs=[0.1, 10.0], gammas=[0.1, 1.0], cv=cv).fit(X, y)
    assert len(search.duals) == 12
    assert tuning.largest_violation(X, y, search) <= 1e-3
    search.duals[0, 0][0] *= 0.5
    assert tuning.largest_violation(X, y, search) > 1e-3
    assert isinstance(search.best_estimator_, SVC)


def test_a_sample_of_the_cells_is_that_of_the_grid():
    """Candidates of the thinned grid are the numbered ones of the whole grid."""
    Cs, gammas = tuning.grid_of(4)
    for every in (1, 2, 3, 4):
        some_C, some_gamma = tuning.grid_of(4, every)
        numbers = tuning.sampled(every)
        assert numbers.size == some_C.size * some_gamma.size
        assert np.array_equal(np.repeat(Cs, 10)[numbers], np.repeat(some_C, some_gamma.size))
        assert np.array_equal(np.tile(gammas, 10)[numbers], np.tile(some_gamma, some_C.size))


def test_ties_for_the_best_are_one_winner():
    assert tuning.same_winner(np.array([0.9, 0.9, 0.1]), np.array([0.8, 0.9, 0.9]))
    assert not tuning.same_winner(np.array([0.9, 0.8]), np.array([0.8, 0.9]))


def test_processor_time_counts_other_processes():
    before = tuning.processor_seconds()
    code = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert tuning.processor_seconds() - before >= 0.25
