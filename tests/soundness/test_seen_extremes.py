"""Numbers at the ends of float64: refused with the reason, or fitted without a word."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer._result import Status
from mercer.exceptions import ConvergenceWarning

ROWS = np.random.default_rng(12).normal(size=(12, 3))
LABELS, TARGETS = np.arange(12) % 2, np.sin(np.arange(12.0))

REGRESSIONS = [
    mercer.SVR(time_limit=1.0),
    mercer.NuSVR(time_limit=1.0),
    mercer.KernelRidge(kernel="rbf"),
    mercer.KernelRidge("loo", kernel="rbf"),
    mercer.KernelRidge(kernel="rbf", approximation="nystroem", n_components=3),
    mercer.LinearSVR(time_limit=1.0),
    mercer.LinearSVR(loss="squared_epsilon_insensitive", time_limit=1.0),
]
CLASSIFIERS = [
    mercer.SVC(time_limit=1.0),
    mercer.SVC(loss="squared_hinge", time_limit=1.0),
    mercer.NuSVC(nu=0.3, time_limit=1.0),
    mercer.SVC(approximation="nystroem", n_components=3, time_limit=1.0),
    mercer.KernelLogisticRegression(time_limit=1.0),
    mercer.LinearSVC(time_limit=1.0),
    mercer.LogisticRegression(time_limit=1.0),
    mercer.MKL([mercer.kernels.RBF(1.0), mercer.kernels.Linear()], time_limit=1.0),
]


def fitted_or_refused(model, X, y, weight=None):
    """The certificate and that of `verify` have no NaN; or a ValueError gives the reason."""
    given = {} if weight is None else {"sample_weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X, y, **given)
        except ValueError as error:
            return str(error)
        own = model.estimator_ if isinstance(model, mercer.MKL) else model
        for proof in (model.certificate_, mercer.verify(own, X, y, weight)):
            assert not np.isnan([proof.primal, proof.gap]).any()
            assert proof.gap >= 0
    return ""


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e30, 1e59, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("model", REGRESSIONS, ids=repr)
def test_targets(model, size):
    said = fitted_or_refused(model, ROWS, size * TARGETS)
    assert ("targets" in said) == (size > 1e60)


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e-140, 1e50, 1e100, 1e300])
@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSIONS[:3]], ids=repr)
def test_weights(model, size):
    y = TARGETS if model in REGRESSIONS else LABELS
    for weight in (np.full(12, size), np.where(np.arange(12) % 3, 1.0, size)):
        said = fitted_or_refused(model, ROWS, y, weight)
        assert ("sample_weight" in said) == (not 1e-150 <= size <= 1e60)


@pytest.mark.parametrize("scale", [5e-324, 1e-160, 1e-80, 1e14, 1e40, 1e49, 1e150])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("n", [2, 3, 12])
def test_rows(kernel, scale, n):
    """Kernel values from the smallest subnormal number to the largest that is taken."""
    for models, y in ((CLASSIFIERS, LABELS), (REGRESSIONS, TARGETS)):
        for model in models:
            if "kernel" in model.get_params(deep=False):
                other = clone(model).set_params(kernel=kernel)
                fitted_or_refused(other, scale * ROWS[:n], y[:n])


@pytest.mark.parametrize("n", [2, 3, 12])
def test_a_hard_margin_of_subnormal_rows_is_verified(n):
    model = mercer.LinearSVC(C=np.inf, intercept_scaling=None, time_limit=1.0)
    fitted_or_refused(model, 5e-324 * np.round(9 * ROWS[:n]), LABELS[:n])


@pytest.mark.parametrize("scale", [1e20, 1e30, 1e35, 1e40, 1e45])
def test_where_rounding_rules_the_steps_the_model_is_no_worse_than_none(scale):
    """K of scale² beside a diagonal of ½: the smallest eigenvalues are lost. P(0) is Cn."""
    X = scale * ROWS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mercer.SVC(loss="squared_hinge", kernel="linear", time_limit=5.0).fit(X, LABELS)
    proof = model.certificate_
    assert np.isfinite(proof.gap)
    assert proof.dual <= len(LABELS)
    assert mercer.verify(model, X, LABELS).gap <= proof.gap * (1 + 1e-6)


STALLING = [
    mercer.NuSVC(nu=0.3, kernel="linear"),
    mercer.SVC(C=1e5, kernel="linear"),
    mercer.SVC(C=100, loss="squared_hinge", kernel="poly", degree=2, gamma=1.0),
    mercer.SVR(loss="squared_epsilon_insensitive", kernel="linear"),
]


@pytest.mark.parametrize("scale", [1e10, 1e22])
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("model", STALLING, ids=repr)
def test_the_gap_of_a_stalled_fit_is_no_smaller_than_that_of_its_model(model, seed, scale):
    """`verify` bounds the gap of the stored model from below, without the solver's code."""
    X = scale * np.random.default_rng(seed).normal(size=(14, 3))
    y = np.sin(np.arange(14.0)) if isinstance(model, mercer.SVR) else np.arange(14) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = clone(model).set_params(time_limit=5.0).fit(X, y)
    assert mercer.verify(found, X, y).gap_low <= found.certificate_.gap * (1 + 1e-9)


@pytest.mark.parametrize("seed", [0, 4, 7, 11])
def test_a_dual_value_that_rises_by_rounding_ends_the_fit(seed):
    """Beside a gap of 10² a dual value of 10⁻¹⁶ can rise for ever, in steps of 10⁻²⁸."""
    rng = np.random.default_rng(seed)
    far = 10.0 ** rng.uniform(6.5, 8)
    X = np.array([[far], [rng.normal()], [far + rng.normal()]])
    y = rng.normal(size=3)
    kernel = mercer.kernels.RBF(10.0 ** rng.uniform(-3, 0)) * mercer.kernels.Polynomial(
        degree=2, gamma=0.5, coef0=1.0
    )
    C = 10.0 ** rng.uniform(0, 2)
    model = mercer.NuSVR(C=C, nu=0.1, tol=1e-7, kernel=kernel, time_limit=60)
    with pytest.warns(ConvergenceWarning, match="limit of float64"):
        model.fit(X, y)
    assert model.certificate_.status is Status.STALLED


def test_verify_of_components_whose_rounding_is_beyond_float64_does_not_warn():
    """With γ = 2·10⁷ and rows 10¹⁴ apart the bound of RBF values overflows when it is squared."""
    rng = np.random.default_rng(0)
    X = np.vstack([1.2285e14 + 3e8 * rng.normal(size=(3, 4)), 5e5 * rng.normal(size=(3, 4))])
    model = mercer.KernelPCA(1, eigen_solver="krylov", kernel="rbf", gamma=1.86e7).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mercer.verify(model, X)
    assert np.isfinite(found.residuals).all()
