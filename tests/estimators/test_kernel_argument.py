"""What is given as ``kernel`` and is none: the message says what to write instead."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from mercer import MKL, SVC, SVR, KernelPCA, KernelRidge
from mercer.kernels import RBF, Linear

X, Y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]


@pytest.mark.parametrize("machine", [SVC, SVR])
def test_mkl_as_a_kernel(machine):
    with pytest.raises(ValueError, match=rf"MKL\(kernels, {machine.__name__}\(…\)\)\.fit\(X, y\)"):
        machine(kernel=MKL([RBF(1.0), Linear()])).fit(X, Y)


@pytest.mark.parametrize("machine", [KernelRidge, KernelPCA])
def test_an_estimator_as_a_kernel(machine):
    with pytest.raises(ValueError, match="MKL is an estimator; after its fit its kernel_"):
        machine(kernel=MKL([RBF(1.0)])).fit(X, Y)
    learned = MKL([RBF(1.0), Linear()]).fit(X, Y).kernel_
    machine(kernel=learned).fit(X, Y)


@pytest.mark.parametrize(
    ("kernel", "remedy"),
    [
        (RBF, r"RBF is a class: give an object of it, such as RBF\(\)"),
        ([RBF(1.0), Linear()], "add them, k \\+ l, or let MKL learn"),
        ("rfb", "Did you mean 'rbf'"),
        ("liner", "Did you mean 'linear'"),
        (3, "'kernel' parameter of SVC must be"),
    ],
)
def test_others(kernel, remedy):
    with pytest.raises(ValueError, match=remedy):
        SVC(kernel=kernel).fit(X, Y)


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (MKL([]), r"one or more .*such as \[RBF\(gamma=0.1\), Linear\(\)\]; got none"),
        (MKL(RBF(1.0)), r"must be a list .*got RBF\(gamma=1.0\)\."),
        (MKL("rbf"), "must be a list .*got 'rbf'"),
        (MKL(None), "must be a list .*got None"),
        (MKL(["rbf", "linear"]), "Kernel objects.*got 'rbf' in it"),
        (MKL([RBF(1.0)], "svc"), "estimator must be an SVC or an SVR, got 'svc'"),
        (MKL([RBF(1.0)], SVC), "estimator must be an SVC or an SVR"),
        (MKL([RBF(1.0)], KernelRidge()), "estimator must be an SVC or an SVR"),
    ],
)
def test_mkl_says_what_it_needs(model, remedy):
    """At the fit, as scikit-learn's estimators do, so that any of them can be cloned."""
    with pytest.raises(ValueError, match=remedy):
        clone(model).fit(X, Y)
