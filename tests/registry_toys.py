"""A kernel, an estimator and a solver from outside of the package, one registry line each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import balanced_accuracy_score

from mercer.estimators import SVC
from mercer.estimators._registry import EstimatorEntry, register_estimator
from mercer.kernels import Laplacian
from mercer.kernels._registry import KernelEntry, register_kernel
from mercer.solvers._platt import Platt


@dataclass(frozen=True, repr=False)
class ToyKernel(Laplacian):
    """½ + ½ exp(−γ |x − z|₁)."""

    def tile(self, A, B, out):
        super().tile(A, B, out)
        out *= 0.5
        out += 0.5


def toy_reference(kernel, A, Z):
    """Its values for `verify`, and a bound of their rounding."""
    distances = cdist(A.values, Z.values, "cityblock")
    K = 0.5 + 0.5 * np.exp(-kernel.gamma * distances)
    return K, 2.0**-53 * (8 + kernel.gamma * (A.X.shape[1] + 4) * distances)


class ToySVC(SVC):
    """Scored by balanced accuracy."""

    def score(self, X, y, sample_weight=None):
        return balanced_accuracy_score(y, self.predict(X), sample_weight=sample_weight)


class ToySolver(Platt):
    """Platt's method under another name."""

    name = "toy"


KERNEL = KernelEntry(
    "tests.registry_toys:ToyKernel",
    names=("toy",),
    parameters=("gamma",),
    reference="tests.registry_toys:toy_reference",
)
ESTIMATOR = EstimatorEntry(
    "tests.registry_toys:ToySVC",
    "classification",
    cli_name="toy-svc",
    verify="mercer.verification._verify:verify_svc",
)


def register() -> None:
    register_kernel(KERNEL)
    register_estimator(ESTIMATOR)
