"""Ridge, logistic regression, PCA and k-means in the feature space: what is true of them.

ridge      P − P* ≤ ½ Σ s r²,  r = y − (K + αS⁻¹)c;  "solved" if ‖r‖ ≤ tol ‖y‖ (weighted by s)
logistic   P = ½βᵀKβ + Σ s log(1 + exp(−y g)), D at β̃ = y s σ(−y(f + b°)) with the best b°
PCA        ‖K̄v − λv‖ for the centred K̄ = HKH
k-means    Σ s (k(x,x) − 2 φ(x)·μ + ‖μ‖²) of the labels
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import arb, arb_mat

from mercer._result import Status
from tests.soundness.check import verify
from tests.soundness.exact import Rows, ball, kernel_matrix, rational
from tests.soundness.generator import Problem
from tests.soundness.predictions import EPS, Failure, bound_of, dense

__all__ = ["judge_other"]

NEWTON_STEPS = 30


def judge_other(p: Problem, model: Any, X: Any, y: Any, weight: Any) -> list[Failure]:
    """All checks of a fitted model that is no SVM."""
    judge = {
        "KernelRidge": _judge_ridge,
        "KernelLogisticRegression": _judge_logistic,
        "KernelPCA": _judge_pca,
        "KernelKMeans": _judge_kmeans,
    }[p.estimator]
    rows = (
        np.arange(p.n)
        if weight is None or p.estimator == "KernelPCA"
        else np.flatnonzero(weight > 0)
    )
    K = kernel_matrix(model.kernel_, Rows(X), rows.tolist(), rows.tolist())
    s = np.ones(len(rows)) if weight is None else np.asarray(weight)[rows]
    return judge(p, model, X, y, weight, K, rows, s)


def _dot(a: Any, b: Any) -> arb:
    return sum((u * v for u, v in zip(a, b, strict=True)), arb(0))


def _column(values: Any) -> arb_mat:
    return arb_mat([[ball(v)] for v in values])


def _sizes(model: Any, X: Any, rows: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """What decision values are rounded against."""
    used = dense(X).astype(np.float64)[rows]
    with np.errstate(over="ignore"):
        bound = bound_of(model.kernel_, np.linalg.norm(used, axis=1), used.shape[1])
        return bound @ np.abs(coef)


# ---------------------------------------------------------------------- ridge


def _judge_ridge(
    p: Problem, model: Any, X: Any, y: Any, weight: Any, K: arb_mat, rows: np.ndarray, s: np.ndarray
) -> list[Failure]:
    coef = np.asarray(model.dual_coef_)
    if not np.isfinite(coef).all():
        return [Failure("not_finite", "coefficients")]
    stated = model.certificate_
    c, target, weights = ([ball(v) for v in a] for a in (coef, np.asarray(y)[rows], s))
    alpha = ball(model.alpha_)
    f = (K * _column(coef)).entries()
    r = [t - v - alpha * a / w for t, v, a, w in zip(target, f, c, weights, strict=True)]
    squares = _dot([v * v for v in r], weights)
    value = (
        _dot([(t - v) ** 2 for t, v in zip(target, f, strict=True)], weights) + alpha * _dot(c, f)
    ) / 2
    optimum = _ridge_optimum(K, target, weights, alpha)
    claims, failures = _ridge_claims(model, X, y, weight, stated)
    for kind, who, claim in claims:
        allowed = arb(claim) * (1 + arb(1e-9)) + abs(value) * arb(2) ** -200
        if np.isnan(claim) or not (squares / 2 <= allowed or _at_most(value, optimum, allowed)):
            gap = float(squares / 2) if optimum is None else float(value - optimum)
            failures.append(
                Failure(kind, f"{who} states a gap of {claim:.6g}, the true one is {gap:.6g}")
            )
    if not value.lower() <= arb(stated.primal):
        failures.append(
            Failure("primal", f"stated {stated.primal!r}, true {value.str(20, radius=False)}")
        )
    size = _dot([t * t for t in target], weights)
    if (
        stated.status is Status.SOLVED
        and not squares.lower() <= (arb(model.tol) * (1 + arb(1e-6))) ** 2 * size
    ):
        residual = (squares / size).sqrt() if size > 0 else squares
        failures.append(Failure("solved", f"residual {float(residual):.3g}, tol={model.tol:g}"))
    said = np.asarray(model.predict(X)).ravel()[rows]
    exact = np.array([float(v.mid()) for v in f])
    allowed = 2e-5 * np.abs(exact).max() + 64 * EPS * _sizes(model, X, rows, coef)
    if not (np.abs(said - exact) <= allowed).all():
        worst = int(np.argmax(np.abs(said - exact) - allowed))
        failures.append(Failure("decision", f"predicts {said[worst]!r}, exactly {exact[worst]!r}"))
    return failures


def _ridge_claims(
    model: Any, X: Any, y: Any, weight: Any, stated: Any
) -> tuple[list, list[Failure]]:
    claims = [("gap", "the certificate", float(stated.gap))]
    again, failures = verify(model, X, y, weight)
    return [*claims, *(("verify", "verify", float(one.gap)) for one in again or ())], failures


def _ridge_optimum(K: arb_mat, y: list[arb], s: list[arb], alpha: arb) -> arb | None:
    """P* = ½ α yᵀ(K + αS⁻¹)⁻¹y, or None if the system cannot be solved."""
    entries = K.tolist()
    for i, w in enumerate(s):
        entries[i][i] = entries[i][i] + alpha / w
    try:
        c = arb_mat(entries).solve(_column(y)).entries()
    except ZeroDivisionError:
        return None
    return alpha * _dot(c, y) / 2


def _at_most(value: arb, optimum: arb | None, allowed: arb) -> bool:
    return optimum is not None and (value - optimum).lower() <= allowed


# ---------------------------------------------------------------------- logistic


def _judge_logistic(
    p: Problem, model: Any, X: Any, y: Any, weight: Any, K: arb_mat, rows: np.ndarray, s: np.ndarray
) -> list[Failure]:
    coef = (
        model.dual_coef_.toarray()
        if sp.issparse(model.dual_coef_)
        else np.asarray(model.dual_coef_)
    )
    full = np.zeros((coef.shape[0], p.n))
    full[:, model.support_] = coef
    if not (np.isfinite(full).all() and np.isfinite(model.intercept_).all()):
        return [Failure("not_finite", "coefficients or intercepts")]
    again, failures = verify(model, X, y, weight)
    stated = model.certificate_.tasks or (model.certificate_,)
    costs = [ball(v) for v in model.C * s]
    for t, each in enumerate(stated):
        positive = model.classes_[1 if coef.shape[0] == 1 else t]
        signs = [1 if v == positive else -1 for v in np.asarray(y)[rows]]
        beta = [ball(v) for v in full[t, rows]]
        f = (K * arb_mat([[v] for v in beta])).entries()
        value = _dot(beta, f) / 2 + _loss(signs, costs, f, ball(model.intercept_[t]))
        low = _logistic_dual(K, signs, costs, f, float(model.intercept_[t]), model.fit_intercept)
        claims = [("gap", "the certificate", float(each.gap))]
        claims += [("verify", "verify", float(again[t].gap))] if again else []
        for kind, who, claim in claims:
            allowed = arb(claim) * (1 + arb(1e-9)) + abs(value) * arb(2) ** -200
            if claim == np.inf or (value - low).lower() <= allowed:
                continue
            dual, high = _newton_bounds(K, signs, costs, beta, model, value - allowed)
            low = arb.max(low, dual)
            if not (value - low).lower() <= allowed:
                is_false = np.isnan(claim) or (value - high).lower() > allowed
                failures.append(
                    Failure(
                        kind if is_false else "undecided",
                        f"{who} states a gap of {claim:.6g}, the true one is between "
                        f"{float(value - high):.6g} and {float(value - low):.6g}",
                    )
                )
        if not value.lower() <= arb(each.primal):
            failures.append(
                Failure("primal", f"stated {each.primal!r}, true {value.str(20, radius=False)}")
            )
        if each.status is Status.SOLVED and not each.gap <= model.tol * abs(each.primal) * (
            1 + 1e-6
        ):
            failures.append(
                Failure("solved", f"relative gap {each.relative_gap:.3g}, tol={model.tol:g}")
            )
    return failures


def _loss(signs: list[int], costs: list[arb], f: list[arb], b: arb) -> arb:
    return sum(
        (c * _log1pexp(-sign * (v + b)) for sign, c, v in zip(signs, costs, f, strict=True)),
        arb(0),
    )


def _log1pexp(x: arb) -> arb:
    return x + (-x).exp().log1p() if x > 0 else x.exp().log1p()


def _share(x: arb) -> arb:
    """σ(x)."""
    return 1 / (1 + (-x).exp()) if x > 0 else x.exp() / (1 + x.exp())


def _duals(signs: list[int], costs: list[arb], f: list[arb], b: arb) -> list[arb]:
    return [sign * c * _share(-sign * (v + b)) for sign, c, v in zip(signs, costs, f, strict=True)]


def _logistic_dual(
    K: arb_mat, signs: list[int], costs: list[arb], f: list[arb], b: float, has_bias: bool
) -> arb:
    """D at the duals that f asks for, with the intercept at which they sum to zero."""
    best = arb(0)
    if has_bias:
        best = _intercept(signs, costs, f, arb(b))
    duals = [v.mid() for v in _duals(signs, costs, f, best)]
    if has_bias:
        _balance(duals, signs, costs)
    image = (K * arb_mat([[v] for v in duals])).entries()
    return -_dot(duals, image) / 2 + sum(
        (c * _entropy(sign * v / c) for sign, v, c in zip(signs, duals, costs, strict=True)),
        arb(0),
    )


def _intercept(signs: list[int], costs: list[arb], f: list[arb], b: arb) -> arb:
    """Newton's method within a bracket, in 330 bits."""
    low, high = arb(-(10**40)), arb(10**40)
    for _ in range(400):
        duals = _duals(signs, costs, f, b)
        off = sum(duals, arb(0)).mid()
        if abs(off) <= sum(map(abs, duals), arb(0)) * arb(2) ** -290:
            break
        low, high = (b, high) if off > 0 else (low, b)
        slope = sum(
            (abs(v) * (1 - abs(v) / c) for v, c in zip(duals, costs, strict=True)), arb(0)
        ).mid()
        step = b + off / slope if slope > 0 else arb.nan()
        b = step.mid() if low < step < high else ((low + high) / 2).mid()
    return b


