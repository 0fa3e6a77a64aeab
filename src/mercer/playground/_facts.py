"""What can be said of a machine at work on a state: the numbers that `why` speaks of."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.certificates._certificate import BOUND, FREE, ZERO
from mercer.playground._catalogue import LABELS, MACHINES
from mercer.playground._explain import Facts
from mercer.playground._fit import Fit, kernel_matrix, kernel_of, rows_and_targets
from mercer.playground._state import State
from mercer.playground._steps import Frame

__all__ = ["measure"]

# A negative eigenvalue of some of the points is one of all (Cauchy): so many are enough to look at.
FEW = 150
# Values nearer to an edge than the solvers' tolerance are on it.
EDGE = 1e-2


def measure(
    state: State, found: Fit | None, frame: Frame | None = None, is_over: bool = False
) -> Facts:
    """The facts of a state, and of its fit where there is one."""
    present = np.unique(state.labels)
    values: dict[str, Any] = {
        "machine": state.machine, "kernel": state.kernel, "kind": MACHINES[state.machine].kind,
        "n": len(state.points), "n_classes": present.size, "C": state.C, "nu": state.nu,
        "epsilon": state.epsilon, "gamma": state.gamma, "n_clusters": state.clusters,
        "names": tuple(LABELS[c] for c in present),
    }  # fmt: skip
    if found is None:
        return Facts(**values)
    values |= _of_kernel(state) | _of_fit(found)
    if found.decide is not None and state.machine != "kmeans":
        values |= _of_values(state, found)
    values |= _of_model(state, found)
    if frame is not None:
        values |= {
            "step": state.step, "is_over": is_over, "box": frame.box, "active": frame.active,
            "pull": frame.pull, "gap": frame.gap, "n_steps": state.step,
        }  # fmt: skip
    return Facts(**values)


def _of_kernel(state: State) -> dict[str, Any]:
    kernel = kernel_of(state)
    if kernel.is_psd is False:
        few = state.with_(points=state.points[:: -(-len(state.points) // FEW)])
        spectrum = np.linalg.eigvalsh(kernel_matrix(few))
        top = float(np.abs(spectrum).max())
        return {"least_eigenvalue": float(spectrum[0]) / top if top > 0 else 0.0}
    if state.kernel in ("rbf", "laplacian"):
        K = kernel_matrix(state)
        nearest = np.where(K < 1 - 1e-12, K, 0.0).max(axis=0)  # 1 is the same place
        return {"neighbour": float(np.median(nearest))}
    return {}


def _of_fit(found: Fit) -> dict[str, Any]:
    counts = np.bincount(found.group, minlength=3)
    values: dict[str, Any] = {
        "n_zero": int(counts[ZERO]), "n_free": int(counts[FREE]), "n_bound": int(counts[BOUND]),
    }  # fmt: skip
    if found.proof is not None:
        values["n_proof"] = int(np.count_nonzero(found.proof))
    proof = found.certificate
    if proof is None:
        return values
    values |= {"status": proof.status, "gap": proof.relative_gap}
    if hasattr(proof, "margin"):
        values["margin"] = proof.margin
        if not proof.tasks:
            values["b_low"], values["b_high"] = proof.bias_interval
    return values


def _of_values(state: State, found: Fit) -> dict[str, Any]:
    """Who is where."""
    assert found.decide is not None
    X, y = rows_and_targets(state)
    f = np.asarray(found.decide(X))
    kind = MACHINES[state.machine].kind
    if kind == "curve":
        spread = float(np.std(y))
        residual = float(np.sqrt(np.mean((y - f) ** 2))) / spread if spread > 0 else 0.0
        tube = state.epsilon if state.machine == "svr" else 0.0
        return {"n_wrong": int((np.abs(y - f) > tube + EDGE).sum()), "residual": residual}
    if kind == "region":
        return {"n_wrong": int((f < -EDGE * max(1.0, float(np.abs(f).max()))).sum())}
    if f.ndim == 1:
        signed = np.where(y == y.max(), f, -f)
        return {
            "n_wrong": int((signed <= 0).sum()),
            "n_inside": int(((signed > 0) & (signed < 1 - EDGE)).sum()),
            "sides": int(np.unique(f > 0).size),
        }
    given = found.model.predict(X)
    return {"n_wrong": int((given != y).sum()), "sides": int(np.unique(given).size)}


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
