"""One problem fitted and judged: ``check(problem)`` is a list of failures, empty if all holds.

Kinds of failure (the first word of a `Failure`):

exception     something else than a documented error was raised, or one without a reason in the data
accepted      an input that must be refused was not
not_separable a false proof that the classes cannot be separated
warning       a warning that is not documented
limit         a time limit was exceeded by more than a second of work
not_finite    published numbers that are NaN or infinite where they must not be
gap           the stated gap is below the true one
primal        the stated primal value is below the model's
dual          the stated dual value is above the optimal one
solved        "solved" is said of a model whose violation exceeds the tolerance
violation     the stated violation is below the true one, by more than rounding explains
indefinite    "solved" under a kernel matrix with a negative eigenvalue that is not in the gap
decision      decision_function is not f + b
predict       predict contradicts the sign of the decision value
verify        `mercer.verify` raised, warned, refutes a solution, or states a gap below the true one
undecided     not a failure: neither proved nor refuted by the oracle (counted, never silent)
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

import mercer
from mercer._result import Status
from mercer.exceptions import ConvergenceWarning, NotSeparableError, WarmStartWarning
from mercer.kernels import IndefiniteKernelWarning
from tests.soundness.definiteness import (
    judge_indefinite,
    may_refuse_curvature,
    negative_curvature,
)
from tests.soundness.exact import Rows
from tests.soundness.generator import Problem, data, estimator, first_data
from tests.soundness.machines import read_tasks
from tests.soundness.oracle import Truth, examine, sharpen
from tests.soundness.predictions import EPS, Failure, dense, judge_predictions, summed
from tests.soundness.separable import is_separable

__all__ = ["check", "fit", "judge_machine", "verify"]

DOCUMENTED = (ConvergenceWarning, WarmStartWarning, IndefiniteKernelWarning)
# Kernel values beyond this may be refused.
LARGEST = 1e30
# The full oracle is run for this fraction of the problems, also where the model's duals suffice.
INDEPENDENT = 0.02
MOST_INDEPENDENT = 24
TINY = arb(2) ** -200


@dataclass
class Fit:
    """A fitted model, or the error, with what came along."""

    model: Any
    error: BaseException | None
    warnings: list[Any]
    seconds: float


def check(p: Problem, on_fitted: Callable[[], Any] = lambda: None) -> list[Failure]:
    """Everything that is wrong with the answer; ``on_fitted`` is called once there is one."""
    from tests.soundness.others import judge_other

    X, y, weight = data(p)
    fitted = fit(p, X, y, weight)
    on_fitted()
    failures = _judge_warnings(fitted)
    limit = p.param("time_limit")
    if limit is not None and fitted.seconds > limit + 1.0:
        # The first fit of its kind compiles: what counts is the second one.
        fitted = fit(p, X, y, weight)
    if limit is not None and fitted.seconds > limit + 1.0:
        failures.append(Failure("limit", f"{fitted.seconds:.2f} s of work, time_limit={limit}"))
    expected = _expected_error(p, X, y, weight)
    if fitted.error is not None:
        return failures + _judge_error(p, fitted.error, expected, X, y, weight)
    if expected:
        return [*failures, Failure("accepted", expected)]
    judge = judge_machine if p.is_svm else judge_other
    return failures + judge(p, fitted.model, X, y, weight)


def fit(p: Problem, X: Any, y: Any, weight: Any) -> Fit:
    """Fit it, after a first fit to something else where that is asked for."""
    model = estimator(p)
    extra = {} if p.estimator == "KernelPCA" else {"sample_weight": weight}
    if p.warm:
        _first_fit(p, model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wall, cpu, error = time.perf_counter(), time.process_time(), None
        try:
            model.fit(X, y, **extra)
        except Exception as raised:
            error = raised
        # On a busy machine wall-clock time is not the fit's; with threads processor time is not.
        seconds = min(time.perf_counter() - wall, time.process_time() - cpu)
    return Fit(model, error, caught, seconds)


def _first_fit(p: Problem, model: Any) -> None:
    X, y, weight = first_data(p)
    C = p.param("C")
    if p.warm == "C" and C is not None:
        model.set_params(C=C * 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(ValueError):
            model.fit(X, y, sample_weight=weight)
    if C is not None:
        model.set_params(C=C)


# ---------------------------------------------------------------------- warnings and errors


def _judge_warnings(fitted: Fit) -> list[Failure]:
    return [
        Failure("warning", f"{w.category.__name__}: {w.message}")
        for w in fitted.warnings
        if not issubclass(w.category, DOCUMENTED)
    ]


def _expected_error(p: Problem, X: Any, y: Any, weight: Any) -> str:
    """Why this input has to be refused, or nothing."""
    if p.gram == "asymmetric":
        used = np.ones(p.n, bool) if weight is None else weight > 0
        if p.n > 1 and used[0] and used[-1]:
            return "an asymmetric kernel matrix"
    if p.estimator == "KernelKMeans":
        rows = p.n if weight is None else int((weight > 0).sum())
        return "fewer rows than clusters" if rows < p.param("n_clusters") else ""
    if p.estimator == "NuSVC" and _nu_excess(p, y, weight) > 1e-9:
        return "an infeasible nu"
    return ""


def _nu_excess(p: Problem, y: np.ndarray, weight: Any) -> float:
    """By how much ν exceeds what the classes allow, for the worst pair, relatively."""
    weight = np.ones(p.n) if weight is None else weight
    mass = [float(weight[y == c].sum()) for c in np.unique(y[weight > 0])]
    pairs = [(a, b) for i, a in enumerate(mass) for b in mass[:i]]
    return max(p.param("nu") * (a + b) / 2 / min(a, b) - 1 for a, b in pairs)


def _judge_error(
    p: Problem, error: BaseException, expected: str, X: Any, y: Any, weight: Any
) -> list[Failure]:
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, NotSeparableError):
        return _judge_separability(p, error, X, y, weight)
    if not isinstance(error, ValueError):
        return [Failure("exception", said)]
    if expected or (p.estimator == "NuSVC" and abs(_nu_excess(p, y, weight)) <= 1e-9):
        return []
    if _largest_value(p, X) > LARGEST or may_refuse_curvature(p, error, X):
        return []
    return [Failure("exception", said)]


def _largest_value(p: Problem, X: Any) -> float:
    """A bound on the kernel values."""
    if p.gram:
        return float(np.abs(X).max())
    size = float(abs(X).max()) if X.shape[1] else 0.0
    power = max(p.param("degree", 1), 4 if str(p.param("kernel")).startswith("=") else 1)
    gamma = p.param("gamma", 1.0)
    if gamma == "scale" and X.shape[1]:
        values = X.toarray() if hasattr(X, "toarray") else X
        variance = float(np.var(values, dtype=np.float64))
        gamma = 1 / (p.d * variance) if variance > 0 else 1.0
    slope = max(gamma, 1.0) if isinstance(gamma, float) else 1.0
    with np.errstate(over="ignore"):
        dot = slope * np.float64(max(size, 1.0) * p.d) ** 2 + abs(p.param("coef0", 0.0))
        return float(dot**power)


def _judge_separability(
    p: Problem, error: NotSeparableError, X: Any, y: Any, weight: Any
) -> list[Failure]:
    """The error must be true, and its weights a convex combination on either side."""
    rows = np.flatnonzero(error.weights)
    v = error.weights
    kernel = _kernel(p, X, weight)
    failures = []
    positive, negative = v[v > 0].sum(), -v[v < 0].sum()
    if p.param("fit_intercept", True) and max(abs(positive - 1), abs(negative - 1)) > 1e-9:
        failures.append(Failure("not_separable", f"weights sum to {positive:g} and {negative:g}"))
    labels = y[rows]
    sides = [set(labels[v[rows] > 0].tolist()), set(labels[v[rows] < 0].tolist())]
    if len(sides[0]) > 1 or len(sides[1]) > 1 or sides[0] & sides[1]:
        return [*failures, Failure("not_separable", "a side of the proof has rows of two classes")]
    pair = [c for side in sides for c in side]
    if len(pair) < 2:
        pair = np.unique(y).tolist()
    keep = np.isin(y, pair) if weight is None else np.isin(y, pair) & (weight > 0)
    members = np.flatnonzero(keep)
    signs = [1 if y[i] == pair[0] else -1 for i in members]
    truth = is_separable(kernel, Rows(X), members.tolist(), signs, p.param("fit_intercept", True))
    if truth:
        failures.append(Failure("not_separable", f"{error}: but a hyperplane separates them"))
    return failures


def _kernel(p: Problem, X: Any, weight: Any) -> Any:
    """The kernel that a fit would have used."""
    from mercer.estimators._parameters import resolve_kernel

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return resolve_kernel(estimator(p), X, weight)[0]


# ---------------------------------------------------------------------- machines


def judge_machine(p: Problem, model: Any, X: Any, y: Any, weight: Any) -> list[Failure]:
    """All checks of a fitted SVM."""
    certificate = model.certificate_
    stated = certificate.tasks or (certificate,)
    if not (np.isfinite(dense(model.dual_coef_)).all() and np.isfinite(model.intercept_).all()):
        return [Failure("not_finite", "coefficients or intercepts")]
    tasks = read_tasks(model, y, weight, p.n)
    if len(tasks) != len(stated):
        return [Failure("exception", f"{len(stated)} certificates for {len(tasks)} tasks")]
    rows = Rows(X)
    truths = [examine(task, model.kernel_, rows) for task in tasks]
    failures = []
    independent = np.random.default_rng([p.seed, 4]).random() < INDEPENDENT
    again, verify_failures = verify(model, X, y, weight)
    failures += verify_failures
    for t, (truth, each) in enumerate(zip(truths, stated, strict=True)):
        curved = negative_curvature(model.kernel_, rows, truth)
        if curved is not None:
            failures += judge_indefinite(p, truth, each, curved)
        if curved is None or curved == 0:
            failures += _judge_values(
                model, rows, truth, each, independent, again[t] if again else None
            )
        failures += _judge_status(model, truth, each)
        slack = 64 * EPS * float(np.max(summed(model.kernel_, X, truth), initial=0.0))
        if truth.violation.lower() > each.kkt_violation * 1.01 + slack + 1e-300:
            failures.append(
                Failure(
                    "violation",
                    f"stated {each.kkt_violation:.6g}, true {float(truth.violation):.6g}",
                )
            )
    return failures + judge_predictions(p, model, X, y, weight, truths)


def _judge_status(model: Any, truth: Truth, stated: Any) -> list[Failure]:
    """Whether "solved" is true: of the violation and tol, or of the relative gap and gap_tol."""
    if stated.status is not Status.SOLVED:
        return []
    if model.gap_tol is not None:
        is_true = stated.relative_gap <= model.gap_tol
        said = f"relative gap {stated.relative_gap:.3g}, gap_tol={model.gap_tol:g}"
    else:
        is_true = truth.violation.lower() <= arb(model.tol) * (1 + arb(1e-6))
        said = f"violation {float(truth.violation):.3g}, tol={model.tol:g}"
    return [] if is_true else [Failure("solved", said)]


def verify(model: Any, X: Any, y: Any = None, weight: Any = None) -> tuple[Any, list[Failure]]:
    """What `mercer.verify` finds, a certificate for each task, and what it raises or warns of."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            again = mercer.verify(model, X, y, weight)
    except Exception as error:
        return None, [Failure("verify", f"raised {type(error).__name__}: {error}")]
    bad = [w for w in caught if not issubclass(w.category, DOCUMENTED)]
    failures = [Failure("verify", f"warns: {w.message}") for w in bad]
    stated = getattr(model, "certificate_", None)
    if stated is not None and stated.status.is_solved and again.status is Status.NOT_REACHED:
        failures.append(Failure("verify", "refutes a solution of the fit"))
    tasks = getattr(again, "tasks", ()) or (again,)  # none: ridge and eigenvalues
    return tasks, failures


