"""The stated distance from the exact optimum is true: exact arithmetic on small hard problems."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("flint")

from flint import arb

import mercer
from mercer import SVC, SVR, OneClassSVM
from mercer.exceptions import ConvergenceWarning
from tests.soundness.exact import Rows
from tests.soundness.machines import read_tasks
from tests.soundness.oracle import examine, sharpen

N = 30


def rows(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with an offset, of small or large or mixed scales, repeated, or on a grid."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N, 2))
    y = np.where(Z[:, 0] * Z[:, 1] + 0.5 * rng.normal(size=N) > 0, 1, -1)
    y[:2] = 1, -1
    X = {
        "plain": Z,
        "offset": Z + 1e6,
        "small": 1e-7 * Z,
        "large": 1e5 * Z,
        "mixed": Z * [1e-4, 1e4],
        "repeated": Z[rng.integers(0, 6, N)],
        "grid": np.round(2 * Z),
    }[kind]
    return X, y


KINDS = ["plain", "offset", "small", "large", "mixed", "repeated", "grid"]


def exact(model, y, X, kernel) -> tuple:
    """Of each task the exact value of the model, and an enclosure of the optimal value."""
    found = []
    for task in read_tasks(model, y, None, N):
        truth = examine(task, kernel, Rows(X))
        found.append((truth.primal, truth, task))
    return tuple(found)


def check(machine, X, y, **params) -> None:
    given = {"gamma": "scale", **params}
    low = {"approximation": "nystroem", "n_components": 7, "random_state": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = machine(**given, **low).fit(X, y)
        best = machine(**given, tol=1e-8).fit(X, y)
        other = machine(**given, **low, tol=1e-9).fit(X, y)
    stated, verified = model.certificate_, mercer.verify(model, X, y)
    ((value, _, _),) = exact(model, y, X, model.kernel_)
    ((_, truth, _),) = exact(best, y, X, best.kernel_)
    assert sharpen(truth, best.kernel_, Rows(X), 1e-12)
    for proof in (stated, verified):
        assert not arb(proof.exact_primal) < value, "the primal value is below the model's"
        assert not value - truth.high > proof.distance_to_exact, "the distance is too small"
        assert not arb(proof.exact_primal - proof.distance_to_exact) > truth.high
        # Of the low-rank problem: no model on these landmarks has a smaller value than the dual.
        ((another, _, _),) = exact(other, y, X, other.kernel_)
        assert not arb(proof.dual) > another * (1 + arb(1e-13)) + arb(1e-300)
    assert stated.distance_to_exact >= 0


@pytest.mark.parametrize("kind", KINDS)
def test_distance_of_classifiers(kind):
    check(SVC, *rows(kind, 0), C=3.0)


@pytest.mark.parametrize("kind", KINDS[:4])
def test_distance_with_squared_slack_and_without_intercept(kind):
    check(SVC, *rows(kind, 1), C=100.0, loss="squared_hinge")
    check(SVC, *rows(kind, 2), C=0.5, fit_intercept=False)


@pytest.mark.parametrize("kind", KINDS[::2])
def test_distance_of_regression(kind):
    X, _ = rows(kind, 3)
    y = np.random.default_rng(4).normal(size=N) + 1e3 * (kind == "small")
    check(SVR, X, y, C=2.0, epsilon=0.1)


@pytest.mark.parametrize("kind", KINDS[::3])
def test_distance_of_one_class(kind):
    X, _ = rows(kind, 5)
    check(OneClassSVM, X, None, nu=0.3)
