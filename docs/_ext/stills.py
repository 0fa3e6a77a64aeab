"""Still pictures of the figures that answer, for print and for browsers without JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from mercer import SVC, KernelLogisticRegression
from mercer.duality import Program, draw_image
from mercer.gram import BlockedGram
from mercer.kernels import Linear, Samples
from mercer.problems import svc
from mercer.solvers import Platt

BLUE, ORANGE, GREEN, DARK, GREY = "#0072B2", "#D55E00", "#009E73", "#222222", "#999999"
TWELVE = np.array(
    [
        [2, 4],
        [4, 2],
        [5, 3],
        [4, 5],
        [6, 4],
        [5, 6],
        [2, 2],
        [1, 1],
        [0, 3],
        [3, 0],
        [1, -1],
        [-1, 1.0],
    ]
)
SIGNS = np.repeat([1, -1], 6)
STILLS: dict[str, Callable[[], Figure]] = {}


def still(function: Callable[[], Figure]) -> Callable[[], Figure]:
    STILLS[function.__name__.replace("_", "-")] = function
    return function


def _plane(width: float = 4.8, limits: tuple[float, float] = (-1.7, 6.7)) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, 4.4), layout="constrained")
    ax = figure.add_subplot()
    _axes(ax, limits)
    return figure, ax


def _axes(ax: Any, limits: tuple[float, float]) -> None:
    ax.set(xlim=limits, ylim=limits, aspect="equal", xlabel="x₁", ylabel="x₂")


def _points(ax: Any, X: np.ndarray, y: np.ndarray) -> None:
    for label, colour, mark in ((1, BLUE, "s"), (-1, ORANGE, "o")):
        ax.scatter(*X[y == label].T, color=colour, marker=mark, s=36, zorder=3)


def _levels(ax: Any, decide: Callable[[np.ndarray], np.ndarray]) -> None:
    (low, high), m = ax.get_xlim(), 160
    grid = np.linspace(low, high, m)
    rows = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    f = decide(rows).reshape(m, m)
    ax.contour(grid, grid, f, [-1, 0, 1], colors=DARK, linestyles=["--", "-", "--"])


def _machine(X: np.ndarray, y: np.ndarray, **settings: Any) -> Figure:
    figure, ax = _plane()
    _fitted(ax, X, y, **settings)
    return figure


def _fitted(ax: Any, X: np.ndarray, y: np.ndarray, **settings: Any) -> SVC:
    model = SVC(**settings).fit(X, y)
    _levels(ax, model.decision_function)
    _points(ax, X, y)
    ax.scatter(*X[model.support_].T, s=130, facecolors="none", edgecolors=DARK, zorder=4)
    return model


@still
def plane_hard() -> Figure:
    return _machine(TWELVE, SIGNS, kernel="linear", C=np.inf)


@still
def plane_soft() -> Figure:
    return _machine(np.vstack([TWELVE, [[4, 4]]]), np.append(SIGNS, -1), kernel="linear", C=1.0)


@still
def plane_rbf() -> Figure:
    return _machine(TWELVE, SIGNS, gamma=0.1, C=10.0)


@still
def plane_pair() -> Figure:
    X = np.array([[2, 3], [4, 3], [0, 0], [5, 0.0]])
    return _machine(X, np.array([1, 1, -1, -1]), gamma=0.3, C=2.0)


@still
def smo() -> Figure:
    X, y = np.vstack([TWELVE, [[4, 4]]]), np.append(SIGNS, -1)
    figure = Figure(figsize=(8.4, 7.6), layout="constrained")
    (plane, trace), (bars, matrix) = figure.subplots(2, 2, height_ratios=(4.4, 3.2))
    _axes(plane, (-1.7, 6.7))
    model = _fitted(plane, X, y, kernel="linear", C=1.0)
    beta, values = np.zeros(13), [0.0]
    gram = BlockedGram(Linear(), Samples(X))
    for step in Platt(tol=1e-6).steps(svc(y.astype(float), C=1.0), gram):
        beta[[step.i, step.j]] = step.after
        values.append(beta @ y - np.square(beta @ X).sum() / 2)
    trace.plot(values, color=DARK)
    trace.axhline(model.certificate_.dual, color=GREY, linestyle="--")
    trace.set(xlabel="pair steps", ylabel="dual value")
    rows = np.arange(1, 14)
    bars.bar(rows, beta, color=np.where(y > 0, BLUE, ORANGE))
    bars.axhline(0, color=GREY, linewidth=0.8)
    bars.set(xlabel="row", ylabel="y α", xticks=rows)
    K = X @ X.T
    image = matrix.imshow(
        K, cmap="RdBu", vmin=-K.max(), vmax=K.max(), extent=(0.5, 13.5, 13.5, 0.5)
    )
    figure.colorbar(image, ax=matrix)
    matrix.set(xlabel="row", ylabel="row", xticks=rows[::3], yticks=rows[::3])
    return figure


@still
def turn() -> Figure:
    figure, ax = _plane()
    _points(ax, TWELVE, SIGNS)
    for degrees, shift in ((70, 3.2), (30, 3.6), (45, 3.54)):
        w = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
        best = degrees == 45
        along = shift * w + np.outer([-9, 9], [-w[1], w[0]])
        ax.plot(*along.T, color=DARK if best else GREY, linewidth=2 if best else 1)
    return figure


@still
def forces() -> Figure:
    figure = Figure(figsize=(6.4, 3), layout="constrained")
    ax = figure.add_subplot()
    X, y = np.vstack([TWELVE, [[4, 4], [1, 2]]]), np.append(SIGNS, [-1, 1])
    norms = np.linspace(0.05, 2.5, 120)
    slack = []
    for norm in norms:
        f = X.sum(axis=1) * norm / np.sqrt(2)
        slack.append(0.2 * min(np.maximum(0, 1 - y * (f + b)).sum() for b in y - f))
    ax.plot(norms, norms**2 / 2, color=BLUE, linestyle="--", label="½‖w‖²")
    ax.plot(norms, slack, color=ORANGE, linestyle=":", label="C Σξ")
    ax.plot(norms, norms**2 / 2 + slack, color=DARK, label="sum")
    ax.set(xlabel="‖w‖", ylim=(0, 4))
    ax.legend(frameon=False)
    return figure


@still
def confidence() -> Figure:
    across = [1, 1, 2.6, 2.8, 3, 4, 5, 4, 5, 3, 5, 4, 6, 5, 6, 3]
    up = [-3, 3, -2.6, -3.4, 4, 4, 3, 5, 5, 5, 4, 6, 6, 6, 5, 6]
    right = np.column_stack([across, up])
    X, y = np.vstack([right, -right]), np.repeat([1, -1], 16)
    figure, ax = _plane(limits=(-6.5, 6.5))
    _points(ax, X, y)
    ax.axvline(0, color=DARK, linewidth=2)
    model = KernelLogisticRegression(kernel="linear", C=0.01).fit(X, y)
    (w1, w2), ends = model.coef_[0], np.array([-6.5, 6.5])
    ax.plot(ends, -(model.intercept_[0] + w1 * ends) / w2, "--", color=DARK)
    for name, place in (("A", (5, 5)), ("B", (1.5, -1.4)), ("C", (1, -3))):
        ax.scatter(*place, s=120, facecolors="none", edgecolors=DARK)
        shift = (-4, -18) if name == "C" else (8, 6)
        ax.annotate(name, place, textcoords="offset points", xytext=shift)
    return figure


@still
def dual() -> Figure:
    figure = Figure(figsize=(5.4, 4.4), layout="constrained")
    ax = figure.add_subplot()
    program = Program(
        lambda a, b: a**2 + b**2, [(-2, 2), (-2, 2)], inequalities=[lambda a, b: 1 - b]
    )
    draw_image(program, program.solve(), others=[0.5, 1.0], ax=ax)
    return figure


@still
def lift() -> Figure:
    figure = Figure(figsize=(5.4, 4.4), layout="constrained")
    ax = figure.add_subplot(projection="3d")
    angle = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    ring = np.c_[np.cos(angle), np.sin(angle)]
    for radius, colour, mark in ((1, BLUE, "s"), (2, ORANGE, "o")):
        ax.scatter(*(radius * ring).T, radius**2, color=colour, marker=mark)
    r, t = np.meshgrid(np.linspace(0, 2.3, 12), np.linspace(0, 2 * np.pi, 32))
    ax.plot_wireframe(r * np.cos(t), r * np.sin(t), r**2, color=GREY, linewidth=0.4)
    side = np.array([[-2.3, 2.3], [-2.3, 2.3]])
    ax.plot_surface(side, side.T, np.full((2, 2), 2.3), color=GREEN, alpha=0.3)
    ax.set(xlabel="x₁", ylabel="x₂", zlabel="x₁² + x₂²")
    return figure


@still
def formula() -> Figure:
    figure = Figure(figsize=(4.2, 3.6), layout="constrained")
    ax = figure.add_subplot()
    image = ax.imshow(np.tanh(1 + TWELVE @ TWELVE.T), cmap="RdBu", vmin=-1, vmax=1)
    figure.colorbar(image, ax=ax)
    ax.set(title="tanh(1 + x·z) of the twelve points", xlabel="row", ylabel="row")
    return figure
