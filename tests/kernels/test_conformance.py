"""Every kernel against its definition: dense and CSR, both precisions, floats and integers."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import (
    RBF,
    AllSubsets,
    Callable,
    Centre,
    Chi2,
    Constant,
    Cosine,
    IndefiniteKernelWarning,
    Laplacian,
    Linear,
    Normalize,
    Polynomial,
    Sigmoid,
)
from tests.kernels.conformance import KernelConformance
from tests.oracles.naive_kernels import NAIVE


class TestLinear(KernelConformance):
    kernel = Linear()


class TestSumOfLinear(KernelConformance):
    kernel = 2 * Linear() + 0.5 * Linear()


class TestPolynomial(KernelConformance):
    kernel = Polynomial(degree=3, gamma=0.1, coef0=1.0)


class TestPolynomialDegree0(KernelConformance):
    kernel = Polynomial(degree=0)


class TestPolynomialDegree1(KernelConformance):
    kernel = Polynomial(degree=1, gamma=2.0, coef0=0.5)


class TestPolynomialDegree2(KernelConformance):
    kernel = Polynomial(degree=2, gamma=0.1, coef0=-1.0)


class TestPolynomialDegree7(KernelConformance):
    kernel = Polynomial(degree=7, gamma=0.02, coef0=0.5)


class TestSigmoid(KernelConformance):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        kernel = Sigmoid(gamma=0.05, coef0=0.3)


class TestCosine(KernelConformance):
    kernel = Cosine()


class TestRBF(KernelConformance):
    kernel = RBF(gamma=0.05)


class TestNarrowRBF(KernelConformance):
    kernel = RBF(sigma=0.05)
    condition = kernel.gamma * 15  # γ‖x‖², the size of what cancels in the exponent


class TestLaplacian(KernelConformance):
    kernel = Laplacian(gamma=0.2)


class TestChi2(KernelConformance):
    kernel = Chi2(gamma=0.3)
    nonnegative = True


class TestAllSubsets(KernelConformance):
    kernel = AllSubsets()


class TestConstant(KernelConformance):
    kernel = Constant(2.5)


class TestSum(KernelConformance):
    kernel = RBF(gamma=0.1) + 3 * Linear()


class TestSumWithConstant(KernelConformance):
    kernel = 0.5 + (Laplacian(0.1) + 1)


class TestProduct(KernelConformance):
    kernel = (RBF(gamma=0.1) + 1) * Polynomial(degree=2, gamma=0.1, coef0=1.0)


class TestScaled(KernelConformance):
    kernel = 0.25 * (2 * Cosine())


class TestPower(KernelConformance):
    kernel = (RBF(0.1) + 0.2 * Linear()) ** 4


class TestNormalize(KernelConformance):
    kernel = Normalize(Polynomial(degree=2, gamma=0.1, coef0=1.0))


class TestNormalizedLinear(KernelConformance):
    kernel = Normalize(2 * Linear()) + 1


class TestCentre(KernelConformance):
    kernel = Centre(RBF(0.1), np.linspace(-1, 1, 42).reshape(6, 7) ** 2)
    columns = 7

    def again(self):
        """Its repr counts the samples."""
        return Centre(RBF(0.1), self.kernel.samples.copy())


def written(X, Z):
    """(x·z + 1)², of rows as they come."""
    X, Z = (each.toarray() if sp.issparse(each) else each for each in (X, Z))
    return (X.astype(float) @ Z.T.astype(float) + 1) ** 2


NAIVE["Callable"] = lambda x, z, **_: float(written(x[None], z[None])[0, 0])


class TestCallable(KernelConformance):
    kernel, names = Callable(written), {"written": written}

    def test_huge_values_are_refused_or_sound(self):
        """The function decides which samples it takes; its values are checked."""
        with pytest.raises(ValueError, match="written returned NaN, infinity, or values beyond"):
            self.kernel(np.array([[1e60, 1.0], [1.0, 2.0]]))


class TestMixture(KernelConformance):
    kernel = Cosine() + (RBF(0.2) * (Laplacian(0.1) * 3)) ** 2 + (Linear() + AllSubsets())
