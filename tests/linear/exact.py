"""Linear models in extended precision: values of stored models, feasible duals, optimal values.

Everything is written from the problem statements, with balls of 400 bits (python-flint's arb), so
that a comparison is proved or not; nothing is shared with the package. Tasks are plain dicts:
``kind`` ("interval", "squared", "logistic", "hard"), ``X`` (rows of floats), ``low``, ``high``
(or None), ``cost`` (arb), ``intercept_penalty`` (arb, 0 or None), ``l1`` (‖w‖₁ + κ|b| in place of
the squares; False where it is missing).
"""

import math

from flint import arb, arb_mat, ctx, fmpq

from tests.soundness.interior import optimum as optimum_of_dual
from tests.soundness.machines import Task

BITS = 400


def ball(x):
    """A float or an exact product of floats, as a ball without width."""
    if abs(x) == math.inf:
        return arb.pos_inf() if x > 0 else arb.neg_inf()
    n, d = float(x).as_integer_ratio()
    return arb(fmpq(n, d))


def positive(x):
    """max(0, x)."""
    return x.max(arb(0))


def scores(task, w, b):
    return [sum((x * v for x, v in zip(row, w, strict=True)), b) for row in task["X"]]


def loss(task, i, g):
    """The loss of row i at the score g."""
    c = task["cost"][i]
    if task["kind"] == "logistic":
        return c * softplus(-task["y"][i] * g)
    low, high = task["low"][i], task["high"][i]
    under = arb(0) if low is None else positive(low - g)
    over = arb(0) if high is None else positive(g - high)
    return c * (under + over) if task["kind"] == "interval" else c * (under * under + over * over)


def softplus(x):
    """log(1 + exp(x))."""
    return x + (-x).exp().log1p() if x > 0 else x.exp().log1p()


def primal(task, w, b):
    """P(w, b); of a hard margin that of the smallest multiple that is feasible."""
    value = sum((abs(v) if task.get("l1") else v * v / 2 for v in w), arb(0))
    if task["intercept_penalty"] is not None:
        value += task["intercept_penalty"] * (abs(b) if task.get("l1") else b * b / 2)
    if task["kind"] == "hard":
        least = arb.pos_inf()
        for y, g in zip(task["y"], scores(task, w, b), strict=True):
            least = least.min(y * g)
        return value / (least * least) if least > 0 else arb.pos_inf()
    for i, g in enumerate(scores(task, w, b)):
        value += loss(task, i, g)
    return value


def dual(task, beta):
    """D(β) of a feasible β; of a hard margin that of its best multiple."""
    if task["kind"] == "hard":
        return _hard_dual(task, beta)
    if task.get("l1"):
        return _l1_dual(task, beta)
    value = arb(0)
    for i, v in enumerate(beta):
        value += gain(task, i, v)
    for j in range(len(task["X"][0])):
        column = sum((v * row[j] for v, row in zip(beta, task["X"], strict=True)), arb(0))
        value -= column * column / 2
    if task["intercept_penalty"] is not None and task["intercept_penalty"] > 0:
        total = sum(beta, arb(0))
        value -= total * total / (2 * task["intercept_penalty"])
    return value


def _l1_dual(task, beta):
    """That of the largest multiple up to one with |Xᵀβ| ≤ 1 and |Σβ| ≤ κ."""
    largest = arb(1)
    for j in range(len(task["X"][0])):
        column = sum((v * row[j] for v, row in zip(beta, task["X"], strict=True)), arb(0))
        largest = largest.max(abs(column))
    if task["intercept_penalty"] is not None and task["intercept_penalty"] > 0:
        largest = largest.max(abs(sum(beta, arb(0))) / task["intercept_penalty"])
    return sum((gain(task, i, v / largest) for i, v in enumerate(beta)), arb(0))


def _hard_dual(task, beta):
    """max over t of tΣ|β| − ½t²‖Xᵀβ‖²."""
    total = sum((abs(v) for v in beta), arb(0))
    square = arb(0)
    for j in range(len(task["X"][0])):
        column = sum((v * row[j] for v, row in zip(beta, task["X"], strict=True)), arb(0))
        square += column * column
    return total * total / (2 * square) if square > 0 else arb(0)


def gain(task, i, v):
    """−L*(−β)."""
    c = task["cost"][i]
    if task["kind"] == "logistic":
        a = task["y"][i] * v / c
        rest = 1 - a
        value = arb(0)
        if a > 0:
            value -= a * a.log()
        if rest > 0:
            value -= rest * rest.log()
        return c * value
    edge = task["low"][i] if v > 0 else task["high"][i]
    value = arb(0) if v == 0 else edge * v
    return value - v * v / (4 * c) if task["kind"] == "squared" else value


def bounds(task, i):
    """Smallest and largest β of a row (None: there is none)."""
    c = task["cost"][i]
    if task["kind"] == "logistic":
        return (arb(0), c) if task["y"][i] > 0 else (-c, arb(0))
    least = arb(0) if task["high"][i] is None else -c
    most = arb(0) if task["low"][i] is None else c
    if task["kind"] in ("squared", "hard"):
        least = least if least == 0 else None
        most = most if most == 0 else None
    return least, most