def _balance(duals: list[arb], signs: list[int], costs: list[arb]) -> None:
    """Move the drift of the sum onto the dual with the most slack on both sides."""
    off = sum(duals, arb(0))
    i = max(
        range(len(duals)), key=lambda k: float(min(abs(duals[k]), costs[k] - abs(duals[k])).mid())
    )
    duals[i] = duals[i] - off


def _entropy(p: arb) -> arb:
    """−p log p − (1 − p) log(1 − p), 0 at the ends (a lower bound wherever p is not inside)."""
    if not (p > 0 and p < 1):
        return arb(0) if p == 0 or p == 1 or (0 <= p <= 1) else arb.neg_inf()
    return -p * p.log() - (1 - p) * (1 - p).log()


def _newton_bounds(
    K: arb_mat, signs: list[int], costs: list[arb], beta: list[arb], model: Any, wanted: arb
) -> tuple[arb, arb]:
    """The best dual and primal values along Newton steps from the model: they enclose P*.

    (I + HK) δ + H 1 db = β̃ − β,  Σ (β + δ) = 0;  steps are halved until the primal value falls.
    """
    low, high = arb.neg_inf(), arb.pos_inf()
    n, has_bias, b = len(beta), model.fit_intercept, arb(0)
    entries = K.tolist()

    def value_at(beta: list[arb], b: arb) -> tuple[arb, list[arb], arb]:
        f = [v.mid() for v in (K * arb_mat([[v] for v in beta])).entries()]
        b = _intercept(signs, costs, f, b) if has_bias else b
        return _dot(beta, f) / 2 + _loss(signs, costs, f, b), f, b

    value, f, b = value_at([v.mid() for v in beta], b)
    for _ in range(NEWTON_STEPS):
        duals = [v.mid() for v in _duals(signs, costs, f, b)]
        found = _logistic_dual(K, signs, costs, f, float(b), has_bias)
        low = arb.max(low, found) if found.is_finite() else low
        high = arb.min(high, value)
        if low > wanted:
            break
        h = [(abs(v) * (1 - abs(v) / c)).mid() for v, c in zip(duals, costs, strict=True)]
        M = [[h[i] * entries[i][j] + (1 if i == j else 0) for j in range(n)] for i in range(n)]
        rhs = [(u - v).mid() for u, v in zip(duals, beta, strict=True)]
        if has_bias:
            M = [[*row, h[i]] for i, row in enumerate(M)] + [[arb(1)] * n + [arb(0)]]
            rhs.append(-sum(beta, arb(0)).mid())
        try:
            step = arb_mat([[v.mid() for v in r] for r in M]).solve(_column(rhs)).mid().entries()
        except ZeroDivisionError:
            break
        for halved in range(40):
            there = [(u + v / 2**halved).mid() for u, v in zip(beta, step[:n], strict=True)]
            reached = value_at(there, b)
            if reached[0] < value:
                break
        else:
            break
        beta, (value, f, b) = there, reached
    return low, high


