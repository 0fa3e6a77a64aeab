"""Crammer and Singer's problem in extended precision: values of stored models, feasible duals."""

from flint import arb, ctx

from tests.linear.exact import middle, positive, scores

__all__ = ["crammer_singer_dual", "crammer_singer_feasible", "crammer_singer_primal"]


def crammer_singer_primal(task, W, b):
    """Crammer and Singer's P."""
    value = sum((v * v for w in W for v in w), arb(0)) / 2
    if task["intercept_penalty"] is not None:
        value += task["intercept_penalty"] * sum((v * v for v in b), arb(0)) / 2
    g = [scores(task, w, v) for w, v in zip(W, b, strict=True)]
    for i, y in enumerate(task["codes"]):
        most = arb(0)
        for r in range(len(W)):
            if r != y:
                most = most.max(1 + g[r][i] - g[y][i])
        value += task["cost"][i] * most
    return value


def crammer_singer_feasible(task, beta):
    """Shares for other classes, in their bounds, whose flows balance where intercepts are free."""
    k, codes = task["n_classes"], task["codes"]
    shares = []
    for i, y in enumerate(codes):
        row = [arb(0) if r == y else positive(-beta[i][r]) for r in range(k)]
        total = sum(row, arb(0))
        if not total <= task["cost"][i]:
            row = [middle(v * task["cost"][i] / total * (1 - arb(2) ** -300)) for v in row]
        shares.append(row)
    if task["intercept_penalty"] is None or task["intercept_penalty"] > 0:
        return shares
    old = ctx.prec
    ctx.prec = 6000  # sums without rounding
    for _ in range(k):
        over = [
            sum(
                (sum(shares[i], arb(0)) if y == r else -shares[i][r] for i, y in enumerate(codes)),
                arb(0),
            )
            for r in range(k)
        ]
        r, s = (pick(range(k), key=lambda c: float(over[c])) for pick in (max, min))
        by = over[r].min(-over[s])
        if over[r] == 0 or over[s] == 0:
            break

        def share(i, s=s, shares=shares):
            total = sum(shares[i], arb(0))
            return task["cost"][i] - total if codes[i] == s else shares[i][s]

        i = max(range(len(codes)), key=lambda i: float(share(i)))
        if not share(i) >= by:
            shares = [[arb(0)] * k for _ in codes]
            break
        if codes[i] != s:
            shares[i][s] = shares[i][s] - by
        if codes[i] != r:
            shares[i][r] = shares[i][r] + by
    ctx.prec = old
    return shares


def crammer_singer_dual(task, shares):
    """D of the shares that rows give to other classes."""
    k, codes = task["n_classes"], task["codes"]
    beta = [[arb(0)] * k for _ in codes]
    value = arb(0)
    for i, y in enumerate(codes):
        total = sum((shares[i][r] for r in range(k) if r != y), arb(0))
        assert total <= task["cost"][i] * (1 + arb(2) ** (-200))
        value += total
        for r in range(k):
            beta[i][r] = total if r == y else -shares[i][r]
    for r in range(k):
        for j in range(len(task["X"][0])):
            column = sum((beta[i][r] * task["X"][i][j] for i in range(len(codes))), arb(0))
            value -= column * column / 2
        if task["intercept_penalty"] is not None and task["intercept_penalty"] > 0:
            total = sum((row[r] for row in beta), arb(0))
            value -= total * total / (2 * task["intercept_penalty"])
    return value
