"""Objective, gap and violation of a published kernel machine, with 300 bits.

Written from the formulas of the primal problems alone; it shares no code with the package.
"""

import mpmath as mp
import numpy as np

mp_context = mp.MPContext()
mp_context.prec = 300
mpf = mp_context.mpf


def kernel_value(kernel, x, z):
    name = type(kernel).__name__
    if name in ("Sum", "Product"):
        first, second = (kernel_value(part, x, z) for part in (kernel.k1, kernel.k2))
        return first + second if name == "Sum" else first * second
    if name == "Scaled":
        return mpf(kernel.c) * kernel_value(kernel.k, x, z)
    if name == "Power":
        return kernel_value(kernel.k, x, z) ** kernel.power
    if name == "Constant":
        return mpf(kernel.value)
    pairs = list(zip(x, z, strict=True))
    if name == "RBF":
        return mp_context.exp(-mpf(kernel.gamma) * sum((a - b) ** 2 for a, b in pairs))
    if name == "Laplacian":
        return mp_context.exp(-mpf(kernel.gamma) * sum(abs(a - b) for a, b in pairs))
    if name == "Chi2":
        terms = ((a - b) ** 2 / (a + b) for a, b in pairs if a + b)
        return mp_context.exp(-mpf(kernel.gamma) * sum(terms))
    if name == "AllSubsets":
        return mp_context.fprod(1 + a * b for a, b in pairs)
    dot = sum(a * b for a, b in pairs)
    if name == "Cosine":
        sizes = mp_context.sqrt(sum(a * a for a in x)) * mp_context.sqrt(sum(b * b for b in z))
        return dot / sizes if sizes else mpf(0)
    if name == "Polynomial":
        return (mpf(kernel.gamma) * dot + mpf(kernel.coef0)) ** kernel.degree
    if name == "Sigmoid":
        return mp_context.tanh(mpf(kernel.gamma) * dot + mpf(kernel.coef0))
    assert name == "Linear"
    return dot


def exact(values):
    return [mpf(float(value)) for value in values]


def kernel_sums(kernel, X, beta):
    """Σ_j k(x_i, x_j) β_j of every row; X is the matrix itself where it is precomputed."""
    used = np.flatnonzero(beta)
    if type(kernel).__name__ == "Precomputed":
        return [sum(mpf(float(X[i, j])) * mpf(beta[j]) for j in used) for i in range(len(X))]
    rows = [exact(row) for row in X]
    return [sum(kernel_value(kernel, x, rows[j]) * mpf(beta[j]) for j in used) for x in rows]


def exact_numbers(kind, params, kernel, X, y, beta, b, weight):
    """(P, Σ of the gap's terms, violation) of one task; kind is the estimator's name."""
    f = kernel_sums(kernel, X, beta)
    n, t = len(f), exact(y)
    w, b, beta = exact(weight), mpf(float(b)), exact(beta)
    quad = sum(c * v for c, v in zip(beta, f, strict=True))
    v = [t[i] - f[i] - b for i in range(n)]
    scale, rest = mpf(1), mpf(0)
    if kind in ("SVC", "NuSVC"):
        s = [mpf(params["C"]) * weight for weight in w] if kind == "SVC" else w
        signs = [1 if t[i] > 0 else -1 for i in range(n)]
        if kind == "NuSVC":
            nu_sum = mpf(params["nu"]) * sum(w)
            scale = nu_sum / sum(abs(c) for c in beta)
            rest = -nu_sum * scale
        variables = [
            (signs[i] * v[i], signs[i] * beta[i] * scale, s[i], signs[i],
             signs[i] if kind == "NuSVC" else 0) for i in range(n)
        ]  # fmt: skip
    elif kind == "OneClassSVM":
        nu_sum = mpf(params["nu"]) * sum(w)
        rest = b * nu_sum
        variables = [(-f[i] - b, beta[i], w[i], 1, 0) for i in range(n)]
    else:
        s = [mpf(params["C"]) * weight for weight in w]
        with_nu = kind == "NuSVR"
        epsilon = mpf(0) if with_nu else mpf(params["epsilon"])
        if with_nu:
            nu_sum = mpf(params["nu"]) * sum(s)
            widths = sorted({abs(r) for r in v})
            epsilon = min(
                widths,
                key=lambda e: nu_sum * e + sum(s[i] * max(0, abs(v[i]) - e) for i in range(n)),
            )
            rest = nu_sum * epsilon
        variables = [
            (sign * v[i] - epsilon, max(sign * beta[i], mpf(0)), s[i], sign, sign * with_nu)
            for sign in (1, -1) for i in range(n)
        ]  # fmt: skip
    loss = sum(bound * max(a, 0) for a, _, bound, _, _ in variables)
    primal = scale**2 * quad / 2 + scale * loss + rest
    gap = mpf(0)
    for a, alpha, bound, _, _ in variables:
        alpha = min(max(alpha, 0), bound)
        gap += (bound - alpha) * max(a, 0) + alpha * max(-a, 0)
    gap *= scale
    if kind == "NuSVR":
        gap += epsilon * (nu_sum - sum(abs(c) for c in beta))
    return primal, gap, _violation(variables) * scale


def _violation(variables):
    at_bound, worst = 1 - mpf(10) ** -12, mpf(0)
    for group in {v[4] for v in variables}:
        members = [v for v in variables if v[4] == group]
        rise = [s * a for a, alpha, bound, s, _ in members
                if (alpha < bound * at_bound if s > 0 else alpha > 0)]  # fmt: skip
        fall = [s * a for a, alpha, bound, s, _ in members
                if (alpha > 0 if s > 0 else alpha < bound * at_bound)]  # fmt: skip
        if rise and fall:
            worst = max(worst, max(rise) - min(fall))
    return worst
