"""`Situation`: the numbers about a state and its fit that an explanation is chosen by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._result import Status
from mercer.certificates._certificate import Certificate
from mercer.playground._catalogue import ESTIMATORS, LABELS
from mercer.playground._fit import Fit, kernel_matrix, kernel_of, rows_and_targets
from mercer.playground._state import State
from mercer.playground._steps import Box, Step

__all__ = ["Situation", "measure"]


@dataclass(frozen=True)
class Situation:
    """What a sentence may be about."""

    machine: str = "svc"
    kernel: str = "rbf"
    kind: str = "classes"
    n: int = 0
    n_classes: int = 0
    names: tuple[str, ...] = ()  # classes present
    n_clusters: int = 0
    C: float = 1.0
    nu: float = 0.2
    epsilon: float = 0.2
    gamma: float = 0.5
    # Points by KKT group.
    n_zero: int = 0
    n_free: int = 0
    n_bound: int = 0
    # The interval of optimal b; if it is crossed, sorted, and as wide as the KKT violation.
    b_low: float = 0.0
    b_high: float = 0.0
    violation: float = 0.0
    margin: float = 0.0
    status: Status | None = None
    gap: float = 0.0  # relative
    n_wrong: int = 0  # points on the wrong side (one-class, curve: outside of region, of tube)
    n_inside: int = 0  # points between the margin's edge and the boundary, on their own side
    sides: int = 2  # number of classes that the model predicts for its own points
    neighbour: float = 1.0  # median of k of a point and its nearest neighbour elsewhere
    least_eigenvalue: float = 0.0  # of K over its largest; negative where K is not PSD
    n_proof: int = 0  # points in the proof that the convex hulls meet
    n_steps: float = 0  # mistakes of the perceptron, and Novikoff's bound on them
    bound_on_steps: float = float("inf")
    n_empty: int = 0  # clusters
    residual: float = 1.0  # root mean squared error over the standard deviation of the targets
    # In step mode: the number of steps taken; the rest is about the last one (`Step`).
    step: int | None = None
    is_over: bool = False
    box: Box | None = None
    active: tuple[int, ...] = ()
    pull: float = 0.0

    @property
    def n_support(self) -> int:
        return self.n_free + self.n_bound

    @property
    def is_crossed(self) -> bool:
        """Whether no b satisfies the KKT conditions: the interval is as wide as the violation."""
        return self.b_high - self.b_low <= 2 * self.violation

    @property
    def has_band(self) -> bool:
        """Whether every b of an interval wider than the tolerance of a fit is optimal."""
        is_wide = self.b_high - self.b_low > 5e-3
        return self.n_free == 0 and is_wide and not self.is_crossed


def measure(
    state: State, found: Fit | None, step: Step | None = None, is_over: bool = False
) -> Situation:
    """The situation of a state, and of its fit where there is one."""
    present = np.unique(state.labels)
    values: dict[str, Any] = {
        name: getattr(state, name) for name in ("machine", "kernel", "C", "nu", "epsilon", "gamma")
    }
    values |= {
        "kind": ESTIMATORS[state.machine].kind,
        "n": len(state.points),
        "n_classes": present.size,
        "n_clusters": state.clusters,
        "names": tuple(LABELS[c] for c in present),
    }
    if found is None:
        return Situation(**values)
    values |= _of_kernel(state) | _of_fit(found)
    if found.decide is not None and state.machine != "kmeans":
        values |= _of_values(state, found)
    values |= _of_model(state, found)
    if step is not None:
        values |= {"step": state.step, "n_steps": state.step, "is_over": is_over}
        values |= {name: getattr(step, name) for name in ("box", "active", "pull", "gap")}
    return Situation(**values)


def _of_kernel(state: State, most: int = 150) -> dict[str, Any]:
    kernel = kernel_of(state)
    if kernel.is_psd is False:
        # K of a subset has a negative eigenvalue only if K of all points has (Cauchy interlacing).
        subset = state.with_(points=state.points[:: -(-len(state.points) // most)])
        spectrum = np.linalg.eigvalsh(kernel_matrix(subset))
        top = float(np.abs(spectrum).max())
        return {"least_eigenvalue": float(spectrum[0]) / top if top > 0 else 0.0}
    if state.kernel in ("rbf", "laplacian"):
        K = kernel_matrix(state)
        nearest = np.where(K < 1 - 1e-12, K, 0.0).max(axis=0)  # 1 is the same place
        return {"neighbour": float(np.median(nearest))}
    return {}


def _of_fit(found: Fit) -> dict[str, Any]:
    counts = np.bincount(found.group, minlength=3).tolist()
    values: dict[str, Any] = dict(zip(("n_zero", "n_free", "n_bound"), counts, strict=True))
    if found.proof is not None:
        values["n_proof"] = int(np.count_nonzero(found.proof))
    certificate = found.certificate
    if certificate is None:
        return values
    values |= {"status": certificate.status, "gap": certificate.relative_gap}
    if isinstance(certificate, Certificate):
        values |= {"margin": certificate.margin, "violation": certificate.kkt_violation}
        if not certificate.tasks:
            values["b_low"], values["b_high"] = certificate.bias_interval
    return values


def _of_values(state: State, found: Fit, edge: float = 1e-2) -> dict[str, Any]:
    """How many points are where; those within ``edge`` of an edge are on it."""
    assert found.decide is not None
    X, y = rows_and_targets(state)
    f = np.asarray(found.decide(X))
    kind = ESTIMATORS[state.machine].kind
    if kind == "curve":
        spread = float(np.std(y))
        residual = float(np.sqrt(np.mean((y - f) ** 2))) / spread if spread > 0 else 0.0
        tube = state.epsilon if state.machine == "svr" else 0.0
        return {"n_wrong": int((np.abs(y - f) > tube + edge).sum()), "residual": residual}
    if kind == "region":
        return {"n_wrong": int((f < -edge * max(1.0, float(np.abs(f).max()))).sum())}
    if f.ndim == 1:
        signed = np.where(y == y.max(), f, -f)
        return {
            "n_wrong": int((signed <= 0).sum()),
            "n_inside": int(((signed > 0) & (signed < 1 - edge)).sum()),
            "sides": int(np.unique(f > 0).size),
        }
    predicted = found.model.predict(X)
    return {"n_wrong": int((predicted != y).sum()), "sides": int(np.unique(predicted).size)}


def _of_model(state: State, found: Fit) -> dict[str, Any]:
    if found.model is None:
        return {}
    if state.machine == "perceptron":
        return {
            "n_steps": int(found.model.mistakes_.sum()),
            "bound_on_steps": float(found.model.mistake_bound_.max()),
        }
    if state.machine == "kmeans":
        return {"n_empty": int(np.isinf(found.model.center_norms_).sum())}
    return {}
