"""A kernel, an estimator and a solver from outside of the package, one registry line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.metrics import balanced_accuracy_score

from mercer.estimators import SVC
from mercer.estimators._registry import ESTIMATORS, EstimatorEntry, register_estimator
from mercer.kernels import Laplacian
from mercer.kernels._registry import KERNELS, KERNELS_BY_NAME, KernelEntry, register_kernel
from mercer.solvers._base import DenseIteration, DenseSolver
from mercer.solvers._registry import NAMES, register_solver


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


class _Pairs(DenseIteration):
    def __init__(self, problem, K, beta, solver):
        super().__init__(problem, K, beta, solver.tol)

    def advance(self, room: int) -> None:
        """Steps along the maximal violating pair: β_i rises, β_j falls by as much."""
        p, beta = self.problem, self.beta
        for _ in range(min(room, 500)):
            e = p.target - p.at_variables(self.f)
            i = np.argmax(np.where(beta < p.upper, e, -np.inf))
            j = np.argmin(np.where(beta > p.lower, e, np.inf))
            if e[i] - e[j] <= self.tol / 2:
                self.sum_f()
                return
            k, m = self.row[i], self.row[j]
            eta = self.K[k, k] + self.K[m, m] - 2 * self.K[k, m]
            most = min(p.upper[i] - beta[i], beta[j] - p.lower[j])
            step = min((e[i] - e[j]) / eta, most) if eta > 1e-14 else most
            beta[i] = min(beta[i] + step, p.upper[i])
            beta[j] = max(beta[j] - step, p.lower[j])
            self.f += step * (self.K[k] - self.K[m])
            self.steps += 1


@dataclass(frozen=True)
class ToySolver(DenseSolver):
    """The maximal violating pair, step by step (Keerthi et al., 2001)."""

    name: ClassVar[str] = "toy"
    iteration: ClassVar[type] = _Pairs
    takes_groups: ClassVar[tuple[int, ...]] = (1,)


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


SOLVER = ("toy", "tests.registry_toys:ToySolver")


def register() -> None:
    register_kernel(KERNEL)
    register_estimator(ESTIMATOR)
    register_solver(*SOLVER)


def unregister() -> None:
    del KERNELS["ToyKernel"], KERNELS_BY_NAME["toy"], ESTIMATORS["ToySVC"], NAMES["toy"]