def middle(x):
    return x.mid()


def feasible(task, beta):
    """β in its bounds, with a sum of exactly zero where the intercept is free.

    Midpoints are exact numbers. A drift goes to the dual with most room towards zero; where that is
    not enough the heavier side is scaled down first.
    """
    out = []
    for i, v in enumerate(beta):
        least, most = bounds(task, i)
        v = middle(v)
        if least is not None and not v >= least:
            v = middle(least) * (1 if least == middle(least) else arb(fmpq(2**300 - 1, 2**300)))
        if most is not None and not v <= most:
            v = middle(most) * (1 if most == middle(most) else arb(fmpq(2**300 - 1, 2**300)))
        out.append(middle(v))
    if task["intercept_penalty"] is None or task["intercept_penalty"] > 0:
        return out
    up = sum((v for v in out if v > 0), arb(0))
    down = -sum((v for v in out if v < 0), arb(0))
    if abs(up - down) > up.max(down) / 10**9:
        if up > down:
            out = [middle(v * down / up) if v > 0 else v for v in out]
        else:
            out = [middle(v * up / down) if v < 0 else v for v in out]
    old = ctx.prec
    ctx.prec = 20000  # sums of midpoints without rounding
    drift = sum(out, arb(0))
    if drift != 0:
        k = max(range(len(out)), key=lambda i: float(out[i]) * (1 if drift > 0 else -1))
        if not abs(out[k]) >= abs(drift):
            out = [arb(0)] * len(out)
        else:
            out[k] = out[k] - drift
    ctx.prec = old
    return out


def own_duals(task, w, b):
    """−L'(g)."""
    out = []
    for i, g in enumerate(scores(task, w, b)):
        c = task["cost"][i]
        if task["kind"] == "logistic":
            y = task["y"][i]
            out.append(y * c / (1 + (y * g).exp()))
            continue
        low, high = task["low"][i], task["high"][i]
        under = arb(0) if low is None else positive(low - g)
        over = arb(0) if high is None else positive(g - high)
        out.append(2 * c * (under - over))
    return out


# ---------------------------------------------------------------------- optimal values


def optimum(task):
    """A lower and an upper bound of the optimal value: an interior point, or Newton's method.

    The matrix of an interior point near its end can be singular to `BITS` (all rows at a bound: the
    intercept has next to no curvature); four times as many are taken then.
    """
    try:
        return _optimum(task, BITS)
    except ZeroDivisionError:
        return _optimum(task, 4 * BITS)


def _optimum(task, bits):
    old = ctx.prec
    ctx.prec = bits
    try:
        if task["kind"] == "interval":
            w, b, beta = _interior_point(task)
        elif task["kind"] == "hard":
            w, b, beta = _hard_margin(task)
        else:
            w, b = _newton(task)
            beta = own_duals(task, w, b)
        return dual(task, feasible(task, beta)), primal(task, w, b)
    finally:
        ctx.prec = old


def _solve(A, right):
    """A system of midpoints, solved to a midpoint."""
    n = len(A)
    x = arb_mat(n, n, [middle(v) for row in A for v in row]).solve(
        arb_mat(n, 1, [middle(v) for v in right]), algorithm="approx"
    )
    return [middle(x[i, 0]) for i in range(n)]


def _rows(task):
    """Rows with the column of the intercept, and what the regularizer has on its diagonal."""
    X = [list(row) for row in task["X"]]
    penalty = [arb(1)] * len(X[0])
    if task["intercept_penalty"] is not None:
        X = [[*row, arb(1)] for row in X]
        penalty.append(task["intercept_penalty"])
    return X, penalty


def _model(task, v):
    return (v, arb(0)) if task["intercept_penalty"] is None else (v[:-1], v[-1])


