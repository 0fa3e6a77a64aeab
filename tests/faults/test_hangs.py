"""Settings with which LIBSVM does not end (issues of scikit-learn): here a fit ends, or refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

import mercer
from mercer.exceptions import ConvergenceWarning

IRIS = load_iris(return_X_y=True)
LIMIT = 2.0


def ends(model, X, y):
    """The certificate of a fit within the time limit; a ValueError is an answer as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            certificate = model.set_params(time_limit=LIMIT).fit(X, y).certificate_
        except ValueError:
            return None
    assert certificate.gap >= 0
    return certificate


@pytest.mark.parametrize(
    ("C", "degree", "gamma"), [(0.6653, 7, 4178.4), (1.2347, 7, 4317.6), (0.8157, 8, 864.2)]
)
def test_polynomials_of_high_degree_on_iris(C, degree, gamma):
    """Issue 13557: kernel values of 10^40 beside an offset of zero."""
    X, y = IRIS
    ends(mercer.SVC(C=C, kernel="poly", degree=degree, gamma=gamma), X, y)


def test_nu_of_few_rows():
    """Issue 13075: six rows, the largest nu that the classes allow, a large constant."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = np.where(rng.random((6, 13)) < 0.6, 0.0, rng.random((6, 13)))
        X[5] = X[0]
        y = np.array([False, True, True, False, True, False])
        model = mercer.NuSVC(coef0=10.0, gamma="auto", kernel="poly", nu=2 / 7)
        assert ends(model, X, y) is not None


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e8])
def test_rows_that_were_not_scaled(scale):
    """The usual cause: columns of very different sizes and a linear kernel."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4)) * np.array([1.0, scale, 1e-3, scale**0.5])
    y = X[:, 0] + rng.normal(size=200) > 0
    assert ends(mercer.SVC(kernel="linear", C=1e3), X, y) is not None


@pytest.mark.parametrize("column", ["normal", "lognormal", "few values", "years"])
def test_a_polynomial_of_one_column(column):
    """Issue 30353: these settings, with one feature; labels that do not depend on it."""
    rng = np.random.default_rng(2)
    x = {
        "normal": rng.normal(size=400),
        "lognormal": rng.lognormal(0.0, 2.0, size=400),
        "few values": rng.integers(0, 5, size=400),
        "years": rng.integers(1900, 2024, size=400),
    }[column]
    weights = {0: 1.04884106, 1: 0.95550528}
    model = mercer.SVC(
        C=100, kernel="poly", degree=4, gamma=0.9597420397825849, tol=0.01, class_weight=weights
    )
    certificate = ends(model, np.asarray(x, float)[:, None], rng.integers(0, 2, size=400))
    assert certificate is not None
    assert np.isfinite(certificate.gap)
