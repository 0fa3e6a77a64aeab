"""Variations of a drawn problem: squared slacks, other solvers, other goals.

They come from a random stream of their own, so that the problems drawn before stay as they were.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.soundness.generator import Problem

__all__ = ["varied"]

# Number of the random stream.
VARIATION = 5
# Of SVC and SVR: the part with squared slacks; of SVMs: that with gap_tol, on_interrupt, and of
# those with few rows that with another solver.
SQUARED_PART, GAP_PART, INTERRUPT_PART, SOLVER_PART, FEW_ROWS = 0.25, 0.06, 0.03, 0.12, 40


def varied(p: Problem) -> Problem:
    """Some SVMs with squared slacks, another solver, a relative gap as goal, or `on_interrupt`."""
    rng = np.random.default_rng([p.seed, VARIATION])
    params = dict(p.params)
    if not p.is_svm:
        return p
    if "C" in params and p.estimator in ("SVC", "SVR") and rng.random() < SQUARED_PART:
        kinds = {"SVC": "squared_hinge", "SVR": "squared_epsilon_insensitive"}
        params["loss"] = kinds[p.estimator]
    if rng.random() < INTERRUPT_PART:
        params["on_interrupt"] = "return"
    if p.n <= FEW_ROWS and rng.random() < SOLVER_PART:
        params |= _solver(rng, p, params)
    elif rng.random() < GAP_PART:
        params["gap_tol"] = float(f"{10 ** rng.uniform(-8, -1):.3g}")
    return replace(p, params=tuple(params.items()))


def _solver(rng: np.random.Generator, p: Problem, params: dict[str, Any]) -> dict[str, Any]:
    """One of the solvers that take the problem, and few iterations of those that need many."""
    is_psd = params["kernel"] != "sigmoid"  # of a matrix it is not known beforehand
    has_groups = params.get("fit_intercept", True)
    names = []
    if has_groups and p.estimator not in ("NuSVC", "NuSVR"):
        names += ["platt"]
    if is_psd:
        names += ["qp", "qp-primal"]
    if is_psd and not has_groups:
        names += ["projected-gradient", "projected-gradient-plain", "coordinate-ascent"]
        if p.estimator == "SVC" and "loss" not in params and not p.is_hard_margin:
            names += ["pegasos"]
    if not names:
        return {}
    solver = str(rng.choice(names))
    most = {} if solver.startswith("qp") else {"max_iter": int(rng.choice([30, 300, 3000]))}
    return {"solver": solver} | most
