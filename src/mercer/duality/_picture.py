"""The geometric picture: the box seen as points (g, f), multipliers as lines below it.

f + αg = q is a line of slope −α that supports the image from below; it meets the axis g = 0 at
q(α). The highest meeting point is d*, the lowest point of the image with g ≤ 0 is p*: where the
image is not convex there, no line reaches it, and that is the duality gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from mercer.duality._minimise import grid
from mercer.duality._program import Program, Solution
from mercer.plots.style import BLUE, GREEN, INK, SKY, VERMILION, axes, context, tint

__all__ = ["draw_dual", "draw_image", "draw_path"]

PALE_SKY = tint(SKY, 0.4)  # opaque: the image folds over itself


def _styled(draw: Callable) -> Callable:
    """Draw in the style of `mercer.plots`, on the axes given or on those of a new figure."""

    @wraps(draw)
    def drawn(*args: Any, ax: Any = None, **options: Any) -> Any:
        with context():
            return draw(*args, ax=axes((5.6, 4.4)) if ax is None else ax, **options)

    return drawn


def _one_constraint(program: Program) -> None:
    if program.n_multipliers != 1:
        raise ValueError(
            f"The picture is of one constraint, the program has {program.n_multipliers}."
        )


@_styled
def draw_image(
    program: Program,
    solution: Solution | None = None,
    *,
    others: Sequence[float] = (),
    ax: Any = None,
) -> Any:
    """Draw the image {(g(w), f(w))} of the box, p*, and the supporting line that gives d*.

    Parameters
    ----------
    program : Program
        With one constraint.
    solution : Solution, optional
        Of ``program.solve()``; solved here if not given.
    others : multipliers of further supporting lines, drawn thin
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    _one_constraint(program)
    found = solution or program.solve()
    W = grid(program.box, None if len(program.box) == 1 else 300)
    f, g = program.objective(W), program.constraints(W)[0]
    if len(program.box) == 1:
        ax.plot(g, f, color=PALE_SKY, linewidth=4, label="image of the box")
    else:
        ax.pcolormesh(g, f, np.zeros(f.shape), cmap=_flat(), shading="gouraud", rasterized=True)
        ax.fill([], [], color=PALE_SKY, label="image of the box")
    span = _window(found, f, g)
    ends = np.array(span[0])
    for alpha in others:
        q = program.dual(alpha)
        ax.plot(ends, q - alpha * ends, color=INK, linewidth=0.8, alpha=0.6)
        end = ends[0], q - alpha * ends[0]
        ax.annotate(f"α = {alpha:g}", end, (6, 4), textcoords="offset points", fontsize=8)
    if np.isfinite(found.dual):
        line = found.dual - found.alpha[0] * ends
        label = f"f + {found.alpha[0]:.3g} g = {found.dual:.4g}"
        ax.plot(ends, line, color=BLUE, linewidth=2, label=label)
        ax.plot(0, found.dual, "s", color=BLUE, markersize=10, label=f"d* = {found.dual:.4g}")
    if np.isfinite(found.primal):
        at, label = float(program.constraints(found.w[0])[0]), f"p* = {found.primal:.4g}"
        ax.plot(at, found.primal, "o", color=VERMILION, markersize=6, label=label)
    ax.axvline(0, color=INK, linewidth=1)
    ax.axvspan(span[0][0], 0, color=GREEN, alpha=0.08, linewidth=0, label="feasible: g ≤ 0")
    ax.set(xlim=span[0], ylim=span[1], xlabel="constraint g", ylabel="objective f")
    ax.legend(loc="upper right")
    return ax


def _flat() -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap([PALE_SKY])


def _window(found: Solution, f: np.ndarray, g: np.ndarray) -> tuple[tuple, tuple]:
    """The part of the image around p* and d*: a third of it, so that the lines can be told."""
    values = [v for v in (found.primal, found.dual) if np.isfinite(v)] or [float(f.min())]
    low, high = min([*values, float(f.min())]), max(values)
    height = max(high - low, 0.35 * float(np.ptp(f)))
    reach = 0.45 * float(np.ptp(g))
    xlim = (max(float(g.min()), -reach) - 0.03 * reach, min(float(g.max()), reach) + 0.03 * reach)
    return xlim, (low - 0.12 * height, low + 1.6 * height)


@_styled
def draw_dual(
    program: Program,
    solution: Solution | None = None,
    *,
    alphas: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the dual function q(α), d* at its top, and p* above it.

    Parameters
    ----------
    program : Program
        With one constraint.
    solution : Solution, optional
    alphas : where q is drawn; by default around its maximum
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    _one_constraint(program)
    found = solution or program.solve()
    if alphas is None:
        centre = float(found.alpha[0]) if np.isfinite(found.alpha).all() else 1.0
        reach = max(1.0, abs(centre))
        low = centre - reach if program.n_equalities else max(0.0, centre - reach)
        alphas = np.linspace(low, centre + reach, 81)
    ax.plot(alphas, [program.dual(a) for a in alphas], color=BLUE, linewidth=2, label="q(α)")
    if np.isfinite(found.dual):
        label = f"d* = {found.dual:.4g} at α = {found.alpha[0]:.3g}"
        ax.plot(found.alpha[0], found.dual, "s", color=BLUE, markersize=8, label=label)
    if np.isfinite(found.primal):
        line = {"color": VERMILION, "linestyle": "--", "linewidth": 1.6}
        ax.axhline(found.primal, label=f"p* = {found.primal:.4g}", **line)
        if found.gap > 1e-6:
            fill = {"color": VERMILION, "alpha": 0.12, "linewidth": 0}
            ax.axhspan(found.dual, found.primal, label=f"gap {found.gap:.4g}", **fill)
    ax.set(xlabel="multiplier α", ylabel="dual function q")
    ax.legend()
    return ax


@_styled
def draw_path(Q: Any, path: np.ndarray, c: Any = 0.0, *, ax: Any = None) -> Any:
    """Draw a path of `coordinate_ascent` in two coordinates over the contours of W.

    Parameters
    ----------
    Q, c : of W(α) = cᵀα − ½ αᵀQα
    path : ndarray of shape (steps + 1, 2)
    ax : matplotlib axes, optional

    Returns
    -------
    ax : matplotlib axes
    """
    Q, path = np.asarray(Q, dtype=float), np.asarray(path, dtype=float)
    if Q.shape != (2, 2) or path.ndim != 2 or path.shape[1] != 2:
        raise ValueError(f"A path is drawn in two coordinates, got Q {Q.shape}, path {path.shape}.")
    middle, reach = (path.min(axis=0) + path.max(axis=0)) / 2, 0.65 * np.ptp(path, axis=0).max()
    reach = reach or 1.0
    a, b = grid(np.column_stack([middle - reach, middle + reach]))
    target = np.broadcast_to(np.asarray(c, dtype=float), 2)
    W = target[0] * a + target[1] * b
    W = W - 0.5 * (Q[0, 0] * a**2 + 2 * Q[0, 1] * a * b + Q[1, 1] * b**2)
    ax.contour(a, b, W, levels=14, colors=BLUE, linewidths=0.9, linestyles="-", alpha=0.7)
    ax.plot(*path.T, color=VERMILION, linewidth=1.8, marker="o", markersize=4, label="path")
    ax.plot(*path[0], "s", color=INK, markersize=8, label="start")
    ax.set(xlabel="α₁", ylabel="α₂", aspect="equal")
    ax.legend()
    return ax
