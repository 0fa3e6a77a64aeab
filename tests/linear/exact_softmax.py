"""Multinomial logistic regression in extended precision: values, feasible duals, the optimum."""

from flint import arb

from tests.linear.exact import BITS, _rows, _solve, middle, scores
from tests.linear.exact_classes import crammer_singer_feasible

__all__ = ["multinomial_dual", "multinomial_optimum", "multinomial_primal", "multinomial_shares"]


def _all_scores(task, W, b):
    """The scores of every row: a list for each."""
    by_class = [scores(task, w, v) for w, v in zip(W, b, strict=True)]
    return [list(row) for row in zip(*by_class, strict=True)]


def _normalised(g):
    """log Σ exp g, and the probabilities."""
    top = max(g, key=float)
    parts = [(v - top).exp() for v in g]
    total = sum(parts, arb(0))
    return top + total.log(), [v / total for v in parts]


def multinomial_primal(task, W, b):
    """P of a model."""
    value = sum((v * v for w in W for v in w), arb(0)) / 2
    if task["intercept_penalty"] is not None:
        value += task["intercept_penalty"] * sum((v * v for v in b), arb(0)) / 2
    for g, y, c in zip(_all_scores(task, W, b), task["codes"], task["cost"], strict=True):
        value += c * (_normalised(g)[0] - g[y])
    return value


def multinomial_shares(task, W, b):
    """Feasible weights for other classes: those of the model with its best intercepts."""
    g = _all_scores(task, W, b)
    if task["intercept_penalty"] is not None and task["intercept_penalty"] == 0:
        shift = _best_intercepts(task, g)
        g = [[v + c for v, c in zip(row, shift, strict=True)] for row in g]
    beta = []
    for row, y, c in zip(g, task["codes"], task["cost"], strict=True):
        p = _normalised(row)[1]
        beta.append([middle(-c * v) if r != y else arb(0) for r, v in enumerate(p)])
    return crammer_singer_feasible(task, beta)


def multinomial_dual(task, shares):
    """D of the weights that rows give to other classes."""
    k, codes = task["n_classes"], task["codes"]
    beta, value = [], arb(0)
    for row, y, c in zip(shares, codes, task["cost"], strict=True):
        total = sum((row[r] for r in range(k) if r != y), arb(0))
        beta.append([total if r == y else -row[r] for r in range(k)])
        for a in [(c - total) / c if r == y else row[r] / c for r in range(k)]:
            if a > 0:
                value -= c * a * a.log()
            else:
                assert a > -(arb(2) ** -200)
    for r in range(k):
        for j in range(len(task["X"][0])):
            column = sum((b[r] * x[j] for b, x in zip(beta, task["X"], strict=True)), arb(0))
            value -= column * column / 2
        if task["intercept_penalty"] is not None and task["intercept_penalty"] > 0:
            total = sum((row[r] for row in beta), arb(0))
            value -= total * total / (2 * task["intercept_penalty"])
    return value


def _best_intercepts(task, g):
    """Damped Newton steps for the constants alone, that of the first class being 0."""
    inner = {**task, "X": [[] for _ in g], "intercept_penalty": arb(0)}
    return _newton(inner, g)[1]


def multinomial_optimum(task):
    """A lower and an upper bound of the optimal value, by damped Newton steps from zero."""
    zero = [[arb(0)] * task["n_classes"] for _ in task["codes"]]
    W, b = _newton(task, zero)
    return multinomial_dual(task, multinomial_shares(task, W, b)), multinomial_primal(task, W, b)


def _newton(task, offsets, steps=300):
    """The model with the least P where ``offsets`` are added to the scores."""
    X, penalty = _rows(task)
    k, m, is_free = task["n_classes"], len(penalty), task["intercept_penalty"] == 0
    is_free = task["intercept_penalty"] is not None and bool(is_free)
    # Of free intercepts only differences count: that of the first class stays 0.
    index = [(r, j) for r in range(k) for j in range(m) if not (is_free and r == 0 and j == m - 1)]

    def evaluate(v):
        value = sum((p * a * a for row in v for p, a in zip(penalty, row, strict=True)), arb(0)) / 2
        probabilities = []
        for x, more, y, c in zip(X, offsets, task["codes"], task["cost"], strict=True):
            g = [sum((a * z for a, z in zip(v[r], x, strict=True)), more[r]) for r in range(k)]
            log_sum, p = _normalised(g)
            value += c * (log_sum - g[y])
            probabilities.append(p)
        return value, probabilities

    v = [[arb(0)] * m for _ in range(k)]
    value, p = evaluate(v)
    tiny = arb(2) ** (-BITS // 2)
    for _ in range(steps):
        gradient = {(r, j): penalty[j] * v[r][j] for r, j in index}
        H = [[arb(0)] * len(index) for _ in index]
        for x, q, y, c in zip(X, p, task["codes"], task["cost"], strict=True):
            for s, (r, j) in enumerate(index):
                gradient[r, j] += c * (q[r] - int(r == y)) * x[j]
                for t, (u, i) in enumerate(index[: s + 1]):
                    H[s][t] += c * q[r] * (int(r == u) - q[u]) * x[j] * x[i]
        top = max((float(abs(H[s][s])) for s in range(len(index))), default=1.0) or 1.0
        for s, (_, j) in enumerate(index):
            for t in range(s):
                H[t][s] = H[s][t]
            H[s][s] += penalty[j] + tiny * top
        step = dict(zip(index, _solve(H, [gradient[key] for key in index]), strict=True))
        t = arb(1)
        for _ in range(60):
            new = [[middle(a - t * step.get((r, j), 0)) for j, a in enumerate(row)]
                   for r, row in enumerate(v)]  # fmt: skip
            there, q = evaluate(new)
            if not there >= value:
                break
            t = t / 2
        else:
            break
        v, p, gain, value = new, q, value - there, there
        if gain < abs(value) * arb(2) ** -200:
            break
    if task["intercept_penalty"] is None:
        return v, [arb(0)] * k
    return [row[:-1] for row in v], [row[-1] for row in v]
