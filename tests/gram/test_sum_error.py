"""The bound on the error of sums: valid for every pair of rows, and close for typical ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.gram import BlockedGram
from mercer.gram._sum_error import SumError
from mercer.kernels import RBF, Linear
from mercer.kernels._rounding import Rounding, exponential, unit
from mercer.kernels._samples import Samples


@given(seed=st.integers(0, 10_000), spread=st.floats(0.0, 4.0), terms=st.integers(1, 10**6))
def test_factor_times_weight_bounds_the_error_of_every_pair(seed, spread, terms):
    rho = 1e-7 * np.exp(spread * np.random.default_rng(seed).normal(size=40))
    error = SumError(Rounding(rho), Rounding(rho), terms)
    exact = rho[:, None] + rho + error.of_sum
    bound = np.outer(error.factor, error.weight(np.ones(40)))
    assert (bound >= exact).all()
    others = error.factor_of(Rounding(rho[:5] * 3))  # rows that are no columns
    assert (np.outer(others, error.weight(np.ones(40))) >= exact[:5] + 2 * rho[:5, None]).all()


def test_the_bound_is_exact_at_the_median():
    rho = np.concatenate([np.full(60, 2e-7), np.geomspace(1e-7, 1e-4, 40)])
    error = SumError(Rounding(rho), Rounding(rho), 1)
    assert error.factor[0] * error.weight(np.ones(1), [0])[0] == pytest.approx(4e-7, rel=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_of_an_exponent_are_bounded_for_every_exponent(dtype):
    """exp(−t) with t off by 2t u, and its own error of 4 u."""
    t = np.concatenate([np.linspace(0, 30, 3001), np.geomspace(30, 700, 100)])
    k, u = np.exp(-t), unit(dtype)
    rounding = exponential(np.zeros(1), dtype)
    (p, q), *_ = rounding.pairs
    bound = k * 2 * rounding.relative[0] + 2 * p[0] * q[0]
    assert (np.abs(np.exp(-t * (1 + 2 * u)) * (1 + 4 * u) - k) <= bound).all()
    assert (np.abs(np.exp(-t * (1 - 2 * u)) * (1 - 4 * u) - k) <= bound).all()


@pytest.mark.parametrize("kernel", [RBF(gamma=0.02), Linear()], ids=repr)
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_rows_with_few_nonzeros_lose_little(kernel, share):
    """Float32 values of dense rows against long double; zeros are added without rounding."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60)) * (rng.random((300, 60)) < share)
    points = Samples(X)
    nonzeros = np.count_nonzero(X, axis=1).max()
    assert points.terms == (nonzeros if share < 1 else 60)
    gram = BlockedGram(kernel, points)
    every = np.arange(300)
    L = X.astype(np.longdouble)
    exact = L @ L.T
    if isinstance(kernel, RBF):
        norms = np.diag(exact)
        exact = np.exp(-kernel.gamma * (norms[:, None] + norms - 2 * exact))
    coef = rng.normal(size=300)
    sums, bound = gram.bounded_sums(coef, every, np.float32)
    assert (np.abs(sums - exact @ coef) <= bound).all()