def _newton(task, steps=400):
    """Damped Newton steps for a smooth loss."""
    X, penalty = _rows(task)
    d = len(penalty)
    v = [arb(0)] * d
    tiny = arb(2) ** (-BITS // 2)
    value = primal(task, *_model(task, v))
    for _ in range(steps):
        w, b = _model(task, v)
        g, beta = scores(task, w, b), own_duals(task, w, b)
        gradient = [
            penalty[j] * v[j] - sum((beta[i] * X[i][j] for i in range(len(X))), arb(0))
            for j in range(d)
        ]
        curvature = [_curvature(task, i, g[i]) for i in range(len(X))]
        top = max((float(abs(c)) for c in curvature), default=1.0) or 1.0
        H = [
            [
                sum((curvature[i] * X[i][j] * X[i][k] for i in range(len(X))), arb(0))
                for k in range(d)
            ]
            for j in range(d)
        ]
        for j in range(d):
            H[j][j] = H[j][j] + penalty[j] + tiny * top
        step = _solve(H, gradient)
        t = arb(1)
        for _ in range(60):
            new = [middle(a - t * s) for a, s in zip(v, step, strict=True)]
            there = primal(task, *_model(task, new))
            if not there >= value:
                break
            t = t / 2
        else:
            return _model(task, v)
        v, gain_here, value = new, value - there, there
        if gain_here < abs(value) * arb(2) ** (-200):
            return _model(task, v)
    return _model(task, v)


def _hard_margin(task):
    """The interior point of `tests.soundness` on the matrix of dot products."""
    n, has_bias = len(task["X"]), task["intercept_penalty"] is not None
    X = arb_mat(task["X"])
    zero = [fmpq(0)] * n
    problem = Task(
        "svc", list(range(n)), [fmpq(y) for y in task["y"]], [None] * n, zero, fmpq(0), fmpq(0),
        fmpq(0), has_bias,
    )  # fmt: skip
    beta, b = optimum_of_dual(problem, X * X.transpose(), 1e-60)
    beta = [arb(v) for v in beta]
    w = (X.transpose() * arb_mat([[v] for v in beta])).entries()
    return [middle(v) for v in w], b, beta


def _curvature(task, i, g):
    c = task["cost"][i]
    if task["kind"] == "logistic":
        p = 1 / (1 + (task["y"][i] * g).exp())
        return c * p * (1 - p)
    low, high = task["low"][i], task["high"][i]
    outside = (low is not None and g < low) or (high is not None and g > high)
    return 2 * c if outside else arb(0)


def _interior_point(task, steps=300):
    """Mehrotra's steps on the dual with variables α in [0, c], one for each edge of a row.

    maximise t·α − ½‖Σ s α (x, 1)‖² over the penalised columns, Σ s α = 0 where b is free. With the
    multipliers z of α ≥ 0 and u of α ≤ c:  s x·w + s b + u − z = t.
    """
    X, penalty = _rows(task)
    signs, rows, t, c = [], [], [], []
    for i in range(len(X)):
        for sign, edge in ((1, task["low"][i]), (-1, task["high"][i])):
            if edge is not None:
                signs.append(sign)
                rows.append([sign * x for x in X[i]])
                t.append(sign * edge)
                c.append(middle(task["cost"][i]))
    m, d = len(rows), len(penalty)
    a = [v / 2 for v in c]
    v = [arb(0)] * d
    z, u = [arb(1)] * m, [arb(1)] * m
    for _ in range(steps):
        mu = sum((a[k] * z[k] + (c[k] - a[k]) * u[k] for k in range(m)), arb(0)) / (2 * m)
        if mu < arb(10) ** (-60):
            break
        aim = mu / 10
        # Residuals of  penalty·v = Σ α row  and of  row·v + u − z = t.
        low = [
            sum((a[k] * rows[k][j] for k in range(m)), arb(0)) - penalty[j] * v[j] for j in range(d)
        ]
        off = [
            t[k] - sum((x * y for x, y in zip(rows[k], v, strict=True)), arb(0)) - u[k] + z[k]
            for k in range(m)
        ]
        room = [c[k] - a[k] for k in range(m)]
        weight = [1 / (z[k] / a[k] + u[k] / room[k]) for k in range(m)]
        rest = [off[k] - (aim / room[k] - u[k]) + (aim / a[k] - z[k]) for k in range(m)]
        H = [
            [
                sum((weight[k] * rows[k][i] * rows[k][j] for k in range(m)), arb(0))
                + (penalty[i] if i == j else 0)
                for j in range(d)
            ]
            for i in range(d)
        ]
        right = [
            low[j] + sum((weight[k] * rest[k] * rows[k][j] for k in range(m)), arb(0))
            for j in range(d)
        ]
        dv = _solve(H, right)
        da = [
            middle(
                weight[k]
                * (rest[k] - sum((x * y for x, y in zip(rows[k], dv, strict=True)), arb(0)))
            )
            for k in range(m)
        ]
        dz = [middle(aim / a[k] - z[k] - z[k] / a[k] * da[k]) for k in range(m)]
        du = [middle(aim / room[k] - u[k] + u[k] / room[k] * da[k]) for k in range(m)]
        s = arb(1)
        pairs = [
            *zip(a, da, strict=True),
            *zip(room, [-x for x in da], strict=True),
            *zip(z, dz, strict=True),
            *zip(u, du, strict=True),
        ]
        for value, change in pairs:
            if change < 0:
                s = s.min(arb(fmpq(99, 100)) * value / -change)
        s = middle(s)
        a = [middle(x + s * y) for x, y in zip(a, da, strict=True)]
        v = [middle(x + s * y) for x, y in zip(v, dv, strict=True)]
        z = [middle(x + s * y) for x, y in zip(z, dz, strict=True)]
        u = [middle(x + s * y) for x, y in zip(u, du, strict=True)]
    beta = [arb(0)] * len(X)
    k = 0
    for i in range(len(X)):
        for sign, edge in ((1, task["low"][i]), (-1, task["high"][i])):
            if edge is not None:
                beta[i] = beta[i] + sign * a[k]
                k += 1
    return (*_model(task, v), beta)
