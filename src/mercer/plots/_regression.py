"""`TubeDisplay`: a regression, its ε-tube, and the points inside, on and outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.certificates._certificate import BOUND, FREE, ZERO
from mercer.plots import _style as style
from mercer.plots._base import Display, marker_options
from mercer.plots._fitted import Machine, by_edge, merged
from mercer.plots._projection import make_plane

__all__ = ["TubeDisplay"]

_NAMES = {
    ZERO: "α = 0: inside the tube",
    FREE: "0 < α < C: on its edge",
    BOUND: "α = C: outside",
}
_NAMES_BY_EDGE = {ZERO: "inside the tube", FREE: "on its edge", BOUND: "outside"}


class TubeDisplay(Display):
    """A regression along one feature, with its tube f ± ε.

    Residuals up to ε cost nothing: rows inside the tube have α = 0 and could be left out without
    changing the machine. ν-SVR finds ε itself, and it is drawn as found; machines without a tube
    (ridge) are drawn without.

    Parameters
    ----------
    x, f : ndarray
        The curve.
    points : ndarray of shape (n, 2)
        Places of the rows along the axis, and their targets.
    groups : int array of shape (n,)
        0 inside, 1 on the edge, 2 outside.
    group_names : dict of int to str
    epsilon : float
        Half width of the tube; 0 for none.
    labels, title, caveat : texts

    Attributes
    ----------
    ax_, figure_

    Examples
    --------
    >>> import mercer
    >>> from mercer.plots import TubeDisplay
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    >>> model = mercer.SVR(kernel="linear", epsilon=0.5, C=10).fit(X, y)
    >>> TubeDisplay.from_estimator(model, X, y).groups.tolist()
    [1, 0, 1]
    """

    figsize = (8.2, 4.4)

    def __init__(
        self,
        *,
        x: np.ndarray,
        f: np.ndarray,
        points: np.ndarray,
        groups: np.ndarray,
        group_names: dict[int, str] | None = None,
        epsilon: float = 0.0,
        labels: Sequence[str] = ("", "y"),
        title: str = "",
        caveat: str = "",
    ):
        self.x, self.f, self.points, self.groups = x, f, points, groups
        self.group_names, self.epsilon = group_names or _NAMES, epsilon
        self.labels, self.title, self.caveat = tuple(labels), title, caveat

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        feature: Any = None,
        grid_resolution: int = 400,
        ax: Any = None,
        **options: Any,
    ) -> TubeDisplay:
        """Draw a fitted regression machine.

        Parameters
        ----------
        estimator : fitted regression machine of Mercer, or a Pipeline that ends in one
        X, y, sample_weight
            What it was fitted on. On other rows groups are told by residuals, not by α.
        feature : name or number of a column, optional
            Draw along it, all others at their median. By default the only one, or the first
            principal component.
        grid_resolution : int
        ax : matplotlib axes, optional
        **options
            Of ``plot``: legend (True).

        Returns
        -------
        TubeDisplay
        """
        machine = Machine(estimator, X, y, sample_weight)
        if not machine.is_regressor:
            machine.refuse("is no regression and has no tube", "BoundaryDisplay draws it.")
        if machine.y.ndim != 1:
            machine.refuse(f"has {machine.y.shape[1]} targets", "Fit one of them to draw it.")
        machine.require_coordinates("TubeDisplay")
        plane = make_plane(machine, None if feature is None else [feature], dimensions=1)
        x = plane.ticks(0, grid_resolution)
        if machine.readings:
            epsilon, names = machine.readings[0].epsilon, _NAMES
        else:
            epsilon, names = float(getattr(machine.model, "epsilon", 0.0)), _NAMES_BY_EDGE
        if not epsilon and not machine.readings:
            names = {ZERO: "points"}
        groups, _ = merged(machine, lambda machine: _by_residual(machine, epsilon))
        display = cls(
            x=x, f=plane.values(machine, x[:, np.newaxis]),
            points=np.column_stack([plane.points[:, 0], machine.y]), groups=groups,
            group_names=names, epsilon=epsilon, labels=(plane.labels[0], "y"),
            title=machine.title, caveat=plane.caveat,
        )  # fmt: skip
        display.certificate = machine.certificate
        return display.plot(ax, **options)

    def _words(self) -> list[str]:
        counts = [f"{(self.groups == g).sum()} {name}" for g, name in self.group_names.items()]
        return [f"Regression by {self.title}, with its tube", *counts]

    def _draw(self, axes: list[Any], *, legend: bool | str = True) -> None:
        ax = axes[0]
        for group, name in self.group_names.items():
            rows = self.groups == group
            colour = style.VERMILION if group == BOUND else style.BLUE
            ax.scatter(*self.points[rows].T, label=f"{name} ({rows.sum()})",
                       zorder=4 + group, **marker_options(group, colour))  # fmt: skip
        if self.epsilon > 0:
            ax.fill_between(self.x, self.f - self.epsilon, self.f + self.epsilon, zorder=0,
                            color=style.tint(style.BLUE, 0.14), linewidth=0)  # fmt: skip
            for side in (-1, 1):
                ax.plot(self.x, self.f + side * self.epsilon, color=style.INK, linewidth=1.0,
                        linestyle="--", zorder=2,
                        label=f"f ± ε, ε = {self.epsilon:.3g}" if side > 0 else None)  # fmt: skip
        ax.plot(self.x, self.f, color=style.INK, linewidth=2.0, zorder=3, label="f")
        low = min(self.points[:, 1].min(), (self.f - self.epsilon).min())
        high = max(self.points[:, 1].max(), (self.f + self.epsilon).max())
        pad = 0.05 * (high - low) or 1.0
        ax.set(xlim=(self.x[0], self.x[-1]), ylim=(low - pad, high + pad),
               xlabel=self.labels[0], ylabel=self.labels[1])  # fmt: skip
        self._legend(ax, legend)


def _by_residual(machine: Machine, epsilon: float) -> np.ndarray:
    if not epsilon:
        return np.zeros(machine.n, dtype=np.int8)
    return by_edge(1 - np.abs(machine.y - machine.values) / epsilon)