def _judge_values(
    model: Any, X: Rows, truth: Truth, stated: Any, independent: bool, again: Any
) -> list[Failure]:
    """The stated values against the exact ones; the optimum is sought only where it is needed."""
    gap, kernel = float(stated.gap), model.kernel_
    if np.isnan([stated.primal, stated.dual, gap]).any():
        return [Failure("not_finite", f"primal {stated.primal}, dual {stated.dual}, gap {gap}")]
    small = len(truth.task.rows) <= MOST_INDEPENDENT
    if independent and small and np.isfinite(gap):
        sharpen(truth, kernel, X, _accuracy(gap, truth))
    failures = []
    if not truth.primal.lower() <= arb(stated.primal):
        failures.append(
            Failure(
                "primal", f"stated {stated.primal!r}, true {truth.primal.str(20, radius=False)}"
            )
        )
    claims = [("gap", "the certificate", gap)]
    if again is not None:
        claims.append(("verify", "verify", float(again.gap)))
    for kind, who, claim in claims:
        bad = _gap_is_false(truth, kernel, X, claim)
        if bad is None:
            failures.append(Failure("undecided", f"{who} states a gap of {claim:.6g}"))
        elif bad:
            failures.append(
                Failure(
                    kind,
                    f"{who} states a gap of {claim:.6g}, the true one is "
                    f"{float(truth.gap_at_least()):.6g} (P = {float(truth.primal):.10g}, "
                    f"{stated.status})",
                )
            )
    return failures + _judge_dual(truth, kernel, X, stated)


