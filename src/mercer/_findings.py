"""What `mercer.verify` finds: value, gap and violation of a model, formulation by formulation.

With f = Kβ, g = f + b, α = |β|, (·)₊ = max(0, ·) and the box 0 ≤ α ≤ s:

    C-SVC      P = ½βᵀf + Σ s (1 − y g)₊            gap = Σ (s − α)(1 − y g)₊ + α (y g − 1)₊
    ν-SVC      published β and b times ρ = ν Σs / Σα; the same with ρ for 1, and P less ν ρ Σs
    ε-SVR      P = ½βᵀf + Σ s (|y − g| − ε)₊        gap: both edges of the tube
    ν-SVR      the same plus ν ε Σs, ε the best for these residuals
    logistic   P = ½βᵀf + Σ s log(1 + exp(−y g))    gap = ½(β − β̃)ᵀK(β − β̃),  β̃ = y s σ(−y g)
    one-class  P = ½βᵀf + Σ s (−g)₊ + b ν Σs        gap = Σ (s − α)(−g)₊ + α g₊

The gap is P − D written as terms that vanish at the optimum. f itself is rounded; the terms are
convex in it, so each is taken at the worse end of the rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from mercer.certificate import Certificate, relative
from mercer.result import Status

__all__ = ["find", "find_logistic"]

_EPS = float(np.finfo(np.float64).eps)
# Units of rounding of P and D: fewer than a fit states, more than half of it.
_ROUNDING_UNITS = 10
# α is at its bound up to the rounding of C · class weight · sample weight, and of ρ.
_AT_BOUND = 1 - 1e-12
# A bound or a sum is broken if it is off by more than this, relatively.
_BROKEN = 1e-8


@dataclass(frozen=True, eq=False)
class _Finding:
    """One formulation's view of a model.

    ``terms(f)`` are the terms of the gap. ``edges`` hold, for each equality constraint,
    (target − f, may β rise, may β fall). ``off`` is how far β is from its constraints, relatively,
    and ``drift`` what the sums' rounding may add to the gap. β, f and b are ``model_scale`` times
    the published ones.
    """

    primal: float
    dual: float
    terms: Callable[[np.ndarray], np.ndarray]
    edges: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    off: float
    drift: float
    alpha: np.ndarray
    bound: np.ndarray
    model_scale: float = 1.0


def find(
    model: Any, name: str, y: np.ndarray, beta: np.ndarray, f: np.ndarray, b: float,
    weight: np.ndarray,
) -> Certificate:  # fmt: skip
    """The certificate of one task."""
    params = model.get_params()
    if hasattr(model, "classes_"):
        formulation = _svc if "C" in params else _nu_svc
    elif "C" in params:
        formulation = _svr
    else:
        formulation = _one_class
    found = formulation(params, y, beta, f, b, weight)
    quad = float(beta @ f)
    gap = _gap(found, f * found.model_scale, b * found.model_scale, y)
    has_bias = params.get("fit_intercept", True)
    ends = [_ends(*edge) for edge in found.edges]
    if has_bias:
        violation = max(0.0, *(low - high for low, high in ends))
        mean = np.mean(ends, axis=0) / found.model_scale
        interval = (float(min(mean)), float(max(mean)))
    else:
        violation = max(0.0, *(max(low, -high) for low, high in ends))
        interval = (0.0, 0.0)
    zero = found.alpha == 0
    at_bound = ~zero & (found.alpha >= found.bound * _AT_BOUND)
    return Certificate(
        primal=found.primal,
        dual=found.primal - gap if np.isfinite(gap) else -np.inf,
        gap=gap,
        relative_gap=relative(gap, found.primal),
        kkt_violation=float(violation),
        bias_interval=interval,
        margin=float(2 / np.sqrt(quad)) if quad > 0 else np.inf,
        n_zero=int(zero.sum()),
        n_free=int((~zero & ~at_bound).sum()),
        n_bound=int(at_bound.sum()),
        status=_status(model, violation, gap, quad, np.abs(beta) @ np.abs(f)),
        name=name,
    )


def _gap(found: _Finding, f: np.ndarray, b: float, y: np.ndarray) -> float:
    if found.off > _BROKEN or not np.isfinite(found.primal):
        return np.inf
    rounding = _ROUNDING_UNITS * _EPS * (abs(found.primal) + abs(found.dual))
    delta = 1.5 * _EPS * (np.abs(f) + abs(b) + np.abs(y))
    if np.isinf(found.bound).any():
        return float(max(0.0, found.primal - found.dual) + np.abs(found.alpha) @ delta + rounding)
    worse = np.maximum(found.terms(f - delta), found.terms(f + delta))
    return float(worse.sum() + found.drift + rounding)


def _ends(e: np.ndarray, rise: np.ndarray, fall: np.ndarray) -> tuple[float, float]:
    """The multipliers KKT allows: at least e where β may rise, at most e where it may fall."""
    return float(np.max(e[rise], initial=-np.inf)), float(np.min(e[fall], initial=np.inf))


def _status(model: Any, violation: float, gap: float, quad: float, scale: float) -> Status:
    """By the violation found; what kept a model from its tolerance only the fit can know."""
    if quad < -1e-9 * scale:
        return Status.NOT_PSD
    if np.isfinite(gap) and violation <= 1.05 * model.tol:
        return Status.SOLVED
    if np.isfinite(gap) and violation <= 10 * model.tol:
        return Status.ALMOST_SOLVED
    stated = getattr(getattr(model, "certificate_", None), "status", Status.SOLVED)
    return Status.STALLED if stated.is_solved else stated


def _outside(alpha: np.ndarray, bound: np.ndarray) -> float:
    """How far α is below zero or above its bound, relatively."""
    scale = np.where(np.isfinite(bound), bound, np.maximum(np.max(np.abs(alpha), initial=0), 1.0))
    above = np.where(np.isfinite(bound), alpha - bound, 0.0)
    return float(np.max(np.maximum(above, -alpha) / scale, initial=0.0))


def _svc(
    params: dict, y: np.ndarray, beta: np.ndarray, f: np.ndarray, b: float, weight: np.ndarray
) -> _Finding:
    has_bias = params.get("fit_intercept", True)
    s, alpha = params["C"] * weight, y * beta
    quad = float(beta @ f)
    dual = alpha.sum() - quad / 2
    if np.isinf(s).any():  # hard margin: the value of w scaled until the least y g is 1
        least = float(np.min(y * (f + b)))
        primal = quad / 2 / least**2 if least > 0 else np.inf
    else:
        primal = quad / 2 + s @ np.maximum(0, 1 - y * (f + b))
    total = float(beta.sum()) if has_bias else 0.0
    below = alpha < s * _AT_BOUND
    return _Finding(
        primal=float(primal),
        dual=float(dual),
        terms=lambda f: (
            (s - alpha) * np.maximum(0, 1 - y * (f + b)) + alpha * np.maximum(0, y * (f + b) - 1)
        ),
        edges=[(y - f, np.where(y > 0, below, alpha > 0), np.where(y > 0, alpha > 0, below))],
        off=max(_outside(alpha, s), abs(total) / max(np.abs(beta).sum(), 1e-300)),
        drift=abs(b * total),
        alpha=alpha,
        bound=s,
    )


def _nu_svc(
    params: dict, y: np.ndarray, beta: np.ndarray, f: np.ndarray, b: float, weight: np.ndarray
) -> _Finding:
    s, price = weight, params["nu"] * weight.sum()
    rho = price / max(np.abs(beta).sum(), 1e-300)
    alpha, f, b = y * beta * rho, f * rho, b * rho
    quad = float((y * alpha) @ f)
    sums = np.array([alpha[y > 0].sum(), alpha[y < 0].sum()]) - price / 2
    below = alpha < s * _AT_BOUND
    return _Finding(
        primal=float(quad / 2 + s @ np.maximum(0, rho - y * (f + b)) - price * rho),
        dual=-quad / 2,
        terms=lambda f: (
            (s - alpha) * np.maximum(0, rho - y * (f + b))
            + alpha * np.maximum(0, y * (f + b) - rho)
        ),
        edges=[
            (-f[y > 0], below[y > 0], alpha[y > 0] > 0),
            (-f[y < 0], alpha[y < 0] > 0, below[y < 0]),
        ],
        off=max(_outside(alpha, s), float(np.abs(sums).max() / price)),
        drift=float(np.abs(sums) @ [abs(b - rho), abs(b + rho)]),
        alpha=alpha,
        bound=s,
        model_scale=rho,
    )


def _svr(
    params: dict, y: np.ndarray, beta: np.ndarray, f: np.ndarray, b: float, weight: np.ndarray
) -> _Finding:
    """ε-SVR, and ν-SVR (where ``epsilon`` is not a parameter but has a price)."""
    s, up, down = params["C"] * weight, np.maximum(beta, 0), np.maximum(-beta, 0)
    distance = np.abs(y - f - b)
    with_nu = "epsilon" not in params
    price = params["nu"] * s.sum() if with_nu else 0.0
    epsilon = _best_epsilon(distance, s, price) if with_nu else params["epsilon"]
    quad, total = float(beta @ f), float(beta.sum())
    unpaid = price - np.abs(beta).sum() if with_nu else 0.0
    dual = y @ beta - quad / 2 - (0.0 if with_nu else epsilon * np.abs(beta).sum())
    loss = np.where(distance > epsilon, s * (distance - epsilon), 0.0)  # s may be infinite

    def terms(f: np.ndarray) -> np.ndarray:
        above, below = y - f - b - epsilon, f + b - y - epsilon
        return (
            (s - up) * np.maximum(0, above) + up * np.maximum(0, -above)
            + (s - down) * np.maximum(0, below) + down * np.maximum(0, -below)
        )  # fmt: skip

    upper = (y - f, up < s * _AT_BOUND, up > 0)
    lower = (y - f, down > 0, down < s * _AT_BOUND)
    if with_nu:
        edges = [upper, lower]
    else:  # one constraint over both edges of the tube
        e = np.concatenate([upper[0] - epsilon, lower[0] + epsilon])
        rise, fall = (np.concatenate([upper[k], lower[k]]) for k in (1, 2))
        edges = [(e, rise, fall)]
    sums = abs(total) if params.get("fit_intercept", True) else 0.0
    size = max(np.abs(beta).sum(), 1e-300)
    return _Finding(
        primal=float(quad / 2 + loss.sum() + price * epsilon),
        dual=float(dual),
        terms=terms,
        edges=edges,
        off=max(_outside(np.abs(beta), s), sums / size, -unpaid / max(price, size)),
        drift=float(abs(b) * sums + epsilon * max(unpaid, 0.0)),
        alpha=np.abs(beta),
        bound=s,
    )


def _best_epsilon(distance: np.ndarray, s: np.ndarray, price: float) -> float:
    """The ε that minimises price·ε + Σ s (distance − ε)₊: where the bounds beyond it pay for it."""
    order = np.argsort(distance)[::-1]
    beyond = np.cumsum(s[order])
    return float(distance[order][beyond >= price * (1 - 1e-14)][0])


def _one_class(
    params: dict, y: np.ndarray, beta: np.ndarray, f: np.ndarray, b: float, weight: np.ndarray
) -> _Finding:
    s, price = weight, params["nu"] * weight.sum()
    quad, off = float(beta @ f), float(beta.sum() - price)
    return _Finding(
        primal=float(quad / 2 + s @ np.maximum(0, -(f + b)) + b * price),
        dual=-quad / 2,
        terms=lambda f: (s - beta) * np.maximum(0, -(f + b)) + beta * np.maximum(0, f + b),
        edges=[(-f, beta < s * _AT_BOUND, beta > 0)],
        off=max(_outside(beta, s), abs(off) / price),
        drift=abs(b * off),
        alpha=beta,
        bound=s,
    )


def find_logistic(
    model: Any, name: str, y: np.ndarray, beta: np.ndarray, f: np.ndarray, b: float,
    weight: np.ndarray, image: Callable[[np.ndarray], np.ndarray],
) -> Certificate:  # fmt: skip
    """The certificate of one logistic task; ``image`` multiplies a vector with K."""
    g, s = f + b, model.C * weight
    asked = y * s * expit(-y * g)
    primal = float(beta @ f / 2 + s @ np.logaddexp(0.0, -y * g))
    squared = max(float((asked - beta) @ image(asked - beta)), 0.0)
    drift = abs(b * float(asked.sum())) if model.fit_intercept else 0.0
    gap = squared / 2 + drift + _ROUNDING_UNITS * _EPS * primal
    relative_gap, norm = relative(gap, primal), float(beta @ f)
    n_zero = int(np.count_nonzero(beta == 0))
    return Certificate(
        primal=primal, dual=primal - gap, gap=gap, relative_gap=relative_gap,
        kkt_violation=float(np.sqrt(squared)), bias_interval=(b, b),
        margin=2 / norm**0.5 if norm > 0 else np.inf,
        n_zero=n_zero, n_free=beta.size - n_zero, n_bound=0,
        status=Status.SOLVED if relative_gap <= model.tol * 1.01 else Status.STALLED,
        name=name, unit="products with K",
    )  # fmt: skip