# ---------------------------------------------------------------------- PCA and k-means


def _centred(K: arb_mat) -> arb_mat:
    n = K.nrows()
    H = arb_mat([[arb(1 if i == j else 0) - arb(1) / n for j in range(n)] for i in range(n)])
    return H * K * H


def _judge_pca(
    p: Problem, model: Any, X: Any, y: Any, weight: Any, K: arb_mat, rows: np.ndarray, s: np.ndarray
) -> list[Failure]:
    V, values = np.asarray(model.eigenvectors_), np.asarray(model.eigenvalues_)
    if not (np.isfinite(V).all() and np.isfinite(values).all()):
        return [Failure("not_finite", "eigenpairs")]
    bar = _centred(K)
    floats = np.array([float(v.mid()) for v in bar.entries()]).reshape(p.n, p.n)
    largest = float(np.linalg.eigvalsh(floats)[-1])
    rounding = 64 * p.n * EPS * max(float(abs(v).mid()) for v in K.entries())
    stated = model.certificate_.residuals
    failures = []
    for k, value in enumerate(values):
        image = (bar * _column(V[:, k])).entries()
        off = [u - ball(value) * ball(v) for u, v in zip(image, V[:, k], strict=True)]
        residual = float(_dot(off, off).abs_lower().sqrt())
        if not residual <= stated[k] * (1 + 1e-6) + 4 * EPS * largest:
            failures.append(
                Failure(
                    "gap", f"component {k}: stated residual {stated[k]:.3g}, true {residual:.3g}"
                )
            )
    if (
        len(values)
        and model.certificate_.status.is_solved
        and abs(values[0] - largest) > 1e-6 * largest + rounding
    ):
        failures.append(Failure("solved", f"largest eigenvalue {values[0]!r}, true {largest!r}"))
    return failures + verify(model, X)[1]


def _judge_kmeans(
    p: Problem, model: Any, X: Any, y: Any, weight: Any, K: arb_mat, rows: np.ndarray, s: np.ndarray
) -> list[Failure]:
    labels = np.asarray(model.labels_)[rows]
    entries = K.tolist()
    weights = [rational(v) for v in s]
    value = _dot([arb(w) for w in weights], [entries[i][i] for i in range(len(rows))])
    size = value
    for c in range(model.n_clusters):
        members = np.flatnonzero(labels == c).tolist()
        if not members:
            continue
        mass = sum((arb(weights[i]) for i in members), arb(0))
        value -= (
            sum(
                (arb(weights[i] * weights[j]) * entries[i][j] for i in members for j in members),
                arb(0),
            )
            / mass
        )
    failures = []
    if not abs(float(value.mid()) - model.inertia_) <= 1e-9 * abs(
        float(value.mid())
    ) + 64 * EPS * float(size.mid()):
        failures.append(
            Failure("gap", f"stated objective {model.inertia_!r}, true {float(value.mid())!r}")
        )
    if not np.isfinite(model.inertia_):
        failures.append(Failure("not_finite", "inertia_"))
    return failures