def _accuracy(gap: float, truth: Truth) -> float:
    """How near to the optimum the oracle has to come: a thousandth of the gap."""
    size = max(abs(float(truth.primal)) if truth.primal.is_finite() else 0.0, float(truth.size))
    return max(gap * 1e-3, size * 1e-28, 1e-300)


def _gap_is_false(truth: Truth, kernel: Any, X: Rows, claim: float) -> bool | None:
    """Whether P − P* exceeds a claim; None if that cannot be decided."""
    if claim == np.inf:
        return False
    if not truth.primal.is_finite():
        return True
    allowed = arb(claim) * (1 + arb(1e-12)) + TINY * (truth.size + abs(truth.primal))
    if truth.gap_at_most().lower() <= allowed:  # radii are far below any float
        return False
    if truth.gap_at_least().lower() > allowed:
        return True
    for accuracy in (_accuracy(claim, truth), _accuracy(0.0, truth)):
        if not sharpen(truth, kernel, X, accuracy):
            return None
        if truth.gap_at_most().lower() <= allowed:
            return False
        if truth.gap_at_least().lower() > allowed:
            return True
    return None


def _judge_dual(truth: Truth, kernel: Any, X: Rows, stated: Any) -> list[Failure]:
    """The stated dual value is at most the optimum, up to its own rounding."""
    if stated.dual == -np.inf:
        return []
    if stated.dual == np.inf:
        return [Failure("dual", "stated as infinite")]
    value = arb(stated.dual) - arb(4 * EPS * (abs(stated.dual) + 1e-300))
    if not (value > truth.low) and not (value > truth.high):
        return []
    if not value > truth.high and not sharpen(truth, kernel, X, _accuracy(0.0, truth)):
        return []
    if value > truth.high:
        return [
            Failure("dual", f"stated {stated.dual!r}, optimum {truth.high.str(20, radius=False)}")
        ]
    return []
