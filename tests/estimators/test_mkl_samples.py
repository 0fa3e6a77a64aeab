"""Weights of kernels learned from samples of the rows."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import MKL, SVC, SVR
from mercer.estimators.mkl._point import Machine
from mercer.estimators.mkl._sample import SampleSettings, sample_machines, sample_rows
from mercer.kernels import RBF, OnColumns
from mercer.problems._svm import svr


def test_samples_grow_within_each_other():
    found = sample_rows(1000, SampleSettings(factor=3, least=100))
    assert [rows.size for rows in found] == [111, 333]
    assert np.isin(found[0], found[1]).all()
    assert all((np.diff(rows) > 0).all() for rows in found)
    assert sample_rows(299, SampleSettings(factor=3, least=100)) == []


@pytest.mark.parametrize("squared", [False, True])
def test_a_sample_is_the_problem_of_its_rows_with_more_C(squared):
    rng = np.random.default_rng(0)
    y, C = rng.normal(size=12), rng.uniform(1, 2, size=12)
    of_task = np.array([0, 2, 3, 5, 6, 7, 8, 9, 11])  # a task on some of the rows
    rows = np.array([1, 2, 5, 8, 9, 10])
    both = np.array([2, 5, 8, 9])  # of the task and the sample
    found = sample_machines(
        [Machine(svr(y[of_task], C[of_task], 0.1, squared=squared), of_task)], rows, 12
    )[0]
    expected = svr(y[both], 2 * C[both], 0.1, squared=squared)
    assert np.array_equal(rows[found.rows], both)
    at = np.lexsort([found.problem.target, found.problem.row])
    by = np.lexsort([expected.target, expected.row])
    for name in ("target", "lower", "upper", "row"):
        assert np.allclose(getattr(found.problem, name)[at], getattr(expected, name)[by])
    if squared:
        assert np.allclose(found.problem.diag, expected.diag)


@pytest.mark.parametrize("model", [SVC(C=10), SVR(C=1)])
def test_weights_from_samples_are_certified_for_all_rows(model):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1700, 3))
    f = np.abs(X[:, 1]) - 0.7 + 0.3 * X[:, 0] + rng.normal(scale=0.2, size=1700)
    y = f if isinstance(model, SVR) else np.sign(f)
    kernels = [OnColumns(RBF(0.3), c) for c in range(3)]
    found = MKL(kernels, model).fit(X, y)
    assert found.certificate_.holds
    assert found.shares_.argmax() == 1
    assert found.n_machines_ > found.n_iter_ + 1  # those of the sample besides
