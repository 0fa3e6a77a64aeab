"""Small linear problems that are hard for floats, and what must hold of every fit to them.

`problem(seed)` draws one; `check(seed)` fits it and compares what the certificate states with
values in extended precision (`exact`). Used by the tests for some hundred seeds, and by
``make soundness`` for many more.
"""

import time
import warnings
from contextlib import suppress

import numpy as np
import scipy.sparse as sp
from flint import arb, ctx

import mercer
from mercer.exceptions import ConvergenceWarning, NotSeparableError
from tests.linear import exact, exact_classes, exact_softmax
from tests.linear.exact import ball
from tests.soundness.exact import Rows
from tests.soundness.separable import is_separable

__all__ = ["check", "problem"]

# Seconds a fit may take beyond its limit; generous, as machines are shared.
SLACK = 10.0
# Fraction of the problems that are solved to high precision even if the duals suffice.
SOLVED_SHARE = 0.1
# Fraction of the linear SVCs that are hard margins, of fits with on_interrupt="return", of the
# other linear SVCs with an L1 penalty, and of logistic regressions against the rest.
HARD_PART, INTERRUPT_PART, L1_PART, REST_PART = 0.15, 0.03, 0.3, 0.5


def _columns(rng, n, d):
    """Rows of numbers that are hard in one way or another."""
    X = rng.normal(size=(n, d))
    kind = rng.integers(10)
    if kind == 0:
        X += 10.0 ** rng.uniform(3, 8)
    elif kind == 1:
        X[:, rng.integers(d)] += 10.0 ** rng.uniform(3, 8)
    elif kind == 2:
        X[:, rng.integers(d)] *= 10.0 ** rng.uniform(3, 8)
    elif kind == 3:
        X[:, rng.integers(d)] = 10.0 ** rng.uniform(-3, 8)
    elif kind == 4:
        X[rng.random(n) < 0.2] *= 10.0 ** rng.uniform(2, 6)
    elif kind == 5:
        X *= 10.0 ** rng.uniform(-9, 0)
    elif kind == 6:
        X[: n // 2] += 10.0 ** rng.uniform(1, 7)
    elif kind == 7:
        X *= rng.random((n, d)) < 0.3
    elif kind == 8:
        X = np.round(X)
    if rng.random() < 0.3:  # opposite duplicates
        X[n // 2 :] = X[: n - n // 2]
    return X


def problem(seed):
    """A dict: estimator class, parameters, rows, targets, weights, and how it is fitted."""
    rng = np.random.default_rng([20, seed])
    n, d = int(rng.integers(4, 26)), int(rng.integers(1, 6))
    if rng.random() < 0.1:
        n, d = int(rng.integers(4, 8)), int(rng.integers(8, 14))
    X = _columns(rng, n, d)
    wide = rng.random() < 0.5
    params = {
        "C": float(10.0 ** (rng.uniform(-8, 8) if wide else rng.uniform(-2, 2))),
        "tol": float(10.0 ** rng.uniform(-8, -1)),
        "max_iter": int(rng.choice([3, 200, 1000, 1000, -1])),
        "time_limit": float(rng.choice([0.0, 3.0, 3.0, 3.0, 3.0, 3.0])),
    }
    if rng.random() < 0.3:
        params["fit_intercept"] = False
    elif rng.random() < 0.3:
        params["intercept_scaling"] = float(10.0 ** rng.uniform(-3, 3))
    else:
        params["intercept_scaling"] = None
    name = str(rng.choice(["LinearSVC", "LinearSVC", "LinearSVR", "LogisticRegression"]))
    classes = 2 if rng.random() < 0.6 else 3
    signal = X @ rng.normal(size=d)
    signal = (signal - np.median(signal)) / (np.abs(signal - np.median(signal)).max() or 1.0)
    if name == "LinearSVR":
        y = signal * 10.0 ** rng.uniform(-3, 3) + rng.normal(size=n) * 10.0 ** rng.uniform(-3, 1)
        y = np.full(n, 3.7) if rng.random() < 0.1 else y + rng.choice([0.0, 1e4])
        params["epsilon"] = float(rng.choice([0.0, 0.1, 1e-6]))
        params["loss"] = str(rng.choice(["epsilon_insensitive", "squared_epsilon_insensitive"]))
    else:
        noisy = signal + 0.3 * rng.normal(size=n) * (rng.random() < 0.7)
        y = np.argsort(np.argsort(noisy)) * classes // n
        if rng.random() < 0.3:
            params["class_weight"] = {c: float(10.0 ** rng.uniform(-3, 3)) for c in range(classes)}
    if name == "LinearSVC":
        params["loss"] = str(rng.choice(["hinge", "squared_hinge"]))
        if rng.random() < 0.2:
            params["multi_class"] = "crammer_singer"
    if name != "LogisticRegression":
        params["dual"] = [True, False, "auto", "auto"][rng.integers(4)]
    if params.get("loss") == "hinge" and params["dual"] is False:  # which is refused
        params["dual"] = "auto"
    if "multi_class" in params:  # which has one loss and one method
        params.update(loss="hinge", dual="auto")
    weight = None
    if rng.random() < 0.3:
        weight = 10.0 ** rng.uniform(-4, 4, size=n)
        if name == "LinearSVR" and rng.random() < 0.5:
            weight[rng.random(n) < 0.2] = 0.0
            weight[0] = 1.0
    X = X.astype(np.float32) if rng.random() < 0.2 else X
    how = str(rng.choice(["fit", "fit", "fit", "fit", "sparse", "warm", "path"]))
    case = {"name": name, "params": params, "X": X, "y": y, "weight": weight, "how": how}
    return _varied(case, signal, np.random.default_rng([22, seed]))


def _varied(case, signal, rng):
    """Some classifiers as hard margins, most on separable classes, or with an L1 penalty."""
    params = case["params"]
    if case["name"] == "LinearSVC" and rng.random() < HARD_PART:
        for name in ("class_weight", "dual", "multi_class"):
            params.pop(name, None)
        params["intercept_scaling"] = None
        params["C"] = np.inf
        if rng.random() < 0.7:
            classes = len(np.unique(case["y"]))
            case["y"] = np.argsort(np.argsort(signal)) * classes // len(signal)
        case["how"] = "fit" if case["how"] == "path" else case["how"]
    if rng.random() < INTERRUPT_PART:
        params["on_interrupt"] = "return"
    is_soft = case["name"] == "LinearSVC" and np.isfinite(params["C"])
    if is_soft and "multi_class" not in params and rng.random() < L1_PART:
        params.update(penalty="l1", loss="squared_hinge", dual=False)
    if case["name"] == "LogisticRegression" and rng.random() < REST_PART:
        params["multi_class"] = "ovr"
    return case


def _as_code(case):
    """The problem as statements that fit it again."""
    X = np.array2string(case["X"], separator=",", floatmode="unique", threshold=10**6)
    lines = [
        "import numpy as np, mercer",
        f"X = np.array({X}, dtype=np.{case['X'].dtype})",
        f"y = np.array({case['y'].tolist()!r})",
        f"weight = {None if case['weight'] is None else case['weight'].tolist()!r}",
        f"model = mercer.{case['name']}(**{case['params']!r}).fit(X, y, weight)  # {case['how']}",
        "print(model.certificate_)",
    ]
    return "\n".join(lines)


def _fitted(case):
    """The models of one problem: one, or those of a path."""
    X, y, weight = case["X"], case["y"], case["weight"]
    model = getattr(mercer, case["name"])(**case["params"])
    if case["how"] == "sparse":
        return [model.fit(sp.csr_matrix(X), y, weight)]
    if case["how"] == "warm":
        model.set_params(warm_start=True)
        other = -X[::-1] if case["params"]["C"] < 1 else X
        with suppress(NotSeparableError):
            model.fit(other, y[::-1], weight)
        return [model.fit(X, y, weight)]
    if case["how"] == "path":
        C = case["params"]["C"]
        return mercer.path(
            X, y, Cs=[C / 10, C, 3 * C], estimator=model, sample_weight=weight
        ).models
    return [model.fit(X, y, weight)]


def _tasks(case, model):
    """The exact problems, and (w, b, β or None) of the stored models; one for each task."""
    params = model.get_params()
    weight = np.ones(len(case["y"])) if case["weight"] is None else case["weight"]
    rows = np.flatnonzero(weight > 0)
    X = [[ball(v) for v in row] for row in case["X"][rows]]
    y = case["y"][rows]
    intercept_penalty, is_l1 = None, params.get("penalty") == "l1"
    if params["fit_intercept"]:
        s = params["intercept_scaling"]
        intercept_penalty = arb(0) if s is None else 1 / (ball(s) * ball(s))
        if s is not None and is_l1:
            intercept_penalty = 1 / ball(s)
    is_hard = np.isinf(params["C"])
    C = [arb(1) if is_hard else ball(params["C"]) * ball(weight[i]) for i in rows]
    coef, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    duals = getattr(model, "dual_coef_", None)
    duals = None if duals is None else duals.toarray()[:, rows]
    common = {"X": X, "intercept_penalty": intercept_penalty, "l1": is_l1}
    if case["name"] == "LinearSVR":
        e, at = ball(params["epsilon"]), [ball(v) for v in y]
        kind = "squared" if params["loss"].startswith("squared") else "interval"
        edges = {"low": [v - e for v in at], "high": [v + e for v in at]}
        yield {**common, "kind": kind, "cost": C, **edges}, _stored(coef, b, duals, 0)
        return
    factors = params["class_weight"] or {}
    factor = [ball(factors.get(int(c), 1.0)) for c in y]
    k, joint = len(model.classes_), params.get("multi_class")
    if joint == "crammer_singer" or (joint == "multinomial" and k > 2):
        cost = [c * f for c, f in zip(C, factor, strict=True)]
        task = {
            **common,
            "kind": joint,
            "cost": cost,
            "codes": y.tolist(),
            "n_classes": k,
        }
        yield task, (coef, b, duals)
        return
    for t in range(len(coef)):
        mine = y == (1 if k == 2 else t)
        cost = [c * (f if k == 2 or m else 1) for c, f, m in zip(C, factor, mine, strict=True)]
        sign = [1 if m else -1 for m in mine]
        low = [arb(1) if m else None for m in mine]
        high = [None if m else arb(-1) for m in mine]
        kind = "squared" if params.get("loss") == "squared_hinge" else "interval"
        kind = "logistic" if case["name"] == "LogisticRegression" else kind
        kind = "hard" if np.isinf(params["C"]) else kind
        task = {**common, "kind": kind, "cost": cost, "y": sign, "low": low, "high": high}
        yield task, _stored(coef, b, duals, t)


def _stored(coef, b, duals, t):
    beta = None if duals is None else [ball(v) for v in duals[t]]
    return [ball(v) for v in coef[t]], ball(b[t]), beta


def _check_crammer_singer(task, stored, proof):
    coef, b, duals = stored
    W = [[ball(v) for v in row] for row in coef]
    b = [ball(v) for v in b]
    if len(W) == 1:
        W, b = [[-v / 2 for v in W[0]], [v / 2 for v in W[0]]], [-b[0] / 2, b[0] / 2]
    beta = [[ball(v) for v in row] for row in duals.T]
    for row, y, c in zip(beta, task["codes"], task["cost"], strict=True):
        assert float(row[y]) <= float(c) * (1 + 1e-15), "dual above C"
    value = exact_classes.crammer_singer_primal(task, W, b)
    assert value <= ball(proof.primal), f"primal {value} above the stated {proof.primal!r}"
    dual = exact_classes.crammer_singer_dual(
        task, exact_classes.crammer_singer_feasible(task, beta)
    )
    _check_gap(proof, value, dual, None)
    return value


def _check_multinomial(task, stored, proof, always):
    W = [[ball(v) for v in row] for row in stored[0]]
    b = [ball(v) for v in np.broadcast_to(stored[1], len(W))]
    value = exact_softmax.multinomial_primal(task, W, b)
    assert value <= ball(proof.primal), f"primal {value} above the stated {proof.primal!r}"
    dual = exact_softmax.multinomial_dual(task, exact_softmax.multinomial_shares(task, W, b))
    _check_gap(proof, value, dual, lambda: exact_softmax.multinomial_optimum(task))
    if always and np.isfinite(proof.gap):
        _low, high = exact_softmax.multinomial_optimum(task)
        assert not ball(proof.dual) > high
        assert not value - high > ball(proof.gap)
    return value


def _check_gap(proof, value, dual, optimum):
    """By this dual value, or else by the optimal one."""
    if proof.gap == np.inf and proof.dual == -np.inf:  # nothing is claimed
        return
    dual = dual.max(arb(0))  # D(0)
    proved = dual >= ball(proof.dual) and value - dual <= ball(proof.gap)
    if not proved:
        assert optimum is not None, (
            f"gap {float(value - dual)!r} above the stated {proof.gap!r} (dual {float(dual)!r}, "
            f"stated {proof.dual!r})"
        )
        low, high = optimum()
        assert not ball(proof.dual) > high, f"dual {proof.dual!r} above the optimum {float(high)!r}"
        assert not value - high > ball(proof.gap), (
            f"true gap {float(value - high)!r} above the stated {proof.gap!r}"
        )
        assert low >= ball(proof.dual) or high - low < abs(high) / 10**20, "oracle failed"


def _check_task(task, stored, proof, tol, always):
    value = dual = None
    if task["kind"] == "crammer_singer":
        value = _check_crammer_singer(task, stored, proof)
    elif task["kind"] == "multinomial":
        value = _check_multinomial(task, stored, proof, always)
    else:
        w, b, beta = stored
        value = exact.primal(task, w, b)
        assert value <= ball(proof.primal), f"P = {float(value)!r} above {proof.primal!r}"
        beta = exact.own_duals(task, w, b) if beta is None else beta
        dual = exact.dual(task, exact.feasible(task, beta))
        _check_gap(proof, value, dual, None if task["l1"] else lambda: exact.optimum(task))
        if not task["l1"] and always and np.isfinite(proof.gap):
            _low, high = exact.optimum(task)
            assert not ball(proof.dual) > high
            assert not value - high > ball(proof.gap)
            if proof.status.is_solved:
                assert not value - high > ball(tol) * value * (1 + arb(2) ** -40)
    assert proof.status.is_solved == (proof.relative_gap <= tol), (proof.status, proof.relative_gap)
    if proof.status.is_solved:
        assert ball(proof.gap) <= ball(tol) * value.max(abs(ball(proof.dual))) * (1 + arb(2) ** -20)


def check(seed):
    """Fit the problem of this seed; raise AssertionError, with its code, where a claim is wrong."""
    case = problem(seed)
    always = bool(np.random.default_rng([21, seed]).random() < SOLVED_SHARE)
    ctx.prec = exact.BITS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            began = time.perf_counter(), time.process_time()
            try:
                models = _fitted(case)
            except NotSeparableError as error:
                return _check_inseparable(case, error)
            # Wall-clock time is not the fit's where the machine is busy.
            seconds = min(time.perf_counter() - began[0], time.process_time() - began[1])
        limit = case["params"]["time_limit"] * (3 if case["how"] == "path" else 2)
        assert seconds < limit + SLACK, f"{seconds:.1f} s"
        for model in models:
            stated = model.certificate_
            proofs = stated.tasks or (stated,)
            for (task, stored), proof in zip(_tasks(case, model), proofs, strict=True):
                _check_task(task, stored, proof, model.tol, always)
            _check_verify(case, model)
    except Exception as error:
        raise AssertionError(
            f"seed {seed}: {type(error).__name__}: {error}\n{_as_code(case)}"
        ) from error


def _check_inseparable(case, error):
    """No hyperplane separates the two sides of the proof, or in fact the class from the rest."""
    weight = np.ones(len(case["y"])) if case["weight"] is None else case["weight"]
    rows = np.flatnonzero(weight > 0)
    classes = np.unique(case["y"][rows])
    has_bias = case["params"].get("fit_intercept", True)
    tasks = classes if len(classes) > 2 else classes[1:]
    truths = [
        is_separable(
            mercer.kernels.Linear(), Rows(case["X"]), rows.tolist(),
            np.where(case["y"][rows] == c, 1, -1).tolist(), has_bias,
        )
        for c in tasks
    ]  # fmt: skip
    assert not all(truths), f"{error}: but hyperplanes separate the classes"


def _check_verify(case, model):
    """`mercer.verify` bounds the same values, and finds nothing false."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = mercer.verify(model, case["X"], case["y"], case["weight"])
    stated = model.certificate_
    pairs = list(zip(found.tasks or (found,), stated.tasks or (stated,), strict=True))
    for (task, stored), (one, other) in zip(_tasks(case, model), pairs, strict=True):
        if task["kind"] == "crammer_singer":
            continue
        if task["kind"] == "multinomial":
            _check_multinomial(task, stored, one, always=False)
            continue
        w, b, _ = stored
        assert exact.primal(task, w, b) <= ball(one.primal), "verify: primal below the real cost"
        assert one.dual <= other.primal, "verify: its dual is above the stated primal"
        assert one.primal >= other.dual, "verify: its primal is below the stated dual"
